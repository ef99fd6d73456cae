//===- SplitRanges.cpp - Loops split where conditions change --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *decision* is a sum of loop variables whose sign something depends on: a
// comparison, which of two bounds of a loop is the tighter one, or whether an
// index has crossed from one tile into the next. Along one loop, while the
// others run through their ranges, the sum is negative at first, then it
// depends on the others, then it is not (or the other way round). A loop is
// split at these two places; in the part between, which is short, the loops
// inside it are split in turn.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"
#include "tessera/Conversion/TesseraToAffine/AffineRanges.h"
#include "tessera/Conversion/TesseraToAffine/SplitLoops.h"

#include "mlir/Dialect/Affine/Analysis/AffineStructures.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <set>

namespace tessera {
#define GEN_PASS_DEF_SPLITRANGES
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

namespace {
/// An affine expression of values.
struct ValueExpr {
  AffineExpr expr;
  unsigned numDims, numSymbols;
  SmallVector<Value> operands;

  std::optional<IntegerRange> getRange() const {
    return tessera::getRange(expr, numDims, getOperandRanges(operands));
  }
};

/// A sum of values times coefficients, and a constant.
struct ValueSum {
  llvm::SmallMapVector<Value, int64_t, 4> terms;
  int64_t constant = 0;
};

using Visit = llvm::function_ref<void(const ValueExpr &)>;
} // namespace

/// What a value is in loop variables.
static ValueExpr getExpr(Value value) {
  AffineMap map = AffineMap::getMultiDimIdentityMap(1, value.getContext());
  SmallVector<Value> operands = {value};
  affine::fullyComposeAffineMapAndOperands(&map, &operands);
  return {map.getResult(0), map.getNumDims(), map.getNumSymbols(), operands};
}

static std::optional<ValueSum> getSum(const ValueExpr &value) {
  SmallVector<int64_t> flat;
  AffineExpr expr = simplifyWithRanges(value.expr, value.numDims,
                                       getOperandRanges(value.operands));
  // More columns are those of divisions.
  if (failed(getFlattenedAffineExpr(expr, value.numDims, value.numSymbols,
                                    &flat)) ||
      flat.size() != value.operands.size() + 1)
    return std::nullopt;
  ValueSum sum;
  sum.constant = flat.back();
  for (auto [operand, coefficient] : llvm::zip(value.operands, flat))
    sum.terms[operand] += coefficient;
  return sum;
}

/// The expression that is not negative where the comparison holds; null where
/// that is not one.
static std::optional<ValueExpr> getCompared(arith::CmpIOp op) {
  llvm::APInt constant;
  if (!op.getLhs().getType().isIndex() ||
      !matchPattern(op.getRhs(), m_ConstantInt(&constant)))
    return std::nullopt;
  int64_t limit = constant.getSExtValue();
  ValueExpr value = getExpr(op.getLhs());
  if (limit == INT64_MIN || limit == INT64_MAX)
    return std::nullopt;
  switch (op.getPredicate()) {
  case arith::CmpIPredicate::slt:
    value.expr = limit - 1 - value.expr;
    return value;
  case arith::CmpIPredicate::sle:
    value.expr = limit - value.expr;
    return value;
  case arith::CmpIPredicate::sgt:
    value.expr = value.expr - (limit + 1);
    return value;
  case arith::CmpIPredicate::sge:
    value.expr = value.expr - limit;
    return value;
  default:
    return std::nullopt;
  }
}

/// The differences of the bounds that a loop has, of which the tightest counts.
static void visitBounds(AffineForOp loop, Visit visit) {
  auto visitMap = [&](AffineMap map, ValueRange bound) {
    SmallVector<Value> operands(bound);
    affine::fullyComposeAffineMapAndOperands(&map, &operands);
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      for (unsigned j = 0; j < i; ++j)
        visit({map.getResult(i) - map.getResult(j), map.getNumDims(),
               map.getNumSymbols(), operands});
  };
  visitMap(loop.getLowerBoundMap(), loop.getLowerBoundOperands());
  visitMap(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
}

/// The map and operands of what addresses memory or computes indices.
static std::optional<std::pair<AffineMap, ValueRange>> getMap(Operation *op) {
  using Result = std::optional<std::pair<AffineMap, ValueRange>>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<affine::AffineLoadOp, affine::AffineStoreOp>([](auto access) {
        return std::pair(access.getAffineMap(),
                         ValueRange(access.getMapOperands()));
      })
      .Case([](affine::AffineApplyOp apply) {
        return std::pair(apply.getAffineMap(), ValueRange(apply.getOperands()));
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Crossings from one tile into the next are looked for where there are so few.
static constexpr int64_t kMaxCrossings = 2;

/// What is not negative from each multiple of a divisor on, of the divisions in
/// the map of an operation.
static void visitDivisions(Operation *op, Visit visit) {
  auto found = getMap(op);
  if (!found)
    return;
  AffineMap map = found->first;
  SmallVector<Value> operands(found->second);
  affine::fullyComposeAffineMapAndOperands(&map, &operands);
  map = simplifyWithRanges(map, getOperandRanges(operands));
  map.walkExprs([&](AffineExpr expr) {
    auto division = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!division || (expr.getKind() != AffineExprKind::FloorDiv &&
                      expr.getKind() != AffineExprKind::Mod))
      return;
    auto divisor = dyn_cast<AffineConstantExpr>(division.getRHS());
    ValueExpr value = {division.getLHS(), map.getNumDims(), map.getNumSymbols(),
                       operands};
    std::optional<IntegerRange> range = value.getRange();
    if (!divisor || divisor.getValue() <= 0 || !range)
      return;
    int64_t by = divisor.getValue();
    int64_t first = llvm::divideFloorSigned(range->min, by);
    int64_t last = llvm::divideFloorSigned(range->max, by);
    if (last - first > kMaxCrossings)
      return;
    for (int64_t number = first + 1; number <= last; ++number) {
      value.expr = division.getLHS() - number * by;
      visit(value);
    }
  });
}

/// All decisions in a loop.
static void visitDecisions(AffineForOp loop, Visit visit) {
  loop.getBody()->walk([&](Operation *op) {
    if (auto inner = dyn_cast<AffineForOp>(op))
      return visitBounds(inner, visit);
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      if (std::optional<ValueExpr> value = getCompared(compare))
        visit(*value);
      return;
    }
    visitDivisions(op, visit);
  });
}

//===----------------------------------------------------------------------===//
// Where to split
//===----------------------------------------------------------------------===//

/// The range of what a sum adds to the term of a loop variable.
static std::optional<IntegerRange> getRest(const ValueSum &sum,
                                           Value variable) {
  IntegerRange rest{sum.constant, sum.constant};
  for (auto [value, coefficient] : sum.terms) {
    if (value == variable || coefficient == 0)
      continue;
    std::optional<IntegerRange> range = getOperandRange(value);
    int64_t first, last;
    if (!range || llvm::MulOverflow(range->min, coefficient, first) ||
        llvm::MulOverflow(range->max, coefficient, last) ||
        llvm::AddOverflow(rest.min, std::min(first, last), rest.min) ||
        llvm::AddOverflow(rest.max, std::max(first, last), rest.max))
      return std::nullopt;
  }
  return rest;
}

/// Adds the iterations at which the sign of a sum begins, and ceases, to depend
/// on other loops.
static void addBreaks(const ValueSum &sum, AffineForOp loop,
                      std::set<int64_t> &breaks) {
  const auto *term = sum.terms.find(loop.getInductionVar());
  if (term == sum.terms.end() || term->second == 0 || term->second == INT64_MIN)
    return;
  int64_t step = term->second;
  std::optional<IntegerRange> rest = getRest(sum, loop.getInductionVar());
  // The least and the largest number have no negative, or none behind them.
  if (!rest || rest->min <= -INT64_MAX || rest->max == INT64_MAX)
    return;
  for (int64_t value : {rest->min, rest->max}) {
    // From here on, `step * i + value` has another sign.
    int64_t at = step > 0 ? llvm::divideCeilSigned(-value, step)
                          : llvm::divideFloorSigned(value, -step) + 1;
    if (at > loop.getConstantLowerBound() && at < loop.getConstantUpperBound())
      breaks.insert(at);
  }
}

/// Loops are split into so many parts at most.
static constexpr size_t kMaxBreaks = 4;

static std::set<int64_t> getBreaks(AffineForOp loop) {
  std::set<int64_t> breaks;
  if (!loop.hasConstantBounds() || loop.getStepAsInt() != 1)
    return breaks;
  visitDecisions(loop, [&](const ValueExpr &value) {
    if (std::optional<ValueSum> sum = getSum(value))
      addBreaks(*sum, loop, breaks);
  });
  return breaks;
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

/// Replaces a loop by one for each part between `breaks`.
static SmallVector<AffineForOp> splitAt(RewriterBase &rewriter,
                                        AffineForOp loop,
                                        const std::set<int64_t> &breaks) {
  SmallVector<AffineForOp> parts;
  SmallVector<int64_t> ends(breaks.begin(), breaks.end());
  ends.push_back(loop.getConstantUpperBound());
  int64_t begin = loop.getConstantLowerBound();
  SmallVector<Value> carried(loop.getInits());
  rewriter.setInsertionPoint(loop);
  for (int64_t end : ends) {
    auto part = cast<AffineForOp>(rewriter.clone(*loop));
    part.setConstantLowerBound(begin);
    part.setConstantUpperBound(end);
    part.getInitsMutable().assign(carried);
    carried = llvm::to_vector_of<Value>(part.getResults());
    parts.push_back(part);
    begin = end;
  }
  rewriter.replaceOp(loop, carried);
  return parts;
}

/// Leaves out bounds that others are always as tight as.
static void simplifyBound(AffineForOp loop, bool isLower) {
  AffineMap map = isLower ? loop.getLowerBoundMap() : loop.getUpperBoundMap();
  SmallVector<Value> operands(isLower ? loop.getLowerBoundOperands()
                                      : loop.getUpperBoundOperands());
  affine::fullyComposeAffineMapAndOperands(&map, &operands);
  SmallVector<std::optional<IntegerRange>> ranges = getOperandRanges(operands);
  SmallVector<AffineExpr> kept;
  auto isLooser = [&](AffineExpr one, AffineExpr other) {
    std::optional<IntegerRange> range =
        getRange(isLower ? other - one : one - other, map.getNumDims(), ranges);
    return range && range->min >= 0;
  };
  for (AffineExpr bound : map.getResults()) {
    std::optional<IntegerRange> range =
        getRange(bound, map.getNumDims(), ranges);
    if (range && range->min == range->max)
      bound = getAffineConstantExpr(range->min, loop.getContext());
    if (llvm::any_of(kept,
                     [&](AffineExpr other) { return isLooser(bound, other); }))
      continue;
    llvm::erase_if(kept,
                   [&](AffineExpr other) { return isLooser(other, bound); });
    kept.push_back(bound);
  }
  map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), kept,
                       loop.getContext());
  affine::canonicalizeMapAndOperands(&map, &operands);
  if (isLower)
    loop.setLowerBound(operands, map);
  else
    loop.setUpperBound(operands, map);
}

//===----------------------------------------------------------------------===//
// What is known then
//===----------------------------------------------------------------------===//

/// Whether a condition always holds, or never does; nothing where it depends.
static std::optional<bool> evaluate(Value condition) {
  Operation *op = condition.getDefiningOp();
  llvm::APInt constant;
  if (matchPattern(condition, m_ConstantInt(&constant)))
    return !constant.isZero();
  if (auto both = dyn_cast_or_null<arith::AndIOp>(op)) {
    std::optional<bool> lhs = evaluate(both.getLhs());
    std::optional<bool> rhs = evaluate(both.getRhs());
    if (lhs == false || rhs == false)
      return false;
    return lhs && rhs ? lhs : std::nullopt;
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  std::optional<ValueExpr> value =
      compare ? getCompared(compare) : std::nullopt;
  std::optional<IntegerRange> range = value ? value->getRange() : std::nullopt;
  if (!range || (range->min < 0 && range->max >= 0))
    return std::nullopt;
  return range->min >= 0;
}

/// Replaces conditions that always hold, or never do.
static void decide(RewriterBase &rewriter, Operation *op) {
  if (!isa<arith::CmpIOp, arith::AndIOp>(op) ||
      !op->getResult(0).getType().isInteger(1))
    return;
  if (std::optional<bool> known = evaluate(op->getResult(0))) {
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getBoolAttr(*known));
  }
}

/// Puts the branch that is taken in the place of a conditional, where that is
/// known.
static void takeBranch(RewriterBase &rewriter, scf::IfOp op) {
  std::optional<bool> known = evaluate(op.getCondition());
  if (!known)
    return;
  Region &region = *known ? op.getThenRegion() : op.getElseRegion();
  if (region.empty())
    return rewriter.eraseOp(op);
  Operation *yield = region.front().getTerminator();
  SmallVector<Value> results(yield->getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&region.front(), op);
  rewriter.replaceOp(op, results);
}

/// Leaves out divisions whose results ranges say.
static void simplifyMap(Operation *op) {
  auto found = getMap(op);
  if (!found)
    return;
  auto [map, operands] = *found;
  AffineMap simple = simplifyWithRanges(map, getOperandRanges(operands));
  if (simple != map)
    op->setAttr("map", AffineMapAttr::get(simple));
}

namespace {
struct SplitRangesPass : tessera::impl::SplitRangesBase<SplitRangesPass> {
  void runOnOperation() override {
    SmallVector<AffineForOp> nests;
    getOperation()->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      nests.push_back(loop);
      return WalkResult::skip();
    });
    for (AffineForOp nest : nests) {
      budget = kMaxOperations;
      split(nest);
    }
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](Operation *op) {
      simplifyMap(op);
      decide(rewriter, op);
    });
  }

private:
  /// A nest becomes no longer than so many operations by splitting.
  static constexpr int64_t kMaxOperations = 1000;

  void split(AffineForOp loop) {
    IRRewriter rewriter(&getContext());
    simplifyBound(loop, /*isLower=*/true);
    simplifyBound(loop, /*isLower=*/false);
    SmallVector<AffineForOp> parts = {loop};
    std::set<int64_t> breaks = getBreaks(loop);
    int64_t size = 0;
    if (!breaks.empty() && breaks.size() <= kMaxBreaks)
      loop.walk([&](Operation *) { ++size; });
    int64_t added = size * int64_t(breaks.size());
    if (size != 0 && added <= budget) {
      budget -= added;
      parts = splitAt(rewriter, loop, breaks);
      ++numSplit;
    }
    for (AffineForOp part : parts) {
      part.getBody()->walk<WalkOrder::PostOrder>(
          [&](scf::IfOp op) { takeBranch(rewriter, op); });
      SmallVector<AffineForOp> inner;
      part.getBody()->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
        inner.push_back(loop);
        return WalkResult::skip();
      });
      for (AffineForOp loop : inner)
        split(loop);
    }
  }

  int64_t budget = 0;
};
} // namespace
