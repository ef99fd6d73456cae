//===- Bitcast.cpp - tessera-layout bitcast -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "tessera/Support/Subcommand.h"

#include "tessera/Layout/Bitcast.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("bitcast",
                          "Say whether a shape may be read as another", run);
static cl::opt<std::string> fromText(cl::Positional, cl::Required,
                                     cl::desc("FROM"), cl::sub(command));
static cl::opt<std::string> toText(cl::Positional, cl::Required, cl::desc("TO"),
                                   cl::sub(command));
static cl::opt<bool>
    isRelayout("relayout", cl::sub(command),
               cl::desc("Ask about the relayout: every element stays"));
static cl::opt<bool> isReshape("reshape", cl::sub(command),
                               cl::desc("Ask about the row-major reshape"));
static cl::opt<std::string>
    permutation("transpose", cl::value_desc("1,0"), cl::sub(command),
                cl::desc("Ask about the transposition: dimension i of TO is "
                         "dimension number i of this list of FROM"));
static cl::opt<bool>
    isFused("fused", cl::sub(command),
            cl::desc("Let memory spaces differ, as inside a fusion"));

static llvm::Expected<BitcastAnswer> answer(const Shape &from,
                                            const Shape &to) {
  BitcastOptions options;
  options.ignoreMemorySpace = isFused;
  if (permutation.getNumOccurrences()) {
    auto dimensions = parseNumbers(permutation, "permutation");
    if (!dimensions)
      return dimensions.takeError();
    return isTransposeBitcast(from, to, *dimensions, options);
  }
  if (isReshape)
    return isReshapeBitcast(from, to, options);
  if (isRelayout)
    return isRelayoutBitcast(from, to, options);
  return mayBitcast(from, to, options);
}

static int printAnswer(const BitcastAnswer &result) {
  switch (result.answer) {
  case Answer::Yes:
    llvm::outs() << "yes\n";
    return kExitSuccess;
  case Answer::No:
    llvm::outs() << "no: " << result.reason << '\n';
    return kExitNo;
  case Answer::Unknown:
    llvm::outs() << "unknown\n";
    llvm::errs() << "note: " << result.reason << '\n';
    return kExitUnknown;
  }
  llvm_unreachable("all answers are handled");
}

static int run() {
  if (isRelayout + isReshape + (permutation.getNumOccurrences() != 0) > 1)
    return reportError(invalidError(
        "", "command line", "one of --relayout, --reshape and --transpose",
        "several"));
  std::optional<Shape> from = readShapeArgument(fromText);
  std::optional<Shape> to = readShapeArgument(toText);
  if (!from || !to)
    return kExitBadInput;
  llvm::Expected<BitcastAnswer> result = answer(*from, *to);
  if (!result)
    return reportError(result.takeError());
  return printAnswer(*result);
}
