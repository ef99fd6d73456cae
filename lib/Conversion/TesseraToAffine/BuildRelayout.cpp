//===- BuildRelayout.cpp - The loops of a relayout ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/BuildRelayout.h"

#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tessera;

/// What the busiest thread has to do, as a multiple of a fair share, that needs
/// no better loop.
static constexpr double kMaxImbalance = 1 + 1.0 / 16;
/// Times that a loop inside of others may be entered by all threads.
static constexpr int64_t kMaxEntries = 16;

/// Whether affine loops at the insertion point may be bounded by `sizes`.
static bool areSymbols(OpBuilder &builder, ValueRange sizes) {
  Region *scope = builder.getInsertionBlock()->getParent();
  while (scope->getParentOp() &&
         !scope->getParentOp()->hasTrait<OpTrait::AffineScope>())
    scope = scope->getParentOp()->getParentRegion();
  return llvm::all_of(
      sizes, [&](Value size) { return affine::isValidSymbol(size, scope); });
}

/// The results of `map` as values.
static SmallVector<Value> expandMap(OpBuilder &builder, Location loc,
                                    AffineMap map, ValueRange operands) {
  SmallVector<Value> values;
  for (AffineExpr expr : map.getResults())
    values.push_back(affine::expandAffineExpr(
        builder, loc, expr, operands.take_front(map.getNumDims()),
        operands.drop_front(map.getNumDims())));
  return values;
}

/// Opens a loop at the insertion point and moves into it.
static affine::AffineForOp buildAffineLoop(OpBuilder &builder, Location loc,
                                           const NestLoop &loop,
                                           ValueRange operands) {
  SmallVector<Value> lowerOperands(operands), upperOperands(operands);
  AffineMap lower = loop.lower, upper = loop.upper;
  affine::canonicalizeMapAndOperands(&lower, &lowerOperands);
  affine::canonicalizeMapAndOperands(&upper, &upperOperands);
  auto loopOp = affine::AffineForOp::create(builder, loc, lowerOperands, lower,
                                            upperOperands, upper);
  builder.setInsertionPointToStart(loopOp.getBody());
  return loopOp;
}

/// The same with scf.for, for sizes that are no affine symbols.
static Value buildScfLoop(OpBuilder &builder, Location loc,
                          const NestLoop &loop, ValueRange operands) {
  SmallVector<Value> lower = expandMap(builder, loc, loop.lower, operands);
  SmallVector<Value> upper = expandMap(builder, loc, loop.upper, operands);
  for (Value bound : ArrayRef(lower).drop_front())
    lower[0] = arith::MaxSIOp::create(builder, loc, lower[0], bound);
  for (Value bound : ArrayRef(upper).drop_front())
    upper[0] = arith::MinSIOp::create(builder, loc, upper[0], bound);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loopOp = scf::ForOp::create(builder, loc, lower[0], upper[0], one);
  builder.setInsertionPointToStart(loopOp.getBody());
  return loopOp.getInductionVar();
}

/// Moves to where the constraints of `set` do not all hold.
static void buildExclusion(OpBuilder &builder, Location loc, IntegerSet set,
                           ValueRange operands, bool isAffine) {
  if (isAffine) {
    auto ifOp = affine::AffineIfOp::create(builder, loc, set, operands,
                                           /*withElseRegion=*/true);
    builder.setInsertionPointToStart(ifOp.getElseBlock());
    return;
  }
  AffineMap map = AffineMap::get(set.getNumDims(), set.getNumSymbols(),
                                 set.getConstraints(), set.getContext());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value fails;
  for (Value constraint : expandMap(builder, loc, map, operands)) {
    Value negative = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, constraint, zero);
    fails =
        fails ? arith::OrIOp::create(builder, loc, fails, negative) : negative;
  }
  auto ifOp = scf::IfOp::create(builder, loc, fails);
  builder.setInsertionPointToStart(ifOp.thenBlock());
}

/// Iterations of each loop, 1 where they are not known.
static SmallVector<int64_t> getTripCounts(ArrayRef<affine::AffineForOp> loops) {
  SmallVector<int64_t> trips;
  for (affine::AffineForOp loop : loops)
    trips.push_back(affine::getConstantTripCount(loop).value_or(1));
  return trips;
}

/// The number of the loop to share. One inside of others is entered anew for
/// each of their iterations.
static std::optional<size_t> chooseLoop(ArrayRef<int64_t> trips,
                                        int64_t threads) {
  std::optional<size_t> best;
  double least = static_cast<double>(threads);
  int64_t entries = 1;
  for (auto [i, count] : llvm::enumerate(trips)) {
    double imbalance =
        static_cast<double>(llvm::divideCeil(count, threads) * threads) /
        static_cast<double>(std::max<int64_t>(count, 1));
    if (count > 1 && imbalance < least) {
      least = imbalance;
      best = i;
    }
    entries *= count;
    if (least <= kMaxImbalance || entries > kMaxEntries)
      return best;
  }
  return best;
}

void tessera::parallelizeLoops(ArrayRef<affine::AffineForOp> loops,
                               const ElementAccess &access,
                               LoopNestOptions options) {
  if (options.threads <= 1 || access.isPacked())
    return;
  SmallVector<int64_t> trips = getTripCounts(loops);
  int64_t bytes = std::max<int64_t>(access.bits() / 8, 1);
  for (int64_t count : trips)
    bytes *= count;
  if (bytes < options.parallelBytes)
    return;
  if (std::optional<size_t> loop = chooseLoop(trips, options.threads))
    (void)affine::affineParallelize(loops[*loop]);
}

/// The loops of `nest`, with what `body` builds from the operands of its maps
/// inside. `sizes` are the values of the symbols.
static void buildNest(OpBuilder &builder, Location loc, const LoopNest &nest,
                      ValueRange sizes, const ElementAccess &destination,
                      LoopNestOptions options,
                      llvm::function_ref<void(OpBuilder &, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  bool isAffine = areSymbols(builder, sizes);
  SmallVector<Value> variables;
  SmallVector<affine::AffineForOp> loops;
  auto getOperands = [&] {
    SmallVector<Value> operands = variables;
    llvm::append_range(operands, sizes);
    return operands;
  };
  for (const NestLoop &loop : nest.loops) {
    if (!isAffine) {
      variables.push_back(buildScfLoop(builder, loc, loop, getOperands()));
      continue;
    }
    loops.push_back(buildAffineLoop(builder, loc, loop, getOperands()));
    variables.push_back(loops.back().getInductionVar());
  }
  if (nest.exclude)
    buildExclusion(builder, loc, *nest.exclude, getOperands(), isAffine);
  body(builder, getOperands());
  parallelizeLoops(loops, destination, options);
}

/// The results of `map` as subscripts at the insertion point.
static Subscripts makeSubscripts(OpBuilder &builder, Location loc,
                                 AffineMap map, ValueRange operands) {
  Subscripts subscripts{map, llvm::to_vector(operands), /*isAffine=*/true};
  auto isScf = [](Value operand) {
    return isa_and_present<scf::ForOp>(operand.getParentBlock()->getParentOp());
  };
  if (llvm::any_of(operands.take_front(map.getNumDims()), isScf)) {
    SmallVector<Value> values = expandMap(builder, loc, map, operands);
    AffineMap identity = builder.getMultiDimIdentityMap(values.size());
    return {identity, std::move(values), /*isAffine=*/false};
  }
  affine::canonicalizeMapAndOperands(&subscripts.map, &subscripts.operands);
  return subscripts;
}

void tessera::buildElementCopy(OpBuilder &builder, Location loc,
                               const RelayoutSide &source,
                               const RelayoutSide &destination,
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
    buildNest(
        builder, loc, nest, sizes.values, destination.access, options,
        [&](OpBuilder &builder, ValueRange operands) {
          Subscripts index =
              makeSubscripts(builder, loc, nest.getVariableMap(), operands);
          Value element = source.access.load(builder, loc, source.memref, index,
                                             source.sizes);
          if (convert)
            element = convert(builder, loc, element);
          destination.access.store(builder, loc, element, destination.memref,
                                   index, destination.sizes);
        });
}

bool tessera::mayHavePadding(const AxisList &list) {
  return list.numPositions() != 0 &&
         (!list.inverse().conditions.empty() || !list.isStatic() ||
          list.numAllocated() != list.numPositions());
}

/// Opens a loop over the positions that L adds; returns its variable.
static Value buildTailLoop(OpBuilder &builder, Location loc,
                           const ElementAccess &access, ValueRange sizes) {
  const AxisList &axes = access.axes();
  if (axes.isStatic()) {
    auto loop = affine::AffineForOp::create(builder, loc, axes.numPositions(),
                                            axes.numAllocated());
    builder.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }
  AxisArithmetic arithmetic = access.getArithmetic(builder, loc, sizes);
  Value first = arithmetic.toValue(arithmetic.countPositions());
  Value end = arithmetic.toValue(access.countAllocated(builder, loc, sizes));
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, first, end, one);
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

void tessera::buildPaddingFill(OpBuilder &builder, Location loc,
                               const RelayoutSide &destination,
                               RelayoutSizes sizes, Value value,
                               LoopNestOptions options) {
  const ElementAccess &access = destination.access;
  const AxisList &axes = access.axes();
  for (const LoopNest &nest :
       getPaddingNests(builder.getContext(), sizes.sizes, axes, options))
    buildNest(builder, loc, nest, sizes.values, access, options,
              [&](OpBuilder &builder, ValueRange operands) {
                access.storeAtAxes(builder, loc, value, destination.memref,
                                   makeSubscripts(builder, loc,
                                                  nest.getVariableMap(),
                                                  operands),
                                   destination.sizes);
              });
  if (axes.isStatic() ? axes.numAllocated() == axes.numPositions()
                      : !access.mayHaveTail())
    return;
  OpBuilder::InsertionGuard guard(builder);
  Value position = buildTailLoop(builder, loc, access, sizes.values);
  access.storeAtPosition(builder, loc, value, destination.memref,
                         makeSubscripts(builder, loc,
                                        builder.getMultiDimIdentityMap(1),
                                        position));
}
