//===- StridedBoundaries.cpp - Functions that take strided memrefs --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where layouts have strides, the boundary of a function can keep the logical
// shape: memref<3x5xf32, strided<[1, 3]>> in place of the physical
// memref<5x3xf32>. Casts inside of functions and around calls lead from one to
// the other.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/LowerLayouts.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tessera;

MemRefType tessera::getDenseStridedType(Type type) {
  MemRefType memref = getLaidOutMemRef(type);
  LayoutAttrInterface attr = memref ? getLayoutAttr(memref) : nullptr;
  auto layout = attr ? attr.asLayout(memref.getRank()) : std::nullopt;
  if (!layout || memref.getLayout().isIdentity())
    return {};
  Layout plain;
  plain.minorToMajor = layout->minorToMajor;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (*layout != plain || failed(memref.getStridesAndOffset(strides, offset)) ||
      llvm::is_contained(strides, ShapedType::kDynamic))
    return {};
  return MemRefType::get(
      memref.getShape(), memref.getElementType(),
      StridedLayoutAttr::get(memref.getContext(), offset, strides),
      memref.getMemorySpace());
}

/// `value` as a strided memref where there is one for its type.
static Value toStrided(OpBuilder &builder, Value value) {
  MemRefType strided = getDenseStridedType(value.getType());
  if (!strided)
    return value;
  return memref::CastOp::create(builder, value.getLoc(), strided, value);
}

/// Gives `value` the strided type, and what uses it the one that it had.
static void changeType(OpBuilder &builder, Value value) {
  MemRefType laidOut = getLaidOutMemRef(value.getType());
  MemRefType strided = getDenseStridedType(value.getType());
  if (!strided)
    return;
  value.setType(strided);
  auto cast = memref::CastOp::create(builder, value.getLoc(), laidOut, value);
  value.replaceAllUsesExcept(cast, cast);
}

/// Casts the operands of a call or a return.
static void castOperands(Operation *op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands())
    operand.set(toStrided(builder, operand.get()));
}

static void changeCall(func::CallOp call) {
  castOperands(call);
  OpBuilder builder(call->getContext());
  builder.setInsertionPointAfter(call);
  for (Value result : call.getResults())
    changeType(builder, result);
}

static void changeFunction(func::FuncOp function) {
  auto getTypes = [](TypeRange types) {
    return llvm::map_to_vector(types, [](Type type) -> Type {
      MemRefType strided = getDenseStridedType(type);
      return strided ? strided : type;
    });
  };
  function.setType(FunctionType::get(function.getContext(),
                                     getTypes(function.getArgumentTypes()),
                                     getTypes(function.getResultTypes())));
  if (function.isExternal())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  for (Value argument : function.getArguments())
    changeType(builder, argument);
  function.walk([](func::ReturnOp op) { castOperands(op); });
}

void tessera::makeBoundariesStrided(ModuleOp module) {
  SymbolTableCollection tables;
  SymbolUserMap users(tables, module);
  module.walk([&](func::FuncOp function) {
    // What takes the address of a function knows its type.
    ArrayRef<Operation *> calls = users.getUsers(function);
    if (!llvm::all_of(calls, llvm::IsaPred<func::CallOp>))
      return;
    for (Operation *call : calls)
      changeCall(cast<func::CallOp>(call));
    changeFunction(function);
  });
}
