//===- SplitLoops.h - Splitting loops at tile sizes -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strip-mines affine loops so that an index into a tiled dimension becomes a
// sum of loop variables with known ranges, `8 * a + b`, from which
// simplifyWithRanges reads the digits.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_SPLITLOOPS_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_SPLITLOOPS_H

#include "tessera/Conversion/TesseraToAffine/AffineRanges.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// The values that an affine operand takes where it is the induction variable
/// of an affine.for or affine.parallel with constant bounds (one constant among
/// the operands of a min or max is enough), or a constant; else nothing.
std::optional<IntegerRange> getOperandRange(mlir::Value operand);

/// The same for each of `operands`.
llvm::SmallVector<std::optional<IntegerRange>>
getOperandRanges(mlir::ValueRange operands);

/// Whether splitLoops takes the loop: a constant lower bound of 0 and step 1.
/// (mlir::affine::normalizeAffineFor gives other loops this form.)
bool canSplit(mlir::affine::AffineForOp loop);

/// Replaces `loop` by a nest with a loop for each piece between neighbouring
/// `divisors`, which must be increasing, above 1, and each divide the next. The
/// order of iterations is kept; the innermost loops run short in the last
/// block where a divisor does not divide the trip count. Loop-carried values
/// are carried through. The old induction variable becomes an affine.apply of
/// the new ones.
void splitLoop(mlir::RewriterBase &rewriter, mlir::affine::AffineForOp loop,
               llvm::ArrayRef<int64_t> divisors);

/// Lets `loop` begin each reduction that a loop around it goes on with by the
/// neutral element, and adds the result to what the loop around it carries: so
/// one step of that does not wait for the one before. Only for operations that
/// may be regrouped: of floating-point numbers, minima, maxima, and sums and
/// products with `reassoc`.
void detachReductions(mlir::RewriterBase &rewriter,
                      mlir::affine::AffineForOp loop);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_SPLITLOOPS_H
