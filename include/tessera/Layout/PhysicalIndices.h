//===- PhysicalIndices.h - Dimensions split at divisors ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Wherever the axes allow, a position in a buffer is a sum of functions of one
// dimension each, and such a function is a sum of digits times strides:
//
//   f32[16,130]{1,0:T(8,128)}
//     d0: 128 * (d0 mod 8) + 2048 * (d0 floordiv 8)     steps (1, 128) (8,
//     2048) d1: 1 * (d1 mod 128) + 1024 * (d1 floordiv 128)   steps (1, 1)
//     (128, 1024)
//
// The list of steps is a normal form, so that two layouts can be compared, and
// it says at which divisors a dimension must be split for loops with constant
// strides. Contiguous runs, bitcasts and strided nests are computed from it.
//
// Dimensions for which there are no steps are *entangled*: a `*` merges axes
// that are not aligned, or tiles do not divide one another.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_PHYSICALINDICES_H
#define TESSERA_LAYOUT_PHYSICALINDICES_H

#include "tessera/Layout/AxisList.h"

namespace tessera {

/// Digit number `divisor` of a variable moves by `stride`.
struct Step {
  int64_t divisor;
  int64_t stride;

  bool operator==(const Step &other) const {
    return divisor == other.divisor && stride == other.stride;
  }
};

/// A function of one variable in mixed radix: the sum over all steps of stride
/// times `(i floordiv divisor) mod (next divisor / divisor)`. Divisors start at
/// 1 and each divides the next. No step merely continues the one before, which
/// makes the list unique: two functions are equal if and only if their steps
/// are, and otherwise they differ at the first divisor where the steps do.
using Steps = llvm::SmallVector<Step, 4>;

/// The value of the function at `i`.
int64_t evaluate(llvm::ArrayRef<Step> steps, int64_t i);

/// The positions of an array over variables.
struct PhysicalIndices {
  /// The steps of each variable; nothing where it is entangled.
  llvm::SmallVector<std::optional<Steps>, 6> steps;
  /// Variables that occur together in an axis that is no sum of digits.
  llvm::SmallVector<llvm::SmallVector<unsigned>, 2> entangled;
};

/// The positions of `list` over its dimensions, which take `sizes` values:
/// those of the array, or more of them where padding is meant too.
PhysicalIndices getPhysicalIndices(const AxisList &list,
                                   llvm::ArrayRef<int64_t> sizes);

/// The same over other variables, of which `indices` are the logical indices.
PhysicalIndices getPhysicalIndices(const AxisList &list,
                                   llvm::ArrayRef<IndexExpr> indices,
                                   llvm::ArrayRef<int64_t> sizes);

} // namespace tessera

#endif // TESSERA_LAYOUT_PHYSICALINDICES_H
