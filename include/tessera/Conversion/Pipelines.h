//===- Pipelines.h - Chains of passes ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PIPELINES_H
#define TESSERA_CONVERSION_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace tessera {

struct AffineToLLVMOptions {
  /// Memrefs of static shape are passed to functions as bare pointers.
  bool useBarePointers = false;
};

/// From affine, memref, arith, scf and func to the LLVM dialect; memory spaces
/// must be integers.
void buildAffineToLLVMPipeline(mlir::OpPassManager &manager,
                               const AffineToLLVMOptions &options = {});

} // namespace tessera

#endif // TESSERA_CONVERSION_PIPELINES_H
