//===- InterleaveGroups.h - Shuffles that interleave rows -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register of each of n rows becomes n registers of the interleaved side, or
// the other way round, in two steps:
//
//   1. Rows are interleaved in groups of a power of two, by rounds of shuffles
//      that join pairs: a group of w rows is w registers of runs that are w
//      times as wide. Where no shuffle takes any runs of two registers, that is
//      done within lanes for rows that are one group: whole lanes are gathered.
//   2. Each register of the interleaved side gathers its runs from all groups,
//      by a shuffle for every register that has some but the first.
//
// Six rows of four-byte elements are three pairs: 6 shuffles, and 2 for each
// register of the interleaved side. Deinterleaving takes the same steps back.
//
// This is the arithmetic alone, which says what it costs, too.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_INTERLEAVEGROUPS_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_INTERLEAVEGROUPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tessera {

/// A run of one of many registers.
struct RegisterRun {
  int64_t reg;
  int64_t run;
};

using RegisterRuns = llvm::SmallVector<RegisterRun, 64>;

/// Registers that runs come from, in the order of the first of each. There are
/// `numRegisters`; positions in others may hold anything.
llvm::SmallVector<int64_t, 8> getSources(llvm::ArrayRef<RegisterRun> positions,
                                         int64_t numRegisters);

/// Whether the positions are one register as it is.
bool isRegister(llvm::ArrayRef<RegisterRun> positions);

/// Rows in groups of powers of two. Registers are numbered like the rows: those
/// of a group hold its runs in order, column by column.
class InterleaveGroups {
public:
  /// The groups that take the fewest shuffles, the narrowest of such. A
  /// register has `size` runs, and columns lie `pitch` runs apart where they
  /// are interleaved. Rows that are one group, which has a run of each in
  /// `lane` runs, are zipped within these.
  static InterleaveGroups choose(int64_t numRows, int64_t pitch, int64_t size,
                                 int64_t lane, bool isInterleave);

  /// The positions, in groups, of the runs of register `reg` of the interleaved
  /// side; what lies between columns is in the register after those of the
  /// rows.
  RegisterRuns getInterleaved(int64_t reg) const;
  /// The positions, on the interleaved side, of the runs of register `reg` of a
  /// group.
  RegisterRuns getGroup(int64_t reg) const;
  /// Shuffles that it all takes.
  int64_t countShuffles(bool isInterleave) const;

  struct Group {
    int64_t first;
    int64_t width;
  };
  llvm::SmallVector<Group, 8> groups;
  /// Runs of a register that are zipped among themselves: all, or those of each
  /// lane. Part i of all that a group holds is in register i of it, modulo the
  /// group's width.
  int64_t zipped;

private:
  /// Groups of `widest` rows, smaller ones at the end.
  InterleaveGroups(int64_t numRows, int64_t pitch, int64_t size, int64_t zipped,
                   int64_t widest);

  const Group &findGroup(int64_t row) const;

  int64_t numRows;
  int64_t pitch;
  int64_t size;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_INTERLEAVEGROUPS_H
