//===- Separate.h - Whether memrefs share memory ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOAFFINE_SEPARATE_H
#define TESSERA_LIB_CONVERSION_TESSERATOAFFINE_SEPARATE_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tessera {

/// Whether memrefs that are written share no memory with others that the loop
/// accesses.
bool areSeparate(mlir::affine::AffineForOp loop);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOAFFINE_SEPARATE_H
