//===- Stack.cpp - Work on a stack that is long enough --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stack.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/Support/Compiler.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>
#include <limits.h>
#include <pthread.h>

using namespace tessera;

/// The lowest address of this thread's stack, 0 where it is not known.
static uintptr_t findStackEnd() {
#ifdef __linux__
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes))
    return 0;
  void *end = nullptr;
  size_t bytes;
  pthread_attr_getstack(&attributes, &end, &bytes);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uintptr_t>(end);
#else
  return 0;
#endif
}

static size_t getStackLeft() {
  static thread_local const uintptr_t end = findStackEnd();
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return end < here ? here - end : 0;
}

static void *callWork(void *work) {
  (*static_cast<llvm::function_ref<void()> *>(work))();
  return nullptr;
}

llvm::Error tessera::runOnStack(size_t bytes, llvm::function_ref<void()> work) {
  if (getStackLeft() >= bytes) {
    work();
    return llvm::Error::success();
  }
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  // Twice as much: the runtime takes its part.
  int code = pthread_attr_setstacksize(&attributes, 2 * bytes);
  if (code == 0)
    code = pthread_create(&thread, &attributes, callWork, &work);
  pthread_attr_destroy(&attributes);
  if (code)
    return unsupportedError("stack of this thread",
                            llvm::Twine(bytes) + " bytes, or a thread with "
                                                 "them",
                            std::strerror(code));
  pthread_join(thread, nullptr);
  return llvm::Error::success();
}
