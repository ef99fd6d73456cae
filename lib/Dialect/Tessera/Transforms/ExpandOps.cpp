//===- ExpandOps.cpp - Operations by simpler ones -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index operations follow the axes: a position is the mixed radix number whose
// digits are the axis indices. Where all extents are constants this is one
// affine map; where some depend on sizes, strides are values.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDOPS
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Arithmetic along axes
//===----------------------------------------------------------------------===//

namespace {
/// Emits index arithmetic for arrays of one type.
class AxisArithmetic {
public:
  /// `sizes` are those of the dimensions that have no bound.
  static FailureOr<AxisArithmetic> get(OpBuilder &builder, Location loc,
                                       ShapedType type, ValueRange sizes);

  /// The position of an element.
  OpFoldResult linearize(ValueRange indices) const;
  /// The logical index at a position; `valid` says whether there is one.
  SmallVector<Value> delinearize(Value position, Value &valid) const;
  /// Elements of the buffer, when `alignment` is its L.
  OpFoldResult countAllocated(int64_t alignment) const;

  /// `expr` over `operands` as dimensions, folded if it is a constant.
  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> operands) const;
  Value toValue(OpFoldResult result) const {
    return getValueOrCreateConstantIndexOp(builder, loc, result);
  }

private:
  AxisArithmetic(OpBuilder &builder, Location loc, AxisList axes)
      : builder(builder), loc(loc), axes(std::move(axes)) {}

  AffineExpr dim(unsigned i) const { return builder.getAffineDimExpr(i); }
  SmallVector<AffineExpr> dims(unsigned count) const {
    SmallVector<AffineExpr> exprs(count);
    bindDimsList(builder.getContext(), MutableArrayRef(exprs));
    return exprs;
  }
  OpFoldResult getExtent(const Extent &extent) const;
  /// a * b, folded.
  OpFoldResult multiply(OpFoldResult a, OpFoldResult b) const;
  /// Distances between neighbours along each axis, and the product of all.
  SmallVector<OpFoldResult> getStrides(OpFoldResult &positions) const;

  OpBuilder &builder;
  Location loc;
  AxisList axes;
  /// By logical dimension; null where no extent asks for it.
  SmallVector<Value> sizeOfDim;
};
} // namespace

FailureOr<AxisArithmetic> AxisArithmetic::get(OpBuilder &builder, Location loc,
                                              ShapedType type,
                                              ValueRange sizes) {
  llvm::Expected<AxisList> axes = getAxisList(type);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return failure();
  }
  AxisArithmetic arithmetic(builder, loc, std::move(*axes));
  arithmetic.sizeOfDim.resize(type.getRank());
  for (auto [dim, size] : llvm::zip(getUnboundedDims(type), sizes))
    arithmetic.sizeOfDim[dim] = size;
  return arithmetic;
}

OpFoldResult AxisArithmetic::apply(AffineExpr expr,
                                   ArrayRef<OpFoldResult> operands) const {
  OpFoldResult result =
      affine::makeComposedFoldedAffineApply(builder, loc, expr, operands);
  // The operands may be remainders, which are part of the map now.
  if (auto value = dyn_cast<Value>(result))
    if (auto apply = value.getDefiningOp<affine::AffineApplyOp>())
      apply.setMap(separateRemainders(apply.getMap()));
  return result;
}

OpFoldResult AxisArithmetic::getExtent(const Extent &extent) const {
  if (extent.isStatic())
    return builder.getIndexAttr(extent.value);
  return apply(dim(0).ceilDiv(extent.divisor),
               OpFoldResult(sizeOfDim[extent.dim]));
}

OpFoldResult AxisArithmetic::multiply(OpFoldResult a, OpFoldResult b) const {
  // An affine product has a constant factor.
  if (std::optional<int64_t> factor = getConstantIntValue(b))
    return apply(dim(0) * *factor, a);
  if (std::optional<int64_t> factor = getConstantIntValue(a))
    return apply(dim(0) * *factor, b);
  return arith::MulIOp::create(builder, loc, toValue(a), toValue(b))
      .getResult();
}

SmallVector<OpFoldResult>
AxisArithmetic::getStrides(OpFoldResult &positions) const {
  SmallVector<OpFoldResult> strides(axes.size());
  positions = builder.getIndexAttr(1);
  for (size_t i = axes.size(); i-- > 0;) {
    strides[i] = positions;
    positions = multiply(positions, getExtent(axes[i].extent));
  }
  return strides;
}

OpFoldResult AxisArithmetic::linearize(ValueRange indices) const {
  MLIRContext *context = builder.getContext();
  SmallVector<OpFoldResult> operands = getAsOpFoldResult(indices);
  OpFoldResult positions;
  SmallVector<OpFoldResult> strides = getStrides(positions);
  // What has constant strides is one expression; other terms are added to it.
  AffineExpr sum = builder.getAffineConstantExpr(0);
  SmallVector<Value> terms;
  for (size_t i = 0; i < axes.size(); ++i) {
    AffineExpr axis =
        toAffineExpr(axes[i].index, dims(indices.size()), context);
    if (std::optional<int64_t> stride = getConstantIntValue(strides[i]))
      sum = sum + axis * *stride;
    else
      terms.push_back(toValue(multiply(apply(axis, operands), strides[i])));
  }
  OpFoldResult position = apply(sum, operands);
  for (Value term : terms)
    position = arith::AddIOp::create(builder, loc, toValue(position), term)
                   .getResult();
  return position;
}

SmallVector<Value> AxisArithmetic::delinearize(Value position,
                                               Value &valid) const {
  MLIRContext *context = builder.getContext();
  OpFoldResult positions;
  SmallVector<OpFoldResult> strides = getStrides(positions);
  auto isBelow = [&](Value value, OpFoldResult limit) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, value,
                                 toValue(limit));
  };
  // Behind the axes is the tail by L.
  valid = isBelow(position, positions);

  // Axis indices are the digits of the position.
  SmallVector<OpFoldResult> axisIndices;
  for (size_t i = 0; i < axes.size(); ++i) {
    OpFoldResult extent = getExtent(axes[i].extent);
    std::optional<int64_t> stride = getConstantIntValue(strides[i]);
    std::optional<int64_t> size = getConstantIntValue(extent);
    if (stride && size && *stride > 0 && *size > 0) {
      // Nothing is more major than the first axis.
      AffineExpr digit = dim(0).floorDiv(*stride);
      axisIndices.push_back(
          apply(i == 0 ? digit : digit % *size, OpFoldResult(position)));
      continue;
    }
    // An empty array has no digits, and no position at which to ask for them.
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto atLeastOne = [&](OpFoldResult number) -> Value {
      return arith::MaxUIOp::create(builder, loc, toValue(number), one);
    };
    Value quotient =
        arith::DivUIOp::create(builder, loc, position, atLeastOne(strides[i]));
    axisIndices.push_back(
        arith::RemUIOp::create(builder, loc, quotient, atLeastOne(extent))
            .getResult());
  }

  const InverseIndex &inverse = axes.inverse();
  auto evaluate = [&](const IndexExpr &expr) {
    return toValue(
        apply(toAffineExpr(expr, dims(axes.size()), context), axisIndices));
  };
  for (const AxisCondition &condition : inverse.conditions)
    valid = arith::AndIOp::create(
        builder, loc, valid,
        isBelow(evaluate(condition.index), getExtent(condition.limit)));
  return llvm::map_to_vector(inverse.indices, evaluate);
}

OpFoldResult AxisArithmetic::countAllocated(int64_t alignment) const {
  OpFoldResult positions;
  (void)getStrides(positions);
  return apply(dim(0).ceilDiv(alignment) * alignment, positions);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
struct ExpandLinearize : OpRewritePattern<LinearizeIndexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearizeIndexOp op,
                                PatternRewriter &rewriter) const override {
    auto arithmetic = AxisArithmetic::get(rewriter, op.getLoc(),
                                          op.getShapedType(), op.getSizes());
    if (failed(arithmetic))
      return rewriter.notifyMatchFailure(op, "the axes are not known");
    rewriter.replaceOp(
        op, arithmetic->toValue(arithmetic->linearize(op.getIndices())));
    return success();
  }
};

struct ExpandDelinearize : OpRewritePattern<DelinearizeIndexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DelinearizeIndexOp op,
                                PatternRewriter &rewriter) const override {
    auto arithmetic = AxisArithmetic::get(rewriter, op.getLoc(),
                                          op.getShapedType(), op.getSizes());
    if (failed(arithmetic))
      return rewriter.notifyMatchFailure(op, "the axes are not known");
    Value valid;
    SmallVector<Value> results =
        arithmetic->delinearize(op.getPosition(), valid);
    results.push_back(valid);
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct ExpandStorageSize : OpRewritePattern<StorageSizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(StorageSizeOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<ShapedType>(op.getSource().getType());
    llvm::Expected<int64_t> bits = getStorageBits(type);
    if (!bits) {
      llvm::consumeError(bits.takeError());
      return rewriter.notifyMatchFailure(op, "the element type has no width");
    }
    SmallVector<Value> sizes;
    for (unsigned dim : getUnboundedDims(type))
      sizes.push_back(
          isa<MemRefType>(type)
              ? Value(memref::DimOp::create(rewriter, loc, op.getSource(), dim))
              : Value(
                    tensor::DimOp::create(rewriter, loc, op.getSource(), dim)));
    auto arithmetic = AxisArithmetic::get(rewriter, loc, type, sizes);
    if (failed(arithmetic))
      return rewriter.notifyMatchFailure(op, "the axes are not known");
    OpFoldResult count =
        arithmetic->countAllocated(getTailPaddingAlignment(type));
    AffineExpr bytes = (rewriter.getAffineDimExpr(0) * *bits).ceilDiv(8);
    rewriter.replaceOp(op,
                       arithmetic->toValue(arithmetic->apply(bytes, count)));
    return success();
  }
};

/// The copy is done where it starts.
struct ExpandCopy : OpRewritePattern<CopyStartOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CopyStartOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.eraseOp(op.getDone());
    if (op.isTensorForm()) {
      auto relayout = RelayoutOp::create(
          rewriter, op.getLoc(), op.getResult().getType(), op.getSource());
      rewriter.replaceAllUsesWith(op.getResult(), relayout.getResult());
    } else {
      RelayoutOp::create(rewriter, op.getLoc(), op.getSource(),
                         op.getDestination());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct ExpandAssumeLayout : OpRewritePattern<AssumeLayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AssumeLayoutOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<RelayoutOp>(op, op.getType(), op.getSource());
    return success();
  }
};

/// In row-major order without padding, a reshape moves nothing. With static
/// sizes that is a bitcast; else it stays a reshape, which is made a view with
/// the buffers.
struct ExpandReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType from = op.getSource().getType(), to = op.getType();
    llvm::Expected<int64_t> space = getMemorySpaceNumber(from);
    if (!space) {
      llvm::consumeError(space.takeError());
      return rewriter.notifyMatchFailure(op, "the memory space has no number");
    }
    RankedTensorType flatFrom = getRowMajorType(from, *space);
    RankedTensorType flatTo = getRowMajorType(to, *space);
    if (from == flatFrom && to == flatTo && !isStatic(op))
      return rewriter.notifyMatchFailure(op, "nothing is left to be done");
    Location loc = op.getLoc();
    Value flat =
        RelayoutOp::create(rewriter, loc, flatFrom, op.getSource()).getResult();
    if (isStatic(op))
      flat = BitcastOp::create(rewriter, loc, flatTo, flat, /*fused=*/false);
    else
      flat = ReshapeOp::create(rewriter, loc, flatTo, flat);
    rewriter.replaceOpWithNewOp<RelayoutOp>(op, to, flat);
    return success();
  }

private:
  static bool isStatic(ReshapeOp op) {
    return op.getSource().getType().hasStaticShape() &&
           op.getType().hasStaticShape();
  }

  static RankedTensorType getRowMajorType(RankedTensorType type,
                                          int64_t space) {
    Layout layout = Layout::descending(type.getRank());
    layout.memorySpace = space;
    auto encoding = space == 0
                        ? LayoutAttr()
                        : LayoutAttr::get(type.getContext(), std::move(layout));
    return RankedTensorType::get(type.getShape(), type.getElementType(),
                                 encoding);
  }
};

/// Whether the relayout may fold to a constant, which weights should.
static bool isConstantRelayout(Operation *op) {
  return isa<RelayoutOp>(op) && matchPattern(op->getOperand(0), m_Constant());
}

struct ExpandOpsPass : tessera::impl::ExpandOpsBase<ExpandOpsPass> {
  void runOnOperation() override {
    expandArithmetic();
    SmallVector<Operation *> ops = collectExpandable();
    RewritePatternSet patterns(&getContext());
    populateExpandOpsPatterns(patterns);
    // Only these and what they become: this pass does not fold the rest,
    // and some folds upstream forget encodings (a transpose that permutes
    // nothing becomes its operand, whatever its type).
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
      signalPassFailure();
    numExpanded += ops.size() - collectExpandable().size();
  }

private:
  void expandArithmetic() {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isElementwiseOnTensors(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops)
      expandElementwise(rewriter, op);
    numExpanded += ops.size();
  }

  SmallVector<Operation *> collectExpandable() {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isExpandableTensorOp(op) || isConstantRelayout(op) ||
          isa<AssumeLayoutOp, CopyStartOp, DelinearizeIndexOp, LinearizeIndexOp,
              ReshapeOp, StorageSizeOp>(op))
        ops.push_back(op);
    });
    return ops;
  }
};
} // namespace

void tessera::populateExpandOpsPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandAssumeLayout, ExpandCopy, ExpandDelinearize,
               ExpandLinearize, ExpandReshape, ExpandStorageSize>(
      patterns.getContext());
  populateExpandSlicesPatterns(patterns);
}
