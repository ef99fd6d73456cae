//===- ParserAttributes.cpp - Attribute values of HLO ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each kind of value. They check the grammar of XLA's parser
// (hlo_parser.cc) and resolve references; the value itself stays text.
//
//===----------------------------------------------------------------------===//

#include "LiteralParser.h"
#include "ParserImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace tessera;
using namespace tessera::hlo;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Lists of attributes
//===----------------------------------------------------------------------===//

static const AttributeSpec *
findSpec(llvm::ArrayRef<llvm::ArrayRef<AttributeSpec>> specs, StringRef name) {
  for (llvm::ArrayRef<AttributeSpec> list : specs)
    for (const AttributeSpec &spec : list)
      if (spec.name == name)
        return &spec;
  return nullptr;
}

/// `, name=value` as often as it comes, then whether all required ones came.
LogicalResult ParserImpl::parseAttributes(Specs specs, const char *owner,
                                          llvm::ArrayRef<Attribute> &result) {
  llvm::SmallVector<Attribute, 8> attributes;
  while (eat(TokenKind::Comma)) {
    const char *loc = lexer.tokenBegin();
    Attribute &attribute = attributes.emplace_back();
    if (failed(parseAttribute(specs, attribute)))
      return failure();
    for (const Attribute &other : llvm::ArrayRef(attributes).drop_back())
      if (other.name == attribute.name)
        return error(loc, "attribute", "each attribute once",
                     "`" + attribute.name + "` again");
  }
  for (llvm::ArrayRef<AttributeSpec> list : specs)
    for (const AttributeSpec &spec : list)
      if (spec.required && llvm::none_of(attributes, [&](const Attribute &a) {
            return a.name == spec.name;
          }))
        return error(owner, "instruction",
                     "the attribute `" + Twine(spec.name) + "`", "none");
  result = copyToArena(llvm::ArrayRef<Attribute>(attributes));
  return success();
}

LogicalResult ParserImpl::parseAttribute(Specs specs, Attribute &attribute) {
  if (!lexer.token().is(TokenKind::AttributeName))
    return unexpected("attribute", "a name with `=` right behind it");
  attribute.name = lexer.token().text;
  const AttributeSpec *spec = findSpec(specs, attribute.name);
  if (!spec) {
    llvm::SmallVector<StringRef, 16> known;
    for (llvm::ArrayRef<AttributeSpec> list : specs)
      for (const AttributeSpec &other : list)
        known.push_back(other.name);
    return error(lexer.tokenBegin(), "attribute",
                 "one of " + llvm::join(known, ", "),
                 "`" + attribute.name + "`");
  }
  attribute.kind = spec->kind;
  lexer.lex();
  const char *begin = lexer.tokenBegin();
  if (failed(parseAttributeValue(attribute)))
    return failure();
  attribute.text = textBetween(begin, lexer.previousEnd());
  return success();
}

LogicalResult ParserImpl::parseFields(const Twine &field,
                                      llvm::ArrayRef<AttributeSpec> specs) {
  const char *begin = lexer.tokenBegin();
  if (failed(expect(TokenKind::LBrace, field, "{")))
    return failure();
  llvm::SmallVector<StringRef, 8> seen;
  while (!lexer.token().is(TokenKind::RBrace)) {
    // XLA takes a comma in front of the first one too.
    eat(TokenKind::Comma);
    const char *loc = lexer.tokenBegin();
    Attribute attribute;
    if (failed(parseAttribute({specs}, attribute)))
      return failure();
    if (llvm::is_contained(seen, attribute.name))
      return error(loc, field, "each field once",
                   "`" + attribute.name + "` again");
    seen.push_back(attribute.name);
  }
  for (const AttributeSpec &spec : specs)
    if (spec.required && !llvm::is_contained(seen, spec.name))
      return error(begin, field, "the field `" + Twine(spec.name) + "`",
                   "none");
  lexer.lex();
  return success();
}

static constexpr AttributeSpec kMetadataFields[] = {
    {"op_type", AttributeKind::String, false},
    {"op_name", AttributeKind::String, false},
    {"source_file", AttributeKind::String, false},
    {"source_line", AttributeKind::Int32, false},
    {"source_end_line", AttributeKind::Int32, false},
    {"source_column", AttributeKind::Int32, false},
    {"source_end_column", AttributeKind::Int32, false},
    {"profile_type", AttributeKind::IntList, false},
    {"deduplicated_name", AttributeKind::String, false},
    {"scheduling_name", AttributeKind::String, false},
    {"stack_frame_id", AttributeKind::Int32, false},
};

LogicalResult ParserImpl::parseMetadata() {
  return parseFields("metadata", kMetadataFields);
}

static constexpr AttributeSpec kDomainFields[] = {
    {"kind", AttributeKind::String, true},
    {"entry", AttributeKind::Sharding, true},
    {"exit", AttributeKind::Sharding, true},
};

LogicalResult ParserImpl::parseAttributeValue(Attribute &attribute) {
  StringRef name = attribute.name;
  auto parseInts = [&] { return parseIntList(name); };
  auto parseBools = [&] { return parseBool(name); };
  int64_t number;
  unsigned count;
  switch (attribute.kind) {
  case AttributeKind::Bool:
    return parseBool(name);
  case AttributeKind::Int:
    return parseInt(name, number);
  case AttributeKind::Int32:
    return parseInt32(name);
  case AttributeKind::Float:
    return parseFloat(name, /*single=*/true);
  case AttributeKind::String:
    return parseString(name);
  case AttributeKind::StringOrJson:
    return parseStringOrJson(name);
  case AttributeKind::IntList:
    return parseIntList(name);
  case AttributeKind::IntListList:
    return parseBraces(name, parseInts);
  case AttributeKind::BoolList:
    return parseBraces(name, parseBools);
  case AttributeKind::BoolListOrBool:
    return lexer.token().is(TokenKind::LBrace) ? parseBraces(name, parseBools)
                                               : parseBool(name);
  case AttributeKind::ShapeList:
    return parseShapeList(attribute);
  case AttributeKind::Computation: {
    Computation *computation = nullptr;
    if (failed(parseComputationRef(computation)))
      return failure();
    attribute.computations = copyToArena(llvm::ArrayRef(computation));
    return success();
  }
  case AttributeKind::ComputationList:
    return parseComputationList(attribute);
  case AttributeKind::InstructionList:
    return parseInstructionList(attribute);
  case AttributeKind::Window:
    return parseWindow();
  case AttributeKind::DimLabels:
    return parseDimLabels();
  case AttributeKind::Slices:
    return parseSlices();
  case AttributeKind::Padding:
    return parsePadding(name, 2, 3, count);
  case AttributeKind::Sharding:
    return parseSharding();
  case AttributeKind::ReplicaGroups:
    return parseReplicaGroups();
  case AttributeKind::Metadata:
    return parseMetadata();
  case AttributeKind::FrontendAttrs:
    return parseFrontendAttributes();
  case AttributeKind::Statistics:
    return parseStatistics();
  case AttributeKind::Aliasing:
    return parseAliasing(/*isModule=*/true);
  case AttributeKind::OperandAliasing:
    return parseAliasing(/*isModule=*/false);
  case AttributeKind::BufferDonor:
    return parseBufferDonor();
  case AttributeKind::ComputationLayout:
    return parseComputationLayout();
  case AttributeKind::Shape: {
    const Shape *shape;
    if (failed(parseShape(shape)))
      return failure();
    attribute.shapes = copyToArena(llvm::ArrayRef(shape));
    return success();
  }
  case AttributeKind::Literal:
    return parseLiteralWithShape(/*depth=*/0);
  case AttributeKind::ResultAccuracy:
    return parseResultAccuracy();
  case AttributeKind::Domain:
    return parseFields(name, kDomainFields);
  case AttributeKind::OriginalValue:
    return parseOriginalValue();
  case AttributeKind::RecoveryTable:
    return parseRecoveryTable();
  case AttributeKind::PrecisionList:
    return parseBraces(name, [&] { return parseWord(attribute.kind, name); });
  default:
    return parseWord(attribute.kind, name);
  }
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

LogicalResult ParserImpl::parseWord(AttributeKind kind, StringRef name) {
  llvm::ArrayRef<llvm::StringLiteral> words = getWords(kind);
  const Token &token = lexer.token();
  if (!token.is(TokenKind::Identifier) ||
      !llvm::is_contained(words, token.text)) {
    llvm::SmallVector<StringRef, 16> list(words.begin(), words.end());
    return unexpected(name, "one of " + llvm::join(list, ", "));
  }
  lexer.lex();
  return success();
}

LogicalResult ParserImpl::parseBool(StringRef name) {
  if (!lexer.token().isWord("true") && !lexer.token().isWord("false"))
    return unexpected(name, "true or false");
  lexer.lex();
  return success();
}

LogicalResult ParserImpl::parseInt32(StringRef name) {
  const char *loc = lexer.tokenBegin();
  int64_t value;
  if (failed(parseInt(name, value)))
    return failure();
  if (!llvm::isInt<32>(value))
    return error(loc, name, "an integer of 32 bits", Twine(value));
  return success();
}

LogicalResult ParserImpl::parseFloat(StringRef name, bool single) {
  const Token &token = lexer.token();
  bool isNumber = token.is(TokenKind::Int) || token.is(TokenKind::Decimal) ||
                  token.is(TokenKind::NegInf) || token.isWord("inf");
  if (!isNumber)
    return unexpected(name, "a number");
  double value;
  bool isFinite = !token.text.getAsDouble(value) && std::isfinite(value);
  bool isNan = token.text.contains("nan");
  double largest = std::numeric_limits<float>::max();
  if (single && !isNan && (!isFinite || std::fabs(value) > largest))
    return unexpected(name, "a number within the range of f32");
  if (token.is(TokenKind::Decimal) && !isNan && !isFinite)
    return unexpected(name, "a number within the range of f64");
  lexer.lex();
  return success();
}

LogicalResult ParserImpl::parseString(StringRef name) {
  if (!lexer.token().is(TokenKind::String))
    return unexpected(name, "a string in quotes");
  lexer.lex();
  return success();
}

LogicalResult ParserImpl::parseStringOrJson(StringRef name) {
  if (!lexer.token().is(TokenKind::LBrace))
    return parseString(name);
  const char *loc = lexer.tokenBegin();
  if (!lexer.skipJson())
    return error(loc, name, "`}` for each `{`, and strings that end",
                 "the end of the text");
  return success();
}

//===----------------------------------------------------------------------===//
// Lists and references
//===----------------------------------------------------------------------===//

LogicalResult ParserImpl::parseIntList(StringRef name) {
  int64_t value;
  return parseBraces(name, [&] { return parseInt(name, value); });
}

LogicalResult ParserImpl::parseComputationRef(Computation *&computation) {
  const char *loc = lexer.tokenBegin();
  if (lexer.token().is(TokenKind::LBrace))
    return unsupported(loc, "computation", "the name of a computation",
                       "one written in place",
                       "write it before this one and refer to it by its name");
  StringRef name;
  if (failed(parseName("computation", name)))
    return failure();
  auto found = computationNames.find(name);
  if (found == computationNames.end() && isLine) {
    computation = &module.computationStorage.emplace_back();
    computation->computationName = name;
    return success();
  }
  if (found == computationNames.end())
    return error(loc, "computation", "one that was defined before",
                 "`" + name + "`");
  computation = found->second;
  poisoned |= !computation;
  return success();
}

LogicalResult ParserImpl::parseComputationList(Attribute &attribute) {
  llvm::SmallVector<Computation *, 4> list;
  auto parseItem = [&] { return parseComputationRef(list.emplace_back()); };
  if (failed(parseBraces(attribute.name, parseItem)))
    return failure();
  attribute.computations = copyToArena(llvm::ArrayRef<Computation *>(list));
  return success();
}

LogicalResult ParserImpl::parseInstructionList(Attribute &attribute) {
  llvm::SmallVector<Instruction *, 4> list;
  auto parseItem = [&]() -> LogicalResult {
    const char *loc = lexer.tokenBegin();
    StringRef name;
    if (failed(parseName(attribute.name, name)))
      return failure();
    auto found = names.find(name);
    if (found == names.end() && isLine) {
      list.push_back(createReference(name));
      return success();
    }
    if (found == names.end())
      return error(loc, attribute.name,
                   "an instruction that was defined before", "`" + name + "`");
    poisoned |= !found->second;
    list.push_back(found->second);
    return success();
  };
  // Unlike other lists it is not empty.
  if (failed(expect(TokenKind::LBrace, attribute.name, "{")))
    return failure();
  do {
    if (failed(parseItem()))
      return failure();
  } while (eat(TokenKind::Comma));
  attribute.instructions = copyToArena(llvm::ArrayRef<Instruction *>(list));
  return expect(TokenKind::RBrace, attribute.name, "}");
}

LogicalResult ParserImpl::parseShapeList(Attribute &attribute) {
  llvm::SmallVector<const Shape *, 4> shapes;
  auto parseItem = [&] { return parseShape(shapes.emplace_back()); };
  if (failed(parseBraces(attribute.name, parseItem)))
    return failure();
  attribute.shapes = copyToArena(llvm::ArrayRef<const Shape *>(shapes));
  return success();
}

//===----------------------------------------------------------------------===//
// Windows and dimensions
//===----------------------------------------------------------------------===//

/// Numbers between separators, all within int64; their count, or nothing.
static std::optional<unsigned> countIntegers(StringRef text, char separator) {
  llvm::SmallVector<StringRef, 8> parts;
  text.split(parts, separator);
  for (StringRef part : parts)
    if (!parseInteger(part))
      return std::nullopt;
  return parts.size();
}

/// Fields in any order: size, stride, pad, lhs_dilate, rhs_dilate,
/// rhs_reversal; all that are there have as many dimensions as size.
LogicalResult ParserImpl::parseWindow() {
  constexpr StringRef fields[] = {"size",       "stride",     "pad",
                                  "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  unsigned counts[std::size(fields)] = {};
  const char *begin = lexer.tokenBegin();
  if (failed(expect(TokenKind::LBrace, "window", "{")))
    return failure();
  while (!lexer.token().is(TokenKind::RBrace)) {
    const StringRef *field = llvm::find(fields, lexer.token().text);
    if (!lexer.token().is(TokenKind::AttributeName) ||
        field == std::end(fields))
      return unexpected("window",
                        "one of " + llvm::join(llvm::ArrayRef(fields), ", "));
    unsigned &count = counts[field - fields];
    if (count != 0)
      return unexpected("window", "each field once");
    lexer.lex();
    if (*field == "pad") {
      if (failed(parsePadding("window padding", 2, 2, count)))
        return failure();
      continue;
    }
    bool isList = lexer.token().is(TokenKind::DxD);
    std::optional<unsigned> parsed;
    if (isList || lexer.token().is(TokenKind::Int))
      parsed = countIntegers(lexer.token().text, 'x');
    if (!parsed)
      return unexpected("window", "integers of 64 bits, such as 1x2");
    count = *parsed;
    lexer.lex();
  }
  for (auto [field, count] : llvm::zip_equal(fields, counts))
    if (count != 0 && count != counts[0])
      return error(begin, "window",
                   Twine(counts[0]) + " numbers in `" + field +
                       "`, as many as in `size`",
                   Twine(count));
  lexer.lex();
  return success();
}

/// `low_high` or `low_high_interior` for each dimension, between `x`.
LogicalResult ParserImpl::parsePadding(StringRef name, unsigned fewest,
                                       unsigned most, unsigned &count) {
  if (!lexer.token().is(TokenKind::Pad))
    return unexpected(name, "low_high for each dimension, such as 0_0x1_2");
  llvm::SmallVector<StringRef, 8> dimensions;
  lexer.token().text.split(dimensions, 'x');
  for (StringRef dimension : dimensions) {
    std::optional<unsigned> numbers = countIntegers(dimension, '_');
    if (!numbers || *numbers < fewest || *numbers > most)
      return unexpected(name,
                        Twine(fewest) +
                            (fewest == most ? Twine() : " or " + Twine(most)) +
                            " integers of 64 bits in each dimension");
  }
  count = dimensions.size();
  lexer.lex();
  return success();
}

/// The number of spatial dimensions in one of the three label lists; nothing
/// when a label comes twice or is no dimension.
static std::optional<unsigned> countSpatial(StringRef labels,
                                            StringRef letters) {
  unsigned spatial = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    char c = labels[i];
    if (c == '?')
      continue;
    if (labels.find(c, i + 1) != StringRef::npos)
      return std::nullopt;
    spatial += !letters.contains(c);
  }
  for (char c : labels)
    if (llvm::isDigit(c) && static_cast<unsigned>(c - '0') >= spatial)
      return std::nullopt;
  return spatial;
}

LogicalResult ParserImpl::parseDimLabels() {
  if (!lexer.token().is(TokenKind::DimLabels))
    return unexpected("dim_labels", "labels such as b01f_01io->b01f");
  auto [lhs, rest] = lexer.token().text.split('_');
  auto [rhs, output] = rest.split("->");
  std::optional<unsigned> inputs = countSpatial(lhs, "bf");
  std::optional<unsigned> kernels = countSpatial(rhs, "io");
  std::optional<unsigned> outputs = countSpatial(output, "bf");
  if (!inputs || !kernels || !outputs)
    return unexpected("dim_labels",
                      "each label once, and spatial ones counted from 0");
  if (*inputs != *kernels || *inputs != *outputs)
    return unexpected("dim_labels",
                      "as many spatial dimensions in all three parts");
  lexer.lex();
  return success();
}

/// `{[start:limit], [start:limit:stride]}`
LogicalResult ParserImpl::parseSlices() {
  return parseBraces("slice", [&]() -> LogicalResult {
    const char *loc = lexer.tokenBegin();
    unsigned count = 0;
    int64_t value;
    auto parseBound = [&] {
      ++count;
      return parseInt("slice", value);
    };
    if (failed(parseList("slice", TokenKind::LSquare, "[", TokenKind::RSquare,
                         "]", parseBound, TokenKind::Colon)))
      return failure();
    if (count != 2 && count != 3)
      return error(loc, "slice", "[start:limit] or [start:limit:stride]",
                   Twine(count) + " numbers");
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Free-form values
//===----------------------------------------------------------------------===//

LogicalResult ParserImpl::parseFrontendAttributes() {
  return parseBraces("frontend_attributes", [&]() -> LogicalResult {
    if (!lexer.token().is(TokenKind::AttributeName))
      return unexpected("frontend_attributes", "a key with `=` behind it");
    lexer.lex();
    return parseStringOrJson("frontend attribute");
  });
}

/// `{visualizing_index=1,name=0.5,...}`
LogicalResult ParserImpl::parseStatistics() {
  bool first = true;
  return parseBraces("statistics", [&]() -> LogicalResult {
    if (!lexer.token().is(TokenKind::AttributeName))
      return unexpected("statistics", "a name with `=` behind it");
    lexer.lex();
    bool isInt = lexer.token().is(TokenKind::Int);
    if (!isInt && (first || !lexer.token().is(TokenKind::Decimal)))
      return unexpected("statistics", first ? "an integer" : "a number");
    first = false;
    lexer.lex();
    return success();
  });
}

/// A literal that says its shape: `s32[2] {1, 2}`, `(f32[] 1, pred[] true)`.
LogicalResult ParserImpl::parseLiteralWithShape(unsigned depth) {
  constexpr unsigned kDeepest = 64;
  if (depth > kDeepest)
    return unexpected("literal",
                      "at most " + Twine(kDeepest) + " tuples in each other");
  if (lexer.token().is(TokenKind::LParen))
    return parseList("literal", TokenKind::LParen, "(", TokenKind::RParen, ")",
                     [&] { return parseLiteralWithShape(depth + 1); });
  const Shape *shape;
  if (failed(parseShape(shape)))
    return failure();
  return parseLiteral(*this, *shape, nullptr);
}

/// `{mode=default}` or `{tolerance={atol=0,rtol=1e-3,ulps=2}}`
LogicalResult ParserImpl::parseResultAccuracy() {
  if (failed(expect(TokenKind::LBrace, "result_accuracy", "{")))
    return failure();
  StringRef name = lexer.token().text;
  if (!lexer.token().is(TokenKind::AttributeName) ||
      (name != "mode" && name != "tolerance"))
    return unexpected("result_accuracy", "mode= or tolerance=");
  lexer.lex();
  auto parseTolerance = [&]() -> LogicalResult {
    StringRef field = lexer.token().text;
    if (!lexer.token().is(TokenKind::AttributeName) ||
        (field != "atol" && field != "rtol" && field != "ulps"))
      return unexpected("tolerance", "atol=, rtol= or ulps=");
    lexer.lex();
    return parseFloat(field, /*single=*/false);
  };
  if (name == "tolerance") {
    if (failed(parseBraces("tolerance", parseTolerance)))
      return failure();
  } else {
    if (!lexer.token().isWord("default") && !lexer.token().isWord("highest"))
      return unexpected("mode", "default or highest");
    lexer.lex();
  }
  return expect(TokenKind::RBrace, "result_accuracy", "}");
}

//===----------------------------------------------------------------------===//
// Aliases, layouts, origins
//===----------------------------------------------------------------------===//

/// `{}`, `{0,1}`; a comma at the end may stand.
LogicalResult ParserImpl::parseShapeIndex() {
  int64_t value;
  if (failed(expect(TokenKind::LBrace, "shape index", "{")))
    return failure();
  while (!lexer.token().is(TokenKind::RBrace)) {
    if (failed(parseInt("shape index", value)))
      return failure();
    if (!eat(TokenKind::Comma))
      break;
  }
  return expect(TokenKind::RBrace, "shape index", "}");
}

/// `{ {0}: (1, {}, may-alias), ... }`; the kind only for modules.
LogicalResult ParserImpl::parseAliasing(bool isModule) {
  auto parseItem = [&]() -> LogicalResult {
    int64_t number;
    if (failed(parseShapeIndex()) ||
        failed(expect(TokenKind::Colon, "alias", ":")) ||
        failed(expect(TokenKind::LParen, "alias", "(")) ||
        failed(parseInt("alias", number)) ||
        failed(expect(TokenKind::Comma, "alias", ",")) ||
        failed(parseShapeIndex()))
      return failure();
    if (isModule && eat(TokenKind::Comma)) {
      if (!lexer.token().isWord("must-alias") &&
          !lexer.token().isWord("may-alias"))
        return unexpected("alias", "may-alias or must-alias");
      lexer.lex();
    }
    return expect(TokenKind::RParen, "alias", ")");
  };
  if (failed(expect(TokenKind::LBrace, "alias", "{")))
    return failure();
  while (!lexer.token().is(TokenKind::RBrace)) {
    if (failed(parseItem()))
      return failure();
    if (!eat(TokenKind::Comma))
      break;
  }
  return expect(TokenKind::RBrace, "alias", "}");
}

/// `{ (0, {}), ... }`
LogicalResult ParserImpl::parseBufferDonor() {
  if (failed(expect(TokenKind::LBrace, "buffer_donor", "{")))
    return failure();
  while (!lexer.token().is(TokenKind::RBrace)) {
    int64_t number;
    if (failed(expect(TokenKind::LParen, "buffer_donor", "(")) ||
        failed(parseInt("buffer_donor", number)) ||
        failed(expect(TokenKind::Comma, "buffer_donor", ",")) ||
        failed(parseShapeIndex()) ||
        failed(expect(TokenKind::RParen, "buffer_donor", ")")))
      return failure();
    if (!eat(TokenKind::Comma))
      break;
  }
  return expect(TokenKind::RBrace, "buffer_donor", "}");
}

/// `{(f32[2]{0}, ...)->f32[2]{0}}`, the layouts of the entry.
LogicalResult ParserImpl::parseComputationLayout() {
  StringRef field = "entry_computation_layout";
  ProgramShape &layout = module.entryComputationLayout.emplace();
  if (failed(expect(TokenKind::LBrace, field, "{")) ||
      failed(expect(TokenKind::LParen, field, "(")))
    return failure();
  while (!lexer.token().is(TokenKind::RParen)) {
    if (failed(parseShape(layout.parameters.emplace_back())))
      return failure();
    if (lexer.token().is(TokenKind::RParen))
      break;
    if (failed(expect(TokenKind::Comma, field, ",")))
      return failure();
  }
  lexer.lex();
  if (failed(expect(TokenKind::Arrow, field, "->")) ||
      failed(parseShape(layout.result)))
    return failure();
  return expect(TokenKind::RBrace, field, "}");
}

/// `{}`, `{"name"}`, `{"name" {0}}`
LogicalResult ParserImpl::parseOriginalArray() {
  if (failed(expect(TokenKind::LBrace, "origin", "{")))
    return failure();
  if (eat(TokenKind::String) && lexer.token().is(TokenKind::LBrace) &&
      failed(parseShapeIndex()))
    return failure();
  return expect(TokenKind::RBrace, "origin", "}");
}

/// `{[synthetic_call]}`, or original arrays in the parentheses of a tuple.
LogicalResult ParserImpl::parseOriginalValue() {
  if (failed(expect(TokenKind::LBrace, "origin", "{")))
    return failure();
  if (eat(TokenKind::LSquare)) {
    if (!lexer.token().isWord("synthetic_call"))
      return unexpected("origin", "synthetic_call");
    lexer.lex();
    if (failed(expect(TokenKind::RSquare, "origin", "]")))
      return failure();
    return expect(TokenKind::RBrace, "origin", "}");
  }
  int64_t depth = 0;
  while (!lexer.token().is(TokenKind::RBrace)) {
    bool inTuple = depth > 0;
    if (eat(TokenKind::LParen)) {
      ++depth;
    } else if (inTuple && eat(TokenKind::RParen)) {
      --depth;
    } else if (inTuple && eat(TokenKind::Comma)) {
      continue;
    } else if (lexer.token().is(TokenKind::LBrace)) {
      if (failed(parseOriginalArray()))
        return failure();
    } else {
      return unexpected("origin", "an original array in braces, or `}`");
    }
  }
  lexer.lex();
  return success();
}

/// `{{"a"} : {"b"}, "module text" ...}`; the inner modules are not looked into.
LogicalResult ParserImpl::parseRecoveryTable() {
  StringRef field = "origin_recovery_table";
  if (failed(expect(TokenKind::LBrace, field, "{")))
    return failure();
  while (!lexer.token().is(TokenKind::RBrace)) {
    if (failed(parseOriginalArray()) ||
        failed(expect(TokenKind::Colon, field, ":")) ||
        failed(parseOriginalArray()))
      return failure();
    if (eat(TokenKind::Comma) && failed(parseString(field)))
      return failure();
  }
  lexer.lex();
  return success();
}
