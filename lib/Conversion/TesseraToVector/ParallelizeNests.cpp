//===- ParallelizeNests.cpp - Share a plan among threads ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tessera;

/// Shares of work may differ by one part in this number.
static constexpr int64_t kMinBlocks = 16;

/// Blocks that the busiest thread takes, as a multiple of a fair share.
static double getImbalance(const PlanLoop &loop, int64_t threads) {
  int64_t blocks = loop.count / loop.step;
  if (blocks < 2)
    return static_cast<double>(threads);
  return static_cast<double>(llvm::divideCeil(blocks, threads) * threads) /
         static_cast<double>(blocks);
}

/// Makes a loop of a run that is long on its own, split at pages. Returns what
/// is left of the run as a nest of its own, if anything is.
static std::optional<NestSchedule> splitRun(NestSchedule &nest, int64_t threads,
                                            int64_t elementBytes) {
  int64_t page = RelayoutTarget::kPageBytes / elementBytes;
  int64_t chunk = nest.runElements / (threads * kMinBlocks) / page * page;
  if (chunk == 0)
    return std::nullopt;
  NestSchedule remainder = nest;
  int64_t chunks = nest.runElements / chunk;
  remainder.runElements = nest.runElements % chunk;
  remainder.srcOffset += chunks * chunk;
  remainder.dstOffset += chunks * chunk;
  nest.runElements = chunk;
  nest.loops.insert(nest.loops.begin(), {chunks, chunk, chunk});
  if (remainder.runElements == 0)
    return std::nullopt;
  return remainder;
}

/// Shares the outermost loop with even shares, or else the most even one.
static void parallelizeLoop(NestSchedule &nest, int64_t threads) {
  PlanLoop *best = nest.loops.end();
  double least = static_cast<double>(threads);
  for (PlanLoop &loop : nest.loops) {
    // Panels hand on lines from one to the next, column by column, and those
    // that are gathered have all columns in one buffer.
    if (nest.stores() == StoreKind::Carried &&
        loop.role != PlanLoop::Role::Outer)
      continue;
    if (nest.packsPanels() && loop.role == PlanLoop::Role::SrcContiguous)
      continue;
    if (loop.isEnds)
      continue;
    double imbalance = getImbalance(loop, threads);
    if (imbalance < least) {
      least = imbalance;
      best = &loop;
    }
    if (least <= 1 + 1.0 / kMinBlocks)
      break;
  }
  if (best == nest.loops.end())
    return;
  // Rows of blocks are prefetched along the innermost loop.
  if (best == &nest.loops.back()) {
    auto *transpose = std::get_if<TransposeKernel>(&nest.kernel);
    if (transpose && !nest.packsPanels()) {
      transpose->prefetch = 0;
      transpose->prefetchesToL2 = false;
    }
    if (auto *interleave = std::get_if<InterleaveKernel>(&nest.kernel))
      interleave->prefetch = 0;
  }
  best->isParallel = true;
  std::rotate(nest.loops.begin(), best, best + 1);
}

void tessera::parallelizeNests(RelayoutPlan &plan,
                               const RelayoutTarget &target) {
  if (target.threads <= 1)
    return;
  int64_t bytes = plan.elementBits / 8;
  llvm::SmallVector<NestSchedule, 4> remainders;
  for (NestSchedule &nest : plan.nests) {
    if (nest.numElements() * bytes < target.parallelBytes)
      continue;
    bool isRun =
        nest.is<CopyKernel>() && nest.rows.empty() && nest.loops.empty();
    if (isRun)
      if (auto remainder = splitRun(nest, target.threads, bytes))
        remainders.push_back(std::move(*remainder));
    parallelizeLoop(nest, target.threads);
  }
  llvm::append_range(plan.nests, remainders);
}
