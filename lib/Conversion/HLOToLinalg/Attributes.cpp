//===- Attributes.cpp - Reading attributes of instructions ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Attributes.h"
#include "tessera/Conversion/HLOToLinalg.h"

#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

InFlightDiagnostic hlo::emitUnsupported(InstructionOp op, const Twine &field,
                                        const Twine &expected,
                                        const Twine &found) {
  InFlightDiagnostic diagnostic = op.emitError("unsupported ");
  diagnostic << field << " of " << op.getOpcode();
  if (op.getName())
    diagnostic << " %" << *op.getName();
  diagnostic << ": expected " << expected << ", found " << found
             << "; docs/running.md has what runs";
  return diagnostic;
}

InFlightDiagnostic hlo::emitUnsupported(InstructionOp op, const Twine &field,
                                        const Twine &expected) {
  Type types = FunctionType::get(op.getContext(), op.getOperands().getTypes(),
                                 op->getResultTypes());
  return emitUnsupported(op, field, expected, debugString(types));
}

StringRef hlo::getText(InstructionOp op, StringRef name) {
  DictionaryAttr attributes = op.getHloAttributesAttr();
  auto text = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return text ? text.getValue() : StringRef();
}

SmallVector<int64_t> hlo::getIntegers(InstructionOp op, StringRef name) {
  Attribute attribute{name, getText(op, name), AttributeKind::IntList, {}, {},
                      {}};
  return SmallVector<int64_t>(getInts(&attribute));
}

int64_t hlo::getInteger(InstructionOp op, StringRef name, int64_t otherwise) {
  int64_t value = otherwise;
  (void)getText(op, name).getAsInteger(10, value);
  return value;
}

LogicalResult hlo::checkDimensions(InstructionOp op, ArrayRef<int64_t> numbers,
                                   int64_t limit) {
  for (int64_t number : numbers)
    if (number < 0 || number >= limit)
      return emitUnsupported(op, "dimension", "one of " + Twine(limit),
                             Twine(number));
  return success();
}

FailureOr<SmallVector<WindowDimension>> hlo::getWindow(InstructionOp op,
                                                       int64_t rank) {
  StringRef text = getText(op, "window");
  if (auto window = readWindow(text, rank))
    return std::move(*window);
  return emitUnsupported(op, "window",
                         Twine(rank) + " dimensions of each field", text);
}

FailureOr<SmallVector<PaddingDimension>> hlo::getPadding(InstructionOp op,
                                                         int64_t rank) {
  StringRef text = getText(op, "padding");
  auto padding = readPadding(text);
  if (!padding)
    return emitUnsupported(op, "padding", "integers", text);
  if (padding->size() != static_cast<size_t>(rank))
    return emitUnsupported(op, "padding", Twine(rank) + " dimensions", text);
  return std::move(*padding);
}

FailureOr<SmallVector<SmallVector<int64_t, 4>>> hlo::getSlices(InstructionOp op,
                                                               int64_t rank) {
  Attribute attribute{
      "slice", getText(op, "slice"), AttributeKind::Slices, {}, {}, {}};
  SmallVector<SmallVector<int64_t, 4>> slices;
  for (ArrayRef<int64_t> numbers : getIntLists(&attribute)) {
    slices.emplace_back(numbers);
    if (numbers.size() == 2)
      slices.back().push_back(1);
  }
  if (slices.size() != static_cast<size_t>(rank) ||
      !llvm::all_of(slices, [](ArrayRef<int64_t> s) { return s.size() == 3; }))
    return emitUnsupported(op, "slice", "start and limit of each dimension",
                           attribute.text);
  return slices;
}
