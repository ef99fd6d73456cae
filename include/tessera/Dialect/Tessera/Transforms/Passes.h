//===- Passes.h - Passes that keep the tessera dialect ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_H
#define TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"

/// The patterns of tessera-expand-ops.
void populateExpandOpsPatterns(mlir::RewritePatternSet &patterns);

/// Those of them for slices and reshapes of the tensor dialect.
void populateExpandSlicesPatterns(mlir::RewritePatternSet &patterns);

/// Whether the operation applies to tensors element by element, and has no
/// buffers: arith, math, complex.
bool isElementwiseOnTensors(mlir::Operation *op);

/// Makes a linalg.generic of such an operation, whatever the layouts are. No
/// pattern: upstream's folds of these operations forget layouts.
void expandElementwise(mlir::RewriterBase &rewriter, mlir::Operation *op);

/// Whether `op` is a slice or a reshape of the tensor dialect with a tensor
/// that has a layout.
bool isExpandableTensorOp(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_H
