//===- Support.cpp - Errors of the C API ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

using namespace tessera;

TesseraError *tessera::wrapError(llvm::Error error) {
  if (!error)
    return nullptr;
  // What is no LayoutError says all it knows in its text.
  if (!error.isA<LayoutError>())
    return new TesseraError{TesseraErrorOther,
                            llvm::toString(std::move(error)),
                            {},
                            Diagnostic::kNoPosition};
  Diagnostic diagnostic = takeDiagnostic(std::move(error));
  return new TesseraError{
      diagnostic.kind == DiagnosticKind::Invalid ? TesseraErrorInvalid
                                                 : TesseraErrorUnsupported,
      diagnostic.message(), diagnostic.rule, diagnostic.position};
}

void tesseraErrorDestroy(TesseraError *error) { delete error; }

TesseraErrorKind tesseraErrorGetKind(const TesseraError *error) {
  return error->kind;
}

const char *tesseraErrorGetMessage(const TesseraError *error) {
  return error->message.c_str();
}

const char *tesseraErrorGetRule(const TesseraError *error) {
  return error->rule.c_str();
}

int64_t tesseraErrorGetPosition(const TesseraError *error) {
  return error->position;
}
