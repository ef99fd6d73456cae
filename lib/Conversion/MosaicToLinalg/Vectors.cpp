//===- Vectors.cpp - Moves and functions of vectors -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::mosaic;

/// The tensor that the result, or an operand, becomes; null unless it is a
/// vector with dimensions.
static RankedTensorType getTensorType(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector || vector.isScalable() || vector.getRank() == 0)
    return {};
  return cast<RankedTensorType>(KernelConverter::convertType(vector));
}

/// Whether an operation of `tpu`, which nothing has verified, has one result,
/// and all operands and the result are vectors.
static bool hasVectors(Operation *op, unsigned numOperands) {
  return op->getNumOperands() == numOperands && op->getNumResults() == 1 &&
         getTensorType(op->getResult(0)) &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           return getTensorType(operand) != nullptr;
         });
}

/// A tensor each element of which `emit` makes at its index.
static Value generate(KernelConverter &c, RankedTensorType type,
                      function_ref<Value(ValueRange index)> emit) {
  int64_t rank = type.getRank();
  Value empty = c.createEmpty(type);
  SmallVector<AffineMap> maps{c.b.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      c.b, type, ValueRange(), empty, maps, iterators,
      [&](OpBuilder &builder, Location, ValueRange) {
        OpBuilder::InsertionGuard guard(c.b);
        c.b.restoreInsertionPoint(builder.saveInsertionPoint());
        SmallVector<Value> index;
        for (int64_t dim = 0; dim < rank; ++dim)
          index.push_back(linalg::IndexOp::create(c.b, dim));
        linalg::YieldOp::create(c.b, emit(index));
      });
  return generic.getResult(0);
}

/// A tensor whose element at an index is that of `source` at what `map` makes
/// of the index.
static Value createMove(KernelConverter &c, RankedTensorType type, Value source,
                        AffineMap map) {
  SmallVector<AffineMap> maps{map, c.b.getMultiDimIdentityMap(type.getRank())};
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      c.b, type, source, c.createEmpty(type), maps, iterators,
      [](OpBuilder &builder, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(builder, loc, arguments[0]);
      });
  return generic.getResult(0);
}

//===----------------------------------------------------------------------===//
// Constants, broadcasts, shapes
//===----------------------------------------------------------------------===//

static LogicalResult convertConstant(KernelConverter &c, Operation *op) {
  auto constant = cast<arith::ConstantOp>(op);
  TypedAttr value = constant.getValue();
  Type type = c.convertType(constant.getType());
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    value = dense.reshape(cast<ShapedType>(type));
  else if (isa<ShapedType>(type))
    return c.unsupported(op, "dense elements", debugString(value));
  c.set(constant, arith::ConstantOp::create(c.b, value));
  return success();
}

static LogicalResult convertBroadcast(KernelConverter &c, Operation *op) {
  auto broadcast = cast<vector::BroadcastOp>(op);
  auto type = cast<RankedTensorType>(c.convertType(broadcast.getType()));
  Value source = c.get(broadcast.getSource());
  auto from = dyn_cast<RankedTensorType>(source.getType());
  if (!from) {
    c.set(
        broadcast,
        linalg::FillOp::create(c.b, source, c.createEmpty(type)).getResult(0));
    return success();
  }
  // Dimensions of the source are the last ones; those of size 1 repeat.
  SmallVector<AffineExpr> index;
  int64_t first = type.getRank() - from.getRank();
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    index.push_back(from.getDimSize(dim) == 1
                        ? c.b.getAffineConstantExpr(0)
                        : c.b.getAffineDimExpr(first + dim));
  AffineMap map = AffineMap::get(type.getRank(), 0, index, c.b.getContext());
  c.set(broadcast, createMove(c, type, source, map));
  return success();
}

/// The same elements in row-major order.
static Value reshape(KernelConverter &c, Value source, RankedTensorType type) {
  auto from = cast<RankedTensorType>(source.getType());
  if (from == type)
    return source;
  bool expands = from.getRank() < type.getRank();
  auto groups = expands ? getReassociationIndicesForReshape(type, from)
                        : getReassociationIndicesForReshape(from, type);
  if (groups && from.getRank() != type.getRank())
    return expands ? Value(tensor::ExpandShapeOp::create(c.b, type, source,
                                                         *groups))
                   : Value(tensor::CollapseShapeOp::create(c.b, type, source,
                                                           *groups));
  // By way of one dimension.
  auto flat =
      RankedTensorType::get({from.getNumElements()}, from.getElementType());
  return reshape(c, reshape(c, source, flat), type);
}

static LogicalResult convertReshape(KernelConverter &c, Operation *op) {
  RankedTensorType to =
      hasVectors(op, 1) ? getTensorType(op->getResult(0)) : RankedTensorType();
  RankedTensorType from = to ? getTensorType(op->getOperand(0)) : to;
  if (!to || from.getNumElements() != to.getNumElements() ||
      from.getElementType() != to.getElementType())
    return c.unsupported(op, "vectors of as many elements", "others");
  c.set(op->getResult(0), reshape(c, c.get(op->getOperand(0)), to));
  return success();
}

/// `permutation` has the dimension of the operand for each one of the result.
static LogicalResult convertTranspose(KernelConverter &c, Operation *op) {
  auto permutation = mosaic::getIntegers(op->getAttr("permutation"));
  if (!permutation || !hasVectors(op, 1) ||
      !isPermutationVector(*permutation) ||
      getTensorType(op->getOperand(0)).getRank() !=
          static_cast<int64_t>(permutation->size()))
    return c.unsupported(op, "a permutation of the dimensions", "another");
  RankedTensorType type = getTensorType(op->getResult(0));
  SmallVector<int64_t> shape = applyPermutation(
      getTensorType(op->getOperand(0)).getShape(), *permutation);
  if (type.getShape() != ArrayRef(shape))
    return c.unsupported(op, "a result of the permuted shape", "another");
  AffineMap map = AffineMap::getPermutationMap(*permutation, c.b.getContext());
  c.set(op->getResult(0),
        createMove(c, type, c.get(op->getOperand(0)), inversePermutation(map)));
  return success();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static SmallVector<OpFoldResult> getIndexAttrs(KernelConverter &c,
                                               ArrayRef<int64_t> numbers) {
  return getAsIndexOpFoldResult(c.b.getContext(), numbers);
}

static LogicalResult convertExtractStridedSlice(KernelConverter &c,
                                                Operation *op) {
  auto slice = cast<vector::ExtractStridedSliceOp>(op);
  auto type = cast<RankedTensorType>(c.convertType(slice.getType()));
  auto offsets = mosaic::getIntegers(slice.getOffsets());
  auto strides = mosaic::getIntegers(slice.getStrides());
  // Dimensions behind those that are written are whole.
  offsets->resize(type.getRank(), 0);
  strides->resize(type.getRank(), 1);
  c.set(slice,
        tensor::ExtractSliceOp::create(
            c.b, type, c.get(slice.getSource()), getIndexAttrs(c, *offsets),
            getIndexAttrs(c, type.getShape()), getIndexAttrs(c, *strides)));
  return success();
}

/// A part, or an element, at a static position.
static LogicalResult convertExtract(KernelConverter &c, Operation *op) {
  auto extract = cast<vector::ExtractOp>(op);
  ArrayRef<int64_t> position = extract.getStaticPosition();
  auto from = getTensorType(extract.getSource());
  if (extract.hasDynamicPosition() || !from ||
      llvm::any_of(position, [](int64_t number) { return number < 0; }))
    return c.unsupported(op, "a static position", "a dynamic one");
  Value source = c.get(extract.getSource());
  SmallVector<int64_t> offsets(position), sizes(position.size(), 1);
  if (!isa<VectorType>(extract.getType())) {
    SmallVector<Value> index = llvm::map_to_vector(
        position, [&](int64_t number) { return c.constantIndex(number); });
    c.set(extract, tensor::ExtractOp::create(c.b, source, index));
    return success();
  }
  llvm::append_range(sizes, from.getShape().drop_front(position.size()));
  offsets.resize(sizes.size(), 0);
  SmallVector<int64_t> strides(sizes.size(), 1);
  c.set(extract,
        tensor::ExtractSliceOp::create(
            c.b, cast<RankedTensorType>(c.convertType(extract.getType())),
            source, getIndexAttrs(c, offsets), getIndexAttrs(c, sizes),
            getIndexAttrs(c, strides)));
  return success();
}

/// `sources` one behind the other along a dimension.
static Value concatenate(KernelConverter &c, RankedTensorType type,
                         ArrayRef<Value> sources, int64_t dimension) {
  Value result = c.createEmpty(type);
  SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1);
  for (Value source : sources) {
    auto part = cast<RankedTensorType>(source.getType());
    result = tensor::InsertSliceOp::create(
        c.b, source, result, getIndexAttrs(c, offsets),
        getIndexAttrs(c, part.getShape()), getIndexAttrs(c, strides));
    offsets[dimension] += part.getDimSize(dimension);
  }
  return result;
}

/// Whether tensors of `types`, one behind the other, are one of type `whole`.
static bool areParts(ArrayRef<RankedTensorType> types, RankedTensorType whole,
                     int64_t dimension) {
  if (dimension < 0 || dimension >= whole.getRank())
    return false;
  int64_t sum = 0;
  for (RankedTensorType type : types) {
    if (type.getRank() != whole.getRank() ||
        type.getElementType() != whole.getElementType())
      return false;
    SmallVector<int64_t> shape(type.getShape());
    sum += shape[dimension];
    shape[dimension] = whole.getDimSize(dimension);
    if (ArrayRef(shape) != whole.getShape())
      return false;
  }
  return sum == whole.getDimSize(dimension);
}

static LogicalResult convertConcatenate(KernelConverter &c, Operation *op) {
  int64_t dimension = getInteger(op, "dimension", -1);
  auto getTypes = [&] {
    return llvm::map_to_vector(op->getOperands(), getTensorType);
  };
  if (!hasVectors(op, op->getNumOperands()) ||
      !areParts(getTypes(), getTensorType(op->getResult(0)), dimension))
    return c.unsupported(op, "vectors that are parts of the result", "others");
  c.set(op->getResult(0), concatenate(c, getTensorType(op->getResult(0)),
                                      c.get(op->getOperands()), dimension));
  return success();
}

/// A vector so often in a row is one with one more dimension, collapsed.
static LogicalResult convertRepeat(KernelConverter &c, Operation *op) {
  int64_t dimension = getInteger(op, "dimension", -1);
  int64_t times = getInteger(op, "times", -1);
  RankedTensorType from =
      hasVectors(op, 1) ? getTensorType(op->getOperand(0)) : RankedTensorType();
  bool fits = from && dimension >= 0 && dimension < from.getRank() &&
              times > 0 && times <= std::numeric_limits<int32_t>::max();
  SmallVector<int64_t> shape(fits ? from.getShape() : ArrayRef<int64_t>());
  if (fits && llvm::MulOverflow(shape[dimension], times, shape[dimension]))
    fits = false;
  RankedTensorType type = fits ? from.clone(shape) : RankedTensorType();
  if (!fits || type != getTensorType(op->getResult(0)))
    return c.unsupported(op, "a vector that repeats in the result", "another");
  shape.assign(from.getShape().begin(), from.getShape().end());
  shape.insert(shape.begin() + dimension, times);
  SmallVector<AffineExpr> index;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    index.push_back(c.b.getAffineDimExpr(dim < dimension ? dim : dim + 1));
  AffineMap map = AffineMap::get(shape.size(), 0, index, c.b.getContext());
  Value moved = createMove(c, from.clone(shape), c.get(op->getOperand(0)), map);
  c.set(op->getResult(0), reshape(c, moved, type));
  return success();
}

//===----------------------------------------------------------------------===//
// Elements at computed indices
//===----------------------------------------------------------------------===//

/// The remainder of `number` by `size`, from 0 on.
static Value wrap(KernelConverter &c, Value number, int64_t size) {
  Value limit = c.constantIndex(size);
  Value rest = arith::RemSIOp::create(c.b, number, limit);
  Value isNegative = arith::CmpIOp::create(c.b, arith::CmpIPredicate::slt, rest,
                                           c.constantIndex(0));
  return arith::SelectOp::create(c.b, isNegative,
                                 arith::AddIOp::create(c.b, rest, limit), rest);
}

/// Along `dimension`, what is at i goes to i + amount, and around the end. Rows
/// of `stride_dimension` go `stride` more each.
static LogicalResult rotate(KernelConverter &c, Operation *op, Value amount) {
  RankedTensorType type = getTensorType(op->getResult(0));
  int64_t dimension = getInteger(op, "dimension", -1);
  int64_t stride = getInteger(op, "stride", 0);
  int64_t strideDimension = getInteger(op, "stride_dimension", -1);
  bool hasStride = op->hasAttr("stride") || op->hasAttr("stride_dimension");
  auto isDimension = [&](int64_t number) {
    return number >= 0 && number < type.getRank();
  };
  if (!type || type != getTensorType(op->getOperand(0)) ||
      !isDimension(dimension) || (hasStride && !isDimension(strideDimension)))
    return c.unsupported(op, "a vector and one of its dimensions", "others");
  int64_t size = type.getDimSize(dimension);
  Value source = c.get(op->getOperand(0));
  Value back =
      arith::SubIOp::create(c.b, c.constantIndex(0), wrap(c, amount, size));
  c.set(op->getResult(0), generate(c, type, [&](ValueRange index) -> Value {
          SmallVector<Value> from(index);
          Value moved = arith::AddIOp::create(c.b, index[dimension], back);
          if (hasStride)
            moved = arith::SubIOp::create(
                c.b, moved,
                arith::MulIOp::create(c.b, index[strideDimension],
                                      c.constantIndex(stride % size)));
          from[dimension] = wrap(c, moved, size);
          return tensor::ExtractOp::create(c.b, source, from);
        }));
  return success();
}

static LogicalResult convertDynamicRotate(KernelConverter &c, Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      !op->getOperand(1).getType().isIntOrIndex())
    return c.unsupported(op, "a vector and an amount", "others");
  return rotate(c, op, c.getIndex(op->getOperand(1)));
}

static LogicalResult convertRotate(KernelConverter &c, Operation *op) {
  if (!hasVectors(op, 1) || !op->hasAttr("amount"))
    return c.unsupported(op, "a vector and an amount", "others");
  return rotate(c, op, c.constantIndex(getInteger(op, "amount", 0)));
}

/// The index of a vector of `dimensions` collapsed, the first one most major.
static LogicalResult convertIota(KernelConverter &c, Operation *op) {
  auto dimensions = mosaic::getIntegers(op->getAttr("dimensions"));
  // One, before version 6.
  if (!dimensions)
    dimensions = {getInteger(op, "dimension", -1)};
  RankedTensorType type =
      hasVectors(op, 0) ? getTensorType(op->getResult(0)) : RankedTensorType();
  bool isKnown = type && type.getElementType().isIntOrIndex() &&
                 llvm::all_of(*dimensions, [&](int64_t dimension) {
                   return dimension >= 0 && dimension < type.getRank();
                 });
  if (!isKnown)
    return c.unsupported(op, "integers along dimensions of the vector",
                         "others");
  c.set(op->getResult(0), generate(c, type, [&](ValueRange index) -> Value {
          Value number = c.constantIndex(0);
          for (int64_t dimension : *dimensions)
            number = arith::AddIOp::create(
                c.b,
                arith::MulIOp::create(
                    c.b, number, c.constantIndex(type.getDimSize(dimension))),
                index[dimension]);
          if (isa<IndexType>(type.getElementType()))
            return number;
          return arith::IndexCastOp::create(c.b, type.getElementType(), number);
        }));
  return success();
}

/// Elements at indices along one dimension, modulo its size.
static LogicalResult convertDynamicGather(KernelConverter &c, Operation *op) {
  auto dimensions = mosaic::getIntegers(op->getAttr("dimensions"));
  if (!dimensions)
    dimensions = {getInteger(op, "dimension", -1)};
  RankedTensorType type =
      hasVectors(op, 2) ? getTensorType(op->getResult(0)) : RankedTensorType();
  auto isShaped = [&](Value operand) {
    return getTensorType(operand).getShape() == type.getShape();
  };
  bool isKnown = type && dimensions->size() == 1 &&
                 llvm::all_of(op->getOperands(), isShaped) &&
                 dimensions->front() >= 0 &&
                 dimensions->front() < type.getRank() &&
                 getTensorType(op->getOperand(0)) == type &&
                 getElementTypeOrSelf(op->getOperand(1)).isInteger();
  if (!isKnown)
    return c.unsupported(
        op, "a vector and as many indices along one of its dimensions",
        "others");
  Value source = c.get(op->getOperand(0)), indices = c.get(op->getOperand(1));
  int64_t dimension = dimensions->front();
  c.set(op->getResult(0), generate(c, type, [&](ValueRange index) -> Value {
          SmallVector<Value> from(index);
          Value number = tensor::ExtractOp::create(c.b, indices, index);
          number = arith::IndexCastOp::create(c.b, c.b.getIndexType(), number);
          from[dimension] = wrap(c, number, type.getDimSize(dimension));
          return tensor::ExtractOp::create(c.b, source, from);
        }));
  return success();
}

//===----------------------------------------------------------------------===//
// Functions of elements
//===----------------------------------------------------------------------===//

static Value createSplat(KernelConverter &c, Type type, const APFloat &value) {
  auto tensor = cast<RankedTensorType>(type);
  return arith::ConstantOp::create(c.b, DenseElementsAttr::get(tensor, value));
}

static Value createOne(KernelConverter &c, Type type) {
  auto number = cast<FloatType>(getElementTypeOrSelf(type));
  return createSplat(c, type, APFloat(number.getFloatSemantics(), 1));
}

/// Whether the operation takes and gives vectors of one floating-point type.
static bool isFloatFunction(Operation *op) {
  return hasVectors(op, 1) &&
         op->getOperand(0).getType() == op->getResult(0).getType() &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0)));
}

/// Approximations are exact here.
static LogicalResult convertReciprocal(KernelConverter &c, Operation *op) {
  if (!isFloatFunction(op))
    return c.unsupported(op, "floating-point numbers", "others");
  Value operand = c.get(op->getOperand(0));
  Value one = createOne(c, operand.getType());
  c.set(op->getResult(0), arith::DivFOp::create(c.b, one, operand));
  return success();
}

/// Widened where upstream's exponential is to be one of f32.
static LogicalResult convertLogistic(KernelConverter &c, Operation *op) {
  if (!isFloatFunction(op))
    return c.unsupported(op, "floating-point numbers", "others");
  Value operand = c.get(op->getOperand(0));
  Type type = operand.getType();
  auto wide = cast<RankedTensorType>(type).clone(c.b.getF32Type());
  bool isNarrow = getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32;
  if (isNarrow)
    operand = arith::ExtFOp::create(c.b, wide, operand);
  Value one = createOne(c, operand.getType());
  Value power = math::ExpOp::create(c.b, arith::NegFOp::create(c.b, operand));
  Value result =
      arith::DivFOp::create(c.b, one, arith::AddFOp::create(c.b, one, power));
  if (isNarrow)
    result = arith::TruncFOp::create(c.b, type, result);
  c.set(op->getResult(0), result);
  return success();
}

/// Whether the operation rounds to the nearest number, of which `tpu` has the
/// even one.
static bool isRoundedToNearest(Operation *op) {
  Attribute mode = op->getAttr("rounding_mode");
  auto opaque = dyn_cast_or_null<OpaqueAttr>(mode);
  return !mode ||
         (opaque && opaque.getAttrData() == "rounding_mode<to_nearest_even>");
}

/// Conversions that Mosaic makes of upstream's: the same operation.
template <typename Op, bool isFromFloat, bool isToFloat>
static LogicalResult convertCast(KernelConverter &c, Operation *op) {
  auto isKind = [](Value value, bool isFloat) {
    Type type = getElementTypeOrSelf(value.getType());
    return isFloat ? isa<FloatType>(type) : type.isInteger();
  };
  bool fits = op->getNumOperands() == 1 && op->getNumResults() == 1 &&
              isKind(op->getOperand(0), isFromFloat) &&
              isKind(op->getResult(0), isToFloat);
  Type type = fits ? c.convertType(op->getResult(0).getType()) : Type();
  Value operand = fits ? c.get(op->getOperand(0)) : Value();
  if (!fits || !Op::areCastCompatible(operand.getType(), type))
    return c.unsupported(op, "numbers that can be converted", "others");
  if (!isRoundedToNearest(op))
    return c.unsupported(op, "to_nearest_even as rounding_mode",
                         debugString(op->getAttr("rounding_mode")));
  c.set(op->getResult(0), Op::create(c.b, type, operand));
  return success();
}

/// Whether a number is infinite or none.
static LogicalResult convertWeird(KernelConverter &c, Operation *op) {
  bool fits = hasVectors(op, 1) &&
              isa<FloatType>(getElementTypeOrSelf(op->getOperand(0))) &&
              getTensorType(op->getResult(0)) ==
                  getTensorType(op->getOperand(0)).clone(c.b.getI1Type());
  if (!fits)
    return c.unsupported(op, "floating-point numbers", "others");
  Value operand = c.get(op->getOperand(0));
  auto type = cast<FloatType>(getElementTypeOrSelf(operand));
  APFloat largest = APFloat::getLargest(type.getFloatSemantics());
  Value size = math::AbsFOp::create(c.b, operand);
  Value limit = createSplat(c, operand.getType(), largest);
  c.set(op->getResult(0),
        arith::CmpFOp::create(c.b, arith::CmpFPredicate::UGT, size, limit));
  return success();
}

//===----------------------------------------------------------------------===//
// The same bits
//===----------------------------------------------------------------------===//

static Type getBits(OpBuilder &b, Type type) {
  return b.getIntegerType(type.getIntOrFloatBitWidth());
}

/// The element that has bits of a wider one, number `position` from the lowest
/// on.
static Value takeBits(KernelConverter &c, Value wide, Value position,
                      Type type) {
  Type wideBits = getBits(c.b, wide.getType()), bits = getBits(c.b, type);
  Value shift = arith::MulIOp::create(
      c.b, position, c.constantIndex(bits.getIntOrFloatBitWidth()));
  shift = arith::IndexCastOp::create(c.b, wideBits, shift);
  Value number = arith::ShRUIOp::create(
      c.b, arith::BitcastOp::create(c.b, wideBits, wide), shift);
  number = arith::TruncIOp::create(c.b, bits, number);
  return arith::BitcastOp::create(c.b, type, number);
}

/// The wide element of narrow ones, the lowest bits first.
static Value joinBits(KernelConverter &c, ArrayRef<Value> parts, Type type) {
  Type bits = getBits(c.b, type);
  unsigned width = parts.front().getType().getIntOrFloatBitWidth();
  Value number;
  for (auto [position, part] : llvm::enumerate(parts)) {
    Value piece =
        arith::BitcastOp::create(c.b, getBits(c.b, part.getType()), part);
    piece = arith::ExtUIOp::create(c.b, bits, piece);
    Value shift = arith::ConstantOp::create(
        c.b, c.b.getIntegerAttr(bits, position * width));
    piece = arith::ShLIOp::create(c.b, piece, shift);
    number = number ? Value(arith::OrIOp::create(c.b, number, piece)) : piece;
  }
  return arith::BitcastOp::create(c.b, type, number);
}

/// Rows of narrow elements are parts of one row of wide ones, which has them
/// from the lowest bits on.
static Value packRows(KernelConverter &c, Value source, RankedTensorType type) {
  auto from = cast<RankedTensorType>(source.getType());
  unsigned row = type.getRank() - 2;
  auto [wide, narrow] = std::minmax(from.getDimSize(row), type.getDimSize(row));
  int64_t ratio = wide == 0 ? 1 : narrow / wide;
  bool isNarrower =
      type.getElementTypeBitWidth() < from.getElementTypeBitWidth();
  return generate(c, type, [&](ValueRange index) -> Value {
    SmallVector<Value> at(index);
    Value count = c.constantIndex(ratio);
    if (isNarrower) {
      at[row] = arith::DivUIOp::create(c.b, index[row], count);
      Value position = arith::RemUIOp::create(c.b, index[row], count);
      return takeBits(c, tensor::ExtractOp::create(c.b, source, at), position,
                      type.getElementType());
    }
    Value first = arith::MulIOp::create(c.b, index[row], count);
    SmallVector<Value> parts;
    for (int64_t part = 0; part < ratio; ++part) {
      at[row] = arith::AddIOp::create(c.b, first, c.constantIndex(part));
      parts.push_back(tensor::ExtractOp::create(c.b, source, at));
    }
    return joinBits(c, parts, type.getElementType());
  });
}

/// Whether the last but one dimensions, times the bits of the elements, are the
/// same, and all others.
static bool haveSameRows(RankedTensorType from, RankedTensorType to) {
  if (from.getRank() < 2 || from.getRank() != to.getRank())
    return false;
  auto getRows = [](RankedTensorType type) {
    SmallVector<int64_t> shape(type.getShape());
    shape[type.getRank() - 2] *= type.getElementTypeBitWidth();
    return shape;
  };
  unsigned narrow =
      std::min(from.getElementTypeBitWidth(), to.getElementTypeBitWidth());
  unsigned wide =
      std::max(from.getElementTypeBitWidth(), to.getElementTypeBitWidth());
  return wide % narrow == 0 && getRows(from) == getRows(to);
}

static LogicalResult convertBitcast(KernelConverter &c, Operation *op) {
  RankedTensorType to =
      hasVectors(op, 1) ? getTensorType(op->getResult(0)) : RankedTensorType();
  RankedTensorType from = to ? getTensorType(op->getOperand(0)) : to;
  bool areNumbers = to && to.getElementType().isIntOrFloat() &&
                    from.getElementType().isIntOrFloat();
  bool isSame = areNumbers && from.getShape() == to.getShape() &&
                from.getElementTypeBitWidth() == to.getElementTypeBitWidth();
  if (!isSame && (!areNumbers || !haveSameRows(from, to)))
    return c.unsupported(op, "rows of as many bits", "others");
  Value source = c.get(op->getOperand(0));
  c.set(op->getResult(0), isSame
                              ? Value(arith::BitcastOp::create(c.b, to, source))
                              : packRows(c, source, to));
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// What gives its operand on, as a promise about it.
static LogicalResult convertForward(KernelConverter &c, Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getOperand(0).getType() != op->getResult(0).getType())
    return c.unsupported(op, "an operand that is the result", "another");
  c.set(op->getResult(0), c.get(op->getOperand(0)));
  return success();
}

/// There is one device.
static LogicalResult convertDeviceId(KernelConverter &c, Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isInteger(32))
    return c.unsupported(op, "a number", "another result");
  c.set(op->getResult(0),
        arith::ConstantOp::create(c.b, c.b.getI32IntegerAttr(0)));
  return success();
}

void mosaic::populateVectorConversions(KernelConversions &conversions) {
  llvm::StringMap<ConvertOp> &table = conversions.operations;
  table["arith.constant"] = convertConstant;
  table["vector.broadcast"] = convertBroadcast;
  table["vector.shape_cast"] = convertReshape;
  table["tpu.reshape"] = convertReshape;
  table["vector.transpose"] = convertTranspose;
  table["tpu.transpose"] = convertTranspose;
  table["vector.extract_strided_slice"] = convertExtractStridedSlice;
  table["vector.extract"] = convertExtract;
  table["tpu.concatenate"] = convertConcatenate;
  table["tpu.repeat"] = convertRepeat;
  table["tpu.dynamic_rotate"] = convertDynamicRotate;
  table["tpu.rotate"] = convertRotate;
  table["tpu.iota"] = convertIota;
  table["tpu.dynamic_gather"] = convertDynamicGather;
  table["tpu.reciprocal"] = convertReciprocal;
  table["tpu.logistic"] = convertLogistic;
  table["tpu.weird"] = convertWeird;
  table["tpu.bitcast"] = convertBitcast;
  table["tpu.extf"] = convertCast<arith::ExtFOp, true, true>;
  table["tpu.truncf"] = convertCast<arith::TruncFOp, true, true>;
  table["tpu.sitofp"] = convertCast<arith::SIToFPOp, false, true>;
  table["tpu.uitofp"] = convertCast<arith::UIToFPOp, false, true>;
  table["tpu.assume_multiple"] = convertForward;
  table["tpu.device_id"] = convertDeviceId;
}
