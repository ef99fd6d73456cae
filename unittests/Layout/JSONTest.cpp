//===- JSONTest.cpp - Tests for JSON that may be anything -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/JSON.h"
#include "tessera/Layout/Target.h"

#include "llvm/Support/Error.h"

#include "gmock/gmock.h"

using namespace tessera;
using ::testing::HasSubstr;

static std::string repeat(const char *text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

static std::string nest(const char *open, const char *close, size_t levels) {
  return repeat(open, levels) + "1" + repeat(close, levels);
}

static std::string getError(const std::string &text) {
  llvm::Expected<llvm::json::Value> value = parseJSON(text);
  return value ? "" : llvm::toString(value.takeError());
}

TEST(JSON, Levels) {
  EXPECT_EQ(getError(nest("[", "]", kMaxJSONLevels)), "");
  EXPECT_EQ(getError(nest("{\"a\":", "}", kMaxJSONLevels)), "");
  const char *tooDeep = "more than 200 levels";
  for (size_t levels : {kMaxJSONLevels + 1, int64_t(1000000)}) {
    EXPECT_EQ(getError(nest("[", "]", levels)), tooDeep);
    EXPECT_EQ(getError(nest("{\"a\":[", "]}", levels)), tooDeep);
    EXPECT_EQ(getError(repeat("[", levels)), tooDeep);
  }
}

// Brackets in strings are text.
TEST(JSON, Strings) {
  EXPECT_EQ(getError("\"" + repeat("[", 1000) + "\""), "");
  for (const char *text : {"]", "\\\"]", "\\\\", "}"})
    EXPECT_EQ(getError("[\"" + repeat(text, 1000000) + "\"," +
                       nest("[", "]", 1000000) + "]"),
              "more than 200 levels");
}

// What is no JSON ends in front of what is deep.
TEST(JSON, Errors) {
  for (const char *text : {"", "]", "\"", "\"\\", "[\"\\\"", "nul", "[1,]"})
    EXPECT_NE(getError(text), "");
  EXPECT_NE(getError("]" + repeat("[", 1000000)), "");
}

// Descriptions of targets come from files.
TEST(JSON, Targets) {
  auto target = OwnTarget::parse(nest("[", "]", 1000000));
  ASSERT_FALSE(target);
  EXPECT_THAT(llvm::toString(target.takeError()),
              HasSubstr("found more than 200 levels"));
}
