//===- HLOFuzzer.cpp - Texts of HLO modules -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any text is either refused with a location and a reason, or its printed form
// parses and verifies likewise and prints the same. What verifies can be
// reported on, as a whole and instruction by instruction, and imports into IR
// that verifies; what is exported again verifies too, and is exported the same
// from then on.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"
#include "tessera/HLO/Verifier.h"
#include "tessera/InitAll.h"
#include "tessera/Report/HloReport.h"
#include "tessera/Target/HLO/Export.h"
#include "tessera/Target/HLO/Import.h"
#include "tessera/View/Explain.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::fuzz;

static void checkErrors(llvm::ArrayRef<hlo::SourceDiagnostic> errors) {
  require(!errors.empty(), "refused without an error");
  for (const hlo::SourceDiagnostic &error : errors) {
    require(error.location.line > 0 && error.location.column > 0,
            "an error without a location");
    require(!error.diagnostic.message().empty(), "an error without a message");
  }
}

/// Parses and verifies; null, with errors checked, where that fails.
static std::unique_ptr<hlo::Module> read(llvm::StringRef text) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  if (module && hlo::verify(*module, errors))
    return module;
  checkErrors(errors);
  return nullptr;
}

static void checkPrinting(const hlo::Module &module, bool isValid) {
  std::string printed = module.toString();
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> again = hlo::parse(printed, errors);
  require(!!again, "a printed module does not parse");
  require(again->toString() == printed, "a module prints otherwise again");
  require(hlo::verify(*again, errors) == isValid,
          "a printed module verifies otherwise");
}

static void checkReport(const hlo::Module &module) {
  llvm::Expected<Report> report = makeReport(makeReportInput(module));
  if (!report) {
    require(!takeDiagnostic(report.takeError()).message().empty(),
            "no report, and no message");
    return;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(*report, os, 10);
  printReportJSON(*report, os);
  printReportHTML(*report, os, 10);
  require(!printReportDiff(*report, *report, os),
          "a module differs from itself");
}

/// A line of the module, alone.
static void checkLine(llvm::StringRef line) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parseLine(line, errors);
  if (!module)
    return checkErrors(errors);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error = explainLine(*module, os))
    llvm::consumeError(std::move(error));
}

/// Import and export; the empty text where one of them says no.
static std::string throughIR(llvm::StringRef text, ImportHLOOptions options) {
  static DialectRegistry registry = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerAllExtensions(registry);
    return registry;
  }();
  // Types and attributes live as long as their context.
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 500 == 0)
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
  std::string messages;
  ScopedDiagnosticHandler handler(
      context.get(),
      [&](mlir::Diagnostic &diagnostic) { messages += diagnostic.str(); });
  OwningOpRef<ModuleOp> module =
      importHLO(text, "input", context.get(), options);
  require(module || !messages.empty(), "no import, and no message");
  if (!module)
    return "";
  require(succeeded(verify(*module)), "import makes invalid IR: " + messages);
  std::string result;
  llvm::raw_string_ostream os(result);
  if (succeeded(exportHLO(*module, os)))
    return result;
  require(!messages.empty(), "no export, and no message");
  return "";
}

static void checkIR(llvm::StringRef text) {
  for (bool raw : {false, true}) {
    ImportHLOOptions options;
    options.raw = raw;
    std::string exported = throughIR(text, options);
    if (exported.empty())
      continue;
    require(!!read(exported), "an exported module does not verify");
    require(throughIR(exported, options) == exported,
            "an exported module is exported otherwise");
  }
}

void tessera::fuzz::runInput(llvm::StringRef text) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  checkLine(text.take_front(text.find('\n')));
  if (!module)
    return checkErrors(errors);
  bool isValid = hlo::verify(*module, errors);
  checkPrinting(*module, isValid);
  if (!isValid)
    return checkErrors(errors);
  checkReport(*module);
  checkIR(text);
}

/// One line of the module alone, so that lines are explained too.
static llvm::StringRef pickLine(llvm::StringRef text, Random &random) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return lines.empty() ? text
                       : random.pick(llvm::ArrayRef<llvm::StringRef>(lines));
}

std::string tessera::fuzz::mutateInput(llvm::StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  return mutator.mutate(random.oneIn(50) ? pickLine(text, random) : text,
                        random);
}
