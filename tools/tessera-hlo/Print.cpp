//===- Print.cpp - tessera-hlo print --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

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

static int run() {
  auto input = readInput(file);
  if (!input)
    return reportError(input.takeError());
  if (!separator.empty())
    return printAll((*input)->getBuffer());
  auto module = readModule((*input)->getBuffer(), file, llvm::errs());
  if (!module)
    return kExitBadInput;
  module->print(llvm::outs());
  return kExitSuccess;
}
