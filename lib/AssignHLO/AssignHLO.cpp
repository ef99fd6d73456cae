//===- AssignHLO.cpp - Layouts of HLO modules -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each value has a variable for its layout and, where it lies in memory, one
// for the copies of it in other layouts that are made beside it. A use reads
// the cheapest of them that its instruction can take.
//
//===----------------------------------------------------------------------===//

#include "tessera/AssignHLO/AssignHLO.h"

#include "Model.h"

#include "tessera/HLO/Verifier.h"
#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <deque>

using namespace tessera;
using namespace tessera::hlo;
using llvm::StringRef;

namespace {
/// A layout of a value, and copies of it in others, by number of candidate.
struct Versions {
  unsigned home = 0;
  llvm::SmallVector<unsigned, 2> copies;

  llvm::SmallVector<unsigned, 3> all() const {
    llvm::SmallVector<unsigned, 3> list = {home};
    llvm::append_range(list, copies);
    return list;
  }
};

class Assigner {
public:
  Assigner(const Model &model, const AssignOptions &options, LayoutRule rule)
      : model(model), options(options), rule(rule),
        candidates(model.values.size()), bytes(model.values.size()),
        uses(model.values.size()), numHomes(model.values.size(), 1) {}

  llvm::Expected<HLOAssignment> run(const Module &module);
  llvm::Expected<std::vector<BoundaryPrice>>
  price(llvm::ArrayRef<BoundaryChange> changes);

private:
  bool addCandidate(unsigned value, Shape shape);
  llvm::Error addBoundaryCandidate(const BoundaryLayout &layout);
  void build();
  llvm::Expected<unsigned> getLeaf(const BoundaryLayout &layout) const;
  llvm::Expected<BoundaryPrice> priceChange(const BoundaryChange &change) const;
  void addOwnCandidates();
  void addDefaultCandidates();
  void propagate();
  void induceFrom(unsigned value, const Shape &shape);
  void countHomes();
  void makeVersions();
  int64_t getBytes(unsigned value, unsigned candidate, int64_t runs) const;
  void addVariables();
  void addVersionVariable(unsigned value);
  void addUse(const ModelUse &use);
  /// How a use takes a value, and what that costs.
  struct Taken {
    int64_t cost = kInfiniteCost;
    ModelChoice::Use use;
  };
  Taken take(const ModelUse &use, const Versions &from, unsigned to,
             const std::vector<bool> &accepts) const;
  std::vector<bool> getAccepted(const ModelUse &use) const;
  Choices getOwnChoices() const;
  std::vector<unsigned> getWorklistOrder() const;
  std::vector<unsigned> getPriorityOrder() const;
  std::vector<unsigned> getHomes(std::vector<unsigned> values) const;
  std::vector<AssignedValue> getChanges(const Choices &choices) const;
  ModelChoice getChoice(const Choices &choices) const;

  const Model &model;
  const AssignOptions &options;
  LayoutRule rule;
  std::vector<llvm::SmallVector<Shape, 4>> candidates;
  std::vector<llvm::SmallVector<int64_t, 4>> bytes;
  std::vector<llvm::SmallVector<const ModelUse *, 2>> uses;
  /// How many of its first candidates a value may have as its own layout.
  std::vector<unsigned> numHomes;
  std::vector<std::pair<unsigned, Shape>> worklist;
  std::vector<std::vector<Versions>> versions;
  CostGraph graph;
  /// The variables of each value: its layout, and its copies or the same.
  std::vector<unsigned> homes, lists;
};
} // namespace

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// A layout like the module's is the module's, with its division among parts of
/// a space.
bool Assigner::addCandidate(unsigned value, Shape shape) {
  auto &list = candidates[value];
  Layout plain = model.values[value].own.layout();
  plain.splitConfigs.clear();
  if (shape.layout() == plain)
    shape.setLayout(model.values[value].own.layout());
  if (list.size() >= options.maxCandidates || llvm::is_contained(list, shape))
    return false;
  llvm::Expected<ShapeSize> size = getSizeOnCore(shape);
  if (!size) {
    llvm::consumeError(size.takeError());
    return false;
  }
  list.push_back(shape);
  bytes[value].push_back(size->bytes);
  worklist.emplace_back(value, shape);
  return true;
}

/// What is fixed, and what nothing can be induced to.
void Assigner::addOwnCandidates() {
  for (auto [i, value] : llvm::enumerate(model.values))
    if (value.isPinned || options.keep)
      addCandidate(i, value.own);
  for (const ModelUse &use : model.uses)
    if (use.relation.kind == Relation::Kind::View && !use.relation.map) {
      addCandidate(use.from, model.values[use.from].own);
      addCandidate(use.to, model.values[use.to].own);
    }
}

/// What the target would choose; the module's own layout where it says nothing.
void Assigner::addDefaultCandidates() {
  for (auto [i, value] : llvm::enumerate(model.values)) {
    llvm::Expected<Shape> shape = chooseDefaultLayout(rule, value.own);
    if (shape) {
      shape->mutableLayout().memorySpace = value.own.layout().memorySpace;
      addCandidate(i, *shape);
    } else {
      llvm::consumeError(shape.takeError());
      addCandidate(i, value.own);
    }
  }
}

void Assigner::induceFrom(unsigned value, const Shape &shape) {
  for (const ModelUse *use : uses[value]) {
    bool isResult = use->from == value;
    unsigned other = isResult ? use->to : use->from;
    if (candidates[other].size() >= options.maxCandidates)
      continue;
    for (const Shape &induced :
         induce(use->relation, shape, model.values[other].own, isResult, rule))
      addCandidate(other, induced);
  }
}

void Assigner::propagate() {
  while (!worklist.empty()) {
    auto list = std::move(worklist);
    worklist.clear();
    for (const auto &[value, shape] : list)
      induceFrom(value, shape);
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// At most kInfiniteCost - 1, of which the solver says that it is too much.
int64_t Assigner::getBytes(unsigned value, unsigned candidate,
                           int64_t runs) const {
  return llvm::checkedMul(bytes[value][candidate], runs)
      .value_or(kInfiniteCost - 1);
}

static int64_t addBytes(int64_t lhs, int64_t rhs) {
  return std::min(llvm::checkedAdd(lhs, rhs).value_or(kInfiniteCost),
                  kInfiniteCost - 1);
}

/// What is pinned has the candidates that were its first.
void Assigner::countHomes() {
  for (auto [i, value] : llvm::enumerate(model.values))
    if (!value.isPinned)
      numHomes[i] = candidates[i].size();
}

/// Copies of values in memory: as many as there are uses, but two at most.
void Assigner::makeVersions() {
  for (auto [i, value] : llvm::enumerate(model.values)) {
    std::vector<Versions> &list = versions.emplace_back();
    unsigned count = candidates[i].size();
    size_t readers = llvm::count_if(uses[i], [&, i = i](const ModelUse *use) {
      return use->from == i && !use->isHomeOnly;
    });
    for (unsigned home = 0; home < numHomes[i]; ++home) {
      list.push_back({home, {}});
      for (unsigned one = 0; value.isInMemory && readers > 0 && one < count;
           ++one) {
        if (one == home)
          continue;
        list.push_back({home, {one}});
        for (unsigned two = one + 1; readers > 1 && two < count; ++two)
          if (two != home)
            list.push_back({home, {one, two}});
      }
    }
  }
}

void Assigner::addVersionVariable(unsigned value) {
  const ModelValue &info = model.values[value];
  std::vector<int64_t> costs;
  for (const Versions &each : versions[value]) {
    int64_t cost = 0;
    for (unsigned copy : each.copies)
      cost = addBytes(cost, addBytes(getBytes(value, each.home, info.runs),
                                     getBytes(value, copy, info.runs)));
    costs.push_back(cost);
  }
  lists[value] = graph.addVariable(std::move(costs));
  std::vector<int64_t> agree;
  for (const Versions &each : versions[value])
    for (unsigned home = 0; home < graph.numChoices(homes[value]); ++home)
      agree.push_back(each.home == home ? 0 : kInfiniteCost);
  graph.addCosts(lists[value], homes[value], std::move(agree));
}

void Assigner::addVariables() {
  homes.resize(model.values.size());
  for (auto [i, value] : llvm::enumerate(model.values)) {
    std::vector<int64_t> costs;
    for (unsigned choice = 0; choice < numHomes[i]; ++choice) {
      std::optional<int64_t> runs = llvm::checkedMul(value.writes, value.runs);
      costs.push_back(runs ? getBytes(i, choice, *runs) : kInfiniteCost - 1);
    }
    homes[i] = graph.addVariable(std::move(costs));
  }
  lists = homes;
  for (unsigned i = 0; i < model.values.size(); ++i)
    if (versions[i].size() > graph.numChoices(homes[i]))
      addVersionVariable(i);
}

/// For each pair of candidates, whether they fit. Those of the module do.
std::vector<bool> Assigner::getAccepted(const ModelUse &use) const {
  const ModelValue &target = model.values[use.to];
  bool mayBeOwn = !use.mayMove || target.instruction->opcode == Opcode::Bitcast;
  std::vector<bool> accepted;
  for (const Shape &from : candidates[use.from])
    for (const Shape &to : candidates[use.to]) {
      bool isOwn =
          mayBeOwn && from == model.values[use.from].own && to == target.own;
      accepted.push_back(isOwn ||
                         use.relation.accepts(from, to, use.movesFree));
    }
  return accepted;
}

Assigner::Taken Assigner::take(const ModelUse &use, const Versions &from,
                               unsigned to,
                               const std::vector<bool> &accepts) const {
  Taken least;
  for (auto [number, version] : llvm::enumerate(from.all())) {
    if (number > 0 && use.isHomeOnly)
      break;
    bool fits = accepts[version * candidates[use.to].size() + to];
    if (!fits && !use.mayMove)
      continue;
    int64_t cost = 0, read = getBytes(use.from, version, use.runs);
    if (fits && use.isRead)
      cost = read;
    if (!fits && !use.movesFree)
      cost = addBytes(read, getBytes(use.to, to, use.runs));
    if (cost < least.cost)
      least = {cost, {static_cast<unsigned>(number), !fits}};
  }
  return least;
}

void Assigner::addUse(const ModelUse &use) {
  std::vector<bool> accepts = getAccepted(use);
  std::vector<int64_t> costs;
  for (const Versions &from : versions[use.from])
    for (unsigned to = 0; to < graph.numChoices(homes[use.to]); ++to)
      costs.push_back(take(use, from, to, accepts).cost);
  // A value that an instruction takes twice meets itself in one table.
  graph.addCosts(lists[use.from], homes[use.to], std::move(costs));
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

/// The choices of the module; empty where they are no candidates.
Choices Assigner::getOwnChoices() const {
  Choices choices(graph.numVariables());
  for (auto [i, value] : llvm::enumerate(model.values)) {
    const auto *own = llvm::find(candidates[i], value.own);
    if (own == candidates[i].end())
      return {};
    unsigned home = own - candidates[i].begin();
    choices[homes[i]] = home;
    auto isPlain = [&](const Versions &each) {
      return each.home == home && each.copies.empty();
    };
    choices[lists[i]] =
        llvm::find_if(versions[i], isPlain) - versions[i].begin();
  }
  return choices;
}

/// Layouts from what is fixed outwards, and then copies.
std::vector<unsigned> Assigner::getWorklistOrder() const {
  std::vector<unsigned> order;
  std::vector<bool> seen(model.values.size());
  auto add = [&](unsigned value) {
    if (!seen[value])
      order.push_back(value);
    seen[value] = true;
  };
  for (auto [i, value] : llvm::enumerate(model.values))
    if (value.isPinned)
      add(i);
  size_t next = 0;
  for (unsigned i = 0; i < model.values.size(); ++i) {
    for (; next < order.size(); ++next)
      for (const ModelUse *use : uses[order[next]]) {
        add(use->from);
        add(use->to);
      }
    add(i);
  }
  return getHomes(std::move(order));
}

std::vector<unsigned> Assigner::getHomes(std::vector<unsigned> values) const {
  for (unsigned &value : values)
    value = homes[value];
  return values;
}

/// What instructions fix goes before the boundary, and both before what is left
/// to defaults. From each, layouts are carried to operands before anything else
/// is looked at, and then to users, in turn.
std::vector<unsigned> Assigner::getPriorityOrder() const {
  std::vector<unsigned> order;
  std::vector<bool> seen(model.values.size());
  std::deque<unsigned> pending;
  auto add = [&](unsigned value, bool isOperand) {
    if (seen[value])
      return;
    seen[value] = true;
    if (isOperand)
      pending.push_front(value);
    else
      pending.push_back(value);
  };
  auto carry = [&] {
    while (!pending.empty()) {
      unsigned next = pending.front();
      pending.pop_front();
      order.push_back(next);
      for (const ModelUse *use : uses[next])
        add(use->to == next ? use->from : use->to, use->to == next);
    }
  };
  std::vector<bool> isBoundary(model.values.size());
  for (unsigned value :
       llvm::concat<const unsigned>(model.arguments, model.results))
    if (value != kNone)
      isBoundary[value] = true;
  for (bool boundary : {false, true}) {
    for (auto [i, value] : llvm::enumerate(model.values))
      if (value.isPinned && isBoundary[i] == boundary)
        add(i, false);
    carry();
  }
  for (unsigned i = 0; i < model.values.size(); ++i) {
    add(i, false);
    carry();
  }
  return getHomes(std::move(order));
}

std::vector<AssignedValue> Assigner::getChanges(const Choices &choices) const {
  std::vector<AssignedValue> changes;
  for (auto [i, value] : llvm::enumerate(model.values)) {
    const Versions &chosen = versions[i][choices[lists[i]]];
    const Shape &to = candidates[i][chosen.home];
    if (!value.isInMemory || (to == value.own && chosen.copies.empty()))
      continue;
    AssignedValue change{value.instruction, value.leaf, value.own, to, {}};
    for (unsigned copy : chosen.copies)
      change.copies.push_back(candidates[i][copy]);
    changes.push_back(std::move(change));
  }
  return changes;
}

ModelChoice Assigner::getChoice(const Choices &choices) const {
  ModelChoice chosen;
  for (unsigned i = 0; i < model.values.size(); ++i) {
    const Versions &own = versions[i][choices[lists[i]]];
    ModelChoice::Value &value = chosen.values.emplace_back();
    value.home = candidates[i][own.home];
    for (unsigned copy : own.copies)
      value.copies.push_back(candidates[i][copy]);
  }
  for (const ModelUse &use : model.uses)
    chosen.uses.push_back(take(use,
                               versions[use.from][choices[lists[use.from]]],
                               choices[homes[use.to]], getAccepted(use))
                              .use);
  return chosen;
}

/// The text is read again, verified, and counted by the counter, which is
/// separate code.
static llvm::Error check(StringRef text, int64_t bytes, int64_t unknownTrips) {
  std::vector<SourceDiagnostic> errors;
  std::unique_ptr<Module> written = hlo::parse(text, errors);
  if (!written || !hlo::verify(*written, errors))
    return unsupportedError("module", "new layouts that can be written down",
                            "one for which that is not valid: " +
                                errors.front().message());
  llvm::Expected<int64_t> counted = countTouchedBytes(*written, unknownTrips);
  if (!counted)
    return counted.takeError();
  if (*counted == bytes)
    return llvm::Error::success();
  return unsupportedError("module",
                          "new layouts that can be written down in " +
                              llvm::Twine(bytes) + " bytes read and written",
                          llvm::Twine(*counted));
}

/// Candidates and costs; what is pinned has its candidates already.
void Assigner::build() {
  for (const ModelUse &use : model.uses) {
    uses[use.from].push_back(&use);
    uses[use.to].push_back(&use);
  }
  propagate();
  addDefaultCandidates();
  propagate();
  countHomes();
  makeVersions();
  addVariables();
  for (const ModelUse &use : model.uses)
    addUse(use);
}

llvm::Expected<HLOAssignment> Assigner::run(const Module &module) {
  addOwnCandidates();
  build();
  HLOAssignment result;
  Choices start = options.keep ? getOwnChoices() : Choices();
  llvm::Expected<Solution> solution = solve(graph, start, options.solver);
  if (!solution)
    return solution.takeError();
  result.start = start.empty() ? kInfiniteCost : graph.evaluate(start);
  result.variables = graph.numVariables();
  if (solution->isFeasible())
    result.changes = getChanges(solution->choices);
  if (solution->isFeasible() && options.writesText) {
    result.text = writeModule(module, model, getChoice(solution->choices));
    if (llvm::Error error =
            check(result.text, solution->cost, options.unknownTrips))
      return error;
  }
  result.solution = std::move(*solution);
  std::vector<unsigned> order(homes);
  result.greedy = graph.evaluate(chooseInOrder(graph, order));
  result.worklist =
      graph.evaluate(chooseInOrder(getBlindGraph(graph), getWorklistOrder()));
  result.priorities =
      graph.evaluate(chooseInOrder(getBlindGraph(graph), getPriorityOrder()));
  return result;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

static bool haveOneType(const Shape &lhs, const Shape &rhs) {
  return rhs.isArray() && rhs.hasLayout() &&
         lhs.elementType() == rhs.elementType() &&
         lhs.dimensions() == rhs.dimensions() &&
         lhs.layout().memorySpace == rhs.layout().memorySpace;
}

llvm::Expected<unsigned> Assigner::getLeaf(const BoundaryLayout &layout) const {
  const Values &leaves = layout.isResult ? model.results : model.arguments;
  unsigned value = layout.leaf < leaves.size() ? leaves[layout.leaf] : kNone;
  if (value == kNone)
    return invalidError("", layout.isResult ? "result" : "argument",
                        "the number of an array", llvm::Twine(layout.leaf));
  const Shape &own = model.values[value].own;
  if (!haveOneType(own, layout.shape))
    return invalidError("", "layout of the boundary",
                        "one for " + own.toString(), layout.shape.toString());
  return value;
}

/// Further candidates of what is pinned: as many as there are.
llvm::Error Assigner::addBoundaryCandidate(const BoundaryLayout &layout) {
  llvm::Expected<unsigned> value = getLeaf(layout);
  if (!value)
    return value.takeError();
  llvm::Expected<ShapeSize> size = getSizeOnCore(layout.shape);
  if (!size)
    return size.takeError();
  if (llvm::is_contained(candidates[*value], layout.shape))
    return llvm::Error::success();
  candidates[*value].push_back(layout.shape);
  bytes[*value].push_back(size->bytes);
  worklist.emplace_back(*value, layout.shape);
  numHomes[*value] = candidates[*value].size();
  return llvm::Error::success();
}

/// All other choices of the boundary are forbidden.
llvm::Expected<BoundaryPrice>
Assigner::priceChange(const BoundaryChange &change) const {
  llvm::DenseMap<unsigned, unsigned> wanted;
  for (const BoundaryLayout &layout : change) {
    llvm::Expected<unsigned> value = getLeaf(layout);
    if (!value)
      return value.takeError();
    wanted[*value] = llvm::find(candidates[*value], layout.shape) -
                     candidates[*value].begin();
  }
  CostGraph fixed = graph;
  for (unsigned value :
       llvm::concat<const unsigned>(model.arguments, model.results))
    for (unsigned home = 0; value != kNone && home < numHomes[value]; ++home)
      if (home != wanted.lookup(value))
        fixed.addCost(homes[value], home, kInfiniteCost);
  llvm::Expected<Solution> solution = solve(fixed, {}, options.solver);
  if (!solution)
    return solution.takeError();
  return BoundaryPrice{solution->cost, solution->lowerBound};
}

llvm::Expected<std::vector<BoundaryPrice>>
Assigner::price(llvm::ArrayRef<BoundaryChange> changes) {
  addOwnCandidates();
  for (const BoundaryChange &change : changes)
    for (const BoundaryLayout &layout : change)
      if (llvm::Error error = addBoundaryCandidate(layout))
        return error;
  build();
  std::vector<BoundaryPrice> prices;
  for (size_t i = 0; i <= changes.size(); ++i) {
    llvm::Expected<BoundaryPrice> price =
        priceChange(i == 0 ? BoundaryChange() : changes[i - 1]);
    if (!price)
      return price.takeError();
    prices.push_back(*price);
  }
  return prices;
}

/// Tiles are a TPU's.
static LayoutRule guessRule(const Model &model) {
  bool hasTiles = llvm::any_of(model.values, [](const ModelValue &value) {
    return !value.own.layout().tiles.empty();
  });
  return hasTiles ? LayoutRule::TPU : LayoutRule::RowMajor;
}

llvm::Expected<HLOAssignment> tessera::assignLayouts(const Module &module,
                                                     AssignOptions options) {
  llvm::Expected<int64_t> before =
      countTouchedBytes(module, options.unknownTrips);
  if (!before)
    return before.takeError();
  llvm::Expected<Model> model = buildModel(module, options);
  if (!model)
    return model.takeError();
  Assigner assigner(*model, options, guessRule(*model));
  llvm::Expected<HLOAssignment> result = assigner.run(module);
  if (result)
    result->before = *before;
  return result;
}

llvm::Expected<std::vector<BoundaryPrice>>
tessera::priceBoundary(const Module &module,
                       llvm::ArrayRef<BoundaryChange> changes,
                       AssignOptions options) {
  options.keep = true;
  // All sizes must be known.
  llvm::Expected<int64_t> now = countTouchedBytes(module, options.unknownTrips);
  if (!now)
    return now.takeError();
  llvm::Expected<Model> model = buildModel(module, options);
  if (!model)
    return model.takeError();
  return Assigner(*model, options, guessRule(*model)).price(changes);
}
