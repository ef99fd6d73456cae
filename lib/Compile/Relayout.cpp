//===- Relayout.cpp - A relayout as a function of affine loops ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Compile.h"

#include "Machine.h"
#include "tessera/Conversion/TesseraToAffine/BuildRelayout.h"
#include "tessera/Conversion/TesseraToVector/EmitRelayout.h"
#include "tessera/Layout/PaddingBits.h"
#include "tessera/Layout/Size.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

/// Access to the elements of `shape` as integers of the width that they are
/// stored with.
static llvm::Expected<ElementAccess> getAccess(MLIRContext *context,
                                               const Shape &shape) {
  llvm::Expected<AxisList> axes = AxisList::get(shape);
  if (!axes)
    return axes.takeError();
  int64_t bits = getStorageBits(shape.elementType(), shape.layoutOrDefault());
  return ElementAccess::get(std::move(*axes), IntegerType::get(context, bits),
                            bits);
}

/// Casts an integer to another width, by the sign of `type`.
static Value castInteger(OpBuilder &builder, Location loc, Value value,
                         Type target, PrimitiveType type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = target.getIntOrFloatBitWidth();
  if (from == to)
    return value;
  if (from > to)
    return arith::TruncIOp::create(builder, loc, target, value);
  if (isSignedIntegral(type))
    return arith::ExtSIOp::create(builder, loc, target, value);
  return arith::ExtUIOp::create(builder, loc, target, value);
}

/// Declares `void symbol(source, destination)`. With `isNoAlias` the code
/// generator may move loads before stores.
static func::FuncOp createFunction(ModuleOp module, StringRef symbol,
                                   TypeRange arguments, bool isNoAlias) {
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = builder.getFunctionType(arguments, {});
  auto function = func::FuncOp::create(builder, module.getLoc(), symbol, type);
  for (unsigned i = 0; i < arguments.size() && isNoAlias; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
  return function;
}

static ElementBits getElementBits(const Shape &source,
                                  const Shape &destination) {
  PrimitiveType type = source.elementType();
  return {getStorageBits(type, source.layoutOrDefault()),
          getStorageBits(type, destination.layoutOrDefault()),
          isSignedIntegral(type)};
}

const TunedRelayout *tessera::findTuned(const ArrayPart &source,
                                        const ArrayPart &destination,
                                        const CompileOptions &options) {
  if (!options.machine || !options.tuning.isRule())
    return nullptr;
  return options.machine->find(source, destination, options.threads,
                               options.buffers);
}

static llvm::Expected<std::vector<RelayoutVersion>>
getVersions(const ArrayPart &sourcePart, const ArrayPart &destinationPart,
            const CompileOptions &options) {
  if (llvm::Error error = checkRelayout(sourcePart, destinationPart))
    return std::move(error);
  const Shape &source = sourcePart.shape;
  const Shape &destination = destinationPart.shape;
  llvm::Expected<RelayoutTarget> target = getRelayoutTarget(options);
  if (!target)
    return target.takeError();
  if (const TunedRelayout *tuned =
          findTuned(sourcePart, destinationPart, options))
    target->tuning = tuned->tuning;
  llvm::Expected<AxisList> src = AxisList::get(source);
  if (!src)
    return src.takeError();
  llvm::Expected<AxisList> dst = AxisList::get(destination);
  if (!dst)
    return dst.takeError();
  bool fillPadding = destinationPart.isWhole() &&
                     destination.layoutOrDefault().paddingValue.has_value();
  return planVersions({*src, sourcePart.box}, {*dst, destinationPart.box},
                      getElementBits(source, destination), fillPadding,
                      *target);
}

llvm::Expected<RelayoutPlan>
tessera::getRelayoutPlan(const ArrayPart &sourcePart,
                         const ArrayPart &destinationPart,
                         const CompileOptions &options) {
  auto versions = getVersions(sourcePart, destinationPart, options);
  if (!versions)
    return versions.takeError();
  return std::move(versions->front().plan);
}

/// The index in an array of each index of a part of it.
static AffineMap getBoxMap(OpBuilder &builder, const ArrayPart &part) {
  SmallVector<AffineExpr> results;
  for (unsigned i = 0; i < part.shape.rank(); ++i) {
    AffineExpr index = builder.getAffineDimExpr(i);
    results.push_back(
        part.isWhole() ? index : index * part.box[i].step + part.box[i].begin);
  }
  return AffineMap::get(part.shape.rank(), 0, results, builder.getContext());
}

/// One nest over the indices of the boxes: floordiv and mod stay where they are
/// in the layouts.
static void buildBoxCopy(OpBuilder &builder, Location loc,
                         const RelayoutSide &source,
                         const RelayoutSide &destination,
                         const ArrayPart &sourcePart,
                         const ArrayPart &destinationPart,
                         ConvertElementFn convert, LoopNestOptions options) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<affine::AffineForOp> loops;
  SmallVector<Value> indices;
  for (int64_t size : sourcePart.dimensions()) {
    loops.push_back(affine::AffineForOp::create(builder, loc, 0, size));
    builder.setInsertionPointToStart(loops.back().getBody());
    indices.push_back(loops.back().getInductionVar());
  }
  Subscripts from{getBoxMap(builder, sourcePart), indices};
  Subscripts to{getBoxMap(builder, destinationPart), indices};
  Value element = source.access.load(builder, loc, source.memref, from);
  destination.access.store(builder, loc, convert(builder, loc, element),
                           destination.memref, to);
  parallelizeLoops(loops, destination.access, options);
}

namespace {
/// A relayout in loops over elements, on physical memrefs.
class PlainRelayout {
public:
  static llvm::Expected<PlainRelayout> get(MLIRContext *context,
                                           const ArrayPart &source,
                                           const ArrayPart &destination);

  MemRefType sourceType() const { return from.physicalType(); }
  MemRefType destinationType() const { return to.physicalType(); }

  void build(OpBuilder &builder, Location loc, Value source, Value destination,
             LoopNestOptions options) const;

private:
  PlainRelayout(const ArrayPart &source, const ArrayPart &destination,
                ElementAccess from, ElementAccess to)
      : source(source), destination(destination), from(std::move(from)),
        to(std::move(to)) {}

  const ArrayPart &source, &destination;
  ElementAccess from, to;
};
} // namespace

llvm::Expected<PlainRelayout> PlainRelayout::get(MLIRContext *context,
                                                 const ArrayPart &source,
                                                 const ArrayPart &destination) {
  llvm::Expected<ElementAccess> from = getAccess(context, source.shape);
  if (!from)
    return from.takeError();
  llvm::Expected<ElementAccess> to = getAccess(context, destination.shape);
  if (!to)
    return to.takeError();
  return PlainRelayout(source, destination, std::move(*from), std::move(*to));
}

void PlainRelayout::build(OpBuilder &builder, Location loc, Value sourceMemref,
                          Value destinationMemref,
                          LoopNestOptions options) const {
  PrimitiveType type = source.shape.elementType();
  Type stored = to.element();
  RelayoutSide origin{from, sourceMemref}, target{to, destinationMemref};
  auto convert = [&](OpBuilder &builder, Location loc, Value value) {
    return castInteger(builder, loc, value, stored, type);
  };
  RelayoutSizes sizes{destination.shape.dimensions(), {}};
  if (source.isWhole() && destination.isWhole())
    buildElementCopy(builder, loc, origin, target, sizes, convert, options);
  else
    buildBoxCopy(builder, loc, origin, target, source, destination, convert,
                 options);
  auto padding = destination.shape.layoutOrDefault().paddingValue;
  if (!padding || !destination.isWhole() || !mayHavePadding(to.axes()))
    return;
  unsigned width = stored.getIntOrFloatBitWidth();
  llvm::APInt bits = getStoredPadding(type, *padding, width).trunc(width);
  Value value = arith::ConstantOp::create(builder, loc,
                                          builder.getIntegerAttr(stored, bits));
  buildPaddingFill(builder, loc, target, sizes, value, options);
}

/// A flat memref as the memref of `type`, which has as many elements.
static Value unflatten(OpBuilder &builder, Location loc, Value flat,
                       MemRefType type) {
  if (flat.getType() == type)
    return flat;
  auto [strides, offset] = type.getStridesAndOffset();
  return memref::ReinterpretCastOp::create(builder, loc, type, flat, offset,
                                           type.getShape(), strides);
}

/// Appends a function of vector kernels; false where there is no plan.
static llvm::Expected<bool> addVectorFunction(ModuleOp module,
                                              const ArrayPart &sourcePart,
                                              const ArrayPart &destinationPart,
                                              const PlainRelayout &plain,
                                              const CompileOptions &options) {
  // An unknown processor is an error also where there is no plan.
  if (auto target = getRelayoutTarget(options); !target)
    return target.takeError();
  auto versions = getVersions(sourcePart, destinationPart, options);
  if (!versions) {
    llvm::consumeError(versions.takeError());
    return false;
  }
  const RelayoutPlan &plan = versions->front().plan;
  MLIRContext *context = module.getContext();
  context->loadDialect<scf::SCFDialect, vector::VectorDialect>();
  Type element = IntegerType::get(context, plan.elementBits);
  func::FuncOp function =
      createFunction(module, options.symbol,
                     {MemRefType::get({plan.srcElements}, element),
                      MemRefType::get({plan.dstElements}, element)},
                     /*isNoAlias=*/plan.isReordered());
  Block *body = function.addEntryBlock();
  auto builder = OpBuilder::atBlockEnd(body);
  const Shape &destination = destinationPart.shape;
  TypedAttr padding;
  auto value = destination.layoutOrDefault().paddingValue;
  if (value && destinationPart.isWhole())
    padding = builder.getIntegerAttr(
        element,
        getStoredPadding(destination.elementType(), *value,
                         getElementBits(sourcePart.shape, destination).dst));
  auto emitPlain = [&](OpBuilder &builder) {
    Location loc = function.getLoc();
    plain.build(
        builder, loc,
        unflatten(builder, loc, body->getArgument(0), plain.sourceType()),
        unflatten(builder, loc, body->getArgument(1), plain.destinationType()),
        LoopNestOptions());
  };
  emitRelayout(builder, function.getLoc(), body->getArgument(0),
               body->getArgument(1), *versions, padding, emitPlain);
  func::ReturnOp::create(builder, function.getLoc());
  return true;
}

llvm::Error tessera::addRelayoutFunction(ModuleOp module,
                                         const ArrayPart &source,
                                         const ArrayPart &destination,
                                         const CompileOptions &options) {
  if (llvm::Error error = checkRelayout(source, destination))
    return error;
  MLIRContext *context = module.getContext();
  context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                       func::FuncDialect, memref::MemRefDialect,
                       LLVM::LLVMDialect>();
  auto plain = PlainRelayout::get(context, source, destination);
  if (!plain)
    return plain.takeError();
  if (options.vectorize) {
    llvm::Expected<bool> isDone =
        addVectorFunction(module, source, destination, *plain, options);
    if (!isDone || *isDone)
      return isDone.takeError();
  }
  func::FuncOp function = createFunction(
      module, options.symbol, {plain->sourceType(), plain->destinationType()},
      /*isNoAlias=*/true);
  Block *body = function.addEntryBlock();
  auto builder = OpBuilder::atBlockEnd(body);
  LoopNestOptions nestOptions;
  nestOptions.threads = options.threads;
  nestOptions.parallelBytes = options.parallelBytes;
  plain->build(builder, function.getLoc(), body->getArgument(0),
               body->getArgument(1), nestOptions);
  func::ReturnOp::create(builder, function.getLoc());
  return llvm::Error::success();
}
