//===- RandomShape.h - Random shapes and layouts ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small random arrays with layouts that reach every corner of the notation:
// ranks 0 to 7, up to four tiles, `*` over remainders and counts, tiles longer
// than the rank, tiles that do not divide, PD, L, sizes 0 and 1, scalars.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_LAYOUT_RANDOMSHAPE_H
#define TESSERA_UNITTESTS_LAYOUT_RANDOMSHAPE_H

#include "../RandomNumbers.h"

#include "tessera/Layout/Shape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace tessera {

class RandomShapes : public RandomNumbers {
public:
  using RandomNumbers::RandomNumbers;

  int64_t oneOf(llvm::ArrayRef<int64_t> values) {
    return values[number(0, values.size() - 1)];
  }

  llvm::SmallVector<int64_t, 6> permutation(int64_t rank) {
    auto order = llvm::to_vector<6>(llvm::seq<int64_t>(0, rank));
    std::shuffle(order.begin(), order.end(), engine);
    return order;
  }

  /// At most `maxElements` in all; a size is 0 now and then, and often 1.
  llvm::SmallVector<int64_t, 6> dimensions(int64_t maxElements) {
    llvm::SmallVector<int64_t, 6> sizes(number(0, 7));
    int64_t room = maxElements;
    for (int64_t &size : sizes) {
      int64_t largest = std::min<int64_t>(room, oneIn(3) ? 40 : 9);
      size = oneIn(60) ? 0 : oneIn(5) ? 1 : number(1, largest);
      room /= std::max<int64_t>(size, 1);
    }
    std::shuffle(sizes.begin(), sizes.end(), engine);
    return sizes;
  }

  /// A tile for a list of `length` axes, at times a longer one.
  Tile tile(int64_t length) {
    Tile result;
    result.sizes.resize(number(1, std::min<int64_t>(length + 2, 6)));
    for (int64_t &size : result.sizes)
      size = oneIn(6) ? Tile::kCombine : oneOf({1, 2, 2, 3, 4, 4, 5, 8});
    if (result.sizes.back() == Tile::kCombine)
      result.sizes.back() = oneOf({2, 3, 4, 128});
    return result;
  }

  Layout layout(llvm::ArrayRef<int64_t> dimensions) {
    Layout result;
    int64_t length = dimensions.size();
    result.minorToMajor = permutation(length);
    for (int64_t i = number(0, 4); i > 0 && !oneIn(3); --i) {
      result.tiles.push_back(tile(length));
      length += result.tiles.back().sizes.size();
    }
    if (oneIn(5))
      for (int64_t size : dimensions)
        result.paddedDimensions.push_back(size + number(0, 3));
    if (oneIn(5))
      result.tailPaddingAlignment = number(1, 40);
    return result;
  }
};

} // namespace tessera

#endif // TESSERA_UNITTESTS_LAYOUT_RANDOMSHAPE_H
