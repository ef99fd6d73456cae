//===- ExpandSmallFloats.cpp - Arithmetic on floats of a byte or less -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's patterns let arith, vector and math compute in f32. Between f32
// and the small types there are conversions by bits here, for any type that
// APFloat knows: upstream has none for most types, and that of f4E2M1FN rounds
// ties up.
//
// An operation in f32 that is rounded to a small type is the operation in the
// small type: f32 has more than twice the bits of its significand, and two.
// That is as true of bf16, for which LLVM calls a function of the compiler's
// library where the processor has no instruction. Not every library has it.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Layout/Diagnostic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDSMALLFLOATS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using llvm::APFloat;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Whether the type is that of a number, or of many, whose arithmetic LLVM has
/// not.
static bool isSmallFloat(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() <= 8;
}

/// Whether numbers of the type have a sign, and so all that is computed below.
static bool isSignedSmallFloat(Type type) {
  return isSmallFloat(type) &&
         APFloat::semanticsHasSignedRepr(
             cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics());
}

/// Whether the type is bf16, or many.
static bool isBF16(Type type) {
  return isa<BFloat16Type>(getElementTypeOrSelf(type));
}

/// `type`, or the vector or tensor of its shape, with other elements.
static Type withElements(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

/// The types that get arithmetic.
static SmallVector<Type> getExpandedTypes(MLIRContext *context, bool hasBF16) {
  SmallVector<Type> types = {
      Float8E5M2Type::get(context),     Float8E4M3Type::get(context),
      Float8E4M3FNType::get(context),   Float8E5M2FNUZType::get(context),
      Float8E4M3FNUZType::get(context), Float8E4M3B11FNUZType::get(context),
      Float8E3M4Type::get(context),     Float4E2M1FNType::get(context),
      Float6E2M3FNType::get(context),   Float6E3M2FNType::get(context)};
  if (hasBF16)
    types.push_back(BFloat16Type::get(context));
  return types;
}

namespace {
/// A type as bits: sign, exponent, and significand without the leading one.
struct FloatBits {
  explicit FloatBits(const llvm::fltSemantics &semantics)
      : semantics(semantics), width(APFloat::semanticsSizeInBits(semantics)),
        fraction(APFloat::semanticsPrecision(semantics) - 1),
        minExponent(APFloat::semanticsMinExponent(semantics)) {}

  uint64_t signBit() const { return uint64_t(1) << (width - 1); }
  /// What is added to exponents.
  int64_t bias() const { return 1 - minExponent; }
  /// The bits of the smallest number that is not subnormal.
  uint64_t smallestNormal() const { return uint64_t(1) << fraction; }

  uint64_t largest() const { return getBits(APFloat::getLargest(semantics)); }
  /// What numbers beyond the largest are rounded to: infinity, a NaN, or the
  /// largest, as the type has it.
  uint64_t overflow() const {
    if (!hasInfinity() && !hasNaN())
      return largest();
    return convert(APFloat::getInf(APFloat::IEEEsingle()));
  }
  uint64_t nan() const {
    return convert(APFloat::getNaN(APFloat::IEEEsingle()));
  }
  bool hasInfinity() const { return APFloat::semanticsHasInf(semantics); }
  bool hasNaN() const { return APFloat::semanticsHasNaN(semantics); }
  /// Types without a negative zero have its bits for their only NaN.
  bool hasNegativeZero() const {
    return getBits(APFloat::getZero(semantics, /*Negative=*/true)) != 0;
  }

  uint64_t convert(APFloat number) const {
    bool losesInfo;
    number.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    return getBits(number);
  }
  static uint64_t getBits(const APFloat &number) {
    return number.bitcastToAPInt().getZExtValue();
  }

  const llvm::fltSemantics &semantics;
  unsigned width;
  unsigned fraction;
  int64_t minExponent;
};

/// Makes operations on the bits of numbers, which have the shape of a type.
class BitBuilder {
public:
  BitBuilder(OpBuilder &builder, Location loc, Type shape, unsigned width)
      : builder(builder), loc(loc),
        type(withElements(shape, builder.getIntegerType(width))), width(width) {
  }

  Value constant(uint64_t bits) {
    TypedAttr value = builder.getIntegerAttr(getElementTypeOrSelf(type),
                                             llvm::APInt(width, bits));
    if (auto shaped = dyn_cast<ShapedType>(type))
      value = DenseElementsAttr::get(shaped, value);
    return arith::ConstantOp::create(builder, loc, value);
  }

  /// `OpT` on bits and a constant.
  template <typename OpT> Value make(Value bits, uint64_t constantBits) {
    return OpT::create(builder, loc, bits, constant(constantBits));
  }
  template <typename OpT> Value make(Value a, Value b) {
    return OpT::create(builder, loc, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value bits, uint64_t with) {
    return arith::CmpIOp::create(builder, loc, predicate, bits, constant(with));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }

  /// The bits of a number of this width or less.
  Value fromFloat(Value number) {
    Type from = number.getType();
    unsigned bits = getElementTypeOrSelf(from).getIntOrFloatBitWidth();
    Value narrow = arith::BitcastOp::create(
        builder, loc, withElements(from, builder.getIntegerType(bits)), number);
    return bits == width
               ? narrow
               : arith::ExtUIOp::create(builder, loc, type, narrow).getOut();
  }

  /// The number of a type of this width or less that has these bits.
  Value toFloat(Value bits, Type to) {
    unsigned narrow = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
    if (narrow < width)
      bits = arith::TruncIOp::create(
          builder, loc, withElements(to, builder.getIntegerType(narrow)), bits);
    return arith::BitcastOp::create(builder, loc, to, bits);
  }

private:
  OpBuilder &builder;
  Location loc;
  Type type;
  unsigned width;
};
} // namespace

//===----------------------------------------------------------------------===//
// From small types
//===----------------------------------------------------------------------===//

/// Whether a number is NaN, by its bits and by those without the sign.
static Value isNaN(BitBuilder &bits, const FloatBits &small, Value all,
                   Value magnitude) {
  using Predicate = arith::CmpIPredicate;
  if (!small.hasNegativeZero())
    return bits.compare(Predicate::eq, all, small.nan());
  uint64_t last = small.hasInfinity() ? small.overflow() : small.largest();
  return bits.compare(Predicate::ugt, magnitude, last);
}

/// The f32, or as many, that a small number is; exact.
static Value extendToF32(OpBuilder &builder, Location loc, Value number) {
  using Predicate = arith::CmpIPredicate;
  Type type = number.getType();
  Type wideType = withElements(type, builder.getF32Type());
  FloatBits small(
      cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics());
  FloatBits wide(APFloat::IEEEsingle());
  BitBuilder bits(builder, loc, type, wide.width);

  Value all = bits.fromFloat(number);
  Value magnitude = bits.make<arith::AndIOp>(all, small.signBit() - 1);
  Value fraction =
      bits.make<arith::ShLIOp>(magnitude, wide.fraction - small.fraction);
  Value result = bits.make<arith::AddIOp>(
      fraction, uint64_t(wide.bias() - small.bias()) << wide.fraction);

  // Subnormal numbers are multiples of the smallest one.
  Value count = arith::UIToFPOp::create(builder, loc, wideType, magnitude);
  Value unit = bits.toFloat(
      bits.constant(uint64_t(small.minExponent - small.fraction + wide.bias())
                    << wide.fraction),
      wideType);
  Value subnormal = bits.fromFloat(
      arith::MulFOp::create(builder, loc, count, unit).getResult());
  result = bits.select(
      bits.compare(Predicate::ult, magnitude, small.smallestNormal()),
      subnormal, result);

  if (small.hasInfinity())
    result =
        bits.select(bits.compare(Predicate::eq, magnitude, small.overflow()),
                    bits.constant(wide.overflow()), result);
  if (small.hasNaN())
    result = bits.select(isNaN(bits, small, all, magnitude),
                         bits.constant(wide.nan()), result);
  Value sign = bits.make<arith::ShLIOp>(
      bits.make<arith::AndIOp>(all, small.signBit()), wide.width - small.width);
  return bits.toFloat(bits.make<arith::OrIOp>(result, sign), wideType);
}

//===----------------------------------------------------------------------===//
// To small types
//===----------------------------------------------------------------------===//

/// The magnitude, in bits of the small type, of one that is not subnormal
/// there: another bias, and the fraction rounded to even. An overflow of the
/// fraction goes into the exponent, as it should.
static Value roundNormal(BitBuilder &bits, const FloatBits &wide,
                         const FloatBits &small, Value magnitude) {
  unsigned dropped = wide.fraction - small.fraction;
  Value isOdd = bits.make<arith::AndIOp>(
      bits.make<arith::ShRUIOp>(magnitude, dropped), 1);
  Value rounded =
      bits.make<arith::AddIOp>(magnitude, (uint64_t(1) << (dropped - 1)) - 1);
  rounded = bits.make<arith::AddIOp>(rounded, isOdd);
  rounded = bits.make<arith::SubIOp>(
      rounded, uint64_t(wide.bias() - small.bias()) << wide.fraction);
  return bits.make<arith::ShRUIOp>(rounded, dropped);
}

/// That of a subnormal one: added to a number whose last bit is the smallest
/// subnormal, it is rounded by the addition.
static Value roundSubnormal(OpBuilder &builder, Location loc, BitBuilder &bits,
                            const FloatBits &wide, const FloatBits &small,
                            Value magnitude, Type wideType) {
  uint64_t anchor =
      uint64_t(small.minExponent - small.fraction + wide.fraction + wide.bias())
      << wide.fraction;
  Value sum =
      arith::AddFOp::create(builder, loc, bits.toFloat(magnitude, wideType),
                            bits.toFloat(bits.constant(anchor), wideType));
  return bits.make<arith::SubIOp>(bits.fromFloat(sum), anchor);
}

/// The magnitude, in bits of the small type, whose exponents begin later than
/// those of the wide type.
static Value roundMagnitude(OpBuilder &builder, Location loc, BitBuilder &bits,
                            const FloatBits &wide, const FloatBits &small,
                            Value magnitude, Type wideType) {
  using Predicate = arith::CmpIPredicate;
  Value result = roundNormal(bits, wide, small, magnitude);
  // Also where roundNormal borrowed from what is not there.
  uint64_t firstNormal = uint64_t(small.minExponent + wide.bias())
                         << wide.fraction;
  Value isOverflow = bits.compare(Predicate::ugt, result, small.largest());
  result = bits.select(isOverflow, bits.constant(small.overflow()), result);
  return bits.select(
      bits.compare(Predicate::ult, magnitude, firstNormal),
      roundSubnormal(builder, loc, bits, wide, small, magnitude, wideType),
      result);
}

/// The small number that is nearest to an f32 or f64, ties to even.
static Value roundToSmall(OpBuilder &builder, Location loc, Value number,
                          Type type) {
  using Predicate = arith::CmpIPredicate;
  Type wideType = number.getType();
  FloatBits small(
      cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics());
  FloatBits wide(
      cast<FloatType>(getElementTypeOrSelf(wideType)).getFloatSemantics());
  BitBuilder bits(builder, loc, type, wide.width);

  Value all = bits.fromFloat(number);
  Value magnitude = bits.make<arith::AndIOp>(all, wide.signBit() - 1);
  // With the same exponents, subnormal numbers and infinity are as others.
  Value result = small.minExponent == wide.minExponent
                     ? roundNormal(bits, wide, small, magnitude)
                     : roundMagnitude(builder, loc, bits, wide, small,
                                      magnitude, wideType);
  result = bits.select(bits.compare(Predicate::ugt, magnitude, wide.overflow()),
                       bits.constant(small.nan()), result);
  Value sign = bits.make<arith::ShRUIOp>(
      bits.make<arith::AndIOp>(all, wide.signBit()), wide.width - small.width);
  if (!small.hasNegativeZero())
    sign = bits.select(bits.compare(Predicate::eq, result, 0), bits.constant(0),
                       sign);
  return bits.toFloat(bits.make<arith::OrIOp>(result, sign), type);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Whether numbers are made by roundToSmall.
static bool isRounded(Type type, bool hasBF16) {
  return isSignedSmallFloat(type) || (hasBF16 && isBF16(type));
}

namespace {
/// To f32 by bits; on to another type by LLVM, or by roundToSmall.
struct ExpandExtension : OpRewritePattern<arith::ExtFOp> {
  ExpandExtension(MLIRContext *context, bool hasBF16)
      : OpRewritePattern(context), hasBF16(hasBF16) {}

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isSignedSmallFloat(op.getIn().getType()))
      return failure();
    Location loc = op.getLoc();
    Value wide = extendToF32(rewriter, loc, op.getIn());
    Type type = op.getType();
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    if (isRounded(type, hasBF16))
      wide = roundToSmall(rewriter, loc, wide, type);
    else if (width > 32)
      wide = arith::ExtFOp::create(rewriter, loc, type, wide);
    else if (width < 32)
      wide = arith::TruncFOp::create(rewriter, loc, type, wide);
    rewriter.replaceOp(op, wide);
    return success();
  }

private:
  bool hasBF16;
};

/// From what f32 holds, by way of f32; from f64 by its own bits, as two
/// roundings are not one.
struct ExpandTruncation : OpRewritePattern<arith::TruncFOp> {
  ExpandTruncation(MLIRContext *context, bool hasBF16)
      : OpRewritePattern(context), hasBF16(hasBF16) {}

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isRounded(op.getType(), hasBF16))
      return failure();
    Location loc = op.getLoc();
    Value wide = op.getIn();
    Type type = wide.getType();
    if (isSmallFloat(type))
      wide = extendToF32(rewriter, loc, wide);
    else if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32)
      wide = arith::ExtFOp::create(
          rewriter, loc, withElements(type, rewriter.getF32Type()), wide);
    rewriter.replaceOp(op, roundToSmall(rewriter, loc, wide, op.getType()));
    return success();
  }

private:
  bool hasBF16;
};
} // namespace

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The types of an operation's operands and results.
static SmallVector<Type> getTypes(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  return types;
}

/// Whether an operation computes, and does not move or make bits.
static bool isArithmetic(Operation *op) {
  if (isa<vector::ContractionOp, vector::ReductionOp,
          vector::MultiDimReductionOp, vector::FMAOp, vector::OuterProductOp,
          vector::ScanOp>(op))
    return true;
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         !isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp>(op);
}

/// Whether an operation computes with small floats as no pattern here does it.
static bool isOtherArithmetic(Operation *op) {
  if (auto update = dyn_cast<memref::AtomicRMWOp>(op))
    return isSmallFloat(update.getValue().getType()) &&
           update.getKind() != arith::AtomicRMWKind::assign;
  auto isSmallComplex = [](Type type) {
    auto complexType = dyn_cast<ComplexType>(getElementTypeOrSelf(type));
    return complexType && isSmallFloat(complexType.getElementType());
  };
  return isa_and_nonnull<complex::ComplexDialect>(op->getDialect()) &&
         !isa<complex::ConstantOp, complex::CreateOp, complex::ReOp,
              complex::ImOp, complex::BitcastOp>(op) &&
         llvm::any_of(getTypes(op), isSmallComplex);
}

/// What of a type of arithmetic is not done here.
static llvm::Error checkType(Operation *op, Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  bool isKnown =
      !element || isSignedSmallFloat(type) ||
      isa<Float32Type, Float64Type, BFloat16Type, Float16Type>(element);
  if (isKnown)
    return llvm::Error::success();
  std::string found;
  llvm::raw_string_ostream(found) << element;
  return unsupportedError("`" + op->getName().getStringRef() +
                              "` on small floats",
                          "floats with signs, of at most 64 bits", found);
}

/// *Unsupported* for arithmetic on small floats that no pattern expands.
static llvm::Error checkArithmetic(Operation *op) {
  if (isOtherArithmetic(op))
    return unsupportedError(
        "`" + op->getName().getStringRef() + "` on small floats",
        "operations of arith, math and vector", "it", "compute in f32");
  for (Type type : getTypes(op))
    if (llvm::Error error = checkType(op, type))
      return error;
  if (isa<arith::ScalingExtFOp, arith::ScalingTruncFOp>(op))
    return unsupportedError("`" + op->getName().getStringRef() + "`",
                            "arithmetic without scales", "it",
                            "multiply by the scale");
  auto truncation = dyn_cast<arith::TruncFOp>(op);
  if (truncation && truncation.getRoundingmode().value_or(
                        arith::RoundingMode::to_nearest_even) !=
                        arith::RoundingMode::to_nearest_even)
    return unsupportedError(
        "rounding of `arith.truncf` to small floats", "to_nearest_even",
        arith::stringifyRoundingMode(*truncation.getRoundingmode()));
  return llvm::Error::success();
}

/// Lets operations on small floats compute in f32.
static LogicalResult computeInF32(Operation *root, bool hasBF16) {
  MLIRContext *context = root->getContext();
  Type f32 = Float32Type::get(context);
  TypeConverter converter;
  arith::populateEmulateUnsupportedFloatsConversions(
      converter, getExpandedTypes(context, hasBF16), f32);
  ConversionTarget target(*context);
  arith::populateEmulateUnsupportedFloatsLegality(target, converter);
  target.addLegalOp<arith::SelectOp>();
  target.addDynamicallyLegalDialect<math::MathDialect>(
      [&](Operation *op) { return converter.isLegal(op); });
  RewritePatternSet patterns(context);
  arith::populateEmulateUnsupportedFloatsPatterns(patterns, converter);
  return applyPartialConversion(root, target, std::move(patterns));
}

namespace {
struct ExpandSmallFloatsPass
    : tessera::impl::ExpandSmallFloatsBase<ExpandSmallFloatsPass> {
  using ExpandSmallFloatsBase::ExpandSmallFloatsBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops = getArithmetic();
    bool isSupported = true;
    for (Operation *op : ops)
      if (llvm::Error error = checkArithmetic(op))
        isSupported = succeeded(
            emitLayoutError([&] { return op->emitError(); }, std::move(error)));
    if (!isSupported ||
        (!ops.empty() && failed(computeInF32(getOperation(), bf16))))
      return signalPassFailure();
    // Only conversions are left.
    ops = getArithmetic();
    numConversions += ops.size();
    if (ops.empty())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExtension, ExpandTruncation>(&getContext(), bf16);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

private:
  /// What computes with small floats.
  SmallVector<Operation *> getArithmetic() {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isOtherArithmetic(op) || computes(op))
        ops.push_back(op);
    });
    return ops;
  }

  /// LLVM shifts bf16 to f32 by itself.
  bool computes(Operation *op) {
    if (!isArithmetic(op))
      return false;
    SmallVector<Type> types = getTypes(op);
    bool mayBeBF16 = bf16 && !isa<arith::ExtFOp>(op);
    return llvm::any_of(types, isSmallFloat) ||
           (mayBeBF16 && llvm::any_of(types, isBF16));
  }
};
} // namespace
