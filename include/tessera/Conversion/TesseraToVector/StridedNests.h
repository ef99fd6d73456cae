//===- StridedNests.h - Split two layouts into strided nests ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strided nest is a perfect loop nest with constant bounds, whose loops move
// by a constant stride in both buffers. This file divides a relayout into such
// nests; NestPlanner then chooses a kernel for each.
//
// Every dimension is split at the divisors of its digits on both sides. A piece
// between two divisors is one loop, and the pieces of all dimensions together
// are one nest:
//
//   f32[16,130]{1,0} to f32[16,130]{1,0:T(8,128)}
//     d0 is split at 8, d1 at 128
//
//     nest src 0 dst 0                    columns 0 to 127
//       for 2  src 1040 dst 2048          d0 floordiv 8
//         for 8  src 130 dst 128          d0 mod 8
//           for 128  src 1 dst 1          d1 mod 128
//     nest src 128 dst 1024               columns 128 and 129, the remainder
//       for 2  src 1040 dst 2048
//         for 8  src 130 dst 128
//           for 2  src 1 dst 1
//
// Loops of one step are dropped, and two loops that continue each other on both
// sides are merged. The loops over 2 and 8 steps above continue each other in
// the source (1040 = 8 * 130), but not in the destination (2048 is not 8 *
// 128).
//
// A box (extract_slice, insert_slice) selects every step-th index of a
// dimension from some begin. Where the divisors of the two sides, or of a step,
// do not divide one another, splits of both sides repeat after their least
// common multiple, and each part between two of them is a loop.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOVECTOR_STRIDEDNESTS_H
#define TESSERA_CONVERSION_TESSERATOVECTOR_STRIDEDNESTS_H

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

/// An *unsupported* error: there is no plan.
llvm::Error refusePlan(const llvm::Twine &expected, const llvm::Twine &found);

/// Nests are code where relayouts are compiled: more than these are left to a
/// general lowering.
inline constexpr size_t kMaxNests = 24;

/// Disjoint nests that together copy every element from `src` to `dst`, at most
/// `maxNests`.
llvm::Expected<std::vector<StridedNest>>
splitElements(const PlanSide &src, const PlanSide &dst,
              size_t maxNests = kMaxNests);

/// Disjoint nests over all padding of `list`, as destination.
llvm::Expected<std::vector<StridedNest>>
splitPadding(const AxisList &list, size_t maxNests = kMaxNests);

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

#endif // TESSERA_CONVERSION_TESSERATOVECTOR_STRIDEDNESTS_H
