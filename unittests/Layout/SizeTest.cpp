//===- SizeTest.cpp - Tests of sizes --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using testing::ElementsAre;

static ShapeSize sizeOf(llvm::StringRef text) {
  llvm::Expected<Shape> shape = parseShape(text);
  EXPECT_TRUE(bool(shape)) << llvm::toString(shape.takeError());
  llvm::Expected<ShapeSize> size = getSize(*shape);
  EXPECT_TRUE(bool(size)) << llvm::toString(size.takeError());
  return *size;
}

TEST(Size, TiledArray) {
  ShapeSize size = sizeOf("bf16[24,200]{1,0:T(8,128)(2,1)}");
  EXPECT_THAT(size.physicalShape, ElementsAre(3, 2, 4, 128, 2, 1));
  EXPECT_EQ(size.logicalElements, 24 * 200);
  EXPECT_EQ(size.allocatedElements, 24 * 256);
  EXPECT_EQ(size.bytes, 24 * 256 * 2);
  EXPECT_EQ(size.logicalBytes, 24 * 200 * 2);
  EXPECT_EQ(size.paddingBytes, 24 * 56 * 2);
  EXPECT_DOUBLE_EQ(size.expansion(), 256. / 200);
}

// Where XLA's own ArraySize looks at the first tile only (12288).
TEST(Size, LaterTilesPadToo) {
  EXPECT_EQ(sizeOf("bf16[24,256]{1,0:T(8,128)(2,1,1,1)}").bytes, 16384);
}

TEST(Size, ScalarTakesAWholeTile) {
  EXPECT_EQ(sizeOf("f32[]{:T(256)}").bytes, 1024);
  EXPECT_EQ(sizeOf("f32[]").bytes, 4);
}

TEST(Size, EmptyArrays) {
  ShapeSize size = sizeOf("f32[0,5]{1,0:T(8,128)}");
  EXPECT_EQ(size.bytes, 0);
  EXPECT_EQ(size.logicalElements, 0);
  EXPECT_DOUBLE_EQ(size.expansion(), 1);
  EXPECT_EQ(sizeOf("f32[1099511627776,0,1099511627776]").logicalElements, 0);
}

// L counts with tiles and without; XLA forgets it without.
TEST(Size, TailPadding) {
  EXPECT_EQ(sizeOf("f32[5]{0:L(8)}").bytes, 32);
  EXPECT_EQ(sizeOf("f32[5]{0:T(3)L(8)}").allocatedElements, 8);
}

TEST(Size, PackedElements) {
  EXPECT_EQ(sizeOf("s4[5]{0:E(4)}").bytes, 3);
  EXPECT_EQ(sizeOf("s4[5]").bytes, 5);
  EXPECT_EQ(sizeOf("s4[5]{0:E(4)}").paddingBytes, 0);
  EXPECT_EQ(sizeOf("pred[9]").bytes, 9);
}

TEST(Size, BoundsCount) { EXPECT_EQ(sizeOf("f32[<=8,3]").bytes, 96); }

TEST(Size, TuplesAreSums) {
  ShapeSize size = sizeOf("(f32[3], (u8[5]{0:T(8)}, token[]), opaque[])");
  EXPECT_EQ(size.bytes, 20);
  EXPECT_EQ(size.logicalBytes, 17);
  EXPECT_TRUE(size.physicalShape.empty());
  EXPECT_EQ(sizeOf("b(f32[3])").bytes, 12);
  EXPECT_EQ(sizeOf("()").bytes, 0);
}

TEST(Size, UnboundedIsUnsupported) {
  llvm::Expected<Shape> shape = parseShape("f32[3,?]");
  ASSERT_TRUE(bool(shape));
  llvm::Expected<ShapeSize> size = getSize(*shape);
  ASSERT_FALSE(bool(size));
  Diagnostic diagnostic = takeDiagnostic(size.takeError());
  EXPECT_EQ(diagnostic.kind, DiagnosticKind::Unsupported);
  EXPECT_EQ(diagnostic.found, "`?` in dimension 1");
}

// Bits may exceed 64 bits where bytes do not.
TEST(Size, Overflow) {
  Layout layout = Layout::descending(1);
  EXPECT_EQ(
      llvm::cantFail(getStorageBytes(INT64_MAX, PrimitiveType::U8, layout)),
      INT64_MAX);
  auto tooMany = getStorageBytes(INT64_MAX, PrimitiveType::U16, layout);
  ASSERT_FALSE(bool(tooMany));
  EXPECT_EQ(takeDiagnostic(tooMany.takeError()).rule, "size_c1");

  int64_t half = int64_t(1) << 62;
  Shape leaf = Shape::array(PrimitiveType::U8, {half});
  auto sum = getSize(Shape::tuple({leaf, leaf}));
  ASSERT_FALSE(bool(sum));
  EXPECT_EQ(takeDiagnostic(sum.takeError()).rule, "size_c1");
}
