//===- LoopNestTest.cpp - Tests of loops over elements and padding --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/LoopNest.h"
#include "../../RandomLayouts.h"
#include "../../TestCounts.h"
#include "tessera/Layout/Text.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/Sequence.h"
#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace mlir;
using namespace tessera;

static Shape parse(StringRef text) {
  auto shape = parseShape(text);
  EXPECT_TRUE(bool(shape)) << llvm::toString(shape.takeError());
  return *shape;
}

static AxisList getAxes(StringRef text) {
  auto axes = AxisList::get(parse(text));
  EXPECT_TRUE(bool(axes)) << llvm::toString(axes.takeError());
  return *axes;
}

/// The value of an affine expression, by the definition of its operators.
static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims,
                        ArrayRef<int64_t> symbols) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), dims, symbols);
  int64_t rhs = evaluate(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::Mod:
    return llvm::mod(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(lhs, rhs);
  default:
    llvm_unreachable("not a binary operator");
  }
}

static SmallVector<int64_t> evaluate(AffineMap map, ArrayRef<int64_t> dims,
                                     ArrayRef<int64_t> symbols) {
  SmallVector<int64_t> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(evaluate(expr, dims, symbols));
  return results;
}

/// Calls `body` with the loop variables of every iteration of `nest`.
static void run(const LoopNest &nest, ArrayRef<int64_t> symbols,
                llvm::function_ref<void(ArrayRef<int64_t>)> body,
                SmallVector<int64_t> variables = {}) {
  size_t depth = variables.size();
  if (depth == nest.loops.size()) {
    bool excluded =
        nest.exclude &&
        llvm::all_of(nest.exclude->getConstraints(),
                     [&](AffineExpr constraint) {
                       return evaluate(constraint, variables, symbols) >= 0;
                     });
    if (!excluded)
      body(variables);
    return;
  }
  SmallVector<int64_t> outer = variables;
  outer.resize(nest.loops.size());
  auto lower = evaluate(nest.loops[depth].lower, outer, symbols);
  auto upper = evaluate(nest.loops[depth].upper, outer, symbols);
  int64_t from = *std::max_element(lower.begin(), lower.end());
  int64_t to = *std::min_element(upper.begin(), upper.end());
  variables.push_back(from);
  for (; variables.back() < to; ++variables.back())
    run(nest, symbols, body, variables);
}

static bool hasDivision(AffineMap map) {
  bool found = false;
  map.walkExprs([&](AffineExpr expr) {
    found |= expr.getKind() == AffineExprKind::FloorDiv ||
             expr.getKind() == AffineExprKind::CeilDiv ||
             expr.getKind() == AffineExprKind::Mod;
  });
  return found;
}

static SmallVector<IndexExpr> getIndices(const AxisList &a, const AxisList &b) {
  SmallVector<IndexExpr> indices;
  for (const AxisList *list : {&a, &b})
    for (const Axis &axis : list->axes())
      indices.push_back(axis.index);
  return indices;
}

static int64_t linearize(const AxisList &list, ArrayRef<int64_t> indices) {
  int64_t position = 0;
  for (auto [index, axis] : llvm::zip_equal(indices, list.axes()))
    position = position * axis.extent.value + index;
  return position;
}

/// What every test needs to know about nests over elements: each element once,
/// and both sides where the axis lists have them.
static void checkElements(ArrayRef<LoopNest> nests, ArrayRef<int64_t> sizes,
                          ArrayRef<int64_t> symbols, const AxisList &a,
                          const AxisList &b) {
  std::set<SmallVector<int64_t>> seen;
  for (const LoopNest &nest : nests)
    run(nest, symbols, [&](ArrayRef<int64_t> loops) {
      auto index = evaluate(nest.getVariableMap(), loops, symbols);
      for (auto [value, size] : llvm::zip_equal(index, sizes))
        ASSERT_TRUE(value >= 0 && value < size);
      ASSERT_TRUE(seen.insert(index).second) << "an element was visited twice";
      for (const AxisList *list : {&a, &b})
        ASSERT_EQ(evaluate(nest.getAxisMap(*list), loops, symbols),
                  SmallVector<int64_t>(list->axisIndices(index)));
    });
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  ASSERT_EQ(static_cast<int64_t>(seen.size()), elements);
}

/// Each position without an element once.
static void checkPadding(ArrayRef<LoopNest> nests, const AxisList &list) {
  std::set<int64_t> seen;
  for (const LoopNest &nest : nests)
    run(nest, {}, [&](ArrayRef<int64_t> loops) {
      auto indices = evaluate(nest.getVariableMap(), loops, {});
      for (auto [index, axis] : llvm::zip_equal(indices, list.axes()))
        ASSERT_TRUE(index >= 0 && index < axis.extent.value);
      int64_t position = linearize(list, indices);
      ASSERT_FALSE(list.logicalIndex(position)) << "not padding: " << position;
      ASSERT_TRUE(seen.insert(position).second) << "visited twice";
    });
  int64_t padding = 0;
  for (int64_t i = 0; i < list.numPositions(); ++i)
    padding += !list.logicalIndex(i);
  ASSERT_EQ(static_cast<int64_t>(seen.size()), padding);
}

// The example in the header.
TEST(LoopNest, MainAndRemainder) {
  MLIRContext context;
  AxisList rows = getAxes("f32[20]{0}"), tiled = getAxes("f32[20]{0:T(8)}");
  auto nests = getElementNests(&context, {20}, getIndices(rows, tiled), tiled);
  ASSERT_EQ(nests.size(), 2u);
  EXPECT_EQ(nests[0].loops.size(), 2u);
  EXPECT_EQ(nests[1].loops.size(), 1u);
  AffineExpr a = getAffineDimExpr(0, &context);
  AffineExpr b = getAffineDimExpr(1, &context);
  EXPECT_EQ(nests[0].getAxisMap(rows), nests[0].getMap({a * 8 + b}));
  EXPECT_EQ(nests[0].getAxisMap(tiled), nests[0].getMap({a, b}));
  AffineExpr two = getAffineConstantExpr(2, &context);
  EXPECT_EQ(nests[1].getAxisMap(rows), nests[1].getMap({a + 16}));
  EXPECT_EQ(nests[1].getAxisMap(tiled), nests[1].getMap({two, a}));
}

// Loops follow the target, most major first: columns, then rows.
TEST(LoopNest, OrderIsThatOfTheTarget) {
  MLIRContext context;
  AxisList rows = getAxes("f32[3,5]{1,0}"), columns = getAxes("f32[3,5]{0,1}");
  auto nests =
      getElementNests(&context, {3, 5}, getIndices(rows, columns), columns);
  ASSERT_EQ(nests.size(), 1u);
  EXPECT_EQ(nests[0].loops[0].upper.getSingleConstantResult(), 5);
  EXPECT_EQ(nests[0].loops[1].upper.getSingleConstantResult(), 3);
}

// A scalar takes no loop, an empty array no nest.
TEST(LoopNest, ScalarAndEmpty) {
  MLIRContext context;
  AxisList scalar = getAxes("f32[]{:T(256)}");
  auto nests =
      getElementNests(&context, {}, getIndices(scalar, scalar), scalar);
  ASSERT_EQ(nests.size(), 1u);
  EXPECT_TRUE(nests[0].loops.empty());
  checkPadding(getPaddingNests(&context, {}, scalar), scalar);

  AxisList empty = getAxes("f32[3,0]{1,0:T(8,128)}");
  EXPECT_TRUE(getElementNests(&context, {3, 0}, getIndices(empty, empty), empty)
                  .empty());
  EXPECT_TRUE(getPaddingNests(&context, {3, 0}, empty).empty());
}

// Beyond the cap there is one nest, whose bounds depend on outer loops.
TEST(LoopNest, CapOnNests) {
  MLIRContext context;
  AxisList rows = getAxes("f32[13,13,13]{2,1,0}");
  AxisList tiled = getAxes("f32[13,13,13]{2,1,0:T(4,8,8)(2,2,2)}");
  int64_t sizes[] = {13, 13, 13};
  for (unsigned cap : {1u, 4u, 100u}) {
    auto nests = getElementNests(&context, sizes, getIndices(rows, tiled),
                                 tiled, LoopNestOptions{cap});
    EXPECT_LE(nests.size(), cap);
    checkElements(nests, sizes, {}, rows, tiled);
    auto padding = getPaddingNests(&context, sizes, tiled, {cap});
    checkPadding(padding, tiled);
  }
}

// 3 against 4: no divisor chain, so floordiv and mod on that dimension alone.
TEST(LoopNest, NoChain) {
  MLIRContext context;
  AxisList a = getAxes("f32[12,8]{1,0:T(3,4)}");
  AxisList b = getAxes("f32[12,8]{1,0:T(4,4)}");
  auto nests = getElementNests(&context, {12, 8}, getIndices(a, b), b);
  checkElements(nests, {12, 8}, {}, a, b);
  AffineMap map = nests[0].getAxisMap(b);
  EXPECT_TRUE(hasDivision(map.getSubMap({0})));
  EXPECT_FALSE(hasDivision(map.getSubMap({1})));
}

// Random pairs of layouts: every element once, padding once, no division where
// the splits form chains.
TEST(LoopNest, RandomPairs) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  MLIRContext context;
  RandomLayouts random(testSeed(), 2048);
  for (int i = 0, n = testCount(5000); i < n && !testing::Test::HasFailure();
       ++i) {
    auto dims = random.dimensions();
    Shape a = Shape::array(PrimitiveType::F32, dims,
                           random.layout(dims, PrimitiveType::F32));
    Shape b = Shape::array(PrimitiveType::F32, dims,
                           random.layout(dims, PrimitiveType::F32));
    SCOPED_TRACE(a.toString() + " to " + b.toString());
    auto from = cantFail(AxisList::get(a)), to = cantFail(AxisList::get(b));
    LoopNestOptions options{static_cast<unsigned>(random.number(1, 20))};
    auto indices = getIndices(from, to);
    auto nests = getElementNests(&context, dims, indices, to, options);
    EXPECT_LE(nests.size(), options.maxNests);
    checkElements(nests, dims, {}, from, to);
    bool isChain =
        llvm::all_of(llvm::seq<unsigned>(0, dims.size()), [&](unsigned dim) {
          return getSplit(dim, indices).isChain;
        });
    for (const LoopNest &nest : nests)
      EXPECT_FALSE(isChain && (hasDivision(nest.getAxisMap(from)) ||
                               hasDivision(nest.getAxisMap(to))));
    checkPadding(getPaddingNests(&context, dims, to, options), to);
  }
}
