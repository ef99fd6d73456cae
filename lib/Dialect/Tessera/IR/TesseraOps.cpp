//===- TesseraOps.cpp - Operations of the tessera dialect -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Layout/Bitcast.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tessera;

#define GET_OP_CLASSES
#include "tessera/Dialect/Tessera/IR/TesseraOps.cpp.inc"

//===----------------------------------------------------------------------===//
// What several operations need
//===----------------------------------------------------------------------===//

/// A diagnostic on `op`, with a note at the producer of each operand that has
/// one, for clashes between types.
static InFlightDiagnostic emitClash(Operation *op, const Twine &message) {
  InFlightDiagnostic diagnostic = op->emitOpError(message);
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      diagnostic.attachNote(producer->getLoc())
          << "operand of type " << operand.getType() << " comes from here";
  return diagnostic;
}

static LogicalResult emitClash(Operation *op, llvm::Error error) {
  return emitClash(op, takeDiagnostic(std::move(error)).message());
}

/// The spaces of two types; nothing if one has no number.
static std::optional<std::pair<int64_t, int64_t>> getSpaces(ShapedType lhs,
                                                            ShapedType rhs) {
  llvm::Expected<int64_t> lhsSpace = getMemorySpaceNumber(lhs);
  llvm::Expected<int64_t> rhsSpace = getMemorySpaceNumber(rhs);
  if (lhsSpace && rhsSpace)
    return std::make_pair(*lhsSpace, *rhsSpace);
  llvm::consumeError(lhsSpace.takeError());
  llvm::consumeError(rhsSpace.takeError());
  return std::nullopt;
}

static bool haveSameSpace(ShapedType lhs, ShapedType rhs) {
  auto spaces = getSpaces(lhs, rhs);
  return spaces && spaces->first == spaces->second;
}

static std::string toText(ArrayRef<int64_t> dimensions) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      dimensions, os,
      [&](int64_t size) {
        ShapedType::isDynamic(size) ? os << '?' : os << size;
      },
      "x");
  return text.empty() ? "none" : text;
}

//===----------------------------------------------------------------------===//
// RelayoutOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyRelayoutForm(RelayoutOp op) {
  // relayout_c1
  bool isTensor = isa<RankedTensorType>(op.getSource().getType());
  if (isTensor == static_cast<bool>(op.getResult()) &&
      isTensor != static_cast<bool>(op.getDestination()))
    return success();
  return op.emitOpError("invalid form: expected 'to' and a result for a "
                        "tensor, 'into' and a destination for a memref, found ")
         << op.getSource().getType() << " with "
         << (op.getResult() ? "a result" : "no result") << " and "
         << (op.getDestination() ? "a destination" : "no destination")
         << " [relayout_c1]";
}

LogicalResult RelayoutOp::verify() {
  if (failed(verifyRelayoutForm(*this)))
    return failure();
  ShapedType source = getSourceType(), target = getTargetType();
  // relayout_c2
  if (source.getShape() != target.getShape())
    return emitClash(
        *this, invalidError("relayout_c2", "dimensions",
                            toText(source.getShape()) + " as in the source",
                            toText(target.getShape()),
                            "a relayout keeps the logical shape"));
  // relayout_c3
  if (source.getElementType() != target.getElementType())
    return emitClash(*this, "invalid element type: expected that of the source")
           << ", " << source.getElementType() << ", found "
           << target.getElementType() << " [relayout_c3]";
  for (ShapedType type : {source, target})
    if (failed(verifyLayout(type, [&] { return emitOpError(); })))
      return failure();
  return success();
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

/// A relayout of a relayout may skip the type in the middle, unless its space
/// is a third one: then the array is meant to pass through it.
static bool mayMerge(ShapedType from, ShapedType via, ShapedType to) {
  return haveSameSpace(via, from) || haveSameSpace(via, to);
}

LogicalResult RelayoutOp::fold(FoldAdaptor,
                               SmallVectorImpl<OpFoldResult> &results) {
  if (!isTensorForm())
    return failure();
  if (getSource().getType() == getResult().getType()) {
    results.push_back(getSource());
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

void RelayoutOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<EraseSelfRelayout, MergeRelayouts>(context);
}

//===----------------------------------------------------------------------===//
// BitcastOp
//===----------------------------------------------------------------------===//

/// Elements that the verifier enumerates; larger questions that the form of the
/// layouts does not settle are left to --tessera-verify.
static constexpr int64_t kVerifierEnumerationCap = 1 << 14;

LogicalResult BitcastOp::verify() {
  RankedTensorType from = getSource().getType(), to = getType();
  // bitcast_c3
  if (from.getNumDynamicDims() != to.getNumDynamicDims())
    return emitClash(*this,
                     invalidError("bitcast_c3", "number of dynamic dimensions",
                                  Twine(from.getNumDynamicDims()),
                                  Twine(to.getNumDynamicDims())));
  llvm::Expected<Shape> fromShape = getShape(from);
  if (!fromShape)
    return emitClash(*this, fromShape.takeError());
  llvm::Expected<Shape> toShape = getShape(to);
  if (!toShape)
    return emitClash(*this, toShape.takeError());
  // bitcast_c2
  int64_t fromSpace = fromShape->layout().memorySpace;
  int64_t toSpace = toShape->layout().memorySpace;
  if (!getFused() && fromSpace != toSpace)
    return emitClash(*this, invalidError("bitcast_c2", "memory space",
                                         Twine(fromSpace), Twine(toSpace),
                                         "tessera.relayout moves an array"));
  // bitcast_c1
  BitcastOptions options;
  options.enumerationCap = kVerifierEnumerationCap;
  options.ignoreMemorySpace = true;
  BitcastAnswer answer = mayBitcast(*fromShape, *toShape, options);
  if (answer.answer == Answer::No)
    return emitClash(*this, "invalid bitcast: " + answer.reason +
                                "; tessera.relayout moves elements "
                                "[bitcast_c1]");
  return success();
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
  // bitcast(bitcast(x)) -> bitcast(x): places within places.
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
    auto type = RankedTensorType::getChecked(
        [&] { return InFlightDiagnostic(); }, shape,
        op.getType().getElementType(), op.getType().getEncoding());
    if (!type)
      return failure();
    auto empty = EmptyOp::create(rewriter, op.getLoc(), type, sizes);
    rewriter.replaceOpWithNewOp<tensor::CastOp>(op, op.getType(), empty);
    return success();
  }
};
} // namespace

void EmptyOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<FoldConstantSizes>(context);
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
