//===- ContractionPlan.cpp - How sums of products are computed ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/ContractionToVector/ContractionPlan.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <iterator>

using namespace tessera;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// The distance of index `index` of a dimension from index 0.
static int64_t getDistance(const ArrayDim &array, int64_t index) {
  if (!array.axes)
    return 0;
  llvm::SmallVector<int64_t> indices(array.axes->dimensions().size(), 0);
  indices[array.dim] = index;
  return array.axes->linearIndex(indices) * array.step;
}

/// Drops digits that go on where the one below them ends.
static void mergeDigits(ContractionDim &dim) {
  for (size_t digit = dim.weights.size(); --digit > 0;) {
    int64_t count = dim.weights[digit] / dim.weights[digit - 1];
    bool goesOn = llvm::all_of(dim.strides, [&](const auto &strides) {
      return strides[digit] == strides[digit - 1] * count;
    });
    if (!goesOn)
      continue;
    dim.weights.erase(dim.weights.begin() + digit);
    for (auto &strides : dim.strides)
      strides.erase(strides.begin() + digit);
  }
}

std::optional<ContractionDim>
ContractionDim::get(Kind kind, int64_t size, llvm::ArrayRef<ArrayDim> dims) {
  llvm::SmallVector<int64_t> divisors = {1};
  for (const ArrayDim &array : dims) {
    if (!array.axes)
      continue;
    DimensionSplit split = getSplit(array.dim, {array.axes});
    bool isWindow = array.step != 1 || array.isShared;
    if (!split.isChain || (isWindow && !split.divisors.empty()))
      return std::nullopt;
    for (int64_t divisor : split.divisors)
      if (divisor < size)
        divisors.push_back(divisor);
  }
  llvm::sort(divisors);
  divisors.erase(llvm::unique(divisors), divisors.end());
  for (size_t i = 1; i < divisors.size(); ++i)
    if (divisors[i] % divisors[i - 1] != 0)
      return std::nullopt;
  ContractionDim result{kind, size, {}, {}};
  for (int64_t divisor : divisors) {
    result.weights.push_back(divisor);
    for (unsigned array = 0; array < kNumArrays; ++array)
      result.strides[array].push_back(array < dims.size() && size > 1
                                          ? getDistance(dims[array], divisor)
                                          : 0);
  }
  mergeDigits(result);
  return result;
}

bool ContractionDim::goesOn(const ContractionDim &minor) const {
  if (kind != minor.kind || weights.size() != 1 || minor.weights.size() != 1)
    return false;
  return llvm::all_of(llvm::zip_equal(strides, minor.strides), [&](auto pair) {
    auto &[own, other] = pair;
    return own[0] == other[0] * minor.size;
  });
}

int64_t ContractionDim::getOffset(ContractionArray array, int64_t index) const {
  int64_t offset = 0;
  for (size_t digit = weights.size(); digit-- > 0;) {
    offset += index / weights[digit] * strides[array][digit];
    index %= weights[digit];
  }
  return offset;
}

bool ContractionDim::canSplit(int64_t weight) const {
  return llvm::all_of(weights, [&](int64_t other) {
    return other % weight == 0 || weight % other == 0;
  });
}

void ContractionDim::split(int64_t weight) {
  auto *place = llvm::upper_bound(weights, weight);
  size_t digit = place - weights.begin();
  if (weights[digit - 1] == weight)
    return;
  int64_t count = weight / weights[digit - 1];
  weights.insert(place, weight);
  for (auto &ofArray : strides)
    ofArray.insert(ofArray.begin() + digit, ofArray[digit - 1] * count);
}

unsigned ContractionDim::getDigit(int64_t weight) const {
  return llvm::find(weights, weight) - weights.begin();
}

int64_t ContractionDim::getBlock(int64_t step, int64_t most) const {
  for (int64_t block = most / step * step; block > step; block -= step)
    if (canSplit(block))
      return block;
  return step;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Sums that a processor has under way at a time: fewer leave it waiting.
static constexpr int64_t kSumsInFlight = 8;
/// Indices of a block of the sum: long enough that reading and writing the
/// result is little beside it, short enough that the columns of a block of
/// registers stay in a cache.
static constexpr int64_t kMaxSumBlock = 256;
/// The same of few rows, whose products take no longer than reading rhs from
/// memory: it is read from end to end where the next columns follow soon.
static constexpr int64_t kMaxSumBlockOfFew = 32, kFewRows = 16;
/// The same where registers are along the sum: each is added up at the end of a
/// block.
static constexpr int64_t kMaxSumBlockAlong = 2048;
/// Fewer numbers are not worth a register of pairs.
static constexpr int64_t kMinPairs = 8;
/// Bytes of a block of lhs, which stays in the second-level cache.
static constexpr int64_t kMaxLhsBytes = 128 << 10;
/// Registers along rows or columns of a block.
static constexpr int64_t kMaxBlock = 16;

/// The time of a block for one index of the sum, in halves of a product: what
/// is read is half of one.
static int64_t getBlockCost(int64_t rows, int64_t vectors) {
  return 2 * std::max(rows * vectors, kSumsInFlight) + rows + vectors;
}

/// The same of all blocks that cover so many rows and registers.
static int64_t getCost(int64_t numRows, int64_t numVectors, int64_t rows,
                       int64_t vectors) {
  int64_t cost = 0;
  for (auto [count, height] :
       {std::pair(numRows / rows, rows),
        std::pair<int64_t, int64_t>(numRows % rows != 0, numRows % rows)})
    for (auto [times, width] :
         {std::pair(numVectors / vectors, vectors),
          std::pair<int64_t, int64_t>(numVectors % vectors != 0,
                                      numVectors % vectors)})
      cost += count * times * getBlockCost(height, width);
  return cost;
}

/// Sums side by side: as many as a register has, but no more than there are
/// columns, and blocks of which end where runs of memory do. 0 where they do
/// not.
static int64_t getLanes(const ContractionDim &column, int64_t most) {
  int64_t lanes = most;
  while (lanes > 1 && (!column.canSplit(lanes) ||
                       lanes / 2 >= std::max<int64_t>(column.size, 1)))
    lanes /= 2;
  bool isRun = column.weights.size() == 1 || column.weights[1] % lanes == 0;
  bool isWide = lanes >= std::min<int64_t>(column.size, 4);
  return isRun && isWide ? lanes : 0;
}

/// Whether columns of so many registers are at distances that digits have.
static bool hasColumns(const ContractionPlan &plan, int64_t vectors) {
  if (plan.isAlongSum)
    return plan.column.canSplit(vectors);
  return vectors == 1 || plan.column.weights.size() == 1 ||
         plan.column.weights[1] % (vectors * plan.lanes) == 0;
}

/// Registers of a block: sums, factors that are used again, and one more.
static int64_t countRegisters(const ContractionPlan &plan, int64_t rows,
                              int64_t vectors) {
  int64_t perFactor = plan.isAlongSum || plan.usesPairs ? 1 : plan.group;
  return rows * vectors + vectors * perFactor + 1;
}

/// Chooses the block of registers.
static void chooseBlock(ContractionPlan &plan, int64_t registers) {
  int64_t numVectors = plan.isAlongSum
                           ? plan.column.size
                           : llvm::divideCeil(plan.column.size, plan.lanes);
  std::optional<int64_t> best;
  for (int64_t rows = 1; rows <= std::min(plan.row.size, kMaxBlock); ++rows) {
    if (!plan.row.canSplit(rows))
      continue;
    for (int64_t vectors = 1; vectors <= std::min(numVectors, kMaxBlock);
         ++vectors) {
      if (!hasColumns(plan, vectors) ||
          countRegisters(plan, rows, vectors) > registers)
        continue;
      int64_t cost = getCost(plan.row.size, numVectors, rows, vectors);
      if (best && cost >= *best)
        continue;
      best = cost;
      plan.rows = rows;
      plan.vectors = vectors;
    }
  }
}

/// Gives the copy of a block of lhs its strides: groups of a row, rows of a
/// block of registers, groups of the sum, blocks of rows.
static void layOutPacked(ContractionPlan &plan) {
  int64_t perBlock =
      llvm::alignTo(std::min(plan.sum.size, plan.sumBlock), plan.group);
  for (auto [weight, stride] :
       llvm::zip_equal(plan.row.weights, plan.row.strides[Packed]))
    stride = weight < plan.rows ? weight * plan.group : weight * perBlock;
  for (auto [weight, stride] :
       llvm::zip_equal(plan.sum.weights, plan.sum.strides[Packed]))
    stride = weight < plan.group ? weight : weight * plan.rows;
}

int64_t ContractionPlan::countPacked() const {
  int64_t numRows = llvm::alignTo(std::min(row.size, rowBlock), rows);
  return numRows * llvm::alignTo(std::min(sum.size, sumBlock), group);
}

/// Makes `dim` the last of its kind that is tried, if it is the longest.
static void takeLongest(const ContractionDim *&best,
                        const ContractionDim &dim) {
  if (!best || dim.size > best->size)
    best = &dim;
}

/// Exchanges the factors.
static ContractionDim swapFactors(ContractionDim dim) {
  std::swap(dim.strides[Lhs], dim.strides[Rhs]);
  if (dim.kind == ContractionDim::Kind::Row)
    dim.kind = ContractionDim::Kind::Column;
  else if (dim.kind == ContractionDim::Kind::Column)
    dim.kind = ContractionDim::Kind::Row;
  return dim;
}

/// Whether `count` numbers along a dimension lie side by side, and no more; or
/// one, which is all that there is.
static bool isGroup(const ContractionDim &dim, ContractionArray array,
                    int64_t count) {
  if (dim.size == 1)
    return true;
  return dim.strides[array][0] == 1 &&
         (dim.weights.size() == 1 ? dim.size <= count
                                  : dim.weights[1] == count);
}

/// How many numbers of rhs along `sum` lie side by side, between neighbouring
/// columns; 0 where something else lies there.
static int64_t getGroup(const ContractionDim &column,
                        const ContractionDim &sum) {
  int64_t stride = column.strides[Rhs][0];
  if (column.size == 1 || stride == 1)
    return 1;
  return stride == 2 && isGroup(sum, Rhs, stride) ? stride : 0;
}

/// Makes three of `dims`, or none of some, those of the register block, and all
/// others the loops around it.
static void setDims(ContractionPlan &plan, llvm::ArrayRef<ContractionDim> dims,
                    const ContractionDim *row, const ContractionDim *column,
                    const ContractionDim *sum) {
  ContractionDim none;
  plan.row = row ? *row : none;
  plan.column = column ? *column : none;
  plan.sum = sum ? *sum : none;
  llvm::copy_if(dims, std::back_inserter(plan.outer),
                [&](const ContractionDim &dim) {
                  return !llvm::is_contained({row, column, sum}, &dim);
                });
}

/// Chooses the dimensions of the register block; false where there are no
/// columns and sums that lie right.
static bool chooseDims(llvm::ArrayRef<ContractionDim> dims,
                       ContractionPlan &plan) {
  using Kind = ContractionDim::Kind;
  const ContractionDim *row = nullptr, *column = nullptr, *sum = nullptr;
  auto isSideBySide = [](const ContractionDim &dim) {
    return dim.size == 1 || dim.strides[Result][0] == 1;
  };
  for (const ContractionDim &dim : dims)
    if (dim.kind == Kind::Column && isSideBySide(dim))
      takeLongest(column, dim);
  for (const ContractionDim &dim : dims) {
    if (dim.kind == Kind::Row)
      takeLongest(row, dim);
    if (dim.kind == Kind::Sum && (!column || getGroup(*column, dim) != 0))
      takeLongest(sum, dim);
  }
  if (column && !sum)
    return false;
  setDims(plan, dims, row, column, sum);
  return true;
}

/// Chooses the blocks for caches, and gives all blocks digits of their own.
static void splitBlocks(ContractionPlan &plan, int64_t maxSumBlock,
                        int64_t bits) {
  plan.sum.split(plan.group);
  plan.sumBlock = plan.sum.getBlock(plan.group, maxSumBlock);
  int64_t lhsBytes = bits / 8 * plan.sumBlock;
  plan.rowBlock = plan.row.getBlock(
      plan.rows, std::max(plan.rows, kMaxLhsBytes / lhsBytes));
  plan.sum.split(plan.sumBlock);
  plan.row.split(plan.rows);
  plan.row.split(plan.rowBlock);
  plan.column.split(plan.columns());
}

/// The plan with columns along rhs, if there is one.
static std::optional<ContractionPlan>
planColumns(llvm::ArrayRef<ContractionDim> dims, ContractionElements elements,
            const ContractionTarget &target) {
  ContractionPlan plan;
  if (!chooseDims(dims, plan))
    return std::nullopt;
  plan.group = getGroup(plan.column, plan.sum);
  plan.lanes = getLanes(plan.column, target.vectorBytes * 8 / elements.sumBits);
  if (plan.group == 0 || plan.lanes == 0)
    return std::nullopt;
  plan.isBF16 = elements.isBF16;
  plan.usesPairs = plan.group == 2 && elements.isBF16 && elements.mayReorder &&
                   target.hasBF16Pairs && plan.lanes >= 4;
  plan.packsLhs = elements.convertsLhs;
  chooseBlock(plan, target.vectorRegisters);
  bool isFew = plan.row.size <= kFewRows;
  splitBlocks(plan, isFew ? kMaxSumBlockOfFew : kMaxSumBlock, elements.sumBits);
  if (plan.packsLhs)
    layOutPacked(plan);
  return plan;
}

/// The plan with the factors in each other's place.
static std::optional<ContractionPlan>
planRows(llvm::ArrayRef<ContractionDim> dims, ContractionElements elements,
         const ContractionTarget &target) {
  llvm::SmallVector<ContractionDim> swapped;
  for (const ContractionDim &dim : dims)
    swapped.push_back(swapFactors(dim));
  std::swap(elements.lhsBits, elements.rhsBits);
  std::swap(elements.convertsLhs, elements.convertsRhs);
  auto plan = planColumns(swapped, elements, target);
  if (plan)
    plan->isSwapped = true;
  return plan;
}

/// How many rows of an array, or columns, lie side by side between neighbours
/// along the sum; 0 where something else lies there.
static int64_t getGroupAlong(const ContractionDim &sum,
                             const ContractionDim &dim,
                             ContractionArray array) {
  int64_t stride = sum.strides[array][0];
  if (stride == 1)
    return 1;
  return stride == 2 && isGroup(dim, array, stride) ? stride : 0;
}

/// The plan with registers along the sum, if there is one.
static std::optional<ContractionPlan>
planSums(llvm::ArrayRef<ContractionDim> dims, ContractionElements elements,
         const ContractionTarget &target) {
  using Kind = ContractionDim::Kind;
  const ContractionDim *best[4] = {};
  for (const ContractionDim &dim : dims)
    takeLongest(best[unsigned(dim.kind)], dim);
  const ContractionDim *sum = best[unsigned(Kind::Sum)];
  if (!sum || !elements.mayReorder)
    return std::nullopt;
  ContractionPlan plan;
  plan.isAlongSum = true;
  setDims(plan, dims, best[unsigned(Kind::Row)], best[unsigned(Kind::Column)],
          sum);
  plan.lhsGroup = getGroupAlong(plan.sum, plan.row, Lhs);
  plan.rhsGroup = getGroupAlong(plan.sum, plan.column, Rhs);
  plan.isBF16 = elements.isBF16;
  plan.usesPairs = elements.isBF16 && target.hasBF16Pairs &&
                   plan.lhsGroup == 1 && plan.rhsGroup == 1 &&
                   plan.sum.size >= kMinPairs;
  int64_t numbers = plan.usesPairs ? 2 : 1;
  plan.group =
      getLanes(plan.sum, numbers * target.vectorBytes * 8 / elements.sumBits);
  plan.lanes = plan.group / numbers;
  if (plan.lhsGroup == 0 || plan.rhsGroup == 0 || plan.lanes < 4)
    return std::nullopt;
  chooseBlock(plan, target.vectorRegisters);
  splitBlocks(plan, kMaxSumBlockAlong, elements.sumBits);
  return plan;
}

/// Shares the blocks of columns, or those of rows where there are more.
static void shareBlocks(ContractionPlan &plan,
                        llvm::ArrayRef<ContractionDim> dims,
                        const ContractionElements &elements,
                        const ContractionTarget &target) {
  int64_t work = elements.sumBits / 8;
  for (const ContractionDim &dim : dims)
    work = llvm::MulOverflow(work, dim.size, work) ? INT64_MAX : work;
  int64_t ofColumns = plan.column.size / plan.columns();
  int64_t ofRows = std::min(plan.rowBlock, plan.row.size) / plan.rows;
  if (target.threads == 1 || work < target.parallelBytes ||
      std::max(ofColumns, ofRows) < 2)
    return;
  bool hasColumns = ofColumns >= std::min(target.threads, ofRows);
  plan.shared =
      hasColumns ? ContractionDim::Kind::Column : ContractionDim::Kind::Row;
}

llvm::Expected<ContractionPlan>
ContractionPlan::get(llvm::ArrayRef<ContractionDim> dims,
                     const ContractionElements &elements,
                     const ContractionTarget &target) {
  std::optional<ContractionPlan> best;
  static constexpr decltype(&planColumns) kWays[] = {planColumns, planRows,
                                                     planSums};
  for (auto *plan : kWays)
    if (auto found = plan(dims, elements, target))
      if (!best || found->lanes > best->lanes)
        best = std::move(found);
  if (best && best->lanes > 1) {
    shareBlocks(*best, dims, elements, target);
    return std::move(*best);
  }
  return unsupportedError("contraction",
                          "a dimension along which a factor and the result, or "
                          "both factors, have neighbours in memory",
                          "none", "give one of the factors another layout");
}
