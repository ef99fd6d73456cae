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
    const char *place = lexer.tokenBegin();
    Attribute &attribute = attributes.emplace_back();
    if (failed(parseAttribute(specs, attribute)))
      return failure();
    for (const Attribute &other : llvm::ArrayRef(attributes).drop_back())
      if (other.name == attribute.name)
        return error(place, "attribute", "each attribute once",
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
    const char *place = lexer.tokenBegin();
    Attribute attribute;
    if (failed(parseAttribute({specs}, attribute)))
      return failure();
    if (llvm::is_contained(seen, attribute.name))
      return error(place, field, "each field once",
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
    return parseFields(name, kMetadataFields);
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
  const char *place = lexer.tokenBegin();
  int64_t value;
  if (failed(parseInt(name, value)))
    return failure();
  if (!llvm::isInt<32>(value))
    return error(place, name, "an integer of 32 bits", Twine(value));
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
  const char *place = lexer.tokenBegin();
  if (!lexer.skipJson())
    return error(place, name, "`}` for each `{`, and strings that end",
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
  const char *place = lexer.tokenBegin();
  if (lexer.token().is(TokenKind::LBrace))
    return unsupported(place, "computation", "the name of a computation",
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
    return error(place, "computation", "one that was defined before",
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
    const char *place = lexer.tokenBegin();
    StringRef name;
    if (failed(parseName(attribute.name, name)))
      return failure();
    auto found = names.find(name);
    if (found == names.end() && isLine) {
      list.push_back(createReference(name));
      return success();
    }
    if (found == names.end())
      return error(place, attribute.name,
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
    const char *place = lexer.tokenBegin();
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
      return error(place, "slice", "[start:limit] or [start:limit:stride]",
                   Twine(count) + " numbers");
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace tessera::hlo {
/// What one `{...}` of a sharding says.
struct ShardingFields {
  bool replicated = false, maximal = false, manual = false;
  bool unknown = false, unreduced = false;
  bool lastTileReplicated = false, hasSubgroups = false;
  llvm::SmallVector<int64_t, 4> tiles;
  llvm::SmallVector<int64_t, 4> iota;
  /// Devices listed one by one.
  uint64_t numDevices = 0;
  bool allowDevices = true;
};
} // namespace tessera::hlo

/// A product of sizes; nothing when one is not positive, or beyond int64.
static std::optional<int64_t> product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    if (size <= 0 || llvm::MulOverflow(result, size, result))
      return std::nullopt;
  return result;
}

/// `[2,4]0,1,...`, `[2,4]<=[8]` or `[2,4]<=[4,2]T(1,0)`
LogicalResult ParserImpl::parseTileAssignment(ShardingFields &fields) {
  const char *place = lexer.tokenBegin();
  int64_t value;
  auto parseDims = [&](llvm::SmallVectorImpl<int64_t> &dims) {
    dims.clear();
    if (failed(expect(TokenKind::LSquare, "device list", "[")))
      return failure();
    do {
      if (failed(parseInt("device list", dims.emplace_back())))
        return failure();
    } while (eat(TokenKind::Comma));
    return expect(TokenKind::RSquare, "device list", "]");
  };
  if (failed(parseDims(fields.tiles)))
    return failure();
  std::optional<int64_t> numTiles = product(fields.tiles);
  if (!numTiles)
    return error(place, "device list",
                 "positive sizes with a product of 64 bits", "others");
  fields.numDevices = 0;
  if (!eat(TokenKind::LessEqual)) {
    if (!fields.allowDevices)
      return unexpected("device list", "`<=`");
    do {
      if (failed(parseInt("device", value)))
        return failure();
      ++fields.numDevices;
    } while (eat(TokenKind::Comma));
    if (fields.numDevices != static_cast<uint64_t>(*numTiles))
      return error(place, "device list", Twine(*numTiles) + " devices",
                   Twine(fields.numDevices));
    return success();
  }
  if (failed(parseDims(fields.iota)))
    return failure();
  if (product(fields.iota) != numTiles)
    return error(place, "device list",
                 "sizes with the same product on both sides of `<=`", "others");
  if (fields.iota.size() == 1)
    return success();
  // A permutation of the sizes behind `<=`.
  llvm::SmallVector<bool, 4> taken(fields.iota.size(), false);
  if (!lexer.token().isWord("T"))
    return unexpected("device list", "`T(` and a permutation");
  lexer.lex();
  size_t count = 0;
  auto parseEntry = [&]() -> LogicalResult {
    const char *entry = lexer.tokenBegin();
    if (failed(parseInt("device permutation", value)))
      return failure();
    ++count;
    if (value < 0 || value >= static_cast<int64_t>(taken.size()) ||
        taken[value])
      return error(entry, "device permutation",
                   "each of 0 to " + Twine(taken.size() - 1) + " once",
                   Twine(value));
    taken[value] = true;
    return success();
  };
  if (failed(parseList("device permutation", TokenKind::LParen, "(",
                       TokenKind::RParen, ")", parseEntry)))
    return failure();
  if (count != taken.size())
    return error(place, "device permutation", Twine(taken.size()) + " numbers",
                 Twine(count));
  return success();
}

LogicalResult ParserImpl::parseShardingField(ShardingFields &fields) {
  const Token &token = lexer.token();
  int64_t value;
  if (token.is(TokenKind::Identifier)) {
    bool *flag =
        llvm::StringSwitch<bool *>(token.text)
            .Case("replicated", &fields.replicated)
            .Case("maximal", &fields.maximal)
            .Case("manual", &fields.manual)
            .Case("unknown", &fields.unknown)
            .Case("unreduced", &fields.unreduced)
            .Case("last_tile_dim_replicate", &fields.lastTileReplicated)
            .Default(nullptr);
    if (flag) {
      *flag = true;
      lexer.lex();
      return success();
    }
    if (token.text == "shard_as" || token.text == "shard_like") {
      lexer.lex();
      return parseInt("shard group", value);
    }
  }
  if (token.is(TokenKind::AttributeName)) {
    StringRef name = token.text;
    if (name == "device") {
      lexer.lex();
      fields.numDevices = 1;
      return parseInt("device", value);
    }
    if (name == "devices") {
      lexer.lex();
      return parseTileAssignment(fields);
    }
    if (name == "metadata") {
      lexer.lex();
      auto parseOne = [&] { return parseFields("metadata", kMetadataFields); };
      if (lexer.token().is(TokenKind::LBrace) &&
          lexer.peek().is(TokenKind::LBrace))
        return parseBraces("metadata", parseOne);
      return parseOne();
    }
    if (name == "last_tile_dims") {
      lexer.lex();
      fields.hasSubgroups = true;
      return parseBraces("last_tile_dims", [&]() -> LogicalResult {
        StringRef word = lexer.token().text;
        if (word != "maximal" && word != "replicated" && word != "manual" &&
            word != "unreduced")
          return unexpected("last_tile_dims",
                            "maximal, replicated, manual or unreduced");
        lexer.lex();
        return success();
      });
    }
  }
  return unexpected("sharding", "replicated, maximal, manual, unknown, "
                                "unreduced, devices=, device=, metadata=, "
                                "last_tile_dims= or `}`");
}

LogicalResult ParserImpl::parseSingleSharding() {
  const char *place = lexer.tokenBegin();
  if (failed(expect(TokenKind::LBrace, "sharding", "{")))
    return failure();
  ShardingFields fields;
  while (!lexer.token().is(TokenKind::RBrace))
    if (failed(parseShardingField(fields)))
      return failure();
  bool single =
      fields.replicated || fields.manual || fields.unknown || fields.unreduced;
  if (single && fields.numDevices != 0)
    return error(place, "sharding", "no devices in a sharding without tiles",
                 "some");
  if (!single && fields.maximal && fields.numDevices != 1)
    return error(place, "sharding", "one device in a maximal sharding",
                 Twine(fields.numDevices));
  if (!single && !fields.maximal) {
    if (fields.tiles.empty())
      return error(place, "sharding", "`devices=[...]` or a kind", "neither");
    if (fields.iota.empty() && fields.numDevices <= 1)
      return error(place, "sharding", "more than one device",
                   Twine(fields.numDevices));
    if (fields.lastTileReplicated && fields.hasSubgroups)
      return error(place, "sharding",
                   "last_tile_dim_replicate or last_tile_dims", "both");
  }
  lexer.lex();
  return success();
}

/// One sharding, or one for each leaf of a tuple.
LogicalResult ParserImpl::parseSharding() {
  if (lexer.token().is(TokenKind::LBrace)) {
    TokenKind next = lexer.peek().kind;
    if (next != TokenKind::LBrace && next != TokenKind::RBrace)
      return parseSingleSharding();
  }
  return parseBraces("sharding", [&] { return parseSingleSharding(); });
}

/// `, device_ids=([2,2]T(1,0))` or `, device_ids=(3,2,1,0)`
LogicalResult ParserImpl::parseMeshDevices() {
  if (!lexer.token().is(TokenKind::Comma))
    return success();
  Token next = lexer.peek();
  if (!next.is(TokenKind::AttributeName) || next.text != "device_ids")
    return success();
  lexer.lex();
  lexer.lex();
  if (failed(expect(TokenKind::LParen, "device_ids", "(")))
    return failure();
  int64_t value;
  auto parseItem = [&] { return parseInt("device_ids", value); };
  if (!lexer.token().is(TokenKind::LSquare)) {
    do {
      if (failed(parseItem()))
        return failure();
    } while (eat(TokenKind::Comma));
    return expect(TokenKind::RParen, "device_ids", ")");
  }
  if (failed(parseList("device_ids", TokenKind::LSquare, "[",
                       TokenKind::RSquare, "]", parseItem)))
    return failure();
  if (lexer.token().isWord("T")) {
    lexer.lex();
    if (failed(parseList("device_ids", TokenKind::LParen, "(",
                         TokenKind::RParen, ")", parseItem)))
      return failure();
  }
  return expect(TokenKind::RParen, "device_ids", ")");
}

/// `mesh['x'=2,'y'=4] {'y','x':(1)2}`: axes with sizes, then the axes, or parts
/// `(offset)size` of them, whose devices form a group.
LogicalResult ParserImpl::parseMeshGroups() {
  lexer.lex();
  llvm::SmallDenseMap<StringRef, int64_t> axes;
  auto axisName = [&] { return lexer.token().text.drop_front().drop_back(); };
  auto parseAxis = [&]() -> LogicalResult {
    const char *place = lexer.tokenBegin();
    StringRef name = lexer.token().text;
    int64_t size;
    if (failed(parseString("mesh axis")) ||
        failed(expect(TokenKind::Equal, "mesh axis", "=")) ||
        failed(parseInt("mesh axis", size)))
      return failure();
    if (!axes.try_emplace(name.drop_front().drop_back(), size).second)
      return error(place, "mesh axis", "each axis once", name);
    return success();
  };
  if (failed(parseList("mesh", TokenKind::LSquare, "[", TokenKind::RSquare, "]",
                       parseAxis)) ||
      failed(parseMeshDevices()))
    return failure();
  const char *groupPlace = lexer.tokenBegin();
  llvm::SmallVector<StringRef, 4> used;
  llvm::SmallVector<int64_t, 4> sizes;
  auto parseGroupAxis = [&]() -> LogicalResult {
    const char *place = lexer.tokenBegin();
    StringRef name = lexer.token().is(TokenKind::String) ? axisName() : "";
    auto axis = axes.find(name);
    if (axis == axes.end() || llvm::is_contained(used, name))
      return unexpected("replica_groups", "an axis of the mesh, each once");
    lexer.lex();
    used.push_back(name);
    int64_t &size = sizes.emplace_back(axis->second);
    if (!eat(TokenKind::Colon))
      return success();
    int64_t offset;
    if (failed(expect(TokenKind::LParen, "part of an axis", "(")) ||
        failed(parseInt("part of an axis", offset)) ||
        failed(expect(TokenKind::RParen, "part of an axis", ")")) ||
        failed(parseInt("part of an axis", size)))
      return failure();
    std::optional<int64_t> step = product({offset, size});
    if (!step || axis->second % *step != 0)
      return error(place, "part of an axis",
                   "(offset)size whose product divides " + Twine(axis->second),
                   "another");
    return success();
  };
  if (failed(parseBraces("replica_groups", parseGroupAxis)))
    return failure();
  std::optional<int64_t> groupSize = product(sizes);
  if (!groupSize || *groupSize < 2)
    return error(groupPlace, "replica_groups",
                 "more than one device in a group", "fewer");
  return success();
}

LogicalResult ParserImpl::parseReplicaGroups() {
  if (lexer.token().is(TokenKind::LBrace))
    return parseBraces("replica_groups",
                       [&] { return parseIntList("replica group"); });
  if (lexer.token().isWord("mesh"))
    return parseMeshGroups();
  const char *place = lexer.tokenBegin();
  ShardingFields fields;
  fields.allowDevices = false;
  if (failed(parseTileAssignment(fields)))
    return failure();
  if (fields.tiles.size() != 2)
    return error(place, "replica_groups", "two sizes in front of `<=`",
                 Twine(fields.tiles.size()));
  return success();
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
