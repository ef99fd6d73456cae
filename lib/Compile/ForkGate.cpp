//===- ForkGate.cpp - Forks wait for compilers ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForkGate.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <pthread.h>

using namespace tessera;

namespace {
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  /// Threads that compile, and those that fork.
  unsigned numCompiling = 0, numForking = 0;
};
} // namespace

/// Scopes of this thread.
static thread_local unsigned depth = 0;

static Gate &getGate();

/// A thread that compiles may fork, for a linker: it does not wait for itself.
static void beforeFork() {
  Gate &gate = getGate();
  std::unique_lock<std::mutex> lock(gate.mutex);
  ++gate.numForking;
  unsigned own = depth > 0;
  gate.changed.wait(lock, [&] { return gate.numCompiling <= own; });
  // Until the fork is done.
  lock.release();
}

static void afterForkInParent() {
  Gate &gate = getGate();
  --gate.numForking;
  gate.mutex.unlock();
  gate.changed.notify_all();
}

/// Threads that waited do not exist in the child.
static void afterForkInChild() {
  Gate *gate = new (&getGate()) Gate;
  gate->numCompiling = depth > 0;
}

static Gate &getGate() {
  // Never destroyed: threads may compile until the end.
  static Gate &gate = *[] {
    pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
    return new Gate;
  }();
  return gate;
}

CompileScope::CompileScope() {
  if (depth++ > 0)
    return;
  Gate &gate = getGate();
  std::unique_lock<std::mutex> lock(gate.mutex);
  gate.changed.wait(lock, [&] { return gate.numForking == 0; });
  ++gate.numCompiling;
}

CompileScope::~CompileScope() {
  if (--depth > 0)
    return;
  Gate &gate = getGate();
  {
    std::lock_guard<std::mutex> lock(gate.mutex);
    --gate.numCompiling;
  }
  gate.changed.notify_all();
}
