//===- ReportDiff.cpp - What changed between two reports ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are the same when scope and name are. Compilers number names, so what
// is left over is matched again without the number, in the order of the text.
//
//===----------------------------------------------------------------------===//

#include "ReportDiff.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <tuple>

using namespace tessera;

namespace {
/// Pairs the values of two reports.
class Matcher {
public:
  Matcher(const Report &before, const Report &after)
      : before(before), after(after), partners(before.values.size()),
        taken(after.values.size(), false) {}

  /// Pairs values whose keys are equal, first come, first served.
  template <typename Key> void match(Key &&getKey) {
    std::map<std::string, std::vector<size_t>> free;
    for (size_t i = after.values.size(); i-- > 0;)
      if (!taken[i])
        free[getKey(after.values[i].value)].push_back(i);
    for (size_t i = 0; i < before.values.size(); ++i) {
      if (partners[i])
        continue;
      auto found = free.find(getKey(before.values[i].value));
      if (found == free.end() || found->second.empty())
        continue;
      partners[i] = found->second.back();
      taken[*partners[i]] = true;
      found->second.pop_back();
    }
  }

  const Report &before;
  const Report &after;
  std::vector<std::optional<size_t>> partners;
  std::vector<bool> taken;
};
} // namespace

/// `fusion` of `fusion.12.clone`.
static llvm::StringRef dropNumber(llvm::StringRef name) {
  return name.take_until([](char c) { return c == '.'; });
}

std::string tessera::describeChange(const ReportValue &before,
                                    const ReportValue &after) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  if (before.shape->toString(false) != after.shape->toString(false))
    return "shape";
  if (!before.shape->isArray())
    return "layouts";
  Layout from = before.shape->layoutOrDefault();
  Layout to = after.shape->layoutOrDefault();
  if (from.minorToMajor != to.minorToMajor)
    parts.push_back("order");
  if (from.tiles != to.tiles)
    parts.push_back("tiles");
  if (from.memorySpace != to.memorySpace)
    parts.push_back("space");
  if (parts.empty())
    parts.push_back("layout");
  return llvm::join(parts, ", ");
}

/// Sums of both sides; a space that one side lacks has none of anything.
static std::vector<ChangedSum> compareSums(const Report &before,
                                           const Report &after) {
  std::vector<ChangedSum> sums;
  auto compare = [&](const llvm::Twine &name, int64_t from, int64_t to) {
    if (from != to)
      sums.push_back({name.str(), from, to});
  };
  auto sum = [&](llvm::StringRef name, int64_t Report::*field) {
    compare(name, before.*field, after.*field);
  };
  sum("argument bytes", &Report::argumentBytes);
  sum("output bytes", &Report::outputBytes);
  if (before.isScheduled && after.isScheduled)
    sum("program bytes", &Report::programBytes);
  sum("host argument bytes", &Report::hostArgumentBytes);
  sum("host output bytes", &Report::hostOutputBytes);
  sum("buffer bytes", &Report::allocatedBytes);
  sum("padding bytes", &Report::paddingBytes);
  sum("relayout bytes", &Report::relayoutBytes);
  sum("async bytes", &Report::asyncBytes);
  std::map<int64_t, std::pair<SpaceReport, SpaceReport>> spaces;
  for (const SpaceReport &space : before.spaces)
    spaces[space.space].first = space;
  for (const SpaceReport &space : after.spaces)
    spaces[space.space].second = space;
  for (const auto &[number, pair] : spaces) {
    std::string name = "S(" + std::to_string(number) + ") ";
    compare(name + "peak live bytes", pair.first.peakBytes,
            pair.second.peakBytes);
    compare(name + "buffer bytes", pair.first.allocatedBytes,
            pair.second.allocatedBytes);
  }
  return sums;
}

static std::vector<ChangedValue> findChanged(const Matcher &matcher) {
  std::vector<ChangedValue> list;
  for (auto [i, partner] : llvm::enumerate(matcher.partners)) {
    if (!partner)
      continue;
    const ValueReport &before = matcher.before.values[i];
    const ValueReport &after = matcher.after.values[*partner];
    if (*before.value.shape != *after.value.shape)
      list.push_back({&before, &after});
  }
  // Small for what is to stand first; ties in the order of the text.
  auto rank = [](const ChangedValue &value) {
    return std::tuple(-std::abs(value.growth()), -value.affected(),
                      value.before);
  };
  llvm::sort(list, [&](const ChangedValue &lhs, const ChangedValue &rhs) {
    return rank(lhs) < rank(rhs);
  });
  return list;
}

ReportDiff tessera::compareReports(const Report &before, const Report &after) {
  Matcher matcher(before, after);
  matcher.match([](const ReportValue &value) {
    return value.scope + "\n" + value.name + "\n" + value.operation;
  });
  matcher.match([](const ReportValue &value) {
    return (dropNumber(value.scope) + "\n" + dropNumber(value.name) + "\n" +
            value.operation + "\n" + value.shape->toString(false))
        .str();
  });
  ReportDiff diff;
  diff.sums = compareSums(before, after);
  diff.changed = findChanged(matcher);
  for (auto [i, partner] : llvm::enumerate(matcher.partners))
    if (!partner)
      diff.gone.push_back(&before.values[i]);
  for (auto [i, isTaken] : llvm::enumerate(matcher.taken))
    if (!isTaken)
      diff.added.push_back(&after.values[i]);
  return diff;
}
