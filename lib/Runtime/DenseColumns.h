//===- DenseColumns.h - Transposes to columns that share lines --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_DENSECOLUMNS_H
#define TESSERA_LIB_RUNTIME_DENSECOLUMNS_H

#include "LineBuffer.h"
#include "TransposeBlocks.h"

namespace tessera::runtime {
namespace {

/// Columns that lie one behind another in the destination, begin anywhere in a
/// line and have few lines: pieces are transposed into a buffer from which
/// whole lines are streamed.
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

  /// `next` is where the source of the next block begins.
  void add(const Block &block, const char *next) {
    Block piece = block, ahead = block;
    for (int64_t c = 0; c < block.columns; c += piece.columns) {
      piece.columns = takeBlock(block.columns - c, most, kLine);
      piece.src = block.src + c * RunBytes;
      piece.dst = block.dst + c * block.dstPitch;
      int64_t left = block.columns - c - piece.columns;
      ahead.src = left > 0 ? piece.src + piece.columns * RunBytes : next;
      ahead.columns = least(left > 0 ? left : block.columns, most);
      transposePiece(piece, ahead);
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

  /// Columns that read a line of each row at a time. Meanwhile those of the
  /// piece ahead are prefetched, row by row; to the first-level cache, which
  /// has room for two pieces, where they are read from end to end.
  void transposePiece(const Block &piece, const Block &ahead) {
    Block group = piece;
    int64_t groups = (piece.columns + kLine - 1) / kLine;
    int64_t rowsAhead = (piece.rows + groups - 1) / groups;
    int64_t linesAhead = (ahead.columns + kLine - 1) / kLine;
    bool isReadInOrder = piece.srcPitch == piece.columns * RunBytes;
    const char *row = ahead.src, *end = row + ahead.rows * ahead.srcPitch;
    for (int64_t c = 0; c < piece.columns; c += group.columns) {
      for (int64_t i = 0; i < rowsAhead && row != end; ++i) {
        if (isReadInOrder)
          prefetchRows</*Locality=*/3>(row, kLineBytes, linesAhead);
        else
          prefetchRows(row, kLineBytes, linesAhead);
        row += ahead.srcPitch;
      }
      group.columns =
          takeBlock(piece.columns - c, kLine, kLaneBytes / RunBytes);
      group.src = piece.src + c * RunBytes;
      char *dst = piece.dst + c * piece.dstPitch;
      group.dst = lines.get(dst);
      transposeBlock<RunBytes>(group);
      lines.endAt(dst + group.columns * piece.dstPitch);
    }
  }

  const int64_t most;
  LineBuffer<kMostPieceBytes> lines;
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
