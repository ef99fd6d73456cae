//===- Sort.cpp - sort and the largest elements ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element goes where as many elements are in front of it as there are ones
// that come before it: smaller ones, and equal ones with a smaller index. That
// takes quadratic time, and is stable.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

namespace {
/// Arrays that are sorted together along a dimension.
struct Sort {
  SmallVector<Value> arrays; ///< Of HLO.
  int64_t dimension;
  func::FuncOp comparator;
  /// Where the comparator takes the indices, too: their type.
  Type indexType = {};

  RankedTensorType type() const { return getArrayType(arrays.front()); }
};
} // namespace

/// Whether the elements at one index come before those at another.
static Elements comesBefore(HLOConverter &c, const Sort &sort, ValueRange lhs,
                            ValueRange rhs) {
  SmallVector<Value> arguments;
  for (Value array : sort.arrays) {
    arguments.push_back(c.getElement(array, lhs));
    arguments.push_back(c.getElement(array, rhs));
  }
  if (sort.indexType)
    for (ValueRange index : {lhs, rhs})
      arguments.push_back(arith::IndexCastOp::create(c.b, sort.indexType,
                                                     index[sort.dimension]));
  Elements result = c.apply(sort.comparator, arguments);
  if (failed(result) ||
      (result->size() == 1 && result->front().getType().isInteger(1)))
    return result;
  func::FuncOp comparator = sort.comparator;
  return emitError(comparator.getLoc())
         << "unsupported comparator: expected one that gives a pred, found "
         << comparator.getFunctionType() << "; docs/running.md has what runs";
}

/// How many elements come before that at `index`.
static Elements emitRank(HLOConverter &c, const Sort &sort, ValueRange index) {
  int64_t size = sort.type().getDimSize(sort.dimension);
  return buildLoops(
      c.b, size, c.constantIndex(0),
      [&](ValueRange other, ValueRange rank) -> Elements {
        SmallVector<Value> place(index);
        place[sort.dimension] = other[0];
        Elements isSmaller = comesBefore(c, sort, place, index);
        Elements isLarger = comesBefore(c, sort, index, place);
        if (failed(isSmaller) || failed(isLarger))
          return failure();
        Value isInFront = arith::CmpIOp::create(
            c.b, arith::CmpIPredicate::ult, other[0], index[sort.dimension]);
        Value isFirst = arith::SelectOp::create(
            c.b, isLarger->front(),
            arith::ConstantOp::create(c.b, c.b.getBoolAttr(false)), isInFront);
        Value counts = arith::OrIOp::create(c.b, isSmaller->front(), isFirst);
        Value one =
            arith::IndexCastUIOp::create(c.b, c.b.getIndexType(), counts);
        return SmallVector<Value>{arith::AddIOp::create(c.b, rank[0], one)};
      });
}

/// What an element of the input is in each result.
using GetElements = llvm::function_ref<SmallVector<Value>(ValueRange index)>;

/// Results along whose dimension the first elements of the order lie.
static Elements emitSorted(HLOConverter &c, const Sort &sort,
                           ArrayRef<Type> types, GetElements getElements) {
  SmallVector<Value> inits;
  for (Type type : types)
    inits.push_back(EmptyOp::create(c.b, type, ValueRange()));
  int64_t size =
      cast<RankedTensorType>(types.front()).getDimSize(sort.dimension);
  return buildTensorLoops(
      c.b, sort.type().getShape(), inits,
      [&](ValueRange index, ValueRange values) -> Elements {
        Elements rank = emitRank(c, sort, index);
        if (failed(rank))
          return failure();
        SmallVector<Value> place(index);
        place[sort.dimension] = rank->front();
        auto insert = [&]() -> Elements {
          SmallVector<Value> results;
          for (auto [element, array] : llvm::zip(getElements(index), values))
            results.push_back(
                tensor::InsertOp::create(c.b, element, array, place));
          return results;
        };
        Value isKept =
            arith::CmpIOp::create(c.b, arith::CmpIPredicate::ult, rank->front(),
                                  c.constantIndex(size));
        return buildIf(c.b, isKept, insert, [&]() -> Elements {
          return SmallVector<Value>(values);
        });
      });
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
  Sort sort{SmallVector<Value>(op.getOperands()), 0, comparator};
  bool isRight = dimensions.size() == 1 && types.size() == sort.arrays.size();
  for (size_t i = 0; isRight && i < types.size(); ++i)
    isRight =
        getArrayType(sort.arrays[i]).getShape() == sort.type().getShape() &&
        cast<RankedTensorType>(types[i]).getShape() == sort.type().getShape();
  if (!isRight || !sort.type().hasStaticShape())
    return emitUnsupported(op, "operands", "arrays of one shape");
  if (failed(checkDimensions(op, dimensions, sort.type().getRank())))
    return failure();
  sort.dimension = dimensions.front();
  Elements results = emitSorted(c, sort, types, [&](ValueRange index) {
    SmallVector<Value> elements;
    for (Value array : sort.arrays)
      elements.push_back(c.getElement(array, index));
    return elements;
  });
  if (failed(results))
    return failure();
  c.setLeaves(op.getResult(), *results);
  return success();
}

LogicalResult hlo::convertTopK(HLOConverter &c, InstructionOp op) {
  DictionaryAttr attributes = op.getHloAttributesAttr();
  auto names = attributes ? attributes.getAs<ArrayAttr>("called_computations")
                          : ArrayAttr();
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  if (c.isScalar() || !names || names.size() != 1 || types.size() != 2 ||
      op.getOperands().size() != 1)
    return emitUnsupported(op, "operands", "an array and a computation");
  func::FuncOp comparator =
      c.getComputation(op, cast<FlatSymbolRefAttr>(names[0]));
  if (!comparator)
    return failure();
  Sort sort{{op.getOperand(0)}, 0, comparator};
  sort.dimension = sort.type().getRank() - 1;
  auto hasRank = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.hasStaticShape() && tensor.getRank() == sort.type().getRank();
  };
  if (!llvm::all_of(types, hasRank) || sort.dimension < 0 ||
      !cast<RankedTensorType>(types[1]).getElementType().isInteger())
    return emitUnsupported(op, "operands", "an array and a comparator");
  Type indexType = cast<RankedTensorType>(types[1]).getElementType();
  if (comparator.getNumArguments() == 4)
    sort.indexType = indexType;
  Elements results = emitSorted(c, sort, types, [&](ValueRange index) {
    Value number =
        arith::IndexCastOp::create(c.b, indexType, index[sort.dimension]);
    return SmallVector<Value>{c.getElement(op, 0, index), number};
  });
  if (failed(results))
    return failure();
  c.setLeaves(op.getResult(), *results);
  return success();
}

void hlo::populateSortConversions(InstructionConversions &conversions) {
  conversions.instructions["sort"] = convertSort;
}
