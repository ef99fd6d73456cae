//===- Loops.h - How often loops run ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_LOOPS_H
#define TESSERA_HLO_LOOPS_H

#include "tessera/HLO/Module.h"

namespace tessera::hlo {

/// How often a `while` runs its body, where that can be told: a counter goes
/// from a constant up to another one.
std::optional<int64_t> getTripCount(const Instruction &loop);

} // namespace tessera::hlo

#endif // TESSERA_HLO_LOOPS_H
