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

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_H
