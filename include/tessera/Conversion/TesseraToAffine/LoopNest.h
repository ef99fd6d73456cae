//===- LoopNest.h - Loops over elements and padding -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A LoopNest describes loops that visit every element of an array, or every
// position of its padding, such that the axes of its layouts are indexed by
// sums of loop variables times constants, without floordiv and mod.
//
// For that, each logical dimension is split at the divisors of all layouts that
// take part, and a loop runs over each piece:
//
//   f32[20]{0} to f32[20]{0:T(8)}, split at 8:
//     for a = 0 to 2  for b = 0 to 8    src[a * 8 + b], dst[a, b]
//     for b = 0 to 4                    src[16 + b],    dst[2, b]
//
// 20 is no multiple of 8, so that there are two nests, the second of which is
// the remainder. Where many dimensions have remainders, their combinations
// would be too many nests (LoopNestOptions::maxNests). Some dimensions are then
// left whole, and the bounds of their inner loops depend on the outer ones:
//
//     for a = 0 to 3  for b = 0 to min(8, 20 - a * 8)
//
// Bounds of this form are also used where a size is dynamic. Where the divisors
// form no chain (T(3) on one side and T(2) on the other), floordiv and mod
// remain in the indices.
//
// Padding is visited by nests over the axes of the destination. For T(8) above,
// the positions 20 to 23 are padding:
//
//     for b = 4 to 8                    dst[2, b]
//
// A LoopNest holds affine maps and no operations, so that nests can be checked,
// costed and built separately. BuildRelayout.h builds them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_LOOPNEST_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_LOOPNEST_H

#include "tessera/Layout/AxisList.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"

namespace tessera {

/// `for v = max(lower) to min(upper)`. Dimensions of the maps are the loops
/// outside this one, symbols the sizes that are not known.
struct NestLoop {
  mlir::AffineMap lower;
  mlir::AffineMap upper;
};

/// The part of a variable that one loop, or a constant, stands for.
struct NestPiece {
  int64_t divisor = 1;    ///< The variable is the sum of divisor * value.
  mlir::AffineExpr value; ///< A loop variable or a constant.
};

/// A perfect nest of loops. Its *variables* are what index expressions are
/// written over: the logical dimensions where it visits elements, the axes
/// where it visits positions.
struct LoopNest {
  mlir::MLIRContext *context = nullptr;
  /// Outermost first.
  llvm::SmallVector<NestLoop> loops;
  /// For each variable its pieces, by increasing divisor.
  llvm::SmallVector<llvm::SmallVector<NestPiece, 4>, 6> variables;
  /// Symbols of every map: one for each unknown logical size, in order.
  unsigned numSymbols = 0;
  /// When set, only points *outside* this set (over loops and sizes) are meant.
  std::optional<mlir::IntegerSet> exclude;

  /// `expr`, over the variables, as an expression of loop variables. Free of
  /// floordiv and mod where the variables are split at its digits.
  mlir::AffineExpr expand(const IndexExpr &expr) const;

  /// The index along each axis of `list`. Variables are dimensions.
  mlir::AffineMap getAxisMap(const AxisList &list) const;

  /// The variables themselves.
  mlir::AffineMap getVariableMap() const;

  /// `results` as a map over the loops and sizes.
  mlir::AffineMap getMap(llvm::ArrayRef<mlir::AffineExpr> results) const;
};

struct LoopNestOptions {
  /// Main and remainder nests that may be made; beyond it, dimensions get
  /// loops whose bounds depend on the loops outside.
  unsigned maxNests = 16;
  /// Threads for which a loop of every nest that writes at least
  /// `parallelBytes` becomes parallel.
  int64_t threads = 1;
  int64_t parallelBytes = 2 << 20;
};

/// Nests that together visit every element of an array of `sizes` (kDynamic
/// where unknown) once. Dimensions are split so that `indices`, over
/// dimensions, expand to sums where that is possible. Loops are in the order of
/// the axes of `target`, most major first.
std::vector<LoopNest> getElementNests(mlir::MLIRContext *context,
                                      llvm::ArrayRef<int64_t> sizes,
                                      llvm::ArrayRef<IndexExpr> indices,
                                      const AxisList &target,
                                      LoopNestOptions options = {});

/// Nests that together visit every position of `list` that holds no element
/// once; `sizes` as above. What L adds is not visited: it is no position of the
/// axes.
std::vector<LoopNest> getPaddingNests(mlir::MLIRContext *context,
                                      llvm::ArrayRef<int64_t> sizes,
                                      const AxisList &list,
                                      LoopNestOptions options = {});

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_LOOPNEST_H
