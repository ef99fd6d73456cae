//===- tessera-hlo.cpp - Questions about HLO modules ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Subcommand.h"

using namespace tessera;

static constexpr const char *kOverview =
    "Reads HLO modules as XLA's compilers dump them, straight from text.\n\n"
    "FILE may be `-`, standard input. A text that is not right is exit code 2, "
    "with\nall its errors on standard error as `file:line:column: error: "
    "message`.\n";

int main(int argc, char **argv) {
  return runTool(argc, argv, "tessera-hlo", kOverview);
}
