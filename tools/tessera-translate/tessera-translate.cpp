//===- tessera-translate.cpp - Formats in and out -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ToolSupport.h"
#include "tessera/Target/HLO/Translate.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  tessera::registerHLOTranslations();
  llvm::cl::SetVersionPrinter(tessera::versionPrinter("tessera-translate"));
  llvm::LogicalResult result =
      mlir::mlirTranslateMain(argc, argv, "Tessera's translation driver");
  return failed(result) ? tessera::kExitBadInput : tessera::kExitSuccess;
}
