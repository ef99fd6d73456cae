//===- Slices.h - Parts that begin where a run says -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The position of an element is a sum of functions of one dimension each, and
// such a function repeats after the largest divisor of its dimension, but for a
// distance (PhysicalIndices.h):
//
//   f32[16,256]{1,0:T(8,128)}   d0: 8 indices, 8192 bytes
//                               d1: 128 indices, 4096 bytes
//
// So parts that begin at (3,130) and at (11,2) are moved by the same schedule,
// from other bytes on: that of (3,2), which is where both begin in their tiles.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_SLICES_H
#define TESSERA_LIB_RUNTIME_SLICES_H

#include "Schedule.h"

#include <array>
#include <atomic>
#include <memory>

namespace tessera::runtime {

/// What begins `indices` later along a dimension lies `bytes` further on.
struct Period {
  int64_t indices = 1;
  int64_t bytes = 0;
};
using Periods = llvm::SmallVector<Period, 6>;

/// A period of each dimension, whole bytes where elements have `bits`; nothing
/// where dimensions are entangled.
std::optional<Periods> getPeriods(const PlanSide &side, int64_t bits);

/// Takes whole periods out of where a box begins, and returns their bytes.
int64_t takePeriods(llvm::ArrayRef<Period> periods, Box &box);

/// Where the parts of both sides begin.
using BoxBegins = llvm::SmallVector<int64_t, 12>;
BoxBegins getBegins(const Box &src, const Box &dst);

/// Schedules by where the parts begin in their tiles, each made when it is
/// first asked for and kept until the end. Threads may share it: a slot is
/// written once. What finds no slot is made again at each run.
class ScheduleTable {
public:
  struct Entry {
    BoxBegins begins;
    /// Nothing: by element.
    std::optional<Schedule> schedule;
  };

  ScheduleTable() = default;
  ScheduleTable(const ScheduleTable &) = delete;
  ScheduleTable &operator=(const ScheduleTable &) = delete;
  ~ScheduleTable();

  /// Null where it has not been made.
  const Entry *find(const BoxBegins &begins) const;

  /// Keeps what is made, unless another thread was faster: that is returned
  /// then, and `made` stays. Null where all slots for it are taken.
  const Entry *insert(std::unique_ptr<Entry> &made);

private:
  static constexpr size_t kSlots = 256;
  /// Slots that are tried for one entry, so that a full table costs little.
  static constexpr size_t kProbes = 16;

  size_t getSlot(const BoxBegins &begins, size_t probe) const;

  std::array<std::atomic<const Entry *>, kSlots> slots = {};
};

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_SLICES_H
