//===- IndexUtil.h - Logical indices of a shape -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What users of XLA's IndexUtil know, under the same names: going through the
// logical indices of an array. Where an element lies in memory is answered by
// AxisList::linearIndex; the answer of XLA's IndexUtil, which knows no tiles,
// is in XlaCompat.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_INDEXUTIL_H
#define TESSERA_LAYOUT_INDEXUTIL_H

#include "tessera/Layout/Shape.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera {
namespace index_util {

/// Whether `index` has an entry for each dimension, each in [0, size). Bounded
/// dimensions count with their bound; in an unbounded one every index of at
/// least 0 is.
bool indexInBounds(const Shape &shape, llvm::ArrayRef<int64_t> index);

/// *invalid* unless `index` has an entry for each of the sizes, each in
/// [0, size).
llvm::Error checkIndex(llvm::ArrayRef<int64_t> index,
                       llvm::ArrayRef<int64_t> dimensions);

/// Counts `index` up in row-major order, the last dimension fastest: in
/// f32[2,3] (0,2) becomes (1,0). False, and all zeros, behind the last index;
/// so for a scalar and for an index that is not in bounds.
bool bumpIndices(const Shape &shape, llvm::MutableArrayRef<int64_t> index);

/// -1, 0 or 1 as `lhs` comes before, is, or comes behind `rhs` in lexicographic
/// order. (XLA's CompareIndices has the opposite sign.)
int compareIndices(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs);

/// Calls `function` for every index in row-major order until it returns false;
/// returns whether it never did. An empty array has no index, a scalar one.
/// An error for shapes other than arrays and for unbounded dimensions.
llvm::Expected<bool>
forEachIndex(const Shape &shape,
             llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> function);

} // namespace index_util
} // namespace tessera

#endif // TESSERA_LAYOUT_INDEXUTIL_H
