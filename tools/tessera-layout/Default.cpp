//===- Default.cpp - tessera-layout default -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Subcommand.h"
#include "tessera/Support/TargetArgument.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("default", "Print shapes with the layout a target gives them", run);
static cl::list<std::string> shapes(cl::Positional, cl::OneOrMore,
                                    cl::desc("SHAPE..."), cl::sub(command));
static const std::string targetNames = getTargetArgumentHelp();
static cl::opt<std::string> targetName("target", cl::Required,
                                       cl::value_desc("name"), cl::sub(command),
                                       cl::desc(targetNames));

static int run() {
  llvm::Expected<TargetArgument> target = TargetArgument::read(targetName);
  if (!target)
    return reportError(target.takeError());
  int code = kExitSuccess;
  for (const std::string &text : shapes) {
    std::optional<Shape> shape = readShapeArgument(text);
    if (!shape) {
      code = kExitBadInput;
      continue;
    }
    llvm::Expected<Shape> chosen = chooseDefaultLayout(target->get(), *shape);
    if (chosen)
      llvm::outs() << *chosen << '\n';
    else
      code = reportError(chosen.takeError());
  }
  return code;
}
