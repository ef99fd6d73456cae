//===- TesseraHLOOps.cpp - Operations of the tessera_hlo dialect ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/HLO/Opcode.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tessera;

using hlo::InstructionOp;
using hlo::TesseraHLODialect;

#define GET_OP_CLASSES
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLOOps.cpp.inc"

void InstructionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName().value_or(""));
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult emitInvalid(InstructionOp op, StringRef rule,
                                 const Twine &field, const Twine &expected,
                                 const Twine &found, const Twine &remedy = "") {
  return emitLayoutError([&] { return op.emitOpError(); },
                         invalidError(rule, field, expected, found, remedy));
}

/// instruction_c3
static LogicalResult verifyAttributes(InstructionOp op,
                                      const hlo::OpcodeName &opcode) {
  DictionaryAttr attributes = op.getHloAttributesAttr();
  if (!attributes)
    return success();
  if (!hlo::isAttributeDictionary(attributes))
    return emitInvalid(op, "instruction_c3", "attributes of an instruction",
                       "strings and references to functions",
                       "another attribute");
  auto isKnown = [&](StringRef name) {
    auto isNamed = [&](const hlo::AttributeSpec &spec) {
      return spec.name == name;
    };
    return llvm::any_of(hlo::getAttributes(opcode.opcode), isNamed) ||
           llvm::any_of(hlo::getCommonAttributes(), isNamed) ||
           (opcode.asyncWrapped &&
            llvm::any_of(hlo::getAttributes(*opcode.asyncWrapped), isNamed));
  };
  for (NamedAttribute attribute : attributes)
    if (!isKnown(attribute.getName()))
      return emitInvalid(op, "instruction_c3", "attribute of an instruction",
                         "one that '" + op.getOpcode() + "' may have",
                         "'" + attribute.getName().strref() + "'");
  return success();
}

/// instruction_c4, of one operand.
static LogicalResult verifyKeptLayout(InstructionOp op, OpOperand &operand,
                                      const LayoutEqual &equal) {
  auto resultType = dyn_cast<RankedTensorType>(op.getResult().getType());
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type || !resultType || type.getRank() != resultType.getRank() ||
      type.getEncoding() == resultType.getEncoding())
    return success();
  auto emitError = [&] { return op.emitOpError(); };
  llvm::Expected<Layout> result = getLayout(resultType);
  if (!result)
    return emitLayoutError(emitError, result.takeError());
  llvm::Expected<Layout> layout = getLayout(type);
  if (!layout)
    return emitLayoutError(emitError, layout.takeError());
  if (equal(*layout, *result))
    return success();
  return emitInvalid(op, "instruction_c4",
                     "layout of operand " + Twine(operand.getOperandNumber()),
                     "the result's, " + result->toString() +
                         ", but for tiles, memory space and SC",
                     layout->toString(),
                     "lay out the operand with a copy first");
}

/// Whether `op` is of an HLO module whose header says no schedule: layouts need
/// not bind there yet (hlo_c2).
static bool isBeforeSchedule(InstructionOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module ||
      module->hasAttr(TesseraHLODialect::getSingleInstructionAttrName()))
    return false;
  auto header = module->getAttrOfType<DictionaryAttr>(
      TesseraHLODialect::getAttributesAttrName());
  if (!header)
    return false;
  auto scheduled = header.getAs<StringAttr>("is_scheduled");
  return !scheduled || scheduled.getValue() != "true";
}

static LogicalResult verifyKeptLayouts(InstructionOp op,
                                       hlo::LayoutTrait trait) {
  if (trait == hlo::LayoutTrait::Any || isBeforeSchedule(op))
    return success();
  LayoutEqual equal;
  equal.ignoreTiles = true;
  equal.ignoreMemorySpace = true;
  equal.ignoreSplitConfigs = true;
  equal.ignoreElementSize = trait == hlo::LayoutTrait::KeepsButElementSize;
  for (OpOperand &operand : op->getOpOperands())
    if (failed(verifyKeptLayout(op, operand, equal)))
      return failure();
  return success();
}

LogicalResult InstructionOp::verify() {
  // instruction_c1
  std::optional<hlo::OpcodeName> opcode = hlo::parseOpcodeName(getOpcode());
  if (!opcode || opcode->opcode == hlo::Opcode::Parameter)
    return emitInvalid(
        *this, "instruction_c1", "opcode", "the name of an instruction of HLO",
        "'" + getOpcode() + "'",
        opcode ? "a parameter is an argument of its function" : "");
  // instruction_c2
  int numOperands = hlo::getNumOperands(opcode->opcode);
  if (numOperands != hlo::kVariadic &&
      numOperands != static_cast<int>(getOperands().size()))
    return emitInvalid(*this, "instruction_c2",
                       "number of operands of '" + getOpcode() + "'",
                       Twine(numOperands), Twine(getOperands().size()));
  if (failed(verifyAttributes(*this, *opcode)))
    return failure();
  // instruction_c6
  bool isConstant = opcode->opcode == hlo::Opcode::Constant;
  if (isConstant != getLiteral().has_value())
    return emitInvalid(*this, "instruction_c6", "literal",
                       isConstant ? "the value of the constant" : "none",
                       isConstant ? "none" : "'" + *getLiteral() + "'");
  // An asynchronous step wraps its operands in a tuple, or unwraps them.
  if (opcode->asyncWrapped)
    return success();
  return verifyKeptLayouts(*this, hlo::getLayoutTrait(opcode->opcode));
}

LogicalResult
InstructionOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // instruction_c5
  auto verifyReference = [&](FlatSymbolRefAttr reference) {
    if (symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(*this,
                                                                 reference))
      return success();
    return emitInvalid(*this, "instruction_c5", "reference of an instruction",
                       "a function", "'@" + reference.getValue() + "'");
  };
  DictionaryAttr attributes = getHloAttributesAttr();
  if (!attributes)
    return success();
  for (NamedAttribute attribute : attributes) {
    if (auto reference = dyn_cast<FlatSymbolRefAttr>(attribute.getValue()))
      if (failed(verifyReference(reference)))
        return failure();
    if (auto list = dyn_cast<ArrayAttr>(attribute.getValue()))
      for (auto reference : list.getAsRange<FlatSymbolRefAttr>())
        if (failed(verifyReference(reference)))
          return failure();
  }
  return success();
}
