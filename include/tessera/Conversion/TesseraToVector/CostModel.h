//===- CostModel.h - What a schedule costs ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prices schedules of one nest, so that the cheapest can be taken. A cost is a
// sum of terms, each a coefficient of the processor (ProcessorCosts.def) times
// how often a line of 64 bytes meets it, in picoseconds:
//
//   jumps      short runs of a column, or of a row, each of them in a page of
//              its own, and lines of rows that are read alone
//   streams    more rows, or pages of tiles, than the processor prefetches
//   conflicts  lines of rows or of columns that fall into one set of a cache
//   buffers    what is copied through a buffer on the way, ends of runs
//   shuffles   those that a line takes
//   cache      lines of a large destination that stores read first
//
// What all schedules of a nest cost alike is left out: costs rank them, and say
// nothing of time. A schedule is all that is looked at, without MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOVECTOR_COSTMODEL_H
#define TESSERA_CONVERSION_TESSERATOVECTOR_COSTMODEL_H

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

namespace tessera {

/// The cost of a schedule of elements of so many bytes. `isLarge`: both buffers
/// outgrow the caches.
PlanCost getPlanCost(const NestSchedule &nest, int64_t elementBytes,
                     const RelayoutTarget &target, bool isLarge);

/// The most lines that fall into one set of the first-level cache, of those at
/// which the rows of a block begin in the source, or its columns in the
/// destination. Powers of two as pitches put all into one. Rows that begin in
/// one line count each: so often that line is loaded.
int64_t countConflicts(const NestSchedule &nest, int64_t elementBytes,
                       PlanLoop::Role role);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOVECTOR_COSTMODEL_H
