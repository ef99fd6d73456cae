//===- Memory.cpp - Views, loads, stores, copies, semaphores --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One core runs one operation after the other: a copy is done when it starts,
// which a kernel that waits for it cannot tell. Dynamic offsets are clamped, as
// those of HLO's slices are, so that no kernel leaves its arrays.
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::mosaic;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The groups of operands that `operandSegmentSizes` tells, `count` of them at
/// least; nothing where it does not fit the operands.
static std::optional<SmallVector<OperandRange>> getSegments(Operation *op,
                                                            unsigned count) {
  auto sizes = mosaic::getIntegers(op->getAttr("operandSegmentSizes"));
  if (!sizes)
    return std::nullopt;
  SmallVector<OperandRange> segments;
  int64_t first = 0, numOperands = op->getNumOperands();
  for (int64_t size : *sizes) {
    if (size < 0 || size > numOperands - first)
      return std::nullopt;
    segments.push_back(op->getOperands().slice(first, size));
    first += size;
  }
  if (first != numOperands)
    return std::nullopt;
  while (segments.size() < count)
    segments.push_back(op->getOperands().slice(numOperands, 0));
  return segments;
}

static bool isIntegerLike(Value value) {
  return value.getType().isIntOrIndex();
}

/// Whether an operation of `tpu`, which nothing has verified, accesses `memref`
/// at these indices with a vector of this type.
static bool isAccess(Value memref, ValueRange indices, Type type) {
  auto memory = dyn_cast<MemRefType>(memref.getType());
  auto vector = dyn_cast<VectorType>(type);
  return memory && vector && !vector.isScalable() &&
         static_cast<int64_t>(indices.size()) == memory.getRank() &&
         vector.getRank() <= memory.getRank() &&
         vector.getElementType() == memory.getElementType() &&
         llvm::all_of(indices, isIntegerLike);
}

//===----------------------------------------------------------------------===//
// Parts of arrays
//===----------------------------------------------------------------------===//

namespace {
/// A slice of an array, by its dimensions.
struct Slice {
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

/// `index` where `count` elements at distance `stride` from there on are within
/// `size`; the nearest such index elsewhere.
static FailureOr<Value> clampIndex(KernelConverter &c, Operation *op,
                                   Value index, int64_t size, int64_t count,
                                   int64_t stride) {
  std::optional<int64_t> reach = llvm::checkedMul(count - 1, stride);
  int64_t limit = reach ? size - *reach - 1 : -1;
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant))) {
    int64_t number = constant.getSExtValue();
    if (number < 0 || number > limit)
      return c.unsupported(op, "parts of the array",
                           Twine(count) + " elements from " + Twine(number) +
                               " on of " + Twine(size));
    return index;
  }
  if (limit < 0)
    return c.unsupported(op, "parts of the array",
                         Twine(count) + " elements of " + Twine(size));
  return c.clamp(index, c.constantIndex(limit));
}

/// The part of a memref that begins at `indices` and has `sizes`.
static FailureOr<Slice> getSlice(KernelConverter &c, Operation *op,
                                 const View &view, ValueRange indices,
                                 ArrayRef<int64_t> sizes,
                                 ArrayRef<int64_t> strides) {
  Slice slice;
  slice.offsets = getAsOpFoldResult(view.offsets);
  slice.sizes.assign(view.offsets.size(), c.b.getIndexAttr(1));
  slice.strides.assign(view.offsets.size(), c.b.getIndexAttr(1));
  for (auto [dim, value, size, stride] :
       llvm::zip_equal(view.dims, indices, sizes, strides)) {
    FailureOr<Value> index =
        clampIndex(c, op, c.getIndex(value), view.sizes[dim], size, stride);
    if (failed(index))
      return failure();
    Value offset = arith::AddIOp::create(c.b, view.offsets[dim], *index);
    slice.offsets[dim] = getAsOpFoldResult(offset);
    slice.sizes[dim] = c.b.getIndexAttr(size);
    slice.strides[dim] = c.b.getIndexAttr(stride);
  }
  return slice;
}

/// Of a vector: the dimensions that it lacks have size 1.
static FailureOr<Slice> getVectorSlice(KernelConverter &c, Operation *op,
                                       const View &view, ValueRange indices,
                                       VectorType type,
                                       ArrayRef<int64_t> strides) {
  SmallVector<int64_t> sizes(view.dims.size() - type.getRank(), 1);
  llvm::append_range(sizes, type.getShape());
  SmallVector<int64_t> steps(strides);
  steps.resize(sizes.size(), 1);
  if (llvm::any_of(steps, [](int64_t step) { return step < 1; }))
    return c.unsupported(op, "strides from 1 on", "others");
  return getSlice(c, op, view, indices, sizes, steps);
}

static Value readSlice(KernelConverter &c, unsigned array, const Slice &slice,
                       RankedTensorType type) {
  return tensor::ExtractSliceOp::create(
      c.b, type, c.getArray(array), slice.offsets, slice.sizes, slice.strides);
}

static void writeSlice(KernelConverter &c, unsigned array, const Slice &slice,
                       Value value) {
  c.setArray(array, tensor::InsertSliceOp::create(c.b, value, c.getArray(array),
                                                  slice.offsets, slice.sizes,
                                                  slice.strides));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult convertMemRefSlice(KernelConverter &c, Operation *op) {
  auto segments = getSegments(op, 3);
  auto result = op->getNumResults() == 1
                    ? dyn_cast<MemRefType>(op->getResult(0).getType())
                    : MemRefType();
  if (!segments || (*segments)[0].size() != 1 || !result ||
      !isa<MemRefType>((*segments)[0][0].getType()))
    return c.unsupported(op, "a memref and offsets", "other operands");
  View view = *c.getView((*segments)[0][0]);
  OperandRange offsets = (*segments)[1];
  if (!result.hasStaticShape() || !(*segments)[2].empty())
    return c.unsupported(op, "static sizes", debugString(result));
  if (result.getElementType() !=
      getElementTypeOrSelf((*segments)[0][0].getType()))
    return c.unsupported(op, "elements of the memref", debugString(result));
  if (offsets.size() != view.dims.size() ||
      result.getRank() != static_cast<int64_t>(view.dims.size()) ||
      !llvm::all_of(offsets, isIntegerLike))
    return c.unsupported(op, "an offset for each dimension",
                         debugString(result));
  for (auto [dim, value, size] :
       llvm::zip(view.dims, offsets, result.getShape())) {
    FailureOr<Value> offset = clampIndex(c, op, c.getIndex(value),
                                         view.sizes[dim], size, /*stride=*/1);
    if (failed(offset))
      return failure();
    view.offsets[dim] = arith::AddIOp::create(c.b, view.offsets[dim], *offset);
    view.sizes[dim] = size;
  }
  c.setView(op->getResult(0), std::move(view));
  return success();
}

/// The types of the operand and the result, if the operation has one of each
/// and both are memrefs of static shape and one element type.
static std::optional<std::pair<MemRefType, MemRefType>>
getViewTypes(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return std::nullopt;
  auto from = dyn_cast<MemRefType>(op->getOperand(0).getType());
  auto to = dyn_cast<MemRefType>(op->getResult(0).getType());
  if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape() ||
      from.getElementType() != to.getElementType())
    return std::nullopt;
  return std::pair(from, to);
}

static LogicalResult convertMemRefSqueeze(KernelConverter &c, Operation *op) {
  auto types = getViewTypes(op);
  auto dropped = types ? computeRankReductionMask(types->first.getShape(),
                                                  types->second.getShape())
                       : std::nullopt;
  if (!dropped)
    return c.unsupported(op, "a memref without some dimensions of size 1",
                         "another");
  View view = *c.getView(op->getOperand(0));
  SmallVector<unsigned> dims;
  for (auto [position, dim] : llvm::enumerate(view.dims))
    if (!dropped->contains(position))
      dims.push_back(dim);
  view.dims = std::move(dims);
  c.setView(op->getResult(0), std::move(view));
  return success();
}

/// What gives the same elements another type.
static LogicalResult convertSameView(KernelConverter &c, Operation *op) {
  auto types = getViewTypes(op);
  if (!types || types->first.getShape() != types->second.getShape())
    return c.unsupported(op, "a memref of the same shape and elements",
                         "another");
  c.setView(op->getResult(0), *c.getView(op->getOperand(0)));
  return success();
}

/// Memory of the kernel itself.
static LogicalResult convertAllocation(KernelConverter &c, Operation *op) {
  auto type = op->getNumResults() == 1
                  ? dyn_cast<MemRefType>(op->getResult(0).getType())
                  : MemRefType();
  if (!type || !type.hasStaticShape())
    return c.unsupported(op, "memory of static shape", "others");
  c.setWholeView(op->getResult(0), c.addArray(c.createMemory(type)));
  return success();
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static LogicalResult load(KernelConverter &c, Operation *op, Value memref,
                          ValueRange indices, ArrayRef<int64_t> strides) {
  Value result = op->getResult(0);
  if (!isAccess(memref, indices, result.getType()))
    return c.unsupported(op, "a vector of a memref's elements",
                         debugString(result.getType()));
  const View &view = *c.getView(memref);
  FailureOr<Slice> slice = getVectorSlice(
      c, op, view, indices, cast<VectorType>(result.getType()), strides);
  if (failed(slice))
    return failure();
  auto type = cast<RankedTensorType>(c.convertType(result.getType()));
  c.set(result, readSlice(c, view.array, *slice, type));
  return success();
}

/// The sum of what is there and what is added.
static Value addValues(KernelConverter &c, Value left, Value right) {
  if (isa<FloatType>(getElementTypeOrSelf(left.getType())))
    return arith::AddFOp::create(c.b, left, right);
  return arith::AddIOp::create(c.b, left, right);
}

/// `mask` may be null.
static LogicalResult store(KernelConverter &c, Operation *op, Value value,
                           Value memref, ValueRange indices,
                           ArrayRef<int64_t> strides, Value mask) {
  if (!isAccess(memref, indices, value.getType()))
    return c.unsupported(op, "a vector of a memref's elements",
                         debugString(value.getType()));
  auto vector = cast<VectorType>(value.getType());
  const View &view = *c.getView(memref);
  FailureOr<Slice> slice =
      getVectorSlice(c, op, view, indices, vector, strides);
  if (failed(slice))
    return failure();
  auto type = cast<RankedTensorType>(c.convertType(vector));
  Value stored = c.get(value);
  auto add = op->getAttrOfType<BoolAttr>("add");
  bool isAdded = add && add.getValue();
  if (mask && mask.getType() != vector.clone(c.b.getI1Type()))
    return c.unsupported(op, "a mask of the vector's shape",
                         debugString(mask.getType()));
  if (isAdded || mask) {
    Value old = readSlice(c, view.array, *slice, type);
    if (isAdded)
      stored = addValues(c, old, stored);
    if (mask)
      stored = arith::SelectOp::create(c.b, c.get(mask), stored, old);
  }
  writeSlice(c, view.array, *slice, stored);
  return success();
}

/// The elements of attribute `strides`; none where there is none.
static SmallVector<int64_t> getStrides(Operation *op) {
  return mosaic::getIntegers(op->getAttr("strides"))
      .value_or(SmallVector<int64_t>());
}

/// `vector.load`, which upstream has verified.
static LogicalResult convertLoad(KernelConverter &c, Operation *op) {
  auto loadOp = cast<vector::LoadOp>(op);
  return load(c, op, loadOp.getBase(), loadOp.getIndices(), {});
}

static LogicalResult convertStore(KernelConverter &c, Operation *op) {
  auto storeOp = cast<vector::StoreOp>(op);
  return store(c, op, storeOp.getValueToStore(), storeOp.getBase(),
               storeOp.getIndices(), {}, Value());
}

/// `tpu.vector_load`: memref, indices, mask.
static LogicalResult convertVectorLoad(KernelConverter &c, Operation *op) {
  auto segments = getSegments(op, 3);
  if (!segments || (*segments)[0].size() != 1 || op->getNumResults() != 1 ||
      !(*segments)[2].empty())
    return c.unsupported(op, "a memref and indices, without a mask",
                         "other operands");
  return load(c, op, (*segments)[0][0], (*segments)[1], getStrides(op));
}

/// `tpu.strided_load`: memref and indices.
static LogicalResult convertStridedLoad(KernelConverter &c, Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return c.unsupported(op, "a memref and indices", "other operands");
  return load(c, op, op->getOperand(0), op->getOperands().drop_front(),
              getStrides(op));
}

/// `tpu.vector_store`: vector, memref, indices, mask.
static LogicalResult convertVectorStore(KernelConverter &c, Operation *op) {
  auto segments = getSegments(op, 4);
  if (!segments || (*segments)[0].size() != 1 || (*segments)[1].size() != 1 ||
      (*segments)[3].size() > 1)
    return c.unsupported(op, "a vector, a memref, indices and a mask",
                         "other operands");
  Value mask = (*segments)[3].empty() ? Value() : (*segments)[3][0];
  return store(c, op, (*segments)[0][0], (*segments)[1][0], (*segments)[2],
               getStrides(op), mask);
}

/// `tpu.strided_store`: vector, memref and indices.
static LogicalResult convertStridedStore(KernelConverter &c, Operation *op) {
  if (op->getNumOperands() < 2)
    return c.unsupported(op, "a vector, a memref and indices",
                         "other operands");
  return store(c, op, op->getOperand(0), op->getOperand(1),
               op->getOperands().drop_front(2), getStrides(op), Value());
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Where in the array the number is.
static FailureOr<SmallVector<Value>> getPosition(KernelConverter &c,
                                                 Operation *op,
                                                 const View &view,
                                                 ValueRange indices) {
  SmallVector<int64_t> ones(indices.size(), 1);
  FailureOr<Slice> slice = getSlice(c, op, view, indices, ones, ones);
  if (failed(slice))
    return failure();
  return getValueOrCreateConstantIndexOp(c.b, c.b.getLoc(), slice->offsets);
}

static LogicalResult convertNumberLoad(KernelConverter &c, Operation *op) {
  auto loadOp = cast<memref::LoadOp>(op);
  const View &view = *c.getView(loadOp.getMemref());
  auto position = getPosition(c, op, view, loadOp.getIndices());
  if (failed(position))
    return failure();
  c.set(loadOp.getResult(),
        tensor::ExtractOp::create(c.b, c.getArray(view.array), *position));
  return success();
}

static LogicalResult convertNumberStore(KernelConverter &c, Operation *op) {
  auto storeOp = cast<memref::StoreOp>(op);
  const View &view = *c.getView(storeOp.getMemref());
  auto position = getPosition(c, op, view, storeOp.getIndices());
  if (failed(position))
    return failure();
  c.setArray(view.array,
             tensor::InsertOp::create(c.b, c.get(storeOp.getValue()),
                                      c.getArray(view.array), *position));
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// The operands of `tpu.enqueue_dma`.
struct Copy {
  Value source, target;
  bool isRemote = false;
};
} // namespace

static std::optional<Copy> getCopy(Operation *op) {
  // Before version 2: source, target, semaphore.
  if (!op->hasAttr("operandSegmentSizes") && op->getNumOperands() == 3)
    return Copy{op->getOperand(0), op->getOperand(1)};
  // Source, its semaphore, target, its semaphore, device, core, subcore.
  auto segments = getSegments(op, 7);
  if (!segments || (*segments)[0].size() != 1 || (*segments)[2].size() != 1)
    return std::nullopt;
  bool isRemote =
      llvm::any_of(ArrayRef(*segments).drop_front(4),
                   [](OperandRange range) { return !range.empty(); });
  return Copy{(*segments)[0][0], (*segments)[2][0], isRemote};
}

static Value getCopyTarget(Operation *op) {
  std::optional<Copy> copy = getCopy(op);
  return copy ? copy->target : Value();
}

/// All of a memref.
static Slice getWholeSlice(KernelConverter &c, const View &view) {
  Slice slice;
  slice.offsets = getAsOpFoldResult(view.offsets);
  slice.sizes.assign(view.offsets.size(), c.b.getIndexAttr(1));
  slice.strides.assign(view.offsets.size(), c.b.getIndexAttr(1));
  for (unsigned dim : view.dims)
    slice.sizes[dim] = c.b.getIndexAttr(view.sizes[dim]);
  return slice;
}

static LogicalResult convertCopy(KernelConverter &c, Operation *op) {
  std::optional<Copy> copy = getCopy(op);
  if (!copy)
    return c.unsupported(op, "a source and a target", "other operands");
  if (copy->isRemote)
    return c.unsupported(op, "a copy within one core",
                         "one to another device or core");
  auto from = dyn_cast<MemRefType>(copy->source.getType());
  auto to = dyn_cast<MemRefType>(copy->target.getType());
  if (!from || !to || !from.hasStaticShape() ||
      from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return c.unsupported(op, "memrefs of one static shape and element type",
                         debugString(copy->source.getType()) + " to " +
                             debugString(copy->target.getType()));
  const View &source = *c.getView(copy->source);
  const View &target = *c.getView(copy->target);
  auto array = cast<RankedTensorType>(c.getArray(source.array).getType());
  auto type = RankedTensorType::get(from.getShape(), array.getElementType());
  Value part = readSlice(c, source.array, getWholeSlice(c, source), type);
  writeSlice(c, target.array, getWholeSlice(c, target), part);
  return success();
}

/// What has nothing to do where copies are done when they start.
static LogicalResult convertNothing(KernelConverter &, Operation *) {
  return success();
}

//===----------------------------------------------------------------------===//
// Semaphores
//===----------------------------------------------------------------------===//

/// The number of a semaphore, which a memref without dimensions is.
static std::optional<SmallVector<Value>> getSemaphore(KernelConverter &c,
                                                      Operation *op) {
  const View *view =
      op->getNumOperands() > 0 ? c.getView(op->getOperand(0)) : nullptr;
  if (!view || !view->dims.empty() ||
      !getElementTypeOrSelf(c.getArray(view->array).getType()).isInteger(32))
    return std::nullopt;
  return view->offsets;
}

/// Signals add to the number, waits take from it: what they wait for is there.
template <typename Op>
static LogicalResult convertSignal(KernelConverter &c, Operation *op) {
  auto position = getSemaphore(c, op);
  if (!position || op->getNumOperands() != 2 ||
      !op->getOperand(1).getType().isInteger(32))
    return c.unsupported(op, "a semaphore of this core and a number",
                         "other operands");
  unsigned array = c.getView(op->getOperand(0))->array;
  Value old = tensor::ExtractOp::create(c.b, c.getArray(array), *position);
  Value number = Op::create(c.b, old, c.get(op->getOperand(1)));
  c.setArray(array, tensor::InsertOp::create(c.b, number, c.getArray(array),
                                             *position));
  return success();
}

static LogicalResult convertSemaphoreRead(KernelConverter &c, Operation *op) {
  auto position = getSemaphore(c, op);
  bool isNumber =
      op->getNumResults() == 1 && op->getResult(0).getType().isInteger(32);
  if (!position || !isNumber ||
      debugString(op->getOperand(0).getType()).find("dma") != std::string::npos)
    return c.unsupported(op, "a semaphore that is signalled", "another");
  unsigned array = c.getView(op->getOperand(0))->array;
  c.set(op->getResult(0),
        tensor::ExtractOp::create(c.b, c.getArray(array), *position));
  return success();
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

void mosaic::populateMemoryConversions(KernelConversions &conversions) {
  llvm::StringMap<ConvertOp> &table = conversions.operations;
  table["tpu.memref_slice"] = convertMemRefSlice;
  table["tpu.memref_squeeze"] = convertMemRefSqueeze;
  for (StringRef name :
       {"tpu.erase_memref_layout", "tpu.reinterpret_cast", "memref.cast"})
    table[name] = convertSameView;
  for (const auto &entry : table)
    conversions.views.insert(entry.getKey());
  table["memref.alloca"] = convertAllocation;
  table["tpu.sem_alloc"] = convertAllocation;
  table["vector.load"] = convertLoad;
  table["vector.store"] = convertStore;
  table["tpu.vector_load"] = convertVectorLoad;
  table["tpu.vector_store"] = convertVectorStore;
  table["tpu.strided_load"] = convertStridedLoad;
  table["tpu.strided_store"] = convertStridedStore;
  table["memref.load"] = convertNumberLoad;
  table["memref.store"] = convertNumberStore;
  table["tpu.enqueue_dma"] = convertCopy;
  for (StringRef name : {"tpu.wait_dma", "tpu.wait_dma2", "tpu.trace_start",
                         "tpu.trace_stop", "tpu.trace_value", "tpu.delay"})
    table[name] = convertNothing;
  table["tpu.sem_signal"] = convertSignal<arith::AddIOp>;
  table["tpu.sem_wait"] = convertSignal<arith::SubIOp>;
  table["tpu.sem_read"] = convertSemaphoreRead;

  auto getOperand = [](unsigned number) {
    return [number](Operation *op) {
      return number < op->getNumOperands() ? op->getOperand(number) : Value();
    };
  };
  for (StringRef name : {"vector.store", "tpu.vector_store",
                         "tpu.strided_store", "memref.store"})
    conversions.written[name] = getOperand(1);
  for (StringRef name : {"tpu.sem_signal", "tpu.sem_wait"})
    conversions.written[name] = getOperand(0);
  conversions.written["tpu.enqueue_dma"] = getCopyTarget;
}
