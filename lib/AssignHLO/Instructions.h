//===- Instructions.h - How layouts pass through HLO ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_ASSIGNHLO_INSTRUCTIONS_H
#define TESSERA_LIB_ASSIGNHLO_INSTRUCTIONS_H

#include "tessera/Assign/Relation.h"
#include "tessera/HLO/Module.h"

namespace tessera {

/// Of operand `number` of an instruction and its result; nothing where the
/// instruction takes and gives the layouts that it has and no others.
std::optional<Relation> getRelation(const hlo::Instruction &instruction,
                                    size_t number);

/// Whether an instruction is a view, or moves bytes only to change a layout.
bool isView(const hlo::Instruction &instruction);

/// Whether such a one moves bytes in the module as it is.
bool movesBytes(const hlo::Instruction &view);

} // namespace tessera

#endif // TESSERA_LIB_ASSIGNHLO_INSTRUCTIONS_H
