//===- Report.cpp - tessera-hlo report ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Limits.h"
#include "OutputOptions.h"
#include "ReadModule.h"

#include "tessera/Support/TargetArgument.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("report", "Tell where memory and bytes go", run);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(command));
static OutputOptions output(command);
static cl::opt<unsigned>
    limit("limit", cl::sub(command), cl::init(10), cl::value_desc("n"),
          cl::desc("Rows in each list for people; 0 for all"));

static cl::opt<bool>
    withBound("bound", cl::sub(command),
              cl::desc("Also the bytes that layouts let instructions read and "
                       "write, and the least that other layouts would, as "
                       "tessera-hlo assign --keep finds it"));

static const std::string targetHelp =
    "The machine whose memories --html draws as lines: " +
    getTargetArgumentHelp();
static cl::opt<std::string> target("target", cl::sub(command),
                                   cl::value_desc("name"),
                                   cl::desc(targetHelp));
static ChoiceOption<ReportGrouping>
    grouping("group", cl::sub(command), cl::desc("Also sums, as text, over"),
             cl::values(clEnumValN(ReportGrouping::Source, "source",
                                   "lines of the source"),
                        clEnumValN(ReportGrouping::Operation, "operation",
                                   "operations")));

/// The memories of the target, if one is named.
static llvm::Expected<std::vector<ReportCapacity>> getCapacities() {
  std::vector<ReportCapacity> capacities;
  if (target.empty())
    return capacities;
  llvm::Expected<TargetArgument> argument = TargetArgument::read(target);
  if (!argument)
    return argument.takeError();
  Target machine = argument->get();
  for (const MemorySpace &space : machine.spaces)
    capacities.push_back({space.number, space.capacity,
                          (space.name + " of " + machine.name).str()});
  return capacities;
}

static void printText(const Report &report, llvm::raw_ostream &os,
                      size_t rows) {
  printReport(report, os, rows);
  if (grouping.getNumOccurrences() > 0)
    printReportGroups(report, grouping, os, rows);
}
static cl::list<std::string>
    failIf("fail-if", cl::sub(command), cl::value_desc("limit"),
           cl::desc("Exit with 1 where the report is above a limit such as "
                    "'padding>5%' or 'peak>16GiB'; docs/report.md has all"));

static int run() {
  llvm::Expected<std::vector<ReportCapacity>> capacities = getCapacities();
  if (!capacities)
    return reportError(capacities.takeError());
  if (llvm::Error error = output.check())
    return reportError(std::move(error));
  auto limits = parseLimits(failIf, /*canCompare=*/false);
  if (!limits)
    return kExitBadInput;
  std::optional<Report> result = reportOn(file, withBound);
  if (!result)
    return kExitBadInput;
  size_t rows = limit == 0 ? result->values.size() : limit;
  llvm::Error error =
      writeOutput(output.file, [&](llvm::raw_ostream &os) -> llvm::Error {
        if (output.asJSON)
          printReportJSON(*result, os);
        else if (output.asHTML)
          printReportHTML(*result, os, rows, *capacities);
        else
          printText(*result, os, rows);
        return llvm::Error::success();
      });
  if (error)
    return reportError(std::move(error));
  return checkLimits(*limits, *result);
}
