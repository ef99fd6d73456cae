//===- Report.cpp - tessera-hlo report ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Limits.h"
#include "ReadModule.h"

#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("report", "Tell where memory and bytes go", run);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(command));
static cl::opt<bool> asJSON("json", cl::sub(command),
                            cl::desc("Print JSON, as docs/report.md has it"));
static cl::opt<bool> asHTML("html", cl::sub(command),
                            cl::desc("Print a page that needs nothing else"));
static cl::opt<std::string> outputFile("o", cl::sub(command), cl::init("-"),
                                       cl::value_desc("file"),
                                       cl::desc("Where to print it"));
static cl::opt<unsigned>
    limit("limit", cl::sub(command), cl::init(10), cl::value_desc("n"),
          cl::desc("Rows in each list for people; 0 for all"));

static cl::list<std::string>
    failIf("fail-if", cl::sub(command), cl::value_desc("limit"),
           cl::desc("Exit with 1 where the report is above a limit such as "
                    "'padding>5%' or 'peak>16GiB'; docs/report.md has all"));

static int run() {
  if (asJSON && asHTML)
    return reportError(
        invalidError("", "command line", "either --json or --html", "both"));
  auto limits = parseLimits(failIf, /*canCompare=*/false);
  if (!limits)
    return kExitBadInput;
  std::optional<Report> result = reportOn(file);
  if (!result)
    return kExitBadInput;
  size_t rows = limit == 0 ? result->values.size() : limit;
  llvm::Error error =
      writeOutput(outputFile, [&](llvm::raw_ostream &os) -> llvm::Error {
        if (asJSON)
          printReportJSON(*result, os);
        else if (asHTML)
          printReportHTML(*result, os, rows);
        else
          printReport(*result, os, rows);
        return llvm::Error::success();
      });
  if (error)
    return reportError(std::move(error));
  return checkLimits(*limits, *result);
}
