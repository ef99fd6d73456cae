//===- Kernels.cpp - Calls of Mosaic kernels ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel sees logical arrays, block by block: its function takes row-major
// ones, and relayouts stand around its call.
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/Kernels.h"
#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Conversion/MosaicToLinalg.h"
#include "tessera/HLO/Attributes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

/// The attribute as the text had it; without a value where there is none.
static hlo::Attribute getAttribute(InstructionOp op, StringRef name,
                                   AttributeKind kind) {
  return {name, getText(op, name), kind, {}, {}, {}};
}

static void emitDiagnostic(InstructionOp op,
                           const tessera::Diagnostic &diagnostic) {
  InFlightDiagnostic error = op.emitError(diagnostic.message());
  if (op.getName())
    error << ", in %" << *op.getName();
  error << "; docs/running.md has what runs";
}

/// The array without a layout.
static RankedTensorType dropLayout(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

/// The operand that each leaf of the result lies in the memory of.
static SmallVector<std::optional<unsigned>> getResultAliases(InstructionOp op,
                                                             size_t count) {
  SmallVector<std::optional<unsigned>> aliases(count);
  hlo::Attribute attribute = getAttribute(op, "output_to_operand_aliasing",
                                          AttributeKind::OperandAliasing);
  for (const Alias &alias : getAliases(&attribute)) {
    size_t leaf = alias.outputIndex.empty() ? 0 : alias.outputIndex.front();
    bool isKnown = alias.outputIndex.size() <= 1 && leaf < count &&
                   alias.inputIndex.empty() && alias.number >= 0;
    if (isKnown)
      aliases[leaf] = static_cast<unsigned>(alias.number);
  }
  return aliases;
}

/// The function of the kernel in the module; null after diagnostics.
static func::FuncOp addKernel(HLOConverter &c, InstructionOp op,
                              const mosaic::KernelCall &call) {
  std::vector<tessera::Diagnostic> errors;
  std::optional<std::string> text = mosaic::convertKernel(call, errors);
  for (const tessera::Diagnostic &error : errors)
    emitDiagnostic(op, error);
  if (!text)
    return {};
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(*text, op.getContext());
  if (!module) {
    (void)emitUnsupported(op, "kernel", "operations that can be verified",
                          "others");
    return {};
  }
  auto function = *module->getOps<func::FuncOp>().begin();
  function->remove();
  // Its locations are those of another text.
  function->walk([&](Operation *inner) { inner->setLoc(op.getLoc()); });
  return c.addFunction(function);
}

static LogicalResult convertKernelCall(HLOConverter &c, InstructionOp op) {
  hlo::Attribute config =
      getAttribute(op, "backend_config", AttributeKind::StringOrJson);
  llvm::Expected<std::string> body = readKernelBody(&config);
  if (!body) {
    emitDiagnostic(op, takeDiagnostic(body.takeError()));
    return failure();
  }
  SmallVector<Value> operands = c.getAllLeaves(op.getOperands());
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  mosaic::KernelCall call{*body, {}, {}, getResultAliases(op, types.size())};
  for (Value operand : operands)
    call.operands.push_back(dropLayout(operand.getType()));
  call.results = llvm::map_to_vector(types, dropLayout);
  auto isStatic = [](RankedTensorType type) { return type.hasStaticShape(); };
  if (!llvm::all_of(call.operands, isStatic) ||
      !llvm::all_of(call.results, isStatic))
    return emitUnsupported(op, "operands", "arrays of static shape");
  func::FuncOp function = addKernel(c, op, call);
  if (!function)
    return failure();
  for (auto [operand, type] : llvm::zip_equal(operands, call.operands))
    operand = c.relayout(operand, type);
  auto results = func::CallOp::create(c.b, function, operands).getResults();
  SmallVector<Value> leaves;
  for (auto [result, type] : llvm::zip_equal(results, types))
    leaves.push_back(c.relayout(result, type));
  c.setLeaves(op.getResult(), leaves);
  return success();
}

void hlo::populateKernelConversions(InstructionConversions &conversions) {
  conversions.instructions["custom-call:tpu_custom_call"] = convertKernelCall;
}
