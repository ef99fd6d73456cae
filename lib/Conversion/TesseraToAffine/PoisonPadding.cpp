//===- PoisonPadding.cpp - New memory that shows when it is read ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_POISONPADDING
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// A number that nobody expects: NaN, or the largest where a type has none, and
/// integers of ones. Null for types that are no numbers.
static TypedAttr getPoison(Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    bool hasNaN = llvm::APFloat::semanticsHasNaN(semantics);
    return FloatAttr::get(type, hasNaN ? llvm::APFloat::getNaN(semantics)
                                       : llvm::APFloat::getLargest(semantics));
  }
  if (isa<IntegerType, IndexType>(type)) {
    unsigned width = type.isIndex() ? IndexType::kInternalStorageBitWidth
                                    : type.getIntOrFloatBitWidth();
    return IntegerAttr::get(type, llvm::APInt::getAllOnes(width));
  }
  return {};
}

static Value createPoison(ImplicitLocOpBuilder &b, Type type) {
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    Value part = createPoison(b, complexType.getElementType());
    return part ? complex::CreateOp::create(b, type, part, part) : Value();
  }
  TypedAttr poison = getPoison(type);
  return poison ? arith::ConstantOp::create(b, poison) : Value();
}

/// Writes poison to all elements of a buffer, behind its definition. Returns
/// whether it has such elements.
static bool poison(Operation *allocation) {
  Value buffer = allocation->getResult(0);
  ImplicitLocOpBuilder b(allocation->getLoc(), allocation->getContext());
  b.setInsertionPointAfter(allocation);
  auto type = cast<MemRefType>(buffer.getType());
  Value value = createPoison(b, type.getElementType());
  if (!value)
    return false;
  SmallVector<Value> lower, upper, steps;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    lower.push_back(arith::ConstantIndexOp::create(b, 0));
    upper.push_back(b.createOrFold<memref::DimOp>(buffer, dim));
    steps.push_back(arith::ConstantIndexOp::create(b, 1));
  }
  scf::buildLoopNest(b, b.getLoc(), lower, upper, steps,
                     [&](OpBuilder &builder, Location loc, ValueRange index) {
                       memref::StoreOp::create(builder, loc, value, buffer,
                                               index);
                     });
  return true;
}

namespace {
struct PoisonPaddingPass : tessera::impl::PoisonPaddingBase<PoisonPaddingPass> {
  void runOnOperation() override {
    SmallVector<Operation *> allocations;
    getOperation()->walk([&](Operation *op) {
      // Elsewhere nothing runs, and loops become blocks that nothing holds.
      if (isa<memref::AllocOp, memref::AllocaOp>(op) &&
          op->getParentOfType<FunctionOpInterface>())
        allocations.push_back(op);
    });
    for (Operation *allocation : allocations)
      numPoisoned += poison(allocation);
  }
};
} // namespace
