//===- Lexer.h - Tokens of HLO text -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tokens follow XLA's (hlo_lexer.cc), oddities included: an identifier that
// `:` follows at once is a name, one that `=` follows is the name of an
// attribute, and a number's kind depends on what it is glued to (`1x2`, `0_1`).
// Tokens are pieces of the text; nothing is copied or unescaped.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_HLO_LEXER_H
#define TESSERA_LIB_HLO_LEXER_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace tessera::hlo {

enum class TokenKind : uint8_t {
  Eof,
  Error,
  // Punctuation.
  Equal,
  Comma,
  Colon,
  Asterisk,
  Question,
  Hash,
  Plus,
  Tilde,
  LSquare,
  RSquare,
  LBrace,
  RBrace,
  LParen,
  RParen,
  Arrow,
  LessEqual,
  Dots,
  // Words. Of a Name and an AttributeName, `text` leaves out `%`, `:`, `=`.
  Identifier,
  Name,
  AttributeName,
  // Values. Of a String, `text` has the quotes.
  String,
  Int,
  Decimal, ///< A number with point or exponent, or nan.
  NegInf,
  DimLabels,
  DxD,
  Pad,
};

struct Token {
  TokenKind kind = TokenKind::Error;
  llvm::StringRef text;

  bool is(TokenKind other) const { return kind == other; }
  bool isWord(llvm::StringRef word) const {
    return kind == TokenKind::Identifier && text == word;
  }
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef buffer)
      : begin(buffer.begin()), end(buffer.end()), cursor(buffer.begin()) {}

  /// Moves to the next token.
  const Token &lex();
  const Token &token() const { return current; }
  /// The token after the current one, which stays current.
  Token peek() const;

  /// First byte of the current token, `%` included.
  const char *tokenBegin() const { return start; }
  /// The byte behind the current token.
  const char *tokenEnd() const { return cursor; }
  /// The byte behind the token before the current one.
  const char *previousEnd() const { return lastEnd; }
  const char *bufferBegin() const { return begin; }
  const char *bufferEnd() const { return end; }

  /// Makes the token at or behind `position`, a location in the buffer, the
  /// current one.
  void jump(const char *position);

  /// With `{` current: takes everything to its `}` as one JSON text and moves
  /// behind it. False when it is not closed.
  bool skipJson();

private:
  TokenKind lexToken();
  TokenKind lexIdentifier();
  TokenKind lexPercent();
  TokenKind lexNumber();
  TokenKind lexString();
  bool skipBlank();
  bool skipNanPayload();

  const char *begin;
  const char *end;
  const char *cursor;
  const char *start = nullptr;
  const char *lastEnd = nullptr;
  Token current;
};

/// Whether an identifier is taken: keywords, types and nan are not names.
bool isReservedWord(llvm::StringRef word);

/// The value of an Int token; nothing beyond int64.
std::optional<int64_t> parseInteger(llvm::StringRef text);

} // namespace tessera::hlo

#endif // TESSERA_LIB_HLO_LEXER_H
