//===- Contractions.cpp - Sums and products of vectors --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of narrow numbers are added up in f32 or i32. A precision says how
// many passes a TPU makes; here there is one, of the operands as they are.
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::mosaic;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// Which dimensions of the iteration index the two factors and the sum.
struct Contraction {
  SmallVector<unsigned> left, right, sum;
  unsigned numDims = 0;
};
} // namespace

static Value extend(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(type))
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::ExtSIOp::create(b, loc, type, value);
}

/// `sum + left * right`.
static Value multiplyAndAdd(OpBuilder &b, Location loc, ValueRange values) {
  Type type = values[2].getType();
  Value left = extend(b, loc, values[0], type);
  Value right = extend(b, loc, values[1], type);
  if (!isa<FloatType>(type))
    return arith::AddIOp::create(b, loc, values[2],
                                 arith::MulIOp::create(b, loc, left, right));
  auto flags = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(b, loc, left, right, flags);
  return arith::AddFOp::create(b, loc, values[2], product, flags);
}

/// `factor` with the dimension that is indexed by `minor` as the last one;
/// `dims` are its dimensions of the iteration.
static Value makeMinor(KernelConverter &c, Value factor,
                       SmallVectorImpl<unsigned> &dims, unsigned minor) {
  unsigned position = llvm::find(dims, minor) - dims.begin();
  if (position + 1 >= dims.size())
    return factor;
  auto type = cast<RankedTensorType>(factor.getType());
  SmallVector<int64_t> order;
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    if (dim != position)
      order.push_back(dim);
  order.push_back(position);
  auto moved = RankedTensorType::get(applyPermutation(type.getShape(), order),
                                     type.getElementType());
  dims.erase(dims.begin() + position);
  dims.push_back(minor);
  return linalg::TransposeOp::create(c.b, factor, c.createEmpty(moved), order)
      ->getResult(0);
}

/// The loop of each dimension: those of the sum but its last one, then those
/// that are summed over, so that the innermost loop goes along rows.
static SmallVector<unsigned> getLoops(const Contraction &contraction) {
  SmallVector<unsigned> order(contraction.sum);
  for (unsigned dim = 0; dim < contraction.numDims; ++dim)
    if (!llvm::is_contained(contraction.sum, dim))
      order.push_back(dim);
  if (!contraction.sum.empty())
    std::rotate(order.begin() + contraction.sum.size() - 1,
                order.begin() + contraction.sum.size(), order.end());
  SmallVector<unsigned> loops(contraction.numDims);
  for (auto [loop, dim] : llvm::enumerate(order))
    loops[dim] = loop;
  return loops;
}

static Value contract(KernelConverter &c, Contraction contraction, Value left,
                      Value right, Value sum) {
  if (!contraction.sum.empty()) {
    unsigned minor = contraction.sum.back();
    if (llvm::is_contained(contraction.left, minor))
      left = makeMinor(c, left, contraction.left, minor);
    if (llvm::is_contained(contraction.right, minor))
      right = makeMinor(c, right, contraction.right, minor);
  }
  SmallVector<unsigned> loops = getLoops(contraction);
  SmallVector<AffineMap> maps;
  for (ArrayRef<unsigned> dims :
       {ArrayRef(contraction.left), ArrayRef(contraction.right),
        ArrayRef(contraction.sum)}) {
    SmallVector<AffineExpr> index = llvm::map_to_vector(
        dims, [&](unsigned dim) { return c.b.getAffineDimExpr(loops[dim]); });
    maps.push_back(
        AffineMap::get(contraction.numDims, 0, index, c.b.getContext()));
  }
  SmallVector<utils::IteratorType> iterators(contraction.numDims,
                                             utils::IteratorType::reduction);
  for (unsigned dim : contraction.sum)
    iterators[loops[dim]] = utils::IteratorType::parallel;
  auto generic = linalg::GenericOp::create(
      c.b, sum.getType(), ValueRange{left, right}, sum, maps, iterators,
      [](OpBuilder &b, Location loc, ValueRange values) {
        linalg::YieldOp::create(b, loc, multiplyAndAdd(b, loc, values));
      });
  return generic.getResult(0);
}

/// The same, where the sum may be too narrow to add up in it.
static LogicalResult setContraction(KernelConverter &c, Operation *op,
                                    const Contraction &contraction) {
  Value left = c.get(op->getOperand(0)), right = c.get(op->getOperand(1));
  Value sum = c.get(op->getOperand(2));
  auto type = dyn_cast<RankedTensorType>(sum.getType());
  auto isKind = [&](Value value, auto isOf) {
    return isOf(getElementTypeOrSelf(value.getType()));
  };
  auto isFloat = [](Type t) { return isa<FloatType>(t); };
  auto isInteger = [](Type t) { return t.isInteger(); };
  auto areAll = [&](auto isOf) {
    return isKind(left, isOf) && isKind(right, isOf) && isKind(sum, isOf);
  };
  if (!type || (!areAll(isFloat) && !areAll(isInteger)))
    return c.unsupported(op, "vectors of floating-point numbers or of integers",
                         debugString(op->getOperandTypes()));
  unsigned width = type.getElementTypeBitWidth();
  bool isNarrow = isFloat(type.getElementType()) && width < 32;
  if (!isNarrow &&
      (getElementTypeOrSelf(left).getIntOrFloatBitWidth() > width ||
       getElementTypeOrSelf(right).getIntOrFloatBitWidth() > width))
    return c.unsupported(op, "a sum as wide as the factors",
                         debugString(op->getOperandTypes()));
  if (isNarrow)
    sum = arith::ExtFOp::create(c.b, type.clone(c.b.getF32Type()), sum);
  sum = contract(c, contraction, left, right, sum);
  if (isNarrow)
    sum = arith::TruncFOp::create(c.b, type, sum);
  c.set(op->getResult(0), sum);
  return success();
}

/// The dimensions that a map of upstream's contractions picks.
static SmallVector<unsigned> getDims(AffineMap map) {
  return llvm::map_to_vector(map.getResults(), [](AffineExpr expr) {
    return cast<AffineDimExpr>(expr).getPosition();
  });
}

static LogicalResult convertVectorContract(KernelConverter &c, Operation *op) {
  auto contract = cast<vector::ContractionOp>(op);
  SmallVector<AffineMap> maps = contract.getIndexingMapsArray();
  bool isPlain = contract.getKind() == vector::CombiningKind::ADD &&
                 llvm::all_of(maps, [](AffineMap map) {
                   return map.isProjectedPermutation();
                 });
  if (!isPlain)
    return c.unsupported(op, "sums of products", "another kind");
  return setContraction(c, op,
                        {getDims(maps[0]), getDims(maps[1]), getDims(maps[2]),
                         maps[0].getNumDims()});
}

//===----------------------------------------------------------------------===//
// tpu.matmul
//===----------------------------------------------------------------------===//

namespace {
/// `#tpu.dot_dimension_numbers<...>`: lists of dimensions of the operands, and
/// for each dimension of the result which operand's it is.
struct DotDimensions {
  SmallVector<int64_t> leftSummed, rightSummed, left, right, result, leftBatch,
      rightBatch;
};
} // namespace

/// `[1, 2]`, taken off the front.
static bool takeList(StringRef &text, SmallVectorImpl<int64_t> &numbers) {
  text = text.ltrim(", ");
  if (!text.consume_front("["))
    return false;
  auto [inside, rest] = text.split(']');
  SmallVector<StringRef> pieces;
  inside.split(pieces, ',', -1, /*KeepEmpty=*/false);
  for (StringRef piece : pieces)
    if (piece.trim().getAsInteger(10, numbers.emplace_back()))
      return false;
  text = rest;
  return true;
}

static std::optional<DotDimensions> readDimensions(Attribute attribute) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attribute);
  StringRef text = opaque ? opaque.getAttrData() : StringRef();
  DotDimensions dims;
  if (!text.consume_front("dot_dimension_numbers<"))
    return std::nullopt;
  for (SmallVector<int64_t> *list :
       {&dims.leftSummed, &dims.rightSummed, &dims.left, &dims.right,
        &dims.result, &dims.leftBatch, &dims.rightBatch})
    if (!takeList(text, *list))
      return std::nullopt;
  return dims;
}

/// Matrices, where there are no dimension numbers.
static DotDimensions getMatrixDimensions(Operation *op) {
  auto isSet = [&](StringRef name) {
    auto flag = op->getAttrOfType<BoolAttr>(name);
    return flag && flag.getValue();
  };
  int64_t leftRow = isSet("transpose_lhs") ? 1 : 0;
  int64_t rightColumn = isSet("transpose_rhs") ? 0 : 1;
  return {{1 - leftRow},
          {1 - rightColumn},
          {leftRow},
          {rightColumn},
          {0, leftRow, 1, rightColumn},
          {},
          {}};
}

/// Gives the next number to each dimension of `dims`; false where one has a
/// number or is none of `numbers`.
static bool addDims(ArrayRef<int64_t> dims, SmallVectorImpl<unsigned> &numbers,
                    unsigned first, unsigned none) {
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= static_cast<int64_t>(numbers.size()) ||
        numbers[dim] != none)
      return false;
    numbers[dim] = first + i;
  }
  return true;
}

/// The dimensions of the iteration; nothing where the lists do not fit the
/// ranks.
static std::optional<Contraction>
getContraction(const DotDimensions &dims, int64_t leftRank, int64_t rightRank) {
  constexpr unsigned none = ~0u;
  Contraction all;
  all.left.assign(leftRank, none);
  all.right.assign(rightRank, none);
  if (dims.leftSummed.size() != dims.rightSummed.size() ||
      dims.leftBatch.size() != dims.rightBatch.size() ||
      dims.result.size() % 2 != 0)
    return std::nullopt;
  auto add = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
    bool fits = addDims(left, all.left, all.numDims, none) &&
                addDims(right, all.right, all.numDims, none);
    all.numDims += std::max(left.size(), right.size());
    return fits;
  };
  if (!add(dims.leftBatch, dims.rightBatch) ||
      !add(dims.leftSummed, dims.rightSummed) || !add(dims.left, {}) ||
      !add({}, dims.right) || llvm::is_contained(all.left, none) ||
      llvm::is_contained(all.right, none))
    return std::nullopt;
  for (size_t i = 0; i < dims.result.size(); i += 2) {
    ArrayRef<unsigned> of = dims.result[i] == 0 ? all.left : all.right;
    int64_t dim = dims.result[i + 1];
    if (dim < 0 || dim >= static_cast<int64_t>(of.size()))
      return std::nullopt;
    all.sum.push_back(of[dim]);
  }
  // All but those that are summed over, each once.
  llvm::SmallDenseSet<unsigned> ofSum(all.sum.begin(), all.sum.end());
  for (int64_t dim : dims.leftSummed)
    if (ofSum.contains(all.left[dim]))
      return std::nullopt;
  if (ofSum.size() != all.sum.size() ||
      ofSum.size() + dims.leftSummed.size() != all.numDims)
    return std::nullopt;
  return all;
}

/// Whether dimensions of the iteration have one size each in all operands.
static bool haveSizes(const Contraction &contraction, ValueRange operands) {
  SmallVector<int64_t> sizes(contraction.numDims, -1);
  std::array<ArrayRef<unsigned>, 3> all = {contraction.left, contraction.right,
                                           contraction.sum};
  for (auto [operand, dims] : llvm::zip(operands, all)) {
    ArrayRef<int64_t> shape = cast<VectorType>(operand.getType()).getShape();
    if (shape.size() != dims.size())
      return false;
    for (auto [dim, size] : llvm::zip(dims, shape)) {
      if (sizes[dim] != -1 && sizes[dim] != size)
        return false;
      sizes[dim] = size;
    }
  }
  return true;
}

static LogicalResult convertMatmul(KernelConverter &c, Operation *op) {
  auto isVector = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector && !vector.isScalable();
  };
  if (op->getNumOperands() != 3 || op->getNumResults() != 1 ||
      !llvm::all_of(op->getOperandTypes(), isVector) ||
      op->getOperand(2).getType() != op->getResult(0).getType())
    return c.unsupported(op, "two factors and a sum", "others");
  Attribute attribute = op->getAttr("dimension_numbers");
  auto dims = attribute ? readDimensions(attribute) : getMatrixDimensions(op);
  auto getRank = [&](unsigned number) {
    return cast<VectorType>(op->getOperand(number).getType()).getRank();
  };
  auto contraction = dims ? getContraction(*dims, getRank(0), getRank(1))
                          : std::optional<Contraction>();
  if (!contraction || !haveSizes(*contraction, op->getOperands()))
    return c.unsupported(op, "dimension numbers that fit the operands",
                         attribute ? debugString(attribute) : "none");
  return setContraction(c, op, *contraction);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Combines elements of `source` along `dims`, which the result lacks, with
/// those of `init`.
static Value
createReduction(KernelConverter &c, Value source, Value init,
                ArrayRef<int64_t> dims,
                function_ref<void(OpBuilder &, Location, ValueRange)> emit) {
  int64_t rank = cast<RankedTensorType>(source.getType()).getRank();
  SmallVector<AffineExpr> kept;
  SmallVector<utils::IteratorType> iterators;
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool isReduced = llvm::is_contained(dims, dim);
    iterators.push_back(isReduced ? utils::IteratorType::reduction
                                  : utils::IteratorType::parallel);
    if (!isReduced)
      kept.push_back(c.b.getAffineDimExpr(dim));
  }
  SmallVector<AffineMap> maps{c.b.getMultiDimIdentityMap(rank),
                              AffineMap::get(rank, 0, kept, c.b.getContext())};
  return linalg::GenericOp::create(c.b, init.getType(), source, init, maps,
                                   iterators, emit)
      .getResult(0);
}

static Value reduce(KernelConverter &c, vector::CombiningKind kind,
                    Value source, Value init, ArrayRef<int64_t> dims) {
  // Sums may be added up in any order.
  auto flags = arith::FastMathFlagsAttr::get(c.b.getContext(),
                                             arith::FastMathFlags::reassoc);
  auto emit = [&](OpBuilder &b, Location loc, ValueRange values) {
    Value combined =
        vector::makeArithReduction(b, loc, kind, values[0], values[1], flags);
    linalg::YieldOp::create(b, loc, combined);
  };
  return createReduction(c, source, init, dims, emit);
}

/// Whether numbers of a type are combined that way.
static bool isCombined(Type type, vector::CombiningKind kind) {
  using Kind = vector::CombiningKind;
  if (kind == Kind::ADD || kind == Kind::MUL)
    return true;
  bool isOfFloats = llvm::is_contained(
      {Kind::MINNUMF, Kind::MAXNUMF, Kind::MINIMUMF, Kind::MAXIMUMF}, kind);
  return isOfFloats == isa<FloatType>(type);
}

static LogicalResult convertMultiReduction(KernelConverter &c, Operation *op) {
  auto reduction = cast<vector::MultiDimReductionOp>(op);
  Type element = reduction.getSourceVectorType().getElementType();
  if (!isCombined(element, reduction.getKind()))
    return c.unsupported(op, "a kind of its elements",
                         vector::stringifyCombiningKind(reduction.getKind()) +
                             " of " + debugString(element));
  Value source = c.get(reduction.getSource());
  if (isa<RankedTensorType>(c.get(reduction.getAcc()).getType())) {
    c.set(reduction,
          reduce(c, reduction.getKind(), source, c.get(reduction.getAcc()),
                 reduction.getReductionDims()));
    return success();
  }
  Value init = c.get(reduction.getAcc());
  auto number = RankedTensorType::get({}, init.getType());
  init = tensor::FromElementsOp::create(c.b, number, init);
  Value sum = reduce(c, reduction.getKind(), source, init,
                     reduction.getReductionDims());
  c.set(reduction, tensor::ExtractOp::create(c.b, sum, ValueRange()));
  return success();
}

/// Whether `value` takes the place of the largest or smallest number so far: of
/// equal ones, and of those that are none, the first one stays.
static Value isBetter(OpBuilder &b, Location loc, Value value, Value best,
                      bool isMax) {
  auto compare = [&](arith::CmpFPredicate predicate, Value left, Value right) {
    return arith::CmpFOp::create(b, loc, predicate, left, right);
  };
  Value isNone = compare(arith::CmpFPredicate::UNO, value, value);
  Value isNumber = compare(arith::CmpFPredicate::ORD, best, best);
  Value isBeyond =
      compare(isMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT,
              value, best);
  return arith::OrIOp::create(b, loc, isBeyond,
                              arith::AndIOp::create(b, loc, isNone, isNumber));
}

/// Whether the indices below `size` are numbers of the type.
static bool hasIndices(Type type, int64_t size) {
  unsigned width = type.getIntOrFloatBitWidth();
  return width >= 32 || size <= int64_t(1) << width;
}

/// `tpu.reduce_index`: where along `axis` the largest or smallest number is.
static LogicalResult convertReduceIndex(KernelConverter &c, Operation *op) {
  auto kind = dyn_cast_or_null<OpaqueAttr>(op->getAttr("kind"));
  StringRef name = kind ? kind.getAttrData() : "";
  bool isMax = name == "reduction_kind<arg_max>";
  bool isOne = op->getNumOperands() == 1 && op->getNumResults() == 1;
  auto from =
      isOne ? dyn_cast<VectorType>(op->getOperand(0).getType()) : VectorType();
  auto to =
      isOne ? dyn_cast<VectorType>(op->getResult(0).getType()) : VectorType();
  int64_t axis = getInteger(op, "axis", -1);
  bool fits = from && to && !from.isScalable() && axis >= 0 &&
              axis < from.getRank() && isa<FloatType>(from.getElementType()) &&
              to.getElementType().isInteger() &&
              hasIndices(to.getElementType(), from.getDimSize(axis)) &&
              (isMax || name == "reduction_kind<arg_min>");
  SmallVector<int64_t> shape(fits ? from.getShape() : ArrayRef<int64_t>());
  if (fits)
    shape.erase(shape.begin() + axis);
  if (!fits || to.getShape() != ArrayRef(shape))
    return c.unsupported(op, "arg_max or arg_min along a dimension", name);
  Value source = c.get(op->getOperand(0));
  auto type = cast<RankedTensorType>(c.convertType(to));
  Value init =
      arith::ConstantOp::create(c.b, cast<TypedAttr>(c.b.getZeroAttr(type)));
  auto emit = [&](OpBuilder &b, Location loc, ValueRange values) {
    SmallVector<Value> at;
    for (int64_t dim = 0; dim < from.getRank(); ++dim)
      at.push_back(linalg::IndexOp::create(b, loc, dim));
    Value here =
        arith::IndexCastOp::create(b, loc, type.getElementType(), at[axis]);
    at[axis] =
        arith::IndexCastUIOp::create(b, loc, b.getIndexType(), values[1]);
    Value best = tensor::ExtractOp::create(b, loc, source, at);
    Value isHere = isBetter(b, loc, values[0], best, isMax);
    linalg::YieldOp::create(
        b, loc,
        arith::SelectOp::create(b, loc, isHere, here, values[1]).getResult());
  };
  c.set(op->getResult(0), createReduction(c, source, init, {axis}, emit));
  return success();
}

void mosaic::populateContractionConversions(KernelConversions &conversions) {
  llvm::StringMap<ConvertOp> &table = conversions.operations;
  table["vector.contract"] = convertVectorContract;
  table["vector.multi_reduction"] = convertMultiReduction;
  table["tpu.reduce_index"] = convertReduceIndex;
  table["tpu.matmul"] = convertMatmul;
}
