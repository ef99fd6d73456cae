//===- ForkGate.h - Forks wait for compilers --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A child has the thread that forked alone. Locks that others held in LLVM and
// here would stay locked in it for ever: so none is held when the process
// forks.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COMPILE_FORKGATE_H
#define TESSERA_LIB_COMPILE_FORKGATE_H

namespace tessera {

/// While one of these lives, `fork` waits; while a fork waits, new ones do. May
/// be nested in a thread.
class CompileScope {
public:
  CompileScope();
  ~CompileScope();
  CompileScope(const CompileScope &) = delete;
  CompileScope &operator=(const CompileScope &) = delete;
};

} // namespace tessera

#endif // TESSERA_LIB_COMPILE_FORKGATE_H
