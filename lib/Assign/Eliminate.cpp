//===- Eliminate.cpp - One variable at a time -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Eliminate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;

int64_t tessera::lookUp(const CostTable &table,
                        const std::vector<unsigned> &sizes,
                        const Choices &choices) {
  size_t entry = 0;
  for (unsigned variable : table.scope)
    entry = entry * sizes[variable] + choices[variable];
  return table.costs[entry];
}

//===----------------------------------------------------------------------===//
// Sums of tables
//===----------------------------------------------------------------------===//

/// The variables of `bucket` in order, without `variable`.
static llvm::SmallVector<unsigned, 4>
getNeighbours(unsigned variable, llvm::ArrayRef<const CostTable *> bucket) {
  llvm::SmallVector<unsigned, 4> scope;
  for (const CostTable *table : bucket)
    llvm::append_range(scope, table->scope);
  llvm::sort(scope);
  scope.erase(llvm::unique(scope), scope.end());
  llvm::erase(scope, variable);
  return scope;
}

namespace {
/// Goes through the choices of a scope, the last variable fastest, and keeps
/// the entry of each table.
class TableWalk {
public:
  TableWalk(llvm::ArrayRef<unsigned> scope, const std::vector<unsigned> &sizes,
            llvm::ArrayRef<const CostTable *> bucket);

  int64_t sum() const {
    int64_t result = 0;
    for (auto [table, entry] : llvm::zip_equal(bucket, entries))
      result = addCosts(result, table->costs[entry]);
    return result;
  }
  void advance();

private:
  llvm::ArrayRef<const CostTable *> bucket;
  llvm::SmallVector<unsigned, 6> limits, choices;
  llvm::SmallVector<size_t, 6> entries;
  /// Of table t, for a step of variable v: strides[v][t].
  llvm::SmallVector<llvm::SmallVector<size_t, 6>, 6> strides;
};
} // namespace

TableWalk::TableWalk(llvm::ArrayRef<unsigned> scope,
                     const std::vector<unsigned> &sizes,
                     llvm::ArrayRef<const CostTable *> bucket)
    : bucket(bucket), choices(scope.size()), entries(bucket.size()),
      strides(scope.size()) {
  for (auto [variable, list] : llvm::zip_equal(scope, strides)) {
    limits.push_back(sizes[variable]);
    for (const CostTable *table : bucket) {
      size_t stride = 1;
      for (unsigned other : llvm::reverse(table->scope)) {
        if (other == variable)
          break;
        stride *= sizes[other];
      }
      list.push_back(llvm::is_contained(table->scope, variable) ? stride : 0);
    }
  }
}

void TableWalk::advance() {
  for (size_t v = limits.size(); v-- > 0;) {
    bool wraps = ++choices[v] == limits[v];
    for (auto [entry, stride] : llvm::zip_equal(entries, strides[v]))
      entry = wraps ? entry - stride * (limits[v] - 1) : entry + stride;
    if (!wraps)
      return;
    choices[v] = 0;
  }
}

int64_t Elimination::getTableSize(llvm::ArrayRef<unsigned> scope) const {
  std::optional<int64_t> size = 1;
  for (unsigned variable : scope)
    size = size ? llvm::checkedMul(*size, int64_t(sizes[variable])) : size;
  return size.value_or(INT64_MAX);
}

/// The least sum of `bucket` over the choices of `variable`.
CostTable Elimination::minimize(unsigned variable, const Bucket &bucket) const {
  CostTable result;
  result.scope = getNeighbours(variable, bucket);
  result.costs.resize(getTableSize(result.scope));
  llvm::SmallVector<unsigned, 4> scope(result.scope);
  scope.push_back(variable);
  TableWalk walk(scope, sizes, bucket);
  for (int64_t &least : result.costs) {
    least = kInfiniteCost;
    for (unsigned choice = 0; choice < sizes[variable]; ++choice) {
      least = std::min(least, walk.sum());
      walk.advance();
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The entries that elimination goes through; of two variables that need as
/// many, the first goes first. A variable with one choice joins nobody.
int64_t Elimination::getKey(unsigned variable) const {
  if (sizes[variable] == 1)
    return 0;
  // Each neighbour has two choices at least once those with one are gone.
  constexpr size_t kMaxShared = 62;
  if (shared[variable].size() > kMaxShared)
    return INT64_MAX;
  llvm::SmallVector<unsigned, 4> scope(
      getNeighbours(variable, shared[variable]));
  scope.push_back(variable);
  return getTableSize(scope);
}

void Elimination::updateKey(unsigned variable) {
  int64_t key = getKey(variable);
  if (key == keys[variable])
    return;
  queue.erase({keys[variable], variable});
  keys[variable] = key;
  queue.insert({key, variable});
}

//===----------------------------------------------------------------------===//
// Elimination
//===----------------------------------------------------------------------===//

static void addTo(CostTable &sum, const CostTable &table) {
  for (auto [cost, more] : llvm::zip_equal(sum.costs, table.costs))
    cost = addCosts(cost, more);
}

/// The table over `scope` that there is, or null.
const CostTable *Elimination::findTable(llvm::ArrayRef<unsigned> scope) const {
  const Bucket *shortest = &shared[scope.front()];
  for (unsigned variable : scope)
    if (shared[variable].size() < shortest->size())
      shortest = &shared[variable];
  auto found = llvm::find_if(*shortest, [&](const CostTable *table) {
    return llvm::ArrayRef(table->scope) == scope;
  });
  return found == shortest->end() ? nullptr : *found;
}

void Elimination::remove(const CostTable *table) {
  for (unsigned variable : table->scope)
    llvm::erase(shared[variable], table);
}

/// Tables over the same variables become one.
void Elimination::addTable(const CostTable &table) {
  if (table.scope.empty()) {
    constant = addCosts(constant, table.costs.front());
    return;
  }
  if (table.scope.size() == 1)
    return addTo(own[table.scope.front()], table);
  const CostTable *added = &table;
  if (const CostTable *other = findTable(table.scope)) {
    made.push_back(*other);
    addTo(made.back(), table);
    remove(other);
    added = &made.back();
  }
  for (unsigned variable : table.scope)
    shared[variable].push_back(added);
}

/// The parts of a bucket that are minimized together: all of it, unless it is
/// too large or has one choice.
std::vector<Elimination::Bucket> Elimination::divide(unsigned variable,
                                                     const Bucket &bucket) {
  int64_t limit = sizes[variable] == 1 ? 0 : maxTable;
  std::vector<Bucket> parts;
  for (const CostTable *table : bucket) {
    auto fits = llvm::find_if(parts, [&](Bucket part) {
      part.push_back(table);
      llvm::SmallVector<unsigned, 4> scope(getNeighbours(variable, part));
      scope.push_back(variable);
      return getTableSize(scope) <= limit;
    });
    if (fits == parts.end())
      fits = parts.insert(parts.end(), Bucket());
    fits->push_back(table);
  }
  return parts;
}

void Elimination::eliminate(unsigned variable) {
  Bucket bucket = shared[variable];
  bucket.push_back(&own[variable]);
  auto neighbours = getNeighbours(variable, bucket);
  ++eliminated[std::min<size_t>(neighbours.size(), 3)];
  for (const CostTable *table : shared[variable])
    for (unsigned other : table->scope)
      if (other != variable)
        llvm::erase(shared[other], table);
  shared[variable].clear();

  std::vector<Bucket> parts = divide(variable, bucket);
  if (parts.size() > 1 && sizes[variable] > 1 && !split)
    split = variable;
  for (const Bucket &part : parts) {
    made.push_back(minimize(variable, part));
    addTable(made.back());
  }
  trail.emplace_back(variable, std::move(bucket));
  for (unsigned other : neighbours)
    updateKey(other);
}

Elimination::Elimination(const Tables &problem, int64_t maxTable,
                         TooLarge tooLarge)
    : sizes(problem.sizes), maxTable(maxTable), shared(problem.sizes.size()),
      keys(problem.sizes.size()) {
  for (unsigned variable = 0; variable < sizes.size(); ++variable)
    own.push_back({{variable}, std::vector<int64_t>(sizes[variable])});
  for (const CostTable *table : problem.tables)
    addTable(*table);
  for (unsigned variable = 0; variable < sizes.size(); ++variable) {
    keys[variable] = getKey(variable);
    queue.insert({keys[variable], variable});
  }
  while (!queue.empty()) {
    auto [key, variable] = *queue.begin();
    if (key > maxTable && tooLarge == TooLarge::Stop)
      break;
    queue.erase(queue.begin());
    eliminate(variable);
  }
  for (auto [key, variable] : queue)
    leftVariables.push_back(variable);
  llvm::sort(leftVariables);
}

std::vector<const CostTable *> Elimination::tablesOf(unsigned variable) const {
  Bucket result = shared[variable];
  result.push_back(&own[variable]);
  return result;
}

void Elimination::choose(Choices &choices) const {
  for (const auto &[variable, bucket] : llvm::reverse(trail)) {
    int64_t least = kInfiniteCost;
    unsigned best = 0;
    for (unsigned choice = 0; choice < sizes[variable]; ++choice) {
      choices[variable] = choice;
      int64_t sum = 0;
      for (const CostTable *table : bucket)
        sum = addCosts(sum, lookUp(*table, sizes, choices));
      if (sum < least) {
        least = sum;
        best = choice;
      }
    }
    choices[variable] = best;
  }
}
