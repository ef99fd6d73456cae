//===- StagedRows.h - Transposes through a buffer ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_STAGEDROWS_H
#define TESSERA_LIB_RUNTIME_STAGEDROWS_H

#include "TransposeBlocks.h"

namespace tessera::runtime {
namespace {

/// Short rows are prefetched from those that come so many bytes later; longer
/// ones along the row, as more of them are read at a time than a processor
/// foresees.
constexpr int64_t kRowsAhead = 32768;
constexpr int64_t kPrefetchBytes = 2 * kLineBytes;
template <int RunBytes> TESSERA_INLINE bool isShortRow(const Block &block) {
  return block.columns * RunBytes <= kShortRow;
}
template <int RunBytes> TESSERA_INLINE int64_t getPrefetch(const Block &block) {
  return isShortRow<RunBytes>(block)
             ? kRowsAhead / (block.columns * RunBytes) * block.srcPitch
             : kPrefetchBytes;
}

/// The rows of a source that are some bytes apart.
template <int RunBytes> class PitchedRows {
public:
  PitchedRows(const char *src, int64_t pitch) : src(src), pitch(pitch) {}

  /// Those from row `r` on, where column `c` begins.
  template <int Count> TESSERA_INLINE auto get(int64_t r, int64_t c) const {
    return Rows<const char, Count>(src + r * pitch.getBytes() + c * RunBytes,
                                   pitch);
  }
  bool isInOneSet() const {
    return runtime::isInOneSet<RunBytes>(pitch.getBytes());
  }

private:
  const char *const src;
  const Pitch pitch;
};

/// The columns of a destination that are some bytes apart.
template <int RunBytes> class PitchedColumns {
public:
  PitchedColumns(char *dst, int64_t pitch) : dst(dst), pitch(pitch) {}

  /// Column `c` from row `r` on.
  TESSERA_INLINE char *get(int64_t r, int64_t c) const {
    return dst + c * pitch + r * RunBytes;
  }
  /// Where column `k` of a line lies, from the first one on.
  TESSERA_INLINE int64_t getPlace(int64_t k) const { return k * pitch; }

private:
  char *const dst;
  const int64_t pitch;
};

/// A buffer for lines of columns, where registers are shorter than a line or
/// columns evict one another: some rows, a line of each, are transposed into
/// it, and whole lines of columns are written from it at once. For `Turn` see
/// transposeTile.
template <int RunBytes, bool IsStreamed, typename Turn, typename Source,
          typename Destination>
class StagedLines {
public:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;
  /// Bytes from one column in the buffer to the next.
  static constexpr int64_t kPitch = kMostStagedRows * RunBytes;

  StagedLines(const Source &source, const Destination &destination,
              int64_t prefetch)
      : source(source), destination(destination), prefetch(prefetch),
        isGathered(kTileRows > kCacheWays && source.isInOneSet()) {}

  char *getBuffer() { return buffer; }

  /// Rows of whole lines, a line of each.
  void transpose(int64_t r, int64_t c, int64_t rows) {
    if constexpr (kLine < kPiece / 2)
      if (rows % kPiece != 0 && rows % (kPiece / 2) == 0)
        return transposePieces<kPiece / 2>(r, c, rows);
    if constexpr (kLine < kPiece)
      if (rows % kPiece != 0)
        return transposePieces<kLine>(r, c, rows);
    transposePieces<kPiece>(r, c, rows);
  }

  /// Rows of `columns` columns.
  void write(int64_t r, int64_t c, int64_t rows, int64_t columns) {
    // Loops over a fixed number of lines have no end to look for.
    if (rows == kMostStagedRows)
      writeColumns(r, c, kMostStagedRows, columns);
    else if (rows == kPiece)
      writeColumns(r, c, kPiece, columns);
    else if (rows == kLine)
      writeColumns(r, c, kLine, columns);
    else
      writeColumns(r, c, rows, columns);
  }

private:
  static constexpr int64_t kTileRows = kVectorBytes / RunBytes;
  /// A processor prefetches about so many rows, if loads of their own read each
  /// of them. Tiles of single bytes may have more.
  static constexpr int64_t kPiece = kTileRows > 32 ? kTileRows : 32;

  template <int64_t Count>
  TESSERA_INLINE void transposePieces(int64_t r, int64_t c, int64_t rows) {
    for (int64_t i = 0; i < rows; i += Count)
      transposePiece<Count>(r + i, c, buffer + i * RunBytes);
  }

  template <int64_t Count>
  TESSERA_INLINE void transposePiece(int64_t r, int64_t c, char *dst) {
    const Source from = source; // Stores to the buffer might change a member.
    char *to = hide(dst);
    TESSERA_UNROLL
    for (int64_t i = 0; i < Count; i += kTileRows) {
      const auto rows = from.template get<kTileRows>(r + i, c);
      prefetchRows<kTileRows>(rows, prefetch);
      if (isGathered)
        transposeGathered(r + i, c, to + i * RunBytes);
      else
        transposeLine<RunBytes, kVectorBytes, Turn>(rows,
                                                    storeTo(to + i * RunBytes));
    }
  }

  __attribute__((noinline)) void transposeGathered(int64_t r, int64_t c,
                                                   char *dst) {
    transposeGatheredLine<RunBytes, Turn>(source.template get<kTileRows>(r, c),
                                          storeTo(dst));
  }

  /// Stores a register of each column in the buffer.
  static TESSERA_INLINE auto storeTo(char *dst) {
    return [dst](int k, auto runs) { store(dst + k * kPitch, runs); };
  }

  TESSERA_INLINE void writeColumns(int64_t r, int64_t c, int64_t rows,
                                   int64_t columns) {
    char *first = destination.get(r, c);
    for (int64_t k = 0; k < columns; ++k) {
      char *column = first + destination.getPlace(k);
      if constexpr (IsStreamed)
        streamWholeLines(buffer + k * kPitch, column, rows * RunBytes);
      else
        copyRun(buffer + k * kPitch, column, rows * RunBytes);
    }
  }

  const Source source;
  const Destination destination;
  const int64_t prefetch;
  const bool isGathered;
  alignas(kLineBytes) char buffer[kLine * kPitch];
};

/// Rows of whole lines of the destination, or any rows through the caches, of
/// which so many lines of each column are written at a time.
template <int RunBytes, bool IsStreamed>
void moveStaged(const Block &whole, int64_t linesOfColumn) {
  using Source = PitchedRows<RunBytes>;
  using Destination = PitchedColumns<RunBytes>;
  using Lines =
      StagedLines<RunBytes, IsStreamed, AsTheyAre, Source, Destination>;
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  Lines lines(Source(whole.src, whole.srcPitch),
              Destination(whole.dst, whole.dstPitch),
              getPrefetch<RunBytes>(whole));
  int64_t most = linesOfColumn * kLine;
  for (int64_t r = 0; r < whole.rows; r += most) {
    int64_t rows = least(most, whole.rows - r), columns = 0;
    for (int64_t c = 0; c < whole.columns; c += columns) {
      columns = least(kLine, whole.columns - c);
      if (columns == kLine && rows % kLine == 0)
        lines.transpose(r, c, rows);
      else
        transposeBlock<RunBytes>({whole.src + r * whole.srcPitch + c * RunBytes,
                                  lines.getBuffer(), rows, columns,
                                  whole.srcPitch, Lines::kPitch});
      lines.write(r, c, rows, columns);
    }
  }
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_STAGEDROWS_H
