//===- AssertFaults.cpp - Assert what would end a process -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mlir/Interfaces/VectorInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_ASSERTFAULTS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using arith::CmpIPredicate;

/// Elements of an array whose sizes are known at run time only. Widened by
/// tiles, and in bytes, they still can be counted.
static constexpr int64_t kMaxElements = int64_t(1) << 44;

/// Where `op` is, and which: the begin of a message.
static std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto location = op->getLoc()->findInstanceOf<FileLineColLoc>())
    os << location.getFilename().getValue() << ':' << location.getLine() << ':'
       << location.getColumn() << ": ";
  os << "'" << op->getName() << "': ";
  return text;
}

/// All elements of a vector, or the only one.
static Value reduce(ImplicitLocOpBuilder &b, Value condition) {
  if (!isa<VectorType>(condition.getType()))
    return condition;
  auto type = cast<VectorType>(condition.getType());
  auto flat = VectorType::get(type.getNumElements(), type.getElementType());
  if (type != flat)
    condition = vector::ShapeCastOp::create(b, flat, condition);
  return vector::ReductionOp::create(b, vector::CombiningKind::AND, condition);
}

static void emitAssert(ImplicitLocOpBuilder &b, Operation *op, Value condition,
                       const Twine &what) {
  cf::AssertOp::create(b, reduce(b, condition), (describe(op) + what).str());
}

static Value compare(ImplicitLocOpBuilder &b, CmpIPredicate predicate,
                     Value value, const APInt &number) {
  auto type = value.getType();
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), number);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, cast<Attribute>(attr));
  Value constant = arith::ConstantOp::create(b, attr);
  return arith::CmpIOp::create(b, predicate, value, constant);
}

static Value compare(ImplicitLocOpBuilder &b, CmpIPredicate predicate,
                     Value index, int64_t number) {
  return compare(b, predicate, index, APInt(64, number, /*isSigned=*/true));
}

//===----------------------------------------------------------------------===//
// Divisions
//===----------------------------------------------------------------------===//

static bool isSignedDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp,
             arith::FloorDivSIOp>(op);
}

static bool isDivision(Operation *op) {
  return isSignedDivision(op) ||
         isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
}

static void assertDivision(ImplicitLocOpBuilder &b, Operation *op) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  Type type = getElementTypeOrSelf(right);
  if (isa<TensorType>(right.getType()))
    return;
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  emitAssert(b, op, compare(b, CmpIPredicate::ne, right, APInt(width, 0)),
             "division by zero");
  if (!isSignedDivision(op))
    return;
  Value isOther =
      compare(b, CmpIPredicate::ne, left, APInt::getSignedMinValue(width));
  Value isNoMinusOne =
      compare(b, CmpIPredicate::ne, right, APInt::getAllOnes(width));
  emitAssert(b, op, arith::OrIOp::create(b, isOther, isNoMinusOne),
             "the smallest number divided by -1");
}

/// What affine expressions divide by, where that is no constant.
static void assertAffineDivisors(ImplicitLocOpBuilder &b, Operation *op,
                                 AffineMap map, ValueRange operands) {
  map.walkExprs([&](AffineExpr expr) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    bool divides =
        llvm::is_contained({AffineExprKind::Mod, AffineExprKind::FloorDiv,
                            AffineExprKind::CeilDiv},
                           expr.getKind());
    if (!divides || isa<AffineConstantExpr>(binary.getRHS()))
      return;
    auto divisor =
        AffineMap::get(map.getNumDims(), map.getNumSymbols(), binary.getRHS());
    Value value = affine::AffineApplyOp::create(b, divisor, operands);
    emitAssert(b, op, compare(b, CmpIPredicate::sgt, value, 0),
               "division by a number that is not positive");
  });
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static void assertInRange(ImplicitLocOpBuilder &b, Operation *op, Value index,
                          Value memref, int64_t dim, int64_t extent) {
  Value size = memref::DimOp::create(b, memref, dim);
  if (extent > 1)
    size = arith::SubIOp::create(b, size,
                                 arith::ConstantIndexOp::create(b, extent - 1));
  Value isBelow = arith::CmpIOp::create(b, CmpIPredicate::slt, index, size);
  Value isPositive = compare(b, CmpIPredicate::sge, index, 0);
  emitAssert(b, op, arith::AndIOp::create(b, isPositive, isBelow),
             "index out of bounds");
}

/// Accesses of affine maps; those of one element or of vectors.
static void assertAffineAccess(ImplicitLocOpBuilder &b, Operation *op,
                               Value memref, AffineMap map, ValueRange operands,
                               VectorType vector) {
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    auto one = AffineMap::get(map.getNumDims(), map.getNumSymbols(), expr);
    Value index = affine::AffineApplyOp::create(b, one, operands);
    int64_t behind = map.getNumResults() - dim;
    int64_t extent = vector && behind <= vector.getRank()
                         ? vector.getDimSize(vector.getRank() - behind)
                         : 1;
    assertInRange(b, op, index, memref, dim, extent);
  }
}

static void assertVectorAccess(ImplicitLocOpBuilder &b, Operation *op,
                               Value memref, ValueRange indices,
                               VectorType vector) {
  AffineMap map = b.getMultiDimIdentityMap(indices.size());
  assertAffineAccess(b, op, memref, map, indices, vector);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// That an array of these sizes can be: none is negative, and their product can
/// be counted.
static void assertSizes(ImplicitLocOpBuilder &b, Operation *op,
                        ArrayRef<OpFoldResult> sizes) {
  Value count = arith::ConstantIndexOp::create(b, 1);
  Value one = count, most = arith::ConstantIndexOp::create(b, kMaxElements);
  for (OpFoldResult size : sizes) {
    Value value = getValueOrCreateConstantIndexOp(b, b.getLoc(), size);
    emitAssert(b, op, compare(b, CmpIPredicate::sge, value, 0),
               "negative size");
    Value divisor = arith::MaxSIOp::create(b, value, one);
    Value room = arith::DivUIOp::create(b, most, divisor);
    emitAssert(b, op, arith::CmpIOp::create(b, CmpIPredicate::sle, count, room),
               "more elements than can be counted");
    count = arith::MulIOp::create(b, count, divisor);
  }
}

/// That sizes are within those for which the layout has memory.
static void assertBounds(ImplicitLocOpBuilder &b, Operation *op,
                         RankedTensorType type, ArrayRef<OpFoldResult> sizes) {
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  if (!layout || layout.getLayout().bounds.empty())
    return;
  for (auto [size, bound] : llvm::zip(sizes, layout.getLayout().bounds))
    if (bound != kDynamic)
      emitAssert(b, op,
                 compare(b, CmpIPredicate::sle,
                         getValueOrCreateConstantIndexOp(b, b.getLoc(), size),
                         bound),
                 "size beyond the bound of the layout, " + Twine(bound));
}

/// Sizes that an operation makes of others, of each of its results.
static void assertResultSizes(ImplicitLocOpBuilder &b, Operation *op) {
  auto isDynamic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.hasStaticShape();
  };
  ReifiedRankedShapedTypeDims shapes;
  if (!isa<ReifyRankedShapedTypeOpInterface>(op) ||
      llvm::none_of(op->getResultTypes(), isDynamic) ||
      failed(reifyResultShapes(b, op, shapes)))
    return;
  for (auto [type, sizes] : llvm::zip(op->getResultTypes(), shapes))
    if (isDynamic(type)) {
      assertSizes(b, op, sizes);
      assertBounds(b, op, cast<RankedTensorType>(type), sizes);
    }
}

template <typename OpTy>
static void assertAllocation(ImplicitLocOpBuilder &b, OpTy op) {
  assertSizes(b, op, op.getMixedSizes());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void assertSteps(ImplicitLocOpBuilder &b, Operation *op,
                        ValueRange steps) {
  for (Value step : steps)
    emitAssert(b, op,
               compare(b, CmpIPredicate::sgt, step,
                       APInt(step.getType().isIndex()
                                 ? 64
                                 : step.getType().getIntOrFloatBitWidth(),
                             0)),
               "a step that is not positive");
}

static void assertAffine(ImplicitLocOpBuilder &b, Operation *op) {
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    assertAffineDivisors(b, op, apply.getAffineMap(), apply.getMapOperands());
  if (auto min = dyn_cast<affine::AffineMinOp>(op))
    assertAffineDivisors(b, op, min.getAffineMap(), min.getOperands());
  if (auto max = dyn_cast<affine::AffineMaxOp>(op))
    assertAffineDivisors(b, op, max.getAffineMap(), max.getOperands());
  auto vector = [&]() -> VectorType {
    if (auto load = dyn_cast<affine::AffineVectorLoadOp>(op))
      return load.getVectorType();
    if (auto store = dyn_cast<affine::AffineVectorStoreOp>(op))
      return store.getVectorType();
    return {};
  }();
  if (auto read = dyn_cast<affine::AffineReadOpInterface>(op))
    assertAffineAccess(b, op, read.getMemRef(), read.getAffineMap(),
                       read.getMapOperands(), vector);
  if (auto write = dyn_cast<affine::AffineWriteOpInterface>(op))
    assertAffineAccess(b, op, write.getMemRef(), write.getAffineMap(),
                       write.getMapOperands(), vector);
}

/// Sizes that a cast says are known. Upstream's check looks at strides too,
/// which memory with tiles does not have.
static void assertCast(ImplicitLocOpBuilder &b, memref::CastOp op) {
  auto from = dyn_cast<MemRefType>(op.getSource().getType());
  auto to = dyn_cast<MemRefType>(op.getType());
  if (!from || !to)
    return;
  for (int64_t dim = 0; dim < to.getRank(); ++dim) {
    if (!from.isDynamicDim(dim) || to.isDynamicDim(dim))
      continue;
    Value size = memref::DimOp::create(b, op.getSource(), dim);
    emitAssert(b, op, compare(b, CmpIPredicate::eq, size, to.getDimSize(dim)),
               "another size than that of the result");
  }
}

/// Whether all memrefs of an operation are what upstream's checks are for.
static bool hasStrides(Operation *op) {
  auto hasStrides = [](Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    return !memref || memref.isStrided();
  };
  return llvm::all_of(op->getOperandTypes(), hasStrides) &&
         llvm::all_of(op->getResultTypes(), hasStrides);
}

static void assertFaults(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  if (isDivision(op))
    assertDivision(b, op);
  assertAffine(b, op);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    assertSteps(b, op, loop.getStep());
  if (auto loop = dyn_cast<scf::ParallelOp>(op))
    assertSteps(b, op, loop.getStep());
  if (auto load = dyn_cast<vector::LoadOp>(op))
    assertVectorAccess(b, op, load.getBase(), load.getIndices(),
                       load.getVectorType());
  if (auto store = dyn_cast<vector::StoreOp>(op))
    assertVectorAccess(b, op, store.getBase(), store.getIndices(),
                       store.getVectorType());
  if (auto alloc = dyn_cast<memref::AllocOp>(op))
    assertAllocation(b, alloc);
  if (auto alloca = dyn_cast<memref::AllocaOp>(op))
    assertAllocation(b, alloca);
  assertResultSizes(b, op);
  auto cast = dyn_cast<memref::CastOp>(op);
  if (cast && !hasStrides(op))
    assertCast(b, cast);
  else if (auto verifiable = dyn_cast<RuntimeVerifiableOpInterface>(op))
    verifiable.generateRuntimeVerification(
        b, op->getLoc(), [](Operation *op, StringRef message) {
          return describe(op) + message.str();
        });
}

/// Stacks are short, and sizes known at run time only.
static void moveToHeap(memref::AllocaOp op) {
  OpBuilder builder(op);
  auto buffer = memref::AllocOp::create(
      builder, op.getLoc(), op.getType(), op.getDynamicSizes(),
      op.getSymbolOperands(), op.getAlignmentAttr());
  op.replaceAllUsesWith(buffer.getResult());
  op.erase();
}

/// Upstream's checks ask for ranks, which nothing else here does.
static void foldRank(Operation *op) {
  if (!isa<tensor::RankOp, memref::RankOp>(op))
    return;
  auto type = dyn_cast<ShapedType>(op->getOperand(0).getType());
  if (!type || !type.hasRank())
    return;
  OpBuilder builder(op);
  op->replaceAllUsesWith(
      arith::ConstantIndexOp::create(builder, op->getLoc(), type.getRank()));
  op->erase();
}

namespace {
struct AssertFaultsPass : tessera::impl::AssertFaultsBase<AssertFaultsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    SmallVector<memref::AllocaOp> buffers;
    getOperation()->walk([&](Operation *op) {
      ops.push_back(op);
      if (auto buffer = dyn_cast<memref::AllocaOp>(op))
        buffers.push_back(buffer);
      // Messages that come without a location get one.
      if (auto assertion = dyn_cast<cf::AssertOp>(op))
        assertion.setMsg(describe(op) + assertion.getMsg().str());
    });
    for (Operation *op : ops)
      assertFaults(op);
    for (memref::AllocaOp buffer : buffers)
      moveToHeap(buffer);
    getOperation()->walk(foldRank);
  }
};
} // namespace
