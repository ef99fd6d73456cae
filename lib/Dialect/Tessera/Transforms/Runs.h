//===- Runs.h - How often operations run ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_RUNS_H
#define TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_RUNS_H

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera {

/// Who calls which function below an operation.
class KnownCalls {
public:
  explicit KnownCalls(mlir::Operation *root);

  /// The function that a call calls, where nothing else can.
  mlir::FunctionOpInterface getCallee(mlir::CallOpInterface call) const {
    return callees.lookup(call);
  }
  /// All calls of a private function that is not used otherwise; none of
  /// others.
  llvm::ArrayRef<mlir::CallOpInterface>
  getCallers(mlir::FunctionOpInterface function) const;

private:
  llvm::DenseMap<mlir::Operation *, mlir::FunctionOpInterface> callees;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::CallOpInterface>>
      callers;
};

/// How often operations run each time the root does: as loops and calls around
/// them do. Both sides of a branch run.
class Runs {
public:
  Runs(mlir::Operation *root, int64_t unknownTrips)
      : calls(root), root(root), unknownTrips(unknownTrips) {}

  /// At most the largest number below the one that is no cost.
  int64_t get(mlir::Operation *op);
  int64_t get(mlir::Block *block);

  const KnownCalls calls;

private:
  int64_t getOfBlock(mlir::Block *block);
  int64_t getOfFunction(mlir::FunctionOpInterface function);

  mlir::Operation *root;
  int64_t unknownTrips;
  /// How often a block runs each time its region does, where that has several.
  llvm::DenseMap<mlir::Block *, int64_t> inRegion;
  llvm::DenseMap<mlir::Region *, bool> knownRegions;
  llvm::DenseMap<mlir::Operation *, int64_t> ofFunctions;
};

/// Products and sums of costs: at most the largest number below the one that is
/// no cost, of which the solver says that it is too much.
int64_t multiplyCosts(int64_t lhs, int64_t rhs);
int64_t sumCosts(int64_t lhs, int64_t rhs);

} // namespace tessera

#endif // TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_RUNS_H
