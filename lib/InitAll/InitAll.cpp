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
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/Transforms/BufferizableOpInterfaceImpl.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"

void tessera::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<TesseraDialect, hlo::TesseraHLODialect>();
}

void tessera::registerAllExtensions(mlir::DialectRegistry &registry) {
  registerBufferizableOpInterfaceExternalModels(registry);
}

void tessera::registerAllPasses() {
  registerTesseraPasses();
  registerTesseraConversionPasses();
  registerTesseraPipelines();
}
