//===- StridedNests.h - Split two layouts into strided nests ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_STRIDEDNESTS_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_STRIDEDNESTS_H

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

namespace tessera {

/// A perfect nest with constant bounds; strides and offsets in elements. Loops
/// are ordered by the destination, most major first; none has a single step,
/// and no two are neighbours on both sides.
struct StridedNest {
  int64_t srcOffset = 0;
  int64_t dstOffset = 0;
  llvm::SmallVector<PlanLoop, 6> loops;
};

/// Disjoint nests that together copy every element from `src` to `dst`.
llvm::Expected<std::vector<StridedNest>> splitElements(const PlanSide &src,
                                                       const PlanSide &dst);

/// Disjoint nests over all padding of `list`, as destination.
llvm::Expected<std::vector<StridedNest>> splitPadding(const AxisList &list);

/// Padding right behind the runs of a nest.
struct RunPadding {
  /// Elements of a run, and of padding after it.
  int64_t run = 0;
  int64_t count = 0;
  /// The number of the nest that fills it.
  size_t fill = 0;
};

/// The nest of `fills` whose runs begin where the dense runs of `copy` end. One
/// that goes on beyond the last run is split in two.
std::optional<RunPadding> findPadding(const StridedNest &copy,
                                      std::vector<StridedNest> &fills);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_STRIDEDNESTS_H
