//===- PlacesHTML.cpp - Where temporaries lie, on the page ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A drawing of moments by thousandths of the memory, stretched to the plot. To
// zoom is to look at a part of it.
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "HTML.h"
#include "PlotHTML.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::raw_ostream;

/// The wheel zooms about the pointer, dragging moves, a double click shows all.
static constexpr const char *kZoomScript = R"js(
for (const map of document.querySelectorAll('svg.places')) {
  const all = map.getAttribute('viewBox').split(' ').map(Number);
  let part = all.slice();
  const show = next => {
    const width = Math.min(next[2], all[2]), height = Math.min(next[3], all[3]);
    const clamp = (at, size, whole) => Math.max(0, Math.min(at, whole - size));
    part = [clamp(next[0], width, all[2]), clamp(next[1], height, all[3]),
            width, height];
    map.setAttribute('viewBox', part.join(' '));
  };
  const locate = event => {
    const box = map.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width,
            (event.clientY - box.top) / box.height];
  };
  map.addEventListener('wheel', event => {
    event.preventDefault();
    const factor = event.deltaY < 0 ? 0.8 : 1.25, [x, y] = locate(event);
    show([part[0] + part[2] * x * (1 - factor),
          part[1] + part[3] * y * (1 - factor),
          part[2] * factor, part[3] * factor]);
  }, {passive: false});
  let last = null;
  map.addEventListener('pointerdown', event => {
    last = locate(event);
    map.setPointerCapture(event.pointerId);
  });
  map.addEventListener('pointermove', event => {
    if (!last) return;
    const now = locate(event);
    show([part[0] - (now[0] - last[0]) * part[2],
          part[1] - (now[1] - last[1]) * part[3], part[2], part[3]]);
    last = now;
  });
  map.addEventListener('pointerup', () => last = null);
  map.addEventListener('dblclick', () => show(all));
}
)js";

static constexpr const char *kPlacesStyle = R"css(
svg.places { display: block; width: 100%; height: 20rem; cursor: grab;
  background: var(--panel); border: 1px solid var(--line); touch-action: none; }
svg.places rect { stroke: var(--back); stroke-width: 1;
  vector-effect: non-scaling-stroke; }
svg.places rect:hover { fill: var(--peak); }
p.ends { display: flex; justify-content: space-between; color: var(--soft);
  font-size: .85rem; margin: .2rem 0; }
)css";

/// Bytes times steps: what it takes of the plot.
static double getArea(const ReportPlace &place) {
  return static_cast<double>(place.bytes) *
         static_cast<double>(place.end - place.begin + 1);
}

/// The largest, in their order.
static std::vector<ReportPlace> getLargest(const ReportMap &map, size_t most) {
  std::vector<ReportPlace> places = map.places;
  llvm::sort(places, [](const ReportPlace &lhs, const ReportPlace &rhs) {
    return std::tuple(-getArea(lhs), lhs.begin, lhs.offset, lhs.value) <
           std::tuple(-getArea(rhs), rhs.begin, rhs.offset, rhs.value);
  });
  if (places.size() > most)
    places.resize(most);
  return places;
}

/// Height of the drawing.
static constexpr double kTop = 1000;

static void printPlace(const Report &report, const ReportMap &map,
                       const ReportPlace &place, raw_ostream &os) {
  double scale = kTop / static_cast<double>(map.bytes);
  double height = scale * static_cast<double>(place.bytes);
  double bottom = kTop - scale * static_cast<double>(place.offset);
  os << llvm::format("<rect x=\"%lld\" y=\"%.3f\" width=\"%lld\" "
                     "height=\"%.3f\" fill=\"hsl(%u 45%% 55%%)\">",
                     static_cast<long long>(place.begin), bottom - height,
                     static_cast<long long>(place.end - place.begin + 1),
                     height, static_cast<unsigned>(place.value * 47 % 360))
     << "<title>"
     << html::escape(describeValue(report, report.values[place.value])) << ": "
     << formatBytes(place.bytes) << " at " << formatNumber(place.offset)
     << ", for " << formatNumber(place.end - place.begin + 1)
     << " steps</title></rect>\n";
}

static void printMap(const Report &report, const ReportMap &map,
                     raw_ostream &os) {
  constexpr size_t kMaxPlaces = 2000;
  std::vector<ReportPlace> places = getLargest(map, kMaxPlaces);
  os << "<p class=\"ends\"><span>" << formatSpace(map.space) << ": "
     << formatBytes(map.bytes) << ", of which at most "
     << formatBytes(map.usedBytes) << " are taken at one time";
  if (places.size() < map.places.size())
    os << "; the largest " << formatNumber(static_cast<int64_t>(places.size()))
       << " of " << formatNumber(static_cast<int64_t>(map.places.size()));
  os << "</span></p>\n<svg class=\"places\" viewBox=\"0 0 " << report.moments
     << " 1000\" preserveAspectRatio=\"none\" role=\"img\" "
        "aria-label=\"places of temporaries in S("
     << map.space << ")\">\n";
  for (const ReportPlace &place : places)
    printPlace(report, map, place, os);
  os << "</svg>\n<p class=\"ends\"><span>%"
     << html::escape(report.steps.front()) << "</span><span>%"
     << html::escape(report.steps.back()) << "</span></p>\n";
}

void tessera::printPlaces(const Report &report, raw_ostream &os) {
  llvm::ArrayRef<ReportMap> maps = report.assignedTemporaries;
  std::string note = "Memory beside arguments and outputs: each value from the "
                     "step that makes it to the last that uses it, steps in "
                     "loops and calls included, ";
  if (!maps.empty()) {
    note += "at the place that the compiler's buffer assignment gives it.";
  } else {
    maps = report.temporaries;
    note += "at the place that it gets when each goes, as it begins, into the "
            "smallest gap that holds it.";
  }
  if (maps.front().places.empty())
    return;
  html::printHeading(os, "Where temporaries lie",
                     note + " What is empty below others is a gap. The wheel "
                            "zooms, dragging moves, a double click shows all.");
  os << "<style>" << kPlacesStyle << "</style>\n";
  for (const ReportMap &map : maps)
    printMap(report, map, os);
  os << "<script>" << kZoomScript << "</script>\n";
}
