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
    step = count < kLine ? kLine / count * morePitch : morePitch;
    int64_t all = count * more.count;
    whole = all < kLine ? 0 : isChained ? all / kLine * kLine : all;
  }

  /// Where run `i` begins, or the line that has it if this is a chain.
  int64_t getBegin(int64_t i) const {
    if (!isChained)
      return i * pitch;
    if (inner.count <= kLine)
      return i / kLine * step;
    return i / inner.count * step + i % inner.count / kLine * kLine * pitch;
  }
  bool isChain() const { return isChained; }
  /// Where run `i` of a line lies, from the first one on.
  int64_t getPlace(int64_t i) const { return places[i]; }
  /// `Count` runs of a line from number `first` on; the line is at `begin`.
  template <int Count, int Group, typename T>
  TESSERA_INLINE auto getRuns(T *begin, int64_t first) const {
    constexpr int kGroup = Group < Count ? Group : Count;
    return PlacedRuns<T, Count, kGroup>(begin, places + first, pitch);
  }
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

/// The rows of a source that are a chain.
template <int RunBytes, int Group> class ChainedRows {
public:
  ChainedRows(const char *src, const Chain<RunBytes> &rows)
      : src(src), rows(rows) {}

  template <int Count> TESSERA_INLINE auto get(int64_t r, int64_t c) const {
    return rows.template getRuns<Count, Group>(
        src + c * RunBytes + rows.getBegin(r), r % kLineRuns<RunBytes>);
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
    int64_t numRows = rows.countWhole(), whole = numRows / kLine * kLine;
    int64_t band = IsStreamed ? blocks.lines * kLine : kBandRows;
    if constexpr (IsStreamed && kVectorBytes < kLineBytes)
      stageBands(src, dst, whole, band);
    else
      for (int64_t r = 0; r < whole; r += band)
        moveBand<IsStreamed>(src, dst, r, least(r + band, whole));
    if (whole < numRows)
      moveBand<false>(src, dst, numRows - kLine, numRows);
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
      for (int64_t c = 0; c < columns.countWhole(); c += kLine) {
        int64_t column = least(c, columns.countWhole() - kLine);
        lines.transpose(r, column, count);
        lines.write(r, column, count, kLine);
      }
    }
  }

  /// Lines of rows from `begin` on.
  template <bool IsStreamed>
  void moveBand(const char *src, char *dst, int64_t begin, int64_t end) const {
    for (int64_t c = 0; c < columns.countWhole(); c += kLine) {
      int64_t column = least(c, columns.countWhole() - kLine);
      const char *from = src + column * RunBytes;
      char *to = dst + columns.getBegin(column);
      for (int64_t r = begin; r < end; r += kLine)
        moveLines<IsStreamed>(from + rows.getBegin(r), to + r * RunBytes);
    }
  }

  template <bool IsStreamed>
  TESSERA_INLINE void moveLines(const char *src, char *dst) const {
    TESSERA_UNROLL
    for (int64_t i = 0; i < kLineBytes; i += kVectorBytes) {
      const auto read =
          rows.template getRuns<kTileRows, Group>(src, i / RunBytes);
      const auto written = columns.template getRuns<kLine, Group>(dst + i, 0);
      if (IsStreamed)
        prefetch(read);
      moveTiles(read, [&](int64_t number, auto column) {
        tessera::runtime::write<IsStreamed>(written[number], column);
      });
    }
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
