//===- Slices.cpp - Parts that begin where a run says ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slices.h"

#include "tessera/Layout/PhysicalIndices.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <limits>
#include <numeric>

using namespace tessera;
using namespace tessera::runtime;

//===----------------------------------------------------------------------===//
// Periods
//===----------------------------------------------------------------------===//

/// Of a dimension of `size` indices; one that is longer is never over.
static Period getPeriod(llvm::ArrayRef<Step> steps, int64_t size,
                        int64_t bits) {
  Step last = steps.empty() ? Step{1, 0} : steps.back();
  int64_t wholeBytes = 8 / std::gcd<int64_t>(8, last.stride % 8 * bits);
  std::optional<int64_t> indices = llvm::checkedMul(last.divisor, wholeBytes);
  std::optional<int64_t> period =
      llvm::checkedMul(last.stride, wholeBytes * bits);
  if (!indices || *indices >= size || !period)
    return {std::numeric_limits<int64_t>::max(), 0};
  return {*indices, *period / 8};
}

std::optional<Periods> tessera::runtime::getPeriods(const PlanSide &side,
                                                    int64_t bits) {
  Periods periods;
  if (side.strides) { // In bytes.
    for (int64_t stride : *side.strides)
      periods.push_back({1, stride});
    return periods;
  }
  PhysicalIndices positions =
      getPhysicalIndices(side.axes, side.axes.dimensions());
  for (auto [steps, size] :
       llvm::zip_equal(positions.steps, side.axes.dimensions())) {
    if (!steps)
      return std::nullopt;
    periods.push_back(getPeriod(*steps, size, bits));
  }
  return periods;
}

int64_t tessera::runtime::takePeriods(llvm::ArrayRef<Period> periods,
                                      Box &box) {
  int64_t bytes = 0;
  for (auto [slice, period] : llvm::zip(box, periods)) {
    bytes += slice.begin / period.indices * period.bytes;
    slice.begin %= period.indices;
  }
  return bytes;
}

BoxBegins tessera::runtime::getBegins(const Box &src, const Box &dst) {
  BoxBegins begins;
  for (const Slice &slice : llvm::concat<const Slice>(src, dst))
    begins.push_back(slice.begin);
  return begins;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

ScheduleTable::~ScheduleTable() {
  for (const std::atomic<const Entry *> &slot : slots)
    delete slot.load(std::memory_order_relaxed);
}

size_t ScheduleTable::getSlot(const BoxBegins &begins, size_t probe) const {
  size_t hash = llvm::hash_combine_range(begins.begin(), begins.end());
  return (hash + probe) % kSlots;
}

const ScheduleTable::Entry *ScheduleTable::find(const BoxBegins &begins) const {
  for (size_t probe = 0; probe < kProbes; ++probe) {
    const Entry *entry =
        slots[getSlot(begins, probe)].load(std::memory_order_acquire);
    if (!entry)
      return nullptr;
    if (entry->begins == begins)
      return entry;
  }
  return nullptr;
}

const ScheduleTable::Entry *
ScheduleTable::insert(std::unique_ptr<Entry> &made) {
  for (size_t probe = 0; probe < kProbes; ++probe) {
    const Entry *found = nullptr;
    // What another thread has put there may be what is to be kept.
    if (slots[getSlot(made->begins, probe)].compare_exchange_strong(
            found, made.get(), std::memory_order_release,
            std::memory_order_acquire))
      return made.release();
    if (found->begins == made->begins)
      return found;
  }
  return nullptr;
}
