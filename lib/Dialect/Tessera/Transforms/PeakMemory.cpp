//===- PeakMemory.cpp - Bytes live at once in a memory space --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeakMemory.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Analysis/Liveness.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

static int64_t addSaturating(int64_t lhs, int64_t rhs) {
  int64_t sum = 0;
  return llvm::AddOverflow(lhs, rhs, sum) ? INT64_MAX : sum;
}

/// Whether the result of `op` is memory of an operand.
static bool isView(Operation *op) {
  return isa<ViewLikeOpInterface, BitcastOp>(op);
}

/// Bytes that `value` takes in `space`.
static int64_t getBytes(Value value, const MemorySpace &space) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!isa<RankedTensorType, MemRefType>(value.getType()) ||
      (value.getDefiningOp() && isView(value.getDefiningOp())))
    return 0;
  llvm::Expected<int64_t> number = getMemorySpaceNumber(type);
  llvm::Expected<int64_t> bytes = getStorageBytes(type);
  bool counts = number && bytes && *number == space.number && *bytes > 0;
  llvm::consumeError(number.takeError());
  if (!counts) {
    llvm::consumeError(bytes.takeError());
    return 0;
  }
  uint64_t rounded = llvm::alignTo(static_cast<uint64_t>(*bytes),
                                   static_cast<uint64_t>(space.alignment));
  return static_cast<int64_t>(std::min<uint64_t>(rounded, INT64_MAX));
}

namespace {
/// Walks blocks in order, with what is live before them as the start.
class PeakFinder {
public:
  PeakFinder(Operation *function, const MemorySpace &space)
      : liveness(function), space(space) {}

  void visitRegions(Operation *op, int64_t outside) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        visit(block, outside);
  }

  PeakMemory peak;

private:
  void visit(Block &block, int64_t outside);

  /// The last operation of `block` that uses `value` or a view of it: the last
  /// of all if the block hands it on; null if nothing uses it.
  Operation *getLastUse(Value value, Block &block) const;

  void note(int64_t live, Operation *op) {
    if (live > peak.bytes)
      peak = {live, op};
  }

  Liveness liveness;
  const MemorySpace &space;
};
} // namespace

Operation *PeakFinder::getLastUse(Value value, Block &block) const {
  const LivenessBlockInfo *info = liveness.getLiveness(&block);
  SmallVector<Value> views{value};
  Operation *last = nullptr;
  while (!views.empty()) {
    Value view = views.pop_back_val();
    if (info->isLiveOut(view))
      return &block.back();
    for (Operation *user : view.getUsers()) {
      Operation *inBlock = block.findAncestorOpInBlock(*user);
      if (!inBlock)
        continue;
      if (!last || last->isBeforeInBlock(inBlock))
        last = inBlock;
      if (user == inBlock && isView(user))
        llvm::append_range(views, user->getResults());
    }
  }
  return last;
}

void PeakFinder::visit(Block &block, int64_t outside) {
  // Bytes that end behind each operation.
  DenseMap<Operation *, int64_t> ending;
  int64_t live = outside;
  auto begin = [&](Value value, Operation *unusedUntil) {
    int64_t bytes = getBytes(value, space);
    if (bytes == 0)
      return;
    live = addSaturating(live, bytes);
    Operation *last = getLastUse(value, block);
    if (Operation *end = last ? last : unusedUntil)
      ending[end] = addSaturating(ending[end], bytes);
  };

  // Values of enclosing blocks are in `outside` already.
  Region *region = block.getParent();
  for (Value value : liveness.getLiveness(&block)->in())
    if (value.getParentRegion() == region)
      begin(value, nullptr);
  for (BlockArgument argument : block.getArguments())
    begin(argument, nullptr);
  note(live, block.empty() ? nullptr : &block.front());
  for (Operation &op : block) {
    visitRegions(&op, live);
    for (Value result : op.getResults())
      begin(result, &op);
    note(live, &op);
    if (auto found = ending.find(&op); found != ending.end())
      live -= found->second;
  }
}

PeakMemory tessera::getPeakMemory(Operation *function,
                                  const MemorySpace &space) {
  PeakFinder finder(function, space);
  finder.visitRegions(function, /*outside=*/0);
  return finder.peak;
}
