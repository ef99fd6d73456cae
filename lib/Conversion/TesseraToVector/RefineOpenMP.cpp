//===- RefineOpenMP.cpp - Buffers and shares of OpenMP loops --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>

namespace tessera {
#define GEN_PASS_DEF_REFINEOPENMP
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The smallest share is that part of what a thread would get of a loop.
static constexpr int64_t kShares = 8;

/// The allocations that would outlive the scope once its body leaves it; none
/// at all if one of them cannot move.
static FailureOr<SmallVector<memref::AllocaOp>>
getBuffers(memref::AllocaScopeOp scope) {
  SmallVector<memref::AllocaOp> buffers;
  bool canMove = scope.getNumResults() == 0;
  scope.walk([&](memref::AllocaOp buffer) {
    if (buffer->getParentOfType<memref::AllocaScopeOp>() != scope)
      return;
    canMove &= buffer->getNumOperands() == 0;
    buffers.push_back(buffer);
  });
  if (!canMove)
    return failure();
  return buffers;
}

/// Lets each thread allocate once what it frees at the end of each iteration.
static unsigned hoistAllocations(omp::ParallelOp parallel) {
  unsigned count = 0;
  Block &body = parallel.getRegion().front();
  SmallVector<memref::AllocOp> buffers;
  parallel.walk([&](memref::AllocOp buffer) {
    if (buffer->getNumOperands() == 0)
      buffers.push_back(buffer);
  });
  for (memref::AllocOp buffer : buffers) {
    auto isFree = llvm::IsaPred<memref::DeallocOp>;
    auto free = llvm::find_if(buffer->getUsers(), isFree);
    if (free == buffer->user_end() || (*free)->getBlock() != buffer->getBlock())
      continue;
    (*free)->moveBefore(body.getTerminator());
    buffer->moveBefore(&body, body.begin());
    ++count;
  }
  return count;
}

/// Returns the number of buffers that moved out of `scope`.
static unsigned hoistBuffers(memref::AllocaScopeOp scope) {
  auto parallel = scope->getParentOfType<omp::ParallelOp>();
  auto buffers = getBuffers(scope);
  if (!parallel || failed(buffers))
    return 0;
  for (memref::AllocaOp buffer : *buffers)
    buffer->moveBefore(&parallel.getRegion().front(),
                       parallel.getRegion().front().begin());
  Block &body = scope.getBodyRegion().front();
  body.getTerminator()->erase();
  scope->getBlock()->getOperations().splice(scope->getIterator(),
                                            body.getOperations());
  scope.erase();
  return buffers->size();
}

/// Lets threads take shares of a loop as they come free, large ones first.
static void shareOnDemand(omp::WsloopOp loop) {
  auto parallel = loop->getParentOfType<omp::ParallelOp>();
  auto nest = cast<omp::LoopNestOp>(loop.getWrappedLoop());
  IntegerAttr threads, count;
  if (!parallel || !parallel.getNumThreads() || nest.getNumLoops() != 1 ||
      loop.getScheduleKind() ||
      !matchPattern(parallel.getNumThreads(), m_Constant(&threads)) ||
      !matchPattern(nest.getLoopUpperBounds().front(), m_Constant(&count)))
    return;
  int64_t shares = threads.getInt() * kShares;
  OpBuilder builder(loop);
  Value chunk = arith::ConstantIndexOp::create(
      builder, loop.getLoc(), std::max<int64_t>(count.getInt() / shares, 1));
  loop.setNowait(true);
  loop.setScheduleKind(omp::ClauseScheduleKind::Guided);
  loop.getScheduleChunkMutable().assign(chunk);
}

namespace {
struct RefineOpenMPPass : tessera::impl::RefineOpenMPBase<RefineOpenMPPass> {
  void runOnOperation() override {
    SmallVector<memref::AllocaScopeOp> scopes;
    getOperation()->walk(
        [&](memref::AllocaScopeOp scope) { scopes.push_back(scope); });
    for (memref::AllocaScopeOp scope : scopes)
      numHoisted += hoistBuffers(scope);
    getOperation()->walk([&](omp::ParallelOp parallel) {
      numHoisted += hoistAllocations(parallel);
    });
    getOperation()->walk(shareOnDemand);
  }
};
} // namespace
