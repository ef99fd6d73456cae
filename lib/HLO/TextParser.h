//===- TextParser.h - What all HLO parsers share ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_HLO_TEXTPARSER_H
#define TESSERA_LIB_HLO_TEXTPARSER_H

#include "Lexer.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/Support/LogicalResult.h"

#include <vector>

namespace tessera::hlo {

/// Tokens, and errors with their locations. Functions that can fail have said
/// why when they return failure.
class TextParser {
public:
  explicit TextParser(llvm::StringRef text) : lexer(text) {}

  struct Error {
    const char *loc;
    Diagnostic diagnostic;
  };

  /// Records an *invalid* error at `loc`.
  llvm::LogicalResult error(const char *loc, const llvm::Twine &field,
                            const llvm::Twine &expected,
                            const llvm::Twine &found = "",
                            const llvm::Twine &remedy = "");
  /// Records an *unsupported* one.
  llvm::LogicalResult unsupported(const char *loc, const llvm::Twine &field,
                                  const llvm::Twine &expected,
                                  const llvm::Twine &found,
                                  const llvm::Twine &remedy);
  /// The error that the current token is not what is expected here.
  llvm::LogicalResult unexpected(const llvm::Twine &field,
                                 const llvm::Twine &expected);

  /// Takes the token if it is of that kind.
  bool eat(TokenKind kind);
  /// Takes a token of that kind, spelled `spelling`, or fails.
  llvm::LogicalResult expect(TokenKind kind, const llvm::Twine &field,
                             llvm::StringRef spelling);

  /// An integer within int64.
  llvm::LogicalResult parseInt(const llvm::Twine &field, int64_t &value);

  /// `open item delimiter item ... close`, possibly empty.
  template <typename ParseItem>
  llvm::LogicalResult
  parseList(const llvm::Twine &field, TokenKind open, llvm::StringRef openText,
            TokenKind close, llvm::StringRef closeText, ParseItem &&parseItem,
            TokenKind delimiter = TokenKind::Comma) {
    if (failed(expect(open, field, openText)))
      return llvm::failure();
    if (!lexer.token().is(close))
      do {
        if (failed(parseItem()))
          return llvm::failure();
      } while (eat(delimiter));
    return expect(close, field, closeText);
  }
  /// `{item, item, ...}`
  template <typename ParseItem>
  llvm::LogicalResult parseBraces(const llvm::Twine &field,
                                  ParseItem &&parseItem) {
    return parseList(field, TokenKind::LBrace, "{", TokenKind::RBrace, "}",
                     parseItem);
  }

  Lexer lexer;
  std::vector<Error> errors;
};

} // namespace tessera::hlo

#endif // TESSERA_LIB_HLO_TEXTPARSER_H
