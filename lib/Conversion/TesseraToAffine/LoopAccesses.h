//===- LoopAccesses.h - What affine loops read and write --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOAFFINE_LOOPACCESSES_H
#define TESSERA_LIB_CONVERSION_TESSERATOAFFINE_LOOPACCESSES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

#include <optional>

namespace tessera {

/// Whether memrefs that are written share no memory with others that the loop
/// accesses. Arguments of a public function may share theirs,
/// unless they are `llvm.noalias`.
bool areSeparate(mlir::affine::AffineForOp loop);

/// How far a step of a loop moves in the memory of an access, in elements;
/// nothing where that is no constant.
std::optional<int64_t> getStep(mlir::MemRefType type, mlir::AffineMap map,
                               mlir::ValueRange operands,
                               mlir::affine::AffineForOp loop);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOAFFINE_LOOPACCESSES_H
