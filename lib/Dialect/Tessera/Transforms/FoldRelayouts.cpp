//===- FoldRelayouts.cpp - Relayouts that need not be ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace tessera {
#define GEN_PASS_DEF_FOLDRELAYOUTS
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Bitcasts
//===----------------------------------------------------------------------===//

/// Whether a relayout moves nothing, and a bitcast says so.
static bool isBitcast(RelayoutOp op) {
  auto from = cast<RankedTensorType>(op.getSource().getType());
  auto to = cast<RankedTensorType>(op.getResult().getType());
  if (!from.hasStaticShape())
    return false;
  llvm::Expected<Shape> source = getShape(from), result = getShape(to);
  bool known = source && result;
  for (auto *shape : {&source, &result})
    if (!*shape)
      llvm::consumeError(shape->takeError());
  // Arrays without elements have equal bytes in any width, which no view has.
  return known &&
         getStorageBits(source->elementType(), source->layoutOrDefault()) ==
             getStorageBits(result->elementType(), result->layoutOrDefault()) &&
         isRelayoutBitcast(*source, *result);
}

namespace {
/// relayout(x) -> bitcast(x), where both have the same bytes.
struct RelayoutToBitcast : OpRewritePattern<RelayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.isTensorForm() || !isBitcast(op))
      return failure();
    // Verified here, for its rules are more than that of bytes.
    SilentDiagnostics ignore(op.getContext());
    auto bitcast = BitcastOp::create(
        rewriter, op.getLoc(), cast<RankedTensorType>(op.getResult().getType()),
        op.getSource());
    if (failed(bitcast.verify())) {
      rewriter.eraseOp(bitcast);
      return failure();
    }
    rewriter.replaceOp(op, bitcast);
    return success();
  }
};

struct FoldRelayoutsPass : tessera::impl::FoldRelayoutsBase<FoldRelayoutsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void mergeEqual();
  void hoist();
  LogicalResult fold();
  void remark(RelayoutOp op);
};
} // namespace

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static SmallVector<RelayoutOp> findRelayouts(Operation *root) {
  SmallVector<RelayoutOp> list;
  root->walk([&](RelayoutOp op) {
    if (op.isTensorForm())
      list.push_back(op);
  });
  return list;
}

/// Merges, cancels, folds constants, makes bitcasts.
LogicalResult FoldRelayoutsPass::fold() {
  RewritePatternSet patterns(&getContext());
  RelayoutOp::getCanonicalizationPatterns(patterns, &getContext());
  patterns.add<RelayoutToBitcast>(&getContext());
  SmallVector<Operation *> ops;
  for (RelayoutOp op : findRelayouts(getOperation()))
    ops.push_back(op);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  return applyOpPatternsGreedily(ops, std::move(patterns), config);
}

/// Two relayouts of one value to one type are one, where the first is always
/// there when the second runs.
void FoldRelayoutsPass::mergeEqual() {
  DominanceInfo dominance(getOperation());
  llvm::DenseMap<std::pair<Value, Type>, SmallVector<RelayoutOp, 1>> known;
  for (RelayoutOp op : findRelayouts(getOperation())) {
    auto &list = known[{op.getSource(), op.getResult().getType()}];
    auto *before = llvm::find_if(list, [&](RelayoutOp other) {
      return dominance.properlyDominates(other.getOperation(), op);
    });
    if (before == list.end()) {
      list.push_back(op);
      continue;
    }
    op.getResult().replaceAllUsesWith(before->getResult());
    op.erase();
  }
}

/// Innermost loops first, so that a relayout leaves as many as it can.
void FoldRelayoutsPass::hoist() {
  getOperation()->walk([&](LoopLikeOpInterface loop) {
    numHoisted += moveLoopInvariantCode(
        loop.getLoopRegions(),
        [&](Value value, Region *) {
          return loop.isDefinedOutsideOfLoop(value);
        },
        [](Operation *op, Region *) {
          auto relayout = dyn_cast<RelayoutOp>(op);
          return relayout && relayout.isTensorForm();
        },
        [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
  });
}

/// Who fixes the source's layout.
static std::string describeSource(Value source) {
  if (Operation *op = source.getDefiningOp())
    return "'" + op->getName().getStringRef().str() + "' gives this layout";
  Operation *owner = cast<BlockArgument>(source).getOwner()->getParentOp();
  if (isa_and_present<FunctionOpInterface>(owner))
    return "an argument of the function has this layout; give it that of the "
           "result";
  return "a block argument has this layout";
}

void FoldRelayoutsPass::remark(RelayoutOp op) {
  InFlightDiagnostic remark = emitRemark(op.getLoc()) << "relayout stays: ";
  int64_t bytes = 0;
  for (Value value : {Value(op.getSource()), Value(op.getResult())}) {
    llvm::Expected<int64_t> size =
        getStorageBytes(cast<ShapedType>(value.getType()));
    if (size)
      bytes += *size;
    else
      llvm::consumeError(size.takeError());
  }
  if (cast<ShapedType>(op.getSource().getType()).hasStaticShape())
    remark << bytes << " bytes read and written; ";
  remark << describeSource(op.getSource());
  for (Operation *user : op.getResult().getUsers()) {
    remark << ", and '" << user->getName().getStringRef()
           << "' takes the other";
    break;
  }
}

void FoldRelayoutsPass::runOnOperation() {
  size_t before = findRelayouts(getOperation()).size();
  int64_t bitcasts = 0;
  getOperation()->walk([&](BitcastOp) { --bitcasts; });
  if (failed(fold()))
    return signalPassFailure();
  hoist();
  if (failed(fold()))
    return signalPassFailure();
  mergeEqual();
  SmallVector<RelayoutOp> kept = findRelayouts(getOperation());
  getOperation()->walk([&](BitcastOp) { ++bitcasts; });
  numBitcasts += std::max<int64_t>(bitcasts, 0);
  numFolded += before - std::min(before, kept.size());
  numKept += kept.size();
  if (remarks)
    llvm::for_each(kept, [&](RelayoutOp op) { remark(op); });
}
