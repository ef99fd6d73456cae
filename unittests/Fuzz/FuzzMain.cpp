//===- FuzzMain.cpp - What libFuzzer calls --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cstring>

using namespace tessera::fuzz;

void tessera::fuzz::require(bool condition, const llvm::Twine &what) {
  if (!condition)
    llvm::report_fatal_error(what, /*gen_crash_diag=*/true);
}

/// splitmix64.
uint64_t Random::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static const TokenMutator &getMutator() {
  static const TokenMutator mutator(TESSERA_FUZZ_DICTIONARY);
  return mutator;
}

static llvm::StringRef makeText(const uint8_t *data, size_t size) {
  return llvm::StringRef(reinterpret_cast<const char *>(data), size);
}

static size_t copyOut(llvm::StringRef text, uint8_t *data, size_t maxSize) {
  size_t size = std::min(text.size(), maxSize);
  if (size != 0)
    std::memcpy(data, text.data(), size);
  return size;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy of its own, so that a read behind its end is seen.
  std::vector<char> copy(data, data + size);
  runInput(llvm::StringRef(copy.data(), size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  Random random(seed);
  if (size == 0 || random.oneIn(8))
    return LLVMFuzzerMutate(data, size, maxSize);
  return copyOut(mutateInput(makeText(data, size), getMutator(), random), data,
                 maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                            const uint8_t *other,
                                            size_t otherSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  Random random(seed);
  return copyOut(getMutator().cross(makeText(data, size),
                                    makeText(other, otherSize), random),
                 out, maxSize);
}

//===----------------------------------------------------------------------===//
// Options of the sanitizers: libMLIR is not instrumented
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1:halt_on_error=1";
}
