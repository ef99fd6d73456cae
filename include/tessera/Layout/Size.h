//===- Size.h - Elements and bytes of a shape -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_SIZE_H
#define TESSERA_LAYOUT_SIZE_H

#include "tessera/Layout/AxisList.h"

namespace tessera {

/// Bits between neighbouring elements of a buffer: E, or whole bytes.
int64_t getStorageBits(PrimitiveType type, const Layout &layout);

/// Bytes of `elements` elements: ceil(elements * storage bits / 8). An error on
/// overflow.
llvm::Expected<int64_t> getStorageBytes(int64_t elements, PrimitiveType type,
                                        const Layout &layout);

/// The sizes of a shape by the full rule (every tile, L, E, PD). For a tuple
/// the sums over its leaves; tokens and opaques count 0.
struct ShapeSize {
  /// Extents of the axes; of an array only.
  llvm::SmallVector<int64_t, 8> physicalShape;
  int64_t logicalElements = 0;   ///< Product of the dimensions.
  int64_t allocatedElements = 0; ///< Elements of the buffer, L included.
  int64_t bytes = 0;             ///< Of the buffer.
  int64_t logicalBytes = 0;      ///< Of the elements alone, at the same width.
  int64_t paddingBytes = 0;      ///< bytes - logicalBytes.

  /// bytes / logicalBytes; 1 for an empty buffer, infinity for one that holds
  /// padding only.
  double expansion() const;
};

/// Errors: *invalid* on overflow, *unsupported* for an unbounded dimension.
llvm::Expected<ShapeSize> getSize(const Shape &shape);

/// The same of what one core holds: of an array that SC splits, its largest
/// piece.
llvm::Expected<ShapeSize> getSizeOnCore(const Shape &shape);

} // namespace tessera

#endif // TESSERA_LAYOUT_SIZE_H
