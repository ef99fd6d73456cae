//===- PrintHTML.cpp - The report as a page -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file without scripts and links: tables, the pictures of tessera-layout
// draw, and plots in SVG. Colours follow the reader's light or dark setting.
//
//===----------------------------------------------------------------------===//

#include "Format.h"

#include "tessera/View/Picture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::raw_ostream;
using llvm::StringRef;

static constexpr const char *kStyle = R"css(
:root { color-scheme: light dark; --text: #1c2024; --soft: #5b6570;
  --back: #ffffff; --panel: #f3f5f7; --line: #d5dadf; --bar: #4c78a8;
  --peak: #d1495b; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --soft: #9aa5b1;
  --back: #15181b; --panel: #1f2428; --line: #3a4148; --bar: #6ea0d6;
  --peak: #ef7f8d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--back); max-width: 72rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.note { color: var(--soft); margin: .2rem 0 .8rem; }
code { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
.sums { display: grid; gap: .6rem;
  grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }
.sums div { background: var(--panel); border-radius: 6px; padding: .6rem .8rem; }
.sums b { display: block; font-size: 1rem; white-space: nowrap; }
.sums span, td.soft { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; font-size: .85rem; }
td.number, th.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.advice { background: var(--panel); border-left: 3px solid var(--bar);
  padding: .3rem .6rem; margin-top: .3rem; }
.scroll { overflow-x: auto; }
svg.plot { width: 100%; height: auto; }
svg.plot rect.bar { fill: var(--bar); } svg.plot rect.peak { fill: var(--peak); }
svg.plot line { stroke: var(--line); }
svg.plot text { fill: var(--soft); font: 12px system-ui, sans-serif; }
)css";

static std::string escape(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(text, os);
  return result;
}

static std::string code(const llvm::Twine &text) {
  return "<code>" + escape(text.str()) + "</code>";
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
/// A column: its title, and whether it holds numbers.
struct Column {
  StringRef title;
  bool isNumber;
};

/// Writes a table row by row; cells are HTML already.
class HTMLTable {
public:
  HTMLTable(raw_ostream &os, std::vector<Column> titles)
      : os(os), columns(std::move(titles)) {
    os << "<div class=\"scroll\"><table><tr>";
    for (const Column &column : columns)
      os << "<th" << attribute(column) << ">" << column.title << "</th>";
    os << "</tr>\n";
  }
  ~HTMLTable() { os << "</table></div>\n"; }

  void row(llvm::ArrayRef<std::string> cells) {
    os << "<tr>";
    for (auto [cell, column] : llvm::zip_equal(cells, columns))
      os << "<td" << attribute(column) << ">" << cell << "</td>";
    os << "</tr>\n";
  }

private:
  static StringRef attribute(const Column &column) {
    return column.isNumber ? " class=\"number\"" : "";
  }

  raw_ostream &os;
  std::vector<Column> columns;
};
} // namespace

static void printHeading(raw_ostream &os, StringRef title, StringRef note) {
  os << "<h2>" << title << "</h2>\n<p class=\"note\">" << note << "</p>\n";
}

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
  std::string title = "Memory of " + escape(report.name);
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
     << "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"
     << title << "</title>\n<style>" << kStyle << "</style>\n</head>\n<body>\n"
     << "<h1>" << title << "</h1>\n<p class=\"note\">" << report.values.size()
     << " values, " << (report.isScheduled ? "scheduled" : "not scheduled")
     << "</p>\n";
  printSums(report, os);
  printSpaces(report, os);
  printPlots(report, os);
  printWaste(report, os, limit);
  printPictures(report, os);
  printMoves(report, os, limit);
  printValues(report, os);
  os << "</body>\n</html>\n";
}
