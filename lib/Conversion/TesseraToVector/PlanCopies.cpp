//===- PlanCopies.cpp - Candidates of copies ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

using namespace tessera;

/// Runs of fewer bytes are gathered.
static constexpr int64_t kMinCopiedBytes = 8;
/// Bytes between the prefetch of coalesced runs and their use, and the longest
/// of those that are prefetched.
static constexpr int64_t kPrefetchBytes = 8 << 10;
static constexpr int64_t kMaxPrefetchedRun = 1024;
/// Parts of the source that are so many times as long as what is prefetched
/// may be prefetched as one.
static constexpr int64_t kMinParts = 8;

/// Elements of padding behind each run that a copy fills.
static int64_t getFilled(const Draft &draft,
                         const std::optional<RunPadding> &padding,
                         bool mayFill) {
  bool isBehind = padding && mayFill && padding->run == draft.runElements;
  return isBehind ? padding->count : 0;
}

int64_t NestPlanner::getCopyPrefetch(const Draft &draft,
                                     int64_t bytesAhead) const {
  return target.tuning.prefetch ? *target.tuning.prefetch * draft.runBytes()
                                : bytesAhead;
}

/// Runs of a few bytes, one at a time.
NestPlanner::Trial NestPlanner::planGather(const BlockedNest &nest,
                                           const PlanChoice &choice) const {
  if (nest.draft.runBytes() >= kMinCopiedBytes)
    return std::nullopt;
  Draft draft = nest.draft;
  orderLoops(draft, choice.bySource);
  draft.kernel = GatherKernel();
  return draft;
}

/// Runs that are contiguous on both sides, through the cache.
NestPlanner::Trial NestPlanner::planCopy(const BlockedNest &nest,
                                         const PlanChoice &choice) const {
  if (nest.draft.runBytes() < kMinCopiedBytes)
    return std::nullopt;
  Draft draft = nest.draft;
  orderLoops(draft, choice.bySource);
  CopyKernel copy;
  copy.padding = getFilled(draft, padding, mayFill);
  draft.kernel = copy;
  return draft;
}

/// Runs of whole lines, which bypass the cache. Several are read side by side,
/// or the source from end to end: such lines may go anywhere.
NestPlanner::Trial NestPlanner::planLineCopy(const BlockedNest &nest,
                                             const PlanChoice &choice) const {
  Trial draft = planCopy(nest, choice);
  if (!draft)
    return std::nullopt;
  auto &copy = std::get<CopyKernel>(draft->kernel);
  int64_t run = draft->runElements + copy.padding;
  if (run * bytes < RelayoutTarget::kLineBytes || !isWholeLines(*draft, run))
    return std::nullopt;
  copy.stores = StoreKind::Nontemporal;
  if (target.costs.copyStreams > 1) {
    readSideBySide(*draft);
    return draft;
  }
  orderLoops(*draft, true);
  int64_t ahead = target.costs.copyPrefetchBytes;
  if (draft->isReadInOrder(kMinParts * ahead))
    copy.prefetchBytes = getCopyPrefetch(*draft, ahead);
  return draft;
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

/// Runs of at least a line that continue one another: whole lines are
/// nontemporal stores, those at seams made of the ends of two runs. Reading
/// ends is enough to confuse what prefetches lines. Padding behind short runs
/// is better filled with them.
NestPlanner::Trial
NestPlanner::planCoalescedCopy(const BlockedNest &nest,
                               const PlanChoice &choice) const {
  Draft draft = nest.draft;
  auto continues = [&](const PlanLoop &loop) {
    return loop.dstStride == draft.runElements;
  };
  int64_t least = getFilled(draft, padding, mayFill)
                      ? kRunBytes
                      : RelayoutTarget::kLineBytes;
  if (!joinsRuns(target.vectorBytes, bytes) || !draft.packedBytes.empty() ||
      draft.runBytes() < least || llvm::none_of(draft.loops, continues))
    return std::nullopt;
  orderLoops(draft, true);
  CopyKernel copy{{StoreKind::Carried}};
  if (draft.loops.back().srcStride == draft.runElements &&
      draft.runBytes() <= kMaxPrefetchedRun)
    copy.prefetchBytes = getCopyPrefetch(draft, kPrefetchBytes);
  draft.kernel = copy;
  return draft;
}

/// Long runs of which each has masked stores at its ends.
NestPlanner::Trial NestPlanner::planMaskedCopy(const BlockedNest &nest,
                                               const PlanChoice &choice) const {
  Draft draft = nest.draft;
  if (!hasLineRegisters() || !draft.packedBytes.empty() ||
      draft.runBytes() < kRunBytes)
    return std::nullopt;
  draft.kernel = CopyKernel{{StoreKind::Staged}};
  orderLoops(draft, true);
  return draft;
}

/// Runs that continue one another are one run of the destination, through a
/// buffer. Where ends are unknown, short ones cost more than that brings.
NestPlanner::Trial
NestPlanner::planBufferedCopy(const BlockedNest &nest,
                              const PlanChoice &choice) const {
  Draft draft = nest.draft;
  if (!draft.packedBytes.empty() ||
      draft.runBytes() < (knowsLines(draft) ? kRunBytes : kRaggedRunBytes))
    return std::nullopt;
  orderLoops(draft, false);
  int64_t wanted = kStageBytes / draft.runBytes();
  if (wanted > 1)
    draft.takeBlock(draft.findChain(/*inDestination=*/true, {}), wanted, wanted,
                    Role::DstContiguous);
  if (draft.blockRows() * draft.runBytes() < kRaggedRunBytes)
    return std::nullopt;
  draft.kernel = CopyKernel{{StoreKind::Staged}};
  return draft;
}
