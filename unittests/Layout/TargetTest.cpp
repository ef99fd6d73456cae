//===- TargetTest.cpp - Tests of targets and default layouts --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Target.h"
#include "tessera/Layout/Text.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace tessera;
using testing::HasSubstr;

/// `shape` with the default layout of the target, as text, or the error's.
static std::string choose(StringRef target, StringRef shape) {
  Expected<const Target *> found = getTarget(target);
  if (!found)
    return takeDiagnostic(found.takeError()).message();
  Expected<Shape> parsed = parseShape(shape, {/*fillDefaultLayouts=*/false});
  if (!parsed)
    return takeDiagnostic(parsed.takeError()).message();
  Expected<Shape> chosen = chooseDefaultLayout(**found, *parsed);
  return chosen ? chosen->toString()
                : takeDiagnostic(chosen.takeError()).message();
}

// Every choice of the real compiler, for all generations and types.
TEST(Target, ChoosesWhatTheTPUCompilerChooses) {
  auto buffer = MemoryBuffer::getFile(TESSERA_DEFAULT_LAYOUTS);
  ASSERT_TRUE(bool(buffer));
  Expected<json::Value> data = json::parse((*buffer)->getBuffer());
  ASSERT_TRUE(bool(data)) << toString(data.takeError());
  int numChecked = 0;
  for (const auto &[target, texts] : *data->getAsObject()) {
    for (const json::Value &value : *texts.getAsArray()) {
      StringRef text = *value.getAsString();
      EXPECT_EQ(choose(target, text.split('{').first), text);
      ++numChecked;
    }
  }
  EXPECT_EQ(numChecked, 540 + 4 * 250);
}

TEST(Target, RowMajorRule) {
  for (StringRef target : {"cpu", "nvgpu"}) {
    EXPECT_EQ(choose(target, "f32[4096,129]"), "f32[4096,129]{1,0}");
    EXPECT_EQ(choose(target, "s4[3,5]"), "s4[3,5]{1,0:E(4)}");
    EXPECT_EQ(choose(target, "u1[3]"), "u1[3]{0:E(1)}");
    EXPECT_EQ(choose(target, "pred[3,5,2]"), "pred[3,5,2]{2,1,0}");
    EXPECT_EQ(choose(target, "f64[]"), "f64[]");
  }
}

// Of several orders that pad equally, the logical one stays.
TEST(Target, TiesKeepTheLogicalOrder) {
  EXPECT_EQ(choose("tpu_v5e", "f32[128,128,128]"),
            "f32[128,128,128]{2,1,0:T(8,128)}");
  EXPECT_EQ(choose("tpu_v5e", "f32[1,1,1]"), "f32[1,1,1]{2,1,0:T(1,128)}");
}

TEST(Target, ReplacesGivenLayouts) {
  EXPECT_EQ(choose("tpu_v5e", "bf16[32,256]{0,1:T(4,4)S(1)}"),
            "bf16[32,256]{1,0:T(8,128)(2,1)}");
}

TEST(Target, FillsTuplesLeafByLeaf) {
  EXPECT_EQ(choose("tpu_v5e", "(f32[31,5], (s8[2]{0}, token[]), ())"),
            "(f32[31,5]{0,1:T(8,128)}, (s8[2]{0:T(512)(128)(4,1)}, token[]), "
            "())");
}

TEST(Target, BoundedDimensionsCountWithTheirBound) {
  EXPECT_EQ(choose("tpu_v5e", "f32[<=31,5]"), "f32[<=31,5]{0,1:T(8,128)}");
}

TEST(Target, RefusesUnboundedDimensions) {
  EXPECT_THAT(choose("tpu_v5e", "(f32[2], f32[?,3])"),
              HasSubstr("unsupported default layout: expected dimensions with "
                        "a size or bound, found f32[?,3]; give the dimension"));
  EXPECT_THAT(choose("cpu", "f32[?,3]"), HasSubstr("found f32[?,3]"));
}

TEST(Target, RefusesTypesThatTheRuleDoesNotKnow) {
  EXPECT_THAT(choose("tpu_v6e", "s1[8]"),
              HasSubstr("expected an element type of 2 bits or more, or pred, "
                        "found s1[8]"));
}

TEST(Target, RefusesUnknownTargets) {
  EXPECT_THAT(choose("tpu_v9", "f32[2]"),
              HasSubstr("expected one of cpu, tpu_v4, tpu_v5e, tpu_v5p, "
                        "tpu_v6e, nvgpu, found 'tpu_v9'"));
}

// The array fits, its tiles do not: an error, and no wrapped number.
TEST(Target, RefusesArraysWhosePaddingOverflows) {
  EXPECT_THAT(choose("tpu_v5e", "s8[9223372036854775807,1]"),
              HasSubstr("invalid"));
  EXPECT_THAT(choose("tpu_v5e", "s8[2147483647,1,1,1,1,4294967296]"),
              HasSubstr("invalid"));
}

// Every number that the TPU compiler was seen to write has a space.
TEST(Target, SpacesOfCompiledModules) {
  for (llvm::StringRef name : {"tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e"}) {
    const Target *target = llvm::cantFail(getTarget(name));
    for (int64_t number : {0, 1, 2, 4, 5, 6})
      EXPECT_NE(target->findSpace(number), nullptr) << name.str() << number;
    EXPECT_EQ(target->findSpace(3) != nullptr, name == "tpu_v4");
  }
}

TEST(Target, SpacesAreSortedAndAligned) {
  for (const Target &target : allTargets()) {
    ASSERT_NE(target.findSpace(0), nullptr) << target.name.str();
    EXPECT_EQ(target.findSpace(0), &target.spaces.front());
    EXPECT_EQ(target.findSpace(7), nullptr);
    int64_t previous = -1;
    for (const MemorySpace &space : target.spaces) {
      EXPECT_GT(space.number, previous);
      EXPECT_GT(space.alignment, 0);
      EXPECT_GE(space.capacity, 0);
      EXPECT_EQ(target.findSpace(space.number), &space);
      previous = space.number;
    }
  }
}

TEST(Target, RuleNamesRoundTrip) {
  for (LayoutRule rule : {LayoutRule::RowMajor, LayoutRule::TPU})
    EXPECT_EQ(parseLayoutRule(getName(rule)), rule);
  EXPECT_EQ(parseLayoutRule("TPU"), std::nullopt);
}
