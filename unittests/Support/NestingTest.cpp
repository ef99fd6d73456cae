//===- NestingTest.cpp - Tests of the limit of nested text ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Nesting.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace tessera;

static std::string repeat(llvm::StringRef text, int64_t count) {
  std::string result;
  for (int64_t i = 0; i < count; ++i)
    result += text;
  return result;
}

static bool isTooDeep(const std::string &text) {
  llvm::Error error = checkParsable(text);
  bool isError = static_cast<bool>(error);
  llvm::consumeError(std::move(error));
  return isError;
}

TEST(Nesting, LimitIsExact) {
  for (llvm::StringRef bracket : {"(", "[", "{", "<", "- "}) {
    EXPECT_FALSE(isTooDeep(repeat(bracket, kMaxNesting))) << bracket.str();
    EXPECT_TRUE(isTooDeep(repeat(bracket, kMaxNesting + 1))) << bracket.str();
  }
}

/// What does not close a bracket, though it looks so.
TEST(Nesting, NothingHidesBrackets) {
  for (llvm::StringRef hidden :
       {"// }\n[", "\"]\"[", "\"\\\"]\"[", "[-> ", "[>", "[}", "< = [->",
        "@\"]\"[", "[ //\"\n", "[#a-1 ", "{-# ", "( d0 >= ", "(d0 <= "})
    EXPECT_TRUE(isTooDeep(repeat(hidden, kMaxNesting + 1))) << hidden.str();
  // Signs in front of an operand, with or without something between them.
  for (llvm::StringRef signs : {"-", "- //\n", "d0 - -", "3 * - ", "+-"})
    EXPECT_TRUE(isTooDeep("(" + repeat(signs, kMaxNesting + 1))) << signs.str();
}

TEST(Nesting, AliasesCount) {
  for (llvm::StringRef sigil : {"#", "!"})
    for (llvm::StringRef middle : {"a", "b-", "c.d$_"}) {
      std::string name = (sigil + middle).str(), text;
      for (int64_t i = 1; i <= kMaxNesting + 1; ++i)
        text += llvm::formatv("{0}{1}\n = //\n x<{0}{2}>\n", name, i, i - 1);
      EXPECT_TRUE(isTooDeep(text)) << name;
    }
}

/// Each line doubles what an alias stands for.
TEST(Nesting, AliasesExpand) {
  auto makeText = [](int64_t count) {
    std::string text = "#a0 = 1 : i32\n";
    for (int64_t i = 1; i <= count; ++i)
      text += llvm::formatv("#a{0} = [#a{1}, #a{1}]\n", i, i - 1);
    return text;
  };
  std::string use = "module attributes {a = #a19} {}\n";
  EXPECT_FALSE(isTooDeep(makeText(19) + use));
  EXPECT_TRUE(isTooDeep(makeText(19) + use + use));
  EXPECT_TRUE(isTooDeep(makeText(40) + "\"t.op\"() {a = #a40} : () -> ()"));
  // What nothing uses is not printed.
  EXPECT_FALSE(isTooDeep(makeText(100)));
  // Neither is what stands for no others.
  EXPECT_FALSE(isTooDeep("#a = 1\n{" + repeat("#a,", 2 * kMaxExpansion)));
}

/// What is long, but not deep.
TEST(Nesting, LongTextIsRight) {
  for (llvm::StringRef part :
       {"[(<{}>)]", "\"[\" ", "// [\n", "(i32) -> (i32) ", "x = -1\n", "-1, ",
        "x : -1 ", "(d0 >= 0) ", "(d0 <= 0) ",
        "#a = map<(d0) -> (d0)>\nfunc @f(%a : t<#a>, %b : t<#a>) {}\n"})
    EXPECT_FALSE(isTooDeep(repeat(part, 20 * kMaxNesting))) << part.str();
  // Sums are parsed by a loop.
  EXPECT_FALSE(isTooDeep("(" + repeat("d0 mod 3 + ", 2 * kMaxNesting)));
  EXPECT_TRUE(isTooDeep("(" + repeat("d0 mod 3 + ", 20 * kMaxNesting)));
}

TEST(Nesting, EveryTextEnds) {
  for (llvm::StringRef text : {"", "\"", "\"\\", "#", "!", "//", "-", "[#",
                               "\xFF\xFE", "#a =", "ML\xEFR[[["})
    EXPECT_FALSE(isTooDeep(text.str())) << text.str();
}

TEST(Nesting, TranspositionsOfNothingAreRefused) {
  auto isRefused = [](llvm::StringRef attribute) {
    return isTooDeep(("linalg.transpose ins(%a) outs(%b) " + attribute).str());
  };
  EXPECT_TRUE(isRefused("permutation = []"));
  EXPECT_TRUE(isRefused("permutation= [ \n]"));
  EXPECT_TRUE(isRefused("<{permutation = array<i64>}>"));
  EXPECT_FALSE(isRefused("permutation = [0]"));
  EXPECT_FALSE(isRefused("<{permutation = array<i64: 0>}>"));
  EXPECT_FALSE(isTooDeep("vector.transpose %a, [] {permutation = []}"));
}

TEST(Nesting, IndicesThatAreNoIntegersAreRefused) {
  auto isRefused = [](llvm::StringRef operation, llvm::StringRef list) {
    return isTooDeep(("%0 = " + operation +
                      " ins(%a : tensor<2x3xf32, \"[\">) // [\n outs(%b : "
                      "tensor<3x2xf32>) " +
                      list)
                         .str());
  };
  for (llvm::StringRef list :
       {"[x]", "[1, f32]", "[1,]", "[1 0]", "1", ", = [1, 0]", "[1, 0",
        "[99999999999999999999, 0]", "{0}", "array<i64: 1, 0>"}) {
    EXPECT_TRUE(isRefused("linalg.transpose", ("permutation = " + list).str()))
        << list.str();
    EXPECT_TRUE(isRefused("linalg.broadcast", ("dimensions = " + list).str()));
    EXPECT_TRUE(isRefused("linalg.reduce { arith.addf }",
                          ("dimensions = " + list).str()));
    EXPECT_FALSE(isRefused("other.op", ("dimensions = " + list).str()));
    EXPECT_FALSE(isRefused("// linalg.reduce", ("dimensions = " + list).str()));
  }
  for (llvm::StringRef list :
       {"[1, 0]", "[ 1 ,0x1 // ]\n, -1 ] {t.permutation = x}", "[0] %c = x"})
    EXPECT_FALSE(isRefused("linalg.transpose", ("permutation = " + list).str()))
        << list.str();
}

// Groups of tensor.expand_shape, in any form, but not other lists.
TEST(Nesting, EmptyGroups) {
  llvm::StringRef name = "%b = tensor.expand_shape %a ";
  auto isRefused = [&](llvm::StringRef groups) {
    return isTooDeep((name + groups).str());
  };
  EXPECT_TRUE(isRefused("[[0, 1], []] output_shape [2, 4]"));
  EXPECT_TRUE(isRefused("[[], [0]]"));
  EXPECT_TRUE(isRefused("[[0], // \"[\n [ ]]"));
  EXPECT_TRUE(
      isTooDeep("#r = [[0], []]\n\"tensor.expand_shape\"(%a) <{r = #r}>"));
  EXPECT_FALSE(isRefused("[] output_shape [1]"));
  EXPECT_FALSE(isRefused("[[0, 1], [2]] output_shape [2, 4, %n]"));
  EXPECT_FALSE(isRefused("[[0]] {note = \"[[], []]\"}"));
  EXPECT_FALSE(isTooDeep("memref.collapse_shape %a [[0, 1], []]"));
}
