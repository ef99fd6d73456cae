//===- AffineRangesTest.cpp - Tests of range simplification ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/AffineRanges.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace tessera;

namespace {
class AffineRangesTest : public testing::Test {
protected:
  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, &context); }

  /// Value of `expr` for the operands.
  int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> operands) {
    SmallVector<Attribute> attributes, results;
    for (int64_t operand : operands)
      attributes.push_back(IntegerAttr::get(IndexType::get(&context), operand));
    EXPECT_TRUE(succeeded(AffineMap::get(operands.size(), 0, expr)
                              .constantFold(attributes, results)));
    return cast<IntegerAttr>(results[0]).getInt();
  }

  MLIRContext context;
};
} // namespace

TEST_F(AffineRangesTest, ResolvesDigits) {
  std::optional<IntegerRange> ranges[] = {std::nullopt, IntegerRange{0, 7}};
  AffineExpr index = dim(0) * 8 + dim(1);
  EXPECT_EQ(simplifyWithRanges(index.floorDiv(8), 2, ranges), dim(0));
  EXPECT_EQ(simplifyWithRanges(index % 8, 2, ranges), dim(1));
  EXPECT_EQ(simplifyWithRanges((index + 8).floorDiv(8) % 1, 2, ranges),
            getAffineConstantExpr(0, &context));
}

// 63 - (8 * a + b) is 8 * (7 - a) + (7 - b).
TEST_F(AffineRangesTest, ResolvesReversedDigits) {
  std::optional<IntegerRange> ranges[] = {IntegerRange{0, 7},
                                          IntegerRange{0, 7}};
  AffineExpr index = -dim(0) * 8 - dim(1) + 63;
  EXPECT_EQ(simplifyWithRanges(index.floorDiv(8), 2, ranges), -dim(0) + 7);
  EXPECT_EQ(simplifyWithRanges(index % 8, 2, ranges), -dim(1) + 7);
}

TEST_F(AffineRangesTest, KeepsWhatIsNotDecided) {
  std::optional<IntegerRange> ranges[] = {std::nullopt, IntegerRange{0, 8}};
  AffineExpr index = (dim(0) * 8 + dim(1)).floorDiv(8);
  EXPECT_EQ(simplifyWithRanges(index, 2, ranges), dim(0) + dim(1).floorDiv(8));
  EXPECT_FALSE(getRange(index, 2, ranges));
}

TEST_F(AffineRangesTest, RangesNearTheLimitsOfInt64) {
  std::optional<IntegerRange> ranges[] = {IntegerRange{0, INT64_MAX}};
  EXPECT_FALSE(getRange(dim(0) * 2, 1, ranges));
  EXPECT_EQ(getRange(dim(0).floorDiv(2), 1, ranges)->max, INT64_MAX / 2);
}

// A block that begins below the least number leaves the expression as it is.
TEST_F(AffineRangesTest, BlocksBelowInt64) {
  std::optional<IntegerRange> ranges[] = {
      IntegerRange{INT64_MIN, INT64_MIN + 1}};
  EXPECT_EQ(simplifyWithRanges(dim(0) % 3, 1, ranges), dim(0) % 3);
}

// Random expressions keep their values on random operands within the ranges.
TEST_F(AffineRangesTest, KeepsValues) {
  std::mt19937_64 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    std::optional<IntegerRange> ranges[3];
    for (auto &range : ranges) {
      int64_t low = pick(-4, 4);
      range = IntegerRange{low, low + pick(0, 12)};
    }
    AffineExpr expr = dim(0) * pick(-9, 9) + dim(1) * pick(-9, 9) +
                      dim(2) * pick(1, 3) + pick(-40, 40);
    for (int depth = pick(0, 3); depth > 0; --depth) {
      int64_t divisor = pick(1, 9);
      int64_t kind = pick(0, 2);
      expr = kind == 0   ? expr % divisor
             : kind == 1 ? expr.floorDiv(divisor)
                         : expr.ceilDiv(divisor);
      expr = expr * pick(1, 9) + dim(pick(0, 2)) * pick(-3, 3);
    }
    AffineExpr simple = simplifyWithRanges(expr, 3, ranges);
    std::optional<IntegerRange> total = getRange(expr, 3, ranges);
    ASSERT_TRUE(total);
    for (int sample = 0; sample < 20; ++sample) {
      int64_t operands[3];
      for (int i = 0; i < 3; ++i)
        operands[i] = pick(ranges[i]->min, ranges[i]->max);
      int64_t value = evaluate(expr, operands);
      ASSERT_EQ(value, evaluate(simple, operands));
      ASSERT_LE(total->min, value);
      ASSERT_GE(total->max, value);
    }
  }
}
