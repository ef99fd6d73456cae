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

using Values = std::initializer_list<int64_t>;

namespace {
/// The choices of a kind that are tried: all combinations.
struct Grid {
  Values rowBytes, columnBytes, bySource, gathers;
};
} // namespace

static constexpr Grid kNoChoice = {{0}, {0}, {0}, {0}};

/// A kind of schedules.
struct NestPlanner::Kind {
  llvm::StringLiteral name;
  /// Makes the schedule of a choice.
  Trial (NestPlanner::*plan)(const BlockedNest &nest,
                             const PlanChoice &choice) const;
  /// Whether stores may go through the cache.
  bool mayUseCache;
  Grid grid = kNoChoice;
};

/// In the order of PlanKind.
const NestPlanner::Kind NestPlanner::kKinds[] = {
    {"cached",
     &NestPlanner::planCached,
     true,
     {{64, 128, 256, 512}, {16, 32, 64, 128, 256, 512, 1024}, {0, 1}, {0, 1}}},
    {"direct",
     &NestPlanner::planDirect,
     false,
     {{64, 128, 192, 256, 512}, {64, 256}, {1, 0}, {0, 1}}},
    {"dense", &NestPlanner::planDense, false, {{0}, {64, 128, 256}, {1}, {0}}},
    {"panels",
     &NestPlanner::planPanels,
     false,
     {{64, 128, 256, 512}, {64}, {1}, {0}}},
    {"ragged-panels",
     &NestPlanner::planPanels,
     false,
     {{128, 256, 512}, {64}, {1}, {0}}},
    {"carried",
     &NestPlanner::planCarried,
     false,
     {{64, 128, 256}, {64}, {1}, {0}}},
    {"staged",
     &NestPlanner::planStaged,
     false,
     {{64, 128, 192, 256, 512, 1024}, {64}, {1}, {0}}},
    {"interleave", &NestPlanner::planInterleave, true},
    {"deinterleave", &NestPlanner::planDeinterleave, true},
    {"gather", &NestPlanner::planGather, true, {{0}, {0}, {0, 1}, {0}}},
    {"copy", &NestPlanner::planCopy, true, {{0}, {0}, {0, 1}, {0}}},
    {"line-copy", &NestPlanner::planLineCopy, false},
    {"coalesced-copy", &NestPlanner::planCoalescedCopy, false},
    {"masked-copy", &NestPlanner::planMaskedCopy, false},
    {"buffered-copy", &NestPlanner::planBufferedCopy, false},
};

const NestPlanner::Kind &NestPlanner::getKind(PlanKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

llvm::StringRef tessera::getName(PlanKind kind) {
  return NestPlanner::getKind(kind).name;
}

bool tessera::isPlanKind(llvm::StringRef name) {
  return llvm::any_of(NestPlanner::kKinds, [&](const NestPlanner::Kind &kind) {
    return kind.name == name;
  });
}

static bool isTranspose(PlanKind kind) { return kind <= PlanKind::Staged; }

/// What is tried of one field: the values of the grid, or what overrules them.
template <typename T>
static llvm::SmallVector<int64_t, 6> getValues(Values values,
                                               std::optional<T> given) {
  if (given)
    return {std::clamp<int64_t>(*given, 0, kMaxBytes)};
  return llvm::SmallVector<int64_t, 6>(values);
}

/// Calls `visit` with all choices that `tuning` leaves.
void NestPlanner::forEachChoice(
    const RelayoutTuning &tuning,
    llvm::function_ref<void(const PlanChoice &)> visit) {
  for (auto [number, entry] : llvm::enumerate(kKinds)) {
    auto kind = static_cast<PlanKind>(number);
    const Grid &grid = entry.grid;
    if (tuning.kind && *tuning.kind != entry.name)
      continue;
    for (int64_t rows : getValues(grid.rowBytes, tuning.rowBytes))
      for (int64_t columns : getValues(grid.columnBytes, tuning.columnBytes))
        for (int64_t bySource : getValues(grid.bySource, tuning.bySource))
          for (int64_t gathers : getValues(grid.gathers, tuning.gathers))
            visit({kind, rows, columns, bySource != 0, gathers != 0});
  }
}

RelayoutTuning PlanChoice::toTuning() const {
  RelayoutTuning tuning;
  tuning.kind = getName(kind).str();
  if (kind == PlanKind::Copy || kind == PlanKind::Gather)
    tuning.bySource = bySource;
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

/// The schedule of a choice, with its loops in order and its rows gathered;
/// nothing where there is none.
NestPlanner::Trial NestPlanner::planChoice(const BlockedNest &nest,
                                           const PlanChoice &choice) const {
  bool isInterleave = choice.kind == PlanKind::Interleave ||
                      choice.kind == PlanKind::Deinterleave;
  if (!isInterleave && isTranspose(choice.kind) != nest.isTransposed())
    return std::nullopt;
  // Rows are shifted for the sake of lines.
  const Kind &kind = getKind(choice.kind);
  if (kind.mayUseCache ? nest.draft.shiftsRows : !mayUseNontemporal)
    return std::nullopt;
  Trial draft = (this->*kind.plan)(nest, choice);
  if (!draft || !isTranspose(choice.kind))
    return draft;
  // Panels and carried rows have an order of their own.
  if (choice.kind != PlanKind::Carried && !draft->packsPanels())
    draft->orderLoops(choice.bySource);
  bool isOnNoLine = draft->shiftsRows && draft->stores() == StoreKind::Staged &&
                    !draft->isOnLines(bytes);
  if (isOnNoLine || (choice.gathers && !gatherRows(*draft)))
    return std::nullopt;
  if (!draft->packsPanels())
    planPrefetch(*draft, choice.kind);
  return draft;
}

/// Adds the candidates for `nest` that `tuning` leaves.
void NestPlanner::addCandidates(const BlockedNest &nest,
                                const RelayoutTuning &tuning,
                                std::vector<Candidate> &candidates) const {
  forEachChoice(tuning, [&](const PlanChoice &choice) {
    // Beyond the caches, neither another order nor parts of lines are of use,
    // unless blocks have whole columns, of no more than a line.
    constexpr int64_t kLine = RelayoutTarget::kLineBytes;
    bool isOtherOrder = !choice.bySource && !tuning.bySource;
    bool isPart = choice.columnBytes < kLine && !tuning.columnBytes;
    bool isForCaches =
        choice.kind == PlanKind::Cached && isLarge && (isOtherOrder || isPart);
    if (isForCaches && countSteps(nest.rows) * nest.draft.runBytes() > kLine)
      return;
    if (Trial draft = planChoice(nest, choice)) {
      PlanCost cost = getPlanCost(*draft, bytes, target, isLarge);
      if (isForCaches)
        cost.jumps += target.costs.visitPs; // The rest of rows is read later.
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
    os << draft.blockRows() << "x" << draft.blockColumns() << " ";
  if (isTranspose(choice.kind) || choice.kind == PlanKind::Copy ||
      choice.kind == PlanKind::Gather)
    os << (choice.bySource ? "by source" : "by destination")
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
      auto [rows, columns] = shifted->findRowsAndColumns(getColumnBytes());
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
    finish(best->draft);
  return std::move(best->draft);
}
