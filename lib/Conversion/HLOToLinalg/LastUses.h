//===- LastUses.h - Arrays that may be overwritten --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which arrays of HLO nothing reads any more. An instruction that reads an
// array for the last time can have its result in the same memory:
//
//   p = (f32[8], s32[]) parameter(0)      the state of a loop
//   x = f32[8] get-tuple-element(p)       the array that is in p
//   y = f32[8] negate(x)                  the last to use it: overwrites it
//   ROOT t = (f32[8], s32[]) tuple(y, i)
//
// The answers say where that pays. They need not be right: bufferization
// copies what is read afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_HLOTOLINALG_LASTUSES_H
#define TESSERA_LIB_CONVERSION_HLOTOLINALG_LASTUSES_H

#include "tessera/Conversion/HLOToLinalg.h"

namespace tessera::hlo {

/// Of all functions of a module, before they are converted.
class LastUses {
public:
  explicit LastUses(mlir::ModuleOp module);

  /// Whether the memory of an array is free for others after all uses for which
  /// `isLater` does not hold. That of a constant never is, nor that of a
  /// caller that uses it still, or that is not known.
  bool
  mayOverwrite(mlir::Value array,
               llvm::function_ref<bool(mlir::OpOperand &use)> isLater) const;

  /// Whether the body of a loop hands array `number` of its state on as it is.
  bool isInvariant(mlir::func::FuncOp body, unsigned number) const;

private:
  /// One of the arrays that a value consists of, by number.
  using Leaf = std::pair<mlir::Value, unsigned>;

  /// The instruction that calls a function, and the operand that is the first
  /// argument.
  struct Caller {
    InstructionOp op;
    unsigned firstOperand;
  };

  static mlir::RankedTensorType getType(Leaf leaf);
  void visitFunction(mlir::func::FuncOp function);
  void visit(InstructionOp op);
  void shareLeaves(mlir::Value result, llvm::ArrayRef<Leaf> leaves);
  void addCallers(InstructionOp op);
  Leaf getOrigin(Leaf leaf) const;
  bool mayOverwrite(Leaf leaf,
                    llvm::function_ref<bool(mlir::OpOperand &use)> isLater,
                    unsigned depth) const;
  bool isCallersLast(mlir::BlockArgument argument, unsigned number,
                     unsigned depth) const;

  mlir::SymbolTable symbols;
  /// Of what has no memory of its own, the array whose it is.
  llvm::DenseMap<Leaf, Leaf> sources;
  llvm::DenseMap<Leaf, llvm::SmallVector<mlir::OpOperand *, 2>> uses;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Caller, 1>> callers;
  /// Bodies of loops: their arguments are the state, which they replace.
  llvm::DenseSet<mlir::Operation *> bodies;
};

} // namespace tessera::hlo

#endif // TESSERA_LIB_CONVERSION_HLOTOLINALG_LASTUSES_H
