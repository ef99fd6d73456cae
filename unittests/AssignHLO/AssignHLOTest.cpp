//===- AssignHLOTest.cpp - Layouts of HLO modules -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/AssignHLO/AssignHLO.h"

#include "tessera/HLO/Parser.h"
#include "tessera/HLO/Verifier.h"
#include "tessera/Layout/Text.h"

#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using llvm::StringRef;
using testing::HasSubstr;

/// The module of a valid text, which must outlive it.
static std::unique_ptr<hlo::Module> parse(StringRef text) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  EXPECT_TRUE(module && hlo::verify(*module, errors))
      << (errors.empty() ? "" : errors.front().message());
  return module;
}

/// The message of an error; nothing where there is none.
template <typename T> static std::string messageOf(llvm::Expected<T> result) {
  return result ? "" : llvm::toString(result.takeError());
}

static Shape shape(StringRef text) { return llvm::cantFail(parseShape(text)); }

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// `f0` negates, and each later function calls the one before it twice.
static std::string makeNestedCalls(int depth) {
  std::string text = "HloModule nested, is_scheduled=true\n"
                     "%f0 (x: s8[1]) -> s8[1] {\n"
                     "  %x = s8[1]{0} parameter(0)\n"
                     "  ROOT %n = s8[1]{0} negate(%x)\n}\n";
  llvm::raw_string_ostream os(text);
  for (int i = 1; i <= depth; ++i)
    os << (i == depth ? "ENTRY " : "") << "%f" << i
       << " (x: s8[1]) -> s8[1] {\n"
          "  %x = s8[1]{0} parameter(0)\n"
          "  %c = s8[1]{0} call(%x), to_apply=%f"
       << i - 1 << "\n  ROOT %d = s8[1]{0} call(%c), to_apply=%f" << i - 1
       << "\n}\n";
  return text;
}

TEST(TouchedBytes, NestedCallsAreCountedOnce) {
  for (int depth : {1, 2, 60}) {
    std::string text = makeNestedCalls(depth);
    EXPECT_EQ(llvm::cantFail(countTouchedBytes(*parse(text))), int64_t(2)
                                                                   << depth);
  }
  std::string text = makeNestedCalls(63);
  EXPECT_THAT(messageOf(countTouchedBytes(*parse(text))),
              HasSubstr("a sum in int64"));
}

/// There a layout would be chosen for each call: they are too many.
TEST(AssignLayouts, NestedCalls) {
  std::string text = makeNestedCalls(3);
  llvm::Expected<HLOAssignment> few = assignLayouts(*parse(text));
  ASSERT_TRUE(bool(few));
  EXPECT_EQ(few->solution.cost, 16);
  text = makeNestedCalls(60);
  EXPECT_THAT(messageOf(assignLayouts(*parse(text))), HasSubstr("too many"));
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// A table that a custom call wants in another order than it comes in, and a
/// result that is transposed.
static constexpr StringRef kTable = R"(HloModule table, is_scheduled=true
ENTRY %e (a: f32[128,256], b: f32[128,256]) -> (f32[8], f32[128,256]) {
  %a = f32[128,256]{1,0} parameter(0)
  %b = f32[128,256]{1,0} parameter(1)
  %c = f32[128,256]{0,1} copy(%a)
  %x = f32[8]{0} custom-call(%c), custom_call_target="x"
  %n = f32[128,256]{1,0} negate(%b)
  %d = f32[128,256]{0,1} copy(%n)
  ROOT %r = (f32[8]{0}, f32[128,256]{0,1}) tuple(%x, %d)
}
)";
static constexpr int64_t kArray = 128 * 256 * 4;

static BoundaryLayout argument(size_t leaf, StringRef text) {
  return {/*isResult=*/false, leaf, shape(text)};
}

static BoundaryLayout result(size_t leaf, StringRef text) {
  return {/*isResult=*/true, leaf, shape(text)};
}

TEST(PriceBoundary, OneAndSeveralChanges) {
  std::unique_ptr<hlo::Module> module = parse(kTable);
  auto prices = priceBoundary(
      *module,
      {{argument(0, "f32[128,256]{0,1}")},
       {argument(1, "f32[128,256]{0,1}")},
       {result(1, "f32[128,256]{1,0}")},
       {argument(0, "f32[128,256]{0,1}"), result(1, "f32[128,256]{1,0}")},
       // What is not used is not worse in any order.
       {argument(0, "f32[128,256]{1,0}")}});
  ASSERT_TRUE(bool(prices));
  std::vector<int64_t> bytes;
  for (const BoundaryPrice &price : *prices) {
    bytes.push_back(price.bytes);
    EXPECT_EQ(price.lowerBound, price.bytes);
  }
  // The call and the negation read and write, and so do two copies.
  constexpr int64_t kBare = 3 * kArray + 32;
  EXPECT_THAT(bytes,
              testing::ElementsAre(kBare + 4 * kArray, kBare + 2 * kArray,
                                   kBare + 2 * kArray, kBare + 2 * kArray,
                                   kBare, kBare + 4 * kArray));
}

/// The first price is what `assign --keep` finds.
TEST(PriceBoundary, AsItIs) {
  std::unique_ptr<hlo::Module> module = parse(kTable);
  auto prices = priceBoundary(*module, {});
  ASSERT_TRUE(bool(prices));
  AssignOptions options;
  options.keep = true;
  auto kept = assignLayouts(*module, options);
  ASSERT_TRUE(bool(kept));
  ASSERT_EQ(prices->size(), 1U);
  EXPECT_EQ(prices->front().bytes, kept->solution.cost);
  EXPECT_EQ(prices->front().lowerBound, kept->solution.lowerBound);
}

TEST(PriceBoundary, Errors) {
  std::unique_ptr<hlo::Module> module = parse(kTable);
  auto expectError = [&](const BoundaryLayout &layout, StringRef message) {
    EXPECT_THAT(messageOf(priceBoundary(*module, {{layout}})),
                HasSubstr(message.str()));
  };
  expectError(argument(2, "f32[128,256]{0,1}"), "invalid argument");
  expectError(result(2, "f32[128,256]{0,1}"), "invalid result");
  expectError(argument(0, "f32[256,128]{0,1}"), "one for f32[128,256]{1,0}");
  expectError(argument(0, "s32[128,256]{0,1}"), "one for f32[128,256]{1,0}");
  expectError(argument(0, "f32[128,256]{0,1:S(1)}"), "one for f32[128,256]");
}
