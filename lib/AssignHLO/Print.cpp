//===- Print.cpp - Assignments as text and JSON ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/AssignHLO/AssignHLO.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;

static void printBytes(StringRef what, int64_t bytes, StringRef remark,
                       llvm::raw_ostream &os) {
  os << llvm::formatv("  {0,-12} ", what);
  if (bytes == kInfiniteCost)
    os << "none of the candidates fit";
  else
    os << llvm::formatv("{0:N0} bytes", bytes);
  os << remark << '\n';
}

static void printLayout(const Shape &shape, llvm::raw_ostream &os) {
  shape.layout().print(os);
}

static void printChange(const AssignedValue &change, llvm::raw_ostream &os) {
  os << "  %" << change.instruction->name;
  if (change.leaf > 0)
    os << " part " << change.leaf;
  os << ' ' << change.from.toString();
  if (change.to != change.from) {
    os << " -> ";
    printLayout(change.to, os);
  }
  for (const Shape &copy : change.copies) {
    os << ", copied to ";
    printLayout(copy, os);
  }
  os << '\n';
}

/// The gap as a part of the cost, in percent.
static double getGap(const Solution &solution) {
  if (!solution.isFeasible() || solution.cost == 0)
    return 0;
  return 100.0 * static_cast<double>(solution.cost - solution.lowerBound) /
         static_cast<double>(solution.cost);
}

void tessera::printAssignment(const hlo::Module &module,
                              const HLOAssignment &assignment, size_t limit,
                              llvm::raw_ostream &os) {
  const Solution &solution = assignment.solution;
  os << "module " << module.name() << ": " << assignment.variables
     << " variables, " << solution.searched << " of them searched, "
     << solution.nodes << " nodes\n";
  printBytes("now", assignment.before, " read and written", os);
  printBytes("assigned", solution.cost, "", os);
  printBytes("lower bound", solution.lowerBound,
             solution.isOptimal()
                 ? "; no assignment of these candidates moves less"
                 : llvm::formatv("; {0:F2} % below", getGap(solution)).str(),
             os);
  printBytes("in order", assignment.greedy, " by propagation from the top", os);
  printBytes("worklist", assignment.worklist,
             " by propagation from what is fixed", os);
  printBytes("priorities", assignment.priorities,
             " by the same, operands first", os);
  llvm::ArrayRef<AssignedValue> changes(assignment.changes);
  os << "  " << changes.size() << " values change\n";
  for (const AssignedValue &change : changes.take_front(limit))
    printChange(change, os);
  if (changes.size() > limit)
    os << "  " << changes.size() - limit << " more with --limit=0\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Text of dumps need not be UTF-8, strings of JSON must.
static std::string repair(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

static void printCost(llvm::json::OStream &json, StringRef name, int64_t cost) {
  if (cost == kInfiniteCost)
    json.attribute(name, nullptr);
  else
    json.attribute(name, cost);
}

static void printChange(llvm::json::OStream &json,
                        const AssignedValue &change) {
  json.attribute("name", repair(change.instruction->name));
  json.attribute("leaf", static_cast<int64_t>(change.leaf));
  json.attribute("from", change.from.toString());
  json.attribute("to", change.to.toString());
  json.attributeArray("copies", [&] {
    for (const Shape &copy : change.copies)
      json.value(copy.toString());
  });
}

void tessera::printAssignmentJSON(const hlo::Module &module,
                                  const HLOAssignment &assignment,
                                  llvm::raw_ostream &os) {
  const Solution &solution = assignment.solution;
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "tessera.assignment");
    json.attribute("version", 1);
    json.attribute("module", repair(module.name()));
    json.attribute("bytes_now", assignment.before);
    printCost(json, "bytes_kept", assignment.start);
    printCost(json, "bytes", solution.cost);
    json.attribute("lower_bound", solution.lowerBound);
    json.attribute("gap_percent", getGap(solution));
    printCost(json, "bytes_in_order", assignment.greedy);
    printCost(json, "bytes_worklist", assignment.worklist);
    printCost(json, "bytes_priorities", assignment.priorities);
    json.attribute("variables", static_cast<int64_t>(assignment.variables));
    json.attributeArray("eliminated", [&] {
      for (int64_t count : solution.eliminated)
        json.value(count);
    });
    json.attribute("searched", solution.searched);
    json.attribute("nodes", solution.nodes);
    json.attributeArray("changes", [&] {
      for (const AssignedValue &change : assignment.changes)
        json.object([&] { printChange(json, change); });
    });
  });
  os << '\n';
}
