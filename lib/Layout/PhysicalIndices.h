//===- PhysicalIndices.h - Positions as functions of variables --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the library. Elements of two arrays that correspond are written
// over common *variables*: one for each dimension of a relayout or
// transposition, one for each group of dimensions of a reshape ([4,6,5] to
// [24,5] has two, of 24 and of 5). A position is then a sum of functions of
// single variables wherever the axes allow, and such a function is a short list
// of steps. Variables of which that is not so are entangled: by a `*` over
// unaligned axes, or by tiles that do not divide each other.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_LAYOUT_PHYSICALINDICES_H
#define TESSERA_LIB_LAYOUT_PHYSICALINDICES_H

#include "tessera/Layout/AxisList.h"

namespace tessera {
namespace detail {

using Index = llvm::SmallVector<int64_t, 6>;
using Exprs = llvm::SmallVector<IndexExpr, 8>;

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

/// A value below `size` at which the two functions differ, if there is one.
std::optional<int64_t> getDifference(const Steps &lhs, const Steps &rhs);

/// The positions of an array over common variables.
struct PhysicalIndices {
  /// The steps of each variable; nothing where it is entangled.
  llvm::SmallVector<std::optional<Steps>, 6> steps;
  /// Variables that occur together in an axis that is no sum of digits.
  llvm::SmallVector<llvm::SmallVector<unsigned>, 2> entangled;
};

/// The positions of `list`, whose logical index is `indices` over variables of
/// `sizes` values.
PhysicalIndices getPhysicalIndices(const AxisList &list,
                                   llvm::ArrayRef<IndexExpr> indices,
                                   llvm::ArrayRef<int64_t> sizes);

/// Which elements of two arrays of the same number of elements correspond:
/// logical indices of both as expressions of common variables.
struct IndexMapping {
  Index sizes;
  Exprs from;
  Exprs to;
};

/// Dimension i of the second array is dimension permutation[i] of the first.
IndexMapping getTransposition(llvm::ArrayRef<int64_t> dimensions,
                              llvm::ArrayRef<int64_t> permutation);

/// Row-major reshape of non-empty arrays. A variable stands for the smallest
/// groups of neighbouring dimensions with equal products.
IndexMapping getReshape(llvm::ArrayRef<int64_t> from,
                        llvm::ArrayRef<int64_t> to);

/// `expr` with `values[i]` for variable i.
IndexExpr substitute(const IndexExpr &expr, llvm::ArrayRef<IndexExpr> values);

/// Adds the variables of `expr` to `variables`.
void collectVariables(const IndexExpr &expr,
                      llvm::SmallVectorImpl<unsigned> &variables);

/// The values of `exprs` where variable i is `at[i]`.
Index evaluate(llvm::ArrayRef<IndexExpr> exprs, llvm::ArrayRef<int64_t> at);

} // namespace detail
} // namespace tessera

#endif // TESSERA_LIB_LAYOUT_PHYSICALINDICES_H
