//===- Draft.h - A schedule in the making -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Draft begins as the loops of a strided nest. Loops move from there into the
// run and into the block, the others are ordered, and a kernel is chosen last:
//
//   nest of f32[4096,4096]{1,0} to {0,1}    takeBlock(rows, 32)
//     for 4096  src 1 dst 4096                for 4096 by 32  src 4096 dst 1
//       for 4096  src 4096 dst 1              takeBlock(columns, 16)
//                                               for 4096 by 16  src 1 dst 4096
//
// Drafts are values: a trial that leads nowhere is dropped.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_DRAFT_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_DRAFT_H

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"
#include "tessera/Conversion/TesseraToVector/StridedNests.h"

#include "llvm/ADT/STLExtras.h"

namespace tessera {

/// Loops that continue one another, most minor first.
using Chain = llvm::SmallVector<PlanLoop, 6>;
using Role = PlanLoop::Role;

inline bool isSameLoop(const PlanLoop &a, const PlanLoop &b) {
  return a.srcStride == b.srcStride && a.dstStride == b.dstStride;
}

/// The loop among `loops` that is the same; their end if there is none.
inline PlanLoop *findSame(llvm::MutableArrayRef<PlanLoop> loops,
                          const PlanLoop &loop) {
  return llvm::find_if(
      loops, [&](const PlanLoop &other) { return isSameLoop(loop, other); });
}

inline bool hasSame(llvm::ArrayRef<PlanLoop> loops, const PlanLoop &loop) {
  return llvm::any_of(
      loops, [&](const PlanLoop &other) { return isSameLoop(loop, other); });
}

struct Draft : NestSchedule {
  Draft(const StridedNest &nest, int64_t elementBytes)
      : strided(nest), bytes(elementBytes) {
    srcOffset = nest.srcOffset;
    dstOffset = nest.dstOffset;
    loops = nest.loops;
  }

  /// What the draft moves, and what it leaves of the nest.
  StridedNest strided;
  std::vector<StridedNest> leftovers;
  /// Bytes of an element.
  int64_t bytes;

  /// At least one, so that callers may divide by it.
  int64_t runBytes() const { return std::max<int64_t>(runElements * bytes, 1); }

  /// Takes the loop of stride 1 (on both sides, or in the destination) as the
  /// run.
  void takeRun(bool bothSides);
  /// Takes loops of at most so many bytes that are one run on either side, in
  /// another order, into the run. False where there are none.
  bool takePermutedRun(int64_t maxBytes);
  /// The loops that continue the run, and one another, in the destination or
  /// the source. A loop that is in `taken` ends it.
  Chain findChain(bool inDestination, llvm::ArrayRef<PlanLoop> taken) const;
  /// The rows and columns of a block. A loop that continues both chains goes to
  /// the one that starts with it, else to columns where these need it more: a
  /// block takes a line of each column and `columnBytes` of each row.
  std::pair<Chain, Chain> findRowsAndColumns(int64_t columnBytes) const;
  /// Makes blocks of about `wanted` runs of `chain`, or up to `most` where
  /// that avoids a split: whole loops move into the block, and one is split.
  void takeBlock(llvm::ArrayRef<PlanLoop> chain, int64_t wanted, int64_t most,
                 Role role);
  /// Sorts the loops around a block by a stride, most major first.
  void orderLoops(bool bySource);
  /// Rows that loops in the order of the destination read side by side: those
  /// of a block, for each step of loops inside the one that goes on along them.
  int64_t countRowsSideBySide() const;

  /// The number of the loop over panels of rows; that of the loops where there
  /// is none.
  size_t findPanels() const;
  /// Bytes of the lines that wait for the next iteration of loop `depth`.
  int64_t countCarried(size_t depth) const;
  /// Whether a copy reads the source from end to end, but for small gaps; or
  /// parts of so many bytes.
  bool isReadInOrder(int64_t partBytes) const;
  /// Whether rows of all `columns` lie one behind another, but for small gaps.
  bool isDensePanel(const PlanLoop &row, const Chain &columns) const;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_DRAFT_H
