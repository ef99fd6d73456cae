//===- StridedNests.cpp - Cut two layouts into strided nests --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedNests.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tessera;

/// Nests are code: more than these are left to a general lowering.
static constexpr size_t kMaxNests = 24;

namespace {
/// One dimension, cut at `units` (increasing, from 1): a step from one index to
/// `units[i]` further, within the next unit, moves by `srcStrides[i]` and
/// `dstStrides[i]` elements.
struct CutDimension {
  int64_t size = 1;
  /// Indices that have places in the destination, padding included.
  int64_t paddedSize = 1;
  llvm::SmallVector<int64_t, 4> units;
  llvm::SmallVector<int64_t, 4> srcStrides;
  llvm::SmallVector<int64_t, 4> dstStrides;
};

/// A part of an interval of indices, as a nest.
using Pieces = std::vector<StridedNest>;
} // namespace

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

static llvm::Error checkStatic(const AxisList &list) {
  if (list.isStatic())
    return llvm::Error::success();
  return unsupportedError("relayout plan", "static sizes", "a dynamic one",
                          "lower it with --tessera-lower-relayouts");
}

/// Elements that a step of `unit` along `dim` moves. `unit` is one of the cuts,
/// so one digit of the dimension covers it.
static int64_t getStride(const AxisList &list, unsigned dim, int64_t unit) {
  int64_t result = 0;
  for (auto [axis, stride] : llvm::zip_equal(list.axes(), list.strides())) {
    auto terms = axis.index.asDigitSum();
    if (!terms)
      continue; // Not of this dimension: getCuts would have said so.
    for (const DigitTerm &term : *terms) {
      const Digit &digit = term.digit;
      // Without an extent the digit is the last one: it covers all above.
      bool covers = digit.divisor <= unit &&
                    (digit.extent == 0 || unit / digit.divisor < digit.extent);
      if (digit.variable == dim && covers)
        result += unit / digit.divisor * term.coefficient * stride;
    }
  }
  return result;
}

/// Cuts dimension `dim` at the divisors of both lists.
static llvm::Expected<CutDimension>
cutDimension(unsigned dim, const AxisList &src, const AxisList &dst) {
  DimensionCuts cuts = getCuts(dim, {&src, &dst});
  if (!cuts.isChain)
    return unsupportedError("relayout plan",
                            "divisors of dimension " + llvm::Twine(dim) +
                                " that divide one another",
                            "others",
                            "lower it with --tessera-lower-relayouts");
  CutDimension result;
  result.size = result.paddedSize = dst.dimensions()[dim];
  result.units.push_back(1);
  llvm::append_range(result.units, cuts.divisors);
  for (int64_t unit : result.units) {
    result.srcStrides.push_back(getStride(src, dim, unit));
    result.dstStrides.push_back(getStride(dst, dim, unit));
  }
  return result;
}

/// The nests over indices [begin, end) of one dimension: the largest aligned
/// blocks first from `begin` on, so at most two for each unit.
static Pieces cutInterval(const CutDimension &dim, int64_t begin, int64_t end) {
  // Offsets are sums of digits times strides; a digit is what the next unit
  // leaves of the index.
  auto addDigit = [&](StridedNest &piece, size_t i, int64_t digit) {
    piece.srcOffset += digit * dim.srcStrides[i];
    piece.dstOffset += digit * dim.dstStrides[i];
  };
  Pieces pieces;
  while (begin < end) {
    size_t level = dim.units.size() - 1;
    while (level > 0 &&
           (begin % dim.units[level] != 0 || end - begin < dim.units[level]))
      --level;
    int64_t unit = dim.units[level], stop = end;
    if (level + 1 < dim.units.size())
      stop = std::min<int64_t>(stop,
                               llvm::alignTo(begin + 1, dim.units[level + 1]));
    StridedNest piece;
    for (size_t i = 0; i < dim.units.size(); ++i) {
      int64_t digit = begin / dim.units[i];
      if (i + 1 < dim.units.size())
        digit %= dim.units[i + 1] / dim.units[i];
      addDigit(piece, i, digit);
    }
    int64_t count = (stop - begin) / unit;
    piece.loops.push_back(
        {count, dim.srcStrides[level], dim.dstStrides[level]});
    for (size_t i = level; i-- > 0;)
      piece.loops.push_back({dim.units[i + 1] / dim.units[i], dim.srcStrides[i],
                             dim.dstStrides[i]});
    pieces.push_back(std::move(piece));
    begin += count * unit;
  }
  return pieces;
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// Drops loops of one step, orders the others by the destination and merges
/// neighbours that are one loop on both sides.
static void normalize(StridedNest &nest) {
  llvm::erase_if(nest.loops,
                 [](const PlanLoop &loop) { return loop.count == 1; });
  llvm::sort(nest.loops, [](const PlanLoop &a, const PlanLoop &b) {
    return a.dstStride > b.dstStride;
  });
  llvm::SmallVector<PlanLoop, 6> merged;
  for (const PlanLoop &loop : nest.loops) {
    bool joins = !merged.empty() &&
                 merged.back().srcStride == loop.srcStride * loop.count &&
                 merged.back().dstStride == loop.dstStride * loop.count;
    if (!joins) {
      merged.push_back(loop);
      continue;
    }
    PlanLoop &outer = merged.back();
    outer = {outer.count * loop.count, loop.srcStride, loop.dstStride};
  }
  nest.loops = std::move(merged);
}

/// All combinations of a piece of each dimension, added to `nests`.
static llvm::Error combine(llvm::ArrayRef<Pieces> dimensions, Pieces &nests) {
  Pieces result(1);
  for (const Pieces &pieces : dimensions) {
    Pieces next;
    for (const StridedNest &nest : result) {
      for (const StridedNest &piece : pieces) {
        StridedNest both = nest;
        both.srcOffset += piece.srcOffset;
        both.dstOffset += piece.dstOffset;
        llvm::append_range(both.loops, piece.loops);
        next.push_back(std::move(both));
      }
      if (nests.size() + next.size() > kMaxNests)
        return unsupportedError(
            "relayout plan",
            "remainders that make at most " + llvm::Twine(kMaxNests) + " nests",
            "more", "lower it with --tessera-lower-relayouts");
    }
    result = std::move(next);
  }
  llvm::append_range(nests, result);
  return llvm::Error::success();
}

llvm::Expected<std::vector<StridedNest>>
tessera::cutElements(const AxisList &src, const AxisList &dst) {
  if (llvm::Error error = checkStatic(src))
    return std::move(error);
  if (llvm::Error error = checkStatic(dst))
    return std::move(error);
  // Axes of an empty array say nothing of use.
  if (llvm::is_contained(dst.dimensions(), 0))
    return Pieces();
  std::vector<Pieces> dimensions;
  for (unsigned dim = 0; dim < dst.dimensions().size(); ++dim) {
    llvm::Expected<CutDimension> cut = cutDimension(dim, src, dst);
    if (!cut)
      return cut.takeError();
    dimensions.push_back(cutInterval(*cut, 0, cut->size));
  }
  Pieces nests;
  if (llvm::Error error = combine(dimensions, nests))
    return std::move(error);
  llvm::for_each(nests, normalize);
  return nests;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The dimensions of `list` with their padded sizes. An axis whose index is
/// always zero is a dimension of its own, of size 1.
static llvm::Expected<std::vector<CutDimension>>
getPaddedDimensions(const AxisList &list) {
  std::vector<CutDimension> dims;
  for (unsigned dim = 0; dim < list.dimensions().size(); ++dim) {
    llvm::Expected<CutDimension> cut = cutDimension(dim, list, list);
    if (!cut)
      return cut.takeError();
    dims.push_back(std::move(*cut));
  }
  for (auto [axis, stride] : llvm::zip_equal(list.axes(), list.strides())) {
    auto terms = axis.index.asDigitSum();
    if (terms->empty()) {
      CutDimension unit;
      unit.paddedSize = axis.extent.value;
      unit.units = {1};
      unit.srcStrides = unit.dstStrides = {stride};
      dims.push_back(std::move(unit));
    } else if (terms->size() == 1 && terms->front().digit.extent == 0) {
      // The most major digit of its dimension: only it can reach into padding.
      const Digit &digit = terms->front().digit;
      dims[digit.variable].paddedSize = digit.divisor * axis.extent.value;
    }
  }
  return dims;
}

/// Whether the indices of the padded dimensions are the places, one to one:
/// their loops, from the most minor on, continue one another up to the end. Not
/// so where there is padding in the middle of a dimension too.
static bool coverAllPlaces(llvm::ArrayRef<CutDimension> dims,
                           int64_t numPlaces) {
  std::vector<Pieces> whole;
  for (const CutDimension &dim : dims)
    whole.push_back(cutInterval(dim, 0, dim.paddedSize));
  if (llvm::any_of(whole, [](const Pieces &p) { return p.size() != 1; }))
    return false;
  llvm::SmallVector<PlanLoop, 8> loops;
  for (const Pieces &pieces : whole)
    for (const PlanLoop &loop : pieces.front().loops)
      if (loop.count != 1)
        loops.push_back(loop);
  llvm::sort(loops, [](const PlanLoop &a, const PlanLoop &b) {
    return a.dstStride < b.dstStride;
  });
  int64_t next = 1;
  for (const PlanLoop &loop : loops) {
    if (loop.dstStride != next)
      return false;
    next *= loop.count;
  }
  return next == numPlaces;
}

llvm::Expected<std::vector<StridedNest>>
tessera::cutPadding(const AxisList &list) {
  if (llvm::Error error = checkStatic(list))
    return std::move(error);
  Pieces nests;
  if (list.numPlaces() > 0) {
    llvm::Expected<std::vector<CutDimension>> dims = getPaddedDimensions(list);
    if (!dims)
      return dims.takeError();
    if (!coverAllPlaces(*dims, list.numPlaces()))
      return unsupportedError(
          "relayout plan", "padding at the end of each dimension only",
          "padding within one", "lower it with --tessera-lower-relayouts");
    // Box i: dimensions before i within their size, dimension i beyond it.
    for (size_t i = 0; i < dims->size(); ++i) {
      std::vector<Pieces> box;
      for (size_t k = 0; k < dims->size(); ++k) {
        const CutDimension &dim = (*dims)[k];
        box.push_back(cutInterval(dim, k == i ? dim.size : 0,
                                  k < i ? dim.size : dim.paddedSize));
      }
      if (llvm::Error error = combine(box, nests))
        return std::move(error);
    }
  }
  int64_t tail = list.numAllocated() - list.numPlaces();
  if (tail > 0)
    nests.push_back({0, list.numPlaces(), {{tail, 1, 1}}});
  llvm::for_each(nests, normalize);
  return nests;
}
