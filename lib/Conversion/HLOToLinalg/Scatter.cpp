//===- Scatter.cpp - scatter and select-and-scatter -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both go through the updates one after the other, as several may meet in one
// element of the result.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

static SmallVector<Value> insertAll(HLOConverter &c, ValueRange elements,
                                    ValueRange arrays, ValueRange index) {
  SmallVector<Value> results;
  for (auto [element, array] : llvm::zip(elements, arrays))
    results.push_back(tensor::InsertOp::create(c.b, element, array, index));
  return results;
}

static SmallVector<Value> extractAll(HLOConverter &c, ValueRange arrays,
                                     ValueRange index) {
  SmallVector<Value> elements;
  for (Value array : arrays)
    elements.push_back(tensor::ExtractOp::create(c.b, array, index));
  return elements;
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

namespace {
/// Operands are arrays, indices, and as many arrays of updates.
struct Scatter {
  SmallVector<int64_t> window, inserted, indexMap;
  SmallVector<int64_t> operandBatch, indicesBatch;
  int64_t vector;
  size_t count;
  RankedTensorType operand, indices, updates;
};
} // namespace

/// Whether an update has dimensions for all that the operand and indices have.
static bool isConsistent(const Scatter &s) {
  int64_t rank = s.operand.getRank(), indicesRank = s.indices.getRank();
  int64_t vectorSize =
      s.vector < indicesRank ? s.indices.getDimSize(s.vector) : 1;
  int64_t numBatch = indicesRank - (s.vector < indicesRank);
  int64_t numWindow = s.window.size();
  return int64_t(s.indexMap.size()) == vectorSize &&
         s.updates.getRank() == numBatch + numWindow &&
         numWindow + int64_t(s.inserted.size() + s.operandBatch.size()) ==
             rank &&
         s.operandBatch.size() == s.indicesBatch.size() &&
         !llvm::is_contained(s.indicesBatch, s.vector) &&
         s.indices.getElementType().isInteger() && s.updates.hasStaticShape();
}

static FailureOr<Scatter> getScatter(InstructionOp op) {
  size_t count = op.getOperands().size() / 2;
  if (op.getOperands().size() != 2 * count + 1 || count == 0 ||
      getLeafTypes(op.getType()).size() != count)
    return emitUnsupported(op, "operands", "arrays, indices and updates");
  Scatter s{getIntegers(op, "update_window_dims"),
            getIntegers(op, "inserted_window_dims"),
            getIntegers(op, "scatter_dims_to_operand_dims"),
            getIntegers(op, "input_batching_dims"),
            getIntegers(op, "scatter_indices_batching_dims"),
            getInteger(op, "index_vector_dim", -1),
            count,
            getArrayType(op.getOperand(0)),
            getArrayType(op.getOperand(count)),
            getArrayType(op.getOperand(count + 1))};
  int64_t rank = s.operand.getRank(), indicesRank = s.indices.getRank();
  if (failed(checkDimensions(op, s.window, s.updates.getRank())) ||
      failed(checkDimensions(op, s.inserted, rank)) ||
      failed(checkDimensions(op, s.indexMap, rank)) ||
      failed(checkDimensions(op, s.operandBatch, rank)) ||
      failed(checkDimensions(op, s.indicesBatch, indicesRank)) ||
      failed(checkDimensions(op, s.vector, indicesRank + 1)))
    return failure();
  if (!isConsistent(s))
    return emitUnsupported(op, "dimensions", "ones that fit the operands");
  return s;
}

/// The index of the operand's element that an update changes; `isWithin` says
/// whether the whole window of the update lies in the operand.
static SmallVector<Value> getTarget(HLOConverter &c, InstructionOp op,
                                    const Scatter &s, ValueRange index,
                                    Value &isWithin) {
  SmallVector<Value> place, target(s.operand.getRank());
  SmallVector<int64_t> sizes(s.operand.getRank(), 1);
  size_t next = 0;
  for (size_t dim = 0; dim < index.size(); ++dim)
    if (!llvm::is_contained(s.window, dim))
      place.push_back(index[dim]);
  for (int64_t dim = 0; dim < s.operand.getRank(); ++dim) {
    target[dim] = c.constantIndex(0);
    if (llvm::is_contained(s.inserted, dim) ||
        llvm::is_contained(s.operandBatch, dim))
      continue;
    sizes[dim] = s.updates.getDimSize(s.window[next]);
    target[dim] = index[s.window[next++]];
  }
  if (s.vector < s.indices.getRank())
    place.insert(place.begin() + s.vector, Value());
  Value indices = op.getOperand(s.count);
  for (auto [number, dim] : llvm::enumerate(s.indexMap)) {
    if (s.vector < s.indices.getRank())
      place[s.vector] = c.constantIndex(number);
    Value start = c.getElement(indices, place);
    int64_t limit = s.operand.getDimSize(dim) - sizes[dim];
    // In bounds is what clamping leaves as it is.
    Value clamped =
        c.clampIndex(start, isUnsigned(indices), std::max<int64_t>(limit, 0));
    Type wide = c.b.getI64Type();
    Value exact = start;
    if (start.getType().getIntOrFloatBitWidth() < 64)
      exact = isUnsigned(indices)
                  ? Value(arith::ExtUIOp::create(c.b, wide, start))
                  : Value(arith::ExtSIOp::create(c.b, wide, start));
    Value same =
        arith::CmpIOp::create(c.b, arith::CmpIPredicate::eq, exact,
                              arith::IndexCastOp::create(c.b, wide, clamped));
    if (limit < 0)
      same = arith::ConstantOp::create(c.b, c.b.getBoolAttr(false));
    isWithin =
        isWithin ? Value(arith::AndIOp::create(c.b, isWithin, same)) : same;
    target[dim] = arith::AddIOp::create(c.b, target[dim], clamped);
  }
  for (auto [operandDim, indicesDim] :
       llvm::zip(s.operandBatch, s.indicesBatch))
    target[operandDim] = place[indicesDim];
  return target;
}

static LogicalResult convertScatter(HLOConverter &c, InstructionOp op) {
  FailureOr<Scatter> s = getScatter(op);
  func::FuncOp computation = c.getComputation(op, "to_apply");
  if (failed(s) || !computation)
    return failure();
  if (c.isScalar())
    return emitUnsupported(op, "place", "one outside of reductions",
                           "one in a computation on scalars");
  SmallVector<Value> arrays, updates;
  SmallVector<RankedTensorType> types = getLeafTypes(op.getType());
  for (size_t i = 0; i < s->count; ++i) {
    arrays.push_back(c.relayout(c.getLeaves(op.getOperand(i)).front(),
                                getSignlessType(types[i])));
    updates.push_back(c.getLeaves(op.getOperand(s->count + 1 + i)).front());
  }
  Elements results = buildTensorLoops(
      c.b, s->updates.getShape(), arrays,
      [&](ValueRange index, ValueRange values) -> Elements {
        Value isWithin;
        SmallVector<Value> target = getTarget(c, op, *s, index, isWithin);
        auto update = [&]() -> Elements {
          SmallVector<Value> arguments = extractAll(c, values, target);
          llvm::append_range(arguments, extractAll(c, updates, index));
          Elements elements = c.apply(computation, arguments);
          if (failed(elements))
            return failure();
          if (elements->size() != s->count)
            return emitUnsupported(op, "computation", "a result for each array",
                                   Twine(elements->size()));
          return insertAll(c, *elements, values, target);
        };
        if (!isWithin)
          return update();
        return buildIf(c.b, isWithin, update, [&]() -> Elements {
          return SmallVector<Value>(values);
        });
      });
  if (failed(results))
    return failure();
  c.setLeaves(op.getResult(), *results);
  return success();
}

//===----------------------------------------------------------------------===//
// select-and-scatter
//===----------------------------------------------------------------------===//

/// The index of the element that `select` finds in a window.
static Elements emitSelected(HLOConverter &c, InstructionOp op,
                             func::FuncOp select,
                             ArrayRef<WindowDimension> window,
                             ValueRange index) {
  RankedTensorType array = getArrayType(op.getOperand(0));
  RankedTensorType source = getArrayType(op.getOperand(1));
  SmallVector<int64_t> sizes;
  for (const WindowDimension &dimension : window)
    sizes.push_back(dimension.size);
  SmallVector<Value> start(array.getRank(), c.constantIndex(0));
  start.push_back(arith::ConstantOp::create(c.b, c.b.getBoolAttr(false)));
  return buildLoops(
      c.b, sizes, start, [&](ValueRange element, ValueRange found) -> Elements {
        SmallVector<Value> place;
        Value isElement;
        for (auto [dim, dimension] : llvm::enumerate(window))
          place.push_back(c.getWindowIndex(dimension, index[dim], element[dim],
                                           array.getDimSize(dim),
                                           source.getDimSize(dim), isElement));
        auto keep = [&]() -> Elements { return SmallVector<Value>(found); };
        auto take = [&]() -> Elements {
          SmallVector<Value> taken(place);
          taken.push_back(
              arith::ConstantOp::create(c.b, c.b.getBoolAttr(true)));
          return taken;
        };
        auto choose = [&]() -> Elements {
          Value first = c.getElement(op, 0, found.drop_back());
          Value second = c.getElement(op, 0, place);
          Elements keeps = c.apply(select, {first, second});
          if (failed(keeps))
            return failure();
          if (keeps->size() != 1 || !keeps->front().getType().isInteger(1))
            return emitUnsupported(op, "select", "a pred");
          return buildIf(c.b, keeps->front(), keep, take);
        };
        auto visit = [&] { return buildIf(c.b, found.back(), choose, take); };
        return isElement ? buildIf(c.b, isElement, visit, keep) : visit();
      });
}

static LogicalResult convertSelectAndScatter(HLOConverter &c,
                                             InstructionOp op) {
  func::FuncOp select = c.getComputation(op, "select");
  func::FuncOp scatter = c.getComputation(op, "scatter");
  if (!select || !scatter)
    return failure();
  if (c.isScalar())
    return emitUnsupported(op, "place", "one outside of reductions",
                           "one in a computation on scalars");
  RankedTensorType array = getArrayType(op.getOperand(0));
  RankedTensorType source = getArrayType(op.getOperand(1));
  auto window = getWindow(op, array.getRank());
  if (failed(window))
    return failure();
  if (source.getRank() != array.getRank() || !source.hasStaticShape() ||
      getArrayType(op.getResult()).getShape() != array.getShape())
    return emitUnsupported(op, "shapes", "arrays of one rank");
  Type type = getSignlessType(op.getType());
  Value init = c.getElement(op, 2, ValueRange());
  Value empty = EmptyOp::create(c.b, type, ValueRange());
  Value filled = linalg::FillOp::create(c.b, init, empty).getResult(0);
  Elements results = buildTensorLoops(
      c.b, source.getShape(), filled,
      [&](ValueRange index, ValueRange values) -> Elements {
        Elements selected = emitSelected(c, op, select, *window, index);
        if (failed(selected))
          return failure();
        ValueRange place = ValueRange(*selected).drop_back();
        auto update = [&]() -> Elements {
          SmallVector<Value> arguments = extractAll(c, values, place);
          arguments.push_back(c.getElement(op, 1, index));
          Elements elements = c.apply(scatter, arguments);
          if (failed(elements))
            return failure();
          return insertAll(c, *elements, values, place);
        };
        return buildIf(c.b, selected->back(), update, [&]() -> Elements {
          return SmallVector<Value>(values);
        });
      });
  if (failed(results))
    return failure();
  c.setLeaves(op.getResult(), *results);
  return success();
}

void hlo::populateScatterConversions(InstructionConversions &conversions) {
  conversions.instructions["scatter"] = convertScatter;
  conversions.instructions["select-and-scatter"] = convertSelectAndScatter;
}
