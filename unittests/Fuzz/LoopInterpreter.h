//===- LoopInterpreter.h - Runs emitted loops -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a function of the operations that relayouts become: loops of affine and
// scf, integer arithmetic, accesses to memrefs by elements and vectors. Every
// access must be within its buffer, and be as aligned as it says.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_FUZZ_LOOPINTERPRETER_H
#define TESSERA_UNITTESTS_FUZZ_LOOPINTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/APInt.h"

namespace tessera::fuzz {

/// Bytes that are said to begin at `address`.
struct InterpretedMemory {
  std::vector<uint8_t> bytes;
  uint64_t address = 4096;
};

/// Runs `function` on memrefs over `arguments`. Ends the process on accesses
/// out of bounds; false where more than `maxSteps` operations would run.
bool interpret(mlir::func::FuncOp function,
               llvm::MutableArrayRef<InterpretedMemory> arguments,
               int64_t maxSteps);

} // namespace tessera::fuzz

#endif // TESSERA_UNITTESTS_FUZZ_LOOPINTERPRETER_H
