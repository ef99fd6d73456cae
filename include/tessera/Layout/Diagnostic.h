//===- Diagnostic.h - Errors about layouts ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One error type for everything below MLIR. A message always names the field,
// what was expected, what was found and, where there is one, a remedy.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_DIAGNOSTIC_H
#define TESSERA_LAYOUT_DIAGNOSTIC_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace tessera {

/// The two kinds of no (docs/Rationale.md): against the rules, or right but
/// not done here.
enum class DiagnosticKind { Invalid, Unsupported };

/// What is wrong with a text or a value.
///
/// `rule` is the label of the violated rule (`layout_c3`), the same in the
/// TableGen description, the verifier and the negative test. `position` is the
/// byte offset in the parsed text, or `kNoPosition` for values.
struct Diagnostic {
  static constexpr int64_t kNoPosition = -1;

  DiagnosticKind kind = DiagnosticKind::Invalid;
  std::string rule;
  std::string field;
  std::string expected;
  std::string found;
  std::string remedy;
  int64_t position = kNoPosition;

  /// One line: `invalid tile size: expected ..., found ...; remedy`, followed
  /// by ` [rule]`. The position is not part of it.
  std::string message() const;
};

/// The `llvm::Error` that carries a Diagnostic.
class LayoutError : public llvm::ErrorInfo<LayoutError> {
public:
  static char ID;

  explicit LayoutError(Diagnostic diagnostic)
      : diagnostic(std::move(diagnostic)) {}

  const Diagnostic &get() const { return diagnostic; }

  /// Prints `position N: ` (when known) and the message.
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  Diagnostic diagnostic;
};

/// An *invalid* error about `field`, without a position.
llvm::Error invalidError(llvm::StringRef rule, const llvm::Twine &field,
                         const llvm::Twine &expected, const llvm::Twine &found,
                         const llvm::Twine &remedy = "");

/// An *unsupported* error about `field`, without a position.
llvm::Error unsupportedError(const llvm::Twine &field,
                             const llvm::Twine &expected,
                             const llvm::Twine &found,
                             const llvm::Twine &remedy = "");

/// Consumes `error` and returns its Diagnostic; an error of another class
/// becomes an *invalid* one whose `found` is its text.
Diagnostic takeDiagnostic(llvm::Error error);

} // namespace tessera

#endif // TESSERA_LAYOUT_DIAGNOSTIC_H
