//===- InPlace.h - Results written over operands ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_INPLACE_H
#define TESSERA_LIB_REPORT_INPLACE_H

#include "tessera/HLO/Leaves.h"

namespace tessera {

/// A leaf of the operands, and the leaf of the result that may be written over
/// it.
struct InPlacePair {
  size_t operand = 0;
  size_t result = 0;
};

/// Tells which results of instructions may be written over operands, provided
/// that the operand is dead afterwards: what the compiler wrote down, and
/// where it wrote nothing, what follows from the opcodes. docs/report.md has
/// the rules.
class InPlaceWrites {
public:
  explicit InPlaceWrites(LeafCounter &leaves) : leaves(leaves) {}

  std::vector<InPlacePair> get(const hlo::Instruction &instruction);

private:
  std::vector<InPlacePair> getWritten(const hlo::Instruction &instruction,
                                      llvm::StringRef config);
  const std::vector<InPlacePair> &getOfFusion(const hlo::Computation &body);

  LeafCounter &leaves;
  llvm::DenseMap<const hlo::Computation *,
                 std::unique_ptr<std::vector<InPlacePair>>>
      fusions;
};

} // namespace tessera

#endif // TESSERA_LIB_REPORT_INPLACE_H
