//===- Convolution.cpp - convolution, dot and ragged-dot ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

/// The product of two elements, added to a sum.
static Value multiplyAdd(ImplicitLocOpBuilder &b, Value sum, Value lhs,
                         Value rhs) {
  // As products of matrices are computed everywhere: fused, in any order.
  auto flags = arith::FastMathFlags::contract | arith::FastMathFlags::reassoc;
  if (isa<FloatType>(sum.getType()))
    return arith::AddFOp::create(
        b, sum, arith::MulFOp::create(b, lhs, rhs, flags), flags);
  return arith::AddIOp::create(b, sum, arith::MulIOp::create(b, lhs, rhs));
}

/// The sum and the product of an element of each of the first two operands, as
/// ones of the sum's type.
static Elements addProduct(HLOConverter &c, InstructionOp op, Value lhs,
                           Value rhs, Value sum) {
  SmallVector<Value, 2> factors = {lhs, rhs};
  for (auto [factor, array] :
       llvm::zip_equal(factors, op.getOperands().take_front(2))) {
    factor = convertScalar(c.b, factor, isUnsigned(array), sum.getType(),
                           isUnsigned(op.getResult()));
    if (!factor)
      return emitUnsupported(op, "element type", "ones that are computed with");
  }
  return SmallVector<Value>{multiplyAdd(c.b, sum, factors[0], factors[1])};
}

namespace {
/// Which elements are multiplied for an element of the result.
struct Products {
  /// Of the dimensions that are summed over.
  SmallVector<int64_t> sizes;
  /// For an index of the result and one of the sum, those of the operands; and
  /// whether there are any, null where there always are.
  std::function<Value(ValueRange index, ValueRange inner,
                      SmallVector<Value> &lhs, SmallVector<Value> &rhs)>
      getIndices;
  /// For each dimension of both operands, the one of the result that it is a
  /// step of, or -1.
  SmallVector<int64_t> results[2] = {};
  /// For each dimension of both operands, the one of the iteration that is its
  /// index, those of the sum behind those of the result; -1 where that is 0.
  /// Empty where indices are others.
  SmallVector<int64_t> dims[2] = {};
};
} // namespace

/// The sum and one more product.
static Elements emitProduct(HLOConverter &c, InstructionOp op,
                            const Products &products, ValueRange index,
                            ValueRange inner, Value sum) {
  SmallVector<Value> lhsIndex, rhsIndex;
  Value isElement = products.getIndices(index, inner, lhsIndex, rhsIndex);
  auto add = [&]() -> Elements {
    return addProduct(c, op, c.getElement(op, 0, lhsIndex),
                      c.getElement(op, 1, rhsIndex), sum);
  };
  if (!isElement)
    return add();
  return buildIf(c.b, isElement, add,
                 [&]() -> Elements { return SmallVector<Value>{sum}; });
}

/// The sum of products for an element of the result.
static Elements emitSum(HLOConverter &c, InstructionOp op,
                        const Products &products, ValueRange index) {
  Type resultType = c.getElementType(op.getResult());
  Type type = getAccumulatorType(resultType);
  if (!isa<IntegerType, FloatType>(type))
    return emitUnsupported(op, "element type", "a real number");
  Elements sum =
      buildLoops(c.b, products.sizes, createScalar(c.b, type, 0),
                 [&](ValueRange inner, ValueRange values) {
                   return emitProduct(c, op, products, index, inner, values[0]);
                 });
  if (failed(sum))
    return failure();
  bool isUnsignedResult = isUnsigned(op.getResult());
  Value result = convertScalar(c.b, sum->front(), isUnsignedResult, resultType,
                               isUnsignedResult);
  if (!result)
    return emitUnsupported(op, "element type", "one that is computed with");
  return SmallVector<Value>{result};
}

/// The dimension of the result along which the elements of an operand are
/// neighbours in memory; -1 where they are along one that is summed over.
static int64_t getVectorDimension(InstructionOp op, const Products &products) {
  for (unsigned operand : {1, 0}) {
    RankedTensorType type = getArrayType(op.getOperand(operand));
    SmallVector<int64_t> order = getMajorToMinor(type);
    while (!order.empty() && type.getDimSize(order.back()) == 1)
      order.pop_back();
    int64_t dim = order.empty() ? -1 : products.results[operand][order.back()];
    if (dim >= 0)
      return dim;
  }
  return -1;
}

static bool hasDimensions(InstructionOp op) {
  auto result = dyn_cast<RankedTensorType>(op.getType());
  return result && result.getRank() != 0;
}

/// Whether registers hold elements of that type.
static bool isRegisterType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() >= 8;
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

/// The type that holds all numbers of `type` and fits registers: where it can
/// be, that of the other factor.
static Type getFactorType(Type type, Type other) {
  if (isRegisterType(type))
    return type;
  bool isInteger = isa<IntegerType>(type);
  if (isRegisterType(other) && (isa<FloatType>(other) || isInteger))
    return other;
  MLIRContext *context = type.getContext();
  return isInteger ? Type(IntegerType::get(context, 8))
                   : BFloat16Type::get(context);
}

/// An operand as numbers of another type, in the order in which they lie in
/// memory, without tiles; null where that does not hold all of them.
static Value widenFactor(HLOConverter &c, Value operand, Type type) {
  RankedTensorType narrow = getArrayType(operand);
  Type from = c.getElementType(operand);
  if (!isa<IntegerType, FloatType>(from) || from.getIntOrFloatBitWidth() > 8)
    return {};
  Layout layout;
  SmallVector<int64_t> order = getMajorToMinor(narrow);
  layout.minorToMajor.assign(order.rbegin(), order.rend());
  auto wide = RankedTensorType::get(
      narrow.getShape(), type,
      LayoutAttr::get(type.getContext(), std::move(layout)));
  bool sign = isUnsigned(operand);
  Elements array = c.generate(Type(wide), [&](ValueRange index) -> Elements {
    Value number =
        convertScalar(c.b, c.getElement(operand, index), sign, type, sign);
    if (!number)
      return failure();
    return SmallVector<Value>{number};
  });
  return failed(array) ? Value() : array->front();
}

/// Dimensions of the iteration as indices; -1 is 0.
static SmallVector<AffineExpr> getIndexExprs(HLOConverter &c,
                                             ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) {
    return dim < 0 ? c.b.getAffineConstantExpr(0) : c.b.getAffineDimExpr(dim);
  });
}

/// Adds products as an operation of linalg, in the order of `loops`; nothing
/// where operands have no arrays, or are read at other indices.
static std::optional<LogicalResult>
convertContraction(HLOConverter &c, InstructionOp op, const Products &products,
                   ArrayRef<int64_t> loops, int64_t minor, Type type) {
  SmallVector<Value> factors;
  SmallVector<SmallVector<int64_t>> dims;
  for (auto [operand, ofOperand] :
       llvm::zip_equal(op.getOperands(), products.dims)) {
    dims.push_back(ofOperand);
    if (static_cast<int64_t>(ofOperand.size()) !=
        getArrayType(operand).getRank())
      return std::nullopt;
  }
  for (unsigned i : {0, 1}) {
    Value operand = op.getOperand(i), other = op.getOperand(1 - i);
    Type wide =
        getFactorType(c.getElementType(operand), c.getElementType(other));
    factors.push_back(wide == c.getElementType(operand)
                          ? c.getArray(operand)
                          : widenFactor(c, operand, wide));
    if (!factors.back())
      return std::nullopt;
  }
  // A sum that no operand has is one of a window that pairs indices.
  int64_t rank = getArrayType(op.getResult()).getRank();
  auto used = llvm::filter_to_vector(loops, [&](int64_t dim) {
    return dim < rank || llvm::is_contained(dims[0], dim) ||
           llvm::is_contained(dims[1], dim);
  });
  SmallVector<SmallVector<AffineExpr>> indices = {getIndexExprs(c, dims[0]),
                                                  getIndexExprs(c, dims[1])};
  return c.contract(op, used, minor, createScalar(c.b, type, 0), factors,
                    indices, [&](ValueRange elements) {
                      return addProduct(c, op, elements[0], elements[1],
                                        elements[2]);
                    });
}

/// Products are added to all results along a dimension, one after the other,
/// where that is how operands lie in memory.
static LogicalResult convertSums(HLOConverter &c, InstructionOp op,
                                 FailureOr<Products> products) {
  if (failed(products))
    return failure();
  int64_t minor = getVectorDimension(op, *products);
  RankedTensorType result = getArrayType(op.getResult());
  Type type = getAccumulatorType(c.getElementType(op.getResult()));
  if (!isa<IntegerType, FloatType>(type))
    return c.materialize(op);
  int64_t rank = result.getRank();
  SmallVector<int64_t> sizes(result.getShape()), loops;
  llvm::append_range(sizes, products->sizes);
  SmallVector<int64_t> order = getMajorToMinor(result);
  for (int64_t dim : order)
    if (dim != minor)
      loops.push_back(dim);
  for (int64_t dim = rank; dim < int64_t(sizes.size()); ++dim)
    loops.push_back(dim);
  if (minor < 0) {
    auto done = convertContraction(c, op, *products, loops, order.back(), type);
    return done ? *done : c.materialize(op);
  }
  loops.push_back(minor);
  if (auto done = convertContraction(c, op, *products, loops, minor, type))
    return *done;
  return c.accumulate(op, sizes, loops, minor, createScalar(c.b, type, 0),
                      [&](ValueRange index, ValueRange values) {
                        return emitProduct(c, op, *products,
                                           index.take_front(rank),
                                           index.drop_front(rank), values[0]);
                      });
}

//===----------------------------------------------------------------------===//
// convolution
//===----------------------------------------------------------------------===//

namespace {
struct Convolution {
  DimLabels lhs, rhs, out; ///< b and f, o and i, b and f.
  SmallVector<WindowDimension> window;
  int64_t featureGroups, batchGroups;
  RankedTensorType lhsType, rhsType, outType;

  int64_t inputFeatures() const { return rhsType.getDimSize(rhs.second); }
  int64_t outputFeatures() const { return rhsType.getDimSize(rhs.first); }

  /// From the first element that a dimension of the window reads to the last,
  /// padding included.
  int64_t getReach(size_t number) const {
    int64_t outputs = outType.getDimSize(out.spatial[number]);
    return (outputs - 1) * window[number].stride +
           (window[number].size - 1) * window[number].windowDilation;
  }
  bool suitsCopies() const;
};
} // namespace

/// Whether a copy with padding is not much larger than the operand: windows
/// that hardly overlap it have other uses.
bool Convolution::suitsCopies() const {
  constexpr int64_t kMostTimes = 4, kMost = int64_t(1) << 31;
  if (featureGroups != 1 || batchGroups != 1 || lhsType.getNumElements() == 0 ||
      rhsType.getNumElements() == 0 || outType.getNumElements() == 0)
    return false;
  double times = 1;
  for (auto [number, dimension] : llvm::enumerate(window)) {
    int64_t size = lhsType.getDimSize(lhs.spatial[number]);
    int64_t most = std::max({dimension.stride, dimension.windowDilation,
                             dimension.low, -dimension.low, size,
                             outType.getDimSize(out.spatial[number])});
    if (most >= (int64_t(1) << 24) || dimension.size >= (int64_t(1) << 24) ||
        dimension.baseDilation != 1)
      return false;
    times *= double(getReach(number) + 1) / double(size);
  }
  return times <= kMostTimes &&
         times * double(lhsType.getNumElements()) < double(kMost);
}

/// Whether sizes agree as the groups say.
static bool isConsistent(const Convolution &conv) {
  auto hasRank = [&](RankedTensorType type) {
    return type.getRank() == int64_t(conv.window.size()) + 2;
  };
  if (!hasRank(conv.lhsType) || !hasRank(conv.rhsType) ||
      !hasRank(conv.outType) || conv.featureGroups < 1 || conv.batchGroups < 1)
    return false;
  int64_t features = conv.lhsType.getDimSize(conv.lhs.second);
  int64_t batch = conv.lhsType.getDimSize(conv.lhs.first);
  return features == conv.inputFeatures() * conv.featureGroups &&
         conv.outputFeatures() == conv.outType.getDimSize(conv.out.second) &&
         conv.outputFeatures() % conv.featureGroups == 0 &&
         conv.outputFeatures() % conv.batchGroups == 0 &&
         batch == conv.outType.getDimSize(conv.out.first) * conv.batchGroups;
}

static FailureOr<Convolution> getConvolution(InstructionOp op) {
  StringRef text = getText(op, "dim_labels");
  auto labels = readDimLabels(text);
  if (!labels)
    return emitUnsupported(op, "dim_labels", "b, f and digits up to 9", text);
  auto window = getWindow(op, labels->lhs.spatial.size());
  if (failed(window))
    return failure();
  Convolution conv{labels->lhs,
                   labels->rhs,
                   labels->out,
                   *window,
                   getInteger(op, "feature_group_count", 1),
                   getInteger(op, "batch_group_count", 1),
                   getArrayType(op.getOperand(0)),
                   getArrayType(op.getOperand(1)),
                   getArrayType(op.getResult())};
  bool isRight = isConsistent(conv);
  for (auto [number, dimension] : llvm::enumerate(conv.window))
    isRight = isRight && conv.rhsType.getDimSize(conv.rhs.spatial[number]) ==
                             dimension.size;
  if (!isRight)
    return emitUnsupported(op, "shapes", "ones that fit dim_labels and window",
                           text);
  return conv;
}

/// The elements that are multiplied for an element of the result: `inner` is
/// the position in the window, then the input feature of the group.
static Value getIndices(HLOConverter &c, const Convolution &conv,
                        ValueRange index, ValueRange inner,
                        SmallVector<Value> &lhs, SmallVector<Value> &rhs) {
  AffineExpr d0 = c.b.getAffineDimExpr(0), d1 = c.b.getAffineDimExpr(1);
  lhs.assign(conv.lhsType.getRank(), Value());
  rhs.assign(conv.rhsType.getRank(), Value());
  Value isElement;
  for (auto [number, window] : llvm::enumerate(conv.window)) {
    int64_t lhsDim = conv.lhs.spatial[number];
    int64_t outDim = conv.out.spatial[number];
    lhs[lhsDim] = c.getWindowIndex(window, index[outDim], inner[number],
                                   conv.lhsType.getDimSize(lhsDim),
                                   conv.outType.getDimSize(outDim), isElement);
    rhs[conv.rhs.spatial[number]] =
        window.reversed ? c.affine(window.size - 1 - d0, inner[number])
                        : inner[number];
  }
  Value feature = index[conv.out.second], batch = index[conv.out.first];
  rhs[conv.rhs.first] = feature;
  rhs[conv.rhs.second] = inner.back();
  int64_t perGroup = conv.outputFeatures() / conv.featureGroups;
  lhs[conv.lhs.second] =
      conv.featureGroups == 1
          ? inner.back()
          : c.affine(d0.floorDiv(perGroup) * conv.inputFeatures() + d1,
                     {feature, inner.back()});
  int64_t perBatchGroup = conv.outputFeatures() / conv.batchGroups;
  lhs[conv.lhs.first] =
      conv.batchGroups == 1
          ? batch
          : c.affine(d0.floorDiv(perBatchGroup) *
                             conv.outType.getDimSize(conv.out.first) +
                         d1,
                     {feature, batch});
  return isElement;
}

namespace {
/// What a dimension of a window multiplies: for an index of the result, or one
/// of the window, elements at that index or at 0.
struct WindowDims {
  int64_t lhs, rhs;
};
} // namespace

/// Windows up to this size are looked at position by position.
static constexpr int64_t kMaxWindow = 1024;

/// Indices that a dimension of a window pairs, where each of the result has but
/// one position in it that is an element, or there is one of the result.
static std::optional<WindowDims> getWindowDims(const WindowDimension &window,
                                               int64_t inputSize,
                                               int64_t outputSize,
                                               int64_t outDim, int64_t sumDim) {
  WindowDims dims;
  bool isSum = outputSize == 1 && window.size != 1;
  bool readsLhs = inputSize != 1, readsRhs = window.size != 1;
  dims.lhs = !readsLhs ? -1 : isSum ? sumDim : outDim;
  dims.rhs = !readsRhs ? -1 : isSum ? sumDim : outDim;
  int64_t count = isSum ? window.size : outputSize;
  int64_t most = std::max({window.stride, window.windowDilation, window.low,
                           -window.low, window.baseDilation});
  if (most > std::numeric_limits<int32_t>::max() ||
      (readsLhs && inputSize != count) || (readsRhs && window.size != count) ||
      count > kMaxWindow)
    return std::nullopt;
  for (int64_t output = 0; output < outputSize; ++output)
    for (int64_t position = 0; position < window.size; ++position) {
      int64_t at = output * window.stride + position * window.windowDilation -
                   window.low;
      bool isElement = at >= 0 && at % window.baseDilation == 0 &&
                       at / window.baseDilation < inputSize;
      int64_t element = window.reversed ? window.size - 1 - position : position;
      int64_t index = isSum ? element : output;
      bool isPaired = element == (readsRhs ? index : 0);
      if (isElement != isPaired)
        return std::nullopt;
      if (isElement && at / window.baseDilation != (readsLhs ? index : 0))
        return std::nullopt;
    }
  return dims;
}

/// The indices of a convolution that is a dot: without groups, and a window
/// that adds up whole dimensions or none.
static void setDotDims(const Convolution &conv, Products &products) {
  if (conv.featureGroups != 1 || conv.batchGroups != 1)
    return;
  int64_t rank = conv.outType.getRank();
  SmallVector<int64_t> lhs(rank, -1), rhs(rank, -1);
  for (auto [number, window] : llvm::enumerate(conv.window)) {
    int64_t outDim = conv.out.spatial[number];
    int64_t lhsDim = conv.lhs.spatial[number];
    auto dims =
        getWindowDims(window, conv.lhsType.getDimSize(lhsDim),
                      conv.outType.getDimSize(outDim), outDim, rank + number);
    if (!dims)
      return;
    lhs[lhsDim] = dims->lhs;
    rhs[conv.rhs.spatial[number]] = dims->rhs;
  }
  lhs[conv.lhs.first] = conv.out.first;
  lhs[conv.lhs.second] = rhs[conv.rhs.second] = rank + conv.window.size();
  rhs[conv.rhs.first] = conv.out.second;
  for (unsigned operand : {0, 1}) {
    products.dims[operand] = operand == 0 ? lhs : rhs;
    products.results[operand] = products.dims[operand];
    for (int64_t &dim : products.results[operand])
      dim = dim < rank ? dim : -1;
  }
}

static FailureOr<Products> getConvolutionProducts(HLOConverter &c,
                                                  InstructionOp op) {
  FailureOr<Convolution> conv = getConvolution(op);
  if (failed(conv))
    return failure();
  Products products;
  for (const WindowDimension &dimension : conv->window)
    products.sizes.push_back(dimension.size);
  products.sizes.push_back(conv->inputFeatures());
  products.getIndices = [&c, conv = *conv](ValueRange index, ValueRange inner,
                                           SmallVector<Value> &lhs,
                                           SmallVector<Value> &rhs) {
    return getIndices(c, conv, index, inner, lhs, rhs);
  };
  for (unsigned operand : {0, 1})
    products.results[operand].assign(conv->window.size() + 2, -1);
  if (conv->batchGroups == 1)
    products.results[0][conv->lhs.first] = conv->out.first;
  products.results[1][conv->rhs.first] = conv->out.second;
  setDotDims(*conv, products);
  return products;
}

static Elements emitConvolution(HLOConverter &c, InstructionOp op,
                                ValueRange index) {
  FailureOr<Products> products = getConvolutionProducts(c, op);
  return succeeded(products) ? emitSum(c, op, *products, index)
                             : Elements(failure());
}

//===----------------------------------------------------------------------===//
// Convolutions of copies
//===----------------------------------------------------------------------===//

namespace {
/// Copies of the operands of a convolution with a window: without tiles, in an
/// order that suits registers, the left one with its padding. So all elements
/// of a window are at constant distances.
struct ConvolutionCopies {
  HLOConverter &c;
  InstructionOp op;
  const Convolution &conv;
  /// Whether registers are along the batch, not along features.
  bool isBatchMinor;

  /// Null where elements are none that are computed with.
  Value copyLhs(Type type);
  Value copyRhs(Type type);

private:
  RankedTensorType getType(ArrayRef<int64_t> shape, Type element,
                           ArrayRef<int64_t> minorToMajor);
  Value convert(unsigned operand, ValueRange index, Type type);
  SmallVector<int64_t> orderDims(std::initializer_list<int64_t> minor,
                                 ArrayRef<int64_t> spatial,
                                 std::initializer_list<int64_t> major);
};
} // namespace

RankedTensorType ConvolutionCopies::getType(ArrayRef<int64_t> shape,
                                            Type element,
                                            ArrayRef<int64_t> minorToMajor) {
  Layout layout;
  layout.minorToMajor.assign(minorToMajor.begin(), minorToMajor.end());
  return RankedTensorType::get(
      shape, element, LayoutAttr::get(c.b.getContext(), std::move(layout)));
}

Value ConvolutionCopies::convert(unsigned operand, ValueRange index,
                                 Type type) {
  Value array = op.getOperand(operand);
  bool sign = isUnsigned(array);
  return convertScalar(c.b, c.getElement(array, index), sign, type, sign);
}

/// Dimensions from minor to major.
SmallVector<int64_t>
ConvolutionCopies::orderDims(std::initializer_list<int64_t> minor,
                             ArrayRef<int64_t> spatial,
                             std::initializer_list<int64_t> major) {
  SmallVector<int64_t> order(minor);
  llvm::append_range(order, llvm::reverse(spatial));
  llvm::append_range(order, major);
  return order;
}

Value ConvolutionCopies::copyLhs(Type type) {
  SmallVector<int64_t> shape(conv.lhsType.getShape());
  for (auto [number, window] : llvm::enumerate(conv.window))
    shape[conv.lhs.spatial[number]] =
        conv.getReach(number) + 1; // From the first element on.
  const DimLabels &dims = conv.lhs;
  RankedTensorType array = getType(
      shape, type,
      isBatchMinor ? orderDims({dims.first, dims.second}, dims.spatial, {})
                   : orderDims({dims.second}, dims.spatial, {dims.first}));
  Elements copy = c.generate(Type(array), [&](ValueRange index) -> Elements {
    SmallVector<Value> source(index);
    Value isElement;
    for (auto [number, window] : llvm::enumerate(conv.window)) {
      int64_t dim = dims.spatial[number];
      WindowDimension one;
      one.low = window.low;
      source[dim] =
          c.getWindowIndex(one, index[dim], c.constantIndex(0),
                           conv.lhsType.getDimSize(dim), shape[dim], isElement);
    }
    auto get = [&]() -> Elements {
      Value element = convert(0, source, type);
      return element ? Elements(SmallVector<Value>{element})
                     : Elements(failure());
    };
    if (!isElement)
      return get();
    return buildIf(c.b, isElement, get, [&]() -> Elements {
      return SmallVector<Value>{createScalar(c.b, type, 0)};
    });
  });
  return failed(copy) ? Value() : copy->front();
}

Value ConvolutionCopies::copyRhs(Type type) {
  const DimLabels &dims = conv.rhs;
  RankedTensorType array = getType(
      conv.rhsType.getShape(), type,
      isBatchMinor ? orderDims({dims.second}, dims.spatial, {dims.first})
                   : orderDims({dims.first, dims.second}, dims.spatial, {}));
  Elements copy = c.generate(Type(array), [&](ValueRange index) -> Elements {
    SmallVector<Value> source(index);
    for (auto [number, window] : llvm::enumerate(conv.window))
      if (window.reversed)
        source[dims.spatial[number]] =
            c.affine(window.size - 1 - c.b.getAffineDimExpr(0),
                     index[dims.spatial[number]]);
    Value element = convert(1, source, type);
    return element ? Elements(SmallVector<Value>{element})
                   : Elements(failure());
  });
  return failed(copy) ? Value() : copy->front();
}

/// A convolution as a contraction of copies of its operands; nothing where it
/// is better computed otherwise.
static std::optional<LogicalResult>
convertCopies(HLOConverter &c, InstructionOp op, const Convolution &conv) {
  Type type = getAccumulatorType(c.getElementType(op.getResult()));
  if (!isa<IntegerType, FloatType>(type) || !conv.suitsCopies())
    return std::nullopt;
  SmallVector<int64_t> order = getMajorToMinor(conv.outType);
  ConvolutionCopies copies{c, op, conv, order.back() == conv.out.first};
  Type types[2];
  for (unsigned i : {0, 1}) {
    types[i] = c.getElementType(op.getOperand(i));
    if (!isa<IntegerType, FloatType>(types[i]))
      return std::nullopt;
  }
  Value lhs = copies.copyLhs(getFactorType(types[0], types[1]));
  Value rhs = copies.copyRhs(getFactorType(types[1], types[0]));
  if (!lhs || !rhs)
    return std::nullopt;

  int64_t rank = order.size(), features = rank + conv.window.size();
  auto dim = [&](int64_t number) { return c.b.getAffineDimExpr(number); };
  SmallVector<AffineExpr> lhsIndex(rank), rhsIndex(rank);
  int64_t minor = copies.isBatchMinor ? conv.out.first : conv.out.second;
  SmallVector<int64_t> loops;
  for (int64_t outDim : order)
    if (outDim != minor)
      loops.push_back(outDim);
  lhsIndex[conv.lhs.first] = dim(conv.out.first);
  rhsIndex[conv.rhs.first] = dim(conv.out.second);
  lhsIndex[conv.lhs.second] = rhsIndex[conv.rhs.second] = dim(features);
  for (auto [number, window] : llvm::enumerate(conv.window)) {
    AffineExpr position = dim(rank + number);
    lhsIndex[conv.lhs.spatial[number]] =
        dim(conv.out.spatial[number]) * window.stride +
        position * window.windowDilation;
    rhsIndex[conv.rhs.spatial[number]] = position;
    loops.push_back(rank + number);
  }
  loops.append({features, minor});
  return c.contract(op, loops, minor, createScalar(c.b, type, 0), {lhs, rhs},
                    {lhsIndex, rhsIndex}, [&](ValueRange elements) {
                      return addProduct(c, op, elements[0], elements[1],
                                        elements[2]);
                    });
}

static LogicalResult convertConvolution(HLOConverter &c, InstructionOp op) {
  FailureOr<Products> products = getConvolutionProducts(c, op);
  FailureOr<Convolution> conv = getConvolution(op);
  if (succeeded(conv) && succeeded(products) && products->dims[0].empty())
    if (auto done = convertCopies(c, op, *conv))
      return *done;
  return convertSums(c, op, products);
}

//===----------------------------------------------------------------------===//
// dot
//===----------------------------------------------------------------------===//

namespace {
/// One operand of a dot: which dimensions are those of the batch, which are
/// summed over, and the rest, which the result has.
struct DotOperand {
  RankedTensorType type;
  SmallVector<int64_t> batch, contracting, free;

  /// The index of an element.
  SmallVector<Value> getIndex(ValueRange batchIndex, ValueRange inner,
                              ValueRange freeIndex) const {
    SmallVector<Value> index(type.getRank());
    auto set = [&](ArrayRef<int64_t> dims, ValueRange values) {
      for (auto [dim, value] : llvm::zip(dims, values))
        index[dim] = value;
    };
    set(batch, batchIndex);
    set(contracting, inner);
    set(free, freeIndex);
    return index;
  }
};
} // namespace

static FailureOr<DotOperand> getDotOperand(InstructionOp op, unsigned number) {
  std::string side = number == 0 ? "lhs" : "rhs";
  DotOperand operand{getArrayType(op.getOperand(number)),
                     getIntegers(op, side + "_batch_dims"),
                     getIntegers(op, side + "_contracting_dims"),
                     {}};
  int64_t rank = operand.type.getRank();
  if (failed(checkDimensions(op, operand.batch, rank)) ||
      failed(checkDimensions(op, operand.contracting, rank)))
    return failure();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(operand.batch, dim) &&
        !llvm::is_contained(operand.contracting, dim))
      operand.free.push_back(dim);
  if (operand.batch.size() + operand.contracting.size() + operand.free.size() !=
      static_cast<size_t>(rank))
    return emitUnsupported(op, "dimensions", "each once", "one twice");
  return operand;
}

static FailureOr<Products> getDotProducts(InstructionOp op) {
  FailureOr<DotOperand> lhs = getDotOperand(op, 0), rhs = getDotOperand(op, 1);
  if (failed(lhs) || failed(rhs))
    return failure();
  size_t numBatch = lhs->batch.size(), numLhs = lhs->free.size();
  size_t rank = getArrayType(op.getResult()).getRank();
  if (numBatch != rhs->batch.size() ||
      lhs->contracting.size() != rhs->contracting.size() ||
      rank != numBatch + numLhs + rhs->free.size())
    return emitUnsupported(op, "dimensions", "the same on both sides");
  Products products;
  for (int64_t dim : lhs->contracting)
    products.sizes.push_back(lhs->type.getDimSize(dim));
  products.getIndices = [=, lhs = *lhs,
                         rhs = *rhs](ValueRange index, ValueRange inner,
                                     SmallVector<Value> &lhsIndex,
                                     SmallVector<Value> &rhsIndex) {
    ValueRange batch = index.take_front(numBatch);
    lhsIndex = lhs.getIndex(batch, inner, index.slice(numBatch, numLhs));
    rhsIndex = rhs.getIndex(batch, inner, index.drop_front(numBatch + numLhs));
    return Value();
  };
  size_t first = numBatch;
  for (const DotOperand *operand : {&*lhs, &*rhs}) {
    SmallVector<int64_t> &results = products.results[operand == &*rhs];
    results.assign(operand->type.getRank(), -1);
    for (auto [number, dim] : llvm::enumerate(operand->batch))
      results[dim] = number;
    for (int64_t dim : operand->free)
      results[dim] = first++;
    SmallVector<int64_t> &dims = products.dims[operand == &*rhs];
    dims = results;
    for (auto [number, dim] : llvm::enumerate(operand->contracting))
      dims[dim] = rank + number;
  }
  return products;
}

static Elements emitDot(HLOConverter &c, InstructionOp op, ValueRange index) {
  FailureOr<Products> products = getDotProducts(op);
  return succeeded(products) ? emitSum(c, op, *products, index)
                             : Elements(failure());
}

static LogicalResult convertDot(HLOConverter &c, InstructionOp op) {
  return convertSums(c, op, getDotProducts(op));
}

//===----------------------------------------------------------------------===//
// ragged-dot
//===----------------------------------------------------------------------===//

namespace {
/// A dot of which a dimension of the left operand consists of groups, of sizes
/// that operand 2 has. Where the result has the dimension, each group has a
/// right operand of its own; where it is summed over, a result.
struct RaggedDot {
  HLOConverter &c;
  InstructionOp op;
  DotOperand lhs, rhs;
  int64_t raggedDim, numGroups;
  /// The dimension of the right operand that counts groups, if one does.
  std::optional<int64_t> groupDim;

  Elements emitElement(ValueRange index);

private:
  Value getGroupSize(Value group);
  Value isWithin(Value number, Value begin, Value end);
  std::pair<Value, Value> findGroup(Value number);
  std::pair<Value, Value> getBounds(Value group);
};
} // namespace

Value RaggedDot::getGroupSize(Value group) {
  return convertScalar(c.b, c.getElement(op, 2, group),
                       isUnsigned(op.getOperand(2)), c.b.getI64Type(), false);
}

Value RaggedDot::isWithin(Value number, Value begin, Value end) {
  ImplicitLocOpBuilder &b = c.b;
  Value value = arith::IndexCastOp::create(b, b.getI64Type(), number);
  Value isBehind =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, value, begin);
  Value isBefore =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, value, end);
  return arith::AndIOp::create(b, isBehind, isBefore);
}

/// The group that a number along the ragged dimension is in, and whether it is
/// in one.
std::pair<Value, Value> RaggedDot::findGroup(Value number) {
  ImplicitLocOpBuilder &b = c.b;
  Value zero = createScalar(b, b.getI64Type(), 0);
  Value no = createScalar(b, b.getI1Type(), 0);
  Elements found = buildLoops(
      b, numGroups, {zero, c.constantIndex(0), no},
      [&](ValueRange group, ValueRange values) -> Elements {
        Value end = arith::AddIOp::create(b, values[0], getGroupSize(group[0]));
        Value isHere = isWithin(number, values[0], end);
        return SmallVector<Value>{
            end, arith::SelectOp::create(b, isHere, group[0], values[1]),
            arith::OrIOp::create(b, values[2], isHere)};
      });
  return {(*found)[1], (*found)[2]};
}

/// The first number of a group, and the one behind its last.
std::pair<Value, Value> RaggedDot::getBounds(Value group) {
  ImplicitLocOpBuilder &b = c.b;
  Value zero = createScalar(b, b.getI64Type(), 0);
  Elements begin = buildLoops(
      b, numGroups, zero, [&](ValueRange other, ValueRange sum) -> Elements {
        Value isEarlier = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                                other[0], group);
        Value next = arith::AddIOp::create(b, sum[0], getGroupSize(other[0]));
        return SmallVector<Value>{
            arith::SelectOp::create(b, isEarlier, next, sum[0])};
      });
  Value first = begin->front();
  return {first, arith::AddIOp::create(b, first, getGroupSize(group))};
}

Elements RaggedDot::emitElement(ValueRange index) {
  std::pair<Value, Value> bounds, group;
  ValueRange rest = groupDim ? index : index.drop_front();
  ValueRange batch = rest.take_front(lhs.batch.size());
  ValueRange lhsFree = rest.slice(lhs.batch.size(), lhs.free.size());
  ValueRange rhsFree = rest.drop_front(lhs.batch.size() + lhs.free.size());
  if (groupDim)
    group = findGroup(lhs.getIndex(batch, {}, lhsFree)[raggedDim]);
  else
    bounds = getBounds(index.front());
  Products products;
  for (int64_t dim : lhs.contracting)
    products.sizes.push_back(lhs.type.getDimSize(dim));
  products.getIndices = [&](ValueRange, ValueRange inner,
                            SmallVector<Value> &lhsIndex,
                            SmallVector<Value> &rhsIndex) {
    lhsIndex = lhs.getIndex(batch, inner, lhsFree);
    rhsIndex = rhs.getIndex(batch, inner, rhsFree);
    if (!groupDim)
      return isWithin(lhsIndex[raggedDim], bounds.first, bounds.second);
    rhsIndex[*groupDim] = group.first;
    return group.second;
  };
  return emitSum(c, op, products, index);
}

static Elements emitRaggedDot(HLOConverter &c, InstructionOp op,
                              ValueRange index) {
  FailureOr<DotOperand> lhs = getDotOperand(op, 0), rhs = getDotOperand(op, 1);
  SmallVector<int64_t> ragged = getIntegers(op, "lhs_ragged_dims");
  SmallVector<int64_t> counts = getIntegers(op, "rhs_group_dims");
  if (failed(lhs) || failed(rhs) ||
      failed(checkDimensions(op, ragged, lhs->type.getRank())) ||
      failed(checkDimensions(op, counts, rhs->type.getRank())))
    return failure();
  RankedTensorType sizes = getArrayType(op.getOperand(2));
  bool isOne = ragged.size() == 1 && sizes.getRank() == 1 &&
               sizes.getElementType().isInteger();
  bool isFree = isOne && llvm::is_contained(lhs->free, ragged[0]);
  bool isSummed = isOne && llvm::is_contained(lhs->contracting, ragged[0]);
  bool isKnown = isFree ? counts.size() == 1 : isSummed && counts.empty();
  if (!isKnown)
    return emitUnsupported(op, "groups",
                           "one ragged dimension that is of no batch, and "
                           "sizes of one dimension");
  RaggedDot dot{c, op, *lhs, *rhs, ragged[0], sizes.getDimSize(0), {}};
  if (isFree)
    dot.groupDim = counts[0];
  llvm::erase_if(dot.rhs.free,
                 [&](int64_t dim) { return dim == dot.groupDim; });
  size_t numResults = dot.lhs.batch.size() + dot.lhs.free.size() +
                      dot.rhs.free.size() + (isFree ? 0 : 1);
  bool hasGroups =
      isSummed || (rhs->free.size() > dot.rhs.free.size() &&
                   rhs->type.getDimSize(counts[0]) == dot.numGroups);
  if (!hasGroups || lhs->batch.size() != rhs->batch.size() ||
      lhs->contracting.size() != rhs->contracting.size() ||
      index.size() != numResults)
    return emitUnsupported(op, "dimensions", "the same on both sides");
  return dot.emitElement(index);
}

void hlo::populateConvolutionConversions(InstructionConversions &conversions) {
  conversions.elements["convolution"] = emitConvolution;
  conversions.elements["dot"] = emitDot;
  conversions.elements["ragged-dot"] = emitRaggedDot;
  conversions.nests["convolution"] = {hasDimensions, convertConvolution};
  conversions.nests["dot"] = {hasDimensions, convertDot};
  for (StringRef opcode : {"convolution", "dot", "ragged-dot"})
    conversions.reads[opcode] = readAll(Reads::Often);
}
