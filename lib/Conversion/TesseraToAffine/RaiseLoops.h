//===- RaiseLoops.h - Loops around accesses as affine.for -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOAFFINE_RAISELOOPS_H
#define TESSERA_LIB_CONVERSION_TESSERATOAFFINE_RAISELOOPS_H

#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Makes affine.for of those of the operations, innermost first, that are an
/// scf.for with constant bounds, which carries no memref, or an affine.parallel
/// without reductions.
void raiseLoops(mlir::RewriterBase &rewriter,
                llvm::ArrayRef<mlir::Operation *> loops);

/// Makes the loops below `root` parallel again that raiseLoops made of an
/// affine.parallel, and those that they were split into.
void makeParallel(mlir::Operation *root);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOAFFINE_RAISELOOPS_H
