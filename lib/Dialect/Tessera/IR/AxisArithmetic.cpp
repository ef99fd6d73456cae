//===- AxisArithmetic.cpp - Positions and sizes as IR ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/AxisArithmetic.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tessera;

AxisArithmetic::AxisArithmetic(OpBuilder &builder, Location loc,
                               const AxisList &axes, ArrayRef<unsigned> dims,
                               ValueRange sizes)
    : builder(builder), loc(loc), axes(axes),
      sizeOfDim(axes.dimensions().size()) {
  for (auto [dim, size] : llvm::zip(dims, sizes))
    sizeOfDim[dim] = size;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Value AxisArithmetic::toValue(OpFoldResult result) const {
  return getValueOrCreateConstantIndexOp(builder, loc, result);
}

OpFoldResult AxisArithmetic::apply(AffineExpr expr,
                                   ArrayRef<OpFoldResult> operands) const {
  OpFoldResult result =
      affine::makeComposedFoldedAffineApply(builder, loc, expr, operands);
  // The operands may be remainders, which are part of the map now.
  if (auto value = dyn_cast<Value>(result))
    if (auto apply = value.getDefiningOp<affine::AffineApplyOp>())
      apply.setMap(separateRemainders(apply.getMap()));
  return result;
}

OpFoldResult AxisArithmetic::multiply(OpFoldResult a, OpFoldResult b) const {
  // An affine product has a constant factor.
  if (std::optional<int64_t> factor = getConstantIntValue(b))
    return apply(dim(0) * *factor, a);
  if (std::optional<int64_t> factor = getConstantIntValue(a))
    return apply(dim(0) * *factor, b);
  return arith::MulIOp::create(builder, loc, toValue(a), toValue(b))
      .getResult();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

OpFoldResult AxisArithmetic::getExtent(const Extent &extent) const {
  if (extent.isStatic())
    return builder.getIndexAttr(extent.value);
  assert(sizeOfDim[extent.dim] && "the extent of a size that was not given");
  return apply(dim(0).ceilDiv(extent.divisor),
               OpFoldResult(sizeOfDim[extent.dim]));
}

SmallVector<OpFoldResult> AxisArithmetic::getStrides() const {
  SmallVector<OpFoldResult> strides(axes.size(), builder.getIndexAttr(1));
  for (size_t i = axes.size(); i-- > 1;)
    strides[i - 1] = multiply(strides[i], getExtent(axes[i].extent));
  return strides;
}

OpFoldResult
AxisArithmetic::countPositions(ArrayRef<OpFoldResult> strides) const {
  if (strides.empty())
    return builder.getIndexAttr(1);
  return multiply(strides.front(), getExtent(axes[0].extent));
}

OpFoldResult AxisArithmetic::countAllocated(int64_t alignment) const {
  return apply(dim(0).ceilDiv(alignment) * alignment, countPositions());
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

OpFoldResult AxisArithmetic::linearize(ArrayRef<AffineExpr> axisIndices,
                                       ArrayRef<OpFoldResult> operands) const {
  // What has constant strides is one expression; other terms are added to it.
  AffineExpr sum = builder.getAffineConstantExpr(0);
  SmallVector<Value> terms;
  for (auto [index, stride] : llvm::zip_equal(axisIndices, getStrides())) {
    if (std::optional<int64_t> factor = getConstantIntValue(stride))
      sum = sum + index * *factor;
    else
      terms.push_back(toValue(multiply(apply(index, operands), stride)));
  }
  OpFoldResult position = apply(sum, operands);
  for (Value term : terms)
    position = arith::AddIOp::create(builder, loc, toValue(position), term)
                   .getResult();
  return position;
}

OpFoldResult AxisArithmetic::linearize(ValueRange indices) const {
  AffineMap map = getAffineMap(axes, builder.getContext());
  return linearize(map.getResults(), getAsOpFoldResult(indices));
}

OpFoldResult AxisArithmetic::linearizeAxes(ValueRange axisIndices) const {
  AffineMap map = builder.getMultiDimIdentityMap(axes.size());
  return linearize(map.getResults(), getAsOpFoldResult(axisIndices));
}

OpFoldResult AxisArithmetic::getDigit(Value position, size_t axis,
                                      OpFoldResult stride) const {
  OpFoldResult extent = getExtent(axes[axis].extent);
  std::optional<int64_t> knownStride = getConstantIntValue(stride);
  std::optional<int64_t> knownExtent = getConstantIntValue(extent);
  if (knownStride && knownExtent && *knownStride > 0 && *knownExtent > 0) {
    // Nothing is more major than the first axis.
    AffineExpr digit = dim(0).floorDiv(*knownStride);
    return apply(axis == 0 ? digit : digit % *knownExtent,
                 OpFoldResult(position));
  }
  // An empty array has no digits, and no position at which to ask for them.
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto atLeastOne = [&](OpFoldResult number) -> Value {
    return arith::MaxUIOp::create(builder, loc, toValue(number), one);
  };
  Value quotient =
      arith::DivUIOp::create(builder, loc, position, atLeastOne(stride));
  return arith::RemUIOp::create(builder, loc, quotient, atLeastOne(extent))
      .getResult();
}

SmallVector<Value> AxisArithmetic::delinearize(Value position,
                                               Value &valid) const {
  SmallVector<OpFoldResult> strides = getStrides();
  auto isBelow = [&](Value value, OpFoldResult limit) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, value,
                                 toValue(limit));
  };
  // Behind the axes is the tail by L.
  valid = isBelow(position, countPositions(strides));
  SmallVector<OpFoldResult> axisIndices;
  for (auto [axis, stride] : llvm::enumerate(strides))
    axisIndices.push_back(getDigit(position, axis, stride));
  SmallVector<AffineExpr> dims(axes.size());
  bindDimsList(builder.getContext(), MutableArrayRef(dims));
  auto evaluate = [&](const IndexExpr &expr) {
    return toValue(
        apply(toAffineExpr(expr, dims, builder.getContext()), axisIndices));
  };
  const InverseIndex &inverse = axes.inverse();
  for (const AxisCondition &condition : inverse.conditions)
    valid = arith::AndIOp::create(
        builder, loc, valid,
        isBelow(evaluate(condition.index), getExtent(condition.limit)));
  return llvm::map_to_vector(inverse.indices, evaluate);
}

SmallVector<OpFoldResult>
tessera::buildReshapedSizes(OpBuilder &builder, Location loc,
                            ArrayRef<OpFoldResult> sourceSizes,
                            ArrayRef<int64_t> shape) {
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(builder.getContext(), shape);
  const auto *dynamic = llvm::find(shape, ShapedType::kDynamic);
  if (dynamic == shape.end())
    return sizes;
  // What the static dimensions leave of all elements: their products are within
  // 64 bits, as types are checked for that.
  int64_t known = 1, others = 1;
  for (int64_t size : shape)
    others *= ShapedType::isDynamic(size) ? 1 : size;
  SmallVector<Value> factors;
  for (OpFoldResult size : sourceSizes)
    if (std::optional<int64_t> constant = getConstantIntValue(size))
      known *= *constant;
    else
      factors.push_back(cast<Value>(size));
  Value count = arith::ConstantIndexOp::create(builder, loc, known);
  for (Value factor : factors)
    count = arith::MulIOp::create(builder, loc, count, factor);
  Value divisor = arith::ConstantIndexOp::create(builder, loc, others);
  sizes[dynamic - shape.begin()] =
      builder.createOrFold<arith::DivUIOp>(loc, count, divisor);
  return sizes;
}
