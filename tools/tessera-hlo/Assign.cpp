//===- Assign.cpp - tessera-hlo assign ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/AssignHLO/AssignHLO.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("assign",
                          "Take the layouts away from a scheduled module, but "
                          "for what fixes them, and assign those that move the "
                          "fewest bytes, with a lower bound",
                          run);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(command));
static cl::opt<bool> asJSON("json", cl::sub(command),
                            cl::desc("Print JSON, as docs/assignment.md has "
                                     "it"));
static cl::opt<bool> keep("keep", cl::sub(command),
                          cl::desc("Take the module's own layouts as "
                                   "candidates too: never more bytes than "
                                   "now"));
static cl::opt<int64_t> unknownTrips("unknown-trips", cl::sub(command),
                                     cl::init(1), cl::value_desc("n"),
                                     cl::desc("Runs of a loop whose number is "
                                              "not known (1)"));
static cl::opt<unsigned> candidates("candidates", cl::sub(command), cl::init(6),
                                    cl::value_desc("n"),
                                    cl::desc("Layouts that a value may choose "
                                             "from (6)"));
static cl::opt<unsigned> nodes("nodes", cl::sub(command), cl::init(2000),
                               cl::value_desc("n"),
                               cl::desc("Nodes that branch and bound may visit "
                                        "(2000)"));
static cl::opt<unsigned> limit("limit", cl::sub(command), cl::init(10),
                               cl::value_desc("n"),
                               cl::desc("Changes that are shown to people; 0 "
                                        "for all"));

static cl::opt<std::string> output("o", cl::sub(command),
                                   cl::value_desc("file"),
                                   cl::desc("Write the module with its new "
                                            "layouts there; for -, print it "
                                            "instead of the report"));

static llvm::Expected<AssignOptions> getOptions() {
  if (unknownTrips < 1)
    return invalidError("", "--unknown-trips", "a number of at least 1",
                        llvm::Twine(unknownTrips));
  if (candidates < 1 || candidates > 16)
    return invalidError("", "--candidates", "a number from 1 to 16",
                        llvm::Twine(candidates));
  AssignOptions options;
  options.keep = keep;
  options.unknownTrips = unknownTrips;
  options.maxCandidates = candidates;
  options.writesText = !output.empty();
  options.solver.maxNodes = nodes;
  return options;
}

/// Whether the new module, if one is asked for, is written.
static bool writeModule(const HLOAssignment &assignment,
                        llvm::StringRef input) {
  if (output.empty())
    return true;
  llvm::Error error =
      assignment.text.empty()
          ? unsupportedError("module", "layouts that fit together",
                             "candidates that fit nowhere",
                             "try --keep or more --candidates")
          : writeOutput(output, [&](llvm::raw_ostream &os) -> llvm::Error {
              os << assignment.text;
              return llvm::Error::success();
            });
  if (!error)
    return true;
  llvm::errs() << input << ": error: " << llvm::toString(std::move(error))
               << '\n';
  return false;
}

static int run() {
  llvm::Expected<AssignOptions> options = getOptions();
  if (!options)
    return reportError(options.takeError());
  std::optional<Dump> dump = readDump(file);
  if (!dump)
    return kExitBadInput;
  const hlo::Module &module = *dump->module;
  llvm::Expected<HLOAssignment> assignment = assignLayouts(module, *options);
  if (!assignment) {
    llvm::errs() << dump->path
                 << ": error: " << llvm::toString(assignment.takeError())
                 << '\n';
    return kExitBadInput;
  }
  if (!writeModule(*assignment, dump->path))
    return kExitBadInput;
  if (output == "-")
    return kExitSuccess;
  if (asJSON)
    printAssignmentJSON(module, *assignment, llvm::outs());
  else
    printAssignment(module, *assignment,
                    limit == 0 ? assignment->changes.size() : limit,
                    llvm::outs());
  return kExitSuccess;
}
