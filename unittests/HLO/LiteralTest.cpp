//===- LiteralTest.cpp - Tests of literals --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Literal.h"

#include "tessera/Layout/Text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::hlo;
using testing::ElementsAre;

/// The bits of the elements; for an error one word that is no value.
static std::vector<uint64_t> read(llvm::StringRef shape, llvm::StringRef text) {
  llvm::Expected<Literal> literal =
      readLiteral(text, llvm::cantFail(parseShape(shape)));
  if (literal)
    return literal->components;
  llvm::consumeError(literal.takeError());
  return {0xdeadbeefdeadbeef};
}

static auto fails() { return ElementsAre(0xdeadbeefdeadbeef); }

TEST(HloLiteral, Integers) {
  EXPECT_THAT(read("s32[]", "-1"), ElementsAre(0xffffffff));
  EXPECT_THAT(read("u64[]", "18446744073709551615"), ElementsAre(UINT64_MAX));
  EXPECT_THAT(read("s4[2]", "{-8, 7}"), ElementsAre(8, 7));
  EXPECT_THAT(read("s4[]", "8"), fails());
  EXPECT_THAT(read("u8[]", "-1"), fails());
  EXPECT_THAT(read("s64[]", "9223372036854775808"), fails());
  EXPECT_THAT(read("s32[]", "1.5"), fails());
}

TEST(HloLiteral, Booleans) {
  EXPECT_THAT(read("pred[4]", "{true, false, 1, 0}"), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(read("f32[]", "true"), fails());
}

TEST(HloLiteral, Floats) {
  EXPECT_THAT(read("f32[3]", "{1, -2.5, 1e-06}"),
              ElementsAre(0x3f800000, 0xc0200000, 0x358637bd));
  EXPECT_THAT(read("bf16[2]", "{inf, -inf}"), ElementsAre(0x7f80, 0xff80));
  EXPECT_THAT(read("f16[]", "nan"), ElementsAre(0x7e00));
  EXPECT_THAT(read("f32[2]", "{-nan, nan(0x1)}"),
              ElementsAre(0xffc00000, 0x7f800001));
  EXPECT_THAT(read("f64[]", "0.1"), ElementsAre(0x3fb999999999999a));
  EXPECT_THAT(read("f8e4m3fn[]", "448"), ElementsAre(0x7e));
  EXPECT_THAT(read("f4e2m1fn[]", "-6"), ElementsAre(0xf));
  // Finite numbers that the type cannot hold.
  EXPECT_THAT(read("f16[]", "65520"), fails());
  EXPECT_THAT(read("f32[]", "1e39"), fails());
  EXPECT_THAT(read("f64[]", "1e309"), fails());
  EXPECT_THAT(read("f16[]", "nan(0x400)"), fails());
  EXPECT_THAT(read("f32[2]", "{-0, -0.0}"), ElementsAre(0, 0x80000000));
  // Integers are of 64 bits in floats too.
  EXPECT_THAT(read("f64[]", "9223372036854775807"),
              ElementsAre(0x43e0000000000000));
  EXPECT_THAT(read("f64[]", "9223372036854775808"), fails());
  EXPECT_THAT(read("f64[]", "9223372036854775808.0"),
              ElementsAre(0x43e0000000000000));
}

TEST(HloLiteral, Complex) {
  EXPECT_THAT(read("c64[2]", "{(1, -2), (0, inf)}"),
              ElementsAre(0x3f800000, 0xc0000000, 0, 0x7f800000));
  EXPECT_THAT(read("c64[]", "1"), fails());
  EXPECT_THAT(read("f32[]", "(1, 2)"), fails());
}

TEST(HloLiteral, Nesting) {
  EXPECT_THAT(read("s8[2,3]", "{ { 1, 2, 3 }, { 4, 5, 6 } }"),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read("s8[0]", "{}"), testing::IsEmpty());
  EXPECT_THAT(read("s8[2,0]", "{{},{}}"), testing::IsEmpty());
  for (llvm::StringRef text :
       {"{{1,2,3},{4,5}}", "{{1,2,3}}", "{1,2,3,4,5,6}", "{{1,2,3},{4,5,6},{}}",
        "{{1,2,3},{4,5,6}", "{{1,2,3},{4,5,6}} 7", "{{{1,2,3},{4,5,6}}}", "",
        "}", "{{1,2,3},{4,5,6,7}}"})
    EXPECT_THAT(read("s8[2,3]", text), fails()) << text.str();
}

TEST(HloLiteral, Elided) {
  llvm::Expected<Literal> literal =
      readLiteral("{...}", llvm::cantFail(parseShape("f32[1000000,1000]")));
  ASSERT_TRUE(static_cast<bool>(literal));
  EXPECT_TRUE(literal->elided);
  EXPECT_THAT(read("f32[]", "{...}"), fails());
}
