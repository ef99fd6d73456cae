//===- Groups.cpp - Sums over source lines and operations -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

static llvm::StringRef getKey(const ReportValue &value,
                              ReportGrouping grouping) {
  bool isSource = grouping == ReportGrouping::Source;
  const std::string &key = isSource ? value.source : value.origin;
  return key.empty() ? "(unknown)" : llvm::StringRef(key);
}

static void addTo(int64_t &sum, int64_t bytes) {
  if (llvm::AddOverflow(sum, bytes, sum))
    sum = INT64_MAX;
}

/// Bytes of each value at the peak of main memory.
static std::vector<int64_t> getPeakBytes(const Report &report) {
  std::vector<int64_t> bytes(report.values.size(), 0);
  for (const SpaceReport &space : report.spaces)
    if (space.space == 0)
      for (auto [value, live] : space.liveAtPeak)
        bytes[value] = live;
  return bytes;
}

std::vector<ReportGroup> tessera::groupValues(const Report &report,
                                              ReportGrouping grouping) {
  std::vector<ReportGroup> groups;
  llvm::StringMap<size_t> numbers;
  std::vector<int64_t> peak = getPeakBytes(report);
  for (auto [i, value] : llvm::enumerate(report.values)) {
    llvm::StringRef key = getKey(value.value, grouping);
    auto [entry, isNew] = numbers.try_emplace(key, groups.size());
    if (isNew)
      groups.emplace_back().name = key.str();
    ReportGroup &group = groups[entry->second];
    ++group.values;
    addTo(group.peakBytes, peak[i]);
    addTo(group.allocatedBytes, value.allocatedBytes);
    addTo(group.paddingBytes, value.wastedBytes);
    addTo(group.movedBytes, value.movedBytes());
    addTo(group.cycles, value.value.cycles);
  }
  llvm::sort(groups, [](const ReportGroup &lhs, const ReportGroup &rhs) {
    return std::pair(-lhs.allocatedBytes, llvm::StringRef(lhs.name)) <
           std::pair(-rhs.allocatedBytes, llvm::StringRef(rhs.name));
  });
  return groups;
}

void tessera::printReportGroups(const Report &report, ReportGrouping grouping,
                                llvm::raw_ostream &os, size_t limit) {
  std::vector<ReportGroup> groups = groupValues(report, grouping);
  bool isSource = grouping == ReportGrouping::Source;
  os << "\nby " << (isSource ? "source line" : "operation") << ", of "
     << groups.size() << '\n';
  os << "  at the peak, allocated, padding, moved; cycles\n";
  for (const ReportGroup &group : llvm::ArrayRef(groups).take_front(limit))
    os << "  " << formatNumber(group.peakBytes) << ", "
       << formatNumber(group.allocatedBytes) << ", "
       << formatNumber(group.paddingBytes) << ", "
       << formatNumber(group.movedBytes) << "; " << formatNumber(group.cycles)
       << "  " << group.name << " (" << group.values
       << (group.values == 1 ? " value)\n" : " values)\n");
}
