//===- LoopNest.cpp - Loops over elements and padding ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is said in two words. A *piece* is a digit of a variable, the
// range of one loop. A *radix* is a list of pieces read as a mixed-radix number
// with an interval of legal values: the pieces of a dimension and [0, size), or
// the pieces of the axes that a dimension went to and [size, padded size).
// An interval is a few boxes of its digits; a nest is a choice of one box for
// each radix.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/LoopNest.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// LoopNest
//===----------------------------------------------------------------------===//

/// The sum of the pieces with divisors in [from, to), divided by `from`.
static AffineExpr sumPieces(MLIRContext *context, ArrayRef<NestPiece> pieces,
                            int64_t from, int64_t to) {
  AffineExpr sum = getAffineConstantExpr(0, context);
  for (const NestPiece &piece : llvm::reverse(pieces))
    if (piece.divisor >= from && piece.divisor < to)
      sum = sum + piece.value * (piece.divisor / from);
  return sum;
}

static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// The divisor at which a digit ends; kNoLimit when it takes all that is left.
static int64_t digitEnd(const Digit &digit) {
  int64_t end;
  if (digit.extent == 0 || llvm::MulOverflow(digit.divisor, digit.extent, end))
    return kNoLimit;
  return end;
}

static AffineExpr expandDigit(const LoopNest &nest, const Digit &digit) {
  ArrayRef<NestPiece> pieces = nest.variables[digit.variable];
  int64_t end = digitEnd(digit);
  auto isSplit = [&](int64_t divisor) {
    return llvm::any_of(pieces, [&](const NestPiece &piece) {
      return piece.divisor == divisor;
    });
  };
  if (isSplit(digit.divisor) && (end == kNoLimit || isSplit(end)))
    return sumPieces(nest.context, pieces, digit.divisor, end);
  AffineExpr value = sumPieces(nest.context, pieces, 1, kNoLimit);
  if (digit.divisor != 1)
    value = value.floorDiv(digit.divisor);
  return end == kNoLimit ? value : value % digit.extent;
}

AffineExpr LoopNest::expand(const IndexExpr &expr) const {
  if (auto sum = expr.asDigitSum()) {
    AffineExpr result = getAffineConstantExpr(0, context);
    for (const DigitTerm &term : *sum)
      result = result + expandDigit(*this, term.digit) * term.coefficient;
    return result;
  }
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
    return getAffineConstantExpr(0, context);
  case IndexExpr::Kind::Variable:
    return sumPieces(context, variables[expr.variableNumber()], 1, kNoLimit);
  case IndexExpr::Kind::FloorDiv:
    return expand(expr.lhs()).floorDiv(expr.constant());
  case IndexExpr::Kind::Mod:
    return expand(expr.lhs()) % expr.constant();
  case IndexExpr::Kind::MulAdd:
    return expand(expr.lhs()) * expr.constant() + expand(expr.rhs());
  }
  llvm_unreachable("all kinds are handled");
}

AffineMap LoopNest::getMap(ArrayRef<AffineExpr> results) const {
  return separateRemainders(
      AffineMap::get(loops.size(), numSymbols, results, context));
}

AffineMap LoopNest::getAxisMap(const AxisList &list) const {
  SmallVector<AffineExpr> results;
  for (const Axis &axis : list.axes())
    results.push_back(expand(axis.index));
  return getMap(results);
}

AffineMap LoopNest::getVariableMap() const {
  SmallVector<AffineExpr> results;
  for (ArrayRef<NestPiece> pieces : variables)
    results.push_back(sumPieces(context, pieces, 1, kNoLimit));
  return getMap(results);
}

//===----------------------------------------------------------------------===//
// Intervals of mixed-radix numbers
//===----------------------------------------------------------------------===//

namespace {
/// Values that a piece takes in one nest; expressions over pieces
/// (dimensions) and sizes (symbols).
struct PieceBounds {
  SmallVector<AffineExpr, 2> lower; ///< The maximum counts.
  SmallVector<AffineExpr, 2> upper; ///< The minimum counts.
};

/// One for each piece of a radix.
using Box = std::vector<PieceBounds>;

/// A digit of a variable.
struct Piece {
  unsigned variable = 0;
  int64_t divisor = 1;
  AffineExpr range; ///< Number of values; a constant or over sizes.
};

/// Pieces, most major first, whose mixed-radix value is in [lower, upper);
/// without an upper limit where that is null.
struct Radix {
  SmallVector<unsigned, 4> pieces;
  AffineExpr lower;
  AffineExpr upper;
};
} // namespace

static std::optional<int64_t> asConstant(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

/// Collects the boxes whose union is `prefix` followed by the mixed-radix
/// numbers of [lower, upper) over `ranges`; the largest comes first.
static void splitIntoBoxes(ArrayRef<int64_t> ranges, int64_t lower,
                           int64_t upper,
                           SmallVector<std::pair<int64_t, int64_t>, 4> prefix,
                           SmallVectorImpl<decltype(prefix)> &boxes) {
  if (lower >= upper)
    return;
  if (ranges.empty()) {
    boxes.push_back(prefix);
    return;
  }
  ArrayRef<int64_t> minor = ranges.drop_front();
  int64_t weight = 1;
  for (int64_t range : minor)
    weight *= range;
  auto splitWithin = [&](int64_t digit, int64_t from, int64_t to) {
    auto extended = prefix;
    extended.push_back({digit, digit + 1});
    splitIntoBoxes(minor, from, to, std::move(extended), boxes);
  };
  int64_t first = llvm::divideCeilSigned(lower, weight);
  int64_t last = upper / weight;
  if (first > last)
    return splitWithin(last, lower - last * weight, upper - last * weight);
  if (first < last) {
    auto whole = prefix;
    whole.push_back({first, last});
    for (int64_t range : minor)
      whole.push_back({0, range});
    boxes.push_back(std::move(whole));
  }
  if (lower % weight != 0)
    splitWithin(first - 1, lower - (first - 1) * weight, weight);
  if (upper % weight != 0)
    splitWithin(last, 0, upper - last * weight);
}

//===----------------------------------------------------------------------===//
// LoopNestPlanner
//===----------------------------------------------------------------------===//

namespace {
/// Turns pieces and radixes into nests.
class LoopNestPlanner {
public:
  LoopNestPlanner(MLIRContext *context, ArrayRef<int64_t> sizes,
                  unsigned numVariables, LoopNestOptions options);

  AffineExpr constant(int64_t value) const {
    return getAffineConstantExpr(value, context);
  }
  /// The extent as a constant or an expression of the sizes.
  AffineExpr getExtent(const Extent &extent) const;
  /// The logical size of a dimension.
  AffineExpr getSize(unsigned dim) const { return sizeExprs[dim]; }

  /// Splits `variable`, with values in [0, range), at `divisors`, which form a
  /// divisor chain without 1. Returns its pieces, most major first.
  SmallVector<unsigned, 4> split(unsigned variable, AffineExpr range,
                                 ArrayRef<int64_t> divisors);
  /// Confines pieces; each may be in one radix. Others take all their values.
  void addRadix(Radix radix) { radixes.push_back(std::move(radix)); }
  void clearRadixes() { radixes.clear(); }

  ArrayRef<Piece> getPieces() const { return pieces; }
  /// Order of the loops: pieces, outermost first. The default is creation.
  void setOrder(SmallVector<unsigned> newOrder) { order = std::move(newOrder); }

  /// Appends the nests.
  void plan(std::vector<LoopNest> &nests) const;

private:
  std::optional<std::vector<Box>> getBoxes(const Radix &radix) const;
  Box getBounds(const Radix &radix) const;
  SmallVector<unsigned> placeInOrder(ArrayRef<bool> bounded) const;
  LoopNest makeNest(ArrayRef<PieceBounds> bounds,
                    ArrayRef<unsigned> loopOrder) const;

  MLIRContext *context;
  LoopNestOptions options;
  unsigned numSymbols = 0;
  unsigned numVariables;
  SmallVector<AffineExpr> sizeExprs;
  SmallVector<Piece> pieces;
  SmallVector<Radix> radixes;
  SmallVector<unsigned> order;
};
} // namespace

LoopNestPlanner::LoopNestPlanner(MLIRContext *context, ArrayRef<int64_t> sizes,
                                 unsigned numVariables, LoopNestOptions options)
    : context(context), options(options), numVariables(numVariables) {
  for (int64_t size : sizes)
    sizeExprs.push_back(size == kDynamic
                            ? getAffineSymbolExpr(numSymbols++, context)
                            : constant(size));
}

AffineExpr LoopNestPlanner::getExtent(const Extent &extent) const {
  if (extent.isStatic())
    return constant(extent.value);
  return sizeExprs[extent.dim].ceilDiv(extent.divisor);
}

SmallVector<unsigned, 4> LoopNestPlanner::split(unsigned variable,
                                                AffineExpr range,
                                                ArrayRef<int64_t> divisors) {
  SmallVector<unsigned, 4> result;
  AffineExpr pieceRange =
      divisors.empty() ? range : range.ceilDiv(divisors.back());
  for (size_t i = divisors.size() + 1; i-- > 0;) {
    int64_t divisor = i == 0 ? 1 : divisors[i - 1];
    result.push_back(pieces.size());
    order.push_back(pieces.size());
    pieces.push_back({variable, divisor, pieceRange});
    if (i > 0)
      pieceRange = constant(divisor / (i > 1 ? divisors[i - 2] : 1));
  }
  return result;
}

/// The boxes of a radix whose numbers are all known, else nothing.
std::optional<std::vector<Box>>
LoopNestPlanner::getBoxes(const Radix &radix) const {
  SmallVector<int64_t> ranges;
  AffineExpr numValues = constant(1);
  for (unsigned piece : radix.pieces) {
    auto range = asConstant(pieces[piece].range);
    if (!range)
      return std::nullopt;
    ranges.push_back(*range);
    numValues = numValues * *range;
  }
  auto lower = asConstant(radix.lower);
  auto upper = asConstant(radix.upper ? radix.upper : numValues);
  if (!lower || !upper)
    return std::nullopt;
  if (llvm::is_contained(ranges, 0))
    return std::vector<Box>();
  SmallVector<SmallVector<std::pair<int64_t, int64_t>, 4>> intervals;
  splitIntoBoxes(ranges, *lower, *upper, {}, intervals);
  std::vector<Box> boxes;
  for (auto &interval : intervals) {
    Box &box = boxes.emplace_back();
    for (auto [from, to] : interval)
      box.push_back({{constant(from)}, {constant(to)}});
  }
  return boxes;
}

/// One box for all of a radix: the bounds of a digit depend on those that are
/// more major.
///
///   lower: the remainder of the interval's start, in whole weights, or 0
///   upper: the remainder of the interval's end, rounded up, or the digit's
///   range
Box LoopNestPlanner::getBounds(const Radix &radix) const {
  Box box;
  AffineExpr above = constant(0);
  for (size_t i = 0; i < radix.pieces.size(); ++i) {
    AffineExpr weight = constant(1);
    for (unsigned piece : ArrayRef(radix.pieces).drop_front(i + 1))
      weight = weight * pieces[piece].range;
    PieceBounds bounds;
    bounds.lower.push_back(constant(0));
    if (asConstant(radix.lower) != 0)
      bounds.lower.push_back((radix.lower - above).floorDiv(weight));
    bounds.upper.push_back(pieces[radix.pieces[i]].range);
    if (radix.upper)
      bounds.upper.push_back((radix.upper - above).ceilDiv(weight));
    box.push_back(std::move(bounds));
    above = above + getAffineDimExpr(radix.pieces[i], context) * weight;
  }
  return box;
}

/// The order of loops, but with the pieces of each bounded radix from major to
/// minor, at the positions that they have together.
SmallVector<unsigned>
LoopNestPlanner::placeInOrder(ArrayRef<bool> bounded) const {
  SmallVector<unsigned> result = order;
  for (auto [radix, isBounded] : llvm::zip_equal(radixes, bounded)) {
    if (!isBounded)
      continue;
    const unsigned *next = radix.pieces.begin();
    for (unsigned &piece : result)
      if (llvm::is_contained(radix.pieces, piece))
        piece = *next++;
  }
  return result;
}

/// Bounds that decide; a constant keeps its position in front.
static SmallVector<AffineExpr> dropRedundant(ArrayRef<AffineExpr> bounds,
                                             bool isLower) {
  SmallVector<AffineExpr> result;
  std::optional<int64_t> tightest;
  for (AffineExpr bound : bounds) {
    auto value = asConstant(bound);
    if (!value) {
      if (!llvm::is_contained(result, bound))
        result.push_back(bound);
      continue;
    }
    if (!tightest)
      tightest = value;
    tightest =
        isLower ? std::max(*tightest, *value) : std::min(*tightest, *value);
  }
  if (tightest)
    result.insert(result.begin(),
                  getAffineConstantExpr(*tightest, bounds[0].getContext()));
  return result;
}

LoopNest LoopNestPlanner::makeNest(ArrayRef<PieceBounds> bounds,
                                   ArrayRef<unsigned> loopOrder) const {
  LoopNest nest;
  nest.context = context;
  nest.numSymbols = numSymbols;
  SmallVector<AffineExpr> values(pieces.size(), constant(0));
  for (unsigned piece : loopOrder) {
    auto resolve = [&](ArrayRef<AffineExpr> exprs, bool isLower) {
      SmallVector<AffineExpr> resolved;
      for (AffineExpr expr : exprs)
        resolved.push_back(simplifyAffineExpr(expr.replaceDims(values),
                                              nest.loops.size(), numSymbols));
      return dropRedundant(resolved, isLower);
    };
    auto lower = resolve(bounds[piece].lower, /*isLower=*/true);
    auto upper = resolve(bounds[piece].upper, /*isLower=*/false);
    bool isOne = lower.size() == 1 && upper.size() == 1 &&
                 asConstant(upper[0] - lower[0]) == 1;
    if (isOne) {
      values[piece] = lower[0];
      continue;
    }
    AffineMap lowerMap = nest.getMap(lower), upperMap = nest.getMap(upper);
    values[piece] = getAffineDimExpr(nest.loops.size(), context);
    nest.loops.push_back({lowerMap, upperMap});
  }
  nest.variables.resize(numVariables);
  for (auto [piece, value] : llvm::zip_equal(pieces, values))
    nest.variables[piece.variable].push_back({piece.divisor, value});
  for (auto &variable : nest.variables)
    llvm::sort(variable, [](const NestPiece &lhs, const NestPiece &rhs) {
      return lhs.divisor < rhs.divisor;
    });
  return nest;
}

void LoopNestPlanner::plan(std::vector<LoopNest> &nests) const {
  // Choose, cheapest first, the radixes to split into boxes.
  SmallVector<std::vector<Box>> choices;
  SmallVector<bool> bounded;
  for (const Radix &radix : radixes) {
    auto boxes = getBoxes(radix);
    bounded.push_back(!boxes);
    choices.push_back(boxes ? std::move(*boxes)
                            : std::vector<Box>{getBounds(radix)});
    if (choices.back().empty())
      return;
  }
  SmallVector<unsigned> byCount =
      llvm::to_vector(llvm::seq<unsigned>(0, radixes.size()));
  llvm::sort(byCount, [&](unsigned lhs, unsigned rhs) {
    return std::pair(choices[lhs].size(), lhs) <
           std::pair(choices[rhs].size(), rhs);
  });
  size_t count = 1;
  for (unsigned i : byCount) {
    if (count * choices[i].size() > std::max(options.maxNests, 1u)) {
      choices[i] = {getBounds(radixes[i])};
      bounded[i] = true;
    }
    count *= choices[i].size();
  }

  // All combinations; the first boxes, which are the largest, come first.
  SmallVector<unsigned> loopOrder = placeInOrder(bounded);
  for (size_t n = 0; n < count; ++n) {
    std::vector<PieceBounds> bounds;
    for (const Piece &piece : pieces)
      bounds.push_back({{constant(0)}, {piece.range}});
    size_t remainder = n;
    for (auto [radix, boxes] : llvm::zip_equal(radixes, choices)) {
      const Box &box = boxes[remainder % boxes.size()];
      remainder /= boxes.size();
      for (auto [piece, pieceBounds] : llvm::zip_equal(radix.pieces, box))
        bounds[piece] = pieceBounds;
    }
    nests.push_back(makeNest(bounds, loopOrder));
  }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Where a piece of a dimension goes in `target`: the axis, and how far a step
/// moves along it (negated, so that smaller is more major).
static std::pair<size_t, int64_t> getSortKey(const Piece &piece,
                                             const AxisList &target) {
  for (size_t i = 0; i < target.size(); ++i) {
    auto sum = target[i].index.asDigitSum();
    if (!sum) {
      if (target[i].index.involves(piece.variable))
        return {i, 0};
      continue;
    }
    for (const DigitTerm &term : *sum)
      if (term.digit.variable == piece.variable &&
          term.digit.divisor <= piece.divisor &&
          piece.divisor < digitEnd(term.digit))
        return {i, -term.coefficient * (piece.divisor / term.digit.divisor)};
  }
  return {target.size(), 0};
}

std::vector<LoopNest> tessera::getElementNests(MLIRContext *context,
                                               ArrayRef<int64_t> sizes,
                                               ArrayRef<IndexExpr> indices,
                                               const AxisList &target,
                                               LoopNestOptions options) {
  LoopNestPlanner planner(context, sizes, sizes.size(), options);
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    DimensionSplit splits = getSplit(dim, indices);
    ArrayRef<int64_t> divisors;
    if (splits.isChain)
      divisors = splits.divisors;
    Radix radix{planner.split(dim, planner.getSize(dim), divisors),
                planner.constant(0), planner.getSize(dim)};
    planner.addRadix(std::move(radix));
  }
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, planner.getPieces().size()));
  auto getKey = [&](unsigned piece) {
    return std::pair(getSortKey(planner.getPieces()[piece], target), piece);
  };
  llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
    return getKey(lhs) < getKey(rhs);
  });
  planner.setOrder(std::move(order));
  std::vector<LoopNest> nests;
  planner.plan(nests);
  return nests;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The divisors at which digits of the conditions split each axis, or nothing
/// where they form no chain, or their positions don't fill the axis.
static std::optional<SmallVector<SmallVector<int64_t, 4>>>
getAxisSplits(const AxisList &list) {
  auto indices = llvm::map_to_vector(
      list.inverse().conditions,
      [](const AxisCondition &condition) { return condition.index; });
  SmallVector<SmallVector<int64_t, 4>> splits;
  for (auto [i, axis] : llvm::enumerate(list.axes())) {
    DimensionSplit split = getSplit(i, indices);
    if (!split.isChain)
      return std::nullopt;
    if (!split.divisors.empty() &&
        (!axis.extent.isStatic() ||
         axis.extent.value % split.divisors.back() != 0))
      return std::nullopt;
    splits.push_back(std::move(split.divisors));
  }
  return splits;
}

/// The pieces over which `condition` is a mixed-radix number, most major first,
/// or nothing when it isn't one. `axisPieces` are those of each axis.
static std::optional<SmallVector<unsigned, 4>>
getRadixPieces(const AxisCondition &condition, const LoopNestPlanner &planner,
               ArrayRef<SmallVector<unsigned, 4>> axisPieces) {
  // Weight and piece, by increasing weight.
  SmallVector<std::pair<int64_t, unsigned>> weighted;
  auto sum = condition.index.asDigitSum();
  assert(sum && "getAxisSplits returns nothing otherwise");
  for (const DigitTerm &term : *sum)
    for (unsigned index : axisPieces[term.digit.variable]) {
      int64_t divisor = planner.getPieces()[index].divisor;
      if (divisor >= term.digit.divisor && divisor < digitEnd(term.digit))
        weighted.push_back(
            {term.coefficient * (divisor / term.digit.divisor), index});
    }
  llvm::sort(weighted);
  std::optional<int64_t> expected = 1;
  SmallVector<unsigned, 4> result;
  for (auto [weight, index] : weighted) {
    auto range = asConstant(planner.getPieces()[index].range);
    if (range == 1) // Its only value is 0, whatever the weight.
      continue;
    if (expected != weight)
      return std::nullopt;
    // Only the most major piece may have a range that is not known.
    expected = range ? std::optional(weight * *range) : std::nullopt;
    result.push_back(index);
  }
  // A number without digits is 0. Whether that is below a size which is not
  // known takes a loop to decide: one of a single iteration.
  if (result.empty() && !condition.limit.isStatic()) {
    if (weighted.empty())
      return std::nullopt;
    result.push_back(weighted.front().second);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

/// The nests over padding as boxes of digits: positions where condition k is
/// the first that fails, for each k. Nothing when the conditions share digits
/// or are no mixed-radix numbers.
static std::optional<std::vector<LoopNest>>
getPaddingBoxes(MLIRContext *context, ArrayRef<int64_t> sizes,
                const AxisList &list, LoopNestOptions options) {
  auto splits = getAxisSplits(list);
  if (!splits)
    return std::nullopt;
  LoopNestPlanner planner(context, sizes, list.size(), options);
  SmallVector<SmallVector<unsigned, 4>> axisPieces;
  for (size_t i = 0; i < list.size(); ++i)
    axisPieces.push_back(
        planner.split(i, planner.getExtent(list[i].extent), (*splits)[i]));

  SmallVector<Radix> valid;
  SmallVector<bool> used(planner.getPieces().size());
  for (const AxisCondition &condition : list.inverse().conditions) {
    auto radixPieces = getRadixPieces(condition, planner, axisPieces);
    if (!radixPieces)
      return std::nullopt;
    for (unsigned piece : *radixPieces)
      if (std::exchange(used[piece], true))
        return std::nullopt;
    valid.push_back({std::move(*radixPieces), planner.constant(0),
                     planner.getExtent(condition.limit)});
  }

  std::vector<LoopNest> nests;
  for (size_t k = 0; k < valid.size(); ++k) {
    planner.clearRadixes();
    for (size_t j = 0; j < k; ++j)
      planner.addRadix(valid[j]);
    planner.addRadix({valid[k].pieces, valid[k].upper, AffineExpr()});
    planner.plan(nests);
  }
  return nests;
}

/// All positions, guarded by the conditions.
static std::vector<LoopNest> getGuardedPositions(MLIRContext *context,
                                                 ArrayRef<int64_t> sizes,
                                                 const AxisList &list) {
  LoopNestPlanner planner(context, sizes, list.size(), {});
  for (size_t i = 0; i < list.size(); ++i)
    planner.split(i, planner.getExtent(list[i].extent), {});
  std::vector<LoopNest> nests;
  planner.plan(nests);
  for (LoopNest &nest : nests) {
    SmallVector<AffineExpr> constraints;
    for (const AxisCondition &condition : list.inverse().conditions)
      constraints.push_back(planner.getExtent(condition.limit) - 1 -
                            nest.expand(condition.index));
    SmallVector<bool> equalities(constraints.size(), false);
    nest.exclude = IntegerSet::get(nest.loops.size(), nest.numSymbols,
                                   constraints, equalities);
  }
  return nests;
}

std::vector<LoopNest> tessera::getPaddingNests(MLIRContext *context,
                                               ArrayRef<int64_t> sizes,
                                               const AxisList &list,
                                               LoopNestOptions options) {
  if (list.inverse().conditions.empty() || list.numPositions() == 0)
    return {};
  if (auto nests = getPaddingBoxes(context, sizes, list, options))
    return std::move(*nests);
  return getGuardedPositions(context, sizes, list);
}
