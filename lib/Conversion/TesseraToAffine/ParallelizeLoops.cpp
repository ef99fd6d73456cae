//===- ParallelizeLoops.cpp - Shares of loops for threads -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopAccesses.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/PassOptions.h"

#include "mlir/Dialect/Affine/Analysis/AffineAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_PARALLELIZELOOPS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

/// The iterations of a loop, or as many as it may have by a constant among its
/// bounds; 1 where nothing is known.
static int64_t countIterations(AffineForOp loop) {
  std::optional<int64_t> upper;
  for (AffineExpr bound : loop.getUpperBoundMap().getResults())
    if (auto constant = dyn_cast<AffineConstantExpr>(bound))
      upper =
          std::min(upper.value_or(constant.getValue()), constant.getValue());
  if (!upper || !loop.hasConstantLowerBound())
    return 1;
  int64_t span = std::max<int64_t>(*upper - loop.getConstantLowerBound(), 0);
  return llvm::divideCeil(span, loop.getStepAsInt());
}

/// Bytes of the elements that `op` and what is in it access.
static int64_t countBytes(Operation *op) {
  Value memref;
  if (auto read = dyn_cast<affine::AffineReadOpInterface>(op))
    memref = read.getMemRef();
  else if (auto write = dyn_cast<affine::AffineWriteOpInterface>(op))
    memref = write.getMemRef();
  if (memref) {
    Type element = cast<MemRefType>(memref.getType()).getElementType();
    return element.isIntOrFloat()
               ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
               : 1;
  }
  int64_t bytes = 0;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      bytes =
          llvm::SaturatingAdd(uint64_t(bytes), uint64_t(countBytes(&inner)));
  auto loop = dyn_cast<AffineForOp>(op);
  return loop ? static_cast<int64_t>(std::min<uint64_t>(
                    llvm::SaturatingMultiply(uint64_t(bytes),
                                             uint64_t(countIterations(loop))),
                    INT64_MAX))
              : bytes;
}

static bool allocates(AffineForOp loop) {
  auto result = loop.walk([](Operation *op) {
    bool isAllocation = hasEffect<MemoryEffects::Allocate>(op) ||
                        hasEffect<MemoryEffects::Free>(op);
    return isAllocation ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static bool canShare(AffineForOp loop) {
  return countIterations(loop) > 1 && loop.getNumResults() == 0 &&
         !allocates(loop) && areSeparate(loop) && affine::isLoopParallel(loop);
}

namespace {
struct ParallelizeLoopsPass
    : tessera::impl::ParallelizeLoopsBase<ParallelizeLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    Operation *root = getOperation();
    if (failed(checkRange(root, threads, 1, kMaxThreads)) ||
        failed(checkRange(root, parallelBytes, 0)))
      return signalPassFailure();
    if (threads == 1)
      return;
    SmallVector<AffineForOp> loops;
    root->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<affine::AffineParallelOp>(op))
        return WalkResult::skip();
      auto loop = dyn_cast<AffineForOp>(op);
      if (!loop || countBytes(loop) < parallelBytes || !canShare(loop))
        return WalkResult::advance();
      loops.push_back(loop);
      return WalkResult::skip();
    });
    for (AffineForOp loop : loops)
      if (succeeded(affine::affineParallelize(loop)))
        ++numShared;
  }
};
} // namespace
