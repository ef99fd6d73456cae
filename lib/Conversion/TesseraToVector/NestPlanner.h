//===- NestPlanner.h - How to copy one strided nest -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The NestPlanner chooses a kernel for a strided nest, the block that one
// execution of the kernel moves, and the order of the loops around the block.
//
//   nest of f32[4096,4096]{1,0} to {0,1}    plan
//     for 4096  src 1 dst 4096                for 4096 by 32  src 4096 dst 1
//       for 4096  src 4096 dst 1                for 4096 by 16  src 1 dst 4096
//                                                 transpose 32x16 runs of 1,
//                                                   nontemporal
//
// The rule, in the order in which it is applied (docs/performance.md has the
// figures behind it):
//
//   1. A loop that is contiguous on both sides is the contiguous *run*, which
//      moves as one. Runs of at most 16 bytes can be shuffled in
//      registers; longer ones are copied.
//   2. The loops that are contiguous in the destination are the rows of a
//      block, those contiguous in the source its columns. Few rows that
//      interleave to a dense run are interleaved, the mirror image is
//      deinterleaved, and everything else is transposed. A nest without rows or
//      columns is gathered.
//   3. Where both sides outgrow the cache, stores bypass it, but only as whole
//      lines: directly where lines are complete and aligned, else through a
//      small buffer. Loops then follow the source, so that it is read in long
//      runs, unless the destination is one sequential run. Panels of rows
//      that lie one behind another are gathered where blocks are read slowly.
//      Where the destination may begin anywhere, rows are taken from the first
//      one that begins a line.
//   4. In cache, loops follow the destination.
//   5. Padding behind runs is filled by the nest that writes them, and nests
//      that walk along the same loops share them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTPLANNER_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTPLANNER_H

#include "tessera/Conversion/TesseraToVector/PackedNests.h"
#include "tessera/Conversion/TesseraToVector/StridedNests.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace tessera {

/// The buffer of a staged block stays within half the first-level cache.
inline constexpr int64_t kStageBytes = 16 << 10;
/// What a block writes in one go: a few lines, so that memory sees a run.
inline constexpr int64_t kRunBytes = 256;
/// The same from registers as wide as a line.
inline constexpr int64_t kDirectRunBytes = 128;
/// What it writes where runs begin within a line: their ragged ends matter.
inline constexpr int64_t kRaggedRunBytes = 1024;
/// Gaps may take one part in so many of a run that is read from end to end.
inline constexpr int64_t kMaxGap = 8;
/// A lane of a register. Runs that are shuffled fit into it, and at least so
/// much of a row is loaded at once.
inline constexpr int64_t kLaneBytes = 16;
/// Blocks between the prefetch of a line and its use.
inline constexpr int64_t kPrefetchBlocks = 2;

/// Loops that continue one another, most minor first.
using Chain = llvm::SmallVector<PlanLoop, 6>;
using Role = PlanLoop::Role;

inline bool isSameLoop(const PlanLoop &a, const PlanLoop &b) {
  return a.srcStride == b.srcStride && a.dstStride == b.dstStride;
}

inline int64_t countSteps(llvm::ArrayRef<PlanLoop> chain) {
  int64_t steps = 1;
  for (const PlanLoop &loop : chain)
    steps *= loop.count;
  return steps;
}

/// Plans one nest: takes loops into its block, chooses a kernel and how it
/// stores, and orders the loops that are left.
class NestPlanner {
public:
  /// `padding`, if any, goes into the nest where its kernel can fill it, if
  /// that is wanted.
  NestPlanner(const StridedNest &strided, int64_t elementBytes,
              const RelayoutTarget &target, bool isLarge,
              std::optional<RunPadding> padding = std::nullopt,
              bool mayFill = false)
      : strided(strided), bytes(elementBytes), target(target), isLarge(isLarge),
        mayUseNontemporal(isLarge), padding(padding), mayFill(mayFill) {
    nest.srcOffset = strided.srcOffset;
    nest.dstOffset = strided.dstOffset;
    nest.loops = strided.loops;
  }

  PlanNest plan();
  /// What `plan` has left to other nests.
  llvm::ArrayRef<PlanNest> getRemainders() const { return remainders; }
  PlanNest planFill();
  /// Bytes of which only `mask` is written.
  PlanNest planBits(const PackedNest &packed, bool isFill);
  /// Bytes that are packed from parts of others.
  PlanNest planPacked(const PackedNest &packed);

private:
  /// Takes the loop of stride 1 (on both sides, or in the destination) out of
  /// the nest as the run.
  void takeRun(bool bothSides);
  /// Takes loops of at most 16 bytes that are one run on either side, in
  /// another order, into the run. False where there are none.
  bool takePermutedRun();
  /// The loops that continue the run, and one another, in the destination or
  /// the source, most minor first. A loop that is in `taken` ends it.
  Chain findChain(bool inDestination, llvm::ArrayRef<PlanLoop> taken) const;
  /// The rows and columns of a block. A loop that continues both chains goes to
  /// the one that starts with it, else to the rows.
  std::pair<Chain, Chain> findRowsAndColumns() const;
  /// Makes blocks of about `wanted` runs of `chain`, or up to `most` where
  /// that avoids a split: whole loops move into the block, and one is split.
  void takeBlock(llvm::ArrayRef<PlanLoop> chain, int64_t wanted, int64_t most,
                 Role role);

  void planCopy();
  void readSideBySide();
  void planRaggedCopy();
  bool isReadInOrder() const;
  void prefetchInOrder(int64_t ahead);
  bool planCoalescedCopy();
  void planAnyTranspose(const Chain &rows, const Chain &columns);
  void planTranspose(const Chain &rows, const Chain &columns);
  void planNontemporalTranspose(const Chain &rows, const Chain &columns);
  bool planPanelTranspose(const Chain &rows, const Chain &columns,
                          StoreKind stores);
  bool mayPackPanels(const PlanLoop &row, const Chain &columns,
                     StoreKind stores) const;
  bool isDensePanel(const PlanLoop &row, const Chain &columns) const;
  int64_t getPanelRun(int64_t rowBytes) const;
  bool hasPanelsInside() const;
  bool planDirectTranspose(const Chain &rows, const Chain &columns);
  bool planDenseTranspose(const Chain &rows, const Chain &columns);
  bool planCarriedTranspose(const Chain &rows, const Chain &columns);
  bool orderCarried();
  void splitCarried();
  size_t findPanels() const;
  void splitLoop(size_t depth, int64_t fewest, size_t outside);
  void leaveRemainder(PlanLoop &loop, int64_t count);
  int64_t countCarried(size_t depth) const;
  bool planRaggedTranspose(const Chain &rows, const Chain &columns);
  void planStagedTranspose(const Chain &rows, const Chain &columns);
  bool mayShiftBatches() const;
  bool planShiftedTranspose(const PlanLoop &row);
  int64_t countConflicts() const;
  void planPrefetch(int64_t blocks);
  void planInterleave(const Chain &rows, const Chain &columns);
  void planDeinterleave(const Chain &rows, const Chain &columns);
  void planShiftedInterleave(const PlanLoop &column, const PlanNest &untouched);
  bool isFew(int64_t runs, bool isInterleave) const;
  bool isInterleaveOf(const Chain &narrow, int64_t count, int64_t stride,
                      bool isInterleave) const;
  bool mayPassOver(int64_t runs, int64_t pitch) const;
  bool isPaddingBetween(int64_t runs, int64_t pitch) const;
  bool planInterleaves(const Chain &rows, const Chain &columns);
  int64_t getInterleaveBytes(int64_t runs) const;
  bool interleavesPacked(const Chain &rows, const Chain &columns) const;
  bool deinterleavesPacked(const Chain &rows, const Chain &columns) const;
  Chain findSpreadColumns(const Chain &rows) const;
  void planPackedTranspose(const Chain &rows, const Chain &columns);

  /// At least one, so that callers may divide by it.
  int64_t runBytes() const {
    return std::max<int64_t>(nest.runElements * bytes, 1);
  }
  int64_t getWholeLines(const Chain &rows, int64_t wanted) const;
  int64_t getDirectRun() const;
  /// Whether narrow runs so far apart are neighbours, as those of a tile are,
  /// which do not conflict.
  bool isNear(int64_t stride) const;
  int64_t getDirectRun(const Chain &rows, const Chain &columns) const;
  /// Runs of a block along the destination and the source, of `wanted` bytes
  /// unless the tuning has others.
  int64_t rowRuns(int64_t wanted) const {
    return std::max<int64_t>(
        target.tuning.rowBytes.value_or(wanted) / runBytes(), 1);
  }
  int64_t columnRuns(int64_t wanted) const {
    return std::max<int64_t>(
        target.tuning.columnBytes.value_or(wanted) / runBytes(), 1);
  }
  /// Whether all runs of `run` elements in the destination are known to be
  /// whole lines: a run for each step of the loops around a block and of
  /// `inner`. Columns of a block are runs of their own unless they are `dense`.
  bool isWholeLines(int64_t run, llvm::ArrayRef<PlanLoop> inner = {},
                    bool isDense = false) const;
  /// Whether copies and interleaves read the source from end to end.
  bool followsSource() const {
    return mayUseNontemporal && target.costs.copyStreams == 1;
  }
  /// Whether lines of the destination are where the strides say.
  bool knowsLines() const { return target.isLineAligned || nest.shiftStride; }
  /// Whether what the loop brings to a position of the destination does not
  /// matter: rows are shifted, for each of its steps.
  bool mayBeginAnywhere(const PlanLoop &loop) const {
    return nest.shiftStride && loop.role == Role::Outer;
  }
  /// Sorts the loops around a block by a stride, most major first.
  void orderLoops(bool bySource);

  StridedNest strided;
  int64_t bytes;
  const RelayoutTarget &target;
  /// Whether both sides outgrow the cache, and stores can bypass it.
  bool isLarge, mayUseNontemporal;
  bool mayCarry = true;
  std::optional<RunPadding> padding;
  bool mayFill;
  PlanNest nest;
  std::vector<PlanNest> remainders;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTPLANNER_H
