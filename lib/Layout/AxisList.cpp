//===- AxisList.cpp - A layout is a list of axes --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/AxisList.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cassert>

using namespace tessera;

/// Larger expressions are refused. Only tiles that repeatedly merge and split
/// the same axes, at sizes that do not divide each other, make them.
static constexpr int64_t kMaxTreeSize = 4096;
/// More remainders of remainders are refused: each doubles the lowered form.
static constexpr unsigned kMaxRemainders = 12;

/// The most remainders, each in the next, on a path of the expression.
static unsigned countRemainders(IndexExpr expr) {
  unsigned count = 0;
  while (expr.kind() == IndexExpr::Kind::FloorDiv ||
         expr.kind() == IndexExpr::Kind::Mod) {
    count += expr.kind() == IndexExpr::Kind::Mod;
    expr = expr.lhs();
  }
  if (expr.kind() == IndexExpr::Kind::MulAdd)
    count += std::max(countRemainders(expr.lhs()), countRemainders(expr.rhs()));
  return count;
}

int64_t Extent::evaluate(llvm::ArrayRef<int64_t> sizes) const {
  return isStatic() ? value : llvm::divideCeil(sizes[dim], divisor);
}

//===----------------------------------------------------------------------===//
// The builder
//===----------------------------------------------------------------------===//

namespace {
/// Applies the tiles to the list and remembers how, so that the inverse can be
/// read off backwards.
class AxisListBuilder {
public:
  AxisListBuilder(llvm::ArrayRef<int64_t> dims, const Layout &layout)
      : dims(dims), layout(layout) {}

  /// One axis a dimension, most major first.
  llvm::Error addDimensions();
  llvm::Error applyTile(const Tile &tile);

  llvm::SmallVector<Axis, 8> getAxes() const;
  llvm::Expected<InverseIndex> invert();

private:
  /// An axis at some time of the construction. One that is not in `current`
  /// was split into or merged into others.
  struct Node {
    Axis axis;
    /// Its values stay below this: the extent, or the dimension's size.
    Extent limit;
    /// Whether positions exist at which the value reaches the limit.
    bool mayExceed = false;
  };
  /// Node `axis` became `quotient` and `remainder` by tile size `size`.
  struct Split {
    unsigned axis, quotient, remainder;
    int64_t size;
  };
  /// Nodes `major` and `minor` became `axis`.
  struct Merge {
    unsigned axis, major, minor;
  };
  struct Step {
    bool isSplit;
    Split split;
    Merge merge;
  };

  unsigned addNode(Extent extent, IndexExpr index) {
    nodes.push_back({{extent, index}, extent, false});
    return nodes.size() - 1;
  }
  llvm::Expected<unsigned> merge(unsigned major, unsigned minor);
  llvm::Error split(unsigned axis, int64_t size, unsigned &quotient,
                    unsigned &remainder);
  llvm::Error checkTreeSize(const IndexExpr &expr) const;

  llvm::ArrayRef<int64_t> dims;
  const Layout &layout;
  std::vector<Node> nodes;
  std::vector<Step> steps;
  /// The list, most major first, as node numbers.
  std::vector<unsigned> current;
  /// The first node of each dimension.
  llvm::SmallVector<unsigned, 6> dimensionNodes;
};
} // namespace

static llvm::Error overflowError() {
  return invalidError("layout_c17", "size of the padded array",
                      "a product of extents within 64 bits", "an overflow",
                      "use smaller dimensions, widths or tiles");
}

llvm::Error AxisListBuilder::addDimensions() {
  dimensionNodes.resize(dims.size());
  for (int64_t dim : llvm::reverse(layout.minorToMajor)) {
    int64_t size = dims[dim], width = size;
    if (!layout.paddedDimensions.empty() && size != 0)
      width = layout.paddedDimensions[dim];
    if (size != kDynamic && width < size)
      return invalidError(
          "layout_c14", "padded width of dimension " + llvm::Twine(dim),
          "at least its size " + llvm::Twine(size), llvm::Twine(width));
    Extent limit{size, static_cast<unsigned>(dim), 1};
    Extent extent = limit;
    extent.value = width;
    // A dynamic size within a static width is at most that width.
    unsigned node = addNode(
        extent, IndexExpr::variable(dim, size == kDynamic ? width : size));
    nodes[node].limit = limit;
    nodes[node].mayExceed = width != size;
    dimensionNodes[dim] = node;
    current.push_back(node);
  }
  return llvm::Error::success();
}

llvm::Error AxisListBuilder::checkTreeSize(const IndexExpr &expr) const {
  if (expr.treeSize() > kMaxTreeSize)
    return unsupportedError(
        "tiles",
        "index expressions of at most " + llvm::Twine(kMaxTreeSize) + " nodes",
        "a larger one", "merge and split the same axes less often");
  if (countRemainders(expr) > kMaxRemainders)
    return unsupportedError("tiles",
                            "at most " + llvm::Twine(kMaxRemainders) +
                                " sizes in a row that don't divide each other",
                            "more", "take sizes that divide each other");
  return llvm::Error::success();
}

llvm::Expected<unsigned> AxisListBuilder::merge(unsigned major,
                                                unsigned minor) {
  const Axis &high = nodes[major].axis, &low = nodes[minor].axis;
  if (!high.extent.isStatic() || !low.extent.isStatic()) {
    const Extent &unknown = high.extent.isStatic() ? low.extent : high.extent;
    return unsupportedError("tile size *", "axes of known extent",
                            "dynamic dimension " + llvm::Twine(unknown.dim) +
                                " without a bound",
                            "give it a bound with B or a width with PD");
  }
  Extent extent;
  if (llvm::MulOverflow(high.extent.value, low.extent.value, extent.value))
    return overflowError();
  IndexExpr index = IndexExpr::mulAdd(high.index, low.extent.value, low.index);
  if (llvm::Error error = checkTreeSize(index))
    return std::move(error);
  unsigned axis = addNode(extent, index);
  steps.push_back({false, {}, {axis, major, minor}});
  return axis;
}

llvm::Error AxisListBuilder::split(unsigned axis, int64_t size,
                                   unsigned &quotient, unsigned &remainder) {
  const Axis original = nodes[axis].axis;
  Extent count = original.extent;
  if (count.isStatic())
    count.value = llvm::divideCeil(count.value, size);
  else if (llvm::MulOverflow(count.divisor, size, count.divisor))
    return overflowError();
  IndexExpr high = original.index.floorDiv(size);
  IndexExpr low = original.index.mod(size);
  if (llvm::Error error = checkTreeSize(high))
    return error;
  if (llvm::Error error = checkTreeSize(low))
    return error;
  quotient = addNode(count, high);
  remainder = addNode(Extent{size}, low);
  bool divides = size == 1 || (original.extent.isStatic() &&
                               original.extent.value % size == 0);
  nodes[axis].mayExceed |= !divides;
  steps.push_back({true, {axis, quotient, remainder, size}, {}});
  return llvm::Error::success();
}

llvm::Error AxisListBuilder::applyTile(const Tile &tile) {
  if (current.size() < tile.sizes.size()) {
    std::vector<unsigned> units(tile.sizes.size() - current.size());
    for (unsigned &unit : units)
      unit = addNode(Extent{1}, IndexExpr());
    current.insert(current.begin(), units.begin(), units.end());
  }
  std::vector<unsigned> tail(current.end() - tile.sizes.size(), current.end());
  current.resize(current.size() - tile.sizes.size());

  std::vector<unsigned> remainders;
  for (size_t i = 0; i < tail.size(); ++i) {
    if (tile.sizes[i] == Tile::kCombine) {
      assert(i + 1 < tail.size() && "Layout::verify refuses a trailing *");
      llvm::Expected<unsigned> merged = merge(tail[i], tail[i + 1]);
      if (!merged)
        return merged.takeError();
      tail[i + 1] = *merged;
      continue;
    }
    // A layout attribute of another dialect need not satisfy the rules of the
    // notation.
    if (tile.sizes[i] < 1)
      return invalidError("", "tile size", "a number of at least 1",
                          llvm::Twine(tile.sizes[i]));
    unsigned quotient, remainder;
    if (llvm::Error error = split(tail[i], tile.sizes[i], quotient, remainder))
      return error;
    current.push_back(quotient);
    remainders.push_back(remainder);
  }
  current.insert(current.end(), remainders.begin(), remainders.end());
  return llvm::Error::success();
}

llvm::SmallVector<Axis, 8> AxisListBuilder::getAxes() const {
  llvm::SmallVector<Axis, 8> axes;
  for (unsigned node : current)
    axes.push_back(nodes[node].axis);
  return axes;
}

/// Undoes the steps in reverse order: the value of each node over the indices
/// of the final axes, with a condition wherever padding came in.
llvm::Expected<InverseIndex> AxisListBuilder::invert() {
  std::vector<IndexExpr> values(nodes.size());
  for (size_t i = 0; i < current.size(); ++i)
    values[current[i]] =
        IndexExpr::variable(i, nodes[current[i]].axis.extent.value);

  InverseIndex result;
  auto checkLimit = [&](unsigned node) {
    const Extent &limit = nodes[node].limit;
    int64_t range = values[node].range();
    bool holds = limit.isStatic() && range != kDynamic && range <= limit.value;
    if (nodes[node].mayExceed && !holds)
      result.conditions.push_back({values[node], limit});
  };
  for (const Step &step : llvm::reverse(steps)) {
    if (step.isSplit) {
      const Split &split = step.split;
      values[split.axis] = IndexExpr::mulAdd(values[split.quotient], split.size,
                                             values[split.remainder]);
      if (llvm::Error error = checkTreeSize(values[split.axis]))
        return std::move(error);
      checkLimit(split.axis);
      continue;
    }
    const Merge &merge = step.merge;
    // An empty array has no positions to invert: any divisor will do.
    int64_t extent = std::max<int64_t>(nodes[merge.minor].axis.extent.value, 1);
    values[merge.major] = values[merge.axis].floorDiv(extent);
    values[merge.minor] = values[merge.axis].mod(extent);
    // A dimension that PD widened may merge before any tile splits it.
    checkLimit(merge.major);
    checkLimit(merge.minor);
  }
  for (unsigned node : current)
    checkLimit(node);
  for (unsigned node : dimensionNodes)
    result.indices.push_back(values[node]);
  return result;
}

//===----------------------------------------------------------------------===//
// AxisList
//===----------------------------------------------------------------------===//

/// Product of the extents; kDynamic when one is not known.
static llvm::Expected<int64_t> countPositions(llvm::ArrayRef<Axis> axes) {
  int64_t product = 1;
  bool isStatic = true, overflows = false;
  for (const Axis &axis : axes) {
    if (!axis.extent.isStatic()) {
      isStatic = false;
      continue;
    }
    if (axis.extent.value == 0)
      return 0;
    overflows |= llvm::MulOverflow(product, axis.extent.value, product) != 0;
  }
  if (overflows)
    return overflowError();
  return isStatic ? product : kDynamic;
}

/// `count` rounded up to a multiple of `alignment`.
static llvm::Expected<int64_t> roundUp(int64_t count, int64_t alignment) {
  if (count == kDynamic)
    return kDynamic;
  int64_t remainder = count % alignment, rounded;
  if (llvm::AddOverflow(count, remainder ? alignment - remainder : 0, rounded))
    return overflowError();
  return rounded;
}

llvm::Expected<AxisList> AxisList::get(llvm::ArrayRef<int64_t> dimensions,
                                       const Layout &layout) {
  if (layout.rank() != static_cast<int64_t>(dimensions.size()))
    return invalidError("layout_c13", "minor_to_major",
                        llvm::Twine(dimensions.size()) + " dimensions",
                        llvm::Twine(layout.rank()));
  AxisList list;
  list.dims.assign(dimensions.begin(), dimensions.end());
  for (size_t i = 0; i < layout.bounds.size(); ++i)
    if (layout.bounds[i] != kDynamic)
      list.dims[i] = layout.bounds[i];

  AxisListBuilder builder(list.dims, layout);
  if (llvm::Error error = builder.addDimensions())
    return std::move(error);
  for (const Tile &tile : layout.tiles)
    if (llvm::Error error = builder.applyTile(tile))
      return std::move(error);

  list.axisList = builder.getAxes();
  llvm::Expected<InverseIndex> inverse = builder.invert();
  if (!inverse)
    return inverse.takeError();
  list.inverseIndex = std::move(*inverse);
  llvm::Expected<int64_t> positions = countPositions(list.axisList);
  if (!positions)
    return positions.takeError();
  llvm::Expected<int64_t> allocated =
      roundUp(*positions, layout.tailPaddingAlignment);
  if (!allocated)
    return allocated.takeError();
  list.positions = *positions;
  list.allocated = *allocated;
  return list;
}

llvm::Expected<AxisList> AxisList::get(const Shape &shape) {
  return get(shape.dimensions(), shape.layoutOrDefault());
}

llvm::Expected<AxisList> AxisList::getStatic(const Shape &shape) {
  if (!shape.isArray())
    return invalidError("axes_c1", "shape", "an array", shape.toString());
  for (auto [dim, size] : llvm::enumerate(shape.dimensions()))
    if (size == kDynamic)
      return unsupportedError(
          "shape " + shape.toString(), "dimensions with a size or a bound",
          "`?` in dimension " + llvm::Twine(dim), "write a bound, `<=N`");
  return get(shape);
}

bool AxisList::isStatic() const {
  return llvm::all_of(axisList,
                      [](const Axis &axis) { return axis.extent.isStatic(); });
}

llvm::SmallVector<int64_t, 8> AxisList::physicalShape() const {
  llvm::SmallVector<int64_t, 8> shape;
  for (const Axis &axis : axisList)
    shape.push_back(axis.extent.value);
  return shape;
}

llvm::SmallVector<int64_t, 8> AxisList::strides() const {
  llvm::SmallVector<int64_t, 8> result(axisList.size());
  int64_t stride = 1;
  for (size_t i = axisList.size(); i-- > 0;) {
    result[i] = stride;
    const Extent &extent = axisList[i].extent;
    if (stride == kDynamic || !extent.isStatic())
      stride = kDynamic;
    else if (llvm::MulOverflow(stride, extent.value, stride))
      stride = 0; // Only in an empty array, which has no second position.
  }
  return result;
}

llvm::SmallVector<int64_t, 8>
AxisList::axisIndices(llvm::ArrayRef<int64_t> index) const {
  llvm::SmallVector<int64_t, 8> result;
  for (const Axis &axis : axisList)
    result.push_back(axis.index.evaluate(index));
  return result;
}

int64_t AxisList::linearIndex(llvm::ArrayRef<int64_t> index) const {
  assert(isStatic() && "the extents are not known");
  int64_t position = 0;
  for (const Axis &axis : axisList)
    position = position * axis.extent.value + axis.index.evaluate(index);
  return position;
}

IndexRun AxisList::linearRun(llvm::ArrayRef<int64_t> index,
                             unsigned dim) const {
  assert(isStatic() && "the extents are not known");
  IndexRun run;
  for (const Axis &axis : axisList) {
    IndexRun digit = axis.index.getRun(index, dim);
    run.value = run.value * axis.extent.value + digit.value;
    run.stride = run.stride * axis.extent.value + digit.stride;
    run.steps = std::min(run.steps, digit.steps);
  }
  return run;
}

/// The index along each axis at `position`.
static llvm::SmallVector<int64_t, 8> getDigits(llvm::ArrayRef<Axis> axes,
                                               int64_t position) {
  llvm::SmallVector<int64_t, 8> digits(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    digits[i] = position % axes[i].extent.value;
    position /= axes[i].extent.value;
  }
  return digits;
}

PositionRun AxisList::positionRun(int64_t position) const {
  assert(isStatic() && "the extents are not known");
  if (position >= positions)
    return {/*isPadding=*/true, allocated - position};
  if (axisList.empty())
    return {/*isPadding=*/false, 1};
  llvm::SmallVector<int64_t, 8> digits = getDigits(axisList, position);
  int64_t count = axisList.back().extent.value - digits.back();
  for (const AxisCondition &condition : inverseIndex.conditions) {
    IndexRun run = condition.index.getRun(digits, axisList.size() - 1);
    // No index falls as positions go on.
    int64_t left = condition.limit.value - run.value;
    if (left <= 0)
      return {/*isPadding=*/true, std::min(count, run.steps)};
    count = std::min(count, run.steps);
    if (run.stride > 0)
      count = std::min(count, llvm::divideCeilSigned(left, run.stride));
  }
  return {/*isPadding=*/false, count};
}

std::optional<llvm::SmallVector<int64_t, 6>>
AxisList::logicalIndex(int64_t position) const {
  assert(isStatic() && "the extents are not known");
  if (position < 0 || position >= positions)
    return std::nullopt;
  llvm::SmallVector<int64_t, 8> digits = getDigits(axisList, position);
  for (const AxisCondition &condition : inverseIndex.conditions)
    if (condition.index.evaluate(digits) >= condition.limit.value)
      return std::nullopt;
  llvm::SmallVector<int64_t, 6> result;
  for (const IndexExpr &index : inverseIndex.indices)
    result.push_back(index.evaluate(digits));
  return result;
}

std::optional<llvm::SmallVector<int64_t, 6>> AxisList::logicalStrides() const {
  llvm::SmallVector<int64_t, 6> result(dims.size(), 0);
  llvm::SmallVector<int64_t, 8> axisStrides = strides();
  for (size_t i = 0; i < axisList.size(); ++i) {
    auto terms = axisList[i].index.asDigitSum();
    if (!terms)
      return std::nullopt;
    for (const DigitTerm &term : *terms) {
      if (term.digit.divisor != 1 || term.digit.extent != 0)
        return std::nullopt;
      // Merged axes are static, so a dynamic stride has the coefficient 1.
      result[term.digit.variable] = axisStrides[i] == kDynamic
                                        ? kDynamic
                                        : axisStrides[i] * term.coefficient;
    }
  }
  return result;
}

void AxisList::print(llvm::raw_ostream &os) const {
  for (size_t i = 0; i < axisList.size(); ++i) {
    const Extent &extent = axisList[i].extent;
    os << "[" << i << "] extent ";
    if (extent.isStatic())
      os << extent.value;
    else
      os << "ceil(size" << extent.dim << " / " << extent.divisor << ")";
    os << ": " << axisList[i].index.toString() << "\n";
  }
}

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

/// Adds the splits that one axis index makes; false when the dimension occurs
/// in it but not as a digit.
static bool collectSplits(unsigned dim, const IndexExpr &index,
                          llvm::SmallVectorImpl<int64_t> &divisors) {
  auto terms = index.asDigitSum();
  if (!terms)
    return !index.involves(dim);
  for (const DigitTerm &term : *terms) {
    const Digit &digit = term.digit;
    if (digit.variable != dim)
      continue;
    divisors.push_back(digit.divisor);
    int64_t end;
    if (digit.extent && !llvm::MulOverflow(digit.divisor, digit.extent, end))
      divisors.push_back(end);
  }
  return true;
}

DimensionSplit tessera::getSplit(unsigned dim,
                                 llvm::ArrayRef<const AxisList *> lists) {
  llvm::SmallVector<IndexExpr> indices;
  for (const AxisList *list : lists)
    for (const Axis &axis : list->axes())
      indices.push_back(axis.index);
  return getSplit(dim, indices);
}

DimensionSplit tessera::getSplit(unsigned dim,
                                 llvm::ArrayRef<IndexExpr> indices) {
  DimensionSplit splits;
  for (const IndexExpr &index : indices)
    splits.isChain &= collectSplits(dim, index, splits.divisors);
  llvm::sort(splits.divisors);
  splits.divisors.erase(llvm::unique(splits.divisors), splits.divisors.end());
  llvm::erase(splits.divisors, 1);
  for (size_t i = 1; i < splits.divisors.size(); ++i)
    splits.isChain &= splits.divisors[i] % splits.divisors[i - 1] == 0;
  return splits;
}
