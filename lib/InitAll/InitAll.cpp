//===- InitAll.cpp - Everything of Tessera for a tool ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/InitAll.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Conversion/Pipelines.h"
#include "tessera/Dialect/Tessera/IR/LayoutPropagation.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/Transforms/BufferizableOpInterfaceImpl.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"

#include "mlir/Dialect/Arith/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"

void tessera::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<TesseraDialect, hlo::TesseraHLODialect>();
}

/// What upstream's dialects promise and --tessera-bufferize and the passes
/// behind it ask for. MLIR ends the process where a promise is not kept.
static void registerUpstreamModels(mlir::DialectRegistry &registry) {
  mlir::arith::registerBufferDeallocationOpInterfaceExternalModels(registry);
  mlir::arith::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  mlir::cf::registerBufferDeallocationOpInterfaceExternalModels(registry);
  mlir::cf::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::linalg::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::memref::registerAllocationOpInterfaceExternalModels(registry);
  mlir::scf::registerBufferDeallocationOpInterfaceExternalModels(registry);
  mlir::scf::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::tensor::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::vector::registerBufferizableOpInterfaceExternalModels(registry);
}

void tessera::registerAllExtensions(mlir::DialectRegistry &registry) {
  registerUpstreamModels(registry);
  registerLayoutPropagationExternalModels(registry);
  registerBufferizableOpInterfaceExternalModels(registry);
}

void tessera::registerAllPasses() {
  registerTesseraPasses();
  registerTesseraConversionPasses();
  registerTesseraPipelines();
}
