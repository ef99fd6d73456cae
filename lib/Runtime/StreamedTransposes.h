//===- StreamedTransposes.h - Transposes past the caches --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_STREAMEDTRANSPOSES_H
#define TESSERA_LIB_RUNTIME_STREAMEDTRANSPOSES_H

#include "StagedRows.h"

namespace tessera::runtime {
namespace {

/// Some lines of each column, of registers as long as a line, whose rows are
/// each read by loads of their own: processors foresee where those go on.
/// Columns that do not fill a line of a row come in narrower tiles.
template <int RunBytes, int Lines>
__attribute__((noinline)) void
streamColumns(const char *src, char *dst, int64_t rows, int64_t columns,
              int64_t srcPitch, int64_t dstPitch, bool prefetchesToL2) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  constexpr int kLoad = getLoadBytes<RunBytes, kVectorBytes>();
  const Pitch from(srcPitch), to(dstPitch);
  int64_t whole = columns / kLine * kLine;
  for (int64_t c = 0; c < whole; c += kLine) {
    TESSERA_UNROLL
    for (int64_t i = 0; i < Lines; ++i) {
      const char *rows = src + i * kLine * srcPitch + c * RunBytes;
      char *lines = dst + c * dstPitch + i * kLineBytes;
      const Rows<const char, kLine> ahead(rows + kPrefetchBytes, from);
      if (prefetchesToL2)
        prefetchRows<kLine>(ahead);
      else
        prefetchRows<kLine, /*Locality=*/0>(ahead);
      TESSERA_UNROLL
      for (int64_t part = 0; part < kLineBytes; part += kLoad)
        transposeTile<RunBytes, kVectorBytes, kLoad, true>(
            rows + part, from, lines + part / RunBytes * dstPitch, to);
    }
  }
  if (whole == columns)
    return;
  int64_t c = least(whole, columns - kLaneBytes / RunBytes);
  transposeTiles<RunBytes, kVectorBytes, true>(src + c * RunBytes,
                                               dst + c * dstPitch, rows,
                                               columns - c, srcPitch, dstPitch,
                                               /*isLarge=*/true);
}

/// Rows of whole lines of the destination, which are short and lie one behind
/// another, or of runs so short that a tile takes a part of a line of each row:
/// a tile reads them again and again. Rows are copied into a buffer, line below
/// line, and long runs of few columns at a time written from there. Meanwhile
/// the rows that come next are prefetched.
template <int RunBytes> class PackedRows {
public:
  PackedRows(const Block &whole, int64_t lines)
      : whole(whole), most(lines * kLine), pitch(whole.dstPitch),
        farther(isShortRow<RunBytes>(whole) ? kFarther : 0) {}

  void run() {
    Block piece = getPiece(0, 0), next;
    int64_t r = 0, c = 0;
    for (; r < whole.rows; piece = next) {
      pack(piece);
      c += piece.columns;
      if (c == whole.columns) {
        c = 0;
        r += piece.rows;
      }
      next = getPiece(r, c);
      write(piece, next);
    }
  }

private:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;
  /// Buffers stay in the first two levels of the caches.
  static constexpr int64_t kMostRows = kMostPackedLines * kLine;
  static constexpr int64_t kColumns = 256;
  static constexpr int64_t kLines = kColumns / kLine;
  /// Lines of a row do not begin at one set of the first-level cache.
  static constexpr int64_t kBufferPitch = (kMostRows + 1) * kLineBytes;
  /// Short rows are prefetched so far beyond the next piece: memory takes
  /// longer than that.
  static constexpr int64_t kFarther = 8192;
  /// The columns of a tile.
  static constexpr int64_t kGroup = kLine < kLaneBytes ? kLine : kLaneBytes;

  Block getPiece(int64_t r, int64_t c) const {
    Block piece = whole;
    piece.src += r * whole.srcPitch + c * RunBytes;
    piece.dst += c * whole.dstPitch + r * RunBytes;
    piece.rows = least(most, whole.rows - r);
    piece.columns = least(kColumns, whole.columns - c);
    return piece;
  }

  void pack(const Block &piece) {
    int64_t size = piece.columns * RunBytes, rest = size % kLineBytes;
    for (int64_t r = 0; r < piece.rows; ++r) {
      const char *row = piece.src + r * piece.srcPitch;
      char *to = buffer + r * kLineBytes;
      for (int64_t i = kLineBytes; i <= size; i += kLineBytes) {
        copyFixed<kLineBytes>(row, to);
        row += kLineBytes;
        to += kBufferPitch;
      }
      copyRun(row, to, rest);
    }
  }

  /// Groups of columns, of which the last one may be less than a tile has.
  void write(const Block &piece, const Block &next) {
    const char *ahead = next.src + farther + kLineBytes - 1;
    int64_t groups = (piece.columns + kGroup - 1) / kGroup;
    int64_t tiles = groups * (piece.rows / kLine);
    int64_t rowsAhead = (next.rows + tiles - 1) / tiles;
    int64_t linesAhead = (next.columns + kLine - 1) / kLine;
    for (int64_t c = 0; c < piece.columns; c += kGroup) {
      char *dst = piece.dst + c * whole.dstPitch;
      const char *packed =
          buffer + c / kLine * kBufferPitch + c % kLine * RunBytes;
      for (int64_t r = 0; r < piece.rows; r += kLine) {
        for (int64_t i = 0; i < rowsAhead; ++i, ahead += whole.srcPitch)
          prefetchRows(ahead, kLineBytes, linesAhead);
        writeTile(packed + r * kLineBytes, dst + r * RunBytes,
                  piece.columns - c);
      }
    }
  }

  TESSERA_INLINE void writeTile(const char *packed, char *dst,
                                int64_t columns) {
    const Rows<char, kGroup> to(dst, pitch);
    transposeTile<RunBytes, kVectorBytes, kGroup * RunBytes>(
        packed, Pitch(kLineBytes), 0, [&](int k, auto column) {
          if (k < columns)
            stream(to[k], column);
        });
  }

  const Block &whole;
  const int64_t most;
  const Pitch pitch;
  const int64_t farther;
  alignas(kLineBytes) char buffer[kLines * kBufferPitch];
};

/// Rows of whole lines of the destination, along the source.
template <int RunBytes>
void streamRows(const Block &whole, const StreamedBlocks &blocks) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  if (blocks.packsRows)
    return PackedRows<RunBytes>(whole, blocks.lines).run();
  // Of chained rows, of which a share may have one tile, there may be more.
  int64_t most = least(blocks.lines, kMostLines), lines = 0;
  Block block = whole;
  for (int64_t left = whole.rows / kLine; left > 0; left -= lines) {
    lines = left == most + 1 && most > 1 ? 2 : least(most, left);
    block.rows = lines * kLine;
    if (lines == 3)
      callApart(streamColumns<RunBytes, 3>, block, blocks.prefetchesToL2);
    else if (lines == 2)
      callApart(streamColumns<RunBytes, 2>, block, blocks.prefetchesToL2);
    else
      callApart(streamColumns<RunBytes, 1>, block, blocks.prefetchesToL2);
    block.src += lines * kLine * whole.srcPitch;
    block.dst += lines * kLineBytes;
  }
}

/// Columns that begin anywhere in a line. Some lines of each are transposed
/// into a window, behind the last line before them; whole lines of the
/// destination are streamed from there, and the last line of the window is
/// kept:
///
///   window   | 5  6  7  8 | 9 10 11 12 |
///   line            | 7  8  9 10 |
///
/// There are windows for a line of each row alone, which stay in the
/// first-level cache; kept lines are in the second-level one.
template <int RunBytes> class CarriedColumns {
public:
  /// At most so many columns.
  static constexpr int64_t kColumns = RunBytes == 1 ? 512 : 1024;

  CarriedColumns(const Block &whole)
      : whole(whole), prefetch(getPrefetch<RunBytes>(whole)) {}

  /// Rows in whole lines. Windows of a group are written out when those of the
  /// next one are full: processors wait for loads of several stores just done.
  void run() {
    int64_t blocks = whole.rows / kLine, step = getLines();
    Group last = {};
    for (int64_t i = 0; i < blocks; i += step) {
      Group group = {windows, 0, 0, i, least(step, blocks - i)};
      for (; group.column < whole.columns; group.column += group.columns) {
        group.columns = takeBlock(whole.columns - group.column, kLine,
                                  kLaneBytes / RunBytes);
        group.windows = windows + (last.windows == windows ? kGroupBytes : 0);
        transposeGroup(group);
        writeGroup(last);
        last = group;
      }
    }
    writeGroup(last);
    for (int64_t c = 0; c < whole.columns; ++c)
      writeEnd(c, blocks);
  }

private:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;
  /// Rows at a time, about; a processor with registers shorter than a line
  /// prefetches fewer.
  static constexpr int64_t kRows = kVectorBytes < kLineBytes ? 32 : 96;
  /// The lines of a column that these make.
  static constexpr int64_t kLines =
      RunBytes <= 2 ? 4 : kRows * (RunBytes < 8 ? RunBytes : 8) / kLineBytes;
  static constexpr int64_t kWindowBytes = (kLines + 1) * kLineBytes;
  /// A group has less than two lines of a row.
  static constexpr int64_t kGroupBytes =
      (kLine + kLaneBytes / RunBytes) * kWindowBytes;

  /// Neighbouring columns, and lines from number `line` on.
  struct Group {
    char *windows;
    int64_t column, columns;
    int64_t line, lines;
  };

  /// Of short rows fewer: they are read nearly from end to end.
  int64_t getLines() const { return isShortRow<RunBytes>(whole) ? 2 : kLines; }
  char *getKept(int64_t c) { return kept + c * kLineBytes; }
  char *getColumn(int64_t c) const { return whole.dst + c * whole.dstPitch; }

  /// Its rows, behind what is kept of those before.
  void transposeGroup(const Group &group) {
    Block block = whole;
    block.src += group.line * kLine * whole.srcPitch + group.column * RunBytes;
    block.dst = group.windows + kLineBytes;
    block.rows = group.lines * kLine;
    block.columns = group.columns;
    block.dstPitch = kWindowBytes;
    prefetchRows(block.src + prefetch, block.srcPitch, block.rows);
    for (int64_t c = 0; c < group.columns; ++c)
      copyFixed<kLineBytes>(getKept(group.column + c),
                            group.windows + c * kWindowBytes);
    transposeBlock<RunBytes>(block);
    for (int64_t c = 0; c < group.columns; ++c)
      copyFixed<kLineBytes>(group.windows + c * kWindowBytes +
                                group.lines * kLineBytes,
                            getKept(group.column + c));
  }

  void writeGroup(const Group &group) {
    for (int64_t c = 0; c < group.columns; ++c)
      writeLines(group.windows + c * kWindowBytes,
                 getColumn(group.column + c) + group.line * kLineBytes,
                 group.line == 0, group.lines);
  }

  /// The lines that end in those of a window, which come at `dst`; of the
  /// first one, what comes before the next.
  TESSERA_INLINE void writeLines(const char *window, char *dst, bool isFirst,
                                 int64_t lines) {
    using V = Vector<8, kVectorBytes>;
    int64_t head = bytesToLine(dst);
    bool isPart = isFirst && head > 0;
    if (isPart)
      copyRun(window + kLineBytes, dst, head);
    const char *line = window + (head > 0 ? head : kLineBytes);
    dst += line - window - kLineBytes;
    for (int64_t i = isPart ? kLineBytes : 0; i < lines * kLineBytes;
         i += kVectorBytes)
      stream(dst + i, load<V>(line + i));
  }

  /// What is left of the last line.
  void writeEnd(int64_t c, int64_t blocks) {
    char *dst = getColumn(c) + blocks * kLineBytes;
    int64_t head = bytesToLine(dst);
    if (head > 0)
      copyRun(getKept(c) + head, dst + head - kLineBytes, kLineBytes - head);
  }

  const Block &whole;
  const int64_t prefetch;
  /// Those of two groups.
  alignas(kLineBytes) char windows[2 * kGroupBytes];
  alignas(kLineBytes) char kept[kColumns * kLineBytes];
};

#if defined(__AVX512F__)
/// The same in registers, for rows of whole lines and columns of whole tiles:
/// what is kept of a column and what comes next are joined by one instruction.
template <int RunBytes> class JoinedColumns {
public:
  static constexpr int64_t kColumns = 1024;
  static constexpr int kLoad = getLoadBytes<RunBytes, kVectorBytes>();
  static constexpr int64_t kGroup = kLoad / RunBytes;
  /// Lines of each column at a time. Runs of 8 bytes are few rows of each line.
  static constexpr int64_t kLines = RunBytes == 8 ? 2 : 1;
  /// Farther for one line of each column: its tiles are soon done.
  static constexpr int64_t kPrefetch = (8 - 2 * kLines) * kLineBytes;

  JoinedColumns(const Block &whole)
      : whole(whole), srcPitch(whole.srcPitch), dstPitch(whole.dstPitch) {}

  void run() {
    int64_t blocks = whole.rows / kLineRuns<RunBytes>;
    for (int64_t c = 0; c < whole.columns; c += kGroup)
      keepFirst(c);
    int64_t i = 1;
    if constexpr (kLines > 1)
      for (; i + kLines <= blocks; i += kLines)
        writeBand<kLines>(i);
    for (; i < blocks; ++i)
      writeBand<1>(i);
    for (int64_t c = 0; c < whole.columns; ++c)
      writeEnds(c, blocks);
  }

private:
  const char *getTile(int64_t c, int64_t i) const {
    return whole.src + i * kLineRuns<RunBytes> * whole.srcPitch + c * RunBytes;
  }
  char *getColumn(int64_t c) const { return whole.dst + c * whole.dstPitch; }

  /// And writes what comes before the first whole line, or is one.
  void keepFirst(int64_t c) {
    transposeTile<RunBytes, kVectorBytes, kLoad>(
        getTile(c, 0), srcPitch, kPrefetch, [&](int k, auto column) {
          store(kept + (c + k) * kLineBytes, column);
        });
    for (int64_t k = c; k < c + kGroup; ++k) {
      int64_t head = bytesToLine(getColumn(k));
      copyRun(kept + k * kLineBytes, getColumn(k), head ? head : kLineBytes);
    }
  }

  /// So many lines of all columns, from line `i` on; those of a column have
  /// loads of their own, so that processors foresee where rows go on.
  template <int Lines> TESSERA_INLINE void writeBand(int64_t i) {
    for (int64_t c = 0; c < whole.columns; c += kGroup)
      forTiles<Lines>(Lines, [&](int64_t k) { writeLines(c, i + k); });
  }

  /// The lines that end in rows from line `i` on.
  TESSERA_INLINE void writeLines(int64_t c, int64_t i) {
    const Rows<char, kGroup> columns(getColumn(c) + i * kLineBytes, dstPitch);
    char *keptLines = kept + c * kLineBytes;
    transposeTile<RunBytes, kVectorBytes, kLoad>(
        getTile(c, i), srcPitch, kPrefetch, [&](int k, auto column) {
          char *line = keptLines + k * kLineBytes;
          int64_t behind = -bytesToLine(columns[k]) & (kLineBytes - 1);
          auto joined = pickFrom<RunBytes>(load<decltype(column)>(line), column,
                                           (kLineBytes - behind) / RunBytes);
          store(line, column);
          stream(columns[k] - behind, joined);
        });
  }

  /// What is left of the last line.
  void writeEnds(int64_t c, int64_t blocks) {
    char *end = getColumn(c) + blocks * kLineBytes;
    int64_t behind = -bytesToLine(end) & (kLineBytes - 1);
    copyRun(kept + (c + 1) * kLineBytes - behind, end - behind, behind);
  }

  const Block &whole;
  const Pitch srcPitch, dstPitch;
  alignas(kLineBytes) char kept[kColumns * kLineBytes];
};
#endif

template <int RunBytes> void carryRows(const Block &whole) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  constexpr int64_t kColumns = CarriedColumns<RunBytes>::kColumns;
  Block block = whole;
  block.rows = whole.rows / kLine * kLine;
  for (int64_t c = 0; block.rows > 0 && c < whole.columns; c += block.columns) {
    block.columns = least(kColumns, whole.columns - c);
    block.src = whole.src + c * RunBytes;
    block.dst = whole.dst + c * whole.dstPitch;
#if defined(__AVX512F__)
    if constexpr (kHasPicks<RunBytes>) {
      using Joined = JoinedColumns<RunBytes>;
      bool isWhole = reinterpret_cast<uintptr_t>(whole.dst) % RunBytes == 0 &&
                     whole.dstPitch % RunBytes == 0;
      if (isWhole && block.columns >= Joined::kGroup &&
          !isShortRow<RunBytes>(whole)) {
        block.columns = block.columns / Joined::kGroup * Joined::kGroup;
        Joined(block).run();
        continue;
      }
    }
#endif
    CarriedColumns<RunBytes>(block).run();
  }
  block = whole;
  block.rows = whole.rows % kLine;
  block.src += (whole.rows - block.rows) * whole.srcPitch;
  block.dst += (whole.rows - block.rows) * RunBytes;
  transposeBlocks<RunBytes>(block);
}

/// Rows up to where lines begin and behind the last whole one go through the
/// caches. Registers that are shorter than a line go through a buffer, so that
/// all of a line is written at once: processors write what waits for the rest
/// of a line part by part.
template <int RunBytes>
void transposeStreamed(const Block &whole, const StreamedBlocks &blocks) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  int64_t head = bytesToLine(whole.dst);
  int64_t lines = whole.rows - head / RunBytes;
  if (!isOnLine(whole.dstPitch) || head % RunBytes != 0 || lines < kLine ||
      whole.columns * RunBytes < kLaneBytes)
    return carryRows<RunBytes>(whole);
  auto part = [&](int64_t begin, int64_t count) {
    Block block = whole;
    block.src += begin * whole.srcPitch;
    block.dst += begin * RunBytes;
    block.rows = count;
    return block;
  };
  head /= RunBytes;
  lines = lines / kLine * kLine;
  transposeBlocks<RunBytes>(part(0, head));
  if constexpr (kVectorBytes < kLineBytes)
    moveStaged<RunBytes, true>(part(head, lines), blocks.lines);
  else
    streamRows<RunBytes>(part(head, lines), blocks);
  transposeBlocks<RunBytes>(part(head + lines, whole.rows - head - lines));
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_STREAMEDTRANSPOSES_H
