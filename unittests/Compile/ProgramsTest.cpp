//===- ProgramsTest.cpp - Executes bufferized programs --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs on tensors with random layouts go through --tessera-to-llvm
// and are run: as they are, and behind passes in any order. What they write
// must be what the same statements give on lists of elements.
//
//===----------------------------------------------------------------------===//

#include "../TestCounts.h"
#include "ProgramRunner.h"

#include "gtest/gtest.h"

using namespace tessera;

/// Passes that keep tensors, ours and those of upstream that everybody runs.
/// tessera-report changes nothing, and prints.
static constexpr const char *kPasses[] = {
    "tessera-assign-layouts{target=cpu}",
    "tessera-assign-layouts{target=tpu_v5e}",
    "tessera-expand-ops",
    "tessera-fold-relayouts",
    "tessera-propagate-layouts",
    "tessera-verify",
    "canonicalize",
    "cse",
    "inline",
    "loop-invariant-code-motion",
    "sccp"};

/// One pass in a third of the cases, else up to six.
static std::vector<std::string> makePasses(RandomLayouts &random) {
  std::vector<std::string> passes;
  int64_t count = random.oneIn(3) ? 1 : random.number(2, 6);
  while (count-- > 0)
    passes.push_back(kPasses[random.number(0, std::size(kPasses) - 1)]);
  return passes;
}

using MakePasses = std::vector<std::string> (*)(RandomLayouts &);

/// Runs `count` programs, with kernels and without, with buffers that are freed
/// and without, behind passes if there are any.
static void runPrograms(int count, MakePasses makePasses) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  constexpr int kBatch = 10;
  RandomLayouts random(testSeed());
  ProgramRunner runner;
  int numRefused = 0;
  const int maxReported = isFullTest() ? 20 : 1;
  for (int left = count; left > 0 && runner.numReported() < maxReported;
       left -= kBatch) {
    std::vector<uint64_t> seeds;
    for (int i = 0; i < std::min(left, kBatch); ++i)
      seeds.push_back(random.next());
    ProgramLowering lowering;
    lowering.vectorize = random.oneIn(2);
    lowering.deallocate = random.oneIn(2);
    if (makePasses)
      lowering.passes = makePasses(random);
    numRefused += runner.runBatch(seeds, lowering);
  }
  EXPECT_LE(numRefused * 8, count) << "more than one in eight is refused";
}

TEST(Programs, RandomProgramsAgreeWithRowMajor) {
  runPrograms(testCount(6000), /*makePasses=*/nullptr);
}

TEST(Programs, PassesKeepValues) { runPrograms(testCount(14000), makePasses); }

/// Layouts are chosen anew, of few candidates or many, with a target's defaults
/// or without; relayouts are folded behind that, or not.
static std::vector<std::string> makePropagation(RandomLayouts &random) {
  std::vector<std::string> passes = {
      random.oneIn(3) ? "tessera-propagate-layouts{max-candidates=3}"
                      : "tessera-propagate-layouts"};
  if (random.oneIn(3))
    passes.insert(passes.begin(), "tessera-assign-layouts{target=tpu_v5e}");
  if (random.oneIn(2))
    passes.push_back("tessera-fold-relayouts");
  return passes;
}

TEST(Programs, PropagationKeepsValues) {
  runPrograms(testCount(6000), makePropagation);
}
