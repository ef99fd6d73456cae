//===- Print.cpp - tessera-hlo print --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/Support/Subcommand.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("print", "Verify a module and print it", run);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(command));
static cl::opt<std::string>
    separator("separator", cl::sub(command), cl::value_desc("line"),
              cl::desc("The file holds several modules between lines like this "
                       "one; so does the output, with errors in place of an "
                       "invalid module"));

static cl::opt<unsigned>
    timed("time", cl::sub(command), cl::value_desc("n"), cl::init(0),
          cl::desc("Instead of the module, print the least seconds that "
                   "parsing it takes in n runs"));

/// The parser alone, without verification and printing.
static int printTime(llvm::StringRef text) {
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> best = std::chrono::hours(1);
  for (unsigned i = 0; i < timed; ++i) {
    std::vector<hlo::SourceDiagnostic> errors;
    Clock::time_point start = Clock::now();
    std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start));
  }
  llvm::outs() << llvm::format("%.9f\n", best.count());
  return kExitSuccess;
}

/// Prints the modules of `text` one by one; what follows an invalid one is
/// still read.
static int printAll(llvm::StringRef text) {
  std::string between = "\n" + separator + "\n";
  int code = kExitSuccess;
  bool last = false;
  while (!last) {
    size_t end = text.find(between);
    last = end == llvm::StringRef::npos;
    if (auto module = readModule(text.take_front(end), file, llvm::outs()))
      module->print(llvm::outs());
    else
      code = kExitNo;
    if (!last) {
      llvm::outs() << between;
      text = text.drop_front(end + between.size());
    }
  }
  return code;
}

/// Of several modules each is looked at alone.
static int runOnAll() {
  auto input = readInput(file);
  if (!input)
    return reportError(input.takeError());
  return printAll((*input)->getBuffer());
}

static int run() {
  if (!separator.empty() && timed == 0)
    return runOnAll();
  std::unique_ptr<llvm::MemoryBuffer> input = readText(file);
  if (!input)
    return kExitBadInput;
  if (timed > 0)
    return printTime(input->getBuffer());
  auto module = readModule(input->getBuffer(), file, llvm::errs());
  if (!module)
    return kExitBadInput;
  module->print(llvm::outs());
  return kExitSuccess;
}
