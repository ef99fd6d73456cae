//===- LowerRelayouts.cpp - Relayouts as affine loops ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/LowerRelayouts.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/PassOptions.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Layout/PaddingBits.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera {
#define GEN_PASS_DEF_LOWERRELAYOUTS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Padding values
//===----------------------------------------------------------------------===//

/// A scalar of `type` as an attribute of dense elements or of arith.constant.
static TypedAttr getIntOrFloatAttr(Type type, const llvm::APInt &bits) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return FloatAttr::get(type, APFloat(floatType.getFloatSemantics(), bits));
  return IntegerAttr::get(type, bits);
}

/// `bits` as a tensor of one complex or integer.
static DenseElementsAttr getScalarElements(Type type, const llvm::APInt &bits) {
  auto tensorType = RankedTensorType::get({}, type);
  auto complexType = dyn_cast<ComplexType>(type);
  if (!complexType)
    return DenseElementsAttr::get(tensorType, bits);
  auto part = cast<FloatType>(complexType.getElementType());
  unsigned width = part.getWidth();
  auto getPart = [&](unsigned offset) {
    return APFloat(part.getFloatSemantics(), bits.extractBits(width, offset));
  };
  std::complex<APFloat> value(getPart(0), getPart(width));
  return DenseElementsAttr::get(tensorType, value);
}

/// The constant global that holds `elements`; `name` is a hint.
static memref::GlobalOp getGlobal(OpBuilder &builder, Location loc,
                                  ModuleOp module, StringRef name,
                                  DenseElementsAttr elements) {
  auto type = MemRefType::get({}, elements.getElementType());
  auto existing = module.lookupSymbol<memref::GlobalOp>(name);
  if (existing && existing.getConstant() && existing.getType() == type &&
      existing.getInitialValueAttr() == elements)
    return existing;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  auto global = memref::GlobalOp::create(
      builder, loc, name, builder.getStringAttr("private"), type, elements,
      /*constant=*/true, /*alignment=*/IntegerAttr());
  SymbolTable(module).insert(global);
  return global;
}

Value tessera::buildPaddingValue(OpBuilder &builder, Location loc,
                                 Type elementType, PaddingValue value) {
  PrimitiveType type = llvm::cantFail(getPrimitiveType(elementType));
  llvm::APInt bits = getPaddingBits(type, value);
  if (isa<FloatType>(elementType) || elementType.isSignlessInteger())
    return arith::ConstantOp::create(builder, loc,
                                     getIntOrFloatAttr(elementType, bits));
  auto module =
      builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string name =
      ("tessera_padding_" + getName(type) + "_" + getName(value)).str();
  memref::GlobalOp global = getGlobal(builder, loc, module, name,
                                      getScalarElements(elementType, bits));
  Value memref = memref::GetGlobalOp::create(builder, loc, global.getType(),
                                             global.getSymName());
  return affine::AffineLoadOp::create(
      builder, loc, memref, builder.getEmptyAffineMap(), ValueRange());
}

//===----------------------------------------------------------------------===//
// Relayouts
//===----------------------------------------------------------------------===//

/// Whether elements of the memref can be reached, else an error at `op`.
static LogicalResult checkAccess(Operation *op, Type type) {
  auto access = ElementAccess::get(cast<MemRefType>(type));
  if (access)
    return success();
  return emitLayoutError([&] { return op->emitOpError(); }, access.takeError());
}

bool tessera::isLoweredRelayout(Operation *op) {
  if (auto relayout = dyn_cast<RelayoutOp>(op))
    return !relayout.isTensorForm();
  auto copy = dyn_cast<memref::CopyOp>(op);
  if (!copy)
    return isa<FillPaddingOp>(op);
  auto from = dyn_cast<MemRefType>(copy.getSource().getType());
  auto to = dyn_cast<MemRefType>(copy.getTarget().getType());
  return from && to && (getLayoutAttr(from) || getLayoutAttr(to)) &&
         from.getLayout() != to.getLayout();
}

LogicalResult tessera::checkRelayoutLowerable(Operation *op) {
  if (!isInFunction(op))
    return emitLayoutError([&] { return op->emitOpError(); },
                           unsupportedError("place of a relayout",
                                            "a function around it", "none",
                                            "move it into a function"));
  for (Type type : op->getOperandTypes())
    if (failed(checkAccess(op, type)))
      return failure();
  return success();
}

/// The memref as what is really in memory.
static Value buildPhysicalView(OpBuilder &builder, Location loc, Value memref,
                               MemRefType physical) {
  if (memref.getType() == physical)
    return memref;
  return PhysicalViewOp::create(builder, loc, physical, memref);
}

/// The sizes of `memref` that its type does not tell.
static SmallVector<Value> getDynamicSizes(OpBuilder &builder, Location loc,
                                          Value memref) {
  SmallVector<Value> sizes;
  auto type = cast<MemRefType>(memref.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(memref::DimOp::create(builder, loc, memref, dim));
  return sizes;
}

void tessera::lowerRelayout(RewriterBase &rewriter, Operation *op,
                            LoopNestOptions options) {
  Location loc = op->getLoc();
  rewriter.setInsertionPoint(op);
  // The source, if there is one, comes first.
  Value destination = op->getOperand(op->getNumOperands() - 1);
  auto type = cast<MemRefType>(destination.getType());
  SmallVector<Value> values = getDynamicSizes(rewriter, loc, op->getOperand(0));
  RelayoutSizes sizes{type.getShape(), values};
  ElementAccess target = llvm::cantFail(ElementAccess::get(type));
  RelayoutSide to{target, buildPhysicalView(rewriter, loc, destination,
                                            target.physicalType())};
  if (op->getNumOperands() == 2) {
    Value memref = op->getOperand(0);
    ElementAccess source =
        llvm::cantFail(ElementAccess::get(cast<MemRefType>(memref.getType())));
    Value view =
        buildPhysicalView(rewriter, loc, memref, source.physicalType());
    buildElementCopy(rewriter, loc, {source, view}, to, sizes, nullptr,
                     options);
  }
  std::optional<PaddingValue> padding = getPaddingValue(type);
  // A copy fills padding too: bufferization copies constants, and what other
  // operations allocated, into new buffers.
  if (padding && mayHavePadding(target.axes())) {
    Value value =
        buildPaddingValue(rewriter, loc, type.getElementType(), *padding);
    buildPaddingFill(rewriter, loc, to, sizes, value, options);
  }
  rewriter.eraseOp(op);
}

namespace {
struct LowerRelayoutPattern : RewritePattern {
  LowerRelayoutPattern(MLIRContext *context, LoopNestOptions options)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context),
        options(options) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isLoweredRelayout(op) || failed(checkRelayoutLowerable(op)))
      return failure();
    lowerRelayout(rewriter, op, options);
    return success();
  }

  LoopNestOptions options;
};

struct LowerRelayoutsPass
    : tessera::impl::LowerRelayoutsBase<LowerRelayoutsPass> {
  using LowerRelayoutsBase::LowerRelayoutsBase;

  LogicalResult checkOptions() {
    Operation *op = getOperation();
    return success(succeeded(checkRange(op, maxNests, 1)) &&
                   succeeded(checkRange(op, threads, 1, kMaxThreads)) &&
                   succeeded(checkRange(op, parallelBytes, 0)));
  }

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    SmallVector<Operation *> relayouts;
    bool isLowerable = true;
    getOperation().walk([&](Operation *op) {
      if (!isLoweredRelayout(op))
        return;
      isLowerable &= succeeded(checkRelayoutLowerable(op));
      relayouts.push_back(op);
    });
    if (!isLowerable)
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (Operation *op : relayouts)
      lowerRelayout(rewriter, op,
                    LoopNestOptions{maxNests, threads, parallelBytes});
    numRelayouts += relayouts.size();
  }
};
} // namespace

void tessera::populateLowerRelayoutsPatterns(RewritePatternSet &patterns,
                                             LoopNestOptions options) {
  patterns.add<LowerRelayoutPattern>(patterns.getContext(), options);
}
