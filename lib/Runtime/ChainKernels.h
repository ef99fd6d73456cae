//===- ChainKernels.h - Rows or columns across tiles ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_CHAINKERNELS_H
#define TESSERA_LIB_RUNTIME_CHAINKERNELS_H

#include "StreamedTransposes.h"

namespace tessera::runtime {
namespace {

/// Rows, or columns, of which `more` come behind `inner`, which divide a line.
template <int RunBytes> class Chain {
public:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;

  Chain(const Loop &inner, const Loop &more, int64_t Loop::*side)
      : inner(inner), more(more), pitch(inner.*side),
        isChained(more.count > 1) {
    int64_t count = inner.count, morePitch = more.*side, place = 0;
    for (int64_t i = 0, k = 0; i < kLine; ++i) {
      places[i] = place;
      place += pitch;
      if (++k < count)
        continue;
      k = 0;
      place += morePitch - count * pitch;
    }
    step = kLine / count * morePitch;
    int64_t all = count * more.count;
    whole = all < kLine ? 0 : isChained ? all / kLine * kLine : all;
  }

  /// Where run `i` begins, which begins a line if this is a chain; and the next
  /// ones from there on.
  int64_t getBegin(int64_t i) const {
    return isChained ? i / kLine * step : i * pitch;
  }
  const int64_t *getPlaces() const { return places; }
  /// Runs that come by lines, of which the last one may overlap others.
  int64_t countWhole() const { return whole; }
  int64_t countWholeGroups() const { return whole / inner.count; }

  const Loop inner, more;

private:
  int64_t pitch;
  bool isChained;
  int64_t whole, step;
  int64_t places[kLine];
};

/// Runs at places of their own.
struct PlacedRows {
  const char *begin;
  const int64_t *places;

  TESSERA_INLINE const char *operator[](int row) const {
    return begin + places[row];
  }
};

/// A line of each of as many rows as make a line of a column, in tiles. For
/// `Ways` see turnRuns.
template <int RunBytes, int Ways> class ChainedTiles {
public:
  ChainedTiles(const Job &job)
      : blocks(job.blocks), rows(job.rows, job.moreRows, &Loop::src),
        columns(job.columns, job.moreColumns, &Loop::dst),
        isOnLines(isOnLine(job.columns.dst) && isOnLine(job.moreColumns.dst)),
        isGathered(isInOneSet<RunBytes>(job.rows.src)) {}

  void run(const char *src, char *dst, bool isStreamed) const {
    if (rows.countWhole() > 0 && columns.countWhole() > 0) {
      if (isStreamed && isOnLines && bytesToLine(dst) == 0)
        runWhole<true>(src, dst);
      else
        runWhole<false>(src, dst);
      runGroups(src, dst, rows.countWholeGroups(), rows.more.count, 0);
      runGroups(src, dst, 0, rows.countWholeGroups(),
                columns.countWholeGroups());
      return;
    }
    runGroups(src, dst, 0, rows.more.count, 0);
  }

private:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;
  static constexpr int kLoad = getLoadBytes<RunBytes, kVectorBytes>();
  static constexpr int64_t kTileRows = kVectorBytes / RunBytes;

  /// In bands of rows, along the source.
  template <bool IsStreamed> void runWhole(const char *src, char *dst) const {
    int64_t numRows = rows.countWhole(), numColumns = columns.countWhole();
    int64_t band = IsStreamed ? blocks.lines * kLine : kBandRows;
    for (int64_t begin = 0; begin < numRows; begin += band) {
      int64_t end = least(begin + band, numRows);
      for (int64_t c = 0; c < numColumns; c += kLine) {
        int64_t column = least(c, numColumns - kLine);
        const char *from = src + column * RunBytes;
        char *to = dst + columns.getBegin(column);
        for (int64_t r = begin; r < end; r += kLine) {
          int64_t row = least(r, numRows - kLine);
          bool isLine = IsStreamed && row == r;
          if (isLine)
            moveLines<true>(from + rows.getBegin(row), to + row * RunBytes);
          else
            moveLines<false>(from + rows.getBegin(row), to + row * RunBytes);
        }
      }
    }
  }

  /// Registers that are shorter than a line go through a buffer past the
  /// caches, so that all of a line is written at once.
  template <bool IsStreamed>
  TESSERA_INLINE void moveLines(const char *src, char *dst) const {
    constexpr bool kIsBuffered = IsStreamed && kVectorBytes < kLineBytes;
    alignas(kLineBytes) char buffer[kIsBuffered ? kLine * kLineBytes : 1];
    TESSERA_UNROLL
    for (int64_t i = 0; i < kLineBytes; i += kVectorBytes) {
      const PlacedRows read = {src, rows.getPlaces() + i / RunBytes};
      if (IsStreamed)
        prefetch(read);
      moveTiles(read, [&](int64_t number, auto column) {
        if constexpr (kIsBuffered)
          store(buffer + number * kLineBytes + i, column);
        else
          tessera::runtime::write<IsStreamed>(
              dst + columns.getPlaces()[number] + i, column);
      });
    }
    if constexpr (kIsBuffered)
      for (int64_t k = 0; k < kLine; ++k)
        streamWholeLines(buffer + k * kLineBytes, dst + columns.getPlaces()[k],
                         kLineBytes);
  }

  /// A register of each column of a line of each row.
  template <typename Write>
  TESSERA_INLINE void moveTiles(const PlacedRows &read,
                                const Write &write) const {
    auto moveParts = [&](const auto &placed) {
      TESSERA_UNROLL
      for (int64_t part = 0; part < kLineBytes; part += kLoad)
        transposeTile<RunBytes, kVectorBytes, kLoad>(
            placed(part), /*prefetch=*/0, [&](int k, auto runs) {
              write(part / RunBytes + k, turnRuns<RunBytes, Ways>(runs));
            });
    };
    if constexpr (kLoad < kLineBytes)
      if (isGathered) {
        char lines[kTileRows * kLineBytes];
        for (int64_t i = 0; i < kTileRows; ++i)
          copyFixed<kLineBytes>(read[i], lines + i * kLineBytes);
        const Pitch pitch(kLineBytes);
        return moveParts([&](int64_t part) {
          return Rows<const char, kTileRows>(lines + part, pitch);
        });
      }
    moveParts([&](int64_t part) {
      return PlacedRows{read.begin + part, read.places};
    });
  }

  TESSERA_INLINE void prefetch(const PlacedRows &read) const {
    if (blocks.prefetchesToL2)
      prefetchRows<kTileRows>(read, kPrefetchBytes);
    else
      prefetchRows<kTileRows, /*Locality=*/0>(read, kPrefetchBytes);
  }

  /// What does not come by lines: some groups of rows, of columns those from
  /// group `column` on.
  void runGroups(const char *src, char *dst, int64_t row, int64_t endRow,
                 int64_t column) const {
    for (; row < endRow; ++row)
      for (int64_t c = column; c < columns.more.count; ++c) {
        const Block block = {src + row * rows.more.src + c * columns.more.src,
                             dst + row * rows.more.dst + c * columns.more.dst,
                             rows.inner.count,
                             columns.inner.count,
                             rows.inner.src,
                             columns.inner.dst};
        if constexpr (Ways > 1)
          callApart(transposeOneByOne<RunBytes, Ways>, block);
        else
          transposeBlocks<RunBytes>(block);
      }
  }

  const StreamedBlocks blocks;
  const Chain<RunBytes> rows, columns;
  const bool isOnLines;
  /// Whether rows evict one another, of which several tiles take parts.
  const bool isGathered;
};

template <int RunBytes, int Ways>
void transposeChains(const Job &job, const char *src, char *dst) {
  const ChainedTiles<RunBytes, Ways> tiles(job);
  walk(job.loops, job.numLoops, src, dst,
       [&, isStreamed = job.isStreamed](const char *src, char *dst) {
         tiles.run(src, dst, isStreamed);
       });
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_CHAINKERNELS_H
