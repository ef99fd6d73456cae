//===- Bytecode.h - Bytecode of kernels as text -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_KERNELS_BYTECODE_H
#define TESSERA_KERNELS_BYTECODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// The MLIR text of bytecode, a BytecodeReader of Kernels.h. Dialects need not
/// be known: Mosaic writes its operations without what only they could read.
/// Errors: *unsupported* where MLIR's reader fails, or would end the process.
llvm::Expected<std::string> printBytecode(llvm::StringRef bytecode);

} // namespace tessera

#endif // TESSERA_KERNELS_BYTECODE_H
