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

/// Sixteen bytes of each of `Lanes` rows, `pitch` apart, in one register.
template <int RunBytes, int Bytes>
TESSERA_INLINE Vector<RunBytes, Bytes> loadLanes(const char *src,
                                                 int64_t pitch) {
  Bytes16 lanes[Bytes / kLaneBytes];
  TESSERA_UNROLL
  for (int i = 0; i < Bytes / kLaneBytes; ++i)
    lanes[i] = load<Bytes16>(src + i * pitch);
  return load<Vector<RunBytes, Bytes>>(reinterpret_cast<const char *>(lanes));
}

/// A tile of `Bytes` bytes of each column: register k has row k of each lane,
/// and rounds of unpacking within lanes make it column k.
template <int RunBytes, int Bytes, bool IsStreamed>
TESSERA_INLINE void transposeTile(const char *src, int64_t srcPitch, char *dst,
                                  int64_t dstPitch) {
  constexpr int kColumns = kLaneBytes / RunBytes, kRuns = Bytes / RunBytes;
  using V = Vector<RunBytes, Bytes>;
  V rows[kColumns];
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k)
    rows[k] =
        loadLanes<RunBytes, Bytes>(src + k * srcPitch, kColumns * srcPitch);
  unpackRegisters<kColumns, kRuns>(rows);
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k)
    write<IsStreamed>(dst + k * dstPitch, rows[k]);
}

/// Some rows and columns: where they begin, and how far apart they lie.
struct Block {
  const char *src;
  char *dst;
  int64_t rows, columns;
  int64_t srcPitch, dstPitch;
};

template <int RunBytes>
TESSERA_INLINE void transposeOneByOne(const Block &block) {
  for (int64_t c = 0; c < block.columns; ++c)
    for (int64_t r = 0; r < block.rows; ++r)
      copyFixed<RunBytes>(block.src + r * block.srcPitch + c * RunBytes,
                          block.dst + c * block.dstPitch + r * RunBytes);
}

/// Runs of a line.
template <int RunBytes> constexpr int64_t kLineRuns = kLineBytes / RunBytes;

/// Whether rows of a line each would evict one another from the first-level
/// cache: pages begin at one set, and it has eight ways or a few more.
template <int RunBytes> TESSERA_INLINE bool isInOneSet(int64_t pitch) {
  constexpr int64_t kPage = 4096, kWays = 8;
  int64_t sets = pitch == 0 ? kPage : kPage / (pitch & -pitch);
  return sets == 0 || kLineRuns<RunBytes> / sets > kWays;
}

/// Tiles over all rows, of a line of each or, where `Tiles` is 1, of 16 bytes.
template <int RunBytes, int Bytes, bool IsStreamed, int Tiles>
TESSERA_INLINE void transposeRows(const Block &block) {
  constexpr int64_t kRows = Bytes / RunBytes, kColumns = kLaneBytes / RunBytes;
  for (int64_t row = 0; row < block.rows; row += kRows) {
    int64_t r = least(row, block.rows - kRows);
    for (int i = 0; i < Tiles; ++i)
      transposeTile<RunBytes, Bytes, IsStreamed>(
          block.src + r * block.srcPitch + i * kLaneBytes, block.srcPitch,
          block.dst + i * kColumns * block.dstPitch + r * RunBytes,
          block.dstPitch);
  }
}

constexpr int64_t kPrefetchBytes = 2 * kLineBytes;

/// Prefetches a line of each of some rows to the second-level cache: the first
/// one has room for what is used at once.
TESSERA_INLINE void prefetchRows(const char *src, int64_t pitch, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r)
    __builtin_prefetch(src + r * pitch, /*rw=*/0, /*locality=*/2);
}

/// A line of each row, and a line of each column at most.
template <int RunBytes, int Bytes, bool IsStreamed>
TESSERA_INLINE void transposeLines(Block block, bool isGathered) {
  char buffer[kLineRuns<RunBytes> * kLineBytes];
  // The line after the next of each row: more rows than a processor foresees.
  if ((IsStreamed || isGathered) && RunBytes > 1)
    prefetchRows(block.src + kPrefetchBytes, block.srcPitch, block.rows);
  if (isGathered) {
    for (int64_t r = 0; r < block.rows; ++r)
      copyFixed<kLineBytes>(block.src + r * block.srcPitch,
                            buffer + r * kLineBytes);
    block.src = buffer;
    block.srcPitch = kLineBytes;
  }
  transposeRows<RunBytes, Bytes, IsStreamed, kLineBytes / kLaneBytes>(block);
}

/// Tiles of `Bytes` bytes of each column. The last ones overlap those before
/// where sides are no multiple; both sides have a whole tile.
template <int RunBytes, int Bytes, bool IsStreamed>
void transposeTiles(const Block &whole) {
  constexpr int64_t kColumns = kLaneBytes / RunBytes,
                    kLine = kLineRuns<RunBytes>;
  bool isGathered = isInOneSet<RunBytes>(whole.srcPitch);
  Block block = whole;
  auto moveTo = [&](int64_t row, int64_t column) {
    block.src = whole.src + row * whole.srcPitch + column * RunBytes;
    block.dst = whole.dst + column * whole.dstPitch + row * RunBytes;
  };
  int64_t column = 0;
  for (; column + kLine <= whole.columns; column += kLine) {
    for (int64_t row = 0; row < whole.rows; row += kLine) {
      int64_t r = least(row, whole.rows - Bytes / RunBytes);
      block.rows = least(kLine, whole.rows - r);
      moveTo(r, column);
      transposeLines<RunBytes, Bytes, IsStreamed>(block, isGathered);
    }
  }
  block.rows = whole.rows;
  for (; column < whole.columns; column += kColumns) {
    moveTo(0, least(column, whole.columns - kColumns));
    transposeRows<RunBytes, Bytes, IsStreamed, 1>(block);
  }
}

/// By the widest tiles that there is room for.
template <int RunBytes> TESSERA_INLINE void transposeBlock(const Block &block) {
  if (block.columns * RunBytes < kLaneBytes ||
      block.rows * RunBytes < kLaneBytes)
    return transposeOneByOne<RunBytes>(block);
  if (block.rows * RunBytes >= kVectorBytes)
    return transposeTiles<RunBytes, kVectorBytes, false>(block);
  if constexpr (kVectorBytes > 32)
    if (block.rows * RunBytes >= 32)
      return transposeTiles<RunBytes, 32, false>(block);
  transposeTiles<RunBytes, kLaneBytes, false>(block);
}

/// Bytes of a block along the destination and along the source, that both are
/// in the first-level cache.
constexpr int64_t kBlockRowBytes = 256, kBlockColumnBytes = 128;
/// As much of a side as a block takes; what is left is no less than `smallest`.
TESSERA_INLINE int64_t takeBlock(int64_t left, int64_t block,
                                 int64_t smallest) {
  return left - block < smallest ? left : block;
}

/// In blocks that fit into the first-level cache, along the destination.
template <int RunBytes> void transposeBlocks(const Block &whole) {
  constexpr int64_t kRows = kBlockRowBytes / RunBytes;
  constexpr int64_t kColumns = kBlockColumnBytes / RunBytes;
  Block block = whole;
  for (int64_t c = 0; c < whole.columns; c += block.columns) {
    block.columns =
        takeBlock(whole.columns - c, kColumns, kLaneBytes / RunBytes);
    for (int64_t r = 0; r < whole.rows; r += block.rows) {
      block.rows = takeBlock(whole.rows - r, kRows, kVectorBytes / RunBytes);
      block.src = whole.src + r * whole.srcPitch + c * RunBytes;
      block.dst = whole.dst + c * whole.dstPitch + r * RunBytes;
      transposeBlock<RunBytes>(block);
    }
  }
}

/// Rows of whole lines of the destination, those of one line at a time along
/// the source, or of two where rows are gathered.
template <int RunBytes> void streamRows(const Block &whole) {
  int64_t rows =
      kLineRuns<RunBytes> * (isInOneSet<RunBytes>(whole.srcPitch) ? 2 : 1);
  Block block = whole;
  for (int64_t r = 0; r < whole.rows; r += rows) {
    block.rows = least(rows, whole.rows - r);
    block.src = whole.src + r * whole.srcPitch;
    block.dst = whole.dst + r * RunBytes;
    transposeTiles<RunBytes, kVectorBytes, true>(block);
  }
}

/// Columns of which the last line is kept, and their lines.
constexpr int64_t kCarriedColumns = 512, kWindowBytes = 2 * kLineBytes;

/// Columns that begin anywhere in a line. As many rows as a line has are
/// transposed into a window for each column, behind those before them; each
/// window then has a whole line of the destination, which is streamed:
///
///   window   | 5  6  7  8 | 9 10 11 12 |
///   line            | 7  8  9 10 |
template <int RunBytes> class CarriedColumns {
public:
  CarriedColumns(const Block &whole) : whole(whole) {}

  void run() {
    int64_t blocks = whole.rows / kLineRuns<RunBytes>;
    for (int64_t i = 0; i < blocks; ++i) {
      transposeRows(i);
      for (int64_t c = 0; c < whole.columns; ++c)
        writeLine(c, i);
    }
    for (int64_t c = 0; c < whole.columns; ++c)
      writeEnd(c, blocks);
  }

private:
  char *getWindow(int64_t c) { return windows + c * kWindowBytes; }
  char *getColumn(int64_t c) const { return whole.dst + c * whole.dstPitch; }

  /// Block `i` of rows, into the second halves of the windows.
  void transposeRows(int64_t i) {
    constexpr int64_t kLine = kLineRuns<RunBytes>;
    Block block = whole;
    block.dstPitch = kWindowBytes;
    block.rows = kLine;
    const char *src = whole.src + i * kLine * whole.srcPitch;
    for (int64_t c = 0; c < whole.columns; c += block.columns) {
      block.columns =
          takeBlock(whole.columns - c, kLine, kLaneBytes / RunBytes);
      block.src = src + c * RunBytes;
      block.dst = getWindow(c) + kLineBytes;
      prefetchRows(block.src + kLine * whole.srcPitch, whole.srcPitch, kLine);
      transposeBlock<RunBytes>(block);
    }
  }

  /// The line that ends in block `i`, or what comes before the first one.
  TESSERA_INLINE void writeLine(int64_t c, int64_t i) {
    using V = Vector<8, kVectorBytes>;
    char *window = getWindow(c), *dst = getColumn(c) + i * kLineBytes;
    int64_t head = bytesToLine(dst);
    if (i == 0 && head > 0) {
      copyRun(window + kLineBytes, dst, head);
    } else {
      const char *line = window + (head > 0 ? head : kLineBytes);
      dst += line - window - kLineBytes;
      TESSERA_UNROLL
      for (int k = 0; k < kLineBytes; k += kVectorBytes)
        stream(dst + k, load<V>(line + k));
    }
    copyFixed<kLineBytes>(window + kLineBytes, window);
  }

  /// What is left of the last block.
  void writeEnd(int64_t c, int64_t blocks) {
    char *dst = getColumn(c) + blocks * kLineBytes;
    int64_t head = bytesToLine(dst);
    if (head > 0)
      copyRun(getWindow(c) + head, dst + head - kLineBytes, kLineBytes - head);
  }

  const Block &whole;
  alignas(kLineBytes) char windows[kCarriedColumns * kWindowBytes];
};

template <int RunBytes> void carryRows(const Block &whole) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  Block block = whole;
  block.rows = whole.rows / kLine * kLine;
  for (int64_t c = 0; block.rows > 0 && c < whole.columns; c += block.columns) {
    block.columns = least(kCarriedColumns, whole.columns - c);
    block.src = whole.src + c * RunBytes;
    block.dst = whole.dst + c * whole.dstPitch;
    CarriedColumns<RunBytes>(block).run();
  }
  block = whole;
  block.rows = whole.rows % kLine;
  block.src += (whole.rows - block.rows) * whole.srcPitch;
  block.dst += (whole.rows - block.rows) * RunBytes;
  transposeBlocks<RunBytes>(block);
}

/// Rows up to where lines begin and behind the last whole one go through the
/// caches.
template <int RunBytes> void transposeStreamed(const Block &whole) {
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
  streamRows<RunBytes>(part(head, lines));
  transposeBlocks<RunBytes>(part(head + lines, whole.rows - head - lines));
}

//===----------------------------------------------------------------------===//
// Interleaves: few rows, or few columns
//===----------------------------------------------------------------------===//

/// A register of each of `Ways` rows, run by run in turns.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTile(const char *src, int64_t pitch, char *dst) {
  using V = Vector<RunBytes, Bytes>;
  V rows[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    rows[k] = load<V>(src + k * pitch);
  interleaveRegisters<RunBytes>(rows);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    write<IsStreamed>(dst + k * Bytes, rows[k]);
}

template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTile(const char *src, char *dst,
                                     int64_t pitch) {
  constexpr int kRuns = Bytes / RunBytes;
  using V = Vector<RunBytes, Bytes>;
  V runs[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    runs[k] = load<V>(src + k * Bytes);
  deinterleaveRegisters<kRuns>(runs);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    write<IsStreamed>(dst + k * pitch, runs[k]);
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
  constexpr int64_t kRuns = Bytes / RunBytes;
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
  transposeOneByOne<RunBytes>(block);
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
  transposeOneByOne<RunBytes>(block);
}

//===----------------------------------------------------------------------===//
// The choice among them
//===----------------------------------------------------------------------===//

/// Calls `body` with a block for each step of the loops.
template <typename Body>
TESSERA_INLINE void walkBlocks(const Job &job, const char *src, char *dst,
                               const Body &body) {
  Block block = {src,
                 dst,
                 job.rows.count,
                 job.columns.count,
                 job.rows.src,
                 job.columns.dst};
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    Block at = block;
    at.src = src;
    at.dst = dst;
    body(at);
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
  if (isStreamed)
    fence();
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
  if (isStreamed)
    fence();
}

template <int RunBytes>
void transposeRuns(const Job &job, const char *src, char *dst) {
  if (!job.isStreamed)
    return walkBlocks(job, src, dst, [](const Block &block) {
      transposeBlocks<RunBytes>(block);
    });
  walkBlocks(job, src, dst,
             [](const Block &block) { transposeStreamed<RunBytes>(block); });
  fence();
}

template <int RunBytes>
void transposeOf(const Job &job, const char *src, char *dst) {
  if constexpr (RunBytes <= 8) {
    if (job.columns.dst == job.rows.count * RunBytes) {
      if (job.rows.count == 2)
        return interleaveRuns<RunBytes, 2>(job, src, dst);
      if (job.rows.count == 4)
        return interleaveRuns<RunBytes, 4>(job, src, dst);
    }
    if (job.rows.src == job.columns.count * RunBytes) {
      if (job.columns.count == 2)
        return deinterleaveRuns<RunBytes, 2>(job, src, dst);
      if (job.columns.count == 4)
        return deinterleaveRuns<RunBytes, 4>(job, src, dst);
    }
  }
  transposeRuns<RunBytes>(job, src, dst);
}

void transpose(const Job &job, const char *src, char *dst) {
  switch (job.runBytes) {
  case 1:
    return transposeOf<1>(job, src, dst);
  case 2:
    return transposeOf<2>(job, src, dst);
  case 4:
    return transposeOf<4>(job, src, dst);
  case 8:
    return transposeOf<8>(job, src, dst);
  default:
    return transposeOf<16>(job, src, dst);
  }
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_TRANSPOSEKERNELS_H
