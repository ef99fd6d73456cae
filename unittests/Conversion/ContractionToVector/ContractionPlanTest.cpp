//===- ContractionPlanTest.cpp - Tests of the plan of a contraction -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan says of positions is held against the axis lists. Values are
// computed in test/python/run-contractions.py.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/ContractionToVector/ContractionPlan.h"

#include "tessera/Layout/Text.h"

#include "gtest/gtest.h"

using namespace tessera;

using Kind = ContractionDim::Kind;

static AxisList getAxes(llvm::StringRef text) {
  return llvm::cantFail(AxisList::get(llvm::cantFail(parseShape(text))));
}

namespace {
/// The dimensions of a product of matrices.
struct Product {
  Product(llvm::StringRef lhs, llvm::StringRef rhs, llvm::StringRef result,
          bool isTransposed = false)
      : axes{getAxes(lhs), getAxes(rhs), getAxes(result)},
        isTransposed(isTransposed) {}

  llvm::SmallVector<ContractionDim> getDims() const {
    const AxisList *a = &axes[0], *b = &axes[1], *c = &axes[2];
    unsigned ofSum = isTransposed ? 1 : 0;
    llvm::SmallVector<ContractionDim> dims;
    for (auto [kind, size, arrays] :
         {std::tuple(Kind::Row, a->dimensions()[0],
                     std::array<ArrayDim, 3>{{{a, 0}, {}, {c, 0}}}),
          std::tuple(Kind::Column, c->dimensions()[1],
                     std::array<ArrayDim, 3>{{{}, {b, 1 - ofSum}, {c, 1}}}),
          std::tuple(Kind::Sum, a->dimensions()[1],
                     std::array<ArrayDim, 3>{{{a, 1}, {b, ofSum}, {}}})})
      if (size > 1)
        dims.push_back(*ContractionDim::get(kind, size, arrays));
    return dims;
  }

  std::vector<AxisList> axes;
  bool isTransposed;
};
} // namespace

static ContractionElements getElements(bool isBF16) {
  int64_t bits = isBF16 ? 16 : 32;
  return {bits, bits, 32, isBF16, isBF16, isBF16, /*mayReorder=*/true};
}

static constexpr ContractionTarget kWide = {64, 32, true};

TEST(ContractionPlanTest, BlocksOfTiles) {
  Product product("f32[64,4096]{1,0:T(8,128)}", "f32[4096,4096]{1,0:T(8,128)}",
                  "f32[64,4096]{1,0:T(8,128)}");
  auto plan = llvm::cantFail(
      ContractionPlan::get(product.getDims(), getElements(false), kWide));
  EXPECT_FALSE(plan.isAlongSum || plan.isSwapped || plan.packsLhs);
  EXPECT_EQ(plan.lanes, 16);
  EXPECT_EQ(8 % plan.rows, 0);
  EXPECT_EQ(128 % plan.columns(), 0);
  EXPECT_LE(plan.rows * plan.vectors + plan.vectors + 1, 32);
  EXPECT_GE(plan.rows * plan.vectors, 8);
}

TEST(ContractionPlanTest, PairsNeedTheProcessor) {
  Product product("bf16[64,512]{1,0:T(8,128)(2,1)}",
                  "bf16[512,256]{1,0:T(8,128)(2,1)}", "f32[64,256]{1,0}");
  auto getPlan = [&](const ContractionTarget &target) {
    return llvm::cantFail(
        ContractionPlan::get(product.getDims(), getElements(true), target));
  };
  auto pairs = getPlan(kWide), halves = getPlan({32, 16, false});
  EXPECT_EQ(pairs.group, 2);
  EXPECT_TRUE(pairs.usesPairs && pairs.packsLhs);
  EXPECT_EQ(halves.group, 2);
  EXPECT_FALSE(halves.usesPairs);
  EXPECT_EQ(halves.lanes, 8);
}

TEST(ContractionPlanTest, VectorsFollowTheLayouts) {
  auto getPlan = [](const Product &product) {
    return llvm::cantFail(
        ContractionPlan::get(product.getDims(), getElements(false), kWide));
  };
  // A result whose columns lie side by side has the factors in each other's
  // place.
  EXPECT_TRUE(getPlan({"f32[32,40]{0,1}", "f32[40,24]{0,1}", "f32[32,24]{0,1}"})
                  .isSwapped);
  EXPECT_TRUE(
      getPlan({"f32[32,40]{1,0}", "f32[24,40]{1,0}", "f32[32,24]{1,0}", true})
          .isAlongSum);
}

TEST(ContractionPlanTest, NothingSideBySide) {
  Product product("f32[32,40]{0,1}", "f32[40,24]{0,1}", "f32[32,24]{1,0}");
  auto plan =
      ContractionPlan::get(product.getDims(), getElements(false), kWide);
  ASSERT_FALSE(plan);
  EXPECT_EQ(llvm::toString(plan.takeError()),
            "unsupported contraction: expected a dimension along which a "
            "factor and the result, or both factors, have neighbours in "
            "memory, found none; give one of the factors another layout");
}

TEST(ContractionPlanTest, TilesThatDivideNothing) {
  AxisList threes = getAxes("f32[9]{0:T(3)}"),
           fours = getAxes("f32[9]{0:T(4)}");
  EXPECT_FALSE(
      ContractionDim::get(Kind::Sum, 9, {{&threes, 0}, {&fours, 0}, {}}));
}

// Digits, those of blocks too, give the positions of the axis lists.
TEST(ContractionPlanTest, PositionsAreThoseOfTheAxes) {
  for (const char *tiles : {"", ":T(8,128)", ":T(8,128)(2,1)", ":T(4,8)",
                            ":T(2,16)(2,1)", ":T(2,2)(1,2)"})
    for (const char *order : {"{1,0", "{0,1"}) {
      std::string layout = std::string(order) + tiles + "}";
      Product product("bf16[37,300]" + layout,
                      "bf16[300,141]{1,0:T(8,128)(2,1)}",
                      "f32[37,141]{1,0:T(8,128)}");
      auto dims = product.getDims();
      if (auto plan = ContractionPlan::get(dims, getElements(true), kWide)) {
        for (const ContractionDim &dim : plan->outer)
          dims.push_back(dim);
        if (!plan->isSwapped)
          llvm::append_values(dims, plan->row, plan->column, plan->sum);
      } else {
        llvm::consumeError(plan.takeError());
      }
      for (const ContractionDim &dim : dims)
        for (int64_t i = 0; i < dim.size; ++i) {
          if (dim.kind == Kind::Row) {
            EXPECT_EQ(dim.getOffset(Lhs, i),
                      product.axes[0].linearIndex({i, 0}));
            EXPECT_EQ(dim.getOffset(Result, i),
                      product.axes[2].linearIndex({i, 0}));
          } else if (dim.kind == Kind::Column) {
            EXPECT_EQ(dim.getOffset(Rhs, i),
                      product.axes[1].linearIndex({0, i}));
          } else {
            EXPECT_EQ(dim.getOffset(Lhs, i),
                      product.axes[0].linearIndex({0, i}));
            EXPECT_EQ(dim.getOffset(Rhs, i),
                      product.axes[1].linearIndex({i, 0}));
          }
        }
    }
}
