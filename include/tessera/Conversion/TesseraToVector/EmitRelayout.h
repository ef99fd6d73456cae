//===- EmitRelayout.h - Code for a relayout plan ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOVECTOR_EMITRELAYOUT_H
#define TESSERA_CONVERSION_TESSERATOVECTOR_EMITRELAYOUT_H

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "mlir/IR/Builders.h"

namespace tessera {

/// Emits a relayout at the builder's insertion point, as `affine`, `scf`,
/// `vector` and `memref` operations: the first of `versions`, as planVersions
/// has them, that the destination is aligned for when the code runs.
///
/// `source` and `destination` are flat memrefs, `memref<NxT>`, of all elements
/// of the buffers, which may begin anywhere; T is an integer or float type of
/// the plans' width. `padding` is the value of type T for Fill nests; null when
/// there are none.
///
/// Code that needs more memory than the stack has for it asks the heap; where
/// that has none, what `emitPlain` emits moves everything, without buffers.
void emitRelayout(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value source, mlir::Value destination,
                  llvm::ArrayRef<RelayoutVersion> versions,
                  mlir::TypedAttr padding,
                  llvm::function_ref<void(mlir::OpBuilder &)> emitPlain);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOVECTOR_EMITRELAYOUT_H
