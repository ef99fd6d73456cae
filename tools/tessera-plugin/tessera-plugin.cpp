//===- tessera-plugin.cpp - The project as a plugin of mlir-opt -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TesseraPlugin.so for a stock mlir-opt:
//
//   mlir-opt --load-dialect-plugin=TesseraPlugin.so
//            --load-pass-plugin=TesseraPlugin.so
//            --pass-pipeline='builtin.module(tessera-verify)' file.mlir
//
// The flags of single passes, as --tessera-verify, are not there: mlir-opt
// makes its flags before it loads plugins.
//
//===----------------------------------------------------------------------===//

#include "tessera/InitAll.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

static void registerDialects(mlir::DialectRegistry *registry) {
  tessera::registerAllDialects(*registry);
  tessera::registerAllExtensions(*registry);
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Tessera", TESSERA_VERSION,
          registerDialects};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Tessera", TESSERA_VERSION,
          tessera::registerAllPasses};
}
