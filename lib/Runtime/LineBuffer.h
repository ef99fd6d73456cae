//===- LineBuffer.h - Bytes that are streamed as lines ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_LINEBUFFER_H
#define TESSERA_LIB_RUNTIME_LINEBUFFER_H

#include "CopyKernels.h"

namespace tessera::runtime {
namespace {

/// Bytes of the destination that follow one another and begin anywhere in a
/// line: they are put into a buffer in the first-level cache, from which whole
/// lines are streamed. What is left of the last one waits for what comes next:
///
///   buffer   | .  .  1  1 | 1  2  2  2 | 3  3
///   next     | 3  3  3  4 | 4  4 ...
///
/// `Most` bytes are put there at a time.
template <int64_t Most> class LineBuffer {
public:
  LineBuffer() = default;
  LineBuffer(const LineBuffer &) = delete;
  LineBuffer &operator=(const LineBuffer &) = delete;
  ~LineBuffer() { finish(); }

  /// Where the bytes that belong to `dst` are put.
  TESSERA_INLINE char *get(char *dst) {
    if (dst != line + filled)
      begin(dst);
    else if (filled >= kMany)
      write();
    return buffer + filled;
  }
  /// They end at `end` of the destination.
  TESSERA_INLINE void endAt(const char *end) { filled = end - line; }

private:
  /// Few bytes wait: processors read what comes next while these are streamed.
  static constexpr int64_t kMany = 1 << 10;

  void begin(char *dst) {
    finish();
    first = filled = bytesFromLine(dst);
    line = dst - first;
  }

  /// The lines that are full.
  void write() {
    int64_t whole = filled / kLineBytes * kLineBytes;
    int64_t part = first > 0 ? kLineBytes : 0;
    copyRun(buffer + first, line + first, part - first);
    streamWholeLines(buffer + part, line + part, whole - part);
    copyFixed<kLineBytes>(buffer + whole, buffer);
    line += whole;
    filled -= whole;
    first = 0;
  }

  void finish() {
    if (filled >= kLineBytes)
      write();
    copyRun(buffer + first, line + first, filled - first);
  }

  /// The line of the destination that the buffer begins with, how many bytes of
  /// it others write, and how many bytes are in the buffer with these.
  char *line = nullptr;
  int64_t first = 0, filled = 0;
  alignas(kLineBytes) char buffer[kMany + Most + kLineBytes];
};

} // namespace
} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_LINEBUFFER_H
