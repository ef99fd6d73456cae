//===- Parse.cpp - tessera-layout parse -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("parse", "Print the canonical text of shapes", run);
static cl::list<std::string> shapes(cl::Positional, cl::desc("SHAPE..."),
                                    cl::sub(command));
static cl::opt<bool>
    fromStdin("stdin", cl::sub(command),
              cl::desc("Read a shape from each line of standard input; an "
                       "invalid one prints `error: ...` in its line"));

/// A line of output for each line of input, whatever it holds.
static int parseLines() {
  auto input = readInput("-");
  if (!input)
    return reportError(input.takeError());
  int code = kExitSuccess;
  llvm::StringRef rest = (*input)->getBuffer();
  while (!rest.empty()) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    llvm::Expected<Shape> shape = parseShape(line);
    if (shape) {
      llvm::outs() << *shape << '\n';
      continue;
    }
    code = kExitNo;
    llvm::outs() << "error: " << llvm::toString(shape.takeError()) << '\n';
  }
  return code;
}

static int run() {
  if (fromStdin && !shapes.empty())
    return reportError(
        invalidError("", "command line", "either --stdin or shapes", "both"));
  if (fromStdin)
    return parseLines();
  if (shapes.empty())
    return reportError(
        invalidError("", "command line", "at least one shape", "none"));
  int code = kExitSuccess;
  for (const std::string &text : shapes) {
    if (std::optional<Shape> shape = readShapeArgument(text))
      llvm::outs() << *shape << '\n';
    else
      code = kExitBadInput;
  }
  return code;
}
