//===- PrintDiff.cpp - Differences of reports -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "HTML.h"
#include "ReportDiff.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::json::Object;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// `+57344`, `-8192`, `0`.
static std::string formatSigned(int64_t number) {
  return (number > 0 ? "+" : "") + std::to_string(number);
}

/// The same for a page, with thousands.
static std::string formatGrowth(int64_t number) {
  return (number > 0 ? "+" : "") + formatNumber(number);
}

static std::string describe(const ReportValue &value) {
  return "%" + value.name + " = " + value.shape->toString() + " " +
         value.operation + ", line " + std::to_string(value.line);
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
  if (changed.growth() == 0)
    os << after.allocatedBytes << " bytes as before";
  else
    os << before.allocatedBytes << " -> " << after.allocatedBytes << " bytes ("
       << formatSigned(changed.growth()) << ')';
  os << ", padding " << before.wastedBytes << " -> " << after.wastedBytes
     << '\n';
}

/// Values of one side alone, with what memory they have of their own.
static void printUnmatched(llvm::StringRef heading,
                           llvm::ArrayRef<const ValueReport *> values,
                           llvm::raw_ostream &os) {
  if (!values.empty())
    os << heading << '\n';
  for (const ValueReport *value : values) {
    os << "  " << describe(value->value) << ", ";
    if (value->allocatedBytes == 0)
      os << "in the memory of another value\n";
    else
      os << value->allocatedBytes << " bytes\n";
  }
}

bool tessera::printReportDiff(const Report &before, const Report &after,
                              llvm::raw_ostream &os) {
  ReportDiff diff = compareReports(before, after);
  if (!diff.sums.empty())
    os << "sums\n";
  for (const ChangedSum &sum : diff.sums)
    os << "  " << sum.name << ": " << sum.before << " -> " << sum.after << " ("
       << formatSigned(sum.growth()) << ")\n";
  if (!diff.changed.empty())
    os << "changed values, those whose own memory changes most first\n";
  for (const ChangedValue &value : diff.changed)
    printChanged(value, os);
  printUnmatched("values that are gone", diff.gone, os);
  printUnmatched("values that are new", diff.added, os);
  if (diff.isEmpty())
    os << "no difference in layouts, spaces and bytes\n";
  return !diff.isEmpty();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Value makeValue(const ValueReport &value) {
  return Object{{"name", makeString(value.value.name)},
                {"operation", value.value.operation},
                {"scope", makeString(value.value.scope)},
                {"line", value.value.line},
                {"shape", value.value.shape->toString()},
                {"allocated_bytes", value.allocatedBytes},
                {"wasted_bytes", value.wastedBytes}};
}

bool tessera::printReportDiffJSON(const Report &before, const Report &after,
                                  llvm::raw_ostream &os) {
  ReportDiff diff = compareReports(before, after);
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto list = [&](llvm::StringRef name, const auto &items, auto &&make) {
    json.attributeArray(name, [&] {
      for (const auto &item : items)
        json.value(make(item));
    });
  };
  auto makeAlone = [](const ValueReport *value) { return makeValue(*value); };
  json.object([&] {
    json.attribute("schema", "tessera.diff");
    json.attribute("version", 1);
    json.attribute("before", makeString(before.name));
    json.attribute("after", makeString(after.name));
    json.attribute("differs", !diff.isEmpty());
    list("sums", diff.sums, [](const ChangedSum &sum) {
      return Object{
          {"name", sum.name}, {"before", sum.before}, {"after", sum.after}};
    });
    list("changed", diff.changed, [](const ChangedValue &value) {
      return Object{
          {"what", describeChange(value.before->value, value.after->value)},
          {"before", makeValue(*value.before)},
          {"after", makeValue(*value.after)}};
    });
    list("gone", diff.gone, makeAlone);
    list("new", diff.added, makeAlone);
  });
  os << '\n';
  return !diff.isEmpty();
}

//===----------------------------------------------------------------------===//
// HTML
//===----------------------------------------------------------------------===//

static std::string describeHTML(const ReportValue &value) {
  return html::code("%" + value.name + " = " + value.shape->toString() + " " +
                    value.operation) +
         ", line " + std::to_string(value.line);
}

static void printSumsHTML(llvm::ArrayRef<ChangedSum> sums,
                          llvm::raw_ostream &os) {
  if (sums.empty())
    return;
  html::printHeading(os, "Sums", "those that changed");
  html::HTMLTable table(
      os,
      {{"before", true}, {"after", true}, {"growth", true}, {"sum", false}});
  for (const ChangedSum &sum : sums)
    table.row({formatSize(sum.before), formatSize(sum.after),
               formatGrowth(sum.growth()), html::escape(sum.name)});
}

static void printChangedHTML(llvm::ArrayRef<ChangedValue> values,
                             llvm::raw_ostream &os) {
  if (values.empty())
    return;
  html::printHeading(os, "Changed values",
                     "those whose own memory changes most first");
  html::HTMLTable table(os, {{"before", true},
                             {"after", true},
                             {"growth", true},
                             {"what", false},
                             {"value", false}});
  for (const ChangedValue &value : values)
    table.row({formatSize(value.before->allocatedBytes),
               formatSize(value.after->allocatedBytes),
               formatGrowth(value.growth()),
               describeChange(value.before->value, value.after->value),
               describeHTML(value.before->value) + "<br>&rarr; " +
                   describeHTML(value.after->value)});
}

static void printUnmatchedHTML(llvm::StringRef heading,
                               llvm::ArrayRef<const ValueReport *> values,
                               llvm::raw_ostream &os) {
  if (values.empty())
    return;
  html::printHeading(os, heading, "those of one side alone");
  html::HTMLTable table(os, {{"bytes", true}, {"value", false}});
  for (const ValueReport *value : values)
    table.row({formatSize(value->allocatedBytes), describeHTML(value->value)});
}

bool tessera::printReportDiffHTML(const Report &before, const Report &after,
                                  llvm::raw_ostream &os) {
  ReportDiff diff = compareReports(before, after);
  html::beginPage(os, "Changes from " + before.name + " to " + after.name);
  if (diff.isEmpty())
    os << "<p class=\"note\">no difference in layouts, spaces and bytes</p>\n";
  printSumsHTML(diff.sums, os);
  printChangedHTML(diff.changed, os);
  printUnmatchedHTML("Values that are gone", diff.gone, os);
  printUnmatchedHTML("Values that are new", diff.added, os);
  html::endPage(os);
  return !diff.isEmpty();
}
