//===- ExpandOps.cpp - Operations by simpler ones -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/AxisArithmetic.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
// Patterns
//===----------------------------------------------------------------------===//

/// The axes that index operations follow, if they are known.
static FailureOr<AxisList> findAxes(Operation *op, ShapedType type,
                                    PatternRewriter &rewriter) {
  llvm::Expected<AxisList> axes = getAxisList(type);
  if (axes)
    return std::move(*axes);
  return rewriter.notifyMatchFailure(
      op, takeDiagnostic(axes.takeError()).message());
}

namespace {
struct ExpandLinearize : OpRewritePattern<LinearizeIndexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearizeIndexOp op,
                                PatternRewriter &rewriter) const override {
    ShapedType type = op.getShapedType();
    FailureOr<AxisList> axes = findAxes(op, type, rewriter);
    if (failed(axes))
      return failure();
    AxisArithmetic arithmetic(rewriter, op.getLoc(), *axes,
                              getUnboundedDims(type), op.getSizes());
    rewriter.replaceOp(
        op, arithmetic.toValue(arithmetic.linearize(op.getIndices())));
    return success();
  }
};

struct ExpandDelinearize : OpRewritePattern<DelinearizeIndexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DelinearizeIndexOp op,
                                PatternRewriter &rewriter) const override {
    ShapedType type = op.getShapedType();
    FailureOr<AxisList> axes = findAxes(op, type, rewriter);
    if (failed(axes))
      return failure();
    AxisArithmetic arithmetic(rewriter, op.getLoc(), *axes,
                              getUnboundedDims(type), op.getSizes());
    Value valid;
    SmallVector<Value> results =
        arithmetic.delinearize(op.getPosition(), valid);
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
    FailureOr<AxisList> axes = findAxes(op, type, rewriter);
    if (failed(axes))
      return failure();
    auto getSize = [&](unsigned dim) -> Value {
      if (isa<MemRefType>(type))
        return memref::DimOp::create(rewriter, loc, op.getSource(), dim);
      return tensor::DimOp::create(rewriter, loc, op.getSource(), dim);
    };
    SmallVector<unsigned> dims = getUnboundedDims(type);
    AxisArithmetic arithmetic(rewriter, loc, *axes, dims,
                              llvm::map_to_vector(dims, getSize));
    OpFoldResult count =
        arithmetic.countAllocated(getTailPaddingAlignment(type));
    AffineExpr bytes = (rewriter.getAffineDimExpr(0) * *bits).ceilDiv(8);
    rewriter.replaceOp(op, arithmetic.toValue(arithmetic.apply(bytes, count)));
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
    RewritePatternSet expansions(&getContext());
    populateExpandOpsPatterns(expansions);
    FrozenRewritePatternSet patterns(std::move(expansions));
    SmallVector<Operation *> ops = collectExpandable(patterns);
    // Only these and what they become: this pass does not fold the rest,
    // and some folds upstream forget encodings (a transpose that permutes
    // nothing becomes its operand, whatever its type).
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(ops, patterns, config)))
      signalPassFailure();
    numExpanded += ops.size() - collectExpandable(patterns).size();
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

  /// What has a pattern, and folds that are expansions.
  SmallVector<Operation *>
  collectExpandable(const FrozenRewritePatternSet &patterns) {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      bool isOurs = isa_and_nonnull<TesseraDialect>(op->getDialect());
      bool hasPattern =
          patterns.getOpSpecificNativePatterns().contains(op->getName());
      if ((isOurs && hasPattern) || isExpandableTensorOp(op) ||
          isConstantRelayout(op))
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
