//===- LayOutElements.h - Constants laid out --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contents of a buffer whose elements are known: a constant global of a
// laid-out memref as one of its physical memref.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_LAYOUTELEMENTS_H
#define TESSERA_DIALECT_TESSERA_IR_LAYOUTELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tessera {

/// Whether layOutElements can write down the buffer of a memref of `type` that
/// holds `value`: the elements are dense, and the buffer has at most 2^24
/// positions, or holds the same everywhere.
bool canLayOutElements(mlir::MemRefType type, mlir::Attribute value);

/// What the physical memref of `type` holds when `elements`, in row-major
/// order, are the logical elements. All padding holds the promised value, or 0.
mlir::DenseElementsAttr layOutElements(mlir::MemRefType type,
                                       mlir::DenseElementsAttr elements);

/// The integer or float of `type` that has `bits`.
mlir::TypedAttr getScalarAttr(mlir::Type type, const llvm::APInt &bits);

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_IR_LAYOUTELEMENTS_H
