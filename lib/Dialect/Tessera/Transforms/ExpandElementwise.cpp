//===- ExpandElementwise.cpp - Arithmetic on laid-out tensors -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of arith, math and others that apply to tensors element by
// element have no buffers. As a linalg.generic they have, and every operand is
// then read by the layout of its own type. Upstream's pass for this makes
// results without encodings.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

bool tessera::isElementwiseOnTensors(Operation *op) {
  auto isTensor = llvm::IsaPred<RankedTensorType>;
  // A selection between whole tensors hands one of them on.
  auto select = dyn_cast<arith::SelectOp>(op);
  if (select && !isTensor(select.getCondition().getType()))
    return false;
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumResults() != 0 &&
         llvm::any_of(op->getOperandTypes(), isTensor) &&
         llvm::all_of(op->getResultTypes(), isTensor);
}

/// What the result is written into: an operand of its type, whose buffer may
/// be of no more use, or a new tensor.
static Value getInit(OpBuilder &builder, Operation *op, RankedTensorType type) {
  for (Value operand : op->getOperands())
    if (operand.getType() == type)
      return operand;
  auto isTensor = [](Value value) {
    return isa<RankedTensorType>(value.getType());
  };
  Value array = *llvm::find_if(op->getOperands(), isTensor);
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(tensor::DimOp::create(builder, op->getLoc(), array, dim));
  return EmptyOp::create(builder, op->getLoc(), type, sizes);
}

/// The operation on one element of each tensor, and scalars as they are.
static Operation *applyToElements(OpBuilder &builder, Operation *op,
                                  ValueRange elements) {
  SmallVector<Value> operands(op->getOperands());
  for (Value &operand : operands) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    operand = elements.front();
    elements = elements.drop_front();
  }
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(cast<RankedTensorType>(type).getElementType());
  return builder.create(op->getLoc(), op->getName().getIdentifier(), operands,
                        types, op->getAttrs());
}

void tessera::expandElementwise(RewriterBase &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  SmallVector<Value> arrays, inits;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      arrays.push_back(operand);
  for (Type type : op->getResultTypes())
    inits.push_back(getInit(rewriter, op, cast<RankedTensorType>(type)));
  int64_t rank = cast<RankedTensorType>(arrays.front().getType()).getRank();
  SmallVector<AffineMap> maps(arrays.size() + inits.size(),
                              rewriter.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  rewriter.replaceOpWithNewOp<linalg::GenericOp>(
      op, op->getResultTypes(), arrays, inits, maps, iterators,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        linalg::YieldOp::create(
            builder, loc, applyToElements(builder, op, elements)->getResults());
      });
}
