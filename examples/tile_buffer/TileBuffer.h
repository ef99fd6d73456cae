//===- TileBuffer.h - Host buffers to tiles and back ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two functions that programs around PJRT write by hand, layout by layout:
// here they take any layout. Shape and Layout stand for the program's own.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_EXAMPLES_TILEBUFFER_H
#define TESSERA_EXAMPLES_TILEBUFFER_H

#include <cstdint>
#include <string>
#include <vector>

struct Shape {
  std::string element_type; // bf16
  std::vector<int64_t> dimensions;
};

struct Layout {
  std::vector<int64_t> minor_to_major;
  std::vector<std::vector<int64_t>> tiles;
};

/// Bytes of the tiled buffer, padding included; -1 for shapes and layouts that
/// are not right.
int64_t TiledBytes(const Shape &shape, const Layout &layout);

/// Moves a dense row-major array into its tiles, or back. Padding becomes
/// zeros. Returns what is wrong, or nothing.
std::string TileBuffer(const void *src, void *dst, const Shape &shape,
                       const Layout &layout);
std::string DetileBuffer(const void *src, void *dst, const Shape &shape,
                         const Layout &layout);

/// The same within one buffer of `capacity` bytes, which are enough for both.
std::string TileBufferInPlace(void *buffer, size_t capacity, const Shape &shape,
                              const Layout &layout);

#endif // TESSERA_EXAMPLES_TILEBUFFER_H
