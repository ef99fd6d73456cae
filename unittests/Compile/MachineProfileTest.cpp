//===- MachineProfileTest.cpp - Tests for measurements of machines --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/MachineProfile.h"
#include "../TestCounts.h"
#include "Calibrate.h"
#include "GuardedRelayouts.h"
#include "tessera/Compile/Tune.h"
#include "tessera/Layout/Text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using ::testing::HasSubstr;

static std::string getError(llvm::StringRef text) {
  auto profile = MachineProfile::parse(text);
  return profile ? "" : llvm::toString(profile.takeError());
}

/// The file of a machine with these fields besides those that it needs.
static std::string makeText(llvm::StringRef fields) {
  return (R"({"schema": "tessera.machine", "version": 1, "cpu": "znver5")" +
          fields + "}")
      .str();
}

static Shape parse(llvm::StringRef text) {
  return llvm::cantFail(parseShape(text));
}

TEST(MachineProfile, SurvivesItsText) {
  std::mt19937_64 engine(testSeed());
  for (int i = 0; i < 100; ++i) {
    MachineProfile profile = *drawMachine(engine);
    TunedRelayout relayout = {"f32[2]{0}",
                              "f32[2]{0:T(2)}",
                              static_cast<int64_t>(engine() % 1024 + 1),
                              static_cast<BufferState>(engine() % 3),
                              {}};
    if (engine() % 2)
      relayout.tuning.rowBytes = engine() % 512 + 1;
    if (engine() % 2)
      relayout.tuning.bySource = engine() % 2;
    if (engine() % 2)
      relayout.tuning.prefetch = engine() % 9;
    profile.add(relayout);
    std::string text = profile.toJSON();
    MachineProfile read = llvm::cantFail(MachineProfile::parse(text));
    EXPECT_EQ(read.toJSON(), text);
    const TunedRelayout *found =
        read.find(relayout.source, relayout.destination, relayout.threads,
                  relayout.buffers);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->tuning.rowBytes, relayout.tuning.rowBytes);
    EXPECT_EQ(found->tuning.bySource, relayout.tuning.bySource);
    EXPECT_EQ(found->tuning.prefetch, relayout.tuning.prefetch);
    EXPECT_FALSE(found->tuning.nontemporal);
    EXPECT_FALSE(read.find(relayout.source, relayout.destination,
                           relayout.threads + 1, relayout.buffers));
  }
}

TEST(MachineProfile, AddReplaces) {
  MachineProfile profile;
  profile.add({"a", "b", 1, BufferState::Hot, {}});
  TunedRelayout other = {"a", "b", 1, BufferState::Hot, {}};
  other.tuning.prefetch = 3;
  profile.add(other);
  EXPECT_EQ(profile.relayouts.size(), 1u);
  EXPECT_EQ(profile.find("a", "b", 1, BufferState::Hot)->tuning.prefetch, 3);
  EXPECT_FALSE(profile.find("a", "b", 1, BufferState::Cold));
}

TEST(MachineProfile, FindsPartsOfArrays) {
  Shape shape = parse("f32[8,8]{1,0:S(2)}");
  ArrayPart part(shape, llvm::cantFail(parseBox("0:4,::2", shape, "box")));
  EXPECT_EQ(MachineProfile::getText(part), "f32[8,8]{1,0} [0:4,0:7:2]");
  MachineProfile profile;
  auto find = [&](const ArrayPart &source) {
    return profile.find(source, shape, 1, BufferState::Unknown);
  };
  EXPECT_FALSE(find(part));
  profile.add({"f32[8,8]{1,0} [0:4,0:7:2]",
               "f32[8,8]{1,0}",
               1,
               BufferState::Unknown,
               {}});
  EXPECT_TRUE(find(part));
  EXPECT_FALSE(find(shape));
  part.box[0].begin = 1;
  EXPECT_FALSE(find(part));
}

TEST(MachineProfile, CostsLeftOutAreThoseOfTheTable) {
  auto profile = MachineProfile::parse(
      makeText(R"(, "costs": {"copy-prefetch-bytes": 7})"));
  ASSERT_TRUE(static_cast<bool>(profile));
  EXPECT_EQ(profile->costs.copyPrefetchBytes, 7);
  EXPECT_EQ(profile->costs.copyStreams,
            ProcessorCosts::get("znver5").copyStreams);
}

TEST(MachineProfile, RefusesWhatIsNone) {
  EXPECT_EQ(getError(makeText("")), "");
  std::pair<std::string, const char *> cases[] = {
      {"{", "file of a machine"},
      {"[]", "expected object"},
      {R"({"schema": "tessera.machine", "version": 1})", "missing value at "
                                                         "machine.cpu"},
      {R"({"schema": "other", "version": 1, "cpu": ""})", "machine.schema"},
      {R"({"schema": "tessera.machine", "version": 2, "cpu": ""})",
       "another than tessera.machine, version 1 at machine.schema"},
      {makeText(R"(, "cost": {})"), "a key that is no field at machine.cost"},
      {makeText(R"(, "costs": 3)"),
       "a value that is no object at machine.costs"},
      {makeText(R"(, "costs": {"x": 3})"), "machine.costs.x"},
      {makeText(R"(, "costs": {"copy-streams": 0})"),
       "a value that is no number in the range at machine.costs.copy-streams"},
      {makeText(R"(, "costs": {"copy-streams": 17})"), "copy-streams"},
      {makeText(R"(, "costs": {"copy-streams": 1.5})"), "copy-streams"},
      {makeText(R"(, "relayouts": {})"), "machine.relayouts"},
      {makeText(R"(, "relayouts": [{}])"), "relayouts[0].source"},
  };
  for (const auto &[text, message] : cases)
    EXPECT_THAT(getError(text), HasSubstr(message)) << text;
}

TEST(MachineProfile, RefusesPlansThatAreNone) {
  auto getPlanError = [](llvm::StringRef threads, llvm::StringRef plan) {
    return getError(makeText(
        (R"(, "relayouts": [{"source": "a", "destination": "b", "threads": )" +
         threads + R"(, "plan": )" + plan + "}]")
            .str()));
  };
  EXPECT_EQ(getPlanError("1", R"({"prefetch": 0, "gathers": true})"), "");
  EXPECT_EQ(getPlanError("1", R"({"kind": "staged"})"), "");
  for (const char *plan : {R"({"kind": "abacus"})", R"({"kind": 1})"})
    EXPECT_THAT(getPlanError("1", plan), HasSubstr("no kind of plans"));
  EXPECT_THAT(getPlanError("0", "{}"), HasSubstr("threads"));
  EXPECT_THAT(getPlanError("1025", "{}"), HasSubstr("threads"));
  EXPECT_THAT(getPlanError("1", "[]"), HasSubstr("plan"));
  EXPECT_THAT(getPlanError("1", R"({"rows": 1})"), HasSubstr("plan.rows"));
  EXPECT_THAT(getPlanError("1", R"({"row-bytes": 0})"),
              HasSubstr("plan.row-bytes"));
  EXPECT_THAT(getPlanError("1", R"({"row-bytes": true})"),
              HasSubstr("plan.row-bytes"));
  EXPECT_THAT(getPlanError("1", R"({"by-source": 1})"),
              HasSubstr("plan.by-source"));
}

TEST(MachineProfile, DecidesPlans) {
  Shape source = parse("f32[256,256]{1,0}"),
        destination = parse("f32[256,256]{0,1}");
  auto getPlan = [&](const CompileOptions &options) {
    auto plan = llvm::cantFail(getRelayoutPlan(source, destination, options));
    std::string text;
    llvm::raw_string_ostream os(text);
    plan.print(os);
    return text;
  };
  auto machine = std::make_shared<MachineProfile>();
  machine->cpu = "znver5";
  machine->costs = ProcessorCosts::get("znver5");
  CompileOptions options;
  options.cpu = "znver5";
  std::string rule = getPlan(options);
  options.machine = machine;
  EXPECT_EQ(getPlan(options), rule);
  // A relayout that was tuned, by the shapes' own texts; others are as before.
  auto tuned = std::make_shared<MachineProfile>(*machine);
  tuned->add(
      {source.toString(), destination.toString(), 1, BufferState::Unknown, {}});
  tuned->relayouts.front().tuning.rowBytes = 64;
  options.machine = tuned;
  std::string text = getPlan(options);
  EXPECT_NE(text, rule);
  EXPECT_THAT(text, HasSubstr("transpose 16x"));
  options.threads = 2;
  EXPECT_THAT(getPlan(options), Not(HasSubstr("transpose 16x")));
  options.threads = 1;
  // What a caller chooses comes first.
  options.tuning.rowBytes = 128;
  EXPECT_THAT(getPlan(options), HasSubstr("transpose 32x"));
}

TEST(MachineProfile, IsOfOneProcessor) {
  CompileOptions options;
  options.cpu = "znver4";
  options.machine = std::make_shared<MachineProfile>(
      llvm::cantFail(MachineProfile::parse(makeText(""))));
  auto plan =
      getRelayoutPlan(parse("f32[2,3]{1,0}"), parse("f32[2,3]{0,1}"), options);
  ASSERT_FALSE(static_cast<bool>(plan));
  EXPECT_THAT(llvm::toString(plan.takeError()),
              HasSubstr("expected measurements of `znver4`, which code is for, "
                        "found those of `znver5`"));
}

TEST(Tune, RanksPlans) {
  auto plans = llvm::cantFail(
      tuneRelayout(parse("f32[100,60]{1,0}"), parse("f32[100,60]{0,1}")));
  EXPECT_GT(plans.size(), 1u);
  EXPECT_EQ(
      llvm::count_if(
          plans, [](const TimedPlan &plan) { return plan.tuning.isRule(); }),
      1);
  for (const TimedPlan &plan : plans) {
    EXPECT_GT(plan.seconds, 0);
    // The rule may come in front of what is a little faster.
    EXPECT_GE(plan.seconds, 0.98 * plans.front().seconds);
  }
  // Loops over elements have no variants.
  plans = llvm::cantFail(tuneRelayout(parse("f32[16,4]{1,0}"),
                                      parse("f32[16,4]{1,0:T(8,4)(3,1)}")));
  EXPECT_EQ(plans.size(), 1u);
}

TEST(Tune, MeasuresThisMachineAlone) {
  CompileOptions options;
  options.triple = "aarch64-linux-gnu";
  auto plans =
      tuneRelayout(parse("f32[2,3]{1,0}"), parse("f32[2,3]{0,1}"), options);
  ASSERT_FALSE(static_cast<bool>(plans));
  EXPECT_THAT(
      llvm::toString(plans.takeError()),
      HasSubstr("unsupported machine to measure: expected this one, found "
                "aarch64-linux-gnu"));
}

// Small parts of arrays are timed as well as whole ones, in and out of caches.
TEST(Tune, TimesBoxes) {
  Shape shape = parse("f32[1000,4112]{1,0}");
  ArrayPart part(shape, llvm::cantFail(parseBox("0:16,0:1024", shape, "box")));
  for (BufferState state : {BufferState::Hot, BufferState::Cold}) {
    CompileOptions options;
    options.buffers = state;
    auto plans = llvm::cantFail(tuneRelayout(part, part, options));
    ASSERT_FALSE(plans.empty());
    for (const TimedPlan &plan : plans)
      EXPECT_GT(plan.seconds, 0);
  }
}

// Coefficients that decide plans with any registers have relayouts that tell.
TEST(Calibrate, TimesWhatDependsOnCoefficients) {
  for (int64_t vectorBytes : {16, 32, 64})
    for (const char *key :
         {"copy-streams", "prefetch-conflicts", "cached-load-bytes",
          "interleave-rows", "nontemporal-bytes", "hot-nontemporal-bytes",
          "cold-nontemporal-bytes", "jump-ps", "visit-ps", "stream-ps",
          "column-conflict-ps", "buffer-ps", "allocate-ps", "cached-run-ps",
          "cached-conflict-ps", "cached-skip-ps", "cached-column-ps",
          "first-level-ways"})
      EXPECT_TRUE(isMeasured(key, vectorBytes)) << key << ' ' << vectorBytes;
  // Registers of 64 bytes alone carry lines, and make panels.
  for (const char *key :
       {"carry-ps", "pack-ps", "panel-run-bytes", "latency-ps"}) {
    EXPECT_FALSE(isMeasured(key, 32)) << key;
    EXPECT_TRUE(isMeasured(key, 64)) << key;
  }
  EXPECT_TRUE(isMeasured("channel-ps", 64));
}
