//===- BoxTest.cpp - Tests of parts of arrays -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Box.h"

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using testing::ElementsAre;
using testing::HasSubstr;

static const char *const kShape = "f32[20,8]{1,0}";

static ArrayPart parse(llvm::StringRef box) {
  Shape shape = llvm::cantFail(parseShape(kShape));
  return {shape, llvm::cantFail(parseBox(box, shape, "box"))};
}

static std::string parseError(llvm::StringRef box) {
  auto parsed = parseBox(box, llvm::cantFail(parseShape(kShape)), "box");
  return parsed ? "" : takeDiagnostic(parsed.takeError()).message();
}

TEST(BoxTest, readsSlicesAsPythonDoes) {
  EXPECT_THAT(parse("2:7,:").dimensions(), ElementsAre(5, 8));
  EXPECT_THAT(parse("1::3, :4").dimensions(), ElementsAre(7, 4));
  EXPECT_THAT(parse("20:20,8:8:5").dimensions(), ElementsAre(0, 0));
  EXPECT_EQ(parse("1:20:3,0:8:1").toString(), "f32[20,8]{1,0} [1:20:3,0:8]");
  EXPECT_EQ(parse("4:4,::2").toString(), "f32[20,8]{1,0} [4:4,0:7:2]");
  EXPECT_THAT(parse("0:20:9223372036854775807,:").dimensions(),
              ElementsAre(1, 8));
  Shape scalar = llvm::cantFail(parseShape("f32[]"));
  EXPECT_TRUE(llvm::cantFail(parseBox("", scalar, "box")).empty());
  EXPECT_EQ(ArrayPart(scalar).toString(), "f32[]");
}

TEST(BoxTest, refusesWhatIsNoSlice) {
  for (const char *box : {"", "0:4", "0:4,0:4,0:4"})
    EXPECT_THAT(parseError(box), HasSubstr("a slice for each of 2 dimensions"))
        << box;
  for (const char *box :
       {"4,:", "a:4,:", "-1:4,:", "4:2,:", "0:21,:", "::0,:", "::-1,:",
        "0:4:1:1,:", "0:99999999999999999999,:", "+1:4,:", "1 2:4,:"})
    EXPECT_THAT(parseError(box), HasSubstr("BEGIN:END or BEGIN:END:STEP"))
        << box;
}
