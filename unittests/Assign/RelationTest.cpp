//===- RelationTest.cpp - How layouts pass through ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Assign/Relation.h"

#include "tessera/Layout/Text.h"

#include "gtest/gtest.h"

using namespace tessera;

static Shape shape(llvm::StringRef text) {
  return llvm::cantFail(parseShape(text));
}

static Relation getReshape(int64_t count) {
  return {Relation::Kind::View, {}, IndexMap::identity(count)};
}

/// Elements may be where they should be, and the bytes not be the same: one
/// buffer ends before the other does.
TEST(Relation, ViewsHaveOneSize) {
  Shape packed = shape("f32[6]{0}"), padded = shape("f32[6]{0:T(8)}");
  Relation view = getReshape(6);
  ASSERT_EQ(getBitcastMap(packed, padded), IndexMap::identity(6));
  EXPECT_FALSE(view.accepts(packed, padded));
  EXPECT_TRUE(view.accepts(padded, padded));
  EXPECT_TRUE(view.accepts(packed, shape("f32[2,3]{1,0}")));
}

TEST(Relation, ViewsKeepElements) {
  Relation view = getReshape(6);
  EXPECT_FALSE(view.accepts(shape("f32[6]{0}"), shape("f32[2,3]{0,1}")));
  EXPECT_FALSE(view.accepts(shape("f32[6]{0}"), shape("f32[2,3]{1,0:T(1,4)}")));
}

/// A layout of the operand makes one of the result, and the other way round.
TEST(Relation, InducedLayoutsFit) {
  Relation dims{Relation::Kind::Dims, {{0, 1}, {2, 0}}, {}};
  Shape operand = shape("f32[4,5,6]{0,1,2}"), result = shape("f32[6,4]{1,0}");
  for (bool isResult : {true, false}) {
    const Shape &given = isResult ? operand : result;
    const Shape &wanted = isResult ? result : operand;
    auto induced = induce(dims, given, wanted, isResult, LayoutRule::RowMajor);
    ASSERT_EQ(induced.size(), 1U);
    EXPECT_TRUE(isResult ? dims.accepts(operand, induced[0])
                         : dims.accepts(induced[0], result));
  }
  EXPECT_FALSE(dims.accepts(operand, shape("f32[6,4]{0,1}")));
}
