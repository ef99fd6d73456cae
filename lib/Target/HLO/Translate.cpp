//===- Translate.cpp - HLO for translation tools --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/HLO/Translate.h"

#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"
#include "tessera/Target/HLO/Export.h"
#include "tessera/Target/HLO/Import.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tessera;

void tessera::registerHLOTranslations() {
  static llvm::cl::opt<bool> raw(
      "hlo-raw",
      llvm::cl::desc("Keep every instruction as it is (with --import-hlo)"));

  static TranslateToMLIRRegistration import(
      "import-hlo", "Import HLO text: a module or a single instruction",
      [](llvm::SourceMgr &sources, MLIRContext *context) {
        const llvm::MemoryBuffer *buffer =
            sources.getMemoryBuffer(sources.getMainFileID());
        ImportHLOOptions options;
        options.raw = raw;
        return OwningOpRef<Operation *>(importHLO(buffer->getBuffer(),
                                                  buffer->getBufferIdentifier(),
                                                  context, options)
                                            .release());
      },
      [](DialectRegistry &registry) {
        registry.insert<hlo::TesseraHLODialect>();
      });

  static TranslateFromMLIRRegistration exportRegistration(
      "export-hlo", "Export a module as HLO text",
      [](ModuleOp module, raw_ostream &os) { return exportHLO(module, os); },
      [](DialectRegistry &registry) {
        registry.insert<TesseraDialect, arith::ArithDialect, func::FuncDialect,
                        hlo::TesseraHLODialect>();
      });
}
