//===- AssignHLO.h - Layouts of HLO modules ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the layouts away from a scheduled module, but for those that something
// fixes, and assigns them anew so that instructions read and write the fewest
// bytes. docs/assignment.md has the model and what it is compared with.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ASSIGNHLO_ASSIGNHLO_H
#define TESSERA_ASSIGNHLO_ASSIGNHLO_H

#include "tessera/Assign/CostGraph.h"
#include "tessera/HLO/Module.h"
#include "tessera/Layout/Target.h"

namespace tessera {

struct AssignOptions {
  /// Whether the module's own layouts are candidates too. Then the answer moves
  /// no more bytes than the module does.
  bool keep = false;
  /// Whether all that computes takes and gives the layouts that the module has,
  /// so that moves alone (copies, transposes, reshapes, what loops and calls
  /// carry) are chosen.
  bool keepsComputation = false;
  /// Runs of a loop whose number is not known.
  int64_t unknownTrips = 1;
  /// Layouts that a value may choose from.
  unsigned maxCandidates = 6;
  /// Whether the module is written with its new layouts.
  bool writesText = false;
  SolverOptions solver;
};

/// A value that gets another layout, or copies in others.
struct AssignedValue {
  const hlo::Instruction *instruction = nullptr;
  size_t leaf = 0;
  Shape from;
  Shape to;
  std::vector<Shape> copies;
};

struct HLOAssignment {
  /// Bytes that scheduled instructions of the module read and write.
  int64_t before = 0;
  /// What the model counts for the module as it is, where layouts are kept: the
  /// same.
  int64_t start = kInfiniteCost;
  /// The same with the new layouts; kInfiniteCost where candidates fit nowhere.
  Solution solution;
  /// By propagation in the order of the text, from what is fixed breadth first,
  /// and with priorities, depth first along operands.
  int64_t greedy = 0;
  int64_t worklist = 0;
  int64_t priorities = 0;
  size_t variables = 0;
  std::vector<AssignedValue> changes;
  /// The module with the new layouts, where that was asked for: valid, and
  /// counted again. Empty where candidates fit nowhere.
  std::string text;
};

/// The bytes that scheduled instructions of a verified module read and write,
/// as often as they run; views and control flow move nothing. Error:
/// *unsupported* where a size is not known or the sum exceeds int64.
llvm::Expected<int64_t> countTouchedBytes(const hlo::Module &module,
                                          int64_t unknownTrips = 1);

/// Assigns layouts anew. Error: *unsupported* for sizes that are not known, for
/// too many values, and where the new module would not be what is promised.
llvm::Expected<HLOAssignment> assignLayouts(const hlo::Module &module,
                                            AssignOptions options = {});

/// A layout that a leaf of the entry's arguments or results would have instead
/// of its own. Leaves are numbered through all arguments, or all results.
struct BoundaryLayout {
  bool isResult = false;
  size_t leaf = 0;
  /// The leaf's type and dimensions, in its memory space.
  Shape shape;
};

/// Layouts that are changed together.
using BoundaryChange = std::vector<BoundaryLayout>;

/// What a module moves with some layouts at its boundary, where those inside
/// are chosen for them.
struct BoundaryPrice {
  /// Read and written; kInfiniteCost where the candidates fit nowhere.
  int64_t bytes = kInfiniteCost;
  /// No assignment of these candidates moves less.
  int64_t lowerBound = 0;
};

/// Prices a verified module with the boundary that it has (the first price),
/// then with each of `changes` to it. All have the same candidates: those of
/// assignLayouts with `keep`, and what follows from the changes. So the first
/// is at most what the module moves now. Errors: *invalid* for a leaf that is
/// not there or another shape; *unsupported* as assignLayouts.
llvm::Expected<std::vector<BoundaryPrice>>
priceBoundary(const hlo::Module &module, llvm::ArrayRef<BoundaryChange> changes,
              AssignOptions options = {});

/// Text for people; at most `limit` values that change.
void printAssignment(const hlo::Module &module, const HLOAssignment &assignment,
                     size_t limit, llvm::raw_ostream &os);

/// JSON for programs: docs/assignment.md has the schema.
void printAssignmentJSON(const hlo::Module &module,
                         const HLOAssignment &assignment,
                         llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_ASSIGNHLO_ASSIGNHLO_H
