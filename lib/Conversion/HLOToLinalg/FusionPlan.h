//===- FusionPlan.h - Instructions that have no array -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which instructions of a function are emitted in the loop nests of those that
// use them. An instruction that is not, its nest, and all that is emitted there
// is one array and one nest.
//
// A nest consists of groups. In a group, all elements are those at one index;
// they are emitted one after the other, each once, however often it is used:
//
//   a = exponential(p)         one group: r reads a and b where it is
//   b = multiply(a, a)         computed, b reads a so
//   r = add(a, b)
//
// What is read at another index is the head of a group of its own, and is
// emitted at that index where it is read, so only one instruction may read it:
//
//   a = exponential(p)         group of t: t, a
//   t = transpose(a)
//   r = add(t, q)              group of r: r; reads t at the same index, too
//   s = reduce(r)              group of s: s; reads r in its loop
//
// Nothing is computed twice but what costs no more than reading an array:
// broadcasts, numbers of elements, and constants.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_HLOTOLINALG_FUSIONPLAN_H
#define TESSERA_LIB_CONVERSION_HLOTOLINALG_FUSIONPLAN_H

#include "LastUses.h"

#include "tessera/Conversion/HLOToLinalg.h"

namespace tessera::hlo {

class FusionPlan {
public:
  FusionPlan() = default;
  FusionPlan(mlir::func::FuncOp function,
             const InstructionConversions &conversions);

  /// Whether the operation has no array.
  bool isFused(mlir::Operation *op) const { return fused.contains(op); }

  /// Whether the elements of its one result can be emitted one by one.
  bool hasElements(mlir::Operation *op) const;

  /// Whether it gives one number, which is a value of its own.
  bool isNumber(mlir::Operation *op) const;

  /// Whether anything uses the result otherwise than by its elements.
  bool needsArray(mlir::Operation *op) const;

  /// Whether the operation, which is no instruction, is a nest of its own,
  /// because its operand has no array.
  bool readsElements(mlir::Operation *op) const;

  /// The operand of the nest, if there is one, that its result can be written
  /// over: read at the index of the result alone, and nowhere later.
  mlir::Value getOverwritten(mlir::Operation *root,
                             const LastUses &lastUses) const;

  /// What is emitted in front of the operation, at the same index, in order.
  llvm::ArrayRef<mlir::Operation *> getMembers(mlir::Operation *head) const;

private:
  struct Nest {
    mlir::Operation *root; ///< The one that has the array.
    int64_t depth;         ///< Of groups in groups.
  };

  void visit(mlir::Operation *op);
  bool enterNest(mlir::Operation *op, const Nest &nest);
  Nest &getNest(mlir::Operation *head);
  Reads getReads(mlir::OpOperand &use) const;
  mlir::Operation *getHead(mlir::Operation *op) const;
  mlir::Operation *getRoot(mlir::Operation *op) const;
  bool isFree(mlir::Operation *op) const;

  const InstructionConversions *conversions = nullptr;
  llvm::DenseSet<mlir::Operation *> fused;
  /// Of what is emitted with another operation, that operation.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> heads;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>>
      members;
  llvm::DenseMap<mlir::Operation *, Nest> nests;
  llvm::DenseMap<mlir::Operation *, int64_t> sizes;
};

/// The name by which the conversion of an instruction is found.
std::string getConversionName(InstructionOp op);

/// Puts the bodies of computations that fusions call in the place of fusions
/// that stand in such computations.
void inlineNestedFusions(mlir::ModuleOp module);

/// The indices in the operand of a bitcast, as functions of those in its
/// result; null where it is no rearrangement of elements.
mlir::AffineMap getBitcastIndexMap(mlir::RankedTensorType from,
                                   mlir::RankedTensorType to);

/// The same for a reshape.
mlir::AffineMap getReshapeIndexMap(mlir::RankedTensorType from,
                                   mlir::RankedTensorType to);

} // namespace tessera::hlo

#endif // TESSERA_LIB_CONVERSION_HLOTOLINALG_FUSIONPLAN_H
