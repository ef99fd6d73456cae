//===- Index.cpp - tessera-layout index -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("index", "Print where an element lies in the buffer",
                          run);
static cl::opt<std::string> shapeText(cl::Positional, cl::Required,
                                      cl::desc("SHAPE"), cl::sub(command));
static cl::opt<std::string> argument(cl::Positional,
                                     cl::desc("2,3 | 17 with --inverse"),
                                     cl::sub(command));
static cl::opt<bool>
    isInverse("inverse", cl::sub(command),
              cl::desc("From a position to its element, or `padding`"));
static cl::opt<bool> isTable(
    "table", cl::sub(command),
    cl::desc("A line for each position: position, tab, element or `padding`"));

/// The element at `position`, or `padding`.
static std::string describePosition(const AxisList &axes, int64_t position) {
  auto index = axes.logicalIndex(position);
  return index ? formatIndex(*index) : "padding";
}

static int printPosition(const AxisList &axes) {
  auto index = parseIndex(argument, axes.dimensions());
  if (!index)
    return reportError(index.takeError());
  llvm::outs() << axes.linearIndex(*index) << '\n';
  return kExitSuccess;
}

static int printElement(const AxisList &axes) {
  auto position = parsePosition(argument, "position", axes.numAllocated());
  if (!position)
    return reportError(position.takeError());
  llvm::outs() << describePosition(axes, *position) << '\n';
  return kExitSuccess;
}

static int printTable(const AxisList &axes) {
  for (int64_t position = 0; position < axes.numAllocated(); ++position) {
    llvm::outs() << position << '\t' << describePosition(axes, position)
                 << '\n';
    // A reader such as `head` may have had enough.
    if (llvm::outs().has_error())
      break;
  }
  return kExitSuccess;
}

static int run() {
  if (isTable && (isInverse || argument.getNumOccurrences()))
    return reportError(invalidError("", "command line", "--table alone",
                                    "an index or --inverse with it"));
  if (!isTable && !argument.getNumOccurrences())
    return reportError(invalidError("", "command line",
                                    isInverse ? "a position" : "an index",
                                    "none", "a scalar's index is ''"));
  std::optional<ArrayArgument> array = readArrayArgument(shapeText);
  if (!array)
    return kExitBadInput;
  if (isTable)
    return printTable(array->axes);
  return isInverse ? printElement(array->axes) : printPosition(array->axes);
}
