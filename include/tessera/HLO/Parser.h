//===- Parser.h - Parsing HLO text ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text to Module. What XLA's parser accepts is accepted, up to the differences
// written in docs/hlo.md.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_PARSER_H
#define TESSERA_HLO_PARSER_H

#include "tessera/HLO/Module.h"

#include <memory>

namespace tessera::hlo {

/// What is wrong, and where.
struct SourceDiagnostic {
  SourceLocation location;
  Diagnostic diagnostic;

  /// `line:column: error: message`.
  std::string message() const;
};

/// Parses a module or a single instruction. `text` must outlive the module.
/// Null when anything is wrong; `errors` then holds all of it, in the order of
/// the text: after an error the parser goes on with the next instruction.
std::unique_ptr<Module> parse(llvm::StringRef text,
                              std::vector<SourceDiagnostic> &errors);

/// Parses one line out of a module, an instruction whose surroundings are not
/// there: operands that are written without a shape have none (null), and of
/// computations and other instructions only the names are known. Such a module
/// can be looked at, but not verified.
std::unique_ptr<Module> parseLine(llvm::StringRef text,
                                  std::vector<SourceDiagnostic> &errors);

} // namespace tessera::hlo

#endif // TESSERA_HLO_PARSER_H
