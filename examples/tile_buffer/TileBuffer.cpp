//===- TileBuffer.cpp - Host buffers to tiles and back --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBuffer.h"

#include "tessera/Runtime/Runtime.h"

#include <algorithm>
#include <thread>

using tessera::RuntimeError;
using tessera::RuntimeRelayout;

namespace {
/// The two sides as the runtime takes them.
struct Sides {
  Sides(const Shape &shape, const Layout &layout) {
    for (const std::vector<int64_t> &tile : layout.tiles) {
      tileDims.insert(tileDims.end(), tile.begin(), tile.end());
      tileDimSizes.push_back(tile.size());
    }
    dense.elementType = shape.element_type.c_str();
    dense.dimensions = {shape.dimensions.data(), shape.dimensions.size()};
    tiled = dense;
    tiled.minorToMajor = {layout.minor_to_major.data(),
                          layout.minor_to_major.size()};
    tiled.tileDims = {tileDims.data(), tileDims.size()};
    tiled.tileDimSizes = tileDimSizes.data();
    tiled.numTiles = tileDimSizes.size();
  }

  TesseraRuntimeArray dense = {}, tiled = {};
  std::vector<int64_t> tileDims;
  std::vector<size_t> tileDimSizes;
};
} // namespace

static RuntimeError create(const TesseraRuntimeArray &src,
                           const TesseraRuntimeArray &dst,
                           RuntimeRelayout &relayout) {
  TesseraRuntimeOptions options = {};
  options.zeroPadding = true;
  return RuntimeRelayout::create(src, dst, options, relayout);
}

/// Moves all of it, by several threads if it is large. A relayout takes a few
/// microseconds to make; a program that has many small ones of one shape keeps
/// it.
static std::string move(const TesseraRuntimeArray &srcArray,
                        const TesseraRuntimeArray &dstArray, const void *src,
                        void *dst) {
  RuntimeRelayout relayout;
  if (RuntimeError error = create(srcArray, dstArray, relayout))
    return error.getMessage();
  int64_t threads = std::max(1U, std::thread::hardware_concurrency());
  return relayout
      .runParallel(src, relayout.getSourceBytes(), dst,
                   relayout.getDestinationBytes(),
                   std::min<int64_t>(threads, 64))
      .getMessage();
}

int64_t TiledBytes(const Shape &shape, const Layout &layout) {
  Sides sides(shape, layout);
  RuntimeRelayout relayout;
  if (create(sides.dense, sides.tiled, relayout))
    return -1;
  return relayout.getDestinationBytes();
}

std::string TileBuffer(const void *src, void *dst, const Shape &shape,
                       const Layout &layout) {
  Sides sides(shape, layout);
  return move(sides.dense, sides.tiled, src, dst);
}

std::string DetileBuffer(const void *src, void *dst, const Shape &shape,
                         const Layout &layout) {
  Sides sides(shape, layout);
  return move(sides.tiled, sides.dense, src, dst);
}

std::string TileBufferInPlace(void *buffer, size_t capacity, const Shape &shape,
                              const Layout &layout) {
  Sides sides(shape, layout);
  RuntimeRelayout relayout;
  if (RuntimeError error = create(sides.dense, sides.tiled, relayout))
    return error.getMessage();
  return relayout.runInPlace(buffer, capacity).getMessage();
}
