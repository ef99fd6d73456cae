//===- ShapeUtilTest.cpp - Tests of building and changing shapes ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/ShapeUtil.h"
#include "UtilTestSupport.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/XlaCompat.h"

#include "../TestCounts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace tessera;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Dims = llvm::SmallVector<int64_t, 6>;

TEST(ShapeUtil, Builders) {
  using namespace shape_util;
  EXPECT_EQ(print(makeShape(PrimitiveType::F32, {2, 3, 5, 7})),
            "f32[2,3,5,7]{3,2,1,0}");
  EXPECT_EQ(print(makeShape(PrimitiveType::F32, {8, 3}, {true, false})),
            "f32[<=8,3]{1,0}");
  EXPECT_EQ(print(makeShape(PrimitiveType::Pred, {})), "pred[]");
  EXPECT_EQ(print(makeShape(PrimitiveType::F32, {-1})), "error: shape_c1");
  EXPECT_EQ(print(makeShape(PrimitiveType::Token, {})), "error: shape_c3");
  EXPECT_EQ(print(makeShape(PrimitiveType::F32, {8, 3}, {true})),
            "error: util_c3");
  EXPECT_EQ(print(makeShapeWithDenseLayout(PrimitiveType::BF16, {8, 3}, {0, 1},
                                           {Tile{{8, 128}}})),
            "bf16[8,3]{0,1:T(8,128)}");
  EXPECT_EQ(print(makeShapeWithDenseLayout(PrimitiveType::F32, {8}, {1})),
            "error: layout_c1");
  EXPECT_EQ(print(makeShapeWithDenseLayout(PrimitiveType::F32, {8}, {1, 0})),
            "error: layout_c13");
}

TEST(ShapeUtil, SamePhysicalLayout) {
  auto physical = [](llvm::StringRef text) {
    return print(shape_util::makeShapeWithDescendingLayoutAndSamePhysicalLayout(
        shapeOf(text)));
  };
  EXPECT_EQ(physical("f32[2,<=3,5]{0,2,1:T(8,128)S(1)SC(0:1)PD(4,6,8)}"),
            "f32[<=3,5,2]{2,1,0:T(8,128)S(1)SC(0:1)PD(6,8,4)}");
  EXPECT_EQ(physical("f32[]"), "f32[]");
  EXPECT_EQ(physical("(f32[2])"), "error: util_c1");
}

TEST(ShapeUtil, DimensionNumbers) {
  Shape shape = shapeOf("f32[2,1,<=5,0,?]");
  EXPECT_EQ(get(shape_util::getDimension(shape, 0)), 2);
  EXPECT_EQ(get(shape_util::getDimension(shape, -1)), kDynamic);
  EXPECT_EQ(get(shape_util::getDimension(shape, -3)), 5);
  EXPECT_EQ(get(shape_util::getDimensionNumber(shape, -5)), 0);
  EXPECT_EQ(print(shape_util::getDimension(shape, 5)), "error: util_c5");
  EXPECT_EQ(print(shape_util::getDimension(shape, -6)), "error: util_c5");
  EXPECT_EQ(print(shape_util::getDimension(Shape::token(), 0)),
            "error: util_c1");
  // 0 is not 1, so a dimension of size 0 is a true one.
  EXPECT_EQ(shape_util::trueNumDimensions(shape), 4);
  EXPECT_TRUE(shape_util::hasDegenerateDimensions(shape));
  EXPECT_TRUE(shape_util::isZeroElementArray(shape));
  EXPECT_FALSE(shape_util::isZeroElementArray(Shape::token()));
}

TEST(ShapeUtil, ElementsIn) {
  EXPECT_EQ(get(shape_util::elementsIn(shapeOf("f32[]"))), 1);
  EXPECT_EQ(get(shape_util::elementsIn(shapeOf("f32[<=4,3]"))), 12);
  EXPECT_EQ(
      get(shape_util::elementsIn(shapeOf("f32[4294967296,4294967296,0]"))), 0);
  EXPECT_EQ(print(shape_util::elementsIn(shapeOf("f32[?]"))), "error: ");
  Shape huge = Shape::array(PrimitiveType::S8, {INT64_MAX, 2});
  EXPECT_EQ(print(shape_util::elementsIn(huge)), "error: util_c4");
}

TEST(ShapeUtil, EqualityHasSwitches) {
  Shape shape = shapeOf("f32[<=8,3]{1,0:T(8,128)S(1)}");
  shape_util::ShapeEqual equal;
  EXPECT_TRUE(equal(shape, shape));
  struct Case {
    const char *other;
    bool shape_util::ShapeEqual::*ignore;
  };
  for (Case c : std::initializer_list<Case>{
           {"f32[<=8,3]{0,1}", &shape_util::ShapeEqual::ignoreLayout},
           {"s32[<=8,3]{1,0:T(8,128)S(1)}",
            &shape_util::ShapeEqual::ignoreElementType},
           {"bf16[<=8,3]{1,0:T(8,128)S(1)}",
            &shape_util::ShapeEqual::ignoreFpPrecision},
           {"f32[8,3]{1,0:T(8,128)S(1)}",
            &shape_util::ShapeEqual::ignoreDynamicDimensions},
           {"f32[5,6]{1,0:T(8,128)S(1)}",
            &shape_util::ShapeEqual::ignoreDimensions}}) {
    Shape other = shapeOf(c.other);
    shape_util::ShapeEqual ignoring;
    ignoring.*c.ignore = true;
    EXPECT_FALSE(equal(shape, other)) << c.other;
    EXPECT_TRUE(ignoring(shape, other)) << c.other;
    EXPECT_FALSE(ignoring(Shape::tuple({shape}), Shape::tuple({}))) << c.other;
    EXPECT_TRUE(ignoring(Shape::tuple({shape}), Shape::tuple({other})))
        << c.other;
  }
  equal.layout.ignoreMemorySpace = true;
  EXPECT_TRUE(equal(shape, shapeOf("f32[<=8,3]{1,0:T(8,128)}")));
  EXPECT_FALSE(equal(shape, shapeOf("f32[<=8,3]{1,0}")));
  // A floating-point type is no integer, whatever the precision.
  EXPECT_FALSE(
      shape_util::equalIgnoringFpPrecision(shapeOf("f32[]"), shapeOf("s32[]")));
}

TEST(ShapeUtil, Compatible) {
  Shape shape = shapeOf("(f32[<=8,3]{1,0:S(1)}, token[])");
  EXPECT_TRUE(
      shape_util::compatible(shape, shapeOf("(f32[8,3]{0,1}, token[])")));
  EXPECT_FALSE(shape_util::compatible(shape, shapeOf("(f16[8,3], token[])")));
  EXPECT_TRUE(shape_util::compatibleIgnoringElementType(
      shape, shapeOf("(s4[8,3], token[])")));
  EXPECT_TRUE(shape_util::compatibleIgnoringFpPrecision(
      shape, shapeOf("(f16[8,3], token[])")));
  EXPECT_FALSE(shape_util::compatibleIgnoringElementType(
      shape, shapeOf("(s4[8,3], opaque[])")));
  EXPECT_TRUE(shape_util::sameDimensions(shapeOf("f32[2]"), shapeOf("s4[2]")));
  EXPECT_FALSE(
      shape_util::sameDimensions(shapeOf("f32[2]"), shapeOf("f32[3]")));
  EXPECT_TRUE(shape_util::sameRank(shapeOf("f32[2]"), shapeOf("f32[3]")));
  EXPECT_FALSE(shape_util::sameRank(shapeOf("()"), shapeOf("()")));
}

TEST(ShapeUtil, PermuteDimensions) {
  auto permuted = [](llvm::ArrayRef<int64_t> permutation,
                     llvm::StringRef text) {
    return print(shape_util::permuteDimensions(permutation, shapeOf(text)));
  };
  EXPECT_EQ(permuted({1, 0}, "f32[10,100]{1,0}"), "f32[100,10]{0,1}");
  EXPECT_EQ(permuted({2, 0, 1}, "f32[2,<=3,5]{0,2,1:T(8,128)PD(4,6,8)}"),
            "f32[5,2,<=3]{1,0,2:T(8,128)PD(8,4,6)}");
  EXPECT_EQ(permuted({}, "f32[]"), "f32[]");
  EXPECT_EQ(permuted({0, 0}, "f32[2,3]"), "error: util_c2");
  EXPECT_EQ(permuted({0}, "f32[2,3]"), "error: util_c2");
  EXPECT_EQ(permuted({1, 2}, "f32[2,3]"), "error: util_c2");
}

// Every element stays where it is: the permuted shape is a bitcast of the old.
TEST(ShapeUtil, PermutedDimensionsMoveNothing) {
  std::mt19937_64 random(testSeed());
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  for (int i = 0; i < testCount(1000); ++i) {
    Dims order(1 + random() % 5), permutation, sizes;
    std::iota(order.begin(), order.end(), 0);
    permutation = order;
    std::shuffle(order.begin(), order.end(), random);
    std::shuffle(permutation.begin(), permutation.end(), random);
    for (size_t d = 0; d < order.size(); ++d)
      sizes.push_back(1 + random() % 9);
    Shape shape = get(shape_util::makeShapeWithDenseLayout(
        PrimitiveType::F32, sizes, order, {Tile{{2, 3}}}));
    Shape permuted = get(shape_util::permuteDimensions(permutation, shape));
    BitcastAnswer answer = isTransposeBitcast(shape, permuted, permutation);
    EXPECT_TRUE(!!answer) << shape.toString() << " " << permuted.toString()
                          << answer.reason;
    EXPECT_TRUE(get(xla::transposeIsBitcast(shape, permuted, permutation)));
  }
}

TEST(ShapeUtil, DeleteDimensions) {
  using namespace shape_util;
  Shape shape = shapeOf("f32[2,<=3,5]{0,2,1:T(8,128)PD(4,6,8)}");
  EXPECT_EQ(print(deleteDimension(0, shape)),
            "f32[<=3,5]{1,0:T(8,128)PD(6,8)}");
  EXPECT_EQ(print(deleteDimension(-1, shape)),
            "f32[2,<=3]{0,1:T(8,128)PD(4,6)}");
  // The tile is longer than the rank now, which is legal.
  EXPECT_EQ(print(deleteDimensions({0, -1}, shape)),
            "f32[<=3]{0:T(8,128)PD(6)}");
  EXPECT_EQ(print(deleteDimensions({0, 1, 2}, shape)), "f32[]{:T(8,128)}");
  EXPECT_EQ(print(deleteDimension(3, shape)), "error: util_c5");
  // SC counts physical dimensions: 1, 2, 0 here. The splits go with them.
  Shape split = shapeOf("f32[2,3,5]{0,2,1:SC(0:1)(1:2)(2:1)}");
  EXPECT_EQ(print(deleteDimension(2, split)), "f32[2,3]{0,1:SC(0:1)(1:1)}");
  EXPECT_EQ(print(deleteDimension(1, split)), "f32[2,5]{0,1:SC(0:2)(1:1)}");
  EXPECT_EQ(print(dropDegenerateDimensions(shapeOf("f32[1,7,1,0]{0,3,2,1}"))),
            "f32[7,0]{1,0}");
  EXPECT_EQ(print(dropDegenerateDimensions(shapeOf("f32[1,1]"))), "f32[]");
}

TEST(ShapeUtil, InsertDimension) {
  using namespace shape_util;
  Shape shape = shapeOf("f32[2,<=3]{0,1:T(8,128)SC(1:1)PD(4,6)}");
  EXPECT_EQ(print(prependMajorDimension(7, shape)),
            "f32[7,2,<=3]{1,2,0:T(8,128)SC(2:1)PD(7,4,6)}");
  EXPECT_EQ(print(appendMinorDimension(7, shape)),
            "f32[2,<=3,7]{2,0,1:T(8,128)SC(1:1)PD(4,6,7)}");
  EXPECT_EQ(print(insertDimension(1, 7, 1, shape)),
            "f32[2,7,<=3]{0,1,2:T(8,128)SC(2:1)PD(4,7,6)}");
  EXPECT_EQ(print(insertDimension(0, 7, 0, shapeOf("f32[]{:S(1)}"))),
            "f32[7]{0:S(1)}");
  EXPECT_EQ(print(insertDimension(3, 7, 0, shape)), "error: util_c5");
  EXPECT_EQ(print(insertDimension(0, 7, -4, shape)), "error: util_c5");
  EXPECT_EQ(print(insertDimension(0, -7, 0, shape)), "error: shape_c1");
  // What was put in can be taken out again.
  EXPECT_EQ(print(deleteDimension(1, get(insertDimension(1, 7, 1, shape)))),
            shape.toString());
}

TEST(ShapeUtil, MoveDimToMajor) {
  EXPECT_EQ(
      print(shape_util::moveDimToMajor(shapeOf("f32[2,3,5]{2,1,0:S(1)}"), -1)),
      "f32[2,3,5]{1,0,2:S(1)}");
  EXPECT_EQ(print(shape_util::moveDimToMajor(shapeOf("f32[2]"), 1)),
            "error: util_c5");
}

TEST(ShapeUtil, ElementTypes) {
  using namespace shape_util;
  Shape packed = shapeOf("(s4[3]{0:E(4)}, f32[2]{0:E(32)})");
  EXPECT_EQ(print(changeElementType(packed, PrimitiveType::U2)),
            "(u2[3]{0:E(4)}, u2[2]{0:E(32)})");
  EXPECT_EQ(print(changeElementType(packed, PrimitiveType::Pred)),
            "(pred[3]{0}, pred[2]{0})");
  EXPECT_EQ(print(changeElementType(packed, PrimitiveType::Token)),
            "error: shape_c3");
  EXPECT_EQ(
      updateElementSizeInBits(shapeOf("(s4[3], pred[3], f32[2]{0:E(8)})"), true)
          .toString(),
      "(s4[3]{0:E(4)}, pred[3]{0}, f32[2]{0})");
  EXPECT_EQ(updateElementSizeInBits(packed, false).toString(),
            "(s4[3]{0}, f32[2]{0})");
  EXPECT_EQ(deviceShapeToHostShape(
                shapeOf("(s4[3]{0:T(8)L(4)E(4)S(1)SC(0:1)M(8)}, token[])"))
                .toString(),
            "(s4[3]{0:SC(0:1)}, token[])");
}

TEST(ShapeUtil, UnmodifiedDimensions) {
  auto pairs = [](llvm::StringRef from, llvm::StringRef to) {
    return get(
        shape_util::dimensionsUnmodifiedByReshape(shapeOf(from), shapeOf(to)));
  };
  EXPECT_THAT(pairs("f32[4,6,5]", "f32[24,5]"), ElementsAre(Pair(2, 1)));
  EXPECT_THAT(pairs("f32[2,3,4]", "f32[2,3,4]"),
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2)));
  EXPECT_THAT(pairs("f32[7,1,12]", "f32[7,3,4]"), ElementsAre(Pair(0, 0)));
  EXPECT_THAT(pairs("f32[2,3]", "f32[3,2]"), IsEmpty());
  EXPECT_THAT(pairs("f32[2,0]", "f32[0,3]"), IsEmpty());
  EXPECT_THAT(pairs("f32[1,0,3]", "f32[0,3]"),
              ElementsAre(Pair(1, 0), Pair(2, 1)));
  EXPECT_EQ(print(shape_util::dimensionsUnmodifiedByReshape(shapeOf("f32[2]"),
                                                            shapeOf("f32[3]"))),
            "error: util_c6");

  auto leaves = [](llvm::ArrayRef<int64_t> dims) {
    return get(shape_util::reshapeLeavesDimensionsUnmodified(
        shapeOf("f32[7,4,6,5]"), shapeOf("f32[7,24,5]"), dims));
  };
  EXPECT_EQ(leaves({0, 3}), (Dims{0, 2}));
  EXPECT_EQ(leaves({0, 1}), std::nullopt);
}

TEST(ShapeUtil, OneSizedDimensions) {
  auto changed = [](llvm::StringRef from, llvm::StringRef to) {
    return shape_util::insertedOrDeleted1SizedDimensions(shapeOf(from),
                                                         shapeOf(to));
  };
  auto inserted = changed("f32[3,1,5]", "f32[1,3,5,1]");
  ASSERT_TRUE(inserted);
  EXPECT_THAT(inserted->deleted, ElementsAre(1));
  EXPECT_THAT(inserted->inserted, ElementsAre(0, 3));
  EXPECT_TRUE(changed("f32[0,1]", "f32[1,0]"));
  EXPECT_FALSE(changed("f32[3,5]", "f32[15]"));
  EXPECT_FALSE(changed("f32[3,5]", "f32[5,3]"));
  EXPECT_FALSE(changed("f32[3]", "f32[4]"));
}
