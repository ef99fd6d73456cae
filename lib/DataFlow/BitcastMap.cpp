//===- BitcastMap.cpp - Which element a bitcast reads ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both arrays put digits of their indices at strides of the same memory. Where
// the digits at each stride can be matched, one array's digit is the other's.
//
//===----------------------------------------------------------------------===//

#include "tessera/DataFlow/IndexMap.h"

#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Bitcast.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace tessera;

namespace {
/// A digit of an array: what a step of it moves in memory, and in the number of
/// the element.
struct PlacedDigit {
  int64_t size = 1;
  int64_t memoryStride = 0;
  int64_t elementStride = 0;
  /// Of a dimension whose digits do not multiply to its size: divisor, extent
  /// and stride of each, which have to agree as they are.
  llvm::SmallVector<int64_t, 6> ragged;

  bool isEqualAs(const PlacedDigit &other) const {
    return size == other.size && ragged == other.ragged &&
           (!ragged.empty() || memoryStride == other.memoryStride);
  }
};

using PlacedDigits = llvm::SmallVector<PlacedDigit, 8>;

/// A digit of one dimension in memory.
struct DimensionDigit {
  int64_t divisor, extent, stride;
};
} // namespace

/// The digits of each dimension; nothing where an axis is no sum of digits.
static std::optional<llvm::SmallVector<llvm::SmallVector<DimensionDigit, 4>, 6>>
getDimensionDigits(const AxisList &axes) {
  llvm::SmallVector<llvm::SmallVector<DimensionDigit, 4>, 6> digits(
      axes.dimensions().size());
  llvm::SmallVector<int64_t, 8> strides = axes.strides();
  for (size_t i = 0; i < axes.size(); ++i) {
    auto terms = axes[i].index.asDigitSum();
    if (!terms)
      return std::nullopt;
    for (const DigitTerm &term : *terms)
      digits[term.digit.variable].push_back({term.digit.divisor,
                                             term.digit.extent,
                                             term.coefficient * strides[i]});
  }
  return digits;
}

/// The digits of a dimension of `size`, most minor first, that multiply to it;
/// nothing where none do.
static std::optional<PlacedDigits>
getWholeDigits(llvm::ArrayRef<DimensionDigit> digits, int64_t size,
               int64_t elementStride) {
  PlacedDigits placed;
  int64_t divisor = 1, rest = size;
  for (const DimensionDigit &digit : digits) {
    if (rest == 1)
      break;
    if (digit.divisor != divisor)
      return std::nullopt;
    int64_t values = rest;
    if (digit.extent != 0 && digit.extent < rest) {
      if (rest % digit.extent != 0)
        return std::nullopt;
      values = digit.extent;
    }
    placed.push_back({values, digit.stride, elementStride * divisor, {}});
    divisor *= values;
    rest /= values;
  }
  if (rest != 1)
    return std::nullopt;
  return placed;
}

static PlacedDigit getRaggedDigit(llvm::ArrayRef<DimensionDigit> digits,
                                  int64_t size, int64_t elementStride) {
  PlacedDigit placed{size, 0, elementStride, {}};
  for (const DimensionDigit &digit : digits)
    placed.ragged.append({digit.divisor, digit.extent, digit.stride});
  return placed;
}

/// All digits of an array, without those of dimensions of one element; nothing
/// where there are none to be had.
static std::optional<PlacedDigits> getPlacedDigits(const Shape &shape) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return std::nullopt;
  }
  auto digits = getDimensionDigits(*axes);
  if (!digits)
    return std::nullopt;
  PlacedDigits all;
  int64_t elementStride = 1;
  for (size_t dim = digits->size(); dim-- > 0;) {
    auto &ofDim = (*digits)[dim];
    int64_t size = shape.dimensions()[dim];
    llvm::sort(ofDim, [](const DimensionDigit &lhs, const DimensionDigit &rhs) {
      return lhs.divisor < rhs.divisor;
    });
    if (size > 1) {
      if (auto whole = getWholeDigits(ofDim, size, elementStride))
        llvm::append_range(all, *whole);
      else
        all.push_back(getRaggedDigit(ofDim, size, elementStride));
    }
    elementStride *= size;
  }
  return all;
}

/// Cuts the larger of two digits that begin at one stride down to the size of
/// the other; the rest goes back to its list.
static bool makeEqual(PlacedDigit &digit, PlacedDigits &list, int64_t size) {
  if (digit.size == size)
    return true;
  if (digit.size % size != 0 || !digit.ragged.empty())
    return false;
  PlacedDigit rest = digit;
  rest.size /= size;
  rest.memoryStride *= size;
  rest.elementStride *= size;
  digit.size = size;
  list.push_back(rest);
  return true;
}

/// Takes the digit out of `list` that lies where `digit` does.
static std::optional<PlacedDigit> takeMatch(PlacedDigits &list,
                                            const PlacedDigit &digit) {
  auto match = llvm::find_if(list, [&](const PlacedDigit &other) {
    if (!digit.ragged.empty() || !other.ragged.empty())
      return digit.isEqualAs(other);
    return digit.memoryStride == other.memoryStride;
  });
  if (match == list.end())
    return std::nullopt;
  PlacedDigit taken = *match;
  list.erase(match);
  return taken;
}

/// For each digit of `to`, with its stride in the numbers of `to`'s elements,
/// the stride in those of `from`.
static std::optional<llvm::SmallVector<std::pair<int64_t, MapDigit>, 8>>
matchDigits(PlacedDigits from, PlacedDigits to) {
  llvm::SmallVector<std::pair<int64_t, MapDigit>, 8> matched;
  while (!to.empty()) {
    // From the most minor digit on: what is left of a larger one follows it.
    auto *next = llvm::min_element(to, [](const auto &lhs, const auto &rhs) {
      return lhs.memoryStride < rhs.memoryStride;
    });
    PlacedDigit digit = *next;
    to.erase(next);
    std::optional<PlacedDigit> source = takeMatch(from, digit);
    if (!source)
      return std::nullopt;
    int64_t size = std::gcd(digit.size, source->size);
    if (size == 1 || !makeEqual(digit, to, size) ||
        !makeEqual(*source, from, size))
      return std::nullopt;
    matched.push_back(
        {digit.elementStride, {digit.size, source->elementStride}});
  }
  if (!from.empty())
    return std::nullopt;
  return matched;
}

std::optional<IndexMap> tessera::getBitcastMap(const Shape &from,
                                               const Shape &to) {
  if (llvm::is_contained(from.dimensions(), 0) ||
      llvm::is_contained(to.dimensions(), 0))
    return std::nullopt;
  if (getBitWidth(from.elementType()) != getBitWidth(to.elementType()))
    return std::nullopt;
  auto fromDigits = getPlacedDigits(from), toDigits = getPlacedDigits(to);
  if (fromDigits && toDigits)
    if (auto matched = matchDigits(*fromDigits, *toDigits)) {
      // Most major first, as the elements of `to` are numbered.
      llvm::sort(*matched, [](const auto &lhs, const auto &rhs) {
        return lhs.first > rhs.first;
      });
      IndexMap::Digits digits;
      for (const auto &entry : *matched)
        digits.push_back(entry.second);
      return IndexMap::get(digits, 0);
    }
  // Ragged edges that are cut differently may still be at the same positions.
  if (from.elementType() == to.elementType() && isReshapeBitcast(from, to))
    if (std::optional<int64_t> count = countElements(to.dimensions()))
      return IndexMap::identity(*count);
  return std::nullopt;
}
