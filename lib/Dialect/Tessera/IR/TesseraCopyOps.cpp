//===- TesseraCopyOps.cpp - Asynchronous moves between memory spaces ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "tessera/Dialect/Tessera/IR/CopyUtils.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::detail;

//===----------------------------------------------------------------------===//
// CopyStartOp
//===----------------------------------------------------------------------===//

CopyDoneOp CopyStartOp::getDone() {
  return dyn_cast<CopyDoneOp>(*getToken().user_begin());
}

/// The blocks that are reached from `from` without entering `to`.
static llvm::SetVector<Block *> getBlocksBetween(Block *from, Block *to) {
  llvm::SetVector<Block *> blocks;
  auto addSuccessors = [&](Block *block) {
    for (Block *successor : block->getSuccessors())
      if (successor != to)
        blocks.insert(successor);
  };
  addSuccessors(from);
  for (size_t i = 0; i < blocks.size(); ++i)
    addSuccessors(blocks[i]);
  return blocks;
}

/// Whether each copy that starts in block `start` is awaited once in `done`:
/// all paths from `start` reach `done`, and paths back to `done` pass `start`
/// again.
static bool isAwaitedOnce(Block *start, Block *done) {
  if (start == done || start->getParent() != done->getParent())
    return start == done;
  auto isExit = [](Block *block) { return block->hasNoSuccessors(); };
  llvm::SetVector<Block *> between = getBlocksBetween(start, done);
  return !isExit(start) && !between.contains(start) &&
         llvm::none_of(between, isExit) &&
         !getBlocksBetween(done, start).contains(done);
}

SmallVector<Operation *> tessera::getOperationsUnderWay(CopyStartOp start) {
  SmallVector<Operation *> ops;
  CopyDoneOp done = start.getDone();
  Block *first = start->getBlock(), *last = done->getBlock();
  auto add = [&](Block::iterator begin, Block::iterator end) {
    for (Operation &op : llvm::make_range(begin, end))
      ops.push_back(&op);
  };
  Block::iterator behindStart = std::next(start->getIterator());
  if (first == last) {
    add(behindStart, done->getIterator());
    return ops;
  }
  add(behindStart, first->end());
  for (Block *block : getBlocksBetween(first, last))
    add(block->begin(), block->end());
  add(last->begin(), done->getIterator());
  return ops;
}

/// Whether `op` or an operation in it uses `value`.
static bool usesInside(Operation *op, Value value) {
  return llvm::any_of(value.getUsers(),
                      [&](Operation *user) { return op->isAncestor(user); });
}

/// copy_start_c4 on one operation between start and done.
static LogicalResult verifyBetween(CopyStartOp start, Operation *op) {
  if (!usesInside(op, start.getResult()))
    return success();
  auto diagnostic =
      start.emitOpError("invalid use before the copy is done: expected that "
                        "nothing uses the result, found an operation that "
                        "does; move it behind the copy_done [copy_start_c4]");
  diagnostic.attachNote(op->getLoc()) << "the operation is here";
  return failure();
}

LogicalResult CopyStartOp::verify() {
  // copy_start_c1
  if (failed(verifyForm(*this, getSource(), getDestination(), getResult(),
                        "copy_start_c1")))
    return failure();
  // copy_start_c2
  if (failed(verifySameArray(*this, getSourceType(), getTargetType(),
                             "copy_start_c2", "copy_start_c2")))
    return failure();
  // copy_start_c3
  CopyDoneOp done = getToken().hasOneUse() ? getDone() : CopyDoneOp();
  if (!done || !isAwaitedOnce((*this)->getBlock(), done->getBlock()))
    return emitLayoutError(
        [&] { return emitOpError(); },
        invalidError("copy_start_c3", "use of the token",
                     "one tessera.copy_done in the same region, on all paths",
                     Twine(llvm::range_size(getToken().getUses())) + " uses" +
                         (done ? ", in another block" : ""),
                     "await each copy once"));
  // copy_start_c4; which memory others use is no matter of values, as folds
  // replace views by what they are of.
  if (!isTensorForm())
    return success();
  for (Operation *op : getOperationsUnderWay(*this))
    if (failed(verifyBetween(*this, op)))
      return failure();
  return success();
}

void CopyStartOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // Equal starts of the tensor form must not be merged, nor unused ones erased.
  if (isTensorForm()) {
    effects.emplace_back(MemoryEffects::Write::get());
    return;
  }
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
  effects.emplace_back(MemoryEffects::Write::get(),
                       &*getDestinationMutable().begin());
}

LogicalResult
CopyStartOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  if (!isTensorForm())
    return failure();
  shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getSource()));
  shapes.emplace_back();
  return success();
}

//===----------------------------------------------------------------------===//
// CopyDoneOp
//===----------------------------------------------------------------------===//

LogicalResult CopyDoneOp::verify() {
  // copy_done_c1
  if (getToken().getDefiningOp<CopyStartOp>())
    return success();
  return emitLayoutError(
      [&] { return emitOpError(); },
      invalidError("copy_done_c1", "token", "the token of a tessera.copy_start",
                   "one from elsewhere", "await the copy where it is started"));
}

//===----------------------------------------------------------------------===//
// Moves in memory
//===----------------------------------------------------------------------===//

/// Whether a copy from one memref to the other has to go by elements: where
/// their layouts differ, and where strides leave gaps. Others copy bytes, or
/// elements that XLA does not have.
static bool movesElements(MemRefType from, MemRefType to) {
  if (getLayoutAttr(from) || getLayoutAttr(to))
    return from.getLayout() != to.getLayout();
  auto hasGaps = [](MemRefType type) {
    return getStridedMemRef(type) &&
           !memref::isStaticShapeAndContiguousRowMajor(type);
  };
  auto elementType = getPrimitiveType(from.getElementType());
  if (elementType)
    return hasGaps(from) || hasGaps(to);
  llvm::consumeError(elementType.takeError());
  return false;
}

bool tessera::isRelayoutInMemory(Operation *op) {
  if (auto relayout = dyn_cast<RelayoutOp>(op))
    return !relayout.isTensorForm();
  auto copy = dyn_cast<memref::CopyOp>(op);
  if (!copy)
    return false;
  auto from = dyn_cast<MemRefType>(copy.getSource().getType());
  auto to = dyn_cast<MemRefType>(copy.getTarget().getType());
  return from && to && movesElements(from, to);
}
