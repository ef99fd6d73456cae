//===- RandomLayouts.h - Random shapes and layouts for tests ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_RANDOMLAYOUTS_H
#define TESSERA_UNITTESTS_RANDOMLAYOUTS_H

#include "RandomNumbers.h"

#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"

namespace tessera {

/// Makes small shapes and layouts with every feature of the notation: odd
/// sizes, 0 and 1, ranks 0 to 8, nested tiles that do and don't divide, tiles
/// longer than the list, `*`, PD, PV, L and E.
class RandomLayouts : public RandomNumbers {
public:
  explicit RandomLayouts(uint64_t seed, int64_t maxPositions = 4096)
      : RandomNumbers(seed), maxPositions(maxPositions) {}

  /// Sixty-four random bits.
  uint64_t next() { return engine(); }

  /// At most half of `maxPositions` elements.
  llvm::SmallVector<int64_t> dimensions() {
    int64_t rank = oneIn(6) ? number(5, 8) : number(0, 4);
    int64_t largest = rank <= 1 ? 200 : rank == 2 ? 40 : rank <= 4 ? 9 : 4;
    int64_t left = maxPositions / 2;
    llvm::SmallVector<int64_t> dims;
    for (int64_t i = 0; i < rank; ++i) {
      dims.push_back(oneIn(40) ? 0 : number(1, std::min(largest, left)));
      left /= std::max<int64_t>(dims.back(), 1);
    }
    return dims;
  }

  PrimitiveType elementType() {
    auto isElement = [](PrimitiveType type) { return isArrayElement(type); };
    llvm::SmallVector<PrimitiveType> types(
        llvm::make_filter_range(allPrimitiveTypes(), isElement));
    return types[number(0, types.size() - 1)];
  }

  /// A legal layout of at most `maxPositions` positions.
  Layout layout(llvm::ArrayRef<int64_t> dims, PrimitiveType type) {
    while (true) {
      Layout layout = anyLayout(dims, type);
      if (llvm::Error error = verifyLayout(layout, type, dims)) {
        llvm::consumeError(std::move(error));
        continue;
      }
      llvm::Expected<AxisList> axes = AxisList::get(dims, layout);
      if (!axes)
        llvm::consumeError(axes.takeError());
      else if (axes->numAllocated() <= maxPositions)
        return layout;
    }
  }

private:
  int64_t tileSize() {
    static constexpr int64_t kUsual[] = {1, 2, 2, 4, 8, 8, 16, 128};
    return oneIn(4) ? number(1, 9) : kUsual[number(0, 7)];
  }

  Tile tile(size_t rank) {
    Tile tile;
    int64_t length = number(1, rank + (oneIn(4) ? 3 : 1));
    for (int64_t i = 0; i < length; ++i)
      tile.sizes.push_back(i + 1 < length && oneIn(6) ? Tile::kCombine
                                                      : tileSize());
    return tile;
  }

  Layout anyLayout(llvm::ArrayRef<int64_t> dims, PrimitiveType type) {
    Layout layout = Layout::descending(dims.size());
    if (!oneIn(3))
      std::shuffle(layout.minorToMajor.begin(), layout.minorToMajor.end(),
                   engine);
    for (int64_t i = oneIn(5) ? 0 : number(1, 3); i > 0; --i)
      layout.tiles.push_back(tile(std::min<size_t>(dims.size(), 3)));
    if (oneIn(5))
      for (int64_t dim : dims)
        layout.paddedDimensions.push_back(dim + number(0, 3));
    if (oneIn(5))
      layout.tailPaddingAlignment = number(1, 100);
    if (oneIn(3))
      layout.elementSizeInBits =
          oneIn(4) ? getByteWidth(type) * 8 : getBitWidth(type);
    if (oneIn(3))
      layout.paddingValue = static_cast<PaddingValue>(number(0, 3));
    return layout;
  }

  int64_t maxPositions;
};

} // namespace tessera

#endif // TESSERA_UNITTESTS_RANDOMLAYOUTS_H
