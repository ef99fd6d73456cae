//===- tessera-layout.cpp - Questions about shapes and layouts ------------===//
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
    "Answers questions about shapes and layouts in XLA's notation.\n\n"
    "A SHAPE such as 'bf16[32,4096]{1,0:T(8,128)(2,1)}' may be given as `-`, "
    "which\nreads it from standard input. Bad input is exit code 2, with a "
    "message on\nstandard error.\n";

int main(int argc, char **argv) {
  llvm::InitLLVM initLLVM(argc, argv);
  llvm::cl::SetVersionPrinter(versionPrinter("tessera-layout"));
  // LLVM's own options, which its library registers, are of no use here.
  llvm::cl::OptionCategory category("tessera-layout options");
  llvm::cl::HideUnrelatedOptions(category);
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, kOverview, &llvm::errs()))
    return kExitBadInput;

  for (Subcommand *subcommand : Subcommand::all())
    if (*subcommand)
      return finish(subcommand->run());
  return reportError(invalidError("", "command line", "a subcommand", "none",
                                  "see tessera-layout --help"));
}
