//===- ConvertTypes.cpp - Physical memrefs in place of laid-out ones ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type conversion of --tessera-lower-layouts. A laid-out memref of n
// dynamic dimensions becomes 1 + n values: its physical memref, and the logical
// sizes that the physical shape does not tell.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/BufferSizes.h"
#include "tessera/Conversion/TesseraToAffine/LowerLayouts.h"
#include "tessera/Dialect/Tessera/IR/LayOutElements.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IntegerSet.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Types and sizes
//===----------------------------------------------------------------------===//

PhysicalTypeConverter::PhysicalTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](MemRefType type, SmallVectorImpl<Type> &results)
                    -> std::optional<LogicalResult> {
    if (!getLaidOutMemRef(type))
      return std::nullopt;
    llvm::Expected<MemRefType> physical = getPhysicalMemRefType(type);
    if (!physical) {
      llvm::consumeError(physical.takeError());
      return failure();
    }
    results.push_back(*physical);
    results.append(type.getNumDynamicDims(), IndexType::get(type.getContext()));
    return success();
  });
}

static Value createIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// The sizes of all dimensions, `dynamicSizes` where they are not known.
static SmallVector<Value> getSizes(OpBuilder &builder, Location loc,
                                   MemRefType type, ValueRange dynamicSizes) {
  SmallVector<Value> sizes;
  auto next = dynamicSizes.begin();
  for (int64_t size : type.getShape())
    sizes.push_back(ShapedType::isDynamic(size)
                        ? *next++
                        : createIndex(builder, loc, size));
  return sizes;
}

/// The sizes that a physical memref of the type is allocated with.
static SmallVector<Value> createPhysicalSizes(OpBuilder &builder, Location loc,
                                              MemRefType type,
                                              ValueRange dynamicSizes) {
  return llvm::cantFail(BufferSizes::get(type))
      .buildPhysicalSizes(builder, loc, dynamicSizes);
}

/// `memref` with the shape of `type`; `sizes` are its dynamic ones.
static Value viewAs(OpBuilder &builder, Location loc, Value memref,
                    MemRefType type, ValueRange sizes) {
  auto from = cast<MemRefType>(memref.getType());
  if (from.getElementType() != type.getElementType())
    return memref::ViewOp::create(builder, loc, type, memref,
                                  createIndex(builder, loc, 0), sizes);
  SmallVector<OpFoldResult> mixedSizes =
      getMixedValues(type.getShape(), sizes, builder);
  SmallVector<OpFoldResult> strides =
      memref::computeStridesIRBlock(loc, builder, mixedSizes);
  return memref::ReinterpretCastOp::create(
      builder, loc, type, memref, builder.getIndexAttr(0), mixedSizes, strides);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
template <typename AllocLikeOp>
struct AllocPattern : OpConversionPattern<AllocLikeOp> {
  using OpConversionPattern<AllocLikeOp>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AllocLikeOp op, typename AllocLikeOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    ValueRange dynamicSizes = adaptor.getDynamicSizes();
    SmallVector<Value> values = {AllocLikeOp::create(
        rewriter, op.getLoc(), llvm::cantFail(getPhysicalMemRefType(type)),
        createPhysicalSizes(rewriter, op.getLoc(), type, dynamicSizes),
        op.getAlignmentAttr())};
    llvm::append_range(values, dynamicSizes);
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

struct DeallocPattern : OpConversionPattern<memref::DeallocOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::DeallocOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<memref::DeallocOp>(op,
                                                   adaptor.getMemref().front());
    return success();
  }
};

/// A size is a constant or one of the values that came with the memref. An
/// index that is not known selects among them.
struct DimPattern : OpConversionPattern<memref::DimOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::DimOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getSource().getType());
    SmallVector<Value> sizes =
        getSizes(rewriter, loc, type, adaptor.getSource().drop_front());
    if (std::optional<int64_t> index = op.getConstantIndex()) {
      rewriter.replaceOp(op, sizes[*index]);
      return success();
    }
    Value result = createIndex(rewriter, loc, 0);
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      Value isDim = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, adaptor.getIndex().front(),
          createIndex(rewriter, loc, dim));
      result = arith::SelectOp::create(rewriter, loc, isDim, size, result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// From a memref with the strides of the layout to the physical one.
struct StridedCastPattern : OpConversionPattern<memref::CastOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::CastOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (getLaidOutMemRef(op.getSource().getType()))
      return rewriter.notifyMatchFailure(op, "both sides have layouts");
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getType());
    Value strided = adaptor.getSource().front();
    SmallVector<Value> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(memref::DimOp::create(rewriter, loc, strided, dim));
    SmallVector<Value> values = {viewAs(
        rewriter, loc, strided, llvm::cantFail(getPhysicalMemRefType(type)),
        createPhysicalSizes(rewriter, loc, type, sizes))};
    llvm::append_range(values, sizes);
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

/// Between memrefs of one layout whose sizes are known to different degrees.
struct CastPattern : OpConversionPattern<memref::CastOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::CastOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!getLaidOutMemRef(op.getSource().getType()))
      return rewriter.notifyMatchFailure(op, "the source has strides");
    Location loc = op.getLoc();
    auto from = cast<MemRefType>(op.getSource().getType());
    auto to = cast<MemRefType>(op.getType());
    MemRefType physical = llvm::cantFail(getPhysicalMemRefType(to));
    SmallVector<Value> sizes =
        getSizes(rewriter, loc, from, adaptor.getSource().drop_front());
    SmallVector<Value> values = {adaptor.getSource().front()};
    for (auto [dim, size] : llvm::enumerate(to.getShape()))
      if (ShapedType::isDynamic(size))
        values.push_back(sizes[dim]);
    Value &memref = values.front();
    auto known = cast<MemRefType>(memref.getType());
    if (known == physical)
      ;
    else if (known.getRank() == physical.getRank())
      memref = memref::CastOp::create(rewriter, loc, physical, memref);
    else // With L a size that is not known makes the buffer flat.
      memref = viewAs(rewriter, loc, memref, physical,
                      createPhysicalSizes(rewriter, loc, to,
                                          ArrayRef(values).drop_front()));
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

struct PhysicalViewPattern : OpConversionPattern<PhysicalViewOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PhysicalViewOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getSource().front());
    return success();
  }
};

/// The same bytes with another physical shape.
struct BitcastViewPattern : OpConversionPattern<BitcastViewOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BitcastViewOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getType());
    MemRefType physical = llvm::cantFail(getPhysicalMemRefType(type));
    Value memref = adaptor.getSource().front();
    SmallVector<Value> dynamicSizes =
        getBitcastSizes(rewriter, loc, op, adaptor);
    if (memref.getType() != physical)
      memref = viewAs(rewriter, loc, memref, physical,
                      createPhysicalSizes(rewriter, loc, type, dynamicSizes));
    SmallVector<Value> values = {memref};
    if (getLaidOutMemRef(type))
      llvm::append_range(values, dynamicSizes);
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }

private:
  /// The dynamic sizes of the operand, which are those of the result.
  static SmallVector<Value> getBitcastSizes(OpBuilder &builder, Location loc,
                                            BitcastViewOp op,
                                            OneToNOpAdaptor adaptor) {
    auto type = cast<MemRefType>(op.getSource().getType());
    if (getLaidOutMemRef(type))
      return llvm::to_vector(adaptor.getSource().drop_front());
    SmallVector<Value> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(memref::DimOp::create(
            builder, loc, adaptor.getSource().front(), dim));
    return sizes;
  }
};

struct SelectPattern : OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> values;
    for (auto [whenTrue, whenFalse] :
         llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue()))
      values.push_back(arith::SelectOp::create(rewriter, op.getLoc(),
                                               adaptor.getCondition().front(),
                                               whenTrue, whenFalse));
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

/// The results of an operation as groups that stand for those of `op`.
static SmallVector<SmallVector<Value>>
groupResults(const TypeConverter &converter, Operation *op,
             ResultRange results) {
  SmallVector<SmallVector<Value>> groups;
  for (Type type : op->getResultTypes()) {
    SmallVector<Type> types;
    (void)converter.convertType(type, types);
    groups.emplace_back(results.take_front(types.size()));
    results = results.drop_front(types.size());
  }
  return groups;
}

static SmallVector<Value> flatten(ArrayRef<ValueRange> groups) {
  SmallVector<Value> values;
  for (ValueRange group : groups)
    llvm::append_range(values, group);
  return values;
}

/// A loop that carries memrefs.
struct AffineForPattern : OpConversionPattern<affine::AffineForOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(affine::AffineForOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(rewriter.convertRegionTypes(&op.getRegion(), *typeConverter)))
      return failure();
    auto loop = affine::AffineForOp::create(
        rewriter, op.getLoc(), flatten(adaptor.getLowerBoundOperands()),
        op.getLowerBoundMap(), flatten(adaptor.getUpperBoundOperands()),
        op.getUpperBoundMap(), op.getStepAsInt(), flatten(adaptor.getInits()));
    loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.eraseBlock(loop.getBody());
    rewriter.inlineRegionBefore(op.getRegion(), loop.getRegion(),
                                loop.getRegion().end());
    rewriter.replaceOpWithMultiple(
        op, groupResults(*typeConverter, op, loop.getResults()));
    return success();
  }
};

struct AffineIfPattern : OpConversionPattern<affine::AffineIfOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(affine::AffineIfOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(typeConverter->convertTypes(op.getResultTypes(), types)))
      return failure();
    auto ifOp = affine::AffineIfOp::create(
        rewriter, op.getLoc(), types, op.getIntegerSet(),
        flatten(adaptor.getOperands()), /*withElseRegion=*/true);
    ifOp->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), ifOp->getRegions())) {
      rewriter.eraseBlock(&to.front());
      rewriter.inlineRegionBefore(from, to, to.end());
    }
    rewriter.replaceOpWithMultiple(
        op, groupResults(*typeConverter, op, ifOp.getResults()));
    return success();
  }
};

struct AffineYieldPattern : OpConversionPattern<affine::AffineYieldOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(affine::AffineYieldOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<affine::AffineYieldOp>(
        op, flatten(adaptor.getOperands()));
    return success();
  }
};

struct GetGlobalPattern : OpConversionPattern<memref::GetGlobalOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::GetGlobalOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<memref::GetGlobalOp>(
        op, llvm::cantFail(getPhysicalMemRefType(op.getType())),
        op.getNameAttr());
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Globals
//===----------------------------------------------------------------------===//

namespace {
struct GlobalPattern : OpConversionPattern<memref::GlobalOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::GlobalOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    rewriter.modifyOpInPlace(op, [&] {
      op.setType(llvm::cantFail(getPhysicalMemRefType(type)));
      if (auto elements =
              dyn_cast_or_null<DenseElementsAttr>(op.getInitialValueAttr()))
        op.setInitialValueAttr(layOutElements(type, elements));
    });
    return success();
  }
};
} // namespace

/// Whether the initial value of a global, if there is one, can be placed.
static bool canLayOutGlobal(memref::GlobalOp global) {
  Attribute value = global.getInitialValueAttr();
  return !value || isa<UnitAttr>(value) ||
         canLayOutElements(global.getType(), value);
}

/// Whether the physical memref of the operand can be seen as that of the
/// result: memrefs change their element type only from bytes. The product of
/// sizes of a plain memref may be too large.
static bool canView(BitcastViewOp op) {
  auto getPhysical = [](Value value) -> MemRefType {
    auto type = cast<MemRefType>(value.getType());
    if (auto axes = getAxisList(type); !axes) {
      llvm::consumeError(axes.takeError());
      return {};
    }
    auto physical = getPhysicalMemRefType(type);
    if (physical && physical->getLayout().isIdentity())
      return *physical;
    if (!physical)
      llvm::consumeError(physical.takeError());
    return {};
  };
  MemRefType from = getPhysical(op.getSource()), to = getPhysical(op);
  return from && to &&
         (from.getElementType() == to.getElementType() ||
          (from.getElementType().isInteger(8) && from.getRank() == 1));
}

/// Whether the physical memrefs differ only in what is known of their sizes. A
/// dimension of size 0 takes no memory, but PD gives one that is not known a
/// width.
static bool canCast(MemRefType from, MemRefType to) {
  auto physicalFrom = getPhysicalMemRefType(from);
  auto physicalTo = getPhysicalMemRefType(to);
  if (physicalFrom && physicalTo)
    return physicalFrom->getRank() != physicalTo->getRank() ||
           memref::CastOp::areCastCompatible(*physicalFrom, *physicalTo);
  if (!physicalFrom)
    llvm::consumeError(physicalFrom.takeError());
  if (!physicalTo)
    llvm::consumeError(physicalTo.takeError());
  return false;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

bool tessera::isConvertedByType(Operation *op) {
  if (auto global = dyn_cast<memref::GlobalOp>(op))
    return canLayOutGlobal(global);
  if (auto view = dyn_cast<BitcastViewOp>(op))
    return canView(view);
  if (auto cast = dyn_cast<memref::CastOp>(op)) {
    MemRefType from = getLaidOutMemRef(cast.getSource().getType());
    MemRefType to = getLaidOutMemRef(cast.getType());
    if (!from && to)
      return cast.getSource().getType() == getDenseStridedType(to);
    return from && to && from.getLayout() == to.getLayout() &&
           canCast(from, to);
  }
  return isa<FunctionOpInterface, affine::AffineForOp, affine::AffineIfOp,
             affine::AffineYieldOp, func::CallOp, func::ReturnOp, cf::BranchOp,
             cf::CondBranchOp, scf::ForOp, scf::IfOp, scf::IndexSwitchOp,
             scf::WhileOp, scf::ConditionOp, scf::YieldOp, arith::SelectOp,
             memref::AllocOp, memref::AllocaOp, memref::DeallocOp,
             memref::DimOp, memref::GetGlobalOp, PhysicalViewOp>(op);
}

void tessera::populateLowerLayoutsPatterns(
    const PhysicalTypeConverter &converter, RewritePatternSet &patterns,
    ConversionTarget &target) {
  patterns.add<AffineForPattern, AffineIfPattern, AffineYieldPattern,
               AllocPattern<memref::AllocOp>, AllocPattern<memref::AllocaOp>,
               DeallocPattern, DimPattern, CastPattern, StridedCastPattern,
               PhysicalViewPattern, BitcastViewPattern, SelectPattern,
               GlobalPattern, GetGlobalPattern>(converter,
                                                patterns.getContext());
  populateAnyFunctionOpInterfaceTypeConversionPattern(patterns, converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  scf::populateSCFStructuralTypeConversions(converter, patterns);
  cf::populateCFStructuralTypeConversions(converter, patterns);

  target.addIllegalOp<BitcastViewOp>();
  target.addDynamicallyLegalOp<memref::GlobalOp>(
      [](memref::GlobalOp op) { return !getLaidOutMemRef(op.getType()); });
  target.markUnknownOpDynamicallyLegal([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      return converter.isLegal(function.getArgumentTypes()) &&
             converter.isLegal(function.getResultTypes());
    return converter.isLegal(op);
  });
}
