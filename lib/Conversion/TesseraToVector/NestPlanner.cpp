//===- NestPlanner.cpp - How to copy one strided nest ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

#include "llvm/Support/MathExtras.h"

#include <tuple>

using namespace tessera;

/// Runs whose ragged ends are worth masked stores of their own.
static constexpr int64_t kMaskedRunBytes = 512;
/// Bytes between the prefetch of coalesced runs and their use, and the longest
/// of those that are prefetched.
static constexpr int64_t kPrefetchBytes = 8 << 10;
static constexpr int64_t kMaxPrefetchedRun = 1024;
/// Longer pieces of rows need no help: the processor prefetches them itself.
static constexpr int64_t kMaxPrefetched = 256;
/// Parts of the source that are so many times as long as what is prefetched
/// may be prefetched as one.
static constexpr int64_t kMinParts = 8;
/// Bytes between columns that are picked from registers.
static constexpr int64_t kMaxColumnPitch = 4;

ProcessorCosts ProcessorCosts::get(llvm::StringRef cpu) {
#define PROCESSOR(NAME, ...)                                                   \
  if (cpu == NAME)                                                             \
    return {__VA_ARGS__};
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"
  return {};
}

/// Runs of at least a line that continue one another: whole lines are
/// nontemporal stores, those at seams made of the ends of two runs. Reading
/// ends is enough to confuse what prefetches lines.
bool NestPlanner::planCoalescedCopy(Draft &draft) const {
  auto *copy = std::get_if<CopyKernel>(&draft.kernel);
  auto continues = [&](const PlanLoop &loop) {
    return loop.dstStride == draft.runElements;
  };
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.has_value() || !copy ||
      draft.runBytes() < RelayoutTarget::kLineBytes ||
      llvm::none_of(draft.loops, continues))
    return false;
  copy->stores = StoreKind::Carried;
  orderLoops(draft, true);
  if (draft.loops.back().srcStride == draft.runElements &&
      draft.runBytes() <= kMaxPrefetchedRun)
    copy->prefetchBytes = getCopyPrefetch(draft, kPrefetchBytes);
  return true;
}

/// Runs that do not begin on lines. Others than the above are, if long, written
/// with masked stores at their ends, where there are such; else those that
/// follow one another are coalesced in a buffer.
void NestPlanner::planRaggedCopy(Draft &draft) const {
  if (planCoalescedCopy(draft))
    return;
  if (target.vectorBytes == RelayoutTarget::kLineBytes &&
      draft.runBytes() >= kMaskedRunBytes && !target.tuning.isStaged) {
    draft.kernel = CopyKernel{StoreKind::Staged};
    return orderLoops(draft, true);
  }
  // Coalescing short runs costs more than it brings where ends are unknown,
  // too.
  if (!knowsLines(draft) && draft.runBytes() < kRaggedRunBytes)
    return;
  Chain rows = draft.findChain(/*inDestination=*/true, {});
  int64_t wanted = kStageBytes / draft.runBytes();
  if (wanted > 1)
    draft.takeBlock(rows, wanted, wanted, Role::DstContiguous);
  if (draft.blockRows() * draft.runBytes() >= kRaggedRunBytes)
    draft.kernel = CopyKernel{StoreKind::Staged};
}

/// Runs that are contiguous on both sides. Where stores are nontemporal,
/// several are read side by side, or the source from end to end: lines that
/// bypass the cache may go anywhere.
Draft NestPlanner::planCopy(Draft draft) const {
  orderLoops(draft, false);
  if (draft.runBytes() < 8) {
    draft.kernel = GatherKernel();
    return draft;
  }
  CopyKernel copy;
  if (padding && mayFill && padding->run == draft.runElements)
    copy.padding = padding->count;
  draft.kernel = copy;
  // Packed bytes are copied from buffers as they are.
  int64_t run = draft.runElements + copy.padding;
  bool isWhole = isWholeLines(draft, run);
  if (!mayUseNontemporal || run * bytes < RelayoutTarget::kLineBytes ||
      (!isWhole && !draft.packedBytes.empty()))
    return draft;
  if (!isWhole) {
    if (draft.runBytes() >= kRunBytes) {
      draft.kernel = CopyKernel();
      planRaggedCopy(draft);
    } else if (!copy.padding) {
      planCoalescedCopy(draft);
    }
    return draft;
  }
  copy.stores = StoreKind::Nontemporal;
  if (target.costs.copyStreams > 1) {
    readSideBySide(draft);
  } else {
    orderLoops(draft, true);
    int64_t ahead = target.costs.copyPrefetchBytes;
    if (draft.isReadInOrder(kMinParts * ahead))
      copy.prefetchBytes = getCopyPrefetch(draft, ahead);
  }
  draft.kernel = copy;
  return draft;
}

int64_t NestPlanner::getCopyPrefetch(const Draft &draft,
                                     int64_t bytesAhead) const {
  return target.tuning.prefetch ? *target.tuning.prefetch * draft.runBytes()
                                : bytesAhead;
}

/// Lets several runs advance side by side. The loop over those is the shortest
/// one that is dense on either side, because it stays within a tile.
void NestPlanner::readSideBySide(Draft &draft) const {
  auto isTile = [&](const PlanLoop &loop) {
    return loop.srcStride == draft.runElements ||
           loop.dstStride == draft.runElements;
  };
  auto isBetter = [&](const PlanLoop &a, const PlanLoop &b) {
    return isTile(a) != isTile(b) ? isTile(a) : a.count < b.count;
  };
  PlanLoop *streams = llvm::min_element(draft.loops, isBetter);
  if (streams == draft.loops.end())
    return;
  streams->role = Role::DstContiguous;
  streams->step = std::min(streams->count, target.costs.copyStreams);
  std::rotate(streams, streams + 1, draft.loops.end());
}

/// Prefetches rows where the innermost loop moves on along them, and where
/// the cache has room for what is prefetched.
void NestPlanner::planPrefetch(Draft &draft, int64_t blocks) const {
  if (draft.loops.empty() || !isLarge)
    return;
  const PlanLoop &inner = draft.loops.back();
  int64_t width = draft.blockColumns() * draft.runElements;
  if (inner.srcStride * inner.step != width || width * bytes > kMaxPrefetched)
    return;
  int64_t distance = target.tuning.prefetch.value_or(blocks);
  if (auto *interleave = std::get_if<InterleaveKernel>(&draft.kernel))
    interleave->prefetch = distance;
  auto *transpose = std::get_if<TransposeKernel>(&draft.kernel);
  if (!transpose)
    return;
  int64_t conflicts = draft.countConflicts();
  if (transpose->stores != StoreKind::Staged &&
      conflicts > target.costs.prefetchConflicts)
    return;
  transpose->prefetch = distance;
  transpose->prefetchesToL2 = distance &&
                              transpose->stores == StoreKind::Nontemporal &&
                              conflicts > target.costs.firstLevelConflicts;
}

std::vector<NestSchedule> NestPlanner::plan() const {
  Draft draft(strided, bytes);
  draft.takeRun(/*bothSides=*/true);
  bool fitsRegisters =
      draft.runBytes() <= kLaneBytes && llvm::isPowerOf2_64(draft.runBytes());
  auto finish = [](const Draft &done) {
    std::vector<NestSchedule> schedules = {done};
    llvm::append_range(schedules, done.remainders);
    return schedules;
  };
  Chain rows, columns;
  if (Draft permuted = draft;
      fitsRegisters && permuted.takePermutedRun(kLaneBytes)) {
    std::tie(rows, columns) = permuted.findRowsAndColumns();
    if (!rows.empty() && !columns.empty())
      return finish(planAnyTranspose(permuted, rows, columns));
  }
  rows.clear();
  columns.clear();
  if (fitsRegisters)
    std::tie(rows, columns) = draft.findRowsAndColumns();
  if (Trial interleaved = planInterleaves(draft, rows, columns))
    return finish(*interleaved);
  if (rows.empty() || columns.empty())
    return finish(planCopy(draft));
  return finish(planAnyTranspose(draft, rows, columns));
}

Draft NestPlanner::planAnyTranspose(Draft draft, const Chain &rows,
                                    const Chain &columns) const {
  if (mayUseNontemporal)
    return planNontemporalTranspose(draft, rows, columns);
  if (isLarge)
    if (Trial ragged = planRaggedTranspose(draft, rows, columns)) {
      planPrefetch(*ragged, kPrefetchBlocks);
      return *ragged;
    }
  return planTranspose(draft, rows, columns);
}

NestSchedule NestPlanner::planBits(const PackedNest &packed,
                                   bool isFill) const {
  Draft draft(strided, bytes);
  if (isFill)
    draft.kernel = FillBitsKernel{packed.mask};
  else
    draft.kernel = MergeKernel{packed.mask};
  draft.packedBytes = packed.packedBytes;
  draft.takeRun(/*bothSides=*/!isFill);
  draft.orderLoops(/*bySource=*/false);
  return draft;
}

/// The columns where there are no neighbours in the source, but every few bytes
/// one: as where whole bytes become parts of bytes in rows of odd sizes.
Chain NestPlanner::findSpreadColumns(const Draft &draft,
                                     const Chain &rows) const {
  if (rows.empty() || draft.runElements != 1)
    return {};
  for (const PlanLoop &loop : draft.loops) {
    bool isRow = llvm::any_of(
        rows, [&](const PlanLoop &row) { return isSameLoop(row, loop); });
    if (!isRow && loop.srcStride > 1 && loop.srcStride <= kMaxColumnPitch)
      return {loop};
  }
  return {};
}

/// A block of lines, packed in a buffer of half of what is one otherwise: the
/// source has as many lines again in the cache.
Draft NestPlanner::planPackedTranspose(Draft draft, const Chain &rows,
                                       const Chain &columns) const {
  TransposeKernel transpose;
  transpose.rows = TransposeKernel::Rows::Gathered;
  int64_t run = draft.packedRun();
  int64_t high =
      std::max<int64_t>(rowRuns(draft, RelayoutTarget::kLineBytes) / run, 1);
  draft.takeBlock(rows, high, high, Role::DstContiguous);
  int64_t packed = draft.blockRows() * draft.packedBytes.size();
  int64_t wide = columnRuns(
      draft, std::clamp<int64_t>(kStageBytes / 2 / packed, 16, kMaxPrefetched));
  draft.takeBlock(columns, wide, wide, Role::SrcContiguous);
  if (mayUseNontemporal && target.vectorBytes == RelayoutTarget::kLineBytes &&
      isWholeLines(draft, draft.blockRows() * run * draft.runElements,
                   draft.columns))
    transpose.stores = StoreKind::Nontemporal;
  draft.kernel = transpose;
  orderLoops(draft, mayUseNontemporal);
  return draft;
}

NestSchedule NestPlanner::planPacked(const PackedNest &packed) const {
  Draft draft(strided, bytes);
  draft.packedBytes = packed.packedBytes;
  draft.takeRun(/*bothSides=*/true);
  Chain rows, columns;
  if (draft.runBytes() <= 16 && llvm::isPowerOf2_64(draft.runBytes()))
    std::tie(rows, columns) = draft.findRowsAndColumns();
  if (interleavesPacked(draft, rows, columns))
    return planInterleave(draft, rows, columns);
  if (deinterleavesPacked(draft, rows, columns))
    return planDeinterleave(draft, rows, columns);
  if (!rows.empty() && !columns.empty())
    return planPackedTranspose(draft, rows, columns);
  if (Chain spread = findSpreadColumns(draft, rows); !spread.empty())
    return planPackedTranspose(draft, rows, spread);
  return planCopy(draft);
}

NestSchedule NestPlanner::planFill() const {
  Draft draft(strided, bytes);
  draft.kernel = FillKernel();
  draft.takeRun(/*bothSides=*/false);
  draft.orderLoops(/*bySource=*/false);
  return draft;
}
