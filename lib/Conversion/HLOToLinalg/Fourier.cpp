//===- Fourier.cpp - Discrete Fourier transforms --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transform of several dimensions is one of each, one after the other, in
// f64. Each is the sum of its definition, n products for each of n numbers:
//
//   out[k] = sum of in[j] * exp(-2 pi i j k / n) over j
//
// and with the other sign and 1/n for the inverse. What is real has a spectrum
// of which one half is the other's conjugate: arrays hold n / 2 + 1 numbers of
// the last dimension.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

namespace {
/// A complex number of f64.
struct Number {
  Value real, imaginary;
};

/// The transform of one dimension.
struct Transform {
  HLOConverter &c;
  int64_t dimension, length;
  bool isInverse;
  /// Whether the other half of the numbers follows from those that are there,
  /// and the result is real.
  bool isFromHalf;

  Elements run(Value source, Type type);

private:
  Value createFactors();
  Number readNumber(Value array, ValueRange index);
  Number readTerm(Value source, ValueRange index);
  Elements emitElement(Value source, Value factors, ValueRange index,
                       Type type);
};
} // namespace

static Value add(HLOConverter &c, Value lhs, Value rhs) {
  return arith::AddFOp::create(c.b, lhs, rhs);
}

static Value multiply(HLOConverter &c, Value lhs, Value rhs) {
  return arith::MulFOp::create(c.b, lhs, rhs);
}

static Value isEqual(HLOConverter &c, Value number, int64_t value) {
  return arith::CmpIOp::create(c.b, arith::CmpIPredicate::eq, number,
                               c.constantIndex(value));
}

/// A real number of f32 or f64 as one of `type`, which is either.
static Value convertReal(HLOConverter &c, Value value, Type type) {
  return convertScalar(c.b, value, false, type, false);
}

/// exp(-2 pi i j / n), or its conjugate, of each j below n.
Value Transform::createFactors() {
  ImplicitLocOpBuilder &b = c.b;
  Type real = b.getF64Type(), complex = ComplexType::get(real);
  double step = 2 * llvm::numbers::pi / static_cast<double>(length);
  auto emit = [&](ValueRange index) -> Elements {
    Value number = arith::IndexCastOp::create(b, b.getI64Type(), index[0]);
    Value angle = multiply(c, arith::SIToFPOp::create(b, real, number),
                           createScalar(b, real, isInverse ? step : -step));
    Value cosine = math::CosOp::create(b, angle);
    Value sine = math::SinOp::create(b, angle);
    return SmallVector<Value>{
        complex::CreateOp::create(b, complex, cosine, sine)};
  };
  return c.generate(RankedTensorType::get(length, complex), emit)->front();
}

Number Transform::readNumber(Value array, ValueRange index) {
  Value element = tensor::ExtractOp::create(c.b, array, index);
  Type type = c.b.getF64Type();
  if (!isa<ComplexType>(element.getType()))
    return {convertReal(c, element, type), createScalar(c.b, type, 0)};
  return {convertReal(c, complex::ReOp::create(c.b, element), type),
          convertReal(c, complex::ImOp::create(c.b, element), type)};
}

/// The number at an index. Of one that stands for its conjugate too, twice the
/// number: the imaginary parts of the two products are each other's opposite.
Number Transform::readTerm(Value source, ValueRange index) {
  Number number = readNumber(source, index);
  if (!isFromHalf)
    return number;
  // Its own conjugate: the imaginary part is of no meaning.
  Value isSingle = isEqual(c, index[dimension], 0);
  if (length % 2 == 0)
    isSingle = arith::OrIOp::create(c.b, isSingle,
                                    isEqual(c, index[dimension], length / 2));
  auto select = [&](Value single, Value both) -> Value {
    return arith::SelectOp::create(c.b, isSingle, single, both);
  };
  Value zero = createScalar(c.b, c.b.getF64Type(), 0);
  return {select(number.real, add(c, number.real, number.real)),
          select(zero, add(c, number.imaginary, number.imaginary))};
}

Elements Transform::emitElement(Value source, Value factors, ValueRange index,
                                Type type) {
  ImplicitLocOpBuilder &b = c.b;
  Value zero = createScalar(b, b.getF64Type(), 0);
  Value size = c.constantIndex(length);
  // Of the three values the last is j * k modulo n.
  auto emitTerm = [&](ValueRange j, ValueRange values) -> Elements {
    SmallVector<Value> position(index);
    position[dimension] = j[0];
    Number x = readTerm(source, position), w = readNumber(factors, values[2]);
    Value real = arith::SubFOp::create(b, multiply(c, x.real, w.real),
                                       multiply(c, x.imaginary, w.imaginary));
    Value imaginary = add(c, multiply(c, x.real, w.imaginary),
                          multiply(c, x.imaginary, w.real));
    Value next = arith::AddIOp::create(b, values[2], index[dimension]);
    Value isBeyond =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, next, size);
    Value wrapped = arith::SubIOp::create(b, next, size);
    return SmallVector<Value>{
        add(c, values[0], real), add(c, values[1], imaginary),
        arith::SelectOp::create(b, isBeyond, wrapped, next)};
  };
  Elements sum =
      buildLoops(b, getArrayType(source).getDimSize(dimension),
                 ValueRange{zero, zero, c.constantIndex(0)}, emitTerm);
  double scale = isInverse ? 1 / static_cast<double>(length) : 1;
  auto getPart = [&](unsigned part, Type type) {
    Value factor = createScalar(b, b.getF64Type(), scale);
    return convertReal(c, multiply(c, (*sum)[part], factor), type);
  };
  auto complex = dyn_cast<ComplexType>(type);
  if (!complex)
    return SmallVector<Value>{getPart(0, type)};
  Type part = complex.getElementType();
  return SmallVector<Value>{complex::CreateOp::create(
      b, complex, getPart(0, part), getPart(1, part))};
}

Elements Transform::run(Value source, Type type) {
  Value factors = createFactors();
  Type element = cast<RankedTensorType>(type).getElementType();
  return c.generate(type, [&](ValueRange index) {
    return emitElement(source, factors, index, element);
  });
}

//===----------------------------------------------------------------------===//
// fft
//===----------------------------------------------------------------------===//

namespace {
enum class Kind { Forward, Inverse, FromReal, ToReal };

/// What an instruction says.
struct Fourier {
  Kind kind;
  /// Of the last dimensions.
  SmallVector<int64_t> lengths;
  RankedTensorType source, result;

  bool isConsistent() const;
  Transform getTransform(HLOConverter &c, size_t number) const;
};
} // namespace

/// The sizes of an array of which `isHalf` says that its last dimension has
/// half of the numbers.
static SmallVector<int64_t> getSizes(ArrayRef<int64_t> lengths, bool isHalf) {
  SmallVector<int64_t> sizes(lengths);
  if (isHalf)
    sizes.back() = sizes.back() / 2 + 1;
  return sizes;
}

/// Whether types are those of the kind and the lengths.
bool Fourier::isConsistent() const {
  bool isHalfSource = kind == Kind::ToReal,
       isHalfResult = kind == Kind::FromReal;
  Type real = isHalfSource ? result.getElementType() : source.getElementType();
  if (auto complex = dyn_cast<ComplexType>(real))
    real = complex.getElementType();
  if (!isa<Float32Type, Float64Type>(real) || !source.hasStaticShape() ||
      !result.hasStaticShape())
    return false;
  Type complex = ComplexType::get(real);
  if (source.getElementType() != (isHalfResult ? real : complex) ||
      result.getElementType() != (isHalfSource ? real : complex))
    return false;
  size_t count = lengths.size();
  ArrayRef<int64_t> from = source.getShape(), to = result.getShape();
  return from.size() >= count && to.size() == from.size() &&
         from.drop_back(count) == to.drop_back(count) &&
         from.take_back(count) == ArrayRef(getSizes(lengths, isHalfSource)) &&
         to.take_back(count) == ArrayRef(getSizes(lengths, isHalfResult));
}

/// The transform of one of the lengths.
Transform Fourier::getTransform(HLOConverter &c, size_t number) const {
  bool isInverse = kind == Kind::Inverse || kind == Kind::ToReal;
  bool isFromHalf = kind == Kind::ToReal && number + 1 == lengths.size();
  int64_t first = source.getRank() - static_cast<int64_t>(lengths.size());
  return {c, first + static_cast<int64_t>(number), lengths[number], isInverse,
          isFromHalf};
}

static FailureOr<Fourier> getFourier(HLOConverter &c, InstructionOp op) {
  StringRef text = getText(op, "fft_type");
  auto kind = llvm::StringSwitch<std::optional<Kind>>(text)
                  .Case("FFT", Kind::Forward)
                  .Case("IFFT", Kind::Inverse)
                  .Case("RFFT", Kind::FromReal)
                  .Case("IRFFT", Kind::ToReal)
                  .Default(std::nullopt);
  if (!kind)
    return emitUnsupported(op, "fft_type", "FFT, IFFT, RFFT or IRFFT",
                           text.empty() ? "none" : text);
  SmallVector<int64_t> lengths = getIntegers(op, "fft_length");
  if (lengths.empty() || !llvm::all_of(lengths, [](auto n) { return n > 0; }))
    return emitUnsupported(op, "fft_length", "positive numbers",
                           getText(op, "fft_length"));
  auto source = dyn_cast<RankedTensorType>(op.getOperand(0).getType());
  auto result = dyn_cast<RankedTensorType>(op.getType());
  if (source && result && !c.isScalar()) {
    Fourier fourier{*kind, lengths, source, result};
    if (fourier.isConsistent())
      return fourier;
  }
  return emitUnsupported(op, "types",
                         "arrays of f32, f64, c64 or c128 that fit " + text +
                             " of " + getText(op, "fft_length"));
}

static LogicalResult convertFft(HLOConverter &c, InstructionOp op) {
  FailureOr<Fourier> fourier = getFourier(c, op);
  if (failed(fourier))
    return failure();
  Value array = c.getLeaves(op.getOperand(0)).front();
  Type complex = ComplexType::get(c.b.getF64Type());
  SmallVector<int64_t> sizes(fourier->source.getShape());
  // The transform between real and complex numbers is that of the last
  // dimension, and next to the real ones.
  size_t count = fourier->lengths.size();
  for (size_t step = 0; step < count; ++step) {
    bool isBackward = fourier->kind == Kind::FromReal;
    Transform transform =
        fourier->getTransform(c, isBackward ? count - 1 - step : step);
    int64_t dimension = transform.dimension;
    sizes[dimension] = fourier->result.getDimSize(dimension);
    Type type = step + 1 == count ? getSignlessType(fourier->result)
                                  : RankedTensorType::get(sizes, complex);
    array = transform.run(array, type)->front();
  }
  c.setLeaves(op.getResult(), array);
  return success();
}

void hlo::populateFourierConversions(InstructionConversions &conversions) {
  conversions.instructions["fft"] = convertFft;
}
