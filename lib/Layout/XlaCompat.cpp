//===- XlaCompat.cpp - What XLA itself answers ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/XlaCompat.h"
#include "UtilSupport.h"
#include "tessera/Layout/IndexUtil.h"
#include "tessera/Layout/LayoutUtil.h"
#include "tessera/Layout/ShapeUtil.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;

using Dims = llvm::SmallVector<int64_t, 6>;

/// The first tile as XLA's arithmetic sees it, or none.
static llvm::Expected<llvm::ArrayRef<int64_t>>
getFirstTile(const Layout &layout) {
  if (layout.tiles.empty())
    return llvm::ArrayRef<int64_t>();
  const Tile &tile = layout.tiles.front();
  if (llvm::is_contained(tile.sizes, Tile::kCombine))
    return unsupportedError("tile size *", "numbers", layout.toString(),
                            "XLA's sizes know no `*`; ask for the full rule");
  return llvm::ArrayRef<int64_t>(tile.sizes);
}

//===----------------------------------------------------------------------===//
// Sizes in bytes
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t> xla::byteSizeOfElements(const Shape &shape) {
  llvm::Expected<int64_t> elements = shape_util::elementsIn(shape);
  if (!elements)
    return elements.takeError();
  return getStorageBytes(*elements, shape.elementType(),
                         shape.layoutOrDefault());
}

llvm::Expected<int64_t> xla::byteSizeOf(const Shape &shape,
                                        int64_t pointerSize) {
  switch (shape.kind()) {
  case Shape::Kind::Array:
    return byteSizeOfElements(shape);
  case Shape::Kind::Tuple: {
    auto count = static_cast<int64_t>(shape.elements().size());
    if (std::optional<int64_t> bytes = llvm::checkedMul(count, pointerSize))
      return *bytes;
    return detail::overflowError(shape);
  }
  case Shape::Kind::Buffer:
    return byteSizeOf(shape.elements().front(), pointerSize);
  case Shape::Kind::Token:
    return 0;
  case Shape::Kind::Opaque:
    return pointerSize;
  }
  llvm_unreachable("covered switch");
}

/// `count` rounded up to a multiple of `multiple`.
static std::optional<int64_t> roundUp(int64_t count, int64_t multiple) {
  int64_t remainder = count % multiple;
  return llvm::checkedAdd(count, remainder ? multiple - remainder : 0);
}

llvm::Expected<int64_t> xla::arraySize(const Shape &shape) {
  if (llvm::Error error = detail::requireBoundedArray(shape))
    return std::move(error);
  Layout layout = shape.layoutOrDefault();
  if (layout.tiles.empty())
    return byteSizeOfElements(shape);
  llvm::Expected<llvm::ArrayRef<int64_t>> tile = getFirstTile(layout);
  if (!tile)
    return tile.takeError();

  // From the fastest dimension on; a tile longer than the rank rounds up
  // dimensions of size 1 that are not there.
  auto tileRank = static_cast<int64_t>(tile->size());
  llvm::SmallVector<int64_t, 8> sizes;
  for (int64_t i = 0; i < std::max(shape.rank(), tileRank); ++i) {
    int64_t size = 1;
    if (i < shape.rank()) {
      llvm::Expected<int64_t> piece =
          layout_util::maxSplitSize(shape, layout_util::minor(layout, i));
      if (!piece)
        return piece.takeError();
      size = *piece;
    }
    std::optional<int64_t> rounded = size;
    if (i < tileRank)
      rounded = roundUp(size, (*tile)[tileRank - 1 - i]);
    if (!rounded)
      return detail::overflowError(shape);
    sizes.push_back(*rounded);
  }
  std::optional<int64_t> positions = detail::checkedProduct(sizes);
  if (positions)
    positions = roundUp(*positions, layout.tailPaddingAlignment);
  if (!positions)
    return detail::overflowError(shape);
  return getStorageBytes(*positions, shape.elementType(), layout);
}

llvm::Expected<int64_t> xla::arrayDataSize(const Shape &shape) {
  if (llvm::Error error = detail::requireBoundedArray(shape))
    return std::move(error);
  Dims last(shape.dimensions());
  for (int64_t &i : last)
    --i;
  llvm::Expected<int64_t> position = linearIndex(shape, last);
  if (!position)
    return position.takeError();
  std::optional<int64_t> end = llvm::checkedAdd(*position, int64_t(1));
  int64_t bits = getStorageBits(shape.elementType(), shape.layoutOrDefault());
  std::optional<int64_t> total =
      end ? llvm::checkedMul(*end, bits) : std::nullopt;
  if (!total)
    return detail::overflowError(shape);
  // Rounded towards positive infinity, whatever the sign.
  return *total / 8 + (*total % 8 > 0);
}

llvm::Expected<int64_t> xla::serializedDataSize(const Shape &shape) {
  if (shape.isArray()) {
    llvm::Expected<int64_t> elements = shape_util::elementsIn(shape);
    if (!elements)
      return elements.takeError();
    Layout packed;
    packed.elementSizeInBits = getBitWidth(shape.elementType());
    return getStorageBytes(*elements, shape.elementType(), packed);
  }
  if (!shape.isTuple())
    return invalidError("util_c1", "shape", "an array or a tuple of them",
                        shape.toString(/*printLayout=*/false));
  std::optional<int64_t> sum = 0;
  for (const Shape &element : shape.elements()) {
    llvm::Expected<int64_t> bytes = serializedDataSize(element);
    if (!bytes)
      return bytes.takeError();
    sum = llvm::checkedAdd(*sum, *bytes);
    if (!sum)
      return detail::overflowError(shape);
  }
  return *sum;
}

/// The step along each dimension, where the fastest one's is `step`.
static llvm::Expected<Dims> getSteps(const Shape &shape, int64_t step) {
  if (llvm::Error error = detail::requireBoundedArray(shape))
    return std::move(error);
  Dims steps(shape.rank());
  std::optional<int64_t> next = step;
  for (int64_t dim : shape.layoutOrDefault().minorToMajor) {
    if (!next)
      return detail::overflowError(shape);
    steps[dim] = *next;
    next = llvm::checkedMul(*next, shape.dimensions()[dim]);
  }
  return steps;
}

llvm::Expected<std::optional<llvm::SmallVector<int64_t, 6>>>
xla::byteStrides(const Shape &shape) {
  if (shape.layoutOrDefault().elementSizeInBits % 8 != 0)
    return std::nullopt;
  llvm::Expected<Dims> strides = unpackedByteStrides(shape);
  if (!strides)
    return strides.takeError();
  return *strides;
}

llvm::Expected<llvm::SmallVector<int64_t, 6>>
xla::unpackedByteStrides(const Shape &shape) {
  return getSteps(shape, getByteWidth(shape.elementType()));
}

//===----------------------------------------------------------------------===//
// Addresses in elements
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t>
xla::multidimensionalIndexToLinearIndex(const Shape &shape,
                                        llvm::ArrayRef<int64_t> index) {
  llvm::Expected<Dims> steps = getSteps(shape, 1);
  if (!steps)
    return steps.takeError();
  if (!index_util::indexInBounds(shape, index))
    return invalidError("util_c3", "index",
                        "one within " + shape.toString(/*printLayout=*/false),
                        "one outside");
  int64_t position = 0;
  for (auto [i, step] : llvm::zip(index, *steps))
    position += i * step;
  return position;
}

llvm::Expected<llvm::SmallVector<int64_t, 6>>
xla::linearIndexToMultidimensionalIndex(const Shape &shape, int64_t position) {
  llvm::Expected<int64_t> elements = shape_util::elementsIn(shape);
  if (!elements)
    return elements.takeError();
  if (position < 0 || position >= *elements)
    return invalidError("util_c3", "linear index",
                        "at least 0 and below " + llvm::Twine(*elements),
                        llvm::Twine(position));
  Dims index(shape.rank());
  for (int64_t dim : shape.layoutOrDefault().minorToMajor) {
    index[dim] = position % shape.dimensions()[dim];
    position /= shape.dimensions()[dim];
  }
  return index;
}

llvm::Expected<int64_t> xla::getDimensionStride(const Shape &shape,
                                                int64_t dim) {
  llvm::Expected<int64_t> number = shape_util::getDimensionNumber(shape, dim);
  if (!number)
    return number.takeError();
  llvm::Expected<Dims> steps = getSteps(shape, 1);
  if (!steps)
    return steps.takeError();
  return (*steps)[*number];
}

namespace {
/// Sums up index * multiplier with overflow checks: `sum` is nothing once a
/// value has left 64 bits.
struct CheckedSum {
  std::optional<int64_t> sum = 0;

  void add(int64_t index, std::optional<int64_t> multiplier) {
    std::optional<int64_t> term;
    if (multiplier)
      term = llvm::checkedMul(index, *multiplier);
    sum = sum && term ? llvm::checkedAdd(*sum, *term) : std::nullopt;
  }
};
} // namespace

/// A multiplier that goes on to the next dimension.
static std::optional<int64_t> advance(std::optional<int64_t> multiplier,
                                      int64_t factor) {
  return multiplier ? llvm::checkedMul(*multiplier, factor) : std::nullopt;
}

llvm::Expected<int64_t> xla::linearIndex(const Shape &shape,
                                         llvm::ArrayRef<int64_t> index) {
  if (llvm::Error error = detail::requireBoundedArray(shape))
    return std::move(error);
  if (llvm::Error error = detail::requireIndex(shape, index))
    return std::move(error);
  if (shape.rank() <= 1)
    return shape.rank() == 0 ? 0 : index[0];
  Layout layout = shape.layoutOrDefault();
  llvm::Expected<llvm::ArrayRef<int64_t>> tile = getFirstTile(layout);
  if (!tile)
    return tile.takeError();

  // Division and remainder truncate, as in XLA, also for negative indices.
  auto tileRank = static_cast<int64_t>(tile->size());
  CheckedSum position;
  std::optional<int64_t> counts = detail::checkedProduct(*tile), within = 1;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    int64_t dim = layout_util::minor(layout, i);
    int64_t size = shape.dimensions()[dim];
    if (i >= tileRank) {
      position.add(index[dim], counts);
      counts = advance(counts, size);
      continue;
    }
    int64_t tileSize = (*tile)[tileRank - 1 - i];
    position.add(index[dim] / tileSize, counts);
    position.add(index[dim] % tileSize, within);
    counts = advance(counts, size / tileSize + (size % tileSize != 0));
    within = advance(within, tileSize);
  }
  if (position.sum)
    return *position.sum;
  return detail::overflowError(shape);
}

//===----------------------------------------------------------------------===//
// Bitcasts
//===----------------------------------------------------------------------===//

/// Whether each step of one along a dimension of `from` leads to the same
/// untiled position in both shapes. Both have as many elements, at least one.
static llvm::Expected<bool> haveSameUnitSteps(const Shape &from,
                                              const Shape &to) {
  Shape rowMajorFrom = Shape::array(from.elementType(), from.dimensions());
  Shape rowMajorTo = Shape::array(to.elementType(), to.dimensions());
  for (int64_t dim = 0; dim < from.rank(); ++dim) {
    if (from.dimensions()[dim] <= 1)
      continue;
    Dims unit(from.rank(), 0);
    unit[dim] = 1;
    auto logical = xla::multidimensionalIndexToLinearIndex(rowMajorFrom, unit);
    auto source = xla::multidimensionalIndexToLinearIndex(from, unit);
    if (!logical || !source)
      return llvm::joinErrors(logical.takeError(), source.takeError());
    auto index = xla::linearIndexToMultidimensionalIndex(rowMajorTo, *logical);
    if (!index)
      return index.takeError();
    auto target = xla::multidimensionalIndexToLinearIndex(to, *index);
    if (!target)
      return target.takeError();
    if (*source != *target)
      return false;
  }
  return true;
}

static bool haveSameTypes(const Shape &from, const Shape &to, bool ignore) {
  return ignore || from.elementType() == to.elementType();
}

llvm::Expected<bool> xla::reshapeIsBitcast(const Shape &from, const Shape &to,
                                           bool ignoreElementType) {
  auto counts = detail::countElements(from, to);
  if (!counts)
    return counts.takeError();
  if (!haveSameTypes(from, to, ignoreElementType) ||
      counts->first != counts->second)
    return false;
  if (counts->first == 0)
    return true;
  llvm::Expected<bool> there = haveSameUnitSteps(from, to);
  if (!there || !*there)
    return there;
  return haveSameUnitSteps(to, from);
}

llvm::Expected<bool>
xla::transposeIsBitcast(const Shape &from, const Shape &to,
                        llvm::ArrayRef<int64_t> permutation,
                        bool ignoreElementType) {
  for (const Shape *shape : {&from, &to}) {
    if (llvm::Error error = detail::requireArray(*shape))
      return std::move(error);
    if (llvm::Error error =
            detail::requirePermutation(permutation, shape->rank()))
      return std::move(error);
  }
  if (!haveSameTypes(from, to, ignoreElementType))
    return false;
  Layout fromLayout = from.layoutOrDefault(), toLayout = to.layoutOrDefault();
  return llvm::all_of(llvm::seq<int64_t>(0, from.rank()), [&](int64_t i) {
    return permutation[layout_util::minor(toLayout, i)] ==
           layout_util::minor(fromLayout, i);
  });
}

llvm::Expected<std::optional<llvm::SmallVector<int64_t, 6>>>
xla::deduceTransposePermutation(const Shape &from, const Shape &to) {
  for (const Shape *shape : {&from, &to})
    if (llvm::Error error = detail::requireArray(*shape))
      return std::move(error);
  if (from.rank() != to.rank())
    return std::nullopt;
  Layout fromLayout = from.layoutOrDefault(), toLayout = to.layoutOrDefault();
  Dims permutation(from.rank());
  for (int64_t i = 0; i < from.rank(); ++i) {
    int64_t source = layout_util::minor(fromLayout, i);
    int64_t target = layout_util::minor(toLayout, i);
    if (from.dimensions()[source] != to.dimensions()[target])
      return std::nullopt;
    permutation[target] = source;
  }
  return permutation;
}

llvm::Expected<bool> xla::isReshapeOrTransposeBitcast(const Shape &from,
                                                      const Shape &to,
                                                      bool ignoreElementType) {
  llvm::Expected<bool> isReshape =
      reshapeIsBitcast(from, to, ignoreElementType);
  if (!isReshape || *isReshape)
    return isReshape;
  if (!haveSameTypes(from, to, ignoreElementType))
    return false;
  auto permutation = deduceTransposePermutation(from, to);
  if (!permutation)
    return permutation.takeError();
  return permutation->has_value();
}

/// `shape`'s dimensions in physical order, descending and without attributes.
static Shape getPhysicalShape(const Shape &shape) {
  Dims sizes;
  for (int64_t dim : detail::getMajorToMinor(shape))
    sizes.push_back(shape.dimensions()[dim]);
  return Shape::array(shape.elementType(), sizes,
                      Layout::descending(shape.rank()));
}

llvm::Expected<std::optional<xla::BitcastDecomposition>>
xla::decomposeBitcast(const Shape &from, const Shape &to) {
  llvm::Expected<bool> isReshape =
      reshapeIsBitcast(from, to, /*ignoreElementType=*/true);
  if (!isReshape)
    return isReshape.takeError();
  bool sameWidths =
      getBitWidth(from.elementType()) == getBitWidth(to.elementType());
  // Both counted just now.
  if (!sameWidths || llvm::cantFail(shape_util::elementsIn(from)) !=
                         llvm::cantFail(shape_util::elementsIn(to)))
    return std::nullopt;

  BitcastDecomposition result;
  result.reshapeFrom = from;
  result.reshapeTo = to;
  if (*isReshape)
    return result;
  auto permutation = deduceTransposePermutation(from, to);
  if (!permutation)
    return permutation.takeError();
  if (*permutation) {
    result.kind = BitcastDecomposition::Kind::Transpose;
    result.first = **permutation;
    result.reshapeFrom = result.reshapeTo = to;
    return result;
  }
  result.kind = BitcastDecomposition::Kind::TransposeReshapeTranspose;
  result.first = detail::getMajorToMinor(from);
  result.reshapeFrom = getPhysicalShape(from);
  result.reshapeTo = getPhysicalShape(to);
  result.last = layout_util::makeLogicalToPhysical(to.layoutOrDefault());
  return result;
}

/// The groups' numbers from the slowest to the fastest, if the dimensions of
/// each that are not 1 lie together in descending order.
static std::optional<Dims>
orderGroups(const Shape &from, llvm::ArrayRef<detail::ReshapeGroup> groups) {
  Dims order;
  int64_t expected = 0, end = 0;
  for (int64_t dim : detail::getMajorToMinor(from)) {
    if (from.dimensions()[dim] == 1)
      continue;
    if (expected == end) {
      const auto *group = llvm::find_if(groups, [&](const auto &candidate) {
        return dim >= candidate.beginFrom && dim < candidate.endFrom;
      });
      order.push_back(group - groups.begin());
      expected = group->beginFrom;
      end = group->endFrom;
    }
    while (expected < end && from.dimensions()[expected] == 1)
      ++expected;
    if (dim != expected)
      return std::nullopt;
    ++expected;
    while (expected < end && from.dimensions()[expected] == 1)
      ++expected;
  }
  return order;
}

llvm::Expected<std::optional<Shape>> xla::alignLayouts(const Shape &from,
                                                       const Shape &to) {
  auto counts = detail::countElements(from, to);
  if (!counts)
    return counts.takeError();
  if (counts->first != counts->second)
    return std::nullopt;

  Shape result = to;
  result.setLayout(Layout::descending(to.rank()));
  if (counts->first == 0)
    return result;
  llvm::SmallVector<detail::ReshapeGroup, 6> groups =
      detail::getReshapeGroups(from.dimensions(), to.dimensions());
  std::optional<Dims> order = orderGroups(from, groups);
  if (!order)
    return std::nullopt;

  // Dimensions of size 1 may lie anywhere: those whose group has no others
  // come first.
  Dims majorToMinor;
  for (auto [i, group] : llvm::enumerate(groups))
    if (!llvm::is_contained(*order, i))
      llvm::append_range(majorToMinor, llvm::seq(group.beginTo, group.endTo));
  for (int64_t i : *order)
    llvm::append_range(majorToMinor,
                       llvm::seq(groups[i].beginTo, groups[i].endTo));
  result.mutableLayout().minorToMajor.assign(majorToMinor.rbegin(),
                                             majorToMinor.rend());
  return result;
}
