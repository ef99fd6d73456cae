//===- XlaCompatTest.cpp - Tests of XLA's own answers ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/XlaCompat.h"
#include "UtilTestSupport.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/IndexUtil.h"
#include "tessera/Layout/ShapeUtil.h"
#include "tessera/Layout/Size.h"

#include "../TestCounts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace tessera;
using Dims = llvm::SmallVector<int64_t, 6>;

//===----------------------------------------------------------------------===//
// XlaCompat: sizes and addresses
//===----------------------------------------------------------------------===//

TEST(XlaCompatUtil, Sizes) {
  struct Case {
    const char *text;
    int64_t ofElements, arraySize, truth;
  };
  for (Case c : std::initializer_list<Case>{
           {"f32[3,5]{1,0}", 60, 60, 60},
           {"f32[3,5]{1,0:T(2,2)}", 60, 96, 96},
           {"pred[8,128]", 1024, 1024, 1024},
           {"s4[3]", 3, 3, 3},
           {"s4[3]{0:E(4)}", 2, 2, 2},
           {"f32[]{:T(256)}", 4, 1024, 1024},
           {"f32[<=3,5]", 60, 60, 60},
           // A tile longer than the rank pads the missing dimensions.
           {"f32[200]{0:T(8,128)}", 800, 8192, 8192},
           // L is forgotten without tiles.
           {"f32[5]{0:L(8)}", 20, 20, 32},
           {"f32[5]{0:T(2)L(8)}", 20, 32, 32},
           // Padding by later tiles is not seen.
           {"bf16[24,256]{1,0:T(8,128)(2,1,1,1)}", 12288, 12288, 16384},
           {"bf16[24,256]{1,0:T(8,128)(2,1)}", 12288, 12288, 12288},
           // The largest piece is what counts for XLA; for us it is the buffer.
           {"f32[150,200]{1,0:T(1,1)SC(0:30)(1:40,130)}", 120000, 43200,
            120000},
           {"f32[0,5]{1,0:T(8,128)}", 0, 0, 0},
       }) {
    Shape shape = shapeOf(c.text);
    EXPECT_EQ(get(xla::byteSizeOfElements(shape)), c.ofElements) << c.text;
    EXPECT_EQ(get(xla::byteSizeOf(shape)), c.ofElements) << c.text;
    EXPECT_EQ(get(xla::arraySize(shape)), c.arraySize) << c.text;
    EXPECT_EQ(get(getSize(shape)).bytes, c.truth) << c.text;
  }
  EXPECT_EQ(get(xla::byteSizeOf(shapeOf("(f32[100], (), token[])"), 4)), 12);
  EXPECT_EQ(get(xla::byteSizeOf(shapeOf("token[]"))), 0);
  EXPECT_EQ(get(xla::byteSizeOf(shapeOf("opaque[]"))), 8);
  EXPECT_EQ(print(xla::byteSizeOfElements(shapeOf("(f32[2])"))),
            "error: util_c1");
  EXPECT_EQ(print(xla::arraySize(shapeOf("f32[4,6]{1,0:T(*,2)}"))), "error: ");
  EXPECT_EQ(print(xla::arraySize(shapeOf("f32[?]"))), "error: ");
}

TEST(XlaCompatUtil, ArrayDataSize) {
  auto size = [](llvm::StringRef text) {
    return get(xla::arrayDataSize(shapeOf(text)));
  };
  EXPECT_EQ(size("f32[3,5]{1,0}"), 60);
  EXPECT_EQ(size("f32[3,5]{1,0:T(2,2)}"), 4 * (20 + 1));
  // XLA's own slip, kept: the last index of an empty array is negative.
  EXPECT_EQ(size("f32[0,5]{1,0:T(8,128)}"), -492);
  EXPECT_EQ(size("s4[3]{0:E(4)}"), 2);
}

TEST(XlaCompatUtil, SerializedDataSize) {
  EXPECT_EQ(get(xla::serializedDataSize(
                shapeOf("(pred[9], s4[3], (f32[2]), c64[])"))),
            2 + 2 + 8 + 8);
  EXPECT_EQ(print(xla::serializedDataSize(shapeOf("(token[])"))),
            "error: util_c1");
}

TEST(XlaCompatUtil, Strides) {
  Shape shape = shapeOf("f32[5,8,10,4]{3,2,1,0:T(8,128)}");
  EXPECT_EQ(get(xla::getDimensionStride(shape, 1)), 40);
  EXPECT_EQ(get(xla::getDimensionStride(shape, -1)), 1);
  EXPECT_EQ(get(xla::byteStrides(shape)), (Dims{1280, 160, 16, 4}));
  EXPECT_EQ(get(xla::byteStrides(shapeOf("s4[2,3]{0,1:E(4)}"))), std::nullopt);
  EXPECT_EQ(get(xla::unpackedByteStrides(shapeOf("s4[2,3]{0,1:E(4)}"))),
            (Dims{1, 2}));
}

TEST(XlaCompatUtil, LinearIndexSeesTheFirstTileOnly) {
  // The full rule says 51 where XLA sees one tile of two.
  Shape nested = shapeOf("f32[8,8]{1,0:T(2,4)(2,1,1,1)}");
  EXPECT_EQ(get(AxisList::get(nested)).linearIndex({6, 5}), 51);
  EXPECT_EQ(
      get(xla::linearIndex(nested, {6, 5})),
      get(AxisList::get(shapeOf("f32[8,8]{1,0:T(2,4)}"))).linearIndex({6, 5}));
  EXPECT_EQ(get(xla::linearIndex(shapeOf("f32[3,5]{1,0:T(2,2)}"), {2, 3})), 17);
  EXPECT_EQ(get(xla::linearIndex(shapeOf("f32[]{:T(256)}"), {})), 0);
  EXPECT_EQ(
      get(xla::linearIndex(shapeOf("bf16[512]{0:T(256)(128)(2,1)}"), {300})),
      300);
  EXPECT_EQ(print(xla::linearIndex(nested, {1})), "error: util_c3");
  EXPECT_EQ(print(xla::linearIndex(nested, {INT64_MAX, INT64_MIN})),
            "error: util_c4");
}

// Where there is one tile no longer than the rank, XLA is right.
TEST(XlaCompatUtil, AgreesWithTheAxesOnOneTile) {
  std::mt19937_64 random(testSeed());
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  for (int i = 0; i < testCount(1000); ++i) {
    Dims order(2 + random() % 3), sizes;
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t d = 0; d < order.size(); ++d)
      sizes.push_back(1 + random() % 6);
    Tile tile;
    for (size_t d = 0; d < 1 + random() % order.size(); ++d)
      tile.sizes.push_back(1 + random() % 4);
    bool isTiled = random() % 4 != 0;
    Shape shape = get(shape_util::makeShapeWithDenseLayout(
        PrimitiveType::S16, sizes, order,
        isTiled ? llvm::ArrayRef(tile) : llvm::ArrayRef<Tile>()));
    AxisList axes = get(AxisList::get(shape));
    EXPECT_EQ(get(xla::arraySize(shape)), get(getSize(shape)).bytes);
    get(index_util::forEachIndex(shape, [&](llvm::ArrayRef<int64_t> index) {
      int64_t position = get(xla::linearIndex(shape, index));
      EXPECT_EQ(position, axes.linearIndex(index)) << shape.toString();
      if (isTiled)
        return true;
      EXPECT_EQ(get(xla::multidimensionalIndexToLinearIndex(shape, index)),
                position);
      EXPECT_EQ(get(xla::linearIndexToMultidimensionalIndex(shape, position)),
                Dims(index));
      return true;
    }));
  }
}

TEST(XlaCompatUtil, IndicesAreChecked) {
  Shape shape = shapeOf("f32[2,3]");
  EXPECT_EQ(print(xla::multidimensionalIndexToLinearIndex(shape, {2, 0})),
            "error: util_c3");
  EXPECT_EQ(print(xla::multidimensionalIndexToLinearIndex(shape, {0})),
            "error: util_c3");
  EXPECT_EQ(print(xla::linearIndexToMultidimensionalIndex(shape, 6)),
            "error: util_c3");
  EXPECT_EQ(print(xla::linearIndexToMultidimensionalIndex(shape, -1)),
            "error: util_c3");
  EXPECT_EQ(
      print(xla::linearIndexToMultidimensionalIndex(shapeOf("f32[0]"), 0)),
      "error: util_c3");
}

//===----------------------------------------------------------------------===//
// XlaCompat: bitcasts, and where memory says otherwise
//===----------------------------------------------------------------------===//

struct BitcastCase {
  const char *from, *to;
  bool xla, memory;
};

TEST(XlaCompatUtil, ReshapeIsBitcast) {
  for (BitcastCase c : std::initializer_list<BitcastCase>{
           {"f32[4,6]{1,0}", "f32[24]{0}", true, true},
           {"f32[4,6]{0,1}", "f32[24]{0}", false, false},
           {"f32[3,2,2]{0,1,2}", "f32[6,2]{0,1}", false, false},
           {"f32[0,6]{1,0}", "f32[5,0]{0,1}", true, true},
           {"f32[1,8,128]{2,1,0}", "f32[8,1,128]{2,1,0}", true, true},
           {"f32[2,3]{1,0}", "f32[7]{0}", false, false},
           // XLA looks at minor_to_major only.
           {"f32[8,256]{1,0:T(8,128)}", "f32[2048]{0:T(1024)}", true, false},
           {"f32[8,256]{1,0:T(8,128)}", "f32[8,2,128]{2,1,0:T(8,128)}", true,
            false},
           {"f32[8,256]{1,0:T(8,128)}", "f32[8,256]{1,0}", true, false},
           {"f32[8,256]{1,0:T(8,128)}", "f32[8,256]{1,0:T(4,128)}", true,
            false},
           {"f32[4,4,128]{2,1,0:T(8,128)}", "f32[16,128]{1,0:T(8,128)}", true,
            false},
           {"f32[16,1,128]{2,1,0:T(8,128)}", "f32[16,128]{1,0:T(8,128)}", true,
            false},
           {"f32[4,6,5]{2,1,0:T(2,*,3)}", "f32[24,5]{1,0:T(2,3)}", true, false},
           {"f32[4,6,5]{2,1,0:T(*,2,3)}", "f32[24,5]{1,0:T(2,3)}", true, true},
           // The addresses agree, the footprints do not.
           {"f32[2,128]{1,0:T(8,128)}", "f32[2,128]{1,0:T(2,128)}", true,
            false},
           {"f32[8]{0}", "f32[8]{0:S(1)}", true, false},
       }) {
    Shape from = shapeOf(c.from), to = shapeOf(c.to);
    EXPECT_EQ(get(xla::reshapeIsBitcast(from, to)), c.xla) << c.from << c.to;
    EXPECT_EQ(!!isReshapeBitcast(from, to), c.memory) << c.from << " " << c.to;
  }
  Shape f32 = shapeOf("f32[4]"), s32 = shapeOf("s32[4]");
  EXPECT_FALSE(get(xla::reshapeIsBitcast(f32, s32)));
  EXPECT_TRUE(get(xla::reshapeIsBitcast(f32, s32, /*ignoreElementType=*/true)));
  EXPECT_EQ(print(xla::reshapeIsBitcast(f32, shapeOf("f32[?]"))), "error: ");
}

TEST(XlaCompatUtil, TransposeIsBitcast) {
  struct Case {
    BitcastCase shapes;
    Dims permutation;
  };
  for (const Case &c : std::initializer_list<Case>{
           {{"f32[10,100]{1,0}", "f32[100,10]{0,1}", true, true}, {1, 0}},
           {{"f32[10,100]{1,0}", "f32[100,10]{1,0}", false, false}, {1, 0}},
           {{"f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1:T(4,128)}", true,
             false},
            {1, 0}},
           // Exact even for dimensions of size 1, where memory does not care.
           {{"f32[1,8,128]{2,1,0}", "f32[8,1,128]{2,1,0}", false, true},
            {1, 0, 2}},
       }) {
    Shape from = shapeOf(c.shapes.from), to = shapeOf(c.shapes.to);
    EXPECT_EQ(get(xla::transposeIsBitcast(from, to, c.permutation)),
              c.shapes.xla)
        << c.shapes.from;
    EXPECT_EQ(!!isTransposeBitcast(from, to, c.permutation), c.shapes.memory)
        << c.shapes.from;
  }
  EXPECT_EQ(print(xla::transposeIsBitcast(shapeOf("f32[2,3]"),
                                          shapeOf("f32[3,2]"), {0, 0})),
            "error: util_c2");
}

TEST(XlaCompatUtil, ReshapeOrTranspose) {
  auto is = [](llvm::StringRef from, llvm::StringRef to) {
    return get(xla::isReshapeOrTransposeBitcast(shapeOf(from), shapeOf(to)));
  };
  EXPECT_TRUE(is("f32[4,6]{1,0}", "f32[24]{0}"));
  EXPECT_TRUE(is("f32[4,6]{1,0}", "f32[6,4]{0,1}"));
  EXPECT_FALSE(is("f32[4,6]{0,1}", "f32[24]{0}"));
  EXPECT_FALSE(is("f32[4,6]{1,0}", "s32[6,4]{0,1}"));
  EXPECT_EQ(get(xla::deduceTransposePermutation(shapeOf("f32[2,3,5]{0,2,1}"),
                                                shapeOf("f32[5,2,3]{1,0,2}"))),
            (Dims{2, 0, 1}));
}

/// Whether following a decomposition keeps every element at its position.
static void checkDecomposition(const Shape &from, const Shape &to) {
  auto parts = get(xla::decomposeBitcast(from, to));
  ASSERT_TRUE(parts) << from.toString() << to.toString();
  using Kind = xla::BitcastDecomposition::Kind;
  switch (parts->kind) {
  case Kind::Reshape:
    EXPECT_TRUE(isReshapeBitcast(from, to));
    return;
  case Kind::Transpose:
    EXPECT_TRUE(isTransposeBitcast(from, to, parts->first));
    return;
  case Kind::TransposeReshapeTranspose:
    EXPECT_TRUE(isTransposeBitcast(from, parts->reshapeFrom, parts->first));
    EXPECT_TRUE(isReshapeBitcast(parts->reshapeFrom, parts->reshapeTo));
    EXPECT_TRUE(isTransposeBitcast(parts->reshapeTo, to, parts->last));
    return;
  }
}

TEST(XlaCompatUtil, DecomposeBitcast) {
  using Kind = xla::BitcastDecomposition::Kind;
  auto kind = [](llvm::StringRef from, llvm::StringRef to) {
    return get(xla::decomposeBitcast(shapeOf(from), shapeOf(to)))->kind;
  };
  EXPECT_EQ(kind("f32[4,6]{1,0}", "f32[24]{0}"), Kind::Reshape);
  EXPECT_EQ(kind("f32[4,6]{1,0}", "f32[6,4]{0,1}"), Kind::Transpose);
  EXPECT_EQ(kind("f32[4,6]{0,1}", "f32[24]{0}"),
            Kind::TransposeReshapeTranspose);
  // Widths in bits must agree.
  EXPECT_FALSE(
      get(xla::decomposeBitcast(shapeOf("f32[4]"), shapeOf("s8[16]"))));
  EXPECT_FALSE(
      get(xla::decomposeBitcast(shapeOf("f32[4]"), shapeOf("f16[4]"))));

  std::mt19937_64 random(testSeed());
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  const Dims choices[] = {{2, 3, 4}, {24},      {4, 6},
                          {1, 8, 3}, {6, 2, 2}, {2, 1, 12, 1}};
  auto randomShape = [&] {
    const Dims &sizes = choices[random() % std::size(choices)];
    Dims order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return get(
        shape_util::makeShapeWithDenseLayout(PrimitiveType::F32, sizes, order));
  };
  for (int i = 0; i < testCount(1000); ++i)
    checkDecomposition(randomShape(), randomShape());
}

TEST(XlaCompatUtil, AlignLayouts) {
  auto align = [](llvm::StringRef from, llvm::StringRef to) -> std::string {
    Shape fromShape = shapeOf(from);
    auto aligned = get(xla::alignLayouts(fromShape, shapeOf(to)));
    if (!aligned)
      return "none";
    EXPECT_TRUE(get(xla::reshapeIsBitcast(fromShape, *aligned)))
        << from.str() << aligned->toString();
    return aligned->toString();
  };
  EXPECT_EQ(align("f32[3,8,5,7,11]{3,2,1,0,4}", "f32[4,3,2,7,5,11]"),
            "f32[4,3,2,7,5,11]{4,3,2,1,0,5}");
  EXPECT_EQ(align("f32[3,8,5,7,11]{3,2,1,0,4}", "f32[3,2,4,35,11]"),
            "f32[3,2,4,35,11]{3,2,1,0,4}");
  EXPECT_NE(align("f32[1,3,8,1,5,7,1,11,1,1]{5,0,4,2,1,3,6,7,9,8}",
                  "f32[1,4,1,3,2,7,5,11,1]"),
            "none");
  EXPECT_EQ(align("f32[3,5]{0,1}", "f32[15]"), "none");
  EXPECT_EQ(align("f32[3,5]{0,1}", "f32[16]"), "none");
  EXPECT_EQ(align("f32[0,5]{0,1}", "f32[3,0]"), "f32[3,0]{1,0}");
  EXPECT_EQ(align("f32[1,1]{0,1}", "f32[]"), "f32[]");
}
