//===- RandomNumbers.h - Random numbers for tests ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_RANDOMNUMBERS_H
#define TESSERA_UNITTESTS_RANDOMNUMBERS_H

#include <cstdint>
#include <random>

namespace tessera {

/// What random shapes, layouts and runs are drawn from.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : engine(seed) {}

  /// In [low, high].
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  bool oneIn(int64_t n) { return number(1, n) == 1; }

  /// For std::shuffle, too.
  std::mt19937_64 engine;
};

} // namespace tessera

#endif // TESSERA_UNITTESTS_RANDOMNUMBERS_H
