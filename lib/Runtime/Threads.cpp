//===- Threads.cpp - Work on threads of our own ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads are those of POSIX: a std::thread that cannot begin ends the process
// where there are no exceptions.
//
//===----------------------------------------------------------------------===//

#include "Threads.h"

#include <pthread.h>

#include <vector>

using namespace tessera;

namespace {
struct Work {
  llvm::function_ref<void(int64_t)> task;
  int64_t number;
  pthread_t thread = {};
  bool isThreaded = false;
};
} // namespace

static void *runWork(void *argument) {
  auto *work = static_cast<Work *>(argument);
  work->task(work->number);
  return nullptr;
}

void runtime::runOnThreads(int64_t count,
                           llvm::function_ref<void(int64_t)> task) {
  std::vector<Work> all;
  all.reserve(count);
  for (int64_t number = 0; number < count; ++number)
    all.push_back({task, number});
  for (Work &work : all)
    work.isThreaded = work.number > 0 && pthread_create(&work.thread, nullptr,
                                                        runWork, &work) == 0;
  for (Work &work : all)
    if (!work.isThreaded)
      task(work.number);
  for (Work &work : all)
    if (work.isThreaded)
      pthread_join(work.thread, nullptr);
}
