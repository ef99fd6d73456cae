//===- BitcastTest.cpp - Tests of bitcasts and contiguous runs ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "RandomShape.h"
#include "TestCounts.h"
#include "TilingModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>
#include <numeric>
#include <set>

using namespace tessera;
using testing::HasSubstr;
using Index = llvm::SmallVector<int64_t, 6>;

static Shape parse(llvm::StringRef text) {
  llvm::Expected<Shape> shape = parseShape(text);
  EXPECT_TRUE(bool(shape)) << llvm::toString(shape.takeError());
  return *shape;
}

static char toLetter(const BitcastAnswer &answer) {
  EXPECT_EQ(answer.reason.empty(), answer.answer == Answer::Yes);
  return "ynu"[static_cast<size_t>(answer.answer)];
}
static char relayout(llvm::StringRef from, llvm::StringRef to) {
  return toLetter(isRelayoutBitcast(parse(from), parse(to)));
}
static char reshape(llvm::StringRef from, llvm::StringRef to) {
  return toLetter(isReshapeBitcast(parse(from), parse(to)));
}
static char transpose(llvm::StringRef from, llvm::StringRef to,
                      llvm::ArrayRef<int64_t> permutation) {
  return toLetter(isTransposeBitcast(parse(from), parse(to), permutation));
}
static char bitcast(llvm::StringRef from, llvm::StringRef to) {
  return toLetter(mayBitcast(parse(from), parse(to)));
}

//===----------------------------------------------------------------------===//
// Where XLA, which looks at minor_to_major only, answers otherwise
//===----------------------------------------------------------------------===//

TEST(Bitcast, TilesMatter) {
  constexpr const char *tiled = "f32[8,256]{1,0:T(8,128)}";
  EXPECT_EQ(reshape(tiled, "f32[2048]{0:T(1024)}"), 'n');
  EXPECT_EQ(reshape(tiled, "f32[8,2,128]{2,1,0:T(8,128)}"), 'n');
  EXPECT_EQ(relayout(tiled, "f32[8,256]"), 'n');
  EXPECT_EQ(relayout(tiled, "f32[8,256]{1,0:T(4,128)}"), 'n');
  EXPECT_EQ(relayout(tiled, tiled), 'y');
}

TEST(Bitcast, PaddingOfTheSecondMinorDimension) {
  EXPECT_EQ(
      reshape("f32[4,4,128]{2,1,0:T(8,128)}", "f32[16,128]{1,0:T(8,128)}"),
      'n');
  EXPECT_EQ(
      reshape("f32[16,1,128]{2,1,0:T(8,128)}", "f32[16,128]{1,0:T(8,128)}"),
      'n');
  EXPECT_EQ(
      reshape("f32[4,8,128]{2,1,0:T(8,128)}", "f32[32,128]{1,0:T(8,128)}"),
      'y');
}

TEST(Bitcast, CombinedDimensions) {
  EXPECT_EQ(reshape("f32[4,6,5]{2,1,0:T(2,*,3)}", "f32[24,5]{1,0:T(2,3)}"),
            'n');
  EXPECT_EQ(reshape("f32[4,6,5]{2,1,0:T(*,2,3)}", "f32[24,5]{1,0:T(2,3)}"),
            'y');
}

TEST(Bitcast, FootprintsMatter) {
  BitcastAnswer answer = isRelayoutBitcast(parse("f32[2,128]{1,0:T(8,128)}"),
                                           parse("f32[2,128]{1,0:T(2,128)}"));
  EXPECT_EQ(toLetter(answer), 'n');
  EXPECT_EQ(answer.reason, "footprints differ: 4096 bytes against 1024 bytes");
  EXPECT_EQ(relayout("s4[3]{0:E(4)}", "s4[3]{0:L(2)E(4)}"), 'n');
}

TEST(Bitcast, BitsOfAFootprintBeyondInt64) {
  BitcastAnswer answer = mayBitcast(parse("s4[9223372036854775807]{0:E(4)}"),
                                    parse("s4[9]{0:E(4)}"));
  EXPECT_EQ(answer.reason, "footprints differ: 36893488147419103228 bits "
                           "against 36 bits");
}

TEST(Bitcast, Transpositions) {
  EXPECT_EQ(transpose("f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1:T(4,128)}",
                      {1, 0}),
            'n');
  EXPECT_EQ(transpose("f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1:T(8,128)}",
                      {1, 0}),
            'y');
  // XLA's exact formula says no to a unit dimension.
  EXPECT_EQ(transpose("f32[1,8,128]", "f32[8,1,128]", {1, 0, 2}), 'y');
  EXPECT_EQ(transpose("f32[1,8,128]", "f32[8,1,128]", {1, 1, 2}), 'n');
  EXPECT_EQ(transpose("f32[1,8,128]", "f32[8,1,128]", {0, 1, 2}), 'n');
  EXPECT_EQ(transpose("f32[8,8]", "f32[8,8]", {0}), 'n');
  EXPECT_EQ(transpose("f32[8,8]", "f32[8,8]", {0, 1}), 'y');
  EXPECT_EQ(transpose("f32[8,8]", "f32[8,8]", {1, 0}), 'n');
}

TEST(Bitcast, MemorySpaces) {
  EXPECT_EQ(relayout("f32[8]", "f32[8]{0:S(1)}"), 'n');
  BitcastOptions fused;
  fused.ignoreMemorySpace = true;
  EXPECT_TRUE(
      bool(isRelayoutBitcast(parse("f32[8]"), parse("f32[8]{0:S(1)}"), fused)));
}

//===----------------------------------------------------------------------===//
// The rest of the rule
//===----------------------------------------------------------------------===//

TEST(Bitcast, WitnessIsAnElementThatMoves) {
  BitcastAnswer answer = isRelayoutBitcast(parse("f32[16,256]"),
                                           parse("f32[16,256]{1,0:T(8,128)}"));
  EXPECT_EQ(answer.reason,
            "element (1,0) is at position 256 of the first, but at "
            "128 of the second");
  answer = isTransposeBitcast(parse("f32[2,3]"), parse("f32[3,2]"), {1, 0});
  EXPECT_EQ(answer.reason,
            "element (1,0) is at position 3 of the first, but as "
            "(0,1) at 1 of the second");
}

TEST(Bitcast, PaddingValues) {
  EXPECT_EQ(relayout("f32[5]{0:T(8)PV(0)}", "f32[5]{0:T(8)}"), 'y');
  EXPECT_EQ(relayout("f32[5]{0:T(8)}", "f32[5]{0:T(8)PV(0)}"), 'n');
  EXPECT_EQ(relayout("f32[5]{0:T(8)PV(0)}", "f32[5]{0:T(8)PV(0)}"), 'y');
  EXPECT_EQ(bitcast("f32[5]{0:T(8)PV(0)}", "u32[5]{0:T(8)PV(0)}"), 'y');
  EXPECT_EQ(bitcast("f32[5]{0:T(8)PV(1)}", "u32[5]{0:T(8)PV(1)}"), 'n');
  // An element would become padding that nothing made zero.
  EXPECT_EQ(bitcast("f32[5]{0:T(8)PV(0)}", "f32[4]{0:T(8)PV(0)}"), 'n');
  EXPECT_EQ(bitcast("f32[5]{0:T(8)}", "f32[4]{0:T(8)}"), 'y');
}

TEST(Bitcast, PositionsWithinPlaces) {
  // A slice, as the TPU compiler writes it.
  EXPECT_EQ(bitcast("f32[40,256]{1,0:T(8,128)}", "f32[40,200]{1,0:T(8,128)}"),
            'y');
  BitcastAnswer answer = mayBitcast(parse("f32[40,200]{1,0:T(8,128)}"),
                                    parse("f32[40,256]{1,0:T(8,128)}"));
  EXPECT_EQ(answer.reason, "element (0,255) of the second is at position 1151, "
                           "which is padding in the first");
  EXPECT_EQ(bitcast("f32[4]", "u8[16]"), 'y');
  EXPECT_EQ(bitcast("u8[16]", "c64[2]"), 'y');
  EXPECT_EQ(bitcast("f32[3]{0:T(4)}", "u8[16]"), 'n');
  EXPECT_EQ(bitcast("f32[3]{0:T(4)}", "u8[12]{0:T(16)}"), 'y');
  EXPECT_EQ(bitcast("f32[3]{0:L(4)}", "u8[13]{0:T(16)}"), 'n');
  EXPECT_EQ(bitcast("s4[8]{0:E(4)}", "u8[4]"), 'y');
  EXPECT_EQ(bitcast("f32[0]", "f32[0,5]"), 'y');
}

// Real sizes are decided by form, in no time.
TEST(Bitcast, LargeArrays) {
  constexpr const char *large = "bf16[32,32768,4096]{2,1,0:T(8,128)(2,1)}";
  EXPECT_EQ(reshape(large, "bf16[1048576,4096]{1,0:T(8,128)(2,1)}"), 'y');
  EXPECT_EQ(bitcast(large, "bf16[1048576,4096]{1,0:T(8,128)(2,1)}"), 'y');
  EXPECT_EQ(relayout(large, "bf16[32,32768,4096]{2,1,0:T(16,128)(2,1)}"), 'n');
  EXPECT_EQ(bitcast("f32[100001,1000]{1,0:T(8,128)}",
                    "f32[100001,999]{1,0:T(8,128)}"),
            'y');
  EXPECT_EQ(bitcast("f32[100001,1000]{1,0:T(8,128)}",
                    "f32[12501,8,1000]{2,1,0:T(8,128)}"),
            'n');
}

TEST(Bitcast, UnknownBeyondTheCap) {
  // 3 does not divide 8: the rows have to be compared one by one.
  Shape from = parse("f32[1000,4]{1,0:T(8,4)(3,1)}");
  Shape to = parse("f32[1000,4]{1,0:T(8,4)(3,1)S(1)}");
  BitcastOptions options;
  options.ignoreMemorySpace = true;
  EXPECT_EQ(toLetter(isRelayoutBitcast(from, to, options)), 'y');
  options.enumerationCap = 10;
  EXPECT_EQ(toLetter(isRelayoutBitcast(from, to, options)), 'u');
}

TEST(Bitcast, DimensionsWithoutASize) {
  EXPECT_EQ(relayout("f32[?,128]", "f32[?,128]"), 'y');
  EXPECT_EQ(relayout("f32[?,128]", "f32[?,128]{0,1}"), 'u');
  EXPECT_EQ(bitcast("f32[?,128]", "f32[?,64]"), 'u');
}

TEST(Bitcast, NoArrays) {
  EXPECT_EQ(bitcast("token[]", "token[]"), 'n');
  EXPECT_EQ(relayout("(f32[2])", "f32[2]"), 'n');
  EXPECT_EQ(relayout("f32[2]", "s32[2]"), 'n');
  EXPECT_EQ(reshape("f32[2]", "f32[3]"), 'n');
  EXPECT_EQ(relayout("f32[2]", "f32[3]"), 'n');
}

//===----------------------------------------------------------------------===//
// Against brute force
//===----------------------------------------------------------------------===//

namespace {
/// An array with every element's position by the model.
struct Brute {
  explicit Brute(const Shape &shape)
      : bits(getStorageBits(shape.elementType(), shape.layout())) {
    for (const Index &index : allIndices(shape.dimensions()))
      positions.push_back(
          TiledElement(shape.dimensions(), shape.layout(), index).position());
    footprint = bits;
    TiledElement zero(shape.dimensions(), shape.layout(),
                      Index(shape.rank(), 0));
    for (TiledElement::Wide size : zero.sizes)
      footprint *= static_cast<int64_t>(size);
    int64_t unit = bits * shape.layout().tailPaddingAlignment;
    footprint = (footprint + unit - 1) / unit * unit;
  }

  /// All bits that elements occupy.
  std::set<int64_t> occupied() const {
    std::set<int64_t> result;
    for (int64_t position : positions)
      for (int64_t bit = 0; bit < bits; ++bit)
        result.insert(position * bits + bit);
    return result;
  }

  int64_t bits;
  int64_t footprint;
  std::vector<int64_t> positions; ///< In row-major order of the elements.
};

/// Pairs of arrays of which a good part shares its bytes.
class RandomPairs : public RandomShapes {
public:
  using RandomShapes::RandomShapes;

  bool isSmall(llvm::ArrayRef<int64_t> dimensions, const Layout &layout) {
    TiledElement zero(dimensions, layout, Index(dimensions.size(), 0));
    TiledElement::Wide positions = 1;
    for (TiledElement::Wide size : zero.sizes)
      positions *= size;
    return positions <= 4000;
  }

  Layout smallLayout(llvm::ArrayRef<int64_t> dimensions) {
    for (;;) {
      Layout result = layout(dimensions);
      if (isSmall(dimensions, result))
        return result;
    }
  }

  /// A layout that is often the same memory as `old`, for sizes that are often
  /// the same too.
  Layout similar(llvm::ArrayRef<int64_t> dimensions, Layout old) {
    bool isSameRank = old.rank() == static_cast<int64_t>(dimensions.size());
    if (!isSameRank) {
      old.minorToMajor = Layout::descending(dimensions.size()).minorToMajor;
      old.paddedDimensions.clear();
    }
    if (!old.tiles.empty() && oneIn(4))
      old.tiles.pop_back();
    if (!old.tiles.empty() && oneIn(4))
      old.tiles.back().sizes.insert(old.tiles.back().sizes.begin(), 1);
    if (oneIn(4))
      old.tiles.push_back(Tile{{oneOf({1, 2, 4})}});
    if (isSameRank && oneIn(4))
      old.minorToMajor = permutation(dimensions.size());
    if (!old.paddedDimensions.empty())
      for (auto [width, size] :
           llvm::zip_equal(old.paddedDimensions, dimensions))
        width = std::max(width, size);
    return oneIn(5) || !isSmall(dimensions, old) ? smallLayout(dimensions)
                                                 : old;
  }

  /// Sizes whose product is that of `dimensions`.
  Index regroup(llvm::ArrayRef<int64_t> dimensions) {
    Index result;
    for (int64_t size : dimensions) {
      if (!result.empty() && oneIn(3))
        result.back() *= size;
      else if (int64_t part = oneOf({1, 2, 3, 4}); size % part == 0)
        result.append({part, size / part});
      else
        result.push_back(size);
    }
    return result;
  }
};
} // namespace

static Shape makeArray(PrimitiveType type, llvm::ArrayRef<int64_t> dimensions,
                       Layout layout) {
  return Shape::array(type, dimensions, std::move(layout));
}

static std::string describe(const Shape &from, const Shape &to) {
  return from.toString() + " -> " + to.toString() +
         " (TESSERA_SEED=" + std::to_string(testSeed()) + ")";
}

// The form never errs, and together with enumeration it always answers.
TEST(BitcastModel, Reshapes) {
  RandomPairs random(testSeed());
  int yes = 0;
  for (int i = 0; i < testCount(40000) && !HasFailure(); ++i) {
    Index dimensions = random.dimensions(/*maxElements=*/300);
    Index others = random.oneIn(2) ? dimensions : random.regroup(dimensions);
    Shape from = makeArray(PrimitiveType::U8, dimensions,
                           random.smallLayout(dimensions));
    Shape to = makeArray(PrimitiveType::U8, others,
                         random.similar(others, from.layout()));
    SCOPED_TRACE(describe(from, to));
    Brute lhs(from), rhs(to);
    bool expected =
        lhs.footprint == rhs.footprint && lhs.positions == rhs.positions;
    BitcastAnswer answer = isReshapeBitcast(from, to);
    EXPECT_EQ(answer.answer, expected ? Answer::Yes : Answer::No)
        << answer.reason;
    BitcastOptions byForm;
    byForm.enumerationCap = 0;
    BitcastAnswer formAnswer = isReshapeBitcast(from, to, byForm);
    EXPECT_TRUE(formAnswer.answer == answer.answer ||
                formAnswer.answer == Answer::Unknown);
    yes += expected;
  }
  EXPECT_GT(yes, 0);
}

TEST(BitcastModel, Transpositions) {
  RandomPairs random(testSeed());
  int yes = 0;
  for (int i = 0; i < testCount(40000) && !HasFailure(); ++i) {
    Index dimensions = random.dimensions(/*maxElements=*/300);
    Index permutation = random.permutation(dimensions.size());
    Index inverse(dimensions.size()), transposed;
    for (auto [position, dim] : llvm::enumerate(permutation)) {
      inverse[dim] = position;
      transposed.push_back(dimensions[dim]);
    }
    Shape from = makeArray(PrimitiveType::U8, dimensions,
                           random.smallLayout(dimensions));
    // The same memory, but for what `similar` changes.
    Layout layout = from.layout();
    layout.paddedDimensions.clear();
    for (int64_t &dim : layout.minorToMajor)
      dim = inverse[dim];
    Shape to = makeArray(PrimitiveType::U8, transposed,
                         random.similar(transposed, layout));
    SCOPED_TRACE(describe(from, to));
    bool expected = Brute(from).footprint == Brute(to).footprint;
    for (const Index &index : allIndices(transposed)) {
      Index original(dimensions.size());
      for (auto [position, dim] : llvm::enumerate(permutation))
        original[dim] = index[position];
      expected &=
          TiledElement(dimensions, from.layout(), original).position() ==
          TiledElement(transposed, to.layout(), index).position();
    }
    BitcastAnswer answer = isTransposeBitcast(from, to, permutation);
    EXPECT_EQ(answer.answer, expected ? Answer::Yes : Answer::No)
        << answer.reason;
    yes += expected;
  }
  EXPECT_GT(yes, 0);
}

TEST(BitcastModel, PositionsWithinPlaces) {
  RandomPairs random(testSeed());
  int yes = 0, sameFootprint = 0;
  const PrimitiveType types[] = {PrimitiveType::U8, PrimitiveType::U16,
                                 PrimitiveType::S4};
  for (int i = 0; i < testCount(40000) && !HasFailure();) {
    Index dimensions = random.dimensions(/*maxElements=*/100);
    Index others = dimensions;
    if (random.oneIn(2))
      others = random.regroup(dimensions);
    for (int64_t &size : others)
      if (size > 1 && random.oneIn(3))
        --size;
    Shape from = makeArray(types[random.number(0, 2)], dimensions,
                           random.smallLayout(dimensions));
    Shape to = makeArray(random.oneIn(2) ? from.elementType()
                                         : types[random.number(0, 2)],
                         others, random.similar(others, from.layout()));
    for (Shape *shape : {&from, &to})
      if (shape->elementType() == PrimitiveType::S4 && random.oneIn(2))
        shape->mutableLayout().elementSizeInBits = 4;
    Brute lhs(from), rhs(to);
    // L makes footprints equal, which they rarely are by themselves.
    if (lhs.footprint != rhs.footprint && random.oneIn(2) &&
        lhs.footprint != 0 && rhs.footprint != 0) {
      int64_t bits = std::lcm(lhs.footprint, rhs.footprint);
      from.mutableLayout().tailPaddingAlignment = bits / lhs.bits;
      to.mutableLayout().tailPaddingAlignment = bits / rhs.bits;
      lhs = Brute(from), rhs = Brute(to);
    }
    if (lhs.footprint != rhs.footprint && !random.oneIn(50))
      continue;
    ++i;
    SCOPED_TRACE(describe(from, to));
    std::set<int64_t> outer = lhs.occupied(), inner = rhs.occupied();
    bool isWithin =
        std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
    bool expected = lhs.footprint == rhs.footprint && isWithin;
    BitcastAnswer answer = mayBitcast(from, to);
    EXPECT_EQ(answer.answer, expected ? Answer::Yes : Answer::No)
        << answer.reason;
    yes += expected;
    sameFootprint += lhs.footprint == rhs.footprint;
  }
  EXPECT_GT(yes, 0);
  EXPECT_GT(sameFootprint, yes);
}

//===----------------------------------------------------------------------===//
// Contiguous runs
//===----------------------------------------------------------------------===//

static int64_t run(llvm::StringRef from, llvm::StringRef to) {
  return llvm::cantFail(largestContiguousRun(parse(from), parse(to)));
}

TEST(ContiguousRun, Examples) {
  EXPECT_EQ(run("f32[4,200]", "f32[4,200]{1,0:T(8,128)}"), 128);
  EXPECT_EQ(run("f32[4,100]", "f32[4,100]{1,0:T(8,128)}"), 100);
  EXPECT_EQ(run("f32[4,100]", "f32[4,100]"), 400);
  EXPECT_EQ(run("f32[4,100]", "f32[4,100]{0,1}"), 1);
  EXPECT_EQ(run("f32[16,256]{1,0:T(8,128)}", "f32[16,256]{1,0:T(4,128)}"), 512);
  EXPECT_EQ(run("f32[16,256]{1,0:T(8,3)}", "f32[16,256]{1,0:T(8,4)}"), 1);
  EXPECT_EQ(run("f32[16,256]{1,0:T(8,6)}", "f32[16,256]{1,0:T(8,4)}"), 2);
  EXPECT_EQ(run("u8[7]{0:T(2)(3,1)}", "u8[7]{0:T(2)(3,1)}"), 7);
  EXPECT_EQ(run("f32[2,0]", "f32[2,0]{0,1}"), 0);
  EXPECT_EQ(run("f32[]", "f32[]{:T(256)}"), 1);
  EXPECT_EQ(run("bf16[32,32,4096]", "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)}"),
            1);
}

TEST(ContiguousRun, ShapesMustAgree) {
  auto length = largestContiguousRun(parse("f32[2]"), parse("f32[3]"));
  ASSERT_FALSE(bool(length));
  EXPECT_EQ(takeDiagnostic(length.takeError()).rule, "run_c1");
}

// A run starts where the neighbour in either buffer is another element. Blocks
// of the answer, counted from the starts of runs, never cross one: all runs but
// the last of a row are multiples of it.
TEST(ContiguousRunModel, RunsAreWhole) {
  RandomPairs random(testSeed());
  int64_t longRuns = 0;
  for (int i = 0; i < testCount(20000) && !HasFailure(); ++i) {
    Index dimensions = random.dimensions(/*maxElements=*/300);
    Shape from = makeArray(PrimitiveType::U8, dimensions,
                           random.smallLayout(dimensions));
    Shape to = makeArray(PrimitiveType::U8, dimensions,
                         random.similar(dimensions, from.layout()));
    SCOPED_TRACE(describe(from, to));
    int64_t length = llvm::cantFail(largestContiguousRun(from, to));
    Brute lhs(from), rhs(to);
    std::map<int64_t, int64_t>
        elements; // Position in `from` -> position in `to`.
    for (auto [position, other] : llvm::zip_equal(lhs.positions, rhs.positions))
      elements[position] = other;
    std::vector<int64_t> runs;
    for (auto [position, other] : elements) {
      auto before = elements.find(position - 1);
      if (before != elements.end() && before->second == other - 1)
        ++runs.back();
      else
        runs.push_back(1);
    }
    int64_t longest = 0, divisor = 0;
    for (int64_t size : runs) {
      longest = std::max(longest, size);
      divisor = std::gcd(divisor, size);
    }
    // Never longer than what there is, never shorter than what divides all.
    EXPECT_LE(length, longest);
    EXPECT_GE(length, divisor);
    longRuns += length > 1;
  }
  EXPECT_GT(longRuns, 0);
}
