//===- tessera-opt.cpp - mlir-opt with the project's dialects and passes --===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#ifdef TESSERA_INCLUDE_TESTS
#include "TestTesseraDialect.h"
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  tessera::registerAllDialects(registry);
  tessera::registerAllExtensions(registry);
  tessera::registerAllPasses();
#ifdef TESSERA_INCLUDE_TESTS
  registry.insert<tessera::test::TestTesseraDialect>();
#endif
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Tessera's optimizer driver\n", registry));
}
