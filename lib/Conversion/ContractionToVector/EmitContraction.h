//===- EmitContraction.h - Code for the plan of a contraction ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code has these loops, outermost first:
//
//   dimensions that no block has
//   blocks of the sum
//     blocks of rows, copied first where elements are converted
//       columns, as many as a block of registers has
//         rows, as many as it has
//           load the block of the result
//           digits of the sum: one index, or group of them, after the other
//           store it
//
// What is left of a dimension behind its last whole block has a block of its
// own. Neither the padding of an array nor what lies behind it is read or
// written: the last register of a row is masked.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_CONTRACTIONTOVECTOR_EMITCONTRACTION_H
#define TESSERA_LIB_CONVERSION_CONTRACTIONTOVECTOR_EMITCONTRACTION_H

#include "tessera/Conversion/ContractionToVector/ContractionPlan.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

/// What is done with two elements and a sum.
struct ContractionBody {
  /// Conversions of each factor, in order, of one operand each.
  llvm::SmallVector<mlir::Operation *, 1> casts[2];
  mlir::Operation *multiply = nullptr, *add = nullptr;

  mlir::Type sumType() const { return add->getResult(0).getType(); }
};

/// Emits a contraction of flat views of lhs, rhs and result, before the factors
/// are swapped.
void emitContraction(mlir::OpBuilder &builder, mlir::Location loc,
                     const ContractionPlan &plan, const ContractionBody &body,
                     llvm::ArrayRef<mlir::Value> arrays);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_CONTRACTIONTOVECTOR_EMITCONTRACTION_H
