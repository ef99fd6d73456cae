//===- DenseColumns.h - Transposes to columns that share lines --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_DENSECOLUMNS_H
#define TESSERA_LIB_RUNTIME_DENSECOLUMNS_H

#include "TransposeBlocks.h"

namespace tessera::runtime {
namespace {

/// Columns that lie one behind another in the destination, begin anywhere in a
/// line and have few lines: pieces are transposed into a buffer in the
/// first-level cache, from which whole lines are streamed. What is left of the
/// last one waits for what comes behind it, which may be the next block:
///
///   buffer   | .  .  1  1 | 1  2  2  2 | 3  3
///   next     | 3  3  3  4 | 4  4 ...
template <int RunBytes> class DenseColumns {
public:
  /// A line of each of so many rows, and what waits, are half of the cache.
  static constexpr int64_t kMostRows = 256;
  /// Smaller blocks take longer to begin than the caches do.
  static constexpr int64_t kLeastBytes = 3 << 9;

  static bool suits(const Job &job) {
    int64_t size = job.rows.count * RunBytes, columns = job.columns.count;
    return job.columns.dst == size && !isOnLine(size) && size >= kLaneBytes &&
           job.rows.count <= kMostRows && size * columns >= kLeastBytes;
  }

  explicit DenseColumns(const Job &job)
      : most(getMostColumns(job.rows.count * RunBytes)) {}
  DenseColumns(const DenseColumns &) = delete;
  DenseColumns &operator=(const DenseColumns &) = delete;
  ~DenseColumns() { finish(); }

  /// `next` is where the source of the next block begins.
  void add(const Block &block, const char *next) {
    if (block.dst != line + filled)
      begin(block.dst);
    Block piece = block, ahead = block;
    for (int64_t c = 0; c < block.columns; c += piece.columns) {
      piece.columns = takeBlock(block.columns - c, most, kLine);
      piece.src = block.src + c * RunBytes;
      int64_t left = block.columns - c - piece.columns;
      ahead.src = left > 0 ? piece.src + piece.columns * RunBytes : next;
      ahead.columns = least(left > 0 ? left : block.columns, most);
      transposePiece(piece, ahead);
      if (filled >= kPieceBytes / 2)
        write();
    }
  }

private:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;
  /// Of a piece, unless a line of each row is more.
  static constexpr int64_t kPieceBytes = 1 << 13;
  /// A piece and what is left of one has less than two lines of each row.
  static constexpr int64_t kMostPieceBytes = 2 * kMostRows * kLineBytes;

  /// Columns that read whole lines of rows.
  static int64_t getMostColumns(int64_t size) {
    int64_t columns = kPieceBytes / size / kLine * kLine;
    return columns < kLine ? kLine : columns;
  }

  void begin(char *dst) {
    finish();
    first = filled = (kLineBytes - bytesToLine(dst)) % kLineBytes;
    line = dst - first;
  }

  /// Columns that read a line of each row at a time. Meanwhile those of the
  /// piece ahead are prefetched, row by row.
  void transposePiece(const Block &piece, const Block &ahead) {
    Block group = piece;
    int64_t groups = (piece.columns + kLine - 1) / kLine;
    int64_t rowsAhead = (piece.rows + groups - 1) / groups;
    int64_t linesAhead = (ahead.columns + kLine - 1) / kLine;
    const char *row = ahead.src, *end = row + ahead.rows * ahead.srcPitch;
    for (int64_t c = 0; c < piece.columns; c += group.columns) {
      for (int64_t i = 0; i < rowsAhead && row != end; ++i) {
        prefetchRows(row, kLineBytes, linesAhead);
        row += ahead.srcPitch;
      }
      group.columns =
          takeBlock(piece.columns - c, kLine, kLaneBytes / RunBytes);
      group.src = piece.src + c * RunBytes;
      group.dst = buffer + filled;
      transposeBlock<RunBytes>(group);
      filled += group.columns * group.dstPitch;
    }
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

  const int64_t most;
  /// The line of the destination that the buffer begins with, how many bytes of
  /// it others write, and how many bytes are in the buffer with these.
  char *line = nullptr;
  int64_t first = 0, filled = 0;
  alignas(
      kLineBytes) char buffer[kPieceBytes / 2 + kMostPieceBytes + kLineBytes];
};

template <int RunBytes>
void transposeDense(const Job &job, const char *src, char *dst) {
  DenseColumns<RunBytes> columns(job);
  int64_t step = job.numLoops > 0 ? job.loops[job.numLoops - 1].src : 0;
  walkBlocks(job, src, dst, [&columns, step](const Block &block) {
    columns.add(block, block.src + step);
  });
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_DENSECOLUMNS_H
