//===- TesseraCopyOps.cpp - Asynchronous moves between memory spaces ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

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

/// Whether `op` or an operation in it uses `value`.
static bool usesInside(Operation *op, Value value) {
  return llvm::any_of(value.getUsers(),
                      [&](Operation *user) { return op->isAncestor(user); });
}

/// Whether `op` or an operation in it says that it writes `value`.
static bool writesInside(Operation *op, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    return op->isAncestor(user) && effects &&
           effects.getEffectOnValue<MemoryEffects::Write>(value);
  });
}

/// copy_start_c4 on one operation between start and done.
static LogicalResult verifyBetween(CopyStartOp start, Operation *op) {
  auto emit = [&](const Twine &what) {
    auto diagnostic = start.emitOpError("invalid use before the copy is done: ")
                      << "expected that " << what
                      << ", found an operation that does; move it behind the "
                         "copy_done [copy_start_c4]";
    diagnostic.attachNote(op->getLoc()) << "the operation is here";
    return failure();
  };
  if (start.isTensorForm())
    return usesInside(op, start.getResult()) ? emit("nothing uses the result")
                                             : success();
  if (usesInside(op, start.getDestination()))
    return emit("nothing uses the destination");
  if (writesInside(op, start.getSource()))
    return emit("nothing writes the source");
  return success();
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
  if (!done || done->getBlock() != (*this)->getBlock())
    return emitLayoutError(
        [&] { return emitOpError(); },
        invalidError("copy_start_c3", "use of the token",
                     "one tessera.copy_done in the same block",
                     Twine(llvm::range_size(getToken().getUses())) + " uses" +
                         (done ? ", in another block" : ""),
                     "await each copy once"));
  // copy_start_c4
  for (Operation *op = (*this)->getNextNode(); op && op != done;
       op = op->getNextNode())
    if (failed(verifyBetween(*this, op)))
      return failure();
  return success();
}

void CopyStartOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // The tensor form too: two starts are not one, and none is dead.
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
