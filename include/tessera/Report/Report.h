//===- Report.h - Where memory and bytes go ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The report over any list of values with shapes: what each takes in memory and
// how much of that is padding, what copies move, and what is live when. A front
// end (HloReport.h, or a pass) says what the values are; all sizes come from
// the shapes. docs/report.md explains every number.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_REPORT_H
#define TESSERA_REPORT_REPORT_H

#include "tessera/Layout/Shape.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tessera {

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

/// Shapes are shared: programs have many values and few shapes.
using ShapePtr = std::shared_ptr<const Shape>;

/// An array in memory.
struct ReportBuffer {
  ShapePtr shape;
  /// First and last step of its timeline at which it is live.
  int64_t begin = 0;
  int64_t end = 0;
  /// Index of the value that allocates it.
  size_t value = 0;
  /// Live here, but allocated by the caller, where all sums but that of live
  /// bytes have it.
  bool isCallers = false;
  /// Of an argument or a result of the program, for which there is room before
  /// it runs and until it ends.
  bool isBoundary = false;
  /// Of a temporary, where the compiler put it among those of its space, in
  /// bytes, if that is known.
  std::optional<int64_t> offset = std::nullopt;
};

/// A move of data that changes nothing but layout, position, or element type.
struct ReportMove {
  enum class Kind : uint8_t {
    Relayout, ///< copy, transpose or reshape that is no bitcast
    Async,    ///< an asynchronous copy
  };
  Kind kind = Kind::Relayout;
  ShapePtr from;
  ShapePtr to;
  /// The value that is moved.
  std::string source;
  bool sourceIsArgument = false;
  /// Whether giving the source the layout of the destination would leave
  /// nothing to move (a copy of one type within one space).
  bool isAvoidable = false;
  /// Of an asynchronous copy: steps between its start and its end, which run
  /// meanwhile.
  int64_t overlap = 0;
};

/// A value of the same dimensions in another order, which is computed from this
/// one or the other way round.
struct ReportNeighbour {
  std::string name;
  ShapePtr shape;
};

enum class ReportRole : uint8_t {
  Argument,
  Constant,
  Value,
  View, ///< Reads the memory of other values; has none of its own.
};

/// A value, as the front end knows it.
struct ReportValue {
  std::string name;
  /// What computes it, such as `fusion`.
  std::string operation;
  /// The function or computation that it stands in.
  std::string scope;
  /// What the user wrote that became it (op_name of HLO); may be empty.
  std::string origin;
  /// The line of the user's program, `model.py:16`; may be empty.
  std::string source;
  /// What the compiler expects it to take; 0 where it says nothing.
  int64_t cycles = 0;
  /// Memory that it has while it runs, beside that of values: bytes by space.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 1> scopedMemory;
  /// What it reads, where it has cycles.
  std::vector<ShapePtr> operands;
  /// Of its text, from 1; 0 where there is none.
  unsigned line = 0;
  unsigned column = 0;
  ShapePtr shape;
  ReportRole role = ReportRole::Value;
  bool isOutput = false;
  /// Who fixes the layout, so that another one is not the compiler's to choose;
  /// may be empty.
  std::string pinnedBy;
  std::vector<ReportNeighbour> neighbours;
  std::optional<ReportMove> move;
};

/// Buffers of one scope on the timeline of that scope's steps. While step
/// `i` of `parent` runs, the scope runs as a whole.
struct ReportTimeline {
  std::string scope;
  /// What runs, step by step.
  std::vector<std::string> steps;
  std::vector<ReportBuffer> buffers;
  /// The value of each step, where every step has one: an index of
  /// ReportInput::values.
  std::vector<size_t> stepValues;
  /// Timelines that run within a step: (step, index).
  std::vector<std::pair<int64_t, size_t>> children;
};

/// Bytes that a space needs as the compiler assigned its buffers.
struct AssignedBytes {
  int64_t all = 0; ///< Arguments, outputs, constants, temporaries.
  int64_t temporary = 0;
};

struct ReportInput {
  std::string name;
  std::vector<ReportValue> values;
  /// Of the program's boundary.
  std::vector<ShapePtr> arguments;
  ShapePtr result;
  /// The last one is the program's; children stand before their parents. Where
  /// the order of steps is not known, `isScheduled` is false, and nothing is
  /// said about what is live when.
  std::vector<ReportTimeline> timelines;
  bool isScheduled = true;
  /// What the compiler says of the spaces, by number, if that is known.
  std::map<int64_t, AssignedBytes> assigned;
};

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

/// Another shape or layout for a value.
struct Suggestion {
  enum class Kind : uint8_t {
    Order,
    Tile,
    Merge,
    Width, ///< Fewer bits for an element of the same type.
    Type,  ///< Another element type.
    AvoidMove,
    Overlap
  };
  Kind kind = Kind::Order;
  /// In a few words, `swap d0, d2`; empty for AvoidMove and Overlap.
  std::string change;
  /// One sentence.
  std::string text;
  /// What the value would be; nothing for AvoidMove and Overlap.
  std::optional<Shape> shape;
  /// Bytes that it saves: of memory for Order, Tile and Merge, read and
  /// written for AvoidMove; 0 for Overlap.
  int64_t gain = 0;
};

/// Sizes of a value in bytes, over the leaves of its shape.
struct ValueReport {
  ReportValue value;
  /// Extents of memory, of an array.
  llvm::SmallVector<int64_t, 8> physicalShape;
  int64_t logicalBytes = 0;
  int64_t physicalBytes = 0;
  int64_t paddingBytes = 0;
  double expansion = 1;
  /// Sum over the buffers that it allocates; 0 for views.
  int64_t allocatedBytes = 0;
  /// Padding of these buffers.
  int64_t wastedBytes = 0;
  /// Of operands and result, where it has cycles.
  int64_t touchedBytes = 0;
  /// Of a move.
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  /// How to pad less, and how to move less.
  std::optional<Suggestion> suggestion;
  std::optional<Suggestion> moveSuggestion;

  int64_t movedBytes() const { return bytesRead + bytesWritten; }
};

/// What is live in a space, step by step.
struct SpaceReport {
  int64_t space = 0;
  /// Sums over all buffers of the module.
  int64_t allocatedBytes = 0;
  int64_t paddingBytes = 0;
  /// Of moves from and to this space.
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  /// Where scheduled: the most at one time, its first step, the largest values
  /// live then (index into Report::values, bytes), and the bytes at each step.
  int64_t peakBytes = 0;
  int64_t peakStep = 0;
  std::vector<std::pair<size_t, int64_t>> liveAtPeak;
  std::vector<int64_t> liveBytes;
  /// Of scoped memory, step by step; empty where no step has any. The most of
  /// both at one time, and its first step.
  std::vector<int64_t> scopedBytes;
  int64_t scopedPeakBytes = 0;
  int64_t scopedPeakStep = 0;
};

/// Where a temporary is, and from which moment to which. Moments are the steps
/// of the program in a line with those that run within a step, which come
/// before it.
struct ReportPlace {
  size_t value = 0; ///< Index of Report::values.
  int64_t begin = 0;
  int64_t end = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// The temporaries of a space at their places, as they begin.
struct ReportMap {
  int64_t space = 0;
  int64_t bytes = 0;     ///< Of the whole, with the gaps.
  int64_t usedBytes = 0; ///< The most that are taken at one moment.
  std::vector<ReportPlace> places;
};

struct Report {
  std::string name;
  bool isScheduled = true;
  /// Of the device: each leaf rounded up to 512 bytes, as the TPU compiler
  /// counts.
  int64_t argumentBytes = 0;
  int64_t outputBytes = 0;
  /// Of main memory, where scheduled: what the program needs beside arguments
  /// and results, with the gaps between what is placed there, and all that it
  /// needs, where arguments and results that share memory count once.
  int64_t temporaryBytes = 0;
  int64_t programBytes = 0;
  /// Main memory as this report lays it out. Empty where there are too many
  /// moments; then temporaryBytes is without gaps.
  ReportMap temporaries;
  /// As the compiler laid out each space, if that is known.
  std::vector<ReportMap> assignedTemporaries;
  /// Main memory that the program needs by the compiler's assignment, if that
  /// is known.
  std::optional<int64_t> assignedBytes;
  /// How many moments there are.
  int64_t moments = 0;
  /// Arguments and outputs in the host's memory.
  int64_t hostArgumentBytes = 0;
  int64_t hostOutputBytes = 0;
  int64_t logicalBytes = 0;   ///< Of values with memory of their own.
  int64_t allocatedBytes = 0; ///< All of their buffers.
  int64_t paddingBytes = 0;
  int64_t relayoutBytes = 0; ///< Read and written by relayouts.
  int64_t asyncBytes = 0;    ///< Read and written by asynchronous copies.
  /// What is read and written as layouts have it, and the least that any
  /// assignment of the candidates of docs/assignment.md has; where that was
  /// asked for.
  struct Bound {
    int64_t bytes = 0;
    int64_t least = 0;
  };
  std::optional<Bound> bound;
  /// By number.
  std::vector<SpaceReport> spaces;
  /// Names of the program's steps, where scheduled.
  std::vector<std::string> steps;
  /// Cycles of each step as the compiler expects them, those of the steps
  /// within it included, each once; empty where it expects none.
  std::vector<int64_t> stepCycles;
  /// The order of the input.
  std::vector<ValueReport> values;
  /// Indices of `values`: those that waste most first, those that move most
  /// first.
  std::vector<size_t> byWaste;
  std::vector<size_t> byMove;
};

/// Errors: *unsupported* for shapes without a size (unbounded dimensions),
/// *invalid* on overflow.
llvm::Expected<Report> makeReport(ReportInput input);

/// The best of other orders, tiles, and merges of dimensions for an array, or
/// nothing when none is smaller. Of orders that take as much, one that
/// neighbours have.
std::optional<Suggestion>
suggestLayout(const Shape &shape,
              llvm::ArrayRef<ReportNeighbour> neighbours = {});

/// Text for people; at most `limit` rows in each list.
void printReport(const Report &report, llvm::raw_ostream &os,
                 size_t limit = 10);

/// JSON for programs: docs/report.md has the schema.
void printReportJSON(const Report &report, llvm::raw_ostream &os);

/// A memory of the machine, drawn as a line.
struct ReportCapacity {
  int64_t space = 0;
  int64_t bytes = 0;
  std::string name; ///< `VMEM of tpu_v5e`
};

/// One page that needs nothing else: tables, pictures of the layouts that waste
/// most, plots of live bytes over the schedule and over time.
void printReportHTML(const Report &report, llvm::raw_ostream &os,
                     size_t limit = 10,
                     llvm::ArrayRef<ReportCapacity> capacities = {});

/// Sums over the values of one source line, or of one operation of the user's.
struct ReportGroup {
  std::string name;
  size_t values = 0;
  int64_t peakBytes = 0; ///< Live at the peak of main memory.
  int64_t allocatedBytes = 0;
  int64_t paddingBytes = 0;
  int64_t movedBytes = 0;
  int64_t cycles = 0;
};

enum class ReportGrouping : uint8_t { Source, Operation };

/// Those that allocate most first; values that nobody named are one group.
std::vector<ReportGroup> groupValues(const Report &report,
                                     ReportGrouping grouping);

/// The groups as text; at most `limit`.
void printReportGroups(const Report &report, ReportGrouping grouping,
                       llvm::raw_ostream &os, size_t limit = 10);

/// What changed from one report to another, as text; whether anything did.
bool printReportDiff(const Report &before, const Report &after,
                     llvm::raw_ostream &os);

/// The same as JSON, as docs/report.md has it, and as a page.
bool printReportDiffJSON(const Report &before, const Report &after,
                         llvm::raw_ostream &os);
bool printReportDiffHTML(const Report &before, const Report &after,
                         llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_REPORT_REPORT_H
