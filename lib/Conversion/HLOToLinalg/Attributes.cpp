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

/// The numbers of `2x-1x3` or `1_2x3_4`, `each` of them for a dimension.
static std::optional<SmallVector<int64_t>>
readNumbers(StringRef text, int64_t rank, size_t each) {
  SmallVector<int64_t> numbers;
  SmallVector<StringRef> dimensions;
  text.split(dimensions, 'x');
  if (dimensions.size() != static_cast<size_t>(rank))
    return std::nullopt;
  for (StringRef dimension : dimensions) {
    SmallVector<StringRef> parts;
    dimension.split(parts, '_');
    if (parts.size() != each)
      return std::nullopt;
    for (StringRef part : parts)
      if (part.getAsInteger(10, numbers.emplace_back()))
        return std::nullopt;
  }
  return numbers;
}

/// Sets what one entry of a window says; whether it could be read.
static bool setWindowField(StringRef name, StringRef value,
                           SmallVectorImpl<WindowDimension> &window) {
  int64_t rank = window.size();
  if (name == "pad") {
    auto numbers = readNumbers(value, rank, 2);
    for (int64_t i = 0; numbers && i < rank; ++i) {
      window[i].low = (*numbers)[2 * i];
      window[i].high = (*numbers)[2 * i + 1];
    }
    return numbers.has_value();
  }
  auto numbers = readNumbers(value, rank, 1);
  for (int64_t i = 0; numbers && i < rank; ++i) {
    int64_t number = (*numbers)[i];
    if (name == "rhs_reversal") {
      window[i].reversed = number != 0;
      continue;
    }
    int64_t *field = llvm::StringSwitch<int64_t *>(name)
                         .Case("size", &window[i].size)
                         .Case("stride", &window[i].stride)
                         .Case("lhs_dilate", &window[i].baseDilation)
                         .Case("rhs_dilate", &window[i].windowDilation)
                         .Default(nullptr);
    if (!field || number < (name == "size" ? 0 : 1))
      return false;
    *field = number;
  }
  return numbers.has_value();
}

FailureOr<SmallVector<WindowDimension>> hlo::getWindow(InstructionOp op,
                                                       int64_t rank) {
  SmallVector<WindowDimension> window(rank);
  StringRef text = getText(op, "window").trim("{}");
  SmallVector<StringRef> entries;
  text.split(entries, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [name, value] = entry.split('=');
    if (!setWindowField(name, value, window))
      return emitUnsupported(op, "window",
                             Twine(rank) + " dimensions of each field", text);
  }
  return window;
}

FailureOr<SmallVector<PaddingDimension>> hlo::getPadding(InstructionOp op,
                                                         int64_t rank) {
  StringRef text = getText(op, "padding");
  SmallVector<StringRef> entries;
  text.split(entries, 'x', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  SmallVector<PaddingDimension> padding;
  for (StringRef entry : entries) {
    PaddingDimension &dimension = padding.emplace_back();
    auto [low, rest] = entry.split('_');
    auto [high, interior] = rest.split('_');
    if (low.getAsInteger(10, dimension.low) ||
        high.getAsInteger(10, dimension.high) ||
        (!interior.empty() && interior.getAsInteger(10, dimension.interior)) ||
        dimension.interior < 0)
      return emitUnsupported(op, "padding", "integers", text);
  }
  if (padding.size() != static_cast<size_t>(rank))
    return emitUnsupported(op, "padding", Twine(rank) + " dimensions", text);
  return padding;
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
