//===- LayoutUtilTest.cpp - Tests of building and asking layouts ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/LayoutUtil.h"
#include "UtilTestSupport.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using testing::ElementsAre;

TEST(LayoutUtil, Orders) {
  using namespace layout_util;
  Layout descending = makeDescendingLayout(3),
         ascending = makeAscendingLayout(3);
  EXPECT_EQ(descending.toString(), "{2,1,0}");
  EXPECT_EQ(ascending.toString(), "{0,1,2}");
  EXPECT_EQ(get(makeLayoutFromMajorToMinor({2, 0, 1})).toString(), "{1,0,2}");
  EXPECT_TRUE(isMonotonicWithDim0Major(descending));
  EXPECT_FALSE(isMonotonicWithDim0Minor(descending));
  EXPECT_TRUE(isMonotonicWithDim0Minor(ascending));
  Layout layout = get(makeLayout({1, 0, 2}));
  EXPECT_EQ(minor(layout, 0), 1);
  EXPECT_EQ(major(layout, 0), 2);
  EXPECT_THAT(makeLogicalToPhysical(layout), ElementsAre(1, 2, 0));
  EXPECT_EQ(get(moveDimToMajor(layout, 1)).toString(), "{0,2,1}");
  EXPECT_FALSE(errorToBool(makeLayout({1, 0}, {Tile{{2}}}).takeError()));
  EXPECT_TRUE(errorToBool(makeLayout({0}, {Tile{{0}}}).takeError()));
  EXPECT_TRUE(errorToBool(moveDimToMajor(layout, 3).takeError()));
}

TEST(LayoutUtil, EffectivelyMostMajor) {
  auto isMajor = [](int64_t dim) {
    return get(layout_util::isEffectivelyMostMajorDimension(
        shapeOf("f32[3,1,5]{0,2,1}"), dim));
  };
  EXPECT_TRUE(isMajor(1));
  EXPECT_TRUE(isMajor(-1));
  EXPECT_FALSE(isMajor(0));
}

TEST(LayoutUtil, WholeShapes) {
  Shape shape = shapeOf("(f32[2,3]{0,1}, (s4[], token[]), b(f32[2]))");
  EXPECT_TRUE(layout_util::hasLayout(shape));
  Shape cleared = shape;
  layout_util::clearLayout(cleared);
  EXPECT_FALSE(layout_util::hasLayout(cleared));
  EXPECT_EQ(cleared.toString(), "(f32[2,3], (s4[], token[]), b(f32[2]))");
  EXPECT_FALSE(layout_util::layoutsInShapesEqual(shape, cleared));
  layout_util::setToDefaultLayout(cleared);
  EXPECT_EQ(cleared.toString(),
            "(f32[2,3]{1,0}, (s4[], token[]), b(f32[2]{0}))");
  EXPECT_FALSE(layout_util::layoutsInShapesEqual(shape, cleared));
  // Sizes and types are not compared.
  EXPECT_TRUE(layout_util::layoutsInShapesEqual(
      shape, shapeOf("(s8[4,5]{0,1}, (s4[], token[]), b(s1[7]))")));
  EXPECT_TRUE(layout_util::layoutsInShapesEqual(
      shapeOf("f32[2]{0:T(2)S(1)}"), shapeOf("f32[2]{0}"),
      LayoutEqual::minorToMajorOnly()));
}

TEST(LayoutUtil, Splits) {
  Shape shape = shapeOf("f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}");
  EXPECT_EQ(get(layout_util::maxSplitSize(shape, 0)), 150);
  EXPECT_EQ(get(layout_util::maxSplitSize(shape, 1)), 90);
  EXPECT_EQ(get(layout_util::maxSplitSize(shape, -1)), 70);
  EXPECT_EQ(get(layout_util::maxElementsInPerSplit(shape)), 150 * 90 * 70);
  EXPECT_EQ(get(layout_util::maxElementsInPerSplit(shapeOf("f32[]"))), 1);
  EXPECT_EQ(print(layout_util::maxElementsInPerSplit(shapeOf("f32[?]"))),
            "error: ");
}

TEST(LayoutUtil, PackedFactor) {
  auto factor = [](llvm::StringRef text) {
    return layout_util::packedFactorFor1DInterleavedArray(
        shapeOf(text).layout());
  };
  EXPECT_EQ(factor("bf16[2048]{0:T(1024)(128)(2,1)}"), 2);
  EXPECT_EQ(factor("s8[2048]{0:T(1024)(128)(4,1)}"), 4);
  EXPECT_EQ(factor("bf16[2048]{0:T(1024)(128)}"), 1);
  EXPECT_EQ(factor("bf16[8,128]{1,0:T(8,128)(1,1)(2,1)}"), 1);
}
