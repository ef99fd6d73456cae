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

/// So many bytes, less than a lane has, and zeros behind them, in one register:
/// what `copyRun` stores in parts waits when it is loaded as one.
TESSERA_INLINE Vector<8, kLaneBytes> loadLess(const char *src, int64_t size) {
  uint64_t low = 0, high = 0;
  auto get = [=](auto bytes, int64_t offset) {
    uint64_t value = 0;
    copyFixed<decltype(bytes)::kCount>(src + offset,
                                       reinterpret_cast<char *>(&value));
    return value;
  };
  if (size > 8) {
    low = get(Constant<8>(), 0);
    high = get(Constant<8>(), size - 8) >> 8 * (2 * 8 - size);
  } else if (size >= 4) {
    low = get(Constant<4>(), 0) | get(Constant<4>(), size - 4)
                                      << 8 * (size - 4);
  } else {
    for (int64_t i = 0; i < size; ++i)
      low |= get(Constant<1>(), i) << 8 * i;
  }
  return Vector<8, kLaneBytes>{low, high};
}

/// Rows at places of their own.
struct PlacedRows {
  const char *begin;
  const int64_t *places; ///< From `begin` on.

  TESSERA_INLINE const char *operator[](int64_t row) const {
    return begin + places[row];
  }
  /// The same rows, some bytes farther.
  TESSERA_INLINE PlacedRows from(int64_t bytes) const {
    return {begin + bytes, places};
  }
};

/// Rows, or columns, of which `more` come behind `width` of them. Only the
/// first ones of those may exist.
class Chain {
public:
  Chain(const Loop &inner, const Loop &more, int64_t Loop::*side, int64_t width)
      : inner(inner), more(more), width(width), pitch(inner.*side),
        morePitch(more.*side) {}

  /// All runs.
  int64_t count() const { return width * more.count; }
  bool isComplete() const { return width == inner.count; }
  bool exists(int64_t i) const { return i % width < inner.count; }
  /// Where run `i` begins.
  int64_t getBegin(int64_t i) const {
    if (more.count <= 1)
      return i * pitch;
    return i / width * morePitch + i % width * pitch;
  }
  /// How far behind run `first` so many runs begin, itself the first one;
  /// `kNowhere` for those that do not exist.
  void getPlaces(int64_t first, int64_t number, int64_t *places) const {
    int64_t i = first % width, place = 0;
    for (int64_t k = 0; k < number; ++k) {
      places[k] = i < inner.count ? place : kNowhere;
      place += pitch;
      if (++i < width)
        continue;
      i = 0;
      place += getReturn();
    }
  }
  /// From what would be the run behind a step of `more` to the one that is.
  int64_t getReturn() const { return morePitch - width * pitch; }
  /// Whether the lines at which so many runs begin evict one another from the
  /// first-level cache.
  bool isInFewSets(int64_t number) const {
    auto countSets = [](int64_t pitch) {
      int64_t power = pitch & -pitch;
      return kPageBytes / least(kPageBytes, power > 0 ? power : 1);
    };
    int64_t steps = least(more.count, number / width + 1);
    return number > kCacheWays * least(width, countSets(pitch)) *
                        least(steps, countSets(morePitch));
  }
  /// Whether so many runs have the same places from any multiple of their
  /// number on.
  bool isPeriodic(int64_t number) const {
    bool isAlone = more.count <= 1 && isComplete();
    return isAlone || width % number == 0 || number % width == 0;
  }

  static constexpr int64_t kNowhere = INT64_MIN;
  const Loop inner, more;
  const int64_t width, pitch, morePitch;
};

/// How far runs of a chain lie behind one of them.
template <int64_t Most> class PlaceTable {
public:
  /// Makes them those of `number` runs from `first` on.
  TESSERA_INLINE void place(const Chain &chain, int64_t first, int64_t number) {
    if (first == this->first && number <= this->number)
      return;
    chain.getPlaces(first, number, places);
    this->first = first;
    this->number = number;
  }
  TESSERA_INLINE const int64_t *get() const { return places; }

private:
  int64_t first = 0, number = 0;
  int64_t places[Most];
};

/// A run of a chain, and where it begins.
class RunCursor {
public:
  TESSERA_INLINE explicit RunCursor(const Chain &chain, int64_t run = 0)
      : chain(&chain), number(run % chain.width), begin(chain.getBegin(run)) {}

  /// From the one on of which a step of `more` begins.
  int64_t getNumber() const { return number; }
  int64_t getBegin() const { return begin; }
  TESSERA_INLINE void advance(int64_t runs) {
    number += runs;
    begin += runs * chain->pitch;
    for (; number >= chain->width; number -= chain->width)
      begin += chain->getReturn();
  }

private:
  const Chain *chain;
  int64_t number, begin;
};

/// Columns at places of their own, whose addresses stay in registers. Where
/// some do not exist, they are at `nowhere`.
template <int64_t Count> class PlacedColumns {
public:
  TESSERA_INLINE PlacedColumns(char *begin, const int64_t *places,
                               char *nowhere) {
    if (!nowhere) {
      TESSERA_UNROLL
      for (int64_t k = 0; k < Count; ++k)
        begins[k] = hide(begin + places[k]);
      return;
    }
    TESSERA_UNROLL
    for (int64_t k = 0; k < Count; ++k)
      begins[k] =
          hide(places[k] == Chain::kNowhere ? nowhere : begin + places[k]);
  }
  TESSERA_INLINE char *operator[](int64_t column) const {
    return begins[column];
  }

private:
  char *begins[Count];
};

/// The rows of a band, of which `src` has the columns from `firstColumn` on.
template <int RunBytes> class ChainedRows {
public:
  ChainedRows(const char *src, const int64_t *places, int64_t pitch,
              int64_t firstColumn = 0)
      : src(src), places(places), pitch(pitch), firstColumn(firstColumn) {}

  template <int Count> TESSERA_INLINE auto get(int64_t r, int64_t c) const {
    return PlacedRows{src + (c - firstColumn) * RunBytes, places + r};
  }
  bool isInOneSet() const { return runtime::isInOneSet<RunBytes>(pitch); }

private:
  const char *const src;
  const int64_t *const places;
  const int64_t pitch, firstColumn;
};

/// The columns of a destination; `places` are those of a line of them.
template <int RunBytes> class ChainedColumns {
public:
  ChainedColumns(char *dst, const Chain &columns, const int64_t *places)
      : dst(dst), columns(columns), places(places) {}

  TESSERA_INLINE char *get(int64_t r, int64_t c) const {
    return dst + r * RunBytes + columns.getBegin(c);
  }
  TESSERA_INLINE int64_t getPlace(int64_t k) const { return places[k]; }

private:
  char *const dst;
  const Chain &columns;
  const int64_t *const places;
};

/// Tiles of rows and columns of which one or both are chains. For `Turn` see
/// transposeTile.
template <int RunBytes, typename Turn> class ChainedTiles {
public:
  explicit ChainedTiles(const Job &job)
      : blocks(job.blocks),
        rows(job.rows, job.moreRows, &Loop::src, job.rows.count),
        columns(job.columns, job.moreColumns, &Loop::dst,
                Turn::kIsLoaded ? Turn::kWays : job.columns.count),
        nowhere(columns.isComplete() ? nullptr : spare),
        isOnLines(job.isStreamed && columns.isComplete() &&
                  isOnLine(job.columns.dst) && isOnLine(job.moreColumns.dst)),
        isGathered(isInOneSet<RunBytes>(job.rows.src)),
        isRagged(!isOnLine(job.rows.src) || !isOnLine(job.moreRows.src)),
        isCrowded(isInOneSet<RunBytes>(job.columns.dst) &&
                  (isRagged || kVectorBytes < kLineBytes)),
        takesLanes(RunBytes == 1 && rows.more.count <= 1 &&
                   !isInFewSets(kLaneBandRows, job.rows.src, kWaysOfRows)),
        hasOwnTiles(kMayHaveOwnTiles && !isLarge(job)) {}

  void run(const char *src, char *dst) {
    bool isTall = rows.count() >= kTileRows;
    bool isWide = columns.count() >= kLine;
    bool isFlat = !isTall && Turn::kSquareBytes == 0 && rows.more.count <= 1 &&
                  columns.inner.count >= kLaneRuns;
    int64_t row = 0;
    if (isTall && isWide && isOnLines && bytesToLine(dst) == 0) {
      row = streamBands(src, dst);
      // Longer registers would write the end of streamed lines again.
      int64_t left = rows.count() - row;
      if (left >= kLaneRuns && left < kTileRows)
        return moveBands<kLaneRuns, kLaneRuns>(src, dst, row);
    }
    if (isTall && isWide && !isCrowded && !takesLanes)
      return moveBands<kTileRows, kLine>(src, dst, row);
    bool isNarrow = columns.count() < kLaneRuns;
    if constexpr (kLaneRuns > 2)
      if (isTall && isNarrow)
        return moveFewColumns(src, dst);
    // Tiles of single bytes gain nothing by half registers, and runs of a lane
    // are moved one by one.
    constexpr bool kHasHalf = kVectorBytes > 32 && Turn::kSquareBytes == 0 &&
                              RunBytes > 1 && RunBytes < kLaneBytes;
    if constexpr (kHasHalf)
      if (!isTall && isWide && rows.count() >= kTileRows / 2)
        return moveBands<kTileRows / 2, kLine>(src, dst, row);
    if (isNarrow || rows.count() < kLaneRuns || isFlat)
      return runGroups(src, dst);
    if (isTall)
      return moveBands<kTileRows, kLaneRuns>(src, dst, row);
    moveBands<kLaneRuns, kLaneRuns>(src, dst, row);
  }

private:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;
  static constexpr int64_t kLaneRuns = kLaneBytes / RunBytes;
  static constexpr int64_t kTileRows = kVectorBytes / RunBytes;
  static constexpr int64_t kLaneBandRows = 128;
  /// Lines of each row that are moved before the next rows: those of shorter
  /// runs gain nothing by more of them.
  static constexpr int64_t kLines =
      RunBytes >= 8 && kVectorBytes == kLineBytes ? 2 : 1;
  /// Whether several tiles take parts of a line of more rows than stay in the
  /// cache if they evict one another.
  static constexpr int kLoad = getLoadBytes<RunBytes, kVectorBytes>();
  static constexpr bool kIsInParts =
      (kTileRows > kCacheWays) && (kLoad < kLineBytes);
  /// Whether tiles may have code of their own; those of runs of 8 bytes gain
  /// nothing.
  static constexpr bool kMayHaveOwnTiles =
      kVectorBytes == kLineBytes && RunBytes == 4 && Turn::kSquareBytes == 0;

  /// Calls `move` with the first one of each `Step` columns from `first` on,
  /// whose `columnPlaces` are there then, with where it begins, and with how
  /// many of these were moved before, as the last ones overlap others.
  template <int64_t Step, typename Move>
  TESSERA_INLINE void forColumns(int64_t first, int64_t end, const Move &move) {
    const bool isPeriodic = columns.isPeriodic(Step);
    RunCursor at(columns, first);
    for (int64_t c = first; c < end; c += Step, at.advance(Step)) {
      int64_t column = least(c, end - Step);
      if (column < c)
        at = RunCursor(columns, column);
      int64_t number = isPeriodic && column % Step == 0 ? 0 : at.getNumber();
      columnPlaces.place(columns, number, Step);
      move(column, at.getBegin(), c - column);
    }
  }

  /// Whole lines of columns past the caches. Returns how many rows they have.
  int64_t streamBands(const char *src, char *dst) {
    int64_t whole = rows.count() / kLine * kLine, band = blocks.lines * kLine;
    for (int64_t r = 0; r < whole; r += band) {
      int64_t number = least(band, whole - r);
      rowPlaces.place(rows, r, number);
      const char *from = src + rows.getBegin(r);
      char *to = dst + r * RunBytes;
      if constexpr (kVectorBytes < kLineBytes)
        stageBand(from, to, number);
      else
        streamBand(from, to, number);
    }
    return whole;
  }

  /// Registers that are shorter than a line go through a buffer, so that all of
  /// a line is written at once.
  void stageBand(const char *src, char *dst, int64_t number) {
    using Source = ChainedRows<RunBytes>;
    using Destination = ChainedColumns<RunBytes>;
    StagedLines<RunBytes, true, Turn, Source, Destination> lines(
        Source(src, rowPlaces.get(), rows.inner.src),
        Destination(dst, columns, columnPlaces.get()), kPrefetchBytes);
    forColumns<kLine>(0, columns.count(),
                      [&](int64_t column, int64_t, int64_t) {
                        lines.transpose(0, column, number);
                        lines.write(0, column, number, kLine);
                      });
  }

  void streamBand(const char *src, char *dst, int64_t number) {
    const ChainedRows<RunBytes> source(src, rowPlaces.get(), rows.inner.src);
    const bool prefetchesToL2 = blocks.prefetchesToL2;
    forColumns<kLine>(
        0, columns.count(), [=](int64_t column, int64_t begin, int64_t) {
          const PlacedColumns<kLine> written(dst + begin, columnPlaces.get(),
                                             nowhere);
          for (int64_t r = 0; r < number; r += kTileRows) {
            const auto read = source.template get<kTileRows>(r, column);
            if (prefetchesToL2)
              prefetchRows<kTileRows>(read, kPrefetchBytes);
            else
              prefetchRows<kTileRows, /*Locality=*/0>(read, kPrefetchBytes);
            moveTile<true, kTileRows>(read, written, /*numMoved=*/0, r);
          }
        });
  }

  /// Tiles of so many rows and columns, through the caches, from row `begin`
  /// on. The last rows may be some that have been moved.
  template <int64_t NumRows, int64_t NumColumns>
  void moveBands(const char *src, char *dst, int64_t begin) {
    int64_t all = rows.count(), pitch = rows.inner.src;
    int64_t band = takesLanes ? kLaneBandRows
                   : isRagged ? getRaggedBandRows<RunBytes>(hasOwnTiles)
                              : kBandRows;
    const bool isPeriodic = begin == 0 && rows.isPeriodic(band);
    for (int64_t row = begin; row < all; row += band) {
      int64_t first = least(row, all - NumRows);
      int64_t number = least(band, all - first);
      const char *from = src + rows.getBegin(first);
      char *to = dst + first * RunBytes;
      // Lanes of rows that evict one another would be read again.
      bool takesLines = RunBytes == 1 && NumColumns < kLine &&
                        columns.count() >= kLine && rows.isInFewSets(number);
      if constexpr (Turn::kSquareBytes == 0)
        if (rows.more.count <= 1 && !takesLines) {
          const PitchedRows<RunBytes> source(from, pitch);
          moveBand<NumRows, NumColumns>(source, to, number, 0, columns.count());
          continue;
        }
      rowPlaces.place(rows, isPeriodic && first == row ? 0 : first, number);
      const ChainedRows<RunBytes> source(from, rowPlaces.get(), pitch);
      moveParts<NumRows, NumColumns>(source, to, number, takesLines);
    }
  }

  /// A band, a line of each row at a time where `takesLines`, from a buffer.
  template <int64_t NumRows, int64_t NumColumns>
  TESSERA_INLINE void moveParts(const ChainedRows<RunBytes> &source, char *dst,
                                int64_t number, bool takesLines) {
    const int64_t all = columns.count(), step = takesLines ? kLine : all;
    for (int64_t c = 0; c < all; c += step) {
      int64_t column = least(c, all - step);
      moveBand<NumRows, NumColumns>(takesLines ? gather(source, number, column)
                                               : source,
                                    dst, number, column, column + step);
    }
  }

  /// Copies a line of each row of a band side by side, from a column on: rows
  /// that evict one another, of which tiles take a lane.
  ChainedRows<RunBytes> gather(const ChainedRows<RunBytes> &source,
                               int64_t number, int64_t column) {
    const auto from = source.template get<1>(0, column);
    for (int64_t i = 0; i < number; ++i) {
      copyFixed<kLineBytes>(from[i], lines + i * kLineBytes);
      linePlaces[i] = i * kLineBytes;
    }
    return ChainedRows<RunBytes>(lines, linePlaces, kLineBytes, column);
  }

  template <int64_t NumRows, int64_t NumColumns, typename Source>
  TESSERA_INLINE void moveBand(const Source &source, char *dst, int64_t number,
                               int64_t firstColumn, int64_t endColumn) {
    constexpr bool kIsWhole = NumRows == kTileRows && NumColumns == kLine;
    if constexpr (kIsWhole && kLines > 1)
      if (endColumn - firstColumn >= kLines * kLine)
        return moveLines(source, dst, number, firstColumn, endColumn);
    forColumns<NumColumns>(
        firstColumn, endColumn,
        [=](int64_t column, int64_t begin, int64_t numMoved) {
          const PlacedColumns<NumColumns> written(dst + begin,
                                                  columnPlaces.get(), nowhere);
          auto move = [&](int64_t i) __attribute__((always_inline)) {
            int64_t r = least(i, number - NumRows);
            moveTile<false, NumRows>(source.template get<NumRows>(r, column),
                                     written, numMoved, r);
          };
          int64_t i = 0;
          if constexpr (kMayHaveOwnTiles && kIsWhole)
            for (; hasOwnTiles && i < number; i += kTileBandRows)
              forTiles<kTileBandRows / NumRows>(
                  (number - i + NumRows - 1) / NumRows,
                  [&](int64_t k) __attribute__((always_inline)) {
                    move(i + k * NumRows);
                  });
          for (; i < number; i += NumRows)
            move(i);
        });
  }

  /// Several lines of each row before the next rows: what prefetches the next
  /// line is of use before it is evicted.
  template <typename Source>
  TESSERA_INLINE void moveLines(const Source &source, char *dst, int64_t number,
                                int64_t firstColumn, int64_t endColumn) {
    forColumns<kLines * kLine>(
        firstColumn, endColumn, [=](int64_t column, int64_t begin, int64_t) {
          const PlacedColumns<kLines * kLine> written(
              dst + begin, columnPlaces.get(), nowhere);
          for (int64_t i = 0; i < number; i += kTileRows) {
            int64_t r = least(i, number - kTileRows);
            TESSERA_UNROLL
            for (int64_t c = 0; c < kLines * kLine; c += kLine)
              transposeLine<RunBytes, kVectorBytes, Turn>(
                  source.template get<kTileRows>(r, column + c),
                  [&](int64_t k, auto run) {
                    write<false>(written[c + k] + r * RunBytes, run);
                  });
          }
        });
  }

  template <bool IsStreamed, int64_t NumRows, typename Read, int64_t NumColumns>
  TESSERA_INLINE void moveTile(const Read &read,
                               const PlacedColumns<NumColumns> &written,
                               int64_t numMoved, int64_t row) const {
    auto write = [&](int64_t number, auto column) {
      tessera::runtime::write<IsStreamed>(written[number] + row * RunBytes,
                                          column);
    };
    if constexpr (NumColumns < kLine)
      transposeTile<RunBytes, NumRows * RunBytes, kLaneBytes, Turn>(
          read, /*prefetch=*/0, [&](int64_t number, auto column) {
            if (number >= numMoved)
              write(number, column);
          });
    else if constexpr (NumRows < kTileRows)
      transposeLine<RunBytes, NumRows * RunBytes, Turn>(read, write);
    else if (kIsInParts && isGathered)
      transposeGatheredLine<RunBytes, Turn>(read, write);
    else if constexpr (!IsStreamed && Turn::kSquareBytes == 0)
      transposeLine<RunBytes, kVectorBytes, Turn,
                    getCachedLoadBytes<RunBytes, kVectorBytes>()>(read, write);
    else
      transposeLine<RunBytes, kVectorBytes, Turn>(read, write);
  }

  /// Columns of less than a lane: rows are copied to where there are bytes
  /// behind each of them that may be read.
  void moveFewColumns(const char *src, char *dst) {
    alignas(kLineBytes) char lanes[kRaggedBandRows * kLaneBytes];
    int64_t all = rows.count(), numColumns = columns.count();
    columnPlaces.place(columns, 0, numColumns);
    for (int64_t row = 0; row < all; row += kRaggedBandRows) {
      int64_t first = least(row, all - kTileRows);
      int64_t number = least(kRaggedBandRows, all - first);
      rowPlaces.place(rows, first, number);
      const char *from = src + rows.getBegin(first);
      for (int64_t i = 0; i < number; ++i)
        store(lanes + i * kLaneBytes,
              loadLess(from + rowPlaces.get()[i], numColumns * RunBytes));
      const PitchedRows<RunBytes> source(lanes, kLaneBytes);
      for (int64_t i = 0; i < number; i += kTileRows) {
        int64_t r = least(i, number - kTileRows);
        char *to = dst + (first + r) * RunBytes;
        transposeTile<RunBytes, kVectorBytes, kLaneBytes, Turn>(
            source.template get<kTileRows>(r, 0), /*prefetch=*/0,
            [&](int64_t k, auto column) {
              if (k < numColumns && columns.exists(k))
                store(to + columnPlaces.get()[k], column);
            });
      }
    }
  }

  /// Too few rows or columns, or few rows that are no chain, step by step.
  void runGroups(const char *src, char *dst) const {
    if constexpr (Turn::kSquareBytes > RunBytes)
      return runWords(src, dst);
    for (int64_t row = 0; row < rows.more.count; ++row)
      for (int64_t c = 0; c < columns.more.count; ++c) {
        const Block block = {src + row * rows.more.src + c * columns.more.src,
                             dst + row * rows.more.dst + c * columns.more.dst,
                             rows.inner.count,
                             columns.inner.count,
                             rows.inner.src,
                             columns.inner.dst};
        if constexpr (Turn::kSquareBytes > 0)
          callApart(transposeOneByOne<RunBytes, Turn>, block);
        else
          transposeBlocks<RunBytes>(block);
      }
  }

  /// Squares of which each row or column is a run, element by element.
  void runWords(const char *src, char *dst) const {
    constexpr int64_t kWays = Turn::kWays, kElement = RunBytes / kWays;
    // In a square of runs, where element `i` of the run with number `k` lies on
    // the side that has it whole.
    auto getPlace = [](int64_t k, int64_t i) {
      return (k / kWays * kWays + i) * RunBytes + k % kWays * kElement;
    };
    for (int64_t r = 0; r < rows.count(); ++r)
      for (int64_t c = 0; c < columns.count(); ++c) {
        if (!columns.exists(c))
          continue;
        const char *row = src + rows.getBegin(r);
        char *column = dst + columns.getBegin(c);
        for (int64_t i = 0; i < kWays; ++i)
          if (Turn::kIsLoaded)
            copyFixed<kElement>(row + getPlace(c, i),
                                column + r * RunBytes + i * kElement);
          else
            copyFixed<kElement>(row + c * RunBytes + i * kElement,
                                column + getPlace(r, i));
      }
  }

  const StreamedBlocks blocks;
  const Chain rows, columns;
  char *const nowhere;
  const bool isOnLines;
  /// Whether lines of rows evict one another; whether rows begin anywhere in a
  /// line; and whether then those of columns evict one another.
  const bool isGathered, isRagged, isCrowded;
  /// Whether tiles of single bytes take a lane of each row, and the next ones
  /// the lanes behind, so that longer runs of a column are written: where the
  /// lines of a band of `kLaneBandRows` stay in the cache.
  const bool takesLanes;
  /// Whether tiles of a band have code of their own, as those of rows that are
  /// no chain: within the second-level cache.
  const bool hasOwnTiles;
  /// Of the rows of a band, and of a line of columns.
  PlaceTable<kBandRows> rowPlaces;
  PlaceTable<kLines * kLine> columnPlaces;
  alignas(kLineBytes) char lines[kBandRows * kLineBytes];
  int64_t linePlaces[kBandRows];
  /// As much as a band of a column has.
  char spare[kBandRows * RunBytes];
};

template <int RunBytes, typename Turn>
void transposeChains(const Job &job, const char *src, char *dst) {
  ChainedTiles<RunBytes, Turn> tiles(job);
  walk(job.loops, job.numLoops, src, dst,
       [&](const char *src, char *dst) { tiles.run(src, dst); });
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_CHAINKERNELS_H
