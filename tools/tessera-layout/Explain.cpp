//===- Explain.cpp - tessera-layout explain -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Explain.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("explain", "Say in words what a shape means", run);
static cl::opt<std::string> text(cl::Positional, cl::Required,
                                 cl::desc("SHAPE"), cl::sub(command));
static cl::opt<bool>
    verbose("verbose", cl::sub(command),
            cl::desc("Add the axes, and an element's address step by step"));

static int run() {
  std::optional<Shape> shape = readShapeArgument(text);
  if (!shape)
    return kExitBadInput;
  ExplainOptions options;
  options.verbose = verbose;
  if (llvm::Error error = explainShape(*shape, llvm::outs(), options))
    return reportError(std::move(error));
  return kExitSuccess;
}
