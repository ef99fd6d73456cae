//===- TilingModel.h - Brute-force model of tiling --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule of XLA's "Tiled layout" page for one element, written down as it
// stands there and without a look at AxisList: an index is pushed through the
// tiles together with the sizes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_LAYOUT_TILINGMODEL_H
#define TESSERA_UNITTESTS_LAYOUT_TILINGMODEL_H

#include "tessera/Layout/Layout.h"

#include <vector>

namespace tessera {

/// Sizes and index of the physical array, both major to minor.
struct TiledElement {
  __extension__ using Wide = __int128;

  std::vector<Wide> sizes;
  std::vector<Wide> index;

  TiledElement(llvm::ArrayRef<int64_t> dimensions, const Layout &layout,
               llvm::ArrayRef<int64_t> logicalIndex) {
    for (size_t i = dimensions.size(); i-- > 0;) {
      int64_t dim = layout.minorToMajor[i];
      bool isPadded = !layout.paddedDimensions.empty() && dimensions[dim] != 0;
      sizes.push_back(isPadded ? layout.paddedDimensions[dim]
                               : dimensions[dim]);
      index.push_back(logicalIndex[dim]);
    }
    for (const Tile &tile : layout.tiles)
      apply(tile);
  }

  void apply(const Tile &tile) {
    while (sizes.size() < tile.sizes.size()) {
      sizes.insert(sizes.begin(), 1);
      index.insert(index.begin(), 0);
    }
    size_t first = sizes.size() - tile.sizes.size();
    std::vector<Wide> newSizes(sizes.begin(), sizes.begin() + first);
    std::vector<Wide> newIndex(index.begin(), index.begin() + first);
    std::vector<Wide> inner, innerIndex;
    Wide size = 1, value = 0; // What stars have gathered so far.
    for (size_t i = 0; i < tile.sizes.size(); ++i) {
      size = size * sizes[first + i];
      value = value * sizes[first + i] + index[first + i];
      if (tile.sizes[i] == Tile::kCombine)
        continue;
      newSizes.push_back((size + tile.sizes[i] - 1) / tile.sizes[i]);
      newIndex.push_back(value / tile.sizes[i]);
      inner.push_back(tile.sizes[i]);
      innerIndex.push_back(value % tile.sizes[i]);
      size = 1, value = 0;
    }
    newSizes.insert(newSizes.end(), inner.begin(), inner.end());
    newIndex.insert(newIndex.end(), innerIndex.begin(), innerIndex.end());
    sizes = newSizes, index = newIndex;
  }

  int64_t position() const {
    Wide result = 0;
    for (size_t i = 0; i < sizes.size(); ++i)
      result = result * sizes[i] + index[i];
    return static_cast<int64_t>(result);
  }
};

/// Moves to the next index in row-major order; false after the last.
inline bool nextIndex(llvm::MutableArrayRef<int64_t> index,
                      llvm::ArrayRef<int64_t> dimensions) {
  for (size_t i = dimensions.size(); i-- > 0;) {
    if (++index[i] < dimensions[i])
      return true;
    index[i] = 0;
  }
  return false;
}

/// All indices of an array in row-major order.
inline std::vector<llvm::SmallVector<int64_t, 6>>
allIndices(llvm::ArrayRef<int64_t> dimensions) {
  std::vector<llvm::SmallVector<int64_t, 6>> result;
  for (int64_t size : dimensions)
    if (size == 0)
      return result;
  llvm::SmallVector<int64_t, 6> index(dimensions.size(), 0);
  do
    result.push_back(index);
  while (nextIndex(index, dimensions));
  return result;
}

} // namespace tessera

#endif // TESSERA_UNITTESTS_LAYOUT_TILINGMODEL_H
