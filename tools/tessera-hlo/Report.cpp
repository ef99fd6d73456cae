//===- Report.cpp - tessera-hlo report and diff ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/Report/HloReport.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int runReport();
static int runDiff();

static Subcommand report("report", "Tell where memory and bytes go", runReport);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(report));
static cl::opt<bool> asJSON("json", cl::sub(report),
                            cl::desc("Print JSON, as docs/report.md has it"));
static cl::opt<bool> asHTML("html", cl::sub(report),
                            cl::desc("Print a page that needs nothing else"));
static cl::opt<std::string> outputFile("o", cl::sub(report), cl::init("-"),
                                       cl::value_desc("file"),
                                       cl::desc("Where to print it"));
static cl::opt<unsigned>
    limit("limit", cl::sub(report), cl::init(10), cl::value_desc("n"),
          cl::desc("Rows in each list for people; 0 for all"));

static Subcommand diff("diff",
                       "Tell what differs between two modules in "
                       "layouts, spaces and bytes; exit code 1 if "
                       "anything does",
                       runDiff);
static cl::opt<std::string> before(cl::Positional, cl::desc("A.hlo"),
                                   cl::Required, cl::sub(diff));
static cl::opt<std::string> after(cl::Positional, cl::desc("B.hlo"),
                                  cl::Required, cl::sub(diff));

/// The report on a file; nothing after an error, which was shown.
static std::optional<Report> reportOn(llvm::StringRef path) {
  auto input = readInput(path);
  if (!input) {
    reportError(input.takeError());
    return std::nullopt;
  }
  auto module = readModule((*input)->getBuffer(), path, llvm::errs());
  if (!module)
    return std::nullopt;
  llvm::Expected<Report> result = makeReport(makeReportInput(*module));
  if (!result) {
    reportError(result.takeError());
    return std::nullopt;
  }
  return std::move(*result);
}

static int runReport() {
  if (asJSON && asHTML)
    return reportError(
        invalidError("", "command line", "either --json or --html", "both"));
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
  return error ? reportError(std::move(error)) : kExitSuccess;
}

static int runDiff() {
  std::optional<Report> old = reportOn(before);
  std::optional<Report> now = reportOn(after);
  if (!old || !now)
    return kExitBadInput;
  return printReportDiff(*old, *now, llvm::outs()) ? kExitNo : kExitSuccess;
}
