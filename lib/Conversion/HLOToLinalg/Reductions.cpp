//===- Reductions.cpp - Opcodes that apply a computation over and over ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

namespace {
/// The computation of a reduction, on numbers that are wide enough to add up.
class Reducer {
public:
  /// Operands are arrays, then as many initial values.
  static FailureOr<Reducer> get(HLOConverter &c, InstructionOp op);

  size_t size() { return op.getOperands().size() / 2; }
  SmallVector<Value> getInit() { return getElements(size(), ValueRange()); }
  /// What has been accumulated, and the elements at an index.
  Elements accumulate(ValueRange values, ValueRange index);
  /// The results, as narrow as they are.
  SmallVector<Value> finish(ValueRange values);

private:
  Reducer(HLOConverter &c, InstructionOp op, func::FuncOp computation)
      : c(c), op(op), computation(computation) {}
  SmallVector<Value> getElements(size_t first, ValueRange index);

  HLOConverter &c;
  InstructionOp op;
  func::FuncOp computation;
};
} // namespace

FailureOr<Reducer> Reducer::get(HLOConverter &c, InstructionOp op) {
  size_t count = op.getOperands().size() / 2;
  func::FuncOp computation = c.getComputation(op, "to_apply");
  if (!computation)
    return failure();
  auto getRank = [](Value value) { return getArrayType(value).getRank(); };
  bool isRight = count != 0 && op.getOperands().size() == 2 * count &&
                 getLeafTypes(op.getType()).size() == count;
  for (size_t i = 0; isRight && i < count; ++i)
    isRight = getRank(op.getOperand(i)) == getRank(op.getOperand(0)) &&
              getRank(op.getOperand(count + i)) == 0;
  if (!isRight)
    return emitUnsupported(op, "operands",
                           "arrays and as many scalars, a result for each");
  return Reducer(c, op, computation);
}

SmallVector<Value> Reducer::getElements(size_t first, ValueRange index) {
  SmallVector<Value> elements;
  for (size_t i = 0; i < size(); ++i) {
    Value element = c.getElement(op, first + i, index);
    Type wide = getAccumulatorType(element.getType());
    if (wide != element.getType())
      element = convertScalar(c.b, element, false, wide, false);
    elements.push_back(element);
  }
  return elements;
}

Elements Reducer::accumulate(ValueRange values, ValueRange index) {
  SmallVector<Value> arguments(values);
  llvm::append_range(arguments, getElements(0, index));
  llvm::SaveAndRestore widen(c.widen, true);
  Elements results = c.apply(computation, arguments);
  if (succeeded(results) &&
      TypeRange(ValueRange(*results)) != values.getTypes())
    return emitUnsupported(op, "computation", "results of the operands' types");
  if (succeeded(results))
    for (auto [sum, value] : llvm::zip(*results, values))
      allowReassociation(sum, value);
  return results;
}

SmallVector<Value> Reducer::finish(ValueRange values) {
  SmallVector<Value> results;
  for (auto [value, type] : llvm::zip(values, getLeafTypes(op.getType()))) {
    Type narrow = getSignlessType(type.getElementType());
    results.push_back(convertScalar(c.b, value, false, narrow, false));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

static Elements emitReduce(HLOConverter &c, InstructionOp op,
                           ValueRange index) {
  FailureOr<Reducer> reducer = Reducer::get(c, op);
  if (failed(reducer))
    return failure();
  SmallVector<int64_t> dimensions = getIntegers(op, "dimensions");
  RankedTensorType array = getArrayType(op.getOperand(0));
  if (failed(checkDimensions(op, dimensions, array.getRank())))
    return failure();
  auto isReduced = [&](int64_t dim) {
    return llvm::is_contained(dimensions, dim);
  };
  auto order = llvm::filter_to_vector(getMajorToMinor(array), isReduced);
  if (order.size() != dimensions.size() ||
      order.size() + index.size() != static_cast<size_t>(array.getRank()))
    return emitUnsupported(op, "dimensions", "those that the result lacks");
  auto sizes = llvm::map_to_vector(
      order, [&](int64_t dim) { return array.getDimSize(dim); });
  Elements values =
      buildLoops(c.b, sizes, reducer->getInit(),
                 [&](ValueRange reduced, ValueRange values) -> Elements {
                   SmallVector<Value> source(array.getRank());
                   for (auto [dim, value] : llvm::zip(order, reduced))
                     source[dim] = value;
                   for (int64_t dim = 0, kept = 0; dim < array.getRank(); ++dim)
                     if (!isReduced(dim))
                       source[dim] = index[kept++];
                   return reducer->accumulate(values, source);
                 });
  if (failed(values))
    return failure();
  return reducer->finish(*values);
}

/// Whether neighbours in memory belong to different results: these are added
/// up side by side then.
static bool isAlongMinor(InstructionOp op) {
  auto array = op.getOperands().empty()
                   ? RankedTensorType()
                   : dyn_cast<RankedTensorType>(op.getOperand(0).getType());
  SmallVector<RankedTensorType> results = getLeafTypes(op.getType());
  if (!array || !array.hasStaticShape() || results.empty() ||
      results.front().getRank() == 0 || array.getNumElements() == 0)
    return false;
  return !llvm::is_contained(getIntegers(op, "dimensions"),
                             getMajorToMinor(array).back());
}

static LogicalResult convertReduce(HLOConverter &c, InstructionOp op) {
  FailureOr<Reducer> reducer = Reducer::get(c, op);
  if (failed(reducer))
    return failure();
  SmallVector<int64_t> dimensions = getIntegers(op, "dimensions");
  RankedTensorType array = getArrayType(op.getOperand(0));
  if (failed(checkDimensions(op, dimensions, array.getRank())))
    return failure();
  // The dimensions of the iteration: those that are kept come first.
  SmallVector<int64_t> order, number(array.getRank()), sizes;
  for (bool isReduced : {false, true})
    for (int64_t dim = 0; dim < array.getRank(); ++dim)
      if (llvm::is_contained(dimensions, dim) == isReduced) {
        number[dim] = sizes.size();
        sizes.push_back(array.getDimSize(dim));
      }
  for (RankedTensorType result : getLeafTypes(op.getType()))
    if (result.getShape() !=
        ArrayRef(sizes).drop_back(std::min(dimensions.size(), sizes.size())))
      return emitUnsupported(op, "dimensions", "those that the result lacks");
  for (int64_t dim : getMajorToMinor(array))
    order.push_back(number[dim]);
  return c.accumulate(op, sizes, order, order.back(), reducer->getInit(),
                      [&](ValueRange index, ValueRange values) {
                        SmallVector<Value> source;
                        for (int64_t dim : number)
                          source.push_back(index[dim]);
                        return reducer->accumulate(values, source);
                      });
}

//===----------------------------------------------------------------------===//
// reduce-window
//===----------------------------------------------------------------------===//

Value HLOConverter::getWindowIndex(const WindowDimension &window, Value output,
                                   Value element, int64_t inputSize,
                                   int64_t outputSize, Value &isElement) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  auto require = [&](arith::CmpIPredicate predicate, Value lhs, int64_t rhs) {
    Value holds = arith::CmpIOp::create(b, predicate, lhs, constantIndex(rhs));
    isElement =
        isElement ? Value(arith::AndIOp::create(b, isElement, holds)) : holds;
  };
  Value position =
      affine(d0 * window.stride + d1 * window.windowDilation - window.low,
             {output, element});
  // What lies beyond is known where strides are.
  int64_t last = (outputSize - 1) * window.stride +
                 (window.size - 1) * window.windowDilation - window.low;
  int64_t span = inputSize == 0 ? 0 : (inputSize - 1) * window.baseDilation + 1;
  if (window.low > 0)
    require(arith::CmpIPredicate::sge, position, 0);
  if (last >= span)
    require(arith::CmpIPredicate::slt, position, span);
  if (window.baseDilation == 1)
    return position;
  require(arith::CmpIPredicate::eq, affine(d0 % window.baseDilation, position),
          0);
  return affine(d0.floorDiv(window.baseDilation), position);
}

static Elements emitReduceWindow(HLOConverter &c, InstructionOp op,
                                 ValueRange index) {
  FailureOr<Reducer> reducer = Reducer::get(c, op);
  RankedTensorType array = getArrayType(op.getOperand(0));
  auto window = getWindow(op, array.getRank());
  if (failed(reducer) || failed(window))
    return failure();
  RankedTensorType result = getLeafTypes(op.getType()).front();
  if (result.getRank() != array.getRank())
    return emitUnsupported(op, "shape", "the operand's rank");
  SmallVector<int64_t> sizes;
  for (const WindowDimension &dimension : *window)
    sizes.push_back(dimension.size);
  Elements values = buildLoops(
      c.b, sizes, reducer->getInit(),
      [&](ValueRange element, ValueRange values) -> Elements {
        SmallVector<Value> source;
        Value isElement;
        for (auto [dim, dimension] : llvm::enumerate(*window))
          source.push_back(c.getWindowIndex(dimension, index[dim], element[dim],
                                            array.getDimSize(dim),
                                            result.getDimSize(dim), isElement));
        auto accumulate = [&] { return reducer->accumulate(values, source); };
        if (!isElement)
          return accumulate();
        return buildIf(c.b, isElement, accumulate, [&]() -> Elements {
          return SmallVector<Value>(values);
        });
      });
  if (failed(values))
    return failure();
  return reducer->finish(*values);
}

void hlo::populateReductionConversions(InstructionConversions &conversions) {
  conversions.elements["reduce"] = emitReduce;
  conversions.elements["reduce-window"] = emitReduceWindow;
  conversions.reads["reduce"] = [](InstructionOp op, unsigned operand) {
    return operand < op.getOperands().size() / 2 ? Reads::Once : Reads::Often;
  };
  conversions.nests["reduce"] = {isAlongMinor, convertReduce};
  conversions.reads["reduce-window"] = readAll(Reads::Often);
}
