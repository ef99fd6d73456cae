//===- Eliminate.h - One variable at a time ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_ASSIGN_ELIMINATE_H
#define TESSERA_LIB_ASSIGN_ELIMINATE_H

#include "tessera/Assign/CostGraph.h"

#include <deque>
#include <set>

namespace tessera {

/// A part of a problem: numbers of choices, and tables over the variables.
struct Tables {
  std::vector<unsigned> sizes;
  std::vector<const CostTable *> tables;
};

/// The entry of `table` at `choices`.
int64_t lookUp(const CostTable &table, const std::vector<unsigned> &sizes,
               const Choices &choices);

/// Eliminates variables from a problem.
class Elimination {
public:
  enum class TooLarge : uint8_t {
    Stop,  ///< Keep variables whose tables would be too large.
    Split, ///< Take copies of them that may disagree.
  };

  Elimination(const Tables &problem, int64_t maxTable, TooLarge tooLarge);

  /// What eliminated variables cost at least: exactly that, if none was split.
  int64_t cost() const { return constant; }
  /// The first variable that was split.
  std::optional<unsigned> firstSplit() const { return split; }
  /// Those that are left, and the tables over them.
  const std::vector<unsigned> &left() const { return leftVariables; }
  std::vector<const CostTable *> tablesOf(unsigned variable) const;
  /// By number of neighbours: 0, 1, 2, more.
  llvm::ArrayRef<int64_t> counts() const { return eliminated; }

  /// Chooses for eliminated variables, the last one first. Those that are left
  /// must have their choices.
  void choose(Choices &choices) const;

private:
  using Bucket = std::vector<const CostTable *>;

  void addTable(const CostTable &table);
  const CostTable *findTable(llvm::ArrayRef<unsigned> scope) const;
  int64_t getTableSize(llvm::ArrayRef<unsigned> scope) const;
  int64_t getKey(unsigned variable) const;
  void updateKey(unsigned variable);
  void remove(const CostTable *table);
  std::vector<Bucket> divide(unsigned variable, const Bucket &bucket);
  CostTable minimize(unsigned variable, const Bucket &bucket) const;
  void eliminate(unsigned variable);

  const std::vector<unsigned> &sizes;
  int64_t maxTable;
  std::optional<unsigned> split;
  int64_t constant = 0;
  int64_t eliminated[4] = {0, 0, 0, 0};
  /// Of each variable: its own costs, and tables that it shares with others.
  std::vector<CostTable> own;
  std::vector<Bucket> shared;
  /// Sizes of the tables that elimination would make, to take the least first.
  std::vector<int64_t> keys;
  std::set<std::pair<int64_t, unsigned>> queue;
  std::vector<std::pair<unsigned, Bucket>> trail;
  std::vector<unsigned> leftVariables;
  /// Tables that were made; their addresses stay.
  std::deque<CostTable> made;
};

} // namespace tessera

#endif // TESSERA_LIB_ASSIGN_ELIMINATE_H
