//===- ScheduleTest.cpp - Tests of schedules alone ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules as text, without a planner. RelayoutPlanTest.cpp verifies those of
// random relayouts, and reads their texts again.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "../../TestCounts.h"

#include "llvm/ADT/StringExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace tessera;
using testing::HasSubstr;
using testing::StartsWith;

static RelayoutPlan parse(const std::string &text) {
  auto plan = RelayoutPlan::parse(text);
  EXPECT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  return plan ? std::move(*plan) : RelayoutPlan();
}

static std::string print(const RelayoutPlan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  plan.print(os);
  return text;
}

static std::string parseError(const std::string &text) {
  auto plan = RelayoutPlan::parse(text);
  return plan ? "none" : llvm::toString(plan.takeError());
}

static std::string verifyError(const std::string &text) {
  llvm::Error error = parse(text).verify();
  return error ? llvm::toString(std::move(error)) : "none";
}

/// One schedule for each kernel and choice.
static const char *const kSchedules[] = {
    "relayout of 32-bit elements, 262144 to 262144\n"
    "nest src 0 dst 0\n"
    "  for 512 by 32  src 1 dst 512  columns\n"
    "    for 512 by 64  src 512 dst 1  rows\n"
    "      transpose 64x32 runs of 1\n",
    "relayout of 32-bit elements, 16777216 to 16777216\n"
    "nest src 0 dst 0\n"
    "  for 4096 by 32  src 4096 dst 1  rows  parallel\n"
    "    for 4096 by 16  src 1 dst 4096  columns\n"
    "      transpose 32x16 runs of 1, nontemporal, rows gathered, prefetch 2 "
    "ahead to L2\n",
    "relayout of 16-bit elements, 4194304 to 4194304\n"
    "nest src 0 dst 0\n"
    "  for 16384 by 128  src 256 dst 1  rows\n"
    "    for 256 by 32  src 1 dst 16384  columns\n"
    "      transpose 128x32 runs of 1, nontemporal, panels packed, prefetch 64 "
    "ahead\n",
    "relayout of 32-bit elements, 1002001 to 1002001, to any position\n"
    "nest src 0 dst 0\n"
    "  for 985 by 32  src 1001 dst 1  rows\n"
    "    for 992 by 16  src 1 dst 1001  columns\n"
    "      transpose 32x16 runs of 1, carried and nontemporal, rows shifted, "
    "prefetch 6 ahead\n",
    "relayout of 16-bit elements, 4096 to 4096\n"
    "nest src 0 dst 0\n"
    "  for 32 by 4  src 4 dst 128  columns\n"
    "    transpose 32x4 runs of 4\n"
    "      within 2  src 1 dst 2\n"
    "      within 2  src 2 dst 1\n"
    "      rows 32 by 1  src 128 dst 4  rows\n",
    "relayout of 32-bit elements, 4096 to 8192\n"
    "nest src 0 dst 0\n"
    "  for 2  src 2048 dst 4096\n"
    "    for 8  src 256 dst 512\n"
    "      copy 1x1 runs of 200, padding of 56\n"
    "  and dst 256\n"
    "    for 8  src 0 dst 512\n"
    "      fill 1x1 runs of 256\n",
    "relayout of 32-bit elements, 65536 to 65536\n"
    "nest src 0 dst 0\n"
    "  for 64 by 8  src 1024 dst 1024  rows\n"
    "    copy 8x1 runs of 1024, nontemporal, prefetch 16384 bytes ahead\n",
    "relayout of 8-bit elements, 1920 to 2560\n"
    "nest src 0 dst 0\n"
    "  for 640 by 64  src 1 dst 4  columns\n"
    "    interleave 3x64 runs of 1, padding of 1, staged and nontemporal, "
    "prefetch 8 ahead\n"
    "      rows 3 by 1  src 640 dst 1  rows\n",
    "relayout of 32-bit elements, 3072 to 3072\n"
    "nest src 0 dst 0\n"
    "  for 1024 by 32  src 3 dst 1  rows\n"
    "    deinterleave 32x3 runs of 1, nontemporal\n"
    "      columns 3 by 1  src 1 dst 1024  columns\n",
    "relayout of 8-bit elements, 100 to 100\n"
    "nest src 3 dst 3\n"
    "  merge 1x1 runs of 40, bits 0x3c\n"
    "    byte 0 of bits 0-1 at 0, bits 6-7 at 1\n"
    "nest dst 99\n"
    "  fill bits 1x1 runs of 1, bits 0xf0\n",
    "relayout of 8-bit elements, 2048 to 4096\n"
    "nest src 0 dst 0\n"
    "  for 16 by 8  src 3 dst 256  columns\n"
    "    transpose 64x8 runs of 1, rows gathered, columns 3 apart, sign of 4 "
    "bits\n"
    "      byte 0 of bits 0-3 at 0\n"
    "      byte 128 of bits 4-7 at 0\n"
    "      rows 64 by 1  src 16 dst 1  rows\n",
    "relayout of 16-bit elements, 100 to 100\n"
    "nest src 0 dst 0\n"
    "  for 50  src 2 dst 2\n"
    "    gather 1x1 runs of 1\n",
};

TEST(ScheduleTest, readsWhatItPrints) {
  for (const std::string text : kSchedules) {
    EXPECT_EQ(print(parse(text)), text);
    EXPECT_EQ(verifyError(text), "none") << text;
  }
}

/// The first schedule with `from` replaced by `to`.
static std::string change(size_t number, const std::string &from,
                          const std::string &to) {
  std::string text = kSchedules[number];
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ScheduleTest, saysWhereATextIsNone) {
  EXPECT_EQ(parseError("plan"),
            "invalid plan: expected 'relayout of N-bit elements, SIZE to "
            "SIZE', found 'plan'");
  EXPECT_EQ(parseError(change(0, "nest", "nets")),
            "position 0: invalid schedule: expected 'nest', found 'nets src 0 "
            "dst 0'");
  auto expectError = [](size_t number, const char *from, const char *to,
                        const char *expected) {
    EXPECT_THAT(parseError(change(number, from, to)), HasSubstr(expected))
        << to;
  };
  expectError(0, "by 32", "by many", "expected a number, found 'many");
  expectError(0, "for 512", "for 99999999999999999999", "expected a number");
  expectError(0, "columns", "pillars", "expected 'rows' or 'columns'");
  expectError(0, "  columns", "", "expected 'rows' or 'columns'");
  expectError(0, "dst 512", "512", "expected 'dst'");
  expectError(0, "transpose", "turn", "expected 'for' or a kernel");
  expectError(
      0, "64x32", "64x16",
      "expected a block of 64x32 runs, which its loops make, found 'transpose");
  expectError(0, "runs of 1", "runs of 0", "expected a number");
  expectError(0, "runs of 1", "runs of 1, fast",
              "expected a choice that a transpose has, found 'fast'");
  expectError(0, "runs of 1\n", "runs of 1", "expected 'end of line'");
  expectError(5, "padding of 56", "rows gathered",
              "expected a choice that a copy has");
  expectError(5, "fill 1x1 runs of 256", "fill 1x1 runs of 256, nontemporal",
              "expected no stores of a fill");
  expectError(5, "  and", "        and",
              "expected 'and' within loops of the nest before");
  expectError(9, "0x3c", "0x3c0", "expected a number");
  expectError(9, "bits 0-1 at 0", "bits 1-0 at 0", "bits from 0 to 7");
  expectError(9, "bits 6-7 at 1", "bits 0-7 at 1", "bits from 0 to 7");
  expectError(10, "sign of 4", "sign of 8", "expected a number");
}

TEST(ScheduleTest, countsWords) {
  EXPECT_EQ(countWords({0, 100, 2, 102, 4, 104}, 2, 1), 3);
  EXPECT_EQ(countWords({0, 100, 2, 102, 5, 104}, 2, 1), 2);
  EXPECT_EQ(countWords({0, 100, 2, 103}, 2, 1), 1);
  EXPECT_EQ(countWords({0, 100, 4, 104}, 2, 2), 2);
  EXPECT_EQ(countWords({0, 9, 18, 27, 4, 13, 22, 31}, 4, 1), 2);
  // One column has no word, and three are none that registers can turn.
  EXPECT_EQ(countWords({0, 1, 2, 3}, 1, 1), 1);
  EXPECT_EQ(countWords({0, 10, 20, 3, 13, 23}, 3, 1), 1);
  EXPECT_EQ(countWords({0}, 2, 1), 1);
}

// Each rule of a schedule, broken once.
TEST(ScheduleTest, verifiesEachRule) {
  auto expectError = [](size_t number, const char *from, const char *to,
                        const char *expected) {
    EXPECT_THAT(verifyError(change(number, from, to)), StartsWith(expected))
        << from << " replaced by " << to;
  };
  expectError(0, "32-bit", "24-bit", "invalid plan: expected elements of 8");
  // Runs.
  expectError(4, "within 2  src 1 dst 2", "within 2  src 4 dst 2",
              "invalid loops within the run of a transpose: expected all of "
              "its elements once, found stride 2");
  expectError(4, "      within 2  src 2 dst 1\n", "",
              "invalid loops within the run of a transpose");
  EXPECT_THAT(verifyError("relayout of 32-bit elements, 64 to 64\n"
                          "nest src 0 dst 0\n"
                          "  transpose 1x1 runs of 3\n"),
              StartsWith("invalid run of a transpose: expected a power of two "
                         "of at most 16 bytes, found 12 bytes"));
  // Loops.
  expectError(11, "for 50", "for -1",
              "invalid loop of a gather: expected 0 or more steps, found -1");
  EXPECT_THAT(
      verifyError("relayout of 32-bit elements, 64 to 64\n"
                  "nest src 0 dst 0\n"
                  "  for 8 by 9  src 8 dst 1  rows\n"
                  "    for 8 by 8  src 1 dst 8  columns\n"
                  "      transpose 9x8 runs of 1\n"),
      StartsWith("invalid steps of a block of a transpose: expected 1 to 8, "
                 "found 9"));
  expectError(5, "dst 4096\n", "dst 4096  ends\n", "none");
  expectError(11, "dst 2\n", "dst 2  ends\n",
              "invalid loop over ends of a gather: expected 2 steps, found 50");
  expectError(5, "for 8  src 256 dst 512", "for 8  src 256 dst 512  parallel",
              "invalid parallel loop of a copy: expected the outermost one");
  EXPECT_THAT(verifyError("relayout of 32-bit elements, 64 to 64\n"
                          "nest src 0 dst 0\n"
                          "  for 4 by 2  src 8 dst 2  rows\n"
                          "    for 4 by 2  src 8 dst 2  rows\n"
                          "      copy 4x1 runs of 2\n"),
              StartsWith("invalid block of a copy: expected one loop that "
                         "continues its rows, or its columns"));
  EXPECT_THAT(verifyError("relayout of 32-bit elements, 64 to 64\n"
                          "nest src 0 dst 0\n"
                          "  transpose 0x1 runs of 1\n"
                          "    rows 0 by 1  src 1 dst 1  rows\n"),
              StartsWith("invalid loop of a block of a transpose: expected 1 "
                         "to 2^20 steps, found 0"));
  // Buffers.
  expectError(0, "262144 to", "262143 to",
              "invalid source of a transpose: expected elements 0 to 262142, "
              "found 0 to 262143");
  expectError(0, "to 262144", "to 262143",
              "invalid destination of a transpose");
  expectError(5, "to 8192", "to 8191", "invalid destination of a");
  expectError(9, "nest src 3", "nest src -1", "invalid source of a merge");
  expectError(11, "src 2 dst 2", "src 9223372036854775807 dst 2",
              "invalid source of a gather: expected elements 0 to 99, found "
              "more than 2^63 bytes");
  // Packed bytes.
  expectError(10, "8-bit", "16-bit", "invalid packed bytes of a transpose");
  expectError(10, "bits 4-7 at 0", "bits 4-7 at 9000", "invalid source of a");
  // Blocks.
  expectError(11, "gather", "merge",
              "invalid bits of a merge: expected some of single bytes");
  expectError(0, "dst 1  rows", "dst 2  rows",
              "invalid destination of a transpose");
  expectError(0, "src 512 dst 1  rows", "src 500 dst 0  rows",
              "invalid rows of a transpose: expected 1 elements from one to "
              "the next, found 0");
  expectError(0, "src 1 dst 512", "src 0 dst 512",
              "invalid columns of a transpose: expected 1 elements");
  expectError(6, "nontemporal", "carried and nontemporal",
              "invalid runs that are carried of a copy");
  expectError(5, "padding of 56", "padding of 56, carried and nontemporal",
              "invalid padding of a copy");
  // Lines.
  expectError(1, "dst 0", "dst 1", "invalid destination of a transpose");
  expectError(1, "dst 4096  columns", "dst 4095  columns",
              "invalid nontemporal runs of a transpose: expected whole lines "
              "of 64 bytes");
  expectError(6, "dst 1024  rows", "dst 1023  rows",
              "invalid nontemporal runs of a copy");
  expectError(8, "dst 1024  columns", "dst 1023  columns",
              "invalid nontemporal runs of a deinterleave");
  expectError(1, "to 16777216\n", "to 16777216, to any position\n",
              "invalid nontemporal stores of a plan: expected lines that are "
              "known, or rows shifted");
  // Panels and what is carried.
  EXPECT_THAT(verifyError("relayout of 16-bit elements, 4194304 to 4194304\n"
                          "nest src 0 dst 0\n"
                          "  for 256 by 32  src 1 dst 16384  columns\n"
                          "    for 16384 by 128  src 256 dst 1  rows\n"
                          "      transpose 128x32 runs of 1, nontemporal, "
                          "panels packed\n"),
              StartsWith("invalid panels of a transpose"));
  expectError(2, ", nontemporal", "", "invalid stores of panels");
  EXPECT_THAT(
      verifyError("relayout of 8-bit elements, 256 to 256\n"
                  "nest src 0 dst 0\n"
                  "  transpose 16x16 runs of 1, staged and nontemporal, "
                  "rows gathered\n"
                  "    rows 16 by 1  src 16 dst 1  rows\n"
                  "    columns 16 by 1  src 1 dst 16  columns\n"),
      StartsWith("invalid stores of rows that are gathered"));
  expectError(3, "for 992 by 16", "for 991 by 16",
              "invalid panels that are carried of a transpose");
  expectError(3, "src 1001 dst 1  rows", "src 1001 dst 0  rows",
              "invalid rows that are shifted of a transpose");
  // Interleaves.
  expectError(7, "dst 4  columns", "dst 3  columns",
              "invalid columns of an interleave: expected one behind another, "
              "of 4 elements, found 3 apart");
  expectError(7, "staged", "carried", "invalid stores of an interleave");
  expectError(8, ", nontemporal", ", carried and nontemporal",
              "invalid stores of a deinterleave");
  expectError(8, "src 3 dst 1  rows", "src 3 dst 0  rows",
              "invalid rows of a deinterleave");
}

// Whatever a text has in place of its numbers, reading and verifying it ends,
// and what is legal stays within both buffers.
TEST(ScheduleTest, survivesAnyNumber) {
  std::mt19937_64 engine(testSeed());
  auto draw = [&](uint64_t n) { return static_cast<int64_t>(engine() % n); };
  const char *numbers[] = {"0",  "1",  "2",    "3",    "-1",
                           "16", "64", "1000", "4097", "9223372036854775807"};
  int legal = 0;
  for (int i = 0, count = testCount(20000); i < count; ++i) {
    std::string text = kSchedules[draw(std::size(kSchedules))];
    for (int64_t changes = 1 + draw(3); changes > 0; --changes) {
      size_t at = text.find_first_of("0123456789", draw(text.size()));
      if (at == std::string::npos)
        continue;
      size_t end = text.find_first_not_of("0123456789", at);
      text.replace(at, end - at, numbers[draw(std::size(numbers))]);
    }
    auto plan = RelayoutPlan::parse(text);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    if (llvm::Error error = plan->verify()) {
      llvm::consumeError(std::move(error));
      continue;
    }
    ++legal;
    EXPECT_EQ(print(parse(print(*plan))), print(*plan));
  }
  EXPECT_GT(legal, testCount(20000) / 50);
}
