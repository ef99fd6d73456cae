//===- ReadModule.cpp - Reading the modules of tessera-hlo ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/HLO/Verifier.h"
#include "tessera/Report/HloReport.h"
#include "tessera/Support/ToolSupport.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;

std::unique_ptr<hlo::Module> tessera::readModule(llvm::StringRef text,
                                                 llvm::StringRef name,
                                                 llvm::raw_ostream &os) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  if (module)
    hlo::verify(*module, errors);
  for (const hlo::SourceDiagnostic &error : errors)
    os << name << ':' << error.message() << '\n';
  return errors.empty() ? std::move(module) : nullptr;
}

std::optional<Report> tessera::reportOn(llvm::StringRef path) {
  auto input = readInput(path);
  if (!input) {
    reportError(input.takeError());
    return std::nullopt;
  }
  auto module = readModule((*input)->getBuffer(), path, llvm::errs());
  if (!module)
    return std::nullopt;
  llvm::Expected<Report> result = makeReport(makeReportInput(*module));
  if (!result) {
    reportError(result.takeError());
    return std::nullopt;
  }
  return std::move(*result);
}
