//===- EmitContraction.cpp - Code for the plan of a contraction -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitContraction.h"

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mlir;
using namespace tessera;

namespace {
/// Where an index of the iteration is in each array, in elements.
using Positions = std::array<Value, kNumArrays>;
using Values = SmallVector<Value>;

/// The digits of a dimension that loops have been opened for.
struct OpenDigits {
  AffineExpr value; ///< Of the digits, in blocks.
  SmallVector<Value> variables;
};

class ContractionEmitter {
public:
  ContractionEmitter(OpBuilder &builder, Location loc,
                     const ContractionPlan &plan, const ContractionBody &body,
                     ArrayRef<Value> operands);

  void emit();

private:
  using EmitAt = llvm::function_ref<void(const Positions &)>;
  using EmitBlock = llvm::function_ref<void(int64_t size, const Positions &)>;

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value position, int64_t distance);
  Value add(Value position, Value variable, int64_t stride);
  /// The positions `index` further along a dimension, or as many steps of a
  /// digit as a variable says.
  Positions advance(const Positions &at, const ContractionDim &dim,
                    int64_t index);
  Positions advance(const Positions &at, const ContractionDim &dim,
                    unsigned digit, Value variable);

  void emitOuter(ArrayRef<ContractionDim> dims, const Positions &at);
  void emitBlocks(const ContractionDim &dim, int64_t step, int64_t total,
                  const Positions &at, EmitBlock emitBlock,
                  bool isShared = false);
  void emitDigits(const ContractionDim &dim, int64_t step, int64_t count,
                  unsigned digit, const OpenDigits &open, const Positions &at,
                  EmitAt emitAt, bool isShared = false);
  AffineMap getTrips(const ContractionDim &dim, int64_t step, int64_t count,
                     unsigned digit, const OpenDigits &open);
  void emitRows(int64_t rows, int64_t sums, const Positions &at);

  // Blocks of lhs.
  void pack(int64_t rows, int64_t sums, const Positions &at);
  Values packGroup(int64_t rows, int64_t valid, const Positions &at);

  // Blocks of registers.
  using EmitStep =
      llvm::function_ref<Values(int64_t valid, const Positions &, ValueRange)>;
  void emitKernel(int64_t rows, int64_t columns, int64_t sums,
                  const Positions &at);
  Values emitSum(unsigned digit, int64_t count, const Positions &at,
                 ValueRange sums, EmitStep emitStep);
  Values emitRun(int64_t count, const Positions &at, ValueRange sums,
                 EmitStep emitStep);
  Values emitLoop(int64_t trips, ValueRange sums,
                  llvm::function_ref<Values(Value, ValueRange)> emitBody);
  Values multiplyAdd(int64_t rows, int64_t columns, int64_t valid,
                     const Positions &at, ValueRange sums);
  void emitKernelAlong(int64_t rows, int64_t columns, int64_t sums,
                       const Positions &at);
  Values multiplyAddAlong(int64_t rows, int64_t columns, int64_t valid,
                          const Positions &at, ValueRange sums);

  // Registers.
  VectorType getVectorType(Type element, int64_t count) {
    return VectorType::get(count, element);
  }
  Type getElementType(ContractionArray array) {
    return cast<MemRefType>(arrays[array].getType()).getElementType();
  }
  Value getMask(int64_t lanes, int64_t groups, int64_t group, int64_t valid);
  Value load(ContractionArray array, Value position, int64_t count, Value mask);
  void store(Value value, Value position, Value mask);
  Values loadColumns(Value position, int64_t columns, int64_t valid);
  Values loadAlong(ContractionArray array, Value position, int64_t count,
                   int64_t valid);
  Values widenPairs(Value loaded);
  Values split(Value loaded, int64_t group, unsigned factor);
  Value broadcast(Value position);
  Value broadcastPair(Value position);
  Value cloneOn(Operation *op, ValueRange operands);
  Value convert(Value value, unsigned factor);
  Value multiplyAdd(Value sum, Value lhs, Value rhs);

  ImplicitLocOpBuilder b;
  const ContractionPlan &plan;
  const ContractionBody &body;
  SmallVector<Value> arrays;
};
} // namespace

ContractionEmitter::ContractionEmitter(OpBuilder &builder, Location loc,
                                       const ContractionPlan &plan,
                                       const ContractionBody &body,
                                       ArrayRef<Value> operands)
    : b(loc, builder), plan(plan), body(body), arrays(operands) {
  if (plan.isSwapped)
    std::swap(arrays[Lhs], arrays[Rhs]);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value ContractionEmitter::add(Value position, int64_t distance) {
  if (distance == 0)
    return position;
  return arith::AddIOp::create(b, position, constant(distance),
                               arith::IntegerOverflowFlags::nsw);
}

Value ContractionEmitter::add(Value position, Value variable, int64_t stride) {
  if (stride == 0)
    return position;
  auto flags = arith::IntegerOverflowFlags::nsw;
  Value distance = arith::MulIOp::create(b, variable, constant(stride), flags);
  return arith::AddIOp::create(b, position, distance, flags);
}

Positions ContractionEmitter::advance(const Positions &at,
                                      const ContractionDim &dim,
                                      int64_t index) {
  Positions result;
  for (unsigned array = 0; array < kNumArrays; ++array)
    result[array] =
        add(at[array], dim.getOffset(ContractionArray(array), index));
  return result;
}

Positions ContractionEmitter::advance(const Positions &at,
                                      const ContractionDim &dim, unsigned digit,
                                      Value variable) {
  Positions result;
  for (unsigned array = 0; array < kNumArrays; ++array)
    result[array] = add(at[array], variable, dim.strides[array][digit]);
  return result;
}

//===----------------------------------------------------------------------===//
// Loops over blocks
//===----------------------------------------------------------------------===//

/// How many steps a digit takes where the digits above it have their values.
AffineMap ContractionEmitter::getTrips(const ContractionDim &dim, int64_t step,
                                       int64_t count, unsigned digit,
                                       const OpenDigits &open) {
  int64_t unit = dim.weights[digit] / step;
  unsigned numDims = open.variables.size();
  AffineExpr left =
      (b.getAffineConstantExpr(count) - open.value * unit).ceilDiv(unit);
  SmallVector<AffineExpr> trips;
  if (numDims > 0)
    trips.push_back(
        b.getAffineConstantExpr(dim.weights[digit + 1] / dim.weights[digit]));
  bool isWhole = numDims > 0 && count % (dim.weights[digit + 1] / step) == 0;
  if (!isWhole)
    trips.push_back(simplifyAffineExpr(left, numDims, 0));
  return AffineMap::get(numDims, 0, trips, b.getContext());
}

/// Loops over the digits from `digit` down to the one of weight `step`, for the
/// first `count` blocks of that size. If they are shared, the outermost loop is
/// parallel.
void ContractionEmitter::emitDigits(const ContractionDim &dim, int64_t step,
                                    int64_t count, unsigned digit,
                                    const OpenDigits &open, const Positions &at,
                                    EmitAt emitAt, bool isShared) {
  unsigned last = dim.getDigit(step);
  bool isLast = digit == last;
  OpenDigits inner = open;
  auto emitInner = [&](const Positions &positions) {
    if (isLast)
      return emitAt(positions);
    inner.value = inner.value * (dim.weights[digit] / dim.weights[digit - 1]);
    bool isOutermost = inner.variables.empty();
    emitDigits(dim, step, count, digit - 1, inner, positions, emitAt,
               isShared && isOutermost);
  };
  bool isOne = open.variables.empty() && count * step <= dim.weights[digit];
  if (isOne)
    return emitInner(at);
  AffineMap trips = getTrips(dim, step, count, digit, open);
  auto loop = affine::AffineForOp::create(
      b, ValueRange(), b.getConstantAffineMap(0), open.variables, trips,
      /*step=*/1);
  inner.value =
      inner.value + b.getAffineDimExpr(unsigned(open.variables.size()));
  inner.variables.push_back(loop.getInductionVar());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitInner(advance(at, dim, digit, loop.getInductionVar()));
  }
  if (isShared)
    (void)affine::affineParallelize(loop);
}

/// Emits blocks of `step` indices, which a digit has, up to `total`, and one of
/// those that are left.
void ContractionEmitter::emitBlocks(const ContractionDim &dim, int64_t step,
                                    int64_t total, const Positions &at,
                                    EmitBlock emitBlock, bool isShared) {
  int64_t count = total / step, left = total % step;
  OpenDigits none{b.getAffineConstantExpr(0), {}};
  if (count > 0)
    emitDigits(
        dim, step, count, dim.weights.size() - 1, none, at,
        [&](const Positions &block) { emitBlock(step, block); }, isShared);
  if (left > 0)
    emitBlock(left, advance(at, dim, total - left));
}

void ContractionEmitter::emitOuter(ArrayRef<ContractionDim> dims,
                                   const Positions &at) {
  if (!dims.empty())
    return emitBlocks(dims.front(), 1, dims.front().size, at,
                      [&](int64_t, const Positions &inner) {
                        emitOuter(dims.drop_front(), inner);
                      });
  emitBlocks(plan.sum, plan.sumBlock, plan.sum.size, at,
             [&](int64_t sums, const Positions &ofSum) {
               emitBlocks(plan.row, plan.rowBlock, plan.row.size, ofSum,
                          [&](int64_t rows, const Positions &ofRows) {
                            emitRows(rows, sums, ofRows);
                          });
             });
}

void ContractionEmitter::emitRows(int64_t rows, int64_t sums,
                                  const Positions &at) {
  Positions start = at;
  start[Packed] = constant(0);
  if (plan.packsLhs)
    pack(rows, sums, start);
  emitBlocks(
      plan.column, plan.columns(), plan.column.size, start,
      [&](int64_t columns, const Positions &ofColumns) {
        emitBlocks(
            plan.row, plan.rows, rows, ofColumns,
            [&](int64_t height, const Positions &block) {
              if (plan.isAlongSum)
                emitKernelAlong(height, columns, sums, block);
              else
                emitKernel(height, columns, sums, block);
            },
            plan.shared == ContractionDim::Kind::Row);
      },
      plan.shared == ContractionDim::Kind::Column);
}

void ContractionEmitter::emit() {
  Value buffer;
  if (plan.packsLhs) {
    Type element = plan.usesPairs ? getElementType(Lhs) : body.sumType();
    auto type = MemRefType::get(plan.countPacked(), element);
    buffer = memref::AllocOp::create(
        b, type, b.getI64IntegerAttr(RelayoutTarget::kLineBytes));
  }
  arrays.push_back(buffer);
  Value zero = constant(0);
  emitOuter(plan.outer, {zero, zero, zero, zero});
}

//===----------------------------------------------------------------------===//
// Copies of blocks of lhs
//===----------------------------------------------------------------------===//

/// Copies a block of rows, converted, in the order in which it is read.
void ContractionEmitter::pack(int64_t rows, int64_t sums, const Positions &at) {
  emitBlocks(plan.row, plan.rows, rows, at,
             [&](int64_t height, const Positions &block) {
               emitSum(plan.sum.weights.size() - 1, sums, block, {},
                       [&](int64_t valid, const Positions &group, ValueRange) {
                         return packGroup(height, valid, group);
                       });
             });
}

/// Copies a group of each row; what no element is left for is zero.
Values ContractionEmitter::packGroup(int64_t rows, int64_t valid,
                                     const Positions &at) {
  Type element = getElementType(Packed);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < plan.group; ++i) {
      Positions place = advance(advance(at, plan.row, row), plan.sum, i);
      Value number =
          i < valid
              ? memref::LoadOp::create(b, arrays[Lhs], place[Lhs]).getResult()
              : arith::ConstantOp::create(b, b.getZeroAttr(element))
                    .getResult();
      if (i < valid && !plan.usesPairs)
        number = convert(number, Lhs);
      memref::StoreOp::create(b, number, arrays[Packed], place[Packed]);
    }
  return {};
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// The mask of a register of `lanes` groups, of which the first `groups` have
/// `valid` numbers each; null where that is all.
Value ContractionEmitter::getMask(int64_t lanes, int64_t groups, int64_t group,
                                  int64_t valid) {
  if (groups == lanes && valid == group)
    return {};
  SmallVector<bool> bits;
  for (int64_t i = 0; i < lanes * group; ++i)
    bits.push_back(i / group < groups && i % group < valid);
  auto type = getVectorType(b.getI1Type(), lanes * group);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, bits));
}

Value ContractionEmitter::load(ContractionArray array, Value position,
                               int64_t count, Value mask) {
  VectorType type = getVectorType(getElementType(array), count);
  if (!mask)
    return vector::LoadOp::create(b, type, arrays[array], position);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, arrays[array], position, mask,
                                      zero);
}

void ContractionEmitter::store(Value value, Value position, Value mask) {
  if (mask)
    vector::MaskedStoreOp::create(b, arrays[Result], position, mask, value);
  else
    vector::StoreOp::create(b, value, arrays[Result], position);
}

/// The operation with a result as wide as its operands.
Value ContractionEmitter::cloneOn(Operation *op, ValueRange operands) {
  Type type = op->getResult(0).getType();
  if (auto vector = dyn_cast<VectorType>(operands.front().getType()))
    type = VectorType::get(vector.getShape(), type);
  OperationState state(b.getLoc(), op->getName(), operands, type,
                       op->getAttrs());
  return b.create(state)->getResult(0);
}

Value ContractionEmitter::convert(Value value, unsigned factor) {
  for (Operation *cast : body.casts[plan.isSwapped ? 1 - factor : factor])
    value = cloneOn(cast, value);
  return value;
}

Value ContractionEmitter::multiplyAdd(Value sum, Value lhs, Value rhs) {
  if (plan.usesPairs)
    return x86vector::DotBF16Op::create(b, sum.getType(), sum, lhs, rhs);
  return cloneOn(body.add, {sum, cloneOn(body.multiply, {lhs, rhs})});
}

/// Pairs of bf16 as two registers of f32, whose upper halves they are.
Values ContractionEmitter::widenPairs(Value loaded) {
  VectorType words = getVectorType(b.getI32Type(), plan.lanes);
  VectorType floats = getVectorType(b.getF32Type(), plan.lanes);
  auto splat = [&](int32_t value) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(words, value));
  };
  Value bits = vector::BitCastOp::create(b, words, loaded);
  Value first = arith::ShLIOp::create(b, bits, splat(16));
  Value second =
      arith::AndIOp::create(b, bits, splat(static_cast<int32_t>(0xffff0000)));
  return {vector::BitCastOp::create(b, floats, first),
          vector::BitCastOp::create(b, floats, second)};
}

/// What was loaded as the registers that are multiplied: one for each number of
/// a group, or one of pairs.
Values ContractionEmitter::split(Value loaded, int64_t group, unsigned factor) {
  if (plan.usesPairs)
    return {loaded};
  if (group == 1)
    return {convert(loaded, factor)};
  if (plan.isBF16)
    return widenPairs(loaded);
  Values parts;
  for (int64_t part = 0; part < group; ++part) {
    SmallVector<int64_t> places;
    for (int64_t lane = 0; lane < plan.lanes; ++lane)
      places.push_back(lane * group + part);
    Value numbers = vector::ShuffleOp::create(b, loaded, loaded, places);
    parts.push_back(convert(numbers, factor));
  }
  return parts;
}

/// The registers of rhs for one group of the sum: those of all numbers of some
/// columns, then those of the next.
Values ContractionEmitter::loadColumns(Value position, int64_t columns,
                                       int64_t valid) {
  Values factors;
  for (int64_t column = 0; column < columns; column += plan.lanes) {
    int64_t lanes = std::min(plan.lanes, columns - column);
    Value mask = getMask(plan.lanes, lanes, plan.group, valid);
    Value loaded = load(Rhs, add(position, plan.column.getOffset(Rhs, column)),
                        plan.lanes * plan.group, mask);
    llvm::append_range(factors, split(loaded, plan.group, Rhs));
  }
  return factors;
}

/// Registers of `valid` numbers along the sum, for `count` rows or columns.
Values ContractionEmitter::loadAlong(ContractionArray array, Value position,
                                     int64_t count, int64_t valid) {
  const ContractionDim &dim = array == Lhs ? plan.row : plan.column;
  int64_t group = array == Lhs ? plan.lhsGroup : plan.rhsGroup;
  Values factors;
  for (int64_t i = 0; i < count; i += group) {
    Value mask = getMask(plan.group, valid, group, std::min(group, count - i));
    Value loaded = load(array, add(position, dim.getOffset(array, i)),
                        plan.group * group, mask);
    llvm::append_range(factors, split(loaded, group, array));
  }
  return factors;
}

/// A number of lhs in all lanes.
Value ContractionEmitter::broadcast(Value position) {
  ContractionArray array = plan.packsLhs ? Packed : Lhs;
  Value number = memref::LoadOp::create(b, arrays[array], position);
  return vector::BroadcastOp::create(
      b, getVectorType(number.getType(), plan.lanes), number);
}

/// A pair of lhs in all lanes.
Value ContractionEmitter::broadcastPair(Value position) {
  Value pair = load(Packed, position, 2, {});
  Type word = b.getI32Type();
  Value bits = vector::ExtractOp::create(
      b, vector::BitCastOp::create(b, getVectorType(word, 1), pair), 0);
  Value all =
      vector::BroadcastOp::create(b, getVectorType(word, plan.lanes), bits);
  return vector::BitCastOp::create(
      b, getVectorType(getElementType(Packed), 2 * plan.lanes), all);
}

//===----------------------------------------------------------------------===//
// Blocks of registers
//===----------------------------------------------------------------------===//

/// Products of one piece of straight code.
static constexpr int64_t kMaxProducts = 64;

Values ContractionEmitter::emitLoop(
    int64_t trips, ValueRange sums,
    llvm::function_ref<Values(Value, ValueRange)> emitBody) {
  auto loop = affine::AffineForOp::create(b, 0, trips, /*step=*/1, sums);
  // Loops that carry values are made without terminators.
  if (!sums.empty())
    b.setInsertionPointToStart(loop.getBody());
  else
    b.setInsertionPoint(loop.getBody()->getTerminator());
  Values results = emitBody(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!sums.empty())
    affine::AffineYieldOp::create(b, results);
  b.setInsertionPointAfter(loop);
  return Values(loop.getResults());
}

/// Adds the products of `count` indices that lie at one distance from one
/// another, each of them a group.
Values ContractionEmitter::emitRun(int64_t count, const Positions &at,
                                   ValueRange sums, EmitStep emitStep) {
  unsigned digit = plan.sum.getDigit(plan.group);
  int64_t groups = count / plan.group, left = count % plan.group;
  int64_t unrolled =
      std::clamp<int64_t>(kMaxProducts / (plan.rows * plan.vectors), 1,
                          std::max<int64_t>(groups, 1));
  auto emitSteps = [&](int64_t number, const Positions &from, Values values) {
    for (int64_t i = 0; i < number; ++i)
      values =
          emitStep(plan.group, advance(from, plan.sum, i * plan.group), values);
    return values;
  };
  Values values(sums);
  int64_t trips = groups / unrolled;
  if (trips > 1)
    values = emitLoop(trips, values, [&](Value variable, ValueRange inner) {
      Value steps = arith::MulIOp::create(b, variable, constant(unrolled));
      return emitSteps(unrolled, advance(at, plan.sum, digit, steps),
                       Values(inner));
    });
  int64_t done = trips > 1 ? trips * unrolled : 0;
  values = emitSteps(groups - done, advance(at, plan.sum, done * plan.group),
                     values);
  if (left > 0)
    values = emitStep(left, advance(at, plan.sum, groups * plan.group), values);
  return values;
}

/// Adds the products of the first `count` indices, by digits from `digit` on.
Values ContractionEmitter::emitSum(unsigned digit, int64_t count,
                                   const Positions &at, ValueRange sums,
                                   EmitStep emitStep) {
  if (digit == plan.sum.getDigit(plan.group))
    return emitRun(count, at, sums, emitStep);
  int64_t weight = plan.sum.weights[digit];
  int64_t trips = count / weight, left = count % weight;
  Values values(sums);
  if (trips == 1)
    values = emitSum(digit - 1, weight, at, values, emitStep);
  if (trips > 1)
    values = emitLoop(trips, values, [&](Value variable, ValueRange inner) {
      return emitSum(digit - 1, weight, advance(at, plan.sum, digit, variable),
                     inner, emitStep);
    });
  if (left > 0)
    values = emitSum(digit - 1, left, advance(at, plan.sum, count - left),
                     values, emitStep);
  return values;
}

/// The sums of a block of registers and the products of one group.
Values ContractionEmitter::multiplyAdd(int64_t rows, int64_t columns,
                                       int64_t valid, const Positions &at,
                                       ValueRange sums) {
  Values factors = loadColumns(at[Rhs], columns, valid), results(sums);
  int64_t parts = plan.usesPairs ? 1 : plan.group;
  int64_t numVectors = factors.size() / parts;
  ContractionArray array = plan.packsLhs ? Packed : Lhs;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t part = 0; part < std::min(parts, valid); ++part) {
      Value position = add(at[array], plan.row.getOffset(array, row) +
                                          plan.sum.getOffset(array, part));
      Value factor =
          plan.usesPairs ? broadcastPair(position) : broadcast(position);
      for (int64_t i = 0; i < numVectors; ++i) {
        Value &sum = results[row * numVectors + i];
        sum = multiplyAdd(sum, factor, factors[i * parts + part]);
      }
    }
  return results;
}

/// Emits a block of registers of neighbouring columns.
void ContractionEmitter::emitKernel(int64_t rows, int64_t columns, int64_t sums,
                                    const Positions &at) {
  SmallVector<std::pair<Value, Value>> places;
  Values values;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; column += plan.lanes) {
      int64_t lanes = std::min(plan.lanes, columns - column);
      Value mask = getMask(plan.lanes, lanes, 1, 1);
      Value position =
          add(at[Result], plan.row.getOffset(Result, row) +
                              plan.column.getOffset(Result, column));
      values.push_back(load(Result, position, plan.lanes, mask));
      places.emplace_back(position, mask);
    }
  values =
      emitSum(plan.sum.weights.size() - 1, sums, at, values,
              [&](int64_t valid, const Positions &group, ValueRange inner) {
                return multiplyAdd(rows, columns, valid, group, inner);
              });
  for (auto [value, place] : llvm::zip_equal(values, places))
    store(value, place.first, place.second);
}

/// The same for registers along the sum.
Values ContractionEmitter::multiplyAddAlong(int64_t rows, int64_t columns,
                                            int64_t valid, const Positions &at,
                                            ValueRange sums) {
  Values lhs = loadAlong(Lhs, at[Lhs], rows, valid);
  Values rhs = loadAlong(Rhs, at[Rhs], columns, valid), results(sums);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      Value &sum = results[row * columns + column];
      sum = multiplyAdd(sum, lhs[row], rhs[column]);
    }
  return results;
}

/// Emits a block of registers along the sum, and adds up each.
void ContractionEmitter::emitKernelAlong(int64_t rows, int64_t columns,
                                         int64_t sums, const Positions &at) {
  VectorType type = getVectorType(body.sumType(), plan.lanes);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Values values = emitSum(
      plan.sum.weights.size() - 1, sums, at, Values(rows * columns, zero),
      [&](int64_t valid, const Positions &group, ValueRange inner) {
        return multiplyAddAlong(rows, columns, valid, group, inner);
      });
  auto reorder = arith::FastMathFlags::reassoc;
  for (auto [number, value] : llvm::enumerate(values)) {
    Value position =
        add(at[Result], plan.row.getOffset(Result, number / columns) +
                            plan.column.getOffset(Result, number % columns));
    Value sum = memref::LoadOp::create(b, arrays[Result], position);
    sum = vector::ReductionOp::create(b, vector::CombiningKind::ADD, value, sum,
                                      reorder);
    memref::StoreOp::create(b, sum, arrays[Result], position);
  }
}

void tessera::emitContraction(OpBuilder &builder, Location loc,
                              const ContractionPlan &plan,
                              const ContractionBody &body,
                              ArrayRef<Value> arrays) {
  ContractionEmitter(builder, loc, plan, body, arrays).emit();
}
