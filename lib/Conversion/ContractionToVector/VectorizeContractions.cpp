//===- VectorizeContractions.cpp - Sums of products in registers ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../TesseraToVector/FlatView.h"
#include "../TesseraToVector/Remarks.h"
#include "EmitContraction.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/PassOptions.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace tessera {
#define GEN_PASS_DEF_VECTORIZECONTRACTIONS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static llvm::Error unsupportedContraction(const Twine &expected,
                                          const Twine &found) {
  return unsupportedError("contraction", expected, found,
                          "lower it with --tessera-linalg-to-loops");
}

//===----------------------------------------------------------------------===//
// What is computed
//===----------------------------------------------------------------------===//

static bool hasFlags(Operation *op, arith::FastMathFlags wanted) {
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  return fast && arith::bitEnumContainsAll(
                     fast.getFastMathFlagsAttr().getValue(), wanted);
}

/// The conversions that make `value` of argument `argument`; nothing where
/// something else does.
static std::optional<SmallVector<Operation *, 1>>
getCasts(Value value, BlockArgument argument) {
  SmallVector<Operation *, 1> casts;
  while (value != argument) {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp,
                    arith::SIToFPOp, arith::UIToFPOp>(op))
      return std::nullopt;
    casts.insert(casts.begin(), op);
    value = op->getOperand(0);
  }
  return casts;
}

/// Whether `op` applies conversions of the two factors to them, and nothing
/// else to anything.
static bool matchProduct(Operation *multiply, Block &block,
                         ContractionBody &body) {
  if (!isa_and_present<arith::MulFOp, arith::MulIOp>(multiply))
    return false;
  for (unsigned first : {0, 1}) {
    auto lhs = getCasts(multiply->getOperand(first), block.getArgument(0));
    auto rhs = getCasts(multiply->getOperand(1 - first), block.getArgument(1));
    if (!lhs || !rhs)
      continue;
    body.casts[0] = std::move(*lhs);
    body.casts[1] = std::move(*rhs);
    body.multiply = multiply;
    return true;
  }
  return false;
}

/// The coefficients of all dimensions of the iteration in an index; nothing
/// where it is no sum of them.
static std::optional<SmallVector<int64_t>> getCoefficients(AffineExpr index,
                                                           unsigned numDims) {
  SmallVector<int64_t> flat;
  if (failed(getFlattenedAffineExpr(index, numDims, /*numSymbols=*/0, &flat)) ||
      flat.size() != numDims + 1 || flat.back() != 0 ||
      llvm::any_of(flat, [](int64_t number) { return number < 0; }))
    return std::nullopt;
  flat.pop_back();
  return flat;
}

/// Whether indices are sums of dimensions of the iteration, each dimension in
/// one of them at most.
static bool hasWindows(AffineMap map) {
  SmallVector<unsigned> counts(map.getNumDims(), 0);
  for (AffineExpr index : map.getResults()) {
    auto coefficients = getCoefficients(index, map.getNumDims());
    if (!coefficients)
      return false;
    for (auto [coefficient, count] : llvm::zip_equal(*coefficients, counts))
      count += coefficient != 0;
  }
  return llvm::all_of(counts, [](unsigned count) { return count <= 1; });
}

/// Whether two memrefs are combined into a third, each with dimensions of the
/// iteration, or windows that move along them.
static bool hasOperandsOfContraction(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && op->getNumOperands() == 3 &&
         op.getNumDpsInits() == 1 &&
         llvm::all_of(op.getIndexingMapsArray(), hasWindows) &&
         op.getIndexingMapsArray().back().isProjectedPermutation(
             /*allowZeroInResults=*/true);
}

/// The sum and the product that an operation consists of.
static std::optional<ContractionBody> getBody(linalg::LinalgOp op) {
  Block &block = *op.getBlock();
  ContractionBody body;
  Operation *add = block.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::AddIOp>(add))
    return std::nullopt;
  body.add = add;
  bool isProduct = false;
  for (unsigned sum : {0, 1})
    isProduct |=
        add->getOperand(sum) == block.getArgument(2) &&
        matchProduct(add->getOperand(1 - sum).getDefiningOp(), block, body);
  size_t count = 3 + body.casts[0].size() + body.casts[1].size();
  if (!isProduct || block.getOperations().size() != count)
    return std::nullopt;
  return body;
}

/// Whether registers hold such elements.
static bool isRegisterType(Type type) {
  if (isa<Float32Type, Float64Type, Float16Type, BFloat16Type>(type))
    return true;
  return type.isSignlessInteger() &&
         llvm::is_contained({8, 16, 32, 64}, type.getIntOrFloatBitWidth());
}

static ContractionElements getElements(const ContractionBody &body,
                                       ArrayRef<MemRefType> types) {
  auto getBits = [&](unsigned i) -> int64_t {
    return types[i].getElementTypeBitWidth();
  };
  auto isBF16 = [&](unsigned i) {
    return types[i].getElementType().isBF16() && body.casts[i].size() == 1;
  };
  ContractionElements elements{getBits(0), getBits(1), getBits(2)};
  elements.convertsLhs = !body.casts[0].empty();
  elements.convertsRhs = !body.casts[1].empty();
  elements.isBF16 = isBF16(0) && isBF16(1) && body.sumType().isF32();
  auto contract = arith::FastMathFlags::contract;
  elements.mayReorder =
      isa<arith::AddIOp>(body.add) ||
      (hasFlags(body.add, contract | arith::FastMathFlags::reassoc) &&
       hasFlags(body.multiply, contract));
  return elements;
}

//===----------------------------------------------------------------------===//
// Where it is
//===----------------------------------------------------------------------===//

/// The axes of an operand, if its elements are stored as they are computed
/// with.
static llvm::Expected<AxisList> getAxes(Value operand) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  if (!type || !type.hasStaticShape() || !isRegisterType(type.getElementType()))
    return unsupportedContraction("memrefs of static shape, of numbers of 8 to "
                                  "64 bits",
                                  debugString(operand.getType()));
  llvm::Expected<StoredArray> array = getStoredArray(type);
  if (!array)
    return array.takeError();
  if (array->isStrided || !array->axes.isStatic() ||
      array->physical.getElementType() != type.getElementType() ||
      array->bits != type.getElementTypeBitWidth())
    return unsupportedContraction("elements stored with their own width, from "
                                  "the start of a buffer",
                                  debugString(type));
  return std::move(array->axes);
}

/// The kind of a dimension that some of lhs, rhs and result have.
static std::optional<ContractionDim::Kind> getKind(ArrayRef<ArrayDim> dims) {
  using Kind = ContractionDim::Kind;
  bool inLhs = dims[Lhs].axes, inRhs = dims[Rhs].axes,
       inResult = dims[Result].axes;
  if (inLhs && inRhs)
    return inResult ? Kind::Batch : Kind::Sum;
  if (inResult && inLhs != inRhs)
    return inLhs ? Kind::Row : Kind::Column;
  return std::nullopt;
}

/// The dimension of an array that a dimension of the iteration moves along.
static ArrayDim findDim(AffineMap map, const AxisList &axes, unsigned loop) {
  for (auto [dim, index] : llvm::enumerate(map.getResults())) {
    auto coefficients = *getCoefficients(index, map.getNumDims());
    size_t count = llvm::count_if(coefficients, [](int64_t c) { return c; });
    if (coefficients[loop] != 0)
      return {&axes, unsigned(dim), coefficients[loop], count > 1};
  }
  return {};
}

/// Makes one dimension of those that go on where others end.
static void mergeDims(SmallVector<ContractionDim> &dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    for (size_t j = 0; j < dims.size(); ++j)
      if (i != j && dims[i].goesOn(dims[j])) {
        dims[j].size *= dims[i].size;
        dims.erase(dims.begin() + i);
        return mergeDims(dims);
      }
}

/// The dimensions of the iteration.
static llvm::Expected<SmallVector<ContractionDim>>
getDims(linalg::LinalgOp op, ArrayRef<AxisList> axes) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<ContractionDim> dims;
  for (auto [loop, size] : llvm::enumerate(sizes)) {
    SmallVector<ArrayDim> ofArrays;
    for (auto [map, list] : llvm::zip_equal(maps, axes))
      ofArrays.push_back(findDim(map, list, loop));
    if (size == 1)
      continue;
    std::optional<ContractionDim::Kind> kind = getKind(ofArrays);
    if (!kind || size == 0)
      return unsupportedContraction(
          "dimensions of rows, columns, sums or of all arrays",
          "dimension " + Twine(loop) + " of size " + Twine(size));
    auto dim = ContractionDim::get(*kind, size, ofArrays);
    if (!dim)
      return unsupportedContraction("tile sizes that divide one another",
                                    "others in dimension " + Twine(loop));
    dims.push_back(std::move(*dim));
  }
  mergeDims(dims);
  return dims;
}

static llvm::Error vectorize(linalg::LinalgOp op, const ContractionBody &body,
                             const ContractionTarget &target) {
  std::vector<AxisList> axes;
  SmallVector<MemRefType> types;
  for (Value operand : op->getOperands()) {
    llvm::Expected<AxisList> list = getAxes(operand);
    if (!list)
      return list.takeError();
    axes.push_back(std::move(*list));
    types.push_back(cast<MemRefType>(operand.getType()));
  }
  if (!isInFunction(op))
    return unsupportedContraction("a function around it", "one outside");
  auto dims = getDims(op, axes);
  if (!dims)
    return dims.takeError();
  auto plan = ContractionPlan::get(*dims, getElements(body, types), target);
  if (!plan)
    return plan.takeError();
  OpBuilder builder(op);
  SmallVector<Value> views;
  for (Value operand : op->getOperands())
    views.push_back(flattenPhysical(builder, op.getLoc(), operand));
  emitContraction(builder, op.getLoc(), *plan, body, views);
  return llvm::Error::success();
}

namespace {
struct VectorizeContractionsPass
    : tessera::impl::VectorizeContractionsBase<VectorizeContractionsPass> {
  using Base::Base;

  LogicalResult checkOptions() {
    bool isVector = llvm::is_contained({16, 32, 64}, vectorBytes.getValue());
    return success(
        succeeded(checkOption(getOperation(), vectorBytes.ArgStr, isVector,
                              "16, 32 or 64", Twine(vectorBytes))) &&
        succeeded(checkRange(getOperation(), vectorRegisters, 4, 64)) &&
        succeeded(checkRange(getOperation(), threads, 1, kMaxThreads)) &&
        succeeded(checkRange(getOperation(), parallelBytes, 0)));
  }

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    if (!enabled)
      return;
    ContractionTarget target{vectorBytes, vectorRegisters, bf16Pairs, threads,
                             parallelBytes};
    SmallVector<std::pair<linalg::LinalgOp, ContractionBody>> contractions;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (!hasOperandsOfContraction(op))
        return;
      if (std::optional<ContractionBody> body = getBody(op))
        contractions.emplace_back(op, std::move(*body));
    });
    for (auto &[op, body] : contractions) {
      if (llvm::Error error = vectorize(op, body, target)) {
        remarkLeft(op, "ContractionLeft", getArgument(), std::move(error));
        ++numLeft;
        continue;
      }
      op->erase();
      ++numVectorized;
    }
  }
};
} // namespace
