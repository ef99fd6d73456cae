//===- TransposeBlocks.h - Transposes in the caches -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_TRANSPOSEBLOCKS_H
#define TESSERA_LIB_RUNTIME_TRANSPOSEBLOCKS_H

#include "TransposeTiles.h"

namespace tessera::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Few rows or columns
//===----------------------------------------------------------------------===//

/// How many of `count` runs of `size` bytes, `pitch` apart, have a lane of
/// bytes from their begin on before the last one ends.
TESSERA_INLINE int64_t countLanes(int64_t count, int64_t size, int64_t pitch) {
  return pitch <= 0 ? 0 : count - (kLaneBytes - size + pitch - 1) / pitch;
}

/// Calls `move` with the size of the widest registers that so many runs fill,
/// at most `Most` bytes. Returns whether they fill any.
template <int RunBytes, int Most = kVectorBytes, typename Move>
TESSERA_INLINE bool withWidest(int64_t runs, const Move &move) {
  auto tryMove = [&](auto bytes) {
    if (runs * RunBytes < decltype(bytes)::kCount)
      return false;
    move(bytes);
    return true;
  };
  if constexpr (Most == kVectorBytes)
    if (tryMove(Constant<kVectorBytes>()))
      return true;
  if constexpr (kVectorBytes > 32)
    if (tryMove(Constant<32>()))
      return true;
  if constexpr (kVectorBytes > kLaneBytes)
    return tryMove(Constant<kLaneBytes>());
  return false;
}

/// A lane of each of as many rows as `Bytes` of a column hold; the first ones
/// of these columns are written.
template <int RunBytes, int Bytes>
TESSERA_INLINE void transposeFirstColumns(const char *src, const Pitch &from,
                                          char *dst, const Pitch &to,
                                          int64_t columns) {
  constexpr int kColumns = kLaneBytes / RunBytes, kRows = Bytes / RunBytes;
  const Rows<const char, kRows> read(src, from);
  const Rows<char, kColumns> written(dst, to);
  Vector<RunBytes, Bytes> tile[kColumns];
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k)
    tile[k] = loadRows<RunBytes, Bytes, kLaneBytes, kColumns>(read, k);
  unpackRegisters<kColumns, kRows>(tile);
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k)
    if (k < columns)
      store(written[k], tile[k]);
}

/// Columns of less than a lane: what comes behind rows is loaded with them, and
/// not stored.
template <int RunBytes>
__attribute__((noinline)) void
transposeFewColumns(const char *src, char *dst, int64_t rows, int64_t columns,
                    int64_t srcPitch, int64_t dstPitch) {
  const Block block = {src, dst, rows, columns, srcPitch, dstPitch};
  int64_t whole = countLanes(rows, columns * RunBytes, srcPitch);
  bool isWide = withWidest<RunBytes>(whole, [=](auto bytes) {
    constexpr int kBytes = decltype(bytes)::kCount;
    constexpr int64_t kRows = kBytes / RunBytes;
    const Pitch from(srcPitch), to(dstPitch);
    for (int64_t row = 0; row < whole; row += kRows) {
      int64_t r = least(row, whole - kRows);
      transposeFirstColumns<RunBytes, kBytes>(src + r * srcPitch, from,
                                              dst + r * RunBytes, to, columns);
    }
  });
  Block rest = block;
  int64_t done = isWide ? whole : 0;
  rest.rows -= done;
  rest.src += done * srcPitch;
  rest.dst += done * RunBytes;
  callApart(transposeOneByOne<RunBytes>, rest);
}

/// A register of each of `count` rows; others are those of the first row.
template <int N, typename V>
TESSERA_INLINE void loadFew(const char *src, int64_t pitch, int64_t count,
                            V (&rows)[N]) {
  TESSERA_UNROLL
  for (int k = 0; k < N; ++k)
    rows[k] = load<V>(src + (k < count ? k * pitch : 0));
}

/// The first `count` of some registers.
template <int N, typename V>
TESSERA_INLINE void storeFew(char *dst, int64_t pitch, int64_t count,
                             const V (&rows)[N]) {
  TESSERA_UNROLL
  for (int k = 0; k < N; ++k)
    if (k < count)
      store(dst + k * pitch, rows[k]);
}

/// Columns from `Bytes` of each of few rows on, a lane each.
template <int RunBytes, int Bytes>
TESSERA_INLINE void loadColumns(const Block &block, int64_t column,
                                Bytes16 (&columns)[Bytes / RunBytes]) {
  constexpr int kColumns = kLaneBytes / RunBytes;
  constexpr int kLanes = Bytes / kLaneBytes;
  using V = Vector<RunBytes, Bytes>;
  V tile[kColumns];
  loadFew(block.src + column * RunBytes, block.srcPitch, block.rows, tile);
  unpackRegisters<kColumns, Bytes / RunBytes>(tile);
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k) {
    alignas(kLineBytes) Bytes16 lanes[kLanes];
    store(reinterpret_cast<char *>(lanes), tile[k]);
    TESSERA_UNROLL
    for (int i = 0; i < kLanes; ++i)
      columns[i * kColumns + k] = lanes[i];
  }
}

/// The first `size` bytes of each lane, of which there are less than in one, by
/// their two ends.
template <int Bytes>
TESSERA_INLINE void writeEnds(const Bytes16 *lanes, int64_t count, char *dst,
                              int64_t dstPitch, int64_t size) {
  int64_t last = size - Bytes;
  TESSERA_NO_UNROLL
  for (int64_t i = 0; i < count; ++i) {
    auto *lane = reinterpret_cast<const char *>(lanes + i);
    char *to = dst + i * dstPitch;
    copyFixed<Bytes>(lane, to);
    copyFixed<Bytes>(lane + last, to + last);
  }
}

template <int RunBytes>
TESSERA_INLINE void writeParts(const Bytes16 *lanes, int64_t count, char *dst,
                               int64_t dstPitch, int64_t size) {
  if (size >= 8)
    return writeEnds<8>(lanes, count, dst, dstPitch, size);
  if constexpr (RunBytes <= 4)
    if (size >= 4)
      return writeEnds<4>(lanes, count, dst, dstPitch, size);
  if constexpr (RunBytes <= 2)
    if (size >= 2)
      return writeEnds<2>(lanes, count, dst, dstPitch, size);
  if constexpr (RunBytes == 1)
    writeEnds<1>(lanes, count, dst, dstPitch, size);
}

/// Columns of rows of less than a lane. Those that are one run are stored as
/// lanes, each of which the next one corrects; others byte for byte.
template <int RunBytes>
__attribute__((noinline)) void
transposeFewRows(const char *src, char *dst, int64_t rows, int64_t columns,
                 int64_t srcPitch, int64_t dstPitch) {
  const Block block = {src, dst, rows, columns, srcPitch, dstPitch};
  int64_t size = rows * RunBytes;
  bool isRun = dstPitch == size;
  int64_t whole = isRun ? countLanes(columns, size, size) : columns;
  // Lanes of more columns would not fit into the registers.
  constexpr int kMost = kVectorBytes > 32 && RunBytes == 1 ? 32 : kVectorBytes;
  bool isWide = withWidest<RunBytes, kMost>(whole, [=](auto bytes) {
    constexpr int kBytes = decltype(bytes)::kCount;
    constexpr int64_t kRuns = kBytes / RunBytes;
    for (int64_t column = 0; column < whole; column += kRuns) {
      int64_t c = least(column, whole - kRuns);
      alignas(kLineBytes) Bytes16 lanes[kRuns];
      loadColumns<RunBytes, kBytes>(block, c, lanes);
      char *to = dst + c * dstPitch;
      if (isRun) {
        for (int64_t i = 0; i < kRuns; ++i)
          store(to + i * size, lanes[i]);
        continue;
      }
      writeParts<RunBytes>(lanes, kRuns, to, dstPitch, size);
    }
  });
  Block rest = block;
  int64_t done = isWide ? whole : 0;
  rest.columns -= done;
  rest.src += done * RunBytes;
  rest.dst += done * dstPitch;
  callApart(transposeOneByOne<RunBytes>, rest);
}

//===----------------------------------------------------------------------===//
// Transposes in the caches
//===----------------------------------------------------------------------===//

/// Whether the next line of a row may be evicted before it is used: rows some
/// half pages apart are in two sets of the first-level cache. Tiles of shorter
/// runs have more rows than these hold.
template <int RunBytes>
TESSERA_INLINE bool evictsNextLines(const Block &block) {
  constexpr int64_t kHalfPage = 2048;
  return kVectorBytes == kLineBytes && RunBytes >= 4 &&
         block.srcPitch % kHalfPage == 0 && block.columns > kLineRuns<RunBytes>;
}

/// Whether two lines of each row are taken at once. The lines of that many
/// columns have to leave room for those of rows.
template <int RunBytes> TESSERA_INLINE bool suitsPairs(const Block &block) {
  constexpr int64_t kColumns = 2 * kLineRuns<RunBytes>;
  return evictsNextLines<RunBytes>(block) && block.columns >= kColumns &&
         !isInFewSets(kColumns + 1, block.dstPitch);
}

/// By the widest tiles that there is room for.
template <int RunBytes> TESSERA_INLINE void transposeBlock(const Block &whole) {
  if constexpr (RunBytes < kLaneBytes) {
    if (whole.columns * RunBytes < kLaneBytes)
      return callApart(transposeFewColumns<RunBytes>, whole);
    if (whole.rows * RunBytes < kLaneBytes)
      return callApart(transposeFewRows<RunBytes>, whole);
  }
  Block block = whole;
  if constexpr (RunBytes == 1 && kVectorBytes > 32)
    if (int64_t last = countHalfRows<RunBytes, kVectorBytes>(whole.rows)) {
      block.rows -= last;
      callApart(transposeTiles<RunBytes, kVectorBytes, false>, block,
                block.isLarge);
      block.rows = kVectorBytes / 2;
      block.src += (whole.rows - block.rows) * block.srcPitch;
      block.dst += whole.rows - block.rows;
    }
  withWidest<RunBytes>(block.rows, [&block](auto bytes) {
    constexpr int kBytes = decltype(bytes)::kCount;
    if constexpr (kBytes == kLineBytes && RunBytes >= 4)
      if (suitsPairs<RunBytes>(block))
        return callApart(transposeTiles<RunBytes, kBytes, false, 2>, block,
                         block.isLarge);
    callApart(transposeTiles<RunBytes, kBytes, false>, block, block.isLarge);
  });
}

/// Rows of which lines next to those in use wait in the second-level cache,
/// even where all are in a few sets; and rows that begin anywhere in a line, of
/// which two lines each are in use, in the first-level cache.
constexpr int64_t kBandRows = 256, kRaggedBandRows = 64;

/// Of the latter. Of single bytes, one tile might have all of
/// `kRaggedBandRows`; of runs of 4 bytes, whole bands of tiles with code of
/// their own are faster.
template <int RunBytes>
TESSERA_INLINE int64_t getRaggedBandRows(bool hasOwnTiles) {
  if (RunBytes == 1 && kVectorBytes == kRaggedBandRows)
    return 2 * kRaggedBandRows;
  return RunBytes == 4 && hasOwnTiles ? kTileBandRows : kRaggedBandRows;
}

/// How many rows are transposed before the next ones: of few lines, all are
/// taken before they are evicted, unless pairs of them are.
template <int RunBytes> TESSERA_INLINE int64_t getBandRows(const Block &block) {
  constexpr int64_t kLine = kLineRuns<RunBytes>, kFew = 8 * kLine;
  if (evictsNextLines<RunBytes>(block) && block.columns <= kFew &&
      block.columns % (2 * kLine) != 0)
    return kLine;
  bool isRagged = !isOnLine(block.srcPitch) && block.columns >= kLine;
  if (!isRagged)
    return kBandRows;
  return getRaggedBandRows<RunBytes>(kVectorBytes == kLineBytes &&
                                     !block.isLarge);
}

/// As much of a side as a block takes; what is left is no less than `smallest`.
TESSERA_INLINE int64_t takeBlock(int64_t left, int64_t block,
                                 int64_t smallest) {
  return left - block < smallest ? left : block;
}

/// In bands of rows, along the source.
template <int RunBytes>
TESSERA_INLINE void transposeBlocks(const Block &whole) {
  int64_t rows = getBandRows<RunBytes>(whole);
  Block block = whole;
  for (int64_t r = 0; r < whole.rows; r += block.rows) {
    block.rows = takeBlock(whole.rows - r, rows, kVectorBytes / RunBytes);
    block.src = whole.src + r * whole.srcPitch;
    block.dst = whole.dst + r * RunBytes;
    transposeBlock<RunBytes>(block);
  }
}

/// Whether a transpose moves more than the second-level cache holds of both
/// sides.
inline __attribute__((noinline)) bool isLarge(const Job &job) {
  constexpr int64_t kHalfOfCache = 1 << 19;
  int64_t bytes = job.rows.count * job.moreRows.count * job.columns.count *
                  job.moreColumns.count * job.runBytes;
  TESSERA_NO_UNROLL
  for (size_t i = 0; i < job.numLoops; ++i)
    bytes *= job.loops[i].count;
  return bytes > kHalfOfCache;
}

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

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_TRANSPOSEBLOCKS_H
