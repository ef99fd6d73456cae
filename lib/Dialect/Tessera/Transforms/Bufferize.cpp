//===- Bufferize.cpp - Tensors with layouts as memrefs --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One-Shot Bufferize in three steps, because the buffers that it allocates
// itself, for empty tensors and for conflicts, would lose their layout: insert
// the copies as tensors, allocate those that have layouts here, bufferize the
// rest.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/BufferizableOpInterfaceImpl.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera {
#define GEN_PASS_DEF_BUFFERIZE
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace mlir::bufferization;
using namespace tessera;

/// `tensor.empty` with a layout is `tessera.empty`.
static void replaceEmptyTensors(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](tensor::EmptyOp op) {
    if (!getLayoutAttr(op.getType()))
      return;
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<EmptyOp>(op, op.getType(),
                                         op.getDynamicSizes());
  });
}

/// Whether the buffer of `value` may be that of a value from outside `loop`.
static bool mayComeFromOutside(Value value, Operation *loop) {
  Region *region = value.getParentRegion();
  if (!loop->isAncestor(region->getParentOp()))
    return true;
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return false;
  auto mayCome = [&](Value operand) {
    return mayComeFromOutside(operand, loop);
  };
  Operation *op = result.getOwner();
  if (isa<AssumeLayoutOp, BitcastOp, RelayoutOp, ReshapeOp, tensor::CastOp,
          tensor::CollapseShapeOp, tensor::ExpandShapeOp,
          tensor::ExtractSliceOp>(op))
    return mayCome(op->getOperand(0));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return mayCome(select.getTrueValue()) || mayCome(select.getFalseValue());
  if (auto ifOp = dyn_cast<scf::IfOp>(op))
    return mayCome(ifOp.thenYield().getOperand(result.getResultNumber())) ||
           mayCome(ifOp.elseYield().getOperand(result.getResultNumber()));
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return mayCome(inner.getInitArgs()[result.getResultNumber()]);
  return false;
}

/// Copies tensors from outside that a loop yields. The analysis of One-Shot
/// Bufferize (22.1) relates the result of a loop to what it starts with, and
/// not to what it yields: without the copy, it lets later operations write to a
/// buffer that is the result's, too.
static void copyYieldsFromOutside(ModuleOp module) {
  SmallVector<OpOperand *> yields;
  module.walk([&](Operation *op) {
    if (!isa<scf::YieldOp, scf::ConditionOp>(op) ||
        !isa<scf::ForOp, scf::WhileOp>(op->getParentOp()))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()) &&
          mayComeFromOutside(operand.get(), op->getParentOp()))
        yields.push_back(&operand);
  });
  for (OpOperand *operand : yields) {
    OpBuilder builder(operand->getOwner());
    operand->set(AllocTensorOp::create(
        builder, operand->getOwner()->getLoc(),
        cast<RankedTensorType>(operand->get().getType()),
        /*dynamicSizes=*/ValueRange(), /*copy=*/operand->get()));
  }
}

/// The buffer that `op` stands for: a new one, with the contents of the tensor
/// to copy, if there is one, and with the padding that its layout promises.
static FailureOr<Value> allocate(RewriterBase &rewriter, AllocTensorOp op,
                                 const BufferizationOptions &options) {
  Location loc = op.getLoc();
  llvm::Expected<MemRefType> type = getMemRefType(op.getType());
  if (!type) {
    (void)emitLayoutError([&] { return op.emitOpError(); }, type.takeError());
    return failure();
  }
  SmallVector<Value> sizes(op.getDynamicSizes());
  if (op.getCopy())
    populateDynamicDimSizes(rewriter, loc, op.getCopy(), sizes);
  FailureOr<Value> buffer = options.createAlloc(rewriter, loc, *type, sizes);
  if (failed(buffer))
    return failure();
  if (op.getCopy()) {
    Value source = ToBufferOp::create(rewriter, loc, *type, op.getCopy());
    memref::CopyOp::create(rewriter, loc, source, *buffer);
  } else if (getPaddingValue(*type)) {
    FillPaddingOp::create(rewriter, loc, *buffer);
  }
  return buffer;
}

/// Allocates the tensors that have layouts; returns how many.
static FailureOr<int64_t> allocateTensors(ModuleOp module,
                                          const BufferizationOptions &options) {
  SmallVector<AllocTensorOp> tensors;
  module.walk([&](AllocTensorOp op) {
    if (getLayoutAttr(op.getType()))
      tensors.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  for (AllocTensorOp op : tensors) {
    rewriter.setInsertionPoint(op);
    FailureOr<Value> buffer = allocate(rewriter, op, options);
    if (failed(buffer))
      return failure();
    rewriter.replaceOpWithNewOp<ToTensorOp>(op, op.getType(), *buffer,
                                            /*restrict=*/true,
                                            /*writable=*/true);
  }
  return static_cast<int64_t>(tensors.size());
}

/// Upstream makes these views with strides, and dies where there are none.
static LogicalResult checkReshapes(ModuleOp module) {
  bool isSupported = true;
  module.walk([&](Operation *op) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) ||
        !isExpandableTensorOp(op))
      return;
    op->emitOpError("unsupported reshape: expected tensors without layouts; "
                    "run --tessera-expand-ops first");
    isSupported = false;
  });
  return success(isSupported);
}

namespace {
struct BufferizePass : tessera::impl::BufferizeBase<BufferizePass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    BufferizeBase::getDependentDialects(registry);
    registerBufferizableOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkReshapes(module)))
      return signalPassFailure();
    OneShotBufferizationOptions options = getBufferizationOptions();
    BufferizationState state;
    replaceEmptyTensors(module);
    copyYieldsFromOutside(module);
    if (failed(insertTensorCopies(module, options, state)))
      return signalPassFailure();
    FailureOr<int64_t> buffers = allocateTensors(module, options);
    if (failed(buffers))
      return signalPassFailure();
    numBuffers += *buffers;
    if (failed(bufferizeModuleOp(module, options, state)))
      return signalPassFailure();
    removeBufferizationAttributesInModule(module);
  }
};
} // namespace
