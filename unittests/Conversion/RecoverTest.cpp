//===- RecoverTest.cpp - Tests for what may end the process ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/Bytecode.h"

#include "gtest/gtest.h"

#include <csignal>
#include <vector>

using namespace tessera;

// Each is followed by another, which waits for no lock of the one before.
TEST(Recover, Faults) {
  int calls = 0;
  EXPECT_TRUE(runRecovering([&] { ++calls; }));
  EXPECT_FALSE(runRecovering([&] {
    ++calls;
    std::vector<char>().reserve(~size_t(0)); // Throws.
  }));
  EXPECT_FALSE(runRecovering([&] {
    ++calls;
    std::raise(SIGSEGV);
  }));
  EXPECT_TRUE(runRecovering([&] { ++calls; }));
  EXPECT_EQ(calls, 4);
}
