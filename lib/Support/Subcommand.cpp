//===- Subcommand.cpp - Subcommands of tools ------------------------------===//
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

int tessera::runTool(int argc, char **argv, llvm::StringRef tool,
                     llvm::StringRef overview) {
  llvm::InitLLVM initLLVM(argc, argv);
  exitWhenOutOfMemory();
  llvm::cl::SetVersionPrinter(versionPrinter(tool));
  // LLVM's own options, which its library registers, are of no use here.
  const std::string name = (tool + " options").str();
  llvm::cl::OptionCategory category(name);
  llvm::cl::HideUnrelatedOptions(category);
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    return kExitBadInput;
  for (Subcommand *subcommand : Subcommand::all())
    if (*subcommand)
      return finish(subcommand->run());
  return reportError(invalidError("", "command line", "a subcommand", "none",
                                  "see " + tool + " --help"));
}
