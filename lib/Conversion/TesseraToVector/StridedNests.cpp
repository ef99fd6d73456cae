//===- StridedNests.cpp - Split two layouts into strided nests ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/StridedNests.h"

#include "tessera/Layout/PhysicalIndices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace tessera;

namespace {
/// One dimension of one side: its steps, and the slice of it that takes part.
/// Step number n of the slice is at index `begin` + n * `step`. A *unit* of a
/// level is as many indices as its divisor.
struct SplitSide {
  int64_t begin = 0;
  int64_t step = 1;
  Steps steps = {{1, 0}};

  int64_t getIndex(int64_t number) const { return begin + number * step; }
  int64_t getUnit(size_t level) const { return steps[level].divisor; }
  /// Steps of the slice after which an index is at the same position in a unit.
  int64_t getPeriod(size_t level) const {
    return getUnit(level) / std::gcd(getUnit(level), step);
  }
  /// Elements that so many steps of the slice move by, whole units.
  int64_t getStride(size_t level, int64_t number) const {
    return number * step / getUnit(level) * steps[level].stride;
  }
  /// Whether the step before `number` is in another unit.
  bool startsUnit(size_t level, int64_t number) const {
    return getIndex(number) % getUnit(level) < step;
  }
  /// The first step after `number` in another unit.
  int64_t getNextUnit(size_t level, int64_t number) const {
    int64_t unit = getUnit(level);
    int64_t next = (getIndex(number) / unit + 1) * unit;
    return (next - begin + step - 1) / step;
  }
};

/// One dimension.
struct SplitDimension {
  int64_t size = 1;
  /// Indices that have positions in the destination, padding included.
  int64_t paddedSize = 1;
  SplitSide src, dst;
};

/// A part of an interval of indices, as a nest.
using Pieces = std::vector<StridedNest>;
} // namespace

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

llvm::Error tessera::refusePlan(const llvm::Twine &expected,
                                const llvm::Twine &found) {
  return unsupportedError("relayout plan", expected, found,
                          "lower it with --tessera-lower-relayouts");
}

static llvm::Error checkStatic(const AxisList &list) {
  if (list.isStatic())
    return llvm::Error::success();
  return refusePlan("static sizes", "a dynamic one");
}

/// The positions of a side over its dimensions.
static PhysicalIndices getPositions(const PlanSide &side) {
  if (!side.strides)
    return getPhysicalIndices(side.axes, side.axes.dimensions());
  PhysicalIndices result;
  for (int64_t stride : *side.strides)
    result.steps.push_back(Steps{{1, stride}});
  return result;
}

/// The dimension `dim` of a side that has the positions `positions`.
static llvm::Expected<SplitSide>
splitSide(unsigned dim, const PhysicalIndices &positions, Slice slice) {
  std::optional<Steps> steps = positions.steps[dim];
  if (!steps)
    return refusePlan("divisors of dimension " + llvm::Twine(dim) +
                          " that divide one another",
                      "others");
  if (steps->empty()) // Of an index that is always 0.
    steps->push_back({1, 0});
  return SplitSide{slice.begin, slice.step, std::move(*steps)};
}

namespace {
/// Splits an interval of the steps of one dimension into nests: at units of one
/// side where those of the other lie within them, else at those of both. What
/// lies between two splits repeats after the smallest number of steps that is
/// whole units of both.
class IntervalSplitter {
public:
  IntervalSplitter(const SplitDimension &dim, size_t maxPieces)
      : dim(dim), maxPieces(maxPieces) {}

  /// Levels of units on both sides, the next ones to split at; 0: none.
  struct Levels {
    size_t src, dst;
  };

  /// Adds the nests of `count` steps from number `begin` on, inside of `outer`.
  /// They lie within one unit above `levels` on either side. Stops beyond
  /// `maxPieces`.
  void split(Levels levels, int64_t begin, int64_t count,
             const StridedNest &outer) {
    if (count <= 0 || pieces.size() > maxPieces)
      return;
    if (levels.src == 0 && levels.dst == 0) {
      pieces.push_back(addLoop(outer, levels, count, 1));
      pieces.back().srcOffset =
          evaluate(dim.src.steps, dim.src.getIndex(begin));
      pieces.back().dstOffset =
          evaluate(dim.dst.steps, dim.dst.getIndex(begin));
      return;
    }
    int64_t src = dim.src.getPeriod(levels.src);
    int64_t dst = dim.dst.getPeriod(levels.dst);
    // The side with the longer period, if it is whole periods of the other.
    bool isSrc = levels.src > 0 && (levels.dst == 0 || src % dst == 0);
    bool isDst = levels.dst > 0 && (levels.src == 0 || dst % src == 0);
    bool isBoth = !isSrc && !isDst;
    Levels next = {levels.src - (isSrc || isBoth ? 1 : 0),
                   levels.dst - (isDst || isBoth ? 1 : 0)};
    int64_t period = std::lcm(src, dst);
    // What comes before the first split.
    bool isSplit =
        (next.src != levels.src && dim.src.startsUnit(levels.src, begin)) ||
        (next.dst != levels.dst && dim.dst.startsUnit(levels.dst, begin));
    int64_t head =
        isSplit ? 0
                : std::min(getNextSplit(levels, next, begin) - begin, count);
    split(next, begin, head, outer);
    splitPeriods(levels, next, period, begin + head, count - head, outer);
  }

  Pieces pieces;

private:
  void splitPeriods(Levels levels, Levels next, int64_t period, int64_t begin,
                    int64_t count, const StridedNest &outer) {
    int64_t from = 0;
    while (from < std::min(period, count) && pieces.size() <= maxPieces) {
      int64_t to =
          std::min(getNextSplit(levels, next, begin + from) - begin, period);
      int64_t full = count >= to ? (count - to) / period + 1 : 0;
      if (full > 0)
        split(next, begin + from, to - from,
              addLoop(outer, levels, full, period));
      int64_t last = from + full * period;
      split(next, begin + last, std::min(to + full * period, count) - last,
            outer);
      from = to;
    }
  }

  /// The next split after step `number`, at a side where `next` is another
  /// level.
  int64_t getNextSplit(Levels levels, Levels next, int64_t number) const {
    int64_t split = std::numeric_limits<int64_t>::max();
    if (next.src != levels.src)
      split = dim.src.getNextUnit(levels.src, number);
    if (next.dst != levels.dst)
      split = std::min(split, dim.dst.getNextUnit(levels.dst, number));
    return split;
  }

  StridedNest addLoop(StridedNest outer, Levels levels, int64_t count,
                      int64_t steps) const {
    outer.loops.push_back({count, dim.src.getStride(levels.src, steps),
                           dim.dst.getStride(levels.dst, steps)});
    return outer;
  }

  const SplitDimension &dim;
  size_t maxPieces;
};
} // namespace
/// The nests over indices [begin, end) of one dimension.
static Pieces splitInterval(const SplitDimension &dim, int64_t begin,
                            int64_t end, size_t maxPieces) {
  IntervalSplitter splitter(dim, maxPieces);
  splitter.split({dim.src.steps.size() - 1, dim.dst.steps.size() - 1}, begin,
                 end - begin, StridedNest());
  return std::move(splitter.pieces);
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
static llvm::Error combine(llvm::ArrayRef<Pieces> dimensions, size_t maxNests,
                           Pieces &nests) {
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
      if (nests.size() + next.size() > maxNests)
        return refusePlan("remainders that make at most " +
                              llvm::Twine(maxNests) + " nests",
                          "more");
    }
    result = std::move(next);
  }
  llvm::append_range(nests, result);
  return llvm::Error::success();
}

llvm::Expected<std::vector<StridedNest>>
tessera::splitElements(const PlanSide &src, const PlanSide &dst,
                       size_t maxNests) {
  if (llvm::Error error = checkStatic(src.axes))
    return std::move(error);
  if (llvm::Error error = checkStatic(dst.axes))
    return std::move(error);
  unsigned rank = dst.axes.dimensions().size();
  // Axes of an empty array say nothing of use.
  for (unsigned dim = 0; dim < rank; ++dim)
    if (dst.getSlice(dim).count == 0)
      return Pieces();
  PhysicalIndices from = getPositions(src), to = getPositions(dst);
  std::vector<Pieces> dimensions;
  for (unsigned dim = 0; dim < rank; ++dim) {
    auto srcSide = splitSide(dim, from, src.getSlice(dim));
    if (!srcSide)
      return srcSide.takeError();
    auto dstSide = splitSide(dim, to, dst.getSlice(dim));
    if (!dstSide)
      return dstSide.takeError();
    int64_t size = dst.getSlice(dim).count;
    SplitDimension split = {size, size, std::move(*srcSide),
                            std::move(*dstSide)};
    dimensions.push_back(splitInterval(split, 0, size, maxNests));
  }
  Pieces nests;
  if (llvm::Error error = combine(dimensions, maxNests, nests))
    return std::move(error);
  llvm::for_each(nests, normalize);
  return nests;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The dimensions of `list` with their padded sizes. An axis whose index is
/// always zero is a dimension of its own, of size 1.
static llvm::Expected<std::vector<SplitDimension>>
getPaddedDimensions(const AxisList &list) {
  auto paddedSizes = llvm::to_vector<6>(list.dimensions());
  std::vector<SplitDimension> unitDims;
  for (auto [axis, stride] : llvm::zip_equal(list.axes(), list.strides())) {
    auto terms = axis.index.asDigitSum();
    if (!terms)
      continue; // Refused below.
    if (terms->empty()) {
      SplitSide side = {0, 1, {{1, stride}}};
      unitDims.push_back({1, axis.extent.value, side, side});
    } else if (terms->size() == 1 && terms->front().digit.extent == 0) {
      // The most major digit of its dimension: only it can reach into padding.
      const Digit &digit = terms->front().digit;
      paddedSizes[digit.variable] = digit.divisor * axis.extent.value;
    }
  }
  PhysicalIndices positions = getPhysicalIndices(list, paddedSizes);
  std::vector<SplitDimension> dims;
  for (auto [dim, size] : llvm::enumerate(list.dimensions())) {
    auto side = splitSide(dim, positions, {0, size, 1});
    if (!side)
      return side.takeError();
    dims.push_back({size, paddedSizes[dim], *side, *side});
  }
  llvm::append_range(dims, unitDims);
  return dims;
}

/// The dimensions by the distance of neighbours, the nearest last, so that what
/// lies between the elements of one run is padding of that dimension, and not
/// part of a box that is padding of another one too.
static std::vector<SplitDimension>
orderDimensions(llvm::ArrayRef<SplitDimension> dims) {
  llvm::SmallVector<size_t, 8> order =
      llvm::to_vector<8>(llvm::seq<size_t>(0, dims.size()));
  llvm::sort(order, [&](size_t a, size_t c) {
    int64_t first = dims[a].dst.steps.front().stride;
    int64_t second = dims[c].dst.steps.front().stride;
    return first != second ? first > second : a < c;
  });
  std::vector<SplitDimension> result;
  for (size_t i : order)
    result.push_back(dims[i]);
  return result;
}

/// Whether the indices of the padded dimensions are the positions, one to one:
/// their loops, from the most minor on, continue one another up to the end.
/// Padding in the middle of a dimension breaks this.
static bool coverAllPositions(llvm::ArrayRef<SplitDimension> dims,
                              int64_t numPositions) {
  std::vector<Pieces> whole;
  for (const SplitDimension &dim : dims)
    whole.push_back(splitInterval(dim, 0, dim.paddedSize, /*maxPieces=*/1));
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
  return next == numPositions;
}

llvm::Expected<std::vector<StridedNest>>
tessera::splitPadding(const AxisList &list, size_t maxNests) {
  if (llvm::Error error = checkStatic(list))
    return std::move(error);
  Pieces nests;
  if (list.numPositions() > 0) {
    llvm::Expected<std::vector<SplitDimension>> dims =
        getPaddedDimensions(list);
    if (!dims)
      return dims.takeError();
    if (!coverAllPositions(*dims, list.numPositions()))
      return refusePlan("padding at the end of each dimension only",
                        "padding within one");
    *dims = orderDimensions(*dims);
    // Box i: dimensions before i within their size, dimension i beyond it.
    for (size_t i = 0; i < dims->size(); ++i) {
      std::vector<Pieces> box;
      for (size_t k = 0; k < dims->size(); ++k) {
        const SplitDimension &dim = (*dims)[k];
        box.push_back(splitInterval(dim, k == i ? dim.size : 0,
                                    k < i ? dim.size : dim.paddedSize,
                                    maxNests));
      }
      if (llvm::Error error = combine(box, maxNests, nests))
        return std::move(error);
    }
  }
  int64_t tail = list.numAllocated() - list.numPositions();
  if (tail > 0)
    nests.push_back({0, list.numPositions(), {{tail, 1, 1}}});
  llvm::for_each(nests, normalize);
  return nests;
}

namespace {
/// A loop in the destination alone.
struct OneSidedLoop {
  int64_t count, stride;

  bool operator==(const OneSidedLoop &other) const {
    return count == other.count && stride == other.stride;
  }
};
} // namespace

using OneSidedLoops = llvm::SmallVector<OneSidedLoop, 6>;

/// The loops of a nest in the destination, most minor first, neighbours as one.
/// Loops below `run` are dropped if they make one run.
static std::optional<OneSidedLoops> getLoopsAround(const StridedNest &nest,
                                                   int64_t run) {
  OneSidedLoops around;
  int64_t next = 1;
  for (const PlanLoop &loop : llvm::reverse(nest.loops)) {
    if (loop.dstStride == next && next < run)
      next *= loop.count;
    else if (!around.empty() &&
             around.back().count * around.back().stride == loop.dstStride)
      around.back().count *= loop.count;
    else
      around.push_back({loop.count, loop.dstStride});
  }
  if (next != run)
    return std::nullopt;
  return around;
}

/// Splits loops at the strides of others: 78 steps of 2 become 13 steps of 2
/// and 6 steps of 26 where another loop has steps of 26.
static OneSidedLoops splitAtStrides(llvm::ArrayRef<OneSidedLoop> loops,
                                    llvm::ArrayRef<OneSidedLoop> others) {
  OneSidedLoops split;
  for (OneSidedLoop loop : loops) {
    for (const OneSidedLoop &other : others) {
      int64_t steps =
          other.stride % loop.stride == 0 ? other.stride / loop.stride : 1;
      if (steps <= 1 || steps >= loop.count || loop.count % steps != 0)
        continue;
      split.push_back({steps, loop.stride});
      loop = {loop.count / steps, other.stride};
    }
    split.push_back(loop);
  }
  return split;
}

/// A nest that fills runs of `count` elements.
static StridedNest makeFill(int64_t offset, llvm::ArrayRef<OneSidedLoop> around,
                            int64_t count) {
  StridedNest fill = {0, offset, {}};
  for (const OneSidedLoop &loop : llvm::reverse(around))
    fill.loops.push_back({loop.count, 0, loop.stride});
  fill.loops.push_back({count, 0, 1});
  normalize(fill);
  return fill;
}

std::optional<RunPadding>
tessera::findPadding(const StridedNest &copy, std::vector<StridedNest> &fills) {
  for (size_t i = 0; i < fills.size(); ++i) {
    int64_t offset = fills[i].dstOffset, run = offset - copy.dstOffset;
    if (run <= 0)
      continue;
    bool isRun =
        !fills[i].loops.empty() && fills[i].loops.back().dstStride == 1;
    int64_t count = isRun ? fills[i].loops.back().count : 1;
    auto ofFill = getLoopsAround(fills[i], count);
    auto ofCopy = getLoopsAround(copy, run);
    if (!ofFill || !ofCopy)
      continue;
    OneSidedLoops around = splitAtStrides(*ofFill, *ofCopy);
    if (around.size() != ofCopy->size())
      continue;
    auto [loop, steps] =
        std::mismatch(around.begin(), around.end(), ofCopy->begin());
    if (loop == around.end())
      return RunPadding{run, count, i};
    // The fill may go on beyond the copy, in one loop.
    int64_t rest = loop->count - steps->count;
    if (loop->stride != steps->stride || rest <= 0 ||
        !std::equal(loop + 1, around.end(), steps + 1))
      continue;
    loop->count = rest;
    int64_t behind = offset + steps->count * loop->stride;
    fills.push_back(makeFill(behind, around, count));
    fills[i] = makeFill(offset, *ofCopy, count);
    return RunPadding{run, count, i};
  }
  return std::nullopt;
}
