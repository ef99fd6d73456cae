//===- Bitcast.cpp - Same bytes, another reading --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equality of positions is decided by form (PhysicalIndices.h): two functions
// of a variable are equal if their steps are. Only entangled variables are
// enumerated, alone. Positions within positions are a maximum: whether a
// condition for being an element is exceeded.
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Bitcast.h"

#include "IndexMapping.h"

#include "tessera/Layout/Size.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>

using namespace tessera;
using namespace tessera::detail;

namespace {

//===----------------------------------------------------------------------===//
// Enumeration
//===----------------------------------------------------------------------===//

/// Visits that an evaluation of expressions of `treeSize` nodes counts for:
/// one, unless a hostile layout makes them huge.
int64_t getCost(int64_t treeSize) { return 1 + treeSize / 256; }

int64_t getCost(const AxisList &list) {
  int64_t treeSize = 0;
  for (const Axis &axis : list.axes())
    treeSize += axis.index.treeSize();
  return getCost(treeSize);
}

/// Whether `holds` for all values of `variables` in `index` (the others stay).
/// After No, `index` is a counterexample. Each visit takes `cost` from
/// `budget`; the answer is Unknown when the budget is used up.
Answer holdsForAll(llvm::ArrayRef<unsigned> variables,
                   llvm::ArrayRef<int64_t> sizes, Index &index, int64_t &budget,
                   int64_t cost, llvm::function_ref<bool()> holds) {
  for (;;) {
    if (budget < cost)
      return Answer::Unknown;
    budget -= cost;
    if (!holds())
      return Answer::No;
    auto it = llvm::find_if(llvm::reverse(variables), [&](unsigned variable) {
      if (++index[variable] < sizes[variable])
        return true;
      index[variable] = 0;
      return false;
    });
    if (it == variables.rend())
      return Answer::Yes;
  }
}

//===----------------------------------------------------------------------===//
// Equality of positions
//===----------------------------------------------------------------------===//

/// Whether corresponding elements have equal positions; for No the variables of
/// an element that moves.
struct PositionAnswer {
  Answer answer = Answer::Yes;
  Index witness;
};

/// Variables that have to be enumerated together: those entangled with each
/// other on either side. Variables decided by their steps are in none.
llvm::SmallVector<llvm::SmallVector<unsigned>>
getEntangledClasses(const PhysicalIndices &from, const PhysicalIndices &to,
                    llvm::ArrayRef<int64_t> sizes) {
  llvm::IntEqClasses classes(sizes.size());
  for (const PhysicalIndices *positions : {&from, &to})
    for (llvm::ArrayRef<unsigned> variables : positions->entangled)
      for (unsigned variable : variables)
        classes.join(variables.front(), variable);
  classes.compress();
  llvm::SmallVector<llvm::SmallVector<unsigned>> members(
      classes.getNumClasses());
  for (unsigned variable = 0; variable < sizes.size(); ++variable)
    if (!from.steps[variable] || !to.steps[variable])
      members[classes[variable]].push_back(variable);
  llvm::erase_if(members, [](const auto &group) { return group.empty(); });
  return members;
}

/// Compares the positions of all corresponding elements. Neither array is
/// empty.
PositionAnswer comparePositions(const AxisList &from, const AxisList &to,
                                const IndexMapping &elements, int64_t cap) {
  PhysicalIndices fromPositions =
      getPhysicalIndices(from, elements.from, elements.sizes);
  PhysicalIndices toPositions =
      getPhysicalIndices(to, elements.to, elements.sizes);
  Index index(elements.sizes.size(), 0);
  for (size_t variable = 0; variable < index.size(); ++variable) {
    const std::optional<Steps> &lhs = fromPositions.steps[variable];
    const std::optional<Steps> &rhs = toPositions.steps[variable];
    if (!lhs || !rhs)
      continue;
    if (std::optional<int64_t> difference = getDifference(*lhs, *rhs)) {
      index[variable] = *difference;
      return {Answer::No, index};
    }
  }

  // The other variables are 0, where each of their functions is 0.
  PositionAnswer result;
  auto isSamePosition = [&] {
    return from.linearIndex(evaluate(elements.from, index)) ==
           to.linearIndex(evaluate(elements.to, index));
  };
  for (llvm::ArrayRef<unsigned> variables :
       getEntangledClasses(fromPositions, toPositions, elements.sizes)) {
    Answer answer =
        holdsForAll(variables, elements.sizes, index, cap,
                    getCost(from) + getCost(to) - 1, isSamePosition);
    if (answer == Answer::No)
      return {Answer::No, index};
    if (answer == Answer::Unknown)
      result.answer = Answer::Unknown;
    index.assign(index.size(), 0);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Conditions that need no axes
//===----------------------------------------------------------------------===//

BitcastAnswer yes() { return {Answer::Yes, ""}; }
BitcastAnswer no(const llvm::Twine &reason) {
  return {Answer::No, reason.str()};
}
BitcastAnswer unknown(const llvm::Twine &reason) {
  return {Answer::Unknown, reason.str()};
}

std::string toText(llvm::ArrayRef<int64_t> index) {
  std::string text = "(";
  llvm::raw_string_ostream os(text);
  llvm::interleave(index, os, ",");
  os << ')';
  return text;
}

/// Bits of a buffer, as bytes and the bits of the last byte that are used,
/// since the bits themselves may not fit in 64 bits.
struct Footprint {
  int64_t bytes;
  int64_t lastBits;

  bool operator==(const Footprint &other) const {
    return bytes == other.bytes && lastBits == other.lastBits;
  }
  std::string toString() const {
    if (lastBits == 0)
      return llvm::itostr(bytes) + " bytes";
    llvm::APInt bits = llvm::APInt(/*numBits=*/72, bytes - 1) * 8 + lastBits;
    return llvm::toString(bits, /*Radix=*/10, /*Signed=*/false) + " bits";
  }
};

/// One side of a question.
struct Side {
  const Shape &shape;
  Layout layout;
  AxisList axes;
  int64_t storageBits = 0;
  Footprint footprint = {0, 0};

  bool isEmpty() const { return llvm::is_contained(axes.dimensions(), 0); }
};

/// The axes and the footprint of a static array.
llvm::Expected<Side> getSide(const Shape &shape) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  if (!axes)
    return axes.takeError();
  Side side{shape, shape.layoutOrDefault(), std::move(*axes)};
  side.storageBits = getStorageBits(shape.elementType(), side.layout);
  int64_t elements = side.axes.numAllocated();
  llvm::Expected<int64_t> bytes =
      getStorageBytes(elements, shape.elementType(), side.layout);
  if (!bytes)
    return bytes.takeError();
  side.footprint = {*bytes, (elements % 8) * (side.storageBits % 8) % 8};
  return side;
}

/// What every bitcast needs: one buffer of one size in one space. Nothing when
/// these conditions hold.
std::optional<BitcastAnswer> checkBuffers(const Side &from, const Side &to,
                                          const BitcastOptions &options) {
  if (!(from.footprint == to.footprint))
    return no("footprints differ: " + from.footprint.toString() + " against " +
              to.footprint.toString());
  if (!options.ignoreMemorySpace &&
      from.layout.memorySpace != to.layout.memorySpace)
    return no("memory spaces differ: S(" +
              llvm::Twine(from.layout.memorySpace) + ") against S(" +
              llvm::Twine(to.layout.memorySpace) + ")");
  if (from.layout.dynamicShapeMetadataPrefixBytes !=
      to.layout.dynamicShapeMetadataPrefixBytes)
    return no("metadata prefixes differ: M(" +
              llvm::Twine(from.layout.dynamicShapeMetadataPrefixBytes) +
              ") against M(" +
              llvm::Twine(to.layout.dynamicShapeMetadataPrefixBytes) + ")");
  // Only zero is the same bits in every type.
  if (to.layout.paddingValue &&
      (from.layout.paddingValue != to.layout.paddingValue ||
       (*to.layout.paddingValue != PaddingValue::Zero &&
        from.shape.elementType() != to.shape.elementType())))
    return no("the second promises PV(" + getName(*to.layout.paddingValue) +
              ") for its padding, the first does not");
  return std::nullopt;
}

/// Two shapes as the sides of a question, or the answer why there are none.
struct Sides {
  std::optional<Side> from, to;
  BitcastAnswer answer;
};

Sides getSides(const Shape &fromShape, const Shape &toShape) {
  Sides sides;
  for (auto [shape, side] :
       {std::pair(&fromShape, &sides.from), std::pair(&toShape, &sides.to)}) {
    llvm::Expected<Side> made = getSide(*shape);
    if (!made) {
      sides.answer = unknown(takeDiagnostic(made.takeError()).message());
      return sides;
    }
    side->emplace(std::move(*made));
  }
  return sides;
}

/// Whether corresponding elements of two arrays of one type share their bytes.
BitcastAnswer checkSamePositions(const Shape &fromShape, const Shape &toShape,
                                 const IndexMapping &elements,
                                 const BitcastOptions &options) {
  Sides sides = getSides(fromShape, toShape);
  if (!sides.to)
    return sides.answer;
  const Side &from = *sides.from, &to = *sides.to;
  if (std::optional<BitcastAnswer> answer = checkBuffers(from, to, options))
    return *answer;
  if (from.isEmpty())
    return yes();
  if (from.storageBits != to.storageBits)
    return no("elements take " + llvm::Twine(from.storageBits) +
              " bits against " + llvm::Twine(to.storageBits));

  PositionAnswer positions =
      comparePositions(from.axes, to.axes, elements, options.enumerationCap);
  if (positions.answer == Answer::Yes)
    return yes();
  if (positions.answer == Answer::Unknown)
    return unknown("more than " + llvm::Twine(options.enumerationCap) +
                   " elements would have to be compared");
  Index fromIndex = evaluate(elements.from, positions.witness);
  Index toIndex = evaluate(elements.to, positions.witness);
  return no(
      "element " + toText(fromIndex) + " is at position " +
      llvm::Twine(from.axes.linearIndex(fromIndex)) + " of the first, but " +
      (fromIndex == toIndex ? "" : "as " + toText(toIndex) + " ") + "at " +
      llvm::Twine(to.axes.linearIndex(toIndex)) + " of the second");
}

/// The answer when two shapes cannot be compared element by element.
std::optional<BitcastAnswer> checkArrays(const Shape &from, const Shape &to) {
  if (!from.isArray() || !to.isArray())
    return no("only arrays have elements: " + from.toString() + " against " +
              to.toString());
  if (from.elementType() != to.elementType())
    return no("element types differ: " + getName(from.elementType()) +
              " against " + getName(to.elementType()));
  return std::nullopt;
}

} // namespace

/// Whether two shapes are the same array, written with its layout or without:
/// the only answer there is for dimensions without a size.
static bool isSameArray(const Shape &from, const Shape &to) {
  return from.isArray() && to.isArray() &&
         from.elementType() == to.elementType() &&
         from.dimensions() == to.dimensions() &&
         from.layoutOrDefault() == to.layoutOrDefault();
}

BitcastAnswer tessera::isRelayoutBitcast(const Shape &from, const Shape &to,
                                         BitcastOptions options) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, from.rank()));
  return isTransposeBitcast(from, to, permutation, options);
}

BitcastAnswer tessera::isTransposeBitcast(const Shape &from, const Shape &to,
                                          llvm::ArrayRef<int64_t> permutation,
                                          BitcastOptions options) {
  if (isSameArray(from, to) &&
      llvm::equal(permutation, llvm::seq<int64_t>(0, from.rank())))
    return yes();
  if (std::optional<BitcastAnswer> answer = checkArrays(from, to))
    return *answer;
  auto sorted = llvm::to_vector(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, from.rank())))
    return no(toText(permutation) + " is no permutation of " +
              llvm::Twine(from.rank()) + " dimensions");
  llvm::SmallVector<int64_t> transposed;
  for (int64_t dim : permutation)
    transposed.push_back(from.dimensions()[dim]);
  if (to.dimensions() != llvm::ArrayRef(transposed))
    return no("dimensions differ: expected " + toText(transposed) + ", found " +
              toText(to.dimensions()));
  return checkSamePositions(
      from, to, getTransposition(from.dimensions(), permutation), options);
}

BitcastAnswer tessera::isReshapeBitcast(const Shape &from, const Shape &to,
                                        BitcastOptions options) {
  if (isSameArray(from, to))
    return yes();
  if (std::optional<BitcastAnswer> answer = checkArrays(from, to))
    return *answer;
  if (from.dimensions() == to.dimensions())
    return isRelayoutBitcast(from, to, options);
  std::optional<int64_t> fromCount = countElements(from.dimensions());
  std::optional<int64_t> toCount = countElements(to.dimensions());
  if (!fromCount || !toCount)
    return unknown("the number of elements is not known");
  if (*fromCount != *toCount)
    return no("numbers of elements differ: " + llvm::Twine(*fromCount) +
              " against " + llvm::Twine(*toCount));
  IndexMapping elements;
  if (*fromCount != 0)
    elements = getReshape(from.dimensions(), to.dimensions());
  return checkSamePositions(from, to, elements, options);
}

//===----------------------------------------------------------------------===//
// Positions within positions
//===----------------------------------------------------------------------===//

namespace {

/// The largest value of an expression, and where it is taken.
struct Maximum {
  bool isKnown = true;
  int64_t value = 0;
  Index at;
};

/// Where a sum of non-negative multiples of digits of one variable may be
/// largest: at the last value, or at one that agrees with it down to some
/// divisor, is one less there, and as large as can be below. Nothing when the
/// divisors form no chain.
std::optional<Index> getMaximumCandidates(llvm::ArrayRef<DigitTerm> terms,
                                          int64_t size) {
  Index divisors;
  for (const DigitTerm &term : terms) {
    divisors.push_back(term.digit.divisor);
    if (term.digit.extent != 0)
      divisors.push_back(llvm::checkedMul(term.digit.divisor, term.digit.extent)
                             .value_or(term.digit.divisor));
  }
  llvm::sort(divisors);
  Index candidates{size - 1};
  int64_t last = 1;
  for (int64_t divisor : divisors) {
    if (divisor % last != 0)
      return std::nullopt;
    last = divisor;
    if (int64_t value = (size - 1) / divisor * divisor - 1; value >= 0)
      candidates.push_back(value);
  }
  return candidates;
}

/// Maximum of `expr` by digits, one variable after the other.
std::optional<Maximum> getMaximumByForm(const IndexExpr &expr,
                                        llvm::ArrayRef<int64_t> sizes) {
  std::optional<llvm::SmallVector<DigitTerm, 2>> digits = expr.asDigitSum();
  if (!digits)
    return std::nullopt;
  llvm::SmallVector<llvm::SmallVector<DigitTerm, 4>, 6> terms(sizes.size());
  for (const DigitTerm &term : *digits)
    terms[term.digit.variable].push_back(term);
  Maximum result;
  result.at.assign(sizes.size(), 0);
  for (auto [variable, ofVariable] : llvm::enumerate(terms)) {
    std::optional<Index> candidates =
        getMaximumCandidates(ofVariable, sizes[variable]);
    if (!candidates)
      return std::nullopt;
    // The variables are independent: whatever the others are, the best value
    // of this one is the same.
    Index index = result.at;
    for (int64_t candidate : *candidates) {
      index[variable] = candidate;
      if (int64_t value = expr.evaluate(index); value > result.value) {
        result.value = value;
        result.at = index;
      }
    }
  }
  return result;
}

/// Maximum of `expr` by trying all values of its variables; stops at the first
/// value that reaches `limit`.
Maximum getMaximumByEnumeration(const IndexExpr &expr,
                                llvm::ArrayRef<int64_t> sizes, int64_t limit,
                                int64_t &budget) {
  llvm::SmallVector<unsigned> variables;
  collectVariables(expr, variables);
  Maximum result;
  Index index(sizes.size(), 0);
  int64_t cost = getCost(expr.treeSize());
  Answer belowLimit = holdsForAll(variables, sizes, index, budget, cost, [&] {
    int64_t value = expr.evaluate(index);
    if (value >= result.value) {
      result.value = value;
      result.at = index;
    }
    return value < limit;
  });
  result.isKnown = belowLimit != Answer::Unknown;
  return result;
}

/// The variables over which the positions of `inner` are written: its logical
/// indices, and the bits of one of its elements in units of `unit` bits.
struct InnerPositions {
  Index sizes;
  /// Position in the units of `outer`'s elements.
  IndexExpr position;
};

/// The positions in elements of `outer` that the elements of `inner` touch;
/// nothing where they do not fit in 64 bits.
std::optional<InnerPositions> getInnerPositions(const Side &outer,
                                                const Side &inner) {
  InnerPositions result;
  result.sizes.assign(inner.axes.dimensions().begin(),
                      inner.axes.dimensions().end());
  for (const Axis &axis : inner.axes.axes())
    result.position =
        IndexExpr::mulAdd(result.position, axis.extent.value, axis.index);
  int64_t unit = std::gcd(outer.storageBits, inner.storageBits);
  int64_t parts = inner.storageBits / unit;
  if (!llvm::checkedMul(inner.axes.numAllocated(), parts))
    return std::nullopt;
  IndexExpr part = IndexExpr::variable(result.sizes.size(), parts);
  result.sizes.push_back(parts);
  result.position = IndexExpr::mulAdd(result.position, parts, part)
                        .floorDiv(outer.storageBits / unit);
  return result;
}

/// Nodes that an expression may have.
constexpr int64_t kMaxTreeSize = int64_t(1) << 20;

/// Whether every position of an element of `inner` is one of `outer`: whether
/// no condition of `outer` for being an element, a maximum of an expression
/// each, is exceeded over the elements of `inner`. For No the witness is an
/// index of `inner`, and a number for the part of that element.
PositionAnswer isWithin(const Side &inner, const Side &outer, int64_t cap) {
  if (inner.isEmpty())
    return {};
  std::optional<InnerPositions> positions = getInnerPositions(outer, inner);
  if (!positions)
    return {Answer::Unknown, {}};
  llvm::SmallVector<std::pair<IndexExpr, int64_t>> conditions;
  Exprs axes;
  for (auto [axis, stride] :
       llvm::zip_equal(outer.axes.axes(), outer.axes.strides()))
    axes.push_back(positions->position.floorDiv(stride).mod(axis.extent.value));
  int64_t largest = 1;
  for (const IndexExpr &axis : axes)
    largest = std::max(largest, axis.treeSize());
  for (const AxisCondition &condition : outer.axes.inverse().conditions) {
    // Shared subtrees multiply: such expressions could not even be walked.
    if (condition.index.treeSize() > kMaxTreeSize / largest)
      return {Answer::Unknown, {}};
    conditions.push_back(
        {substitute(condition.index, axes), condition.limit.value});
  }
  conditions.push_back({positions->position, outer.axes.numPositions()});

  PositionAnswer result;
  for (auto &[expr, limit] : conditions) {
    if (expr.range() != kDynamic && expr.range() <= limit)
      continue;
    std::optional<Maximum> maximum = getMaximumByForm(expr, positions->sizes);
    if (!maximum)
      maximum = getMaximumByEnumeration(expr, positions->sizes, limit, cap);
    if (maximum->value >= limit)
      return {Answer::No, maximum->at};
    if (!maximum->isKnown)
      result.answer = Answer::Unknown;
  }
  return result;
}

} // namespace

BitcastAnswer tessera::mayBitcast(const Shape &from, const Shape &to,
                                  BitcastOptions options) {
  if (isSameArray(from, to))
    return yes();
  if (!from.isArray() || !to.isArray())
    return no("only arrays have elements: " + from.toString() + " against " +
              to.toString());
  Sides sides = getSides(from, to);
  if (!sides.to)
    return sides.answer;
  if (std::optional<BitcastAnswer> answer =
          checkBuffers(*sides.from, *sides.to, options))
    return *answer;

  auto check = [&](const Side &inner, const Side &outer,
                   llvm::StringRef innerName,
                   llvm::StringRef outerName) -> BitcastAnswer {
    PositionAnswer within = isWithin(inner, outer, options.enumerationCap);
    if (within.answer == Answer::Yes)
      return yes();
    if (within.answer == Answer::Unknown)
      return unknown("more than " + llvm::Twine(options.enumerationCap) +
                     " elements would have to be visited");
    Index index = within.witness;
    index.pop_back(); // The part of the element.
    return no("element " + toText(index) + " of the " + innerName +
              " is at position " + llvm::Twine(inner.axes.linearIndex(index)) +
              ", which is padding in the " + outerName);
  };
  BitcastAnswer answer = check(*sides.to, *sides.from, "second", "first");
  // A promise about padding holds only if no element becomes padding.
  if (answer && sides.to->layout.paddingValue)
    return check(*sides.from, *sides.to, "first", "second");
  return answer;
}
