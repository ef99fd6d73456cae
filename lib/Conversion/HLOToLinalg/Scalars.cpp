//===- Scalars.cpp - Scalars, indices, loops and branches -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

RankedTensorType hlo::getArrayType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool hlo::isUnsigned(Value array) {
  Type type = getArrayType(array).getElementType();
  return type.isUnsignedInteger() || type.isInteger(1);
}

Value hlo::createScalar(ImplicitLocOpBuilder &b, Type type, double value) {
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    Type part = complexType.getElementType();
    return complex::ConstantOp::create(
        b, type,
        b.getArrayAttr({b.getFloatAttr(part, value), b.getFloatAttr(part, 0)}));
  }
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(
      b, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

void hlo::allowReassociation(Value sum, Value value) {
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (add && llvm::is_contained(add->getOperands(), value))
    add.setFastmath(add.getFastmath() | arith::FastMathFlags::reassoc);
}

Value HLOConverter::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value HLOConverter::affine(AffineExpr expr, ValueRange operands) {
  SmallVector<OpFoldResult> values = getAsOpFoldResult(operands);
  OpFoldResult result = affine::makeComposedFoldedAffineApply(
      b, b.getLoc(), AffineMap::get(operands.size(), 0, expr), values);
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), result);
}

/// One loop of affine.
template <typename BodyFn>
static affine::AffineForOp createLoop(affine::AffineForOp,
                                      ImplicitLocOpBuilder &b, int64_t size,
                                      ValueRange init, BodyFn body) {
  return affine::AffineForOp::create(b, 0, size, 1, init, body);
}

/// One of scf, which carries arrays too.
template <typename BodyFn>
static scf::ForOp createLoop(scf::ForOp, ImplicitLocOpBuilder &b, int64_t size,
                             ValueRange init, BodyFn body) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  };
  return scf::ForOp::create(b, constant(0), constant(size), constant(1), init,
                            body);
}

namespace {
/// Emits a nest from the outermost loop to the body.
template <typename LoopOp, typename YieldOp> struct LoopBuilder {
  ImplicitLocOpBuilder &b;
  ArrayRef<int64_t> sizes;
  llvm::function_ref<Elements(ValueRange, ValueRange)> body;
  SmallVector<Value> index = {};

  Elements build(ValueRange values) {
    if (index.size() == sizes.size())
      return body(index, values);
    bool isEmitted = true;
    auto emitBody = [&](OpBuilder &builder, Location, Value variable,
                        ValueRange carried) {
      OpBuilder::InsertionGuard guard(b);
      b.restoreInsertionPoint(builder.saveInsertionPoint());
      index.push_back(variable);
      Elements results = build(carried);
      isEmitted = succeeded(results);
      YieldOp::create(b, isEmitted ? ValueRange(*results) : carried);
      index.pop_back();
    };
    LoopOp loop =
        createLoop(LoopOp(), b, sizes[index.size()], values, emitBody);
    if (!isEmitted)
      return failure();
    return SmallVector<Value>(loop.getResults());
  }
};
} // namespace

Elements
hlo::buildLoops(ImplicitLocOpBuilder &b, ArrayRef<int64_t> sizes,
                ValueRange init,
                llvm::function_ref<Elements(ValueRange, ValueRange)> body) {
  return LoopBuilder<affine::AffineForOp, affine::AffineYieldOp>{b, sizes, body}
      .build(init);
}

Elements hlo::buildTensorLoops(
    ImplicitLocOpBuilder &b, ArrayRef<int64_t> sizes, ValueRange init,
    llvm::function_ref<Elements(ValueRange, ValueRange)> body) {
  return LoopBuilder<scf::ForOp, scf::YieldOp>{b, sizes, body}.build(init);
}

Elements hlo::buildIf(ImplicitLocOpBuilder &b, Value condition,
                      llvm::function_ref<Elements()> then,
                      llvm::function_ref<Elements()> otherwise) {
  bool isEmitted = true;
  auto fill = [&](llvm::function_ref<Elements()> emit) {
    return [&, emit](OpBuilder &builder, Location loc) {
      OpBuilder::InsertionGuard guard(b);
      b.restoreInsertionPoint(builder.saveInsertionPoint());
      Elements results = emit();
      isEmitted &= succeeded(results);
      scf::YieldOp::create(b, succeeded(results) ? ValueRange(*results)
                                                 : ValueRange());
    };
  };
  auto op = scf::IfOp::create(b, condition, fill(then), fill(otherwise));
  if (!isEmitted)
    return failure();
  return SmallVector<Value>(op.getResults());
}
