//===- JamLoops.cpp - Sums of neighbours in memory side by side -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopAccesses.h"

#include "tessera/Conversion/Passes.h"

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

static std::optional<int64_t> getStep(affine::AffineLoadOp load,
                                      AffineForOp loop) {
  return getStep(load.getMemRefType(), load.getAffineMap(),
                 load.getMapOperands(), loop);
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
      if (!canJam(loop))
        continue;
      uint64_t count = *affine::getConstantTripCount(loop);
      if (succeeded(affine::loopUnrollJamByFactor(loop, count)))
        ++numJammed;
    }
  }
};
} // namespace
