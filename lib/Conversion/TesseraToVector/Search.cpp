//===- Search.cpp - The schedule that costs least -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kind below makes a schedule of a choice, or nothing where there is no
// such schedule; all choices of a grid are tried, and the one that costs least
// (CostModel.h) is taken.
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

#include <utility>

using namespace tessera;

/// The most that a block may be told to take of a row or column.
static constexpr int64_t kMaxBytes = 1 << 20;

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

namespace {
using Values = std::initializer_list<int64_t>;

/// The choices of a kind of transposes that are tried: all combinations.
struct Grid {
  PlanKind kind;
  Values rowBytes, columnBytes, bySource, gathers;
};
} // namespace

static const Grid kGrids[] = {
    {PlanKind::Cached,
     {64, 128, 256, 512},
     {16, 32, 64, 128, 256, 512, 1024},
     {0, 1},
     {0, 1}},
    {PlanKind::Direct, {64, 128, 192, 256, 512}, {64}, {1, 0}, {0, 1}},
    {PlanKind::Dense, {0}, {64, 128, 256}, {1}, {0}},
    {PlanKind::Panels, {128, 256, 512}, {64}, {1}, {0}},
    {PlanKind::RaggedPanels, {128, 256, 512}, {64}, {1}, {0}},
    {PlanKind::Carried, {64, 128, 256}, {64}, {1}, {0}},
    {PlanKind::Staged, {64, 128, 192, 256, 512, 1024}, {64}, {1}, {0}},
};

/// Kinds without a choice.
static constexpr PlanKind kOthers[] = {
    PlanKind::Interleave, PlanKind::Deinterleave, PlanKind::Gather,
    PlanKind::Copy,       PlanKind::LineCopy,     PlanKind::CoalescedCopy,
    PlanKind::MaskedCopy, PlanKind::BufferedCopy};

/// What is tried of one field: the values of the grid, or what overrules them.
template <typename T>
static llvm::SmallVector<int64_t, 6> getValues(Values values,
                                               std::optional<T> given) {
  if (given)
    return {std::clamp<int64_t>(*given, 0, kMaxBytes)};
  return llvm::SmallVector<int64_t, 6>(values);
}

/// Calls `visit` with all choices that `tuning` leaves.
static void forEachChoice(const RelayoutTuning &tuning,
                          llvm::function_ref<void(const PlanChoice &)> visit) {
  auto isWanted = [&](PlanKind kind) {
    return !tuning.kind || *tuning.kind == getName(kind);
  };
  for (const Grid &grid : kGrids) {
    if (!isWanted(grid.kind))
      continue;
    for (int64_t rows : getValues(grid.rowBytes, tuning.rowBytes))
      for (int64_t columns : getValues(grid.columnBytes, tuning.columnBytes))
        for (int64_t bySource : getValues(grid.bySource, tuning.bySource))
          for (int64_t gathers : getValues(grid.gathers, tuning.gathers))
            visit({grid.kind, rows, columns, bySource != 0, gathers != 0});
  }
  for (PlanKind kind : kOthers)
    if (isWanted(kind))
      visit({kind});
}

static constexpr llvm::StringLiteral kKindNames[] = {
    "cached",  "direct",    "dense",          "panels",       "ragged-panels",
    "carried", "staged",    "interleave",     "deinterleave", "gather",
    "copy",    "line-copy", "coalesced-copy", "masked-copy",  "buffered-copy"};

llvm::StringRef tessera::getName(PlanKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

bool tessera::isPlanKind(llvm::StringRef name) {
  return llvm::is_contained(kKindNames, name);
}

static bool isTranspose(PlanKind kind) { return kind <= PlanKind::Staged; }

/// Whether stores may go through the cache.
static bool mayUseCache(PlanKind kind) {
  return llvm::is_contained({PlanKind::Cached, PlanKind::Interleave,
                             PlanKind::Deinterleave, PlanKind::Gather,
                             PlanKind::Copy},
                            kind);
}

RelayoutTuning PlanChoice::toTuning() const {
  RelayoutTuning tuning;
  tuning.kind = getName(kind).str();
  if (!isTranspose(kind))
    return tuning;
  tuning.rowBytes = std::max<int64_t>(rowBytes, 1);
  tuning.columnBytes = columnBytes;
  tuning.bySource = bySource;
  tuning.gathers = gathers;
  return tuning;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

NestPlanner::Trial NestPlanner::planKind(const BlockedNest &nest,
                                         const PlanChoice &choice) const {
  switch (choice.kind) {
  case PlanKind::Cached:
    return planCached(nest, choice);
  case PlanKind::Direct:
    return planDirect(nest, choice);
  case PlanKind::Dense:
    return planDense(nest, choice);
  case PlanKind::Panels:
  case PlanKind::RaggedPanels:
    return planPanels(nest, choice);
  case PlanKind::Carried:
    return planCarried(nest, choice);
  case PlanKind::Staged:
    return planStaged(nest, choice);
  case PlanKind::Interleave:
    return planInterleave(nest);
  case PlanKind::Deinterleave:
    return planDeinterleave(nest);
  case PlanKind::Gather:
    return planGather(nest);
  case PlanKind::Copy:
    return planCopy(nest);
  case PlanKind::LineCopy:
    return planLineCopy(nest);
  case PlanKind::CoalescedCopy:
    return planCoalescedCopy(nest);
  case PlanKind::MaskedCopy:
    return planMaskedCopy(nest);
  case PlanKind::BufferedCopy:
    return planBufferedCopy(nest);
  }
  llvm_unreachable("a kind of schedules");
}

/// The schedule of a choice, with its loops in order and its rows gathered;
/// nothing where there is none.
NestPlanner::Trial NestPlanner::planChoice(const BlockedNest &nest,
                                           const PlanChoice &choice) const {
  bool isInterleave = choice.kind == PlanKind::Interleave ||
                      choice.kind == PlanKind::Deinterleave;
  if (!isInterleave && isTranspose(choice.kind) != nest.isTransposed())
    return std::nullopt;
  // Rows are shifted for the sake of lines.
  if (mayUseCache(choice.kind) ? nest.draft.shiftsRows : !mayUseNontemporal)
    return std::nullopt;
  Trial draft = planKind(nest, choice);
  if (!draft || !isTranspose(choice.kind))
    return draft;
  // Panels and carried rows have an order of their own.
  if (choice.kind != PlanKind::Carried && !draft->packsPanels())
    draft->orderLoops(choice.bySource);
  bool isOnNoLine = draft->shiftsRows && draft->stores() == StoreKind::Staged &&
                    !draft->isOnLines(bytes);
  if (isOnNoLine || (choice.gathers && !gatherRows(*draft)))
    return std::nullopt;
  return draft;
}

/// Adds the candidates for `nest` that `tuning` leaves.
void NestPlanner::addCandidates(const BlockedNest &nest,
                                const RelayoutTuning &tuning,
                                std::vector<Candidate> &candidates) const {
  forEachChoice(tuning, [&](const PlanChoice &choice) {
    bool isLate = choice.kind == PlanKind::Cached && isLarge &&
                  !choice.bySource && !tuning.bySource;
    if (isLate)
      return;
    if (Trial draft = planChoice(nest, choice)) {
      PlanCost cost = getPlanCost(*draft, bytes, target, isLarge);
      candidates.push_back({choice, std::move(*draft), cost});
    }
  });
}

/// The block of a candidate, and the terms of what it costs.
static std::string describe(const Candidate &candidate) {
  const auto &[choice, draft, cost] = candidate;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (isTranspose(choice.kind))
    os << draft.blockRows() << "x" << draft.blockColumns()
       << (choice.bySource ? " by source" : " by destination")
       << (choice.gathers ? ", gathered" : "")
       << (draft.shiftsRows ? ", shifted " : " ");
  os << "costs " << cost.total();
  const char *separator = ": ";
  cost.visit([&](llvm::StringRef term, int64_t value) {
    if (value != 0)
      os << std::exchange(separator, ", ") << term << " " << value;
  });
  return text;
}

/// Notes the cheapest candidate of each kind, the best one last, and all
/// choices.
void NestPlanner::noteCandidates(llvm::ArrayRef<Candidate> candidates) const {
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [number, candidate] : llvm::enumerate(candidates))
    order.push_back({candidate.cost.total(), number});
  llvm::sort(order);
  std::vector<PlanTrial> best;
  for (auto [cost, number] : order) {
    const Candidate &candidate = candidates[number];
    choices.push_back(candidate.choice.toTuning());
    std::string name = getName(candidate.choice.kind).str();
    if (isTranspose(candidate.choice.kind))
      name += " transpose";
    bool isKnown = llvm::any_of(
        best, [&](const PlanTrial &trial) { return trial.name == name; });
    if (!isKnown)
      best.push_back({name, best.empty(), describe(candidate)});
  }
  trials.insert(trials.end(), best.rbegin(), best.rend());
}

/// The best of all schedules. Of those that cost the same, the first one.
Draft NestPlanner::search(const BlockedNest &nest) const {
  std::vector<Candidate> candidates;
  addCandidates(nest, target.tuning, candidates);
  auto writesLines = [](const Candidate &candidate) {
    StoreKind stores = candidate.draft.stores();
    return stores == StoreKind::Nontemporal || stores == StoreKind::Carried;
  };
  if (mayUseNontemporal && nest.isTransposed() &&
      llvm::none_of(candidates, writesLines))
    if (Trial shifted = shiftRows(nest.draft, nest.rows.front())) {
      auto [rows, columns] = shifted->findRowsAndColumns();
      addCandidates({*shifted, rows, columns}, target.tuning, candidates);
    }
  if (candidates.empty()) {
    // A nest without what is asked for, such as the ends of rows.
    RelayoutTuning others = target.tuning;
    others.kind.reset();
    others.gathers.reset();
    addCandidates(nest, others, candidates);
  }
  auto best =
      llvm::min_element(candidates, [](const Candidate &a, const Candidate &b) {
        return a.cost.total() < b.cost.total();
      });
  noteCandidates(candidates);
  if (isTranspose(best->choice.kind))
    finish(best->draft, best->choice.kind);
  return std::move(best->draft);
}
