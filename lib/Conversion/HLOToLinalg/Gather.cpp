//===- Gather.cpp - gather ------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

namespace {
/// Which dimensions of operand, indices and result belong together.
struct GatherDimensions {
  SmallVector<int64_t> offsets, collapsed, startMap, sliceSizes;
  SmallVector<int64_t> operandBatch, indicesBatch;
  int64_t vector;
};
} // namespace

static FailureOr<GatherDimensions> getDimensions(InstructionOp op) {
  GatherDimensions d{getIntegers(op, "offset_dims"),
                     getIntegers(op, "collapsed_slice_dims"),
                     getIntegers(op, "start_index_map"),
                     getIntegers(op, "slice_sizes"),
                     getIntegers(op, "operand_batching_dims"),
                     getIntegers(op, "start_indices_batching_dims"),
                     getInteger(op, "index_vector_dim", -1)};
  RankedTensorType operand = getArrayType(op.getOperand(0));
  RankedTensorType indices = getArrayType(op.getOperand(1));
  int64_t rank = operand.getRank(), indicesRank = indices.getRank();
  int64_t resultRank = getArrayType(op.getResult()).getRank();
  if (failed(checkDimensions(op, d.offsets, resultRank)) ||
      failed(checkDimensions(op, d.collapsed, rank)) ||
      failed(checkDimensions(op, d.startMap, rank)) ||
      failed(checkDimensions(op, d.operandBatch, rank)) ||
      failed(checkDimensions(op, d.indicesBatch, indicesRank)) ||
      failed(checkDimensions(op, d.vector, indicesRank + 1)))
    return failure();
  int64_t numBatch = indicesRank - (d.vector < indicesRank);
  int64_t vectorSize =
      d.vector < indicesRank ? indices.getDimSize(d.vector) : 1;
  bool isConsistent =
      static_cast<int64_t>(d.sliceSizes.size()) == rank &&
      static_cast<int64_t>(d.startMap.size()) == vectorSize &&
      resultRank == numBatch + static_cast<int64_t>(d.offsets.size()) &&
      d.offsets.size() + d.collapsed.size() + d.operandBatch.size() ==
          d.sliceSizes.size() &&
      d.operandBatch.size() == d.indicesBatch.size() &&
      !llvm::is_contained(d.indicesBatch, d.vector) &&
      indices.getElementType().isInteger();
  for (int64_t dim = 0; isConsistent && dim < rank; ++dim)
    isConsistent = d.sliceSizes[dim] <= operand.getDimSize(dim);
  if (!isConsistent)
    return emitUnsupported(op, "dimensions", "ones that fit the operands");
  return d;
}

/// The index of an array of indices: the batch index with a dimension more for
/// the elements of the vector.
static SmallVector<Value> insertVector(ArrayRef<Value> batch, int64_t vector,
                                       int64_t rank, Value element) {
  SmallVector<Value> index(batch);
  if (vector < rank)
    index.insert(index.begin() + vector, element);
  return index;
}

static Elements emitGather(HLOConverter &c, InstructionOp op,
                           ValueRange index) {
  FailureOr<GatherDimensions> d = getDimensions(op);
  if (failed(d))
    return failure();
  SmallVector<Value> batch, offsets;
  for (size_t dim = 0; dim < index.size(); ++dim)
    (llvm::is_contained(d->offsets, dim) ? offsets : batch)
        .push_back(index[dim]);

  RankedTensorType operand = getArrayType(op.getOperand(0));
  Value indices = op.getOperand(1);
  int64_t indicesRank = getArrayType(indices).getRank();
  SmallVector<Value> source(operand.getRank());
  size_t next = 0;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    bool isWindow = !llvm::is_contained(d->collapsed, dim) &&
                    !llvm::is_contained(d->operandBatch, dim);
    source[dim] = isWindow ? offsets[next++] : c.constantIndex(0);
  }
  for (auto [number, dim] : llvm::enumerate(d->startMap)) {
    Value element =
        c.getElement(indices, insertVector(batch, d->vector, indicesRank,
                                           c.constantIndex(number)));
    Value start = c.clampIndex(element, isUnsigned(indices),
                               operand.getDimSize(dim) - d->sliceSizes[dim]);
    source[dim] = arith::AddIOp::create(c.b, source[dim], start);
  }
  SmallVector<Value> place =
      insertVector(batch, d->vector, indicesRank, c.constantIndex(0));
  for (auto [operandDim, indicesDim] :
       llvm::zip(d->operandBatch, d->indicesBatch))
    source[operandDim] = place[indicesDim];
  return SmallVector<Value>{c.getElement(op, 0, source)};
}

void hlo::populateGatherConversions(InstructionConversions &conversions) {
  conversions.elements["gather"] = emitGather;
  conversions.reads["gather"] = readAll(Reads::Often);
}
