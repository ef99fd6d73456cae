//===- Calibrate.cpp - tessera-compile calibrate --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/MachineFile.h"
#include "tessera/Layout/Diagnostic.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("calibrate",
            "Measure what plans of relayouts need to know of this "
            "machine",
            run);
static cl::opt<std::string> outputPath(
    "o", cl::value_desc("file"),
    cl::desc("Where to write it (default: where `relayout` finds it)"),
    cl::sub(command));
static cl::opt<std::string>
    costsOf("plan-costs-of", cl::Hidden,
            cl::desc("A processor whose costs are the first ones"),
            cl::value_desc("name"), cl::sub(command));
static cl::list<std::string> only("only", cl::Hidden, cl::CommaSeparated,
                                  cl::desc("Measure these coefficients alone"),
                                  cl::value_desc("keys"), cl::sub(command));

static void report(const CalibrationStep &step) {
  llvm::errs() << step.key << " = " << step.value;
  if (step.numRelayouts == 0)
    llvm::errs() << ", on which nothing depends here";
  if (step.ratio < 1)
    llvm::errs() << llvm::format(", which takes %.2f of the time", step.ratio);
  llvm::errs() << '\n';
}

static CalibrationOptions getOptions() {
  CalibrationOptions options = {report};
  if (costsOf.getNumOccurrences())
    options.start = ProcessorCosts::get(costsOf);
  options.keys.assign(only.begin(), only.end());
  return options;
}

static llvm::Error calibrateTo(const std::string &path) {
  if (path.empty())
    return invalidError("", "output file", "a name", "none",
                        "give one by -o, or set TESSERA_MACHINE");
  if (llvm::Error error = prepareToWrite(path))
    return error;
  llvm::Expected<MachineProfile> profile = calibrate(getOptions());
  if (!profile)
    return profile.takeError();
  // What was tuned stays, though it was measured beside other coefficients.
  if (llvm::sys::fs::exists(path) && !isStream(path)) {
    llvm::Expected<MachineProfile> old = MachineProfile::read(path);
    if (old && old->cpu == profile->cpu)
      profile->relayouts = std::move(old->relayouts);
    llvm::consumeError(old ? llvm::Error::success() : old.takeError());
  }
  return writeMachine(path, *profile);
}

static int run() {
  std::string path =
      outputPath.getNumOccurrences() ? outputPath : getDefaultMachinePath();
  if (llvm::Error error = calibrateTo(path))
    return reportError(std::move(error));
  llvm::errs() << "written to " << path << '\n';
  return kExitSuccess;
}
