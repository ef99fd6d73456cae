//===- SymbolicSlice.cpp - Slices whose begin is not known ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The position of an element is a sum of functions of one dimension each, and
// each of these is a sum of digits times strides (PhysicalIndices.h). So
// elements are never enumerated:
//
//  - Begins that are equal modulo the largest divisor of a dimension give the
//    same runs, one tile further on. One of each such class is looked at.
//  - A run ends at every element whose successor in memory is not in the slice.
//    With all digits sorted by stride, a successor has one digit more by 1 and
//    all lower ones 0 that were at their largest. For each digit at which this
//    can happen the elements are counted, dimension by dimension.
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/SymbolicSlice.h"

#include "tessera/Layout/PhysicalIndices.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>
#include <set>
#include <tuple>

using namespace tessera;

/// Begins that are looked at one by one, and combinations of them.
static constexpr int64_t kMaxClasses = int64_t(1) << 16;

int64_t SliceBegin::step() const {
  int64_t step = 0;
  for (const Term &term : terms)
    step = std::gcd(step, term.coefficient);
  return step;
}

bool SliceAnswer::isWholeTiles() const {
  return llvm::all_of(dimensions, [](const SlicedDimension &dimension) {
    return dimension.wholeTiles == SlicedDimension::Tiles::Always;
  });
}

//===----------------------------------------------------------------------===//
// Digits of all dimensions
//===----------------------------------------------------------------------===//

namespace {
/// A digit of a dimension, `(index floordiv divisor) mod radix`.
struct Level {
  unsigned dim;
  int64_t divisor;
  int64_t radix;
  int64_t stride;
  bool isLast; ///< The dimension's largest: needs no mod.
};

using Levels = llvm::SmallVector<Level, 12>;
} // namespace

/// All digits, the smallest stride first. `sizes` are those of the array.
static Levels getLevels(const PhysicalIndices &positions,
                        llvm::ArrayRef<int64_t> sizes) {
  Levels levels;
  for (auto [dim, steps] : llvm::enumerate(positions.steps))
    for (size_t i = 0; i < steps->size(); ++i) {
      auto [divisor, stride] = (*steps)[i];
      bool isLast = i + 1 == steps->size();
      // An upper one that is cut by the size has fewer values.
      int64_t end = isLast ? sizes[dim] : (*steps)[i + 1].divisor;
      int64_t radix = (end - 1) / divisor + 1;
      levels.push_back(
          {static_cast<unsigned>(dim), divisor, radix, stride, isLast});
    }
  llvm::sort(levels, [](const Level &lhs, const Level &rhs) {
    return lhs.stride < rhs.stride;
  });
  return levels;
}

/// How many of the lowest levels an element and its successor may differ in:
/// up to the first gap in memory.
static size_t countContiguousLevels(llvm::ArrayRef<Level> levels) {
  int64_t next = 1;
  size_t count = 0;
  for (const Level &level : levels) {
    if (level.stride != next)
      break;
    ++count;
    next = level.stride * level.radix;
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Counting successors
//===----------------------------------------------------------------------===//

namespace {
/// Part of a dimension.
struct Interval {
  int64_t begin;
  int64_t end;
};

/// What an inner digit of a dimension must be.
struct DigitRange {
  int64_t divisor;
  int64_t radix;
  int64_t low; ///< In [low, high).
  int64_t high;

  int64_t count() const { return high - low; }
};
} // namespace

/// How many numbers from 0 to below `end` have all digits in their ranges;
/// `digits` has the largest divisor first, and leaves out what is beyond them.
static int64_t countBelow(int64_t end, int64_t period,
                          llvm::ArrayRef<DigitRange> digits) {
  int64_t perPeriod = 1;
  for (const DigitRange &digit : digits)
    perPeriod *= digit.count();
  int64_t result = end / period * perPeriod;
  int64_t rest = end % period, lower = perPeriod;
  for (const DigitRange &digit : digits) {
    if (lower == 0)
      break;
    lower /= digit.count();
    int64_t value = rest / digit.divisor;
    rest %= digit.divisor;
    result += (std::clamp(value, digit.low, digit.high) - digit.low) * lower;
    if (value < digit.low || value >= digit.high)
      return result;
  }
  return result;
}

/// Elements x of dimension `dim` within `interval` that may be of an element
/// whose successor differs in `levels[at]`, the successor's index too being in
/// the interval.
static int64_t countSuccessors(unsigned dim, Interval interval,
                               llvm::ArrayRef<Level> levels, size_t at) {
  llvm::SmallVector<DigitRange, 4> digits;
  int64_t period = 1, decrease = 0;
  for (auto [i, level] : llvm::enumerate(levels)) {
    if (level.dim != dim)
      continue;
    int64_t largest = level.radix - 1;
    if (i < at)
      decrease += largest * level.divisor;
    else if (i == at)
      decrease -= level.divisor;
    if (level.isLast) {
      // At its largest before it becomes 0: else the successor is below 0.
      period = level.divisor;
    } else {
      digits.push_back({level.divisor, level.radix, i < at ? largest : 0,
                        i == at ? largest : level.radix});
    }
  }
  llvm::sort(digits, [](const DigitRange &lhs, const DigitRange &rhs) {
    return lhs.divisor > rhs.divisor;
  });
  int64_t begin = std::max(interval.begin, interval.begin + decrease);
  int64_t end = std::min(interval.end, interval.end + decrease);
  if (begin >= end)
    return 0;
  return countBelow(end, period, digits) - countBelow(begin, period, digits);
}

//===----------------------------------------------------------------------===//
// One dimension
//===----------------------------------------------------------------------===//

namespace {
/// All that a class of begins decides.
struct BeginClass {
  /// Successors by contiguous level.
  llvm::SmallVector<int64_t, 8> successors;
  /// The values that each digit of the dimension takes, by number among all
  /// levels, where the slice is a box of digits.
  std::optional<llvm::SmallVector<int64_t, 12>> box;

  bool operator<(const BeginClass &other) const {
    return std::tie(successors, box) < std::tie(other.successors, other.box);
  }
};
} // namespace

/// Whether `begin` and the size end at multiples of a level's divisor and stay
/// within one value of the next level; then the slice is a box of digits.
static std::optional<llvm::SmallVector<int64_t, 12>>
findBox(unsigned dim, Interval interval, llvm::ArrayRef<Level> levels) {
  int64_t size = interval.end - interval.begin;
  for (const Level &top : levels) {
    if (top.dim != dim || interval.begin % top.divisor != 0 ||
        size % top.divisor != 0)
      continue;
    int64_t count = size / top.divisor;
    if (!top.isLast &&
        interval.begin / top.divisor % top.radix + count > top.radix)
      continue;
    llvm::SmallVector<int64_t, 12> box;
    for (const Level &level : levels)
      box.push_back(level.dim != dim || level.divisor > top.divisor ? 1
                    : level.divisor == top.divisor ? count
                                                   : level.radix);
    return box;
  }
  if (llvm::none_of(levels,
                    [&](const Level &level) { return level.dim == dim; }))
    return llvm::SmallVector<int64_t, 12>(levels.size(), 1);
  return std::nullopt;
}

/// The largest divisor of a dimension: begins that differ by it look alike.
static int64_t getPeriod(unsigned dim, llvm::ArrayRef<Level> levels) {
  int64_t period = 1;
  for (const Level &level : levels)
    if (level.dim == dim)
      period = std::max(period, level.divisor);
  return period;
}

/// How many begins there are.
static int64_t countBegins(const SlicedDimension &dimension) {
  return (dimension.last - dimension.first) / dimension.step + 1;
}

/// How many of the first begins differ modulo `period`.
static llvm::Expected<int64_t> countClasses(const SlicedDimension &dimension,
                                            int64_t period) {
  int64_t count = std::min(countBegins(dimension),
                           period / std::gcd(dimension.step, period));
  if (count <= kMaxClasses)
    return count;
  return unsupportedError("begin of a slice",
                          "at most " + llvm::Twine(kMaxClasses) +
                              " begins that differ within a tile",
                          llvm::Twine(count), "slice in larger steps");
}

static llvm::Expected<std::set<BeginClass>>
getClasses(unsigned dim, const SlicedDimension &dimension,
           llvm::ArrayRef<Level> levels) {
  size_t contiguous = countContiguousLevels(levels);
  llvm::Expected<int64_t> count =
      countClasses(dimension, getPeriod(dim, levels));
  if (!count)
    return count.takeError();
  std::set<BeginClass> classes;
  for (int64_t i = 0; i < *count; ++i) {
    int64_t begin = dimension.first + i * dimension.step;
    Interval interval = {begin, begin + dimension.size};
    BeginClass each;
    for (size_t at = 0; at < contiguous; ++at)
      each.successors.push_back(countSuccessors(dim, interval, levels, at));
    each.box = findBox(dim, interval, levels);
    classes.insert(std::move(each));
  }
  return classes;
}

/// The position of index `index` of a dimension alone, in elements.
static int64_t getPosition(unsigned dim, int64_t index,
                           llvm::ArrayRef<Level> levels) {
  int64_t position = 0;
  for (const Level &level : levels) {
    if (level.dim != dim)
      continue;
    int64_t digit = index / level.divisor;
    position += (level.isLast ? digit : digit % level.radix) * level.stride;
  }
  return position;
}

/// Adds the position of the first begin of a dimension to `base`, and how far
/// other begins are from it to the greatest common divisor `alignment`.
static llvm::Error alignBegins(unsigned dim, const SlicedDimension &dimension,
                               llvm::ArrayRef<Level> levels, int64_t &base,
                               int64_t &alignment) {
  llvm::Expected<int64_t> count =
      countClasses(dimension, getPeriod(dim, levels));
  if (!count)
    return count.takeError();
  int64_t first = getPosition(dim, dimension.first, levels);
  base += first;
  // One more than there are classes: how far equal ones are apart.
  for (int64_t i = 1; i < std::min(*count + 1, countBegins(dimension)); ++i)
    alignment = std::gcd(
        alignment,
        getPosition(dim, dimension.first + i * dimension.step, levels) - first);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The size of the first tile along `dim`, 1 where it has none, or where `*`
/// merges dimensions.
static int64_t getFirstTile(const Layout &layout, int64_t dim) {
  if (layout.tiles.empty())
    return 1;
  llvm::ArrayRef<int64_t> tile = layout.tiles.front().sizes;
  auto distance = static_cast<size_t>(llvm::find(layout.minorToMajor, dim) -
                                      layout.minorToMajor.begin());
  if (distance >= tile.size() || llvm::is_contained(tile, Tile::kCombine))
    return 1;
  return tile[tile.size() - 1 - distance];
}

/// Where a slice of `size` elements that begins at `begin` is whole tiles.
static bool isWhole(const SlicedDimension &dimension, int64_t begin,
                    int64_t arraySize) {
  int64_t end = begin + dimension.size;
  return begin % dimension.tile == 0 &&
         (end % dimension.tile == 0 || end == arraySize);
}

static llvm::Error findWholeTiles(SlicedDimension &dimension,
                                  int64_t arraySize) {
  llvm::Expected<int64_t> count = countClasses(dimension, dimension.tile);
  if (!count)
    return count.takeError();
  int64_t whole = 0;
  for (int64_t i = 0; i < *count; ++i)
    whole +=
        isWhole(dimension, dimension.first + i * dimension.step, arraySize);
  // At the end of the dimension more is whole than elsewhere.
  bool isLastWhole = isWhole(dimension, dimension.last, arraySize);
  using Tiles = SlicedDimension::Tiles;
  if (whole == *count && isLastWhole &&
      (countBegins(dimension) == *count ||
       dimension.size % dimension.tile == 0))
    dimension.wholeTiles = Tiles::Always;
  else
    dimension.wholeTiles =
        whole > 0 || isLastWhole ? Tiles::Sometimes : Tiles::Never;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The answer
//===----------------------------------------------------------------------===//

/// The begins of one dimension within an array of `size` elements.
static llvm::Expected<SlicedDimension>
getBegins(unsigned dim, const SliceBegin &begin, int64_t count, int64_t size) {
  std::string field = "slice of d" + std::to_string(dim);
  if (count < 1 || count > size)
    return invalidError("", field,
                        "from 1 to " + llvm::Twine(size) + " elements",
                        llvm::Twine(count));
  SlicedDimension result;
  result.size = count;
  int64_t step = begin.step(), room = size - count;
  int64_t first = begin.constant;
  if (step != 0)
    first = (first % step + step) % step;
  if (first < 0 || first > room)
    return invalidError("", field,
                        "a begin from 0 to " + llvm::Twine(room) + " for " +
                            llvm::Twine(count) + " of " + llvm::Twine(size) +
                            " elements",
                        "`" + begin.toString() + "`, which gives none");
  result.first = first;
  result.last = step == 0 ? first : first + (room - first) / step * step;
  result.step = result.last == first ? 1 : step;
  return result;
}

/// The fewest and the most runs over all combinations of classes.
static llvm::Error countRuns(llvm::ArrayRef<std::vector<BeginClass>> classes,
                             SliceAnswer &answer) {
  int64_t combinations = 1;
  for (const std::vector<BeginClass> &ofDimension : classes)
    combinations =
        std::min<int64_t>(combinations * ofDimension.size(), kMaxClasses + 1);
  if (combinations > kMaxClasses)
    return unsupportedError("begins of a slice",
                            "at most " + llvm::Twine(kMaxClasses) +
                                " that differ within a tile",
                            "more", "slice fewer dimensions off their tiles");
  answer.minRuns = answer.elements;
  for (int64_t number = 0; number < combinations; ++number) {
    llvm::SmallVector<int64_t, 8> successors;
    int64_t rest = number;
    for (const std::vector<BeginClass> &ofDimension : classes) {
      const BeginClass &each = ofDimension[rest % ofDimension.size()];
      rest /= ofDimension.size();
      successors.resize(each.successors.size(), 1);
      for (auto [product, factor] :
           llvm::zip_equal(successors, each.successors))
        product *= factor;
    }
    int64_t runs =
        answer.elements -
        std::accumulate(successors.begin(), successors.end(), int64_t(0));
    answer.minRuns = std::min(answer.minRuns, runs);
    answer.maxRuns = std::max(answer.maxRuns, runs);
  }
  return llvm::Error::success();
}

/// Runs that are equally far apart in a box of digits; those that continue the
/// ones before are one.
static void addStride(SliceAnswer &answer, int64_t count, int64_t bits) {
  if (count == 1)
    return;
  if (!answer.strides.empty()) {
    RunStride &last = answer.strides.back();
    if (last.count * last.bits == bits) {
      last.count *= count;
      return;
    }
  }
  answer.strides.push_back({count, bits});
}

/// Lengths and distances, where each dimension is one box for all begins.
static void findPattern(llvm::ArrayRef<std::vector<BeginClass>> classes,
                        llvm::ArrayRef<Level> levels, int64_t elementBits,
                        SliceAnswer &answer) {
  if (answer.maxRuns == 1)
    answer.runBits = answer.bits;
  llvm::SmallVector<int64_t, 12> counts(levels.size(), 1);
  for (const std::vector<BeginClass> &ofDimension : classes)
    for (const BeginClass &each : ofDimension) {
      if (!each.box || each.box != ofDimension.front().box)
        return;
      if (&each == ofDimension.data())
        for (auto [count, factor] : llvm::zip_equal(counts, *each.box))
          count *= factor;
    }
  int64_t run = 1;
  for (auto [level, count] : llvm::zip_equal(levels, counts)) {
    // Behind a gap, or a level that is taken in part, no stride is the run's.
    if (level.stride == run)
      run *= count;
    else
      addStride(answer, count, level.stride * elementBits);
  }
  answer.runBits = run * elementBits;
  std::reverse(answer.strides.begin(), answer.strides.end());
}

/// All dimensions, and the tiles that they are split into.
static llvm::Error addDimensions(const Shape &shape, const SymbolicSlice &slice,
                                 llvm::ArrayRef<int64_t> sizes,
                                 llvm::ArrayRef<Level> levels,
                                 SliceAnswer &answer) {
  Layout layout = shape.layoutOrDefault();
  answer.elements = 1;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    llvm::Expected<SlicedDimension> dimension =
        getBegins(dim, slice.begins[dim], slice.sizes[dim], size);
    if (!dimension)
      return dimension.takeError();
    int64_t period = getPeriod(dim, levels), tile = getFirstTile(layout, dim);
    std::optional<int64_t> common =
        llvm::checkedMul(period / std::gcd(period, tile), tile);
    if (!common)
      return unsupportedError("tiles", "a common multiple below 2^63",
                              llvm::Twine(period) + " and " +
                                  llvm::Twine(tile));
    dimension->tile = *common;
    if (llvm::Error error = findWholeTiles(*dimension, size))
      return error;
    answer.elements *= dimension->size;
    answer.dimensions.push_back(*dimension);
  }
  return llvm::Error::success();
}

llvm::Expected<SliceAnswer> tessera::analyzeSlice(const Shape &shape,
                                                  const SymbolicSlice &slice) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  if (!axes)
    return axes.takeError();
  llvm::ArrayRef<int64_t> sizes = axes->dimensions();
  PhysicalIndices positions = getPhysicalIndices(*axes, sizes);
  if (llvm::is_contained(positions.steps, std::nullopt))
    return unsupportedError("slice",
                            "dimensions that tiles split one by one, into "
                            "divisors of each other",
                            shape.toString());
  int64_t elementBits =
      getStorageBits(shape.elementType(), shape.layoutOrDefault());
  Levels levels = getLevels(positions, sizes);
  SliceAnswer answer;
  if (llvm::Error error = addDimensions(shape, slice, sizes, levels, answer))
    return std::move(error);
  std::vector<std::vector<BeginClass>> classes;
  int64_t base = 0, alignment = 0;
  for (auto [dim, dimension] : llvm::enumerate(answer.dimensions)) {
    auto ofDimension = getClasses(dim, dimension, levels);
    if (!ofDimension)
      return ofDimension.takeError();
    classes.emplace_back(ofDimension->begin(), ofDimension->end());
    if (llvm::Error error =
            alignBegins(dim, dimension, levels, base, alignment))
      return std::move(error);
  }
  alignment = std::gcd(base, alignment);
  // The largest number of elements that is given in bits.
  int64_t largest = std::max(answer.elements, alignment);
  for (const Level &level : levels)
    largest = std::max(largest, level.stride);
  if (!llvm::checkedMul(largest, elementBits))
    return unsupportedError("size", "at most 2^63 - 1 bits",
                            llvm::Twine(largest) + " elements of " +
                                llvm::Twine(elementBits) + " bits");
  answer.bits = answer.elements * elementBits;
  answer.alignmentBits = alignment * elementBits;
  if (llvm::Error error = countRuns(classes, answer))
    return std::move(error);
  findPattern(classes, levels, elementBits, answer);
  return answer;
}
