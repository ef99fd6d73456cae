//===- DynamicSlices.cpp - Slices that begin where operands say -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

Value HLOConverter::clampIndex(Value number, bool isUnsigned, int64_t limit) {
  Type wide = b.getI64Type();
  if (number.getType().getIntOrFloatBitWidth() < 64)
    number = isUnsigned ? Value(arith::ExtUIOp::create(b, wide, number))
                        : Value(arith::ExtSIOp::create(b, wide, number));
  if (!isUnsigned)
    number = arith::MaxSIOp::create(b, number, createScalar(b, wide, 0));
  Value most = arith::ConstantOp::create(b, b.getI64IntegerAttr(limit));
  number = arith::MinUIOp::create(b, number, most);
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

/// The operands from `first` on, each the start along one dimension, so that
/// `part` lies within `whole`.
static FailureOr<SmallVector<Value>> getStarts(HLOConverter &c,
                                               InstructionOp op, unsigned first,
                                               RankedTensorType whole,
                                               RankedTensorType part) {
  int64_t rank = whole.getRank();
  if (static_cast<int64_t>(op.getOperands().size()) != first + rank ||
      part.getRank() != rank)
    return emitUnsupported(op, "operands", "a start for each dimension",
                           Twine(op.getOperands().size() - first));
  SmallVector<Value> starts;
  for (int64_t dim = 0; dim < rank; ++dim) {
    Value start = op.getOperand(first + dim);
    int64_t limit = whole.getDimSize(dim) - part.getDimSize(dim);
    if (limit < 0 || getArrayType(start).getRank() != 0 ||
        !getArrayType(start).getElementType().isInteger())
      return emitUnsupported(op, "operands", "integers as starts of a part");
    starts.push_back(c.clampIndex(c.getElement(start, ValueRange()),
                                  isUnsigned(start), limit));
  }
  return starts;
}

static Elements emitDynamicSlice(HLOConverter &c, InstructionOp op,
                                 ValueRange index) {
  auto starts = getStarts(c, op, 1, getArrayType(op.getOperand(0)),
                          getArrayType(op.getResult()));
  if (failed(starts))
    return failure();
  SmallVector<Value> source;
  for (auto [value, start] : llvm::zip(index, *starts))
    source.push_back(arith::AddIOp::create(c.b, value, start));
  return SmallVector<Value>{c.getElement(op, 0, source)};
}

static Elements emitDynamicUpdateSlice(HLOConverter &c, InstructionOp op,
                                       ValueRange index) {
  RankedTensorType part = getArrayType(op.getOperand(1));
  auto starts = getStarts(c, op, 2, getArrayType(op.getOperand(0)), part);
  if (failed(starts))
    return failure();
  SmallVector<Value> source;
  Value isWithin = arith::ConstantOp::create(c.b, c.b.getBoolAttr(true));
  for (auto [value, start, size] : llvm::zip(index, *starts, part.getShape())) {
    // In front of the part, the difference is a large number without sign.
    Value position = arith::SubIOp::create(c.b, value, start);
    source.push_back(position);
    isWithin = arith::AndIOp::create(
        c.b, isWithin,
        arith::CmpIOp::create(c.b, arith::CmpIPredicate::ult, position,
                              c.constantIndex(size)));
  }
  return buildIf(
      c.b, isWithin,
      [&]() -> Elements {
        return SmallVector<Value>{c.getElement(op, 1, source)};
      },
      [&]() -> Elements {
        return SmallVector<Value>{c.getElement(op, 0, index)};
      });
}

void hlo::populateDynamicSliceConversions(InstructionConversions &conversions) {
  conversions.elements["dynamic-slice"] = emitDynamicSlice;
  conversions.elements["dynamic-update-slice"] = emitDynamicUpdateSlice;
  conversions.reads["dynamic-slice"] = [](InstructionOp, unsigned operand) {
    return operand == 0 ? Reads::Once : Reads::Often;
  };
  conversions.reads["dynamic-update-slice"] = [](InstructionOp,
                                                 unsigned operand) {
    if (operand == 0)
      return Reads::SameIndex;
    return operand == 1 ? Reads::Once : Reads::Often;
  };
}
