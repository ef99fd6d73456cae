//===- CostGraph.h - Choices and what they cost together --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A partitioned Boolean quadratic problem (PBQP): variables with a finite list
// of choices each, a cost for each choice, and a cost for each pair of choices
// of two variables. Layout assignment is one: the variables are values, the
// choices are layouts, and two values whose layouts differ cost the bytes that
// the relayout between them reads and writes.
//
// The solver eliminates one variable at a time. A variable with d neighbours is
// replaced by a table over them, of the least cost that it can have: for d up
// to 2 these are the reductions R0, RI and RII of PBQP, beyond that it is a
// tree decomposition. What would need tables beyond a limit is searched by
// branch and bound. The lower bound at a node comes from the same elimination,
// where a variable whose table is too large is split into independent copies,
// each of which sees a part of its neighbours: copies may disagree, so that the
// result can only be too low.
//
// Everything is counted, nothing is timed: equal graphs have equal answers.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ASSIGN_COSTGRAPH_H
#define TESSERA_ASSIGN_COSTGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// What cannot be chosen.
inline constexpr int64_t kInfiniteCost = INT64_MAX;

/// The sum of two costs. solve() has checked that finite ones fit.
inline int64_t addCosts(int64_t lhs, int64_t rhs) {
  bool isInfinite = lhs == kInfiniteCost || rhs == kInfiniteCost;
  return isInfinite ? kInfiniteCost : lhs + rhs;
}

/// The costs of all choices of some variables, row-major in `scope`.
struct CostTable {
  llvm::SmallVector<unsigned, 4> scope;
  std::vector<int64_t> costs;
};

/// A choice for each variable.
using Choices = std::vector<unsigned>;

/// The problem. Costs are at least 0, or infinite.
class CostGraph {
public:
  /// A variable with a choice for each cost; at least one.
  unsigned addVariable(std::vector<int64_t> costs);
  /// Adds to what a choice costs.
  void addCost(unsigned variable, unsigned choice, int64_t cost);
  /// Adds costs of pairs of choices of two variables, a row for each choice of
  /// the first one.
  void addCosts(unsigned first, unsigned second, std::vector<int64_t> costs);

  size_t numVariables() const { return unary.size(); }
  unsigned numChoices(unsigned variable) const {
    return unary[variable].costs.size();
  }
  /// Tables of one variable each, by number, and of two.
  llvm::ArrayRef<CostTable> variables() const { return unary; }
  llvm::ArrayRef<CostTable> edges() const { return binary; }

  int64_t evaluate(const Choices &choices) const;
  /// Nothing where the dearest choices together exceed int64.
  std::optional<int64_t> dearest() const;

private:
  std::vector<CostTable> unary;
  std::vector<CostTable> binary;
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> edgeNumbers;
};

struct SolverOptions {
  /// Entries of the largest table that is made.
  int64_t maxTable = int64_t(1) << 16;
  /// Nodes that branch and bound may visit in each part of the graph.
  int64_t maxNodes = 2000;
};

struct Solution {
  Choices choices;
  /// kInfiniteCost where there is no solution.
  int64_t cost = kInfiniteCost;
  /// No choices cost less.
  int64_t lowerBound = 0;
  /// Variables that were eliminated, by number of neighbours: 0, 1, 2, more.
  int64_t eliminated[4] = {0, 0, 0, 0};
  /// Variables that were left to branch and bound, and nodes that it visited.
  int64_t searched = 0;
  int64_t nodes = 0;

  bool isFeasible() const { return cost != kInfiniteCost; }
  bool isOptimal() const { return cost == lowerBound; }
};

/// The cheapest choices. `start`, where it is given, is improved on: the
/// solution is `start` itself unless something costs less. Ties are broken by
/// the order of variables and choices. Error: *unsupported* where costs may
/// exceed int64.
llvm::Expected<Solution> solve(const CostGraph &graph,
                               const Choices &start = {},
                               SolverOptions options = {});

/// What propagation does, to compare with: variables of `order`, and then the
/// others, each take the choice that is cheapest beside those made before,
/// among those that leave every neighbour one.
Choices chooseInOrder(const CostGraph &graph, llvm::ArrayRef<unsigned> order);

/// The same graph for who counts no bytes: what is not cheapest of a table
/// costs 1.
CostGraph getBlindGraph(const CostGraph &graph);

} // namespace tessera

#endif // TESSERA_ASSIGN_COSTGRAPH_H
