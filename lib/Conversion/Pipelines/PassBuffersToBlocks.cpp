//===- PassBuffersToBlocks.cpp - Loops end their blocks -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's ownership-based deallocation replaces loops and conditionals by
// ones with more results, and then asks an analysis from before, which still
// names the old results, what is live between blocks. An argument of a block
// stays what it is.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_PASSBUFFERSTOBLOCKS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The results of `op` that are buffers, and that other blocks use.
static SmallVector<Value> getLiveBuffers(Operation *op) {
  auto isLive = [&](Value result) {
    return isa<BaseMemRefType>(result.getType()) &&
           llvm::any_of(result.getUsers(), [&](Operation *user) {
             return !op->getBlock()->findAncestorOpInBlock(*user);
           });
  };
  return llvm::filter_to_vector(ValueRange(op->getResults()), isLive);
}

/// Ends the block at `op`; the rest becomes a block that takes `buffers`.
static void splitBlock(IRRewriter &rewriter, Operation *op,
                       ArrayRef<Value> buffers) {
  Block *block = op->getBlock();
  Block *rest = rewriter.splitBlock(block, std::next(op->getIterator()));
  for (Value buffer : buffers)
    rewriter.replaceAllUsesWith(
        buffer, rest->addArgument(buffer.getType(), op->getLoc()));
  rewriter.setInsertionPointToEnd(block);
  cf::BranchOp::create(rewriter, op->getLoc(), rest, buffers);
}

namespace {
struct PassBuffersToBlocksPass
    : tessera::impl::PassBuffersToBlocksBase<PassBuffersToBlocksPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    getOperation()->walk(
        [&](RegionBranchOpInterface op) { ops.push_back(op); });
    for (Operation *op : ops) {
      SmallVector<Value> buffers = getLiveBuffers(op);
      if (buffers.empty())
        continue;
      splitBlock(rewriter, op, buffers);
      ++numSplit;
    }
  }
};
} // namespace
