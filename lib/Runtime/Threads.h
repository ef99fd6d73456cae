//===- Threads.h - Work on threads of our own -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_THREADS_H
#define TESSERA_LIB_RUNTIME_THREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace tessera::runtime {

/// Calls `task` for each number below `count`, at once: by the caller, and by
/// threads that end before this returns. Where the system has no more threads,
/// the caller does their work.
void runOnThreads(int64_t count, llvm::function_ref<void(int64_t)> task);

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_THREADS_H
