//===- ExpandSlices.cpp - Slices and reshapes of laid-out tensors ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream bufferizes slices and reshapes of tensors as views with strides. A
// layout with tiles has none, so these become accesses to elements, which every
// layout has.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

/// Whether a tensor that goes in or comes out has a layout.
static bool hasLaidOutTensor(Operation *op) {
  auto hasLayout = [](Type type) {
    return isa<RankedTensorType>(type) && getLayoutAttr(type);
  };
  return llvm::any_of(op->getOperandTypes(), hasLayout) ||
         llvm::any_of(op->getResultTypes(), hasLayout);
}

//===----------------------------------------------------------------------===//
// Positions in slices
//===----------------------------------------------------------------------===//

namespace {
/// Where the elements of a slice are in the array that it is a slice of.
struct Slice {
  SmallVector<OpFoldResult> offsets, strides;
  /// Dimensions of the array that the slice does not have.
  llvm::SmallBitVector dropped;

  template <typename OpTy> static Slice get(OpTy op) {
    return {op.getMixedOffsets(), op.getMixedStrides(), op.getDroppedDims()};
  }

  /// The index in the array of the element at `index` in the slice.
  SmallVector<Value> buildIndices(OpBuilder &builder, Location loc,
                                  ValueRange index) const;
};
} // namespace

/// offset + index * stride, as an affine expression where it is one.
static Value buildPosition(OpBuilder &builder, Location loc, Value index,
                           OpFoldResult offset, OpFoldResult stride) {
  auto knownOffset = getConstantIntValue(offset);
  auto knownStride = getConstantIntValue(stride);
  if (knownOffset && knownStride) {
    AffineExpr expr = builder.getAffineDimExpr(0) * *knownStride + *knownOffset;
    // The map must not be canonicalized: it would take an index of linalg,
    // which becomes a loop variable later, for a symbol.
    return affine::AffineApplyOp::create(
        builder, loc, AffineMap::get(1, 0, expr), ValueRange(index));
  }
  Value scaled = index;
  if (knownStride != 1)
    scaled = arith::MulIOp::create(
        builder, loc, index,
        getValueOrCreateConstantIndexOp(builder, loc, stride));
  return arith::AddIOp::create(
      builder, loc, scaled,
      getValueOrCreateConstantIndexOp(builder, loc, offset));
}

SmallVector<Value> Slice::buildIndices(OpBuilder &builder, Location loc,
                                       ValueRange index) const {
  SmallVector<Value> indices;
  for (size_t dim = 0; dim < offsets.size(); ++dim) {
    if (dropped[dim]) {
      indices.push_back(
          getValueOrCreateConstantIndexOp(builder, loc, offsets[dim]));
      continue;
    }
    indices.push_back(
        buildPosition(builder, loc, index.front(), offsets[dim], strides[dim]));
    index = index.drop_front();
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// What wants the slice: a relayout of it, where nothing else does, else the
/// slice itself.
static Operation *getTarget(tensor::ExtractSliceOp op) {
  auto relayout =
      op->hasOneUse() ? dyn_cast<RelayoutOp>(*op->user_begin()) : RelayoutOp();
  return relayout ? relayout : op;
}

/// The relayout of what is inserted, where nothing else wants it. The elements
/// are read one by one, which every layout allows, so it can be left out.
static RelayoutOp getRelayout(tensor::InsertSliceOp op) {
  auto relayout = op.getSource().getDefiningOp<RelayoutOp>();
  return relayout && relayout->hasOneUse() ? relayout : RelayoutOp();
}

namespace {
/// A new tensor whose elements are read from the array. One that would be
/// relayouted at once is made in the layout that is wanted.
struct ExpandExtractSlice : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    if (!hasLaidOutTensor(op))
      return rewriter.notifyMatchFailure(op, "upstream bufferizes it");
    Location loc = op.getLoc();
    Operation *target = getTarget(op);
    auto type = cast<RankedTensorType>(target->getResult(0).getType());
    Slice slice = Slice::get(op);
    SmallVector<Value> sizes;
    unsigned dim = 0;
    for (auto [i, size] : llvm::enumerate(op.getMixedSizes()))
      if (!slice.dropped[i] && type.isDynamicDim(dim++))
        sizes.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, size));
    Value empty = EmptyOp::create(rewriter, loc, type, sizes);
    int64_t rank = type.getRank();
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        target, TypeRange(type), ValueRange(), ValueRange(empty),
        ArrayRef<AffineMap>{rewriter.getMultiDimIdentityMap(rank)}, iterators,
        [&](OpBuilder &builder, Location loc, ValueRange) {
          SmallVector<Value> index;
          for (int64_t i = 0; i < rank; ++i)
            index.push_back(linalg::IndexOp::create(builder, loc, i));
          Value element = tensor::ExtractOp::create(
              builder, loc, op.getSource(),
              slice.buildIndices(builder, loc, index));
          linalg::YieldOp::create(builder, loc, element);
        });
    return success();
  }
};

/// Loops that write the elements into the array. One that is relayouted before
/// is read in the layout that it has, without a buffer between.
struct ExpandInsertSlice : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    if (!hasLaidOutTensor(op))
      return rewriter.notifyMatchFailure(op, "upstream bufferizes it");
    Location loc = op.getLoc();
    Slice slice = Slice::get(op);
    RelayoutOp relayout = getRelayout(op);
    Value origin = relayout ? relayout.getSource() : op.getSource();
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    int64_t rank = op.getSourceType().getRank();
    SmallVector<Value> lower(rank, zero), steps(rank, one), upper;
    for (OpFoldResult size : tensor::getMixedSizes(rewriter, loc, origin))
      upper.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, size));
    scf::LoopNest nest = scf::buildLoopNest(
        rewriter, loc, lower, upper, steps, ValueRange(op.getDest()),
        [&](OpBuilder &builder, Location loc, ValueRange index,
            ValueRange carried) -> scf::ValueVector {
          Value element =
              tensor::ExtractOp::create(builder, loc, origin, index);
          return {tensor::InsertOp::create(
              builder, loc, element, carried.front(),
              slice.buildIndices(builder, loc, index))};
        });
    rewriter.replaceOp(op, nest.results);
    if (relayout)
      rewriter.eraseOp(relayout);
    return success();
  }
};

/// Dimensions that are split or merged: a reshape between two layouts.
template <typename OpTy> struct ExpandReassociation : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    // The rules of tessera.reshape.
    bool hasEmptyDim = llvm::is_contained(type.getShape(), 0);
    if (!hasLaidOutTensor(op) || type.getNumDynamicDims() > 1 ||
        (type.getNumDynamicDims() == 1 && hasEmptyDim))
      return rewriter.notifyMatchFailure(op, "no reshape stands for it");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, op.getSrc());
    return success();
  }
};
} // namespace

bool tessera::isExpandableTensorOp(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::ExtractSliceOp, tensor::InsertSliceOp>(op) &&
         hasLaidOutTensor(op);
}

void tessera::populateExpandSlicesPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandExtractSlice, ExpandInsertSlice,
               ExpandReassociation<tensor::CollapseShapeOp>,
               ExpandReassociation<tensor::ExpandShapeOp>>(
      patterns.getContext());
}
