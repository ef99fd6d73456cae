//===- CostGraphTest.cpp - The cheapest choices ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solutions against the least cost among all choices.
//
//===----------------------------------------------------------------------===//

#include "tessera/Assign/CostGraph.h"

#include "Layout/RandomShape.h"
#include "TestCounts.h"

#include "gtest/gtest.h"

using namespace tessera;

namespace {

/// Random graphs with small costs, so that many solutions cost the same.
class RandomGraphs : public RandomShapes {
public:
  using RandomShapes::RandomShapes;

  int64_t cost() {
    return oneIn(12) ? kInfiniteCost : oneIn(3) ? 0 : number(0, 30);
  }
  std::vector<int64_t> costs(size_t count) {
    std::vector<int64_t> list(count);
    for (int64_t &each : list)
      each = cost();
    return list;
  }
  void addEdge(CostGraph &graph, unsigned first, unsigned second) {
    if (first == second)
      return;
    size_t pairs = size_t(graph.numChoices(first)) * graph.numChoices(second);
    graph.addCosts(first, second, costs(pairs));
  }
  CostGraph graph(int64_t variables, int64_t edges, int64_t maxChoices) {
    CostGraph result;
    for (int64_t i = 0; i < variables; ++i)
      result.addVariable(costs(number(1, maxChoices)));
    for (int64_t i = 0; i < edges; ++i)
      addEdge(result, number(0, variables - 1), number(0, variables - 1));
    return result;
  }
};

int64_t enumerate(const CostGraph &graph) {
  Choices choices(graph.numVariables());
  int64_t least = kInfiniteCost;
  while (true) {
    least = std::min(least, graph.evaluate(choices));
    unsigned variable = 0;
    while (variable < choices.size() &&
           ++choices[variable] == graph.numChoices(variable))
      choices[variable++] = 0;
    if (variable == choices.size())
      return least;
  }
}

Solution solved(const CostGraph &graph, const Choices &start = {},
                SolverOptions options = {}) {
  llvm::Expected<Solution> solution = solve(graph, start, options);
  EXPECT_TRUE(static_cast<bool>(solution));
  return solution ? *solution : Solution();
}

/// Solves twice, and checks what is true of every solution.
Solution check(const CostGraph &graph, const Choices &start = {},
               SolverOptions options = {}) {
  Solution solution = solved(graph, start, options);
  EXPECT_EQ(solution.cost, graph.evaluate(solution.choices));
  EXPECT_LE(0, solution.lowerBound);
  EXPECT_LE(solution.lowerBound, solution.cost);
  EXPECT_EQ(solved(graph, start, options).choices, solution.choices);
  // Whoever begins with the answer gets it back.
  EXPECT_EQ(solved(graph, solution.choices, options).choices, solution.choices);
  return solution;
}

TEST(CostGraph, SmallGraphsAgainstAllChoices) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  RandomGraphs random(testSeed());
  int64_t infeasible = 0;
  for (int i = 0; i < std::max(10000, testCount(100000)); ++i) {
    int64_t variables = random.number(1, 10);
    CostGraph graph = random.graph(variables, random.number(0, 2 * variables),
                                   variables > 7 ? 3 : 4);
    Solution solution = check(graph);
    ASSERT_EQ(solution.cost, enumerate(graph)) << "graph " << i;
    ASSERT_TRUE(solution.isOptimal()) << "graph " << i;
    ASSERT_EQ(solution.searched, 0);
    infeasible += !solution.isFeasible();
  }
  EXPECT_GT(infeasible, 10);
}

/// Tables that are too small for anything: all is searched.
TEST(CostGraph, BranchAndBoundAgainstAllChoices) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  RandomGraphs random(testSeed() + 1);
  SolverOptions options;
  int64_t searched = 0, nodes = 0;
  for (int i = 0; i < testCount(20000); ++i) {
    options.maxTable = random.number(1, 30);
    options.maxNodes = 1000000;
    int64_t variables = random.number(3, 8);
    CostGraph graph =
        random.graph(variables, random.number(variables, 3 * variables), 4);
    Solution solution = check(graph, {}, options);
    ASSERT_EQ(solution.cost, enumerate(graph)) << "graph " << i;
    ASSERT_TRUE(solution.isOptimal()) << "graph " << i;
    searched += solution.searched;
    nodes += solution.nodes;
  }
  EXPECT_GT(searched, testCount(20000));
  EXPECT_GT(nodes, searched);
}

/// Where nodes run out, the bound still holds, and better choices are not
/// given up.
TEST(CostGraph, FewNodes) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  RandomGraphs random(testSeed() + 2);
  SolverOptions options;
  int64_t open = 0;
  for (int i = 0; i < testCount(20000); ++i) {
    options.maxTable = random.number(1, 20);
    options.maxNodes = random.number(0, 5);
    CostGraph graph = random.graph(8, 20, 3);
    Solution solution = check(graph, {}, options);
    ASSERT_LE(solution.lowerBound, enumerate(graph)) << "graph " << i;
    Choices start;
    for (unsigned variable = 0; variable < graph.numVariables(); ++variable)
      start.push_back(random.number(0, graph.numChoices(variable) - 1));
    ASSERT_LE(check(graph, start, options).cost, graph.evaluate(start));
    open += !solution.isOptimal();
  }
  EXPECT_GT(open, 10);
}

TEST(CostGraph, LargeGraphs) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  RandomGraphs random(testSeed() + 3);
  SolverOptions options;
  options.maxTable = 512;
  options.maxNodes = 20;
  for (int i = 0; i < std::max(1000, testCount(3000)); ++i) {
    CostGraph graph = random.graph(60, random.number(60, 150), 4);
    Solution solution = check(graph, {}, options);
    EXPECT_LE(solution.cost, graph.evaluate(chooseInOrder(graph, {})));
  }
}

/// A program of 10,000 values, each made of some values shortly before it, and
/// one that all others read.
TEST(CostGraph, TenThousandVariables) {
  RandomGraphs random(testSeed() + 4);
  CostGraph graph;
  graph.addVariable({0, 0, 0, 0, 0, 0});
  for (unsigned i = 1; i < 10000; ++i) {
    graph.addVariable({0, 1, 2, 3, 4, 5});
    for (unsigned other : {0u, i - 1, i - unsigned(random.number(1, 4))})
      if (other < i)
        random.addEdge(graph, other, i);
  }
  Solution solution = solved(graph);
  EXPECT_EQ(solution.cost, graph.evaluate(solution.choices));
  EXPECT_LE(solution.lowerBound, solution.cost);
  EXPECT_LE(solution.cost, graph.evaluate(chooseInOrder(graph, {})));
}

TEST(CostGraph, Reductions) {
  // A path, a triangle on its end, and a variable alone.
  CostGraph graph;
  for (int i = 0; i < 6; ++i)
    graph.addVariable({1, 0});
  auto join = [&](unsigned first, unsigned second) {
    graph.addCosts(first, second, {0, 5, 5, 0});
  };
  join(0, 1);
  join(1, 2);
  join(2, 3);
  join(3, 4);
  join(4, 2);
  graph.addCost(0, 1, kInfiniteCost);
  Solution solution = solved(graph);
  EXPECT_EQ(solution.choices, Choices({0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(solution.cost, 5);
  EXPECT_EQ(llvm::ArrayRef(solution.eliminated),
            llvm::ArrayRef<int64_t>({2, 3, 1, 0}));
}

/// The first choice, unless there is another one already.
TEST(CostGraph, Ties) {
  CostGraph graph;
  graph.addVariable({1, 0, 0});
  EXPECT_EQ(solved(graph).choices, Choices({1}));
  EXPECT_EQ(solved(graph, {2}).choices, Choices({2}));
  EXPECT_EQ(solved(graph, {0}).choices, Choices({1}));
}

/// Both directions of an edge are one table.
TEST(CostGraph, Edges) {
  CostGraph graph;
  graph.addVariable({0, 0});
  graph.addVariable({0, 0, 0});
  graph.addCosts(0, 1, {1, 2, 3, 4, 5, 6});
  graph.addCosts(1, 0, {10, 20, 30, 40, 50, 60});
  ASSERT_EQ(graph.edges().size(), 1u);
  EXPECT_EQ(graph.evaluate({0, 2}), 3 + 50);
  EXPECT_EQ(graph.evaluate({1, 0}), 4 + 20);
}

TEST(CostGraph, Overflow) {
  CostGraph graph;
  graph.addVariable({kInfiniteCost - 2});
  EXPECT_EQ(solved(graph).cost, kInfiniteCost - 2);
  graph.addVariable({1, kInfiniteCost});
  llvm::Expected<Solution> solution = solve(graph);
  ASSERT_FALSE(static_cast<bool>(solution));
  EXPECT_EQ(
      llvm::toString(solution.takeError()),
      "unsupported cost: expected a sum that fits in 63 bits, found costs "
      "whose sum may not fit; assign parts of the program one by one");
}

TEST(CostGraph, Empty) {
  Solution solution = solved(CostGraph());
  EXPECT_EQ(solution.cost, 0);
  EXPECT_TRUE(solution.isOptimal());
}

} // namespace
