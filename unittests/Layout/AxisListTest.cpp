//===- AxisListTest.cpp - Tests of the axis list --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/AxisList.h"

#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using testing::ElementsAre;
using testing::HasSubstr;

static Layout makeLayout(const std::vector<int64_t> &minorToMajor,
                         const std::vector<std::vector<int64_t>> &tiles = {}) {
  Layout layout;
  layout.minorToMajor.assign(minorToMajor.begin(), minorToMajor.end());
  for (const std::vector<int64_t> &sizes : tiles)
    layout.tiles.push_back(
        Tile{llvm::SmallVector<int64_t, 4>(sizes.begin(), sizes.end())});
  return layout;
}

static AxisList getAxes(const std::vector<int64_t> &dimensions,
                        const Layout &layout) {
  llvm::Expected<AxisList> list = AxisList::get(dimensions, layout);
  EXPECT_TRUE(bool(list)) << llvm::toString(list.takeError());
  return *list;
}

constexpr int64_t kStar = Tile::kCombine;

// The example of XLA's page on tiled layouts.
TEST(AxisList, TiledLayoutPage) {
  AxisList list = getAxes({3, 5}, makeLayout({1, 0}, {{2, 2}}));
  EXPECT_THAT(list.physicalShape(), ElementsAre(2, 3, 2, 2));
  EXPECT_EQ(list.numPositions(), 24);
  EXPECT_EQ(list.linearIndex({2, 3}), 17);
  EXPECT_EQ(*list.logicalIndex(17), (llvm::SmallVector<int64_t, 6>{2, 3}));
  EXPECT_FALSE(list.logicalIndex(23));
  EXPECT_FALSE(list.logicalIndex(24));
}

// A second tile that reaches over the counts of the first.
TEST(AxisList, TileOverCounts) {
  AxisList list = getAxes({8, 8}, makeLayout({1, 0}, {{2, 4}, {2, 1, 1, 1}}));
  EXPECT_EQ(list.linearIndex({6, 5}), 51);
}

TEST(AxisList, CombinedDimensions) {
  AxisList list =
      getAxes({2, 7, 8, 11, 10},
              makeLayout({4, 3, 2, 1, 0}, {{kStar, kStar, 2, kStar, 3}}));
  EXPECT_THAT(list.physicalShape(), ElementsAre(56, 37, 2, 3));
}

static std::vector<int64_t>
getRun(const AxisList &list, llvm::ArrayRef<int64_t> index, unsigned dim) {
  IndexRun run = list.linearRun(index, dim);
  return {run.value, run.stride, run.steps};
}

// The runs are as long as they can be: to the end of a tile, or of what is
// merged in a tile.
TEST(AxisList, Runs) {
  AxisList tiled = getAxes({3, 300}, makeLayout({1, 0}, {{2, 128}}));
  EXPECT_THAT(getRun(tiled, {0, 5}, 1), ElementsAre(5, 1, 123));
  EXPECT_THAT(getRun(tiled, {1, 130}, 1), ElementsAre(386, 1, 126));
  EXPECT_THAT(getRun(tiled, {0, 7}, 0), ElementsAre(7, 128, 2));
  EXPECT_THAT(getRun(getAxes({3, 5}, makeLayout({0, 1})), {1, 2}, 1),
              ElementsAre(7, 3, IndexRun::kUnlimited));
  AxisList merged = getAxes({3, 5}, makeLayout({1, 0}, {{kStar, 4}}));
  EXPECT_THAT(getRun(merged, {0, 1}, 1), ElementsAre(1, 1, 3));
  EXPECT_THAT(getRun(merged, {1, 0}, 1), ElementsAre(5, 1, 3));
  EXPECT_EQ(merged.positionRun(1).count, 3);
  EXPECT_EQ(merged.positionRun(12).count, 3);
  EXPECT_FALSE(merged.positionRun(12).isPadding);
  EXPECT_EQ(merged.positionRun(15).count, 1);
  EXPECT_TRUE(merged.positionRun(15).isPadding);
}

TEST(AxisList, ScalarTakesAWholeTile) {
  AxisList list = getAxes({}, makeLayout({}, {{256}}));
  EXPECT_THAT(list.physicalShape(), ElementsAre(1, 256));
  EXPECT_EQ(list.linearIndex({}), 0);
  EXPECT_TRUE(list.logicalIndex(0));
  EXPECT_FALSE(list.logicalIndex(1));
}

TEST(AxisList, DigitsWhereSizesDivide) {
  AxisList list = getAxes({32, 300}, makeLayout({1, 0}, {{8, 128}, {2, 1}}));
  EXPECT_EQ(list[2].index.toString(), "(d0 floordiv 2) mod 4");
  EXPECT_EQ(list[3].index.toString(), "d1 mod 128");
  EXPECT_EQ(list[4].index.toString(), "d0 mod 2");
  DimensionSplit splits = getSplit(0, {&list});
  EXPECT_TRUE(splits.isChain);
  EXPECT_THAT(splits.divisors, ElementsAre(2, 8));
}

TEST(AxisList, NestedFormWhereTheyDoNot) {
  AxisList list = getAxes({16, 4}, makeLayout({1, 0}, {{8, 4}, {3, 1}}));
  EXPECT_EQ(list[2].index.toString(), "(d0 mod 8) floordiv 3");
  EXPECT_FALSE(list[2].index.asDigitSum());
  EXPECT_FALSE(getSplit(0, {&list}).isChain);
  EXPECT_TRUE(getSplit(1, {&list}).isChain);
}

TEST(AxisList, PaddedDimensions) {
  Layout layout = makeLayout({0, 1});
  layout.paddedDimensions = {3, 5};
  AxisList list = getAxes({2, 3}, layout);
  EXPECT_THAT(list.physicalShape(), ElementsAre(5, 3));
  std::string text;
  for (int64_t position = 0; position < list.numAllocated(); ++position)
    if (auto index = list.logicalIndex(position))
      text += "abcdef"[(*index)[0] * 3 + (*index)[1]];
    else
      text += '0';
  EXPECT_EQ(text, "ad0be0cf0000000");
  EXPECT_THAT(*list.logicalStrides(), ElementsAre(1, 3));
}

// Widths stay checked when a merge swallows the widened dimensions.
TEST(AxisList, PaddedDimensionsMerged) {
  Layout layout = makeLayout({1, 0}, {{kStar, 4}});
  layout.paddedDimensions = {3, 5};
  AxisList list = getAxes({2, 3}, layout);
  int64_t elements = 0;
  for (int64_t position = 0; position < list.numAllocated(); ++position)
    if (auto index = list.logicalIndex(position)) {
      ++elements;
      EXPECT_EQ(list.linearIndex(*index), position);
    }
  EXPECT_EQ(elements, 6);
}

TEST(AxisList, DynamicExtents) {
  AxisList list = getAxes({kDynamic, 5}, makeLayout({1, 0}, {{2, 2}, {2, 1}}));
  EXPECT_FALSE(list.isStatic());
  EXPECT_EQ(list[0].extent.evaluate({3, 5}), 2);
  EXPECT_EQ(list.numPositions(), kDynamic);
  std::string text;
  llvm::raw_string_ostream os(text);
  list.print(os);
  EXPECT_EQ(text, "[0] extent ceil(size0 / 2): d0 floordiv 2\n"
                  "[1] extent 3: d1 floordiv 2\n"
                  "[2] extent 1: 0\n"
                  "[3] extent 2: d1 mod 2\n"
                  "[4] extent 2: d0 mod 2\n"
                  "[5] extent 1: 0\n");
}

TEST(AxisList, DynamicMergeIsUnsupported) {
  auto list = AxisList::get({kDynamic, 5}, makeLayout({1, 0}, {{kStar, 2}}));
  ASSERT_FALSE(bool(list));
  EXPECT_EQ(takeDiagnostic(list.takeError()).kind, DiagnosticKind::Unsupported);
  Layout bounded = makeLayout({1, 0}, {{kStar, 2}});
  bounded.bounds = {8, kDynamic};
  EXPECT_THAT(getAxes({kDynamic, 5}, bounded).physicalShape(),
              ElementsAre(20, 2));
}

TEST(AxisList, OverflowIsAnError) {
  auto list =
      AxisList::get({int64_t(1) << 40, int64_t(1) << 40}, makeLayout({1, 0}));
  ASSERT_FALSE(bool(list));
  EXPECT_EQ(takeDiagnostic(list.takeError()).kind, DiagnosticKind::Invalid);
  EXPECT_EQ(
      getAxes({0, int64_t(1) << 40, int64_t(1) << 40}, makeLayout({2, 1, 0}))
          .numPositions(),
      0);
}

// Tiles that never divide would double the expressions each time.
TEST(AxisList, HostileNestingEnds) {
  std::vector<std::vector<int64_t>> tiles;
  tiles.reserve(1000);
  for (int i = 0; i < 1000; ++i)
    tiles.push_back(i % 2 ? std::vector<int64_t>{kStar, 3, 5}
                          : std::vector<int64_t>{7, kStar, 4});
  auto list = AxisList::get({11, 13, 17}, makeLayout({2, 1, 0}, tiles));
  if (!list)
    llvm::consumeError(list.takeError());
}

// Errors have the labels of the rules that nobody asked the layout to keep.
TEST(AxisList, NamesTheRules) {
  auto getError = [](const std::vector<int64_t> &dimensions,
                     const Layout &layout) {
    llvm::Expected<AxisList> list = AxisList::get(dimensions, layout);
    return list ? "none" : llvm::toString(list.takeError());
  };
  EXPECT_THAT(getError({2, 3}, makeLayout({0})), HasSubstr("[layout_c13]"));
  Layout narrow = makeLayout({1, 0});
  narrow.paddedDimensions = {1, 3};
  EXPECT_THAT(getError({2, 3}, narrow), HasSubstr("[layout_c14]"));
  EXPECT_THAT(getError({INT64_MAX, 2}, makeLayout({1, 0})),
              HasSubstr("[layout_c17]"));
}
