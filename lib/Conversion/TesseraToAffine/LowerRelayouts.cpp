//===- LowerRelayouts.cpp - Relayouts as affine loops ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/LowerRelayouts.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/CopyUtils.h"
#include "tessera/Dialect/Tessera/IR/LayOutElements.h"
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
                                     getScalarAttr(elementType, bits));
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

/// A loop stands in another for each axis, and passes go down by recursion.
static constexpr int64_t kMaxAxes = 512;

bool tessera::isLoweredRelayout(Operation *op) {
  return isRelayoutInMemory(op) || isa<FillPaddingOp>(op);
}

/// Why there are no loops for such an operation, if there are none.
static llvm::Error getObstacle(Operation *op) {
  if (!isInFunction(op))
    return unsupportedError("relayout", "a function around it", "none",
                            "move it into a function");
  for (Type type : op->getOperandTypes()) {
    auto memref = cast<MemRefType>(type);
    // Before the axes are looked at, each of which names all dimensions.
    if (memref.getRank() > kMaxAxes)
      return unsupportedError(
          "rank of a relayout", "at most " + Twine(kMaxAxes) + " dimensions",
          Twine(memref.getRank()), "collapse dimensions of size 1");
    auto access = ElementAccess::get(memref);
    if (!access)
      return access.takeError();
  }
  return llvm::Error::success();
}

LogicalResult tessera::checkRelayoutLowerable(Operation *op) {
  if (llvm::Error error = getObstacle(op))
    return emitLayoutError([&] { return op->emitOpError(); }, std::move(error));
  return success();
}

/// The memref as what is really in memory.
static Value buildPhysicalView(OpBuilder &builder, Location loc, Value memref,
                               MemRefType physical) {
  if (memref.getType() == physical)
    return memref;
  return PhysicalViewOp::create(builder, loc, physical, memref);
}

namespace {
/// The sizes that the operands of a relayout have in common. A copy may know
/// one from the type of its source and another from that of its target.
class CommonSizes {
public:
  CommonSizes(OpBuilder &builder, Location loc, OperandRange memrefs)
      : sizes(getShape(memrefs[0])), values(sizes.size()) {
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      auto isDynamic = [&](Value memref) {
        return ShapedType::isDynamic(getShape(memref)[dim]);
      };
      for (Value memref : memrefs)
        if (!isDynamic(memref))
          sizes[dim] = getShape(memref)[dim];
      if (llvm::none_of(memrefs, isDynamic))
        continue;
      values[dim] =
          ShapedType::isDynamic(sizes[dim])
              ? Value(memref::DimOp::create(builder, loc, memrefs[0], dim))
              : arith::ConstantIndexOp::create(builder, loc, sizes[dim]);
    }
  }

  /// The sizes where `shape` does not tell them.
  SmallVector<Value> getDynamic(ArrayRef<int64_t> shape) const {
    SmallVector<Value> dynamic;
    for (auto [size, value] : llvm::zip_equal(shape, values))
      if (ShapedType::isDynamic(size))
        dynamic.push_back(value);
    return dynamic;
  }

  ArrayRef<int64_t> getStatic() const { return sizes; }

private:
  static ArrayRef<int64_t> getShape(Value memref) {
    return cast<MemRefType>(memref.getType()).getShape();
  }

  SmallVector<int64_t> sizes;
  SmallVector<Value> values;
};
} // namespace

void tessera::lowerRelayout(RewriterBase &rewriter, Operation *op,
                            LoopNestOptions options) {
  Location loc = op->getLoc();
  rewriter.setInsertionPoint(op);
  CommonSizes sizes(rewriter, loc, op->getOperands());
  auto getSide = [&](Value memref, const ElementAccess &access) {
    ArrayRef<int64_t> shape = cast<MemRefType>(memref.getType()).getShape();
    return RelayoutSide{
        access, buildPhysicalView(rewriter, loc, memref, access.physicalType()),
        sizes.getDynamic(shape)};
  };
  // The source, if there is one, comes first.
  Value destination = op->getOperand(op->getNumOperands() - 1);
  auto type = cast<MemRefType>(destination.getType());
  ElementAccess target = llvm::cantFail(ElementAccess::get(type));
  RelayoutSide to = getSide(destination, target);
  if (op->getNumOperands() == 2) {
    Value source = op->getOperand(0);
    ElementAccess origin =
        llvm::cantFail(ElementAccess::get(cast<MemRefType>(source.getType())));
    SmallVector<Value> values = sizes.getDynamic(sizes.getStatic());
    buildElementCopy(rewriter, loc, getSide(source, origin), to,
                     {sizes.getStatic(), values}, nullptr, options);
  }
  std::optional<PaddingValue> padding = getPaddingValue(type);
  // A copy fills padding too: bufferization copies constants, and what other
  // operations allocated, into new buffers.
  if (padding && mayHavePadding(target.axes())) {
    Value value =
        buildPaddingValue(rewriter, loc, type.getElementType(), *padding);
    buildPaddingFill(rewriter, loc, to, {type.getShape(), to.sizes}, value,
                     options);
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
    if (!isLoweredRelayout(op))
      return rewriter.notifyMatchFailure(op, "no relayout in memory");
    if (llvm::Error error = getObstacle(op))
      return rewriter.notifyMatchFailure(
          op, takeDiagnostic(std::move(error)).message());
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
