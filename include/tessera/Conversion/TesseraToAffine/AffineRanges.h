//===- AffineRanges.h - Affine expressions of bounded values ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resolves `floordiv` and `mod` by constants where the ranges of the operands
// decide them: `(8 * a + b) floordiv 8` is `a` when 0 <= b < 8. Upstream's
// simplification knows divisibility only.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_AFFINERANGES_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_AFFINERANGES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

#include <optional>

namespace tessera {

/// The values from `min` to `max`, both included.
struct IntegerRange {
  int64_t min;
  int64_t max;
};

/// Known ranges of the dimensions and symbols of an affine map, dimensions
/// first; nothing where a value is not bounded.
using OperandRanges = llvm::ArrayRef<std::optional<IntegerRange>>;

/// The range of `expr`, or nothing when it is unbounded, not linear over its
/// floordivs and mods by constants, or beyond int64.
std::optional<IntegerRange> getRange(mlir::AffineExpr expr, unsigned numDims,
                                     OperandRanges ranges);

/// `expr` with every floordiv, ceildiv and mod by a positive constant resolved
/// or reduced as far as the ranges tell, and remainders separate (see
/// separateRemainders). Equal to `expr` on all operands within their ranges;
/// semi-affine parts stay as they are.
mlir::AffineExpr simplifyWithRanges(mlir::AffineExpr expr, unsigned numDims,
                                    OperandRanges ranges);

/// The same for each result of `map`.
mlir::AffineMap simplifyWithRanges(mlir::AffineMap map, OperandRanges ranges);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_AFFINERANGES_H
