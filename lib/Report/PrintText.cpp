//===- PrintText.cpp - The report for people ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"

#include "tessera/View/Explain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace tessera;

std::string tessera::formatNumber(int64_t number) {
  return llvm::formatv("{0:N}", number);
}

/// `1,703,936 bytes`, `1 byte`.
static std::string countBytes(int64_t bytes) {
  return formatNumber(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string tessera::formatSize(int64_t bytes) {
  constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  const char *unit = nullptr;
  for (const char *larger : units) {
    if (value < 1024)
      break;
    value /= 1024;
    unit = larger;
  }
  return unit ? llvm::formatv("{0:f1} {1}", value, unit).str()
              : countBytes(bytes);
}

std::string tessera::formatBytes(int64_t bytes) {
  std::string text = countBytes(bytes);
  return bytes < 1024 ? text : text + " (" + formatSize(bytes) + ")";
}

std::string tessera::formatSpace(int64_t space) {
  return "S(" + std::to_string(space) + "), " + getMemorySpaceName(space).str();
}

std::string tessera::formatPercent(int64_t part, int64_t whole) {
  double share = whole == 0 ? 0
                            : 100.0 * static_cast<double>(part) /
                                  static_cast<double>(whole);
  return llvm::formatv("{0:f1} %", share);
}

std::string tessera::formatExpansion(double expansion) {
  if (!std::isfinite(expansion))
    return "only padding";
  return llvm::formatv("{0:f2} times", expansion);
}

std::string tessera::formatExtents(const ValueReport &value) {
  if (value.physicalShape.empty())
    return "";
  std::string text = ", as ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(value.physicalShape, os, "x");
  return text + " in memory";
}

std::string tessera::describeMove(const ValueReport &value) {
  const ReportMove &move = *value.value.move;
  std::string text = "%" + move.source + " " + move.from->toString() + " -> " +
                     move.to->toString() + ": " +
                     std::to_string(value.bytesRead) + " bytes read, " +
                     std::to_string(value.bytesWritten) + " written";
  if (move.kind == ReportMove::Kind::Async)
    text += ", while " + std::to_string(move.overlap) +
            (move.overlap == 1 ? " step runs" : " steps run");
  return text;
}

std::string tessera::describeValue(const Report &report,
                                   const ValueReport &value) {
  std::string text = "%" + value.value.name;
  if (!report.values.empty() &&
      value.value.scope != report.values.back().value.scope)
    text += " in %" + value.value.scope;
  return text;
}

namespace {
/// Rows of cells, the first row the titles; numbers to the right.
struct Table {
  std::vector<std::vector<std::string>> rows;

  void print(llvm::raw_ostream &os) const;
};
} // namespace

void Table::print(llvm::raw_ostream &os) const {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, cell.size());
  for (const auto &row : rows) {
    os << ' ';
    for (size_t i = 0; i < row.size(); ++i) {
      // The last column is text.
      bool isLast = i + 1 == row.size();
      os << ' ';
      if (!isLast)
        os << llvm::right_justify(row[i], widths[i]) << ' ';
      else
        os << row[i];
    }
    os << '\n';
  }
}

static void printSummary(const Report &report, llvm::raw_ostream &os) {
  os << "module " << report.name << ": " << report.values.size() << " values"
     << (report.isScheduled ? ", scheduled\n" : ", not scheduled\n");
  auto line = [&](llvm::StringRef what, int64_t bytes, llvm::StringRef note) {
    os << "  " << llvm::left_justify(what, 13) << formatBytes(bytes) << note
       << '\n';
  };
  line("arguments", report.argumentBytes, ", each array rounded up to 512");
  line("outputs", report.outputBytes,
       ", likewise, and 512 for the table of a tuple");
  if (report.isScheduled)
    line("program", report.programBytes,
         " of main memory: these, less what they share, and temporaries");
  if (report.assignedBytes)
    line("assigned", *report.assignedBytes,
         " of main memory: what the compiler's buffer assignment has");
  if (report.hostArgumentBytes > 0)
    line("host args", report.hostArgumentBytes,
         ", in the host's memory, likewise");
  if (report.hostOutputBytes > 0)
    line("host outputs", report.hostOutputBytes,
         ", in the host's memory, likewise");
  line("buffers", report.allocatedBytes,
       ", of all values, as if none took the memory of another");
  line("padding", report.paddingBytes,
       " of them, " +
           formatPercent(report.paddingBytes, report.allocatedBytes));
  line("relayouts", report.relayoutBytes,
       " read and written by copies, transposes and reshapes");
  line("async copies", report.asyncBytes,
       " read and written by moves between spaces");
  if (report.bound)
    line("traffic", report.bound->bytes,
         " read and written that layouts decide; no assignment of them has "
         "less than " +
             formatBytes(report.bound->least));
}

static void printSpaces(const Report &report, llvm::raw_ostream &os) {
  Table table;
  bool live = report.isScheduled;
  table.rows.push_back({"peak live", "at step", "all buffers", "padding",
                        "moves read", "moves write", "space"});
  for (const SpaceReport &space : report.spaces)
    table.rows.push_back(
        {live ? std::to_string(space.peakBytes) : "?",
         live ? std::to_string(space.peakStep) : "?",
         std::to_string(space.allocatedBytes),
         std::to_string(space.paddingBytes), std::to_string(space.bytesRead),
         std::to_string(space.bytesWritten), formatSpace(space.space)});
  os << "\nmemory spaces, in bytes\n";
  table.print(os);
}

static void printAssigned(const Report &report, llvm::raw_ostream &os) {
  if (report.assignedTemporaries.empty())
    return;
  Table table;
  table.rows.push_back({"bytes", "most at once", "gaps then", "space"});
  for (const ReportMap &map : report.assignedTemporaries)
    table.rows.push_back({std::to_string(map.bytes),
                          std::to_string(map.usedBytes),
                          formatPercent(map.bytes - map.usedBytes, map.bytes),
                          formatSpace(map.space)});
  os << "\ntemporaries, as the compiler assigned them\n";
  table.print(os);
}

static void printPeaks(const Report &report, llvm::raw_ostream &os,
                       size_t limit) {
  for (const SpaceReport &space : report.spaces) {
    if (space.liveAtPeak.empty())
      continue;
    os << "\nlive in S(" << space.space << ") at its peak, step "
       << space.peakStep << " of 0 to " << report.steps.size() - 1 << ", %"
       << report.steps[space.peakStep] << '\n';
    Table table;
    table.rows.push_back({"bytes", "value"});
    int64_t shown = 0;
    for (auto [value, bytes] :
         llvm::ArrayRef(space.liveAtPeak).take_front(limit)) {
      const ReportValue &of = report.values[value].value;
      table.rows.push_back(
          {std::to_string(bytes),
           "%" + of.name + " = " + of.shape->toString() + " " + of.operation});
      shown += bytes;
    }
    if (shown < space.peakBytes)
      table.rows.push_back({std::to_string(space.peakBytes - shown),
                            "others, and what runs within this step"});
    table.print(os);
  }
}

static void printSuggestion(const std::optional<Suggestion> &suggestion,
                            llvm::raw_ostream &os) {
  if (suggestion)
    os << "     " << suggestion->text << '\n';
}

static void printWaste(const Report &report, llvm::raw_ostream &os,
                       size_t limit) {
  if (report.byWaste.empty())
    return;
  os << "\nmost padding, of " << report.byWaste.size() << " values with any\n";
  for (auto [rank, i] :
       llvm::enumerate(llvm::ArrayRef(report.byWaste).take_front(limit))) {
    const ValueReport &value = report.values[i];
    os << "  " << rank + 1 << ". " << describeValue(report, value) << " = "
       << value.value.shape->toString() << " " << value.value.operation
       << ", line " << value.value.line << "\n     " << value.wastedBytes
       << " of " << value.allocatedBytes << " bytes are padding, "
       << formatExpansion(value.expansion) << " its elements"
       << formatExtents(value) << '\n';
    printSuggestion(value.suggestion, os);
  }
}

static void printMoves(const Report &report, llvm::raw_ostream &os,
                       size_t limit) {
  if (report.byMove.empty())
    return;
  os << "\nmost moved, of " << report.byMove.size() << " moves\n";
  for (auto [rank, i] :
       llvm::enumerate(llvm::ArrayRef(report.byMove).take_front(limit))) {
    const ValueReport &value = report.values[i];
    os << "  " << rank + 1 << ". " << describeValue(report, value) << ", "
       << value.value.operation << ", line " << value.value.line << "\n     "
       << describeMove(value) << '\n';
    printSuggestion(value.moveSuggestion, os);
  }
}

static void printValues(const Report &report, llvm::raw_ostream &os,
                        size_t limit) {
  std::vector<size_t> order;
  for (size_t i = 0; i < report.values.size(); ++i)
    if (report.values[i].allocatedBytes > 0)
      order.push_back(i);
  llvm::sort(order, [&](size_t lhs, size_t rhs) {
    return std::pair(-report.values[lhs].allocatedBytes, lhs) <
           std::pair(-report.values[rhs].allocatedBytes, rhs);
  });
  os << "\nlargest, of " << order.size()
     << " values with memory of their own, in bytes (the first three of a "
        "tuple count what it shares too)\n";
  Table table;
  table.rows.push_back(
      {"logical", "physical", "padding", "allocated", "value"});
  for (size_t i : llvm::ArrayRef(order).take_front(limit)) {
    const ValueReport &value = report.values[i];
    table.rows.push_back({std::to_string(value.logicalBytes),
                          std::to_string(value.physicalBytes),
                          std::to_string(value.paddingBytes),
                          std::to_string(value.allocatedBytes),
                          describeValue(report, value) + " = " +
                              value.value.shape->toString() + " " +
                              value.value.operation});
  }
  table.print(os);
}

void tessera::printReport(const Report &report, llvm::raw_ostream &os,
                          size_t limit) {
  printSummary(report, os);
  printSpaces(report, os);
  printAssigned(report, os);
  printPeaks(report, os, limit);
  printWaste(report, os, limit);
  printMoves(report, os, limit);
  printValues(report, os, limit);
}
