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
  EXPECT_EQ(numChecked, 540 + 7 * 250 + 2);
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

TEST(Target, OrdersThatAreGiven) {
  Shape array = Shape::array(PrimitiveType::F32, {4, 2048, 8});
  for (LayoutRule rule :
       {LayoutRule::RowMajor, LayoutRule::TPU, LayoutRule::TPUv2}) {
    EXPECT_EQ(llvm::cantFail(chooseLayoutInOrder(rule, array, {1, 2, 0}))
                  .layout()
                  .minorToMajor,
              (llvm::SmallVector<int64_t, 6>{1, 2, 0}));
    for (const std::vector<int64_t> &order :
         {std::vector<int64_t>{3, 2, 1}, {0, 0, 1}, {0, 1}, {-1, 0, 1}})
      EXPECT_THAT(
          llvm::toString(chooseLayoutInOrder(rule, array, order).takeError()),
          testing::HasSubstr("invalid"));
  }
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
              HasSubstr("expected one of cpu, tpu_v2, tpu_v3, tpu_v4, tpu_v5e, "
                        "tpu_v5p, tpu_v6e, tpu_v7x, nvgpu, found 'tpu_v9'"));
  EXPECT_THAT(choose("tpu", "f32[2]"), HasSubstr("found 'tpu'"));
  EXPECT_THAT(choose("", "f32[2]"), HasSubstr("found ''"));
}

TEST(Target, HasOtherNames) {
  std::pair<StringRef, StringRef> names[] = {
      {"v5e", "tpu_v5e"},       {"TPU v5 lite", "tpu_v5e"},
      {"v5litepod", "tpu_v5e"}, {"TPU v5", "tpu_v5p"},
      {"Trillium", "tpu_v6e"},  {"TPU v6 lite", "tpu_v6e"},
      {"TPU7x", "tpu_v7x"},     {"ironwood", "tpu_v7x"},
      {"v3", "tpu_v3"},         {"TPU v2", "tpu_v2"},
      {"H100", "nvgpu"},        {"CPU", "cpu"}};
  for (auto [alias, name] : names)
    EXPECT_EQ(llvm::cantFail(getTarget(alias))->name, name) << alias.str();
}

/// The message of the error of a description, or an empty text.
static std::string readOwn(StringRef json) {
  Expected<OwnTarget> target = OwnTarget::parse(json);
  return target ? "" : takeDiagnostic(target.takeError()).message();
}

TEST(Target, ReadsOwnTargets) {
  OwnTarget own = cantFail(OwnTarget::parse(R"json({
    "name": "mine", "layout_rule": "tpu",
    "spaces": [{"number": 0, "name": "dram", "capacity": 1024},
               {"number": 3, "name": "sram", "alignment": 64, "address_space": 7}]
  })json"));
  // What a target refers to moves with it.
  OwnTarget moved = std::move(own);
  Target target = moved.get();
  EXPECT_EQ(target.name, "mine");
  EXPECT_EQ(target.layoutRule, LayoutRule::TPU);
  ASSERT_EQ(target.spaces.size(), 2u);
  EXPECT_EQ(target.findSpace(0)->capacity, 1024);
  EXPECT_EQ(target.findSpace(0)->alignment, 1);
  EXPECT_EQ(target.findSpace(3)->name, "sram");
  EXPECT_EQ(target.findSpace(3)->addressSpace, 7);
}

TEST(Target, RefusesOwnTargets) {
  auto withSpaces = [](StringRef spaces) {
    return (R"({"name": "m", "layout_rule": "tpu", "spaces": )" + spaces + "}")
        .str();
  };
  EXPECT_EQ(readOwn(withSpaces(R"([{"number": 0, "name": "a"}])")), "");
  EXPECT_THAT(readOwn("nonsense"), HasSubstr("description of a target: "
                                             "expected JSON"));
  EXPECT_THAT(readOwn("[]"), HasSubstr("expected an object, found []"));
  EXPECT_THAT(readOwn(R"({"nam": 1})"),
              HasSubstr("expected one of name, layout_rule, spaces, found"));
  EXPECT_THAT(readOwn(R"({"name": ""})"), HasSubstr("name of a target"));
  EXPECT_THAT(readOwn(R"({"name": "m", "layout_rule": "best"})"),
              HasSubstr(R"(expected row_major, tpu or tpu_v2, found "best")"));
  EXPECT_THAT(readOwn(R"({"name": "m", "layout_rule": "tpu"})"),
              HasSubstr("expected a list, the space 0 first, found none"));
  EXPECT_THAT(readOwn(withSpaces("[1]")), HasSubstr("expected an object"));
  EXPECT_THAT(readOwn(withSpaces(R"([{"name": "a"}])")),
              HasSubstr("number of a target: expected a number, found none"));
  EXPECT_THAT(readOwn(withSpaces(R"([{"number": 1, "name": "a"}])")),
              HasSubstr("number of a target: expected 0 to 0, found 1"));
  EXPECT_THAT(
      readOwn(withSpaces(
          R"([{"number": 0, "name": "a"}, {"number": 0, "name": "b"}])")),
      HasSubstr("expected 1 to 127, found 0"));
  for (StringRef field :
       {R"("capacity": -1)", R"("alignment": 3)", R"("alignment": 0)",
        R"("address_space": -1)", R"("color": 1)"})
    EXPECT_NE(readOwn(withSpaces(
                  (R"([{"number": 0, "name": "a", )" + field + "}]").str())),
              "")
        << field.str();
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
  for (LayoutRule rule :
       {LayoutRule::RowMajor, LayoutRule::TPU, LayoutRule::TPUv2})
    EXPECT_EQ(parseLayoutRule(getName(rule)), rule);
  EXPECT_EQ(parseLayoutRule("TPU"), std::nullopt);
}
