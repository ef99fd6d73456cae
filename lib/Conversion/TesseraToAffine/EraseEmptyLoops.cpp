//===- EraseEmptyLoops.cpp - Loops without iterations ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_ERASEEMPTYLOOPS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

/// The results of `map` that are constants, where operands are.
static SmallVector<int64_t> getConstantResults(AffineMap map,
                                               ValueRange operands) {
  SmallVector<Attribute> constants(operands.size());
  for (auto [operand, constant] : llvm::zip_equal(operands, constants))
    matchPattern(operand, m_Constant(&constant));
  SmallVector<int64_t> results;
  for (AffineExpr result : map.partialConstantFold(constants).getResults())
    if (auto constant = dyn_cast<AffineConstantExpr>(result))
      results.push_back(constant.getValue());
  return results;
}

/// Whether the loop is known to have no iteration.
static bool isEmpty(AffineForOp loop) {
  SmallVector<int64_t> lower =
      getConstantResults(loop.getLowerBoundMap(), loop.getLowerBoundOperands());
  SmallVector<int64_t> upper =
      getConstantResults(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
  // The largest of the lower bounds counts, and the smallest of the upper ones.
  return !lower.empty() && !upper.empty() &&
         *llvm::max_element(lower) >= *llvm::min_element(upper);
}

namespace {
struct EraseEmptyLoopsPass
    : tessera::impl::EraseEmptyLoopsBase<EraseEmptyLoopsPass> {
  void runOnOperation() override {
    simplifySizes();
    IRRewriter rewriter(&getContext());
    Operation *root = getOperation();
    // Outer loops first, and what bounds depend on before the loops.
    root->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == root)
        return WalkResult::advance();
      if (auto loop = dyn_cast<AffineForOp>(op)) {
        if (!isEmpty(loop))
          return WalkResult::advance();
        rewriter.replaceOp(loop, SmallVector<Value>(loop.getInits()));
        ++numErased;
        return WalkResult::skip();
      }
      return foldToConstants(rewriter, op);
    });
  }

private:
  static constexpr int kMaxFolds = 8;

  /// Whether tensors are left. Some folds upstream forget their encodings.
  static bool hasTensors(Operation *op) {
    return llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>) ||
           llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
  }

  /// Canonicalizes all but affine loops: a size may be known only behind casts
  /// of memrefs which loops and conditionals carry. Loads from constants stay:
  /// the fold upstream (22.1) reads elements of empty ones.
  void simplifySizes() {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (op != getOperation() && !hasTensors(op) &&
          !isa<AffineForOp, affine::AffineLoadOp>(op))
        ops.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    for (Dialect *dialect : getContext().getLoadedDialects())
      dialect->getCanonicalizationPatterns(patterns);
    for (RegisteredOperationName name : getContext().getRegisteredOperations())
      name.getCanonicalizationPatterns(patterns, &getContext());
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    // What has not converged is simplified as far as it went.
    (void)applyOpPatternsGreedily(ops, std::move(patterns), config);
  }

  static WalkResult foldToConstants(IRRewriter &rewriter, Operation *op) {
    if (op->hasTrait<OpTrait::ConstantLike>() || op->getNumRegions() != 0 ||
        op->getNumResults() == 0 || hasTensors(op) || !isMemoryEffectFree(op))
      return WalkResult::advance();
    rewriter.setInsertionPoint(op);
    // A fold in place gives no results, and may make another one possible.
    SmallVector<Value> results;
    for (int i = 0; i < kMaxFolds && succeeded(rewriter.tryFold(op, results));
         ++i)
      if (!results.empty()) {
        rewriter.replaceOp(op, results);
        return WalkResult::skip();
      }
    return WalkResult::advance();
  }
};
} // namespace
