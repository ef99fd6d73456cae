//===- ChooseInOrder.cpp - One choice after another -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Assign/CostGraph.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

namespace {
/// Makes choices, and takes away from others what they cannot have beside them.
class Chooser {
public:
  explicit Chooser(const CostGraph &graph);

  void choose(unsigned variable);
  Choices choices;

private:
  int64_t getCost(const CostTable &edge, unsigned variable, unsigned choice,
                  unsigned otherChoice) const;
  bool isSupported(const CostTable &edge, unsigned variable,
                   unsigned choice) const;
  bool reduce(const CostTable &edge, unsigned variable);
  void propagate(unsigned variable);

  const CostGraph &graph;
  std::vector<std::vector<int64_t>> costs;
  std::vector<std::vector<bool>> isOpen;
  std::vector<llvm::SmallVector<const CostTable *, 4>> edges;
  std::vector<bool> isChosen;
};
} // namespace

static unsigned getOther(const CostTable &edge, unsigned variable) {
  return edge.scope[0] == variable ? edge.scope[1] : edge.scope[0];
}

Chooser::Chooser(const CostGraph &graph)
    : choices(graph.numVariables()), graph(graph), edges(graph.numVariables()),
      isChosen(graph.numVariables()) {
  for (const CostTable &table : graph.variables()) {
    costs.push_back(table.costs);
    std::vector<bool> &open = isOpen.emplace_back();
    for (int64_t cost : table.costs)
      open.push_back(cost != kInfiniteCost);
  }
  for (const CostTable &edge : graph.edges())
    for (unsigned variable : edge.scope)
      edges[variable].push_back(&edge);
  for (unsigned variable = 0; variable < graph.numVariables(); ++variable)
    propagate(variable);
}

int64_t Chooser::getCost(const CostTable &edge, unsigned variable,
                         unsigned choice, unsigned otherChoice) const {
  size_t row = choice, column = otherChoice;
  if (edge.scope[0] != variable)
    std::swap(row, column);
  return edge.costs[row * graph.numChoices(edge.scope[1]) + column];
}

bool Chooser::isSupported(const CostTable &edge, unsigned variable,
                          unsigned choice) const {
  unsigned other = getOther(edge, variable);
  for (unsigned i = 0; i < graph.numChoices(other); ++i)
    if (isOpen[other][i] && getCost(edge, variable, choice, i) != kInfiniteCost)
      return true;
  return false;
}

/// Closes what has nothing beside it; true where that is news to others.
bool Chooser::reduce(const CostTable &edge, unsigned variable) {
  bool changes = false;
  for (unsigned choice = 0; choice < graph.numChoices(variable); ++choice)
    if (isOpen[variable][choice] && !isSupported(edge, variable, choice)) {
      isOpen[variable][choice] = false;
      changes = true;
    }
  return changes;
}

void Chooser::propagate(unsigned variable) {
  std::vector<unsigned> worklist = {variable};
  while (!worklist.empty()) {
    unsigned next = worklist.back();
    worklist.pop_back();
    for (const CostTable *edge : edges[next]) {
      unsigned other = getOther(*edge, next);
      if (!isChosen[other] && reduce(*edge, other))
        worklist.push_back(other);
    }
  }
}

void Chooser::choose(unsigned variable) {
  if (isChosen[variable])
    return;
  isChosen[variable] = true;
  unsigned best = 0;
  for (unsigned choice = 0; choice < costs[variable].size(); ++choice) {
    bool isBetter = !isOpen[variable][best] ||
                    costs[variable][choice] < costs[variable][best];
    if (isOpen[variable][choice] && isBetter)
      best = choice;
  }
  choices[variable] = best;
  isOpen[variable].assign(isOpen[variable].size(), false);
  isOpen[variable][best] = true;
  for (const CostTable *edge : edges[variable]) {
    unsigned other = getOther(*edge, variable);
    for (auto [i, sum] : llvm::enumerate(costs[other]))
      sum = addCosts(sum, getCost(*edge, variable, best, i));
  }
  propagate(variable);
}

Choices tessera::chooseInOrder(const CostGraph &graph,
                               llvm::ArrayRef<unsigned> order) {
  Chooser chooser(graph);
  for (unsigned variable : order)
    chooser.choose(variable);
  for (unsigned variable = 0; variable < graph.numVariables(); ++variable)
    chooser.choose(variable);
  return std::move(chooser.choices);
}

/// 0 for what is cheapest, 1 for the rest.
static std::vector<int64_t> getBlind(const std::vector<int64_t> &costs) {
  std::vector<int64_t> blind;
  int64_t least = *llvm::min_element(costs);
  for (int64_t cost : costs)
    blind.push_back(cost == kInfiniteCost ? cost : cost != least);
  return blind;
}

CostGraph tessera::getBlindGraph(const CostGraph &graph) {
  CostGraph blind;
  for (const CostTable &table : graph.variables())
    blind.addVariable(getBlind(table.costs));
  for (const CostTable &edge : graph.edges())
    blind.addCosts(edge.scope[0], edge.scope[1], getBlind(edge.costs));
  return blind;
}
