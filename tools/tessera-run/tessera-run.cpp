//===- tessera-run.cpp - Run relayouts ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Subcommand.h"

using namespace tessera;

static constexpr const char *kOverview =
    "Moves the bytes of arrays, without compiling.\n\n"
    "A SHAPE is XLA's text, such as 'bf16[32,4096]{1,0:T(8,128)(2,1)}'. Files "
    "may be\ngiven as `-`. Bad input is exit code 2, with a message on "
    "standard error, and no\noutput is written.\n";

int main(int argc, char **argv) {
  return runTool(argc, argv, "tessera-run", kOverview);
}
