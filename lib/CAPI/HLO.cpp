//===- HLO.cpp - C API of reports -----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/HLO.h"

#include "Objects.h"

#include "tessera/HLO/Verifier.h"
#include "tessera/HLOProto/HLOProto.h"
#include "tessera/Report/HloReport.h"
#include "tessera/Report/OutOfMemory.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

/// All errors as one, which is as bad as the worst.
static TesseraError *join(llvm::ArrayRef<hlo::SourceDiagnostic> errors) {
  bool isInvalid = llvm::any_of(errors, [](const auto &error) {
    return error.diagnostic.kind == DiagnosticKind::Invalid;
  });
  std::string message;
  llvm::raw_string_ostream os(message);
  llvm::interleave(
      errors, os, [&](const auto &error) { os << error.message(); }, "\n");
  return new TesseraError{isInvalid ? TesseraErrorInvalid
                                    : TesseraErrorUnsupported,
                          std::move(message), errors.front().diagnostic.rule,
                          Diagnostic::kNoPosition};
}

TesseraError *tesseraHLOReport(const char *text, size_t length,
                               TesseraReportFormat format, size_t rows,
                               TesseraTextCallback callback, void *userData) {
  std::string converted;
  llvm::Expected<llvm::StringRef> source =
      getHLOText(llvm::StringRef(text, length), converted);
  if (!source)
    return wrapError(source.takeError());
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(*source, errors);
  if (module)
    hlo::verify(*module, errors);
  if (!errors.empty())
    return join(errors);
  llvm::Expected<Report> report = makeReport(makeReportInput(*module));
  if (!report)
    return wrapError(report.takeError());
  if (rows == 0)
    rows = report->values.size();
  CallbackStream os(callback, userData);
  switch (format) {
  case TesseraReportText:
    printReport(*report, os, rows);
    break;
  case TesseraReportJSON:
    printReportJSON(*report, os);
    break;
  case TesseraReportHTML:
    printReportHTML(*report, os, rows);
    break;
  }
  return nullptr;
}

TesseraError *tesseraOutOfMemoryExplain(const char *text, size_t length,
                                        TesseraReportFormat format, size_t rows,
                                        TesseraTextCallback callback,
                                        void *userData) {
  if (format == TesseraReportHTML)
    return wrapError(unsupportedError("format", "text or JSON", "HTML"));
  llvm::Expected<OutOfMemoryLog> log =
      parseOutOfMemoryLog(llvm::StringRef(text, length));
  if (!log)
    return wrapError(log.takeError());
  OutOfMemoryReport report = explainOutOfMemory(*log);
  CallbackStream os(callback, userData);
  if (format == TesseraReportJSON)
    printOutOfMemoryJSON(report, os);
  else
    printOutOfMemory(report, os, rows == 0 ? report.allocations.size() : rows);
  return nullptr;
}
