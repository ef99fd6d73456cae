//===- tessera-layout.cpp - Questions about shapes and layouts ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Subcommand.h"

using namespace tessera;

static constexpr const char *kOverview =
    "Answers questions about shapes and layouts in XLA's notation.\n\n"
    "A SHAPE such as 'bf16[32,4096]{1,0:T(8,128)(2,1)}' may be given as `-`, "
    "which\nreads it from standard input. Bad input is exit code 2, with a "
    "message on\nstandard error.\n";

int main(int argc, char **argv) {
  return runTool(argc, argv, "tessera-layout", kOverview);
}
