//===- TesseraDialect.cpp - The tessera dialect ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"

#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

#include "tessera/Dialect/Tessera/IR/TesseraDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Tessera/IR/TesseraTypes.cpp.inc"

namespace {
/// Layouts are long and repeat: they print as `#layout`.
struct TesseraAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attribute))
      return AliasResult::NoAlias;
    os << LayoutAttr::getMnemonic();
    return AliasResult::OverridableAlias;
  }
};

/// No operation of the dialect depends on the function that it is in.
struct TesseraInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
};
} // namespace

void TesseraDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tessera/Dialect/Tessera/IR/TesseraTypes.cpp.inc"
      >();
}

void TesseraDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Tessera/IR/TesseraOps.cpp.inc"
      >();
  addInterfaces<TesseraAsmInterface, TesseraInlinerInterface>();
}

Operation *TesseraDialect::materializeConstant(OpBuilder &builder,
                                               Attribute value, Type type,
                                               Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult TesseraDialect::verifyOperationAttribute(Operation *op,
                                                       NamedAttribute named) {
  if (named.getName() != TargetAttr::kAttrName)
    return op->emitOpError("unknown attribute '")
           << named.getName().getValue() << "' of dialect '" << getNamespace()
           << "'";
  if (isa<ModuleOp>(op) && isa<TargetAttr>(named.getValue()))
    return success();
  return op->emitOpError("invalid attribute '")
         << named.getName().getValue()
         << "': expected a #tessera.target<...> on a module";
}
