//===- TotalArith.cpp - Integers that all operands give -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TotalArith.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace tessera;

static unsigned getWidth(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<IndexType>(element) ? IndexType::kInternalStorageBitWidth
                                 : element.getIntOrFloatBitWidth();
}

/// `value`, of each element of what is no number.
static Value createConstant(ImplicitLocOpBuilder &b, Type type,
                            TypedAttr value) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    value = DenseElementsAttr::get(shaped, Attribute(value));
  return arith::ConstantOp::create(b, value);
}

static Value createConstant(ImplicitLocOpBuilder &b, Type type,
                            const APInt &value) {
  return createConstant(b, type,
                        b.getIntegerAttr(getElementTypeOrSelf(type), value));
}

static Value createConstant(ImplicitLocOpBuilder &b, Type type, double value) {
  return createConstant(b, type,
                        b.getFloatAttr(getElementTypeOrSelf(type), value));
}

static Value compare(ImplicitLocOpBuilder &b, arith::CmpIPredicate predicate,
                     Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, predicate, lhs, rhs);
}

static Value compare(ImplicitLocOpBuilder &b, arith::CmpFPredicate predicate,
                     Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, predicate, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

namespace {
/// A divisor that processors divide by: 1 in place of 0, and of -1 where the
/// quotient has no number.
struct Divisor {
  Value number;
  Value isZero;
};
} // namespace

/// Whether the quotient is that of the smallest number and -1.
static Value overflows(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  Type type = lhs.getType();
  unsigned width = getWidth(type);
  Value smallest = createConstant(b, type, APInt::getSignedMinValue(width));
  Value minusOne = createConstant(b, type, APInt::getAllOnes(width));
  Value isSmallest = compare(b, arith::CmpIPredicate::eq, lhs, smallest);
  return arith::AndIOp::create(
      b, isSmallest, compare(b, arith::CmpIPredicate::eq, rhs, minusOne));
}

static Divisor getDivisor(ImplicitLocOpBuilder &b, Value lhs, Value rhs,
                          bool isUnsigned) {
  Type type = rhs.getType();
  unsigned width = getWidth(type);
  Value zero = createConstant(b, type, APInt(width, 0));
  Value one = createConstant(b, type, APInt(width, 1));
  Value isZero = compare(b, arith::CmpIPredicate::eq, rhs, zero);
  Value isOne = isZero;
  if (!isUnsigned)
    isOne = arith::OrIOp::create(b, isZero, overflows(b, lhs, rhs));
  return {arith::SelectOp::create(b, isOne, one, rhs), isZero};
}

/// Of one bit, 1 is -1: signed numbers have no other divisor, but the results
/// have the bits of unsigned ones.
static bool dividesUnsigned(Type type, bool isUnsigned) {
  return isUnsigned || getWidth(type) == 1;
}

Value tessera::createQuotient(ImplicitLocOpBuilder &b, Value lhs, Value rhs,
                              bool isUnsigned) {
  Type type = lhs.getType();
  isUnsigned = dividesUnsigned(type, isUnsigned);
  Divisor divisor = getDivisor(b, lhs, rhs, isUnsigned);
  Value quotient = isUnsigned
                       ? Value(arith::DivUIOp::create(b, lhs, divisor.number))
                       : Value(arith::DivSIOp::create(b, lhs, divisor.number));
  Value ones = createConstant(b, type, APInt::getAllOnes(getWidth(type)));
  return arith::SelectOp::create(b, divisor.isZero, ones, quotient);
}

Value tessera::createRemainder(ImplicitLocOpBuilder &b, Value lhs, Value rhs,
                               bool isUnsigned) {
  isUnsigned = dividesUnsigned(lhs.getType(), isUnsigned);
  Divisor divisor = getDivisor(b, lhs, rhs, isUnsigned);
  Value remainder = isUnsigned
                        ? Value(arith::RemUIOp::create(b, lhs, divisor.number))
                        : Value(arith::RemSIOp::create(b, lhs, divisor.number));
  return arith::SelectOp::create(b, divisor.isZero, lhs, remainder);
}

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

template <typename OpTy>
Value tessera::createShift(ImplicitLocOpBuilder &b, Value value, Value amount) {
  Type type = value.getType();
  unsigned width = getWidth(type);
  Value most = createConstant(b, type, APInt(width, width - 1));
  Value isWithin = compare(b, arith::CmpIPredicate::ule, amount, most);
  amount = arith::SelectOp::create(b, isWithin, amount, most);
  Value shifted = OpTy::create(b, value, amount);
  if (std::is_same_v<OpTy, arith::ShRSIOp>)
    return shifted;
  Value zero = createConstant(b, type, APInt(width, 0));
  return arith::SelectOp::create(b, isWithin, shifted, zero);
}

template Value tessera::createShift<arith::ShLIOp>(ImplicitLocOpBuilder &,
                                                   Value, Value);
template Value tessera::createShift<arith::ShRSIOp>(ImplicitLocOpBuilder &,
                                                    Value, Value);
template Value tessera::createShift<arith::ShRUIOp>(ImplicitLocOpBuilder &,
                                                    Value, Value);

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value tessera::createInteger(ImplicitLocOpBuilder &b, Value number, Type type,
                             bool isUnsigned) {
  unsigned width = getWidth(type);
  APInt low =
      isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  APInt high =
      isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  // Both limits of the numbers that fit are powers of two, or 0.
  double above = std::ldexp(1.0, isUnsigned ? width : width - 1);
  Type from = number.getType();
  Value isAbove = compare(b, arith::CmpFPredicate::OGE, number,
                          createConstant(b, from, above));
  Value isBelow = compare(b, arith::CmpFPredicate::OLE, number,
                          createConstant(b, from, isUnsigned ? 0 : -above));
  Value isNaN = compare(b, arith::CmpFPredicate::UNO, number, number);
  Value integer = isUnsigned ? Value(arith::FPToUIOp::create(b, type, number))
                             : Value(arith::FPToSIOp::create(b, type, number));
  auto replace = [&](Value where, const APInt &limit) {
    integer = arith::SelectOp::create(b, where, createConstant(b, type, limit),
                                      integer);
  };
  replace(isAbove, high);
  replace(isBelow, low);
  replace(isNaN, APInt(width, 0));
  return integer;
}
