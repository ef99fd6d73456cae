//===- TesseraHLODialect.cpp - The tessera_hlo dialect --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"

#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tessera;

using hlo::TesseraHLODialect;

#include "tessera/Dialect/TesseraHLO/IR/TesseraHLODialect.cpp.inc"

void TesseraHLODialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLOOps.cpp.inc"
      >();
}

/// A reference to functions: one, or a list.
static bool isReference(Attribute value) {
  if (auto list = dyn_cast<ArrayAttr>(value))
    return llvm::all_of(list, llvm::IsaPred<FlatSymbolRefAttr>);
  return isa<FlatSymbolRefAttr>(value);
}

bool hlo::isAttributeDictionary(mlir::Attribute attributes) {
  auto dictionary = dyn_cast<DictionaryAttr>(attributes);
  return dictionary && llvm::all_of(dictionary, [](NamedAttribute entry) {
           return isa<StringAttr>(entry.getValue()) ||
                  isReference(entry.getValue());
         });
}

/// attributes_c1
static LogicalResult verifyAttribute(Operation *op, NamedAttribute attribute) {
  Attribute value = attribute.getValue();
  StringRef name = attribute.getName();
  StringRef expected;
  bool isText = name == TesseraHLODialect::getNameAttrName() ||
                name == TesseraHLODialect::getContextAttrName();
  if (isText && !isa<StringAttr>(value))
    expected = "a string";
  if (name == TesseraHLODialect::getAttributesAttrName() &&
      !hlo::isAttributeDictionary(value))
    expected = "a dictionary of strings and references to functions";
  if (name == TesseraHLODialect::getPositionAttrName()) {
    auto position = dyn_cast<IntegerAttr>(value);
    if (!position || position.getValue().isNegative())
      expected = "an integer that is not negative";
  }
  if (expected.empty())
    return success();
  return op->emitOpError() << "invalid attribute '" << name << "': expected "
                           << expected << ", found " << value
                           << " [attributes_c1]";
}

LogicalResult
TesseraHLODialect::verifyOperationAttribute(Operation *op,
                                            NamedAttribute attribute) {
  return verifyAttribute(op, attribute);
}

LogicalResult
TesseraHLODialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                            NamedAttribute attribute) {
  return verifyAttribute(op, attribute);
}
