//===- DynamicSlices.cpp - Slices that begin where operands say -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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

/// Whether a value is an array in memory, and no elements that are emitted
/// where they are read.
static bool isInMemory(Value value) {
  static constexpr StringRef kOpcodes[] = {
      "call",     "conditional",       "custom-call", "dynamic-update-slice",
      "fusion",   "get-tuple-element", "opt-barrier", "scatter",
      "copy-done"};
  while (auto bitcast = value.getDefiningOp<BitcastOp>())
    value = bitcast.getSource();
  Operation *op = value.getDefiningOp();
  auto instruction = dyn_cast_or_null<InstructionOp>(op);
  return !op || isa<CopyDoneOp, RelayoutOp>(op) ||
         (instruction && llvm::is_contained(kOpcodes, instruction.getOpcode()));
}

/// Whether the part is written over the array: where that is computed, too, one
/// nest does both.
static bool isWrittenOver(InstructionOp op) {
  return !op.getOperands().empty() && isInMemory(op.getOperand(0));
}

static LogicalResult convertDynamicUpdateSlice(HLOConverter &c,
                                               InstructionOp op) {
  RankedTensorType part = getArrayType(op.getOperand(1));
  RankedTensorType whole = getArrayType(op.getOperand(0));
  RankedTensorType result = getArrayType(op.getResult());
  auto starts = getStarts(c, op, 2, whole, part);
  if (failed(starts))
    return failure();
  if (whole.getShape() != result.getShape() ||
      whole.getElementType() != result.getElementType() ||
      part.getElementType() != result.getElementType())
    return emitUnsupported(op, "types", "those of the result");
  Value array = c.relayout(c.getLeaves(op.getOperand(0)).front(),
                           getSignlessType(op.getType()));
  // Loops from the most major dimension on.
  SmallVector<int64_t> order = getMajorToMinor(part);
  SmallVector<int64_t> sizes = llvm::map_to_vector(
      order, [&](int64_t dim) { return part.getDimSize(dim); });
  Elements arrays = buildTensorLoops(
      c.b, sizes, array,
      [&](ValueRange variables, ValueRange values) -> Elements {
        SmallVector<Value> source(order.size()), target(order.size());
        for (auto [dim, variable] : llvm::zip(order, variables)) {
          source[dim] = variable;
          target[dim] = arith::AddIOp::create(c.b, variable, (*starts)[dim]);
        }
        Value element = c.getElement(op, 1, source);
        return SmallVector<Value>{
            tensor::InsertOp::create(c.b, element, values.front(), target)};
      });
  if (failed(arrays))
    return failure();
  c.setLeaves(op.getResult(), *arrays);
  return success();
}

void hlo::populateDynamicSliceConversions(InstructionConversions &conversions) {
  conversions.elements["dynamic-slice"] = emitDynamicSlice;
  conversions.elements["dynamic-update-slice"] = emitDynamicUpdateSlice;
  conversions.reads["dynamic-slice"] = [](InstructionOp, unsigned operand) {
    return operand == 0 ? Reads::Once : Reads::Often;
  };
  conversions.nests["dynamic-update-slice"] = {isWrittenOver,
                                               convertDynamicUpdateSlice};
  conversions.reads["dynamic-update-slice"] = [](InstructionOp op,
                                                 unsigned operand) {
    if (operand == 0)
      return isWrittenOver(op) ? Reads::Array : Reads::SameIndex;
    return operand == 1 ? Reads::Once : Reads::Often;
  };
}
