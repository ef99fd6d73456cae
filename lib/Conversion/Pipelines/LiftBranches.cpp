//===- LiftBranches.cpp - Branches as structured control flow -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's lift, and what affine loops and deallocation need around it.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace tessera {
#define GEN_PASS_DEF_LIFTBRANCHES
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Whether there are branches in the function.
static bool hasBranches(func::FuncOp function) {
  auto result = function.walk([](Block *block) {
    return block->isEntryBlock() ? WalkResult::advance()
                                 : WalkResult::interrupt();
  });
  return result.wasInterrupted();
}

/// The static numbers as attributes, zeros in place of the others.
static SmallVector<OpFoldResult> getOrZero(OpBuilder &builder, Location loc,
                                           ArrayRef<int64_t> numbers) {
  return llvm::map_to_vector(numbers, [&](int64_t number) -> OpFoldResult {
    if (ShapedType::isStatic(number))
      return builder.getIndexAttr(number);
    return arith::ConstantIndexOp::create(builder, loc, 0).getResult();
  });
}

/// A buffer of `type` at an address of its own, without memory behind it; null
/// where no view gives it the type.
static Value createView(OpBuilder &builder, Location loc, MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return Value();
  Value nothing = memref::AllocaOp::create(
      builder, loc,
      MemRefType::get({0}, type.getElementType(), MemRefLayoutAttrInterface(),
                      type.getMemorySpace()));
  return memref::ReinterpretCastOp::create(
      builder, loc, type, nothing, getOrZero(builder, loc, offset).front(),
      getOrZero(builder, loc, type.getShape()),
      getOrZero(builder, loc, strides));
}

/// Where a path has no buffer, the lift yields poison. Nothing reads it; but
/// what frees buffers compares the addresses of all that it is given.
static LogicalResult replacePoison(func::FuncOp function) {
  SmallVector<ub::PoisonOp> ops;
  function.walk([&](ub::PoisonOp op) {
    if (isa<BaseMemRefType>(op.getType()))
      ops.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (ub::PoisonOp op : ops) {
    auto type = dyn_cast<MemRefType>(op.getType());
    rewriter.setInsertionPoint(op);
    Value view = type ? createView(rewriter, op.getLoc(), type) : Value();
    if (!view)
      return emitLayoutError(
          [&] { return op.emitOpError(); },
          unsupportedError("memref where branches join",
                           "a ranked type with strides",
                           debugString(op.getType()),
                           "do not deallocate, or return before"));
    rewriter.replaceOp(op, view);
  }
  return success();
}

namespace {
struct LiftBranchesPass : tessera::impl::LiftBranchesBase<LiftBranchesPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    LiftBranchesBase::getDependentDialects(registry);
    getLift().getDependentDialects(registry);
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    getOperation()->walk([&](func::FuncOp function) {
      if (hasBranches(function))
        functions.push_back(function);
    });
    for (func::FuncOp function : functions)
      if (failed(lift(function)))
        return signalPassFailure();
  }

private:
  /// Affine loops go first: their sizes need not be valid symbols any more when
  /// they are computed inside of a conditional.
  static OpPassManager getLift() {
    OpPassManager manager(func::FuncOp::getOperationName());
    manager.addPass(createLowerAffinePass());
    manager.addPass(createLiftControlFlowToSCFPass());
    return manager;
  }

  LogicalResult lift(func::FuncOp function) {
    OpPassManager manager = getLift();
    if (failed(runPipeline(manager, function)) ||
        failed(replacePoison(function)))
      return failure();
    ++numLifted;
    if (!hasBranches(function))
      return success();
    return emitLayoutError(
        [&] { return function.emitOpError(); },
        unsupportedError("branches", "one kind of terminator that returns",
                         "several kinds", "do not deallocate"));
  }
};
} // namespace
