//===- BufferAssignmentTest.cpp - Tests of buffer assignments -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/BufferAssignment.h"

#include "../TestCounts.h"
#include "tessera/HLO/Parser.h"
#include "tessera/Report/HloReport.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace tessera;
using testing::ElementsAre;
using testing::HasSubstr;

static constexpr const char *kText =
    R"(BufferAssignment:
allocation 0: size 4096, page 0, parameter 1, shape |f32[8,128]| at ShapeIndex {}:
 value: <52 w.1 @0> (size=4096,offset=0): f32[8,128]{1,0:T(8,128)}
allocation 7: size 512, color 6, page 0, thread-local:
 value: <8 add.3 @6> (size=512,offset=0): f32[]{:T(128)S(6)}
allocation 39: size 1024, page 0, preallocated-temp:
 value: <53 start{} @0> (size=512,offset=0): (f32[8,128]{1,0}, u32[])
 value: <57 while{1,0} (phi) @0> (size=512,offset=512): f32[1,128]{1,0}
allocation 40: size 8192, color 1, page 0, preallocated-temp:
 value: <54 start{0} @1> (size=4096,offset=4096): f32[8,128]{1,0:T(8,128)S(1)}
allocation 41: size 4096, color 1, page 0, preallocated-temp:
 value: <55 other @1> (size=4096,offset=0): f32[8,128]{1,0:T(8,128)S(1)}

Total bytes used: 17920 (17.5KiB)
)";

TEST(BufferAssignment, Parses) {
  auto assignment = llvm::cantFail(BufferAssignment::parse(kText));
  ASSERT_EQ(assignment.allocations().size(), 5U);
  EXPECT_FALSE(assignment.allocations()[0].isTemporary);
  EXPECT_EQ(assignment.allocations()[1].space, 6);
  EXPECT_TRUE(assignment.allocations()[3].isTemporary);
  EXPECT_EQ(assignment.allocations()[3].base, 0);
  EXPECT_EQ(assignment.allocations()[4].base, 8192);
  EXPECT_EQ(assignment.sums().at(0).all, 5120);
  EXPECT_EQ(assignment.sums().at(0).temporary, 1024);
  EXPECT_EQ(assignment.sums().at(1).temporary, 12288);
  auto start = assignment.getPlaces("start");
  ASSERT_EQ(start.size(), 2U);
  EXPECT_THAT(start[0].index, ElementsAre());
  EXPECT_THAT(start[1].index, ElementsAre(0));
  EXPECT_EQ(start[1].allocation, 3U);
  EXPECT_EQ(start[1].offset, 4096);
  EXPECT_THAT(assignment.getPlaces("while")[0].index, ElementsAre(1, 0));
  EXPECT_TRUE(assignment.getPlaces("absent").empty());
}

static std::string getError(llvm::StringRef text) {
  auto assignment = BufferAssignment::parse(text);
  return assignment ? "none" : llvm::toString(assignment.takeError());
}

TEST(BufferAssignment, Errors) {
  EXPECT_THAT(getError(""), HasSubstr("expected `BufferAssignment:`"));
  auto getErrorOf = [](const std::string &lines) {
    return getError("BufferAssignment:\n" + lines);
  };
  EXPECT_EQ(getErrorOf("allocation 1: size 5:\n"), "none");
  EXPECT_THAT(getErrorOf("allocation 1: size -5:\n"),
              HasSubstr("expected an allocation"));
  EXPECT_THAT(getErrorOf("allocation 1: size 99999999999999999999:\n"),
              HasSubstr("expected an allocation"));
  EXPECT_THAT(getErrorOf("allocation 1: size 5, color x:\n"),
              HasSubstr("expected an allocation"));
  EXPECT_THAT(getErrorOf("allocation 1: size 9223372036854775807:\n"
                         "allocation 2: size 1:\n"),
              HasSubstr("expected less than 2^63 bytes in all"));
  EXPECT_THAT(getErrorOf(" value: <1 a @0> (size=1,offset=0): f32[]\n"),
              HasSubstr("expected a value in an allocation"));
  auto getErrorOfValue = [&](const std::string &value) {
    return getErrorOf("allocation 1: size 512:\n value: " + value + "\n");
  };
  EXPECT_EQ(getErrorOfValue("<1 a @0> (size=1,offset=511): f32[]"), "none");
  EXPECT_THAT(getErrorOfValue("<1 a @0> (size=1,offset=512): f32[]"),
              HasSubstr("expected a value within its allocation"));
  EXPECT_THAT(
      getErrorOfValue("<1 a @0> (size=1,offset=9223372036854775807): f32[]"),
      HasSubstr("expected a value within its allocation"));
  for (const char *value :
       {"<a @0> (size=1,offset=0): f32[]",
        "<1 a{0 @0> (size=1,offset=0):", "<1 a{-1} @0> (size=1,offset=0):",
        "<1 a @0> (size=1):", "<1 a (size=1,offset=0):"})
    EXPECT_THAT(getErrorOfValue(value),
                HasSubstr("expected a value in an allocation"))
        << value;
}

/// The text with a few characters changed.
static std::string mutate(std::string text, std::mt19937_64 &random) {
  constexpr llvm::StringRef kCharacters = "0123456789{}<>(),:@ \nasvt-=";
  auto below = [&](size_t end) { return random() % end; };
  for (size_t i = 0, n = 1 + below(4); i < n; ++i) {
    size_t at = below(text.size());
    char character = kCharacters[below(kCharacters.size())];
    if (below(3) == 0)
      text.erase(at, 1);
    else if (below(2) == 0)
      text.insert(text.begin() + static_cast<ptrdiff_t>(at), character);
    else
      text[at] = character;
  }
  return text;
}

/// Whatever it says, there is a message or a report.
TEST(BufferAssignment, MutatedTexts) {
  constexpr llvm::StringRef kModule = R"(
HloModule m, is_scheduled=true
ENTRY e {
  w.1 = f32[8,128]{1,0:T(8,128)} parameter(0)
  start = (f32[8,128]{1,0:T(8,128)S(1)}, f32[8,128]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(w.1)
  done = f32[8,128]{1,0:T(8,128)S(1)} copy-done(start)
  other = f32[8,128]{1,0:T(8,128)S(1)} sine(done)
  ROOT add = f32[8,128]{1,0:T(8,128)} add(done, other)
})";
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(kModule, errors);
  ASSERT_TRUE(errors.empty());
  std::mt19937_64 random(testSeed());
  int accepted = 0, n = testCount(10000);
  for (int i = 0; i < n; ++i) {
    std::string text = mutate(kText, random);
    auto assignment = BufferAssignment::parse(text);
    if (!assignment) {
      EXPECT_THAT(llvm::toString(assignment.takeError()),
                  HasSubstr("invalid buffer assignment: expected "));
      continue;
    }
    ++accepted;
    Report report =
        llvm::cantFail(makeReport(makeReportInput(*module, &*assignment)));
    for (const ReportMap &map : report.assignedTemporaries) {
      EXPECT_LE(map.usedBytes, map.bytes) << text;
      for (const ReportPlace &place : map.places)
        EXPECT_LE(place.offset + place.bytes, map.bytes) << text;
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, n);
}
