//===- CostGraph.cpp - Choices and what they cost together ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Assign/CostGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <cassert>

using namespace tessera;

unsigned CostGraph::addVariable(std::vector<int64_t> costs) {
  assert(!costs.empty() && "a variable without choices");
  unsigned number = unary.size();
  unary.push_back({{number}, std::move(costs)});
  return number;
}

/// Finite sums that exceed int64 stay the largest finite cost, of which
/// dearest() says that sums do not fit.
static void increase(int64_t &cost, int64_t by) {
  assert(by >= 0 && "a negative cost");
  if (cost == kInfiniteCost || by == kInfiniteCost)
    cost = kInfiniteCost;
  else
    cost = std::min(llvm::checkedAdd(cost, by).value_or(kInfiniteCost),
                    kInfiniteCost - 1);
}

void CostGraph::addCost(unsigned variable, unsigned choice, int64_t cost) {
  increase(unary[variable].costs[choice], cost);
}

/// Rows become columns.
static std::vector<int64_t> transpose(const std::vector<int64_t> &costs,
                                      size_t columns) {
  std::vector<int64_t> result;
  for (size_t column = 0; column < columns; ++column)
    for (size_t i = column; i < costs.size(); i += columns)
      result.push_back(costs[i]);
  return result;
}

void CostGraph::addCosts(unsigned first, unsigned second,
                         std::vector<int64_t> costs) {
  assert(first != second && "an edge joins two variables");
  assert(costs.size() == size_t(numChoices(first)) * numChoices(second));
  if (first > second) {
    costs = transpose(costs, numChoices(second));
    std::swap(first, second);
  }
  auto [number, isNew] =
      edgeNumbers.try_emplace({first, second}, binary.size());
  if (isNew) {
    binary.push_back({{first, second}, std::move(costs)});
    return;
  }
  for (auto [sum, cost] : llvm::zip_equal(binary[number->second].costs, costs))
    increase(sum, cost);
}

int64_t CostGraph::evaluate(const Choices &choices) const {
  int64_t sum = 0;
  for (auto [table, choice] : llvm::zip_equal(unary, choices))
    sum = tessera::addCosts(sum, table.costs[choice]);
  for (const CostTable &table : binary) {
    size_t row = choices[table.scope[0]], column = choices[table.scope[1]];
    int64_t cost = table.costs[row * numChoices(table.scope[1]) + column];
    sum = tessera::addCosts(sum, cost);
  }
  return sum;
}

std::optional<int64_t> CostGraph::dearest() const {
  std::optional<int64_t> sum = 0;
  auto addLargest = [&](const CostTable &table) {
    int64_t largest = 0;
    for (int64_t cost : table.costs)
      if (cost != kInfiniteCost)
        largest = std::max(largest, cost);
    sum = sum ? llvm::checkedAdd(*sum, largest) : std::nullopt;
  };
  llvm::for_each(unary, addLargest);
  llvm::for_each(binary, addLargest);
  // The largest number stands for infinity.
  if (sum && *sum >= kInfiniteCost - 1)
    return std::nullopt;
  return sum;
}
