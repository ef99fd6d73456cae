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
/// `dstStrides[i]` elements. Indices are counted in steps of the slices, and
/// index 0 is number `srcBegin` of the source and `dstBegin` of the
/// destination.
struct CutDimension {
  int64_t size = 1;
  int64_t srcBegin = 0;
  int64_t dstBegin = 0;
  /// What every index adds: slices with steps may begin between two of them.
  int64_t srcOffset = 0;
  int64_t dstOffset = 0;
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

/// A side of one dimension, counted in steps of its slice.
namespace {
struct SlicedSide {
  int64_t begin = 0;
  int64_t offset = 0;
  /// Cuts above 1, in steps.
  llvm::SmallVector<int64_t, 4> units;
};
} // namespace

/// Where `index` lies along `dim`, cut at `units`, by the strides of the list.
static int64_t getPosition(const AxisList &list, unsigned dim,
                           llvm::ArrayRef<int64_t> units, int64_t index) {
  int64_t position = 0;
  for (size_t i = 0; i <= units.size(); ++i) {
    int64_t unit = i == 0 ? 1 : units[i - 1];
    int64_t digit = index / unit;
    if (i < units.size())
      digit %= units[i] / unit;
    position += digit * getStride(list, dim, unit);
  }
  return position;
}

static llvm::Error makeChainError(unsigned dim) {
  return unsupportedError("relayout plan",
                          "divisors of dimension " + llvm::Twine(dim) +
                              " that divide one another",
                          "others", "lower it with --tessera-lower-relayouts");
}

/// An index is begin + step * (number): a digit of the index is one of the
/// number where step divides its divisor, and constant where its unit divides
/// step.
static llvm::Expected<SlicedSide> sliceDimension(unsigned dim,
                                                 const PlanSide &side) {
  DimensionCuts cuts = getCuts(dim, {&side.axes});
  if (!cuts.isChain)
    return makeChainError(dim);
  Slice slice = side.getSlice(dim);
  SlicedSide result;
  result.begin = slice.begin / slice.step;
  result.offset =
      getPosition(side.axes, dim, cuts.divisors, slice.begin % slice.step);
  for (int64_t unit : cuts.divisors) {
    if (unit % slice.step == 0 && unit != slice.step)
      result.units.push_back(unit / slice.step);
    else if (slice.step % unit != 0)
      return makeChainError(dim);
  }
  return result;
}

/// Cuts dimension `dim` at the divisors of both sides.
static llvm::Expected<CutDimension>
cutDimension(unsigned dim, const PlanSide &src, const PlanSide &dst) {
  auto from = sliceDimension(dim, src), to = sliceDimension(dim, dst);
  if (llvm::Error error = llvm::joinErrors(from.takeError(), to.takeError())) {
    llvm::consumeError(std::move(error));
    return makeChainError(dim);
  }
  CutDimension result;
  result.size = dst.getSlice(dim).count;
  result.paddedSize = result.size;
  result.srcBegin = from->begin;
  result.dstBegin = to->begin;
  result.srcOffset = from->offset;
  result.dstOffset = to->offset;
  result.units.push_back(1);
  llvm::append_range(result.units, from->units);
  llvm::append_range(result.units, to->units);
  llvm::sort(result.units);
  result.units.erase(llvm::unique(result.units), result.units.end());
  for (size_t i = 1; i < result.units.size(); ++i)
    if (result.units[i] % result.units[i - 1] != 0)
      return makeChainError(dim);
  for (int64_t unit : result.units) {
    result.srcStrides.push_back(
        getStride(src.axes, dim, unit * src.getSlice(dim).step));
    result.dstStrides.push_back(
        getStride(dst.axes, dim, unit * dst.getSlice(dim).step));
  }
  return result;
}

namespace {
/// Cuts an interval of indices of one dimension into nests.
class IntervalCutter {
public:
  explicit IntervalCutter(const CutDimension &dim) : dim(dim) {}

  /// Adds the nests of `count` indices from number `src` of the source and
  /// `dst` of the destination on, inside of `outer`. They lie within one unit
  /// of level `level` + 1 on either side.
  void cut(size_t level, int64_t src, int64_t dst, int64_t count,
           const StridedNest &outer);

  Pieces pieces;

private:
  /// The same where units of `level` begin at different indices on both sides:
  /// what lies between two beginnings repeats from unit to unit.
  void cutShifted(size_t level, int64_t src, int64_t dst, int64_t count,
                  const StridedNest &outer);
  StridedNest addLoop(StridedNest outer, size_t level, int64_t count) const;
  int64_t getOffset(int64_t index, llvm::ArrayRef<int64_t> strides) const;

  const CutDimension &dim;
};
} // namespace

StridedNest IntervalCutter::addLoop(StridedNest outer, size_t level,
                                    int64_t count) const {
  outer.loops.push_back({count, dim.srcStrides[level], dim.dstStrides[level]});
  return outer;
}

/// The sum of the digits of `index` times their strides.
int64_t IntervalCutter::getOffset(int64_t index,
                                  llvm::ArrayRef<int64_t> strides) const {
  int64_t offset = 0;
  for (size_t i = 0; i < dim.units.size(); ++i) {
    int64_t digit = index / dim.units[i];
    if (i + 1 < dim.units.size())
      digit %= dim.units[i + 1] / dim.units[i];
    offset += digit * strides[i];
  }
  return offset;
}

void IntervalCutter::cut(size_t level, int64_t src, int64_t dst, int64_t count,
                         const StridedNest &outer) {
  if (count == 0)
    return;
  if (level == 0) {
    pieces.push_back(addLoop(outer, 0, count));
    pieces.back().srcOffset = dim.srcOffset + getOffset(src, dim.srcStrides);
    pieces.back().dstOffset = dim.dstOffset + getOffset(dst, dim.dstStrides);
    return;
  }
  int64_t unit = dim.units[level];
  if (src % unit != dst % unit)
    return cutShifted(level, src, dst, count, outer);
  // Up to the first whole unit, whole units, and what is left.
  int64_t head = std::min(count, (unit - src % unit) % unit);
  int64_t full = (count - head) / unit, done = head + full * unit;
  cut(level - 1, src, dst, head, outer);
  if (full > 0)
    cut(level - 1, src + head, dst + head, unit, addLoop(outer, level, full));
  cut(level - 1, src + done, dst + done, count - done, outer);
}

void IntervalCutter::cutShifted(size_t level, int64_t src, int64_t dst,
                                int64_t count, const StridedNest &outer) {
  int64_t unit = dim.units[level];
  int64_t ends[] = {unit - src % unit, unit - dst % unit, unit};
  llvm::sort(ends);
  int64_t begin = 0;
  for (int64_t end : ends) {
    if (begin == end)
      continue;
    int64_t full = count >= end ? (count - end) / unit + 1 : 0;
    if (full > 0)
      cut(level - 1, src + begin, dst + begin, end - begin,
          addLoop(outer, level, full));
    int64_t last = begin + full * unit;
    cut(level - 1, src + last, dst + last, std::max<int64_t>(count - last, 0),
        outer);
    begin = end;
  }
}

/// The nests over indices [begin, end) of one dimension.
static Pieces cutInterval(const CutDimension &dim, int64_t begin, int64_t end) {
  IntervalCutter cutter(dim);
  cutter.cut(dim.units.size() - 1, dim.srcBegin + begin, dim.dstBegin + begin,
             end - begin, StridedNest());
  return std::move(cutter.pieces);
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
tessera::cutElements(const PlanSide &src, const PlanSide &dst) {
  if (llvm::Error error = checkStatic(src.axes))
    return std::move(error);
  if (llvm::Error error = checkStatic(dst.axes))
    return std::move(error);
  unsigned rank = dst.axes.dimensions().size();
  // Axes of an empty array say nothing of use.
  for (unsigned dim = 0; dim < rank; ++dim)
    if (dst.getSlice(dim).count == 0)
      return Pieces();
  std::vector<Pieces> dimensions;
  for (unsigned dim = 0; dim < rank; ++dim) {
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

/// The loops of a nest in the destination alone, most minor first, neighbours
/// as one. Of those below `run` only whether they are one run is left.
static std::optional<llvm::SmallVector<std::pair<int64_t, int64_t>, 6>>
getLoopsAround(const StridedNest &nest, int64_t run) {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 6> around;
  int64_t next = 1;
  for (const PlanLoop &loop : llvm::reverse(nest.loops)) {
    if (loop.dstStride == next && next < run) {
      next *= loop.count;
      continue;
    }
    auto [count, stride] =
        around.empty() ? std::pair<int64_t, int64_t>(1, 0) : around.back();
    if (count * stride == loop.dstStride)
      around.back().first *= loop.count;
    else
      around.push_back({loop.count, loop.dstStride});
  }
  if (next != run)
    return std::nullopt;
  return around;
}

std::optional<RunPadding>
tessera::findPadding(const StridedNest &copy,
                     llvm::ArrayRef<StridedNest> fills) {
  for (auto [i, fill] : llvm::enumerate(fills)) {
    int64_t run = fill.dstOffset - copy.dstOffset;
    if (run <= 0)
      continue;
    bool isRun = !fill.loops.empty() && fill.loops.back().dstStride == 1;
    int64_t count = isRun ? fill.loops.back().count : 1;
    auto aroundFill = getLoopsAround(fill, count);
    auto aroundCopy = getLoopsAround(copy, run);
    if (aroundFill && aroundCopy && *aroundFill == *aroundCopy)
      return RunPadding{run, count, i};
  }
  return std::nullopt;
}
