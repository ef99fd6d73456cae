//===- Uses.h - Where values go -------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_ADVISE_USES_H
#define TESSERA_LIB_ADVISE_USES_H

#include "tessera/DataFlow/IndexMap.h"
#include "tessera/HLO/Leaves.h"
#include "tessera/HLO/Module.h"

namespace tessera {

/// A leaf of a value, seen elsewhere: the same elements, as bitcasts read them,
/// in this or another memory space.
struct SeenLeaf {
  const hlo::Instruction *instruction = nullptr;
  size_t leaf = 0;
  const Shape *shape = nullptr;
  /// From its elements to those of the value.
  IndexMap map;
  /// How often the computation that it stands in runs.
  std::optional<int64_t> runs = 1;
};

/// A move of a leaf into another layout.
struct Relayout {
  const hlo::Instruction *instruction = nullptr;
  SeenLeaf source;
  /// From the elements of the result to those of the value.
  IndexMap map;
};

/// Where a value goes.
struct ValueUses {
  std::vector<Relayout> relayouts;
  /// Copies in the same layout and space.
  std::vector<const hlo::Instruction *> plainCopies;
  /// Anything else that reads it.
  size_t others = 0;
};

/// Follows values through a module.
class UseFinder {
public:
  explicit UseFinder(const hlo::Module &module);

  /// The uses of leaf `leaf` of an instruction, through views and loops.
  ValueUses find(const hlo::Instruction &instruction, size_t leaf,
                 std::optional<int64_t> runs = 1);

  LeafCounter &leafCounter() { return leaves; }

private:
  void visit(const SeenLeaf &seen, ValueUses &uses);
  void visitUse(const SeenLeaf &seen, const hlo::Instruction &user,
                size_t operand, ValueUses &uses);
  void follow(const SeenLeaf &seen, const hlo::Instruction &to, size_t leaf);
  void followBitcast(const SeenLeaf &seen, const hlo::Instruction &bitcast,
                     ValueUses &uses);
  void followLoop(const SeenLeaf &seen, const hlo::Instruction &loop,
                  ValueUses &uses);
  bool addMove(const SeenLeaf &seen, const hlo::Instruction &move,
               ValueUses &uses);

  LeafCounter leaves;
  llvm::DenseMap<
      const hlo::Instruction *,
      llvm::SmallVector<std::pair<const hlo::Instruction *, size_t>, 2>>
      users;
  std::vector<SeenLeaf> worklist;
};

/// The same array in main memory.
Shape inMainMemory(Shape shape);

/// The one move that a fusion is made of, or the instruction itself; null where
/// it is neither.
const hlo::Instruction *getSingleMove(const hlo::Instruction &instruction);

/// The map of the result's elements of a copy, transpose or reshape to the
/// operand's.
std::optional<IndexMap> getMoveMap(const hlo::Instruction &move);

} // namespace tessera

#endif // TESSERA_LIB_ADVISE_USES_H
