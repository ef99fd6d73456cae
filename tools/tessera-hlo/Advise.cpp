//===- Advise.cpp - tessera-hlo advise ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/Advise/Advise.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("advise",
                          "Tell which layouts of arguments, results and loops "
                          "to ask for, what that saves and costs, and how",
                          run);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(command));
static cl::opt<bool> asJSON("json", cl::sub(command),
                            cl::desc("Print JSON, as docs/report.md has it"));
static cl::opt<unsigned> limit("limit", cl::sub(command), cl::init(10),
                               cl::value_desc("n"),
                               cl::desc("Pieces of advice for people; 0 for "
                                        "all"));

static int run() {
  std::optional<Dump> dump = readDump(file);
  if (!dump)
    return kExitBadInput;
  const hlo::Module &module = *dump->module;
  std::vector<Advice> list = advise(module);
  if (asJSON)
    printAdviceJSON(module, list, llvm::outs());
  else
    printAdvice(module, list, limit == 0 ? list.size() : limit, llvm::outs());
  return kExitSuccess;
}
