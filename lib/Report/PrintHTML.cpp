//===- PrintHTML.cpp - The report as a page -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables, the pictures of tessera-layout draw, and plots in SVG.
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "HTML.h"

#include "tessera/View/Picture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::html;
using llvm::raw_ostream;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static std::string adviceOn(const std::optional<Suggestion> &suggestion) {
  if (!suggestion)
    return "";
  return "<div class=\"advice\">" + escape(suggestion->text) + "</div>";
}

static void printSums(const Report &report, raw_ostream &os) {
  auto card = [&](StringRef what, int64_t bytes, StringRef note) {
    os << "<div>" << what << "<b>" << formatBytes(bytes) << "</b><span>" << note
       << "</span></div>\n";
  };
  os << "<div class=\"sums\">\n";
  card("arguments", report.argumentBytes, "each array rounded up to 512");
  card("outputs", report.outputBytes,
       "likewise, and 512 for the table of a tuple");
  if (report.hostArgumentBytes > 0)
    card("host arguments", report.hostArgumentBytes,
         "in the host's memory, likewise");
  if (report.hostOutputBytes > 0)
    card("host outputs", report.hostOutputBytes,
         "in the host's memory, likewise");
  card("buffers", report.allocatedBytes,
       "of all values, as if none took the memory of another");
  card("padding", report.paddingBytes,
       formatPercent(report.paddingBytes, report.allocatedBytes) +
           " of the buffers");
  card("relayouts", report.relayoutBytes,
       "read and written by copies, transposes, reshapes");
  card("async copies", report.asyncBytes,
       "read and written by moves between spaces");
  os << "</div>\n";
}

static void printSpaces(const Report &report, raw_ostream &os) {
  printHeading(os, "Memory spaces", "Bytes, by the S of the layouts.");
  HTMLTable table(os, {{"space", false},
                       {"peak live", true},
                       {"at step", true},
                       {"all buffers", true},
                       {"padding", true},
                       {"moves read", true},
                       {"moves write", true}});
  for (const SpaceReport &space : report.spaces) {
    bool live = report.isScheduled;
    table.row({formatSpace(space.space),
               live ? std::to_string(space.peakBytes) : "not scheduled",
               live ? std::to_string(space.peakStep) : "",
               std::to_string(space.allocatedBytes),
               std::to_string(space.paddingBytes),
               std::to_string(space.bytesRead),
               std::to_string(space.bytesWritten)});
  }
}

//===----------------------------------------------------------------------===//
// Plots
//===----------------------------------------------------------------------===//

/// Bars over the schedule; where steps are many, each bar is the most of its
/// steps.
static void printPlot(const Report &report, const SpaceReport &space,
                      raw_ostream &os) {
  constexpr size_t kMaxBars = 300;
  constexpr double kWidth = 900, kHeight = 160, kLeft = 10, kTop = 24;
  size_t steps = space.liveBytes.size();
  size_t perBar = (steps + kMaxBars - 1) / kMaxBars;
  size_t bars = (steps + perBar - 1) / perBar;
  double barWidth = kWidth / static_cast<double>(bars);
  os << "<svg class=\"plot\" viewBox=\"0 0 920 220\" role=\"img\" "
        "aria-label=\"live bytes over the schedule\">\n";
  os << "<text x=\"10\" y=\"14\">S(" << space.space
     << "): " << formatBytes(space.peakBytes) << " at step " << space.peakStep
     << ", " << escape("%" + report.steps[space.peakStep]) << "</text>\n";
  for (size_t bar = 0; bar < bars; ++bar) {
    auto range =
        llvm::ArrayRef(space.liveBytes).slice(bar * perBar).take_front(perBar);
    size_t step = llvm::max_element(range) - space.liveBytes.data();
    int64_t bytes = space.liveBytes[step];
    double height = kHeight * static_cast<double>(bytes) /
                    static_cast<double>(std::max<int64_t>(space.peakBytes, 1));
    os << "<rect class=\""
       << (static_cast<int64_t>(step) == space.peakStep ? "peak" : "bar")
       << "\" "
       << llvm::format("x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
                       kLeft + barWidth * static_cast<double>(bar),
                       kTop + kHeight - height, barWidth * 0.9, height)
       << "><title>step " << step << " " << escape("%" + report.steps[step])
       << ": " << bytes << " bytes</title></rect>\n";
  }
  os << "<line x1=\"10\" y1=\"184\" x2=\"910\" y2=\"184\"/>\n"
     << "<text x=\"10\" y=\"202\">step 0</text>\n"
     << "<text x=\"910\" y=\"202\" text-anchor=\"end\">step " << steps - 1
     << "</text>\n</svg>\n";
}

static void printPlots(const Report &report, raw_ostream &os) {
  if (!report.isScheduled || report.steps.empty())
    return;
  printHeading(os, "Live bytes over the schedule",
               "One bar for each step; the peak has another colour.");
  for (const SpaceReport &space : report.spaces)
    if (space.peakBytes > 0)
      printPlot(report, space, os);
}

//===----------------------------------------------------------------------===//
// Worst offenders
//===----------------------------------------------------------------------===//

/// The pictures of the first few different layouts among the worst.
static void printPictures(const Report &report, raw_ostream &os) {
  constexpr size_t kMaxPictures = 3;
  llvm::StringSet<> drawn;
  for (size_t i : report.byWaste) {
    const Shape &shape = *report.values[i].value.shape;
    if (drawn.size() == kMaxPictures)
      return;
    if (!shape.isArray() || !drawn.insert(shape.toString()).second)
      continue;
    llvm::Expected<Picture> picture = makePicture(shape);
    // A layout that cannot be drawn is still in the table.
    if (!picture) {
      llvm::consumeError(picture.takeError());
      continue;
    }
    if (drawn.size() == 1)
      printHeading(os, "Pictures of the layouts that waste most",
                   "First tiles and ragged edges; hover over a cell for its "
                   "element and position.");
    os << "<h3>"
       << code("%" + report.values[i].value.name + " = " + shape.toString())
       // Each picture brings styles and names of its own.
       << "</h3>\n<div class=\"scroll\"><template shadowrootmode=\"open\">\n";
    drawSVG(*picture, os);
    os << "</template></div>\n";
  }
}

static void printWaste(const Report &report, raw_ostream &os, size_t limit) {
  if (report.byWaste.empty())
    return;
  printHeading(os, "Most padding",
               std::to_string(report.byWaste.size()) + " values have any.");
  HTMLTable table(
      os,
      {{"padding", true}, {"of", true}, {"expansion", true}, {"value", false}});
  for (size_t i : llvm::ArrayRef(report.byWaste).take_front(limit)) {
    const ValueReport &value = report.values[i];
    table.row(
        {std::to_string(value.wastedBytes),
         std::to_string(value.allocatedBytes), formatExpansion(value.expansion),
         code(describeValue(report, value) + " = " +
              value.value.shape->toString() + " " + value.value.operation) +
             adviceOn(value.suggestion)});
  }
}

static void printMoves(const Report &report, raw_ostream &os, size_t limit) {
  if (report.byMove.empty())
    return;
  printHeading(os, "Most moved",
               std::to_string(report.byMove.size()) +
                   " relayouts and asynchronous copies.");
  HTMLTable table(os, {{"read", true}, {"written", true}, {"move", false}});
  for (size_t i : llvm::ArrayRef(report.byMove).take_front(limit)) {
    const ValueReport &value = report.values[i];
    table.row(
        {std::to_string(value.bytesRead), std::to_string(value.bytesWritten),
         code(describeValue(report, value) + " " + value.value.operation) +
             "<br>" + code(describeMove(value)) +
             adviceOn(value.moveSuggestion)});
  }
}

static void printValues(const Report &report, raw_ostream &os) {
  // A page of more rows does not open in reasonable time.
  constexpr size_t kMaxRows = 2000;
  printHeading(os, "Values",
               "In the order of the text. Logical and physical bytes are those "
               "of the whole shape, allocated ones those of its own buffers.");
  HTMLTable table(os, {{"line", true},
                       {"logical", true},
                       {"physical", true},
                       {"padding", true},
                       {"allocated", true},
                       {"value", false}});
  for (const ValueReport &value :
       llvm::ArrayRef(report.values).take_front(kMaxRows))
    table.row(
        {std::to_string(value.value.line), std::to_string(value.logicalBytes),
         std::to_string(value.physicalBytes),
         std::to_string(value.paddingBytes),
         std::to_string(value.allocatedBytes),
         code(describeValue(report, value) + " = " +
              value.value.shape->toString() + " " + value.value.operation)});
  if (report.values.size() > kMaxRows)
    table.row({"", "", "", "", "",
               std::to_string(report.values.size() - kMaxRows) +
                   " more values are in the JSON form"});
}

void tessera::printReportHTML(const Report &report, raw_ostream &os,
                              size_t limit) {
  beginPage(os, "Memory of " + report.name);
  os << "<p class=\"note\">" << report.values.size() << " values, "
     << (report.isScheduled ? "scheduled" : "not scheduled") << "</p>\n";
  printSums(report, os);
  printSpaces(report, os);
  printPlots(report, os);
  printWaste(report, os, limit);
  printPictures(report, os);
  printMoves(report, os, limit);
  printValues(report, os);
  endPage(os);
}
