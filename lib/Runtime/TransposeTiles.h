//===- TransposeTiles.h - Transposes of tiles in registers ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_TRANSPOSETILES_H
#define TESSERA_LIB_RUNTIME_TRANSPOSETILES_H

#include "CopyKernels.h"

namespace tessera::runtime {
namespace {

/// `LoadBytes` of each of some rows, `Step` rows apart, in one register.
template <int RunBytes, int Bytes, int LoadBytes, int Step, typename Rows>
TESSERA_INLINE Vector<RunBytes, Bytes> loadRows(const Rows &rows, int first) {
  using Part = Vector<8, LoadBytes>;
  Part parts[Bytes / LoadBytes];
  TESSERA_UNROLL
  for (int i = 0; i < Bytes / LoadBytes; ++i)
    parts[i] = load<Part>(rows[first + i * Step]);
  return load<Vector<RunBytes, Bytes>>(reinterpret_cast<const char *>(parts));
}

/// Prefetches a line of each of some rows, by default to the second-level
/// cache: the first one has room for what is used at once.
template <int Count, int Locality = 2, typename Rows>
TESSERA_INLINE void prefetchRows(const Rows &rows, int64_t bytesBehind = 0) {
  TESSERA_UNROLL
  for (int k = 0; k < Count; ++k)
    __builtin_prefetch(rows[k] + bytesBehind, /*rw=*/0, Locality);
}
template <int Locality = 2>
TESSERA_INLINE void prefetchRows(const char *src, int64_t pitch, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r)
    __builtin_prefetch(src + r * pitch, /*rw=*/0, Locality);
}

/// Runs as they are.
struct AsTheyAre {
  static constexpr int kSquareBytes = 0, kWays = 1;
  static constexpr bool kIsLoaded = false;
  template <typename V> static TESSERA_INLINE V load(V runs) { return runs; }
  template <typename V> static TESSERA_INLINE V write(V runs) { return runs; }
};

/// Squares of `Bytes`, of `Ways` by `Ways` elements each, that are transposed
/// as rows are loaded, or as columns are written.
template <int Bytes, int Ways, bool IsLoaded> struct Squares {
  static constexpr int kSquareBytes = Bytes, kWays = Ways;
  static constexpr bool kIsLoaded = IsLoaded;
  template <typename V> static TESSERA_INLINE V load(V runs) {
    return turnIf<IsLoaded>(runs);
  }
  template <typename V> static TESSERA_INLINE V write(V runs) {
    return turnIf<!IsLoaded>(runs);
  }

private:
  template <bool IsTurned, typename V> static TESSERA_INLINE V turnIf(V runs) {
    if constexpr (IsTurned)
      return turnSquares<Bytes, Ways>(runs);
    else
      return runs;
  }
};

/// A tile of `LoadBytes` of each row and `Bytes` of each column, of which
/// `write(k, column)` gets column k. Rounds of unpacking within lanes make row
/// k of each lane column k of it; then lanes of the same columns are put
/// together. What lies `prefetch` bytes behind the rows is prefetched, unless
/// that is 0. `Turn` transposes elements within registers.
template <int RunBytes, int Bytes, int LoadBytes, typename Turn = AsTheyAre,
          typename Rows, typename Write>
TESSERA_INLINE void transposeTile(const Rows &rows, int64_t prefetch,
                                  const Write &write) {
  constexpr int kColumns = kLaneBytes / RunBytes, kRuns = Bytes / RunBytes;
  constexpr int kLanes = LoadBytes / kLaneBytes, kRows = kRuns / kLanes;
  using V = Vector<RunBytes, Bytes>;
  V tile[kLanes][kColumns];
  TESSERA_UNROLL
  for (int i = 0; i < kLanes; ++i) {
    TESSERA_UNROLL
    for (int k = 0; k < kColumns; ++k)
      tile[i][k] = Turn::load(
          loadRows<RunBytes, Bytes, LoadBytes, kColumns>(rows, i * kRows + k));
    unpackRegisters<kColumns, kRuns>(tile[i]);
  }
  if (prefetch > 0)
    prefetchRows<kRuns>(rows, prefetch);
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k) {
    V lanes[kLanes];
    TESSERA_UNROLL
    for (int i = 0; i < kLanes; ++i)
      lanes[i] = tile[i][k];
    splitLanes(lanes);
    TESSERA_UNROLL
    for (int i = 0; i < kLanes; ++i)
      write(i * kColumns + k, Turn::write(lanes[i]));
  }
}

/// The same of rows that are some bytes apart.
template <int RunBytes, int Bytes, int LoadBytes, typename Write>
TESSERA_INLINE void transposeTile(const char *src, const Pitch &srcPitch,
                                  int64_t prefetch, const Write &write) {
  const Rows<const char, Bytes / RunBytes> rows(src, srcPitch);
  transposeTile<RunBytes, Bytes, LoadBytes>(rows, prefetch, write);
}

/// The same to columns that are some bytes apart.
template <int RunBytes, int Bytes, int LoadBytes, bool IsStreamed>
TESSERA_INLINE void transposeTile(const char *src, const Pitch &srcPitch,
                                  char *dst, const Pitch &dstPitch) {
  const Rows<char, LoadBytes / RunBytes> columns(dst, dstPitch);
  transposeTile<RunBytes, Bytes, LoadBytes>(
      src, srcPitch, 0,
      [&](int k, auto column) { write<IsStreamed>(columns[k], column); });
}

/// Some rows and columns: where they begin, and how far apart they lie.
struct Block {
  const char *src;
  char *dst;
  int64_t rows, columns;
  int64_t srcPitch, dstPitch;
  /// Whether it is one of more than the second-level cache holds.
  bool isLarge = false;
};

/// Calls what is not inlined with the parts of a block: arguments that come in
/// registers are there at once; memory that was just written is not.
template <typename Body, typename... Args>
TESSERA_INLINE void callApart(const Body &body, const Block &block,
                              Args... args) {
  body(block.src, block.dst, block.rows, block.columns, block.srcPitch,
       block.dstPitch, args...);
}

template <int RunBytes, typename Turn = AsTheyAre>
__attribute__((noinline)) void
transposeOneByOne(const char *src, char *dst, int64_t rows, int64_t columns,
                  int64_t srcPitch, int64_t dstPitch) {
  const Block block = {src, dst, rows, columns, srcPitch, dstPitch};
  for (int64_t c = 0; c < block.columns; ++c)
    for (int64_t r = 0; r < block.rows; ++r) {
      Bytes16 run = {};
      auto *bytes = reinterpret_cast<char *>(&run);
      copyFixed<RunBytes>(block.src + r * block.srcPitch + c * RunBytes, bytes);
      run = Turn::write(run);
      copyFixed<RunBytes>(bytes, block.dst + c * block.dstPitch + r * RunBytes);
    }
}

/// Runs of a line.
template <int RunBytes> constexpr int64_t kLineRuns = kLineBytes / RunBytes;

/// The ways that lines of rows may take where these are used again: others are
/// left to what is written.
constexpr int64_t kWaysOfRows = kCacheWays - 2;

/// Whether this is so for as many rows as a line has runs.
template <int RunBytes> TESSERA_INLINE bool isInOneSet(int64_t pitch) {
  return isInFewSets(kLineRuns<RunBytes>, pitch);
}

/// The most bytes of a row that a tile takes: what it has fits into the
/// registers.
template <int RunBytes, int Bytes> constexpr int getLoadBytes() {
  constexpr int kRegisters = kVectorBytes == 64 ? 32 : 16;
  int size = kLaneBytes;
  while (size < Bytes && 2 * size / RunBytes <= kRegisters)
    size *= 2;
  return size;
}

/// The same through the caches: of runs of 2 bytes, tiles that take half of the
/// registers are faster, side by side and in chains.
template <int RunBytes, int Bytes> constexpr int getCachedLoadBytes() {
  constexpr int kMost = RunBytes == 2 ? 32 : kLineBytes;
  constexpr int kLoad = getLoadBytes<RunBytes, Bytes>();
  return kLoad < kMost ? kLoad : kMost;
}

/// A line of each row of a tile, in registers of `Bytes` of a column each:
/// `write(k, runs)` gets column k.
template <int RunBytes, int Bytes, typename Turn,
          int kLoad = getLoadBytes<RunBytes, Bytes>(), typename Rows,
          typename Write>
TESSERA_INLINE void transposeLine(const Rows &rows, const Write &write) {
  TESSERA_UNROLL
  for (int i = 0; i < kLineBytes; i += kLoad)
    transposeTile<RunBytes, Bytes, kLoad, Turn>(
        rows.from(i), /*prefetch=*/0,
        [&](int k, auto runs) { write(i / RunBytes + k, runs); });
}

/// The same of rows that evict one another: they are copied side by side first,
/// by loads of their own.
template <int RunBytes, typename Turn, typename Tile, typename Write>
TESSERA_INLINE void transposeGatheredLine(const Tile &rows,
                                          const Write &write) {
  constexpr int kRows = kVectorBytes / RunBytes;
  alignas(kLineBytes) char lines[kRows * kLineBytes];
  TESSERA_UNROLL
  for (int i = 0; i < kRows; ++i)
    copyFixed<kLineBytes>(rows[i], lines + i * kLineBytes);
  const Pitch pitch(kLineBytes);
  transposeLine<RunBytes, kVectorBytes, Turn>(
      Rows<const char, kRows>(lines, pitch), write);
}

/// How many rows are left behind those that fill registers of 64 bytes, if half
/// a register holds them; otherwise 0.
template <int RunBytes, int Bytes>
TESSERA_INLINE int64_t countHalfRows(int64_t rows) {
  constexpr int64_t kRows = Bytes / RunBytes;
  int64_t last = rows % kRows;
  return Bytes > 32 && rows > kRows && last <= kRows / 2 ? last : 0;
}

/// So many tiles side by side have code of their own.
constexpr int kStripTiles = 8;

/// Tiles over all rows, `Tiles` of them side by side. The last ones overlap
/// those before where rows are no multiple.
template <int RunBytes, int Bytes, int LoadBytes, bool IsStreamed, int Tiles>
TESSERA_INLINE void transposeWholeRows(const Block &block,
                                       const Pitch &srcPitch,
                                       const Pitch &dstPitch) {
  constexpr int64_t kRows = Bytes / RunBytes, kColumns = LoadBytes / RunBytes;
  for (int64_t row = 0; row < block.rows; row += kRows) {
    int64_t r = least(row, block.rows - kRows);
    const char *src = block.src + r * srcPitch.getBytes();
    char *dst = block.dst + r * RunBytes;
    auto move = [&](int i) __attribute__((always_inline)) {
      transposeTile<RunBytes, Bytes, LoadBytes, IsStreamed>(
          src + i * LoadBytes, srcPitch,
          dst + i * kColumns * dstPitch.getBytes(), dstPitch);
    };
    if constexpr (Bytes == kLineBytes && Tiles == kStripTiles) {
      TESSERA_UNROLL
      for (int i = 0; i < Tiles; ++i)
        move(i);
    } else {
      for (int i = 0; i < Tiles; ++i)
        move(i);
    }
  }
}

/// The same, the last rows by half registers where these do.
template <int RunBytes, int Bytes, int LoadBytes, bool IsStreamed, int Tiles>
TESSERA_INLINE void transposeRows(const Block &block, const Pitch &srcPitch,
                                  const Pitch &dstPitch) {
  // Tiles of single bytes need all registers: transposeBlock divides these.
  constexpr bool kHasHalf = Bytes > 32 && !IsStreamed && RunBytes > 1;
  int64_t last = kHasHalf ? countHalfRows<RunBytes, Bytes>(block.rows) : 0;
  Block part = block;
  part.rows -= last;
  transposeWholeRows<RunBytes, Bytes, LoadBytes, IsStreamed, Tiles>(
      part, srcPitch, dstPitch);
  if constexpr (kHasHalf)
    if (last > 0) {
      constexpr int kHalf = Bytes / 2;
      constexpr int kLoad = LoadBytes < kHalf ? LoadBytes : kHalf;
      part.rows = kHalf / RunBytes;
      int64_t r = block.rows - part.rows;
      part.src += r * srcPitch.getBytes();
      part.dst += r * RunBytes;
      transposeWholeRows<RunBytes, kHalf, kLoad, IsStreamed,
                         Tiles * LoadBytes / kLoad>(part, srcPitch, dstPitch);
    }
}

/// Columns of `LoadBytes` of each row, from `column` on; the last ones overlap
/// those before, unless they are less than `smallest`. Returns where that is.
template <int RunBytes, int Bytes, int LoadBytes, bool IsStreamed,
          int Tiles = 1>
TESSERA_INLINE int64_t transposeColumns(const Block &whole, int64_t column,
                                        int64_t smallest) {
  constexpr int64_t kColumns = Tiles * LoadBytes / RunBytes;
  const Pitch srcPitch(whole.srcPitch), dstPitch(whole.dstPitch);
  Block block = whole;
  for (; column + smallest <= whole.columns; column += kColumns) {
    int64_t c = least(column, whole.columns - kColumns);
    block.src = whole.src + c * RunBytes;
    block.dst = whole.dst + c * whole.dstPitch;
    transposeRows<RunBytes, Bytes, LoadBytes, IsStreamed, Tiles>(
        block, srcPitch, dstPitch);
  }
  return column;
}

/// Tiles of so many rows have code of their own: processors foresee what a row
/// has next by the instruction that reads it, and fetch it in time where that
/// reads other tiles in between.
constexpr int64_t kTileBandRows = 128;
/// Of fewer rows, or shorter runs, so many tiles side by side have; past the
/// second-level cache, those of one row are foreseen best.
constexpr int64_t kLeastBandRows = 64;
template <int RunBytes, int Bytes, bool IsStreamed>
constexpr bool kHasOwnTiles =
    Bytes == 64 && !IsStreamed && RunBytes > 1 && RunBytes < kLaneBytes;

/// Calls `move` with the numbers of some tiles, at most `Most`.
template <int Most, int K = 0, typename Move>
TESSERA_INLINE void forTiles(int64_t tiles, const Move &move) {
  if constexpr (K < Most)
    if (K < tiles) {
      move(K);
      forTiles<Most, K + 1>(tiles, move);
    }
}

/// `tiles` of them from row `first` on, along the columns up to where less than
/// `smallest` are left. Returns where that is. The last rows overlap those
/// before where rows are no multiple.
template <int RunBytes, int Bytes, int LoadBytes>
TESSERA_INLINE int64_t transposeBand(const Block &whole, int64_t first,
                                     int64_t tiles, int64_t smallest) {
  constexpr int64_t kRows = Bytes / RunBytes, kColumns = LoadBytes / RunBytes;
  const Pitch srcPitch(whole.srcPitch), dstPitch(whole.dstPitch);
  const int64_t last = whole.rows - kRows;
  int64_t column = 0;
  TESSERA_NO_UNROLL
  for (; column + smallest <= whole.columns; column += kColumns) {
    int64_t c = least(column, whole.columns - kColumns);
    const char *src = whole.src + c * RunBytes;
    char *dst = whole.dst + c * dstPitch.getBytes();
    forTiles<kTileBandRows / kRows>(tiles, [&](int64_t k) {
      int64_t r = least(first + k * kRows, last);
      transposeTile<RunBytes, Bytes, LoadBytes, /*IsStreamed=*/false>(
          src + r * srcPitch.getBytes(), srcPitch, dst + r * RunBytes,
          dstPitch);
    });
  }
  return column;
}

/// Bands of about as many tiles each, and rows that half a tile holds.
template <int RunBytes, int Bytes, int LoadBytes>
TESSERA_INLINE int64_t transposeBands(const Block &whole, int64_t smallest) {
  constexpr int64_t kRows = Bytes / RunBytes, kMost = kTileBandRows / kRows;
  int64_t half = countHalfRows<RunBytes, Bytes>(whole.rows);
  Block block = whole;
  block.rows -= half;
  int64_t tiles = (block.rows + kRows - 1) / kRows;
  int64_t bands = (tiles + kMost - 1) / kMost, column = 0;
  for (int64_t first = 0; first < tiles; --bands) {
    int64_t count = (tiles - first + bands - 1) / bands;
    column = transposeBand<RunBytes, Bytes, LoadBytes>(block, first * kRows,
                                                       count, smallest);
    first += count;
  }
  if (half > 0) {
    block.rows = kRows / 2;
    block.src += (whole.rows - block.rows) * whole.srcPitch;
    block.dst += (whole.rows - block.rows) * RunBytes;
    constexpr int kHalf = Bytes / 2;
    constexpr int kLoad = LoadBytes < kHalf ? LoadBytes : kHalf;
    transposeColumns<RunBytes, kHalf, kLoad, false, LoadBytes / kLoad>(
        block, 0, smallest);
  }
  return column;
}

/// Columns in tiles that have code of their own, up to where less than
/// `smallest` are left. Returns where that is. Those of a strip may take parts
/// of lines, whose rows must not evict one another.
template <int RunBytes, int Bytes, int LoadBytes>
TESSERA_INLINE int64_t transposeOwnTiles(const Block &block, int64_t smallest) {
  constexpr int kStripLoad = getCachedLoadBytes<RunBytes, Bytes>();
  if constexpr (RunBytes > 2)
    if (block.rows >= kLeastBandRows)
      return transposeBands<RunBytes, Bytes, LoadBytes>(block, smallest);
  // Lines of columns wait for the next rows, and those of rows for other parts.
  constexpr int64_t kColumns = kStripTiles * kStripLoad / RunBytes;
  bool stays =
      (block.rows <= Bytes / RunBytes ||
       !isInFewSets(kColumns, block.dstPitch)) &&
      (kStripLoad == LoadBytes || !isInOneSet<RunBytes>(block.srcPitch));
  int64_t column = 0;
  if (stays && !block.isLarge)
    column =
        transposeColumns<RunBytes, Bytes, kStripLoad, /*IsStreamed=*/false,
                         kStripTiles>(block, column, /*smallest=*/kColumns);
  return transposeColumns<RunBytes, Bytes, LoadBytes, /*IsStreamed=*/false>(
      block, column, smallest);
}

/// Copies a line of each of some rows side by side.
TESSERA_INLINE void copyLines(const char *src, int64_t pitch, int64_t rows,
                              char *lines) {
  for (int64_t r = 0; r < rows; ++r)
    copyFixed<kLineBytes>(src + r * pitch, lines + r * kLineBytes);
}

/// As many rows as a line has, a line of each, that were gathered before
/// where they evict one another.
template <int RunBytes, int Bytes, int LoadBytes, bool IsStreamed>
TESSERA_INLINE void transposeLines(Block block, bool isGathered,
                                   const Pitch &srcPitch,
                                   const Pitch &dstPitch) {
  constexpr int kTiles = kLineBytes / LoadBytes;
  if (!isGathered)
    return transposeRows<RunBytes, Bytes, LoadBytes, IsStreamed, kTiles>(
        block, srcPitch, dstPitch);
  char buffer[kLineRuns<RunBytes> * kLineBytes];
  copyLines(block.src, block.srcPitch, block.rows, buffer);
  block.src = buffer;
  transposeRows<RunBytes, Bytes, LoadBytes, IsStreamed, kTiles>(
      block, Pitch(kLineBytes), dstPitch);
}

/// Lines of rows, in tiles that take a part of one.
template <int RunBytes, int Bytes, int LoadBytes, bool IsStreamed>
TESSERA_INLINE void transposeParts(const Block &whole) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  const Pitch srcPitch(whole.srcPitch), dstPitch(whole.dstPitch);
  bool isGathered = isInOneSet<RunBytes>(whole.srcPitch);
  Block block = whole;
  int64_t column = 0;
  for (; column + kLine <= whole.columns; column += kLine) {
    const char *src = whole.src + column * RunBytes;
    for (int64_t row = 0; row < whole.rows; row += kLine) {
      int64_t r = least(row, whole.rows - Bytes / RunBytes);
      block.rows = least(kLine, whole.rows - r);
      block.src = src + r * whole.srcPitch;
      block.dst = whole.dst + column * whole.dstPitch + r * RunBytes;
      transposeLines<RunBytes, Bytes, LoadBytes, IsStreamed>(
          block, isGathered, srcPitch, dstPitch);
    }
  }
  transposeColumns<RunBytes, Bytes, kLaneBytes, IsStreamed>(whole, column,
                                                            /*smallest=*/1);
}

/// Tiles of `Bytes` of each column, of a line of each row if there is one, of
/// `Lines` where a tile takes whole ones. Both sides have a whole tile.
template <int RunBytes, int Bytes, bool IsStreamed, int Lines = 1>
__attribute__((noinline)) void
transposeTiles(const char *src, char *dst, int64_t rows, int64_t columns,
               int64_t srcPitch, int64_t dstPitch, bool isLarge) {
  constexpr int kLoad = getLoadBytes<RunBytes, Bytes>();
  const Block block = {src, dst, rows, columns, srcPitch, dstPitch, isLarge};
  int64_t column = 0;
  if (columns * RunBytes >= kLineBytes) {
    if constexpr (kLoad < kLineBytes)
      return transposeParts<RunBytes, Bytes, kLoad, IsStreamed>(block);
    // Up to two lanes are faster alone than in a line.
    if constexpr (Lines > 1)
      column = transposeColumns<RunBytes, Bytes, kLoad, IsStreamed, Lines>(
          block, 0, /*smallest=*/Lines * kLineRuns<RunBytes>);
    constexpr int64_t kSmallest = 2 * kLaneBytes / RunBytes + 1;
    if constexpr (Lines == 1 && kHasOwnTiles<RunBytes, Bytes, IsStreamed>)
      column = transposeOwnTiles<RunBytes, Bytes, kLoad>(block, kSmallest);
    else
      column = transposeColumns<RunBytes, Bytes, kLoad, IsStreamed>(
          block, column, kSmallest);
  }
  transposeColumns<RunBytes, Bytes, kLaneBytes, IsStreamed>(block, column,
                                                            /*smallest=*/1);
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_TRANSPOSETILES_H
