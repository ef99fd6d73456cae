//===- MoveCosts.cpp - The time that moves take ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveCosts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using namespace tessera::runtime;

/// Element by element, a run takes about so many cycles; those that follow one
/// another take one each.
static constexpr int64_t kRunCycles = 3;

/// Of copies of short runs; 0 for others.
static int64_t getShortCopyCycles(const Move &move, int64_t registerBytes) {
  if (move.loops.empty() || move.runBytes > kMaxInterleavedBytes)
    return 0;
  // What comes next in a line is read when the line has been evicted.
  auto isWithinLine = [](const Loop &loop) {
    return std::abs(loop.src) < kLineBytes;
  };
  bool jumps = !isWithinLine(move.loops.back()) &&
               llvm::any_of(move.loops, isWithinLine);
  return registerBytes / move.runBytes * (jumps ? kRunCycles : 1);
}

/// The largest power of two that is no more than a number above 0.
static int64_t floorToPower(int64_t value) {
  return std::max<int64_t>(llvm::bit_floor<uint64_t>(value), 1);
}

int64_t tessera::runtime::getDenseCycles(const Move &move,
                                         const KernelTable &kernels,
                                         bool isStreamed) {
  if (!isTiled(move) || move.square > 1)
    return 0;
  int64_t run = move.runBytes;
  const DenseLimits &dense = kernels.dense[llvm::Log2_64(run)];
  auto getOf = [=, &kernels, &dense](const Loop &few, const Loop &many) {
    int64_t size = many.count * run;
    int64_t slots = dense.isExact ? few.count : llvm::PowerOf2Ceil(few.count);
    // Whole registers are moved, also where rows end within one.
    int64_t unit = kernels.gatherRegisters.laneBytes;
    int64_t bytes =
        std::min(std::max(dense.leastRowBytes, unit), floorToPower(size));
    return 8 * slots * unit * llvm::divideCeil(size, bytes) /
           (few.count * size);
  };
  if (dense.writes(move.rows, move.columns, run))
    return getOf(move.rows, move.columns);
  if (dense.reads(move.rows, move.columns, run, isStreamed))
    return getOf(move.columns, move.rows);
  return 0;
}

/// Of an interleave, or of runs that are divided, where these are short: each
/// step takes some cycles, besides one for each register. Measured on Zen 4.
static int64_t getShortInterleaveCycles(const Move &move,
                                        int64_t registerBytes) {
  int64_t stepCycles = isInterleave(move) && move.rows.count == 2 ? 3 : 5;
  int64_t size = move.rows.count * move.columns.count * move.runBytes;
  return size < 2 * kLineBytes ? stepCycles * registerBytes / size + 1 : 0;
}

/// Of a transpose of few rows or columns; 0 for others, which registers suit.
/// Measured on Zen 3.
static int64_t getFewCycles(const Move &move, int64_t registerBytes) {
  constexpr int64_t kBlockCycles = 40;
  if (!isTiled(move) || move.square > 1 || move.runBytes > kMaxInterleavedBytes)
    return 0;
  int64_t runs = registerBytes / move.runBytes;
  int64_t inLane = kMaxTransposedBytes / move.runBytes;
  int64_t rows = move.rows.count, columns = move.columns.count;
  bool hasFewRows = rows * move.moreRows.count < inLane;
  bool hasFewColumns = columns * move.moreColumns.count < inLane;
  if (!hasFewRows && !hasFewColumns)
    return 0;
  // Less than a lane goes element by element, less than a register by shorter
  // ones.
  int64_t many = hasFewColumns ? rows : columns;
  if (many < inLane)
    return runs * kRunCycles;
  int64_t registers = runs / std::min(runs, floorToPower(many));
  // Registers of all rows or columns of a lane are unpacked in rounds; columns
  // of few rows are stored one by one.
  int64_t rounds = llvm::Log2_64(inLane);
  int64_t cycles = hasFewColumns
                       ? inLane * rounds / columns + 2
                       : llvm::divideCeil(runs, rows) * 2 * (rounds - 1);
  return registers * cycles + kBlockCycles * runs / (rows * columns);
}

int64_t tessera::runtime::getCycles(const Move &move,
                                    const KernelTable &kernels,
                                    bool isStreamed) {
  if (int64_t cycles = getDenseCycles(move, kernels, isStreamed))
    return cycles;
  int64_t registerBytes = kernels.gatherRegisters.laneBytes;
  if (move.kind == Move::Kind::Copy)
    return getShortCopyCycles(move, registerBytes);
  if (!isOfWords(move) && (isInterleave(move) || isDividedRun(move)))
    return getShortInterleaveCycles(move, registerBytes);
  return getFewCycles(move, registerBytes);
}
