//===- Solve.cpp - The cheapest choices -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Eliminate.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"

#include <memory>

using namespace tessera;

static int64_t evaluate(const Tables &problem, const Choices &choices) {
  int64_t sum = 0;
  for (const CostTable *table : problem.tables)
    sum = addCosts(sum, lookUp(*table, problem.sizes, choices));
  return sum;
}

//===----------------------------------------------------------------------===//
// Branch and bound
//===----------------------------------------------------------------------===//

namespace {
/// A connected part of what elimination left.
class Search {
public:
  Search(const Tables &problem, Choices start, SolverOptions options)
      : root(problem), options(options), best(std::move(start)),
        bestCost(evaluate(problem, best)) {}

  void run();

  const Choices &choices() const { return best; }
  int64_t lowerBound() const { return std::min(bound, bestCost); }
  int64_t nodes() const { return visited; }

private:
  /// A problem with some choices made, and what solutions of it cost at least.
  struct Node {
    Tables problem;
    std::deque<CostTable> made;
    Choices fixed;
    int64_t bound = 0;
    /// Nothing where the bound is reached.
    std::optional<unsigned> branch;
  };

  void visit(Node &node);
  std::unique_ptr<Node> fix(const Node &parent, unsigned variable,
                            unsigned choice);
  int64_t search(const Node &node);

  const Tables &root;
  SolverOptions options;
  Choices best;
  int64_t bestCost;
  int64_t bound = 0;
  int64_t visited = 0;
};
} // namespace

/// Bounds a node, and tries the choices that the bound's elimination makes.
void Search::visit(Node &node) {
  ++visited;
  Elimination elimination(node.problem, options.maxTable,
                          Elimination::TooLarge::Split);
  node.bound = elimination.cost();
  node.branch = elimination.firstSplit();
  Choices choices(root.sizes.size());
  elimination.choose(choices);
  for (auto [choice, fixed] : llvm::zip_equal(choices, node.fixed))
    choice = std::max(choice, fixed);
  int64_t cost = evaluate(root, choices);
  if (cost < bestCost) {
    bestCost = cost;
    best = std::move(choices);
  }
}

/// `table` where `variable` has its choice: it stays in scope, as one of one.
static CostTable restrict(const CostTable &table,
                          const std::vector<unsigned> &sizes, unsigned variable,
                          unsigned choice) {
  size_t inner = 1;
  for (unsigned other : llvm::reverse(table.scope)) {
    if (other == variable)
      break;
    inner *= sizes[other];
  }
  CostTable result{table.scope, {}};
  size_t step = inner * sizes[variable];
  for (size_t first = choice * inner; first < table.costs.size(); first += step)
    result.costs.insert(result.costs.end(), table.costs.begin() + first,
                        table.costs.begin() + first + inner);
  return result;
}

std::unique_ptr<Search::Node> Search::fix(const Node &parent, unsigned variable,
                                          unsigned choice) {
  auto node = std::make_unique<Node>();
  node->fixed = parent.fixed;
  node->fixed[variable] = choice;
  node->problem.sizes = parent.problem.sizes;
  node->problem.sizes[variable] = 1;
  for (const CostTable *table : parent.problem.tables) {
    if (llvm::is_contained(table->scope, variable)) {
      node->made.push_back(
          restrict(*table, parent.problem.sizes, variable, choice));
      table = &node->made.back();
    }
    node->problem.tables.push_back(table);
  }
  visit(*node);
  return node;
}

/// What solutions below `node` cost at least, as far as nodes may be visited.
/// Those that cost as much as the best one are not looked for.
int64_t Search::search(const Node &node) {
  if (!node.branch || node.bound >= bestCost || visited >= options.maxNodes)
    return node.bound;
  unsigned variable = *node.branch;
  std::vector<std::unique_ptr<Node>> children;
  children.reserve(node.problem.sizes[variable]);
  for (unsigned i = 0; i < node.problem.sizes[variable]; ++i)
    children.push_back(fix(node, variable, i));
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [i, child] : llvm::enumerate(children))
    order.emplace_back(child->bound, i);
  llvm::sort(order);
  int64_t least = kInfiniteCost;
  for (auto [bound, i] : order)
    least = std::min(least, search(*children[i]));
  return std::max(least, node.bound);
}

void Search::run() {
  Node node;
  node.problem = root;
  node.fixed.resize(root.sizes.size());
  visit(node);
  bound = search(node);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {
/// Variables that tables connect, numbered anew.
struct Part {
  std::vector<unsigned> variables;
  Tables problem;
  std::deque<CostTable> tables;
};
} // namespace

/// The variables of `elimination` that are connected with `first`, in order.
static std::vector<unsigned> collect(const Elimination &elimination,
                                     unsigned first, std::vector<bool> &seen) {
  std::vector<unsigned> list = {first};
  seen[first] = true;
  for (size_t i = 0; i < list.size(); ++i)
    for (const CostTable *table : elimination.tablesOf(list[i]))
      for (unsigned other : table->scope)
        if (!seen[other]) {
          seen[other] = true;
          list.push_back(other);
        }
  llvm::sort(list);
  return list;
}

static Part getPart(const Elimination &elimination, const Tables &problem,
                    std::vector<unsigned> variables) {
  Part part;
  llvm::DenseMap<unsigned, unsigned> numbers;
  for (auto [number, variable] : llvm::enumerate(variables)) {
    numbers[variable] = number;
    part.problem.sizes.push_back(problem.sizes[variable]);
  }
  for (unsigned variable : variables)
    for (const CostTable *table : elimination.tablesOf(variable)) {
      // A table is taken at its first variable.
      if (table->scope.front() != variable)
        continue;
      part.tables.push_back(*table);
      for (unsigned &other : part.tables.back().scope)
        other = numbers[other];
      part.problem.tables.push_back(&part.tables.back());
    }
  part.variables = std::move(variables);
  return part;
}

/// Searches a part, beginning with the choices that there are.
static int64_t searchPart(const Part &part, SolverOptions options,
                          Choices &choices, Solution &solution) {
  Choices start;
  for (unsigned variable : part.variables)
    start.push_back(choices[variable]);
  Search search(part.problem, std::move(start), options);
  search.run();
  for (auto [variable, choice] :
       llvm::zip_equal(part.variables, search.choices()))
    choices[variable] = choice;
  solution.searched += part.variables.size();
  solution.nodes += search.nodes();
  return search.lowerBound();
}

/// One round: what costs less than `start`, or as much.
static Solution solveOnce(const Tables &problem, const Choices &start,
                          SolverOptions options) {
  Solution solution;
  Choices choices = start;
  Elimination elimination(problem, options.maxTable,
                          Elimination::TooLarge::Stop);
  llvm::copy(elimination.counts(), solution.eliminated);
  solution.lowerBound = elimination.cost();
  std::vector<bool> seen(problem.sizes.size());
  for (unsigned variable : elimination.left())
    if (!seen[variable]) {
      Part part =
          getPart(elimination, problem, collect(elimination, variable, seen));
      solution.lowerBound = addCosts(
          solution.lowerBound, searchPart(part, options, choices, solution));
    }
  elimination.choose(choices);
  solution.cost = evaluate(problem, choices);
  solution.choices = std::move(choices);
  return solution;
}

/// Rounds until nothing costs less than `cost`, that of `start`: whoever begins
/// with the answer gets it back.
static Solution solveTables(const Tables &problem, Choices start, int64_t cost,
                            SolverOptions options) {
  int64_t bound = 0, nodes = 0;
  while (true) {
    Solution solution = solveOnce(problem, start, options);
    bound = std::max(bound, solution.lowerBound);
    nodes += solution.nodes;
    if (solution.cost >= cost) {
      solution.choices = std::move(start);
      solution.cost = cost;
      solution.lowerBound = bound;
      solution.nodes = nodes;
      return solution;
    }
    cost = solution.cost;
    start = std::move(solution.choices);
  }
}

llvm::Expected<Solution> tessera::solve(const CostGraph &graph,
                                        const Choices &start,
                                        SolverOptions options) {
  if (!graph.dearest())
    return unsupportedError("cost", "a sum that fits in 63 bits",
                            "costs whose sum may not fit",
                            "assign parts of the program one by one");
  Tables problem;
  for (const CostTable &table : graph.variables()) {
    problem.sizes.push_back(table.costs.size());
    problem.tables.push_back(&table);
  }
  for (const CostTable &table : graph.edges())
    problem.tables.push_back(&table);
  if (start.empty())
    return solveTables(problem, chooseInOrder(graph, {}), kInfiniteCost,
                       options);
  return solveTables(problem, start, graph.evaluate(start), options);
}
