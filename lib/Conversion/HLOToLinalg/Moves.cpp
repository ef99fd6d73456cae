//===- Moves.cpp - Opcodes that move elements -----------------------------===//
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

static int64_t getRank(InstructionOp op, unsigned operand) {
  return getArrayType(op.getOperand(operand)).getRank();
}

/// Whether the attribute `dimensions` has `count` entries below `limit`.
static LogicalResult checkDimensions(InstructionOp op,
                                     ArrayRef<int64_t> dimensions,
                                     int64_t count, int64_t limit) {
  if (static_cast<int64_t>(dimensions.size()) != count)
    return emitUnsupported(op, "dimensions", Twine(count) + " of them",
                           Twine(dimensions.size()));
  return hlo::checkDimensions(op, dimensions, limit);
}

static Elements emitBroadcast(HLOConverter &c, InstructionOp op,
                              ValueRange index) {
  SmallVector<int64_t> dimensions = getIntegers(op, "dimensions");
  if (failed(checkDimensions(op, dimensions, getRank(op, 0), index.size())))
    return failure();
  SmallVector<Value> source;
  for (int64_t dimension : dimensions)
    source.push_back(index[dimension]);
  return SmallVector<Value>{c.getElement(op, 0, source)};
}

static Elements emitTranspose(HLOConverter &c, InstructionOp op,
                              ValueRange index) {
  SmallVector<int64_t> dimensions = getIntegers(op, "dimensions");
  int64_t rank = index.size();
  if (failed(checkDimensions(op, dimensions, rank, rank)) ||
      failed(checkDimensions(op, {}, rank - getRank(op, 0), rank)))
    return failure();
  SmallVector<Value> source(index);
  for (auto [value, dimension] : llvm::zip(index, dimensions))
    source[dimension] = value;
  return SmallVector<Value>{c.getElement(op, 0, source)};
}

static Elements emitReverse(HLOConverter &c, InstructionOp op,
                            ValueRange index) {
  SmallVector<int64_t> dimensions = getIntegers(op, "dimensions");
  if (failed(hlo::checkDimensions(op, dimensions, index.size())))
    return failure();
  ArrayRef<int64_t> sizes = getArrayType(op.getResult()).getShape();
  SmallVector<Value> source(index);
  for (int64_t dimension : dimensions)
    source[dimension] = c.affine(sizes[dimension] - 1 - c.b.getAffineDimExpr(0),
                                 index[dimension]);
  return SmallVector<Value>{c.getElement(op, 0, source)};
}

static Elements emitSlice(HLOConverter &c, InstructionOp op, ValueRange index) {
  auto slices = getSlices(op, index.size());
  if (failed(slices))
    return failure();
  SmallVector<Value> source;
  for (auto [value, slice] : llvm::zip(index, *slices))
    source.push_back(
        c.affine(c.b.getAffineDimExpr(0) * slice[2] + slice[0], value));
  return SmallVector<Value>{c.getElement(op, 0, source)};
}

static Elements emitIota(HLOConverter &c, InstructionOp op, ValueRange index) {
  int64_t dimension = getInteger(op, "iota_dimension", 0);
  if (failed(hlo::checkDimensions(op, dimension, index.size())))
    return failure();
  Value number =
      arith::IndexCastOp::create(c.b, c.b.getI64Type(), index[dimension]);
  Value result = convertScalar(c.b, number, /*fromUnsigned=*/false,
                               c.getElementType(op.getResult()),
                               isUnsigned(op.getResult()));
  if (!result)
    return emitUnsupported(op, "element type", "a number");
  return SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// Moves that change the precision
//===----------------------------------------------------------------------===//

/// An element, as one of the result's type: copies and reshapes of the TPU
/// compiler convert, too.
static Elements emitElement(HLOConverter &c, InstructionOp op,
                            ValueRange index) {
  Value operand = op.getOperand(0);
  Value element = convertScalar(
      c.b, c.getElement(operand, index), isUnsigned(operand),
      c.getElementType(op.getResult()), isUnsigned(op.getResult()));
  if (!element)
    return emitUnsupported(op, "element type", "the operand's");
  return SmallVector<Value>{element};
}

static Elements emitCopy(HLOConverter &c, InstructionOp op, ValueRange index) {
  if (!isa<RankedTensorType>(op.getOperand(0).getType()) ||
      getArrayType(op.getOperand(0)).getShape() !=
          getArrayType(op.getResult()).getShape())
    return emitUnsupported(op, "operand", "an array of the result's sizes");
  return emitElement(c, op, index);
}

static Elements emitReshape(HLOConverter &c, InstructionOp op,
                            ValueRange index) {
  RankedTensorType from = getArrayType(op.getOperand(0));
  RankedTensorType to = getArrayType(op.getResult());
  if (!from.hasStaticShape() || from.getNumElements() != to.getNumElements())
    return emitUnsupported(op, "operand", "as many elements as the result");
  AffineExpr position = c.b.getAffineConstantExpr(0);
  for (auto [dim, size] : llvm::enumerate(to.getShape()))
    position = position * size + c.b.getAffineDimExpr(dim);
  SmallVector<Value> source(from.getRank());
  for (int64_t dim = from.getRank(); dim-- > 0;) {
    int64_t size = std::max<int64_t>(from.getDimSize(dim), 1);
    source[dim] = c.affine(position % size, index);
    position = position.floorDiv(size);
  }
  return emitElement(c, op, source);
}

//===----------------------------------------------------------------------===//
// pad, concatenate
//===----------------------------------------------------------------------===//

static Value compare(HLOConverter &c, arith::CmpIPredicate predicate, Value lhs,
                     int64_t rhs) {
  return arith::CmpIOp::create(c.b, predicate, lhs, c.constantIndex(rhs));
}

static Value both(HLOConverter &c, Value lhs, Value rhs) {
  return lhs ? Value(arith::AndIOp::create(c.b, lhs, rhs)) : rhs;
}

/// Along one dimension: the index in the operand, and whether there is one.
static Value unpad(HLOConverter &c, Value index,
                   const PaddingDimension &padding, int64_t operandSize,
                   int64_t resultSize, Value &isElement) {
  AffineExpr d0 = c.b.getAffineDimExpr(0);
  int64_t step = padding.interior + 1;
  int64_t span = operandSize == 0 ? 0 : (operandSize - 1) * step + 1;
  Value position = c.affine(d0 - padding.low, index);
  if (padding.low > 0)
    isElement =
        both(c, isElement, compare(c, arith::CmpIPredicate::sge, position, 0));
  if (resultSize - padding.low > span)
    isElement = both(c, isElement,
                     compare(c, arith::CmpIPredicate::slt, position, span));
  if (step == 1)
    return position;
  isElement = both(
      c, isElement,
      compare(c, arith::CmpIPredicate::eq, c.affine(d0 % step, position), 0));
  return c.affine(d0.floorDiv(step), position);
}

static Elements emitPad(HLOConverter &c, InstructionOp op, ValueRange index) {
  auto padding = getPadding(op, index.size());
  if (failed(padding) ||
      failed(checkDimensions(op, {}, index.size() - getRank(op, 0), 0)))
    return failure();
  SmallVector<Value> source;
  Value isElement;
  for (auto [value, dimension, operandSize, resultSize] :
       llvm::zip(index, *padding, getArrayType(op.getOperand(0)).getShape(),
                 getArrayType(op.getResult()).getShape()))
    source.push_back(
        unpad(c, value, dimension, operandSize, resultSize, isElement));
  auto getSource = [&]() -> Elements {
    return SmallVector<Value>{c.getElement(op, 0, source)};
  };
  if (!isElement)
    return getSource();
  return buildIf(c.b, isElement, getSource, [&]() -> Elements {
    return SmallVector<Value>{c.getElement(op, 1, ValueRange())};
  });
}

/// The element of the first operand that reaches so far, of those from `number`
/// on; `offset` is what those before have taken.
static Elements emitConcatenate(HLOConverter &c, InstructionOp op,
                                ValueRange index, int64_t dimension,
                                unsigned number, int64_t offset) {
  auto getSource = [&]() -> Elements {
    SmallVector<Value> source(index);
    source[dimension] =
        c.affine(c.b.getAffineDimExpr(0) - offset, index[dimension]);
    return SmallVector<Value>{c.getElement(op, number, source)};
  };
  if (number + 1 == op.getOperands().size())
    return getSource();
  int64_t end =
      offset + getArrayType(op.getOperand(number)).getDimSize(dimension);
  Value isHere = compare(c, arith::CmpIPredicate::slt, index[dimension], end);
  return buildIf(c.b, isHere, getSource, [&] {
    return emitConcatenate(c, op, index, dimension, number + 1, end);
  });
}

Elements hlo::emitConcatenation(HLOConverter &c, InstructionOp op,
                                ValueRange index, int64_t dimension) {
  // Each stands in a branch of the one before.
  constexpr size_t maxOperands = 256;
  if (op.getOperands().size() > maxOperands)
    return emitUnsupported(op, "operands", "at most " + Twine(maxOperands),
                           Twine(op.getOperands().size()));
  if (op.getOperands().empty())
    return emitUnsupported(op, "operands", "at least one", "none");
  return emitConcatenate(c, op, index, dimension, 0, 0);
}

static Elements emitConcatenateAll(HLOConverter &c, InstructionOp op,
                                   ValueRange index) {
  SmallVector<int64_t> dimensions = getIntegers(op, "dimensions");
  if (failed(checkDimensions(op, dimensions, 1, index.size())))
    return failure();
  return emitConcatenation(c, op, index, dimensions.front());
}

void hlo::populateMoveConversions(InstructionConversions &conversions) {
  llvm::StringMap<EmitElements> &table = conversions.elements;
  table["broadcast"] = emitBroadcast;
  table["concatenate"] = emitConcatenateAll;
  table["copy"] = emitCopy;
  table["reshape"] = emitReshape;
  table["iota"] = emitIota;
  table["pad"] = emitPad;
  table["reverse"] = emitReverse;
  table["slice"] = emitSlice;
  table["transpose"] = emitTranspose;
  llvm::StringMap<GetReads> &reads = conversions.reads;
  for (StringRef opcode :
       {"concatenate", "reshape", "reverse", "slice", "transpose"})
    reads[opcode] = readAll(Reads::Once);
  reads["copy"] = readAll(Reads::SameIndex);
  reads["pad"] = [](InstructionOp, unsigned operand) {
    return operand == 0 ? Reads::Once : Reads::Often;
  };
  // Without new elements it is a transposition.
  reads["broadcast"] = [](InstructionOp op, unsigned) {
    auto from = dyn_cast<RankedTensorType>(op.getOperand(0).getType());
    auto to = dyn_cast<RankedTensorType>(op.getType());
    bool isMove = from && to && from.hasStaticShape() && to.hasStaticShape() &&
                  from.getNumElements() == to.getNumElements();
    return isMove ? Reads::Once : Reads::Often;
  };
}
