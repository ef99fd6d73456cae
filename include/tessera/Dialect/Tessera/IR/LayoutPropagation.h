//===- LayoutPropagation.h - How layouts pass through -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_H
#define TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"

namespace tessera {

/// Values that have one encoding because of an operation.
struct LayoutTie {
  /// Operands of the operation, or of terminators of its regions.
  llvm::SmallVector<mlir::OpOperand *, 4> uses;
  /// Results of the operation, or arguments of its regions.
  llvm::SmallVector<mlir::Value, 2> definitions;
};

/// The ties of an operation: those of its model, or of its tensors where it is
/// elementwise. Only ranked tensors are in them.
llvm::SmallVector<LayoutTie> getLayoutTies(mlir::Operation *op);

/// Models for operations of `arith`, `linalg`, `scf` and `tensor`.
void registerLayoutPropagationExternalModels(mlir::DialectRegistry &registry);

} // namespace tessera

#include "tessera/Dialect/Tessera/IR/LayoutPropagation.h.inc"

#endif // TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_H
