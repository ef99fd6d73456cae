//===- ProbeBuffers.cpp - Holds buffers to layouts of tensors -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestTesseraDialect.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace tessera;
using namespace tessera::test;

LogicalResult ProbeOp::verify() {
  auto memref = dyn_cast<MemRefType>(getValue().getType());
  if (!memref)
    return success();
  if (!getTensor())
    return emitOpError("expected the type of the tensor of the buffer");
  llvm::Expected<MemRefType> expected =
      getMemRefType(cast<RankedTensorType>(*getTensor()));
  if (!expected)
    return emitLayoutError([&] { return emitOpError(); }, expected.takeError());
  if (memref == *expected)
    return success();
  return emitOpError("expected a buffer of type ")
         << *expected << ", found " << memref;
}

namespace {
struct ProbeModel
    : BufferizableOpInterface::ExternalModel<ProbeModel, ProbeOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    Value tensor = cast<ProbeOp>(op).getValue();
    FailureOr<Value> buffer = getBuffer(rewriter, tensor, options, state);
    if (failed(buffer))
      return failure();
    rewriter.replaceOpWithNewOp<ProbeOp>(op, *buffer,
                                         TypeAttr::get(tensor.getType()));
    return success();
  }
};

struct ProbeBuffersPass
    : PassWrapper<ProbeBuffersPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ProbeBuffersPass)

  StringRef getArgument() const override {
    return "test-tessera-probe-buffers";
  }
  StringRef getDescription() const override {
    return "Probe each tensor that has a layout";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<TestTesseraDialect>();
  }

  void runOnOperation() override {
    SmallVector<Value> values;
    auto collect = [&](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (type && getLayoutAttr(type))
        values.push_back(value);
    };
    getOperation().walk(
        [&](Operation *op) { llvm::for_each(op->getResults(), collect); });
    getOperation().walk(
        [&](Block *block) { llvm::for_each(block->getArguments(), collect); });
    OpBuilder builder(&getContext());
    for (Value value : values) {
      builder.setInsertionPointAfterValue(value);
      ProbeOp::create(builder, value.getLoc(), value, TypeAttr());
    }
  }
};

struct EraseProbesPass : PassWrapper<EraseProbesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EraseProbesPass)

  StringRef getArgument() const override { return "test-tessera-erase-probes"; }
  StringRef getDescription() const override {
    return "Erase the probes that the verifier has seen";
  }

  void runOnOperation() override {
    getOperation().walk([](ProbeOp op) { op.erase(); });
  }
};
} // namespace

void TestTesseraDialect::attachProbeInterfaces() {
  ProbeOp::attachInterface<ProbeModel>(*getContext());
}

void test::registerTestPasses() {
  PassRegistration<ProbeBuffersPass>();
  PassRegistration<EraseProbesPass>();
}
