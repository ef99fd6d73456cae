//===- OpUtils.h - What the operations' verifiers share ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DIALECT_TESSERA_IR_OPUTILS_H
#define TESSERA_LIB_DIALECT_TESSERA_IR_OPUTILS_H

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/IR/Operation.h"

namespace tessera::detail {

/// A diagnostic on `op`, with a note at the producer of each operand that has
/// one, for clashes between types.
mlir::InFlightDiagnostic emitClash(mlir::Operation *op,
                                   const llvm::Twine &message);
mlir::LogicalResult emitClash(mlir::Operation *op, llvm::Error error);

/// Dimensions as in types, `4x?x8`; `none` for a scalar.
std::string toText(llvm::ArrayRef<int64_t> dimensions);

/// The rules of an operation that keeps the logical array: equal dimensions and
/// element types, whose labels are given, and layouts that suit them.
mlir::LogicalResult verifySameArray(mlir::Operation *op,
                                    mlir::ShapedType source,
                                    mlir::ShapedType target,
                                    llvm::StringRef dimensionsRule,
                                    llvm::StringRef elementTypeRule);

/// The rules of tessera.bitcast and of views by it, whose labels begin with
/// `rules`: equally many dynamic dimensions (c3), one memory space (c2) unless
/// `ignoreSpace`, and the same bytes (c1). `what` names the operation.
mlir::LogicalResult verifySameBytes(mlir::Operation *op, mlir::ShapedType from,
                                    mlir::ShapedType to, bool ignoreSpace,
                                    llvm::StringRef rules,
                                    llvm::StringRef what);

/// The rule of operations with a tensor and a memref form (`into`), which have
/// a result or a destination.
mlir::LogicalResult verifyForm(mlir::Operation *op, mlir::Value source,
                               mlir::Value destination, mlir::Value result,
                               llvm::StringRef rule);

/// Whether both are in one memory space.
bool haveSameSpace(mlir::ShapedType lhs, mlir::ShapedType rhs);

/// Whether an operation from `from` over `via` to `to` may skip `via`: not when
/// its memory space is a third one, since then the array is meant to pass
/// through it.
bool mayMerge(mlir::ShapedType from, mlir::ShapedType via, mlir::ShapedType to);

} // namespace tessera::detail

#endif // TESSERA_LIB_DIALECT_TESSERA_IR_OPUTILS_H
