//===- Model.h - Values of a module and what joins them ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_ASSIGNHLO_MODEL_H
#define TESSERA_LIB_ASSIGNHLO_MODEL_H

#include "Relation.h"

#include "tessera/HLO/Leaves.h"

namespace tessera {

/// What an instruction reads and writes when it runs: the leaves of all
/// operands, or none, and a part of its result.
struct Traffic {
  bool reads = false;
  LeafRange written;
};
Traffic getTraffic(const hlo::Instruction &instruction, LeafCounter &leaves);

/// An array whose layout is to be chosen.
struct ModelValue {
  const hlo::Instruction *instruction = nullptr;
  size_t leaf = 0;
  /// In the module, with a layout.
  Shape own;
  int64_t runs = 1;
  /// How many instructions write it. What is inside a fusion is never in
  /// memory.
  int64_t writes = 0;
  bool isInMemory = false;
  bool isPinned = false;
};

/// A use of a value: by what makes another one, or where a layout is fixed.
struct ModelUse {
  unsigned from = 0;
  unsigned to = 0;
  Relation relation;
  int64_t runs = 1;
  bool isRead = false;
  /// Whether bytes move where the relation does not hold (views), and whether
  /// that costs nothing, as a part of a fusion.
  bool mayMove = false;
  bool movesFree = false;
};

struct Model {
  std::vector<ModelValue> values;
  std::vector<ModelUse> uses;
};

/// Error: *unsupported* where there are too many values.
llvm::Expected<Model> buildModel(const hlo::Module &module,
                                 int64_t unknownTrips);

} // namespace tessera

#endif // TESSERA_LIB_ASSIGNHLO_MODEL_H
