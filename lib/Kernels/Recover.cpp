//===- Recover.cpp - What may end the process -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled with exceptions: MLIR throws none, but a text of damaged length is
// std::bad_alloc, which would leave by frames that undo nothing.
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/Bytecode.h"

#include "llvm/Support/CrashRecoveryContext.h"

#include <mutex>

using namespace tessera;

bool tessera::runRecovering(llvm::function_ref<void()> work) {
  // Handlers of signals are those of the process.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  bool hasThrown = false;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  bool survived = recovery.RunSafely([&] {
    try {
      work();
    } catch (...) {
      hasThrown = true;
    }
  });
  llvm::CrashRecoveryContext::Disable();
  return survived && !hasThrown;
}
