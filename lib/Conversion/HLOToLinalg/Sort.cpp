//===- Sort.cpp - sort and the largest elements ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Merge sort from the bottom up: of n elements, ceil(log2(n)) passes merge
// neighbouring runs of 1, 2, 4, ... elements. It is stable.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Whether elements, one of each array, come before others, as an i1.
using ComesBefore =
    llvm::function_ref<FailureOr<Value>(ValueRange lhs, ValueRange rhs)>;

namespace {
/// One pass over arrays of one shape.
struct Pass {
  HLOConverter &c;
  SmallVector<Value> arrays;
  int64_t dimension;
  /// Elements of a run that is sorted, as an index.
  Value width;
  ComesBefore comesBefore;

  ArrayRef<int64_t> sizes() const {
    return getArrayType(arrays.front()).getShape();
  }
  Elements emit();

private:
  Elements emitStep(ValueRange loops, ValueRange values);
  SmallVector<Value> getElements(SmallVector<Value> index, Value number);
};
} // namespace

static Value select(HLOConverter &c, Value condition, Value then,
                    Value otherwise) {
  return arith::SelectOp::create(c.b, condition, then, otherwise);
}

/// The elements of all arrays at a number along the dimension; of the last one
/// where there are fewer.
SmallVector<Value> Pass::getElements(SmallVector<Value> index, Value number) {
  Value last = c.constantIndex(sizes()[dimension] - 1);
  index[dimension] = arith::MinUIOp::create(c.b, number, last);
  SmallVector<Value> elements;
  for (Value array : arrays)
    elements.push_back(tensor::ExtractOp::create(c.b, array, index));
  return elements;
}

/// Writes the next element of two runs. `values` are the arrays that are
/// written, and the numbers of the next elements of the runs.
Elements Pass::emitStep(ValueRange loops, ValueRange values) {
  ImplicitLocOpBuilder &b = c.b;
  SmallVector<Value> index(loops.drop_back());
  index.insert(index.begin() + dimension, loops.back());
  Value number = loops.back(), size = c.constantIndex(sizes()[dimension]);
  Value both = arith::AddIOp::create(b, width, width);
  Value begin =
      arith::SubIOp::create(b, number, arith::RemUIOp::create(b, number, both));
  auto limit = [&](Value length) -> Value {
    return arith::MinUIOp::create(b, size,
                                  arith::AddIOp::create(b, begin, length));
  };
  Value middle = limit(width), end = limit(both);
  auto is = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  };
  Value isFirst = is(arith::CmpIPredicate::eq, number, begin);
  ValueRange positions = values.take_back(2);
  Value left = select(c, isFirst, begin, positions[0]);
  Value right = select(c, isFirst, middle, positions[1]);
  SmallVector<Value> lhs = getElements(index, left);
  SmallVector<Value> rhs = getElements(index, right);
  FailureOr<Value> isBefore = comesBefore(rhs, lhs);
  if (failed(isBefore))
    return failure();
  Value hasNoLeft = is(arith::CmpIPredicate::uge, left, middle);
  Value hasRight = is(arith::CmpIPredicate::ult, right, end);
  Value takesRight = arith::AndIOp::create(
      b, hasRight, arith::OrIOp::create(b, hasNoLeft, *isBefore));
  SmallVector<Value> results;
  for (auto [array, l, r] : llvm::zip(values.drop_back(2), lhs, rhs))
    results.push_back(
        tensor::InsertOp::create(b, select(c, takesRight, r, l), array, index));
  Value one = c.constantIndex(1), zero = c.constantIndex(0);
  results.push_back(
      arith::AddIOp::create(b, left, select(c, takesRight, zero, one)));
  results.push_back(
      arith::AddIOp::create(b, right, select(c, takesRight, one, zero)));
  return results;
}

Elements Pass::emit() {
  SmallVector<Value> inits;
  for (Value array : arrays)
    inits.push_back(EmptyOp::create(c.b, array.getType(), ValueRange()));
  inits.append(2, c.constantIndex(0));
  // The dimension is innermost.
  SmallVector<int64_t> loops(sizes());
  loops.erase(loops.begin() + dimension);
  loops.push_back(sizes()[dimension]);
  Elements results = buildTensorLoops(c.b, loops, inits,
                                      [&](ValueRange index, ValueRange values) {
                                        return emitStep(index, values);
                                      });
  if (succeeded(results))
    results->truncate(arrays.size());
  return results;
}

/// The arrays, sorted together along a dimension.
static Elements emitSorted(HLOConverter &c, SmallVector<Value> arrays,
                           int64_t dimension, ComesBefore comesBefore) {
  int64_t size = getArrayType(arrays.front()).getDimSize(dimension);
  if (size < 2)
    return arrays;
  SmallVector<Value> values = std::move(arrays);
  values.push_back(c.constantIndex(1));
  Elements sorted = buildTensorLoops(
      c.b, llvm::Log2_64_Ceil(size), values,
      [&](ValueRange, ValueRange carried) -> Elements {
        Value width = carried.back();
        Pass pass{c, SmallVector<Value>(carried.drop_back()), dimension, width,
                  comesBefore};
        Elements results = pass.emit();
        if (succeeded(results))
          results->push_back(arith::AddIOp::create(c.b, width, width));
        return results;
      });
  if (succeeded(sorted))
    sorted->pop_back();
  return sorted;
}

//===----------------------------------------------------------------------===//
// sort
//===----------------------------------------------------------------------===//

/// What a computation on two elements of each array says, one array behind the
/// other.
static FailureOr<Value> applyComparator(HLOConverter &c,
                                        func::FuncOp comparator, ValueRange lhs,
                                        ValueRange rhs) {
  SmallVector<Value> arguments;
  for (auto [left, right] : llvm::zip(lhs, rhs))
    arguments.append({left, right});
  Elements result = c.apply(comparator, arguments);
  if (failed(result))
    return failure();
  if (result->size() == 1 && result->front().getType().isInteger(1))
    return result->front();
  return emitError(comparator.getLoc())
         << "unsupported comparator: expected one that gives a pred, found "
         << comparator.getFunctionType() << "; docs/running.md has what runs";
}

static LogicalResult convertSort(HLOConverter &c, InstructionOp op) {
  SmallVector<int64_t> dimensions = getIntegers(op, "dimensions");
  func::FuncOp comparator = c.getComputation(op, "to_apply");
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  if (!comparator)
    return failure();
  if (c.isScalar() || op.getOperands().empty())
    return emitUnsupported(op, "place", "one outside of reductions",
                           "one in a computation on scalars");
  SmallVector<Value> arrays = c.getAllLeaves(op.getOperands());
  RankedTensorType first = getArrayType(arrays.front());
  bool isRight = dimensions.size() == 1 && types.size() == arrays.size();
  for (size_t i = 0; isRight && i < types.size(); ++i) {
    auto type = cast<RankedTensorType>(types[i]);
    isRight = getArrayType(arrays[i]).getShape() == first.getShape() &&
              type.clone(getArrayType(arrays[i]).getElementType()) == type &&
              type.getShape() == first.getShape();
  }
  if (!isRight || !first.hasStaticShape())
    return emitUnsupported(op, "operands", "arrays of one shape");
  if (failed(checkDimensions(op, dimensions, first.getRank())))
    return failure();
  Elements results = emitSorted(
      c, arrays, dimensions.front(), [&](ValueRange lhs, ValueRange rhs) {
        return applyComparator(c, comparator, lhs, rhs);
      });
  if (failed(results))
    return failure();
  for (auto [result, type] : llvm::zip(*results, types))
    result = c.relayout(result, type);
  c.setLeaves(op.getResult(), *results);
  return success();
}

//===----------------------------------------------------------------------===//
// TopK
//===----------------------------------------------------------------------===//

/// The first elements along the last dimension, as many as the type has.
static Value takeFirst(HLOConverter &c, Value array, RankedTensorType type) {
  SmallVector<OpFoldResult> offsets(type.getRank(), c.b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), c.b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(c.b.getIndexAttr(size));
  Value slice =
      tensor::ExtractSliceOp::create(c.b, array, offsets, sizes, strides);
  return c.relayout(slice, type);
}

/// The number of each element along the last dimension, of another type.
static Value createNumbers(HLOConverter &c, RankedTensorType shape,
                           Type indexType) {
  auto type = RankedTensorType::get(shape.getShape(), indexType);
  auto generate = tensor::GenerateOp::create(
      c.b, type, ValueRange(),
      [&](OpBuilder &builder, Location loc, ValueRange index) {
        Value number =
            arith::IndexCastOp::create(builder, loc, indexType, index.back());
        tensor::YieldOp::create(builder, loc, number);
      });
  return generate.getResult();
}

/// Whether the results are the first elements of the operand along its last
/// dimension, so many in each.
static bool areFirst(InstructionOp op, ArrayRef<Type> types) {
  if (op.getOperands().size() != 1)
    return false;
  RankedTensorType array = getArrayType(op.getOperand(0));
  return array.getRank() != 0 && llvm::all_of(types, [&](Type type) {
           auto tensor = cast<RankedTensorType>(type);
           return tensor.hasStaticShape() &&
                  tensor.getRank() == array.getRank() &&
                  tensor.getShape().drop_back() ==
                      array.getShape().drop_back() &&
                  tensor.getShape().back() <= array.getShape().back();
         });
}

/// The first elements of an order, and their indices.
static LogicalResult convertFirst(HLOConverter &c, InstructionOp op,
                                  ComesBefore comesBefore) {
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  if (c.isScalar() || types.size() != 2 || !areFirst(op, types) ||
      !cast<RankedTensorType>(types[1]).getElementType().isInteger())
    return emitUnsupported(
        op, "operands", "an array, and its first elements and their numbers");
  Value array = c.getLeaves(op.getOperand(0)).front();
  Value numbers =
      createNumbers(c, getArrayType(array),
                    cast<RankedTensorType>(types[1]).getElementType());
  Elements results = emitSorted(c, {array, numbers},
                                getArrayType(array).getRank() - 1, comesBefore);
  if (failed(results))
    return failure();
  for (auto [result, type] : llvm::zip(*results, types))
    result = takeFirst(c, result, cast<RankedTensorType>(type));
  c.setLeaves(op.getResult(), *results);
  return success();
}

/// The custom call, which has a computation that compares.
static LogicalResult convertTopKCall(HLOConverter &c, InstructionOp op) {
  func::FuncOp comparator = c.getCalledComputation(op);
  if (!comparator)
    return failure();
  // Some take the indices, too.
  size_t numCompared = comparator.getNumArguments() == 4 ? 2 : 1;
  return convertFirst(c, op, [&](ValueRange lhs, ValueRange rhs) {
    return applyComparator(c, comparator, lhs.take_front(numCompared),
                           rhs.take_front(numCompared));
  });
}

/// The opcode: numbers by their total order.
static LogicalResult convertTopK(HLOConverter &c, InstructionOp op) {
  Type type = getArrayType(op.getOperand(0)).getElementType();
  if (!isa<IntegerType, FloatType>(type))
    return emitUnsupported(op, "element type", "one that has an order");
  bool isLargest = getText(op, "largest") != "false";
  auto predicate = isUnsigned(op.getOperand(0)) && isa<IntegerType>(type)
                       ? arith::CmpIPredicate::ult
                       : arith::CmpIPredicate::slt;
  return convertFirst(
      c, op, [&](ValueRange lhs, ValueRange rhs) -> FailureOr<Value> {
        Value left = lhs.front(), right = rhs.front();
        if (isa<FloatType>(left.getType())) {
          left = toTotalOrder(c.b, left);
          right = toTotalOrder(c.b, right);
        }
        if (isLargest)
          std::swap(left, right);
        return arith::CmpIOp::create(c.b, predicate, left, right).getResult();
      });
}

/// The largest integers, the largest first.
static LogicalResult convertLargest(HLOConverter &c, InstructionOp op) {
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  if (c.isScalar() || types.size() != 1 || !areFirst(op, types) ||
      !isa<IntegerType>(cast<RankedTensorType>(types[0]).getElementType()))
    return emitUnsupported(op, "operands", "an array of integers");
  auto predicate = isUnsigned(op.getOperand(0)) ? arith::CmpIPredicate::ugt
                                                : arith::CmpIPredicate::sgt;
  Value array = c.getLeaves(op.getOperand(0)).front();
  Elements sorted = emitSorted(
      c, {array}, getArrayType(array).getRank() - 1,
      [&](ValueRange lhs, ValueRange rhs) -> FailureOr<Value> {
        return Value(arith::CmpIOp::create(c.b, predicate, lhs[0], rhs[0]));
      });
  if (failed(sorted))
    return failure();
  c.setLeaves(op.getResult(),
              takeFirst(c, sorted->front(), cast<RankedTensorType>(types[0])));
  return success();
}

void hlo::populateSortConversions(InstructionConversions &conversions) {
  llvm::StringMap<ConvertInstruction> &table = conversions.instructions;
  table["sort"] = convertSort;
  table["topk"] = convertTopK;
  table["custom-call:TopK"] = convertTopKCall;
  table["custom-call:TopKBatchMajorSmallK"] = convertLargest;
}
