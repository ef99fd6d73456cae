//===- Diff.cpp - tessera-hlo diff ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Limits.h"
#include "OutputOptions.h"
#include "ReadModule.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("diff",
                          "Tell what differs between two modules in "
                          "layouts, spaces and bytes; exit code 1 if "
                          "anything does, or if a limit is exceeded",
                          run);
static cl::opt<std::string> before(cl::Positional, cl::desc("A.hlo"),
                                   cl::Required, cl::sub(command));
static cl::opt<std::string> after(cl::Positional, cl::desc("B.hlo"),
                                  cl::Required, cl::sub(command));

static OutputOptions output(command);
static cl::list<std::string>
    failIf("fail-if", cl::sub(command), cl::value_desc("limit"),
           cl::desc("Exit with 1 only where B.hlo is above a limit such as "
                    "'padding>+5%' or 'peak>16GiB'; docs/report.md has all"));

static int run() {
  if (llvm::Error error = output.check())
    return reportError(std::move(error));
  auto limits = parseLimits(failIf, /*canCompare=*/true);
  if (!limits)
    return kExitBadInput;
  std::optional<Report> old = reportOn(before);
  std::optional<Report> now = reportOn(after);
  if (!old || !now)
    return kExitBadInput;
  auto print = output.asJSON   ? printReportDiffJSON
               : output.asHTML ? printReportDiffHTML
                               : printReportDiff;
  bool differs = false;
  llvm::Error error =
      writeOutput(output.file, [&](llvm::raw_ostream &os) -> llvm::Error {
        differs = print(*old, *now, os);
        return llvm::Error::success();
      });
  if (error)
    return reportError(std::move(error));
  if (!limits->empty())
    return checkLimits(*limits, *now, &*old);
  return differs ? kExitNo : kExitSuccess;
}
