//===- tessera-hlo.cpp - Questions about HLO modules ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Subcommand.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

static constexpr const char *kOverview =
    "Reads HLO modules as XLA's compilers dump them, straight from text.\n\n"
    "FILE may be `-`, standard input. A text that is not right is exit code 2, "
    "with\nall its errors on standard error as `file:line:column: error: "
    "message`.\n";

int main(int argc, char **argv) {
  llvm::InitLLVM initLLVM(argc, argv);
  llvm::cl::SetVersionPrinter(versionPrinter("tessera-hlo"));
  llvm::cl::OptionCategory category("tessera-hlo options");
  llvm::cl::HideUnrelatedOptions(category);
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, kOverview, &llvm::errs()))
    return kExitBadInput;

  for (Subcommand *subcommand : Subcommand::all())
    if (*subcommand)
      return finish(subcommand->run());
  return reportError(invalidError("", "command line", "a subcommand", "none",
                                  "see tessera-hlo --help"));
}
