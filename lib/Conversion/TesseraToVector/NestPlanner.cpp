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

int64_t ProcessorCosts::getNontemporalBytes(BufferState state) const {
  switch (state) {
  case BufferState::Unknown:
    return nontemporalBytes;
  case BufferState::Hot:
    return hotBytes;
  case BufferState::Cold:
    return coldBytes;
  }
  llvm_unreachable("a state of buffers");
}

static constexpr llvm::StringLiteral kBufferStates[] = {"unknown", "hot",
                                                        "cold"};

llvm::StringRef tessera::getName(BufferState state) {
  return kBufferStates[static_cast<size_t>(state)];
}

std::optional<BufferState> tessera::parseBufferState(llvm::StringRef name) {
  const auto *it = llvm::find(kBufferStates, name);
  if (it == std::end(kBufferStates))
    return std::nullopt;
  return static_cast<BufferState>(it - std::begin(kBufferStates));
}

/// Runs of at least a line that continue one another: whole lines are
/// nontemporal stores, those at seams made of the ends of two runs. Reading
/// ends is enough to confuse what prefetches lines.
bool NestPlanner::planCoalescedCopy(Draft &draft) const {
  auto *copy = std::get_if<CopyKernel>(&draft.kernel);
  auto continues = [&](const PlanLoop &loop) {
    return loop.dstStride == draft.runElements;
  };
  if (target.vectorBytes != RelayoutTarget::kLineBytes || !copy ||
      draft.runBytes() < RelayoutTarget::kLineBytes ||
      llvm::none_of(draft.loops, continues))
    return false;
  take("coalesced copy", "runs of at least a line continue one another");
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
      draft.runBytes() >= kMaskedRunBytes) {
    take("copy with masked ends",
         "runs of " + llvm::Twine(draft.runBytes()) + " bytes");
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
  if (draft.blockRows() * draft.runBytes() < kRaggedRunBytes)
    return;
  take("copy through a buffer",
       llvm::Twine(draft.blockRows()) + " runs are one of the destination");
  draft.kernel = CopyKernel{StoreKind::Staged};
}

/// Runs that are contiguous on both sides. Where stores are nontemporal,
/// several are read side by side, or the source from end to end: lines that
/// bypass the cache may go anywhere.
Draft NestPlanner::planCopy(Draft draft) const {
  orderLoops(draft, false);
  std::string size = std::to_string(draft.runBytes()) + " bytes";
  if (draft.runBytes() < 8) {
    take("gather", "runs of " + size + ", of which no side has neighbours");
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
      (!isWhole && !draft.packedBytes.empty())) {
    take("copy", "runs of " + size + " through the cache");
    return draft;
  }
  if (!isWhole) {
    refuse("nontemporal copy", "runs of " + size + " are no whole lines");
    if (draft.runBytes() >= kRunBytes) {
      draft.kernel = CopyKernel();
      planRaggedCopy(draft);
    } else if (!copy.padding) {
      planCoalescedCopy(draft);
    }
    if (draft.stores() == StoreKind::Plain)
      take("copy", "runs of " + size + " through the cache");
    return draft;
  }
  take("nontemporal copy", "runs of " + size + " are whole lines");
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

/// Why stores bypass the cache, or do not.
void NestPlanner::noteStores() const {
  std::string most = std::to_string(target.nontemporalBytes) + " bytes";
  if (mayUseNontemporal)
    take("nontemporal stores", "both buffers have at least " + most);
  else
    refuse("nontemporal stores",
           target.hasNontemporalStores
               ? "a buffer has less than " + most + ", or they are not wanted"
               : "the processor has none that are of use");
}

/// The schedule, and behind it those of what it leaves: ends of rows, which go
/// through the cache, and rows or columns that make no block.
std::vector<NestSchedule> NestPlanner::planLeftovers(Draft draft) const {
  std::vector<StridedNest> leftovers = std::move(draft.leftovers);
  std::vector<NestSchedule> schedules = {std::move(draft)};
  for (const StridedNest &nest : leftovers) {
    NestPlanner planner(nest, bytes, target, isLarge);
    planner.mayUseNontemporal &=
        nest.loops.empty() || !nest.loops.back().isEnds;
    planner.mayCarry = false;
    llvm::append_range(schedules, planner.plan());
  }
  return schedules;
}

std::vector<NestSchedule> NestPlanner::plan() const {
  noteStores();
  Draft draft(strided, bytes);
  draft.takeRun(/*bothSides=*/true);
  bool fitsRegisters =
      draft.runBytes() <= kLaneBytes && llvm::isPowerOf2_64(draft.runBytes());
  Chain rows, columns;
  if (Draft permuted = draft;
      fitsRegisters && permuted.takePermutedRun(kLaneBytes)) {
    std::tie(rows, columns) = permuted.findRowsAndColumns();
    if (!rows.empty() && !columns.empty()) {
      take("permuted runs", "elements of " + llvm::Twine(permuted.runBytes()) +
                                " bytes change positions within");
      return planLeftovers(planTranspose(permuted, rows, columns));
    }
  }
  rows.clear();
  columns.clear();
  if (fitsRegisters)
    std::tie(rows, columns) = draft.findRowsAndColumns();
  if (Trial interleaved = planInterleaves(draft, rows, columns))
    return planLeftovers(*interleaved);
  if (rows.empty() || columns.empty()) {
    refuse("transpose", fitsRegisters
                            ? "one side has no neighbouring runs"
                            : "runs of " + llvm::Twine(draft.runBytes()) +
                                  " bytes are no power of two up to 16");
    return planLeftovers(planCopy(draft));
  }
  return planLeftovers(planTranspose(draft, rows, columns));
}

NestSchedule NestPlanner::planBits(const PackedNest &packed,
                                   bool isFill) const {
  take(isFill ? "fill bits" : "merge", "some bits of each byte are written");
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
  noteStores();
  if (interleavesPacked(draft, rows, columns)) {
    take("packed interleave", "the bytes of few rows are one run");
    return planInterleave(draft, rows, columns);
  }
  if (deinterleavesPacked(draft, rows, columns)) {
    take("packed deinterleave", "the parts of few columns are one run");
    return planDeinterleave(draft, rows, columns);
  }
  Chain spread = columns.empty() ? findSpreadColumns(draft, rows) : columns;
  if (!rows.empty() && !spread.empty()) {
    take("packed transpose", "rows are packed in a buffer");
    return planPackedTranspose(draft, rows, spread);
  }
  refuse("packed transpose", "one side has no neighbouring runs");
  return planCopy(draft);
}

NestSchedule NestPlanner::planFill() const {
  Draft draft(strided, bytes);
  draft.kernel = FillKernel();
  draft.takeRun(/*bothSides=*/false);
  draft.orderLoops(/*bySource=*/false);
  return draft;
}
