//===- ProgramRun.cpp - What compiled programs call -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramRun.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/Support/MathExtras.h"

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

using namespace tessera;

namespace {
/// Stands before what a program allocated.
struct alignas(16) Allocation {
  Allocation *next, *previous;
  size_t bytes;
  size_t capacity;
};

/// Large memory that programs gave back, for the next that is allocated: the
/// kernel would take it and clear it, page by page, at each use.
class FreeMemory {
public:
  ~FreeMemory() { clear(); }

  /// Memory of `bytes`, and less than twice as much; null if there is none.
  Allocation *take(size_t bytes);
  /// Keeps memory, or frees it.
  void give(Allocation *made);
  void clear();

private:
  /// Smaller memory comes from where the kernel does not take it.
  static constexpr size_t kLeast = size_t(16) << 10;
  /// What an idle thread may hold.
  static constexpr size_t kMostInAll = size_t(256) << 20;

  Allocation *first = nullptr;
  size_t total = 0;
};

/// A run of a program: where it leaves for, and what it has allocated.
struct Run {
  jmp_buf exit;
  Allocation allocations = {&allocations, &allocations, 0, 0};
  size_t bytes = 0;
  /// Why it did not end by itself.
  const char *message = nullptr;
  /// What did not fit into memory.
  size_t wanted = 0;
};
} // namespace

/// Those of this thread.
static thread_local Run *current = nullptr;
static thread_local FreeMemory freeMemory;

Allocation *FreeMemory::take(size_t bytes) {
  if (bytes < kLeast)
    return nullptr;
  for (Allocation **link = &first; *link; link = &(*link)->next) {
    Allocation *made = *link;
    if (made->capacity < bytes || made->capacity / 2 > bytes)
      continue;
    *link = made->next;
    total -= made->capacity;
    return made;
  }
  return nullptr;
}

void FreeMemory::give(Allocation *made) {
  if (made->capacity < kLeast || made->capacity > kMostInAll - total)
    return std::free(made);
  total += made->capacity;
  made->next = first;
  first = made;
}

void FreeMemory::clear() {
  while (Allocation *made = first) {
    first = made->next;
    std::free(made);
  }
  total = 0;
}

/// Memory that was given back, or new one; null if there is none.
static Allocation *getMemory(size_t bytes) {
  Allocation *made = freeMemory.take(bytes);
  if (made)
    return made;
  auto make = [&] {
    return static_cast<Allocation *>(std::malloc(bytes + sizeof(Allocation)));
  };
  made = make();
  if (!made) {
    freeMemory.clear();
    made = make();
  }
  if (made)
    made->capacity = bytes;
  return made;
}

/// All memory of the machine. The kernel grants more to callers that ask little
/// by little, and ends a process for using it.
static size_t getMemoryBytes() {
  static const size_t bytes =
      size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

[[noreturn]] static void leave() { std::longjmp(current->exit, 1); }

/// For a thread that shares a loop with the one that runs the program: the
/// block has no neighbours, and null says that there is no memory.
static void *allocateInShare(size_t bytes) {
  auto *made =
      bytes > getMemoryBytes()
          ? nullptr
          : static_cast<Allocation *>(std::malloc(bytes + sizeof(Allocation)));
  if (!made)
    return nullptr;
  made->next = nullptr;
  return made + 1;
}

static void *allocate(size_t bytes) {
  if (!current)
    return allocateInShare(bytes);
  Run &run = *current;
  size_t limit = getMemoryBytes() - sizeof(Allocation);
  Allocation *made = nullptr;
  if (bytes <= limit && run.bytes <= limit - bytes)
    made = getMemory(bytes);
  if (!made) {
    run.wanted = llvm::SaturatingAdd(run.bytes, bytes);
    leave();
  }
  Allocation &list = run.allocations;
  *made = {list.next, &list, bytes, made->capacity};
  list.next->previous = made;
  list.next = made;
  run.bytes += bytes;
  return made + 1;
}

static void *allocateZeros(size_t count, size_t size) {
  size_t bytes = llvm::SaturatingMultiply(count, size);
  void *memory = allocate(bytes);
  return memory ? std::memset(memory, 0, bytes) : nullptr;
}

static void deallocate(void *memory) {
  if (!memory)
    return;
  Allocation *made = static_cast<Allocation *>(memory) - 1;
  if (!made->next)
    return std::free(made);
  made->next->previous = made->previous;
  made->previous->next = made->next;
  current->bytes -= made->bytes;
  freeMemory.give(made);
}

/// The message of an assertion comes right before it fails.
static int keepMessage(const char *message) {
  current->message = message;
  return 0;
}

static void fail() {
  if (!current->message)
    current->message = "an assertion without a message";
  leave();
}

// What LLVM makes of `math.fpowi`: functions of the compiler's own library,
// which no symbol of the process stands for.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" float __powisf2(float base, int exponent);
extern "C" double __powidf2(double base, int exponent);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

std::vector<std::pair<std::string, void *>> tessera::getProgramFunctions() {
  return {{"malloc", reinterpret_cast<void *>(allocate)},
          {"calloc", reinterpret_cast<void *>(allocateZeros)},
          {"free", reinterpret_cast<void *>(deallocate)},
          {"puts", reinterpret_cast<void *>(keepMessage)},
          {"abort", reinterpret_cast<void *>(fail)},
          {"__powisf2", reinterpret_cast<void *>(__powisf2)},
          {"__powidf2", reinterpret_cast<void *>(__powidf2)}};
}

/// Whether `entry` came to its end. Keeps no objects across the jump.
static bool runToEnd(Run &run, llvm::function_ref<void()> entry) {
  if (setjmp(run.exit))
    return false;
  entry();
  return true;
}

llvm::Error tessera::runProgram(llvm::function_ref<void()> entry) {
  Run run, *before = current;
  current = &run;
  bool isDone = runToEnd(run, entry);
  Allocation *next = run.allocations.next;
  while (next != &run.allocations)
    freeMemory.give(std::exchange(next, next->next));
  current = before;
  if (isDone)
    return llvm::Error::success();
  if (run.wanted)
    return unsupportedError("memory of the program",
                            "temporaries that fit into memory",
                            llvm::Twine(run.wanted) + " bytes");
  return invalidError("", "run of the program", "all assertions to hold",
                      run.message);
}
