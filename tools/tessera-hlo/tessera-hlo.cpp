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
    "FILE may be `-`, standard input, or a folder that --xla_dump_to left: "
    "then its\nlargest module after optimizations is read. A text that is not "
    "right is exit\ncode 2, with all its errors on standard error as "
    "`file:line:column: error:\nmessage`.\n";

int main(int argc, char **argv) {
  return runTool(argc, argv, "tessera-hlo", kOverview);
}
