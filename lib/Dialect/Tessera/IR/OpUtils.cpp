//===- OpUtils.cpp - What the operations' verifiers share -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

#include "tessera/Layout/Bitcast.h"

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

/// Elements that are enumerated; larger questions that the form of the layouts
/// does not settle are left to --tessera-verify.
static constexpr int64_t kVerifierEnumerationCap = 1 << 14;

LogicalResult tessera::detail::verifySameBytes(Operation *op, ShapedType from,
                                               ShapedType to, bool ignoreSpace,
                                               StringRef rules,
                                               StringRef what) {
  if (from.getNumDynamicDims() != to.getNumDynamicDims())
    return emitClash(op, invalidError((rules + "_c3").str(),
                                      "number of dynamic dimensions",
                                      Twine(from.getNumDynamicDims()),
                                      Twine(to.getNumDynamicDims())));
  llvm::Expected<Shape> fromShape = getShape(from);
  if (!fromShape)
    return emitClash(op, fromShape.takeError());
  llvm::Expected<Shape> toShape = getShape(to);
  if (!toShape)
    return emitClash(op, toShape.takeError());
  int64_t fromSpace = fromShape->layout().memorySpace;
  int64_t toSpace = toShape->layout().memorySpace;
  if (!ignoreSpace && fromSpace != toSpace)
    return emitClash(op, invalidError((rules + "_c2").str(), "memory space",
                                      Twine(fromSpace), Twine(toSpace),
                                      "tessera.relayout moves an array"));
  BitcastOptions options;
  options.enumerationCap = kVerifierEnumerationCap;
  options.ignoreMemorySpace = true;
  BitcastAnswer answer = mayBitcast(*fromShape, *toShape, options);
  if (answer.answer == Answer::No)
    return emitClash(op, "invalid " + what + ": " + answer.reason +
                             "; tessera.relayout moves elements [" + rules +
                             "_c1]");
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
