//===- Text.cpp - Parsing XLA's notation ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive descent over the characters: the notation needs no look-ahead
// but one token, so there is no separate lexer.
//
//   shape  := 'b' '(' array ')' | '(' [ shape { ',' shape } ] ')' | array
//   array  := type '[' [ dim { ',' dim } ] ']' [ layout ]
//   dim    := INT | '<=' INT | '?'
//   layout := '{' [ INT { ',' INT } ] [ ':' key { key } ] '}'
//   key    := 'D' levels | 'T' tile { tile } | 'L' '(' INT ')'
//           | 'E' '(' INT ')' | 'S' '(' INT ')' | 'SC' split { split }
//           | 'M' '(' INT ')' | 'PD' '(' INT { ',' INT } ')'
//           | 'PV' '(' value ')' | 'B' '(' bound { ',' bound } ')'
//   tile   := '(' tdim { ',' tdim } ')'      tdim  := INT | '*'
//   split  := '(' INT ':' [ INT { ',' INT } ] ')'
//   value  := '0' | '1' | 'zero' | 'one' | 'lowest' | 'highest'
//   bound  := INT | '?'
//
// Keys stand in this order, each at most once.
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Text.h"
#include "tessera/Layout/Rules.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tessera;
using namespace tessera::detail;

using llvm::StringRef;
using llvm::Twine;

namespace {
/// The keys of a layout in the order of the notation.
enum class Key : uint8_t {
  None,
#define LAYOUT_OTHER_KEY(ID, KEY) ID,
#define LAYOUT_NUMBER(ID, ...) ID,
#define LAYOUT_FIELD(ID, ...) ID,
#include "tessera/Layout/LayoutFields.def"
  Unknown,
};

/// A field in messages.
#define LAYOUT_NUMBER(ID, KEY, MEMBER, DEFAULT, PHRASE, ...)                   \
  constexpr StringRef k##ID = PHRASE;
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, PHRASE, ...)                       \
  constexpr StringRef k##ID = PHRASE;
#include "tessera/Layout/LayoutFields.def"

/// Functions return whether they succeeded; the first failure is in `error`.
class Parser {
public:
  Parser(StringRef text, size_t pos, ParseShapeOptions options = {})
      : text(text), pos(pos), options(options) {}

  bool parseShape(Shape &shape, int depth = 0);
  bool parseLayoutAlone(Layout &layout);
  bool parseTileAlone(Tile &tile);
  bool parseEnd(StringRef field);

  size_t position() const { return pos; }
  llvm::Error takeError() {
    return llvm::make_error<LayoutError>(std::move(error));
  }

private:
  // Characters.
  char peek();
  bool skipBlanks() {
    // Nearly always there are none: printed texts have no blanks.
    bool isToken = pos < text.size() && text[pos] > ' ' && text[pos] != '/';
    return isToken || skipBlanksAndComments();
  }
  bool skipBlanksAndComments();
  bool skipBlockComment();
  bool consumeIf(char c);
  StringRef peekWord();

  // Tokens.
  bool expect(char c, StringRef field);
  bool parseInteger(int64_t &value, StringRef field);
  bool parseCommaList(char close, StringRef field,
                      llvm::function_ref<bool()> parseElement);

  // Shapes.
  bool parseTuple(Shape &shape, int depth);
  bool parseBuffer(Shape &shape);
  bool parseArray(Shape &shape);
  bool parseType(PrimitiveType &type);
  bool parseNoDimensions(PrimitiveType type, Shape &shape);
  bool parseDimensions(Shape &shape);
  bool parseDimension(int64_t &size, bool &isDynamic);
  bool startsLayout();

  // Layouts.
  bool parseLayout(Layout &layout);
  bool parseMinorToMajor(Layout &layout);
  bool parseKeys(Layout &layout);
  Key peekKey(size_t &length);
  bool parseKey(Key key, size_t start, Layout &layout);
  bool parseNumber(int64_t &value, Field field, StringRef name);
  bool parseLevels();
  bool parseLevel();
  bool parseTiles(Layout &layout);
  bool parseTile(Tile &tile, int64_t index);
  bool parseTileSize(int64_t &size);
  bool parseSplitConfigs(Layout &layout);
  bool parseSplit(SplitConfig &split, int64_t index);
  bool parsePaddedDimensions(Layout &layout);
  bool parsePaddingValue(Layout &layout);
  bool parseBounds(Layout &layout);
  bool parseBound(int64_t &bound);

  // Errors and rules.
  bool fail(size_t at, StringRef rule, const Twine &field,
            const Twine &expected, const Twine &remedy = "");
  bool report(Violation violation, size_t start,
              llvm::function_ref<bool(Parser &)> reparse);
  void note(Field field, int64_t i = FieldEntry::kWhole,
            int64_t j = FieldEntry::kWhole);

  StringRef text;
  size_t pos;
  ParseShapeOptions options;
  Diagnostic error;
  /// Filled only when a rule was violated and its position is looked for.
  FieldPositions *positions = nullptr;
};
} // namespace

//===----------------------------------------------------------------------===//
// Errors and rules
//===----------------------------------------------------------------------===//

bool Parser::fail(size_t at, StringRef rule, const Twine &field,
                  const Twine &expected, const Twine &remedy) {
  // An unterminated comment was found first, and is what is wrong.
  if (!error.rule.empty())
    return false;
  error.rule = rule.str();
  error.field = field.str();
  error.expected = expected.str();
  error.found = describeToken(text, at);
  error.remedy = remedy.str();
  error.position = static_cast<int64_t>(at);
  return false;
}

void Parser::note(Field field, int64_t i, int64_t j) {
  if (!positions)
    return;
  skipBlanks();
  positions->try_emplace({field, i, j}, pos);
}

/// Fails with `violation`. Its position is found by parsing the text from
/// `start` once more, so that texts without errors do not pay for positions.
bool Parser::report(Violation violation, size_t start,
                    llvm::function_ref<bool(Parser &)> reparse) {
  FieldPositions found;
  Parser again(text, start, options);
  again.positions = &found;
  reparse(again);

  error = std::move(violation.diagnostic);
  error.position =
      static_cast<int64_t>(findPosition(found, violation.entry, start));
  return false;
}

//===----------------------------------------------------------------------===//
// Characters and tokens
//===----------------------------------------------------------------------===//

/// Skips white space and comments; false when a comment does not end.
bool Parser::skipBlanksAndComments() {
  while (pos < text.size()) {
    char c = text[pos];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++pos;
    } else if (text.substr(pos).starts_with("//")) {
      pos = std::min(text.find('\n', pos), text.size());
    } else if (text.substr(pos).starts_with("/*")) {
      if (!skipBlockComment())
        return false;
    } else {
      break;
    }
  }
  return true;
}

bool Parser::skipBlockComment() {
  size_t end = text.find("*/", pos + 2);
  if (end == StringRef::npos)
    return fail(pos, "text_c9", "comment", "`*/` at its end");
  pos = end + 2;
  return true;
}

/// The next character that is not blank; NUL at the end.
char Parser::peek() {
  if (!skipBlanks() || pos >= text.size())
    return '\0';
  return text[pos];
}

bool Parser::consumeIf(char c) {
  if (peek() != c || pos >= text.size())
    return false;
  ++pos;
  return true;
}

bool Parser::expect(char c, StringRef field) {
  if (consumeIf(c))
    return true;
  return fail(pos, "text_c1", field, "`" + Twine(c) + "`");
}

/// The name that follows, which may be empty; it is not consumed.
StringRef Parser::peekWord() {
  char first = peek();
  if (!llvm::isAlpha(first) && first != '_')
    return {};
  return text.substr(pos).take_while([](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-';
  });
}

bool Parser::parseInteger(int64_t &value, StringRef field) {
  peek();
  size_t start = pos;
  StringRef rest = text.substr(pos);
  bool isNegative = rest.consume_front("-");
  StringRef digits = rest.take_while([](char c) { return llvm::isDigit(c); });
  if (digits.empty())
    return fail(start, "text_c1", field, "an integer");
  // `1e3`, `2x2` and `1.5` are other tokens of HLO.
  char after = rest.size() > digits.size() ? rest[digits.size()] : '\0';
  if (llvm::isAlpha(after) || after == '_' || after == '.')
    return fail(start, "text_c1", field, "an integer");
  pos = start + isNegative + digits.size();
  // No number of so few digits overflows.
  if (digits.size() < 19) {
    value = 0;
    for (char digit : digits)
      value = value * 10 + (digit - '0');
    value = isNegative ? -value : value;
    return true;
  }
  if (text.slice(start, pos).getAsInteger(10, value))
    return fail(start, "text_c2", field, "an integer of 64 bits");
  return true;
}

/// Elements with `,` between them and `close` at the end; at least one.
bool Parser::parseCommaList(char close, StringRef field,
                            llvm::function_ref<bool()> parseElement) {
  while (true) {
    if (!parseElement())
      return false;
    if (consumeIf(close))
      return true;
    if (!consumeIf(','))
      return fail(pos, "text_c1", field, "`,` or `" + Twine(close) + "`");
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

bool Parser::parseEnd(StringRef field) {
  peek();
  if (pos == text.size())
    return true;
  return fail(pos, "text_c4", "text", "nothing after the " + field);
}

bool Parser::parseShape(Shape &shape, int depth) {
  if (peek() == '(')
    return parseTuple(shape, depth);
  if (peekWord() == "b")
    return parseBuffer(shape);
  return parseArray(shape);
}

bool Parser::parseTuple(Shape &shape, int depth) {
  if (depth == kMaxNesting)
    return fail(pos, "text_c8", "tuple",
                "at most " + Twine(kMaxNesting) + " tuples in each other");
  std::vector<Shape> elements;
  consumeIf('(');
  if (!consumeIf(')')) {
    auto parseElement = [&] {
      return parseShape(elements.emplace_back(), depth + 1);
    };
    if (!parseCommaList(')', "tuple", parseElement))
      return false;
  }
  shape = Shape::tuple(std::move(elements));
  return true;
}

bool Parser::parseBuffer(Shape &shape) {
  ++pos;
  if (!expect('(', "buffer"))
    return false;
  peek();
  size_t start = pos;
  Shape element;
  if (!parseArray(element))
    return false;
  if (!element.isArray())
    return fail(start, "shape_c5", "buffer", "exactly one array");
  shape = Shape::buffer(std::move(element));
  return expect(')', "buffer");
}

bool Parser::parseType(PrimitiveType &type) {
  StringRef name = peekWord();
  std::optional<PrimitiveType> found = parsePrimitiveType(name);
  if (!found)
    return fail(pos, "text_c5", "element type",
                "the name of a type, such as `f32`");
  type = *found;
  pos += name.size();
  return true;
}

bool Parser::parseArray(Shape &shape) {
  peek();
  size_t start = pos;
  PrimitiveType type;
  if (!parseType(type) || !expect('[', "dimensions"))
    return false;
  if (!isArrayElement(type))
    return parseNoDimensions(type, shape);

  shape = Shape::array(type, {});
  if (!parseDimensions(shape))
    return false;
  if (startsLayout()) {
    shape.setLayout(Layout());
    if (!parseLayout(shape.mutableLayout()))
      return false;
  } else if (options.fillDefaultLayouts) {
    shape.setLayout(Layout::descending(shape.rank()));
  }
  // Positions are being looked for: the rules were checked already.
  if (positions)
    return true;
  if (MaybeViolation violation = checkArray(shape))
    return report(std::move(*violation), start, [](Parser &parser) {
      Shape again;
      return parser.parseArray(again);
    });
  return true;
}

/// The rest of `token[]` and `opaque[]`.
bool Parser::parseNoDimensions(PrimitiveType type, Shape &shape) {
  shape = isToken(type) ? Shape::token() : Shape::opaque();
  if (!consumeIf(']'))
    return fail(pos, "text_c7", "dimensions",
                "`]`, since " + getName(type) + " has no dimensions");
  if (startsLayout())
    return fail(pos, "text_c7", "layout",
                "none, since " + getName(type) + " has no layout");
  return true;
}

bool Parser::parseDimensions(Shape &shape) {
  if (consumeIf(']'))
    return true;
  llvm::SmallVector<int64_t, 8> sizes;
  llvm::SmallVector<bool, 8> dynamic;
  auto parseElement = [&] {
    note(Field::Dimensions, sizes.size());
    return parseDimension(sizes.emplace_back(), dynamic.emplace_back());
  };
  if (!parseCommaList(']', "dimensions", parseElement))
    return false;
  shape.setDimensions(sizes);
  for (size_t i = 0; i < dynamic.size(); ++i)
    shape.setDynamicDimension(i, dynamic[i]);
  return true;
}

bool Parser::parseDimension(int64_t &size, bool &isDynamic) {
  isDynamic = true;
  if (consumeIf('?')) {
    size = kDynamic;
    return true;
  }
  peek();
  isDynamic = text.substr(pos).starts_with("<=");
  if (isDynamic)
    pos += 2;
  return parseInteger(size, "dimension");
}

/// Whether a layout follows; another `{` is not part of the shape, as in
/// `-> f32[] { ... }`. Blanks are skipped only before a layout.
bool Parser::startsLayout() {
  size_t behindShape = pos;
  bool result = false;
  if (peek() == '{') {
    size_t brace = pos++;
    char next = peek();
    result = next == ':' || next == '-' || llvm::isDigit(next);
    pos = brace;
  }
  if (!result)
    pos = behindShape;
  return result;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

bool Parser::parseLayout(Layout &layout) {
  note(Field::MinorToMajor);
  if (!expect('{', "layout") || !parseMinorToMajor(layout))
    return false;
  if (consumeIf(':') && !parseKeys(layout))
    return false;
  return expect('}', "layout");
}

bool Parser::parseMinorToMajor(Layout &layout) {
  char next = peek();
  if (next == ':' || next == '}')
    return true;
  do {
    note(Field::MinorToMajor, layout.rank());
    if (!parseInteger(layout.minorToMajor.emplace_back(), "minor_to_major"))
      return false;
  } while (consumeIf(','));
  next = peek();
  if (next == ':' || next == '}')
    return true;
  return fail(pos, "text_c1", "minor_to_major", "`,`, `:` or `}`");
}

/// The key that follows and the length of its name.
Key Parser::peekKey(size_t &length) {
  char next = peek();
  StringRef name =
      next == '#' || next == '*' ? text.substr(pos, 1) : peekWord();
  length = name.size();
  return llvm::StringSwitch<Key>(name)
#define LAYOUT_OTHER_KEY(ID, KEY) .Case(KEY, Key::ID)
#define LAYOUT_NUMBER(ID, KEY, ...) .Case(KEY, Key::ID)
#define LAYOUT_FIELD(ID, KEY, ...) .Case(KEY, Key::ID)
#include "tessera/Layout/LayoutFields.def"
      .Default(Key::Unknown);
}

bool Parser::parseKeys(Layout &layout) {
  static constexpr StringRef kOrder = "D"
#define LAYOUT_NUMBER(ID, KEY, ...) " " KEY
#define LAYOUT_FIELD(ID, KEY, ...) " " KEY
#include "tessera/Layout/LayoutFields.def"
      ;
  Key last = Key::None;
  do {
    size_t length;
    Key key = peekKey(length);
    if (key == Key::Unknown)
      return fail(pos, "text_c1", "key of a layout", "one of " + kOrder);
    if (key <= last)
      return fail(pos, "text_c3", "order of keys",
                  "each key at most once, in the order " + kOrder);
    last = key;
    size_t start = pos;
    pos += length;
    if (!parseKey(key, start, layout))
      return false;
  } while (peek() != '}');
  return true;
}

/// What follows the key that begins at `start`.
bool Parser::parseKey(Key key, size_t start, Layout &layout) {
  switch (key) {
#define LAYOUT_NUMBER(ID, KEY, MEMBER, ...)                                    \
  case Key::ID:                                                                \
    return parseNumber(layout.MEMBER, Field::ID, k##ID);
#define LAYOUT_FIELD(ID, ...)                                                  \
  case Key::ID:                                                                \
    return parse##ID(layout);
#include "tessera/Layout/LayoutFields.def"
  case Key::Levels:
    return parseLevels();
  case Key::IndexType:
  case Key::PointerType:
  case Key::PhysicalShape:
    return fail(start, "text_c6", "key of a layout",
                "none of `#`, `*`, `P`, which only sparse arrays have",
                "leave it out");
  case Key::None:
  case Key::Unknown:
    break;
  }
  llvm_unreachable("refused by parseKeys");
}

bool Parser::parseNumber(int64_t &value, Field field, StringRef name) {
  if (!expect('(', name))
    return false;
  note(field);
  return parseInteger(value, name) && expect(')', name);
}

/// Dimension levels, which newer versions of XLA accept and drop.
bool Parser::parseLevels() {
  if (!expect('(', "levels D"))
    return false;
  if (consumeIf(')'))
    return true;
  return parseCommaList(')', "levels D", [&] { return parseLevel(); });
}

bool Parser::parseLevel() {
  StringRef name = peekWord();
  if (name != "D" && name != "C" && name != "S" && name != "H")
    return fail(pos, "text_c1", "level in D", "one of D, C, S, H");
  ++pos;
  consumeIf('+');
  consumeIf('~');
  return true;
}

bool Parser::parseTiles(Layout &layout) {
  do {
    int64_t index = static_cast<int64_t>(layout.tiles.size());
    if (!parseTile(layout.tiles.emplace_back(), index))
      return false;
  } while (peek() == '(');
  return true;
}

bool Parser::parseTile(Tile &tile, int64_t index) {
  note(Field::Tiles, index);
  if (!expect('(', kTiles))
    return false;
  // The rule refuses it, with the tile's position.
  if (consumeIf(')'))
    return true;
  return parseCommaList(')', kTiles, [&] {
    note(Field::Tiles, index, tile.sizes.size());
    return parseTileSize(tile.sizes.emplace_back());
  });
}

bool Parser::parseTileSize(int64_t &size) {
  if (consumeIf('*')) {
    size = Tile::kCombine;
    return true;
  }
  size_t start = pos;
  if (!parseInteger(size, "tile size"))
    return false;
  if (size != Tile::kCombine)
    return true;
  return report(*checkTileNumber(size), start, [](Parser &) { return true; });
}

bool Parser::parseSplitConfigs(Layout &layout) {
  do {
    int64_t index = static_cast<int64_t>(layout.splitConfigs.size());
    if (!parseSplit(layout.splitConfigs.emplace_back(), index))
      return false;
  } while (peek() == '(');
  return true;
}

bool Parser::parseSplit(SplitConfig &split, int64_t index) {
  if (!expect('(', kSplitConfigs))
    return false;
  note(Field::SplitConfigs, index);
  if (!parseInteger(split.dimension, kSplitConfigs) ||
      !expect(':', kSplitConfigs))
    return false;
  if (consumeIf(')'))
    return true;
  return parseCommaList(')', kSplitConfigs, [&] {
    note(Field::SplitConfigs, index, split.indices.size() + 1);
    return parseInteger(split.indices.emplace_back(), kSplitConfigs);
  });
}

bool Parser::parsePaddedDimensions(Layout &layout) {
  note(Field::PaddedDimensions);
  if (!expect('(', kPaddedDimensions))
    return false;
  return parseCommaList(')', kPaddedDimensions, [&] {
    note(Field::PaddedDimensions, layout.paddedDimensions.size());
    return parseInteger(layout.paddedDimensions.emplace_back(), "width in PD");
  });
}

bool Parser::parsePaddingValue(Layout &layout) {
  if (!expect('(', kPaddingValue))
    return false;
  note(Field::PaddingValue);
  peek();
  StringRef word = text.substr(pos).take_while(llvm::isAlnum);
  layout.paddingValue = llvm::StringSwitch<std::optional<PaddingValue>>(word)
                            .Cases({"zero", "0"}, PaddingValue::Zero)
                            .Cases({"one", "1"}, PaddingValue::One)
                            .Case("lowest", PaddingValue::Lowest)
                            .Case("highest", PaddingValue::Highest)
                            .Default(std::nullopt);
  if (!layout.paddingValue)
    return fail(pos, "text_c1", kPaddingValue, "zero, one, lowest or highest");
  pos += word.size();
  return expect(')', kPaddingValue);
}

bool Parser::parseBounds(Layout &layout) {
  note(Field::Bounds);
  if (!expect('(', kBounds))
    return false;
  return parseCommaList(')', kBounds, [&] {
    note(Field::Bounds, layout.bounds.size());
    return parseBound(layout.bounds.emplace_back());
  });
}

bool Parser::parseBound(int64_t &bound) {
  if (consumeIf('?')) {
    bound = kDynamic;
    return true;
  }
  size_t start = pos;
  if (!parseInteger(bound, "bound in B"))
    return false;
  if (bound != kDynamic)
    return true;
  return report(*checkBoundNumber(bound), start, [](Parser &) { return true; });
}

bool Parser::parseLayoutAlone(Layout &layout) {
  if (!parseLayout(layout))
    return false;
  if (MaybeViolation violation = checkLayout(layout))
    return report(std::move(*violation), 0, [](Parser &parser) {
      Layout again;
      return parser.parseLayout(again);
    });
  return true;
}

bool Parser::parseTileAlone(Tile &tile) {
  if (!parseTile(tile, 0))
    return false;
  if (MaybeViolation violation = checkTile(tile, 0))
    return report(std::move(*violation), 0, [](Parser &parser) {
      Tile again;
      return parser.parseTile(again, 0);
    });
  return true;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

llvm::Expected<Shape> tessera::parseShapePrefix(StringRef text, size_t &offset,
                                                ParseShapeOptions options) {
  Parser parser(text, offset, options);
  Shape shape;
  if (!parser.parseShape(shape))
    return parser.takeError();
  offset = parser.position();
  return shape;
}

llvm::Expected<Shape> tessera::parseShape(StringRef text,
                                          ParseShapeOptions options) {
  Parser parser(text, 0, options);
  Shape shape;
  if (!parser.parseShape(shape) || !parser.parseEnd("shape"))
    return parser.takeError();
  return shape;
}

llvm::Expected<Layout> tessera::parseLayout(StringRef text) {
  Parser parser(text, 0);
  Layout layout;
  if (!parser.parseLayoutAlone(layout) || !parser.parseEnd("layout"))
    return parser.takeError();
  return layout;
}

llvm::Expected<Tile> tessera::parseTile(StringRef text) {
  Parser parser(text, 0);
  Tile tile;
  if (!parser.parseTileAlone(tile) || !parser.parseEnd("tile"))
    return parser.takeError();
  return tile;
}
