//===- Bytecode.h - Bytecode of kernels -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dialects need not be known: Mosaic writes its operations without what only
// they could read. MLIR's reader and verifier end the process for some bytecode
// that is damaged; here that is an error.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_KERNELS_BYTECODE_H
#define TESSERA_KERNELS_BYTECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Calls `work`; false where it would have ended the process. What it was at
/// work on may not be looked at then. One thread at a time does this.
bool runRecovering(llvm::function_ref<void()> work);

/// The module of bytecode, which nothing has verified. Errors: *unsupported*
/// where MLIR's reader fails, where it is nested deeper than kMaxNesting, and
/// where it has too many parts that are written once and stand in many places.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readBytecode(llvm::StringRef bytecode, mlir::MLIRContext &context);

/// The MLIR text of bytecode, a BytecodeReader of Kernels.h.
llvm::Expected<std::string> printBytecode(llvm::StringRef bytecode);

} // namespace tessera

#endif // TESSERA_KERNELS_BYTECODE_H
