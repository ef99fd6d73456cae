//===- Diff.cpp - tessera-hlo diff ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("diff",
                          "Tell what differs between two modules in "
                          "layouts, spaces and bytes; exit code 1 if "
                          "anything does",
                          run);
static cl::opt<std::string> before(cl::Positional, cl::desc("A.hlo"),
                                   cl::Required, cl::sub(command));
static cl::opt<std::string> after(cl::Positional, cl::desc("B.hlo"),
                                  cl::Required, cl::sub(command));

static int run() {
  std::optional<Report> old = reportOn(before);
  std::optional<Report> now = reportOn(after);
  if (!old || !now)
    return kExitBadInput;
  return printReportDiff(*old, *now, llvm::outs()) ? kExitNo : kExitSuccess;
}
