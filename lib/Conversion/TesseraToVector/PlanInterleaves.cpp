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

/// Rows that are interleaved, or columns that are split, at most; and where
/// shuffles across lanes are few and slow, those of packed bytes.
static constexpr int64_t kMaxInterleaved = 24;
static constexpr int64_t kMaxPackedNarrow = 8;
/// Rows of which a block takes more than a register.
static constexpr int64_t kMaxUnrolledRows = 8;
/// Registers of each of more rows that a block takes in the caches.
static constexpr int64_t kCachedRegisters = 8;
/// Bytes from one column to the next, or one row, where what lies between is
/// passed over.
static constexpr int64_t kMaxSpread = 32;
/// Lines that several nontemporal stores each may fill by turns, of any runs
/// and of short ones: a processor holds few that are not full.
static constexpr int64_t kMaxOpenLines = 6, kMaxOpenShortLines = 8;
/// What a block writes of a run that begins anywhere in a line, and the columns
/// that it must have.
static constexpr int64_t kShiftedRunBytes = 64 << 10;
static constexpr int64_t kMinShifted = 256;

/// Whether the loops of `narrow` are few runs, and `count` steps of the other
/// side, at `stride`, go on right behind them, or so near that it is worth to
/// pass over what lies between.
bool NestPlanner::isInterleaveOf(const Draft &draft, const Chain &narrow,
                                 int64_t count, int64_t stride) const {
  int64_t runs = countSteps(narrow), pitch = stride / draft.runElements;
  if (stride % draft.runElements != 0 || pitch < runs || runs > kMaxInterleaved)
    return false;
  int64_t least = pitch * draft.runBytes() <= 16 ? 16 : target.vectorBytes;
  if (count * draft.runBytes() < least)
    return false;
  return pitch == runs ||
         (draft.runBytes() <= 8 && pitch * draft.runBytes() <= kMaxSpread);
}

/// Whether columns with gaps, `runs` of data every `pitch` runs, can be written
/// as a whole: the gaps are padding, or stores have masks.
bool NestPlanner::mayPassOver(const Draft &draft, int64_t runs,
                              int64_t pitch) const {
  return isPaddingBetween(draft, runs, pitch) ||
         target.vectorBytes == RelayoutTarget::kLineBytes;
}

bool NestPlanner::isPaddingBetween(const Draft &draft, int64_t runs,
                                   int64_t pitch) const {
  return padding && padding->run == runs * draft.runElements &&
         padding->count == (pitch - runs) * draft.runElements;
}

/// Bytes of the long side that a block of `runs` takes: few rows in one piece
/// of code, of many a register each, or several in the caches, where nothing
/// prefetches what comes next.
int64_t NestPlanner::getInterleaveBytes(const Draft &draft,
                                        int64_t runs) const {
  if (!draft.packedBytes.empty())
    return target.vectorBytes;
  if (runs <= kMaxUnrolledRows)
    return kRunBytes;
  return target.vectorBytes * (isLarge ? 1 : kCachedRegisters);
}

/// Columns of a run that begins anywhere: those up to a line, and the last
/// ones, go through the cache, and all between are nontemporal.
NestPlanner::Trial
NestPlanner::planShiftedInterleave(Draft draft, const PlanLoop &column) const {
  int64_t pitch = column.dstStride;
  int64_t wanted = kShiftedRunBytes / (pitch * bytes);
  // Then there is a column that begins at a line.
  bool isDivided = knowsLines(draft) && draft.dstOffset % pitch == 0;
  for (const PlanLoop &loop : draft.loops)
    isDivided &= loop.dstStride % pitch == 0;
  if (!isDivided || std::min(column.count, wanted) < kMinShifted)
    return std::nullopt;
  draft.takeBlock(column, wanted, wanted, Role::SrcContiguous);
  std::get<InterleaveKernel>(draft.kernel).stores = StoreKind::Staged;
  return draft;
}

Draft NestPlanner::interleave(Draft draft, const Chain &rows,
                              const Chain &columns) const {
  InterleaveKernel interleave;
  const PlanLoop &column = columns.front();
  int64_t runs = countSteps(rows) * draft.numPackedBytes();
  int64_t wide = columnRuns(draft, getInterleaveBytes(draft, runs));
  int64_t gap = column.dstStride - runs * draft.runElements;
  if (isPaddingBetween(draft, runs, runs + gap / draft.runElements)) {
    interleave.padding = mayFill ? gap : 0;
    interleave.keepsPadding = !mayFill;
  }
  draft.takeBlock(rows, countSteps(rows), countSteps(rows),
                  Role::DstContiguous);
  draft.kernel = interleave;
  auto takeColumns = [&](int64_t wide) {
    Draft block = draft;
    block.takeBlock(column, wide, 2 * wide, Role::SrcContiguous);
    return block;
  };
  auto isOfLines = [&](const Draft &block) {
    return isWholeLines(block, block.numBlockElements(), {}, /*isDense=*/true);
  };
  Draft block = takeColumns(wide);
  if (mayUseNontemporal && interleave.padding == gap) {
    // All of few columns may end within a line where a register's do not.
    Draft narrow = takeColumns(columnRuns(draft, target.vectorBytes));
    if (!isOfLines(block) && isOfLines(narrow))
      block = narrow;
    if (isOfLines(block))
      std::get<InterleaveKernel>(block.kernel).stores = StoreKind::Nontemporal;
    else if (Trial shifted = planShiftedInterleave(draft, column))
      block = *shifted;
  }
  bool bySource = mayUseNontemporal &&
                  block.countRowsSideBySide() > target.costs.interleavedRows;
  orderLoops(block, bySource);
  std::get<InterleaveKernel>(block.kernel).prefetch =
      getPrefetchBlocks(block, kPrefetchLines);
  return block;
}

Draft NestPlanner::deinterleave(Draft draft, const Chain &rows,
                                const Chain &columns) const {
  DeinterleaveKernel deinterleave;
  int64_t runs = countSteps(columns), wanted = getInterleaveBytes(draft, runs);
  // Single lines to each of several columns, a page apart, are half as fast.
  if (mayUseNontemporal)
    wanted = std::max(wanted, kDirectRunBytes);
  int64_t wide = rowRuns(draft, wanted);
  draft.takeBlock(columns, runs, runs, Role::SrcContiguous);
  draft.takeBlock(rows.front(), wide, 2 * wide, Role::DstContiguous);
  bool isShort = runs * draft.runBytes() <= kLaneBytes;
  bool fillsLines = hasLineRegisters() ||
                    runs <= (isShort ? kMaxOpenShortLines : kMaxOpenLines);
  if (mayUseNontemporal && fillsLines &&
      isWholeLines(draft, draft.blockRows() * draft.runElements, draft.columns))
    deinterleave.stores = StoreKind::Nontemporal;
  draft.kernel = deinterleave;
  // With short registers a second pass over half of each tile's lines costs
  // more than twice as many columns that are written by turns.
  orderLoops(draft,
             followsSource() || (mayUseNontemporal && !hasLineRegisters()));
  return draft;
}

/// One row that is spread has no loop.
NestPlanner::Trial NestPlanner::planInterleave(const BlockedNest &nest,
                                               const PlanChoice &choice) const {
  const auto &[draft, rows, columns] = nest;
  if (columns.empty() || !draft.within.empty())
    return std::nullopt;
  const PlanLoop &column = columns.front();
  int64_t runs = countSteps(rows), pitch = column.dstStride / draft.runElements;
  if (!isInterleaveOf(draft, rows, column.count, column.dstStride) ||
      (pitch != runs && !mayPassOver(draft, runs, pitch)))
    return std::nullopt;
  return interleave(draft, rows, columns);
}

/// Nor has one that is read from a spread one.
NestPlanner::Trial
NestPlanner::planDeinterleave(const BlockedNest &nest,
                              const PlanChoice &choice) const {
  const auto &[draft, rows, columns] = nest;
  if (rows.empty() || !draft.within.empty() ||
      !isInterleaveOf(draft, columns, rows.front().count,
                      rows.front().srcStride))
    return std::nullopt;
  return deinterleave(draft, rows, columns);
}

int64_t NestPlanner::getMaxPacked() const {
  return hasLineRegisters() ? kMaxInterleaved : kMaxPackedNarrow;
}

/// Whether the packed bytes of a few rows, those of the first position of all
/// rows before those of the second, are one run, which the next column
/// continues.
bool NestPlanner::interleavesPacked(const Draft &draft, const Chain &rows,
                                    const Chain &columns) const {
  int64_t length = countSteps(rows) * draft.runElements;
  int64_t runs = countSteps(rows) * draft.packedBytes.size();
  for (auto [i, packedBytes] : llvm::enumerate(draft.packedBytes))
    if (packedBytes.dstOffset != static_cast<int64_t>(i) * length)
      return false;
  return runs <= getMaxPacked() && !columns.empty() &&
         columns.front().dstStride == runs * draft.runElements;
}

/// Whether the parts of a few columns, the first parts of all columns before
/// the second ones, are one run of the source, which the next row continues.
bool NestPlanner::deinterleavesPacked(const Draft &draft, const Chain &rows,
                                      const Chain &columns) const {
  int64_t length = countSteps(columns) * draft.runElements;
  size_t numParts = draft.packedBytes.front().parts.size();
  for (const PackedBytes &packedBytes : draft.packedBytes)
    for (auto [i, part] : llvm::enumerate(packedBytes.parts))
      if (packedBytes.parts.size() != numParts ||
          part.srcOffset - packedBytes.parts.front().srcOffset !=
              static_cast<int64_t>(i) * length)
        return false;
  int64_t runs = countSteps(columns) * numParts;
  return runs <= getMaxPacked() && !rows.empty() &&
         rows.front().dstStride == draft.runElements &&
         rows.front().srcStride == runs * draft.runElements;
}
