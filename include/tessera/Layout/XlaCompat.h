//===- XlaCompat.h - What XLA itself answers --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes, addresses and bitcast tests as XLA's ShapeUtil, LayoutUtil and
// IndexUtil compute them, deviations from the full rule of tiles included: to
// compare with XLA, and to see where the two part. Nothing else in the project
// computes with them. The truth about memory is elsewhere:
//
//   here                        the full rule
//   byteSizeOf, arraySize       getSize (Size.h): bytes
//   arrayDataSize               AxisList::linearIndex of the last element
//   multidimensionalIndex...,   AxisList::linearIndex, logicalIndex
//     linearIndex
//   byteStrides                 AxisList::logicalStrides
//   reshapeIsBitcast            isReshapeBitcast (Bitcast.h)
//   transposeIsBitcast          isTransposeBitcast (Bitcast.h)
//
// All functions take arrays, unless said otherwise, and answer with an error
// for other shapes, for unbounded dimensions, where a product leaves 64 bits
// (XLA wraps) and where a tile has `*` (XLA multiplies by its mark). An array
// without a layout has the descending one. PD and PV, which XLA has not, are
// ignored.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_XLACOMPAT_H
#define TESSERA_LAYOUT_XLACOMPAT_H

#include "tessera/Layout/Shape.h"

namespace tessera {
namespace xla {

//===----------------------------------------------------------------------===//
// Sizes in bytes
//===----------------------------------------------------------------------===//

/// Elements times E bits, or times the byte width; tiles, L and SC are ignored.
llvm::Expected<int64_t> byteSizeOfElements(const Shape &shape);

/// byteSizeOfElements of an array. `pointerSize` times the number of elements
/// of a tuple, whatever they are; 0 for a token, `pointerSize` for an opaque.
llvm::Expected<int64_t> byteSizeOf(const Shape &shape, int64_t pointerSize = 8);

/// Without tiles byteSizeOfElements (L is forgotten). With tiles: each
/// dimension counts with its largest SC piece, the dimensions under the first
/// tile are rounded up to it, the product is rounded up to L. Padding by later
/// tiles is not seen: bf16[24,256]{1,0:T(8,128)(2,1,1,1)} has 12288 here and
/// 16384 bytes in truth.
llvm::Expected<int64_t> arraySize(const Shape &shape);

/// The bytes up to the end of the last element: linearIndex of the last index,
/// plus one. Negative for some empty tiled arrays, as in XLA: -492 for
/// f32[0,5]{1,0:T(8,128)}.
llvm::Expected<int64_t> arrayDataSize(const Shape &shape);

/// Bytes of the elements alone in a serialized literal: pred and types narrower
/// than a byte are packed. Tuples are the sum of their elements; tokens and
/// opaques cannot be serialized.
llvm::Expected<int64_t> serializedDataSize(const Shape &shape);

/// The step in bytes along each dimension, from minor_to_major and the byte
/// width alone. Nothing if E is no whole number of bytes.
llvm::Expected<std::optional<llvm::SmallVector<int64_t, 6>>>
byteStrides(const Shape &shape);
/// The same whatever E is.
llvm::Expected<llvm::SmallVector<int64_t, 6>>
unpackedByteStrides(const Shape &shape);

//===----------------------------------------------------------------------===//
// Addresses in elements
//===----------------------------------------------------------------------===//

/// IndexUtil's: mixed radix over minor_to_major; tiles are ignored.
llvm::Expected<int64_t>
multidimensionalIndexToLinearIndex(const Shape &shape,
                                   llvm::ArrayRef<int64_t> index);
/// The inverse, for positions in [0, number of elements).
llvm::Expected<llvm::SmallVector<int64_t, 6>>
linearIndexToMultidimensionalIndex(const Shape &shape, int64_t position);

/// The step in elements along a dimension; -1 is the last one.
llvm::Expected<int64_t> getDimensionStride(const Shape &shape, int64_t dim);

/// LayoutUtil's: the first tile only, and that not at rank 1. The index need
/// not be in bounds.
llvm::Expected<int64_t> linearIndex(const Shape &shape,
                                    llvm::ArrayRef<int64_t> index);

//===----------------------------------------------------------------------===//
// Bitcasts
//===----------------------------------------------------------------------===//

/// Whether the row-major reshape is a bitcast by minor_to_major; T, S, L, E are
/// ignored. Element types must agree unless ignored.
llvm::Expected<bool> reshapeIsBitcast(const Shape &from, const Shape &to,
                                      bool ignoreElementType = false);

/// Whether the transposition to.dim[i] = from.dim[permutation[i]] is one by
/// XLA's formula, which is exact even for dimensions of size 1.
llvm::Expected<bool> transposeIsBitcast(const Shape &from, const Shape &to,
                                        llvm::ArrayRef<int64_t> permutation,
                                        bool ignoreElementType = false);

/// The permutation of the transposition that leaves every element where it is
/// and gives `to`, when there is one and XLA's formula takes it.
llvm::Expected<std::optional<llvm::SmallVector<int64_t, 6>>>
deduceTransposePermutation(const Shape &from, const Shape &to);

/// One of the two, with that permutation.
llvm::Expected<bool>
isReshapeOrTransposeBitcast(const Shape &from, const Shape &to,
                            bool ignoreElementType = false);

/// A bitcast as a reshape, as a transposition, or as transposition, reshape,
/// transposition.
struct BitcastDecomposition {
  enum class Kind : uint8_t { Reshape, Transpose, TransposeReshapeTranspose };

  Kind kind = Kind::Reshape;
  /// The permutation of the (first) transposition. Of three steps it brings
  /// `from` into descending order and leaves the memory as it is.
  llvm::SmallVector<int64_t, 6> first;
  /// What the reshape starts from and what it makes. Of three steps, both are
  /// in descending order without tiles.
  Shape reshapeFrom, reshapeTo;
  /// The permutation of the last of three steps; it too moves nothing.
  llvm::SmallVector<int64_t, 6> last;
};
/// Nothing where element widths in bits or numbers of elements differ.
llvm::Expected<std::optional<BitcastDecomposition>>
decomposeBitcast(const Shape &from, const Shape &to);

/// `to` in an order without tiles that makes the reshape from `from` a bitcast
/// for reshapeIsBitcast, or nothing where there is none.
llvm::Expected<std::optional<Shape>> alignLayouts(const Shape &from,
                                                  const Shape &to);

} // namespace xla
} // namespace tessera

#endif // TESSERA_LAYOUT_XLACOMPAT_H
