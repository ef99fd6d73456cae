//===- Elementwise.cpp - Opcodes that work element by element -------------===//
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
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

namespace {
/// An operation on scalars of one type; integers may be unsigned.
using Scalars = std::function<Value(ImplicitLocOpBuilder &b, ValueRange values,
                                    bool isUnsigned)>;

/// What an opcode is on numbers of each kind; empty where it is not defined.
struct ScalarOp {
  Scalars onFloats, onIntegers, onComplex = {};

  const Scalars &get(Type type) const {
    if (isa<ComplexType>(type))
      return onComplex;
    return isa<FloatType>(type) ? onFloats : onIntegers;
  }
};
} // namespace

template <typename OpTy>
static Value create(ImplicitLocOpBuilder &b, ValueRange values, bool) {
  return b.create<OpTy>(values);
}

//===----------------------------------------------------------------------===//
// Floating-point numbers
//===----------------------------------------------------------------------===//

static Value compare(ImplicitLocOpBuilder &b, arith::CmpFPredicate predicate,
                     Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, predicate, lhs, rhs);
}

/// 1 with the sign of x; zeros and NaN as they are.
static Value emitFloatSign(ImplicitLocOpBuilder &b, ValueRange x, bool) {
  Type type = x[0].getType();
  Value one = createScalar(b, type, 1), zero = createScalar(b, type, 0);
  Value hasSign = compare(b, arith::CmpFPredicate::ONE, x[0], zero);
  return arith::SelectOp::create(b, hasSign,
                                 math::CopySignOp::create(b, one, x[0]), x[0]);
}

static Value emitLogistic(ImplicitLocOpBuilder &b, ValueRange x, bool) {
  Value one = createScalar(b, x[0].getType(), 1);
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x[0]));
  return arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, exp));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static Value isZero(ImplicitLocOpBuilder &b, Value value) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value,
                               createScalar(b, value.getType(), 0));
}

static Value emitDivide(ImplicitLocOpBuilder &b, ValueRange x,
                        bool isUnsigned) {
  return createQuotient(b, x[0], x[1], isUnsigned);
}

static Value emitRemainder(ImplicitLocOpBuilder &b, ValueRange x,
                           bool isUnsigned) {
  return createRemainder(b, x[0], x[1], isUnsigned);
}

static Value emitIntegerSign(ImplicitLocOpBuilder &b, ValueRange x,
                             bool isUnsigned) {
  Type type = x[0].getType();
  Value zero = createScalar(b, type, 0), one = createScalar(b, type, 1);
  Value minusOne = createScalar(b, type, isUnsigned ? 1 : -1);
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x[0], zero);
  Value sign = arith::SelectOp::create(b, isNegative, minusOne, one);
  return arith::SelectOp::create(b, isZero(b, x[0]), zero, sign);
}

/// The upper half of a product that has twice as many bits.
static Value emitHighProduct(ImplicitLocOpBuilder &b, ValueRange x,
                             bool isUnsigned) {
  if (isUnsigned)
    return arith::MulUIExtendedOp::create(b, x[0], x[1]).getHigh();
  return arith::MulSIExtendedOp::create(b, x[0], x[1]).getHigh();
}

template <typename OpTy>
static Value emitShift(ImplicitLocOpBuilder &b, ValueRange x, bool) {
  return createShift<OpTy>(b, x[0], x[1]);
}

/// By squaring. A negative exponent gives 0 but for 1 and -1.
static Value emitIntegerPower(ImplicitLocOpBuilder &b, ValueRange x,
                              bool isUnsigned) {
  auto type = cast<IntegerType>(x[0].getType());
  Value one = createScalar(b, type, 1), zero = createScalar(b, type, 0);
  Elements results =
      buildLoops(b, type.getWidth(), {one, x[0], x[1]},
                 [&](ValueRange, ValueRange values) -> Elements {
                   Value isOdd = arith::CmpIOp::create(
                       b, arith::CmpIPredicate::ne,
                       arith::AndIOp::create(b, values[2], one), zero);
                   Value product =
                       arith::MulIOp::create(b, values[0], values[1]);
                   return SmallVector<Value>{
                       arith::SelectOp::create(b, isOdd, product, values[0]),
                       arith::MulIOp::create(b, values[1], values[1]),
                       arith::ShRUIOp::create(b, values[2], one)};
                 });
  Value power = results->front();
  if (isUnsigned)
    return power;
  // The powers of 1 and -1 are right as they are: exponents count modulo 2.
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x[1], zero);
  Value isUnit = arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                       arith::AddIOp::create(b, x[0], one),
                                       arith::AddIOp::create(b, one, one));
  isUnit = arith::AndIOp::create(
      b, isUnit,
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x[0], zero));
  Value isZeroed = arith::AndIOp::create(
      b, isNegative,
      arith::XOrIOp::create(b, isUnit,
                            arith::ConstantOp::create(b, b.getBoolAttr(true))));
  return arith::SelectOp::create(b, isZeroed, zero, power);
}

//===----------------------------------------------------------------------===//
// Elements of operands
//===----------------------------------------------------------------------===//

/// The element of an operand that has the result's dimensions, or none.
static Value getOperand(HLOConverter &c, InstructionOp op, unsigned number,
                        ValueRange index) {
  bool isOne = getArrayType(op.getOperand(number)).getRank() == 0;
  return c.getElement(op, number, isOne ? ValueRange() : index);
}

static std::string toString(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// Makes floating-point numbers those of the widest type among them, at least
/// f32: operands and result of an instruction may differ in precision.
static bool unifyTypes(ImplicitLocOpBuilder &b, MutableArrayRef<Value> values) {
  Type type = values.front().getType();
  if (!isa<FloatType>(type))
    return llvm::all_of(values,
                        [&](Value value) { return value.getType() == type; });
  type = b.getF32Type();
  for (Value value : values)
    if (value.getType().isF64())
      type = value.getType();
  for (Value &value : values) {
    if (!isa<FloatType>(value.getType()))
      return false;
    value = convertScalar(b, value, false, type, false);
  }
  return true;
}

static Value emitOnScalars(HLOConverter &c, InstructionOp op,
                           const ScalarOp &scalarOp,
                           SmallVector<Value> values) {
  Type type = values.front().getType();
  if (!unifyTypes(c.b, values)) {
    (void)emitUnsupported(op, "operands", "elements of one type");
    return {};
  }
  const Scalars &emit = scalarOp.get(type);
  if (!emit || !isa<FloatType, IntegerType, ComplexType>(type)) {
    (void)emitUnsupported(op, "element type",
                          "one that the opcode is defined for", toString(type));
    return {};
  }
  Value result = emit(c.b, values, isUnsigned(op.getOperand(0)));
  if (result && isa<FloatType>(result.getType()))
    result = convertScalar(c.b, result, false, c.getElementType(op.getResult()),
                           false);
  return result;
}

static EmitElements onElements(ScalarOp scalarOp) {
  return [scalarOp](HLOConverter &c, InstructionOp op,
                    ValueRange index) -> Elements {
    SmallVector<Value> values;
    for (unsigned i = 0; i < op.getOperands().size(); ++i)
      values.push_back(getOperand(c, op, i, index));
    Value result = emitOnScalars(c, op, scalarOp, values);
    if (!result)
      return failure();
    return SmallVector<Value>{result};
  };
}

//===----------------------------------------------------------------------===//
// compare, select, clamp
//===----------------------------------------------------------------------===//

Value hlo::toTotalOrder(ImplicitLocOpBuilder &b, Value value) {
  auto type = b.getIntegerType(value.getType().getIntOrFloatBitWidth());
  Value bits = arith::BitcastOp::create(b, type, value);
  Value one = createScalar(b, type, 1);
  Value sign = arith::ShRSIOp::create(
      b, bits, createScalar(b, type, type.getWidth() - 1));
  return arith::XOrIOp::create(b, bits, arith::ShRUIOp::create(b, sign, one));
}

static Value compareIntegers(ImplicitLocOpBuilder &b, StringRef direction,
                             Value lhs, Value rhs, bool isUnsigned) {
  using P = arith::CmpIPredicate;
  auto predicate = llvm::StringSwitch<std::optional<P>>(direction)
                       .Case("EQ", P::eq)
                       .Case("NE", P::ne)
                       .Case("LT", isUnsigned ? P::ult : P::slt)
                       .Case("LE", isUnsigned ? P::ule : P::sle)
                       .Case("GT", isUnsigned ? P::ugt : P::sgt)
                       .Case("GE", isUnsigned ? P::uge : P::sge)
                       .Default(std::nullopt);
  if (!predicate)
    return {};
  return arith::CmpIOp::create(b, *predicate, lhs, rhs);
}

static Value compareFloats(ImplicitLocOpBuilder &b, StringRef direction,
                           Value lhs, Value rhs) {
  using P = arith::CmpFPredicate;
  auto predicate = llvm::StringSwitch<std::optional<P>>(direction)
                       .Case("EQ", P::OEQ)
                       .Case("NE", P::UNE)
                       .Case("LT", P::OLT)
                       .Case("LE", P::OLE)
                       .Case("GT", P::OGT)
                       .Case("GE", P::OGE)
                       .Default(std::nullopt);
  if (!predicate)
    return {};
  return compare(b, *predicate, lhs, rhs);
}

static Elements emitCompare(HLOConverter &c, InstructionOp op,
                            ValueRange index) {
  StringRef direction = getText(op, "direction");
  if (!llvm::is_contained({"EQ", "NE", "LT", "LE", "GT", "GE"}, direction))
    return emitUnsupported(op, "direction", "EQ, NE, LT, LE, GT or GE",
                           direction.empty() ? "none" : direction);
  // As wider numbers, they have the same order.
  bool isTotal =
      getText(op, "type") == "TOTALORDER" || getText(op, "order") == "TOTAL";
  auto emit = [&](ImplicitLocOpBuilder &b, ValueRange x, bool) {
    if (isTotal)
      return compareIntegers(b, direction, toTotalOrder(b, x[0]),
                             toTotalOrder(b, x[1]), /*isUnsigned=*/false);
    return compareFloats(b, direction, x[0], x[1]);
  };
  auto emitIntegers = [&](ImplicitLocOpBuilder &b, ValueRange x,
                          bool isUnsigned) {
    return compareIntegers(b, direction, x[0], x[1], isUnsigned);
  };
  auto emitComplex = [&](ImplicitLocOpBuilder &b, ValueRange x, bool) -> Value {
    if (direction == "EQ")
      return complex::EqualOp::create(b, x[0], x[1]);
    if (direction == "NE")
      return complex::NotEqualOp::create(b, x[0], x[1]);
    (void)emitUnsupported(op, "direction", "EQ or NE of complex numbers",
                          direction);
    return {};
  };
  SmallVector<Value> values{getOperand(c, op, 0, index),
                            getOperand(c, op, 1, index)};
  Value result =
      emitOnScalars(c, op, {emit, emitIntegers, emitComplex}, values);
  if (!result)
    return failure();
  return SmallVector<Value>{result};
}

static Elements emitSelect(HLOConverter &c, InstructionOp op,
                           ValueRange index) {
  Value condition = getOperand(c, op, 0, index);
  Value then = getOperand(c, op, 1, index);
  Value otherwise = getOperand(c, op, 2, index);
  Type type = c.getElementType(op.getResult());
  for (Value *value : {&then, &otherwise})
    if (isa<FloatType>(value->getType()) && isa<FloatType>(type))
      *value = convertScalar(c.b, *value, false, type, false);
  if (!condition.getType().isInteger(1) || then.getType() != type ||
      otherwise.getType() != type)
    return emitUnsupported(op, "operands", "pred and two arrays of one type");
  return SmallVector<Value>{
      arith::SelectOp::create(c.b, condition, then, otherwise)};
}

/// The larger or smaller of two; NaN where one is.
static ScalarOp getMaximum() {
  return {create<arith::MaximumFOp>,
          [](ImplicitLocOpBuilder &b, ValueRange x, bool isUnsigned) {
            return isUnsigned ? create<arith::MaxUIOp>(b, x, true)
                              : create<arith::MaxSIOp>(b, x, false);
          }};
}

static ScalarOp getMinimum() {
  return {create<arith::MinimumFOp>,
          [](ImplicitLocOpBuilder &b, ValueRange x, bool isUnsigned) {
            return isUnsigned ? create<arith::MinUIOp>(b, x, true)
                              : create<arith::MinSIOp>(b, x, false);
          }};
}

static Elements emitClamp(HLOConverter &c, InstructionOp op, ValueRange index) {
  Value low = getOperand(c, op, 0, index), value = getOperand(c, op, 1, index);
  Value high = getOperand(c, op, 2, index);
  Value result = emitOnScalars(c, op, getMaximum(), {low, value});
  if (result)
    result = emitOnScalars(c, op, getMinimum(), {high, result});
  if (!result)
    return failure();
  return SmallVector<Value>{result};
}

static Value getFirst(ImplicitLocOpBuilder &, ValueRange x, bool) {
  return x[0];
}

namespace {
/// The bits of a floating-point number, as numbers of other precisions need
/// them: sign, then `exponentBits`, then `mantissaBits`.
struct FloatBits {
  ImplicitLocOpBuilder &b;
  IntegerType type;
  int64_t mantissaBits, exponentBits;

  FloatBits(ImplicitLocOpBuilder &b, FloatType type)
      : b(b), type(b.getIntegerType(type.getWidth())),
        mantissaBits(type.getFPMantissaWidth() - 1),
        exponentBits(type.getWidth() - type.getFPMantissaWidth()) {}

  Value constant(uint64_t value) const {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(type, APInt(64, value).trunc(type.getWidth())));
  }
  Value keep(Value bits, uint64_t mask) const {
    return arith::AndIOp::create(b, bits, constant(mask));
  }
  uint64_t exponentMask() const {
    return llvm::maskTrailingOnes<uint64_t>(exponentBits) << mantissaBits;
  }

  /// Rounds to even.
  Value roundMantissa(Value bits, int64_t newBits) const {
    int64_t dropped = mantissaBits - newBits;
    if (dropped <= 0)
      return bits;
    uint64_t last = uint64_t(1) << dropped;
    Value isOdd =
        arith::ShRUIOp::create(b, keep(bits, last), constant(dropped));
    Value bias = arith::AddIOp::create(b, isOdd, constant((last >> 1) - 1));
    return keep(arith::AddIOp::create(b, bits, bias), ~(last - 1));
  }

  /// What is too large becomes infinite, and what is too small zero.
  Value limitExponent(Value bits, int64_t newBits) const {
    if (newBits >= exponentBits)
      return bits;
    int64_t bias = (int64_t(1) << (exponentBits - 1)) - 1;
    int64_t newBias = (int64_t(1) << (newBits - 1)) - 1;
    Value exponent = keep(bits, exponentMask());
    Value zero = keep(bits, uint64_t(1) << (type.getWidth() - 1));
    Value infinity = arith::OrIOp::create(b, zero, constant(exponentMask()));
    auto is = [&](arith::CmpIPredicate predicate, int64_t limit) -> Value {
      return arith::CmpIOp::create(b, predicate, exponent,
                                   constant(uint64_t(limit) << mantissaBits));
    };
    bits = arith::SelectOp::create(
        b, is(arith::CmpIPredicate::ugt, bias + newBias), infinity, bits);
    return arith::SelectOp::create(
        b, is(arith::CmpIPredicate::ule, bias - newBias), zero, bits);
  }
};
} // namespace

/// The number that another precision has for it, in the type that it has.
static Elements emitReducePrecision(HLOConverter &c, InstructionOp op,
                                    ValueRange index) {
  int64_t exponentBits = getInteger(op, "exponent_bits", 0);
  int64_t mantissaBits = getInteger(op, "mantissa_bits", -1);
  if (exponentBits < 1 || exponentBits > 64 || mantissaBits < 0)
    return emitUnsupported(op, "precision", "bits of exponent and mantissa",
                           Twine(exponentBits) + " and " + Twine(mantissaBits));
  auto emit = [&](ImplicitLocOpBuilder &b, ValueRange x, bool) -> Value {
    FloatBits number(b, cast<FloatType>(x[0].getType()));
    Value bits = arith::BitcastOp::create(b, number.type, x[0]);
    bits = number.roundMantissa(bits, mantissaBits);
    bits = number.limitExponent(bits, exponentBits);
    Value isNaN =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x[0], x[0]);
    Value reduced = arith::BitcastOp::create(b, x[0].getType(), bits);
    return arith::SelectOp::create(b, isNaN, x[0], reduced);
  };
  Value result =
      emitOnScalars(c, op, {emit, {}}, {getOperand(c, op, 0, index)});
  if (!result)
    return failure();
  return SmallVector<Value>{result};
}

static Elements emitMap(HLOConverter &c, InstructionOp op, ValueRange index) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < op.getOperands().size(); ++i)
    values.push_back(c.getElement(op, i, index));
  return c.apply(op, "to_apply", values);
}

//===----------------------------------------------------------------------===//
// All opcodes
//===----------------------------------------------------------------------===//

/// What upstream knows of complex numbers.
static Scalars getComplexFunction(StringRef opcode) {
  return llvm::StringSwitch<Scalars>(opcode)
      .Case("abs", create<complex::AbsOp>)
      .Case("add", create<complex::AddOp>)
      .Case("atan2", create<complex::Atan2Op>)
      .Case("cosine", create<complex::CosOp>)
      .Case("divide", create<complex::DivOp>)
      .Case("exponential", create<complex::ExpOp>)
      .Case("exponential-minus-one", create<complex::Expm1Op>)
      .Case("log", create<complex::LogOp>)
      .Case("log-plus-one", create<complex::Log1pOp>)
      .Case("multiply", create<complex::MulOp>)
      .Case("negate", create<complex::NegOp>)
      .Case("power", create<complex::PowOp>)
      .Case("rsqrt", create<complex::RsqrtOp>)
      .Case("sign", create<complex::SignOp>)
      .Case("sine", create<complex::SinOp>)
      .Case("sqrt", create<complex::SqrtOp>)
      .Case("subtract", create<complex::SubOp>)
      .Case("tan", create<complex::TanOp>)
      .Case("tanh", create<complex::TanhOp>)
      .Default({});
}

static void addFloatFunctions(llvm::StringMap<EmitElements> &table) {
  auto add = [&](StringRef opcode, Scalars emit) {
    table[opcode] =
        onElements({std::move(emit), {}, getComplexFunction(opcode)});
  };
  add("acos", create<math::AcosOp>);
  add("acosh", create<math::AcoshOp>);
  add("asin", create<math::AsinOp>);
  add("asinh", create<math::AsinhOp>);
  add("atan2", create<math::Atan2Op>);
  add("atanh", create<math::AtanhOp>);
  add("cbrt", create<math::CbrtOp>);
  add("ceil", create<math::CeilOp>);
  add("cosh", create<math::CoshOp>);
  add("cosine", create<math::CosOp>);
  add("erf", create<math::ErfOp>);
  add("exponential", create<math::ExpOp>);
  add("exponential-minus-one", create<math::ExpM1Op>);
  add("floor", create<math::FloorOp>);
  add("is-finite", create<math::IsFiniteOp>);
  add("log", create<math::LogOp>);
  add("log-plus-one", create<math::Log1pOp>);
  add("logistic", emitLogistic);
  add("round-nearest-afz", create<math::RoundOp>);
  add("round-nearest-even", create<math::RoundEvenOp>);
  add("rsqrt", create<math::RsqrtOp>);
  add("sine", create<math::SinOp>);
  add("sinh", create<math::SinhOp>);
  add("sqrt", create<math::SqrtOp>);
  add("tan", create<math::TanOp>);
  add("tanh", create<math::TanhOp>);
}

static void addIntegerFunctions(llvm::StringMap<EmitElements> &table) {
  auto add = [&](StringRef opcode, Scalars emit) {
    table[opcode] = onElements({{}, std::move(emit)});
  };
  add("and", create<arith::AndIOp>);
  add("or", create<arith::OrIOp>);
  add("xor", create<arith::XOrIOp>);
  add("not", [](ImplicitLocOpBuilder &b, ValueRange x, bool) -> Value {
    return arith::XOrIOp::create(b, x[0], createScalar(b, x[0].getType(), -1));
  });
  add("count-leading-zeros", create<math::CountLeadingZerosOp>);
  add("mulhi", emitHighProduct);
  add("popcnt", create<math::CtPopOp>);
  add("shift-left", emitShift<arith::ShLIOp>);
  add("shift-right-arithmetic", emitShift<arith::ShRSIOp>);
  add("shift-right-logical", emitShift<arith::ShRUIOp>);
}

/// On pred, addition is `or` and multiplication `and`.
template <typename OpTy, typename OnBits>
static Value onIntegersOrBits(ImplicitLocOpBuilder &b, ValueRange x,
                              bool isUnsigned) {
  return x[0].getType().isInteger(1) ? create<OnBits>(b, x, isUnsigned)
                                     : create<OpTy>(b, x, isUnsigned);
}

static void addFunctions(llvm::StringMap<EmitElements> &table) {
  auto add = [&](StringRef opcode, Scalars onFloats, Scalars onIntegers) {
    table[opcode] = onElements({std::move(onFloats), std::move(onIntegers),
                                getComplexFunction(opcode)});
  };
  add("add", create<arith::AddFOp>,
      onIntegersOrBits<arith::AddIOp, arith::OrIOp>);
  add("subtract", create<arith::SubFOp>, create<arith::SubIOp>);
  add("multiply", create<arith::MulFOp>,
      onIntegersOrBits<arith::MulIOp, arith::AndIOp>);
  add("divide", create<arith::DivFOp>, emitDivide);
  add("remainder", create<arith::RemFOp>, emitRemainder);
  add("power", create<math::PowFOp>, emitIntegerPower);
  add("sign", emitFloatSign, emitIntegerSign);
  add("negate", create<arith::NegFOp>,
      [](ImplicitLocOpBuilder &b, ValueRange x, bool) {
        Value zero = createScalar(b, x[0].getType(), 0);
        return Value(arith::SubIOp::create(b, zero, x[0]));
      });
  add("abs", create<math::AbsFOp>,
      [](ImplicitLocOpBuilder &b, ValueRange x, bool isUnsigned) {
        return isUnsigned ? x[0] : Value(math::AbsIOp::create(b, x[0]));
      });
  table["maximum"] = onElements(getMaximum());
  table["minimum"] = onElements(getMinimum());
}

void hlo::populateElementwiseConversions(InstructionConversions &conversions) {
  llvm::StringMap<EmitElements> table;
  addFloatFunctions(table);
  addIntegerFunctions(table);
  addFunctions(table);
  table["compare"] = emitCompare;
  table["select"] = emitSelect;
  table["clamp"] = emitClamp;
  table["map"] = emitMap;
  table["reduce-precision"] = emitReducePrecision;
  table["complex"] =
      onElements({[](ImplicitLocOpBuilder &b, ValueRange x, bool) -> Value {
                    Type type = ComplexType::get(x[0].getType());
                    return complex::CreateOp::create(b, type, x[0], x[1]);
                  },
                  {}});
  table["real"] = onElements({getFirst, {}, create<complex::ReOp>});
  table["imag"] = onElements({[](ImplicitLocOpBuilder &b, ValueRange x, bool) {
                                return createScalar(b, x[0].getType(), 0);
                              },
                              {},
                              create<complex::ImOp>});
  for (auto &[opcode, emit] : table) {
    conversions.elements[opcode] = emit;
    conversions.reads[opcode] = readAll(Reads::SameIndex);
  }
}
