//===- Subcommand.h - The subcommands of tessera-layout ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_LAYOUT_SUBCOMMAND_H
#define TESSERA_TOOLS_TESSERA_LAYOUT_SUBCOMMAND_H

#include "tessera/Support/Subcommand.h"

#endif // TESSERA_TOOLS_TESSERA_LAYOUT_SUBCOMMAND_H
