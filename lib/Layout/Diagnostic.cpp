//===- Diagnostic.cpp - Errors about layouts ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Diagnostic.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;

char LayoutError::ID = 0;

std::string Diagnostic::message() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (kind == DiagnosticKind::Invalid ? "invalid " : "unsupported ")
     << field;
  if (!expected.empty())
    os << ": expected " << expected;
  if (!found.empty())
    os << (expected.empty() ? ": " : ", ") << "found " << found;
  if (!remedy.empty())
    os << "; " << remedy;
  if (!rule.empty())
    os << " [" << rule << "]";
  return text;
}

void LayoutError::log(llvm::raw_ostream &os) const {
  if (diagnostic.position != Diagnostic::kNoPosition)
    os << "position " << diagnostic.position << ": ";
  os << diagnostic.message();
}

std::error_code LayoutError::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

static llvm::Error makeError(DiagnosticKind kind, llvm::StringRef rule,
                             const llvm::Twine &field,
                             const llvm::Twine &expected,
                             const llvm::Twine &found,
                             const llvm::Twine &remedy) {
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.rule = rule.str();
  diagnostic.field = field.str();
  diagnostic.expected = expected.str();
  diagnostic.found = found.str();
  diagnostic.remedy = remedy.str();
  return llvm::make_error<LayoutError>(std::move(diagnostic));
}

llvm::Error tessera::invalidError(llvm::StringRef rule,
                                  const llvm::Twine &field,
                                  const llvm::Twine &expected,
                                  const llvm::Twine &found,
                                  const llvm::Twine &remedy) {
  return makeError(DiagnosticKind::Invalid, rule, field, expected, found,
                   remedy);
}

llvm::Error tessera::unsupportedError(const llvm::Twine &field,
                                      const llvm::Twine &expected,
                                      const llvm::Twine &found,
                                      const llvm::Twine &remedy) {
  return makeError(DiagnosticKind::Unsupported, "", field, expected, found,
                   remedy);
}

Diagnostic tessera::takeDiagnostic(llvm::Error error) {
  Diagnostic result;
  llvm::handleAllErrors(
      std::move(error),
      [&](const LayoutError &layoutError) { result = layoutError.get(); },
      [&](const llvm::ErrorInfoBase &other) {
        result.found = other.message();
      });
  return result;
}
