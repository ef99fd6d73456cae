//===- TransposeKernels.h - Rows that become columns ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_TRANSPOSEKERNELS_H
#define TESSERA_LIB_RUNTIME_TRANSPOSEKERNELS_H

#include "CopyKernels.h"

namespace tessera::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Transposes of tiles
//===----------------------------------------------------------------------===//

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

/// Prefetches a line of each of some rows to the second-level cache: the first
/// one has room for what is used at once.
template <int Count, int Locality = 2, typename Rows>
TESSERA_INLINE void prefetchRows(const Rows &rows, int64_t bytesBehind = 0) {
  TESSERA_UNROLL
  for (int k = 0; k < Count; ++k)
    __builtin_prefetch(rows[k] + bytesBehind, /*rw=*/0, Locality);
}
TESSERA_INLINE void prefetchRows(const char *src, int64_t pitch, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r)
    __builtin_prefetch(src + r * pitch, /*rw=*/0, /*locality=*/2);
}

/// A tile of `LoadBytes` of each row and `Bytes` of each column, of which
/// `write(k, column)` gets column k. Rounds of unpacking within lanes make row
/// k of each lane column k of it; then lanes of the same columns are put
/// together. What lies `prefetch` bytes behind the rows is prefetched, unless
/// that is 0.
template <int RunBytes, int Bytes, int LoadBytes, typename Rows, typename Write>
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
      tile[i][k] =
          loadRows<RunBytes, Bytes, LoadBytes, kColumns>(rows, i * kRows + k);
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
      write(i * kColumns + k, lanes[i]);
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
};

/// Calls what is not inlined with the parts of a block: arguments that come in
/// registers are there at once; memory that was just written is not.
template <typename Body, typename... Args>
TESSERA_INLINE void callApart(const Body &body, const Block &block,
                              Args... args) {
  body(block.src, block.dst, block.rows, block.columns, block.srcPitch,
       block.dstPitch, args...);
}

/// Runs as they are, or squares of `Ways` by `Ways` elements that are
/// transposed as well.
template <int RunBytes, int Ways, typename V>
TESSERA_INLINE V turnRuns(V runs) {
  if constexpr (Ways > 1)
    return turnSquares<RunBytes, Ways>(runs);
  else
    return runs;
}

template <int RunBytes, int Ways = 1>
__attribute__((noinline)) void
transposeOneByOne(const char *src, char *dst, int64_t rows, int64_t columns,
                  int64_t srcPitch, int64_t dstPitch) {
  const Block block = {src, dst, rows, columns, srcPitch, dstPitch};
  for (int64_t c = 0; c < block.columns; ++c)
    for (int64_t r = 0; r < block.rows; ++r) {
      Bytes16 run = {};
      auto *bytes = reinterpret_cast<char *>(&run);
      copyFixed<RunBytes>(block.src + r * block.srcPitch + c * RunBytes, bytes);
      run = turnRuns<RunBytes, Ways>(run);
      copyFixed<RunBytes>(bytes, block.dst + c * block.dstPitch + r * RunBytes);
    }
}

/// Runs of a line.
template <int RunBytes> constexpr int64_t kLineRuns = kLineBytes / RunBytes;

/// Whether rows of a line each would evict one another from the first-level
/// cache: pages begin at one set.
template <int RunBytes> TESSERA_INLINE bool isInOneSet(int64_t pitch) {
  constexpr int64_t kPage = 4096;
  int64_t sets = pitch == 0 ? kPage : kPage / (pitch & -pitch);
  return sets == 0 || kLineRuns<RunBytes> / sets > kCacheWays;
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

/// Tiles over all rows, `Tiles` of them side by side. The last ones overlap
/// those before where rows are no multiple.
template <int RunBytes, int Bytes, int LoadBytes, bool IsStreamed, int Tiles>
TESSERA_INLINE void transposeRows(const Block &block, const Pitch &srcPitch,
                                  const Pitch &dstPitch) {
  constexpr int64_t kRows = Bytes / RunBytes, kColumns = LoadBytes / RunBytes;
  for (int64_t row = 0; row < block.rows; row += kRows) {
    int64_t r = least(row, block.rows - kRows);
    const char *src = block.src + r * srcPitch.getBytes();
    char *dst = block.dst + r * RunBytes;
    for (int i = 0; i < Tiles; ++i)
      transposeTile<RunBytes, Bytes, LoadBytes, IsStreamed>(
          src + i * LoadBytes, srcPitch,
          dst + i * kColumns * dstPitch.getBytes(), dstPitch);
  }
}

/// Columns of `LoadBytes` of each row, from `column` on; the last ones overlap
/// those before, unless they are less than `smallest`. Returns where that is.
template <int RunBytes, int Bytes, int LoadBytes, bool IsStreamed>
TESSERA_INLINE int64_t transposeColumns(const Block &whole, int64_t column,
                                        int64_t smallest) {
  constexpr int64_t kColumns = LoadBytes / RunBytes;
  const Pitch srcPitch(whole.srcPitch), dstPitch(whole.dstPitch);
  Block block = whole;
  for (; column + smallest <= whole.columns; column += kColumns) {
    int64_t c = least(column, whole.columns - kColumns);
    block.src = whole.src + c * RunBytes;
    block.dst = whole.dst + c * whole.dstPitch;
    transposeRows<RunBytes, Bytes, LoadBytes, IsStreamed, 1>(block, srcPitch,
                                                             dstPitch);
  }
  return column;
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
  for (int64_t r = 0; r < block.rows; ++r)
    copyFixed<kLineBytes>(block.src + r * block.srcPitch,
                          buffer + r * kLineBytes);
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

/// Tiles of `Bytes` of each column, of a line of each row if there is one.
/// Both sides have a whole tile.
template <int RunBytes, int Bytes, bool IsStreamed>
__attribute__((noinline)) void
transposeTiles(const char *src, char *dst, int64_t rows, int64_t columns,
               int64_t srcPitch, int64_t dstPitch) {
  constexpr int kLoad = getLoadBytes<RunBytes, Bytes>();
  const Block block = {src, dst, rows, columns, srcPitch, dstPitch};
  int64_t column = 0;
  if (columns * RunBytes >= kLineBytes) {
    if constexpr (kLoad < kLineBytes)
      return transposeParts<RunBytes, Bytes, kLoad, IsStreamed>(block);
    // Up to two lanes are faster alone than in a line.
    column = transposeColumns<RunBytes, Bytes, kLoad, IsStreamed>(
        block, 0, /*smallest=*/2 * kLaneBytes / RunBytes + 1);
  }
  transposeColumns<RunBytes, Bytes, kLaneBytes, IsStreamed>(block, column,
                                                            /*smallest=*/1);
}

//===----------------------------------------------------------------------===//
// Few rows or columns
//===----------------------------------------------------------------------===//

/// How many of `count` runs of `size` bytes, `pitch` apart, have a lane of
/// bytes from their begin on before the last one ends.
TESSERA_INLINE int64_t countLanes(int64_t count, int64_t size, int64_t pitch) {
  return pitch <= 0 ? 0 : count - (kLaneBytes - size + pitch - 1) / pitch;
}

/// Columns of less than a lane: what comes behind rows is loaded with them, and
/// not stored.
template <int RunBytes>
__attribute__((noinline)) void
transposeFewColumns(const char *src, char *dst, int64_t rows, int64_t columns,
                    int64_t srcPitch, int64_t dstPitch) {
  constexpr int kColumns = kLaneBytes / RunBytes;
  constexpr int64_t kRows = kVectorBytes / RunBytes;
  const Block block = {src, dst, rows, columns, srcPitch, dstPitch};
  const Pitch from(srcPitch), to(dstPitch);
  int64_t whole =
      countLanes(block.rows, block.columns * RunBytes, block.srcPitch);
  for (int64_t row = 0; row < whole && whole >= kRows; row += kRows) {
    int64_t r = least(row, whole - kRows);
    const Rows<const char, kRows> read(src + r * srcPitch, from);
    const Rows<char, kColumns> written(dst + r * RunBytes, to);
    Vector<RunBytes, kVectorBytes> tile[kColumns];
    TESSERA_UNROLL
    for (int k = 0; k < kColumns; ++k)
      tile[k] = loadRows<RunBytes, kVectorBytes, kLaneBytes, kColumns>(read, k);
    unpackRegisters<kColumns, kRows>(tile);
    TESSERA_UNROLL
    for (int k = 0; k < kColumns; ++k)
      if (k < columns)
        store(written[k], tile[k]);
  }
  Block rest = block;
  int64_t done = whole >= kRows ? whole : 0;
  rest.rows -= done;
  rest.src += done * block.srcPitch;
  rest.dst += done * RunBytes;
  callApart(transposeOneByOne<RunBytes>, rest);
}

/// Columns from a register of each of few rows on, a lane each.
template <int RunBytes>
TESSERA_INLINE void loadColumns(const Block &block, int64_t column,
                                Bytes16 (&columns)[kVectorBytes / RunBytes]) {
  constexpr int kColumns = kLaneBytes / RunBytes;
  constexpr int kLanes = kVectorBytes / kLaneBytes;
  using V = Vector<RunBytes, kVectorBytes>;
  V tile[kColumns];
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k)
    tile[k] = load<V>(block.src + column * RunBytes +
                      (k < block.rows ? k * block.srcPitch : 0));
  unpackRegisters<kColumns, kVectorBytes / RunBytes>(tile);
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k) {
    Bytes16 lanes[kLanes];
    store(reinterpret_cast<char *>(lanes), tile[k]);
    TESSERA_UNROLL
    for (int i = 0; i < kLanes; ++i)
      columns[i * kColumns + k] = lanes[i];
  }
}

/// Columns of rows of less than a lane. Those that are one run are stored as
/// lanes, each of which the next one corrects; others byte for byte.
template <int RunBytes>
__attribute__((noinline)) void
transposeFewRows(const char *src, char *dst, int64_t rows, int64_t columns,
                 int64_t srcPitch, int64_t dstPitch) {
  constexpr int64_t kRuns = kVectorBytes / RunBytes;
  const Block block = {src, dst, rows, columns, srcPitch, dstPitch};
  int64_t size = block.rows * RunBytes;
  bool isRun = block.dstPitch == size;
  int64_t whole = isRun ? countLanes(columns, size, size) : columns;
  for (int64_t column = 0; column < whole && whole >= kRuns; column += kRuns) {
    int64_t c = least(column, whole - kRuns);
    Bytes16 lanes[kRuns];
    loadColumns<RunBytes>(block, c, lanes);
    char *to = dst + c * dstPitch;
    for (int64_t i = 0; i < kRuns; ++i)
      if (isRun)
        store(to + i * size, lanes[i]);
      else
        copyRun(reinterpret_cast<const char *>(&lanes[i]), to + i * dstPitch,
                size);
  }
  Block rest = block;
  int64_t done = whole >= kRuns ? whole : 0;
  rest.columns -= done;
  rest.src += done * RunBytes;
  rest.dst += done * block.dstPitch;
  callApart(transposeOneByOne<RunBytes>, rest);
}

//===----------------------------------------------------------------------===//
// Transposes in the caches
//===----------------------------------------------------------------------===//

/// By the widest tiles that there is room for.
template <int RunBytes> TESSERA_INLINE void transposeBlock(const Block &block) {
  if constexpr (RunBytes < kLaneBytes) {
    if (block.columns * RunBytes < kLaneBytes)
      return callApart(transposeFewColumns<RunBytes>, block);
    if (block.rows * RunBytes < kLaneBytes)
      return callApart(transposeFewRows<RunBytes>, block);
  }
  if (block.rows * RunBytes >= kVectorBytes)
    return callApart(transposeTiles<RunBytes, kVectorBytes, false>, block);
  if constexpr (kVectorBytes > 32)
    if (block.rows * RunBytes >= 32)
      return callApart(transposeTiles<RunBytes, 32, false>, block);
  callApart(transposeTiles<RunBytes, kLaneBytes, false>, block);
}

/// Rows of which lines next to those in use wait in the second-level cache,
/// even where all are in a few sets; and rows that begin anywhere in a line, of
/// which two lines each are in use, in the first-level cache.
constexpr int64_t kBandRows = 256, kRaggedBandRows = 64;
/// As much of a side as a block takes; what is left is no less than `smallest`.
TESSERA_INLINE int64_t takeBlock(int64_t left, int64_t block,
                                 int64_t smallest) {
  return left - block < smallest ? left : block;
}

/// In bands of rows, along the source.
template <int RunBytes>
TESSERA_INLINE void transposeBlocks(const Block &whole) {
  bool isRagged =
      !isOnLine(whole.srcPitch) && whole.columns * RunBytes >= kLineBytes;
  int64_t rows = isRagged ? kRaggedBandRows : kBandRows;
  Block block = whole;
  for (int64_t r = 0; r < whole.rows; r += block.rows) {
    block.rows = takeBlock(whole.rows - r, rows, kVectorBytes / RunBytes);
    block.src = whole.src + r * whole.srcPitch;
    block.dst = whole.dst + r * RunBytes;
    transposeBlock<RunBytes>(block);
  }
}

//===----------------------------------------------------------------------===//
// Transposes past the caches
//===----------------------------------------------------------------------===//

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

/// Rows of whole lines of the destination, where registers are shorter than a
/// line or columns evict one another: some rows, a line of each, are transposed
/// into a buffer, from which whole lines of columns are written at once.
template <int RunBytes, bool IsStreamed> class StagedRows {
public:
  StagedRows(const Block &whole)
      : whole(whole), prefetch(getPrefetch<RunBytes>(whole)),
        isGathered(evictOneAnother(kTileRows, whole.srcPitch)),
        most(RunBytes == 1 || evictOneAnother(kLine, whole.dstPitch) ? kMost
                                                                     : kPiece),
        pitch(whole.srcPitch) {}

  void run() {
    for (int64_t r = 0; r < whole.rows; r += most) {
      int64_t rows = least(most, whole.rows - r), columns = 0;
      for (int64_t c = 0; c < whole.columns; c += columns) {
        columns = least(kLine, whole.columns - c);
        transposeLine(r, c, rows, columns);
        write(r, c, rows, columns);
      }
    }
  }

private:
  static constexpr int64_t kLine = kLineRuns<RunBytes>;
  static constexpr int kLoad = getLoadBytes<RunBytes, kVectorBytes>();
  static constexpr int64_t kTileRows = kVectorBytes / RunBytes;
  /// A processor prefetches about so many rows, if loads of their own read each
  /// of them. Tiles of single bytes may have more.
  static constexpr int64_t kPiece = kTileRows > 32 ? kTileRows : 32;
  /// Single bytes, and columns that evict one another, are written in runs of
  /// so many rows.
  static constexpr int64_t kMost = 256;
  static constexpr int64_t kBufferPitch = kMost * RunBytes;

  static bool evictOneAnother(int64_t count, int64_t pitch) {
    return count > kCacheWays && isInOneSet<RunBytes>(pitch);
  }

  void transposeLine(int64_t r, int64_t c, int64_t rows, int64_t columns) {
    const char *src = whole.src + r * whole.srcPitch + c * RunBytes;
    if (columns < kLine || rows % kPiece != 0)
      return transposeBlock<RunBytes>(
          {src, buffer, rows, columns, whole.srcPitch, kBufferPitch});
    for (int64_t i = 0; i < rows; i += kPiece)
      transposePiece(src + i * whole.srcPitch, buffer + i * RunBytes);
  }

  TESSERA_INLINE void transposePiece(const char *src, char *dst) {
    const Pitch from = pitch;
    char *to = hide(dst);
    TESSERA_UNROLL
    for (int64_t r = 0; r < kPiece; r += kTileRows) {
      const char *rows = src + r * from.getBytes();
      prefetchRows<kTileRows>(
          Rows<const char, kTileRows>(rows + prefetch, from));
      if (isGathered)
        transposeGathered(rows, to + r * RunBytes);
      else
        transposeLines(rows, from, to + r * RunBytes);
    }
  }

  /// A line of each row of a tile.
  TESSERA_INLINE void transposeLines(const char *src, const Pitch &from,
                                     char *dst) {
    TESSERA_UNROLL
    for (int i = 0; i < kLineBytes; i += kLoad)
      transposeTile<RunBytes, kVectorBytes, kLoad>(
          src + i, from, 0, [=](int k, auto column) {
            store(dst + (i / RunBytes + k) * kBufferPitch, column);
          });
  }

  __attribute__((noinline)) void transposeGathered(const char *src, char *dst) {
    alignas(kLineBytes) char lines[kTileRows * kLineBytes];
    for (int64_t r = 0; r < kTileRows; ++r)
      copyFixed<kLineBytes>(src + r * whole.srcPitch, lines + r * kLineBytes);
    transposeLines(lines, Pitch(kLineBytes), dst);
  }

  void write(int64_t r, int64_t c, int64_t rows, int64_t columns) {
    char *dst = whole.dst + c * whole.dstPitch + r * RunBytes;
    if (rows == kMost) // Loops over so many lines have no end to look for.
      writeColumns(dst, kMost, columns);
    else if (rows == kPiece)
      writeColumns(dst, kPiece, columns);
    else
      writeColumns(dst, rows, columns);
  }

  TESSERA_INLINE void writeColumns(char *dst, int64_t rows, int64_t columns) {
    for (int64_t k = 0; k < columns; ++k)
      if constexpr (IsStreamed)
        streamWholeLines(buffer + k * kBufferPitch, dst + k * whole.dstPitch,
                         rows * RunBytes);
      else
        copyRun(buffer + k * kBufferPitch, dst + k * whole.dstPitch,
                rows * RunBytes);
  }

  const Block &whole;
  const int64_t prefetch;
  const bool isGathered;
  const int64_t most;
  const Pitch pitch;
  alignas(kLineBytes) char buffer[kLine * kBufferPitch];
};

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
                                               columns - c, srcPitch, dstPitch);
}

/// Rows of whole lines of the destination, which are short and lie one behind
/// another, or of runs so short that a tile takes a part of a line of each row:
/// a tile reads them again and again. Rows are copied into a buffer, line below
/// line, and long runs of few columns at a time written from there. Meanwhile
/// the rows that come next are prefetched.
template <int RunBytes> class PackedRows {
public:
  PackedRows(const Block &whole, int64_t lines)
      : whole(whole), most(lines * kLine), pitch(whole.dstPitch) {}

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
    const char *ahead = next.src;
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
  alignas(kLineBytes) char buffer[kLines * kBufferPitch];
};

/// Rows of whole lines of the destination, along the source.
template <int RunBytes>
void streamRows(const Block &whole, const StreamedBlocks &blocks) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  if (blocks.packsRows)
    return PackedRows<RunBytes>(whole, blocks.lines).run();
  int64_t most = blocks.lines, lines = 0;
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
  /// Farther than for two lines of each column: tiles of one line are soon
  /// done.
  static constexpr int64_t kPrefetch = 6 * kLineBytes;

  JoinedColumns(const Block &whole)
      : whole(whole), srcPitch(whole.srcPitch), dstPitch(whole.dstPitch) {}

  void run() {
    int64_t blocks = whole.rows / kLineRuns<RunBytes>;
    for (int64_t c = 0; c < whole.columns; c += kGroup)
      keepFirst(c);
    for (int64_t i = 1; i < blocks; ++i)
      for (int64_t c = 0; c < whole.columns; c += kGroup)
        writeLines(c, i);
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
    StagedRows<RunBytes, true>(part(head, lines)).run();
  else
    streamRows<RunBytes>(part(head, lines), blocks);
  transposeBlocks<RunBytes>(part(head + lines, whole.rows - head - lines));
}

//===----------------------------------------------------------------------===//
// Interleaves: few rows, or few columns
//===----------------------------------------------------------------------===//

/// A register of each of `Ways` rows, run by run in turns. Behind `numRows` of
/// them come registers from `filler`.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTile(const char *src, int64_t pitch, char *dst,
                                   int64_t numRows = Ways,
                                   const char *filler = nullptr) {
  using V = Vector<RunBytes, Bytes>;
  V rows[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    rows[k] = load<V>(k < numRows ? src + k * pitch : filler);
  interleaveRegisters<RunBytes>(rows);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    write<IsStreamed>(dst + k * Bytes, rows[k]);
}

/// Registers that make one piece of a column: a line at once where that
/// bypasses the caches, as processors write what waits for the rest of a line
/// part by part.
template <int Bytes, bool IsStreamed>
constexpr int kPieces =
    IsStreamed && Bytes < kLineBytes ? kLineBytes / Bytes : 1;

template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTile(const char *src, char *dst,
                                     int64_t pitch) {
  constexpr int kCount = kPieces<Bytes, IsStreamed>;
  using V = Vector<RunBytes, Bytes>;
  V runs[kCount][Ways];
  TESSERA_UNROLL
  for (int i = 0; i < kCount; ++i)
    loadSplit<RunBytes>(src + i * Ways * Bytes, runs[i]);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k) {
    TESSERA_UNROLL
    for (int i = 0; i < kCount; ++i)
      write<IsStreamed>(dst + k * pitch + i * Bytes, runs[i][k]);
  }
}

/// Rows of at least a register.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTiles(const Block &block) {
  constexpr int64_t kRuns = Bytes / RunBytes;
  auto moveTile = [&](int64_t c) {
    interleaveTile<RunBytes, Bytes, Ways, IsStreamed>(
        block.src + c * RunBytes, block.srcPitch,
        block.dst + c * Ways * RunBytes);
  };
  int64_t c = 0;
  for (; c + 4 * kRuns <= block.columns; c += 4 * kRuns) {
    TESSERA_UNROLL
    for (int i = 0; i < 4; ++i)
      moveTile(c + i * kRuns);
  }
  for (; c < block.columns; c += kRuns)
    moveTile(least(c, block.columns - kRuns));
}

template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTiles(const Block &block) {
  constexpr int64_t kRuns = Bytes / RunBytes * kPieces<Bytes, IsStreamed>;
  auto moveTile = [&](int64_t r) {
    deinterleaveTile<RunBytes, Bytes, Ways, IsStreamed>(
        block.src + r * Ways * RunBytes, block.dst + r * RunBytes,
        block.dstPitch);
  };
  int64_t r = 0;
  for (; r + 4 * kRuns <= block.rows; r += 4 * kRuns) {
    TESSERA_UNROLL
    for (int i = 0; i < 4; ++i)
      moveTile(r + i * kRuns);
  }
  for (; r < block.rows; r += kRuns)
    moveTile(least(r, block.rows - kRuns));
}

#if defined(__AVX512BW__)
/// Columns from number `first` on, fewer than a register has, and filler up to
/// `all` bytes from the begin of the block. Whole registers are stored as far
/// as there are: processors take longer for parts of one.
template <int RunBytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveRest(const Block &block, int64_t first,
                                   int64_t all, const Filler &filler) {
  using V = Vector<RunBytes, kVectorBytes>;
  const auto fill = load<V>(filler.get(0));
  int64_t left = (block.columns - first) * RunBytes;
  const char *src = block.src + first * RunBytes;
  char *dst = block.dst + first * Ways * RunBytes, *end = block.dst + all;
  auto writeNext = [&](V value) {
    if (end - dst >= kVectorBytes)
      write<IsStreamed>(dst, value);
    else if (end > dst)
      storeFirst(dst, value, end - dst);
    dst += kVectorBytes;
  };
  if (left > 0) {
    V rows[Ways];
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k)
      rows[k] = k < block.rows
                    ? loadFirst<V>(src + k * block.srcPitch, left, fill)
                    : fill;
    interleaveRegisters<RunBytes>(rows);
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k)
      writeNext(rows[k]);
  }
  while (dst < end)
    writeNext(fill);
}
#endif

template <int RunBytes, int Ways>
TESSERA_INLINE void interleave(const Block &block, bool isStreamed) {
  int64_t size = block.columns * RunBytes;
  // A run of whole lines is streamed; others end in a register that overlaps.
  if (isStreamed && size % kVectorBytes == 0 && bytesToLine(block.dst) == 0 &&
      isOnLine(size * Ways))
    return interleaveTiles<RunBytes, kVectorBytes, Ways, true>(block);
  if (size >= kVectorBytes)
    return interleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
  if (size >= kLaneBytes)
    return interleaveTiles<RunBytes, kLaneBytes, Ways, false>(block);
#if defined(__AVX512BW__)
  static constexpr uint8_t kNone[kLaneBytes] = {};
  interleaveRest<RunBytes, Ways, false>(block, 0, size * Ways, Filler(kNone));
#else
  callApart(transposeOneByOne<RunBytes>, block);
#endif
}

#if defined(__AVX512BW__)
/// Columns of `Ways` runs, of which rows are the first and filler the others,
/// and filler up to `all` bytes.
template <int RunBytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveFilled(const Block &block, int64_t all,
                                     const Filler &filler) {
  constexpr int64_t kRuns = kVectorBytes / RunBytes;
  int64_t c = 0;
  for (; c + kRuns <= block.columns; c += kRuns)
    interleaveTile<RunBytes, kVectorBytes, Ways, IsStreamed>(
        block.src + c * RunBytes, block.srcPitch,
        block.dst + c * Ways * RunBytes, block.rows, filler.get(0));
  interleaveRest<RunBytes, Ways, IsStreamed>(block, c, all, filler);
}
#else
/// Columns of `Ways` runs of which rows are the first, and `filler` the others.
template <int RunBytes, int Ways>
TESSERA_INLINE void interleaveFew(const Block &block, const char *filler) {
  int64_t c = 0;
  auto interleaveAll = [&](auto bytes) {
    constexpr int kBytes = decltype(bytes)::kCount;
    constexpr int64_t kRuns = kBytes / RunBytes;
    for (; c + kRuns <= block.columns; c += kRuns)
      interleaveTile<RunBytes, kBytes, Ways, false>(
          block.src + c * RunBytes, block.srcPitch,
          block.dst + c * Ways * RunBytes, block.rows, filler);
  };
  interleaveAll(Constant<kVectorBytes>());
  interleaveAll(Constant<kLaneBytes>());
  for (; c < block.columns; ++c)
    for (int k = 0; k < Ways; ++k)
      copyFixed<RunBytes>(k < block.rows
                              ? block.src + k * block.srcPitch + c * RunBytes
                              : filler,
                          block.dst + (c * Ways + k) * RunBytes);
}

/// Nothing is filled behind the last column here.
template <int RunBytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveFilled(const Block &block, int64_t /*all*/,
                                     const Filler &filler) {
  interleaveFew<RunBytes, Ways>(block, filler.get(0));
}
#endif

#if defined(__AVX512BW__)
/// Rows from number `first` on, fewer than a register has; nothing is read
/// beyond the last run, or written beyond the columns.
template <int RunBytes, int Ways>
TESSERA_INLINE void deinterleaveRest(const Block &block, int64_t first) {
  using V = Vector<RunBytes, kVectorBytes>;
  int64_t rows = block.rows - first;
  int64_t left = ((rows - 1) * Ways + block.columns) * RunBytes;
  const char *src = block.src + first * Ways * RunBytes;
  V runs[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k) {
    int64_t begin = k * kVectorBytes;
    runs[k] = loadFirst<V>(src + begin, left - least(begin, left));
  }
  deinterleaveRegisters<kVectorBytes / RunBytes>(runs);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    if (k < block.columns)
      storeFirst(block.dst + k * block.dstPitch + first * RunBytes, runs[k],
                 rows * RunBytes);
}
#endif

/// Some of `Ways` columns. What lies between their runs is loaded as long as
/// others follow, so that nothing is read beyond the last one.
template <int RunBytes, int Ways>
TESSERA_INLINE void deinterleaveSome(const Block &block) {
  int64_t r = 0;
  auto deinterleaveAll = [&](auto bytes) {
    constexpr int kBytes = decltype(bytes)::kCount;
    constexpr int64_t kRuns = kBytes / RunBytes;
    for (; r + kRuns < block.rows; r += kRuns) {
      Vector<RunBytes, kBytes> runs[Ways];
      loadSplit<RunBytes>(block.src + r * Ways * RunBytes, runs);
      TESSERA_UNROLL
      for (int k = 0; k < Ways; ++k)
        if (k < block.columns)
          store(block.dst + k * block.dstPitch + r * RunBytes, runs[k]);
    }
  };
  deinterleaveAll(Constant<kVectorBytes>());
  deinterleaveAll(Constant<kLaneBytes>());
#if defined(__AVX512BW__)
  deinterleaveRest<RunBytes, Ways>(block, r);
#else
  Block rest = block;
  rest.rows -= r;
  rest.src += r * block.srcPitch;
  rest.dst += r * RunBytes;
  callApart(transposeOneByOne<RunBytes>, rest);
#endif
}

template <int RunBytes, int Ways>
TESSERA_INLINE void deinterleave(const Block &block, bool isStreamed) {
  int64_t size = block.rows * RunBytes;
  if (isStreamed && isOnLine(size) && bytesToLine(block.dst) == 0 &&
      isOnLine(block.dstPitch))
    return deinterleaveTiles<RunBytes, kVectorBytes, Ways, true>(block);
  if (size >= kVectorBytes)
    return deinterleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
  if (size >= kLaneBytes)
    return deinterleaveTiles<RunBytes, kLaneBytes, Ways, false>(block);
#if defined(__AVX512BW__)
  deinterleaveRest<RunBytes, Ways>(block, 0);
#else
  callApart(transposeOneByOne<RunBytes>, block);
#endif
}

//===----------------------------------------------------------------------===//
// The choice among them
//===----------------------------------------------------------------------===//

/// Calls `body` with a block for each step of the loops.
template <typename Body>
TESSERA_INLINE void walkBlocks(const Job &job, const char *src, char *dst,
                               const Body &body) {
  int64_t rows = job.rows.count, columns = job.columns.count;
  int64_t srcPitch = job.rows.src, dstPitch = job.columns.dst;
  walk(job.loops, job.numLoops, src, dst, [=](const char *src, char *dst) {
    body(Block{src, dst, rows, columns, srcPitch, dstPitch});
  });
}

/// Runs of a row of a tile, in most layouts: loops over so many have no end to
/// look for.
constexpr int64_t kTileRuns = 128;

template <int RunBytes, int Ways>
void interleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  if (!isStreamed && job.columns.count == kTileRuns)
    return walkBlocks(job, src, dst, [](Block block) {
      block.columns = kTileRuns;
      interleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
    });
  walkBlocks(job, src, dst, [isStreamed](const Block &block) {
    interleave<RunBytes, Ways>(block, isStreamed);
  });
}

template <int RunBytes, int Ways>
void deinterleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  if (!isStreamed && job.rows.count == kTileRuns)
    return walkBlocks(job, src, dst, [](Block block) {
      block.rows = kTileRuns;
      deinterleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
    });
  walkBlocks(job, src, dst, [isStreamed](const Block &block) {
    deinterleave<RunBytes, Ways>(block, isStreamed);
  });
}

/// Blocks of rows go through a buffer in the first-level cache, and come from
/// there in runs, longer ones where all columns begin at one set. Rows that
/// evict one another are read some lines of each at a time, others a line.
template <int RunBytes> void transposeStaged(const Block &whole) {
  constexpr int64_t kRunBytes = 512, kColumns = 64;
  constexpr int64_t kPage = 4096, kLine = kLineRuns<RunBytes>;
  alignas(kLineBytes) char buffer[kColumns * kRunBytes];
  bool isInSet = isInOneSet<RunBytes>(whole.srcPitch);
  int64_t high =
      (whole.dstPitch % kPage ? kRunBytes / 2 : kRunBytes) / RunBytes;
  int64_t most = isInSet ? kColumns : kLine, step = isInSet ? kLine : high;
  Block block = whole;
  block.dstPitch = kRunBytes;
  for (int64_t r = 0; r < whole.rows; r += high)
    for (int64_t c = 0; c < whole.columns; c += block.columns) {
      int64_t rows = least(high, whole.rows - r);
      block.columns = least(most, whole.columns - c);
      for (int64_t i = 0; i < rows; i += step) {
        block.src = whole.src + (r + i) * whole.srcPitch + c * RunBytes;
        block.dst = buffer + i * RunBytes;
        block.rows = least(step, rows - i);
        transposeBlock<RunBytes>(block);
      }
      char *dst = whole.dst + c * whole.dstPitch + r * RunBytes;
      for (int64_t k = 0; k < block.columns; ++k)
        copyRun(buffer + k * kRunBytes, dst + k * whole.dstPitch,
                rows * RunBytes);
    }
}

/// Columns that evict one another are few lines at a time in the first-level
/// cache; long runs of them, from a buffer, come faster.
template <int RunBytes>
TESSERA_INLINE void transposeCached(const Block &block) {
  constexpr int64_t kLeastBytes = 1 << 16;
  bool isStaged = kLineRuns<RunBytes> > kCacheWays &&
                  isInOneSet<RunBytes>(block.dstPitch) &&
                  block.rows * block.columns * RunBytes >= kLeastBytes;
  if (!isStaged)
    return transposeBlocks<RunBytes>(block);
  if constexpr (kVectorBytes < kLineBytes)
    StagedRows<RunBytes, false>(block).run();
  else
    transposeStaged<RunBytes>(block);
}

//===----------------------------------------------------------------------===//
// Rows or columns in chains
//===----------------------------------------------------------------------===//

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

template <int RunBytes>
void transposeRuns(const Job &job, const char *src, char *dst) {
  if (!job.isStreamed)
    return walkBlocks(job, src, dst, [](const Block &block) {
      transposeCached<RunBytes>(block);
    });
  walkBlocks(job, src, dst, [&job](const Block &block) {
    transposeStreamed<RunBytes>(block, job.blocks);
  });
}

/// Interleaves of rows and padding, which lies behind the rows of each column,
/// or behind the last column where there are all rows.
template <int RunBytes, int Ways>
void interleaveFilledRuns(const Job &job, const char *src, char *dst) {
  const Filler filler(job.value);
  int64_t all = job.columns.count * Ways * RunBytes;
  if (job.rows.count == Ways)
    all += job.fillBytes;
  bool isStreamed = kHasMasks && job.isStreamed && isOnLine(all);
  walkBlocks(job, src, dst, [&filler, all, isStreamed](const Block &block) {
    if (isStreamed && bytesToLine(block.dst) == 0)
      interleaveFilled<RunBytes, Ways, true>(block, all, filler);
    else
      interleaveFilled<RunBytes, Ways, false>(block, all, filler);
  });
}

/// Fewer columns than there are runs side by side.
template <int RunBytes, int Ways>
void deinterleaveSomeRuns(const Job &job, const char *src, char *dst) {
  walkBlocks(job, src, dst, [](const Block &block) {
    deinterleaveSome<RunBytes, Ways>(block);
  });
}

/// Of 2 or 4 ways; null where it is none.
template <int RunBytes, int Ways> Kernel *chooseInterleave(const Job &job) {
  bool isColumn = job.columns.dst == Ways * RunBytes;
  bool isRow = job.rows.src == Ways * RunBytes;
  bool isFilled = job.fillBytes > 0; // Others fill nothing.
  if (isColumn && isFilled)
    return interleaveFilledRuns<RunBytes, Ways>;
  if (isFilled)
    return nullptr;
  if (isColumn && job.rows.count == Ways)
    return interleaveRuns<RunBytes, Ways>;
  if (isRow && job.columns.count == Ways)
    return deinterleaveRuns<RunBytes, Ways>;
  if (isRow && job.columns.count < Ways)
    return deinterleaveSomeRuns<RunBytes, Ways>;
  return nullptr;
}

template <int RunBytes> Kernel *chooseTransposeOf(const Job &job) {
  if constexpr (RunBytes >= 4)
    if (job.square == 2)
      return transposeChains<RunBytes, 2>;
  if constexpr (RunBytes == 16)
    if (job.square == 4)
      return transposeChains<RunBytes, 4>;
  if (job.moreRows.count > 1 || job.moreColumns.count > 1)
    return transposeChains<RunBytes, 1>;
  Kernel *kernel = nullptr;
  if constexpr (RunBytes <= 8) {
    kernel = chooseInterleave<RunBytes, 2>(job);
    if (!kernel)
      kernel = chooseInterleave<RunBytes, 4>(job);
  }
  return kernel ? kernel : transposeRuns<RunBytes>;
}

Kernel *chooseTranspose(const Job &job) {
  switch (job.runBytes) {
  case 1:
    return chooseTransposeOf<1>(job);
  case 2:
    return chooseTransposeOf<2>(job);
  case 4:
    return chooseTransposeOf<4>(job);
  case 8:
    return chooseTransposeOf<8>(job);
  default:
    return chooseTransposeOf<16>(job);
  }
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_TRANSPOSEKERNELS_H
