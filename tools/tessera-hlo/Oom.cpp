//===- Oom.cpp - tessera-hlo oom ------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/OutOfMemory.h"
#include "tessera/Support/FileKind.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("oom",
            "Tell why a program ran out of memory, from what XLA prints then, "
            "and what would make it smaller",
            run);
static cl::opt<std::string> file(cl::Positional, cl::desc("[LOG]"),
                                 cl::init("-"), cl::sub(command));
static cl::opt<bool> asJSON("json", cl::sub(command),
                            cl::desc("Print JSON, as docs/problems.md has it"));
static cl::opt<unsigned>
    limit("limit", cl::sub(command), cl::init(10), cl::value_desc("n"),
          cl::desc("Allocations that are shown to people; 0 for all"));

static int run() {
  auto input = readInput(file);
  if (!input)
    return reportError(input.takeError());
  if (llvm::Error error =
          checkIsText((*input)->getBuffer(), "a log or a message of XLA"))
    return reportError(std::move(error));
  llvm::Expected<OutOfMemoryLog> log =
      parseOutOfMemoryLog((*input)->getBuffer());
  if (!log)
    return reportError(log.takeError());
  OutOfMemoryReport report = explainOutOfMemory(*log);
  if (asJSON)
    printOutOfMemoryJSON(report, llvm::outs());
  else
    printOutOfMemory(report, llvm::outs(),
                     limit == 0 ? report.allocations.size() : limit);
  return kExitSuccess;
}
