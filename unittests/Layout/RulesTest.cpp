//===- RulesTest.cpp - Tests of the rules of the notation -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each label of docs/notation-rules.md: texts that violate it, with the
// position that the error points at, and neighbours that do not.
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using testing::HasSubstr;

namespace {
/// A text with `^` before the token that the error points at.
struct BadText {
  const char *rule;
  const char *marked;
  const char *message = "";
};

/// The text without the mark, and the position of the mark.
std::pair<std::string, int64_t> splitMark(llvm::StringRef marked) {
  auto [before, after] = marked.split('^');
  return {(before + after).str(), static_cast<int64_t>(before.size())};
}

template <typename Parse> void expectError(const BadText &bad, Parse parse) {
  auto [text, position] = splitMark(bad.marked);
  SCOPED_TRACE(text);
  auto result = parse(text);
  ASSERT_FALSE(!!result) << "taken as " << result->toString();
  Diagnostic diagnostic = takeDiagnostic(result.takeError());
  EXPECT_EQ(diagnostic.rule, bad.rule);
  EXPECT_EQ(diagnostic.position, position);
  EXPECT_EQ(diagnostic.kind, DiagnosticKind::Invalid);
  EXPECT_FALSE(diagnostic.field.empty());
  EXPECT_FALSE(diagnostic.expected.empty());
  EXPECT_FALSE(diagnostic.found.empty());
  EXPECT_THAT(diagnostic.message(), HasSubstr(bad.message));
}

void expectShapeError(const BadText &bad) {
  expectError(bad, [](llvm::StringRef text) { return parseShape(text); });
}

void expectLayoutError(const BadText &bad) {
  expectError(bad, [](llvm::StringRef text) { return parseLayout(text); });
}

void expectShape(llvm::StringRef text) {
  llvm::Expected<Shape> shape = parseShape(text);
  if (!shape)
    ADD_FAILURE() << text.str() << ": " << llvm::toString(shape.takeError());
}

void expectLayout(llvm::StringRef text) {
  llvm::Expected<Layout> layout = parseLayout(text);
  if (!layout)
    ADD_FAILURE() << text.str() << ": " << llvm::toString(layout.takeError());
  else
    EXPECT_EQ(layout->toString(), text);
}

std::string ruleOf(llvm::Error error) {
  return takeDiagnostic(std::move(error)).rule;
}
} // namespace

//===----------------------------------------------------------------------===//
// Layouts alone
//===----------------------------------------------------------------------===//

TEST(LayoutRules, MinorToMajorIsAPermutation) {
  expectLayoutError({"layout_c1", "{^1}", "0 to 0, found 1"});
  expectLayoutError({"layout_c1", "{1,^1}", "found 1 for the second time"});
  expectLayoutError({"layout_c1", "{^-1,0}", "found -1"});
  expectLayoutError({"layout_c1", "{0, 1, /*c*/ ^3}", "found 3"});
  expectShapeError({"layout_c1", "f32[2,2]{1,^2}"});
  expectLayout("{}");
  expectLayout("{2,0,1}");
}

TEST(LayoutRules, TilesHaveSizes) {
  expectLayoutError({"layout_c2", "{0:T^()}", "at least one size"});
  expectLayoutError({"layout_c2", "{0:T(2) ^()}"});
}

TEST(LayoutRules, TileSizesArePositive) {
  expectLayoutError({"layout_c3", "{0:T(^0)}", "found 0"});
  expectLayoutError({"layout_c3", "{0:T(8,128)(2,^-1)}", "found -1"});
  // The number that marks `*` within a Tile is no way to write it.
  expectLayoutError({"layout_c3", "{0:T(^-9223372036854775808,2)}"});
  expectLayout("{0:T(1)}");
  expectLayout("{0:T(9223372036854775807)}");
}

TEST(LayoutRules, LastTileSizeIsANumber) {
  expectLayoutError({"layout_c4", "{0:T(2,^*)}", "more minor neighbour"});
  expectLayoutError({"layout_c4", "{:T(^*)}"});
  expectLayout("{0:T(*,*,2,*,3)(*,1)}");
}

TEST(LayoutRules, TailPaddingIsPositive) {
  expectLayoutError({"layout_c5", "{0:L(^0)}", "at least 1, found 0"});
  expectLayoutError({"layout_c5", "{0:L(^-1)}"});
  expectLayout("{0:L(2)}");
}

TEST(LayoutRules, ElementSizeIsNotNegative) {
  expectLayoutError({"layout_c6", "{0:E(^-1)}"});
  expectLayout("{0:E(33)}");
}

TEST(LayoutRules, MemorySpaceIsInRange) {
  expectLayoutError({"layout_c7", "{0:S(^-1)}"});
  expectLayoutError({"layout_c7", "{0:T(2)S(^128)}", "0 to 127, found 128"});
  expectLayout("{0:S(127)}");
}

TEST(LayoutRules, SplitDimensionIsBelowRank) {
  expectLayoutError({"layout_c8", "{0:SC(^1:2)}", "rank 1, found 1"});
  expectLayoutError({"layout_c8", "{0:SC(0:2)(^-1:2)}"});
  expectLayoutError({"layout_c8", "{:SC(^0:2)}"});
  expectLayout("{0,1:SC(1:2)(1:3)}");
}

TEST(LayoutRules, SplitIndicesIncrease) {
  expectLayoutError({"layout_c9", "{0:SC(0:^0)}", "found 0"});
  expectLayoutError({"layout_c9", "{0:SC(0:^-3,4)}"});
  expectLayoutError({"layout_c9", "{0:SC(0:4,7,^7)}", "found 7 after 7"});
  expectLayoutError({"layout_c9", "{0:SC(0:4)(0:4,^3)}", "found 3 after 4"});
  expectLayout("{0:SC(0:)}");
  expectShape("f32[2]{0:SC(0:1,1000)}");
}

TEST(LayoutRules, MetadataPrefixIsNotNegative) {
  expectLayoutError({"layout_c10", "{0:M(^-1)}"});
  expectLayout("{0:M(8)}");
}

TEST(LayoutRules, PaddedDimensionsHaveAWidthEach) {
  expectLayoutError({"layout_c11", "{1,0:PD^(3)}", "2 dimensions, found 1"});
  expectLayoutError({"layout_c11", "{:PD^(3)}"});
  expectLayoutError({"layout_c11", "{1,0:PD(3,^-1)}", "found -1"});
  expectLayout("{1,0:PD(0,5)}");
}

TEST(LayoutRules, BoundsHaveAnEntryEach) {
  expectLayoutError({"layout_c12", "{1,0:B^(8)}", "2 dimensions, found 1"});
  expectLayoutError({"layout_c12", "{1,0:B(?,^-8)}", "found -8"});
  expectLayoutError({"layout_c12", "{0:B(^-9223372036854775808)}"});
  expectLayoutError({"layout_c12", "{1,0:B^(?,?)}", "leave B out"});
  expectLayout("{1,0:B(8,?)}");
  expectLayout("{0:B(0)}");
}

// Values that no text makes are checked all the same.
TEST(LayoutRules, ValuesAreChecked) {
  Layout layout = Layout::descending(2);
  EXPECT_FALSE(layout.verify());
  layout.tiles.push_back(Tile());
  EXPECT_EQ(ruleOf(layout.verify()), "layout_c2");
  layout.tiles[0].sizes = {Tile::kCombine, 2};
  EXPECT_FALSE(layout.verify());
  layout.tailPaddingAlignment = INT64_MIN;
  EXPECT_EQ(ruleOf(layout.verify()), "layout_c5");
}

//===----------------------------------------------------------------------===//
// Layouts of an array
//===----------------------------------------------------------------------===//

TEST(LayoutRules, RankAgrees) {
  expectShapeError({"layout_c13", "f32[2,3]^{0}", "2 dimensions, found 1"});
  expectShapeError({"layout_c13", "f32[2]^{:T(8)}"});
  expectShapeError({"layout_c13", "f32[] ^{0}"});
  expectShape("f32[]{:T(8)}");
}

TEST(LayoutRules, WidthsCoverSizes) {
  expectShapeError(
      {"layout_c14", "f32[2,3]{1,0:PD(2,^2)}", "at least the size 3"});
  expectShapeError({"layout_c14", "f32[<=8]{0:PD(^7)}"});
  expectShape("f32[2,3]{1,0:PD(2,3)}");
  expectShape("f32[0]{0:PD(0)}");
  // A width is a promise about a size that is not known.
  expectShape("f32[?]{0:PD(8)}");
  Layout layout = Layout::descending(1);
  layout.paddedDimensions = {4};
  layout.bounds = {5};
  EXPECT_EQ(ruleOf(verifyLayout(layout, PrimitiveType::F32, {kDynamic})),
            "layout_c14");
}

TEST(LayoutRules, PaddingValueIsOfTheType) {
  expectShapeError(
      {"layout_c15", "pred[2]{0:PV(^lowest)}", "pred has, found lowest"});
  expectShapeError({"layout_c15", "c64[2]{0:PD(3)PV(^highest)}"});
  expectShapeError({"layout_c15", "f8e8m0fnu[2]{0:PV(^zero)}"});
  expectShapeError({"layout_c15", "f8e8m0fnu[2]{0:PV( ^0)}"});
  expectShapeError({"layout_c15", "s1[2]{0:PV(^one)}"});
  for (const char *text :
       {"pred[2]{0:PV(one)}", "c128[2]{0:PV(zero)}", "f8e8m0fnu[2]{0:PV(one)}",
        "f8e8m0fnu[2]{0:PV(lowest)}", "s1[2]{0:PV(lowest)}", "u1[2]{0:PV(one)}",
        "f32[2]{0:PV(highest)}"})
    expectShape(text);
}

TEST(LayoutRules, BoundsAreNotBelowSizes) {
  Layout layout = Layout::descending(2);
  layout.bounds = {8, kDynamic};
  EXPECT_EQ(ruleOf(verifyLayout(layout, PrimitiveType::F32, {9, 3})),
            "layout_c16");
  EXPECT_FALSE(verifyLayout(layout, PrimitiveType::F32, {8, 3}));
  EXPECT_FALSE(verifyLayout(layout, PrimitiveType::F32, {4, 3}));
  EXPECT_FALSE(verifyLayout(layout, PrimitiveType::F32, {kDynamic, 3}));
  EXPECT_FALSE(verifyLayout(layout, PrimitiveType::F32, {kDynamic, kDynamic}));
}

TEST(LayoutRules, BufferCanBeCounted) {
  expectShape("s8[1]{0:L(9223372036854775807)}");
  expectShape("s8[0]{0:L(9223372036854775807)}");
  // Two elements are rounded up to the alignment, not to twice of it.
  expectShape("s8[2]{0:L(9223372036854775807)}");
  expectShapeError({"layout_c17", "s16[2]^{0:L(9223372036854775807)}"});
  expectShapeError({"layout_c17", "f32[3,3]^{1,0:T(4294967296,4294967296)}"});
  expectShapeError({"layout_c17", "s8[3,3]^{1,0:PD(4294967296,4294967296)}"});
  expectShapeError({"layout_c17", "s8[2]^{0:L(64)E(9223372036854775807)}"});
  expectShapeError(
      {"layout_c17", "(f32[2], f32[3]^{0:T(9223372036854775807)})"});
  expectShape("s8[8]{0:E(9223372036854775807)}");
  // The bytes fit though the bits of the last seven elements do not.
  expectShape("s64[15]{0:E(4611686018427387904)}");
  expectShapeError({"layout_c17", "s64[17]^{0:E(4611686018427387904)}"});
  // Legal, though no axis list can be made of it.
  expectShape("f32[?,3]{1,0:T(*,2)}");
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

TEST(ShapeRules, SizesAreNotNegative) {
  expectShapeError({"shape_c1", "f32[2,^-1]", "found -1"});
  expectShapeError({"shape_c1", "f32[^<=-1]", "bound of a dimension"});
  expectShapeError({"shape_c1", "f32[^-9223372036854775808]"});
  expectShape("f32[0,-0,<=0,?]");
  Shape shape = Shape::array(PrimitiveType::F32, {kDynamic});
  EXPECT_FALSE(shape.verify());
  shape.setDynamicDimension(0, false);
  EXPECT_EQ(ruleOf(shape.verify()), "shape_c1");
}

TEST(ShapeRules, ArrayCanBeCounted) {
  expectShapeError({"shape_c2", "s8[4611686018427387904,^2]"});
  expectShapeError({"shape_c2", "s16[^9223372036854775807]"});
  expectShapeError({"shape_c2", "s8[?,4294967296,^4294967296]"});
  expectShape("s8[9223372036854775807]");
  // Nothing is beside a dimension of size 0.
  expectShape("f32[4611686018427387904,2,0]");
}

TEST(ShapeRules, ArraysHaveElements) {
  EXPECT_EQ(ruleOf(Shape::array(PrimitiveType::Token, {}).verify()),
            "shape_c3");
  EXPECT_EQ(
      ruleOf(Shape::tuple({Shape::array(PrimitiveType::Opaque, {2})}).verify()),
      "shape_c3");
}

TEST(ShapeRules, BoundsAreInTheDimensions) {
  expectShapeError({"shape_c4", "f32[?,3]{1,0:B^(8,?)}", "as `<=8`"});
}

TEST(ShapeRules, BuffersHoldAnArray) {
  expectShapeError({"shape_c5", "b(^token[])"});
  EXPECT_EQ(ruleOf(Shape::buffer(Shape()).verify()), "shape_c5");
  EXPECT_EQ(ruleOf(Shape::buffer(Shape::buffer(Shape::token())).verify()),
            "shape_c5");
  expectShape("b(f32[2]{0:T(8)})");
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

TEST(TextRules, Grammar) {
  for (BadText bad : std::initializer_list<BadText>{
           {"text_c1", "f32^", "expected `[`, found the end of the text"},
           {"text_c1", "f32[^,2]", "an integer, found `,`"},
           {"text_c1", "f32[2,^]"},
           {"text_c1", "f32[2^;3]", "`,` or `]`, found `;`"},
           {"text_c1", "f32[^2x3]", "an integer, found `2x3`"},
           {"text_c1", "f32[^1e3]"},
           {"text_c1", "f32[^1.5]"},
           {"text_c1", "f32[^+2]"},
           {"text_c1", "f32[^- 2]"},
           {"text_c1", "f32[^< =2]"},
           {"text_c1", "f32[2]{0,^}"},
           {"text_c1", "f32[2]{0 ^1}", "`,`, `:` or `}`"},
           {"text_c1", "f32[2]{0:^}", "one of D T L E S SC M PD PV B"},
           {"text_c1", "f32[2]{0:^Q(2)}"},
           {"text_c1", "f32[2]{0:T^}"},
           {"text_c1", "f32[2]{0:T(2^}", "`,` or `)`"},
           {"text_c1", "f32[2]{0:S(1^}", "`)`, found `}`"},
           {"text_c1", "f32[2]{0:D(^X)}", "one of D, C, S, H"},
           {"text_c1", "f32[2]{0:D(D~^+)}"},
           {"text_c1", "f32[2]{0:SC(0^)}", "`:`"},
           {"text_c1", "f32[2]{0:PD(^)}"},
           {"text_c1", "f32[2]{0:PV(^two)}", "zero, one, lowest or highest"},
           {"text_c1", "f32[2]{0^"},
           {"text_c1", "(f32[2]^"},
           {"text_c1", "b^"},
           {"text_c1", "b(f32[2]^"},
       })
    expectShapeError(bad);
}

// What was found can be printed, whatever it is.
TEST(TextRules, FoundIsPrintable) {
  expectShapeError({"text_c1", "f32[^\x01]", "found byte 0x01"});
  expectShapeError({"text_c1", "f32[^\xc3\xa9]", "found byte 0xc3"});
  expectShapeError({"text_c5", "^*", "found `*`"});
  Diagnostic diagnostic =
      takeDiagnostic(parseShape(std::string(1000, 'x')).takeError());
  EXPECT_EQ(diagnostic.found, "`" + std::string(40, 'x') + "`");
}

TEST(TextRules, IntegersFit) {
  expectShapeError({"text_c2", "f32[^9223372036854775808]", "64 bits"});
  expectShapeError({"text_c2", "f32[2]{^18446744073709551615}"});
  expectLayoutError({"text_c2", "{0:T(^99999999999999999999999999)}"});
}

TEST(TextRules, KeysAreOrdered) {
  expectLayoutError({"text_c3", "{0:L(4)^T(2)}", "in the order D T L"});
  expectLayoutError({"text_c3", "{0:T(2)^T(2)}", "at most once"});
  expectLayoutError({"text_c3", "{0:PV(zero)^M(8)}"});
}

TEST(TextRules, NothingFollows) {
  expectShapeError({"text_c4", "f32[2] ^f32[2]", "nothing after the shape"});
  expectShapeError({"text_c4", "f32[]^{}"});
  expectShapeError({"text_c4", "f32[2]^{}"});
  expectLayoutError({"text_c4", "{0}^}", "nothing after the layout"});
  expectShape(" f32[2] // f32[2]");
}

TEST(TextRules, TypesAreKnown) {
  expectShapeError({"text_c5", "^F32[2]", "found `F32`"});
  expectShapeError({"text_c5", "^", "the end of the text"});
  expectShapeError({"text_c5", "^tuple[]"});
  expectShapeError({"text_c5", "(f32[], ^f33[])"});
  expectShapeError({"text_c5", "b(^b(f32[2]))"});
  expectShapeError({"text_c5", "b(^())"});
}

TEST(TextRules, ArraysAreDense) {
  expectLayoutError({"text_c6", "{0:^#(u32)}", "sparse"});
  expectLayoutError({"text_c6", "{0:T(2)^*(u32)}"});
  expectLayoutError({"text_c6", "{0:^P(f32[2])}"});
}

TEST(TextRules, TokensHaveNoDimensions) {
  expectShapeError({"text_c7", "token[^2]", "token has no dimensions"});
  expectShapeError({"text_c7", "opaque[] ^{:T(2)}", "opaque has no layout"});
  expectShape("(token[], opaque[ ])");
}

TEST(TextRules, TuplesNestSoDeep) {
  auto nested = [](size_t depth) {
    return std::string(depth, '(') + std::string(depth, ')');
  };
  expectShape(nested(256));
  llvm::Expected<Shape> shape = parseShape(nested(1000000));
  ASSERT_FALSE(!!shape);
  Diagnostic diagnostic = takeDiagnostic(shape.takeError());
  EXPECT_EQ(diagnostic.rule, "text_c8");
  EXPECT_EQ(diagnostic.position, 256);
}

TEST(TextRules, CommentsEnd) {
  expectShapeError({"text_c9", "f32[2, ^/* 3]"});
  expectShapeError({"text_c9", "f32[2] ^/*/"});
  expectShapeError({"text_c9", "^/*"});
  expectShape("/**/f32[/* // */2]//*");
}

TEST(TextRules, TileAlone) {
  auto expectTileError = [](const BadText &bad) {
    auto [text, position] = splitMark(bad.marked);
    llvm::Expected<Tile> tile = parseTile(text);
    ASSERT_FALSE(!!tile);
    Diagnostic diagnostic = takeDiagnostic(tile.takeError());
    EXPECT_EQ(diagnostic.rule, bad.rule);
    EXPECT_EQ(diagnostic.position, position);
  };
  expectTileError({"layout_c2", " ^()"});
  expectTileError({"layout_c3", "(8, ^0)"});
  expectTileError({"layout_c4", "(8,^*)"});
  expectTileError({"text_c1", "^8"});
  expectTileError({"text_c4", "(8)^(2)"});
  llvm::Expected<Tile> tile = parseTile("(*, 8)");
  ASSERT_TRUE(!!tile);
  EXPECT_EQ(tile->sizes, (llvm::SmallVector<int64_t, 4>{Tile::kCombine, 8}));
}
