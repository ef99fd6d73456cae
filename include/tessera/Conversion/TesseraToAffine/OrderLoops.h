//===- OrderLoops.h - Loops in the order of memory --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops over the elements of bf16[16,256]{1,0:T(8,128)(2,1)}, split at the
// sizes of tiles, are one over rows of tiles, two over a row of a tile, and two
// over columns. In memory, a pair of rows is more minor than columns are:
//
//   for row tiles, row pairs, rows of a pair, column tiles, columns
//   for row tiles, column tiles, row pairs, columns, rows of a pair
//
// The second order writes one element behind the other.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_ORDERLOOPS_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_ORDERLOOPS_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Marks affine loops whose iterations may run in any order, with those of
/// marked loops around them.
inline constexpr llvm::StringLiteral kHasAnyOrder = "tessera_has_any_order";

/// Puts nests of loops with the mark into the order of the memory that they
/// write, and drops the mark; returns how many were in another one.
int64_t orderLoops(mlir::Operation *root);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_ORDERLOOPS_H
