//===- Prove.h - Whether two modules compute the same -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the data flow of two dumps of one module. Operations are functions
// that are not looked into; copies, bitcasts, transposes, reshapes, slices,
// reversals, broadcasts and layouts are looked through, byte by byte.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DATAFLOW_PROVE_H
#define TESSERA_DATAFLOW_PROVE_H

#include "tessera/HLO/Module.h"
#include "tessera/Layout/Bitcast.h"

namespace tessera {

struct FlowAnswer {
  /// Yes: every result is the same function of the same elements. No: some
  /// result is not. Unknown: where the two differ, there is a move of data that
  /// could not be looked through.
  Answer answer = Answer::Unknown;
  /// What differs; for Yes empty. One sentence.
  std::string reason;
  /// Of No and Unknown, where it is known: the instructions that differ.
  const hlo::Instruction *before = nullptr;
  const hlo::Instruction *after = nullptr;
  /// Of No, where elements come from other positions: the element of the
  /// instruction, and where it is read from in both. Numbers are row-major.
  struct Witness {
    int64_t element = 0;
    int64_t positions[2] = {0, 0};
  };
  std::optional<Witness> witness;
  /// Of Yes: constants of the first module whose elements neither text has, and
  /// that are taken to be those of the same name in the second.
  std::vector<const hlo::Instruction *> assumedEqual;
};

/// Whether two verified modules compute the same data flow.
FlowAnswer proveSameFlow(const hlo::Module &before, const hlo::Module &after);

} // namespace tessera

#endif // TESSERA_DATAFLOW_PROVE_H
