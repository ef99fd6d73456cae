//===- SlicesTest.cpp - Parts that begin where a run says -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One handle, run with many offsets, by the model of tiles.
//
//===----------------------------------------------------------------------===//

#include "RuntimeRunner.h"

#include "../RandomLayouts.h"

#include "tessera/Runtime/Runtime.h"

using namespace tessera;
using ::testing::HasSubstr;

namespace {
/// A pair of arrays with parts of the same sizes; a box is empty where the
/// whole array is meant.
struct Parts {
  Shape source, destination;
  Box from, to;

  std::string toString() const {
    return ArrayPart(source, from).toString() + " to " +
           ArrayPart(destination, to).toString();
  }
};
} // namespace

/// Whether the model, which looks at each bit, has time for it.
static bool isSmall(const Parts &parts) {
  constexpr int64_t kMaxBytes = 1 << 17;
  auto getBytes = [](const Shape &shape) {
    return llvm::cantFail(getSize(shape)).bytes;
  };
  return std::max(getBytes(parts.source), getBytes(parts.destination)) <=
         kMaxBytes;
}

static Parts makeParts(const std::pair<Shape, Shape> &pair, ShapePairs &pairs) {
  Parts parts = {pair.first, pair.second, {}, {}};
  // One side may be whole, as a tile that is moved into an array is.
  bool isSourceWhole = pairs.oneIn(4);
  if (!isSourceWhole)
    std::tie(parts.source, parts.from) = growAround(pair.first, pairs);
  if (isSourceWhole || !pairs.oneIn(4))
    std::tie(parts.destination, parts.to) = growAround(pair.second, pairs);
  return parts;
}

/// The box from other indices on, most of which are not multiples of anything.
static Box moveBox(const Box &box, const Shape &shape, ShapePairs &pairs) {
  Box moved = box;
  for (auto [slice, size] : llvm::zip(moved, shape.dimensions()))
    slice.begin = pairs.number(
        0, slice.count == 0 ? size : size - 1 - (slice.count - 1) * slice.step);
  return moved;
}

static llvm::SmallVector<int64_t> getOffsets(const Box &box) {
  llvm::SmallVector<int64_t> offsets;
  for (const Slice &slice : box)
    offsets.push_back(slice.begin);
  return offsets;
}

static Handle create(const Parts &parts, TesseraRuntimeOptions options) {
  std::string from = printBox(parts.from), to = printBox(parts.to);
  options.sourceBox = parts.from.empty() ? nullptr : from.c_str();
  options.destinationBox = parts.to.empty() ? nullptr : to.c_str();
  return create(parts.source, parts.destination, options);
}

/// A handle, and a few runs of it.
static void checkParts(const Parts &parts, ShapePairs &pairs, Runner &runner) {
  TesseraRuntimeOptions options = runner.options();
  Handle relayout = create(parts, options);
  ASSERT_TRUE(relayout);
  for (int run = 0; run < 4; ++run) {
    Parts at = parts;
    at.from = moveBox(parts.from, parts.source, pairs);
    at.to = moveBox(parts.to, parts.destination, pairs);
    SCOPED_TRACE(at.toString());
    ModelSide from(at.source, at.from), to(at.destination, at.to);
    Offsets offsets = {getOffsets(at.from), getOffsets(at.to)};
    runner.check(
        relayout.get(), from.bytes, from.bits,
        [&](size_t i) { return from.positions[i] * from.bits; }, to,
        options.zeroPadding, &offsets);
    if (testing::Test::HasFatalFailure())
      return;
  }
}

/// Elements of every width, in layouts with every feature.
static std::pair<Shape, Shape> nextOfAll(RandomLayouts &layouts) {
  auto isLegal = [](const Shape &shape) {
    PrimitiveType type = shape.elementType();
    int64_t bits = getStorageBits(type, shape.layoutOrDefault());
    return bits == getBitWidth(type) || bits == getByteWidth(type) * 8;
  };
  while (true) {
    auto dims = layouts.dimensions();
    PrimitiveType type = layouts.elementType();
    Shape source = Shape::array(type, dims, layouts.layout(dims, type));
    Shape destination = Shape::array(type, dims, layouts.layout(dims, type));
    if (isLegal(source) && isLegal(destination))
      return {source, destination};
  }
}

TEST(RuntimeSlices, RandomOffsets) {
  ShapePairs pairs(testSeed());
  RandomLayouts layouts(testSeed(), /*maxPositions=*/512);
  Runner runner(testSeed());
  for (int i = 0, count = testCount(8000); i < count; ++i) {
    auto whole = i % 8 == 0   ? pairs.next()
                 : i % 8 == 1 ? nextPacked(pairs)
                              : nextOfAll(layouts);
    Parts parts = makeParts(whole, pairs);
    SCOPED_TRACE(parts.toString() +
                 ", TESSERA_SEED=" + std::to_string(testSeed()));
    if (isSmall(parts))
      checkParts(parts, pairs, runner);
    if (HasFatalFailure())
      return;
  }
}

// More residues than a handle keeps plans for.
TEST(RuntimeSlices, EveryResidue) {
  Runner runner(testSeed());
  Parts parts = {parse("s4[40,60]{1,0:T(16,30)(2,1)E(4)}"),
                 parse("s4[3,4]{0,1:E(4)}"),
                 {{0, 3, 1}, {0, 4, 1}},
                 {}};
  Handle relayout = create(parts, {});
  for (int64_t row = 0; row <= 37; ++row)
    for (int64_t column = 0; column <= 56; ++column) {
      SCOPED_TRACE(std::to_string(row) + ", " + std::to_string(column));
      Box box = {{row, 3, 1}, {column, 4, 1}};
      ModelSide from(parts.source, box), to(parts.destination);
      Offsets offsets = {{row, column}, {}};
      runner.check(
          relayout.get(), from.bytes, from.bits,
          [&](size_t i) { return from.positions[i] * from.bits; }, to,
          /*zeroPadding=*/false, &offsets);
      if (HasFatalFailure())
        return;
    }
}

TEST(RuntimeSlices, StridedSources) {
  Runner runner(testSeed());
  Shape shape = parse("f32[9,11]"), tiled = parse("f32[9,11]{1,0:T(4,4)}");
  ArrayOfShape from(shape), to(tiled);
  int64_t strides[] = {4, 40};
  from.array.byteStrides = {strides, 2};
  from.array.byteOffset = 3;
  TesseraRuntimeOptions options = {};
  options.sourceBox = "0:3,0:9:4";
  options.destinationBox = "2:5,1:4";
  TesseraRuntimeRelayout *made = nullptr;
  ASSERT_EQ(take(tesseraRuntimeRelayoutCreateOfArrays(&from.array, &to.array,
                                                      &options, &made)),
            "");
  Handle relayout(made);
  for (int i = 0; i < 50; ++i) {
    Offsets at = {{runner.number(0, 6), runner.number(0, 2)},
                  {runner.number(0, 6), runner.number(0, 8)}};
    ModelSide target(tiled,
                     {{at.destination[0], 3, 1}, {at.destination[1], 3, 1}});
    auto getBit = [&](size_t i) {
      int64_t row = at.source[0] + i / 3, column = at.source[1] + i % 3 * 4;
      return (3 + row * 4 + column * 40) * 8;
    };
    runner.check(made, /*sourceBytes=*/3 + 8 * 4 + 10 * 40 + 4, 32, getBit,
                 target, /*zeroPadding=*/false, &at);
    if (HasFatalFailure())
      return;
  }
}

TEST(RuntimeSlices, Errors) {
  TesseraRuntimeOptions options = {};
  options.sourceBox = "0:2,0:10:3";
  options.destinationBox = "0:2,0:4";
  RuntimeRelayout relayout;
  ASSERT_FALSE(RuntimeRelayout::create("u8[5,12]{1,0:T(2,4)}", "u8[3,4]",
                                       options, relayout));
  std::vector<uint8_t> source(relayout.getSourceBytes()), destination(12);
  auto run = [&](RuntimeOffsets from, RuntimeOffsets to, int64_t shares = 1) {
    return relayout
        .runAt(from, to, source.data(), source.size(), destination.data(),
               destination.size(), 0, shares)
        .getMessage();
  };
  EXPECT_EQ(run({3, 2}, {1, 0}), "");
  EXPECT_EQ(run({}, {}), "");
  EXPECT_EQ(run({4, 0}, {}),
            "invalid source offsets of d0: expected from 0 to 3, found 4");
  EXPECT_EQ(run({0, 3}, {}),
            "invalid source offsets of d1: expected from 0 to 2, found 3");
  EXPECT_EQ(run({INT64_MIN, 0}, {}), "invalid source offsets of d0: expected "
                                     "from 0 to 3, found -9223372036854775808");
  EXPECT_THAT(run({}, {INT64_MAX, 0}),
              HasSubstr("destination offsets of d0: expected from 0 to 1"));
  EXPECT_THAT(run({}, {0, 1}), HasSubstr("expected 0, found 1"));
  EXPECT_EQ(run({1}, {}), "invalid source offsets: expected one for each of 2 "
                          "dimensions, found 1");
  EXPECT_THAT(run({}, {}, 0), HasSubstr("invalid share"));
  EXPECT_THAT(run({nullptr, 2}, {}), HasSubstr("null"));
  source.pop_back();
  EXPECT_THAT(run({}, {}), HasSubstr("buffer of the source"));
}

// Whole arrays begin at 0.
TEST(RuntimeSlices, WholeArrays) {
  Handle relayout = create(parse("u8[2,2]"), parse("u8[2,2]{0,1}"));
  uint8_t from[] = {1, 2, 3, 4}, to[4] = {};
  int64_t zeros[] = {0, 0}, ones[] = {0, 1};
  EXPECT_EQ(take(tesseraRuntimeRelayoutRunAt(relayout.get(), {zeros, 2}, {},
                                             from, 4, to, 4)),
            "");
  EXPECT_THAT(to, testing::ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(take(tesseraRuntimeRelayoutRunAt(relayout.get(), {ones, 2}, {},
                                               from, 4, to, 4)),
              HasSubstr("source offsets of d1: expected 0, found 1"));
}

// Threads run one handle with offsets that it has no plans for yet, each in
// another order.
TEST(RuntimeSlices, ThreadsShareOffsets) {
  Runner runner(testSeed());
  TesseraRuntimeOptions options = {};
  options.sourceBox = "0:5,0:9";
  for (auto [source, destination] :
       {std::pair("bf16[37,61]{1,0:T(8,16)(2,1)}", "bf16[5,9]"),
        std::pair("s4[40,61]{1,0:T(16,30)E(4)}", "s4[5,9]{0,1:E(4)}"),
        std::pair("f32[30,30]{1,0:T(*,7)}", "f32[5,9]")}) {
    TesseraRuntimeRelayout *made = nullptr;
    ASSERT_EQ(take(tesseraRuntimeRelayoutCreate(source, destination, &options,
                                                &made)),
              "");
    Handle relayout(made);
    std::vector<uint8_t> input(tesseraRuntimeRelayoutGetSourceBytes(made));
    size_t size = tesseraRuntimeRelayoutGetDestinationBytes(made);
    runner.fill(input);
    constexpr int kThreads = 8, kOffsets = 20;
    std::vector<std::vector<uint8_t>> outputs(kThreads);
    runThreads(kThreads, [&](int thread) {
      outputs[thread].resize(kOffsets * kOffsets * size);
      for (int i = 0; i < kOffsets * kOffsets; ++i) {
        int at = (i * 7 + thread * 50) % (kOffsets * kOffsets);
        int64_t offsets[] = {at / kOffsets, at % kOffsets};
        EXPECT_EQ(take(tesseraRuntimeRelayoutRunAt(
                      made, {offsets, 2}, {}, input.data(), input.size(),
                      outputs[thread].data() + at * size, size)),
                  "");
      }
    });
    for (const std::vector<uint8_t> &output : outputs)
      EXPECT_TRUE(output == outputs.front());
  }
}
