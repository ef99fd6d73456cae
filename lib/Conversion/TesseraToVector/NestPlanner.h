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
//     for 4096  src 1 dst 4096                for 4096 by 48  src 4096 dst 1
//       for 4096  src 4096 dst 1                for 4096 by 16  src 1 dst 4096
//                                                 transpose 48x16 runs of 1,
//                                                   nontemporal
//
// In order (docs/performance.md has the figures behind it):
//
//   1. A loop that is contiguous on both sides is the contiguous *run*, which
//      moves as one. Runs of at most 16 bytes can be shuffled in registers;
//      longer ones are copied.
//   2. The loops that are contiguous in the destination are the rows of a
//      block, those contiguous in the source its columns. With both, a nest is
//      transposed, or where one of them is few, interleaved or deinterleaved;
//      else its runs are copied.
//   3. Each kind of schedules makes one of a choice, or nothing where there is
//      none, and the cheapest one is taken (Search.cpp, CostModel.h). Where
//      both sides outgrow the cache, stores may bypass it, but only as whole
//      lines.
//   4. Padding behind runs is filled by the nest that writes them, and nests
//      that walk along the same loops share them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTPLANNER_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTPLANNER_H

#include "Draft.h"

#include "tessera/Conversion/TesseraToVector/CostModel.h"
#include "tessera/Conversion/TesseraToVector/PackedNests.h"

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
/// A lane of a register. Runs that are shuffled fit into it, and at least so
/// much of a row is loaded at once.
inline constexpr int64_t kLaneBytes = 16;
/// Longer pieces of rows need no prefetches: the processor has its own.
inline constexpr int64_t kMaxPrefetched = 256;
/// Lines of rows from a prefetch to its use, those of blocks that are dense
/// runs, which take longer to write, and blocks, at most.
inline constexpr int64_t kPrefetchLines = 64, kDensePrefetchLines = 384,
                         kMaxPrefetchBlocks = 8;

/// A nest with the loops of its rows and columns, of which a block may be made.
struct BlockedNest {
  Draft draft;
  Chain rows, columns;

  /// Else runs are copied.
  bool isTransposed() const { return !rows.empty() && !columns.empty(); }
};

/// A schedule that may be taken, and what it costs.
struct Candidate {
  PlanChoice choice;
  Draft draft;
  PlanCost cost;
};

/// Plans one nest: takes loops into its block, chooses a kernel and how it
/// stores, and orders the loops that are left. What each function makes of a
/// draft is another draft, or nothing, so that they may be tried in any order.
class NestPlanner {
public:
  /// `padding`, if any, goes into the nest where its kernel can fill it, if
  /// that is wanted.
  NestPlanner(const StridedNest &strided, int64_t elementBytes,
              const RelayoutTarget &target, bool isLarge,
              std::optional<RunPadding> padding = std::nullopt,
              bool mayFill = false)
      : strided(strided), bytes(elementBytes), target(target), isLarge(isLarge),
        mayUseNontemporal(isLarge), padding(padding), mayFill(mayFill) {}

  /// The schedule, and behind it those of what it leaves to others.
  std::vector<NestSchedule> plan() const;
  NestSchedule planFill() const;
  /// Bytes of which only some bits are written.
  NestSchedule planBits(const PackedNest &packed, bool isFill) const;
  /// Bytes that are packed from parts of others.
  NestSchedule planPacked(const PackedNest &packed) const;

  /// The kinds of schedules.
  struct Kind;
  static const Kind kKinds[];
  static const Kind &getKind(PlanKind kind);

  /// What was tried for it.
  NestTrials takeTrials() {
    return {strided.srcOffset, strided.dstOffset, std::move(trials),
            std::move(choices)};
  }

private:
  /// Nothing where there is no such schedule.
  using Trial = std::optional<Draft>;

  /// Notes why something was not taken; gives nothing.
  std::nullopt_t refuse(llvm::StringRef name, const llvm::Twine &why) const {
    trials.push_back({name.str(), false, why.str()});
    return std::nullopt;
  }
  void take(llvm::StringRef name, const llvm::Twine &why) const {
    trials.push_back({name.str(), true, why.str()});
  }
  void noteStores() const;

  BlockedNest findBlocks(Draft draft) const;
  /// What a block takes of each row at least: a line beyond the caches.
  int64_t getColumnBytes() const {
    return isLarge ? RelayoutTarget::kLineBytes : kLaneBytes;
  }

  /// The search, and what it tries.
  Draft search(const BlockedNest &nest) const;
  void addCandidates(const BlockedNest &nest, const RelayoutTuning &tuning,
                     std::vector<Candidate> &candidates) const;
  void noteCandidates(llvm::ArrayRef<Candidate> candidates) const;
  Trial planChoice(const BlockedNest &nest, const PlanChoice &choice) const;
  static void forEachChoice(const RelayoutTuning &tuning,
                            llvm::function_ref<void(const PlanChoice &)> visit);

  Trial planGather(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planCopy(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planLineCopy(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planCoalescedCopy(const BlockedNest &nest,
                          const PlanChoice &choice) const;
  Trial planMaskedCopy(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planBufferedCopy(const BlockedNest &nest,
                         const PlanChoice &choice) const;
  void readSideBySide(Draft &draft) const;
  int64_t getCopyPrefetch(const Draft &draft, int64_t bytesAhead) const;

  Trial planCached(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planDirect(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planDense(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planPanels(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planCarried(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planStaged(const BlockedNest &nest, const PlanChoice &choice) const;
  bool gatherRows(Draft &draft) const;
  void planPrefetch(Draft &draft, PlanKind kind) const;
  int64_t getPrefetchBlocks(const Draft &draft, int64_t lines) const;
  bool orderCarried(Draft &draft) const;
  bool hasLineRegisters() const {
    return target.vectorBytes == RelayoutTarget::kLineBytes;
  }
  Trial shiftRows(Draft draft, const PlanLoop &row) const;
  void splitLoop(Draft &draft, size_t depth, int64_t fewest,
                 size_t outside) const;
  void finishCarried(Draft &draft) const;
  void finishPanels(Draft &draft) const;
  void finish(Draft &draft) const;
  std::vector<NestSchedule> planLeftovers(Draft draft) const;

  Trial planInterleave(const BlockedNest &nest, const PlanChoice &choice) const;
  Trial planDeinterleave(const BlockedNest &nest,
                         const PlanChoice &choice) const;
  Draft interleave(Draft draft, const Chain &rows, const Chain &columns) const;
  Draft deinterleave(Draft draft, const Chain &rows,
                     const Chain &columns) const;
  Trial planShiftedInterleave(Draft draft, const PlanLoop &column) const;
  bool isInterleaveOf(const Draft &draft, const Chain &narrow, int64_t count,
                      int64_t stride) const;
  bool mayPassOver(const Draft &draft, int64_t runs, int64_t pitch) const;
  bool isPaddingBetween(const Draft &draft, int64_t runs, int64_t pitch) const;
  int64_t getInterleaveBytes(const Draft &draft, int64_t runs) const;
  int64_t getMaxPacked() const;
  bool interleavesPacked(const Draft &draft, const Chain &rows,
                         const Chain &columns) const;
  bool deinterleavesPacked(const Draft &draft, const Chain &rows,
                           const Chain &columns) const;
  Chain findSpreadColumns(const Draft &draft, const Chain &rows) const;
  Draft planPackedTranspose(Draft draft, const Chain &rows,
                            const Chain &columns) const;

  /// Runs of a block along the destination and the source, of `wanted` bytes
  /// unless the tuning has others.
  int64_t rowRuns(const Draft &draft, int64_t wanted) const {
    return std::max<int64_t>(
        target.tuning.rowBytes.value_or(wanted) / draft.runBytes(), 1);
  }
  int64_t columnRuns(const Draft &draft, int64_t wanted) const {
    return std::max<int64_t>(
        target.tuning.columnBytes.value_or(wanted) / draft.runBytes(), 1);
  }
  /// Whether lines of the destination are where the strides say.
  bool knowsLines(const Draft &draft) const {
    return target.isLineAligned || draft.shiftsRows;
  }
  /// Whether all runs of `run` elements are known to be whole lines.
  bool isWholeLines(const Draft &draft, int64_t run,
                    llvm::ArrayRef<PlanLoop> inner = {},
                    bool isDense = false) const {
    return knowsLines(draft) && draft.isWholeLines(run, bytes, inner, isDense);
  }
  /// Whether copies and deinterleaves read the source from end to end.
  bool followsSource() const {
    return mayUseNontemporal && target.costs.copyStreams == 1;
  }
  void orderLoops(Draft &draft, bool bySource) const {
    draft.orderLoops(target.tuning.bySource.value_or(bySource));
  }

  StridedNest strided;
  int64_t bytes;
  const RelayoutTarget &target;
  /// Whether both sides outgrow the cache, and stores can bypass it.
  bool isLarge, mayUseNontemporal;
  bool mayCarry = true;
  std::optional<RunPadding> padding;
  bool mayFill;
  /// A log of what the functions do, which decides nothing.
  mutable std::vector<PlanTrial> trials;
  mutable std::vector<RelayoutTuning> choices;
};

/// Marks one loop of each nest that is large enough as parallel and moves it
/// outside. Blocks write disjoint bytes, so that threads never wait for one
/// another but at the end of a nest.
void parallelizeNests(RelayoutPlan &plan, const RelayoutTarget &target);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTPLANNER_H
