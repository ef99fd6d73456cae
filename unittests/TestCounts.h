//===- TestCounts.h - How much a randomized test does -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With TESSERA_FULL=1 in the environment a randomized test does its full number
// of cases from a fresh seed, otherwise a tenth of them from a fixed one.
// TESSERA_FEW=1 makes that a hundredth; TESSERA_SEED repeats the run that
// printed it.
//
//===----------------------------------------------------------------------===//

// NOLINTNEXTLINE(llvm-header-guard)
#ifndef TESSERA_UNITTESTS_TESTCOUNTS_H
#define TESSERA_UNITTESTS_TESTCOUNTS_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace tessera {

/// Is this the run with the full counts?
inline bool isFullTest() {
  const char *full = std::getenv("TESSERA_FULL");
  return full && std::string(full) == "1";
}

/// Is this a run with few cases, for builds that are slow?
inline bool isShortTest() {
  const char *few = std::getenv("TESSERA_FEW");
  return few && std::string(few) == "1";
}

/// The number of cases to run, of `full` ones.
inline int testCount(int full) {
  return isFullTest() ? full : std::max(1, full / (isShortTest() ? 100 : 10));
}

/// The seed of this process, the same at every call. Print it on failure:
/// `SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()))`.
inline uint64_t testSeed() {
  static const uint64_t seed = [] {
    if (const char *given = std::getenv("TESSERA_SEED"))
      return static_cast<uint64_t>(std::strtoull(given, nullptr, 10));
    return isFullTest() ? static_cast<uint64_t>(std::random_device()())
                        : uint64_t(20260722);
  }();
  return seed;
}

} // namespace tessera

#endif // TESSERA_UNITTESTS_TESTCOUNTS_H
