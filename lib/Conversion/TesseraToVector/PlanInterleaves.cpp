//===- PlanInterleaves.cpp - Few rows interleaved into a run --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

#include "llvm/Support/MathExtras.h"

using namespace tessera;

/// Rows that are interleaved, and columns that are split, at most, and rows
/// where shuffles across lanes are few and slow.
static constexpr int64_t kMaxInterleaved = 24;
static constexpr int64_t kMaxSplit = 12;
static constexpr int64_t kMaxInterleavedNarrow = 6;
/// Rows of which a block takes more than a register.
static constexpr int64_t kMaxUnrolledRows = 8;
/// Bytes from one column to the next, or one row, where what lies between is
/// passed over.
static constexpr int64_t kMaxSpread = 32;
/// What a block writes of a run that begins anywhere in a line, and the columns
/// that it must have.
static constexpr int64_t kShiftedRunBytes = 64 << 10;
static constexpr int64_t kMinShifted = 256;
/// Blocks from a prefetch of rows to interleave to their use: there is room for
/// more than where they are transposed.
static constexpr int64_t kInterleavePrefetchBlocks = 8;

/// Whether `runs` are so few that interleaving them takes fewer shuffles than
/// a transpose, or better ones. A transpose is best where the runs of a column
/// fill a register of a power of two; and it needs no shuffles from one lane of
/// 16 bytes into another, which narrower registers lack.
bool NestPlanner::isFew(int64_t runs, bool isInterleave) const {
  int64_t width = runs * runBytes();
  if (target.vectorBytes != RelayoutTarget::kLineBytes)
    return runs <= kMaxInterleavedNarrow || (runs == 8 && width <= 16);
  if (width <= 16)
    return true;
  if (!isInterleave)
    return runs <= kMaxSplit && !llvm::isPowerOf2_64(runs);
  if (mayUseNontemporal)
    return runs <= kMaxInterleaved && width % RelayoutTarget::kLineBytes != 0;
  int64_t filled = llvm::bit_ceil(static_cast<uint64_t>(runs));
  return width <= target.vectorBytes && 4 * runs <= 3 * filled;
}

/// Whether the loops of `narrow` are few runs, and `count` steps of the other
/// side, at `stride`, go on right behind them, or so near that it is worth to
/// pass over what lies between.
bool NestPlanner::isInterleaveOf(const Chain &narrow, int64_t count,
                                 int64_t stride, bool isInterleave) const {
  int64_t runs = countSteps(narrow), pitch = stride / nest.runElements;
  if (stride % nest.runElements != 0 || pitch < runs)
    return false;
  int64_t least = pitch * runBytes() <= 16 ? 16 : target.vectorBytes;
  if (count * runBytes() < least)
    return false;
  if (pitch == runs)
    return isFew(runs, isInterleave);
  return runBytes() <= 8 && pitch * runBytes() <= kMaxSpread &&
         (!isInterleave || mayPassOver(runs, pitch));
}

/// Whether columns with gaps, `runs` of data every `pitch` runs, can be written
/// as a whole: the gaps are padding, or stores have masks.
bool NestPlanner::mayPassOver(int64_t runs, int64_t pitch) const {
  return isPaddingBetween(runs, pitch) ||
         target.vectorBytes == RelayoutTarget::kLineBytes;
}

bool NestPlanner::isPaddingBetween(int64_t runs, int64_t pitch) const {
  return padding && padding->run == runs * nest.runElements &&
         padding->count == (pitch - runs) * nest.runElements;
}

/// Bytes of the long side that a block of `runs` takes: few rows in one piece
/// of code, of many a register each.
int64_t NestPlanner::getInterleaveBytes(int64_t runs) const {
  bool isUnrolled = runs <= kMaxUnrolledRows && nest.packedBytes.empty();
  return isUnrolled ? kRunBytes : target.vectorBytes;
}

/// Columns of a run that begins anywhere: those up to a line, and the last
/// ones, go through the cache, and all between are nontemporal.
void NestPlanner::planShiftedInterleave(const PlanLoop &column,
                                        const PlanNest &untouched) {
  int64_t pitch = column.dstStride;
  int64_t wanted = kShiftedRunBytes / (pitch * bytes);
  // Then there is a column that begins at a line.
  bool isDivided = knowsLines() && nest.dstOffset % pitch == 0;
  for (const PlanLoop &loop : nest.loops)
    isDivided &= loop.dstStride % pitch == 0;
  if (!isDivided || std::min(column.count, wanted) < kMinShifted)
    return;
  nest = untouched;
  takeBlock(column, wanted, wanted, Role::SrcContiguous);
  nest.stores = StoreKind::Staged;
  nest.isOnLines = true;
}

void NestPlanner::planInterleave(const Chain &rows, const Chain &columns) {
  nest.kernel = KernelKind::Interleave;
  int64_t runs = countSteps(rows) * nest.numPackedBytes();
  int64_t wide = columnRuns(getInterleaveBytes(runs));
  int64_t gap = columns.front().dstStride - runs * nest.runElements;
  if (isPaddingBetween(runs, runs + gap / nest.runElements)) {
    nest.padding = mayFill ? gap : 0;
    nest.isPaddingBetween = !mayFill;
  }
  takeBlock(rows, countSteps(rows), countSteps(rows), Role::DstContiguous);
  const PlanNest untouched = nest;
  takeBlock(columns.front(), wide, 2 * wide, Role::SrcContiguous);
  if (mayUseNontemporal && nest.padding == gap) {
    if (isWholeLines(nest.numBlockElements(), {}, /*isDense=*/true))
      nest.stores = StoreKind::Nontemporal;
    else
      planShiftedInterleave(columns.front(), untouched);
  }
  orderLoops(target.tuning.bySource.value_or(followsSource()));
  planPrefetch(kInterleavePrefetchBlocks);
}

void NestPlanner::planDeinterleave(const Chain &rows, const Chain &columns) {
  nest.kernel = KernelKind::Deinterleave;
  int64_t runs = countSteps(columns), wanted = getInterleaveBytes(runs);
  // Single lines to each of several columns, a page apart, are half as fast.
  if (mayUseNontemporal)
    wanted = std::max(wanted, kDirectRunBytes);
  int64_t wide = rowRuns(wanted);
  takeBlock(columns, runs, runs, Role::SrcContiguous);
  takeBlock(rows.front(), wide, 2 * wide, Role::DstContiguous);
  if (mayUseNontemporal &&
      isWholeLines(nest.blockRows() * nest.runElements, nest.columns))
    nest.stores = StoreKind::Nontemporal;
  orderLoops(target.tuning.bySource.value_or(followsSource()));
}

/// One row that is spread, or read from a spread one, has no loop.
bool NestPlanner::planInterleaves(const Chain &rows, const Chain &columns) {
  auto isInterleavedInto = [&](const Chain &narrow, const Chain &wide,
                               bool isInterleave) {
    if (wide.empty())
      return false;
    const PlanLoop &loop = wide.front();
    return isInterleaveOf(narrow, loop.count,
                          isInterleave ? loop.dstStride : loop.srcStride,
                          isInterleave);
  };
  if (isInterleavedInto(rows, columns, /*isInterleave=*/true))
    planInterleave(rows, columns);
  else if (isInterleavedInto(columns, rows, /*isInterleave=*/false))
    planDeinterleave(rows, columns);
  else
    return false;
  return true;
}

/// Whether the packed bytes of a few rows, those of the first position of all
/// rows before those of the second, are one run, which the next column
/// continues.
bool NestPlanner::interleavesPacked(const Chain &rows,
                                    const Chain &columns) const {
  int64_t length = countSteps(rows) * nest.runElements;
  int64_t runs = countSteps(rows) * nest.packedBytes.size();
  for (auto [i, packedBytes] : llvm::enumerate(nest.packedBytes))
    if (packedBytes.dstOffset != static_cast<int64_t>(i) * length)
      return false;
  return isFew(runs, /*isInterleave=*/true) && !columns.empty() &&
         columns.front().dstStride == runs * nest.runElements;
}

/// Whether the parts of a few columns, the first parts of all columns before
/// the second ones, are one run of the source, which the next row continues.
bool NestPlanner::deinterleavesPacked(const Chain &rows,
                                      const Chain &columns) const {
  int64_t length = countSteps(columns) * nest.runElements;
  size_t numParts = nest.packedBytes.front().parts.size();
  for (const PackedBytes &packedBytes : nest.packedBytes)
    for (auto [i, part] : llvm::enumerate(packedBytes.parts))
      if (packedBytes.parts.size() != numParts ||
          part.srcOffset - packedBytes.parts.front().srcOffset !=
              static_cast<int64_t>(i) * length)
        return false;
  int64_t runs = countSteps(columns) * numParts;
  return isFew(runs, /*isInterleave=*/false) && !rows.empty() &&
         rows.front().dstStride == nest.runElements &&
         rows.front().srcStride == runs * nest.runElements;
}
