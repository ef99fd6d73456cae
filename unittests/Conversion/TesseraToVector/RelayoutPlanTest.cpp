//===- RelayoutPlanTest.cpp - Tests of the plan of a relayout -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan says which elements move where. Here its loops are walked, one run at
// a time, and every move is held against the axis lists: each element once, to
// its position; each position of padding filled once.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "../../Layout/RandomShape.h"
#include "../../TestCounts.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using testing::HasSubstr;
using testing::Not;

static AxisList getAxes(llvm::StringRef text) {
  return llvm::cantFail(AxisList::get(llvm::cantFail(parseShape(text))));
}

static std::string printPlan(llvm::StringRef src, llvm::StringRef dst,
                             const RelayoutTarget &target = {},
                             bool fill = false) {
  Shape shape = llvm::cantFail(parseShape(src));
  int64_t bits = getStorageBits(shape.elementType(), shape.layoutOrDefault());
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::cantFail(planRelayout(getAxes(src), getAxes(dst), bits, fill, target))
      .print(os);
  return text;
}

static std::string toText(const RelayoutPlan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  plan.print(os);
  return text;
}

static void describe(llvm::ArrayRef<PlanLoop> loops,
                     std::vector<int64_t> &out) {
  out.push_back(loops.size());
  for (const PlanLoop &loop : loops)
    llvm::append_values(out, loop.count, loop.srcStride, loop.dstStride,
                        loop.step, static_cast<int64_t>(loop.role),
                        loop.isParallel, loop.isEnds);
}

/// All fields of a kernel.
static void describe(const NestKernel &kernel, std::vector<int64_t> &out) {
  auto number = [](auto choice) { return static_cast<int64_t>(choice); };
  out.push_back(kernel.index());
  if (const auto *copy = std::get_if<CopyKernel>(&kernel))
    llvm::append_values(out, number(copy->stores), copy->padding,
                        copy->prefetchBytes);
  if (const auto *transpose = std::get_if<TransposeKernel>(&kernel))
    llvm::append_values(out, number(transpose->stores), number(transpose->rows),
                        transpose->prefetch, transpose->prefetchesToL2);
  if (const auto *interleave = std::get_if<InterleaveKernel>(&kernel))
    llvm::append_values(out, number(interleave->stores), interleave->padding,
                        interleave->keepsPadding, interleave->prefetch);
  if (const auto *deinterleave = std::get_if<DeinterleaveKernel>(&kernel))
    out.push_back(number(deinterleave->stores));
}

/// All fields of a plan but the offset in the source of fills, which have no
/// source.
static std::vector<int64_t> describe(const RelayoutPlan &plan) {
  std::vector<int64_t> out = {plan.elementBits, plan.srcElements,
                              plan.dstElements, plan.isLineAligned};
  for (const NestSchedule &nest : plan.nests) {
    llvm::append_values(out, nest.isFill() ? 0 : nest.srcOffset, nest.dstOffset,
                        nest.runElements, static_cast<int64_t>(nest.numFused),
                        nest.shiftsRows, nest.signedBits, nest.mask());
    for (llvm::ArrayRef<PlanLoop> loops :
         {llvm::ArrayRef(nest.within), llvm::ArrayRef(nest.rows),
          llvm::ArrayRef(nest.columns), llvm::ArrayRef<PlanLoop>(nest.loops)})
      describe(loops, out);
    for (const PackedBytes &packed : nest.packedBytes) {
      out.push_back(packed.dstOffset);
      for (const BytePart &part : packed.parts)
        llvm::append_values(out, part.srcOffset, part.shift, part.mask);
    }
    describe(nest.kernel, out);
  }
  return out;
}

/// Calls `visit` with the offsets of every step of `loops` around a nest.
template <typename Visit>
static void walk(const NestSchedule &nest, llvm::ArrayRef<PlanLoop> loops,
                 Visit visit) {
  std::vector<std::pair<int64_t, int64_t>> offsets = {
      {nest.srcOffset, nest.dstOffset}};
  for (const PlanLoop &loop : loops) {
    std::vector<std::pair<int64_t, int64_t>> next;
    for (auto [src, dst] : offsets)
      for (int64_t i = 0; i < loop.count; ++i)
        next.push_back({src + i * loop.srcStride, dst + i * loop.dstStride});
    offsets = std::move(next);
  }
  for (auto [src, dst] : offsets)
    visit(src, dst);
}

/// Nests that share loops with the one before have the same loops.
static void checkSharedLoops(const RelayoutPlan &plan) {
  for (size_t i = 0; i < plan.nests.size(); ++i) {
    const NestSchedule &nest = plan.nests[i];
    ASSERT_TRUE(i > 0 || nest.numFused == 0);
    for (size_t k = 0; k < nest.numFused; ++k) {
      const PlanLoop &a = plan.nests[i - 1].loops[k], &c = nest.loops[k];
      EXPECT_EQ(a.count, c.count);
      EXPECT_EQ(a.dstStride, c.dstStride);
      EXPECT_EQ(a.isParallel, c.isParallel);
      EXPECT_EQ(a.step, 1);
      EXPECT_EQ(c.step, 1);
      EXPECT_EQ(a.srcStride, c.srcStride);
    }
  }
}

/// Elements from one column of a interleave to the next.
static int64_t getColumnStride(const NestSchedule &nest) {
  for (const PlanLoop &loop : nest.loops)
    if (loop.role == PlanLoop::Role::SrcContiguous)
      return loop.dstStride;
  return nest.columns.front().dstStride;
}

/// A plan is legal, and its text is all of it.
static void checkText(const RelayoutPlan &plan) {
  llvm::Error error = plan.verify();
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  std::string text = toText(plan);
  auto parsed = RelayoutPlan::parse(text);
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError()) << "\n"
                            << text;
  EXPECT_EQ(toText(*parsed), text);
  // Trials end with what was taken.
  for (const NestTrials &nest : plan.trials)
    EXPECT_TRUE(!nest.trials.empty() && nest.trials.back().isTaken) << text;
  EXPECT_EQ(describe(*parsed), describe(plan)) << text;
}

/// What each position of the destination gets: a position of the source,
/// kFilled, or nothing. A position written twice fails the test.
static constexpr int64_t kNothing = -1, kFilled = -2;

static std::vector<int64_t> simulate(const RelayoutPlan &plan) {
  std::vector<int64_t> from(plan.dstElements, kNothing);
  auto write = [&](int64_t position, int64_t value) {
    EXPECT_EQ(from.at(position), kNothing) << "written twice";
    from.at(position) = value;
  };
  // Positions that are said to be padding.
  std::vector<int64_t> kept;
  for (const NestSchedule &nest : plan.nests) {
    llvm::SmallVector<PlanLoop, 8> loops(nest.loops.begin(), nest.loops.end());
    loops.append(nest.rows.begin(), nest.rows.end());
    loops.append(nest.columns.begin(), nest.columns.end());
    loops.append(nest.within.begin(), nest.within.end());
    bool isFill = nest.is<FillKernel>();
    walk(nest, loops, [&](int64_t src, int64_t dst) {
      for (int64_t i = 0; i < (nest.within.empty() ? nest.runElements : 1); ++i)
        write(dst + i, isFill ? kFilled : src + i);
    });
    // Padding is behind the run that a block writes, or behind each column.
    int64_t run = nest.runElements;
    for (const PlanLoop &loop : nest.rows)
      run *= loop.count;
    llvm::SmallVector<PlanLoop, 8> around(nest.loops.begin(), nest.loops.end());
    if (nest.is<InterleaveKernel>())
      around.append(nest.columns.begin(), nest.columns.end());
    else
      for (const PlanLoop &loop : nest.columns)
        run *= loop.count;
    walk(nest, around, [&](int64_t, int64_t dst) {
      for (int64_t i = 0; i < nest.padding(); ++i)
        write(dst + run + i, kFilled);
      const auto *interleave = nest.get<InterleaveKernel>();
      if (interleave && interleave->keepsPadding)
        for (int64_t i = run; i < getColumnStride(nest); ++i)
          kept.push_back(dst + i);
    });
  }
  for (int64_t position : kept)
    EXPECT_EQ(from.at(position), kNothing) << "no padding";
  checkSharedLoops(plan);
  return from;
}

/// The same from the axis lists.
static std::vector<int64_t> expected(const AxisList &src, const AxisList &dst,
                                     bool fillPadding) {
  std::vector<int64_t> from(dst.numAllocated(),
                            fillPadding ? kFilled : kNothing);
  for (int64_t position = 0; position < dst.numAllocated(); ++position)
    if (auto index = dst.logicalIndex(position))
      from[position] = src.linearIndex(*index);
  return from;
}

TEST(RelayoutPlanTest, movesEveryElementOnce) {
  RandomShapes random(testSeed());
  int planned = 0;
  for (int i = 0, count = testCount(8000); i < count; ++i) {
    auto sizes = random.dimensions(1200);
    Layout layouts[] = {random.layout(sizes), random.layout(sizes)};
    auto src = AxisList::get(sizes, layouts[0]);
    auto dst = AxisList::get(sizes, layouts[1]);
    if (!src || !dst) {
      llvm::consumeError(src.takeError());
      llvm::consumeError(dst.takeError());
      continue;
    }
    RelayoutTarget target;
    target.vectorBytes = random.oneOf({16, 32, 64});
    target.hasNontemporalStores = random.oneIn(2);
    target.nontemporalBytes = 64;
    target.threads = random.number(1, 3);
    target.parallelBytes = 256;
    const char *cpus[] = {"znver4", "znver5", ""};
    target.costs = ProcessorCosts::get(cpus[random.number(0, 2)]);
    int64_t bits = random.oneOf({8, 16, 32, 64, 128});
    bool fill = random.oneIn(2);
    // Tiles of tiles can pad a few elements to gigabytes.
    if (dst->numAllocated() > 10000000)
      continue;
    auto plan = planRelayout(*src, *dst, bits, fill, target);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    ++planned;
    SCOPED_TRACE(
        Shape::array(PrimitiveType::F32, sizes, layouts[0]).toString() +
        " to " + layouts[1].toString() +
        ", TESSERA_SEED=" + std::to_string(testSeed()));
    checkText(*plan);
    ASSERT_EQ(simulate(*plan), expected(*src, *dst, fill));
  }
  // The generator goes far beyond what occurs; most of it is planned still.
  EXPECT_GT(planned, testCount(8000) / 3);
}

/// Random slices that select `count` indices, and a size that has room for
/// them.
static Slice makeSlice(RandomShapes &random, int64_t count, int64_t &size) {
  Slice slice;
  slice.count = count;
  slice.step = random.oneIn(3) ? random.oneOf({2, 3, 4, 8}) : 1;
  slice.begin = random.number(0, 9);
  size = slice.begin + (count > 0 ? (count - 1) * slice.step + 1 : 0) +
         random.number(0, 3);
  return slice;
}

TEST(RelayoutPlanTest, movesBoxesOfArrays) {
  RandomShapes random(testSeed());
  int planned = 0;
  for (int i = 0, count = testCount(6000); i < count; ++i) {
    auto counts = random.dimensions(300);
    Box boxes[2];
    AxisList lists[2];
    bool isValid = true;
    for (int side : {0, 1}) {
      std::vector<int64_t> sizes(counts.begin(), counts.end());
      for (int64_t &size : sizes)
        boxes[side].push_back(makeSlice(random, size, size));
      auto list = AxisList::get(sizes, random.layout(sizes));
      isValid &= bool(list);
      if (list)
        lists[side] = std::move(*list);
      else
        llvm::consumeError(list.takeError());
    }
    if (!isValid || lists[1].numAllocated() > 100000)
      continue;
    RelayoutTarget target;
    target.vectorBytes = random.oneOf({16, 32, 64});
    target.threads = random.number(1, 3);
    target.parallelBytes = 256;
    auto plan = planRelayout({lists[0], boxes[0]}, {lists[1], boxes[1]}, 32,
                             /*fillPadding=*/false, target);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    ++planned;
    std::vector<int64_t> from(lists[1].numAllocated(), kNothing);
    std::vector<int64_t> index(counts.size(), 0);
    int64_t total = 1;
    for (int64_t size : counts)
      total *= size;
    for (int64_t k = 0; k < total; ++k) {
      std::vector<int64_t> src, dst;
      for (size_t d = counts.size(), rest = k; d-- > 0; rest /= counts[d]) {
        int64_t at = static_cast<int64_t>(rest) % counts[d];
        src.insert(src.begin(), boxes[0][d].begin + at * boxes[0][d].step);
        dst.insert(dst.begin(), boxes[1][d].begin + at * boxes[1][d].step);
      }
      from[lists[1].linearIndex(dst)] = lists[0].linearIndex(src);
    }
    SCOPED_TRACE("case " + std::to_string(i) +
                 ", TESSERA_SEED=" + std::to_string(testSeed()));
    ASSERT_EQ(simulate(*plan), from);
  }
  EXPECT_GT(planned, testCount(6000) / 4);
}

/// What each bit of the destination gets, as above.
static std::vector<int64_t> simulateBits(const RelayoutPlan &plan) {
  std::vector<int64_t> from(8 * plan.dstElements, kNothing);
  auto setBit = [&](int64_t byte, int bit, int64_t value) {
    EXPECT_EQ(from.at(8 * byte + bit), kNothing) << "written twice";
    from.at(8 * byte + bit) = value;
  };
  for (const NestSchedule &nest : plan.nests) {
    bool isFill = nest.isFill();
    llvm::SmallVector<PackedBytes, 2> packedBytes(nest.packedBytes);
    if (packedBytes.empty())
      packedBytes.push_back({0, {BytePart{}}});
    llvm::SmallVector<PlanLoop, 8> loops(nest.loops.begin(), nest.loops.end());
    loops.append(nest.rows.begin(), nest.rows.end());
    loops.append(nest.columns.begin(), nest.columns.end());
    loops.append(nest.within.begin(), nest.within.end());
    int64_t size = nest.within.empty() ? nest.runElements : 1;
    walk(nest, loops, [&](int64_t src, int64_t dst) {
      for (const PackedBytes &bytes : packedBytes)
        for (const BytePart &part : bytes.parts)
          for (int64_t i = 0; i < size; ++i)
            for (int bit = 0; bit < 8; ++bit)
              if (part.mask & nest.mask() & (1 << bit))
                setBit(dst + bytes.dstOffset + i, bit,
                       isFill
                           ? kFilled
                           : 8 * (src + part.srcOffset + i) + bit - part.shift);
    });
  }
  return from;
}

/// The same from the axis lists.
static std::vector<int64_t> expectedBits(const AxisList &src,
                                         const AxisList &dst, ElementBits bits,
                                         bool fillPadding) {
  std::vector<int64_t> positions = expected(src, dst, fillPadding);
  std::vector<int64_t> from(llvm::alignTo(positions.size() * bits.dst, 8),
                            kNothing);
  int64_t width = std::min(bits.src, bits.dst);
  for (size_t position = 0; position < positions.size(); ++position)
    for (int64_t bit = 0; bit < bits.dst; ++bit) {
      int64_t &at = from[position * bits.dst + bit];
      if (positions[position] < 0)
        at = positions[position];
      else if (bit < width)
        at = positions[position] * bits.src + bit;
    }
  return from;
}

TEST(RelayoutPlanTest, movesEveryBitOnce) {
  RandomShapes random(testSeed());
  int planned = 0;
  for (int i = 0, count = testCount(4000); i < count; ++i) {
    auto sizes = random.dimensions(1200);
    auto src = AxisList::get(sizes, random.layout(sizes));
    auto dst = AxisList::get(sizes, random.layout(sizes));
    if (llvm::Error error =
            llvm::joinErrors(src.takeError(), dst.takeError())) {
      llvm::consumeError(std::move(error));
      continue;
    }
    int64_t width = random.oneOf({1, 2, 4, 4, 4});
    ElementBits bits = {random.oneIn(4) ? 8 : width,
                        random.oneIn(4) ? 8 : width, random.oneIn(2)};
    RelayoutTarget target;
    target.vectorBytes = random.oneOf({16, 32, 64});
    bool fill = random.oneIn(2);
    auto plan = planRelayout(*src, *dst, bits, fill, target);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    ++planned;
    if (bits.src == 8 && bits.dst == 8)
      continue;
    SCOPED_TRACE("case " + std::to_string(i) +
                 ", TESSERA_SEED=" + std::to_string(testSeed()));
    checkSharedLoops(*plan);
    checkText(*plan);
    ASSERT_EQ(simulateBits(*plan), expectedBits(*src, *dst, bits, fill));
  }
  EXPECT_GT(planned, testCount(4000) / 4);
}

// Boxes that begin within a tile on one side alone: two parts of each tile.
TEST(RelayoutPlanTest, splitsBoxesAtTheTilesOfBothSides) {
  Box box = {{3, 16, 1}};
  auto plan =
      llvm::cantFail(planRelayout({getAxes("f32[32]{0:T(8)}"), box},
                                  getAxes("f32[16]{0:T(8)}"), 32, false, {}));
  std::string text;
  llvm::raw_string_ostream os(text);
  plan.print(os);
  EXPECT_THAT(text, HasSubstr("nest src 3 dst 0"));
}

// Splits of both sides, and those of a step that does not divide a tile, repeat
// after the smallest common multiple.
TEST(RelayoutPlanTest, splitsWhereTilesDoNotDivideOneAnother) {
  // In one dimension tiles follow one another.
  EXPECT_EQ(printPlan("f32[12]{0:T(2)}", "f32[12]{0:T(3)}"),
            "relayout of 32-bit elements, 12 to 12\n"
            "nest src 0 dst 0\n"
            "  copy 1x1 runs of 12\n");
  Box box = {{0, 40, 3}, {0, 32, 1}};
  auto plan =
      llvm::cantFail(planRelayout({getAxes("f32[120,32]{1,0:T(8,16)}"), box},
                                  getAxes("f32[40,32]{1,0}"), 32, false, {}));
  std::string text;
  llvm::raw_string_ostream os(text);
  plan.print(os);
  EXPECT_EQ(text, "relayout of 32-bit elements, 3840 to 1280\n"
                  "nest src 0 dst 0\n"
                  "  for 5  src 768 dst 256\n"
                  "    for 3  src 48 dst 32\n"
                  "      for 2  src 128 dst 16\n"
                  "        copy 1x1 runs of 16\n"
                  "      and src 272 dst 96\n"
                  "        copy 1x1 runs of 16\n"
                  "  and src 544 dst 192\n"
                  "    for 2  src 48 dst 32\n"
                  "      for 2  src 128 dst 16\n"
                  "        copy 1x1 runs of 16\n");
}

/// A machine whose stores to buffers of some megabytes are nontemporal.
static RelayoutTarget nontemporal(int64_t vectorBytes = 32,
                                  llvm::StringRef cpu = "znver5") {
  RelayoutTarget target;
  target.costs = ProcessorCosts::get(cpu);
  target.vectorBytes = vectorBytes;
  target.hasNontemporalStores = true;
  return target;
}

TEST(RelayoutPlanTest, transposesInCache) {
  EXPECT_EQ(printPlan("f32[256,256]{1,0}", "f32[256,256]{0,1}", nontemporal()),
            "relayout of 32-bit elements, 65536 to 65536\n"
            "nest src 0 dst 0\n"
            "  for 256 by 32  src 1 dst 256  columns\n"
            "    for 256 by 64  src 256 dst 1  rows\n"
            "      transpose 64x32 runs of 1\n");
  EXPECT_THAT(
      printPlan("f32[256,256]{1,0}", "f32[256,256]{0,1}", nontemporal(64)),
      HasSubstr("transpose 128x32 runs of 1\n"));
  EXPECT_THAT(
      printPlan("s8[512,512]{1,0}", "s8[512,512]{0,1}", nontemporal(64)),
      HasSubstr("transpose 512x64 runs of 1\n"));
}

// Past the caches, too: all rows of a few columns are moved before the columns
// beside them, where columns are a multiple of a page apart.
TEST(RelayoutPlanTest, writesFewColumnsOfOneSetPastTheCaches) {
  EXPECT_THAT(printPlan("f32[8,33,100,150]{3,2,1,0}",
                        "f32[8,33,100,150]{0,2,1,3:T(8,128)}", nontemporal(64)),
              HasSubstr("  for 150 by 8  src 1 dst 439296  columns\n"
                        "    for 33  src 15000 dst 13312\n"
                        "      for 100  src 150 dst 128\n"
                        "        transpose 8x8 runs of 1\n"));
  // In other sets, rows are read in long parts.
  EXPECT_THAT(printPlan("f32[8,33,100,150]{3,2,1,0}",
                        "f32[8,33,100,150]{0,2,1,3:PD(40,33,100,150)}",
                        nontemporal(64)),
              HasSubstr("transpose 8x150 runs of 1"));
  // Nor are they divided where lines are not known.
  RelayoutTarget anywhere = nontemporal(64);
  anywhere.isLineAligned = false;
  EXPECT_THAT(printPlan("f32[8,33,100,150]{3,2,1,0}",
                        "f32[8,33,100,150]{0,2,1,3:T(8,128)}", anywhere),
              HasSubstr("transpose 8x150 runs of 1"));
}

// Strides whose bytes fit, and those whose bytes do not.
TEST(RelayoutPlanTest, plansWhateverStrideFits) {
  AxisList rows = getAxes("f32[2,40]{1,0}");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  auto planStride = [&](int64_t stride, const char *dst) {
    return planRelayout(PlanSide::getStrided(rows, {stride, 1}), getAxes(dst),
                        32, false, nontemporal(64));
  };
  for (const char *dst : {"f32[2,40]{0,1}", "f32[2,40]{1,0}"}) {
    auto plan = planStride((kMost - 40) / 2, dst);
    ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
    EXPECT_THAT(toText(*plan), HasSubstr("src 288230376151711723 "));
    for (int64_t stride : {kMost / 2, kMost, int64_t(1) << 62}) {
      auto refused = planStride(stride, dst);
      ASSERT_FALSE(bool(refused));
      EXPECT_THAT(llvm::toString(refused.takeError()),
                  HasSubstr("unsupported relayout plan: expected strides that "
                            "reach at most 576460752303423487 elements, found "
                            "strides of " +
                            std::to_string(stride) + ", 1"));
    }
  }
}

// Rows of which a block has less than a load are not copied side by side.
TEST(RelayoutPlanTest, gathersNoShortRows) {
  RelayoutTarget cold = nontemporal(64);
  cold.nontemporalBytes = 64 << 10;
  EXPECT_THAT(printPlan("bf16[56,1024,3]{2,1,0}",
                        "bf16[56,1024,3]{0,1,2:T(16,128)(2,1)}", cold),
              AllOf(HasSubstr("transpose 64x3"), Not(HasSubstr("gathered"))));
}

// Runs of a few bytes in the order in which fewer lines evict one another.
TEST(RelayoutPlanTest, gathersInEitherOrder) {
  EXPECT_THAT(printPlan("bf16[40,27,32]{2,1,0:T(8,128)(2,1)}",
                        "bf16[40,27,32]{1,0,2}", nontemporal(64)),
              HasSubstr("    for 32  src 2 dst 1080\n"
                        "      gather 1x1 runs of 1\n"));
  EXPECT_THAT(printPlan("bf16[40,27,32]{1,0,2}",
                        "bf16[40,27,32]{2,1,0:T(8,128)(2,1)}", nontemporal(64)),
              HasSubstr("    for 32  src 1080 dst 2\n"
                        "      gather 1x1 runs of 1\n"));
}

// Columns a multiple of 4 KiB apart are in one set of the first-level cache,
// which has room for few of them.
TEST(RelayoutPlanTest, transposesFewColumnsOfOneSet) {
  EXPECT_THAT(
      printPlan("f32[2048,96]{1,0}", "f32[2048,96]{0,1}", nontemporal(64)),
      HasSubstr("transpose 128x8 runs of 1\n"));
  EXPECT_THAT(
      printPlan("bf16[2048,128]{1,0}", "bf16[2048,128]{0,1}", nontemporal(64)),
      HasSubstr("transpose 256x8 runs of 1\n"));
  EXPECT_THAT(
      printPlan("s8[4096,128]{1,0}", "s8[4096,128]{0,1}", nontemporal(64)),
      HasSubstr("x16 runs of 1\n"));
}

TEST(RelayoutPlanTest, gathersBytesInCacheWhereTheyConflict) {
  EXPECT_THAT(
      printPlan("s8[128,1024]{1,0}", "s8[128,1024]{0,1}", nontemporal(64)),
      HasSubstr("transpose 128x64 runs of 1, rows gathered\n"));
  EXPECT_THAT(
      printPlan("s8[128,512]{1,0}", "s8[128,512]{0,1}", nontemporal(64)),
      HasSubstr("transpose 128x64 runs of 1\n"));
  EXPECT_THAT(
      printPlan("bf16[128,512]{1,0}", "bf16[128,512]{0,1}", nontemporal(64)),
      HasSubstr("transpose 128x64 runs of 1\n"));
}

TEST(RelayoutPlanTest, transposesInSourceOrder) {
  EXPECT_EQ(
      printPlan("f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}", nontemporal()),
      "relayout of 32-bit elements, 16777216 to 16777216\n"
      "nest src 0 dst 0\n"
      "  for 4096 by 256  src 4096 dst 1  rows\n"
      "    for 4096 by 16  src 1 dst 4096  columns\n"
      "      transpose 256x16 runs of 1, staged and nontemporal, prefetch 2 "
      "ahead\n");
  // Registers as wide as a line need no buffer.
  EXPECT_THAT(
      printPlan("f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}", nontemporal(64)),
      HasSubstr("transpose 48x16 runs of 1, nontemporal\n"));
  // Columns at such a pitch get longer runs.
  EXPECT_THAT(
      printPlan("f32[8192,4096]{1,0}", "f32[8192,4096]{0,1}", nontemporal(64)),
      HasSubstr("transpose 48x16 runs of 1, nontemporal\n"));
  EXPECT_THAT(
      printPlan("f32[8192,4112]{1,0}", "f32[8192,4112]{0,1}", nontemporal(64)),
      HasSubstr("transpose 64x16 runs of 1, nontemporal, prefetch 2 ahead\n"));
  EXPECT_THAT(
      printPlan("f32[4112,8192]{1,0}", "f32[4112,8192]{0,1}", nontemporal(64)),
      HasSubstr("transpose 32x16 runs of 1, nontemporal\n"));
  EXPECT_THAT(
      printPlan("f64[4096,4096]{1,0}", "f64[4096,4096]{0,1}", nontemporal(64)),
      HasSubstr("transpose 32x8 runs of 1, nontemporal\n"));
  // Rows a page apart have no room in the cache to be prefetched.
  EXPECT_THAT(
      printPlan("f32[4144,4112]{1,0}", "f32[4144,4112]{0,1}", nontemporal(64)),
      HasSubstr("transpose 32x16 runs of 1, nontemporal, prefetch 2 ahead\n"));
  // Longer runs where columns are such a pitch apart, of short rows, too.
  EXPECT_THAT(
      printPlan("f32[4096,4112]{1,0}", "f32[4096,4112]{0,1}", nontemporal(64)),
      HasSubstr("transpose 64x16 runs of 1, nontemporal, prefetch 2 ahead\n"));
  EXPECT_THAT(
      printPlan("f32[8192,1000]{1,0}", "f32[8192,1000]{0,1}", nontemporal(64)),
      HasSubstr("transpose 64x16 runs of 1, nontemporal, prefetch 2 ahead\n"));
  EXPECT_THAT(
      printPlan("f32[4099,3001]{1,0}", "f32[4099,3001]{0,1}", nontemporal(32)),
      HasSubstr("transpose 256x16 runs of 1, staged and nontemporal"));
  // Narrow elements take several loads for a line, which has to stay; once
  // gathered, more rows make longer runs.
  EXPECT_THAT(printPlan("s8[8192,8192]{1,0:PD(8192,16384)}",
                        "s8[8192,8192]{0,1}", nontemporal(64)),
              HasSubstr("transpose 128x64 runs of 1, nontemporal, rows "
                        "gathered\n"));
  EXPECT_THAT(printPlan("s8[8128,8128]{1,0:PD(8128,16320)}",
                        "s8[8128,8128]{0,1}", nontemporal(64)),
              HasSubstr("transpose 64x64 runs of 1, nontemporal, prefetch 2 "
                        "ahead\n"));
}

// A loop that goes on behind both the rows and the columns of a block is one of
// columns where these are short.
TEST(RelayoutPlanTest, givesLoopsToShortColumns) {
  EXPECT_EQ(printPlan("bf16[52,16,64,2]{3,2,1,0}", "bf16[52,16,64,2]{1,2,0,3}",
                      nontemporal(64)),
            "relayout of 16-bit elements, 106496 to 106496\n"
            "nest src 0 dst 0\n"
            "  for 52  src 2048 dst 1024\n"
            "    transpose 16x128 runs of 1\n"
            "      rows 16 by 1  src 128 dst 1  rows\n"
            "      columns 2 by 1  src 1 dst 53248  columns\n"
            "      columns 64 by 1  src 2 dst 16  columns\n");
  EXPECT_THAT(printPlan("s8[16,1024,4096]{0,1,2}", "s8[16,1024,4096]{2,1,0}",
                        nontemporal(64)),
              HasSubstr("transpose 512x64 runs of 1, nontemporal, panels"));
}

// Rows that lie one behind another are read in order: panels of them are better
// than single lines to each column, unless these take few shuffles.
TEST(RelayoutPlanTest, packsPanelsOfShortRows) {
  EXPECT_THAT(printPlan("f32[400,1040,20]{2,1,0}", "f32[400,1040,20]{1,2,0}",
                        nontemporal(64)),
              HasSubstr("transpose 64x16 runs of 1, nontemporal, panels"));
  EXPECT_THAT(printPlan("f32[1600,1040,5]{2,1,0}", "f32[1600,1040,5]{1,2,0}",
                        nontemporal(64)),
              HasSubstr("deinterleave 64x5 runs of 1, nontemporal"));
  // Ragged columns are not written so.
  EXPECT_THAT(printPlan("f32[3000,1030,5]{2,1,0}", "f32[3000,1030,5]{1,2,0}",
                        nontemporal(64)),
              testing::Not(HasSubstr("panels")));
}

// Lines of neighbours in a tile go to one place, whichever comes first, from
// panels of the rows of a tile; and runs are long where rows come from one
// place.
TEST(RelayoutPlanTest, transposesNarrowTiles) {
  EXPECT_EQ(printPlan("bf16[4096,8192]{1,0}", "bf16[4096,8192]{0,1:T(8,128)}",
                      nontemporal(64)),
            "relayout of 16-bit elements, 33554432 to 33554432\n"
            "nest src 0 dst 0\n"
            "  for 32  src 1048576 dst 1024\n"
            "    for 1024 by 4  src 8 dst 32768  columns\n"
            "      transpose 128x32 runs of 1, nontemporal, panels packed, "
            "prefetch 1 ahead\n"
            "        rows 128 by 1  src 8192 dst 1  rows\n"
            "        columns 8 by 1  src 1 dst 128  columns\n");
  EXPECT_EQ(printPlan("bf16[4096,8192]{1,0:T(8,128)}", "bf16[4096,8192]{0,1}",
                      nontemporal(64)),
            "relayout of 16-bit elements, 33554432 to 33554432\n"
            "nest src 0 dst 0\n"
            "  for 64  src 1024 dst 524288\n"
            "    for 128 by 32  src 1 dst 4096  columns\n"
            "      for 512 by 8  src 65536 dst 8  rows\n"
            "        transpose 64x32 runs of 1, nontemporal\n"
            "          rows 8 by 1  src 128 dst 1  rows\n");
  EXPECT_THAT(printPlan("s8[4096,8320]{1,0:T(8,128)}", "s8[4096,8320]{0,1}",
                        nontemporal(64)),
              HasSubstr("transpose 256x64 runs of 1, nontemporal\n"));
  // The rows of a tile lie in one page: blocks have many of them.
  EXPECT_THAT(printPlan("f32[4000,3000]{1,0:T(8,128)}", "f32[4000,3000]{0,1}",
                        nontemporal(64, "znver4")),
              HasSubstr("  for 500 by 16  src 24576 dst 8  rows\n"
                        "    for 23  src 1024 dst 512000\n"
                        "      for 128 by 16  src 1 dst 4000  columns\n"
                        "        transpose 128x16 runs of 1, nontemporal"));
}

// A Zen 4 reads up to 16 rows side by side; where loops by destination read
// more, they follow the source.
TEST(RelayoutPlanTest, interleavesFewRowsSideBySide) {
  RelayoutTarget target = nontemporal(64, "znver4");
  const char *eightRows = "  for 1024  src 32768 dst 32768\n"
                          "    for 32  src 128 dst 1024\n"
                          "      for 4  src 8192 dst 256\n";
  EXPECT_THAT(printPlan("bf16[8192,4096]{1,0}",
                        "bf16[8192,4096]{1,0:T(8,128)(2,1)}", target),
              HasSubstr(eightRows));
  const char *manyRows = "  for 32  src 589824 dst 589824\n"
                         "    for 16  src 36864 dst 1536\n"
                         "      for 24  src 64 dst 24576\n";
  EXPECT_THAT(printPlan("f32[32,16,24,24,64]{4,3,2,1,0}",
                        "f32[32,16,24,24,64]{2,4,1,3,0}", target),
              HasSubstr(manyRows));
}

TEST(RelayoutPlanTest, packsPanelsOfRowsThatFollowOneAnother) {
  EXPECT_EQ(
      printPlan("s8[8192,8192]{1,0}", "s8[8192,8192]{0,1}", nontemporal(64)),
      "relayout of 8-bit elements, 67108864 to 67108864\n"
      "nest src 0 dst 0\n"
      "  for 8192 by 512  src 8192 dst 1  rows\n"
      "    for 8192 by 64  src 1 dst 8192  columns\n"
      "      transpose 512x64 runs of 1, nontemporal, panels packed, "
      "prefetch 2 ahead\n");
  // Small panels stay in the first-level cache.
  EXPECT_THAT(
      printPlan("bf16[65536,96]{1,0}", "bf16[65536,96]{0,1}", nontemporal(64)),
      HasSubstr("transpose 64x32 runs of 1, nontemporal, panels packed, "
                "prefetch 86 ahead\n"));
  // A block that is one run of both sides needs none: it has few pages.
  EXPECT_THAT(
      printPlan("f32[7276,167,12]{2,1,0}", "f32[7276,167,12]{1,2,0}",
                nontemporal(64, "znver4")),
      HasSubstr("transpose 167x12 runs of 1, staged and nontemporal\n"));
  // Bytes wait for what nothing prefetches where they are loaded by quarters of
  // a line, unless rows are copied side by side first.
  RelayoutTarget waiting = nontemporal(64, "znver4");
  auto printShortRows = [&] {
    return printPlan("s8[490,1088,60]{2,1,0}", "s8[490,1088,60]{1,2,0}",
                     waiting);
  };
  EXPECT_THAT(printShortRows(), HasSubstr("nontemporal, rows gathered\n"));
  waiting.costs.latencyPs = 0;
  EXPECT_THAT(printShortRows(),
              HasSubstr("transpose 64x60 runs of 1, nontemporal\n"));
  // Large ones are split.
  EXPECT_THAT(
      printPlan("s8[1024,65536]{1,0}", "s8[1024,65536]{0,1}", nontemporal(64)),
      HasSubstr("  for 4  src 16384 dst 16777216\n"
                "    for 1024 by 512  src 65536 dst 1  rows\n"
                "      for 16384 by 64  src 1 dst 1024  columns\n"));
  // Of wider elements, short rows alone.
  EXPECT_THAT(
      printPlan("f32[262144,64]{1,0}", "f32[262144,64]{0,1}", nontemporal(64)),
      HasSubstr("transpose 32x16 runs of 1, nontemporal, panels packed, "
                "prefetch 64 ahead\n"));
  EXPECT_THAT(
      printPlan("f64[262144,32]{1,0}", "f64[262144,32]{0,1}", nontemporal(64)),
      HasSubstr("transpose 16x8 runs of 1, nontemporal, panels packed, "));
  RelayoutTarget shared = nontemporal(64);
  shared.threads = 2;
  EXPECT_THAT(printPlan("f32[262144,64]{1,0}", "f32[262144,64]{0,1}", shared),
              HasSubstr("transpose 32x16 runs of 1, nontemporal, panels "));
  EXPECT_THAT(
      printPlan("f32[32768,640]{1,0}", "f32[32768,640]{0,1}", nontemporal(64)),
      testing::Not(HasSubstr("panels")));
  // Columns of several loops, of which one goes on behind a block.
  RelayoutTarget panels = nontemporal(64);
  panels.tuning.kind = "panels";
  EXPECT_THAT(
      printPlan("f32[24,300000]{0,1}", "f32[24,300000]{1,0:T(8,128)}", panels),
      HasSubstr("    for 128 by 32  src 24 dst 1  rows\n"
                "      for 3 by 2  src 8 dst 2400256  columns\n"
                "        transpose 32x16 runs of 1, nontemporal, panels "
                "packed, prefetch 171 ahead\n"
                "          columns 8 by 1  src 1 dst 128  columns\n"));
  // Two-byte elements without conflicts go straight to the destination.
  for (llvm::StringRef dims : {"bf16[6016,4032]", "bf16[8448,4032]"})
    EXPECT_THAT(printPlan((dims + "{1,0}").str(), (dims + "{0,1}").str(),
                          nontemporal(64)),
                testing::Not(HasSubstr("panels")))
        << dims.str();
  // Columns that begin anywhere go through a buffer; but of two-byte elements,
  // long rows that stay in the cache are carried.
  for (llvm::StringRef dims :
       {"s8[7001,7003]", "bf16[8191,4096]", "bf16[128001,261]", "f32[99999,63]",
        "f64[99999,31]"})
    EXPECT_THAT(printPlan((dims + "{1,0}").str(), (dims + "{0,1}").str(),
                          nontemporal(64)),
                HasSubstr(", staged and nontemporal, panels packed"))
        << dims.str();
  // Threads share panels.
  RelayoutTarget target = nontemporal(64);
  target.threads = 2;
  EXPECT_THAT(printPlan("s8[8192,8192]{1,0}", "s8[8192,8192]{0,1}", target),
              HasSubstr("  for 8192 by 512  src 8192 dst 1  rows  parallel\n"));
}

TEST(RelayoutPlanTest, movesElementsWithinUnits) {
  // Columns of a tile share pages, so that blocks take four lines of each row.
  EXPECT_THAT(printPlan("bf16[2048,2048]{1,0:T(8,128)(2,1)}",
                        "bf16[2048,2048]{0,1:T(8,128)(2,1)}", nontemporal(64)),
              HasSubstr("transpose 8x32 runs of 4, nontemporal\n"));
  EXPECT_EQ(printPlan("bf16[256,256]{1,0:T(8,128)(2,1)}",
                      "bf16[256,256]{0,1:T(8,128)(2,1)}", nontemporal()),
            "relayout of 16-bit elements, 65536 to 65536\n"
            "nest src 0 dst 0\n"
            "  for 2  src 1024 dst 32768\n"
            "    for 16 by 4  src 16 dst 2048  columns\n"
            "      for 2  src 32768 dst 1024\n"
            "        transpose 64x16 runs of 4\n"
            "          within 2  src 1 dst 2\n"
            "          within 2  src 2 dst 1\n"
            "          rows 4 by 1  src 256 dst 4  rows\n"
            "          rows 16 by 1  src 2048 dst 16  rows\n"
            "          columns 4 by 1  src 4 dst 256  columns\n");
  // Runs have at most 16 bytes, those of the second tile of bytes.
  EXPECT_THAT(printPlan("s8[256,256]{1,0:T(8,128)(4,1)}",
                        "s8[256,256]{0,1:T(8,128)(4,1)}", nontemporal()),
              HasSubstr("runs of 16\n"));
  EXPECT_THAT(printPlan("f64[256,256]{1,0:T(8,128)(2,1)}",
                        "f64[256,256]{0,1:T(8,128)(2,1)}", nontemporal()),
              testing::Not(HasSubstr("within")));
}

TEST(RelayoutPlanTest, carriesWhatIsLeftOfLines) {
  EXPECT_EQ(
      printPlan("f32[4099,3001]{1,0}", "f32[4099,3001]{0,1}", nontemporal(64)),
      "relayout of 32-bit elements, 12301099 to 12301099\n"
      "nest src 0 dst 0\n"
      "  for 4099 by 32  src 3001 dst 1  rows\n"
      "    for 2992 by 16  src 1 dst 4099  columns\n"
      "      transpose 32x16 runs of 1, carried and nontemporal, prefetch 2 "
      "ahead\n"
      "nest src 2989 dst 12251911\n"
      "  for 4099 by 16  src 3001 dst 1  rows\n"
      "    transpose 16x12 runs of 1\n"
      "      columns 12 by 1  src 1 dst 4099  columns\n");
  // What waits stays in the second-level cache: columns in parts.
  EXPECT_THAT(
      printPlan("bf16[7001,6976]{1,0}", "bf16[7001,6976]{0,1}",
                nontemporal(64)),
      HasSubstr("  for 2  src 3488 dst 24419488\n"
                "    for 7001 by 32  src 6976 dst 1  rows\n"
                "      for 3488 by 32  src 1 dst 7001  columns\n"
                "        transpose 32x32 runs of 1, carried and nontemporal, "
                "prefetch 2 ahead\n"));
  // Or batches outside of panels.
  EXPECT_THAT(printPlan("f32[999,40,320]{2,1,0:PD(999,40,324)}",
                        "f32[999,40,320]{0,2,1:PD(1000,40,320)}",
                        nontemporal(64)),
              HasSubstr("  for 40  src 324 dst 320000\n"
                        "    for 999 by 32  src 12960 dst 1  rows\n"
                        "      for 320 by 16  src 1 dst 1000  columns\n"));
  // Few rows whose columns begin elsewhere in every batch go through a buffer.
  EXPECT_THAT(printPlan("f32[99,200,601]{2,1,0}", "f32[99,200,601]{1,2,0}",
                        nontemporal(64)),
              HasSubstr("transpose 200x16 runs of 1, staged and nontemporal, "
                        "prefetch 2 ahead\n"
                        "        rows 200 by 1"));
  // Threads get panels of their own.
  RelayoutTarget target = nontemporal(64);
  target.threads = 2;
  EXPECT_THAT(printPlan("f32[4099,3008]{1,0}", "f32[4099,3008]{0,1}", target),
              HasSubstr("  for 8  src 1540096 dst 512  parallel\n"
                        "    for 512 by 32  src 3008 dst 1  rows\n"
                        "      for 3008 by 16  src 1 dst 4099  columns\n"));
}

// The first row that is taken begins a line.
TEST(RelayoutPlanTest, shiftsRowsWhereDestinationsBeginAnywhere) {
  RelayoutTarget target = nontemporal(64);
  target.isLineAligned = false;
  EXPECT_EQ(printPlan("f32[4096,4112]{1,0}", "f32[4096,4112]{0,1}", target),
            "relayout of 32-bit elements, 16842752 to 16842752, to any "
            "position\n"
            "nest src 0 dst 0\n"
            "  for 4080 by 64  src 4112 dst 1  rows\n"
            "    for 4112 by 16  src 1 dst 4096  columns\n"
            "      transpose 64x16 runs of 1, nontemporal, rows shifted, "
            "prefetch 2 ahead\n"
            "nest src 0 dst 0\n"
            "  for 2  src 16776960 dst 4080  ends\n"
            "    for 4112 by 16  src 1 dst 4096  columns\n"
            "      transpose 16x16 runs of 1, prefetch 4 ahead\n"
            "        rows 16 by 1  src 4112 dst 1  rows\n");
  // Or each batch does.
  EXPECT_THAT(
      printPlan("f32[9,1001,1001]{2,1,0}", "f32[9,1001,1001]{1,2,0}",
                nontemporal(64)),
      HasSubstr("  for 9  src 1002001 dst 1002001\n"
                "    for 985 by 32  src 1001 dst 1  rows\n"
                "      for 992 by 16  src 1 dst 1001  columns\n"
                "        transpose 32x16 runs of 1, carried and nontemporal, "
                "rows shifted, prefetch 2 ahead\n"));
  // Runs too short to leave two lines, and rows of several loops, are not.
  for (auto [source, destination] :
       {std::pair("f32[500,70000]{1,0}", "f32[500,70000]{0,1}"),
        std::pair("f32[4096,4096]{1,0:T(8,128)}",
                  "f32[4096,4096]{0,1:T(8,128)}")})
    EXPECT_THAT(printPlan(source, destination, target),
                testing::Not(HasSubstr("shifted")));
  // Copies find lines themselves.
  EXPECT_THAT(
      printPlan("f32[4096,4096]{1,0}", "f32[4096,4096]{1,0:T(8,128)}", target),
      HasSubstr("carried and nontemporal"));
}

/// The versions of a relayout, as the alignment that each asks for and whether
/// it shifts rows.
static std::vector<std::pair<int64_t, bool>>
getVersions(llvm::StringRef source, llvm::StringRef destination,
            const RelayoutTarget &target) {
  AxisList src =
      llvm::cantFail(AxisList::get(llvm::cantFail(parseShape(source))));
  AxisList dst =
      llvm::cantFail(AxisList::get(llvm::cantFail(parseShape(destination))));
  int64_t bits = getBitWidth(llvm::cantFail(parseShape(source)).elementType());
  auto versions = llvm::cantFail(
      planVersions(src, dst, bits, /*fillPadding=*/false, target));
  auto shiftsRows = [](const NestSchedule &nest) { return nest.shiftsRows; };
  std::vector<std::pair<int64_t, bool>> result;
  result.reserve(versions.size());
  for (const RelayoutVersion &version : versions)
    result.emplace_back(version.plan.getAlignment(),
                        llvm::any_of(version.plan.nests, shiftsRows));
  return result;
}

TEST(RelayoutPlanTest, hasVersionsForEveryAlignment) {
  using testing::ElementsAre;
  using testing::Pair;
  // Lines, elements, bytes.
  EXPECT_THAT(getVersions("f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}",
                          nontemporal(64)),
              ElementsAre(Pair(64, false), Pair(4, true), Pair(1, false)));
  EXPECT_THAT(
      getVersions("s8[4096,4096]{1,0}", "s8[4096,4096]{0,1}", nontemporal(64)),
      ElementsAre(Pair(64, false), Pair(1, true)));
  // Runs of several elements.
  EXPECT_THAT(getVersions("f32[2048,2048,2]{2,1,0}", "f32[2048,2048,2]{2,0,1}",
                          nontemporal(64)),
              ElementsAre(Pair(64, false), Pair(8, true), Pair(1, false)));
  // No version for lines where none is a run's own, unless the other has no
  // nontemporal stores.
  EXPECT_THAT(getVersions("f32[4099,3001]{1,0}", "f32[4099,3001]{0,1}",
                          nontemporal(64)),
              ElementsAre(Pair(4, true), Pair(1, false)));
  EXPECT_THAT(getVersions("f32[165,79991]{1,0}", "f32[165,79991]{0,1}",
                          nontemporal(64)),
              ElementsAre(Pair(64, false), Pair(4, false), Pair(1, false)));
  // In the cache all are one.
  EXPECT_THAT(
      getVersions("f32[64,64]{1,0}", "f32[64,64]{0,1}", nontemporal(64)),
      ElementsAre(Pair(1, false)));
}

// No figure of a plan overflows, and none is looked for for long.
TEST(RelayoutPlanTest, plansWhateverHasASize) {
  for (llvm::StringRef dims :
       {"s8[256,18014398509481984]", "s8[300,18014398509481983]",
        "f32[1000,1125899906842623]", "bf16[999,112589990684262]",
        "f32[1125899906842623,1000]", "f64[7,31,2251799813685248]"})
    for (int64_t threads : {1, 7}) {
      RelayoutTarget target = nontemporal(64);
      target.threads = threads;
      std::string rows(llvm::count(dims, ',') == 1 ? "{1,0}" : "{2,1,0}");
      std::string columns(llvm::count(dims, ',') == 1 ? "{0,1}" : "{1,2,0}");
      EXPECT_THAT(printPlan(dims.str() + rows, dims.str() + columns, target),
                  HasSubstr("transpose"));
    }
}

TEST(RelayoutPlanTest, coalescesRunsThatContinueOneAnother) {
  llvm::StringRef tiled = "f32[4099,3001]{1,0:T(8,128)}";
  llvm::StringRef plain = "f32[4099,3001]{1,0}";
  EXPECT_THAT(
      printPlan(tiled, plain, nontemporal(64)),
      HasSubstr("    for 23  src 1024 dst 128\n"
                "      for 8  src 128 dst 3001\n"
                "        copy 1x1 runs of 128, carried and nontemporal, "
                "prefetch 8192 bytes "
                "ahead\n"));
  // Without masked loads they are coalesced in a buffer.
  EXPECT_THAT(printPlan(tiled, plain, nontemporal(32)),
              HasSubstr("copy 1x1 runs of 128, carried and nontemporal"));
  EXPECT_THAT(printPlan(tiled, plain, nontemporal(16)),
              HasSubstr("copy 23x1 runs of 128, staged and nontemporal"));
  EXPECT_THAT(printPlan("bf16[4099,3001]{1,0:T(8,128)}", "bf16[4099,3001]{1,0}",
                        nontemporal(32)),
              HasSubstr("copy 23x1 runs of 128, staged and nontemporal"));
  EXPECT_THAT(printPlan("c128[4099,3001]{1,0:T(8,128)}", "c128[4099,3001]{1,0}",
                        nontemporal(32)),
              Not(HasSubstr("carried")));
  // Runs of other lengths begin elsewhere each time; each ends a line at least.
  EXPECT_THAT(printPlan("f32[4099,3001]{1,0:T(8,140)}", plain, nontemporal(64)),
              HasSubstr("copy 1x1 runs of 140, carried and nontemporal"));
  EXPECT_THAT(printPlan("f32[4099,3001]{1,0:T(8,17)}", plain, nontemporal(64)),
              HasSubstr("copy 1x1 runs of 17, carried and nontemporal"));
  EXPECT_THAT(printPlan("f32[4099,3001]{1,0:T(8,15)}", plain, nontemporal(64)),
              Not(HasSubstr("carried")));
}

TEST(RelayoutPlanTest, stagesDenseRuns) {
  EXPECT_EQ(printPlan("f32[96,48,56,56]{3,2,1,0}", "f32[96,48,56,56]{1,3,2,0}",
                      nontemporal()),
            "relayout of 32-bit elements, 14450688 to 14450688\n"
            "nest src 0 dst 0\n"
            "  for 96  src 150528 dst 150528\n"
            "    for 3136 by 16  src 1 dst 48  columns\n"
            "      transpose 48x16 runs of 1, staged and nontemporal, "
            "prefetch 8 ahead\n"
            "        rows 48 by 1  src 3136 dst 1  rows\n");
  // Rows that are too many to be interleaved.
  EXPECT_THAT(printPlan("f32[500,27,8000]{2,1,0}", "f32[500,27,8000]{1,2,0}",
                        nontemporal(32)),
              HasSubstr("transpose 27x16 runs of 1, staged and nontemporal"));
  EXPECT_THAT(printPlan("f32[500,7,8000]{2,1,0}", "f32[500,7,8000]{1,2,0}",
                        nontemporal(32)),
              HasSubstr("interleave 7x64 runs of 1, nontemporal"));
  // Of columns few lines wait at once, where registers do not fill them.
  for (auto [columns, isNontemporal] :
       {std::pair("6", true), {"7", false}, {"8", false}, {"12", false}}) {
    std::string dims = std::string("f32[400000,") + columns + "]";
    std::string plan =
        printPlan(dims + "{1,0}", dims + "{0,1}", nontemporal(32));
    bool isFound = llvm::StringRef(plan).contains("deinterleave 64x") &&
                   llvm::StringRef(plan).contains("nontemporal");
    EXPECT_EQ(isFound, isNontemporal) << plan;
  }
}

TEST(RelayoutPlanTest, copiesInSourceOrderWhereStoresBypassTheCache) {
  EXPECT_EQ(printPlan("f32[4096,4096]{1,0}", "f32[4096,4096]{1,0:T(8,128)}",
                      nontemporal()),
            "relayout of 32-bit elements, 16777216 to 16777216\n"
            "nest src 0 dst 0\n"
            "  for 512  src 32768 dst 32768\n"
            "    for 8  src 4096 dst 128\n"
            "      for 32  src 128 dst 1024\n"
            "        copy 1x1 runs of 128, nontemporal, prefetch 16384 bytes "
            "ahead\n");
  // Single lines of whole runs are worth it.
  EXPECT_THAT(printPlan("bf16[8,2048,64,32]{3,2,1,0}",
                        "bf16[8,2048,64,32]{3,1,2,0}", nontemporal()),
              HasSubstr("copy 1x1 runs of 32, nontemporal"));
  // What lies far apart is not prefetched in that order: 1 KiB of 4.
  EXPECT_THAT(printPlan("f32[4096,4,256]{2,1,0:PD(4096,4,1024)}",
                        "f32[4096,4,256]{2,1,0}", nontemporal()),
              HasSubstr("copy 1x1 runs of 256, nontemporal\n"));
}

// In the caches, too, where few columns of odd runs are written side by side,
// and many rows would be read so.
TEST(RelayoutPlanTest, copiesOddRunsInTheOrderOfFewerStreams) {
  EXPECT_THAT(printPlan("bf16[141,6,71]{2,1,0}", "bf16[141,6,71]{2,0,1}",
                        nontemporal(64)),
              HasSubstr("  for 141  src 426 dst 71\n"
                        "    for 6  src 71 dst 10011\n"
                        "      copy"));
  EXPECT_THAT(printPlan("bf16[6,141,71]{2,1,0}", "bf16[6,141,71]{2,0,1}",
                        nontemporal(64)),
              HasSubstr("  for 141  src 71 dst 426\n"
                        "    for 6  src 10011 dst 71\n"
                        "      copy"));
  // Columns a multiple of 4 KiB apart evict one another, and rows so far apart
  // only where they share lines.
  EXPECT_THAT(printPlan("f32[16,27,256]{2,1,0}", "f32[16,27,256]{2,0,1}",
                        nontemporal(64)),
              HasSubstr("  for 27  src 256 dst 4096\n"
                        "    for 16  src 6912 dst 256\n"
                        "      copy"));
  EXPECT_THAT(printPlan("f32[32,900]{1,0:T(128,8)}", "f32[32,900]{1,0}",
                        nontemporal(64)),
              HasSubstr("  for 112  src 1024 dst 8\n"
                        "    for 32  src 8 dst 900\n"
                        "      copy"));
}

// Other processors read several runs at once, and rows ahead into the
// second-level cache.
TEST(RelayoutPlanTest, dependsOnTheProcessor) {
  RelayoutTarget target = nontemporal(64, "sapphirerapids");
  EXPECT_EQ(
      printPlan("f32[4096,4096]{1,0}", "f32[4096,4096]{1,0:T(8,128)}", target),
      "relayout of 32-bit elements, 16777216 to 16777216\n"
      "nest src 0 dst 0\n"
      "  for 512  src 32768 dst 32768\n"
      "    for 32  src 128 dst 1024\n"
      "      for 8 by 8  src 4096 dst 128  rows\n"
      "        copy 8x1 runs of 128, nontemporal\n");
  EXPECT_THAT(printPlan("f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}", target),
              HasSubstr("transpose 48x16 runs of 1, nontemporal, prefetch 2 "
                        "ahead to L2\n"));
  EXPECT_THAT(printPlan("bf16[8192,4096]{1,0}", "bf16[8192,4096]{0,1}", target),
              testing::Not(HasSubstr("gathered")));
  EXPECT_THAT(printPlan("f32[256,256]{1,0}", "f32[256,256]{0,1}", target),
              HasSubstr("transpose 128x32 runs of 1\n"));
}

// Where registers are shorter than a line, as many rows are read side by side
// as are prefetched.
TEST(RelayoutPlanTest, readsFewRowsSideBySide) {
  RelayoutTarget zen3 = nontemporal(32, "znver3");
  EXPECT_EQ(printPlan("f32[3008,4016]{1,0}", "f32[3008,4016]{0,1}", zen3),
            "relayout of 32-bit elements, 12080128 to 12080128\n"
            "nest src 0 dst 0\n"
            "  for 3008 by 16  src 4016 dst 1  rows\n"
            "    for 4016 by 16  src 1 dst 3008  columns\n"
            "      transpose 16x16 runs of 1, staged and nontemporal, "
            "prefetch 4 ahead\n");
  // Columns 512 bytes apart need two lines to use more than one channel.
  EXPECT_THAT(printPlan("f32[128,65536]{1,0}", "f32[128,65536]{0,1}", zen3),
              HasSubstr("transpose 32x16 runs of 1, staged"));
  // Bytes have too few in a line.
  EXPECT_THAT(printPlan("s8[8128,8128]{1,0}", "s8[8128,8128]{0,1}", zen3),
              HasSubstr("transpose 256x64 runs of 1, staged"));
  // Ragged ends cost more.
  EXPECT_THAT(printPlan("f32[4099,3001]{1,0}", "f32[4099,3001]{0,1}", zen3),
              HasSubstr("transpose 256x16 runs of 1, staged"));
  // Nobody measured its kin.
  EXPECT_EQ(ProcessorCosts::get("znver2").streamPs,
            ProcessorCosts::get("znver3").streamPs);
}

/// A coefficient, a relayout, and what becomes of its plan with another value.
struct Decision {
  int64_t ProcessorCosts::*cost;
  int64_t value;
  const char *source, *destination, *before, *after;
  int64_t vectorBytes = 64;
};

// Each coefficient decides something.
TEST(RelayoutPlanTest, dependsOnEachCoefficient) {
  using Costs = ProcessorCosts;
  constexpr int64_t kMost = 1 << 20;
  const Decision decisions[] = {
      {&Costs::jumpPs, 0, "f32[3024,4016]{1,0}", "f32[3024,4016]{0,1}",
       "transpose 32x16", "transpose 16x16"},
      {&Costs::visitPs, 0, "s8[8128,8128]{1,0}", "s8[8128,8128]{0,1}", "panels",
       "transpose 64x64 runs of 1, nontemporal, prefetch"},
      {&Costs::streamPs, 0, "f32[3008,4016]{1,0}", "f32[3008,4016]{0,1}",
       "transpose 32x16", "transpose 128x16"},
      {&Costs::widePs, 0, "f32[96,64,56,56]{3,2,1,0}",
       "f32[96,64,56,56]{1,3,2,0}", "transpose 32x16", "transpose 64x64"},
      {&Costs::reloadPs, 0, "s8[8192,8192]{1,0:PD(8192,16384)}",
       "s8[8192,8192]{0,1}", "rows gathered", "nontemporal\n"},
      {&Costs::columnConflictPs, 12000, "f32[4096,4032]{1,0}",
       "f32[4096,4032]{0,1}", "transpose 48x16", "transpose 128x16"},
      {&Costs::packPs, 1800, "f32[400,1040,20]{2,1,0}",
       "f32[400,1040,20]{1,2,0}", "panels", "deinterleave"},
      {&Costs::channelPs, 0, "f32[3072,4016]{1,0}", "f32[3072,4016]{0,1}",
       "transpose 64x16", "transpose 32x16"},
      {&Costs::bufferPs, kMost, "f32[500,27,8000]{2,1,0}",
       "f32[500,27,8000]{1,2,0}", "staged", "runs of 1, prefetch", 32},
      {&Costs::interleavedRows, kMost, "bf16[8192,4096]{1,0}",
       "bf16[8192,4096]{1,0:T(8,128)(2,1)}", "nontemporal, prefetch",
       "nontemporal\n"},
      {&Costs::seamPs, kMost, "f32[4099,3001]{1,0:T(8,140)}",
       "f32[4099,3001]{1,0}", "carried", "staged"},
      {&Costs::shufflePs, 0, "f32[7,400]{1,0}", "f32[7,400]{0,1}", "transpose",
       "interleave", 32},
      {&Costs::raggedPs, kMost, "f32[1500,2000]{1,0}", "f32[1500,2000]{0,1}",
       "transpose 256x16 runs of 1, staged", "runs of 1, prefetch", 32},
      {&Costs::carryPs, kMost, "f32[4099,3001]{1,0}", "f32[4099,3001]{0,1}",
       "carried", "panels"},
      {&Costs::panelPs, 0, "f32[3008,4016]{1,0}", "f32[3008,4016]{0,1}",
       "nontemporal, prefetch", "panels"},
      {&Costs::panelRunBytes, 64, "bf16[65536,96]{1,0}", "bf16[65536,96]{0,1}",
       "transpose 64x32", "transpose 32x32"},
      {&Costs::copyPrefetchBytes, 0, "bf16[65536,96]{1,0}",
       "bf16[65536,96]{0,1}", "packed, prefetch", "packed\n"},
      {&Costs::allocatePs, 0, "f32[3024,4016]{1,0}", "f32[3024,4016]{0,1}",
       "nontemporal", "runs of 1, prefetch"},
      {&Costs::firstLevelWays, 64, "bf16[2048,128]{1,0}", "bf16[2048,128]{0,1}",
       "transpose 256x8", "transpose 256x32"},
      {&Costs::cachedRunPs, 0, "f32[200,300]{1,0}", "f32[200,300]{0,1}",
       "transpose 64x32", "transpose 16x64"},
      {&Costs::cachedVisitPs, 4000, "f32[200,300]{1,0}", "f32[200,300]{0,1}",
       "transpose 64x32", "transpose 16x300"},
      {&Costs::cachedSkipPs, 0, "f32[2048,100]{1,0}", "f32[2048,100]{0,1}",
       "columns\n      transpose", "rows\n      transpose"},
      {&Costs::cachedGatherPs, kMost, "s8[128,1024]{1,0}", "s8[128,1024]{0,1}",
       "gathered", "runs of 1\n"},
      {&Costs::cachedConflictPs, 0, "s8[128,1024]{1,0}", "s8[128,1024]{0,1}",
       "gathered", "runs of 1\n"},
      {&Costs::cachedColumnPs, 0, "f32[2048,96]{1,0}", "f32[2048,96]{0,1}",
       "transpose 128x8", "transpose 128x32"}};
  for (const Decision &decision : decisions) {
    RelayoutTarget target = nontemporal(decision.vectorBytes);
    EXPECT_THAT(printPlan(decision.source, decision.destination, target),
                HasSubstr(decision.before));
    target.costs.*decision.cost = decision.value;
    EXPECT_THAT(printPlan(decision.source, decision.destination, target),
                HasSubstr(decision.after))
        << decision.source;
  }
}

TEST(RelayoutPlanTest, letsItsParametersBeOverruled) {
  RelayoutTarget target = nontemporal(64);
  target.tuning.rowBytes = 512;
  target.tuning.columnBytes = 128;
  target.tuning.bySource = false;
  target.tuning.kind = "staged";
  target.tuning.prefetch = 3;
  EXPECT_EQ(printPlan("f32[4096,4112]{1,0}", "f32[4096,4112]{0,1}", target),
            "relayout of 32-bit elements, 16842752 to 16842752\n"
            "nest src 0 dst 0\n"
            "  for 4112 by 32  src 1 dst 4096  columns\n"
            "    for 4096 by 128  src 4112 dst 1  rows\n"
            "      transpose 128x32 runs of 1, staged and nontemporal\n");
  target.tuning.nontemporal = false;
  EXPECT_THAT(printPlan("f32[4096,4112]{1,0}", "f32[4096,4112]{0,1}", target),
              HasSubstr("transpose 128x32 runs of 1\n"));
}

TEST(RelayoutPlanTest, coalescesTileDigitsIntoBlocks) {
  EXPECT_EQ(printPlan("f32[256,256]{1,0:T(8,128)}",
                      "f32[256,256]{0,1:T(8,128)}", nontemporal()),
            "relayout of 32-bit elements, 65536 to 65536\n"
            "nest src 0 dst 0\n"
            "  for 2  src 1024 dst 32768\n"
            "    for 16 by 2  src 8 dst 2048  columns\n"
            "      for 2  src 32768 dst 1024\n"
            "        transpose 128x16 runs of 1\n"
            "          rows 8 by 1  src 128 dst 1  rows\n"
            "          rows 16 by 1  src 2048 dst 8  rows\n"
            "          columns 8 by 1  src 1 dst 128  columns\n");
}

TEST(RelayoutPlanTest, interleavesRows) {
  EXPECT_THAT(
      printPlan("bf16[8192,4096]{1,0}", "bf16[8192,4096]{1,0:T(8,128)(2,1)}",
                nontemporal(64)),
      HasSubstr("interleave 2x128 runs of 1, nontemporal, prefetch 8 ahead\n"));
  EXPECT_THAT(
      printPlan("bf16[256,256]{1,0}", "bf16[256,256]{1,0:T(8,128)(2,1)}"),
      HasSubstr("interleave 2x128 runs of 1\n"));
  EXPECT_THAT(printPlan("s8[256,256]{1,0:T(8,128)(4,1)}", "s8[256,256]{1,0}"),
              HasSubstr("deinterleave 128x4 runs of 1\n"));
  EXPECT_THAT(printPlan("f32[256,256]{1,0}", "f32[256,256]{1,0:T(8,128)(8,1)}",
                        nontemporal(64)),
              HasSubstr("interleave 8x64 runs of 1\n"));
}

TEST(RelayoutPlanTest, interleavesAnyFewRows) {
  EXPECT_EQ(printPlan("f32[4,8,6,6,32]{4,3,2,1,0}",
                      "f32[4,8,6,6,32]{2,4,1,3,0}", nontemporal(64)),
            "relayout of 32-bit elements, 36864 to 36864\n"
            "nest src 0 dst 0\n"
            "  for 4  src 9216 dst 9216\n"
            "    for 6  src 32 dst 1536\n"
            "      for 8  src 1152 dst 192\n"
            "        interleave 6x32 runs of 1\n"
            "          rows 6 by 1  src 192 dst 1  rows\n"
            "          columns 32 by 1  src 1 dst 6  columns\n");
  const char *images = "s8[4,3,64,64]{3,2,1,0}",
             *channels = "s8[4,3,64,64]{1,3,2,0}";
  for (int64_t bytes : {16, 32, 64}) {
    EXPECT_THAT(printPlan(images, channels, nontemporal(bytes)),
                HasSubstr("interleave 3x256 runs of 1\n"));
    EXPECT_THAT(printPlan(channels, images, nontemporal(bytes)),
                HasSubstr("deinterleave 256x3 runs of 1\n"));
  }
  // Of many rows eight registers each, beyond the caches one.
  EXPECT_THAT(
      printPlan("f32[9,4000]{1,0}", "f32[9,4000]{0,1}", nontemporal(64)),
      HasSubstr("interleave 9x128 runs of 1\n"));
  EXPECT_THAT(
      printPlan("f32[4000,9]{1,0}", "f32[4000,9]{0,1}", nontemporal(64)),
      HasSubstr("deinterleave 128x9 runs of 1\n"));
  EXPECT_THAT(
      printPlan("f32[9,400000]{1,0}", "f32[9,400000]{0,1}", nontemporal(64)),
      HasSubstr("interleave 9x16 runs of 1, nontemporal"));
}

// Up to 24 rows are interleaved; more, or short ones, are transposed.
TEST(RelayoutPlanTest, transposesManyRows) {
  auto print = [](llvm::StringRef src, llvm::StringRef dst, int64_t bytes) {
    return printPlan(src, dst, nontemporal(bytes));
  };
  for (const char *rows : {"7", "8", "14", "16", "20"})
    EXPECT_THAT(print(("f32[" + llvm::Twine(rows) + ",400]{1,0}").str(),
                      ("f32[" + llvm::Twine(rows) + ",400]{0,1}").str(), 64),
                HasSubstr("interleave "))
        << rows;
  EXPECT_THAT(print("f32[400,16]{1,0}", "f32[400,16]{0,1}", 64),
              HasSubstr("deinterleave "));
  for (llvm::StringRef dims : {"f32[25,400]", "f32[400,25]"})
    EXPECT_THAT(print((dims + "{1,0}").str(), (dims + "{0,1}").str(), 64),
                HasSubstr("transpose "))
        << dims.str();
  EXPECT_THAT(print("f32[7,400]{1,0}", "f32[7,400]{0,1}", 32),
              HasSubstr("transpose "));
  EXPECT_THAT(print("f32[9,3,3]{2,1,0}", "f32[9,3,3]{1,2,0}", 64),
              HasSubstr("transpose "));
}

// A row alone in its tile is spread, and padding written with it.
TEST(RelayoutPlanTest, spreadsOddRows) {
  const char *rows = "bf16[3,128]{1,0}",
             *tiles = "bf16[3,128]{1,0:T(8,128)(2,1)PV(zero)}";
  EXPECT_EQ(printPlan(rows, tiles, nontemporal(), /*fill=*/true),
            "relayout of 16-bit elements, 384 to 1024\n"
            "nest src 0 dst 0\n"
            "  interleave 2x128 runs of 1\n"
            "    rows 2 by 1  src 128 dst 1  rows\n"
            "    columns 128 by 1  src 1 dst 2  columns\n"
            "nest src 256 dst 256\n"
            "  interleave 1x128 runs of 1, padding of 1\n"
            "    columns 128 by 1  src 1 dst 2  columns\n"
            "nest dst 512\n"
            "  fill 1x1 runs of 512\n");
  EXPECT_THAT(printPlan(rows, tiles, nontemporal()),
              HasSubstr("interleave 1x128 runs of 1, padding kept\n"));
  EXPECT_THAT(printPlan(tiles, rows, nontemporal()),
              HasSubstr("deinterleave 128x1 runs of 1\n"));
  EXPECT_THAT(printPlan("s8[3,128]{1,0}", "s8[3,128]{1,0:T(8,128)(4,1)}"),
              HasSubstr("interleave 3x128 runs of 1, padding kept\n"));
  EXPECT_THAT(printPlan("f32[2,3,64,64]{3,2,1,0}",
                        "f32[2,3,64,64]{1,3,2,0:PD(2,4,64,64)PV(zero)}",
                        nontemporal(64), /*fill=*/true),
              HasSubstr("interleave 3x64 runs of 1, padding of 1\n"));
}

// Between the elements of a box lie those of others: only masks pass them over.
TEST(RelayoutPlanTest, spreadsBoxesOnlyWithMasks) {
  Box box = {{0, 64, 2}};
  auto print = [&](int64_t vectorBytes) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::cantFail(planRelayout(getAxes("s8[64]"), {getAxes("s8[128]"), box}, 8,
                                /*fillPadding=*/false,
                                nontemporal(vectorBytes)))
        .print(os);
    return text;
  };
  EXPECT_THAT(print(64), HasSubstr("interleave 1x64 runs of 1\n"));
  EXPECT_THAT(print(32), HasSubstr("gather 1x1 runs of 1\n"));
}

// What memory bounds is interleaved wherever lines could not be written
// otherwise.
TEST(RelayoutPlanTest, interleavesNontemporalRuns) {
  // A register of each row where all 77 columns of it end within a line.
  EXPECT_THAT(printPlan("bf16[77,65536]{0,1}", "bf16[77,65536]{1,0:T(128,8)}",
                        nontemporal(64)),
              HasSubstr("interleave 8x32 runs of 1, nontemporal"));
  // Short dense blocks through a buffer would wait for the lines that they
  // share.
  EXPECT_THAT(printPlan("bf16[2048,7,255]{2,1,0}", "bf16[2048,7,255]{1,2,0}",
                        nontemporal(64)),
              HasSubstr("interleave 7x255 runs of 1\n"));
  EXPECT_THAT(printPlan("f32[64,3,224,224]{3,2,1,0}",
                        "f32[64,3,224,224]{1,3,2,0}", nontemporal(64)),
              HasSubstr("interleave 3x64 runs of 1, nontemporal, prefetch 8 "
                        "ahead\n"));
  EXPECT_THAT(printPlan("f32[64,14,96,96]{3,2,1,0}",
                        "f32[64,14,96,96]{1,3,2,0}", nontemporal(64)),
              HasSubstr("interleave 14x16 runs of 1, nontemporal"));
  EXPECT_THAT(printPlan("f32[64,16,96,96]{3,2,1,0}",
                        "f32[64,16,96,96]{1,3,2,0}", nontemporal(64)),
              HasSubstr("interleave 16x16 runs of 1, nontemporal"));
  // Images that begin anywhere in a line.
  EXPECT_EQ(printPlan("f32[64,3,223,223]{3,2,1,0}",
                      "f32[64,3,223,223]{1,3,2,0}", nontemporal(64)),
            "relayout of 32-bit elements, 9547968 to 9547968\n"
            "nest src 0 dst 0\n"
            "  for 64  src 149187 dst 149187\n"
            "    for 49729 by 5461  src 1 dst 3  columns\n"
            "      interleave 3x5461 runs of 1, staged and nontemporal\n"
            "        rows 3 by 1  src 49729 dst 1  rows\n");
}

TEST(RelayoutPlanTest, copiesRunsAndFillsPadding) {
  EXPECT_EQ(printPlan("f32[9,130]{1,0}", "f32[9,130]{1,0:T(8,128)PV(zero)}", {},
                      /*fill=*/true),
            "relayout of 32-bit elements, 1170 to 4096\n"
            "nest src 0 dst 0\n"
            "  for 8  src 130 dst 128\n"
            "    copy 1x1 runs of 128\n"
            "  and src 128 dst 1024\n"
            "    copy 1x1 runs of 2, padding of 126\n"
            "nest src 1040 dst 2048\n"
            "  copy 1x1 runs of 128\n"
            "nest src 1168 dst 3072\n"
            "  copy 1x1 runs of 2, padding of 126\n"
            "nest dst 2176\n"
            "  for 2  src 1024 dst 1024\n"
            "    fill 1x1 runs of 896\n");
}

TEST(RelayoutPlanTest, sharesTheOuterLoopAmongThreads) {
  RelayoutTarget target = nontemporal();
  target.threads = 2;
  EXPECT_THAT(printPlan("f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}", target),
              HasSubstr("  for 4096 by 256  src 4096 dst 1  rows  parallel\n"));
  EXPECT_THAT(printPlan("f32[64,64]{1,0}", "f32[64,64]{0,1}", target),
              testing::Not(HasSubstr("parallel")));
}

// Runs become bytes, and a half byte at an odd end; transposes become those of
// bytes, two columns for two rows.
TEST(RelayoutPlanTest, packsBitsIntoBytes) {
  auto print = [](llvm::StringRef src, llvm::StringRef dst, bool fill) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::cantFail(planRelayout(getAxes(src), getAxes(dst), 4, fill, {}))
        .print(os);
    return text;
  };
  EXPECT_EQ(print("s4[4,7]{1,0:T(4,8)}", "s4[4,7]{1,0:T(2,8)}", true),
            "relayout of 8-bit elements, 16 to 16\n"
            "nest src 0 dst 0\n"
            "  for 4  src 4 dst 4\n"
            "    gather 1x1 runs of 3\n"
            "nest src 3 dst 3\n"
            "  for 4  src 4 dst 4\n"
            "    merge 1x1 runs of 1, bits 0x0f\n"
            "nest dst 3\n"
            "  for 4  src 4 dst 4\n"
            "    fill bits 1x1 runs of 1, bits 0xf0\n");
  EXPECT_EQ(print("s4[32,48]{1,0}", "s4[32,48]{0,1}", false),
            "relayout of 8-bit elements, 768 to 768\n"
            "nest src 0 dst 0\n"
            "  transpose 16x24 runs of 1, rows gathered\n"
            "    byte 0 of bits 0-3 at 0, bits 0-3 at 24\n"
            "    byte 16 of bits 4-7 at 0, bits 4-7 at 24\n"
            "    rows 16 by 1  src 48 dst 1  rows\n"
            "    columns 24 by 1  src 1 dst 32  columns\n");
}

// Rows interleaved into bytes, and elements with a byte each on one side.
TEST(RelayoutPlanTest, packsPartsOfBytes) {
  auto print = [](llvm::StringRef src, llvm::StringRef dst, ElementBits bits) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::cantFail(planRelayout(getAxes(src), getAxes(dst), bits, false, {}))
        .print(os);
    return text;
  };
  EXPECT_EQ(print("s4[8,128]{1,0}", "s4[8,128]{1,0:T(8,128)(8,1)}", 4),
            "relayout of 8-bit elements, 512 to 512\n"
            "nest src 0 dst 0\n"
            "  interleave 4x64 runs of 1\n"
            "    byte 0 of bits 0-3 at 0, bits 0-3 at 64\n"
            "    byte 4 of bits 4-7 at 0, bits 4-7 at 64\n"
            "    rows 4 by 1  src 128 dst 1  rows\n"
            "    columns 64 by 1  src 1 dst 8  columns\n");
  EXPECT_EQ(print("s4[512]", "s4[512]", {4, 8, /*isSigned=*/true}),
            "relayout of 8-bit elements, 256 to 512\n"
            "nest src 0 dst 0\n"
            "  for 256 by 32  src 1 dst 2  columns\n"
            "    interleave 1x32 runs of 1, sign of 4 bits\n"
            "      byte 0 of bits 0-3 at 0\n"
            "      byte 1 of bits 4-7 at 0\n");
  EXPECT_EQ(print("s4[511]", "s4[511]", {8, 4, /*isSigned=*/true}),
            "relayout of 8-bit elements, 511 to 256\n"
            "nest src 0 dst 0\n"
            "  for 255 by 32  src 2 dst 1  rows\n"
            "    deinterleave 32x1 runs of 1\n"
            "      byte 0 of bits 0-3 at 0, bits 0-3 at 1\n"
            "nest src 510 dst 255\n"
            "  merge 1x1 runs of 1, bits 0x0f\n");
  // Columns that begin within a byte are every other one of the source.
  EXPECT_THAT(print("s4[63,33]{1,0}", "s4[63,33]{0,1}", {8, 4, true}),
              HasSubstr("rows gathered, columns 2 apart"));
}

static std::string planError(llvm::StringRef src, llvm::StringRef dst,
                             int64_t bits, bool fill = false) {
  auto plan = planRelayout(getAxes(src), getAxes(dst), bits, fill, {});
  if (plan)
    return "planned";
  return takeDiagnostic(plan.takeError()).message();
}

TEST(RelayoutPlanTest, leavesWhatItCannotTake) {
  EXPECT_THAT(planError("f32[16,4]", "f32[16,4]{1,0:T(8,4)(3,1)}", 32),
              HasSubstr("divisors of dimension 0 that divide one another"));
  EXPECT_THAT(
      planError("f32[300,300]{1,0:T(13,17)}", "f32[300,300]{1,0:T(11,19)}", 32),
      HasSubstr("remainders that make at most 24 nests"));
  EXPECT_THAT(planError("f32[8]", "f32[8]", 24),
              HasSubstr("elements of 1 to 16 whole bytes, found 24 bits"));
  EXPECT_THAT(
      planError("u1[9,7,11]{2,1,0}", "u1[9,7,11]{0,1,2:T(8,3)(2,1)}", 1),
      HasSubstr("parts of bytes that make at most 64 nests"));
  EXPECT_THAT(planError("f32[<=8]", "f32[8]", 32), HasSubstr("planned"));
  EXPECT_THAT(planError("f32[8,3]{1,0}", "f32[8,3]{1,0:T(*,3)PD(8,6)PV(zero)}",
                        32, true),
              HasSubstr("padding at the end of each dimension only"));
}
