//===- LayoutPropagation.h - How layouts pass through -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_H
#define TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_H

#include "tessera/Assign/Relation.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"

namespace tessera {

/// Values that have one encoding because of an operation. Ties that share a
/// value or a use are one.
struct LayoutTie {
  LayoutTie() = default;
  LayoutTie(llvm::ArrayRef<mlir::OpOperand *> uses,
            llvm::ArrayRef<mlir::Value> definitions = {},
            llvm::ArrayRef<mlir::Value> touched = {})
      : uses(uses), definitions(definitions), touched(touched) {}

  /// Operands, of any operation.
  llvm::SmallVector<mlir::OpOperand *, 4> uses;
  /// Results, or arguments of blocks.
  llvm::SmallVector<mlir::Value, 2> definitions;
  /// What the operation reads or writes as a whole: padding of it is traffic.
  llvm::SmallVector<mlir::Value, 2> touched;
  /// Whether the types stay.
  bool isPinned = false;
};

/// What the layout of an operand that an operation reads, and the one of a
/// result that it makes of it, have to do with each other. A layout of one
/// induces layouts of the other, which are candidates.
struct LayoutRelation {
  /// What is where the relation does not hold, and where it does.
  enum class Traffic : uint8_t {
    None,   ///< The operation takes any two layouts: the relation is a hint.
    Moved,  ///< Where it does not hold, all bytes of both are read and written.
    Always, ///< They are read and written anyway.
    Fixed,  ///< It must hold.
  };
  LayoutRelation(mlir::OpOperand &use, mlir::Value result, Relation relation,
                 Traffic traffic = Traffic::None)
      : use(&use), result(result), relation(std::move(relation)),
        traffic(traffic) {}

  mlir::OpOperand *use;
  mlir::Value result;
  Relation relation;
  Traffic traffic;
};

/// The ties of an operation: those of its model, else those that are known of
/// structured, branching and elementwise operations. Only ranked tensors are in
/// them.
llvm::SmallVector<LayoutTie> getLayoutTies(mlir::Operation *op);

/// The relations of an operation: those of its model, or of a structured one.
std::vector<LayoutRelation> getLayoutRelations(mlir::Operation *op);

/// The shape of a tensor in XLA's notation, with `unknownSize` for each size
/// that is dynamic. Nothing where it has none, or no size in bytes.
std::optional<Shape> getSizedShape(mlir::RankedTensorType type,
                                   int64_t unknownSize = 1);

/// Models for operations of `arith`, `tensor` and `tessera`.
void registerLayoutPropagationExternalModels(mlir::DialectRegistry &registry);

} // namespace tessera

#include "tessera/Dialect/Tessera/IR/LayoutPropagation.h.inc"

#endif // TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_H
