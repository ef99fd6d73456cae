//===- Bitcast.h - Same bytes, another reading ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file compares the buffers of two arrays: whether a relayout, reshape or
// transposition moves any byte, whether one array may be read as the other, and
// how many elements are contiguous in both buffers.
//
// An operation that moves no byte maps each element of the first array to an
// element of the second one at the same position. The *index mapping* says
// which element that is. It gives the logical indices of both arrays as
// expressions of common variables:
//
//   relayout   f32[8,128]                variables i < 8, j < 128
//                                        from (i, j), to (i, j)
//   transpose  f32[8,128] to f32[128,8]  from (i, j), to (j, i)
//   reshape    f32[4,6,5] to f32[24,5]   variables i < 24, j < 5
//                                        from (i floordiv 6, i mod 6, j),
//                                        to (i, j)
//
// Substitution into the two axis lists gives the positions as functions of the
// variables. They are compared symbolically: a function of one variable is a
// sum of its digits times strides, which has a unique normal form. Only
// variables for which there is none (divisors without a chain, `*` over axes
// that are not aligned) are enumerated, up to BitcastOptions::enumerationCap.
//
// Example: is the transposition of f32[8,128]{1,0} to f32[128,8]{0,1} free? The
// position of (i, j) is 128 * i + j in the first array. In the second one its
// element is (j, i), at 128 * i + j as well: yes. With {1,0} on both sides the
// second position is 8 * j + i, and the answer is no, with a witness: "element
// (1,0) is at position 128 of the first, but as (0,1) at 1 of the second".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_BITCAST_H
#define TESSERA_LAYOUT_BITCAST_H

#include "tessera/Layout/AxisList.h"

namespace tessera {

enum class Answer : uint8_t { Yes, No, Unknown };

struct BitcastAnswer {
  Answer answer = Answer::Unknown;
  /// For No and Unknown: why, with both numbers. For a position that differs,
  /// the witness: an index and its two positions.
  std::string reason;

  explicit operator bool() const { return answer == Answer::Yes; }
};

struct BitcastOptions {
  /// Elements that an enumeration may visit before the answer is Unknown.
  int64_t enumerationCap = int64_t(1) << 24;
  /// Whether S may differ (`fused` of tessera.bitcast).
  bool ignoreMemorySpace = false;
};

/// The rule of tessera.bitcast: footprints equal in bits, spaces equal, and
/// every position that `to` reads as an element is an element's position in
/// `from`; element widths may differ (positions are then compared as bits). PV
/// may be dropped, never gained.
BitcastAnswer mayBitcast(const Shape &from, const Shape &to,
                         BitcastOptions options = {});

/// Whether a relayout `from` -> `to` (same dimensions and type) moves nothing:
/// equal footprints in bits, equal spaces, every element at the same position,
/// and no PV gained.
BitcastAnswer isRelayoutBitcast(const Shape &from, const Shape &to,
                                BitcastOptions options = {});

/// The same for the row-major logical reshape from one to the other.
BitcastAnswer isReshapeBitcast(const Shape &from, const Shape &to,
                               BitcastOptions options = {});

/// The same for the transposition with to.dim[i] = from.dim[permutation[i]].
/// A permutation that does not fit the shapes is answered No with the reason.
BitcastAnswer isTransposeBitcast(const Shape &from, const Shape &to,
                                 llvm::ArrayRef<int64_t> permutation,
                                 BitcastOptions options = {});

/// Elements in the longest run that every copy step can move at once: the
/// largest n such that both buffers are made of whole runs of n neighbours
/// that are the same n elements, in the same order, on both sides (the last run
/// of a ragged row may be shorter). At least 1; 0 for an empty array. Beyond
/// 65,536 positions, a run that only happens to go on behind a ragged row ends
/// there.
llvm::Expected<int64_t> largestContiguousRun(const Shape &from,
                                             const Shape &to);

} // namespace tessera

#endif // TESSERA_LAYOUT_BITCAST_H
