//===- MosaicToLinalg.cpp - Kernels as functions of tensors ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel has operations of a dialect that is not there. So it is read and
// converted in a context of its own, which allows that, and what it becomes
// leaves it as text.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/MosaicToLinalg.h"

#include "KernelConverter.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::mosaic;

/// The call with the types of another context.
static KernelCall moveTypes(const KernelCall &call, MLIRContext &context) {
  auto move = [&](RankedTensorType type) {
    return cast<RankedTensorType>(parseType(debugString(type), &context));
  };
  KernelCall moved = call;
  moved.operands = llvm::map_to_vector(call.operands, move);
  moved.results = llvm::map_to_vector(call.results, move);
  return moved;
}

/// A module that has `function` alone, verified and simplified.
static std::optional<std::string>
finish(func::FuncOp function, std::vector<tessera::Diagnostic> &errors) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  function->moveBefore(module->getBody(), module->getBody()->end());
  std::string message;
  ScopedDiagnosticHandler handler(function.getContext(),
                                  [&](mlir::Diagnostic &diagnostic) {
                                    message = diagnostic.str();
                                    return success();
                                  });
  if (failed(verify(*module))) {
    errors.push_back(takeDiagnostic(unsupportedError(
        "kernel", "operations that fit their operands", message)));
    return std::nullopt;
  }
  simplifyFunction(*module);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

std::optional<std::string>
mosaic::convertKernel(const KernelCall &call,
                      std::vector<tessera::Diagnostic> &errors) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  context.loadDialect<affine::AffineDialect, arith::ArithDialect,
                      bufferization::BufferizationDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect,
                      memref::MemRefDialect, scf::SCFDialect,
                      tensor::TensorDialect, vector::VectorDialect>();
  llvm::Expected<OwningOpRef<ModuleOp>> kernel = readKernel(call.body, context);
  if (!kernel) {
    errors.push_back(takeDiagnostic(kernel.takeError()));
    return std::nullopt;
  }
  expandQuotients(**kernel);
  KernelConversions conversions;
  populateRegionConversions(conversions);
  populateMemoryConversions(conversions);
  populateVectorConversions(conversions);
  populateContractionConversions(conversions);
  KernelConverter converter(**kernel, conversions, errors);
  converter.checkOperations();
  if (failed(converter.checkTypes()))
    return std::nullopt;
  func::FuncOp function = converter.convertFunction(moveTypes(call, context));
  if (!function && errors.empty())
    (void)converter.unsupported("kernel", "operations that are converted",
                                "others");
  if (!errors.empty())
    return std::nullopt;
  return finish(function, errors);
}
