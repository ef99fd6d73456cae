//===- Convert.cpp - Elements as elements of another type -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Conversion/TotalArith.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

Type hlo::getAccumulatorType(Type type) {
  bool isNarrow = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Float32Type::get(type.getContext()) : type;
}

//===----------------------------------------------------------------------===//
// convert
//===----------------------------------------------------------------------===//

/// Whether XLA converts from and to the type over f32.
static bool isTiny(Type type) { return type.getIntOrFloatBitWidth() < 16; }

/// Between floating-point types, over f32 where neither holds the other.
/// --tessera-expand-small-floats has the conversions of tiny ones.
static Value convertFloat(ImplicitLocOpBuilder &b, Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = type.getIntOrFloatBitWidth();
  // No processor takes f64 to 16 bits at once.
  bool isOverF32 = fromWidth == toWidth || isTiny(from) || isTiny(type) ||
                   (fromWidth == 64 && toWidth == 16);
  if (isOverF32 && !from.isF32() && !type.isF32())
    return convertFloat(b, convertFloat(b, value, b.getF32Type()), type);
  if (fromWidth < toWidth)
    return arith::ExtFOp::create(b, type, value);
  return arith::TruncFOp::create(b, type, value);
}

static Value isNotZero(ImplicitLocOpBuilder &b, Value value) {
  Value zero = createScalar(b, value.getType(), 0);
  if (isa<FloatType>(value.getType()))
    return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, value, zero);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
}

/// A real number has no imaginary part.
static Value convertToComplex(ImplicitLocOpBuilder &b, Value value,
                              bool isUnsigned, ComplexType type) {
  Type part = type.getElementType();
  Value real = value, imaginary;
  if (isa<ComplexType>(value.getType())) {
    real = complex::ReOp::create(b, value);
    imaginary = hlo::convertScalar(b, complex::ImOp::create(b, value),
                                   isUnsigned, part, isUnsigned);
  } else {
    imaginary = createScalar(b, part, 0);
  }
  real = hlo::convertScalar(b, real, isUnsigned, part, isUnsigned);
  if (!real || !imaginary)
    return {};
  return complex::CreateOp::create(b, type, real, imaginary);
}

Value hlo::convertScalar(ImplicitLocOpBuilder &b, Value value,
                         bool fromUnsigned, Type type, bool toUnsigned) {
  Type from = value.getType();
  if (from == type)
    return value;
  if (auto complexType = dyn_cast<ComplexType>(type))
    return convertToComplex(b, value, fromUnsigned, complexType);
  auto isKnown = [](Type type) {
    auto real = dyn_cast<FloatType>(type);
    // A type without zero or sign, of scales, has no such table.
    return isa<IntegerType>(type) ||
           (real && !isa<Float8E8M0FNUType>(type) && real.getWidth() <= 64);
  };
  if (!isKnown(from) || !isKnown(type))
    return {};
  if (type.isInteger(1))
    return isNotZero(b, isa<FloatType>(from)
                            ? convertFloat(b, value, getAccumulatorType(from))
                            : value);
  if (isa<FloatType>(from) && isa<FloatType>(type))
    return convertFloat(b, value, type);
  if (isa<FloatType>(from))
    return createInteger(b, convertFloat(b, value, getAccumulatorType(from)),
                         type, toUnsigned);
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
    return emitUnsupported(op, "element type", "integers or floating-point");
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
    return emitUnsupported(op, "shape", "as many bits on both sides");
  }
  return SmallVector<Value>{fromBits(c.b, bits, to)};
}

void hlo::populateConvertConversions(InstructionConversions &conversions) {
  conversions.elements["convert"] = emitConvert;
  conversions.elements["bitcast-convert"] = emitBitcastConvert;
  conversions.reads["convert"] = readAll(Reads::SameIndex);
  conversions.reads["bitcast-convert"] = readAll(Reads::SameIndex);
}
