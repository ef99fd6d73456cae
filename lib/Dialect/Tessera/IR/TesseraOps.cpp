//===- TesseraOps.cpp - Operations of the tessera dialect -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "OpUtils.h"
#include "tessera/Dialect/Tessera/IR/AxisArithmetic.h"
#include "tessera/Dialect/Tessera/IR/LayOutElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::detail;

#define GET_OP_CLASSES
#include "tessera/Dialect/Tessera/IR/TesseraOps.cpp.inc"

//===----------------------------------------------------------------------===//
// RelayoutOp
//===----------------------------------------------------------------------===//

LogicalResult RelayoutOp::verify() {
  if (failed(verifyForm(*this, getSource(), getDestination(), getResult(),
                        "relayout_c1")))
    return failure();
  return verifySameArray(*this, getSourceType(), getTargetType(), "relayout_c2",
                         "relayout_c3");
}

Speculation::Speculatability RelayoutOp::getSpeculatability() {
  return isTensorForm() ? Speculation::Speculatable
                        : Speculation::NotSpeculatable;
}

void RelayoutOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isTensorForm())
    return;
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
  effects.emplace_back(MemoryEffects::Write::get(),
                       &*getDestinationMutable().begin());
}

LogicalResult
RelayoutOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  if (!isTensorForm())
    return failure();
  shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getSource()));
  return success();
}

/// The constant in the layout of `to`; null where the buffer of that would not
/// be written down (canLayOutElements), so that elements would have to be moved
/// after all. A move between memory spaces stays.
static Attribute relayoutConstant(Attribute value, ShapedType from,
                                  ShapedType to) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(value);
  auto tensor = dyn_cast<RankedTensorType>(to);
  if (!elements || !tensor || !haveSameSpace(from, to))
    return {};
  llvm::Expected<MemRefType> buffer = getMemRefType(tensor);
  if (buffer)
    return canLayOutElements(*buffer, elements) ? elements.reshape(tensor)
                                                : Attribute();
  llvm::consumeError(buffer.takeError());
  return {};
}

LogicalResult RelayoutOp::fold(FoldAdaptor adaptor,
                               SmallVectorImpl<OpFoldResult> &results) {
  if (!isTensorForm())
    return failure();
  if (getSource().getType() == getResult().getType()) {
    results.push_back(getSource());
    return success();
  }
  if (Attribute constant = relayoutConstant(adaptor.getSource(),
                                            getSourceType(), getTargetType())) {
    results.push_back(constant);
    return success();
  }
  // There and back again.
  auto producer = getSource().getDefiningOp<RelayoutOp>();
  if (!producer || producer.getSource().getType() != getResult().getType() ||
      !mayMerge(producer.getSourceType(), getSourceType(), getTargetType()))
    return failure();
  results.push_back(producer.getSource());
  return success();
}

namespace {
/// relayout(relayout(x)) -> relayout(x)
struct MergeRelayouts : OpRewritePattern<RelayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutOp op,
                                PatternRewriter &rewriter) const override {
    auto producer = op.getSource().getDefiningOp<RelayoutOp>();
    if (!op.isTensorForm() || !producer ||
        !mayMerge(producer.getSourceType(), op.getSourceType(),
                  op.getTargetType()))
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.getSourceMutable().assign(producer.getSource()); });
    return success();
  }
};

/// relayout(cast(x)) -> cast(relayout(x)), where the cast forgets sizes: the
/// relayout then knows them.
struct RelayoutBeforeCast : OpRewritePattern<RelayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutOp op,
                                PatternRewriter &rewriter) const override {
    auto cast = op.getSource().getDefiningOp<tensor::CastOp>();
    auto from = cast ? dyn_cast<RankedTensorType>(cast.getSource().getType())
                     : RankedTensorType();
    if (!op.isTensorForm() || !from || !tensor::canFoldIntoConsumerOp(cast) ||
        from.getEncoding() !=
            mlir::cast<RankedTensorType>(cast.getType()).getEncoding())
      return failure();
    // A layout with bounds does not suit static dimensions.
    SilentDiagnostics ignore(op.getContext());
    auto to = RankedTensorType::getChecked(
        ignore, from.getShape(), from.getElementType(),
        op.getResult().getType().getEncoding());
    if (!to)
      return failure();
    auto relayout =
        RelayoutOp::create(rewriter, op.getLoc(), to, cast.getSource());
    rewriter.replaceOpWithNewOp<tensor::CastOp>(op, op.getResult().getType(),
                                                relayout.getResult());
    return success();
  }
};

/// A memref relayouted into itself stays as it is.
struct EraseSelfRelayout : OpRewritePattern<RelayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutOp op,
                                PatternRewriter &rewriter) const override {
    if (op.isTensorForm() || op.getSource() != op.getDestination())
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void RelayoutOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                             MLIRContext *context) {
  results.add<EraseSelfRelayout, MergeRelayouts, RelayoutBeforeCast>(context);
}

//===----------------------------------------------------------------------===//
// BitcastOp
//===----------------------------------------------------------------------===//

LogicalResult BitcastOp::verify() {
  return verifySameBytes(*this, getSource().getType(), getType(), getFused(),
                         "bitcast", "bitcast");
}

LogicalResult
BitcastOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> dynamicSizes;
  RankedTensorType from = getSource().getType();
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (from.isDynamicDim(dim))
      dynamicSizes.push_back(
          tensor::getMixedSize(builder, getLoc(), getSource(), dim));
  ArrayRef<OpFoldResult> remaining = dynamicSizes;
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : getType().getShape()) {
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(builder.getIndexAttr(size));
      continue;
    }
    sizes.push_back(remaining.front());
    remaining = remaining.drop_front();
  }
  shapes.push_back(std::move(sizes));
  return success();
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  // bitcast(bitcast(x)) -> bitcast(x): positions within positions.
  auto producer = getSource().getDefiningOp<BitcastOp>();
  if (!producer)
    return {};
  if (producer.getSource().getType() == getType())
    return producer.getSource();
  setFused(getFused() || producer.getFused());
  getSourceMutable().assign(producer.getSource());
  return getResult();
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

/// The product of the static dimensions; nothing on overflow.
static std::optional<int64_t> getStaticCount(RankedTensorType type) {
  return countElements(
      llvm::filter_to_vector(type.getShape(), [](int64_t size) {
        return !ShapedType::isDynamic(size);
      }));
}

/// reshape_c2: static numbers of elements agree. A dynamic dimension of the
/// result takes what is left, which must be whole.
static LogicalResult verifyElementCounts(ReshapeOp op) {
  RankedTensorType from = op.getSource().getType(), to = op.getType();
  std::optional<int64_t> fromCount = getStaticCount(from);
  std::optional<int64_t> toCount = getStaticCount(to);
  if (!fromCount || !toCount)
    return emitClash(op, invalidError("reshape_c2", "number of elements",
                                      "products of dimensions within 64 bits",
                                      "an overflow"));
  if (!from.hasStaticShape())
    return success();
  bool agrees =
      to.hasStaticShape() ? *fromCount == *toCount : *fromCount % *toCount == 0;
  if (agrees)
    return success();
  return emitClash(
      op, invalidError("reshape_c2", "number of elements",
                       Twine(*fromCount) + " as in the operand",
                       Twine(*toCount) +
                           (to.hasStaticShape() ? "" : " times a size")));
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getSource().getType(), to = getType();
  // reshape_c1
  if (from.getElementType() != to.getElementType())
    return emitClash(*this, "invalid element type: expected that of the source")
           << ", " << from.getElementType() << ", found " << to.getElementType()
           << "; tessera.bitcast changes it [reshape_c1]";
  // reshape_c3
  if (to.getNumDynamicDims() > 1 ||
      (!to.hasStaticShape() && llvm::is_contained(to.getShape(), 0)))
    return emitClash(
        *this, invalidError("reshape_c3", "dynamic dimensions of the result",
                            "at most one, and then none of size 0",
                            toText(to.getShape()),
                            "split the reshape, or make sizes static"));
  return verifyElementCounts(*this);
}

LogicalResult
ReshapeOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  Location loc = getLoc();
  if (!getStaticCount(getSource().getType()) || !getStaticCount(getType()))
    return failure();
  shapes.push_back(buildReshapedSizes(
      builder, loc, tensor::getMixedSizes(builder, loc, getSource()),
      getType().getShape()));
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  auto producer = getSource().getDefiningOp<ReshapeOp>();
  if (!producer || !mayMerge(producer.getSource().getType(),
                             getSource().getType(), getType()))
    return {};
  if (producer.getSource().getType() == getType())
    return producer.getSource();
  getSourceMutable().assign(producer.getSource());
  return getResult();
}

namespace {
/// A reshape to the same dimensions is a relayout.
struct ReshapeToRelayout : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getSource().getType().getShape() != op.getType().getShape())
      return failure();
    rewriter.replaceOpWithNewOp<RelayoutOp>(op, op.getType(), op.getSource());
    return success();
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                            MLIRContext *context) {
  results.add<ReshapeToRelayout>(context);
}

//===----------------------------------------------------------------------===//
// AssumeLayoutOp
//===----------------------------------------------------------------------===//

LogicalResult AssumeLayoutOp::verify() {
  // assume_layout_c3
  if (!getType().getEncoding())
    return emitLayoutError(
        [&] { return emitOpError(); },
        invalidError("assume_layout_c3", "type of the result",
                     "a tensor with a layout", "one without",
                     "write the layout that is wanted here"));
  return verifySameArray(*this, getSource().getType(), getType(),
                         "assume_layout_c1", "assume_layout_c2");
}

LogicalResult
AssumeLayoutOp::reifyResultShapes(OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getSource()));
  return success();
}

OpFoldResult AssumeLayoutOp::fold(FoldAdaptor) {
  // Pinned twice.
  auto producer = getSource().getDefiningOp<AssumeLayoutOp>();
  return producer && producer.getType() == getType() ? getSource()
                                                     : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// EmptyOp
//===----------------------------------------------------------------------===//

LogicalResult EmptyOp::verify() {
  // empty_c1
  auto expected = static_cast<size_t>(getType().getNumDynamicDims());
  if (getDynamicSizes().size() == expected)
    return success();
  return emitLayoutError(
      [&] { return emitOpError(); },
      invalidError("empty_c1", "number of sizes",
                   Twine(expected) + ", one for each dynamic dimension",
                   Twine(getDynamicSizes().size())));
}

SmallVector<OpFoldResult> EmptyOp::getMixedSizes() {
  Builder builder(getContext());
  SmallVector<OpFoldResult> sizes;
  ValueRange remaining = getDynamicSizes();
  for (int64_t size : getType().getShape()) {
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(builder.getIndexAttr(size));
      continue;
    }
    sizes.push_back(remaining.front());
    remaining = remaining.drop_front();
  }
  return sizes;
}

LogicalResult EmptyOp::reifyResultShapes(OpBuilder &builder,
                                         ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(getMixedSizes());
  return success();
}

namespace {
/// Constant sizes become part of the type. Dimensions with a bound stay
/// dynamic: their layout says so.
struct FoldConstantSizes : OpRewritePattern<EmptyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(EmptyOp op,
                                PatternRewriter &rewriter) const override {
    llvm::Expected<Layout> layout = getLayout(op.getType());
    if (!layout) {
      llvm::consumeError(layout.takeError());
      return failure();
    }
    SmallVector<int64_t> shape(op.getType().getShape());
    SmallVector<Value> sizes;
    ValueRange remaining = op.getDynamicSizes();
    for (auto [dim, size] : llvm::enumerate(shape)) {
      if (!ShapedType::isDynamic(size))
        continue;
      Value operand = remaining.front();
      remaining = remaining.drop_front();
      bool isBounded =
          !layout->bounds.empty() && layout->bounds[dim] != kDynamic;
      auto constant = getConstantIntValue(operand);
      if (constant && *constant >= 0 && !isBounded)
        size = *constant;
      else
        sizes.push_back(operand);
    }
    if (sizes.size() == op.getDynamicSizes().size())
      return failure();
    // A size that the layout does not admit stays where it fails at run time.
    SilentDiagnostics ignore(op.getContext());
    auto type = RankedTensorType::getChecked(ignore, shape,
                                             op.getType().getElementType(),
                                             op.getType().getEncoding());
    if (!type)
      return failure();
    auto empty = EmptyOp::create(rewriter, op.getLoc(), type, sizes);
    rewriter.replaceOpWithNewOp<tensor::CastOp>(op, op.getType(), empty);
    return success();
  }
};
} // namespace

void EmptyOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                          MLIRContext *context) {
  results.add<FoldConstantSizes>(context);
}

//===----------------------------------------------------------------------===//
// PhysicalViewOp
//===----------------------------------------------------------------------===//

LogicalResult PhysicalViewOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  auto source = cast<MemRefType>(operands.front().getType());
  llvm::Expected<MemRefType> physical = getPhysicalMemRefType(source);
  if (!physical)
    return emitLayoutError(
        [&] {
          return mlir::emitError(location.value_or(UnknownLoc::get(context)));
        },
        physical.takeError());
  types.push_back(*physical);
  return success();
}

LogicalResult PhysicalViewOp::verify() {
  auto emit = [&] { return emitOpError(); };
  if (failed(verifyLayout(getSource().getType(), emit)))
    return failure();
  llvm::Expected<MemRefType> physical =
      getPhysicalMemRefType(getSource().getType());
  if (!physical)
    return emitLayoutError(emit, physical.takeError());
  // physical_view_c1
  if (*physical != getType())
    return emitClash(*this, "invalid type of the result: expected ")
           << *physical << ", the physical memref of the operand, found "
           << getType() << " [physical_view_c1]";
  return success();
}

Value PhysicalViewOp::getViewSource() { return getSource(); }

OpFoldResult PhysicalViewOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  return {};
}
