//===- Convert.cpp - Elements as elements of another type -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

Type hlo::getAccumulatorType(Type type) {
  bool isNarrow = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Float32Type::get(type.getContext()) : type;
}

//===----------------------------------------------------------------------===//
// Floating-point numbers of a byte and less
//===----------------------------------------------------------------------===//

static bool isTiny(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 16;
}

static APFloat decode(FloatType type, unsigned bits) {
  return APFloat(type.getFloatSemantics(), APInt(type.getWidth(), bits));
}

/// An element of a table of f32 numbers.
static Value lookUp(ImplicitLocOpBuilder &b, ArrayRef<float> table,
                    Value index) {
  auto type = RankedTensorType::get(table.size(), b.getF32Type());
  Value tensor =
      arith::ConstantOp::create(b, DenseElementsAttr::get(type, table));
  return tensor::ExtractOp::create(b, tensor, index);
}

/// All of a tiny type's numbers are in a table.
static Value decodeTiny(ImplicitLocOpBuilder &b, Value value) {
  auto type = cast<FloatType>(value.getType());
  SmallVector<float> table;
  for (unsigned bits = 0; bits < (1u << type.getWidth()); ++bits)
    table.push_back(decode(type, bits).convertToFloat());
  Value bits =
      arith::BitcastOp::create(b, b.getIntegerType(type.getWidth()), value);
  return lookUp(b, table,
                arith::IndexCastUIOp::create(b, b.getIndexType(), bits));
}

static APFloat toTiny(float value, FloatType type) {
  bool losesInfo;
  APFloat result(value);
  result.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return result;
}

/// For each number of a tiny type, from the smallest positive one on, the least
/// f32 that is rounded to it or to a larger one; then of what is beyond.
static SmallVector<float> getThresholds(FloatType type) {
  SmallVector<float> thresholds;
  auto isBelow = [&](uint32_t bits, unsigned code) {
    APFloat rounded = toTiny(llvm::bit_cast<float>(bits), type);
    APFloat number = decode(type, code);
    return rounded.isFinite() && number.isFinite() && rounded < number;
  };
  for (unsigned code = 1; code < (1u << (type.getWidth() - 1)); ++code) {
    if (!decode(type, code).isFinite())
      break;
    uint32_t low = 0, high = llvm::bit_cast<uint32_t>(
                          std::numeric_limits<float>::infinity());
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      (isBelow(middle, code) ? low : high) =
          isBelow(middle, code) ? middle + 1 : middle;
    }
    thresholds.push_back(llvm::bit_cast<float>(low));
  }
  return thresholds;
}

/// The least f32 that is too large for the type.
static float getOverflow(FloatType type, float largest) {
  uint32_t low = llvm::bit_cast<uint32_t>(largest);
  uint32_t high =
      llvm::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    APFloat rounded = toTiny(llvm::bit_cast<float>(middle), type);
    if (rounded.isFinite())
      low = middle + 1;
    else
      high = middle;
  }
  return llvm::bit_cast<float>(low);
}

/// To the nearest number, by counting thresholds.
static Value encodeTiny(ImplicitLocOpBuilder &b, Value value, FloatType type) {
  SmallVector<float> thresholds = getThresholds(type);
  auto getCode = [&](const APFloat &number) -> Value {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(b.getIndexType(),
                            number.bitcastToAPInt().getZExtValue()));
  };
  float largest = decode(type, thresholds.size()).convertToFloat();
  float overflow = getOverflow(type, largest);
  size_t numReal = thresholds.size();
  size_t span = llvm::PowerOf2Ceil(numReal + 1);
  thresholds.resize(span, std::numeric_limits<float>::infinity());
  Value size = math::AbsFOp::create(b, value);
  Value code = arith::ConstantIndexOp::create(b, 0);
  for (size_t step = span / 2; step != 0; step /= 2) {
    Value probe = arith::AddIOp::create(
        b, code, arith::ConstantIndexOp::create(b, step - 1));
    Value reaches = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, size,
                                          lookUp(b, thresholds, probe));
    Value next =
        arith::AddIOp::create(b, code, arith::ConstantIndexOp::create(b, step));
    code = arith::SelectOp::create(b, reaches, next, code);
  }
  code = arith::MinUIOp::create(b, code,
                                arith::ConstantIndexOp::create(b, numReal));
  // What is too large or NaN becomes what the type has for it, with its sign.
  Value isOver =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, size,
                            createScalar(b, b.getF32Type(), overflow));
  float infinity = std::numeric_limits<float>::infinity();
  code =
      arith::SelectOp::create(b, isOver, getCode(toTiny(infinity, type)), code);
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  float nan = std::numeric_limits<float>::quiet_NaN();
  code = arith::SelectOp::create(b, isNaN, getCode(toTiny(nan, type)), code);
  auto bits = b.getIntegerType(type.getWidth());
  Value result = arith::IndexCastUIOp::create(b, bits, code);
  Value wide = arith::BitcastOp::create(b, b.getI32Type(), value);
  Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, wide,
                                           createScalar(b, b.getI32Type(), 0));
  // A type without -0 has one NaN there.
  bool hasNegativeZero = decode(type, 1u << (type.getWidth() - 1)).isZero();
  if (!hasNegativeZero)
    isNegative = arith::AndIOp::create(
        b, isNegative,
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, result,
                              createScalar(b, bits, 0)));
  Value sign = arith::ConstantOp::create(
      b, b.getIntegerAttr(bits, APInt::getSignMask(type.getWidth())));
  Value negative = arith::OrIOp::create(b, result, sign);
  result = arith::SelectOp::create(b, isNegative, negative, result);
  return arith::BitcastOp::create(b, type, result);
}

//===----------------------------------------------------------------------===//
// convert
//===----------------------------------------------------------------------===//

/// Between floating-point types, over f32 where neither holds the other.
static Value convertFloat(ImplicitLocOpBuilder &b, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (isTiny(value.getType()))
    return convertFloat(b, decodeTiny(b, value), type);
  if (isTiny(type))
    return encodeTiny(b, convertFloat(b, value, b.getF32Type()),
                      cast<FloatType>(type));
  // No processor takes f64 to 16 bits at once, and XLA goes over f32, too.
  if (from == to || (from == 64 && to == 16))
    return convertFloat(b, convertFloat(b, value, b.getF32Type()), type);
  if (from < to)
    return arith::ExtFOp::create(b, type, value);
  return arith::TruncFOp::create(b, type, value);
}

/// Towards zero; what is beyond the type is its limit, and NaN is 0.
static Value convertToInteger(ImplicitLocOpBuilder &b, Value value,
                              IntegerType type, bool isUnsigned) {
  value = convertFloat(b, value, getAccumulatorType(value.getType()));
  auto floatType = cast<FloatType>(value.getType());
  unsigned width = type.getWidth();
  auto limit = [&](const APInt &integer) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, integer));
  };
  APInt low =
      isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  APInt high =
      isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  // Both limits of the numbers that fit are powers of two, or 0.
  double above = std::ldexp(1.0, isUnsigned ? width : width - 1);
  Value isAbove = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, value,
                                        createScalar(b, floatType, above));
  Value isBelow = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OLE, value,
      createScalar(b, floatType, isUnsigned ? 0 : -above));
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  Value integer = isUnsigned ? Value(arith::FPToUIOp::create(b, type, value))
                             : Value(arith::FPToSIOp::create(b, type, value));
  integer = arith::SelectOp::create(b, isAbove, limit(high), integer);
  integer = arith::SelectOp::create(b, isBelow, limit(low), integer);
  return arith::SelectOp::create(b, isNaN, limit(APInt(width, 0)), integer);
}

static Value isNotZero(ImplicitLocOpBuilder &b, Value value) {
  Value zero = createScalar(b, value.getType(), 0);
  if (isa<FloatType>(value.getType()))
    return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, value, zero);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
}

Value hlo::convertScalar(ImplicitLocOpBuilder &b, Value value,
                         bool fromUnsigned, Type type, bool toUnsigned) {
  Type from = value.getType();
  if (from == type)
    return value;
  auto isKnown = [](Type type) {
    auto real = dyn_cast<FloatType>(type);
    // A type without zero or sign, of scales, has no such table.
    return isa<IntegerType>(type) ||
           (real && !isa<Float8E8M0FNUType>(type) && real.getWidth() <= 64);
  };
  if (!isKnown(from) || !isKnown(type))
    return {};
  if (type.isInteger(1))
    return isNotZero(b, isTiny(from) ? decodeTiny(b, value) : value);
  if (isa<FloatType>(from) && isa<FloatType>(type))
    return convertFloat(b, value, type);
  if (isa<FloatType>(from))
    return convertToInteger(b, value, cast<IntegerType>(type), toUnsigned);
  if (isa<FloatType>(type)) {
    Type wide = getAccumulatorType(type);
    value = fromUnsigned ? Value(arith::UIToFPOp::create(b, wide, value))
                         : Value(arith::SIToFPOp::create(b, wide, value));
    return convertFloat(b, value, type);
  }
  if (from.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(b, type, value);
  return fromUnsigned ? Value(arith::ExtUIOp::create(b, type, value))
                      : Value(arith::ExtSIOp::create(b, type, value));
}

static Elements emitConvert(HLOConverter &c, InstructionOp op,
                            ValueRange index) {
  Value result = convertScalar(
      c.b, c.getElement(op, 0, index), isUnsigned(op.getOperand(0)),
      c.getElementType(op.getResult()), isUnsigned(op.getResult()));
  if (!result) {
    std::string types;
    llvm::raw_string_ostream(types)
        << getArrayType(op.getOperand(0)).getElementType() << " to "
        << getArrayType(op.getResult()).getElementType();
    return emitUnsupported(op, "element type", "ones that are computed with",
                           types);
  }
  return SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// bitcast-convert
//===----------------------------------------------------------------------===//

static IntegerType getBitsType(Type type) {
  return IntegerType::get(type.getContext(), type.getIntOrFloatBitWidth());
}

static Value toBits(ImplicitLocOpBuilder &b, Value value) {
  Type type = getBitsType(value.getType());
  return type == value.getType() ? value
                                 : arith::BitcastOp::create(b, type, value);
}

static Value fromBits(ImplicitLocOpBuilder &b, Value value, Type type) {
  return type == value.getType() ? value
                                 : arith::BitcastOp::create(b, type, value);
}

/// Several narrow elements are one wide one, the first its lowest bits.
static Value joinBits(HLOConverter &c, InstructionOp op, ValueRange index,
                      Type bits) {
  RankedTensorType from = getArrayType(op.getOperand(0));
  unsigned width = from.getElementTypeBitWidth();
  Value result = createScalar(c.b, bits, 0);
  SmallVector<Value> partIndex(index);
  partIndex.emplace_back();
  for (int64_t i = 0; i < from.getShape().back(); ++i) {
    partIndex.back() = c.constantIndex(i);
    Value part = toBits(c.b, c.getElement(op, 0, partIndex));
    part = arith::ExtUIOp::create(c.b, bits, part);
    part = arith::ShLIOp::create(c.b, part, createScalar(c.b, bits, i * width));
    result = arith::OrIOp::create(c.b, result, part);
  }
  return result;
}

static Elements emitBitcastConvert(HLOConverter &c, InstructionOp op,
                                   ValueRange index) {
  Type from = getSignlessType(getArrayType(op.getOperand(0)).getElementType());
  Type to = getSignlessType(getArrayType(op.getResult()).getElementType());
  if (!from.isIntOrFloat() || !to.isIntOrFloat())
    return emitUnsupported(op, "element type", "integers or floating-point",
                           "others");
  int64_t rank = index.size(),
          fromRank = getArrayType(op.getOperand(0)).getRank();
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  Value bits;
  if (fromWidth == toWidth && rank == fromRank) {
    bits = toBits(c.b, c.getElement(op, 0, index));
  } else if (fromWidth < toWidth && rank == fromRank - 1 &&
             getArrayType(op.getOperand(0)).getShape().back() * fromWidth ==
                 toWidth) {
    bits = joinBits(c, op, index, getBitsType(to));
  } else if (fromWidth > toWidth && rank == fromRank + 1) {
    Value whole = toBits(c.b, c.getElement(op, 0, index.drop_back()));
    Value part = arith::IndexCastOp::create(c.b, whole.getType(), index.back());
    Value shift = arith::MulIOp::create(
        c.b, part, createScalar(c.b, whole.getType(), toWidth));
    bits = arith::TruncIOp::create(c.b, getBitsType(to),
                                   arith::ShRUIOp::create(c.b, whole, shift));
  } else {
    return emitUnsupported(op, "shape", "as many bits on both sides", "others");
  }
  return SmallVector<Value>{fromBits(c.b, bits, to)};
}

void hlo::populateConvertConversions(InstructionConversions &conversions) {
  conversions.elements["convert"] = emitConvert;
  conversions.elements["bitcast-convert"] = emitBitcastConvert;
}
