//===- FoldRelayouts.cpp - Relayouts that need not be ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runs.h"

#include "tessera/Dialect/Tessera/IR/LayoutPropagation.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/CallInterfaces.h"
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
  void fuseIntoWriters();
  void fuseIntoReaders();
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

//===----------------------------------------------------------------------===//
// Readers and writers
//===----------------------------------------------------------------------===//

/// Whether a relayout stays in its memory space.
static bool staysInSpace(RelayoutOp op) {
  llvm::Expected<int64_t> from =
      getMemorySpaceNumber(cast<ShapedType>(op.getSource().getType()));
  llvm::Expected<int64_t> to =
      getMemorySpaceNumber(cast<ShapedType>(op.getResult().getType()));
  bool isKnown = from && to && *from == *to;
  for (auto *number : {&from, &to})
    if (!*number)
      llvm::consumeError(number->takeError());
  return isKnown;
}

/// Whether a tensor of an operation promises nothing about its padding, which
/// only a relayout writes.
static bool hasPlainPadding(Type type) {
  return !getPaddingValue(cast<ShapedType>(type));
}

/// Of a tensor with dynamic sizes, what it has at least.
static int64_t getBytes(Type type) {
  llvm::Expected<int64_t> bytes = getStorageBytes(cast<ShapedType>(type));
  if (bytes && *bytes >= 0)
    return *bytes;
  llvm::consumeError(bytes.takeError());
  return 0;
}

namespace {
/// Operands that are read in any layout, beside which nothing has the same one.
class Readers {
public:
  explicit Readers(Operation *root);

  bool contains(OpOperand &use) const { return wholes.contains(&use); }
  /// Whether the operation reads all of it, padding included.
  bool readsWhole(OpOperand &use) const { return wholes.lookup(&use); }

private:
  llvm::DenseMap<OpOperand *, bool> wholes;
};
} // namespace

Readers::Readers(Operation *root) {
  llvm::DenseSet<OpOperand *> tied;
  root->walk([&](Operation *op) {
    for (const LayoutTie &tie : getLayoutTies(op))
      if (tie.uses.size() == 1 && tie.definitions.empty() && !tie.isPinned)
        wholes.try_emplace(tie.uses.front(), !tie.touched.empty());
      else
        tied.insert(tie.uses.begin(), tie.uses.end());
    // There it may have to move bytes.
    for (const LayoutRelation &relation : getLayoutRelations(op))
      if (relation.traffic != LayoutRelation::Traffic::None)
        tied.insert(relation.use);
  });
  for (OpOperand *use : tied)
    wholes.erase(use);
}

/// Readers that take any layout read the source of a relayout, where all can
/// and that is less to read.
void FoldRelayoutsPass::fuseIntoReaders() {
  Readers readers(getOperation());
  Runs runs(getOperation(), /*unknownTrips=*/10);
  SilentDiagnostics ignore(&getContext());
  for (RelayoutOp op : findRelayouts(getOperation())) {
    Value source = op.getSource(), result = op.getResult();
    int64_t from = getBytes(source.getType()), to = getBytes(result.getType());
    int64_t kept = multiplyCosts(sumCosts(from, to), runs.get(op)), fused = 0;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses()) {
      uses.push_back(&use);
      int64_t count = readers.readsWhole(use) ? runs.get(use.getOwner()) : 0;
      kept = sumCosts(kept, multiplyCosts(to, count));
      fused = sumCosts(fused, multiplyCosts(from, count));
    }
    auto isReader = [&](OpOperand *use) { return readers.contains(*use); };
    if (!staysInSpace(op) || !llvm::all_of(uses, isReader) || fused > kept)
      continue;
    for (OpOperand *use : uses) {
      use->set(source);
      if (failed(mlir::verify(use->getOwner(), /*verifyRecursively=*/false)))
        use->set(result);
    }
    if (!op->use_empty())
      continue;
    ++numFusedReaders;
    op.erase();
  }
}

/// The other values of a tie with a result that nothing but it reads, empty
/// ones; nothing where there are others.
static std::optional<SmallVector<Value, 1>> findCompanions(Value result) {
  Operation *op = result.getDefiningOp();
  for (const LayoutTie &tie : getLayoutTies(op)) {
    if (!llvm::is_contained(tie.definitions, result))
      continue;
    SmallVector<Value, 1> companions;
    for (OpOperand *use : tie.uses) {
      Operation *empty = use->get().getDefiningOp();
      if (!isa_and_present<EmptyOp, tensor::EmptyOp>(empty) ||
          !empty->hasOneUse())
        return std::nullopt;
      companions.push_back(use->get());
    }
    if (tie.definitions.size() == 1 && !tie.isPinned)
      return companions;
  }
  return std::nullopt;
}

/// What gives any layout gives the one that is wanted.
void FoldRelayoutsPass::fuseIntoWriters() {
  SilentDiagnostics ignore(&getContext());
  for (RelayoutOp op : findRelayouts(getOperation())) {
    Value source = op.getSource();
    Operation *writer = source.getDefiningOp();
    Type from = source.getType(), to = op.getResult().getType();
    if (!writer || !source.hasOneUse() || !staysInSpace(op) ||
        !hasPlainPadding(to) || isa<RelayoutOp>(writer) ||
        writer->hasTrait<OpTrait::ConstantLike>())
      continue;
    bool isFree = llvm::all_of(
        getLayoutRelations(writer), [](const LayoutRelation &relation) {
          return relation.traffic == LayoutRelation::Traffic::None;
        });
    std::optional<SmallVector<Value, 1>> companions = findCompanions(source);
    if (!isFree || !companions)
      continue;
    companions->push_back(source);
    for (Value value : *companions)
      value.setType(to);
    if (failed(mlir::verify(writer, /*verifyRecursively=*/false))) {
      for (Value value : *companions)
        value.setType(from);
      continue;
    }
    ++numFusedWriters;
    op.getResult().replaceAllUsesWith(source);
    op.erase();
  }
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

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

/// What would remove a relayout for `use`.
static StringRef getRemedy(OpOperand &use) {
  Operation *user = use.getOwner();
  if (user->hasTrait<OpTrait::ReturnLike>() &&
      isa<FunctionOpInterface>(user->getParentOp()))
    return "let the function return this one";
  if (isa<CallOpInterface>(user))
    return "let the callee take this one";
  if (isa<RelayoutOp>(user))
    return "the memory space between stays";
  for (const LayoutTie &tie : getLayoutTies(user))
    if (llvm::is_contained(tie.uses, &use))
      return "--tessera-propagate-layouts chooses both";
  return "put what computes it in this one";
}

void FoldRelayoutsPass::remark(RelayoutOp op) {
  InFlightDiagnostic remark = emitRemark(op.getLoc()) << "relayout stays: ";
  if (cast<ShapedType>(op.getSource().getType()).hasStaticShape())
    remark << sumCosts(getBytes(op.getSource().getType()),
                       getBytes(op.getResult().getType()))
           << " bytes read and written; ";
  if (!staysInSpace(op)) {
    remark << "it moves to another memory space";
    return;
  }
  remark << describeSource(op.getSource());
  if (op->use_empty())
    return;
  // Uses are listed from the last to the first.
  OpOperand *first = nullptr;
  for (OpOperand &use : op.getResult().getUses())
    first = &use;
  remark << ", and '" << first->getOwner()->getName().getStringRef()
         << "' takes the other; " << getRemedy(*first);
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
  fuseIntoWriters();
  fuseIntoReaders();
  SmallVector<RelayoutOp> kept = findRelayouts(getOperation());
  getOperation()->walk([&](BitcastOp) { ++bitcasts; });
  numBitcasts += std::max<int64_t>(bitcasts, 0);
  numFolded += before - std::min(before, kept.size());
  numKept += kept.size();
  if (remarks)
    llvm::for_each(kept, [&](RelayoutOp op) { remark(op); });
}
