//===- OpUtils.cpp - What the operations' verifiers share -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace tessera;

InFlightDiagnostic tessera::detail::emitClash(Operation *op,
                                              const Twine &message) {
  InFlightDiagnostic diagnostic = op->emitOpError(message);
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      diagnostic.attachNote(producer->getLoc())
          << "operand of type " << operand.getType() << " comes from here";
  return diagnostic;
}

LogicalResult tessera::detail::emitClash(Operation *op, llvm::Error error) {
  return emitClash(op, takeDiagnostic(std::move(error)).message());
}

/// The spaces of two types; nothing if one has no number.
static std::optional<std::pair<int64_t, int64_t>> getSpaces(ShapedType lhs,
                                                            ShapedType rhs) {
  llvm::Expected<int64_t> lhsSpace = getMemorySpaceNumber(lhs);
  llvm::Expected<int64_t> rhsSpace = getMemorySpaceNumber(rhs);
  if (lhsSpace && rhsSpace)
    return std::make_pair(*lhsSpace, *rhsSpace);
  llvm::consumeError(lhsSpace.takeError());
  llvm::consumeError(rhsSpace.takeError());
  return std::nullopt;
}

bool tessera::detail::haveSameSpace(ShapedType lhs, ShapedType rhs) {
  auto spaces = getSpaces(lhs, rhs);
  return spaces && spaces->first == spaces->second;
}

std::string tessera::detail::toText(ArrayRef<int64_t> dimensions) {
  return dimensions.empty() ? "none" : formatSizes(dimensions);
}

LogicalResult tessera::detail::verifySameArray(Operation *op, ShapedType source,
                                               ShapedType target,
                                               StringRef dimensionsRule,
                                               StringRef elementTypeRule) {
  if (source.getShape() != target.getShape())
    return emitClash(
        op, invalidError(dimensionsRule, "dimensions",
                         toText(source.getShape()) + " as in the source",
                         toText(target.getShape()),
                         "tessera.reshape changes dimensions"));
  if (source.getElementType() != target.getElementType())
    return emitClash(op, "invalid element type: expected that of the source")
           << ", " << source.getElementType() << ", found "
           << target.getElementType() << " [" << elementTypeRule << "]";
  for (ShapedType type : {source, target})
    if (failed(verifyLayout(type, [&] { return op->emitOpError(); })))
      return failure();
  return success();
}

LogicalResult tessera::detail::verifyForm(Operation *op, Value source,
                                          Value destination, Value result,
                                          StringRef rule) {
  bool isTensor = isa<RankedTensorType>(source.getType());
  if (isTensor == static_cast<bool>(result) &&
      isTensor != static_cast<bool>(destination))
    return success();
  return op->emitOpError(
             "invalid form: expected 'to' and a result for a "
             "tensor, 'into' and a destination for a memref, found ")
         << source.getType() << " with " << (result ? "a result" : "no result")
         << " and " << (destination ? "a destination" : "no destination")
         << " [" << rule << "]";
}

bool tessera::detail::mayMerge(ShapedType from, ShapedType via, ShapedType to) {
  return haveSameSpace(via, from) || haveSameSpace(via, to);
}
