//===- main.cpp - Host buffers to tiles and back --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBuffer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

/// There and back.
static bool roundTrip(const Shape &shape, const Layout &layout) {
  int64_t count =
      std::accumulate(shape.dimensions.begin(), shape.dimensions.end(),
                      int64_t(1), std::multiplies<>());
  std::vector<uint16_t> rows(count), back(count);
  std::iota(rows.begin(), rows.end(), uint16_t(1));
  std::vector<char> tiles(TiledBytes(shape, layout), 0x7F);
  std::string error = TileBuffer(rows.data(), tiles.data(), shape, layout);
  if (error.empty())
    error = DetileBuffer(tiles.data(), back.data(), shape, layout);
  // In one buffer, which has the rows in front.
  std::vector<char> both(std::max(tiles.size(), rows.size() * 2));
  std::memcpy(both.data(), rows.data(), rows.size() * 2);
  if (error.empty())
    error = TileBufferInPlace(both.data(), both.size(), shape, layout);
  bool isSame =
      rows == back && std::equal(tiles.begin(), tiles.end(), both.begin());
  std::printf("%zu bytes in %zu: %s\n", rows.size() * 2, tiles.size(),
              !error.empty() ? error.c_str()
              : isSame       ? "the same again"
                             : "OTHERS came back");
  return error.empty() && isSame;
}

int main() {
  Layout tpu = {{1, 0}, {{8, 128}, {2, 1}}};
  bool isRight = roundTrip({"bf16", {127, 257}}, tpu);
  isRight &= roundTrip({"bf16", {4096, 2048}}, tpu);
  isRight &= roundTrip({"f16", {3, 50, 70}}, {{0, 2, 1}, {{16, 128}}});

  uint16_t rows[6] = {1, 2, 3, 4, 5, 6}, tiles[8];
  Shape shape = {"bf16", {2, 3}};
  TileBuffer(rows, tiles, shape, {{1, 0}, {{2, 4}, {2, 1}}});
  for (uint16_t element : tiles)
    std::printf("%d ", element);
  std::printf("\n%s\n",
              TileBuffer(rows, tiles, shape, {{1, 1}, {{8, 128}}}).c_str());
  return isRight ? 0 : 1;
}
