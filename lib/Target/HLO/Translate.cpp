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
#include "tessera/HLOProto/HLOProto.h"
#include "tessera/Support/FileKind.h"
#include "tessera/Support/Nesting.h"
#include "tessera/Target/HLO/Export.h"
#include "tessera/Target/HLO/Import.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>

using namespace mlir;
using namespace tessera;

/// Imports `text` `runs` times, each into a context of its own, and prints the
/// least seconds: with the parser and both verifiers, without the time that
/// contexts take.
static void printTime(StringRef text, StringRef fileName, MLIRContext *like,
                      ImportHLOOptions options, unsigned runs) {
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> best = std::chrono::hours(1);
  for (unsigned i = 0; i < runs; ++i) {
    MLIRContext context(like->getDialectRegistry(),
                        like->isMultithreadingEnabled()
                            ? MLIRContext::Threading::ENABLED
                            : MLIRContext::Threading::DISABLED);
    context.loadDialect<hlo::TesseraHLODialect>();
    Clock::time_point start = Clock::now();
    OwningOpRef<ModuleOp> module = importHLO(text, fileName, &context, options);
    if (module && failed(verify(*module)))
      return;
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start));
  }
  llvm::outs() << llvm::format("%.9f\n", best.count());
}

/// Reports what is wrong with the whole of a text.
static LogicalResult emitBufferError(const llvm::MemoryBuffer &buffer,
                                     MLIRContext *context, llvm::Error error) {
  return emitError(
      FileLineColLoc::get(context, buffer.getBufferIdentifier(), 1, 1),
      llvm::toString(std::move(error)));
}

static LogicalResult
exportSource(const std::shared_ptr<llvm::SourceMgr> &sources, raw_ostream &os,
             MLIRContext *context) {
  DialectRegistry dialects;
  dialects.insert<TesseraDialect, arith::ArithDialect, func::FuncDialect,
                  hlo::TesseraHLODialect>();
  context->appendDialectRegistry(dialects);
  const llvm::MemoryBuffer *buffer =
      sources->getMemoryBuffer(sources->getMainFileID());
  llvm::Error error = checkIsMLIR(buffer->getBuffer());
  if (!error)
    error = checkParsable(buffer->getBuffer());
  if (error)
    return emitBufferError(*buffer, context, std::move(error));
  auto module = parseSourceFile<ModuleOp>(sources, context);
  return module ? exportHLO(*module, os) : failure();
}

void tessera::registerHLOTranslations() {
  static llvm::cl::opt<bool> raw(
      "hlo-raw",
      llvm::cl::desc("Keep every instruction as it is (with --import-hlo)"));

  static llvm::cl::opt<unsigned> timed(
      "hlo-time", llvm::cl::value_desc("n"), llvm::cl::init(0),
      llvm::cl::desc("Instead of the module, print the least seconds that its "
                     "import takes in n runs (with --import-hlo)"));

  static TranslateToMLIRRegistration import(
      "import-hlo",
      "Import HLO: the text of a module or of a single "
      "instruction, or a module in a protocol buffer of XLA",
      [](llvm::SourceMgr &sources, MLIRContext *context) {
        const llvm::MemoryBuffer *buffer =
            sources.getMemoryBuffer(sources.getMainFileID());
        std::string converted;
        llvm::Expected<StringRef> text =
            getHLOText(buffer->getBuffer(), converted);
        if (!text) {
          (void)emitBufferError(*buffer, context, text.takeError());
          return OwningOpRef<Operation *>();
        }
        ImportHLOOptions options;
        options.raw = raw;
        if (timed > 0)
          printTime(*text, buffer->getBufferIdentifier(), context, options,
                    timed);
        return OwningOpRef<Operation *>(
            importHLO(*text, buffer->getBufferIdentifier(), context, options)
                .release());
      },
      [](DialectRegistry &registry) {
        registry.insert<hlo::TesseraHLODialect>();
      });

  static TranslateRegistration exportRegistration(
      "export-hlo", "Export a module as HLO text", exportSource);
}
