//===- OutOfMemory.h - What XLA says when memory runs out -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the texts that XLA's compilers and runtimes print when memory runs out,
// out of whatever log they stand in, and says of each allocation why it is that
// large and what would make it smaller. docs/problems.md shows it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_OUTOFMEMORY_H
#define TESSERA_REPORT_OUTOFMEMORY_H

#include "tessera/Report/Report.h"

namespace tessera {

//===----------------------------------------------------------------------===//
// What the text says
//===----------------------------------------------------------------------===//

/// Bytes as a log prints them: `4.00G` stands for any number that rounds to it.
struct PrintedSize {
  int64_t bytes = 0;
  /// How far the number that was meant may be from it.
  int64_t tolerance = 0;

  bool matches(int64_t exact) const;
};

/// A sentence that says what was asked for, and what there was.
struct Shortage {
  enum class Kind : uint8_t {
    Program,   ///< A program does not fit, said by the compiler.
    Scoped,    ///< One kernel or fusion needs more than its limit.
    Load,      ///< A compiled program does not fit beside what is there.
    Allocation ///< An array does not fit beside what is there.
  };
  Kind kind = Kind::Program;
  /// `hbm`, `vmem`; empty where the text does not say.
  std::string space;
  std::optional<PrintedSize> needed;
  std::optional<PrintedSize> available;
  std::optional<PrintedSize> excess;
  /// The instruction, where one is named.
  std::string instruction;
};

/// An entry of a list of the largest allocations.
struct LoggedAllocation {
  PrintedSize size;
  std::string space; ///< Of its list; may be empty.
  /// As printed, and parsed where it is a shape.
  std::string shapeText;
  std::optional<Shape> shape;
  std::optional<PrintedSize> padding;
  std::string origin; ///< op_name, what the user wrote.
  std::string file;   ///< source_file and
  int64_t line = 0;   ///< source_line; 0 where there is none.
  std::string label;  ///< The instruction, or what else it is.
  std::string type;   ///< `HLO temp`, `scoped`, `parameter`.
};

struct OutOfMemoryLog {
  /// In the order of the text, each once.
  std::vector<Shortage> shortages;
  /// Likewise; lists that a log repeats, as of several processes, count once.
  std::vector<LoggedAllocation> allocations;
};

/// Error: *invalid* where the text says nothing of memory that ran out.
llvm::Expected<OutOfMemoryLog> parseOutOfMemoryLog(llvm::StringRef text);

//===----------------------------------------------------------------------===//
// What follows from it
//===----------------------------------------------------------------------===//

/// Equal allocations, and what is to be said of them.
struct AllocationAnswer {
  LoggedAllocation allocation;
  int64_t count = 1;
  /// The shape with the layout that gives the printed size: that of the text,
  /// or a tile that the text leaves out. Nothing where none does.
  std::optional<Shape> shape;
  bool isInferred = false; ///< The text leaves the tile out.
  int64_t bytes = 0;       ///< Of one: exact where the shape is known.
  int64_t paddingBytes = 0;
  std::string why;
  /// The cheapest first: the smallest, of equal ones that which changes least;
  /// other types, which do not keep all values, last.
  std::vector<Suggestion> repairs;

  /// Of all of them, at most INT64_MAX.
  int64_t totalBytes() const;
  /// The cheapest that keeps all values, if there is one.
  const Suggestion *repair() const;
  /// What it saves of all of them.
  int64_t gain() const;
};

struct OutOfMemoryReport {
  std::vector<Shortage> shortages;
  /// The largest first.
  std::vector<AllocationAnswer> allocations;
  /// What the cheapest repair of each would save together.
  int64_t gain = 0;
  /// What to do next, a sentence each.
  std::vector<std::string> advice;
};

OutOfMemoryReport explainOutOfMemory(const OutOfMemoryLog &log);

/// Text for people; at most `limit` allocations.
void printOutOfMemory(const OutOfMemoryReport &report, llvm::raw_ostream &os,
                      size_t limit = 10);

/// JSON for programs: docs/problems.md has the schema.
void printOutOfMemoryJSON(const OutOfMemoryReport &report,
                          llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_REPORT_OUTOFMEMORY_H
