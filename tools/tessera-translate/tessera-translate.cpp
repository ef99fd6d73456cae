//===- tessera-translate.cpp - Formats in and out -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-translate, with its options, but for the files: upstream's main writes
// over its output while it still reads its input, and removes the file when the
// run fails.
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ToolSupport.h"
#include "tessera/Target/HLO/Translate.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/Timing.h"
#include "mlir/Support/ToolUtilities.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
namespace cl = llvm::cl;
using VerifyLevel = SourceMgrDiagnosticVerifierHandler::Level;

static cl::opt<std::string> inputPath(cl::Positional, cl::desc("<input file>"),
                                      cl::init("-"));
static cl::opt<std::string> outputPath("o", cl::desc("Output filename"),
                                       cl::value_desc("filename"),
                                       cl::init("-"));
static cl::opt<bool> allowUnregisteredDialects(
    "allow-unregistered-dialect",
    cl::desc("Allow operations of dialects that are not registered"));
static cl::opt<std::string> inputSplitMarker(
    "split-input-file", cl::ValueOptional, cl::value_desc("marker"),
    cl::desc("Split the input at the marker and translate each chunk alone"),
    cl::callback([](const std::string &marker) {
      if (marker.empty())
        inputSplitMarker.setValue(kDefaultSplitMarker);
    }));
static cl::opt<std::string>
    outputSplitMarker("output-split-marker", cl::value_desc("marker"),
                      cl::desc("What to put between the results of chunks"));
static cl::opt<VerifyLevel> verifyDiagnostics(
    "verify-diagnostics", cl::ValueOptional,
    cl::desc("Check that diagnostics match expected-* lines"),
    cl::values(clEnumValN(VerifyLevel::All, "all", "All diagnostics"),
               clEnumValN(VerifyLevel::All, "", "All diagnostics"),
               clEnumValN(VerifyLevel::OnlyExpected, "only-expected",
                          "Those that are expected, no others")));
static cl::opt<bool>
    errorDiagnosticsOnly("error-diagnostics-only",
                         cl::desc("Print errors, no other diagnostics"));

using Buffer = std::unique_ptr<llvm::MemoryBuffer>;

/// Calls the translation with a handler of diagnostics, as the options say.
static LogicalResult
translateIn(MLIRContext &context, const Translation &translation,
            const std::shared_ptr<llvm::SourceMgr> &sources, raw_ostream &os) {
  if (verifyDiagnostics.getNumOccurrences()) {
    SourceMgrDiagnosticVerifierHandler handler(*sources, &context,
                                               verifyDiagnostics);
    // Whether it fails is what the expected diagnostics say.
    (void)translation(sources, os, &context);
    return handler.verify();
  }
  SourceMgrDiagnosticHandler handler(*sources, &context);
  ScopedDiagnosticHandler filter(&context, [](mlir::Diagnostic &diagnostic) {
    bool isDropped = errorDiagnosticsOnly &&
                     diagnostic.getSeverity() != DiagnosticSeverity::Error;
    return success(isDropped);
  });
  return translation(sources, os, &context);
}

static LogicalResult translate(const Translation &translation, Buffer input,
                               raw_ostream &os) {
  MLIRContext context;
  context.allowUnregisteredDialects(allowUnregisteredDialects);
  context.printOpOnDiagnostic(!verifyDiagnostics.getNumOccurrences());
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  return translateIn(context, translation, sources, os);
}

/// Each translation reads what the one before has written.
static LogicalResult translateAll(ArrayRef<const Translation *> translations,
                                  TimingScope &timing, StringRef text,
                                  StringRef name, raw_ostream &os) {
  std::string between;
  for (const Translation *translation : translations) {
    TimingScope scope = timing.nest(translation->getDescription());
    // Chunks of a file do not end in the zero that parsers look for.
    Buffer input = llvm::MemoryBuffer::getMemBufferCopy(text, name);
    if (translation == translations.back())
      return translate(*translation, std::move(input), os);
    std::string output;
    llvm::raw_string_ostream stream(output);
    if (failed(translate(*translation, std::move(input), stream)))
      return failure();
    between = std::move(output);
    text = between;
  }
  return success();
}

static llvm::Error run(ArrayRef<const Translation *> translations,
                       TimingScope &timing) {
  auto input = tessera::readInput(inputPath);
  if (!input)
    return input.takeError();
  auto translateChunk = [&](Buffer chunk, raw_ostream &os) {
    return translateAll(translations, timing, chunk->getBuffer(),
                        chunk->getBufferIdentifier(), os);
  };
  return tessera::writeMLIROutput(outputPath, [&](raw_ostream &os) {
    return splitAndProcessBuffer(std::move(*input), translateChunk, os,
                                 inputSplitMarker, outputSplitMarker);
  });
}

int main(int argc, char **argv) {
  llvm::InitLLVM initLLVM(argc, argv);
  tessera::exitWhenOutOfMemory();
  tessera::registerHLOTranslations();
  cl::list<const Translation *, bool, TranslationParser> translations(
      "", cl::desc("Translations to perform"), cl::Required);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerTranslationCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::SetVersionPrinter(tessera::versionPrinter("tessera-translate"));
  cl::ParseCommandLineOptions(argc, argv, "Tessera's translation driver");

  DefaultTimingManager manager;
  applyDefaultTimingManagerCLOptions(manager);
  TimingScope timing = manager.getRootScope();
  std::vector<const Translation *> list(translations.begin(),
                                        translations.end());
  if (llvm::Error error = run(list, timing))
    return tessera::reportError(std::move(error));
  return tessera::finish(tessera::kExitSuccess);
}
