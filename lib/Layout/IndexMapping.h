//===- IndexMapping.h - Which element is which ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the library. An index mapping says which element of one array is
// which element of another. Both logical indices are written over common
// *variables*: one for each dimension of a relayout or transposition, one for
// each group of dimensions of a reshape ([4,6,5] to [24,5] has two, of 24 and
// of 5).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_LAYOUT_INDEXMAPPING_H
#define TESSERA_LIB_LAYOUT_INDEXMAPPING_H

#include "tessera/Layout/PhysicalIndices.h"

namespace tessera {
namespace detail {

using Index = llvm::SmallVector<int64_t, 6>;
using Exprs = llvm::SmallVector<IndexExpr, 8>;

/// A value below `size` at which the two functions differ, if there is one.
std::optional<int64_t> getDifference(const Steps &lhs, const Steps &rhs);

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

#endif // TESSERA_LIB_LAYOUT_INDEXMAPPING_H
