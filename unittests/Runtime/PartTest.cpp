//===- PartTest.cpp - The contiguous bytes of a part of an array ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs and descriptors of random parts, compared with the addresses of all
// elements by the model of tiles, and with what `tessera-layout slice` says.
//
//===----------------------------------------------------------------------===//

#include "RuntimeRunner.h"

#include "../RandomLayouts.h"

#include "tessera/Layout/SymbolicSlice.h"
#include "tessera/Runtime/Runtime.h"

#include <numeric>

using namespace tessera;
using ::testing::HasSubstr;

using Runs = std::vector<std::pair<int64_t, int64_t>>;

/// Neighbouring bits as offset and length, by the model.
static Runs getModelRuns(const Shape &shape, const Box &box) {
  ModelSide side(shape, box);
  llvm::sort(side.positions);
  Runs runs;
  for (int64_t position : side.positions) {
    int64_t bit = position * side.bits;
    if (runs.empty() || runs.back().first + runs.back().second != bit)
      runs.push_back({bit, 0});
    runs.back().second += side.bits;
  }
  return runs;
}

/// The same of what loops make.
static Runs getRuns(llvm::ArrayRef<TesseraRuntimeDescriptor> descriptors) {
  Runs all;
  for (const TesseraRuntimeDescriptor &each : descriptors) {
    Runs runs = {{each.offset, each.bytes}};
    for (const TesseraRuntimeLoop &loop :
         llvm::ArrayRef(each.loops, each.numLoops)) {
      Runs steps;
      for (auto [offset, bytes] : runs)
        for (int64_t i = 0; i < loop.count; ++i)
          steps.push_back({offset + i * loop.stride, bytes});
      runs = std::move(steps);
    }
    EXPECT_TRUE(llvm::is_sorted(runs)) << "of one descriptor";
    EXPECT_TRUE(all.empty() || all.front() <= runs.front());
    llvm::append_range(all, runs);
  }
  llvm::sort(all);
  Runs merged;
  for (auto [offset, bytes] : all) {
    EXPECT_TRUE(merged.empty() ||
                merged.back().first + merged.back().second <= offset);
    if (!merged.empty() && merged.back().first + merged.back().second == offset)
      merged.back().second += bytes;
    else
      merged.push_back({offset, bytes});
  }
  return merged;
}

static bool isWholeBytes(const Runs &runs) {
  return llvm::all_of(
      runs, [](auto run) { return run.first % 8 == 0 && run.second % 8 == 0; });
}

/// What the analysis of slices says, where it does.
static void checkAnalysis(const Shape &shape, const Box &box, const Runs &runs,
                          const RuntimePart &part) {
  SymbolicSlice slice;
  for (const Slice &each : box) {
    if (each.step != 1)
      return;
    slice.begins.push_back({each.begin, {}});
    slice.sizes.push_back(each.count);
  }
  llvm::Expected<SliceAnswer> answer = analyzeSlice(shape, slice);
  if (!answer)
    return llvm::consumeError(answer.takeError());
  EXPECT_EQ(answer->minRuns, part.getNumRuns());
  EXPECT_EQ(answer->maxRuns, part.getNumRuns());
  EXPECT_EQ(answer->bits, part.getBytes() * 8);
  // Of the first element, which need not be the first in memory.
  ModelSide side(shape, box);
  EXPECT_EQ(answer->alignmentBits, side.positions.front() * side.bits);
  if (!answer->runBits)
    return;
  for (auto [offset, bytes] : runs)
    EXPECT_EQ(bytes * 8, *answer->runBits);
}

static void checkPart(const Shape &shape, const Box &box) {
  RuntimePart part;
  std::string message =
      RuntimePart::create(shape.toString(), printBox(box), part).getMessage();
  Runs expected = getModelRuns(shape, box);
  if (!isWholeBytes(expected)) {
    EXPECT_THAT(message, HasSubstr("unsupported runs of a part: expected whole "
                                   "bytes"));
    return;
  }
  ASSERT_EQ(message, "");
  int64_t bytes = 0, alignment = 0;
  for (auto &[offset, size] : expected) {
    offset /= 8;
    size /= 8;
    bytes += size;
    alignment = std::gcd(std::gcd(alignment, offset), size);
  }
  Runs found;
  for (TesseraRuntimeRun run : part.getRuns())
    found.push_back({run.offset, run.bytes});
  EXPECT_EQ(found, expected);
  EXPECT_EQ(getRuns(part.getDescriptors()), expected);
  EXPECT_EQ(part.getNumRuns(), static_cast<int64_t>(expected.size()));
  EXPECT_EQ(part.getBytes(), bytes);
  EXPECT_EQ(part.getAlignment(), alignment);
  EXPECT_EQ(part.getArrayBytes(), llvm::cantFail(getSize(shape)).bytes);
  if (!expected.empty())
    checkAnalysis(shape, box, expected, part);
}

static void checkTraced(const Shape &shape, const Box &box) {
  if (llvm::cantFail(getSize(shape)).bytes > 1 << 17)
    return;
  SCOPED_TRACE(ArrayPart(shape, box).toString() +
               ", TESSERA_SEED=" + std::to_string(testSeed()));
  checkPart(shape, box);
}

TEST(RuntimePart, RandomParts) {
  ShapePairs pairs(testSeed());
  RandomLayouts layouts(testSeed(), /*maxPositions=*/512);
  for (int i = 0, count = testCount(20000); i < count; ++i) {
    Shape shape;
    if (i % 3 == 0) {
      shape = i % 2 ? pairs.next().second : nextPacked(pairs).second;
    } else {
      auto dims = layouts.dimensions();
      PrimitiveType type = layouts.elementType();
      shape = Shape::array(type, dims, layouts.layout(dims, type));
    }
    auto [whole, box] = growAround(shape, pairs);
    checkTraced(whole, box);
    if (HasFailure())
      return;
  }
}

static std::string print(const RuntimePart &part) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const TesseraRuntimeDescriptor &each : part.getDescriptors()) {
    os << each.offset << "+" << each.bytes;
    for (size_t i = 0; i < each.numLoops; ++i)
      os << " " << each.loops[i].count << "*" << each.loops[i].stride;
    os << "; ";
  }
  return text;
}

static RuntimePart create(const char *shape, const char *box) {
  RuntimePart part;
  EXPECT_EQ(RuntimePart::create(shape, box, part).getMessage(), "");
  return part;
}

TEST(RuntimePart, Descriptors) {
  // Whole tiles, and columns of tiles.
  EXPECT_EQ(print(create("f32[16,256]{1,0:T(8,128)}", "8:16,:")),
            "8192+8192; ");
  EXPECT_EQ(print(create("f32[32,256]{1,0:T(8,128)}", ":,128:256")),
            "4096+4096 4*8192; ");
  // Columns from the middle of a tile on: two nests, one of them contiguous,
  // and the last run of the other goes on in it.
  RuntimePart part = create("f32[16,256]{1,0:T(8,128)}", "0:8,64:256");
  EXPECT_EQ(print(part), "256+256 8*512; 4096+4096; ");
  EXPECT_EQ(part.getNumRuns(), 8);
  EXPECT_EQ(part.getAlignment(), 256);
  EXPECT_EQ(print(create("s4[4,6]{1,0:E(4)}", ":,2:4")), "1+1 4*3; ");
  EXPECT_EQ(print(create("f32[6,10]", "::2,::5")), "0+4 3*80 2*20; ");
  EXPECT_EQ(print(create("f32[3,5]", "")), "0+60; ");
  EXPECT_EQ(print(create("f32[3,5]", "1:1,:")), "");
}

TEST(RuntimePart, SomeRuns) {
  RuntimePart part = create("u8[10,10]", "2:8,3:5");
  int64_t calls = 0;
  part.visitRuns([&](TesseraRuntimeRun run) {
    EXPECT_EQ(run.offset, 23 + 10 * calls);
    EXPECT_EQ(run.bytes, 2);
    return ++calls < 4;
  });
  EXPECT_EQ(calls, 4);
  TesseraRuntimePart *made = nullptr;
  ASSERT_EQ(take(tesseraRuntimePartCreate("u8[10,10]", "2:8,3:5", &made)), "");
  TesseraRuntimeRun runs[9] = {};
  EXPECT_EQ(tesseraRuntimePartGetRuns(made, runs, 2), 2);
  EXPECT_EQ(runs[1].offset, 33);
  EXPECT_EQ(runs[2].bytes, 0);
  EXPECT_EQ(tesseraRuntimePartGetRuns(made, runs, 9), 6);
  EXPECT_EQ(tesseraRuntimePartGetRuns(made, nullptr, 0), 0);
  EXPECT_EQ(tesseraRuntimePartGetRuns(made, nullptr, -1), 0);
  for (int64_t i : {INT64_MIN, int64_t(-1), int64_t(1), INT64_MAX})
    EXPECT_EQ(tesseraRuntimePartGetDescriptor(made, i).bytes, 0);
  tesseraRuntimePartDestroy(made);
}

TEST(RuntimePart, Structs) {
  ArrayOfShape array(parse("bf16[20,300]{1,0:T(8,128)(2,1)}"));
  TesseraRuntimePart *made = nullptr;
  ASSERT_EQ(
      take(tesseraRuntimePartCreateOfArray(&array.array, "8:16,:", &made)), "");
  EXPECT_EQ(tesseraRuntimePartGetNumRuns(made), 4);
  EXPECT_EQ(tesseraRuntimePartGetAlignment(made), 16);
  tesseraRuntimePartDestroy(made);
  int64_t strides[] = {600, 2};
  array.array.byteStrides = {strides, 2};
  EXPECT_THAT(take(tesseraRuntimePartCreateOfArray(&array.array, "", &made)),
              HasSubstr("unsupported byte strides"));
  EXPECT_THAT(take(tesseraRuntimePartCreateOfArray(nullptr, "", &made)),
              HasSubstr("invalid array: expected a pointer"));
}

// More bits than 64 bits count.
TEST(RuntimePart, Huge) {
  EXPECT_EQ(print(create("f64[576460752303423487]", "")),
            "0+4611686018427387896; ");
  EXPECT_EQ(print(create("f64[2,250000000000000000]", "1:2,2:")),
            "2000000000000000016+1999999999999999984; ");
}

TEST(RuntimePart, Errors) {
  auto getMessage = [](const char *shape, const char *box) {
    TesseraRuntimePart *made = nullptr;
    return take(tesseraRuntimePartCreate(shape, box, &made));
  };
  EXPECT_THAT(getMessage(nullptr, nullptr), HasSubstr("invalid shape"));
  EXPECT_THAT(getMessage("f32[", nullptr), HasSubstr("invalid"));
  EXPECT_THAT(getMessage("(f32[2])", nullptr), HasSubstr("an array"));
  EXPECT_THAT(getMessage("f32[?]", nullptr), HasSubstr("unsupported"));
  EXPECT_THAT(getMessage("f32[4]", "0:5"), HasSubstr("invalid box"));
  EXPECT_THAT(getMessage("f32[4]{0:M(64)}", nullptr),
              HasSubstr("unsupported M of a part"));
  EXPECT_THAT(getMessage("s4[4,4]{1,0:E(4)}", "0:2,1:3"),
              HasSubstr("elements of 4 bits that share bytes with others"));
  EXPECT_THAT(getMessage("u8[100000,100000]", ":,::2"),
              HasSubstr("unsupported runs of a part: expected at most "
                        "16777216, found 5000000000"));
  EXPECT_THAT(getMessage("f32[3000,3000]{1,0:T(*,7)}", nullptr),
              HasSubstr("unsupported"));
}
