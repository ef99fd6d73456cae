//===- RuntimeTest.cpp - Relayouts at run time, executed ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random pairs through the C API. Every bit of the destination is compared with
// the model of tiles, which knows nothing of axis lists, between guard pages.
//
//===----------------------------------------------------------------------===//

#include "RuntimeRunner.h"

#include "../RandomLayouts.h"

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <numeric>

using namespace tessera;
using ::testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Random pairs
//===----------------------------------------------------------------------===//

/// Whether there is a relayout: E may be the type's bits or bytes alone.
static bool isLegal(const Shape &shape) {
  int64_t bits = getStorageBits(shape.elementType(), shape.layoutOrDefault());
  return bits == getBitWidth(shape.elementType()) ||
         bits == getByteWidth(shape.elementType()) * 8;
}

TEST(Runtime, SmallPairsWithEveryFeature) {
  RandomLayouts layouts(testSeed(), /*maxPositions=*/512);
  Runner runner(testSeed());
  for (int i = 0, count = testCount(60000); i < count; ++i) {
    auto dims = layouts.dimensions();
    PrimitiveType type = layouts.elementType();
    Shape source = Shape::array(type, dims, layouts.layout(dims, type));
    Shape destination = Shape::array(type, dims, layouts.layout(dims, type));
    if (!isLegal(source) || !isLegal(destination))
      continue;
    runner.check(source, destination);
    if (HasFatalFailure())
      return;
  }
}

TEST(Runtime, PairsOfSeveralBlocks) {
  ShapePairs pairs(testSeed());
  Runner runner(testSeed());
  for (int i = 0, count = testCount(2500); i < count; ++i) {
    auto [source, destination] = pairs.next();
    runner.check(source, destination);
    if (HasFatalFailure())
      return;
  }
}

TEST(Runtime, PairsOfEachKernel) {
  Runner runner(testSeed());
  for (int i = 0; i < testCount(60); ++i)
    for (const auto &list : {getKernelPairs(), getRaggedPairs()})
      for (const auto &[source, destination] : list) {
        runner.check(source, destination);
        if (HasFatalFailure())
          return;
      }
}

TEST(Runtime, PackedPairsOfSeveralBlocks) {
  ShapePairs pairs(testSeed());
  Runner runner(testSeed());
  for (int i = 0, count = testCount(2000); i < count; ++i) {
    auto [source, destination] = nextPacked(pairs);
    runner.check(source, destination);
    if (HasFatalFailure())
      return;
  }
}

// Columns that begin anywhere in a line, more of them than are carried at a
// time, past the caches.
TEST(Runtime, StreamedColumns) {
  Runner runner(testSeed());
  for (const char *array : {"u8[131,600]", "bf16[70,1300]", "f32[37,1030]",
                            "f64[9,515]", "c128[5,514]", "f32[3,700]"})
    for (bool isForward : {false, true}) {
      Shape rows = parse(array), columns = parse(std::string(array) + "{0,1}");
      for (int i = 0; i < testCount(40); ++i) {
        runner.check(isForward ? rows : columns, isForward ? columns : rows,
                     /*streamedBytes=*/1);
        if (HasFatalFailure())
          return;
      }
    }
}

// Columns that begin anywhere in a line, one behind another: of more pieces
// than one, of as many rows as a buffer holds and more, in blocks that continue
// one another or leave a gap, and in blocks that are too small.
TEST(Runtime, DenseColumns) {
  Runner runner(testSeed());
  for (auto [array, columns] : {std::pair("u8[5,50,70]", "{1,2,0}"),
                                {"u8[5,50,70]", "{1,2,0:PD(5,50,71)}"},
                                {"u8[2,255,190]", "{1,2,0:PD(2,255,191)}"},
                                {"u8[2,257,90]", "{1,2,0:PD(2,257,91)}"},
                                {"u8[9,16,17]", "{1,2,0:PD(9,16,18)}"},
                                {"bf16[4,27,320]", "{1,2,0}"},
                                {"bf16[4,27,320]", "{1,2,0:PD(4,27,321)}"},
                                {"bf16[3,130,49]", "{1,2,0:PD(3,130,52)}"},
                                {"f32[6,20,80]", "{1,2,0}"},
                                {"f32[7,49,133]", "{1,2,0:PD(7,49,134)}"},
                                {"f32[5,5,300]", "{1,2,0}"},
                                {"f32[2,3,4,37,21]", "{3,4,2,0,1}"},
                                {"f64[4,21,40]", "{1,2,0:PD(4,21,41)}"},
                                {"c128[3,7,50]", "{1,2,0}"}})
    for (int i = 0; i < testCount(40); ++i) {
      runner.check(parse(array), parse(std::string(array) + columns),
                   /*streamedBytes=*/1);
      if (HasFatalFailure())
        return;
    }
}

// Bands of rows, in the caches and past them: rows of whole lines and others,
// short ones and long ones, of elements of each width, columns that follow one
// another closely, those that begin at one set of a cache or at one channel of
// the memory, and few of either.
TEST(Runtime, TransposesOfSeveralBands) {
  Runner runner(testSeed());
  for (const char *array :
       {"u8[320,128]",   "u8[521,201]",   "u8[641,1100]",   "bf16[288,64]",
        "bf16[300,97]",  "bf16[128,576]", "bf16[397,530]",  "f32[272,48]",
        "f32[321,37]",   "f32[64,512]",   "f32[16,600]",    "f32[221,300]",
        "f64[264,24]",   "f64[201,21]",   "f64[16,160]",    "f64[197,140]",
        "c128[132,8]",   "c128[103,9]",   "c128[97,70]",    "u8[700,5]",
        "u8[9,700]",     "bf16[300,7]",   "bf16[3,300]",    "f32[500,3]",
        "f32[3,500]",    "u8[320,1024]",  "bf16[320,2048]", "f32[1024,40]",
        "bf16[2048,36]", "u8[4096,70]",   "u8[640,333]",    "bf16[416,301]",
        "f32[384,37]",   "f32[80,50]",    "f64[64,29]",     "c128[32,7]"})
    for (int64_t streamedBytes : {int64_t(1), int64_t(1) << 40})
      for (bool isForward : {false, true}) {
        Shape rows = parse(array),
              columns = parse(std::string(array) + "{0,1}");
        runner.check(isForward ? rows : columns, isForward ? columns : rows,
                     streamedBytes);
        if (HasFatalFailure())
          return;
      }
}

// Columns that begin at one set of a cache, or at few, of rows that fill no
// registers, in one band and in several, and that begin at one set, too, or
// not.
TEST(Runtime, TransposesToColumnsOfOneSet) {
  Runner runner(testSeed());
  for (auto [rows, columns] :
       {std::pair("f32[1000,41]", "f32[1000,41]{0,1:PD(1024,41)}"),
        {"bf16[2011,37]", "bf16[2011,37]{0,1:PD(2048,37)}"},
        {"u8[4001,70]", "u8[4001,70]{0,1:PD(4096,70)}"},
        {"f32[403,70]{1,0:PD(403,1024)}", "f32[403,70]{0,1:PD(1024,70)}"},
        {"bf16[301,150]{1,0:PD(301,2048)}", "bf16[301,150]{0,1:PD(1024,150)}"},
        {"u8[701,130]{1,0:PD(701,1024)}", "u8[701,130]{0,1:PD(4096,130)}"},
        {"u8[701,130]{1,0:PD(701,1024)}", "u8[701,130]{0,1:PD(1024,130)}"},
        {"u8[1001,71]", "u8[1001,71]{0,1:PD(1024,71)}"},
        {"u8[61,90]", "u8[61,90]{0,1:PD(1024,90)}"},
        {"bf16[1003,37]", "bf16[1003,37]{0,1:PD(1024,37)}"},
        {"bf16[270,9]", "bf16[270,9]{0,1:PD(512,9)}"},
        {"f32[403,19]{1,0:PD(403,32)}", "f32[403,19]{0,1:PD(1024,19)}"},
        {"f64[503,19]", "f64[503,19]{0,1:PD(512,19)}"},
        {"f64[257,3]", "f64[257,3]{0,1:PD(512,3)}"},
        // Rows, or columns, of tiles.
        {"f64[77,140]{1,0:T(8,128)}", "f64[77,140]{0,1:PD(512,140)}"},
        {"f32[83,140]{1,0:T(8,128)}", "f32[83,140]{0,1:PD(1024,140)}"},
        {"bf16[83,140]{1,0:T(8,128)}", "bf16[83,140]{0,1:PD(2048,140)}"},
        {"u8[173,201]", "u8[173,201]{0,1:T(32,128)}"},
        {"u8[20,70,45]{1,0,2:T(32,128)(4,1)}", "u8[20,70,45]{2,1,0}"},
        {"u8[9,35,61]{1,0,2:PD(9,64,61)}", "u8[9,35,61]{2,1,0:PD(9,35,64)}"}})
    for (int64_t streamedBytes : {int64_t(1), int64_t(1) << 40})
      for (int i = 0; i < testCount(8); ++i) {
        runner.check(parse(rows), parse(columns), streamedBytes);
        if (HasFatalFailure())
          return;
      }
}

// Rows and columns of less than a line, or of some lines, that go on in the
// next tile, where whole lines of them are none, some or all, and elements that
// are transposed within runs.
TEST(Runtime, TransposesOfTiles) {
  Runner runner(testSeed());
  for (auto [array, tiles] : {std::pair("f32[136,160]", "T(8,128)"),
                              {"f32[141,270]", "T(8,128)"},
                              {"f32[7,300]", "T(8,128)"},
                              {"bf16[112,272]", "T(8,128)(2,1)"},
                              {"bf16[133,300]", "T(16,128)(2,1)"},
                              {"bf16[20,160]", "T(8,128)(2,1)"},
                              {"bf16[28,176]", "T(8,128)(2,1)"},
                              {"u8[40,1000]", "T(8,128)(4,1)"},
                              {"u8[24,100]", "T(4,64)"},
                              {"u8[104,400]", "T(8,128)(4,1)"},
                              {"u8[145,160]", "T(32,128)(4,1)"},
                              {"u8[160,270]", "T(8,128)"},
                              {"u8[72,2048]", "T(8,128)(2,1)"},
                              {"u8[2048,80]", "T(4,64)"},
                              {"f32[66,70]", "T(4,32)(2,1)"},
                              {"f64[37,80]", "T(4,16)"},
                              {"c128[18,36]", "T(2,16)"},
                              {"f32[165,270]", "T(32,128)"},
                              {"f32[130,150]", "T(16,32)"},
                              {"f64[70,90]", "T(8,16)"},
                              {"f64[150,140]", "T(24,32)"},
                              {"c128[59,50]", "T(8,16)"},
                              {"u8[520,300]", "T(128,128)"}})
    for (int64_t streamedBytes : {int64_t(1), int64_t(1) << 40}) {
      auto get = [text = std::string(array)](const std::string &layout) {
        return parse(text + layout);
      };
      std::string tiled = std::string(":") + tiles + "}";
      for (const auto &[source, destination] :
           {std::pair(get("{0,1}"), get("{1,0" + tiled)),
            {get("{1,0" + tiled), get("{0,1}")},
            {get("{1,0}"), get("{0,1" + tiled)},
            {get("{1,0" + tiled), get("{0,1" + tiled)}})
        for (int i = 0; i < testCount(40); ++i) {
          runner.check(source, destination, streamedBytes);
          if (HasFatalFailure())
            return;
        }
    }
}

// A share may have one of the tiles whose rows make several lines of a column.
TEST(Runtime, SharesOfLines) {
  Runner runner(testSeed());
  for (const char *source :
       {"f32[64,640]{0,1:T(128,16)}", "f64[32,320]{0,1:T(64,32)}",
        "bf16[96,640]{0,1:T(128,32)}", "u8[128,1024]{0,1:T(256,64)}",
        "f32[48,768]{0,1:T(256,16)}", "f32[67,650]{0,1:T(128,16)}"})
    for (int i = 0; i < testCount(20); ++i) {
      std::string rows = llvm::StringRef(source).split('{').first.str();
      runner.check(parse(source), parse(rows), /*streamedBytes=*/1);
      if (HasFatalFailure())
        return;
    }
}

// Tiles that the last rows or columns fill in part, in and past the caches:
// runs that continue one another anywhere in a line, rows of pairs and of fours
// that lack some, with padding behind them and without, and long ones of which
// several shares could take columns.
TEST(Runtime, TilesFilledInPart) {
  Runner runner(testSeed());
  // Rows that could also be divided among two columns.
  runner.check(parse("u64[3,2,5]{2,1,0:T(16,2,2)}"),
               parse("u64[3,2,5]{2,1,0:T(*,4,1)PV(highest)}"));
  // Runs that follow one another on both sides with padding, but are no words.
  for (const char *padding : {"", "PV(one)"})
    runner.check(
        parse("u8[6,6,6,1]{1,0,2,3:T(7,8,8)}"),
        parse(llvm::formatv("u8[6,6,6,1]{{2,3,0,1:T(8){0}}", padding).str()));
  for (auto [array, tiles] : {std::pair("u8[19,701]", "T(8,128)"),
                              {"u8[70,301]", "T(32,128)(4,1)"},
                              {"u8[67,1000]", "T(8,128)(4,1)"},
                              {"bf16[39,515]", "T(8,128)(2,1)"},
                              {"bf16[2,3,37,130]", "T(8,128)(2,1)"},
                              {"bf16[17,261]", "T(8,128)(4,1)"},
                              {"u8[67,9]", "T(8,128)(4,1)"},
                              {"u8[70,6]", "T(8,128)(4,1)"},
                              {"bf16[39,5]", "T(8,128)(2,1)"},
                              {"bf16[41,3]", "T(8,128)(4,1)"},
                              {"u8[2,3,7,300]", "T(8,128)(4,1)"},
                              {"f32[2,3,5,9]", "T(4,32)(4,1)"},
                              {"f32[22,3]", "T(8,128)(2,1)"},
                              {"f32[21,399]", "T(8,128)"},
                              {"f32[40,100]", "T(8,128)"},
                              {"f32[22,256]", "T(8,128)"},
                              {"u8[19,384]", "T(8,128)"},
                              {"f32[11,130]", "T(8,128)(2,1)"},
                              {"f32[2,4000]", "T(2,4096)(2,1)"},
                              {"u8[4,9001]", "T(4,9024)(4,1)"},
                              {"u8[28,130]", "T(4,131)(4,1)"},
                              {"f64[13,301]", "T(8,128)"},
                              {"f64[9,140]", "T(8,64)(2,1)"},
                              {"c128[5,70]", "T(2,32)"}})
    for (const char *padding : {"", "PV(zero)", "PV(one)"})
      for (bool isForward : {false, true})
        for (int64_t streamedBytes : {int64_t(1), int64_t(1) << 40}) {
          Shape rows = parse(array);
          const auto *order = rows.rank() == 4 ? "{3,2,1,0:" : "{1,0:";
          Shape tiled =
              parse(std::string(array) + order + tiles + padding + "}");
          runner.check(isForward ? rows : tiled, isForward ? tiled : rows,
                       streamedBytes);
          if (HasFatalFailure())
            return;
        }
}

// Few rows and columns at a time, dense in the destination or with others
// between them.
TEST(Runtime, FewRowsAndColumns) {
  Runner runner(testSeed());
  for (const char *array : {"u8[9,7,170]", "bf16[5,3,130]", "f32[7,3,70]",
                            "u8[9,170,7]", "bf16[5,130,3]", "f32[7,70,3]"})
    for (const char *layout : {"{1,2,0}", "{1,0,2}", "{0,1,2}", "{2,0,1}"})
      for (const char *tile : {"", ":T(2,128)", ":T(16,16)"}) {
        Shape rows = parse(array);
        std::string text = layout;
        text.insert(text.size() - 1, tile);
        Shape columns = parse(array + text);
        runner.check(rows, columns);
        runner.check(columns, rows);
        if (HasFatalFailure())
          return;
      }
}

static std::string getText(llvm::ArrayRef<int64_t> minorToMajor) {
  auto toText = [](int64_t number) { return std::to_string(number); };
  return llvm::join(llvm::map_range(minorToMajor, toText), ",");
}

// Dimensions of less than a line or a register, so that rows and columns go on
// in others.
TEST(Runtime, ShortDimensions) {
  Runner runner(testSeed());
  for (const char *array :
       {"u8[90,5,14]", "u8[3,3,50,20]", "bf16[41,7,12]", "bf16[3,2,5,70]",
        "u8[300,2,7]", "bf16[40,77,2]", "f32[70,3,3]", "f32[2,9,7,33]",
        "f64[35,5,6]", "c128[3,3,19]"}) {
    int64_t rank = parse(array).rank();
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    Shape rows = parse(array);
    do {
      Shape turned =
          parse(llvm::formatv("{0}{{{1}}", array, getText(order)).str());
      for (int64_t streamedBytes : {int64_t(1), int64_t(1) << 40}) {
        runner.check(rows, turned, streamedBytes);
        runner.check(turned, rows, streamedBytes);
        if (HasFatalFailure())
          return;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

namespace {
/// The same array in two layouts.
struct LayoutPair {
  const char *array, *source, *destination;
};
} // namespace

// Both ways, past the caches and through them, `count` times each.
static void checkPairs(int count, llvm::ArrayRef<LayoutPair> pairs) {
  Runner runner(testSeed());
  for (const auto &[array, source, destination] : pairs)
    for (int64_t streamedBytes : {int64_t(1), int64_t(1) << 40}) {
      Shape from = parse(std::string(array) + source);
      Shape to = parse(std::string(array) + destination);
      for (int i = 0; i < testCount(count); ++i) {
        runner.check(from, to, streamedBytes);
        runner.check(to, from, streamedBytes);
        if (testing::Test::HasFatalFailure())
          return;
      }
    }
}

// Blocks of the destination that are put together from a few places of the
// source: of elements of each width, of less than a register and of several,
// with what is left of a loop, and with padding behind them; and what is
// interleaved by short runs, or divided into such.
TEST(Runtime, Gathers) {
  checkPairs(40, {{"u8[70,3,40]", "", "{1,2,0}"},
                  {"u8[90,5,7]", "", "{1,2,0}"},
                  {"u8[40,12,13]", "", "{1,2,0}"},
                  {"u8[3,1031]", "", "{0,1}"},
                  {"u8[3,53,41]", "", "{0,2,1}"},
                  {"u8[20,100,3]", "", "{1,2,0}"},
                  {"u8[50,3,7]", "", "{1,2,0:PD(50,3,8)}"},
                  {"u8[30,5,7]", "", "{1,2,0:PD(30,6,7)}"},
                  {"u8[3,8,30]", "{1,2,0:PD(3,8,33)}", "{2,0,1}"},
                  {"u8[2,3,4,5,6]", "", "{1,2,3,4,0}"},
                  {"bf16[30,3,40]", "", "{1,2,0}"},
                  {"bf16[29,5,7]", "", "{1,2,0}"},
                  {"bf16[64,3,130]", "{0,1,2:T(8,128)(2,1)}", "{2,1,0}"},
                  {"f32[30,3,7]", "", "{1,2,0}"},
                  {"f64[19,3,3]", "", "{1,2,0}"},
                  {"u8[13,160,5]", "{1,0,2:T(8,128)(4,1)}", "{2,1,0}"},
                  {"u8[7,40,130]", "{2,1,0:T(8,128)(4,1)}", "{0,1,2}"},
                  {"u8[6,3,45]", "", "{1,2,0:T(*,16)PV(one)}"},
                  {"bf16[70,40]", "{1,0:T(16,128)(2,1)}", "{1,0:T(128,8)}"},
                  {"bf16[67,43]", "{1,0:T(128,8)}", "{1,0:T(8,128)(2,1)}"},
                  {"u8[130,50]", "{1,0:T(32,128)(4,1)}", "{1,0:T(128,8)}"},
                  {"u8[130,50]", "{1,0:T(128,16)}", "{1,0:T(8,128)(4,1)}"},
                  {"f32[70,9]", "{1,0:T(4,128)(2,1)}", "{1,0:T(32,4)}"},
                  {"u8[8,40,22]", "{1,0,2}", "{0,1,2}"},
                  // Few blocks in the innermost loop.
                  {"u8[30,5,96]", "", "{1,2,0}"},
                  {"u8[19,96,5]", "", "{1,2,0}"}});
}

// One row of two or four, or two of four, and the rest of its tile.
TEST(Runtime, FillsBehindRows) {
  checkPairs(10, {{"u8[3,1,300]", "", "{2,1,0:T(8,128)(4,1)PV(one)}"},
                  {"u8[1031]", "", "{0:T(8,128)(4,1)PV(one)}"},
                  {"u8[7,6,256]", "", "{2,1,0:T(32,128)(4,1)PV(one)}"},
                  {"bf16[3,5,260]", "", "{2,1,0:T(8,128)(2,1)PV(one)}"},
                  {"bf16[1000]", "", "{0:T(16,128)(2,1)PV(one)}"},
                  {"f32[517]", "", "{0:T(8,128)(2,1)PV(one)}"}});
}

// Up to 16 rows that become columns without gaps, and back: of less than a
// register, of several, of some pieces past the caches, and of rows that lie
// apart.
TEST(Runtime, DenseRows) {
  for (auto [type, bytes] :
       {std::pair("u8", 1), {"bf16", 2}, {"f32", 4}, {"f64", 8}})
    for (int rows = 3; rows <= 16; ++rows)
      for (int columns :
           {16 / bytes, 31, 64 / bytes + 1, 64, 200, 1024 / bytes + 75}) {
        auto array = llvm::formatv("{0}[5,{1},{2}]", type, rows, columns).str();
        auto apart =
            llvm::formatv("{{2,1,0:PD(5,{0},{1})}", rows, columns + 3).str();
        checkPairs(4, {{array.c_str(), "", "{1,2,0}"},
                       {array.c_str(), apart.c_str(), "{1,2,0}"}});
        if (HasFatalFailure())
          return;
      }
}

// Runs of each size up to some lines, alone and with what lies between.
TEST(Runtime, RunsOfAnySize) {
  for (int size = 1; size <= 140; ++size) {
    auto array = llvm::formatv("u8[5,7,{0}]", size).str();
    auto apart = llvm::formatv("{{2,0,1:PD(5,7,{0})}", size + 3).str();
    checkPairs(1, {{array.c_str(), "", "{2,0,1}"},
                   {array.c_str(), "", apart.c_str()}});
    if (HasFatalFailure())
      return;
  }
}

// Runs that are left to the C library, and padding behind them.
TEST(Runtime, LongRuns) {
  checkPairs(3, {{"f32[5001]", "", "{0:T(1024)PV(one)}"},
                 {"u8[3,20001]", "", "{1,0:T(1,1024)PV(one)}"},
                 {"bf16[2,9000]", "", "{1,0:T(1,128)PV(lowest)}"},
                 {"u8[3,20001]", "", "{1,0:PD(3,20100)}"}});
}

// Rows that lie half pages apart, of a pair of lines, of several, and of parts
// of some; columns that leave room in the first-level cache and that do not.
TEST(Runtime, RowsHalfPagesApart) {
  checkPairs(5, {{"f32[50,70]", "{1,0:PD(50,512)}", "{0,1}"},
                 {"f32[37,24]", "{1,0:PD(37,1024)}", "{0,1}"},
                 {"f32[77,1024]", "", "{0,1}"},
                 {"f32[256,512]", "", "{0,1}"},
                 {"f64[21,260]", "{1,0:PD(21,512)}", "{0,1}"},
                 {"f64[9,19]", "{1,0:PD(9,256)}", "{0,1}"},
                 {"c128[11,130]", "{1,0:PD(11,256)}", "{0,1}"}});
}

// Columns whose pitch is close to a page, or to a part of one.
TEST(Runtime, PitchesCloseToPages) {
  checkPairs(5, {{"u8[70,1031]", "", "{0,1}"},
                 {"u8[66,2049]", "{1,0:T(32,128)(4,1)}", ""},
                 {"u8[257,509]", "", "{0,1}"},
                 {"bf16[40,1023]", "", "{0,1}"},
                 {"bf16[300,1025]", "", "{0,1}"},
                 {"bf16[35,1025]", "{1,0:T(16,128)(2,1)}", ""},
                 {"f32[20,1025]", "", "{0,1}"},
                 {"f32[150,1030]", "", "{0,1}"},
                 {"f64[17,511]", "", "{0,1}"},
                 // Columns of a lane are in one set, and rows in one, too.
                 {"bf16[2047,21]", "", "{0,1}"},
                 {"u8[4097,35]", "", "{0,1}"},
                 {"u8[300,70]", "{1,0:PD(300,4096)}", "{0,1:PD(4095,70)}"},
                 {"bf16[150,45]", "{1,0:PD(150,2048)}", "{0,1:PD(2049,45)}"}});
}

// Tiles that have code of their own, side by side or below one another, and
// those behind them.
TEST(Runtime, OwnTiles) {
  checkPairs(5, {{"bf16[33,300]", "", "{0,1}"},
                 {"bf16[70,157]", "", "{0,1}"},
                 {"bf16[2,64,128]", "", "{1,2,0}"},
                 {"bf16[32,130]", "{1,0:PD(32,2048)}", "{0,1}"},
                 {"f32[16,300]", "", "{0,1}"},
                 {"f32[41,150]", "", "{0,1}"},
                 {"f32[3,63,129]", "", "{1,2,0}"},
                 {"f32[140,41]", "", "{0,1}"},
                 {"f32[150,40]", "{1,0:T(8,128)}", "{0,1:T(8,128)}"},
                 {"f32[300,145]", "{1,0:T(8,128)}", "{0,1}"},
                 {"f64[11,140]", "", "{0,1}"},
                 {"f64[47,75]", "", "{0,1}"},
                 // Two lines of each column at a time, past the caches.
                 {"f64[33,50]", "{1,0:PD(33,130)}", "{0,1:PD(35,50)}"},
                 // Two lines of each row at a time, of rows that are a chain.
                 {"f64[45,75]", "{1,0:T(8,128)}", "{0,1:T(8,128)}"},
                 {"c128[45,21]", "{1,0:T(8,128)}", "{0,1:T(8,128)}"},
                 {"bf16[150,70]", "{1,0:T(8,128)(2,1)}", "{0,1:T(8,128)(2,1)}"},
                 {"s8[70,141]", "{1,0:T(8,128)(4,1)}", "{0,1:T(8,128)(4,1)}"}});
}

// Runs of a line or half of one, of which rows become columns: whole lines and
// parts of some, few rows and many, more columns than are taken at a time.
TEST(Runtime, ShortRuns) {
  checkPairs(
      10, {{"f32[260,136]", "", "{1,0:T(128,8)}"},
           {"f32[131,77]", "", "{1,0:T(128,8)}"},
           {"f32[256,160]", "", "{1,0:T(32,16)}"},
           {"bf16[3,20,13,16]", "", "{3,1,2,0}"},
           {"bf16[2,17,11,32]", "", "{3,1,2,0}"},
           {"u8[18,11,32]", "", "{2,0,1}"},
           {"u8[5,21,64]", "", "{2,0,1}"},
           {"u8[18,11,40]", "{2,1,0:PD(18,11,64)}", "{2,0,1:T(*,32)PV(one)}"},
           {"f64[40,30,4]", "", "{2,0,1}"}});
}

// Columns of less than a line, with the padding behind them and without: whole
// groups of some and the rest, chains of rows and of columns, lines that begin
// anywhere.
TEST(Runtime, SparseColumns) {
  checkPairs(20, {{"f32[4,30,3,37]", "{3,1,0,2}", "{0,1,3,2:T(8,128)}"},
                  {"f32[9,51,2]", "{0,1,2}", "{2,1,0:T(1,128)}"},
                  {"f64[3,18,21]", "", "{0,1,2:T(2,8)}"},
                  {"f64[3,18,21]", "", "{0,1,2:PD(11,18,21)}"},
                  {"bf16[12,1,4,50]", "{3,2,1,0:T(8,128)(2,1)}",
                   "{1,0,2,3:T(8,128)(2,1)}"},
                  {"bf16[7,5,131]", "", "{1,0,2:T(8,128)(2,1)}"},
                  {"bf16[25,77,3]", "{1,0,2}", "{2,1,0:PD(100,77,25)}"},
                  {"u8[3,9,20,40]", "{3,2,1,0:T(32,128)(4,1)}",
                   "{0,3,2,1:T(32,128)(4,1)}"},
                  {"u8[8,21,12,16]", "", "{2,0,3,1:T(32,128)(4,1)}"},
                  {"u8[12,24,9,8]", "{0,1,3,2:T(32,128)(4,1)}",
                   "{3,2,1,0:T(32,128)(4,1)}"},
                  {"u8[17,30,40]", "", "{0,2,1:T(1,128)PV(one)}"}});
}

// Tiles that pack another dimension on the other side, which is one of those of
// the lines there, or is not; whole words and squares, and parts of some.
TEST(Runtime, OtherDimensionsPacked) {
  Runner runner(testSeed());
  for (auto [array, tiles] : {std::pair("bf16[12,20,136]", "T(8,128)(2,1)"),
                              {"bf16[7,9,131]", "T(8,128)(2,1)"},
                              {"bf16[10,36,24]", "T(16,128)(2,1)"},
                              {"bf16[8,12,40]", "T(8,32)(4,1)"},
                              {"u8[12,20,136]", "T(8,128)(4,1)"},
                              {"u8[9,35,50]", "T(8,128)(4,1)"},
                              {"u8[6,18,70]", "T(8,32)(2,1)"},
                              {"f32[6,12,40]", "T(4,16)(2,1)"},
                              {"f32[8,12,20]", "T(8,16)(4,1)"},
                              {"u8[80,48,7]", "T(32,128)(4,1)"},
                              {"bf16[130,48,3]", "T(8,128)(2,1)"},
                              {"f64[4,6,20]", "T(4,16)(2,1)"}})
    for (auto [padding, streamedBytes] : {std::pair("", int64_t(1)),
                                          {"", int64_t(1) << 40},
                                          {"PV(one)", int64_t(1) << 40}})
      for (const char *from : {"2,1,0", "1,0,2", "0,2,1"})
        for (const char *to : {"2,1,0", "2,0,1", "1,2,0", "0,1,2"}) {
          auto get = [=, array = array, tiles = tiles,
                      padding = padding](const char *order) {
            return parse(
                llvm::formatv("{0}{{{1}:{2}{3}}", array, order, tiles, padding)
                    .str());
          };
          runner.check(get(from), get(to), streamedBytes);
          if (HasFatalFailure())
            return;
        }
}

// Nested tiles, which zip and split the bits of a byte, at sizes of registers
// of all widths, whole and odd.
TEST(Runtime, PackedPairsOfEachKernel) {
  Runner runner(testSeed());
  auto makeShape = [](const std::string &array, const std::string &layout,
                      bool isPacked) {
    Shape shape = parse(array + layout);
    Layout packed = shape.layout();
    packed.elementSizeInBits = isPacked ? getBitWidth(shape.elementType()) : 0;
    return Shape::array(shape.elementType(), shape.dimensions(), packed);
  };
  for (const char *type : {"s4", "u4", "s2", "u1"})
    for (const char *dims : {"[64,257]", "[35,300]"})
      for (const char *layout :
           {"{1,0}", "{1,0:T(64,128)(8,1)}", "{1,0:T(32,128)(4,1)}",
            "{1,0:T(16,256)(2,1)}"})
        for (bool isPacked : {false, true}) {
          std::string array = std::string(type) + dims;
          Shape tiled = makeShape(array, layout, /*isPacked=*/true);
          Shape plain = makeShape(array, "{1,0}", isPacked);
          runner.check(plain, tiled);
          runner.check(tiled, plain);
          if (HasFatalFailure())
            return;
        }
}

// Elements that share bytes: by words and halves of registers, and by blocks of
// which the bytes are transposed before they are packed or behind it, with what
// is left of loops on either side, bits that keep their values, and signs.
TEST(Runtime, PackedBlocks) {
  checkPairs(
      6, {{"s4[200,300]", "{1,0:E(4)}", "{0,1:E(4)}"},
          {"s4[130,1000]", "{1,0}", "{0,1:T(8,128)E(4)}"},
          {"s4[70,1024]", "{1,0}", "{1,0:E(4)}"},
          {"s4[64,530]", "{1,0:T(64,128)(8,1)E(4)}", "{1,0:E(4)}"},
          {"s4[3,40,260]", "{2,1,0:T(8,128)(8,1)E(4)}", "{2,1,0}"},
          {"u4[40,520]", "{1,0:T(8,128)(4,1)E(4)}", "{1,0:E(4)}"},
          {"u4[40,520]", "{1,0:T(8,128)(2,1)E(4)}", "{1,0:E(4)}"},
          {"s4[60,7,90]", "{1,2,0:E(4)}", "{2,1,0:T(8,128)(8,1)E(4)}"},
          {"s4[8,33,70]", "{2,1,0:E(4)}", "{1,2,0:E(4)}"},
          {"s4[40,300,3]", "{2,1,0:E(4)}", "{0,1,2:E(4)}"},
          {"s4[30,2,320]", "{1,2,0:E(4)}", "{2,1,0:T(32,128)(8,1)E(4)}"},
          {"s4[20,2,320]", "{1,2,0:E(4)}", "{2,1,0:T(32,128)(8,1)E(4)PV(one)}"},
          {"s4[150,1,200]", "{0,1,2:T(8,128)(8,1)E(4)}", "{1,0,2:E(4)}"},
          {"s4[2,1,600]", "{2,1,0:T(8,128)(8,1)E(4)}", "{2,1,0}"},
          {"u2[90,500]", "{0,1}", "{1,0:E(2)}"},
          {"s2[80,500]", "{1,0}", "{1,0:E(2)}"},
          {"s2[3,77,300]", "{2,1,0}", "{2,1,0:T(8,128)(16,1)E(2)}"},
          {"s2[5,60,90]", "{0,1,2:E(2)}", "{2,0,1:E(2)}"},
          {"u2[64,530]", "{1,0:E(2)}", "{1,0:T(64,128)(4,1)E(2)}"},
          {"u2[70,530]", "{1,0}", "{1,0:T(64,128)(16,1)E(2)}"},
          {"u1[40,600]", "{1,0}", "{1,0:E(1)}"},
          {"u1[70,90]", "{0,1:E(1)}", "{1,0:E(1)}"}});
}

TEST(Runtime, PartsOfArrays) {
  ShapePairs pairs(testSeed());
  Runner runner(testSeed());
  for (int i = 0, count = testCount(1000); i < count; ++i) {
    auto whole = i % 3 == 0 ? nextPacked(pairs) : pairs.next();
    auto [source, from] = growAround(whole.first, pairs);
    auto [destination, to] = growAround(whole.second, pairs);
    std::string fromText = printBox(from), toText = printBox(to);
    SCOPED_TRACE(ArrayPart(source, from).toString() + " to " +
                 ArrayPart(destination, to).toString() +
                 ", TESSERA_SEED=" + std::to_string(testSeed()));
    TesseraRuntimeOptions options = runner.options();
    options.sourceBox = fromText.c_str();
    options.destinationBox = toText.c_str();
    Handle relayout = create(source, destination, options);
    ASSERT_TRUE(relayout);
    ModelSide src(source, from), dst(destination, to);
    runner.check(
        relayout.get(), src.bytes, src.bits,
        [&](size_t i) { return src.positions[i] * src.bits; }, dst,
        options.zeroPadding);
    if (HasFatalFailure())
      return;
  }
}

// Every so many packed elements, the last of which may end the array: words of
// which parts are taken, and those behind it are not there.
TEST(Runtime, StepsOfPackedElements) {
  Runner runner(testSeed());
  for (auto [type, bits] :
       {std::pair("s4", 4), {"u4", 4}, {"s2", 2}, {"u1", 1}})
    for (int64_t step : {2, 3, 4, 8, 16, 32})
      for (bool isPacked : {false, true})
        for (int i = 0; i < testCount(10); ++i) {
          int64_t count = runner.number(120, 900), begin = runner.number(0, 9);
          int64_t size = begin + (count - 1) * step + 1;
          Shape source = parse(
              llvm::formatv("{0}[{1}]{{0:E({2})}", type, size, bits).str());
          Shape destination = parse(llvm::formatv("{0}[{1}]{{0:E({2})}", type,
                                                  count, isPacked ? bits : 8)
                                        .str());
          Box from = {{begin, count, step}};
          SCOPED_TRACE(ArrayPart(source, from).toString() + " to " +
                       destination.toString());
          std::string fromText = printBox(from);
          TesseraRuntimeOptions options = runner.options();
          options.sourceBox = fromText.c_str();
          Handle relayout = create(source, destination, options);
          ASSERT_TRUE(relayout);
          ModelSide src(source, from), dst(destination);
          runner.check(
              relayout.get(), src.bytes, src.bits,
              [&](size_t i) { return src.positions[i] * src.bits; }, dst,
              options.zeroPadding);
          if (HasFatalFailure())
            return;
        }
}

TEST(Runtime, InPlace) {
  RandomLayouts layouts(testSeed(), /*maxPositions=*/512);
  ShapePairs pairs(testSeed());
  Runner runner(testSeed());
  for (int i = 0, count = testCount(6000); i < count; ++i) {
    auto dims = layouts.dimensions();
    PrimitiveType type = layouts.elementType();
    Shape source = Shape::array(type, dims, layouts.layout(dims, type));
    Shape destination = Shape::array(type, dims, layouts.layout(dims, type));
    if (i % 3 == 0)
      std::tie(source, destination) = pairs.next();
    else if (i % 12 == 1)
      std::tie(source, destination) = nextPacked(pairs);
    else if (!isLegal(source) || !isLegal(destination))
      continue;
    runner.checkInPlace(source, destination);
    if (HasFatalFailure())
      return;
  }
}

TEST(Runtime, InPlaceInManyBands) {
  Runner runner(testSeed());
  for (const char *tiles : {"T(8,128)", "T(8,128)(2,1)", "T(3,50)", "T(700)"})
    for (const char *type : {"bf16", "s4", "f64"})
      for (const char *array :
           {"[301,257]{1,0", "[64,256]{1,0", "[5,77,130]{2,1,0"}) {
        bool isPacked = llvm::StringRef(type) == "s4";
        std::string begin = (llvm::Twine(type) + array).str();
        Shape plain =
            parse((llvm::Twine(begin) + (isPacked ? ":E(4)}" : "}")).str());
        Shape tiled = parse(
            (llvm::Twine(begin) + ":" + tiles + (isPacked ? "E(4)}" : "}"))
                .str());
        runner.checkInPlace(plain, tiled);
        runner.checkInPlace(tiled, plain);
        if (HasFatalFailure())
          return;
      }
}

TEST(Runtime, InPlaceErrors) {
  TesseraRuntimeOptions options = {};
  Shape source = parse("f32[3,5]{1,0}"), tiled = parse("f32[3,5]{1,0:T(4,8)}");
  Handle relayout = create(source, tiled, options);
  char buffer[128] = {};
  auto run = [&](char *data, size_t bytes) {
    return take(tesseraRuntimeRelayoutRunInPlace(relayout.get(), data, bytes));
  };
  EXPECT_THAT(run(buffer, 127),
              HasSubstr("expected at least 128 bytes, found 127"));
  EXPECT_THAT(run(nullptr, 128), HasSubstr("null"));
  options.sourceBox = options.destinationBox = "0:2,:";
  relayout = create(source, tiled, options);
  EXPECT_THAT(run(buffer, 128), HasSubstr("unsupported move in place"));
  options = {};
  options.scratchBytes = -1;
  TesseraRuntimeRelayout *none = nullptr;
  EXPECT_THAT(
      take(tesseraRuntimeRelayoutCreate("f32[2]", "f32[2]", &options, &none)),
      HasSubstr("invalid scratchBytes"));
}

TEST(Runtime, Parallel) {
  Runner runner(testSeed());
  Handle relayout = create(parse("bf16[1500,2001]{1,0}"),
                           parse("bf16[1500,2001]{1,0:T(8,128)(2,1)PV(zero)}"));
  std::vector<uint8_t> input(
      tesseraRuntimeRelayoutGetSourceBytes(relayout.get()));
  std::vector<uint8_t> expected(
      tesseraRuntimeRelayoutGetDestinationBytes(relayout.get()));
  runner.fill(input);
  auto run = [&](std::vector<uint8_t> &output, int64_t threads,
                 TesseraRuntimeParallelFor parallelFor, void *userData) {
    return take(tesseraRuntimeRelayoutRunParallel(
        relayout.get(), input.data(), input.size(), output.data(),
        output.size(), threads, parallelFor, userData));
  };
  EXPECT_EQ(run(expected, 1, nullptr, nullptr), "");
  for (int64_t threads : {2, 3, 5, 64}) {
    std::vector<uint8_t> output(expected.size());
    EXPECT_EQ(run(output, threads, nullptr, nullptr), "");
    EXPECT_EQ(output, expected);
    // The caller's own threads, in the order that it likes.
    int64_t calls = 0;
    auto backwards = [](int64_t count, TesseraRuntimeTask task, void *context,
                        void *userData) {
      *static_cast<int64_t *>(userData) = count;
      for (int64_t i = count; i-- > 0;)
        task(context, i);
    };
    output.assign(expected.size(), 0);
    EXPECT_EQ(run(output, threads, backwards, &calls), "");
    EXPECT_EQ(output, expected);
    EXPECT_GT(calls, 1);
    EXPECT_LE(calls, threads);
  }
  for (int64_t threads : {0, 1025})
    EXPECT_THAT(run(expected, threads, nullptr, nullptr),
                HasSubstr("expected one from 1 to 1024"));
}

//===----------------------------------------------------------------------===//
// Strides, structs, threads
//===----------------------------------------------------------------------===//

namespace {
/// Strides of a source: in any order, with gaps, from the last to the first,
/// the same element again and again.
struct RandomStrides {
  RandomStrides(llvm::ArrayRef<int64_t> dims, int64_t width, Runner &runner)
      : strides(dims.size()), bytes(width) {
    llvm::SmallVector<size_t> order;
    for (size_t i = 0; i < dims.size(); ++i)
      order.push_back(i);
    std::shuffle(order.begin(), order.end(), runner.engine);
    // Bytes between elements need not be a multiple of the element.
    int64_t next = width + (runner.oneIn(4) ? runner.number(0, 9) : 0);
    for (size_t dim : order) {
      strides[dim] = runner.oneIn(8) ? 0 : next;
      int64_t reach = (dims[dim] - 1) * strides[dim];
      bytes += reach;
      next += reach + (runner.oneIn(3) ? runner.number(0, 20) : 0);
      if (runner.oneIn(4)) {
        strides[dim] = -strides[dim];
        offset += reach;
      }
    }
    int64_t before = runner.oneIn(2) ? runner.number(0, 30) : 0;
    offset += before;
    bytes += before;
  }

  int64_t getBit(llvm::ArrayRef<int64_t> index) const {
    int64_t byte = offset;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      byte += i * stride;
    return byte * 8;
  }

  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0, bytes;
};
} // namespace

/// A pair whose source has the strides `strides`.
static void checkStrided(const Shape &destination, const RandomStrides &strides,
                         Runner &runner) {
  TesseraRuntimeOptions options = runner.options();
  ModelSide to(destination);
  Shape plain = Shape::array(destination.elementType(), to.shape.dimensions(),
                             Layout::descending(to.shape.rank()));
  ArrayOfShape source(plain), target(destination);
  source.array.byteStrides = {strides.strides.data(), strides.strides.size()};
  source.array.byteOffset = strides.offset;
  TesseraRuntimeRelayout *relayout = nullptr;
  ASSERT_EQ(take(tesseraRuntimeRelayoutCreateOfArrays(
                &source.array, &target.array, &options, &relayout)),
            "");
  Handle handle(relayout);
  auto indices = allIndices(to.shape.dimensions());
  int64_t bits = getByteWidth(destination.elementType()) * 8;
  // The struct has no PV.
  ModelSide unpadded(destination);
  Layout layout = destination.layout();
  layout.paddingValue = std::nullopt;
  unpadded.shape.setLayout(layout);
  runner.check(
      relayout, strides.bytes, bits,
      [&](size_t i) { return strides.getBit(indices[i]); }, unpadded,
      options.zeroPadding);
}

TEST(Runtime, StridedSources) {
  ShapePairs pairs(testSeed());
  Runner runner(testSeed());
  for (int i = 0, count = testCount(2500); i < count; ++i) {
    Shape destination =
        i % 4 == 0 ? nextPacked(pairs).second : pairs.next().second;
    Layout layout = destination.layout();
    layout.paddedDimensions.clear(); // The struct has none.
    layout.tailPaddingAlignment = 1;
    destination.setLayout(layout);
    if (destination.rank() == 0)
      continue;
    RandomStrides strides(destination.dimensions(),
                          getByteWidth(destination.elementType()), runner);
    SCOPED_TRACE(destination.toString() + ", TESSERA_SEED=" +
                 std::to_string(testSeed()) + ", number " + std::to_string(i));
    // The bytes between elements of 4 bits that have a byte each are packed by
    // another kernel, which takes strides as they come, too.
    checkStrided(destination, strides, runner);
    if (HasFatalFailure())
      return;
  }
  // Nothing is read behind the last element, which a square would have.
  Shape pairsOfRows = parse("bf16[8,128]{1,0:T(8,128)(2,1)}");
  RandomStrides everyOther(pairsOfRows.dimensions(), 2, runner);
  everyOther.strides = {4, 32};
  everyOther.offset = 0;
  everyOther.bytes = 7 * 4 + 127 * 32 + 2;
  // Windows overlap: more columns than a word has begin in it.
  Shape windows = parse("bf16[5,8,128]{2,1,0:T(8,128)(2,1)}");
  RandomStrides overlapping(windows.dimensions(), 2, runner);
  overlapping.strides = {2, 1000, 4};
  overlapping.offset = 0;
  overlapping.bytes = 4 * 2 + 7 * 1000 + 127 * 4 + 2;
  // Windows of a gather that goes backwards begin with its last element.
  Shape colours = parse("u8[9,3,40]{1,2,0}");
  RandomStrides backwards(colours.dimensions(), 1, runner);
  backwards.strides = {-300, 90, -2};
  backwards.offset = 8 * 300 + 39 * 2;
  backwards.bytes = backwards.offset + 2 * 90 + 1;
  for (int i = 0; i < 8; ++i) {
    checkStrided(pairsOfRows, everyOther, runner);
    checkStrided(windows, overlapping, runner);
    checkStrided(colours, backwards, runner);
  }
}

static std::string print(const TesseraRuntimeRelayout *relayout) {
  std::string text;
  tesseraRuntimeRelayoutPrint(
      relayout,
      [](const char *data, size_t length, void *to) {
        static_cast<std::string *>(to)->append(data, length);
      },
      &text);
  return text;
}

// How it moves them, by registers of `vectorBytes` at most.
static std::string printMoves(const char *source, const char *destination,
                              int64_t vectorBytes, int64_t streamedBytes) {
  TesseraRuntimeOptions options = {};
  options.vectorBytes = vectorBytes;
  options.streamedBytes = streamedBytes;
  Handle relayout = create(parse(source), parse(destination), options);
  return print(relayout.get());
}

namespace {
struct ExpectedMoves {
  const char *source, *destination, *text;
};
} // namespace

// Whether that is part of how each pair is moved within the caches, by any
// registers.
static void expectMoves(llvm::ArrayRef<ExpectedMoves> cases) {
  for (const auto &[source, destination, text] : cases)
    for (int64_t vectorBytes : {16, 32, 64}) {
      std::string moves = printMoves(source, destination, vectorBytes,
                                     /*streamedBytes=*/int64_t(1) << 40);
      EXPECT_NE(moves.find(text), std::string::npos)
          << source << " to " << destination << "\n"
          << moves;
    }
}

// How packed elements are moved by blocks.
TEST(Runtime, FormsOfPackedBlocks) {
  expectMoves(
      {// Words of two bytes become one each.
       {"s4[64,96]", "s4[64,96]{1,0:E(4)}",
        "pack bits of 1 byte, src 0 dst 0\n  columns 3072  src 2 dst 1\n"},
       // Rows of a tile share words of four bytes.
       {"s4[64,512]{1,0:T(64,128)(8,1)E(4)}", "s4[64,512]{1,0:E(4)}",
        "  columns 64  src 8 dst 1\n  more columns 4  src 1 dst 512\n"},
       // Bytes are transposed, and packed on their way to the destination;
       {"s4[128,96]{1,0:E(4)}", "s4[128,96]{0,1:E(4)}",
        "  read\n    transpose of 1 byte, src 0 dst 0\n"
        "      rows 64  src 96 dst 1\n      columns 96  src 1 dst 64\n"
        "  write\n    pack bits of 1 byte, src 0 dst 0\n"
        "      for 48  src 64 dst 128\n      columns 64  src 1 dst 1\n"},
       // where that makes fewer of them, they are packed first;
       {"s4[128,128]", "s4[128,128]{0,1:E(4)}",
        "  read\n    pack bits of 1 byte, src 0 dst 0\n"
        "      for 64  src 256 dst 128\n      columns 128  src 1 dst 1\n"
        "  write\n    transpose of 1 byte, src 0 dst 0\n"
        "      rows 64  src 128 dst 1\n      columns 128  src 1 dst 64\n"},
       // or between two moves of bytes, of which one keeps bits.
       {"s4[600,7]{0,1:E(4)}", "s4[600,7]{1,0:T(8,128)E(4)}",
        "  read from the destination at src 0 dst 320\n    copy of 1 byte, "
        "src 0 dst 0\n"
        "      for 300  src 128 dst 1\n  pack\n    pack bits of 1 byte, src 0 "
        "dst 0\n"
        "      columns 320  src 1 dst 1\n  write\n"}});
}

// Tiles are read from end to end; those with many rows that begin at one set of
// a cache are written row by row, unless that bypasses the caches.
TEST(Runtime, OrderOfTiles) {
  constexpr int64_t kNever = int64_t(1) << 40;
  const char *rows = "s8[64,4096]";
  const char *tall = "s8[64,4096]{1,0:T(32,128)(4,1)}";
  const char *flat = "s8[64,4096]{1,0:T(8,128)(4,1)}";
  std::string byTile = "  for 32  src 4096 dst 128\n  for 8  src 512";
  std::string byRow = "  for 8  src 512 dst 16384\n  for 32  src 4096";
  for (int64_t vectorBytes : {16, 32, 64}) {
    EXPECT_NE(printMoves(tall, rows, vectorBytes, kNever).find(byRow),
              std::string::npos);
    EXPECT_NE(printMoves(tall, rows, vectorBytes, 1).find(byTile),
              std::string::npos);
    // So are those that begin close to one set.
    EXPECT_NE(printMoves("s8[64,4097]{1,0:T(32,128)(4,1)}", "s8[64,4097]",
                         vectorBytes, kNever)
                  .find("  for 8  src 512 dst 16388\n  for 32  src 4096"),
              std::string::npos);
    EXPECT_NE(printMoves("s8[64,4160]{1,0:T(32,128)(4,1)}", "s8[64,4160]",
                         vectorBytes, kNever)
                  .find("  for 32  src 4096 dst 128\n  for 8  src 512"),
              std::string::npos);
    EXPECT_NE(printMoves(flat, rows, vectorBytes, kNever)
                  .find("  for 32  src 1024 dst 128\n  for 2  src 512"),
              std::string::npos);
  }
}

// The last column, which is a tile of its own, takes turns with large tiles
// beside it, and not with those that a cache holds.
TEST(Runtime, TurnsOfOneColumn) {
  checkPairs(1, {{"s8[515,1025]", "{1,0:T(32,128)(4,1)}", ""}});
  constexpr int64_t kNever = int64_t(1) << 40;
  for (auto [tiles, rows, takesTurns] :
       {std::tuple("s8[544,1025]{1,0:T(32,128)(4,1)}", "s8[544,1025]", true),
        {"s8[256,1025]{1,0:T(32,128)(4,1)}", "s8[256,1025]", false}}) {
    std::string moves = printMoves(tiles, rows, /*vectorBytes=*/32, kNever);
    EXPECT_NE(moves.find("copy of 1 byte, src 32768 dst 1024\n"),
              std::string::npos)
        << moves;
    EXPECT_EQ(moves.find("\nand copy of 1 byte, src 32768 dst 1024\n") !=
                  std::string::npos,
              takesTurns)
        << moves;
  }
}

// Columns of few lines that are a multiple of a page apart: a few of them at a
// time, in whole lanes, where other steps go on in their pages.
TEST(Runtime, DividedColumns) {
  checkPairs(2,
             {{"s8[30,64,130]", "{2,1,0:T(32,128)(4,1)}", "{1,0,2:T(32,128)}"},
              {"f32[8,5,9,48]", "", "{0,2,1,3:T(8,128)}"},
              {"bf16[6,3,9,128]", "", "{0,2,1,3:T(16,128)(2,1)}"},
              {"f64[20,27,32]", "{0,2,1}", "{2,1,0:T(8,128)}"}});
  constexpr int64_t kNever = int64_t(1) << 40;
  std::string moves =
      printMoves("f32[8,33,10,160]", "f32[8,33,10,160]{0,2,1,3:T(8,128)}",
                 /*vectorBytes=*/64, kNever);
  EXPECT_NE(moves.find("  for 10  src 64 dst 4325376\n"
                       "  for 33  src 6400 dst 8192\n"
                       "  for 10  src 640 dst 512\n"
                       "  rows 8  src 211200 dst 4\n"
                       "  columns 16  src 4 dst 270336\n"),
            std::string::npos)
      << moves;
  // Not where they are in many sets, or no few of them make whole lanes.
  for (auto [source, destination, columns] :
       {std::tuple("f32[8,33,10,160]",
                   "f32[8,33,10,160]{0,2,1,3:PD(40,33,10,160)}", "columns 160"),
        {"f32[8,33,8,150]", "f32[8,33,8,150]{0,2,1,3:T(8,128)}",
         "columns 150"}}) {
    moves = printMoves(source, destination, /*vectorBytes=*/64, kNever);
    EXPECT_NE(moves.find(columns), std::string::npos) << moves;
  }
}

// Rows of a lane that are read without gaps, from tile to tile.
TEST(Runtime, DividedChains) {
  checkPairs(10, {{"bf16[3,300,27]", "{2,1,0:T(128,8)}", "{1,2,0}"},
                  {"u8[3,200,70]", "{2,1,0:T(64,16)}", "{1,2,0}"},
                  {"f32[3,150,13]", "{2,1,0:T(32,4)}", "{1,2,0}"}});
  const char *tiles = "bf16[3,300,27]{2,1,0:T(128,8)}";
  const char *rows = "bf16[3,300,27]{1,2,0}";
  EXPECT_NE(printMoves(tiles, rows, /*vectorBytes=*/16, int64_t(1) << 40)
                .find("  for 2  src 8192 dst 256\n  rows 128  src 16 dst 2\n"
                      "  columns 8  src 2 dst 600\n"),
            std::string::npos);
  EXPECT_NE(printMoves(tiles, rows, /*vectorBytes=*/16, /*streamedBytes=*/1)
                .find("  more rows 2  src 8192 dst 256\n"),
            std::string::npos);
  // Rows of a line are one where columns evict one another.
  for (auto [source, destination, isChain] :
       {std::tuple("f64[512,256]{1,0:T(8,128)}", "f64[512,256]{0,1}", true),
        {"f64[500,256]{1,0:T(8,128)}", "f64[500,256]{0,1}", false},
        {"f64[512,256]{1,0:T(64,128)}", "f64[512,256]{0,1}", false}}) {
    std::string moves = printMoves(source, destination, /*vectorBytes=*/16,
                                   /*streamedBytes=*/int64_t(1) << 40);
    EXPECT_EQ(moves.find("more rows") != std::string::npos, isChain) << moves;
  }
}

// Small blocks are gathered, where there is an instruction that picks bytes by
// number: from windows of all of a register, or of each lane of 16 bytes.
TEST(Runtime, GatheredBlocks) {
  struct {
    const char *source, *destination, *text;
  } cases[] = {
      {"u8[2000,3,40]", "u8[2000,3,40]{1,2,0}",
       "gather of 120 bytes, src 0 dst 0, 3 windows of a register\n"
       "  for 2000  src 120 dst 120\n"},
      {"u8[2000,40,3]", "u8[2000,40,3]{1,2,0}", " windows of a lane\n"},
      // What is left of a loop.
      {"u8[3,1031]", "u8[3,1031]{0,1}",
       "  for 16  src 64 dst 192\n"
       "gather of 21 bytes, src 1024 dst 3072, 3 windows of a register\n"},
      // A row that would be no whole block.
      {"u8[70,100,3]", "u8[70,100,3]{1,2,0}",
       "gather of 100 bytes, src 0 dst 0, 3 windows of a lane\n"
       "  for 70  src 300 dst 300\n"
       "  for 3  src 1 dst 100\n"},
      // All of a line is read at once.
      {"u8[7,40,384]{2,1,0:T(8,128)(4,1)}", "u8[7,40,384]{0,1,2}",
       "  for 128  src 4 dst 280\n"},
      // Rows and columns that fill registers are none.
      {"u8[20,40,40]", "u8[20,40,40]{1,2,0}", "transpose of 1 byte"},
      {"f32[8,1000]", "f32[8,1000]{0,1}", "transpose of 4 bytes"},
      // Nor are those of which most places in registers are in use.
      {"u8[20,7,64]", "u8[20,7,64]{1,2,0}", "transpose of 1 byte"},
      {"u8[20,64,7]", "u8[20,64,7]{1,2,0}", "transpose of 1 byte"},
  };
  for (const auto &[source, destination, text] : cases)
    for (int64_t vectorBytes : {32, 64}) {
      std::string moves = printMoves(source, destination, vectorBytes,
                                     /*streamedBytes=*/int64_t(1) << 40);
      if (moves.find("AVX") == std::string::npos)
        GTEST_SKIP() << "no registers of 32 bytes";
      EXPECT_NE(moves.find(text), std::string::npos) << moves;
    }
  // Registers of 64 bytes have windows as long as they are.
  std::string wide = printMoves("u8[2000,40,3]", "u8[2000,40,3]{1,2,0}",
                                /*vectorBytes=*/0, int64_t(1) << 40);
  if (wide.find("VBMI") != std::string::npos)
    EXPECT_NE(wide.find("gather of 120 bytes, src 0 dst 0, 2 windows of a "
                        "register\n  for 2000  src 120 dst 120\n"),
              std::string::npos)
        << wide;
  // Two or four shorter ones are put together.
  for (auto [source, destination, text] :
       {std::tuple("bf16[256,256]{1,0:T(16,128)(2,1)}",
                   "bf16[256,256]{1,0:T(128,8)}",
                   "gather of 256 bytes, src 0 dst 0, 2 windows of a register"),
        {"u8[8,40,224]{1,0,2}", "u8[8,40,224]{0,1,2}",
         "gather of 160 bytes, src 0 dst 0, 8 windows of a register"}}) {
    std::string moves = printMoves(source, destination, /*vectorBytes=*/0,
                                   /*streamedBytes=*/int64_t(1) << 40);
    if (moves.find("VBMI") != std::string::npos)
      EXPECT_NE(moves.find(text), std::string::npos) << moves;
  }
  // They bypass the caches unless other moves write parts of their lines.
  for (auto [array, order, isStreamed] :
       {std::tuple("u8[2000,3,40]", "{1,2,0}", true),
        {"u8[3,4001]", "{0,1}", true},
        {"bf16[24,768,3]", "{1,2,0:T(16,128)(2,1)}", false}}) {
    std::string destination = array + std::string(order);
    std::string moves = printMoves(array, destination.c_str(),
                                   /*vectorBytes=*/32, /*streamedBytes=*/1);
    EXPECT_NE(moves.find("gather of"), std::string::npos) << moves;
    EXPECT_EQ(moves.find(", streamed") != std::string::npos, isStreamed)
        << moves;
  }
}

// Past the caches, rows are interleaved in the order that is faster on this
// processor, tile by tile with registers shorter than a line.
TEST(Runtime, OrderOfInterleaves) {
  std::string byTile = "  for 32  src 128 dst 4096\n  for 8  src 16384";
  std::string byRow = "  for 8  src 16384 dst 512\n  for 32  src 128";
  auto costs = ProcessorCosts::get(llvm::sys::getHostCPUName());
  for (int64_t vectorBytes : {16, 32, 64}) {
    std::string moves =
        printMoves("s8[64,4096]", "s8[64,4096]{1,0:T(32,128)(4,1)}",
                   vectorBytes, /*streamedBytes=*/1);
    bool hasLines = moves.find("AVX-512") != std::string::npos;
    bool readsMany = hasLines && 8 * 4 > costs.interleavedRows;
    const auto &loops = readsMany ? byRow : byTile;
    EXPECT_NE(moves.find(loops), std::string::npos) << moves;
  }
}

// Past the caches, rows are packed that are short and dense, or of runs that
// are read again and again. Of these, columns get twice as many lines, unless
// it is known that those that begin at one channel of the memory alone need
// them. These get two at least.
TEST(Runtime, PackedRows) {
  enum { InPlace, Short, Again };
  auto costs = ProcessorCosts::get(llvm::sys::getHostCPUName());
  struct {
    const char *source, *destination;
    int packed;
    int64_t least = 1;
  } cases[] = {
      {"f32[1,336,63]", "f32[1,336,63]{1,2,0}", Short},
      {"f64[128,127]", "f64[128,127]{0,1}", Short, /*least=*/2},
      {"f32[320,256]", "f32[320,256]{0,1}", InPlace},
      {"f32[320,517]", "f32[320,517]{0,1}", InPlace},
      {"bf16[512,1024]", "bf16[512,1024]{0,1}", Again},
      {"bf16[544,1063]", "bf16[544,1063]{0,1}", InPlace},
      {"bf16[512,1063]", "bf16[512,1063]{0,1}", InPlace},
      {"u8[512,1093]", "u8[512,1093]{0,1}", Again},
      {"u8[320,1093]", "u8[320,1093]{0,1}",
       costs.channelPs > 0 ? Short : Again},
      // Rows lie apart.
      {"f32[320,2,64]", "f32[320,2,64]{0,1,2}", InPlace},
  };
  for (const auto &[source, destination, packed, least] : cases) {
    std::string moves = printMoves(source, destination, /*vectorBytes=*/64,
                                   /*streamedBytes=*/1);
    if (moves.find("AVX-512") == std::string::npos)
      GTEST_SKIP() << "no registers as long as a line";
    int64_t lines = std::clamp<int64_t>(costs.panelRunBytes / 64 * packed,
                                        least, /*the most=*/4);
    std::string text = ", streamed";
    if (lines > 1)
      text += ", " + std::to_string(lines) + " lines of a column";
    text += ", rows packed\n";
    EXPECT_EQ(moves.find(text) != std::string::npos, packed != InPlace)
        << moves;
    EXPECT_EQ(moves.find("rows packed") != std::string::npos, packed != InPlace)
        << moves;
  }
}

// Lines are taken across tiles, and elements that tiles within tiles have on
// both sides as squares.
TEST(Runtime, ChainsAndSquares) {
  expectMoves({
      {"f32[136,384]{0,1}", "f32[136,384]{1,0:T(8,128)}",
       "transpose of 4 bytes, src 0 dst 0\n"
       "  for 3  src 69632 dst 4096\n"
       "  rows 128  src 544 dst 4\n"
       "  columns 8  src 4 dst 512\n"
       "  more columns 17  src 32 dst 12288\n"},
      {"bf16[136,384]{1,0:T(8,128)(2,1)}", "bf16[136,384]{0,1}",
       "transpose of 4 bytes, src 0 dst 0\n"
       "  for 3  src 2048 dst 34816\n"
       "  rows 4  src 512 dst 4\n"
       "  more rows 17  src 6144 dst 16\n"
       "  columns 128  src 4 dst 272\n"},
      {"u8[136,384]{1,0:T(8,128)(4,1)}", "u8[136,384]{0,1:T(8,128)(4,1)}",
       ", squares of 4 by 4\n"},
      {"bf16[264,384]{1,0:T(8,128)(2,1)}", "bf16[264,384]{0,1:T(8,128)(2,1)}",
       ", squares of 2 by 2\n"},
      // Whole lines are no chain, but for those of rows and columns both.
      {"f32[512,384]{0,1}", "f32[512,384]{1,0:T(256,128)}",
       "  for 2  src 1024 dst 393216\n"},
      {"f32[136,384]{0,1}", "f32[136,384]{1,0:T(16,128)}",
       "  for 8  src 64 dst 24576\n"},
      {"f32[512,384]{0,1:T(16,32)}", "f32[512,384]{1,0:T(16,32)}",
       "  rows 16  src 128 dst 4\n  more rows 2  src 32768 dst 64\n"
       "  columns 16  src 4 dst 128\n  more columns 2  src 64 dst 24576\n"},
      // Less than a line may be any number.
      {"bf16[40,7,12]{0,1,2}", "bf16[40,7,12]{2,1,0}",
       "transpose of 2 bytes, src 0 dst 0\n"
       "  rows 12  src 560 dst 2\n"
       "  more rows 7  src 80 dst 24\n"
       "  columns 40  src 2 dst 168\n"},
      // What continues both goes to the shorter ones.
      {"bf16[112,77,128]{1,0,2:T(16,128)(2,1)}", "bf16[112,77,128]{2,1,0}",
       "  rows 128  src 28672 dst 2\n"
       "  columns 2  src 2 dst 19712\n"
       "  more columns 77  src 4 dst 256\n"},
      // Another dimension is packed: in words of the same dimension of lines,
      // or in squares of the side where they are dense.
      {"bf16[12,16,256]{2,1,0:T(8,128)(2,1)}",
       "bf16[12,16,256]{2,0,1:T(8,128)(2,1)}",
       "  rows 2  src 8192 dst 2\n"
       "  words 128  src 4 dst 4\n"
       "  columns 2  src 2 dst 8192\n"},
      {"bf16[8,128,160]{1,0,2:T(8,128)(2,1)}",
       "bf16[8,128,160]{2,1,0:T(8,128)(2,1)}",
       "  rows 128  src 2048 dst 4\n"
       "  columns 2  src 4 dst 65536\n"
       "  more columns 4  src 8 dst 512\n"},
      {"bf16[8,128,160]{1,0,2:T(8,128)(2,1)}",
       "bf16[8,128,160]{2,1,0:T(8,128)(2,1)}",
       "squares of 2 by 2 in the source"},
      {"u8[8,64,256]{0,2,1:T(8,128)(4,1)}", "u8[8,64,256]{2,1,0:T(8,128)(4,1)}",
       "squares of 4 by 4 in the destination"},
  });
}

// Past the caches, long runs follow the source; with short registers, those of
// tiles of many rows the destination, if it reads from few of them by turns.
TEST(Runtime, StreamedRunsFollowASide) {
  Runner runner(testSeed());
  for (auto [source, loops] :
       {std::pair("f32[70,390]{1,0:T(8,128)}",
                  "  for 3  src 4096 dst 512\n  for 8  src 512 dst 1560\n"),
        {"f32[70,390]{1,0:T(32,128)}",
         "  for 32  src 512 dst 1560\n  for 3  src 16384 dst 512\n"}}) {
    runner.check(parse(source), parse("f32[70,390]"), /*streamedBytes=*/1);
    for (int64_t vectorBytes : {16, 32}) {
      std::string moves =
          printMoves(source, "f32[70,390]", vectorBytes, /*streamedBytes=*/1);
      EXPECT_NE(moves.find(loops), std::string::npos) << moves;
    }
  }
}

// What bypasses the caches, and in which order: runs of more than a line that
// follow one another, one run of the source, rows that end within a line,
// blocks of rows that evict one another, and columns that begin anywhere in a
// line.
TEST(Runtime, StreamedForms) {
  Runner runner(testSeed());
  for (auto [source, destination, text] :
       {std::tuple("u8[13,9,77]", "u8[13,9,77]{2,0,1}",
                   "copy of 77 bytes, src 0 dst 0, streamed\n"
                   "  for 13  src 693 dst 77\n  for 9  src 77 dst 1001\n"),
        // Nothing follows these.
        {"u8[13,9,77]", "u8[13,9,77]{2,1,0:T(8,128)}",
         "copy of 77 bytes, src 0 dst 0\n"},
        {"f32[6,4,3,2,40]{0,4,1,3,2}", "f32[6,4,3,2,40]{4,0,2,1,3}",
         "  for 3  src 7680 dst 960\n  for 8  src 960 dst 2880\n"},
        {"f32[20,3,6,18]{0,1,2,3}", "f32[20,3,6,18]{3,2,1,0}",
         "  rows 18  src 1440 dst 4\n  more rows 6  src 240 dst 72\n"},
        {"f32[50,8,32]", "f32[50,8,32]{0,1,2}",
         "  for 8  src 128 dst 200\n  rows 50  src 1024 dst 4\n"
         "  columns 32  src 4 dst 1600\n"}}) {
    runner.check(parse(source), parse(destination), /*streamedBytes=*/1);
    for (int64_t vectorBytes : {16, 32, 64}) {
      std::string moves =
          printMoves(source, destination, vectorBytes, /*streamedBytes=*/1);
      EXPECT_NE(moves.find(text), std::string::npos) << moves;
    }
  }
  // Costs say how many rows a block has, at most 256.
  const char *source = "bf16[384,16,112]{2,1,0:T(8,128)(2,1)}";
  const char *destination = "bf16[384,16,112]{0,1,2}";
  runner.check(parse(source), parse(destination), /*streamedBytes=*/1);
  for (int64_t vectorBytes : {16, 32, 64}) {
    std::string moves =
        printMoves(source, destination, vectorBytes, /*streamedBytes=*/1);
    EXPECT_EQ(moves.find("  rows 384 "), std::string::npos) << moves;
    EXPECT_NE(moves.find("  more columns 112  src 4 dst 12288\n"),
              std::string::npos)
        << moves;
  }
}

// They go in the order of the destination, and past the caches if padding makes
// whole lines of them.
TEST(Runtime, OrderOfSparseColumns) {
  const char *source = "f32[4,30,3,40]{3,1,0,2}";
  const char *sparse = "f32[4,30,3,40]{0,1,3,2:T(8,128)}";
  auto getLoops = [](const std::string &divided, int64_t columns) {
    return "  for 3  src 19200 dst 655360\n" + divided +
           "  for 30  src 160 dst 512\n  rows 4  src 4800 dst 4\n  columns " +
           std::to_string(columns) + "  src 4 dst 16384\n";
  };
  std::string all = getLoops("", 40);
  std::string few = getLoops("  for 5  src 32 dst 131072\n", 8);
  for (int64_t vectorBytes : {16, 32, 64}) {
    std::string moves =
        printMoves(source, sparse, vectorBytes, /*streamedBytes=*/1);
    EXPECT_NE(moves.find("transpose of 4 bytes, src 0 dst 0\n" + few),
              std::string::npos)
        << moves;
    std::string filled = std::string(sparse);
    filled.insert(filled.size() - 1, "PV(zero)");
    moves = printMoves(source, filled.c_str(), vectorBytes,
                       /*streamedBytes=*/1);
    EXPECT_NE(moves.find("streamed, padding behind it\n" + all),
              std::string::npos)
        << moves;
  }
}

// Past the caches, halves of lines go in pairs where they make whole lines, the
// loop over the source's runs around the one over the destination's. Whole
// lines go in the order of the source.
TEST(Runtime, StreamedShortRuns) {
  for (auto [source, destination, text] :
       {std::tuple("f32[256,1024]", "f32[256,1024]{1,0:T(128,8)}",
                   "copy of 32 bytes, src 0 dst 0, streamed\n"
                   "  for 2  src 524288 dst 524288\n"
                   "  for 128  src 32 dst 4096\n  for 128  src 4096 dst 32\n"),
        {"f32[3,2,256,9,16]{4,3,2,1,0}", "f32[3,2,256,9,16]{4,2,0,3,1}",
         "copy of 64 bytes, src 0 dst 0, streamed\n"
         "  for 3  src 294912 dst 16384\n  for 2  src 147456 dst 442368\n"
         "  for 256  src 576 dst 64\n  for 9  src 64 dst 49152\n"},
        {"s8[6,5,64]", "s8[6,5,64]{2,1,0:T(32,128)}",
         "copy of 64 bytes, src 0 dst 0, streamed\n"
         "  for 6  src 320 dst 4096\n  for 5  src 64 dst 128\n"},
        // Rows of an odd number of halves begin anywhere in a line.
        {"f32[131,72]{1,0:T(128,8)}", "f32[131,72]",
         "copy of 32 bytes, src 0 dst 0\n"}})
    for (int64_t vectorBytes : {16, 32, 64}) {
      std::string moves =
          printMoves(source, destination, vectorBytes, /*streamedBytes=*/1);
      EXPECT_NE(moves.find(text), std::string::npos) << moves;
    }
}

// Long fills bypass the caches if what lies between them does. Short registers
// write runs of less than a line, and what is behind them, through the caches.
TEST(Runtime, StreamedFills) {
  auto print = [](llvm::StringRef array, int64_t vectorBytes) {
    std::string tiled = (array + "{2,1,0:T(32,128)PV(zero)}").str();
    return printMoves(array.str().c_str(), tiled.c_str(), vectorBytes,
                      /*streamedBytes=*/1);
  };
  for (int64_t vectorBytes : {16, 32, 64}) {
    std::string moves = print("s8[3,12,256]", vectorBytes);
    EXPECT_NE(moves.find("fill of 2560 bytes, src 0 dst 1536, streamed"),
              std::string::npos)
        << moves;
    moves = print("s8[3,12,40]", vectorBytes);
    bool isWhole = moves.find("by AVX-512") != std::string::npos;
    EXPECT_EQ(moves.find("streamed") != std::string::npos, isWhole) << moves;
    EXPECT_EQ(moves.find("fill of 2560 bytes, src 0 dst 1536, streamed") !=
                  std::string::npos,
              isWhole)
        << moves;
  }
  // Fills that begin and end within lines, and padding of short runs.
  Runner runner(testSeed());
  for (auto [array, layout] :
       {std::pair("f32[3,5,200]", "{2,1,0:T(16,100)PV(zero)}"),
        {"s8[3,12,40]", "{2,1,0:T(32,128)PV(zero)}"},
        {"bf16[5,17,129]", "{2,1,0:T(16,128)(2,1)PV(zero)}"},
        {"f64[7,3,77]{1,0,2}", "{2,1,0:T(1024)PV(zero)}"},
        {"s8[4099]", "{0:T(32,128)(4,1)PV(zero)}"}}) {
    Shape source = parse(array);
    llvm::StringRef dims = llvm::StringRef(array).split('{').first;
    Shape destination = parse((dims + layout).str());
    for (int i = 0; i < testCount(20); ++i) {
      runner.check(source, destination, /*streamedBytes=*/1);
      if (HasFatalFailure())
        return;
    }
  }
}

// Past the caches, what goes on in other tiles follows the source; the loops in
// the order of the destination would be the other way round.
TEST(Runtime, TilesFollowTheSource) {
  for (auto [source, destination] :
       {std::pair("u8[1024,1152]{1,0:T(8,128)(4,1)}",
                  "u8[1024,1152]{0,1:T(8,128)(4,1)}"),
        {"bf16[1024,1152]{1,0:T(8,128)(2,1)}",
         "bf16[1024,1152]{0,1:T(8,128)(2,1)}"},
        {"f32[1024,1152]{1,0:T(8,128)}", "f32[1024,1152]{0,1:T(8,128)}"}})
    for (int64_t vectorBytes : {16, 32, 64}) {
      std::string moves =
          printMoves(source, destination, vectorBytes, /*streamedBytes=*/1);
      llvm::SmallVector<int64_t> steps;
      for (llvm::StringRef line : llvm::split(moves, '\n'))
        if (line.consume_front("  for ")) {
          int64_t step = 0;
          line = line.split("src ").second.split(' ').first;
          ASSERT_FALSE(line.getAsInteger(10, step)) << moves;
          steps.push_back(step);
        }
      EXPECT_GE(steps.size(), 2u) << moves;
      EXPECT_TRUE(llvm::is_sorted(steps, std::greater<>())) << moves;
    }
}

// Copies within the caches follow the source or the destination, by the numbers
// of places that they then write to or read from by turns.
TEST(Runtime, OrderOfCopies) {
  expectMoves({
      // Rows are read from end to end into four tiles.
      {"f32[64,512]", "f32[64,512]{1,0:T(8,128)}",
       "  for 8  src 2048 dst 512\n  for 4  src 512 dst 4096\n"},
      // Rows are written from end to end from four tiles.
      {"f32[64,512]{1,0:T(8,128)}", "f32[64,512]",
       "  for 8  src 512 dst 2048\n  for 4  src 4096 dst 512\n"},
      // Four tiles of 1 KiB are a page: they go by eight rows.
      {"s8[64,512]{1,0:T(8,128)}", "s8[64,512]",
       "  for 4  src 1024 dst 128\n  for 8  src 128 dst 512\n"},
      {"s8[64,512]", "s8[64,512]{1,0:T(8,128)}",
       "  for 4  src 128 dst 1024\n  for 8  src 512 dst 128\n"},
      // Tiles that begin at one set of the cache are read one by one where
      // rows do not, and by row where these do as well.
      {"f32[1024,1000]{1,0:T(128,8)}", "f32[1024,1000]",
       "  for 125  src 4096 dst 32\n  for 128  src 32 dst 4000\n"},
      {"f32[1024,1024]{1,0:T(128,8)}", "f32[1024,1024]",
       "  for 128  src 32 dst 4096\n  for 128  src 4096 dst 32\n"},
      {"f32[1024,1000]{1,0:T(120,8)}", "f32[1024,1000]",
       "  for 120  src 32 dst 4000\n  for 125  src 3840 dst 32\n"},
  });
}

// Moves of whole tiles and of the last ones that take turns, in steps of one
// loop or of two, with fills that have more steps; and some that do not.
TEST(Runtime, MovesByTurns) {
  Runner runner(testSeed());
  for (auto [array, layout, takesTurns] :
       {std::tuple("f32[203,208]", "{1,0:T(8,128)PV(zero)}", true),
        {"bf16[331,200]", "{1,0:T(8,128)PV(one)}", true},
        {"bf16[2,3,37,130]", "{3,2,1,0:T(8,128)PV(zero)}", true},
        {"f32[3,75,300]", "{2,1,0:T(8,128)}", true},
        {"bf16[331,200]", "{1,0:T(8,128)(2,1)PV(zero)}", true},
        {"s8[411,208]", "{1,0:T(8,128)(4,1)PV(one)}", true},
        {"bf16[2,3,37,130]", "{3,2,1,0:T(8,128)(2,1)PV(zero)}", true},
        {"bf16[9,333,130]", "{2,1,0:T(8,128)(2,1)PV(zero)}", true},
        {"s8[40,200]", "{1,0:T(8,128)(4,1)PV(one)}", true},
        {"f32[31,129]", "{1,0:T(8,128)}", false},
        {"s8[40,33]", "{1,0:T(4,32)PV(one)}", false}})
    for (bool isForward : {false, true})
      for (int64_t streamedBytes : {int64_t(1), int64_t(1) << 40}) {
        std::string rows = array, tiles = rows + layout;
        if (!isForward)
          std::swap(rows, tiles);
        runner.check(parse(rows), parse(tiles), streamedBytes);
        std::string moves = printMoves(rows.c_str(), tiles.c_str(),
                                       /*vectorBytes=*/0, streamedBytes);
        EXPECT_EQ(moves.find("\nand ") != std::string::npos, takesTurns)
            << rows << " to " << tiles << "\n"
            << moves;
        if (HasFatalFailure())
          return;
      }
}

// Moves a pair within the caches, and says how.
static std::string checkMoves(const char *source, const char *destination) {
  Runner runner(testSeed());
  int64_t never = int64_t(1) << 40;
  runner.check(parse(source), parse(destination), never);
  return printMoves(source, destination, /*vectorBytes=*/16, never);
}

// Within a step that all moves share, those of whole rows of tiles take turns,
// and so do those of the last one.
TEST(Runtime, TurnsWithinTurns) {
  EXPECT_EQ(
      checkMoves("f32[9,333,130]", "f32[9,333,130]{2,1,0:T(8,128)PV(zero)}"),
      "1558440 bytes to 3096576, by baseline\n"
      "copy of 512 bytes, src 0 dst 0\n"
      "  for 9  src 173160 dst 344064\n"
      "  for 41  src 4160 dst 8192\n"
      "  for 8  src 520 dst 512\n"
      "and copy of 8 bytes, src 512 dst 4096, padding behind it\n"
      "  for 8  src 520 dst 512\n"
      "and copy of 512 bytes, src 170560 dst 335872\n"
      "  for 5  src 520 dst 512\n"
      "and fill of 1536 bytes, src 0 dst 338432\n"
      "and copy of 8 bytes, src 171072 dst 339968, padding behind it\n"
      "  for 5  src 520 dst 512\n"
      "and fill of 1536 bytes, src 0 dst 342528\n");
}

// A fill that comes first leads the others along the source.
TEST(Runtime, FillsLeadTurns) {
  EXPECT_EQ(checkMoves("f32[5,8,21]{1,2,0}",
                       "f32[5,8,21]{0,2,1:T(32,128)(4,1)PV(zero)}"),
            "3360 bytes to 131072, by baseline\n"
            "transpose of 4 bytes, src 0 dst 0\n"
            "  for 5  src 128 dst 2048\n"
            "  rows 4  src 32 dst 4\n"
            "  more rows 5  src 672 dst 16\n"
            "  columns 8  src 4 dst 16384\n"
            "fill of 1968 bytes, src 0 dst 80\n"
            "  for 8  src 4 dst 16384\n"
            "  for 5  src 0 dst 2048\n"
            "and copy of 4 bytes, src 640 dst 10240\n"
            "  for 5  src 672 dst 16\n"
            "and fill of 1968 bytes, src 0 dst 10320\n"
            "  for 3  src 0 dst 2048\n"
            "and fill of 80 bytes, src 0 dst 12288\n"
            "  for 2  src 0 dst 2048\n"
            "fill of 12 bytes, src 0 dst 10244\n"
            "  for 8  src 0 dst 16384\n"
            "  for 5  src 0 dst 16\n");
}

// Padding that keeps its bytes is written back between the rows of a column.
TEST(Runtime, KeptPadding) {
  EXPECT_EQ(checkMoves("s8[5,7,40]", "s8[5,7,40]{2,1,0:T(8,128)(4,1)}"),
            "1400 bytes to 5120, by baseline\n"
            "transpose of 1 byte, src 0 dst 0\n"
            "  for 5  src 280 dst 1024\n"
            "  rows 4  src 40 dst 1\n"
            "  columns 40  src 1 dst 4\n"
            "transpose of 1 byte, src 160 dst 512, padding kept\n"
            "  for 5  src 280 dst 1024\n"
            "  rows 3  src 40 dst 1\n"
            "  columns 40  src 1 dst 4\n");
}

// The rows behind those of an array are filled tile by tile, though the last
// tile has a move of its own; every second element is read in rows.
TEST(Runtime, SingleRows) {
  EXPECT_EQ(
      checkMoves("bf16[1,1000]", "bf16[1,1000]{1,0:T(8,128)(2,1)PV(zero)}"),
      "2000 bytes to 16384, by baseline\n"
      "transpose of 2 bytes, src 0 dst 0, padding behind it and 1536 bytes\n"
      "  for 7  src 256 dst 2048\n"
      "  rows 1  src 2 dst 2\n"
      "  columns 128  src 2 dst 4\n"
      "transpose of 2 bytes, src 1792 dst 14336, padding behind it and 1632 "
      "bytes\n"
      "  rows 1  src 2 dst 2\n"
      "  columns 104  src 2 dst 4\n");
  EXPECT_EQ(checkMoves("bf16[1,1000]{1,0:T(8,128)(2,1)}", "bf16[1,1000]"),
            "16384 bytes to 2000, by baseline\n"
            "transpose of 2 bytes, src 0 dst 0\n"
            "  for 7  src 2048 dst 256\n"
            "  rows 128  src 4 dst 2\n"
            "  columns 1  src 2 dst 2\n"
            "transpose of 2 bytes, src 14336 dst 1792\n"
            "  rows 104  src 4 dst 2\n"
            "  columns 1  src 2 dst 2\n");
}

// Padding behind columns goes on in the rows that a tile has more than the
// array, which are in the middle of the loops.
TEST(Runtime, PaddingBeyondRows) {
  EXPECT_EQ(checkMoves("bf16[16,100,96]",
                       "bf16[16,100,96]{2,1,0:T(8,128)(2,1)PV(zero)}"),
            "307200 bytes to 425984, by baseline\n"
            "transpose of 2 bytes, src 0 dst 0, padding behind it\n"
            "  for 16  src 19200 dst 26624\n"
            "  for 50  src 384 dst 512\n"
            "  rows 2  src 192 dst 2\n"
            "  columns 96  src 2 dst 4\n"
            "and fill of 384 bytes, src 0 dst 25600\n"
            "  for 2  src 0 dst 512\n"
            "and fill of 128 bytes, src 0 dst 25984\n"
            "  for 2  src 0 dst 512\n");
}

// A fill that is in two tiles by turns is two moves: all that take turns follow
// the destination.
TEST(Runtime, FillsBetweenMoves) {
  EXPECT_EQ(checkMoves("s8[5,17,129]", "s8[5,17,129]{2,1,0:T(32,128)PV(zero)}"),
            "10965 bytes to 40960, by baseline\n"
            "copy of 128 bytes, src 0 dst 0\n"
            "  for 5  src 2193 dst 8192\n"
            "  for 17  src 129 dst 128\n"
            "and fill of 1920 bytes, src 0 dst 2176\n"
            "and copy of 1 byte, src 128 dst 4096, padding behind it\n"
            "  for 17  src 129 dst 128\n"
            "and fill of 1920 bytes, src 0 dst 6272\n");
}

TEST(Runtime, StructsAreTexts) {
  RandomLayouts layouts(testSeed());
  for (int i = 0, count = testCount(5000); i < count; ++i) {
    auto dims = layouts.dimensions();
    PrimitiveType type = layouts.elementType();
    auto side = [&] {
      Layout layout = layouts.layout(dims, type);
      layout.paddedDimensions.clear();
      layout.paddingValue = std::nullopt;
      layout.tailPaddingAlignment = 1;
      return Shape::array(type, dims, layout);
    };
    Shape source = side(), destination = side();
    if (!isLegal(source) || !isLegal(destination))
      continue;
    SCOPED_TRACE(source.toString() + " to " + destination.toString());
    ArrayOfShape from(source), to(destination);
    TesseraRuntimeRelayout *relayout = nullptr;
    ASSERT_EQ(take(tesseraRuntimeRelayoutCreateOfArrays(&from.array, &to.array,
                                                        nullptr, &relayout)),
              "");
    Handle handle(relayout);
    EXPECT_EQ(print(relayout), print(create(source, destination).get()));
  }
}

// Threads make and run handles of their own, and ask for what is refused.
TEST(Runtime, ThreadsMakeHandles) {
  std::pair<Shape, Shape> pairs[] = {
      {llvm::cantFail(parseShape("bf16[127,257]")),
       llvm::cantFail(parseShape("bf16[127,257]{1,0:T(8,128)(2,1)PV(zero)}"))},
      {llvm::cantFail(parseShape("s4[70,130]{1,0:E(4)}")),
       llvm::cantFail(parseShape("s4[70,130]{0,1:T(3,5)E(4)}"))},
      {llvm::cantFail(parseShape("f32[300,200]")),
       llvm::cantFail(parseShape("f32[300,200]{0,1}"))}};
  std::vector<std::vector<uint8_t>> outputs(8);
  runThreads(8, [&](int number) {
    for (int round = 0; round < 20; ++round) {
      outputs[number].clear();
      for (const auto &[source, destination] : pairs) {
        Handle relayout = create(source, destination);
        std::vector<uint8_t> input(
            tesseraRuntimeRelayoutGetSourceBytes(relayout.get()), 7);
        std::vector<uint8_t> output(
            tesseraRuntimeRelayoutGetDestinationBytes(relayout.get()));
        take(tesseraRuntimeRelayoutRun(relayout.get(), input.data(),
                                       input.size(), output.data(),
                                       output.size()));
        outputs[number].insert(outputs[number].end(), output.begin(),
                               output.end());
        EXPECT_NE(take(tesseraRuntimeRelayoutRun(relayout.get(), input.data(),
                                                 input.size() - 1,
                                                 output.data(), output.size())),
                  "");
      }
    }
  });
  for (const std::vector<uint8_t> &output : outputs)
    EXPECT_TRUE(output == outputs.front());
}

// Threads share a handle: all run it whole, and then each its part.
TEST(Runtime, ThreadsShareHandles) {
  Runner runner(testSeed());
  for (auto [source, destination] :
       {std::pair("bf16[127,257]", "bf16[127,257]{1,0:T(8,128)(2,1)PV(zero)}"),
        std::pair("f32[515,514]", "f32[515,514]{0,1}"),
        std::pair("s4[70,130]{1,0:E(4)}", "s4[70,130]{0,1:T(3,5)E(4)}"),
        std::pair("f32[1000000]", "f32[1000000]{0:T(1024)}"),
        std::pair("f32[30,30]{1,0:T(*,7)}", "f32[30,30]{1,0:T(8)}")}) {
    SCOPED_TRACE(source);
    Handle relayout = create(llvm::cantFail(parseShape(source)),
                             llvm::cantFail(parseShape(destination)));
    size_t size = tesseraRuntimeRelayoutGetDestinationBytes(relayout.get());
    std::vector<uint8_t> input(
        tesseraRuntimeRelayoutGetSourceBytes(relayout.get()));
    runner.fill(input);
    constexpr int kThreads = 8;
    std::vector<std::vector<uint8_t>> outputs(kThreads + 1);
    outputs.back().resize(size);
    runThreads(kThreads, [&](int i) {
      outputs[i].resize(size);
      take(tesseraRuntimeRelayoutRun(relayout.get(), input.data(), input.size(),
                                     outputs[i].data(), size));
    });
    runThreads(kThreads, [&](int i) {
      take(tesseraRuntimeRelayoutRunShare(relayout.get(), input.data(),
                                          input.size(), outputs.back().data(),
                                          size, i, kThreads));
    });
    for (const std::vector<uint8_t> &output : outputs)
      EXPECT_TRUE(output == outputs.front());
  }
}
