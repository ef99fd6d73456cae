//===- tessera-opt.cpp - mlir-opt with the project's dialects and passes --===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/InitAll.h"
#include "tessera/Support/FileKind.h"
#include "tessera/Support/Nesting.h"
#include "tessera/Support/ToolSupport.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/ToolUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"

#ifdef TESSERA_INCLUDE_TESTS
#include "TestTesseraDialect.h"
#endif

using namespace mlir;

static void registerAll(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllPasses();
  tessera::registerAllDialects(registry);
  tessera::registerAllExtensions(registry);
  tessera::registerAllPasses();
#ifdef TESSERA_INCLUDE_TESTS
  registry.insert<tessera::test::TestTesseraDialect>();
  tessera::test::registerTestPasses();
#endif
}

/// A user who forgot to name a file would wait for ever.
static void warnOfTerminal(StringRef inputPath) {
  if (inputPath == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(processing input from stdin now, hit ctrl-c/ctrl-d to "
                    "interrupt)\n";
}

/// Checks the chunks that upstream's main parses.
static llvm::Error checkChunks(StringRef text, StringRef splitMarker) {
  llvm::Error error = llvm::Error::success();
  auto checkChunk = [&](std::unique_ptr<llvm::MemoryBuffer> chunk,
                        raw_ostream &) {
    error = llvm::joinErrors(std::move(error),
                             tessera::checkParsable(chunk->getBuffer()));
    return success(!error);
  };
  (void)splitAndProcessBuffer(
      llvm::MemoryBuffer::getMemBuffer(text, "", /*RequiresNullTerminator=*/
                                       false),
      checkChunk, llvm::nulls(), splitMarker);
  return error;
}

/// mlir-opt, but for the files: upstream's main writes over its output while it
/// still reads its input, and removes the file when the run fails.
static llvm::Error optimize(StringRef inputPath, StringRef outputPath,
                            DialectRegistry &registry,
                            const MlirOptMainConfig &config) {
  warnOfTerminal(inputPath);
  auto input = tessera::readInput(inputPath);
  if (!input)
    return input.takeError();
  if (llvm::Error error = tessera::checkIsMLIR((*input)->getBuffer()))
    return error;
  if (llvm::Error error =
          checkChunks((*input)->getBuffer(), config.inputSplitMarker()))
    return error;
  return tessera::writeMLIROutput(outputPath, [&](raw_ostream &os) {
    return MlirOptMain(os, std::move(*input), registry, config);
  });
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerAll(registry);
  auto [inputPath, outputPath] = registerAndParseCLIOptions(
      argc, argv, "Tessera's optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(
        MlirOptMain(argc, argv, inputPath, outputPath, registry));

  llvm::InitLLVM initLLVM(argc, argv);
  tessera::exitWhenOutOfMemory();
  int code = EXIT_SUCCESS;
  if (llvm::Error error = optimize(inputPath, outputPath, registry, config)) {
    tessera::reportError(std::move(error));
    code = EXIT_FAILURE; // As of mlir-opt.
  }
  return tessera::finish(code);
}
