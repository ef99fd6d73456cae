//===- NestPlanner.cpp - How to copy one strided nest ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

#include "llvm/Support/MathExtras.h"

#include <array>

using namespace tessera;

/// Runs whose ragged ends are worth masked stores of their own.
static constexpr int64_t kMaskedRunBytes = 512;
/// Bytes between the prefetch of coalesced runs and their use, and the longest
/// of those that are prefetched.
static constexpr int64_t kPrefetchBytes = 8 << 10;
static constexpr int64_t kMaxPrefetchedRun = 1024;
/// Longer pieces of rows need no help: the processor prefetches them itself.
static constexpr int64_t kMaxPrefetched = 256;
/// Bytes between columns that are picked from registers.
static constexpr int64_t kMaxColumnPitch = 4;

ProcessorCosts ProcessorCosts::get(llvm::StringRef cpu) {
#define PROCESSOR(NAME, ...)                                                   \
  if (cpu == NAME)                                                             \
    return {__VA_ARGS__};
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"
  return {};
}

void NestPlanner::takeRun(bool bothSides) {
  PlanLoop *it = llvm::find_if(nest.loops, [&](const PlanLoop &loop) {
    return loop.dstStride == 1 && (!bothSides || loop.srcStride == 1);
  });
  if (it == nest.loops.end())
    return;
  nest.runElements = it->count;
  nest.loops.erase(it);
}

bool NestPlanner::takePermutedRun() {
  auto isRun = [&](Chain loops) {
    llvm::sort(loops, [](const PlanLoop &a, const PlanLoop &b) {
      return a.dstStride < b.dstStride;
    });
    int64_t next = nest.runElements;
    for (const PlanLoop &loop : loops) {
      if (loop.dstStride != next)
        return false;
      next *= loop.count;
    }
    return true;
  };
  Chain taken;
  int64_t size = nest.runElements;
  for (const PlanLoop &loop : findChain(/*inDestination=*/false, {})) {
    taken.push_back(loop);
    size *= loop.count;
    if (size * bytes > kLaneBytes)
      return false;
    if (isRun(taken))
      break;
  }
  if (!isRun(taken) || !llvm::isPowerOf2_64(size))
    return false;
  if (nest.runElements > 1)
    nest.within.push_back({nest.runElements, 1, 1});
  nest.within.append(taken.begin(), taken.end());
  llvm::erase_if(nest.loops, [&](const PlanLoop &loop) {
    return llvm::any_of(
        taken, [&](const PlanLoop &other) { return isSameLoop(loop, other); });
  });
  nest.runElements = size;
  return true;
}

Chain NestPlanner::findChain(bool inDestination,
                             llvm::ArrayRef<PlanLoop> taken) const {
  Chain chain;
  int64_t next = nest.runElements * (inDestination ? nest.packedRun() : 1);
  while (true) {
    const PlanLoop *it = llvm::find_if(nest.loops, [&](const PlanLoop &loop) {
      return (inDestination ? loop.dstStride : loop.srcStride) == next;
    });
    bool ends = it == nest.loops.end() ||
                llvm::any_of(taken, [&](const PlanLoop &loop) {
                  return isSameLoop(*it, loop);
                });
    if (ends)
      return chain;
    chain.push_back(*it);
    next *= it->count;
  }
}

std::pair<Chain, Chain> NestPlanner::findRowsAndColumns() const {
  Chain source = findChain(/*inDestination=*/false, {});
  source.truncate(std::min<size_t>(source.size(), 1));
  Chain rows = findChain(/*inDestination=*/true, source);
  return {rows, findChain(/*inDestination=*/false, rows)};
}

void NestPlanner::takeBlock(llvm::ArrayRef<PlanLoop> chain, int64_t wanted,
                            int64_t most, Role role) {
  auto &inner = role == Role::DstContiguous ? nest.rows : nest.columns;
  int64_t runs = 1;
  for (const PlanLoop &loop : chain) {
    PlanLoop *it = llvm::find_if(nest.loops, [&](const PlanLoop &other) {
      return isSameLoop(loop, other);
    });
    if (runs * loop.count <= most) {
      inner.push_back(loop);
      inner.back().role = role;
      runs *= loop.count;
      nest.loops.erase(it);
      continue;
    }
    int64_t step = std::max<int64_t>(wanted / runs, 1);
    if (step > 1 || runs == 1) {
      it->step = step;
      it->role = role;
    }
    return;
  }
}

bool NestPlanner::isWholeLines(int64_t run, llvm::ArrayRef<PlanLoop> inner,
                               bool isDense) const {
  int64_t line = RelayoutTarget::kLineBytes;
  bool result = knowsLines() && run * bytes % line == 0 &&
                (nest.shiftStride || nest.dstOffset * bytes % line == 0);
  for (const PlanLoop &loop : nest.loops) {
    if (mayBeginAnywhere(loop))
      continue;
    bool isWhole = loop.role != Role::SrcContiguous || isDense;
    int64_t stride = loop.dstStride * (isWhole ? loop.step : 1);
    result &= stride * bytes % line == 0;
  }
  for (const PlanLoop &loop : inner)
    result &= loop.dstStride * bytes % line == 0;
  for (size_t i = 0; i < nest.packedBytes.size(); i += nest.packedRun())
    result &= isDense || nest.packedBytes[i].dstOffset % line == 0;
  return result;
}

void NestPlanner::orderLoops(bool bySource) {
  llvm::sort(nest.loops, [&](const PlanLoop &a, const PlanLoop &b) {
    auto src = std::pair(a.srcStride * a.step, b.srcStride * b.step);
    auto dst = std::pair(a.dstStride * a.step, b.dstStride * b.step);
    auto [first, second] = bySource ? std::pair(src, dst) : std::pair(dst, src);
    return first.first != first.second ? first.first > first.second
                                       : second.first > second.second;
  });
}

/// Runs of at least a line that continue one another: whole lines are
/// nontemporal stores, those at seams made of the ends of two runs. Reading
/// ends is enough to confuse what prefetches lines.
bool NestPlanner::planCoalescedCopy() {
  auto continues = [&](const PlanLoop &loop) {
    return loop.dstStride == nest.runElements;
  };
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.has_value() || nest.kernel != KernelKind::Copy ||
      runBytes() < RelayoutTarget::kLineBytes ||
      llvm::none_of(nest.loops, continues))
    return false;
  nest.stores = StoreKind::Carried;
  orderLoops(target.tuning.bySource.value_or(true));
  if (nest.loops.back().srcStride == nest.runElements &&
      runBytes() <= kMaxPrefetchedRun)
    prefetchInOrder(kPrefetchBytes);
  return true;
}

/// Runs that do not begin on lines. Others than the above are, if long, written
/// with masked stores at their ends, where there are such; else those that
/// follow one another are coalesced in a buffer.
void NestPlanner::planRaggedCopy() {
  if (planCoalescedCopy())
    return;
  if (target.vectorBytes == RelayoutTarget::kLineBytes &&
      runBytes() >= kMaskedRunBytes && !target.tuning.isStaged) {
    nest.stores = StoreKind::Staged;
    orderLoops(target.tuning.bySource.value_or(true));
    return;
  }
  // Coalescing short runs costs more than it brings where ends are unknown,
  // too.
  if (!knowsLines() && runBytes() < kRaggedRunBytes)
    return;
  Chain rows = findChain(/*inDestination=*/true, {});
  int64_t wanted = kStageBytes / runBytes();
  if (wanted > 1)
    takeBlock(rows, wanted, wanted, Role::DstContiguous);
  if (nest.blockRows() * runBytes() < kRaggedRunBytes)
    return;
  nest.stores = StoreKind::Staged;
  nest.isOnLines = isWholeLines(nest.blockRows() * nest.runElements);
}

/// Runs that are contiguous on both sides. Where stores are nontemporal,
/// several are read side by side, or the source from end to end: lines that
/// bypass the cache may go anywhere.
void NestPlanner::planCopy() {
  nest.kernel = runBytes() >= 8 ? KernelKind::Copy : KernelKind::Gather;
  orderLoops(target.tuning.bySource.value_or(false));
  if (padding && mayFill && padding->run == nest.runElements &&
      nest.kernel == KernelKind::Copy)
    nest.padding = padding->count;
  int64_t run = nest.runElements + nest.padding;
  if (!mayUseNontemporal || run * bytes < RelayoutTarget::kLineBytes)
    return;
  if (!isWholeLines(run)) {
    if (runBytes() >= kRunBytes) {
      nest.padding = 0;
      planRaggedCopy();
    } else if (!nest.padding) {
      planCoalescedCopy();
    }
    return;
  }
  nest.stores = StoreKind::Nontemporal;
  if (target.costs.copyStreams > 1)
    return readSideBySide();
  orderLoops(target.tuning.bySource.value_or(true));
  if (isReadInOrder())
    prefetchInOrder(target.costs.copyPrefetchBytes);
}

/// Whether a copy reads the source from end to end, but for small gaps; or
/// parts so long that as little is prefetched needlessly behind them.
bool NestPlanner::isReadInOrder() const {
  int64_t length = nest.runElements;
  for (const PlanLoop &loop : llvm::reverse(nest.loops)) {
    int64_t gap = loop.srcStride - length;
    if (gap < 0 || gap > length / kMaxGap)
      return length * bytes >= kMaxGap * target.costs.copyPrefetchBytes;
    length = loop.srcStride * loop.count;
  }
  return true;
}

/// Lets a copy prefetch so many bytes ahead, in the order of the source.
void NestPlanner::prefetchInOrder(int64_t ahead) {
  if (target.tuning.prefetch)
    ahead = *target.tuning.prefetch * runBytes();
  nest.prefetch = ahead;
}

/// Lets several runs advance side by side. The loop over those is the shortest
/// one that is dense on either side, because it stays within a tile.
void NestPlanner::readSideBySide() {
  auto isTile = [&](const PlanLoop &loop) {
    return loop.srcStride == nest.runElements ||
           loop.dstStride == nest.runElements;
  };
  auto isBetter = [&](const PlanLoop &a, const PlanLoop &b) {
    return isTile(a) != isTile(b) ? isTile(a) : a.count < b.count;
  };
  PlanLoop *streams = llvm::min_element(nest.loops, isBetter);
  if (streams == nest.loops.end())
    return;
  streams->role = Role::DstContiguous;
  streams->step = std::min(streams->count, target.costs.copyStreams);
  std::rotate(streams, streams + 1, nest.loops.end());
}

/// The most rows of a block that fall into one set of the first-level cache, by
/// the lines at which they begin. Powers of two as pitches put all into one.
int64_t NestPlanner::countConflicts() const {
  std::array<int64_t, RelayoutTarget::kPageBytes / RelayoutTarget::kLineBytes>
      sets = {};
  for (int64_t begin : nest.getOffsets(Role::DstContiguous, /*inSource=*/true))
    ++sets[begin * bytes % RelayoutTarget::kPageBytes /
           RelayoutTarget::kLineBytes];
  return *llvm::max_element(sets);
}

/// Prefetches rows where the innermost loop moves on along them, and where
/// the cache has room for what is prefetched.
void NestPlanner::planPrefetch(int64_t blocks) {
  if (nest.loops.empty() || !isLarge)
    return;
  const PlanLoop &inner = nest.loops.back();
  int64_t width = nest.blockColumns() * nest.runElements;
  bool isInterleave = nest.kernel == KernelKind::Interleave;
  if (inner.srcStride * inner.step == width &&
      width * bytes <= kMaxPrefetched &&
      (isInterleave || nest.stores == StoreKind::Staged ||
       countConflicts() <= target.costs.prefetchConflicts)) {
    nest.prefetch = target.tuning.prefetch.value_or(blocks);
    nest.prefetchesToL2 = !isInterleave &&
                          nest.stores == StoreKind::Nontemporal &&
                          countConflicts() > target.costs.firstLevelConflicts;
  }
}

PlanNest NestPlanner::plan() {
  takeRun(/*bothSides=*/true);
  bool fitsRegisters =
      runBytes() <= kLaneBytes && llvm::isPowerOf2_64(runBytes());
  Chain rows, columns;
  const PlanNest untouched = nest;
  if (fitsRegisters && takePermutedRun()) {
    std::tie(rows, columns) = findRowsAndColumns();
    if (!rows.empty() && !columns.empty()) {
      planAnyTranspose(rows, columns);
      return nest;
    }
    nest = untouched;
  }
  if (fitsRegisters)
    std::tie(rows, columns) = findRowsAndColumns();
  if (planInterleaves(rows, columns))
    return nest;
  if (rows.empty() || columns.empty())
    planCopy();
  else
    planAnyTranspose(rows, columns);
  return nest;
}

void NestPlanner::planAnyTranspose(const Chain &rows, const Chain &columns) {
  if (mayUseNontemporal)
    planNontemporalTranspose(rows, columns);
  else if (isLarge && planRaggedTranspose(rows, columns))
    planPrefetch(kPrefetchBlocks);
  else
    planTranspose(rows, columns);
}

PlanNest NestPlanner::planBits(const PackedNest &packed, bool isFill) {
  nest.kernel = isFill ? KernelKind::FillBits : KernelKind::Merge;
  nest.mask = packed.mask;
  nest.packedBytes = packed.packedBytes;
  takeRun(/*bothSides=*/!isFill);
  orderLoops(/*bySource=*/false);
  return nest;
}

/// The columns where there are no neighbours in the source, but every few bytes
/// one: as where whole bytes become parts of bytes in rows of odd sizes.
Chain NestPlanner::findSpreadColumns(const Chain &rows) const {
  if (rows.empty() || nest.runElements != 1)
    return {};
  for (const PlanLoop &loop : nest.loops) {
    bool isRow = llvm::any_of(
        rows, [&](const PlanLoop &row) { return isSameLoop(row, loop); });
    if (!isRow && loop.srcStride > 1 && loop.srcStride <= kMaxColumnPitch)
      return {loop};
  }
  return {};
}

/// A block of lines, packed in a buffer of half of what is one otherwise: the
/// source has as many lines again in the cache.
void NestPlanner::planPackedTranspose(const Chain &rows, const Chain &columns) {
  nest.kernel = KernelKind::Transpose;
  nest.gathersRows = true;
  int64_t run = nest.packedRun();
  int64_t high =
      std::max<int64_t>(rowRuns(RelayoutTarget::kLineBytes) / run, 1);
  takeBlock(rows, high, high, Role::DstContiguous);
  int64_t bytes = nest.blockRows() * nest.packedBytes.size();
  int64_t wide = columnRuns(
      std::clamp<int64_t>(kStageBytes / 2 / bytes, 16, kMaxPrefetched));
  takeBlock(columns, wide, wide, Role::SrcContiguous);
  if (mayUseNontemporal && target.vectorBytes == RelayoutTarget::kLineBytes &&
      isWholeLines(nest.blockRows() * run * nest.runElements, nest.columns))
    nest.stores = StoreKind::Nontemporal;
  orderLoops(target.tuning.bySource.value_or(mayUseNontemporal));
}

PlanNest NestPlanner::planPacked(const PackedNest &packed) {
  nest.packedBytes = packed.packedBytes;
  takeRun(/*bothSides=*/true);
  Chain rows, columns;
  if (runBytes() <= 16 && llvm::isPowerOf2_64(runBytes()))
    std::tie(rows, columns) = findRowsAndColumns();
  if (interleavesPacked(rows, columns)) {
    planInterleave(rows, columns);
  } else if (deinterleavesPacked(rows, columns)) {
    planDeinterleave(rows, columns);
  } else if (!rows.empty() && !columns.empty()) {
    planPackedTranspose(rows, columns);
  } else if (Chain spread = findSpreadColumns(rows); !spread.empty()) {
    nest.columnPitch = spread.front().srcStride;
    planPackedTranspose(rows, spread);
  } else {
    // Buffers are copied from as they are.
    mayUseNontemporal &= isWholeLines(nest.runElements);
    planCopy();
  }
  return nest;
}

PlanNest NestPlanner::planFill() {
  nest.kernel = KernelKind::Fill;
  takeRun(/*bothSides=*/false);
  orderLoops(/*bySource=*/false);
  return nest;
}
