//===- ReportTest.cpp - Tests of the report -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every array here is f32[256], 1024 bytes, unless its shape says otherwise:
// live bytes can be counted by hand.
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/HloReport.h"

#include "tessera/HLO/Parser.h"
#include "tessera/Layout/Text.h"

#include "TestCounts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace tessera;
using testing::ElementsAre;

/// The report on a module of these computations.
static Report reportOn(const std::string &computations,
                       llvm::StringRef header = "") {
  std::string text = ("HloModule m, is_scheduled=true" + header + "\n").str();
  text += computations;
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  for (const hlo::SourceDiagnostic &error : errors)
    ADD_FAILURE() << error.message();
  return llvm::cantFail(makeReport(makeReportInput(*module)));
}

/// Live KiB of a space, step by step.
static std::vector<int64_t> getLive(const Report &report, int64_t space) {
  for (const SpaceReport &candidate : report.spaces)
    if (candidate.space == space) {
      std::vector<int64_t> live;
      for (int64_t bytes : candidate.liveBytes)
        live.push_back(bytes / 1024);
      return live;
    }
  return {};
}

TEST(Report, LiveFromDefinitionToLastUse) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256] parameter(0)
  a = f32[256] negate(p)
  b = f32[256] negate(a)
  c = f32[256] add(p, b)
  ROOT d = f32[256] negate(c)
})");
  // The argument throughout; a to b, b to c, c to d, the result.
  EXPECT_THAT(getLive(report, 0), ElementsAre(1, 2, 3, 3, 3));
  EXPECT_EQ(report.spaces[0].peakBytes, 3072);
  EXPECT_EQ(report.spaces[0].peakStep, 2);
  EXPECT_EQ(report.argumentBytes, 1024);
  EXPECT_EQ(report.outputBytes, 1024);
  EXPECT_EQ(report.allocatedBytes, 5 * 1024);
}

TEST(Report, ViewsKeepWhatTheyShareAlive) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256] parameter(0)
  a = f32[256] negate(p)
  v = f32[2,128] bitcast(a)
  t = (f32[2,128], f32[256]) tuple(v, p)
  g = f32[2,128] get-tuple-element(t), index=0
  b = f32[256] negate(p)
  ROOT c = f32[2,128] negate(g)
})");
  EXPECT_THAT(getLive(report, 0), ElementsAre(1, 2, 2, 2, 2, 3, 3));
  EXPECT_EQ(report.values[2].value.role, ReportRole::View);
  EXPECT_EQ(report.values[2].allocatedBytes, 0);
  EXPECT_EQ(report.values[2].physicalBytes, 1024);
}

TEST(Report, AsynchronousCopies) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256]{0} parameter(0)
  s = (f32[256]{0:S(1)}, f32[256]{0}, u32[]) copy-start(p)
  a = f32[256]{0} negate(p)
  d = f32[256]{0:S(1)} copy-done(s)
  ROOT r = f32[256]{0} add(a, d)
})");
  // The destination lives from the start on.
  EXPECT_THAT(getLive(report, 1), ElementsAre(0, 1, 1, 1, 1));
  const ValueReport &done = report.values[3];
  ASSERT_TRUE(done.value.move);
  EXPECT_EQ(done.value.move->overlap, 1);
  EXPECT_EQ(done.bytesRead, 1024);
  EXPECT_EQ(done.bytesWritten, 1024);
  EXPECT_EQ(report.asyncBytes, 2048);
  EXPECT_FALSE(done.moveSuggestion);
}

TEST(Report, NothingHidesACopyThatIsWaitedFor) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256]{0} parameter(0)
  s = (f32[256]{0:S(1)}, f32[256]{0}, u32[]) copy-start(p)
  ROOT d = f32[256]{0:S(1)} copy-done(s)
})");
  ASSERT_TRUE(report.values[2].moveSuggestion);
  EXPECT_EQ(report.values[2].moveSuggestion->kind, Suggestion::Kind::Overlap);
}

TEST(Report, UpdatesInPlace) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256] parameter(0)
  u = f32[1] constant({0})
  i = s32[] constant(0)
  a = f32[256] negate(p)
  b = f32[256] dynamic-update-slice(a, u, i)
  c = f32[256] dynamic-update-slice(p, u, i)
  ROOT d = f32[256] add(b, c)
})");
  // Into a, which nobody else needs, but not into the argument.
  EXPECT_EQ(report.values[4].allocatedBytes, 0);
  EXPECT_EQ(report.values[5].allocatedBytes, 1024);
}

TEST(Report, FusionsUpdateInPlaceThroughTuplesAndBitcasts) {
  Report report = reportOn(R"(f {
  p = f32[256] parameter(0)
  v = f32[2,128] bitcast(p)
  u = f32[1,1] parameter(1)
  i = s32[] constant(0)
  w = f32[2,128] dynamic-update-slice(v, u, i, i)
  n = f32[2,128] negate(w)
  ROOT t = (f32[2,128], f32[2,128]) tuple(n, w)
}
ENTRY e {
  p = f32[256] parameter(0)
  a = f32[256] negate(p)
  u = f32[1,1] constant({{0}})
  g = (f32[2,128], f32[2,128]) fusion(a, u), kind=kLoop, calls=f
  ROOT r = f32[2,128] get-tuple-element(g), index=1
})");
  // The second result is a's memory, the first has its own.
  EXPECT_EQ(report.values[3].allocatedBytes, 1024);
  EXPECT_THAT(getLive(report, 0), ElementsAre(1, 2, 2, 3, 2));
}

TEST(Report, ScattersUpdateInPlace) {
  Report report = reportOn(R"(add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
ENTRY e {
  p = f32[256] parameter(0)
  i = s32[1] constant({0})
  u = f32[1] constant({0})
  a = f32[256] negate(p)
  ROOT b = f32[256] scatter(a, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
})");
  EXPECT_EQ(report.values[4].allocatedBytes, 0);
}

TEST(Report, SortsAndAllReducesWriteOverWhatDies) {
  Report report = reportOn(R"(less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT z = pred[] compare(a, b), direction=LT
}
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
ENTRY e {
  p = f32[256] parameter(0)
  q = s32[512] parameter(1)
  a = f32[256] negate(p)
  k = s32[256] slice(q), slice={[0:256]}
  s = (f32[256], s32[256]) sort(a, k), dimensions={0}, to_apply=less
  b = f32[256] get-tuple-element(s), index=0
  n = f32[256] all-reduce(b), replica_groups={}, to_apply=add
  m = f32[256] all-reduce(n), replica_groups={}, to_apply=add
  ROOT r = f32[256] add(n, m)
})");
  // Over both operands, which nobody reads again.
  EXPECT_EQ(report.values[4].allocatedBytes, 0);
  EXPECT_EQ(report.values[6].allocatedBytes, 0);
  // The root reads n, too.
  EXPECT_EQ(report.values[7].allocatedBytes, 1024);
}

TEST(Report, TheCompilerSaysWhatIsInPlace) {
  auto sort = [](const std::string &lists) {
    return reportOn(R"(less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  ROOT z = pred[] compare(a, b), direction=LT
}
ENTRY e {
  p = f32[256] parameter(0)
  a = f32[256] negate(p)
  b = f32[256] negate(p)
  ROOT s = (f32[256], f32[256]) sort(a, b), dimensions={0}, to_apply=less, backend_config={"aliasing_operands":{"lists":[)" +
                    lists + R"(]}}
})");
  };
  auto allocated = [](const Report &report) {
    return report.values.back().allocatedBytes;
  };
  EXPECT_EQ(allocated(sort("")), 2048);
  EXPECT_EQ(allocated(sort(R"({"indices":["0","2"]})")), 1024);
  EXPECT_EQ(allocated(sort(R"({"indices":["0","2"]},{"indices":["1","3"]})")),
            0);
  // Numbers of nothing are passed over.
  EXPECT_EQ(allocated(sort(R"({"indices":["2","0"]},{"indices":["9","x"]})")),
            2048);
}

TEST(Report, JoinedPiecesAreTheWhole) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256] parameter(0)
  a = f32[256] negate(p)
  b = f32[256] negate(p)
  w = f32[512] custom-call(a, b), custom_call_target="ConcatBitcast"
  ROOT c = f32[512] negate(w)
})");
  EXPECT_THAT(getLive(report, 0), ElementsAre(1, 2, 3, 3, 5));
  EXPECT_EQ(report.values[3].allocatedBytes, 0);
}

TEST(Report, ResultsOfBranchesBeginWithinThem) {
  Report report = reportOn(R"(yes {
  x = f32[256] parameter(0)
  a = f32[256] negate(x)
  b = f32[256] add(a, x)
  ROOT c = f32[256] negate(b)
}
no {
  ROOT x = f32[256] parameter(0)
}
ENTRY e {
  p = f32[256] parameter(0)
  c = pred[] constant(true)
  ROOT r = f32[256] conditional(c, p, p), true_computation=yes, false_computation=no
})");
  // p beside a and b, then beside b and the result.
  EXPECT_THAT(getLive(report, 0), ElementsAre(1, 1, 3));
}

TEST(Report, TakenElementsAreNoUseOfOthers) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256] parameter(0)
  a = f32[256] negate(p)
  b = f32[256] negate(p)
  t = (f32[256], f32[256]) tuple(a, b)
  x = f32[256] get-tuple-element(t), index=0
  ROOT c = f32[256] negate(x)
})");
  EXPECT_THAT(getLive(report, 0), ElementsAre(1, 2, 3, 3, 2, 3));
}

TEST(Report, TheHostIsNotTheDevice) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256]{0:S(5)} parameter(0)
  q = f32[512]{0} parameter(1)
  ROOT t = (f32[256]{0:S(5)}, f32[512]{0}) tuple(p, q)
})");
  EXPECT_EQ(report.argumentBytes, 2048);
  EXPECT_EQ(report.outputBytes, 2048 + 512);
  EXPECT_EQ(report.hostArgumentBytes, 1024);
  EXPECT_EQ(report.hostOutputBytes, 1024);
}

TEST(Report, CoresHoldTheirLargestPiece) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[40,128]{1,0:T(8,128)} parameter(0)
  a = f32[40,128]{1,0:T(8,128)S(1)SC(0:24)} copy(p)
  ROOT b = f32[40,128]{1,0:T(8,128)} negate(a)
})");
  EXPECT_THAT(getLive(report, 1), ElementsAre(0, 12, 12));
}

/// What no verifier has seen has buffers of its own where it does not fit.
TEST(Report, OperandsThatDoNotFitAreNotTrusted) {
  for (const char *line :
       {"all-gather-done(p)", "collective-permute-done(p)", "recv-done(p)",
        "all-reduce-done(p)", "opt-barrier(p)", "add-dependency(p, k)",
        "copy-done(s)"}) {
    Report report = reportOn(R"(ENTRY e {
  p = f32[256] parameter(0)
  k = token[] after-all()
  s = (f32[256], f32[256], u32[]) copy-start(p)
  x = (f32[256], f32[256]) )" +
                             std::string(line) + R"(
  y = f32[256] get-tuple-element(x), index=1
  ROOT z = f32[256] negate(y)
})");
    EXPECT_EQ(report.values[3].allocatedBytes, 2048) << line;
  }
}

TEST(Report, DonatedArgumentsAreResults) {
  const char *entry = R"(ENTRY e {
  p = f32[256] parameter(0)
  ROOT a = f32[256] negate(p)
})";
  EXPECT_THAT(getLive(reportOn(entry), 0), ElementsAre(1, 2));
  EXPECT_THAT(
      getLive(reportOn(entry, ", input_output_alias={ {}: (0, {}) }"), 0),
      ElementsAre(1, 1));
}

TEST(Report, LoopsRunWithinTheirStep) {
  Report report = reportOn(R"(body {
  s = (s32[], f32[256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[256] get-tuple-element(s), index=1
  a = f32[256] negate(x)
  b = f32[256] add(a, x)
  c = f32[256] add(a, b)
  ROOT t = (s32[], f32[256]) tuple(i, c)
}
cond {
  s = (s32[], f32[256]) parameter(0)
  ROOT r = pred[] constant(false)
}
ENTRY e {
  p = f32[256] parameter(0)
  i = s32[] constant(0)
  q = f32[256] negate(p)
  t = (s32[], f32[256]) tuple(i, q)
  w = (s32[], f32[256]) while(t), condition=cond, body=body
  ROOT g = f32[256] get-tuple-element(w), index=1
})");
  // p and the loop's state; within it a and b, while c is the state again.
  EXPECT_THAT(getLive(report, 0), ElementsAre(1, 1, 2, 2, 4, 2));
}

TEST(Report, OutputsHaveMemoryBeforeTheyAreMade) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256] parameter(0)
  a = f32[512] custom-call(p), custom_call_target="f"
  b = f32[256] custom-call(a), custom_call_target="f"
  ROOT c = f32[1024] custom-call(b), custom_call_target="f"
})");
  // The argument and a and b; or the argument, b and the result.
  EXPECT_EQ(report.spaces[0].peakBytes, 6 * 1024);
  EXPECT_EQ(report.temporaryBytes, 3 * 1024);
  EXPECT_EQ(report.programBytes, 8 * 1024);
}

TEST(Report, GapsThatFitNothingAreNeeded) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[256] parameter(0)
  a = f32[256] custom-call(p), custom_call_target="f"
  b = f32[512] custom-call(a), custom_call_target="f"
  c = f32[512] custom-call(b), custom_call_target="f"
  d = f32[256] custom-call(c), custom_call_target="f"
  ROOT e = f32[256] custom-call(d), custom_call_target="f"
})");
  // c does not fit where a was, d does, and lies in front of b's place.
  std::vector<int64_t> offsets;
  for (const ReportPlace &place : report.temporaries.places)
    offsets.push_back(place.offset / 1024);
  EXPECT_THAT(offsets, ElementsAre(0, 1, 3, 0));
  EXPECT_EQ(report.temporaryBytes, 5 * 1024);
}

TEST(Report, PlacesDoNotOverlap) {
  std::mt19937 rng(testSeed());
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  for (int round = 0; round < testCount(2000); ++round) {
    ReportInput input;
    input.result = std::make_shared<Shape>();
    size_t numTimelines = pick(1, 3);
    for (size_t t = 0; t < numTimelines; ++t) {
      ReportTimeline &timeline = input.timelines.emplace_back();
      timeline.steps.resize(pick(1, 12));
      int64_t last = static_cast<int64_t>(timeline.steps.size()) - 1;
      for (int64_t i = pick(0, 12); i > 0; --i) {
        int64_t begin = pick(0, last), end = pick(begin, last);
        ReportValue &value = input.values.emplace_back();
        value.shape = std::make_shared<Shape>(
            Shape::array(PrimitiveType::F32, {pick(0, 9)}));
        timeline.buffers.push_back(
            {value.shape, begin, end, input.values.size() - 1});
      }
      if (t > 0)
        timeline.children.emplace_back(pick(0, last), pick(0, t - 1));
    }
    Report report = llvm::cantFail(makeReport(std::move(input)));
    ASSERT_GE(report.temporaryBytes,
              report.spaces.empty() ? 0 : report.spaces[0].peakBytes);
    for (const ReportPlace &place : report.temporaries.places) {
      ASSERT_TRUE(0 <= place.begin && place.begin <= place.end &&
                  place.end < report.moments);
      ASSERT_TRUE(0 <= place.offset && place.bytes > 0);
      for (const ReportPlace &other : report.temporaries.places) {
        bool meet = place.begin <= other.end && other.begin <= place.end;
        bool overlap = place.offset < other.offset + other.bytes &&
                       other.offset < place.offset + place.bytes;
        ASSERT_FALSE(&place != &other && meet && overlap)
            << "seed " << testSeed();
      }
    }
  }
}

TEST(Report, RelayoutsAndBitcasts) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[8,256]{1,0} parameter(0)
  a = f32[8,256]{0,1} copy(p)
  b = f32[256,8]{1,0} transpose(a), dimensions={1,0}
  ROOT c = f32[2048]{0} reshape(b)
})");
  // The copy moves; the transposition and the reshape of it do not.
  EXPECT_TRUE(report.values[1].value.move);
  EXPECT_FALSE(report.values[2].value.move);
  EXPECT_FALSE(report.values[3].value.move);
  EXPECT_EQ(report.relayoutBytes, 2 * 8192);
  ASSERT_TRUE(report.values[1].moveSuggestion);
  EXPECT_EQ(report.values[1].moveSuggestion->kind, Suggestion::Kind::AvoidMove);
  EXPECT_EQ(report.values[1].moveSuggestion->gain, 2 * 8192);
}

TEST(Report, AvoidedMovesSayWhatTheyCost) {
  Report report = reportOn(R"(ENTRY e {
  p = f32[8,256]{1,0:T(8,128)} parameter(0)
  ROOT a = f32[8,256]{0,1:T(8,128)} copy(p)
})");
  ASSERT_TRUE(report.values[1].moveSuggestion);
  EXPECT_EQ(report.values[1].moveSuggestion->text,
            "pass %p as f32[8,256]{0,1:T(8,128)}: then there is nothing left "
            "to move, and it takes 131072 bytes instead of 8192");
}

static Suggestion suggest(llvm::StringRef shape) {
  return suggestLayout(llvm::cantFail(parseShape(shape))).value();
}

TEST(Report, SuggestionsPreferTheOrderOfNeighbours) {
  // Four orders take 262,144 bytes.
  Report report = reportOn(R"(
ENTRY e {
  %a = f32[4,8,128,64]{3,2,1,0:T(8,128)} parameter(0)
  %b = f32[4,8,128,64]{2,1,3,0:T(8,128)} copy(%a)
  ROOT %c = f32[4,8,128,64]{3,2,0,1:T(8,128)} copy(%b)
})");
  ASSERT_TRUE(report.values[0].suggestion);
  EXPECT_EQ(report.values[0].suggestion->shape->toString(),
            "f32[4,8,128,64]{2,1,3,0:T(8,128)}");
  EXPECT_TRUE(llvm::StringRef(report.values[0].suggestion->text)
                  .ends_with(", and %b has this order"));
  Shape alone = *report.values[0].value.shape;
  std::optional<Suggestion> other = suggestLayout(alone);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->gain, report.values[0].suggestion->gain);
  EXPECT_NE(other->shape->toString(),
            report.values[0].suggestion->shape->toString());
}

TEST(Report, Suggestions) {
  Suggestion order = suggest("f32[256,8]{1,0:T(8,128)}");
  EXPECT_EQ(order.kind, Suggestion::Kind::Order);
  EXPECT_EQ(order.shape->toString(), "f32[256,8]{0,1:T(8,128)}");
  EXPECT_EQ(order.gain, 256 * 128 * 4 - 256 * 8 * 4);

  Suggestion tile = suggest("f32[3,128]{1,0:T(8,128)}");
  EXPECT_EQ(tile.kind, Suggestion::Kind::Tile);
  EXPECT_EQ(tile.shape->toString(), "f32[3,128]{1,0:T(1,128)}");

  Suggestion merge = suggest("f32[16,8,64]{2,1,0:T(8,128)}");
  EXPECT_EQ(merge.kind, Suggestion::Kind::Merge);
  EXPECT_EQ(merge.shape->toString(), "f32[16,512]{1,0:T(8,128)}");
  EXPECT_EQ(merge.gain, 32768);

  // Nothing to gain, nothing said.
  EXPECT_FALSE(
      suggestLayout(llvm::cantFail(parseShape("f32[8,128]{1,0:T(8,128)}"))));
  EXPECT_FALSE(suggestLayout(llvm::cantFail(parseShape("f32[]{:T(128)}"))));
  EXPECT_FALSE(suggestLayout(llvm::cantFail(parseShape("(f32[2], token[])"))));
}

TEST(Report, UnboundedShapesAreUnsupported) {
  ReportInput input;
  ReportValue &value = input.values.emplace_back();
  value.shape = std::make_shared<Shape>(llvm::cantFail(parseShape("f32[?]")));
  input.result = value.shape;
  llvm::Expected<Report> report = makeReport(std::move(input));
  ASSERT_FALSE(static_cast<bool>(report));
  EXPECT_EQ(takeDiagnostic(report.takeError()).kind,
            DiagnosticKind::Unsupported);
}
