//===- OrderLoops.cpp - Loops in the order of memory ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/OrderLoops.h"

#include "LoopAccesses.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

static bool hasAnyOrder(AffineForOp loop) {
  return loop->hasAttr(kHasAnyOrder) && loop.getNumResults() == 0;
}

/// The loop that is all that the body of another does, but for arithmetic on
/// indices that only it uses; null where there is none.
static AffineForOp getInnerLoop(AffineForOp loop) {
  AffineForOp inner;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isa<affine::AffineApplyOp>(op))
      continue;
    auto other = dyn_cast<AffineForOp>(op);
    if (!other || inner || !hasAnyOrder(other))
      return {};
    inner = other;
  }
  return inner;
}

/// Moves arithmetic on indices into the loop that stands behind it; false where
/// the loop itself is bounded by it.
static bool sinkArithmetic(AffineForOp loop, AffineForOp inner) {
  SmallVector<Operation *> moved;
  for (Operation &op : loop.getBody()->without_terminator())
    if (&op != inner)
      moved.push_back(&op);
  for (Operation *op : moved)
    if (llvm::is_contained(op->getUsers(), inner.getOperation()))
      return false;
  for (Operation *op : llvm::reverse(moved))
    op->moveBefore(&inner.getBody()->front());
  return true;
}

/// The loops of a nest, outermost first, that stand one in the other.
static SmallVector<AffineForOp> getNest(AffineForOp loop) {
  SmallVector<AffineForOp> nest = {loop};
  while (AffineForOp inner = getInnerLoop(nest.back())) {
    if (!sinkArithmetic(nest.back(), inner))
      break;
    nest.push_back(inner);
  }
  return nest;
}

/// How far one step of each loop moves in the memory that is written; nothing
/// where that is no constant.
static std::optional<SmallVector<int64_t>>
getSteps(affine::AffineStoreOp store, ArrayRef<AffineForOp> nest) {
  SmallVector<int64_t> steps;
  for (AffineForOp loop : nest) {
    std::optional<int64_t> step =
        getStep(store.getMemRefType(), store.getAffineMap(),
                store.getMapOperands(), loop);
    if (!step)
      return std::nullopt;
    steps.push_back(*step);
  }
  return steps;
}

/// Whether loops are still inside of those that bound them.
static bool isLegal(ArrayRef<AffineForOp> nest, ArrayRef<unsigned> order) {
  llvm::SmallPtrSet<Operation *, 8> around;
  for (unsigned i : order) {
    AffineForOp loop = nest[i];
    for (Value operand : loop.getControlOperands()) {
      AffineForOp bounding = affine::getForInductionVarOwner(operand);
      if (llvm::is_contained(nest, bounding) && !around.contains(bounding))
        return false;
    }
    around.insert(loop);
  }
  return true;
}

/// The loops of a nest from the longest steps to the shortest.
static std::optional<SmallVector<unsigned>>
getMemoryOrder(ArrayRef<AffineForOp> nest) {
  std::optional<SmallVector<int64_t>> steps;
  AffineForOp innermost = nest.back();
  for (Operation &op : innermost.getBody()->without_terminator())
    if (auto store = dyn_cast<affine::AffineStoreOp>(op)) {
      steps = getSteps(store, nest);
      break;
    }
  if (!steps || llvm::is_contained(*steps, 0))
    return std::nullopt;
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, nest.size()));
  auto getKey = [&](unsigned i) {
    return std::pair(-std::abs((*steps)[i]), i);
  };
  llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
    return getKey(lhs) < getKey(rhs);
  });
  if (llvm::is_sorted(order) || !isLegal(nest, order))
    return std::nullopt;
  return order;
}

int64_t tessera::orderLoops(Operation *root) {
  SmallVector<AffineForOp> outermost, marked;
  root->walk([&](AffineForOp loop) {
    if (!hasAnyOrder(loop))
      return;
    marked.push_back(loop);
    auto parent = dyn_cast<AffineForOp>(loop->getParentOp());
    if (!parent || !hasAnyOrder(parent))
      outermost.push_back(loop);
  });
  int64_t count = 0;
  for (AffineForOp loop : outermost) {
    SmallVector<AffineForOp> nest = getNest(loop);
    std::optional<SmallVector<unsigned>> order = getMemoryOrder(nest);
    if (!order)
      continue;
    SmallVector<unsigned> places(nest.size());
    for (auto [place, i] : llvm::enumerate(*order))
      places[i] = place;
    affine::permuteLoops(nest, places);
    ++count;
  }
  for (AffineForOp loop : marked)
    loop->removeAttr(kHasAnyOrder);
  return count;
}
