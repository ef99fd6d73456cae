//===- SymbolicSliceTest.cpp - Slices against enumeration -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every begin of a random slice is tried: its elements are put where the model
// of tiling has them, and their positions sorted.
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/SymbolicSlice.h"

#include "RandomShape.h"
#include "TestCounts.h"
#include "TilingModel.h"

#include "tessera/Layout/Text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>
#include <set>

using namespace tessera;

namespace {

using Index = llvm::SmallVector<int64_t, 6>;

/// What is true of all slices of one shape, found one by one.
struct Truth {
  std::set<int64_t> numRuns;
  std::set<int64_t> runLengths;
  int64_t alignment = 0;
  /// Where the runs of each slice begin, from its first.
  std::set<std::vector<int64_t>> patterns;
};

class RandomSlices : public RandomShapes {
public:
  using RandomShapes::RandomShapes;

  SliceBegin begin(int64_t size) {
    SliceBegin result;
    result.constant = number(-3, size);
    for (int64_t i = number(0, 2); i > 0; --i) {
      int64_t coefficient = oneOf({1, 2, 3, 4, 5, 8, 8, 16, -2, -8});
      result.terms.push_back({"v" + std::to_string(names++), coefficient});
    }
    if (oneIn(2))
      result.constant = 0;
    return result;
  }

  SymbolicSlice slice(llvm::ArrayRef<int64_t> sizes) {
    SymbolicSlice result;
    for (int64_t size : sizes) {
      bool isWhole = oneIn(2);
      result.begins.push_back(isWhole ? SliceBegin() : begin(size));
      int64_t count = oneIn(3) ? oneOf({1, 2, 4, 8, 16}) : number(1, size);
      result.sizes.push_back(isWhole ? size : std::min(count, size));
    }
    return result;
  }

private:
  int names = 0;
};

/// Values of a begin that leave `room` elements, by trying all variables.
std::set<int64_t> getBegins(const SliceBegin &begin, int64_t room) {
  std::set<int64_t> values = {begin.constant};
  // 0 to `room` is reached through numbers that are not far from it.
  constexpr int64_t far = 200;
  for (const SliceBegin::Term &term : begin.terms) {
    std::set<int64_t> more;
    for (int64_t value : values)
      for (int64_t i = -far; i <= far; ++i)
        if (std::abs(value + i * term.coefficient) <= far)
          more.insert(value + i * term.coefficient);
    values = more;
  }
  std::set<int64_t> result;
  for (int64_t value : values)
    if (value >= 0 && value <= room)
      result.insert(value);
  return result;
}

void addSlice(const Shape &shape, llvm::ArrayRef<int64_t> begins,
              llvm::ArrayRef<int64_t> counts, Truth &truth) {
  std::vector<int64_t> positions;
  for (const auto &offset : allIndices(counts)) {
    Index index;
    for (auto [begin, distance] : llvm::zip_equal(begins, offset))
      index.push_back(begin + distance);
    positions.push_back(
        TiledElement(shape.dimensions(), shape.layout(), index).position());
  }
  truth.alignment = std::gcd(truth.alignment, positions.front());
  llvm::sort(positions);
  std::vector<int64_t> runs;
  int64_t length = 0;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (i == 0 || positions[i] != positions[i - 1] + 1) {
      runs.push_back(positions[i] - positions.front());
      length = 0;
    }
    ++length;
    if (i + 1 == positions.size() || positions[i + 1] != positions[i] + 1)
      truth.runLengths.insert(length);
  }
  truth.numRuns.insert(runs.size());
  truth.patterns.insert(std::move(runs));
}

/// All slices; nothing where there are more than the test has time for.
std::optional<Truth> enumerate(const Shape &shape, const SymbolicSlice &slice) {
  std::vector<std::vector<int64_t>> begins;
  Index counts;
  int64_t combinations = 1, elements = 1;
  for (auto [i, size] : llvm::enumerate(shape.dimensions())) {
    std::set<int64_t> values =
        getBegins(slice.begins[i], size - slice.sizes[i]);
    begins.emplace_back(values.begin(), values.end());
    counts.push_back(values.size());
    combinations *= values.size();
    elements *= slice.sizes[i];
  }
  if (combinations * elements > 100000)
    return std::nullopt;
  Truth truth;
  for (const auto &number : allIndices(counts)) {
    Index at;
    for (auto [values, i] : llvm::zip_equal(begins, number))
      at.push_back(values[i]);
    addSlice(shape, at, slice.sizes, truth);
  }
  return truth;
}

/// Where runs begin by the answer.
std::vector<int64_t> getPattern(const SliceAnswer &answer) {
  std::vector<int64_t> result = {0};
  for (const RunStride &stride : answer.strides) {
    std::vector<int64_t> next;
    for (int64_t start : result)
      for (int64_t i = 0; i < stride.count; ++i)
        next.push_back(start + i * stride.bits / 8);
    result = next;
  }
  return result;
}

void checkTiles(const Shape &shape, const SymbolicSlice &slice,
                const SliceAnswer &answer) {
  for (auto [i, dimension] : llvm::enumerate(answer.dimensions)) {
    int64_t size = shape.dimensions()[i], whole = 0;
    std::set<int64_t> begins =
        getBegins(slice.begins[i], size - slice.sizes[i]);
    ASSERT_FALSE(begins.empty());
    EXPECT_EQ(dimension.first, *begins.begin());
    EXPECT_EQ(dimension.last, *begins.rbegin());
    for (int64_t begin : begins) {
      int64_t end = begin + slice.sizes[i];
      whole += begin % dimension.tile == 0 &&
               (end % dimension.tile == 0 || end == size);
    }
    using Tiles = SlicedDimension::Tiles;
    Tiles expected = whole == 0 ? Tiles::Never
                     : whole == static_cast<int64_t>(begins.size())
                         ? Tiles::Always
                         : Tiles::Sometimes;
    EXPECT_EQ(dimension.wholeTiles, expected) << i;
  }
}

void check(const Shape &shape, const SymbolicSlice &slice,
           const SliceAnswer &answer, const Truth &truth) {
  EXPECT_EQ(answer.minRuns, *truth.numRuns.begin());
  EXPECT_EQ(answer.maxRuns, *truth.numRuns.rbegin());
  EXPECT_EQ(answer.alignmentBits, 8 * truth.alignment);
  EXPECT_EQ(answer.bits, 8 * answer.elements);
  if (answer.runBits) {
    EXPECT_THAT(truth.runLengths, testing::ElementsAre(*answer.runBits / 8));
    EXPECT_THAT(truth.patterns, testing::ElementsAre(getPattern(answer)));
  }
  checkTiles(shape, slice, answer);
}

TEST(SymbolicSlice, AgreesWithEnumeration) {
  RandomSlices random(testSeed());
  int checked = 0, patterns = 0, uniform = 0;
  for (int i = 0, count = testCount(20000); i < count; ++i) {
    llvm::SmallVector<int64_t, 6> sizes = random.dimensions(2000);
    if (llvm::is_contained(sizes, 0))
      continue;
    Layout layout = random.layout(sizes);
    if (random.oneIn(2) && sizes.size() > 1)
      layout.tiles = {{{random.oneOf({2, 4, 8}), random.oneOf({4, 8, 16})}}};
    Shape shape = Shape::array(PrimitiveType::U8, sizes, layout);
    if (llvm::errorToBool(shape.verify()))
      continue;
    SymbolicSlice slice = random.slice(sizes);
    std::string text = shape.toString();
    for (auto [begin, size] : llvm::zip_equal(slice.begins, slice.sizes))
      text += ", " + begin.toString() + ":+" + std::to_string(size);
    SCOPED_TRACE(text);
    llvm::Expected<SliceAnswer> answer = analyzeSlice(shape, slice);
    if (!answer) {
      llvm::consumeError(answer.takeError());
      continue;
    }
    std::optional<Truth> truth = enumerate(shape, slice);
    if (!truth)
      continue;
    check(shape, slice, *answer, *truth);
    ++checked;
    patterns += answer->runBits.has_value();
    uniform += truth->patterns.size() == 1 && truth->runLengths.size() == 1;
    if (HasFailure())
      return;
  }
  EXPECT_GT(checked, testCount(20000) / 4);
  // Nearly all that have one pattern are known to.
  EXPECT_GT(patterns, uniform * 95 / 100) << patterns << " of " << uniform;
}

SymbolicSlice parse(llvm::StringRef text, llvm::ArrayRef<int64_t> sizes) {
  return llvm::cantFail(parseSlice(text, sizes));
}

TEST(SymbolicSlice, TakesLargeArrays) {
  Shape shape =
      llvm::cantFail(parseShape("f32[1099511627776,1000000]{1,0:T(8,128)}"));
  SymbolicSlice slice =
      parse("d0=8*i:+549755813888, d1=128*j:+12800", shape.dimensions());
  SliceAnswer answer = llvm::cantFail(analyzeSlice(shape, slice));
  EXPECT_TRUE(answer.isWholeTiles());
  EXPECT_EQ(answer.minRuns, 549755813888 / 8);
  EXPECT_EQ(answer.runBits, 100 * 1024 * 32);
}

TEST(SymbolicSlice, Prints) {
  for (llvm::StringRef text : {"8*i", "i", "-3*k", "2*a - b + 7", "0", "-4"}) {
    SymbolicSlice slice = parse(("d0=" + text + ":+1").str(), {5});
    EXPECT_EQ(slice.begins.front().toString(), text);
  }
  EXPECT_EQ(parse("d0 = 3 + 8 * i - 4 : + 1", {5}).begins.front().toString(),
            "8*i - 1");
}

TEST(SymbolicSlice, RefusesTexts) {
  auto refuse = [](llvm::StringRef text, llvm::StringRef expected) {
    llvm::Expected<SymbolicSlice> slice = parseSlice(text, {4096, 1024});
    ASSERT_FALSE(!!slice) << text.str();
    Diagnostic diagnostic = takeDiagnostic(slice.takeError());
    EXPECT_EQ(diagnostic.expected, expected) << text.str();
    EXPECT_GE(diagnostic.position, 0);
    EXPECT_LE(diagnostic.position, int64_t(text.size()));
  };
  refuse("x=8", "a dimension, as in `d0=8*i:+16`");
  refuse("d2=0:+1", "a dimension below d2");
  refuse("d0=0:+1, d0=0:+1", "each dimension once");
  refuse("d0:+1", "`=`");
  refuse("d0=:+1", "a variable");
  refuse("d0=8*:+1", "a variable");
  refuse("d0=8*i", "`:`");
  refuse("d0=8*i:16", "`+` and the number of elements, as in `8*i:+16`");
  refuse("d0=i:+1, d1=i:+1", "each variable once");
  refuse("d0=i:+1 d1=j:+1", "`,` or the end");
  refuse("d0=i:+1,", "a dimension");
  refuse("d0=99999999999999999999:+1", "a number below 2^63");
  refuse("d0=9223372036854775807 + 1:+1", "a sum below 2^63");
  refuse("d0=-9223372036854775807 - 1:+1", "a sum below 2^63");
  refuse("d0=i:+99999999999999999999", "a number below 2^63");
}

TEST(SymbolicSlice, RefusesSlices) {
  auto refuse = [](llvm::StringRef shapeText, llvm::StringRef text,
                   DiagnosticKind kind, llvm::StringRef expected) {
    Shape shape = llvm::cantFail(parseShape(shapeText));
    llvm::Expected<SliceAnswer> answer =
        analyzeSlice(shape, parse(text, shape.dimensions()));
    ASSERT_FALSE(!!answer) << text.str();
    Diagnostic diagnostic = takeDiagnostic(answer.takeError());
    EXPECT_EQ(diagnostic.kind, kind) << text.str();
    EXPECT_EQ(diagnostic.expected, expected) << text.str();
  };
  constexpr DiagnosticKind invalid = DiagnosticKind::Invalid;
  constexpr DiagnosticKind unsupported = DiagnosticKind::Unsupported;
  refuse("f32[4,5]", "d0=0:+0", invalid, "from 1 to 4 elements");
  refuse("f32[4,5]", "d0=0:+5", invalid, "from 1 to 4 elements");
  refuse("f32[0,5]", "", invalid, "from 1 to 0 elements");
  refuse("f32[4,5]", "d1=3:+3", invalid,
         "a begin from 0 to 2 for 3 of 5 elements");
  refuse("f32[4,5]", "d1=8*i + 4:+3", invalid,
         "a begin from 0 to 2 for 3 of 5 elements");
  refuse("(f32[2])", "", invalid, "an array");
  refuse("f32[3,5]{1,0:T(*,4)}", "", unsupported,
         "dimensions that tiles split one by one, into divisors of each other");
  refuse("f32[300000]{0:T(131072)(2,1)}", "d0=i:+1", unsupported,
         "at most 65536 begins that differ within a tile");
}

} // namespace
