//===- Literal.cpp - Values of HLO constants ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grammar is XLA's: braces nest as deep as the rank, and are counted
// against the dimensions; commas are optional everywhere; `{...}` stands for
// all elements.
//
//===----------------------------------------------------------------------===//

#include "LiteralParser.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::APFloat;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;

namespace {
/// Parses one array literal.
class ArrayParser {
public:
  ArrayParser(TextParser &parser, const Shape &shape, Literal *literal)
      : parser(parser), shape(shape), literal(literal), seen(shape.rank(), 0) {}

  LogicalResult parse();

private:
  LogicalResult openBrace();
  LogicalResult closeBrace();
  LogicalResult parseDots();
  LogicalResult parseElement();
  LogicalResult countElement();
  LogicalResult parseScalar();
  LogicalResult parseInteger();
  LogicalResult parseFloat();
  LogicalResult parseComplex();
  LogicalResult outOfRange();
  void add(uint64_t bits) {
    if (literal)
      literal->components.push_back(bits);
  }

  TextParser &parser;
  const Shape &shape;
  Literal *literal;
  /// Braces that are open.
  int64_t level = 0;
  /// Elements or sub-arrays seen so far in each dimension.
  llvm::SmallVector<int64_t, 6> seen;
};
} // namespace

LogicalResult ArrayParser::parse() {
  do {
    switch (parser.lexer.token().kind) {
    case TokenKind::LBrace:
      if (failed(openBrace()))
        return failure();
      break;
    case TokenKind::RBrace:
      if (failed(closeBrace()))
        return failure();
      break;
    case TokenKind::Dots:
      if (failed(parseDots()))
        return failure();
      break;
    case TokenKind::Comma:
      // XLA takes one without any element for zeros.
      if (level == 0)
        return parser.unexpected("literal", "a value");
      parser.lexer.lex();
      break;
    default:
      if (failed(parseElement()))
        return failure();
    }
  } while (level > 0);
  return success();
}

LogicalResult ArrayParser::openBrace() {
  if (level == shape.rank())
    return parser.unexpected("literal", "braces nested " +
                                            llvm::Twine(shape.rank()) +
                                            " deep, the rank");
  if (level > 0 && ++seen[level - 1] > shape.dimensions()[level - 1])
    return parser.unexpected(
        "literal", llvm::Twine(shape.dimensions()[level - 1]) +
                       " sub-arrays in dimension " + llvm::Twine(level - 1));
  ++level;
  parser.lexer.lex();
  return success();
}

LogicalResult ArrayParser::closeBrace() {
  if (level == 0)
    return parser.unexpected("literal", "a value");
  --level;
  if (seen[level] != shape.dimensions()[level])
    return parser.unexpected(
        "literal", llvm::Twine(shape.dimensions()[level]) +
                       " elements in dimension " + llvm::Twine(level) +
                       " before `}`, saw " + llvm::Twine(seen[level]));
  seen[level] = 0;
  parser.lexer.lex();
  return success();
}

LogicalResult ArrayParser::parseDots() {
  if (level != 1)
    return parser.unexpected("literal", "`...` within one pair of braces");
  seen[0] = shape.dimensions()[0];
  if (literal)
    literal->elided = true;
  parser.lexer.lex();
  return success();
}

LogicalResult ArrayParser::countElement() {
  if (level != shape.rank())
    return parser.unexpected("literal", "braces nested " +
                                            llvm::Twine(shape.rank()) +
                                            " deep before an element");
  if (level > 0 && ++seen[level - 1] > shape.dimensions()[level - 1])
    return parser.unexpected(
        "literal", llvm::Twine(shape.dimensions()[level - 1]) +
                       " elements in dimension " + llvm::Twine(level - 1));
  return success();
}

LogicalResult ArrayParser::parseElement() {
  if (failed(countElement()))
    return failure();
  if (isComplex(shape.elementType()))
    return parseComplex();
  return parseScalar();
}

LogicalResult ArrayParser::parseScalar() {
  PrimitiveType type = shape.elementType();
  const Token &token = parser.lexer.token();
  if (type == PrimitiveType::Pred &&
      (token.isWord("true") || token.isWord("false"))) {
    add(token.isWord("true"));
    parser.lexer.lex();
    return success();
  }
  return isFloatingPoint(type) ? parseFloat() : parseInteger();
}

LogicalResult ArrayParser::outOfRange() {
  return parser.unexpected("literal",
                           "a value of " + getName(shape.elementType()));
}

LogicalResult ArrayParser::parseInteger() {
  PrimitiveType type = shape.elementType();
  const Token &token = parser.lexer.token();
  if (!token.is(TokenKind::Int))
    return outOfRange();
  // Any integer is a pred: true unless 0.
  if (type == PrimitiveType::Pred) {
    add(token.text.find_first_not_of("-0") != llvm::StringRef::npos);
    parser.lexer.lex();
    return success();
  }
  unsigned bits = static_cast<unsigned>(getBitWidth(type));
  uint64_t value;
  if (isUnsignedIntegral(type)) {
    if (token.text.getAsInteger(10, value) || !llvm::isUIntN(bits, value))
      return outOfRange();
  } else {
    int64_t number;
    if (token.text.getAsInteger(10, number) || !llvm::isIntN(bits, number))
      return outOfRange();
    value =
        static_cast<uint64_t>(number) & llvm::maskTrailingOnes<uint64_t>(bits);
  }
  add(value);
  parser.lexer.lex();
  return success();
}

/// `nan(0x7f)`, `-nan` in the format, if it has such a NaN.
static std::optional<APFloat> makeNaN(llvm::StringRef text,
                                      const llvm::fltSemantics &semantics) {
  bool negative = text.consume_front("-");
  text.consume_front("nan");
  if (!APFloat::semanticsHasNaN(semantics))
    return std::nullopt;
  if (text.empty())
    return APFloat::getQNaN(semantics, negative);
  uint64_t payload = 0;
  text.consume_front("(0x");
  if (text.drop_back().getAsInteger(16, payload))
    return std::nullopt;
  // The bits of the mantissa; formats with one NaN have no payload.
  unsigned mantissa = APFloat::semanticsPrecision(semantics) - 1;
  if (!APFloat::semanticsHasInf(semantics) || payload >> mantissa)
    return std::nullopt;
  llvm::APInt bits(64, payload);
  APFloat result = APFloat::getSNaN(semantics, negative, &bits);
  // The payload is the whole mantissa, its quiet bit included.
  llvm::APInt raw = result.bitcastToAPInt();
  for (unsigned i = 0; i < mantissa; ++i)
    raw.setBitVal(i, payload >> i & 1);
  return APFloat(semantics, raw);
}

/// The value of a token that is a number; nothing when the format has none
/// such: a finite number must not become infinite.
static std::optional<APFloat> makeFloat(const Token &token,
                                        const llvm::fltSemantics &semantics) {
  if (token.isWord("inf") || token.is(TokenKind::NegInf)) {
    // Formats without infinities take their NaN, those without it their
    // largest number.
    bool negative = token.is(TokenKind::NegInf);
    if (APFloat::semanticsHasInf(semantics))
      return APFloat::getInf(semantics, negative);
    return APFloat::semanticsHasNaN(semantics)
               ? APFloat::getQNaN(semantics)
               : APFloat::getLargest(semantics, negative);
  }
  if (!token.is(TokenKind::Int) && !token.is(TokenKind::Decimal))
    return std::nullopt;
  if (token.text.ends_with("nan") || token.text.ends_with(")"))
    return makeNaN(token.text, semantics);
  // Through double, as XLA rounds, and integers as integers: `-0` is 0.
  APFloat value(APFloat::IEEEdouble());
  if (std::optional<int64_t> integer = parseInteger(token.text)) {
    value.convertFromAPInt(llvm::APInt(64, *integer, /*isSigned=*/true),
                           /*IsSigned=*/true, APFloat::rmNearestTiesToEven);
  } else {
    auto status =
        value.convertFromString(token.text, APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return std::nullopt;
    }
  }
  if (value.isInfinity())
    return std::nullopt;
  if (&semantics == &APFloat::Float8E8M0FNU() &&
      (value.isNegative() || value.isZero()))
    return std::nullopt;
  bool losesInfo;
  value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  if (!value.isFinite())
    return std::nullopt;
  return value;
}

LogicalResult ArrayParser::parseFloat() {
  const Token &token = parser.lexer.token();
  if (token.is(TokenKind::Int) && !hlo::parseInteger(token.text))
    return parser.unexpected("literal", "an integer of 64 bits");
  std::optional<APFloat> value =
      makeFloat(token, *getFloatSemantics(shape.elementType()));
  if (!value)
    return outOfRange();
  add(value->bitcastToAPInt().getZExtValue());
  parser.lexer.lex();
  return success();
}

LogicalResult ArrayParser::parseComplex() {
  if (failed(parser.expect(TokenKind::LParen, "complex literal", "(")) ||
      failed(parseFloat()) ||
      failed(parser.expect(TokenKind::Comma, "complex literal", ",")) ||
      failed(parseFloat()))
    return failure();
  return parser.expect(TokenKind::RParen, "complex literal", ")");
}

static LogicalResult parseTuple(TextParser &parser, const Shape &shape) {
  if (failed(parser.expect(TokenKind::LParen, "tuple literal", "(")))
    return failure();
  bool first = true;
  for (const Shape &element : shape.elements()) {
    if (!first && failed(parser.expect(TokenKind::Comma, "tuple literal", ",")))
      return failure();
    first = false;
    if (failed(parseLiteral(parser, element, nullptr)))
      return failure();
  }
  return parser.expect(TokenKind::RParen, "tuple literal", ")");
}

// Recursion goes as deep as the shape nests, which its parser has limited.
LogicalResult hlo::parseLiteral(TextParser &parser, const Shape &shape,
                                Literal *literal) {
  if (shape.isTuple())
    return parseTuple(parser, shape);
  if (!shape.isArray() || shape.hasUnboundedDimension())
    return parser.unexpected("literal",
                             "a literal of an array or a tuple, not of " +
                                 shape.toString());
  return ArrayParser(parser, shape, literal).parse();
}

llvm::Expected<Literal> hlo::readLiteral(llvm::StringRef text,
                                         const Shape &shape) {
  TextParser parser(text);
  parser.lexer.lex();
  Literal literal;
  if (succeeded(parseLiteral(parser, shape, &literal)) &&
      !parser.lexer.token().is(TokenKind::Eof))
    (void)parser.unexpected("literal", "the end of the text");
  if (parser.errors.empty())
    return literal;
  TextParser::Error &error = parser.errors.front();
  error.diagnostic.position = error.loc - text.begin();
  return llvm::make_error<LayoutError>(std::move(error.diagnostic));
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void hlo::printFloat(const APFloat &value, llvm::raw_ostream &os) {
  if (value.isNaN()) {
    os << (value.isNegative() ? "-nan" : "nan");
    // Without infinities a format has one NaN, and no payload to say.
    if (!APFloat::semanticsHasInf(value.getSemantics()))
      return;
    // The whole mantissa, its quiet bit included.
    llvm::APInt bits = value.bitcastToAPInt();
    llvm::APInt mantissa = bits.extractBits(
        APFloat::semanticsPrecision(value.getSemantics()) - 1, 0);
    os << "(0x";
    llvm::SmallString<16> digits;
    mantissa.toStringUnsigned(digits, /*Radix=*/16);
    os << digits << ')';
    return;
  }
  if (value.isInfinity()) {
    os << (value.isNegative() ? "-inf" : "inf");
    return;
  }
  // XLA takes `-0` for the integer.
  if (value.isNegZero()) {
    os << "-0.0";
    return;
  }
  // XLA reads a double, and holds that against the limits of the type.
  APFloat wide = value;
  bool losesInfo;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  llvm::SmallString<32> digits;
  wide.toString(digits);
  os << digits;
}

void hlo::printElements(llvm::ArrayRef<int64_t> dimensions,
                        llvm::raw_ostream &os,
                        llvm::function_ref<void()> printElement) {
  bool isEmpty = llvm::is_contained(dimensions, 0);
  dimensions = dimensions.take_until([](int64_t size) { return size == 0; });
  llvm::SmallVector<int64_t> periods(dimensions);
  for (size_t i = dimensions.size(); i > 1; --i)
    periods[i - 2] *= periods[i - 1];
  int64_t count = periods.empty() ? 1 : periods.front();
  for (int64_t i = 0; i < count; ++i) {
    if (i != 0)
      os << ", ";
    for (int64_t period : periods)
      if (i % period == 0)
        os << '{';
    if (isEmpty)
      os << "{}";
    else
      printElement();
    for (int64_t period : periods)
      if ((i + 1) % period == 0)
        os << '}';
  }
}

/// A number, or a part of a complex one, of these bits.
static void printComponent(uint64_t bits, PrimitiveType type,
                           llvm::raw_ostream &os) {
  if (const llvm::fltSemantics *semantics = getFloatSemantics(type))
    return hlo::printFloat(
        APFloat(*semantics,
                llvm::APInt(APFloat::semanticsSizeInBits(*semantics), bits)),
        os);
  if (type == PrimitiveType::Pred)
    os << (bits == 0 ? "false" : "true");
  else if (isUnsignedIntegral(type))
    os << bits;
  else
    os << llvm::SignExtend64(bits, static_cast<unsigned>(getBitWidth(type)));
}

void hlo::printLiteral(const Literal &literal, const Shape &shape,
                       llvm::raw_ostream &os) {
  if (literal.elided) {
    os << "{...}";
    return;
  }
  PrimitiveType type = shape.elementType();
  const uint64_t *next = literal.components.data();
  printElements(shape.dimensions(), os, [&] {
    if (!isComplex(type))
      return printComponent(*next++, type, os);
    os << '(';
    printComponent(*next++, type, os);
    os << ", ";
    printComponent(*next++, type, os);
    os << ')';
  });
}
