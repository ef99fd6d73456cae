//===- BuildRelayout.cpp - The loops of a relayout ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/BuildRelayout.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;
using namespace tessera;

/// The loops of `nest`, with what `body` builds from the operands of its maps
/// inside. `sizes` are the values of the symbols.
static void buildNest(OpBuilder &builder, Location loc, const LoopNest &nest,
                      ValueRange sizes,
                      llvm::function_ref<void(OpBuilder &, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> variables;
  auto getOperands = [&] {
    SmallVector<Value> operands = variables;
    llvm::append_range(operands, sizes);
    return operands;
  };
  for (const NestLoop &loop : nest.loops) {
    SmallVector<Value> lowerOperands = getOperands();
    SmallVector<Value> upperOperands = lowerOperands;
    AffineMap lower = loop.lower, upper = loop.upper;
    affine::canonicalizeMapAndOperands(&lower, &lowerOperands);
    affine::canonicalizeMapAndOperands(&upper, &upperOperands);
    auto loopOp = affine::AffineForOp::create(builder, loc, lowerOperands,
                                              lower, upperOperands, upper);
    variables.push_back(loopOp.getInductionVar());
    builder.setInsertionPointToStart(loopOp.getBody());
  }
  if (nest.exclude) {
    auto ifOp =
        affine::AffineIfOp::create(builder, loc, *nest.exclude, getOperands(),
                                   /*withElseRegion=*/true);
    builder.setInsertionPointToStart(ifOp.getElseBlock());
  }
  body(builder, getOperands());
}

static Subscripts makeSubscripts(AffineMap map, ValueRange operands) {
  Subscripts subscripts{map, llvm::to_vector(operands), /*isAffine=*/true};
  affine::canonicalizeMapAndOperands(&subscripts.map, &subscripts.operands);
  return subscripts;
}

void tessera::buildElementCopy(OpBuilder &builder, Location loc,
                               RelayoutSide source, RelayoutSide destination,
                               RelayoutSizes sizes, ConvertElementFn convert,
                               LoopNestOptions options) {
  SmallVector<IndexExpr> indices;
  for (const AxisList *list :
       {&source.access.axes(), &destination.access.axes()})
    for (const Axis &axis : list->axes())
      indices.push_back(axis.index);
  for (const LoopNest &nest :
       getElementNests(builder.getContext(), sizes.sizes, indices,
                       destination.access.axes(), options))
    buildNest(builder, loc, nest, sizes.values,
              [&](OpBuilder &builder, ValueRange operands) {
                Subscripts index =
                    makeSubscripts(nest.getVariableMap(), operands);
                Value element =
                    source.access.load(builder, loc, source.memref, index);
                if (convert)
                  element = convert(builder, loc, element);
                destination.access.store(builder, loc, element,
                                         destination.memref, index);
              });
}

bool tessera::mayHavePadding(const AxisList &list) {
  return list.numPlaces() != 0 &&
         (!list.inverse().conditions.empty() || !list.isStatic() ||
          list.numAllocated() != list.numPlaces());
}

void tessera::buildPaddingFill(OpBuilder &builder, Location loc,
                               RelayoutSide destination, RelayoutSizes sizes,
                               Value value, LoopNestOptions options) {
  const ElementAccess &access = destination.access;
  const AxisList &axes = access.axes();
  for (const LoopNest &nest : getPaddingNests(builder.getContext(), sizes.sizes,
                                              axes, /*minorCut=*/1, options))
    buildNest(builder, loc, nest, sizes.values,
              [&](OpBuilder &builder, ValueRange operands) {
                access.storeAtPlace(
                    builder, loc, value, destination.memref,
                    makeSubscripts(nest.getVariableMap(), operands));
              });
  if (!axes.isStatic() || axes.numAllocated() == axes.numPlaces())
    return;
  OpBuilder::InsertionGuard guard(builder);
  auto loop = affine::AffineForOp::create(builder, loc, axes.numPlaces(),
                                          axes.numAllocated());
  builder.setInsertionPointToStart(loop.getBody());
  access.storeAtPosition(builder, loc, value, destination.memref,
                         makeSubscripts(builder.getMultiDimIdentityMap(1),
                                        loop.getInductionVar()));
}
