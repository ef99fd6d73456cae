//===- Transforms.h - Parts of passes ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_TRANSFORMS_TRANSFORMS_H
#define TESSERA_DIALECT_TESSERA_TRANSFORMS_TRANSFORMS_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Canonicalizes those of the operations that are an `scf.for` and carry
/// memrefs: one that is the same in all iterations is carried no more.
void dropCarriedMemRefs(llvm::ArrayRef<mlir::Operation *> loops);

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_TRANSFORMS_TRANSFORMS_H
