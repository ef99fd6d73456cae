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

/// `Count` runs at places of their own, of which `Group` at a time are as far
/// apart as the first two.
template <typename T, int Count, int Group> class PlacedRuns {
public:
  TESSERA_INLINE PlacedRuns(T *begin, const int64_t *places, int64_t pitch)
      : pitch(pitch), pitch3(hide(3 * pitch)) {
    TESSERA_UNROLL
    for (int i = 0; i < Count / Group; ++i)
      firsts[i] = hide(begin + places[i * Group]);
  }

  TESSERA_INLINE T *operator[](int run) const {
    int k = run % Group;
    return firsts[run / Group] + (k == 3 ? pitch3 : k * pitch);
  }
  /// The same runs, some bytes farther.
  TESSERA_INLINE PlacedRuns from(int64_t bytes) const {
    PlacedRuns runs = *this;
    TESSERA_UNROLL
    for (int i = 0; i < Count / Group; ++i)
      runs.firsts[i] += bytes;
    return runs;
  }

private:
  const int64_t pitch, pitch3;
  T *firsts[Count / Group];
};

/// Rows, or columns, of which `more` come behind `inner`, which divide a line
/// or are whole lines.
template <int RunBytes> class Chain {
public:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;

  Chain(const Loop &inner, const Loop &more, int64_t Loop::*side)
      : inner(inner), more(more), pitch(inner.*side), morePitch(more.*side),
        isChained(more.count > 1),
        shift(inner.count > 0 ? __builtin_ctzll(inner.count) : 0) {
    for (int64_t i = 0; i < kLine; ++i)
      places[i] = getBegin(i);
  }

  /// Where run `i` begins.
  int64_t getBegin(int64_t i) const {
    if (!isChained)
      return i * pitch;
    if (inner.count <= kLine) // A power of two.
      return (i >> shift) * morePitch + (i & (inner.count - 1)) * pitch;
    return i / inner.count * morePitch + i % inner.count * pitch;
  }
  bool isChain() const { return isChained; }
  /// Where run `i` lies, and any other from the one that is `i` runs before it
  /// if these are the first runs of registers or of lines.
  int64_t getPlace(int64_t i) const { return places[i]; }
  /// `Count` runs, from the one on that is `first` runs behind that at `begin`.
  template <int Count, int Group, typename T>
  TESSERA_INLINE auto getRuns(T *begin, int64_t first = 0) const {
    constexpr int kGroup = Group < Count ? Group : Count;
    return PlacedRuns<T, Count, kGroup>(begin, places + first, pitch);
  }
  /// All runs.
  int64_t count() const { return inner.count * more.count; }

  const Loop inner, more;

private:
  int64_t pitch, morePitch;
  bool isChained;
  int shift;
  int64_t places[kLine];
};

/// The rows of a source that are a chain.
template <int RunBytes, int Group> class ChainedRows {
public:
  ChainedRows(const char *src, const Chain<RunBytes> &rows)
      : src(src), rows(rows) {}

  template <int Count> TESSERA_INLINE auto get(int64_t r, int64_t c) const {
    return rows.template getRuns<Count, Group>(src + c * RunBytes +
                                               rows.getBegin(r));
  }
  bool isInOneSet() const {
    return runtime::isInOneSet<RunBytes>(rows.inner.src);
  }

private:
  const char *const src;
  const Chain<RunBytes> &rows;
};

/// The columns of a destination that may be a chain.
template <int RunBytes> class ChainedColumns {
public:
  ChainedColumns(char *dst, const Chain<RunBytes> &columns)
      : dst(dst), columns(columns) {}

  TESSERA_INLINE char *get(int64_t r, int64_t c) const {
    return dst + r * RunBytes + columns.getBegin(c);
  }
  TESSERA_INLINE int64_t getPlace(int64_t k) const {
    return columns.getPlace(k);
  }

private:
  char *const dst;
  const Chain<RunBytes> &columns;
};

/// A line of each of as many rows as make a line of a column, in tiles. For
/// `Ways` see turnRuns, for `Group` PlacedRuns.
template <int RunBytes, int Ways, int Group> class ChainedTiles {
public:
  ChainedTiles(const Job &job)
      : blocks(job.blocks), rows(job.rows, job.moreRows, &Loop::src),
        columns(job.columns, job.moreColumns, &Loop::dst),
        isOnLines(isOnLine(job.columns.dst) && isOnLine(job.moreColumns.dst)),
        isGathered(isInOneSet<RunBytes>(job.rows.src)) {}

  void run(const char *src, char *dst, bool isStreamed) const {
    if (rows.count() < kTileRows || columns.count() < kLine)
      return runGroups(src, dst);
    if (isStreamed && isOnLines && bytesToLine(dst) == 0)
      runLines<true>(src, dst);
    else
      runLines<false>(src, dst);
  }

private:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;
  static constexpr int kLoad = getLoadBytes<RunBytes, kVectorBytes>();
  static constexpr int64_t kTileRows = kVectorBytes / RunBytes;

  /// In bands of rows, along the source.
  template <bool IsStreamed> void runLines(const char *src, char *dst) const {
    int64_t whole = rows.count() / kLine * kLine;
    int64_t band = IsStreamed ? blocks.lines * kLine : kBandRows;
    if constexpr (IsStreamed && kVectorBytes < kLineBytes)
      stageBands(src, dst, whole, band);
    else
      for (int64_t r = 0; r < whole; r += band)
        moveBand<IsStreamed>(src, dst, r, least(r + band, whole));
    if (whole < rows.count())
      moveLast(src, dst, whole);
  }

  /// Registers that are shorter than a line go through a buffer past the
  /// caches, so that all of a line is written at once.
  void stageBands(const char *src, char *dst, int64_t numRows,
                  int64_t band) const {
    if (rows.isChain())
      stageRows(ChainedRows<RunBytes, Group>(src, rows), dst, numRows, band);
    else
      stageRows(PitchedRows<RunBytes>(src, rows.inner.src), dst, numRows, band);
  }

  template <typename Source>
  void stageRows(const Source &source, char *dst, int64_t numRows,
                 int64_t band) const {
    using Destination = ChainedColumns<RunBytes>;
    StagedLines<RunBytes, true, Ways, Source, Destination> lines(
        source, Destination(dst, columns), kPrefetchBytes);
    for (int64_t r = 0; r < numRows; r += band) {
      int64_t count = least(band, numRows - r);
      forColumns([&](int64_t column) {
        lines.transpose(r, column, count);
        lines.write(r, column, count, kLine);
      });
    }
  }

  /// Calls `move` with the first one of each line of columns, of which the last
  /// line may overlap others.
  template <typename Move>
  TESSERA_INLINE void forColumns(const Move &move) const {
    for (int64_t c = 0; c < columns.count(); c += kLine)
      move(least(c, columns.count() - kLine));
  }

  /// Lines of rows from `begin` on.
  template <bool IsStreamed>
  void moveBand(const char *src, char *dst, int64_t begin, int64_t end) const {
    forColumns([=](int64_t column) {
      const char *from = src + column * RunBytes;
      char *to = dst + columns.getBegin(column);
      for (int64_t r = begin; r < end; r += kLine) {
        const char *row = from + rows.getBegin(r);
        TESSERA_UNROLL
        for (int64_t i = 0; i < kLine; i += kTileRows)
          moveRows<IsStreamed>(row, to + (r + i) * RunBytes, i);
      }
    });
  }

  /// Rows from `begin` on, fewer than make a line; their last ones may be some
  /// that have been moved.
  void moveLast(const char *src, char *dst, int64_t begin) const {
    forColumns([=](int64_t column) {
      const char *from = src + column * RunBytes;
      char *to = dst + columns.getBegin(column);
      for (int64_t r = begin; r < rows.count(); r += kTileRows) {
        int64_t row = least(r, rows.count() - kTileRows);
        moveRows<false>(from + rows.getBegin(row), to + row * RunBytes, 0);
      }
    });
  }

  /// A line of each of as many rows as make a register, `first` rows behind the
  /// one at `src`.
  template <bool IsStreamed>
  TESSERA_INLINE void moveRows(const char *src, char *dst,
                               int64_t first) const {
    const auto read = rows.template getRuns<kTileRows, Group>(src, first);
    const auto written = columns.template getRuns<kLine, Group>(dst);
    if (IsStreamed)
      prefetch(read);
    moveTiles(read, [&](int64_t number, auto column) {
      tessera::runtime::write<IsStreamed>(written[number], column);
    });
  }

  template <typename Read, typename Write>
  TESSERA_INLINE void moveTiles(const Read &read, const Write &write) const {
    if constexpr (kTileRows > kCacheWays && kLoad < kLineBytes)
      if (isGathered)
        return transposeGatheredLine<RunBytes, Ways>(read, write);
    transposeLine<RunBytes, Ways>(read, write);
  }

  template <typename Read>
  TESSERA_INLINE void prefetch(const Read &read) const {
    if (blocks.prefetchesToL2)
      prefetchRows<kTileRows>(read, kPrefetchBytes);
    else
      prefetchRows<kTileRows, /*Locality=*/0>(read, kPrefetchBytes);
  }

  /// Too few rows or columns, step by step.
  void runGroups(const char *src, char *dst) const {
    for (int64_t row = 0; row < rows.more.count; ++row)
      for (int64_t c = 0; c < columns.more.count; ++c) {
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

template <int RunBytes, int Ways, int Group>
void walkChains(const Job &job, const char *src, char *dst) {
  const ChainedTiles<RunBytes, Ways, Group> tiles(job);
  walk(job.loops, job.numLoops, src, dst,
       [&, isStreamed = job.isStreamed](const char *src, char *dst) {
         tiles.run(src, dst, isStreamed);
       });
}

template <int RunBytes, int Ways>
void transposeChains(const Job &job, const char *src, char *dst) {
  auto isInFours = [](const Loop &inner, const Loop &more) {
    return more.count <= 1 || inner.count % 4 == 0;
  };
  // Others come by twos, as what divides a line is even.
  if constexpr (kLineRuns<RunBytes> > 4)
    if (isInFours(job.rows, job.moreRows) &&
        isInFours(job.columns, job.moreColumns))
      return walkChains<RunBytes, Ways, 4>(job, src, dst);
  walkChains<RunBytes, Ways, 2>(job, src, dst);
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_CHAINKERNELS_H
