//===- Passes.cpp - The passes in C ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Passes.h"

#include "tessera/InitAll.h"

#include "llvm/Support/Threading.h"

void tesseraRegisterAllPasses(void) {
  // MLIR's registry refuses a pipeline that it knows already.
  static llvm::once_flag once;
  llvm::call_once(once, [] { tessera::registerAllPasses(); });
}
