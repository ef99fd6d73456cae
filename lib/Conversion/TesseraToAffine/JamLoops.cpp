//===- JamLoops.cpp - Sums of neighbours in memory side by side -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Separate.h"

#include "tessera/Conversion/Passes.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/Analysis/AffineAnalysis.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"

namespace tessera {
#define GEN_PASS_DEF_JAMLOOPS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

/// How far a step of a loop moves in memory; nothing where that is not known.
static std::optional<int64_t> getStep(affine::AffineLoadOp load,
                                      AffineForOp loop) {
  SmallVector<int64_t> strides, flat;
  int64_t offset, step = 0;
  AffineMap map = load.getAffineMap();
  SmallVector<Value> operands(load.getMapOperands());
  affine::fullyComposeAffineMapAndOperands(&map, &operands);
  if (failed(load.getMemRefType().getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (auto [index, stride] : llvm::zip_equal(map.getResults(), strides)) {
    // More columns are those of divisions.
    if (failed(getFlattenedAffineExpr(index, map.getNumDims(),
                                      map.getNumSymbols(), &flat)) ||
        flat.size() != operands.size() + 1)
      return std::nullopt;
    for (auto [operand, coefficient] : llvm::zip(operands, flat)) {
      if (affine::getForInductionVarOwner(operand) != loop || coefficient == 0)
        continue;
      int64_t moved;
      if (ShapedType::isDynamic(stride) ||
          llvm::MulOverflow(stride, coefficient, moved) ||
          llvm::AddOverflow(step, moved, step) || step == INT64_MIN)
        return std::nullopt;
    }
    flat.clear();
  }
  return step;
}

/// Whether some element that a sum in the loop reads is nearer to that of the
/// next sum than to the next of its own.
static bool readsNeighbours(AffineForOp loop) {
  auto result = loop.getBody()->walk([&](affine::AffineLoadOp load) {
    auto sum = dyn_cast<AffineForOp>(load->getParentOp());
    if (!sum || sum == loop || sum.getNumResults() == 0)
      return WalkResult::advance();
    std::optional<int64_t> across = getStep(load, loop);
    std::optional<int64_t> along = getStep(load, sum);
    bool isNearer =
        across && along && *across != 0 && std::abs(*across) < std::abs(*along);
    return isNearer ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Sums that are added up side by side, at most: neighbours in tiles are few.
static constexpr uint64_t kMostSums = 8;

static bool canJam(AffineForOp loop) {
  std::optional<uint64_t> count = affine::getConstantTripCount(loop);
  return count && *count > 1 && *count <= kMostSums &&
         loop.getNumResults() == 0 && loop.hasConstantBounds() &&
         loop.getStepAsInt() == 1 && readsNeighbours(loop) &&
         areSeparate(loop) && affine::isLoopParallel(loop);
}

namespace {
struct JamLoopsPass : tessera::impl::JamLoopsBase<JamLoopsPass> {
  void runOnOperation() override {
    SmallVector<AffineForOp> loops;
    // Inner loops first: what is jammed is the body of the loop around it.
    getOperation()->walk([&](AffineForOp loop) { loops.push_back(loop); });
    for (AffineForOp loop : loops) {
      if (loop.getNumResults() != 0 || !canJam(loop))
        continue;
      uint64_t count = *affine::getConstantTripCount(loop);
      if (succeeded(affine::loopUnrollJamByFactor(loop, count)))
        ++numJammed;
    }
  }
};
} // namespace
