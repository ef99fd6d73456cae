//===- Explain.h - A shape in words -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_VIEW_EXPLAIN_H
#define TESSERA_VIEW_EXPLAIN_H

#include "tessera/HLO/Module.h"
#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Target.h"

namespace tessera {

struct ExplainOptions {
  /// Add the axes, and the address of one element step by step.
  bool verbose = false;
  /// Whose names memory spaces have; null where it is not known.
  const Target *target = nullptr;
};

/// Prints what each field of the notation means for this shape: the field, as
/// it is written, and its meaning with this shape's numbers, a line each; then
/// how large the array is, and what another order would take. A tuple is a line
/// for each leaf. Errors: overflow of sizes.
llvm::Error explainShape(const Shape &shape, llvm::raw_ostream &os,
                         ExplainOptions options = {});

/// Prints what the parts of an instruction are, with the names that XLA's
/// documentation gives them, and what its attributes say; then explains each
/// layout of its result and arguments. `line` comes from hlo::parseLine.
/// Errors: overflow of sizes.
llvm::Error explainLine(const hlo::Module &line, llvm::raw_ostream &os,
                        ExplainOptions options = {});

/// Prints what each field of a layout means, without an array.
void explainLayout(const Layout &layout, llvm::raw_ostream &os,
                   ExplainOptions options = {});

/// Explains a text that somebody has in the hand: a shape, a line of HLO, a
/// layout alone, a tensor, memref or vector type of MLIR with
/// `#tessera.layout<...>`, or a message that has shapes and types in it, each
/// of which is explained. Errors: those of the text, each with its position.
llvm::Error explainText(llvm::StringRef text, llvm::raw_ostream &os,
                        ExplainOptions options = {});

/// `; d1 grows from 200 to 256` for the dimensions that padding widens; empty
/// where there are none, or where no other array has the same memory.
std::string describeGrowth(const Shape &shape);

/// The name of a memory space, `fast on-chip memory, VMEM on TPUs` of 1;
/// docs/targets.md has the sources.
llvm::StringRef getMemorySpaceName(int64_t space);

} // namespace tessera

#endif // TESSERA_VIEW_EXPLAIN_H
