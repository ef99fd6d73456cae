//===- Prove.cpp - tessera-hlo prove --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/DataFlow/Prove.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("prove",
            "Prove that two dumps of a module compute the same, up to copies, "
            "bitcasts, transposes, reshapes and layouts; exit code 1 if they "
            "do not, 3 if that is not known",
            run);
static cl::opt<std::string> before(cl::Positional, cl::desc("BEFORE.hlo"),
                                   cl::Required, cl::sub(command));
static cl::opt<std::string> after(cl::Positional, cl::desc("AFTER.hlo"),
                                  cl::Required, cl::sub(command));

/// `file:line: %name` of an instruction that differs.
static void printPosition(const Dump &dump,
                          const hlo::Instruction *instruction) {
  if (instruction)
    llvm::outs() << "  " << dump.path << ':'
                 << dump.module->getLocation(instruction->name).line << ": %"
                 << instruction->name << " = " << *instruction->shape << ' '
                 << instruction->opcodeName() << '\n';
}

static int print(const FlowAnswer &answer, const Dump &old, const Dump &now) {
  if (answer.answer == Answer::Yes) {
    llvm::outs() << "yes: both compute the same of the same elements\n";
    if (!answer.assumedEqual.empty())
      llvm::outs()
          << "  provided that constants whose elements both dumps left "
             "out are equal (xla_dump_large_constants keeps them):\n";
    for (const hlo::Instruction *constant : answer.assumedEqual)
      printPosition(old, constant);
    return kExitSuccess;
  }
  bool isNo = answer.answer == Answer::No;
  llvm::outs() << (isNo ? "no: " : "unknown: ") << answer.reason << '\n';
  printPosition(old, answer.before);
  printPosition(now, answer.after);
  return isNo ? kExitNo : kExitUnknown;
}

static int run() {
  std::optional<Dump> old = readDump(before), now = readDump(after);
  if (!old || !now)
    return kExitBadInput;
  return print(proveSameFlow(*old->module, *now->module), *old, *now);
}
