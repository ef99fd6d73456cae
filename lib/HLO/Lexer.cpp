//===- Lexer.cpp - Tokens of HLO text -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"

#include "tessera/Layout/PrimitiveType.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

using namespace tessera;
using namespace tessera::hlo;

static bool isIdentifierStart(char c) { return llvm::isAlpha(c) || c == '_'; }

static bool isIdentifierChar(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-';
}

bool hlo::isReservedWord(llvm::StringRef word) {
  static const llvm::StringSet<> reserved = [] {
    llvm::StringSet<> words;
    for (PrimitiveType type : allPrimitiveTypes())
      words.insert(getName(type));
    for (const char *word :
         {"true", "false", "inf", "nan", "HloModule", "ENTRY", "ROOT",
          "FileLocations", "FileNames", "FunctionNames", "StackFrames",
          "maximal", "replicated", "manual", "last_tile_dim_replicate",
          "shard_as", "shard_like", "unknown", "unreduced"})
      words.insert(word);
    return words;
  }();
  return reserved.contains(word);
}

std::optional<int64_t> hlo::parseInteger(llvm::StringRef text) {
  int64_t value;
  if (text.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

//===----------------------------------------------------------------------===//
// Patterns of numbers: each returns the byte behind its match, or null
//===----------------------------------------------------------------------===//

static const char *skipDigits(const char *p, const char *end) {
  while (p != end && llvm::isDigit(*p))
    ++p;
  return p;
}

/// -?digits
static const char *matchInt(const char *p, const char *end) {
  if (p != end && *p == '-')
    ++p;
  const char *last = skipDigits(p, end);
  return last == p ? nullptr : last;
}

/// -?digits with a point, an exponent, or both. The mantissa has a digit.
static const char *matchDecimal(const char *p, const char *end) {
  if (p != end && *p == '-')
    ++p;
  const char *whole = skipDigits(p, end);
  const char *last = whole;
  bool hasPoint = last != end && *last == '.';
  if (hasPoint) {
    last = skipDigits(last + 1, end);
    if (last == whole + 1 && whole == p)
      return nullptr;
  } else if (whole == p) {
    return nullptr;
  }
  // An `e` without digits behind it is not part of the number.
  if (last != end && (*last == 'e' || *last == 'E')) {
    const char *exponent = last + 1;
    if (exponent != end && (*exponent == '+' || *exponent == '-'))
      ++exponent;
    const char *exponentEnd = skipDigits(exponent, end);
    if (exponentEnd != exponent)
      return exponentEnd;
  }
  return hasPoint ? last : nullptr;
}

/// Two or more digits or letters of `letters`.
static const char *matchLabels(const char *p, const char *end,
                               llvm::StringRef letters) {
  const char *last = p;
  while (last != end && (llvm::isDigit(*last) || letters.contains(*last)))
    ++last;
  return last - p < 2 ? nullptr : last;
}

/// `b01f_01io->b01f`
static const char *matchDimLabels(const char *p, const char *end) {
  p = matchLabels(p, end, "bf?");
  if (!p || p == end || *p != '_')
    return nullptr;
  p = matchLabels(p + 1, end, "io?");
  if (!p || end - p < 2 || p[0] != '-' || p[1] != '>')
    return nullptr;
  return matchLabels(p + 2, end, "bf?");
}

/// `1x2x3`
static const char *matchDxD(const char *p, const char *end) {
  const char *last = skipDigits(p, end);
  if (last == p)
    return nullptr;
  const char *match = nullptr;
  while (last != end && *last == 'x') {
    const char *next = skipDigits(last + 1, end);
    if (next == last + 1)
      break;
    match = last = next;
  }
  return match;
}

/// `0_1`, `0_1_2`: one dimension of a padding.
static const char *matchPadDimension(const char *p, const char *end) {
  p = matchInt(p, end);
  if (!p || p == end || *p != '_')
    return nullptr;
  p = matchInt(p + 1, end);
  if (!p || p == end || *p != '_')
    return p;
  const char *interior = skipDigits(p + 1, end);
  return interior == p + 1 ? p : interior;
}

/// `0_1x2_3_1`
static const char *matchPad(const char *p, const char *end) {
  const char *last = matchPadDimension(p, end);
  while (last && last != end && *last == 'x') {
    const char *next = matchPadDimension(last + 1, end);
    if (!next)
      break;
    last = next;
  }
  return last;
}

//===----------------------------------------------------------------------===//
// Lexer
//===----------------------------------------------------------------------===//

const Token &Lexer::lex() {
  lastEnd = cursor;
  current.kind = lexToken();
  if (current.is(TokenKind::Error) && cursor == start && cursor != end)
    ++cursor;
  if (!current.is(TokenKind::Name) && !current.is(TokenKind::AttributeName))
    current.text = llvm::StringRef(start, cursor - start);
  return current;
}

Token Lexer::peek() const {
  Lexer copy = *this;
  return copy.lex();
}

void Lexer::jump(const char *position) {
  cursor = position;
  lex();
}

/// Skips blanks and comments; false on a comment without end.
bool Lexer::skipBlank() {
  while (cursor != end) {
    char c = *cursor;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++cursor;
      continue;
    }
    if (c != '/' || end - cursor < 2)
      return true;
    llvm::StringRef rest(cursor, end - cursor);
    size_t length;
    if (cursor[1] == '*') {
      length = rest.find("*/", 2);
      if (length == llvm::StringRef::npos)
        return false;
      length += 2;
    } else if (cursor[1] == '/') {
      length = std::min(rest.find_first_of("\r\n"), rest.size());
    } else {
      return true;
    }
    if (rest.take_front(length).contains('\0'))
      return false;
    cursor += length;
  }
  return true;
}

TokenKind Lexer::lexToken() {
  bool closed = skipBlank();
  start = cursor;
  if (!closed)
    return TokenKind::Error;
  if (cursor == end)
    return TokenKind::Eof;
  char c = *cursor;
  if (isIdentifierStart(c))
    return lexIdentifier();
  if (llvm::isDigit(c))
    return lexNumber();
  char next = end - cursor > 1 ? cursor[1] : '\0';
  auto take = [&](TokenKind kind, int length = 1) {
    cursor += length;
    return kind;
  };
  switch (c) {
  case '%':
    return lexPercent();
  case '"':
  case '\'':
    return lexString();
  case '-':
    return next == '>' ? take(TokenKind::Arrow, 2) : lexNumber();
  case '?': {
    TokenKind kind = lexNumber();
    return kind == TokenKind::Error ? take(TokenKind::Question) : kind;
  }
  case '<':
    return next == '=' ? take(TokenKind::LessEqual, 2) : TokenKind::Error;
  case '.':
    if (next == '.' && end - cursor > 2 && cursor[2] == '.')
      return take(TokenKind::Dots, 3);
    return TokenKind::Error;
  case '=':
    return take(TokenKind::Equal);
  case ',':
    return take(TokenKind::Comma);
  case ':':
    return take(TokenKind::Colon);
  case '*':
    return take(TokenKind::Asterisk);
  case '#':
    return take(TokenKind::Hash);
  case '+':
    return take(TokenKind::Plus);
  case '~':
    return take(TokenKind::Tilde);
  case '[':
    return take(TokenKind::LSquare);
  case ']':
    return take(TokenKind::RSquare);
  case '{':
    return take(TokenKind::LBrace);
  case '}':
    return take(TokenKind::RBrace);
  case '(':
    return take(TokenKind::LParen);
  case ')':
    return take(TokenKind::RParen);
  default:
    return TokenKind::Error;
  }
}

TokenKind Lexer::lexIdentifier() {
  while (cursor != end && isIdentifierChar(*cursor))
    ++cursor;
  llvm::StringRef word(start, cursor - start);
  if (cursor != end && (*cursor == ':' || *cursor == '=')) {
    current.text = word;
    return *cursor++ == ':' ? TokenKind::Name : TokenKind::AttributeName;
  }
  if (word == "nan")
    return skipNanPayload() ? TokenKind::Decimal : TokenKind::Error;
  // Labels may begin with a letter; an identifier ends before their `>` or `?`.
  char first = word.front();
  if ((first == 'b' || first == 'f') && cursor != end &&
      (*cursor == '>' || *cursor == '?'))
    if (const char *labels = matchDimLabels(start, end)) {
      cursor = labels;
      return TokenKind::DimLabels;
    }
  return TokenKind::Identifier;
}

TokenKind Lexer::lexPercent() {
  const char *word = ++cursor;
  if (word == end || !isIdentifierStart(*word))
    return TokenKind::Error;
  while (cursor != end && isIdentifierChar(*cursor))
    ++cursor;
  current.text = llvm::StringRef(word, cursor - word);
  return TokenKind::Name;
}

TokenKind Lexer::lexNumber() {
  auto take = [&](TokenKind kind, const char *last) {
    cursor = last;
    return kind;
  };
  // Most numbers are plain: look at what follows before trying patterns.
  const char *plain = matchInt(cursor, end);
  char next = plain && plain != end ? *plain : '\0';
  if (plain && next != '.' && next != 'e' && next != 'E' && next != 'x' &&
      next != '_' && next != 'b' && next != 'f' && next != '?')
    return take(TokenKind::Int, plain);

  if (const char *last = matchDecimal(cursor, end))
    return take(TokenKind::Decimal, last);
  if (const char *last = matchDimLabels(cursor, end))
    return take(TokenKind::DimLabels, last);
  if (const char *last = matchDxD(cursor, end))
    return take(TokenKind::DxD, last);
  if (const char *last = matchPad(cursor, end))
    return take(TokenKind::Pad, last);
  if (plain)
    return take(TokenKind::Int, plain);
  llvm::StringRef rest(cursor, end - cursor);
  if (rest.starts_with("-inf"))
    return take(TokenKind::NegInf, cursor + 4);
  if (rest.starts_with("-nan")) {
    cursor += 4;
    return skipNanPayload() ? TokenKind::Decimal : TokenKind::Error;
  }
  return TokenKind::Error;
}

/// Behind `nan`: an optional `(0x7f)`, a payload of 1 to 52 bits.
bool Lexer::skipNanPayload() {
  if (cursor == end || *cursor != '(')
    return true;
  llvm::StringRef rest(cursor, end - cursor);
  if (!rest.consume_front("(0x"))
    return false;
  llvm::StringRef digits =
      rest.take_while([](char c) { return llvm::isHexDigit(c); });
  uint64_t payload;
  if (digits.getAsInteger(16, payload) || payload == 0 || payload >> 52 ||
      !rest.drop_front(digits.size()).starts_with(")"))
    return false;
  cursor = digits.end() + 1;
  return true;
}

/// The length of an escape sequence of C behind its backslash; 0 when it is
/// none.
static size_t escapeLength(llvm::StringRef rest) {
  if (rest.empty())
    return 0;
  char c = rest.front();
  auto hexDigits = [&](size_t most) {
    return rest.drop_front()
        .take_front(most)
        .take_while([](char d) { return llvm::isHexDigit(d); })
        .size();
  };
  if (llvm::StringRef("abfnrtv\\?'\"").contains(c))
    return 1;
  if (c >= '0' && c <= '7')
    return 1;
  if (c == 'x' || c == 'X')
    return hexDigits(1) ? 1 : 0;
  if (c == 'u')
    return hexDigits(4) == 4 ? 5 : 0;
  if (c == 'U')
    return hexDigits(8) == 8 ? 9 : 0;
  return 0;
}

TokenKind Lexer::lexString() {
  char quote = *cursor;
  const char stops[] = {quote, '\\'};
  llvm::StringRef rest(cursor, end - cursor);
  size_t i = 1;
  while (true) {
    i = rest.find_first_of(llvm::StringRef(stops, 2), i);
    if (i == llvm::StringRef::npos)
      return TokenKind::Error;
    if (rest[i] == quote)
      break;
    size_t length = escapeLength(rest.drop_front(i + 1));
    if (length == 0)
      return TokenKind::Error;
    i += 1 + length;
  }
  cursor += i + 1;
  return TokenKind::String;
}

bool Lexer::skipJson() {
  int64_t depth = 0;
  const char *p = start;
  while (p != end) {
    char c = *p++;
    if (c == '"') {
      // Backslashes hide what follows them, but for a line end.
      while (p != end && *p != '"') {
        if (*p == '\\' && (++p == end || *p == '\n'))
          return false;
        ++p;
      }
      if (p == end)
        return false;
      ++p;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      jump(p);
      return true;
    }
  }
  return false;
}
