//===- TextParser.cpp - What all HLO parsers share ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextParser.h"

#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;

LogicalResult TextParser::error(const char *loc, const llvm::Twine &field,
                                const llvm::Twine &expected,
                                const llvm::Twine &found,
                                const llvm::Twine &remedy) {
  errors.push_back(
      {loc, takeDiagnostic(invalidError("", field, expected, found, remedy))});
  return failure();
}

LogicalResult TextParser::unsupported(const char *loc, const llvm::Twine &field,
                                      const llvm::Twine &expected,
                                      const llvm::Twine &found,
                                      const llvm::Twine &remedy) {
  errors.push_back(
      {loc, takeDiagnostic(unsupportedError(field, expected, found, remedy))});
  return failure();
}

/// A token as a message shows it: short, and on one line.
static std::string quoteToken(const Token &token) {
  if (token.is(TokenKind::Eof))
    return "the end of the text";
  constexpr size_t kLongest = 40;
  std::string text;
  for (char c : token.text.take_front(kLongest))
    text += llvm::isPrint(c) ? c : '?';
  if (token.text.size() > kLongest)
    text += "...";
  return "`" + text + "`";
}

LogicalResult TextParser::unexpected(const llvm::Twine &field,
                                     const llvm::Twine &expected) {
  return error(lexer.tokenBegin(), field, expected, quoteToken(lexer.token()));
}

bool TextParser::eat(TokenKind kind) {
  if (!lexer.token().is(kind))
    return false;
  lexer.lex();
  return true;
}

LogicalResult TextParser::expect(TokenKind kind, const llvm::Twine &field,
                                 llvm::StringRef spelling) {
  if (eat(kind))
    return success();
  return unexpected(field, "`" + spelling + "`");
}

LogicalResult TextParser::parseInt(const llvm::Twine &field, int64_t &value) {
  if (lexer.token().is(TokenKind::Int))
    if (std::optional<int64_t> parsed = parseInteger(lexer.token().text)) {
      value = *parsed;
      lexer.lex();
      return success();
    }
  return unexpected(field, "an integer of 64 bits");
}
