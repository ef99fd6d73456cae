//===- RaiseLoops.cpp - Loops around accesses as affine.for ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only an affine.for is split at tile sizes. An scf.for with constant bounds is
// one in other words; an affine.parallel is one for each of its dimensions,
// until they have been split.
//
//===----------------------------------------------------------------------===//

#include "RaiseLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

/// Marks loops that were dimensions of an affine.parallel.
static constexpr llvm::StringLiteral kIsParallel = "tessera_is_parallel";

/// Replaces an scf.for whose bounds and step are constants.
static void raiseFor(RewriterBase &rewriter, scf::ForOp loop) {
  auto lower = getConstantIntValue(loop.getLowerBound());
  auto upper = getConstantIntValue(loop.getUpperBound());
  auto step = getConstantIntValue(loop.getStep());
  bool isKnown = loop.getInductionVar().getType().isIndex() && lower && upper &&
                 step && *lower >= 0 && *upper >= 0 && *step > 0;
  // Upstream's deallocation cannot give an affine.for the owners of memrefs.
  if (!isKnown ||
      llvm::any_of(loop.getResultTypes(), llvm::IsaPred<BaseMemRefType>))
    return;
  rewriter.setInsertionPoint(loop);
  auto raised = AffineForOp::create(rewriter, loop.getLoc(), *lower, *upper,
                                    *step, loop.getInitArgs());
  raised->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = raised.getBody();
  // Loops that carry values are made without terminators.
  if (!body->empty())
    rewriter.eraseOp(body->getTerminator());
  rewriter.inlineBlockBefore(loop.getBody(), body, body->end(),
                             body->getArguments());
  auto yield = cast<scf::YieldOp>(body->back());
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<affine::AffineYieldOp>(yield,
                                                     yield.getOperands());
  rewriter.replaceOp(loop, raised.getResults());
}

/// Replaces an affine.parallel that reduces nothing by a nest of loops that
/// makeParallel knows again.
static void raiseParallel(RewriterBase &rewriter, affine::AffineParallelOp op) {
  if (op.getNumResults() != 0)
    return;
  rewriter.setInsertionPoint(op);
  SmallVector<Value> variables;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    auto loop = AffineForOp::create(
        rewriter, op.getLoc(), op.getLowerBoundsOperands(),
        op.getLowerBoundMap(dim), op.getUpperBoundsOperands(),
        op.getUpperBoundMap(dim), op.getSteps()[dim]);
    loop->setAttr(kIsParallel, rewriter.getUnitAttr());
    variables.push_back(loop.getInductionVar());
    rewriter.setInsertionPointToStart(loop.getBody());
  }
  rewriter.eraseOp(op.getBody()->getTerminator());
  rewriter.inlineBlockBefore(op.getBody(), rewriter.getInsertionBlock(),
                             rewriter.getInsertionPoint(), variables);
  rewriter.eraseOp(op);
}

void tessera::raiseLoops(RewriterBase &rewriter, ArrayRef<Operation *> loops) {
  for (Operation *op : loops)
    if (auto loop = dyn_cast<scf::ForOp>(op))
      raiseFor(rewriter, loop);
    else if (auto parallel = dyn_cast<affine::AffineParallelOp>(op))
      raiseParallel(rewriter, parallel);
}

void tessera::makeParallel(Operation *root) {
  SmallVector<AffineForOp> loops;
  root->walk([&](AffineForOp loop) {
    if (loop->removeAttr(kIsParallel))
      loops.push_back(loop);
  });
  for (AffineForOp loop : loops)
    (void)affine::affineParallelize(loop);
}
