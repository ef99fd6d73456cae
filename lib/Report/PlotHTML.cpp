//===- PlotHTML.cpp - The plots of the page -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plots have some hundred marks however long the schedule is: a bar stands for
// the step of its stretch with the most bytes.
//
//===----------------------------------------------------------------------===//

#include "PlotHTML.h"
#include "Format.h"
#include "HTML.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace tessera;
using llvm::raw_ostream;

static constexpr double kWidth = 900, kHeight = 160, kLeft = 10, kTop = 24;
static constexpr double kBottom = kTop + kHeight;

namespace {
/// A stretch of steps.
struct Bar {
  size_t begin = 0, end = 0;
  /// In the plot.
  double left = 0, width = 0;
};

/// Live bytes of one space.
class LivePlot {
public:
  LivePlot(const Report &report, const SpaceReport &space,
           llvm::ArrayRef<ReportCapacity> capacities);

  void print(llvm::ArrayRef<Bar> bars, llvm::StringRef first,
             llvm::StringRef last, raw_ostream &os) const;

private:
  int64_t getScoped(size_t step) const {
    return step < space.scopedBytes.size() ? space.scopedBytes[step] : 0;
  }
  double getHeight(int64_t bytes) const {
    return kHeight * static_cast<double>(bytes) / static_cast<double>(most);
  }
  void printBar(const Bar &bar, raw_ostream &os) const;
  void printCapacity(raw_ostream &os) const;

  const Report &report;
  const SpaceReport &space;
  const ReportCapacity *capacity = nullptr;
  /// Bytes at the top of the plot.
  int64_t most = 1;
};
} // namespace

LivePlot::LivePlot(const Report &report, const SpaceReport &space,
                   llvm::ArrayRef<ReportCapacity> capacities)
    : report(report), space(space) {
  most = std::max<int64_t>({1, space.peakBytes, space.scopedPeakBytes});
  for (const ReportCapacity &one : capacities)
    if (one.space == space.space && one.bytes > 0)
      capacity = &one;
  // A memory that is far from full is told of, not drawn.
  if (capacity && capacity->bytes / 4 <= most)
    most = std::max(most, capacity->bytes);
}

void LivePlot::printBar(const Bar &bar, raw_ostream &os) const {
  auto getBytes = [&](size_t step) {
    return static_cast<double>(space.liveBytes[step]) +
           static_cast<double>(getScoped(step));
  };
  size_t step = bar.begin;
  for (size_t i = bar.begin; i < bar.end; ++i)
    if (getBytes(i) > getBytes(step))
      step = i;
  int64_t live = space.liveBytes[step], scoped = getScoped(step);
  auto printRect = [&](llvm::StringRef kind, double top, double height) {
    os << "<rect class=\"" << kind << "\" "
       << llvm::format("x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
                       bar.left, top, bar.width * 0.9, height)
       << "/>";
  };
  bool isPeak = bar.begin <= static_cast<size_t>(space.peakStep) &&
                static_cast<size_t>(space.peakStep) < bar.end;
  os << "<g><title>step " << step << " "
     << html::escape("%" + report.steps[step]) << ": " << formatNumber(live)
     << " bytes";
  if (scoped > 0)
    os << " and " << formatNumber(scoped) << " scoped";
  os << "</title>";
  double height = getHeight(live);
  printRect(isPeak ? "peak" : "bar", kBottom - height, height);
  if (scoped > 0)
    printRect("scoped", kBottom - height - getHeight(scoped),
              getHeight(scoped));
  os << "</g>\n";
}

void LivePlot::printCapacity(raw_ostream &os) const {
  if (!capacity || capacity->bytes > most)
    return;
  double y = kBottom - getHeight(capacity->bytes);
  os << llvm::format("<line class=\"capacity\" x1=\"10\" y1=\"%.2f\" "
                     "x2=\"910\" y2=\"%.2f\"/>\n",
                     y, y)
     << llvm::format("<text class=\"capacity\" x=\"910\" y=\"%.2f\" "
                     "text-anchor=\"end\">",
                     y + 12)
     << html::escape(capacity->name) << ", " << formatBytes(capacity->bytes)
     << "</text>\n";
}

void LivePlot::print(llvm::ArrayRef<Bar> bars, llvm::StringRef first,
                     llvm::StringRef last, raw_ostream &os) const {
  os << "<svg class=\"plot\" viewBox=\"0 0 920 220\" role=\"img\" "
        "aria-label=\"live bytes\">\n<text x=\"10\" y=\"14\">S("
     << space.space << "): " << formatBytes(space.peakBytes) << " at step "
     << space.peakStep << ", "
     << html::escape("%" + report.steps[space.peakStep]);
  if (space.scopedPeakBytes > 0)
    os << "; with scoped memory " << formatBytes(space.scopedPeakBytes)
       << " at step " << space.scopedPeakStep;
  if (capacity)
    os << "; " << formatPercent(most > 1 ? space.peakBytes : 0, capacity->bytes)
       << " of " << html::escape(capacity->name);
  os << "</text>\n";
  for (const Bar &bar : bars)
    printBar(bar, os);
  printCapacity(os);
  os << "<line x1=\"10\" y1=\"184\" x2=\"910\" y2=\"184\"/>\n"
     << "<text x=\"10\" y=\"202\">" << first << "</text>\n"
     << "<text x=\"910\" y=\"202\" text-anchor=\"end\">" << last
     << "</text>\n</svg>\n";
}

static constexpr size_t kMaxBars = 300;

/// Equal stretches of steps.
static std::vector<Bar> getBarsOfSteps(size_t steps) {
  size_t perBar = (steps + kMaxBars - 1) / kMaxBars;
  std::vector<Bar> bars;
  for (size_t begin = 0; begin < steps; begin += perBar)
    bars.push_back({begin, std::min(begin + perBar, steps)});
  double width = kWidth / static_cast<double>(bars.size());
  for (auto [i, bar] : llvm::enumerate(bars)) {
    bar.left = kLeft + width * static_cast<double>(i);
    bar.width = width;
  }
  return bars;
}

/// Steps as wide as they take time; those that together take less than a bar
/// are one.
static std::vector<Bar> getBarsOfTime(llvm::ArrayRef<int64_t> cycles) {
  double total = 0;
  for (int64_t count : cycles)
    total += static_cast<double>(count);
  std::vector<Bar> bars;
  double left = 0, width = 0;
  size_t begin = 0;
  for (size_t step = 0; step < cycles.size(); ++step) {
    width += kWidth * static_cast<double>(cycles[step]) / total;
    bool isLast = step + 1 == cycles.size();
    if (width < kWidth / kMaxBars && !isLast)
      continue;
    bars.push_back({begin, step + 1, kLeft + left, width});
    left += width;
    width = 0;
    begin = step + 1;
  }
  return bars;
}

void tessera::printLivePlots(const Report &report,
                             llvm::ArrayRef<ReportCapacity> capacities,
                             raw_ostream &os) {
  if (!report.isScheduled || report.steps.empty())
    return;
  auto printAll = [&](llvm::ArrayRef<Bar> bars, llvm::StringRef first,
                      llvm::StringRef last) {
    for (const SpaceReport &space : report.spaces)
      if (space.peakBytes > 0)
        LivePlot(report, space, capacities).print(bars, first, last, os);
  };
  html::printHeading(os, "Live bytes over the schedule",
                     "One bar for each step; the peak has another colour, and "
                     "scoped memory of "
                     "the step stands on top of the values that are live.");
  printAll(getBarsOfSteps(report.steps.size()), "step 0",
           "step " + std::to_string(report.steps.size() - 1));
  if (report.stepCycles.empty())
    return;
  int64_t total = 0;
  for (int64_t cycles : report.stepCycles)
    total = cycles > INT64_MAX - total ? INT64_MAX : total + cycles;
  html::printHeading(os, "Live bytes over time",
                     "Steps as wide as the cycles that the compiler expects; a "
                     "loop counts as one run of its body.");
  printAll(getBarsOfTime(report.stepCycles), "0",
           formatNumber(total) + " cycles");
}

//===----------------------------------------------------------------------===//
// Bytes against cycles
//===----------------------------------------------------------------------===//

namespace {
/// Logarithms of numbers as parts of the range that they span.
struct LogScale {
  int64_t least = INT64_MAX, most = 1;

  void add(int64_t number) {
    least = std::min(least, std::max<int64_t>(number, 1));
    most = std::max(most, number);
  }
  double get(int64_t number) const {
    if (most <= least)
      return 0.5;
    auto ratio = [&](int64_t n) {
      return std::log2(static_cast<double>(std::max(n, least)) /
                       static_cast<double>(least));
    };
    return ratio(number) / ratio(most);
  }
};
} // namespace

/// Values with cycles, those that take most first.
static std::vector<const ValueReport *> getSlowest(const Report &report) {
  std::vector<const ValueReport *> values;
  for (const ValueReport &value : report.values)
    if (value.value.cycles > 0)
      values.push_back(&value);
  llvm::sort(values, [](const ValueReport *lhs, const ValueReport *rhs) {
    return std::pair(-lhs->value.cycles, lhs) <
           std::pair(-rhs->value.cycles, rhs);
  });
  return values;
}

void tessera::printCyclesPlot(const Report &report, raw_ostream &os) {
  std::vector<const ValueReport *> values = getSlowest(report);
  if (values.empty())
    return;
  constexpr size_t kMaxMarks = 1000;
  html::printHeading(
      os, "Bytes against time",
      "One mark for each instruction that the compiler expects "
      "cycles of: to the right what takes longer, upwards what "
      "reads and writes more, both by their logarithms. Low and to "
      "the right is what memory does not explain.");
  LogScale cycles, bytes;
  for (const ValueReport *value : values) {
    cycles.add(value->value.cycles);
    bytes.add(value->touchedBytes);
  }
  os << "<svg class=\"plot\" viewBox=\"0 0 920 220\" role=\"img\" "
        "aria-label=\"bytes against cycles\">\n";
  for (const ValueReport *value : llvm::ArrayRef(values).take_front(kMaxMarks))
    os << llvm::format("<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3\">",
                       kLeft + kWidth * cycles.get(value->value.cycles),
                       kBottom - kHeight * bytes.get(value->touchedBytes))
       << "<title>" << html::escape(describeValue(report, *value)) << ": "
       << formatNumber(value->value.cycles) << " cycles, "
       << formatNumber(value->touchedBytes) << " bytes</title></circle>\n";
  os << "<line x1=\"10\" y1=\"184\" x2=\"910\" y2=\"184\"/>\n"
     << "<text x=\"10\" y=\"202\">" << formatNumber(cycles.least)
     << " cycles</text>\n"
     << "<text x=\"910\" y=\"202\" text-anchor=\"end\">"
     << formatNumber(values.front()->value.cycles)
     << " cycles</text>\n</svg>\n";
}
