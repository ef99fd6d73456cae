//===- HoistThreadBuffers.cpp - Buffers of OpenMP loops -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"

namespace tessera {
#define GEN_PASS_DEF_HOISTTHREADBUFFERS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

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

namespace {
struct HoistThreadBuffersPass
    : tessera::impl::HoistThreadBuffersBase<HoistThreadBuffersPass> {
  void runOnOperation() override {
    SmallVector<memref::AllocaScopeOp> scopes;
    getOperation()->walk(
        [&](memref::AllocaScopeOp scope) { scopes.push_back(scope); });
    for (memref::AllocaScopeOp scope : scopes)
      numHoisted += hoistBuffers(scope);
  }
};
} // namespace
