//===- small_memory.c - A relayout with little stack and no heap ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: small_memory LIBRARY SOURCE-BYTES DESTINATION-BYTES
//
// Runs the relayout of a shared library with and without a heap, in a thread
// that has 64 KiB of stack, for a destination at a line and off one. All have
// to write what it writes in the main thread.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Stands for the C library's. Without a heap it has no more than what threads
/// need to start.
static volatile int hasNoHeap;
static int numDenied;
void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes) {
  if (!hasNoHeap || bytes < 32 << 10)
    return __libc_malloc(bytes);
  ++numDenied;
  return NULL;
}

struct Run {
  void (*relayout)(const void *, void *);
  const char *source;
  char *destination;
  int hasNoHeap;
};

static void *runInThread(void *data) {
  struct Run *run = data;
  hasNoHeap = run->hasNoHeap;
  run->relayout(run->source, run->destination);
  hasNoHeap = 0;
  return NULL;
}

static int runWithLittleStack(struct Run *run) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  return pthread_create(&thread, &attributes, runInThread, run) ||
         pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  void *library = dlopen(argv[1], RTLD_NOW);
  struct Run run;
  *(void **)&run.relayout = library ? dlsym(library, "tessera_relayout") : NULL;
  if (!run.relayout)
    return 2;
  size_t sourceBytes = strtoull(argv[2], NULL, 10);
  size_t bytes = strtoull(argv[3], NULL, 10);
  char *source = aligned_alloc(4096, (sourceBytes + 8191) / 4096 * 4096);
  char *memory = aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
  char *expected = calloc(1, bytes);
  for (size_t i = 0; i < sourceBytes; ++i)
    source[i] = (char)(i * 2654435761u >> 13);
  run.relayout(source, expected);
  run.source = source;
  for (int offset = 0; offset <= 4; offset += 4)
    for (run.hasNoHeap = 0; run.hasNoHeap < 2; ++run.hasNoHeap) {
      run.destination = memory + offset;
      memset(run.destination, 0, bytes);
      if (runWithLittleStack(&run))
        return 2;
      printf("%s, %s\n", run.hasNoHeap ? "without a heap" : "with a heap",
             memcmp(run.destination, expected, bytes) ? "other bytes" : "same");
    }
  printf("asked for memory %d times in vain\n", numDenied);
  return 0;
}
