//===- LayoutUtil.cpp - Building and asking layouts -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/LayoutUtil.h"
#include "UtilSupport.h"
#include "tessera/Layout/ShapeUtil.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

llvm::Expected<Layout>
layout_util::makeLayout(llvm::ArrayRef<int64_t> minorToMajor,
                        llvm::ArrayRef<Tile> tiles) {
  Layout layout;
  layout.minorToMajor.assign(minorToMajor.begin(), minorToMajor.end());
  layout.tiles.assign(tiles.begin(), tiles.end());
  if (llvm::Error error = layout.verify())
    return std::move(error);
  return layout;
}

llvm::Expected<Layout>
layout_util::makeLayoutFromMajorToMinor(llvm::ArrayRef<int64_t> majorToMinor) {
  llvm::SmallVector<int64_t, 6> minorToMajor(llvm::reverse(majorToMinor));
  return makeLayout(minorToMajor);
}

Layout layout_util::makeDescendingLayout(int64_t rank) {
  return Layout::descending(rank);
}

Layout layout_util::makeAscendingLayout(int64_t rank) {
  Layout layout = Layout::descending(rank);
  std::reverse(layout.minorToMajor.begin(), layout.minorToMajor.end());
  return layout;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool layout_util::isMonotonicWithDim0Major(const Layout &layout) {
  return llvm::is_sorted(layout.minorToMajor, std::greater<int64_t>());
}

bool layout_util::isMonotonicWithDim0Minor(const Layout &layout) {
  return llvm::is_sorted(layout.minorToMajor);
}

int64_t layout_util::minor(const Layout &layout, int64_t i) {
  return layout.minorToMajor[i];
}

int64_t layout_util::major(const Layout &layout, int64_t i) {
  return layout.minorToMajor[layout.rank() - 1 - i];
}

llvm::SmallVector<int64_t, 6>
layout_util::makeLogicalToPhysical(const Layout &layout) {
  llvm::SmallVector<int64_t, 6> result(layout.rank());
  for (int64_t i = 0; i < layout.rank(); ++i)
    result[major(layout, i)] = i;
  return result;
}

llvm::Expected<bool>
layout_util::isEffectivelyMostMajorDimension(const Shape &shape, int64_t dim) {
  llvm::Expected<int64_t> number = shape_util::getDimensionNumber(shape, dim);
  if (!number)
    return number.takeError();
  for (int64_t slower : detail::getMajorToMinor(shape)) {
    if (slower == *number)
      return true;
    if (shape.dimensions()[slower] != 1)
      return false;
  }
  llvm_unreachable("a verified layout has every dimension");
}

llvm::Expected<Layout> layout_util::moveDimToMajor(const Layout &layout,
                                                   int64_t dim) {
  const auto *found = llvm::find(layout.minorToMajor, dim);
  if (found == layout.minorToMajor.end())
    return invalidError("util_c5", "dimension",
                        "one of " + llvm::Twine(layout.rank()),
                        llvm::Twine(dim));
  Layout result = layout;
  result.minorToMajor.erase(result.minorToMajor.begin() +
                            (found - layout.minorToMajor.begin()));
  result.minorToMajor.push_back(dim);
  return result;
}

//===----------------------------------------------------------------------===//
// Whole shapes
//===----------------------------------------------------------------------===//

bool layout_util::hasLayout(const Shape &shape) {
  return (!shape.isArray() || shape.hasLayout()) &&
         llvm::all_of(shape.elements(), hasLayout);
}

void layout_util::clearLayout(Shape &shape) {
  shape.setLayout(std::nullopt);
  for (Shape &element : shape.mutableElements())
    clearLayout(element);
}

void layout_util::setToDefaultLayout(Shape &shape) {
  if (shape.isArray())
    shape.setLayout(Layout::descending(shape.rank()));
  for (Shape &element : shape.mutableElements())
    setToDefaultLayout(element);
}

bool layout_util::layoutsInShapesEqual(const Shape &lhs, const Shape &rhs,
                                       const LayoutEqual &equal) {
  if (lhs.kind() != rhs.kind() || lhs.rank() != rhs.rank() ||
      lhs.hasLayout() != rhs.hasLayout() ||
      lhs.elements().size() != rhs.elements().size())
    return false;
  if (lhs.hasLayout() && !equal(lhs.layout(), rhs.layout()))
    return false;
  return llvm::all_of(llvm::zip(lhs.elements(), rhs.elements()),
                      [&](auto pair) {
                        return layoutsInShapesEqual(std::get<0>(pair),
                                                    std::get<1>(pair), equal);
                      });
}

/// The largest gap between neighbouring splits of a dimension of `size`.
static int64_t getLargestPiece(llvm::ArrayRef<int64_t> splits, int64_t size) {
  int64_t largest = 0, previous = 0;
  for (int64_t split : splits) {
    largest = std::max(largest, split - previous);
    previous = split;
  }
  return std::max(largest, size - previous);
}

llvm::Expected<int64_t> layout_util::maxSplitSize(const Shape &shape,
                                                  int64_t dim) {
  llvm::Expected<int64_t> number = shape_util::getDimensionNumber(shape, dim);
  if (!number)
    return number.takeError();
  if (llvm::Error error = detail::requireBoundedArray(shape))
    return std::move(error);
  int64_t size = shape.dimensions()[*number];
  if (!shape.hasLayout())
    return size;
  const Layout &layout = shape.layout();
  const auto *split = llvm::find_if(layout.splitConfigs, [&](const auto &s) {
    return major(layout, s.dimension) == *number;
  });
  return split == layout.splitConfigs.end()
             ? size
             : getLargestPiece(split->indices, size);
}

llvm::Expected<int64_t> layout_util::maxElementsInPerSplit(const Shape &shape) {
  if (llvm::Error error = detail::requireBoundedArray(shape))
    return std::move(error);
  llvm::SmallVector<int64_t, 6> pieces;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    llvm::Expected<int64_t> piece = maxSplitSize(shape, dim);
    if (!piece)
      return piece.takeError();
    pieces.push_back(*piece);
  }
  if (std::optional<int64_t> product = detail::checkedProduct(pieces))
    return *product;
  return detail::overflowError(shape);
}

int64_t layout_util::packedFactorFor1DInterleavedArray(const Layout &layout) {
  bool isInterleaved = layout.rank() == 1 && layout.tiles.size() == 3 &&
                       layout.tiles[2].sizes.size() == 2;
  return isInterleaved ? layout.tiles[2].sizes[0] : 1;
}
