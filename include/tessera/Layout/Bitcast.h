//===- Bitcast.h - Same bytes, another reading ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Questions about two layouts at once: does a relayout, reshape or
// transposition move any byte; may one shape be read as another; how long are
// the runs that are contiguous on both sides. Answers come from the two axis
// lists: by form where that decides, else by enumeration under a cap.
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
