//===- PrintHTML.cpp - The report as a page -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file without links: tables, the pictures of tessera-layout draw, and
// plots in SVG (PlotHTML.cpp). Colours follow the reader's light or dark
// setting. A script of its own sorts tables and searches among values; without
// it the page has the same numbers.
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "HTML.h"
#include "PlotHTML.h"

#include "tessera/View/Picture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace tessera;
using namespace tessera::html;
using llvm::raw_ostream;
using llvm::StringRef;

/// What this page has beside the style of all pages.
static constexpr const char *kReportStyle = R"css(
:root { --scoped: #a9c3de; --capacity: #b5651d; }
@media (prefers-color-scheme: dark) { :root { --scoped: #3f5f80;
  --capacity: #e0a060; } }
svg.plot rect.scoped { fill: var(--scoped); }
svg.plot circle { fill: var(--bar); fill-opacity: .6; }
svg.plot line.capacity { stroke: var(--capacity); stroke-dasharray: 6 4; }
svg.plot text.capacity { fill: var(--capacity); }
th { cursor: pointer; user-select: none; }
input.search { font: inherit; width: 100%; box-sizing: border-box;
  padding: .4rem .6rem; margin-bottom: .6rem; color: inherit;
  background: var(--panel); border: 1px solid var(--line); border-radius: 6px; }
)css";

/// Sorts tables by the column whose title is clicked, and shows the values that
/// are searched for. Rows of other tables are there already; those of values
/// are made of `rows`, as many as can be looked at.
static constexpr const char *kScript = R"js(
const most = 300;
const number = text => Number(text.replace(/[^0-9.eE+-]/g, ''));
const compare = (a, b) => typeof a === 'number' ? a - b : a.localeCompare(b);
function showValues(found) {
  const body = document.querySelector('#values table');
  while (body.rows.length > 1) body.deleteRow(1);
  for (const row of found.slice(0, most)) {
    const line = body.insertRow();
    row.forEach((cell, i) => {
      const td = line.insertCell();
      if (i < 6) {
        td.className = 'number';
        td.textContent = i == 0 ? cell : cell.toLocaleString('en-US');
      } else if (i == 6) {
        td.appendChild(document.createElement('code')).textContent = cell;
      } else {
        td.textContent = cell;
      }
    });
  }
  document.querySelector('#found').textContent =
      found.length.toLocaleString('en-US') + ' values' +
      (found.length > most ? ', the first ' + most + ' shown' : '');
}
function search() {
  const words = document.querySelector('#search').value.toLowerCase().split(/\s+/);
  showValues(rows.filter(row => {
    const text = (row[6] + ' ' + row[7]).toLowerCase();
    return words.every(word => text.includes(word));
  }));
}
function sortTable(table, column, sign) {
  const lines = [...table.rows].slice(1);
  const key = line => {
    const cell = line.cells[column];
    return cell.className === 'number' ? number(cell.textContent) : cell.textContent;
  };
  lines.sort((a, b) => sign * compare(key(a), key(b)));
  for (const line of lines) line.parentNode.appendChild(line);
}
for (const title of document.querySelectorAll('th')) {
  let sign = 1;
  title.addEventListener('click', () => {
    sign = -sign;
    const table = title.closest('table');
    if (table.closest('#values')) {
      rows.sort((a, b) => sign * compare(a[title.cellIndex], b[title.cellIndex]));
      search();
    } else {
      sortTable(table, title.cellIndex, sign);
    }
  });
}
document.querySelector('#search').addEventListener('input', search);
)js";

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
  if (report.isScheduled)
    card("program", report.programBytes,
         "of main memory: these, less what they share, and temporaries");
  if (report.assignedBytes)
    card("assigned", *report.assignedBytes,
         "of main memory: what the compiler's buffer assignment has");
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
  if (report.bound)
    card("traffic", report.bound->bytes,
         "read and written that layouts decide; at least " +
             formatBytes(report.bound->least));
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
               live ? formatNumber(space.peakBytes) : "not scheduled",
               live ? formatNumber(space.peakStep) : "",
               formatNumber(space.allocatedBytes),
               formatNumber(space.paddingBytes), formatNumber(space.bytesRead),
               formatNumber(space.bytesWritten)});
  }
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
               formatNumber(static_cast<int64_t>(report.byWaste.size())) +
                   " values have any.");
  HTMLTable table(
      os,
      {{"padding", true}, {"of", true}, {"expansion", true}, {"value", false}});
  for (size_t i : llvm::ArrayRef(report.byWaste).take_front(limit)) {
    const ValueReport &value = report.values[i];
    table.row(
        {formatNumber(value.wastedBytes), formatNumber(value.allocatedBytes),
         formatExpansion(value.expansion),
         code(describeValue(report, value) + " = " +
              value.value.shape->toString() + " " + value.value.operation) +
             adviceOn(value.suggestion)});
  }
}

static void printMoves(const Report &report, raw_ostream &os, size_t limit) {
  if (report.byMove.empty())
    return;
  printHeading(os, "Most moved",
               formatNumber(static_cast<int64_t>(report.byMove.size())) +
                   " relayouts and asynchronous copies.");
  HTMLTable table(os, {{"read", true}, {"written", true}, {"move", false}});
  for (size_t i : llvm::ArrayRef(report.byMove).take_front(limit)) {
    const ValueReport &value = report.values[i];
    table.row(
        {formatNumber(value.bytesRead), formatNumber(value.bytesWritten),
         code(describeValue(report, value) + " " + value.value.operation) +
             "<br>" + code(describeMove(value)) +
             adviceOn(value.moveSuggestion)});
  }
}

/// `%x = f32[8]{0} add`.
static std::string describeInFull(const Report &report,
                                  const ValueReport &value) {
  return describeValue(report, value) + " = " + value.value.shape->toString() +
         " " + value.value.operation;
}

/// What the user wrote that became the value.
static std::string describeOrigin(const ReportValue &value) {
  std::string text = value.source;
  if (!value.origin.empty())
    text += (text.empty() ? "" : " ") + value.origin;
  return text;
}

static void printPeaks(const Report &report, raw_ostream &os, size_t limit) {
  for (const SpaceReport &space : report.spaces) {
    if (space.liveAtPeak.empty())
      continue;
    printHeading(os,
                 "Live at the peak of S(" + std::to_string(space.space) + ")",
                 "Step " + formatNumber(space.peakStep) + " of " +
                     formatNumber(static_cast<int64_t>(report.steps.size())) +
                     ", " + code("%" + report.steps[space.peakStep]) + ": " +
                     formatBytes(space.peakBytes) + ".");
    HTMLTable table(os, {{"bytes", true},
                         {"of the peak", true},
                         {"value", false},
                         {"from", false}});
    for (auto [number, bytes] :
         llvm::ArrayRef(space.liveAtPeak).take_front(limit)) {
      const ValueReport &value = report.values[number];
      table.row({formatNumber(bytes), formatPercent(bytes, space.peakBytes),
                 code(describeInFull(report, value)),
                 escape(describeOrigin(value.value))});
    }
  }
}

static void printGroups(const Report &report, ReportGrouping grouping,
                        raw_ostream &os, size_t limit) {
  std::vector<ReportGroup> groups = groupValues(report, grouping);
  // One group says what the sums say.
  if (groups.size() < 2)
    return;
  bool isSource = grouping == ReportGrouping::Source;
  printHeading(os, isSource ? "By source line" : "By operation",
               formatNumber(static_cast<int64_t>(groups.size())) +
                   (isSource ? " lines of the program."
                             : " operations of the program (op_name)."));
  HTMLTable table(os, {{"at the peak", true},
                       {"allocated", true},
                       {"padding", true},
                       {"moved", true},
                       {"cycles", true},
                       {"values", true},
                       {isSource ? "line" : "operation", false}});
  for (const ReportGroup &group : llvm::ArrayRef(groups).take_front(limit))
    table.row(
        {formatNumber(group.peakBytes), formatNumber(group.allocatedBytes),
         formatNumber(group.paddingBytes), formatNumber(group.movedBytes),
         formatNumber(group.cycles),
         formatNumber(static_cast<int64_t>(group.values)), code(group.name)});
}

//===----------------------------------------------------------------------===//
// All values
//===----------------------------------------------------------------------===//

/// Text inside of a script: JSON in which nothing ends the script.
static std::string quoteForScript(StringRef text) {
  std::string quoted;
  llvm::raw_string_ostream os(quoted);
  os << llvm::json::Value(llvm::json::isUTF8(text) ? text.str()
                                                   : llvm::json::fixUTF8(text));
  std::string result;
  for (char c : quoted)
    result += c == '<' ? "\\u003c" : std::string(1, c);
  return result;
}

/// Largest first, of equal ones in the order of the text.
static std::vector<size_t> getLargest(const Report &report) {
  std::vector<size_t> order(report.values.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t lhs, size_t rhs) {
    return std::pair(-report.values[lhs].allocatedBytes, lhs) <
           std::pair(-report.values[rhs].allocatedBytes, rhs);
  });
  return order;
}

/// The rows of all values as a script's array; it shows those that are searched
/// for, up to some hundred at a time.
static void printValueData(const Report &report, llvm::ArrayRef<size_t> order,
                           raw_ostream &os) {
  os << "<script>\nconst rows = [\n";
  for (size_t i : order) {
    const ValueReport &value = report.values[i];
    os << '[' << value.value.line << ',' << value.logicalBytes << ','
       << value.physicalBytes << ',' << value.paddingBytes << ','
       << value.allocatedBytes << ',' << value.value.cycles << ','
       << quoteForScript(describeInFull(report, value)) << ','
       << quoteForScript(describeOrigin(value.value)) << "],\n";
  }
  os << "];\n" << kScript << "</script>\n";
}

static void printValues(const Report &report, raw_ostream &os) {
  // What the page shows before anybody searches, and what it can find.
  constexpr size_t kMaxShown = 300, kMaxFound = 50000;
  std::vector<size_t> order = getLargest(report);
  std::string note =
      "The largest first; logical and physical bytes are those "
      "of the whole shape, allocated ones those of its own "
      "buffers. A title sorts, and the field searches among all.";
  if (order.size() > kMaxFound)
    note += " Of " + formatNumber(static_cast<int64_t>(order.size())) +
            " values these are the " + formatNumber(kMaxFound) +
            " largest; the JSON form has all.";
  printHeading(os, "Values", note);
  os << "<input class=\"search\" id=\"search\" type=\"search\" "
        "placeholder=\"name, shape, operation, op_name or source line\">\n"
        "<p class=\"note\" id=\"found\"></p>\n<div id=\"values\">\n";
  {
    HTMLTable table(os, {{"line", true},
                         {"logical", true},
                         {"physical", true},
                         {"padding", true},
                         {"allocated", true},
                         {"cycles", true},
                         {"value", false},
                         {"from", false}});
    for (size_t i : llvm::ArrayRef(order).take_front(kMaxShown)) {
      const ValueReport &value = report.values[i];
      table.row(
          {std::to_string(value.value.line), formatNumber(value.logicalBytes),
           formatNumber(value.physicalBytes), formatNumber(value.paddingBytes),
           formatNumber(value.allocatedBytes), formatNumber(value.value.cycles),
           code(describeInFull(report, value)),
           escape(describeOrigin(value.value))});
    }
  }
  os << "</div>\n";
  printValueData(report, llvm::ArrayRef(order).take_front(kMaxFound), os);
}

void tessera::printReportHTML(const Report &report, raw_ostream &os,
                              size_t limit,
                              llvm::ArrayRef<ReportCapacity> capacities) {
  beginPage(os, "Memory of " + report.name);
  os << "<style>" << kReportStyle << "</style>\n<p class=\"note\">"
     << formatNumber(static_cast<int64_t>(report.values.size())) << " values, "
     << (report.isScheduled ? "scheduled" : "not scheduled") << "</p>\n";
  printSums(report, os);
  printSpaces(report, os);
  printLivePlots(report, capacities, os);
  printPlaces(report, os);
  printPeaks(report, os, limit);
  printCyclesPlot(report, os);
  printGroups(report, ReportGrouping::Source, os, limit);
  printGroups(report, ReportGrouping::Operation, os, limit);
  printWaste(report, os, limit);
  printPictures(report, os);
  printMoves(report, os, limit);
  printValues(report, os);
  endPage(os);
}
