//===- PrintDiff.cpp - What changed between two reports -------------------===//
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

#include "tessera/Report/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

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

static void printSigned(llvm::raw_ostream &os, int64_t number) {
  os << (number > 0 ? "+" : "") << number;
}

/// A number that differs, on a line; whether it does.
static bool compare(llvm::StringRef what, int64_t before, int64_t after,
                    llvm::raw_ostream &os) {
  if (before == after)
    return false;
  os << "  " << what << ": " << before << " -> " << after << " (";
  printSigned(os, after - before);
  os << ")\n";
  return true;
}

static bool compareSums(const Report &before, const Report &after,
                        llvm::raw_ostream &os) {
  bool changed = false;
  auto sum = [&](llvm::StringRef what, int64_t Report::*field) {
    changed |= compare(what, before.*field, after.*field, os);
  };
  sum("argument bytes", &Report::argumentBytes);
  sum("output bytes", &Report::outputBytes);
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
    changed |= compare(name + "peak live bytes", pair.first.peakBytes,
                       pair.second.peakBytes, os);
    changed |= compare(name + "buffer bytes", pair.first.allocatedBytes,
                       pair.second.allocatedBytes, os);
  }
  return changed;
}

static std::string describe(const ReportValue &value) {
  return "%" + value.name + " = " + value.shape->toString() + " " +
         value.operation + ", line " + std::to_string(value.line);
}

/// What differs between the leaves of two shapes that agree but for layouts.
static std::string describeChange(const ReportValue &before,
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

namespace {
/// A value before and after the change.
struct ChangedValue {
  const ValueReport *before;
  const ValueReport *after;

  int64_t growth() const {
    return after->allocatedBytes - before->allocatedBytes;
  }
  /// Bytes that got another layout or space.
  int64_t affected() const {
    return std::max(before->allocatedBytes, after->allocatedBytes);
  }
  /// Small for what is to stand first; ties in the order of the text.
  std::tuple<int64_t, int64_t, const ValueReport *> rank() const {
    return {-std::abs(growth()), -affected(), before};
  }
};
} // namespace

/// Values whose shape or layout differs: those whose memory changes most first,
/// then those with most memory.
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
  llvm::sort(list, [](const ChangedValue &lhs, const ChangedValue &rhs) {
    return lhs.rank() < rhs.rank();
  });
  return list;
}

static void printChanged(const ChangedValue &changed, llvm::raw_ostream &os) {
  const ValueReport &before = *changed.before, &after = *changed.after;
  os << "  " << describeChange(before.value, after.value) << ": "
     << describe(before.value) << "\n    -> " << describe(after.value)
     << "\n    ";
  if (changed.affected() == 0) {
    os << "in the memory of another value\n";
    return;
  }
  if (changed.growth() == 0) {
    os << after.allocatedBytes << " bytes as before";
  } else {
    os << before.allocatedBytes << " -> " << after.allocatedBytes << " bytes (";
    printSigned(os, changed.growth());
    os << ')';
  }
  os << ", padding " << before.wastedBytes << " -> " << after.wastedBytes
     << '\n';
}

/// Values of one side alone, with what memory they have of their own.
static bool listUnmatched(llvm::StringRef heading, const Report &report,
                          llvm::function_ref<bool(size_t)> isUnmatched,
                          llvm::raw_ostream &os) {
  bool any = false;
  for (auto [i, value] : llvm::enumerate(report.values)) {
    if (!isUnmatched(i))
      continue;
    if (!std::exchange(any, true))
      os << heading << '\n';
    os << "  " << describe(value.value) << ", ";
    if (value.allocatedBytes == 0)
      os << "in the memory of another value\n";
    else
      os << value.allocatedBytes << " bytes\n";
  }
  return any;
}

static bool compareValues(const Matcher &matcher, llvm::raw_ostream &os) {
  std::vector<ChangedValue> changed = findChanged(matcher);
  if (!changed.empty())
    os << "changed values, those whose own memory changes most first\n";
  for (const ChangedValue &value : changed)
    printChanged(value, os);
  bool gone = listUnmatched(
      "values that are gone", matcher.before,
      [&](size_t i) { return !matcher.partners[i]; }, os);
  bool added = listUnmatched(
      "values that are new", matcher.after,
      [&](size_t i) { return !matcher.taken[i]; }, os);
  return !changed.empty() || gone || added;
}

bool tessera::printReportDiff(const Report &before, const Report &after,
                              llvm::raw_ostream &os) {
  Matcher matcher(before, after);
  matcher.match([](const ReportValue &value) {
    return value.scope + "\n" + value.name + "\n" + value.operation;
  });
  matcher.match([](const ReportValue &value) {
    return (dropNumber(value.scope) + "\n" + dropNumber(value.name) + "\n" +
            value.operation + "\n" + value.shape->toString(false))
        .str();
  });
  std::string sums, values;
  llvm::raw_string_ostream sumStream(sums), valueStream(values);
  bool changed = compareSums(before, after, sumStream);
  changed |= compareValues(matcher, valueStream);
  if (!sums.empty())
    os << "sums\n" << sums;
  os << values;
  if (!changed)
    os << "no difference in layouts, spaces and bytes\n";
  return changed;
}
