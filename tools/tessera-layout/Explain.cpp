//===- Explain.cpp - tessera-layout explain -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Explain.h"
#include "tessera/Support/FileKind.h"
#include "tessera/Support/Subcommand.h"
#include "tessera/Support/TargetArgument.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;
namespace cl = llvm::cl;

static int run();

static Subcommand command(
    "explain",
    "Say in words what a shape, a layout, a line of HLO, a type of MLIR or a "
    "message with shapes means",
    run);
static cl::opt<std::string>
    text(cl::Positional, cl::Required,
         cl::desc("SHAPE | {1,0:T(8,128)} | NAME = SHAPE OPCODE(...) | "
                  "tensor<...> | MESSAGE"),
         cl::sub(command));
static cl::opt<bool>
    verbose("verbose", cl::sub(command),
            cl::desc("Add the axes, and an element's address step by step"));

static cl::opt<std::string>
    targetName("target", cl::value_desc("name"), cl::sub(command),
               cl::desc("Whose names memory spaces have, as in `default`"));

/// Names a file for what it is, and which tool reads it. True if `argument` is
/// the name of one.
static bool reportFile(StringRef argument) {
  if (!llvm::sys::fs::is_regular_file(argument))
    return false;
  auto file = readInput(argument);
  if (!file) {
    reportError(file.takeError());
    return true;
  }
  FileKind kind = getFileKind((*file)->getBuffer());
  reportError(
      invalidError("", "text", "a shape, a line of HLO or a message",
                   "the name of a file, which is " + getFileKindName(kind),
                   getFileKindReader(kind)));
  return true;
}

static int run() {
  ExplainOptions options;
  options.verbose = verbose;
  std::optional<TargetArgument> target;
  Target machine;
  if (targetName.getNumOccurrences() > 0) {
    if (llvm::Error error = TargetArgument::read(targetName).moveInto(target))
      return reportError(std::move(error));
    machine = target->get();
    options.target = &machine;
  }
  std::unique_ptr<llvm::MemoryBuffer> input;
  StringRef argument = text;
  if (text == "-") {
    auto buffer = readInput(text);
    if (!buffer)
      return reportError(buffer.takeError());
    input = std::move(*buffer);
    argument = input->getBuffer();
  }
  if (llvm::Error error = checkIsText(argument, "text with shapes"))
    return reportError(std::move(error));
  llvm::Error error = explainText(argument, llvm::outs(), options);
  if (!error)
    return kExitSuccess;
  if (reportFile(text)) {
    llvm::consumeError(std::move(error));
    return kExitBadInput;
  }
  llvm::handleAllErrors(std::move(error), [&](const LayoutError &each) {
    printError(llvm::errs(), each.get(), argument);
  });
  return kExitBadInput;
}
