//===- AxisListModelTest.cpp - The axis list against brute force ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomShape.h"
#include "TestCounts.h"
#include "TilingModel.h"
#include "tessera/Layout/AxisList.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>

using namespace tessera;
using Index = llvm::SmallVector<int64_t, 6>;

static std::string describe(llvm::ArrayRef<int64_t> dimensions,
                            const Layout &layout) {
  return Shape::array(PrimitiveType::F32, dimensions, layout).toString() +
         " (TESSERA_SEED=" + std::to_string(testSeed()) + ")";
}

/// Sizes of the model and of the list agree.
static void checkExtents(const AxisList &list, const TiledElement &model,
                         const Layout &layout) {
  int64_t positions = 1;
  std::vector<int64_t> extents(model.sizes.begin(), model.sizes.end());
  std::vector<int64_t> strides(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = positions;
    positions *= extents[i];
  }
  EXPECT_EQ(list.physicalShape(), llvm::ArrayRef(extents));
  EXPECT_EQ(list.numPositions(), positions);
  int64_t alignment = layout.tailPaddingAlignment;
  EXPECT_EQ(list.numAllocated(),
            (positions + alignment - 1) / alignment * alignment);
  // Strides of an empty array are of no use to anybody.
  if (positions == 0)
    return;
  EXPECT_EQ(list.strides(), llvm::ArrayRef(strides));
}

/// The sum of digits that an expression says it is.
static void checkDigitSum(const IndexExpr &expr, llvm::ArrayRef<int64_t> at) {
  auto terms = expr.asDigitSum();
  if (!terms)
    return;
  int64_t sum = 0;
  for (const DigitTerm &term : *terms) {
    int64_t digit = at[term.digit.variable] / term.digit.divisor;
    sum += term.coefficient *
           (term.digit.extent ? digit % term.digit.extent : digit);
  }
  EXPECT_EQ(sum, expr.evaluate(at)) << expr.toString();
}

/// Everything that the list says about one element.
static void checkElement(const AxisList &list, const TiledElement &model,
                         llvm::ArrayRef<int64_t> index) {
  std::vector<int64_t> digits(model.index.begin(), model.index.end());
  EXPECT_EQ(list.linearIndex(index), model.position());
  EXPECT_EQ(list.axisIndices(index), llvm::ArrayRef(digits));
  for (const Axis &axis : list.axes()) {
    EXPECT_LT(axis.index.evaluate(index), axis.index.range());
    checkDigitSum(axis.index, index);
  }
  if (auto strides = list.logicalStrides()) {
    int64_t position = 0;
    for (auto [at, stride] : llvm::zip_equal(index, *strides))
      position += at * stride;
    EXPECT_EQ(position, model.position());
  }
}

/// The inverse as code generators use it: expressions over axis indices.
static std::optional<Index> evaluateInverse(const AxisList &list,
                                            int64_t position) {
  llvm::SmallVector<int64_t, 8> digits;
  for (auto [stride, extent] :
       llvm::zip_equal(list.strides(), list.physicalShape()))
    digits.push_back(position / stride % extent);
  for (const AxisCondition &condition : list.inverse().conditions) {
    checkDigitSum(condition.index, digits);
    if (condition.index.evaluate(digits) >= condition.limit.value)
      return std::nullopt;
  }
  Index index;
  for (const IndexExpr &expr : list.inverse().indices) {
    checkDigitSum(expr, digits);
    index.push_back(expr.evaluate(digits));
  }
  return index;
}

/// What linearRun says of the elements that follow along each dimension.
static void checkRuns(const AxisList &list, llvm::ArrayRef<int64_t> dimensions,
                      const Index &index) {
  for (unsigned dim = 0; dim < dimensions.size(); ++dim) {
    IndexRun run = list.linearRun(index, dim);
    ASSERT_GE(run.steps, 1);
    Index next = index;
    for (int64_t i = 0; i < run.steps && next[dim] < dimensions[dim]; ++i) {
      EXPECT_EQ(list.linearIndex(next), run.value + i * run.stride);
      ++next[dim];
    }
  }
}

static void checkAgainstModel(llvm::ArrayRef<int64_t> dimensions,
                              const Layout &layout) {
  SCOPED_TRACE(describe(dimensions, layout));
  llvm::Expected<AxisList> list = AxisList::get(dimensions, layout);
  ASSERT_TRUE(bool(list)) << llvm::toString(list.takeError());
  Index zero(dimensions.size(), 0);
  checkExtents(*list, TiledElement(dimensions, layout, zero), layout);

  std::map<int64_t, Index> elements;
  for (const Index &index : allIndices(dimensions)) {
    TiledElement model(dimensions, layout, index);
    checkElement(*list, model, index);
    checkRuns(*list, dimensions, index);
    EXPECT_TRUE(elements.emplace(model.position(), index).second);
  }
  PositionRun run;
  for (int64_t position = 0; position < list->numAllocated();
       ++position, --run.count) {
    if (run.count == 0)
      run = list->positionRun(position);
    ASSERT_GE(run.count, 1) << position;
    EXPECT_EQ(run.isPadding, !elements.count(position)) << position;
    auto it = elements.find(position);
    std::optional<Index> expected;
    if (it != elements.end())
      expected = it->second;
    EXPECT_EQ(list->logicalIndex(position), expected) << position;
    if (position >= list->numPositions())
      continue;
    EXPECT_EQ(evaluateInverse(*list, position), expected) << position;
  }
}

/// Elements and positions stay few enough to visit all of them.
static bool isSmall(llvm::ArrayRef<int64_t> dimensions, const Layout &layout) {
  TiledElement model(dimensions, layout, Index(dimensions.size(), 0));
  TiledElement::Wide positions = 1;
  for (TiledElement::Wide size : model.sizes)
    positions *= size;
  return positions <= 5000;
}

TEST(AxisListModel, RandomLayouts) {
  RandomShapes random(testSeed());
  for (int i = 0; i < testCount(100000) && !HasFailure();) {
    Index dimensions = random.dimensions(/*maxElements=*/400);
    Layout layout = random.layout(dimensions);
    if (!isSmall(dimensions, layout))
      continue;
    checkAgainstModel(dimensions, layout);
    ++i;
  }
}

// Sizes, widths and tiles up to 2^62: an error exactly where a product leaves
// the range of 64 bits, and the same counts elsewhere.
TEST(AxisListModel, OverflowIsFound) {
  RandomShapes random(testSeed());
  auto huge = [&] {
    return (int64_t(1) << random.number(0, random.oneIn(4) ? 62 : 20)) +
           random.number(0, 1);
  };
  int errors = 0;
  for (int i = 0; i < testCount(20000) && !HasFailure(); ++i) {
    Index dimensions(random.number(0, 4));
    std::generate(dimensions.begin(), dimensions.end(), huge);
    Layout layout;
    layout.minorToMajor = random.permutation(dimensions.size());
    if (random.oneIn(2)) {
      layout.tiles.push_back(random.tile(dimensions.size()));
      layout.tiles.back().sizes.back() = huge();
    }
    SCOPED_TRACE(describe(dimensions, layout));
    __extension__ using Wide = __int128;
    const Wide limit = INT64_MAX;
    // Elements alone may be more than even the model can count.
    Wide positions = 1;
    for (int64_t size : dimensions)
      positions = std::min(positions * size, limit + 1);
    if (positions <= limit) {
      positions = 1;
      TiledElement model(dimensions, layout, Index(dimensions.size(), 0));
      for (TiledElement::Wide size : model.sizes)
        positions = std::min(positions * std::min(size, limit + 1), limit + 1);
    }
    llvm::Expected<AxisList> list = AxisList::get(dimensions, layout);
    if (positions <= limit) {
      ASSERT_TRUE(bool(list)) << llvm::toString(list.takeError());
      EXPECT_EQ(list->numPositions(), static_cast<int64_t>(positions));
      continue;
    }
    ASSERT_FALSE(bool(list));
    EXPECT_EQ(takeDiagnostic(list.takeError()).kind, DiagnosticKind::Invalid);
    ++errors;
  }
  EXPECT_GT(errors, 0);
}

// The examples of XLA's pages on layouts: `abcdef` as [2 x 3].
static std::string getMemory(llvm::ArrayRef<int64_t> dimensions,
                             const Layout &layout) {
  llvm::Expected<AxisList> list = AxisList::get(dimensions, layout);
  EXPECT_TRUE(bool(list)) << llvm::toString(list.takeError());
  std::string memory;
  for (int64_t position = 0; position < list->numAllocated(); ++position) {
    auto index = list->logicalIndex(position);
    memory += index ? "abcdef"[(*index)[0] * 3 + (*index)[1]] : '0';
  }
  return memory;
}

TEST(AxisListModel, ShapesAndLayoutPage) {
  Layout columnMajor;
  columnMajor.minorToMajor = {0, 1};
  EXPECT_EQ(getMemory({2, 3}, columnMajor), "adbecf");
  EXPECT_EQ(getMemory({2, 3}, Layout::descending(2)), "abcdef");
  columnMajor.paddedDimensions = {3, 5};
  EXPECT_EQ(getMemory({2, 3}, columnMajor), "ad0be0cf0000000");
}
