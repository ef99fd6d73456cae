//===- PrintOutOfMemory.cpp - Answers to logs of lack of memory -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"

#include "tessera/Report/OutOfMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string describe(Shortage::Kind kind) {
  switch (kind) {
  case Shortage::Kind::Program:
    return "a program";
  case Shortage::Kind::Scoped:
    return "one kernel";
  case Shortage::Kind::Load:
    return "a compiled program";
  case Shortage::Kind::Allocation:
    return "an array";
  }
  return "";
}

/// Texts of logs may be long; what matters stands in front.
static llvm::StringRef shorten(llvm::StringRef text) {
  return text.take_front(160);
}

static void printShortage(const Shortage &shortage, llvm::raw_ostream &os) {
  if (!shortage.space.empty())
    os << shortage.space << ": ";
  os << describe(shortage.kind);
  if (shortage.needed)
    os << " needs " << formatSize(shortage.needed->bytes);
  else
    os << " needs more than there is";
  if (shortage.available)
    os << " of " << formatSize(shortage.available->bytes);
  if (shortage.excess)
    os << ", " << formatSize(shortage.excess->bytes) << " too much";
  os << '\n';
  if (!shortage.instruction.empty())
    os << "  in " << shorten(shortage.instruction) << '\n';
}

static void printField(llvm::StringRef name, const llvm::Twine &text,
                       llvm::raw_ostream &os) {
  os << "     " << llvm::left_justify(name, 8) << text << '\n';
}

/// `swap d0, d2: 32.0 GiB -> 1.0 GiB, s32[...]`.
static std::string describeRepair(const AllocationAnswer &answer,
                                  const Suggestion &repair) {
  return repair.change + ": " + formatSize(answer.bytes) + " -> " +
         formatSize(answer.bytes - repair.gain) + ", " +
         repair.shape->toString();
}

static void printAllocation(const AllocationAnswer &answer,
                            llvm::raw_ostream &os) {
  const LoggedAllocation &from = answer.allocation;
  if (answer.count > 1)
    os << answer.count << " x ";
  os << formatSize(answer.bytes);
  for (llvm::StringRef part : {from.shapeText, from.type, from.space})
    if (!part.empty())
      os << ", " << shorten(part);
  os << '\n';
  printField("why", answer.why, os);
  for (const Suggestion &repair : answer.repairs)
    printField(&repair == answer.repair() ? "repair" : "or",
               describeRepair(answer, repair), os);
  if (!from.file.empty())
    printField("code",
               from.line > 0 ? from.file + ":" + std::to_string(from.line)
                             : from.file,
               os);
  if (!from.origin.empty())
    printField("op_name", shorten(from.origin), os);
  if (!from.label.empty())
    printField("is", shorten(from.label), os);
}

void tessera::printOutOfMemory(const OutOfMemoryReport &report,
                               llvm::raw_ostream &os, size_t limit) {
  for (const Shortage &shortage : report.shortages)
    printShortage(shortage, os);
  llvm::ArrayRef<AllocationAnswer> all = report.allocations;
  if (!all.empty()) {
    os << (report.shortages.empty() ? "" : "\n") << "largest of " << all.size()
       << (all.size() == 1 ? " allocation" : " allocations")
       << " that the text lists\n";
    for (auto [i, answer] : llvm::enumerate(all.take_front(limit))) {
      os << "  " << i + 1 << ". ";
      printAllocation(answer, os);
    }
    if (report.gain > 0)
      os << "\nthe repairs save " << formatSize(report.gain)
         << " together, as far as these are there at the same time\n";
  }
  for (const std::string &advice : report.advice)
    os << "\n" << advice << '\n';
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::StringRef getName(Shortage::Kind kind) {
  switch (kind) {
  case Shortage::Kind::Program:
    return "program";
  case Shortage::Kind::Scoped:
    return "scoped";
  case Shortage::Kind::Load:
    return "load";
  case Shortage::Kind::Allocation:
    return "allocation";
  }
  return "";
}

/// Fields that the text does not have are left out.
static void addString(Object &object, llvm::StringRef name,
                      llvm::StringRef text) {
  if (!text.empty())
    object[name] = makeString(text);
}

static void addSize(Object &object, llvm::StringRef name,
                    const std::optional<PrintedSize> &size) {
  if (size)
    object[name] = size->bytes;
}

static Value makeShortage(const Shortage &shortage) {
  Object object{{"kind", getName(shortage.kind)}};
  addString(object, "space", shortage.space);
  addSize(object, "needed_bytes", shortage.needed);
  addSize(object, "available_bytes", shortage.available);
  addSize(object, "excess_bytes", shortage.excess);
  addString(object, "instruction", shortage.instruction);
  return object;
}

static Value makeAllocation(const AllocationAnswer &answer) {
  const LoggedAllocation &from = answer.allocation;
  Object object{
      {"printed_bytes", from.size.bytes},     {"bytes", answer.bytes},
      {"padding_bytes", answer.paddingBytes}, {"count", answer.count},
      {"inferred", answer.isInferred},        {"why", makeString(answer.why)}};
  if (answer.shape)
    object["shape"] = answer.shape->toString();
  addString(object, "printed_shape", from.shapeText);
  addString(object, "space", from.space);
  addString(object, "type", from.type);
  addString(object, "origin", from.origin);
  addString(object, "file", from.file);
  if (from.line > 0)
    object["line"] = from.line;
  addString(object, "label", from.label);
  Array repairs;
  for (const Suggestion &repair : answer.repairs)
    repairs.push_back(Object{{"kind", getSuggestionName(repair.kind)},
                             {"change", repair.change},
                             {"gain", repair.gain},
                             {"bytes", answer.bytes - repair.gain},
                             {"shape", repair.shape->toString()}});
  object["repairs"] = std::move(repairs);
  return object;
}

void tessera::printOutOfMemoryJSON(const OutOfMemoryReport &report,
                                   llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "tessera.oom");
    json.attribute("version", 1);
    json.attributeArray("shortages", [&] {
      for (const Shortage &shortage : report.shortages)
        json.value(makeShortage(shortage));
    });
    json.attributeArray("allocations", [&] {
      for (const AllocationAnswer &answer : report.allocations)
        json.value(makeAllocation(answer));
    });
    json.attribute("gain", report.gain);
    json.attributeArray("advice", [&] {
      for (const std::string &advice : report.advice)
        json.value(advice);
    });
  });
  os << '\n';
}
