//===- AffineRangesTest.cpp - Tests of range simplification ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/AffineRanges.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
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

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

/// Whether a remainder is divided anywhere in `expr`.
static bool dividesRemainder(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  bool divides = expr.getKind() != AffineExprKind::Add &&
                 expr.getKind() != AffineExprKind::Mul;
  return (divides && binary.getLHS().getKind() == AffineExprKind::Mod) ||
         dividesRemainder(binary.getLHS()) || dividesRemainder(binary.getRHS());
}

TEST_F(AffineRangesTest, SeparatesRemainders) {
  AffineExpr digit = (-dim(0) % 3).floorDiv(2);
  EXPECT_TRUE(dividesRemainder(digit));
  EXPECT_FALSE(dividesRemainder(separateRemainders(digit)));
  // Where the divisors form a chain, digits stay digits.
  EXPECT_EQ(separateRemainders((dim(0) % 8).floorDiv(2)),
            dim(0).floorDiv(2) % 4);
}

// Each remainder of a remainder doubles the form: there is an end to it.
TEST_F(AffineRangesTest, KeepsDeepRemainders) {
  AffineExpr expr = dim(0);
  for (int64_t divisor = 1000; divisor > 900; --divisor)
    expr = expr % divisor;
  EXPECT_EQ(separateRemainders(expr), expr);
}

namespace {
/// The value of `expr` over the variable of a loop from `low` to `high`, as
/// upstream's canonicalizer leaves it.
class CanonicalizedLoop {
public:
  CanonicalizedLoop(AffineExpr expr, IntegerRange range)
      : context(*expr.getContext()), builder(&context),
        module(ModuleOp::create(builder.getUnknownLoc())) {
    context.loadDialect<affine::AffineDialect, arith::ArithDialect,
                        func::FuncDialect>();
    context.allowUnregisteredDialects();
    Location loc = builder.getUnknownLoc();
    builder.setInsertionPointToEnd(module->getBody());
    auto function = func::FuncOp::create(builder, loc, "f",
                                         builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
    auto loop =
        affine::AffineForOp::create(builder, loc, range.min, range.max + 1);
    func::ReturnOp::create(builder, loc);
    builder.setInsertionPointToStart(loop.getBody());
    Value value = affine::AffineApplyOp::create(
        builder, loc, AffineMap::get(1, 0, expr), loop.getInductionVar());
    OperationState use(loc, "test.use");
    use.addOperands(value);
    builder.create(use);
    PassManager manager(&context);
    manager.addPass(createCanonicalizerPass());
    EXPECT_TRUE(succeeded(manager.run(*module)));
  }

  AffineExpr getExpr() {
    AffineExpr result;
    module->walk([&](Operation *op) {
      llvm::APInt constant;
      if (op->getName().getStringRef() != "test.use")
        return;
      Value value = op->getOperand(0);
      if (matchPattern(value, m_ConstantInt(&constant)))
        result = getAffineConstantExpr(constant.getSExtValue(), &context);
      else if (auto apply = value.getDefiningOp<affine::AffineApplyOp>())
        result = apply.getAffineMap().getResult(0);
      else
        result = getAffineDimExpr(0, &context);
    });
    return result;
  }

private:
  MLIRContext &context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};
} // namespace

// If this fails, upstream is mended, and separateRemainders may go.
TEST_F(AffineRangesTest, UpstreamFoldsRemaindersWrongly) {
  AffineExpr digit = (-dim(0) % 3).floorDiv(2);
  AffineExpr folded = CanonicalizedLoop(digit, {0, 1}).getExpr();
  EXPECT_EQ(evaluate(digit, {0}), 0);
  EXPECT_EQ(evaluate(folded, {0}), 1);
}

// Digits of subscripts that decrease or begin anywhere, at tile sizes that do
// not divide each other, outlive upstream's canonicalizer.
TEST_F(AffineRangesTest, UpstreamKeepsSeparateRemainders) {
  std::mt19937_64 random(11);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    int64_t low = pick(-6, 6);
    IntegerRange range{low, low + pick(1, 14)};
    std::optional<IntegerRange> ranges[] = {range};
    AffineExpr expr = dim(0) * (pick(0, 1) ? pick(1, 3) : pick(-3, -1)) + 40;
    for (int depth = pick(2, 4); depth > 0; --depth) {
      int64_t divisor = pick(2, 9);
      int64_t kind = pick(0, 3);
      expr = kind == 0   ? expr.floorDiv(divisor)
             : kind == 1 ? expr.ceilDiv(divisor)
                         : expr % divisor;
    }
    AffineExpr emitted = simplifyWithRanges(expr, 1, ranges);
    ASSERT_FALSE(dividesRemainder(emitted));
    AffineExpr folded = CanonicalizedLoop(emitted, range).getExpr();
    for (int64_t value = range.min; value <= range.max; ++value)
      ASSERT_EQ(evaluate(expr, {value}), evaluate(folded, {value}));
  }
}
