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
// Rounds of unpacking put a run of each row into one slot of each column; four,
// eight or sixteen slots are one column. A shuffle takes out the slots that no
// row has. Both are done within lanes, or within whole registers where there is
// an instruction; these are stored one behind another.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_DENSEROWS_H
#define TESSERA_LIB_RUNTIME_DENSEROWS_H

#include "InterleaveKernels.h"
#include "PickedRows.h"

namespace tessera::runtime {
namespace {

/// The slots of a column of so many rows.
constexpr int getSlots(int rows) { return rows > 8 ? 16 : rows > 4 ? 8 : 4; }

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

  /// `Bytes` of each row.
  template <int Bytes>
  TESSERA_INLINE void move(const char *src, int64_t pitch, char *dst) const {
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

private:
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

  /// `Bytes` of each row.
  template <int Bytes>
  TESSERA_INLINE void move(const char *src, char *dst, int64_t pitch) const {
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

private:
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
      return {kVectorBytes, 16, 16, /*isExact=*/true};
    case 2:
      return {kVectorBytes, 15, 12, /*isExact=*/true};
    case 4:
      return {kVectorBytes, 12, 6, /*isExact=*/true};
    default:
      return {kVectorBytes, 7, 7, /*isExact=*/true};
    }
  }
  // A lane has to have more than a column that is written.
  constexpr int64_t kMost = (kLaneBytes - 1) / RunBytes;
  constexpr int64_t kMostRead = kLaneBytes / 2 / RunBytes;
  return {kLaneBytes, kHasLanePicks ? kMost : 0, kHasLanePicks ? kMostRead : 0,
          /*isExact=*/false};
}

template <bool IsPicked> struct DenseKernels {
  template <int RunBytes, int Rows>
  using Interleave = PickedInterleave<RunBytes, Rows>;
  template <int RunBytes, int Rows> using Split = PickedSplit<RunBytes, Rows>;
};
template <> struct DenseKernels<false> {
  template <int RunBytes, int Rows>
  using Interleave = LaneInterleave<RunBytes, getSlots(Rows)>;
  template <int RunBytes, int Rows>
  using Split = LaneSplit<RunBytes, getSlots(Rows)>;
};
template <int RunBytes, int Rows>
using DenseInterleave =
    typename DenseKernels<kIsPicked<RunBytes>>::template Interleave<RunBytes,
                                                                    Rows>;
template <int RunBytes, int Rows>
using DenseSplit =
    typename DenseKernels<kIsPicked<RunBytes>>::template Split<RunBytes, Rows>;

/// Calls `move` for all `size` bytes of the rows of each block, of the widest
/// registers that they fill; the last ones overlap those before.
template <int Least, typename Move>
TESSERA_INLINE void forDenseTiles(const Job &job, int64_t size, const char *src,
                                  char *dst, const Move &move) {
  auto moveAll = [&](auto bytes) {
    constexpr int64_t kBytes = decltype(bytes)::kCount;
    walkBlocks(job, src, dst, [&move, size](const Block &block) {
      for (int64_t i = 0; i < size; i += kBytes)
        move(Constant<kBytes>(), least(i, size - kBytes), block);
    });
  };
  constexpr int kWidest =
      Least < kVectorBytes && kVectorBytes > 32 ? 32 : kVectorBytes;
  if (size >= kWidest)
    moveAll(Constant<kWidest>());
  else if constexpr (Least < kWidest)
    moveAll(Constant<Least>());
}

template <int RunBytes, typename Interleave>
void interleaveDense(const Job &job, const char *src, char *dst) {
  const int64_t numRows = job.rows.count;
  const Interleave dense(numRows);
  constexpr int kLeast = getDenseLimits<RunBytes>().leastRowBytes;
  forDenseTiles<kLeast>(job, job.columns.count * RunBytes, src, dst,
                        [&](auto bytes, int64_t i, const Block &block) {
                          dense.template move<decltype(bytes)::kCount>(
                              block.src + i, block.srcPitch,
                              block.dst + i * numRows);
                        });
}

template <int RunBytes, typename Split>
void splitDense(const Job &job, const char *src, char *dst) {
  const int64_t numRows = job.columns.count;
  const Split dense(numRows);
  constexpr int kLeast = getDenseLimits<RunBytes>().leastRowBytes;
  forDenseTiles<kLeast>(job, job.rows.count * RunBytes, src, dst,
                        [&](auto bytes, int64_t i, const Block &block) {
                          dense.template move<decltype(bytes)::kCount>(
                              block.src + i * numRows, block.dst + i,
                              block.dstPitch);
                        });
}

template <int RunBytes, int Rows>
Kernel *chooseDenseInterleave(int64_t numRows) {
  if constexpr (Rows > getDenseLimits<RunBytes>().mostWritten) {
    return nullptr;
  } else {
    if (numRows != Rows)
      return chooseDenseInterleave<RunBytes, Rows + 1>(numRows);
    return interleaveDense<RunBytes, DenseInterleave<RunBytes, Rows>>;
  }
}

template <int RunBytes, int Rows> Kernel *chooseDenseSplit(int64_t numRows) {
  if constexpr (Rows > getDenseLimits<RunBytes>().mostRead) {
    return nullptr;
  } else {
    if (numRows != Rows)
      return chooseDenseSplit<RunBytes, Rows + 1>(numRows);
    return splitDense<RunBytes, DenseSplit<RunBytes, Rows>>;
  }
}

/// The kernel of as many rows as there are; null where there is none.
template <int RunBytes> Kernel *chooseDense(const Job &job) {
  constexpr DenseLimits kLimits = getDenseLimits<RunBytes>();
  constexpr int kLeast = DenseLimits::kLeastRows;
  if (kLimits.writes(job.rows, job.columns, RunBytes))
    return chooseDenseInterleave<RunBytes, kLeast>(job.rows.count);
  if (kLimits.reads(job.rows, job.columns, RunBytes))
    return chooseDenseSplit<RunBytes, kLeast>(job.columns.count);
  return nullptr;
}

} // namespace
} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_DENSEROWS_H
