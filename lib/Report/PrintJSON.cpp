//===- PrintJSON.cpp - The report for programs ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schema is in docs/report.md; a change of it changes the version.
//
//===----------------------------------------------------------------------===//

#include "Format.h"

#include "tessera/Report/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace tessera;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

static constexpr int64_t kVersion = 1;

static llvm::StringRef getName(ReportRole role) {
  switch (role) {
  case ReportRole::Argument:
    return "argument";
  case ReportRole::Constant:
    return "constant";
  case ReportRole::Value:
    return "value";
  case ReportRole::View:
    return "view";
  }
  return "";
}

llvm::StringRef tessera::getSuggestionName(Suggestion::Kind kind) {
  switch (kind) {
  case Suggestion::Kind::Order:
    return "order";
  case Suggestion::Kind::Tile:
    return "tile";
  case Suggestion::Kind::Merge:
    return "merge";
  case Suggestion::Kind::Width:
    return "width";
  case Suggestion::Kind::Type:
    return "type";
  case Suggestion::Kind::AvoidMove:
    return "avoid_move";
  case Suggestion::Kind::Overlap:
    return "overlap";
  }
  return "";
}

Value tessera::makeString(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? Value(text.str())
                                  : Value(llvm::json::fixUTF8(text));
}

static Value makeSuggestion(const Suggestion &suggestion) {
  Object object{{"kind", getSuggestionName(suggestion.kind)},
                {"text", makeString(suggestion.text)},
                {"gain", suggestion.gain}};
  if (suggestion.shape)
    object["shape"] = suggestion.shape->toString();
  return object;
}

/// The tiles and the space of an array, in the notation.
static void addLayout(const Shape &shape, Object &object) {
  if (!shape.isArray())
    return;
  Layout layout = shape.layoutOrDefault();
  std::string tiles;
  llvm::raw_string_ostream os(tiles);
  for (const Tile &tile : layout.tiles)
    tile.print(os);
  object["tile"] = tiles;
  object["space"] = layout.memorySpace;
}

static Value makeMove(const ValueReport &value) {
  const ReportMove &move = *value.value.move;
  bool isAsync = move.kind == ReportMove::Kind::Async;
  Object object{{"kind", isAsync ? "async" : "relayout"},
                {"source", makeString(move.source)},
                {"from", move.from->toString()},
                {"to", move.to->toString()},
                {"bytes_read", value.bytesRead},
                {"bytes_written", value.bytesWritten}};
  if (isAsync)
    object["overlap"] = move.overlap;
  if (value.moveSuggestion)
    object["suggestion"] = makeSuggestion(*value.moveSuggestion);
  return object;
}

static Value makeValue(const ValueReport &value) {
  const ReportValue &from = value.value;
  Object object{{"name", makeString(from.name)},
                {"operation", from.operation},
                {"scope", makeString(from.scope)},
                {"role", getName(from.role)},
                {"output", from.isOutput},
                {"shape", from.shape->toString()},
                {"logical_bytes", value.logicalBytes},
                {"physical_bytes", value.physicalBytes},
                {"padding_bytes", value.paddingBytes},
                {"allocated_bytes", value.allocatedBytes},
                {"wasted_bytes", value.wastedBytes}};
  // A buffer that holds padding only is infinitely larger than its elements.
  object["expansion"] =
      std::isfinite(value.expansion) ? Value(value.expansion) : Value(nullptr);
  if (!from.origin.empty())
    object["origin"] = makeString(from.origin);
  if (!from.source.empty())
    object["source"] = makeString(from.source);
  if (from.cycles > 0) {
    object["cycles"] = from.cycles;
    object["touched_bytes"] = value.touchedBytes;
  }
  for (auto [space, bytes] : from.scopedMemory) {
    Object scoped{{"space", space}, {"bytes", bytes}};
    if (!object.get("scoped_memory"))
      object["scoped_memory"] = Array();
    object.getArray("scoped_memory")->push_back(std::move(scoped));
  }
  if (from.line > 0)
    object["location"] = Object{{"line", from.line}, {"column", from.column}};
  addLayout(*from.shape, object);
  if (from.shape->isArray())
    object["physical_shape"] = Array(value.physicalShape);
  if (!from.pinnedBy.empty())
    object["pinned_by"] = makeString(from.pinnedBy);
  if (from.move)
    object["move"] = makeMove(value);
  if (value.suggestion)
    object["suggestion"] = makeSuggestion(*value.suggestion);
  return object;
}

static Value makeSpace(const Report &report, const SpaceReport &space) {
  Object object{{"space", space.space},
                {"allocated_bytes", space.allocatedBytes},
                {"padding_bytes", space.paddingBytes},
                {"bytes_read", space.bytesRead},
                {"bytes_written", space.bytesWritten}};
  if (!report.isScheduled || space.liveBytes.empty())
    return object;
  Array live;
  for (auto [value, bytes] : space.liveAtPeak)
    live.push_back(Object{{"name", makeString(report.values[value].value.name)},
                          {"bytes", bytes}});
  object["peak_bytes"] = space.peakBytes;
  object["peak_step"] = space.peakStep;
  object["live_at_peak"] = std::move(live);
  object["live_bytes"] = Array(space.liveBytes);
  if (!space.scopedBytes.empty()) {
    object["scoped_peak_bytes"] = space.scopedPeakBytes;
    object["scoped_peak_step"] = space.scopedPeakStep;
  }
  return object;
}

static Value makeAssigned(const Report &report, const ReportMap &map) {
  Array places;
  for (const ReportPlace &place : map.places)
    places.push_back(
        Object{{"name", makeString(report.values[place.value].value.name)},
               {"begin", place.begin},
               {"end", place.end},
               {"offset", place.offset},
               {"bytes", place.bytes}});
  return Object{{"space", map.space},
                {"bytes", map.bytes},
                {"used_bytes", map.usedBytes},
                {"places", std::move(places)}};
}

void tessera::printReportJSON(const Report &report, llvm::raw_ostream &os) {
  // Value by value: of a large program the whole would take too much memory.
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto list = [&](llvm::StringRef name, const auto &items, auto &&make) {
    json.attributeArray(name, [&] {
      for (const auto &item : items)
        json.value(make(item));
    });
  };
  auto makeIndex = [](size_t i) { return Value(static_cast<int64_t>(i)); };
  json.object([&] {
    json.attribute("schema", "tessera.report");
    json.attribute("version", kVersion);
    json.attribute("name", makeString(report.name));
    json.attribute("scheduled", report.isScheduled);
    json.attribute("argument_bytes", report.argumentBytes);
    json.attribute("output_bytes", report.outputBytes);
    if (report.isScheduled) {
      json.attribute("temporary_bytes", report.temporaryBytes);
      json.attribute("program_bytes", report.programBytes);
    }
    if (report.assignedBytes)
      json.attribute("assigned_bytes", *report.assignedBytes);
    json.attribute("host_argument_bytes", report.hostArgumentBytes);
    json.attribute("host_output_bytes", report.hostOutputBytes);
    json.attribute("logical_bytes", report.logicalBytes);
    json.attribute("allocated_bytes", report.allocatedBytes);
    json.attribute("padding_bytes", report.paddingBytes);
    json.attribute("relayout_bytes", report.relayoutBytes);
    json.attribute("async_bytes", report.asyncBytes);
    if (report.bound) {
      json.attribute("traffic_bytes", report.bound->bytes);
      json.attribute("traffic_bound", report.bound->least);
    }
    list("spaces", report.spaces,
         [&](const SpaceReport &space) { return makeSpace(report, space); });
    list("assigned_temporaries", report.assignedTemporaries,
         [&](const ReportMap &map) { return makeAssigned(report, map); });
    list("steps", report.steps, makeString);
    list("step_cycles", report.stepCycles,
         [](int64_t cycles) { return Value(cycles); });
    list("values", report.values, makeValue);
    list("by_waste", report.byWaste, makeIndex);
    list("by_move", report.byMove, makeIndex);
  });
  os << '\n';
}
