//===- RowLines.h - Rows that are streamed as lines -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_ROWLINES_H
#define TESSERA_LIB_RUNTIME_ROWLINES_H

#include "CopyKernels.h"

namespace tessera::runtime {
namespace {

/// Up to `MostRows` rows of the destination, which begin anywhere in a line and
/// are written side by side: pieces of them are put into a buffer in the
/// first-level cache, from which whole lines are streamed. What is left of the
/// last line of each row waits for the next piece. All pieces have `Piece`
/// bytes of each row, but for the last one, which may have a line more.
template <int64_t MostRows, int64_t Piece> class RowLines {
public:
  /// Rows of the destination, `pitch` bytes apart.
  void begin(char *dst, int64_t numRows, int64_t pitch) {
    next = dst;
    rows = numRows;
    dstPitch = pitch;
    isFirst = true;
  }

  /// Where the next piece of the first row is put.
  TESSERA_INLINE char *get() { return getRow(0); }
  /// Bytes from one row in the buffer to the next: rows begin at the same place
  /// of a line as they do in the destination.
  TESSERA_INLINE int64_t getPitch() const {
    return kRow + (dstPitch & (kLineBytes - 1));
  }

  /// Streams a piece of so many bytes of each row.
  void write(int64_t size, bool isLast) {
    for (int64_t k = 0; k < rows; ++k) {
      char *to = next + k * dstPitch;
      int64_t part = bytesFromLine(to), waiting = isFirst ? 0 : part;
      char *from = getRow(k) - waiting;
      to -= waiting;
      if (isLast) {
        streamRun(from, to, size + waiting);
        continue;
      }
      // The first line of a row is written in part.
      int64_t head = bytesToLine(to);
      copyRun(from, to, head);
      int64_t lines = (size + waiting - head) / kLineBytes * kLineBytes;
      streamWholeLines(from + head, to + head, lines);
      copyFixed<kLineBytes>(from + head + lines, getRow(k) - part);
    }
    next += size;
    isFirst = false;
  }

private:
  /// With what waits of the line before, and a line more.
  static constexpr int64_t kRow = Piece + 2 * kLineBytes;

  TESSERA_INLINE char *getRow(int64_t k) {
    return buffer + bytesFromLine(next) + k * getPitch();
  }

  char *next = nullptr;
  int64_t rows = 0, dstPitch = 0;
  bool isFirst = true;
  alignas(kLineBytes) char buffer[MostRows * (kRow + kLineBytes) + kLineBytes];
};

} // namespace
} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_ROWLINES_H
