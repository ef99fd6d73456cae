//===- Evaluate.h - The terms of a module -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DATAFLOW_EVALUATE_H
#define TESSERA_LIB_DATAFLOW_EVALUATE_H

#include "Terms.h"

namespace tessera {

/// A value: the terms of its leaves, and the number of how exactly it was made,
/// layouts included. Only that says what its padding holds.
struct TermValue {
  llvm::SmallVector<Term, 2> leaves;
  unsigned exact = 0;
};

/// A computation that stands alone: the node of its results, and whether it
/// does more than give them.
struct TermFunction {
  unsigned node = 0;
  unsigned exact = 0;
  bool hasEffects = false;
};

/// Numbers for texts, the same for all modules.
using ExactTable = llvm::StringMap<unsigned>;

/// The function of the entry of `module`; nothing where calls within calls
/// would take more instructions than can be gone through. Fusions and calls are
/// followed; copies, bitcasts, transposes, reshapes, slices, reversals and
/// broadcasts are maps where they can be.
std::optional<TermFunction> evaluateModule(const hlo::Module &module,
                                           unsigned side, TermTable &terms,
                                           ExactTable &exact);

} // namespace tessera

#endif // TESSERA_LIB_DATAFLOW_EVALUATE_H
