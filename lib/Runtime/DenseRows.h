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

namespace tessera::runtime {
namespace {

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

/// The same by registers of 64 bytes, where an instruction picks runs of these
/// by number: they are stored, or loaded, one behind another.
template <int RunBytes, int Ways> class RegisterInterleave {
  static constexpr int kRuns = kVectorBytes / RunBytes, kColumns = kRuns / Ways;
  using V = Vector<RunBytes, kVectorBytes>;
  using Number = typename VectorOf<RunBytes, kVectorBytes>::Element;

public:
  /// At least half of the slots are in use.
  TESSERA_INLINE explicit RegisterInterleave(int64_t numRows)
      : numRows(numRows), bytes(kColumns * numRows * RunBytes) {
    Number *to = slots;
    for (int column = 0; column < kColumns; ++column)
      for (int row = 0; row < numRows; ++row)
        *to++ = column * Ways + row;
    for (int i = 0; i < kRuns / 2; ++i)
      lastSlots[i] = to[i - kRuns / 2];
  }

  template <int Bytes>
  TESSERA_INLINE void move(const char *src, int64_t pitch, char *dst) const {
    static_assert(Bytes == kVectorBytes, "registers are whole");
    V rows[Ways];
    loadFew(src, pitch, numRows, rows);
    interleaveRegisters<RunBytes>(rows);
    TESSERA_UNROLL
    for (int k = 0; k + 1 < Ways; ++k) {
      // Each register corrects what the one before wrote behind its columns.
      store(dst, pick(rows[k], slots));
      dst += bytes;
    }
    storeHalf(dst, pick(rows[Ways - 1], slots));
    storeHalf(dst + bytes - kVectorBytes / 2, pick(rows[Ways - 1], lastSlots));
  }

private:
  static TESSERA_INLINE V pick(V from, const Number *numbers) {
    return pickRuns<RunBytes>(from,
                              load<V>(reinterpret_cast<const char *>(numbers)));
  }
  static TESSERA_INLINE void storeHalf(char *to, V value) {
    copyFixed<kVectorBytes / 2>(reinterpret_cast<const char *>(&value), to);
  }

  int64_t numRows, bytes;
  /// Where the runs of a register come from, and of its last half.
  alignas(kVectorBytes) Number slots[kRuns] = {}, lastSlots[kRuns] = {};
};

/// The way back.
template <int RunBytes, int Ways> class RegisterSplit {
  static constexpr int kRuns = kVectorBytes / RunBytes, kColumns = kRuns / Ways;
  using V = Vector<RunBytes, kVectorBytes>;
  using Number = typename VectorOf<RunBytes, kVectorBytes>::Element;

public:
  TESSERA_INLINE explicit RegisterSplit(int64_t numRows)
      : numRows(numRows), bytes(kColumns * numRows * RunBytes) {
    int64_t behind = (kVectorBytes - bytes) / RunBytes;
    for (int column = 0; column < kColumns; ++column)
      for (int row = 0; row < numRows; ++row) {
        int64_t number = column * numRows + row;
        runs[column * Ways + row] = number;
        lastRuns[column * Ways + row] = number + behind;
      }
  }

  template <int Bytes>
  TESSERA_INLINE void move(const char *src, char *dst, int64_t pitch) const {
    static_assert(Bytes == kVectorBytes, "registers are whole");
    V rows[Ways];
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k) {
      bool isLast = k + 1 == Ways; // It ends where the columns do.
      const char *end = src + (k + 1) * bytes;
      const Number *numbers = isLast ? lastRuns : runs;
      rows[k] =
          pickRuns<RunBytes>(load<V>(end - (isLast ? kVectorBytes : bytes)),
                             load<V>(reinterpret_cast<const char *>(numbers)));
    }
    deinterleaveRegisters<kRuns>(rows);
    storeFew(dst, pitch, numRows, rows);
  }

private:
  int64_t numRows, bytes;
  /// Where the runs of a register come from, and of the last one.
  alignas(kVectorBytes) Number runs[kRuns] = {}, lastRuns[kRuns] = {};
};

#if defined(__AVX512VBMI__)
template <int RunBytes, int Ways>
using DenseInterleave = RegisterInterleave<RunBytes, Ways>;
template <int RunBytes, int Ways>
using DenseSplit = RegisterSplit<RunBytes, Ways>;
// Gathers of shorter rows take less time.
constexpr DenseLimits kDenseLimits = {64, kLaneBytes, kLaneBytes};
#else
template <int RunBytes, int Ways>
using DenseInterleave = LaneInterleave<RunBytes, Ways>;
template <int RunBytes, int Ways> using DenseSplit = LaneSplit<RunBytes, Ways>;
// Tiles of longer columns need no picks.
constexpr DenseLimits kDenseLimits =
    kHasLanePicks ? DenseLimits{kLaneBytes, kLaneBytes - 1, kLaneBytes / 2}
                  : DenseLimits{0, 0, 0};
#endif

/// Calls `move` for all `size` bytes of the rows of each block, of the widest
/// registers that they fill; the last ones overlap those before.
template <typename Move>
TESSERA_INLINE void forDenseTiles(const Job &job, int64_t size, const char *src,
                                  char *dst, const Move &move) {
  auto moveAll = [&](auto bytes) {
    constexpr int64_t kBytes = decltype(bytes)::kCount;
    walkBlocks(job, src, dst, [&move, size](const Block &block) {
      for (int64_t i = 0; i < size; i += kBytes)
        move(Constant<kBytes>(), least(i, size - kBytes), block);
    });
  };
  constexpr int kLeast = kDenseLimits.leastRowBytes;
  constexpr int kWidest =
      kLeast < kVectorBytes && kVectorBytes > 32 ? 32 : kVectorBytes;
  if (size >= kWidest)
    moveAll(Constant<kWidest>());
  else if constexpr (kLeast < kWidest)
    moveAll(Constant<kLeast>());
}

template <int RunBytes, int Ways>
void interleaveDense(const Job &job, const char *src, char *dst) {
  const int64_t numRows = job.rows.count;
  const DenseInterleave<RunBytes, Ways> dense(numRows);
  forDenseTiles(job, job.columns.count * RunBytes, src, dst,
                [&](auto bytes, int64_t i, const Block &block) {
                  dense.template move<decltype(bytes)::kCount>(
                      block.src + i, block.srcPitch, block.dst + i * numRows);
                });
}

template <int RunBytes, int Ways>
void deinterleaveDense(const Job &job, const char *src, char *dst) {
  const int64_t numRows = job.columns.count;
  const DenseSplit<RunBytes, Ways> dense(numRows);
  forDenseTiles(job, job.rows.count * RunBytes, src, dst,
                [&](auto bytes, int64_t i, const Block &block) {
                  dense.template move<decltype(bytes)::kCount>(
                      block.src + i * numRows, block.dst + i, block.dstPitch);
                });
}

/// The kernel of four, eight or sixteen slots; null where there is none.
template <int RunBytes, int Ways = 4> Kernel *chooseDense(const Job &job) {
  if constexpr (Ways * RunBytes <= kLaneBytes && kDenseLimits.mostWritten > 0) {
    auto suits = [](const Loop &few) {
      return few.count > Ways / 2 && few.count <= Ways;
    };
    if (kDenseLimits.writes(job.rows, job.columns, RunBytes) && suits(job.rows))
      return interleaveDense<RunBytes, Ways>;
    if constexpr (Ways * RunBytes <= kDenseLimits.mostRead)
      if (kDenseLimits.reads(job.rows, job.columns, RunBytes) &&
          suits(job.columns))
        return deinterleaveDense<RunBytes, Ways>;
    return chooseDense<RunBytes, 2 * Ways>(job);
  }
  return nullptr;
}

} // namespace
} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_DENSEROWS_H
