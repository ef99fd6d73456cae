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

/// Emits the nests of `plan` at the builder's insertion point, as `affine`,
/// `vector` and `memref` operations.
///
/// `source` and `destination` are flat memrefs, `memref<NxT>`, of all elements
/// of the buffers; T is an integer or float type of the plan's width. The
/// destination must be aligned to a line (RelayoutTarget::kLineBytes) where the
/// plan streams; else any alignment will do.
/// `padding` is the value of type T for Fill nests; null when there are none.
/// Streaming stores are followed by the fence that x86 needs.
void emitRelayout(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value source, mlir::Value destination,
                  const RelayoutPlan &plan, const RelayoutTarget &target,
                  mlir::TypedAttr padding);

/// Plans the copy of all elements from `src` to `dst` and emits it. Where the
/// plan needs a destination that is aligned to a line, a test at run time falls
/// back to a plan that does not. Memrefs and padding as above; those of
/// elements of less than a byte, by `bits`, are memrefs of bytes.
///
/// Errors: as of planRelayout; nothing has been emitted then.
llvm::Error buildVectorRelayout(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value source, mlir::Value destination,
                                const PlanSide &src, const PlanSide &dst,
                                ElementBits bits, mlir::TypedAttr padding,
                                const RelayoutTarget &target);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOVECTOR_EMITRELAYOUT_H
