//===- DenseRows.h - Few rows without gaps, and back ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes of few rows to columns that follow one another, and back:
//
//   aaaa bbbb cccc  <->  abc abc abc abc
//
// Where an instruction picks runs of two registers by number, PickedRows.h does
// this. Elsewhere rounds of unpacking within lanes put a run of each row into
// one slot of each column; four, eight or sixteen slots are one column. A
// shuffle takes out the slots that no row has. Past the caches, both write to a
// buffer from which whole lines are streamed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_DENSEROWS_H
#define TESSERA_LIB_RUNTIME_DENSEROWS_H

#include "InterleaveKernels.h"
#include "LineBuffer.h"
#include "PickedRows.h"
#include "RowLines.h"

namespace tessera::runtime {
namespace {

/// Calls `move` with the widest registers that `size` bytes of a row fill, and
/// where each of them begins, in each block; the last one overlaps the one
/// before.
template <typename Move>
TESSERA_INLINE void forLaneTiles(const char *src, char *dst, int64_t size,
                                 Loop blocks, const Move &move) {
  auto moveAll = [&](auto bytes) {
    constexpr int64_t kBytes = decltype(bytes)::kCount;
    for (int64_t n = 0; n < blocks.count; ++n) {
      for (int64_t i = 0; i < size; i += kBytes)
        move(bytes, src, dst, least(i, size - kBytes));
      src += blocks.src;
      dst += blocks.dst;
    }
  };
  constexpr int kWidest = kVectorBytes > 32 ? 32 : kVectorBytes;
  if (size >= kWidest)
    moveAll(Constant<kWidest>());
  else if constexpr (kLaneBytes < kWidest)
    moveAll(Constant<kLaneBytes>());
}

/// Rows of which runs become columns of `Ways` slots, the first `numRows` of
/// which are in use.
template <int RunBytes, int Ways> class LaneInterleave {
  static constexpr int kColumns = kLaneBytes / (Ways * RunBytes);
  static_assert(kColumns >= 1, "a lane holds a column");

public:
  /// A lane has at least 8 bytes of columns.
  TESSERA_INLINE explicit LaneInterleave(int64_t numRows)
      : numRows(numRows), laneBytes(kColumns * numRows * RunBytes) {
    const int64_t columnBytes = numRows * RunBytes;
    for (int column = 0; column < kColumns; ++column)
      for (int i = 0; i < columnBytes; ++i)
        slots[column * columnBytes + i] = column * Ways * RunBytes + i;
    copyFixed<8>(reinterpret_cast<const char *>(slots + laneBytes - 8),
                 reinterpret_cast<char *>(lastSlots));
  }

  /// `size` bytes of each row, at least a lane, of some blocks.
  __attribute__((noinline)) void move(const char *src, char *dst, int64_t pitch,
                                      int64_t size, const Loop &blocks) const {
    forLaneTiles(src, dst, size, blocks,
                 [=](auto bytes, const char *src, char *dst, int64_t i) {
                   moveTile<decltype(bytes)::kCount>(src + i, pitch,
                                                     dst + i * numRows);
                 });
  }

private:
  template <int Bytes>
  TESSERA_INLINE void moveTile(const char *src, int64_t pitch,
                               char *dst) const {
    constexpr int kLanes = Bytes / kLaneBytes;
    using V = Vector<RunBytes, Bytes>;
    V rows[Ways];
    loadFew(src, pitch, numRows, rows);
    unpackRegisters<kLaneBytes / RunBytes, Bytes / RunBytes>(rows);
    const auto numbers = repeatLane<V>(slots);
    const auto last = getLane(rows[Ways - 1], kLanes - 1);
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k)
      rows[k] = pickInLanes(rows[k], numbers);
    TESSERA_UNROLL
    for (int i = 0; i < kLanes; ++i) {
      TESSERA_UNROLL
      for (int k = 0; k < Ways; ++k) {
        // Each lane corrects what the one before wrote behind its columns.
        const Bytes16 lane = getLane(rows[k], i);
        if (i + 1 < kLanes || k + 1 < Ways)
          store(dst, lane);
        else
          store(dst, lane[0]);
        dst += laneBytes;
      }
    }
    store(dst - 8, pickInLanes(last, repeatLane<Bytes16>(lastSlots))[0]);
  }

  int64_t numRows, laneBytes;
  /// Where the bytes of a lane come from, and its last 8 bytes.
  alignas(kLaneBytes) uint8_t slots[kLaneBytes] = {};
  alignas(kLaneBytes) uint8_t lastSlots[kLaneBytes] = {};
};

/// The way back.
template <int RunBytes, int Ways> class LaneSplit {
  static constexpr int kColumns = kLaneBytes / (Ways * RunBytes);
  static_assert(kColumns >= 1, "a lane holds a column");

public:
  TESSERA_INLINE explicit LaneSplit(int64_t numRows)
      : numRows(numRows), laneBytes(kColumns * numRows * RunBytes) {
    for (int row = 0; row < numRows; ++row)
      for (int column = 0; column < kColumns; ++column)
        for (int i = 0; i < RunBytes; ++i)
          runs[(row * kColumns + column) * RunBytes + i] =
              (column * numRows + row) * RunBytes + i;
    for (int i = 0; i < kLaneBytes; ++i)
      lastRuns[i] = runs[i] + kLaneBytes - laneBytes;
  }

  /// `size` bytes of each row, at least a lane, of some blocks.
  __attribute__((noinline)) void move(const char *src, char *dst, int64_t pitch,
                                      int64_t size, const Loop &blocks) const {
    forLaneTiles(src, dst, size, blocks,
                 [=](auto bytes, const char *src, char *dst, int64_t i) {
                   moveTile<decltype(bytes)::kCount>(src + i * numRows, dst + i,
                                                     pitch);
                 });
  }

private:
  template <int Bytes>
  TESSERA_INLINE void moveTile(const char *src, char *dst,
                               int64_t pitch) const {
    constexpr int kLanes = Bytes / kLaneBytes, kWord = kLaneBytes / Ways;
    using V = Vector<kWord, Bytes>;
    const auto numbers = repeatLane<V>(runs);
    V rows[Ways];
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k) {
      auto row = loadLanes<V>(
          [=](int i) { return getLane(src, i * Ways + k, kLanes * Ways); });
      rows[k] = pickInLanes(row, k + 1 < Ways ? numbers
                                              : repeatLane<V>(runs, lastRuns));
    }
    unpackRegisters<Ways, Bytes / kWord>(rows);
    storeFew(dst, pitch, numRows, rows);
  }

  /// Lane number `i` of `count`; the last one ends where the columns do.
  TESSERA_INLINE const char *getLane(const char *src, int i, int count) const {
    const char *end = src + (i + 1) * laneBytes;
    return end - (i + 1 < count ? laneBytes : kLaneBytes);
  }

  int64_t numRows, laneBytes;
  /// Where the bytes of a lane come from, and of the last one.
  alignas(kLaneBytes) uint8_t runs[kLaneBytes] = {};
  alignas(kLaneBytes) uint8_t lastRuns[kLaneBytes] = {};
};

/// Registers are interleaved by picks from two of them where there are such
/// instructions, otherwise within lanes.
template <int RunBytes>
constexpr bool kIsPicked = kHasPicks<RunBytes> && RunBytes < kLaneBytes;

/// Of runs of so many bytes.
template <int RunBytes> constexpr DenseLimits getDenseLimits() {
  if constexpr (kIsPicked<RunBytes>) {
    // Tiles take less time for more rows. Measured on Zen 4.
    switch (RunBytes) {
    case 1:
      return {kVectorBytes, 16, 16, 16, /*isExact=*/true};
    case 2:
      return {kVectorBytes, 15, 12, 12, /*isExact=*/true};
    case 4:
      return {kVectorBytes, 12, 6, 12, /*isExact=*/true};
    default:
      return {kVectorBytes, 7, 7, 7, /*isExact=*/true};
    }
  }
  if constexpr (!kHasLanePicks)
    return {kLaneBytes, 0, 0, 0, /*isExact=*/false};
  // A lane has to have more than a column that is written.
  constexpr int64_t kMost = (kLaneBytes - 1) / RunBytes;
  constexpr int64_t kMostRead = kLaneBytes / 2 / RunBytes;
  return {kLaneBytes, kMost, kMostRead, kMostRead, /*isExact=*/false};
}

/// Of columns of up to so many slots.
template <int RunBytes, int Slots, bool IsPicked = kIsPicked<RunBytes>>
struct DenseKernels {
  using Interleave = LaneInterleave<RunBytes, Slots>;
  using Split = LaneSplit<RunBytes, Slots>;
};
template <int RunBytes, int Slots> struct DenseKernels<RunBytes, Slots, true> {
  static constexpr DenseLimits kLimits = getDenseLimits<RunBytes>();
  using Interleave = PickedRows<RunBytes, kLimits.mostWritten, false>;
  using Split = PickedRows<RunBytes, kLimits.mostStreamed, true>;
};

constexpr Loop kOneBlock = {1, 0, 0};

/// Through the caches: all blocks of the innermost loop at a time.
template <int RunBytes, typename Dense, bool IsSplit>
void moveDense(const Job &job, const char *src, char *dst) {
  const Loop few = IsSplit ? job.columns : job.rows;
  const int64_t pitch = IsSplit ? few.dst : few.src;
  const int64_t size = (IsSplit ? job.rows : job.columns).count * RunBytes;
  const Dense dense(few.count);
  size_t outer = job.numLoops > 0 ? job.numLoops - 1 : 0;
  const Loop blocks = job.numLoops > 0 ? job.loops[outer] : kOneBlock;
  walk(job.loops, outer, src, dst, [&](const char *src, char *dst) {
    dense.move(src, dst, pitch, size, blocks);
  });
}

/// Past the caches, so many bytes of each row are moved at a time.
constexpr int64_t kDensePieceBytes = 512;

/// Calls `move` with where pieces of rows begin, and with their size.
template <typename Move>
TESSERA_INLINE void forDensePieces(int64_t size, const Move &move) {
  for (int64_t i = 0; i < size;) {
    int64_t piece = takeBlock(size - i, kDensePieceBytes, kVectorBytes);
    move(i, piece);
    i += piece;
  }
}

/// Small blocks past the caches whose rows lie one behind another: they are
/// copied to the first-level cache first, as processors foresee what is read
/// from end to end, and not a part of each row by turns.
class ForeseenRows {
public:
  ForeseenRows(const Loop &rows, int64_t size)
      : size(size), pitch((size / kLineBytes + 1) * kLineBytes),
        suits(rows.src == size && rows.count * pitch <= kMostBytes) {}

  /// The block, or its copy.
  TESSERA_INLINE Block get(const Block &block) {
    if (!suits)
      return block;
    for (int64_t r = 0; r < block.rows; ++r)
      copyRow(block.src + r * size, buffer + r * pitch, size);
    Block copy = block;
    copy.src = buffer;
    copy.srcPitch = pitch;
    return copy;
  }

private:
  static constexpr int64_t kMostBytes = 1 << 14;
  /// The next block is prefetched, where processors do not foresee it.
  static constexpr int64_t kAhead = 1 << 12;

  /// By one load, whose steps they foresee, and not those of several.
  static TESSERA_INLINE void copyRow(const char *row, char *to, int64_t size) {
    int64_t i = 0;
    TESSERA_NO_UNROLL
    for (; i <= size - kLineBytes; i += kLineBytes) {
      __builtin_prefetch(row + i + kAhead, /*rw=*/0, /*locality=*/3);
      copyFixed<kLineBytes>(row + i, to + i);
    }
    copyRun(row + i, to + i, size - i);
  }

  /// Of a row, and between copies, which do not all begin at one set.
  const int64_t size, pitch;
  const bool suits;
  alignas(kLineBytes) char buffer[kMostBytes];
};

/// Columns of all blocks are one behind another.
template <int RunBytes, typename Interleave>
void streamDense(const Job &job, const char *src, char *dst) {
  const int64_t numRows = job.rows.count;
  const int64_t size = job.columns.count * RunBytes;
  const Interleave dense(numRows);
  constexpr int64_t kMostOfRow = kDensePieceBytes + kVectorBytes;
  LineBuffer<DenseLimits::kMostRows * kMostOfRow> lines;
  ForeseenRows rows(job.rows, size);
  walkBlocks(job, src, dst, [&](const Block &whole) {
    const Block block = rows.get(whole);
    forDensePieces(size, [&](int64_t i, int64_t piece) {
      char *to = block.dst + i * numRows;
      dense.move(block.src + i, lines.get(to), block.srcPitch, piece,
                 kOneBlock);
      lines.endAt(to + piece * numRows);
    });
  });
}

/// Rows of a block are written side by side.
template <int RunBytes, typename Split>
void streamDenseSplit(const Job &job, const char *src, char *dst) {
  const int64_t numRows = job.columns.count;
  const int64_t size = job.rows.count * RunBytes;
  const Split dense(numRows);
  RowLines<DenseLimits::kMostRows, kDensePieceBytes> rows;
  walkBlocks(job, src, dst, [&](const Block &block) {
    rows.begin(block.dst, numRows, block.dstPitch);
    forDensePieces(size, [&](int64_t i, int64_t piece) {
      dense.move(block.src + i * numRows, rows.get(), rows.getPitch(), piece,
                 kOneBlock);
      rows.write(piece, i + piece == size);
    });
  });
}

/// Short rows of all blocks are one behind another.
template <int RunBytes, typename Split>
void streamShortSplit(const Job &job, const char *src, char *dst) {
  const int64_t numRows = job.columns.count;
  const int64_t size = job.rows.count * RunBytes;
  const Split dense(numRows);
  LineBuffer<DenseLimits::kMostRows * DenseLimits::kLongRowBytes> lines;
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    dense.move(src, lines.get(dst), size, size, kOneBlock);
    lines.endAt(dst + numRows * size);
  });
}

/// The kernel for a side that is split; there is one.
template <int RunBytes, typename Split> Kernel *chooseSplit(const Job &job) {
  if (!job.isStreamed)
    return moveDense<RunBytes, Split, true>;
  return job.rows.count * RunBytes < DenseLimits::kLongRowBytes
             ? streamShortSplit<RunBytes, Split>
             : streamDenseSplit<RunBytes, Split>;
}

/// The kernel of up to so many slots, or more; null where there is none.
template <int RunBytes, int Slots = 4> Kernel *chooseDense(const Job &job) {
  constexpr DenseLimits kLimits = getDenseLimits<RunBytes>();
  if constexpr (Slots / 2 < kLimits.mostWritten) {
    using Kernels = DenseKernels<RunBytes, Slots>;
    using Interleave = typename Kernels::Interleave;
    if (kLimits.writes(job.rows, job.columns, RunBytes) &&
        job.rows.count <= Slots)
      return job.isStreamed ? streamDense<RunBytes, Interleave>
                            : moveDense<RunBytes, Interleave, false>;
    if constexpr (Slots / 2 < kLimits.mostStreamed) {
      using Split = typename Kernels::Split;
      if (kLimits.reads(job.rows, job.columns, RunBytes, job.isStreamed) &&
          job.columns.count <= Slots)
        return chooseSplit<RunBytes, Split>(job);
    }
    return chooseDense<RunBytes, 2 * Slots>(job);
  }
  return nullptr;
}

} // namespace
} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_DENSEROWS_H
