//===- Relayout.cpp - A relayout as a function of affine loops ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Compile.h"

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

using namespace mlir;
using namespace tessera;

/// The rules for one side of a relayout.
static llvm::Error checkSide(const Shape &shape, llvm::StringRef side) {
  if (!shape.isArray())
    return invalidError("", side, "an array", shape.toString());
  if (llvm::Error error = shape.verify())
    return error;
  if (shape.hasUnboundedDimension())
    return unsupportedError(side, "dimensions that are known or bounded",
                            shape.toString(), "write <=N in place of ?");
  Layout layout = shape.layoutOrDefault();
  if (layout.dynamicShapeMetadataPrefixBytes != 0)
    return unsupportedError("M of the " + side, "no metadata before the data",
                            shape.toString(), "drop M");
  int64_t bits = getStorageBits(shape.elementType(), layout);
  if (bits != getBitWidth(shape.elementType()) &&
      bits != getByteWidth(shape.elementType()) * 8)
    return unsupportedError(
        "E of the " + side,
        "the type's bits, " + Twine(getBitWidth(shape.elementType())) +
            ", or its bytes, " + Twine(getByteWidth(shape.elementType()) * 8),
        Twine(bits), "use one of them");
  return llvm::Error::success();
}

llvm::Error tessera::checkRelayout(const Shape &source,
                                   const Shape &destination) {
  if (llvm::Error error = checkSide(source, "source"))
    return error;
  if (llvm::Error error = checkSide(destination, "destination"))
    return error;
  if (source.elementType() != destination.elementType())
    return invalidError("", "element type of the destination",
                        getName(source.elementType()),
                        getName(destination.elementType()),
                        "a relayout does not convert values");
  if (source.dimensions() != destination.dimensions())
    return invalidError("", "dimensions of the destination",
                        source.toString(/*printLayout=*/false),
                        destination.toString(/*printLayout=*/false),
                        "a relayout keeps the dimensions");
  return llvm::Error::success();
}

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

/// Declares `void symbol(noalias source, noalias destination)`.
static func::FuncOp createFunction(ModuleOp module, StringRef symbol,
                                   TypeRange arguments) {
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = builder.getFunctionType(arguments, {});
  auto function = func::FuncOp::create(builder, module.getLoc(), symbol, type);
  for (unsigned i = 0; i < arguments.size(); ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
  return function;
}

/// The value of padding as an integer of `width` bits; nothing where the layout
/// promises none.
static std::optional<llvm::APInt> getStoredPadding(const Shape &shape,
                                                   unsigned width) {
  auto padding = shape.layoutOrDefault().paddingValue;
  if (!padding)
    return std::nullopt;
  llvm::APInt bits = getPaddingBits(shape.elementType(), *padding);
  return isSignedIntegral(shape.elementType()) ? bits.sext(width)
                                               : bits.zext(width);
}

llvm::Expected<RelayoutPlan>
tessera::getRelayoutPlan(const Shape &source, const Shape &destination,
                         const CompileOptions &options) {
  if (llvm::Error error = checkRelayout(source, destination))
    return std::move(error);
  llvm::Expected<RelayoutTarget> target = getRelayoutTarget(options);
  if (!target)
    return target.takeError();
  PrimitiveType type = source.elementType();
  int64_t bits = getStorageBits(type, source.layoutOrDefault());
  if (bits != getStorageBits(type, destination.layoutOrDefault()))
    return unsupportedError("relayout plan", "the same E on both sides",
                            "another");
  llvm::Expected<AxisList> src = AxisList::get(source);
  if (!src)
    return src.takeError();
  llvm::Expected<AxisList> dst = AxisList::get(destination);
  if (!dst)
    return dst.takeError();
  bool fillPadding = destination.layoutOrDefault().paddingValue.has_value();
  return planRelayout(*src, *dst, bits, fillPadding, *target);
}

/// Appends a function of vector kernels; false where there is no plan.
static llvm::Expected<bool> addVectorFunction(ModuleOp module,
                                              const Shape &source,
                                              const Shape &destination,
                                              const CompileOptions &options) {
  llvm::Expected<RelayoutTarget> target = getRelayoutTarget(options);
  if (!target)
    return target.takeError();
  llvm::Expected<RelayoutPlan> plan =
      getRelayoutPlan(source, destination, options);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return false;
  }
  MLIRContext *context = module.getContext();
  context->loadDialect<scf::SCFDialect, vector::VectorDialect>();
  Type element = IntegerType::get(context, plan->elementBits);
  func::FuncOp function =
      createFunction(module, options.symbol,
                     {MemRefType::get({plan->srcElements}, element),
                      MemRefType::get({plan->dstElements}, element)});
  Block *body = function.addEntryBlock();
  auto builder = OpBuilder::atBlockEnd(body);
  int64_t bits = getStorageBits(source.elementType(), source.layoutOrDefault());
  TypedAttr padding;
  if (auto value = getStoredPadding(destination, bits))
    padding = builder.getIntegerAttr(
        element, bits < 8 ? llvm::APInt::getSplat(8, *value) : *value);
  if (llvm::Error error = buildVectorRelayout(
          builder, function.getLoc(), body->getArgument(0),
          body->getArgument(1), cantFail(AxisList::get(source)),
          cantFail(AxisList::get(destination)), bits, padding, *target))
    return std::move(error);
  func::ReturnOp::create(builder, function.getLoc());
  return true;
}

llvm::Error tessera::addRelayoutFunction(ModuleOp module, const Shape &source,
                                         const Shape &destination,
                                         const CompileOptions &options) {
  if (llvm::Error error = checkRelayout(source, destination))
    return error;
  MLIRContext *context = module.getContext();
  context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                       func::FuncDialect, memref::MemRefDialect,
                       LLVM::LLVMDialect>();
  if (options.vectorize) {
    llvm::Expected<bool> isDone =
        addVectorFunction(module, source, destination, options);
    if (!isDone || *isDone)
      return isDone.takeError();
  }
  llvm::Expected<ElementAccess> from = getAccess(context, source);
  if (!from)
    return from.takeError();
  llvm::Expected<ElementAccess> to = getAccess(context, destination);
  if (!to)
    return to.takeError();

  func::FuncOp function = createFunction(
      module, options.symbol, {from->physicalType(), to->physicalType()});
  Block *body = function.addEntryBlock();
  auto builder = OpBuilder::atBlockEnd(body);
  Location loc = function.getLoc();
  PrimitiveType type = source.elementType();
  Type stored = to->element();
  RelayoutSizes sizes{source.dimensions(), {}};
  RelayoutSide target{*to, body->getArgument(1)};
  buildElementCopy(builder, loc, {*from, body->getArgument(0)}, target, sizes,
                   [&](OpBuilder &builder, Location loc, Value value) {
                     return castInteger(builder, loc, value, stored, type);
                   });
  auto padding = getStoredPadding(destination, stored.getIntOrFloatBitWidth());
  if (padding && mayHavePadding(to->axes())) {
    Value value = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(stored, *padding));
    buildPaddingFill(builder, loc, target, sizes, value);
  }
  func::ReturnOp::create(builder, loc);
  return llvm::Error::success();
}
