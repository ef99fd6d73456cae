//===- SerializeLoops.cpp - Loops that no thread may share ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Support/DebugStringHelper.h"

namespace tessera {
#define GEN_PASS_DEF_SERIALIZELOOPS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Whether the program may end in the operation. An allocation whose address is
/// looked at has code for when there is no memory.
static bool mayEnd(Operation *op) {
  if (auto alloc = dyn_cast<memref::AllocOp>(op))
    return llvm::none_of(alloc->getUsers(),
                         llvm::IsaPred<memref::ExtractAlignedPointerAsIndexOp>);
  return isa<cf::AssertOp, CallOpInterface>(op);
}

static bool mayEndInside(scf::ParallelOp loop) {
  auto result = loop.getBody()->walk([](Operation *op) {
    return mayEnd(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
struct SerializeLoopsPass
    : tessera::impl::SerializeLoopsBase<SerializeLoopsPass> {
  void runOnOperation() override {
    SmallVector<scf::ParallelOp> loops;
    getOperation()->walk([&](scf::ParallelOp loop) {
      if (mayEndInside(loop))
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    for (scf::ParallelOp loop : loops) {
      if (loop.getNumResults() != 0) {
        (void)emitLayoutError(
            [&] { return loop.emitOpError(); },
            unsupportedError("reduction among threads",
                             "no assertion, call or allocation in the loop",
                             "one", "run the program with one thread"));
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(loop);
      if (failed(scf::parallelForToNestedFors(rewriter, loop)))
        return signalPassFailure();
      ++numSerialized;
    }
  }
};
} // namespace
