//===- IndexUtilTest.cpp - Tests of logical indices -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/IndexUtil.h"
#include "UtilTestSupport.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using testing::ElementsAre;
using Dims = llvm::SmallVector<int64_t, 6>;

TEST(IndexUtil, Bounds) {
  Shape shape = shapeOf("f32[2,<=3,?]");
  EXPECT_TRUE(index_util::indexInBounds(shape, {1, 2, 1000}));
  EXPECT_FALSE(index_util::indexInBounds(shape, {1, 3, 0}));
  EXPECT_FALSE(index_util::indexInBounds(shape, {1, -1, 0}));
  EXPECT_FALSE(index_util::indexInBounds(shape, {1, 2}));
  EXPECT_TRUE(index_util::indexInBounds(shapeOf("f32[]"), {}));
  EXPECT_FALSE(index_util::indexInBounds(Shape::token(), {}));
}

TEST(IndexUtil, Bump) {
  Shape shape = shapeOf("f32[2,3]");
  Dims index = {0, 2};
  EXPECT_TRUE(index_util::bumpIndices(shape, index));
  EXPECT_THAT(index, ElementsAre(1, 0));
  index = {1, 2};
  EXPECT_FALSE(index_util::bumpIndices(shape, index));
  EXPECT_THAT(index, ElementsAre(0, 0));
  index = {5, 0};
  EXPECT_FALSE(index_util::bumpIndices(shape, index));
  EXPECT_FALSE(index_util::bumpIndices(shapeOf("f32[]"), {}));
}

TEST(IndexUtil, Compare) {
  EXPECT_EQ(index_util::compareIndices({1, 2}, {1, 2}), 0);
  EXPECT_EQ(index_util::compareIndices({1, 2}, {2, 0}), -1);
  EXPECT_EQ(index_util::compareIndices({1, 2, 0}, {1, 2}), 1);
}

TEST(IndexUtil, ForEach) {
  auto visit = [](llvm::StringRef text, int64_t stopAt) {
    int64_t count = 0;
    bool all = get(
        index_util::forEachIndex(shapeOf(text), [&](llvm::ArrayRef<int64_t>) {
          return ++count != stopAt;
        }));
    return std::make_pair(all, count);
  };
  EXPECT_EQ(visit("f32[2,3,5]", 0), std::make_pair(true, int64_t(30)));
  EXPECT_EQ(visit("f32[2,3,5]", 7), std::make_pair(false, int64_t(7)));
  EXPECT_EQ(visit("f32[2,0,5]", 0), std::make_pair(true, int64_t(0)));
  EXPECT_EQ(visit("f32[]", 0), std::make_pair(true, int64_t(1)));
  EXPECT_EQ(
      print(index_util::forEachIndex(
          shapeOf("f32[?]"), [](llvm::ArrayRef<int64_t>) { return true; })),
      "error: ");
}
