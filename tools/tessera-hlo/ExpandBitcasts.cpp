//===- ExpandBitcasts.cpp - tessera-hlo expand-bitcasts -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/DataFlow/ExpandBitcasts.h"
#include "tessera/HLO/RedrawLayouts.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("expand-bitcasts",
                          "Print a module with each bitcast as the transposes, "
                          "reshapes, paddings and slices that it stands for",
                          run);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(command));
static cl::opt<unsigned>
    seed("redraw-layouts", cl::sub(command), cl::value_desc("seed"),
         cl::desc("Also draw the order of dimensions and the tiles of every "
                  "array at random; the module is not scheduled any more"));

static int run() {
  std::optional<Dump> dump = readDump(file);
  if (!dump)
    return kExitBadInput;
  std::vector<hlo::SourceDiagnostic> errors;
  if (!expandBitcasts(*dump->module, errors)) {
    for (const hlo::SourceDiagnostic &error : errors)
      llvm::errs() << dump->path << ':' << error.message() << '\n';
    return kExitBadInput;
  }
  if (seed.getNumOccurrences())
    hlo::redrawLayouts(*dump->module, seed);
  dump->module->print(llvm::outs());
  return kExitSuccess;
}
