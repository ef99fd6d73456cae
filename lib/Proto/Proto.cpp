//===- Proto.cpp - Shapes and layouts as protocol buffers' text -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Proto/Proto.h"
#include "tessera/Layout/Rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <map>

using namespace tessera;
using namespace tessera::detail;

using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Enumerators
//===----------------------------------------------------------------------===//

/// Enumerators of PrimitiveType that are no element types here.
static constexpr StringRef kTuple = "TUPLE", kBuffer = "BUFFER",
                           kInvalidType = "PRIMITIVE_TYPE_INVALID";

/// Names by number, as in xla_data.proto.
static constexpr StringRef kTypeNames[] = {
    "PRIMITIVE_TYPE_INVALID",
    "PRED",
    "S8",
    "S16",
    "S32",
    "S64",
    "U8",
    "U16",
    "U32",
    "U64",
    "F16",
    "F32",
    "F64",
    "TUPLE",
    "OPAQUE_TYPE",
    "C64",
    "BF16",
    "TOKEN",
    "C128",
    "F8E5M2",
    "F8E4M3FN",
    "S4",
    "U4",
    "F8E4M3B11FNUZ",
    "F8E5M2FNUZ",
    "F8E4M3FNUZ",
    "S2",
    "U2",
    "F8E4M3",
    "F8E3M4",
    "S1",
    "U1",
    "F4E2M1FN",
    "F8E8M0FNU",
    "BUFFER",
};
static constexpr StringRef kPaddingNames[] = {
    "INVALID_PAD", "ZERO_PAD",    "ONE_PAD",
    "LOWEST_PAD",  "HIGHEST_PAD", "UNKNOWN_PAD",
};
static constexpr StringRef kFormatNames[] = {"INVALID_FORMAT", "DENSE",
                                             "SPARSE"};
static constexpr StringRef kLevelNames[] = {
    "DIM_DENSE", "DIM_COMPRESSED", "DIM_SINGLETON", "DIM_LOOSE_COMPRESSED"};

static std::string getProtoName(PrimitiveType type) {
  return isOpaque(type) ? "OPAQUE_TYPE" : getName(type).upper();
}

static std::optional<PrimitiveType> fromProtoName(StringRef name) {
  if (name == "OPAQUE_TYPE")
    return PrimitiveType::Opaque;
  return parsePrimitiveType(name.lower());
}

std::optional<PrimitiveType> tessera::getPrimitiveType(int64_t number) {
  if (number < 0 || number >= static_cast<int64_t>(std::size(kTypeNames)))
    return std::nullopt;
  return fromProtoName(kTypeNames[number]);
}

static StringRef getProtoName(PaddingValue value) {
  // ZERO_PAD is 1.
  return kPaddingNames[static_cast<int>(value) + 1];
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

namespace {
class ProtoPrinter {
public:
  explicit ProtoPrinter(llvm::raw_ostream &os) : os(os) {}

  void printShape(const Shape &shape);
  void printLayout(const Layout &layout);

private:
  template <typename T> void field(StringRef name, const T &value) {
    os.indent(indent) << name << ": " << value << '\n';
  }
  void fields(StringRef name, llvm::ArrayRef<int64_t> values) {
    for (int64_t value : values)
      field(name, value);
  }
  void message(StringRef name, llvm::function_ref<void()> printBody) {
    os.indent(indent) << name << " {\n";
    indent += 2;
    printBody();
    indent -= 2;
    os.indent(indent) << "}\n";
  }

  // Fields of a layout that are no numbers.
#define LAYOUT_FIELD(ID, KEY, TYPE, ...)                                       \
  void print##ID(StringRef name, const TYPE &value);
#include "tessera/Layout/LayoutFields.def"

  llvm::raw_ostream &os;
  unsigned indent = 0;
};
} // namespace

void ProtoPrinter::printTiles(StringRef name, const TileList &tiles) {
  for (const Tile &tile : tiles)
    message(name, [&] { fields("dimensions", tile.sizes); });
}

void ProtoPrinter::printSplitConfigs(StringRef name,
                                     const SplitConfigList &splits) {
  for (const SplitConfig &split : splits)
    message(name, [&] {
      if (split.dimension != 0)
        field("dimension", split.dimension);
      fields("split_indices", split.indices);
    });
}

void ProtoPrinter::printPaddedDimensions(StringRef name,
                                         const DimensionList &widths) {
  fields(name, widths);
}

void ProtoPrinter::printPaddingValue(StringRef name,
                                     const std::optional<PaddingValue> &value) {
  if (value)
    field(name, getProtoName(*value));
}

/// A LayoutProto has no bounds: a ShapeProto has them among its dimensions.
void ProtoPrinter::printBounds(StringRef, const DimensionList &) {}

void ProtoPrinter::printLayout(const Layout &layout) {
  fields("minor_to_major", layout.minorToMajor);
  // By number, as XLA writes them.
  std::map<int, std::function<void()>> printers;
#define LAYOUT_NUMBER(ID, KEY, MEMBER, DEFAULT, PHRASE, IGNORE, NUMBER, NAME,  \
                      ...)                                                     \
  printers[NUMBER] = [&] {                                                     \
    if (layout.MEMBER != 0)                                                    \
      field(NAME, layout.MEMBER);                                              \
  };
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, PHRASE, IGNORE, NUMBER, NAME, ...) \
  printers[NUMBER] = [&] { print##ID(NAME, layout.MEMBER); };
#include "tessera/Layout/LayoutFields.def"
  // What has no number is no field of the message.
  printers.erase(0);
  for (auto &[number, print] : printers)
    print();
}

void ProtoPrinter::printShape(const Shape &shape) {
  if (shape.isTuple() || shape.isBuffer())
    field("element_type", shape.isTuple() ? kTuple : kBuffer);
  else
    field("element_type", getProtoName(shape.elementType()));
  fields("dimensions", shape.dimensions());
  for (const Shape &element : shape.elements())
    message("tuple_shapes", [&] { printShape(element); });
  if (shape.hasLayout())
    message("layout", [&] { printLayout(shape.layout()); });
  for (int64_t dim = 0; dim < shape.rank(); ++dim)
    field("is_dynamic_dimension",
          shape.isDynamicDimension(dim) ? "true" : "false");
}

std::string tessera::toProtoText(const Shape &shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ProtoPrinter(os).printShape(shape);
  return text;
}

llvm::Expected<std::string> tessera::toProtoText(const Layout &layout) {
  if (!layout.bounds.empty())
    return unsupportedError("bounds B", "a layout that LayoutProto can hold",
                            layout.toString(),
                            "bounds are dimensions of a ShapeProto");
  std::string text;
  llvm::raw_string_ostream os(text);
  ProtoPrinter(os).printLayout(layout);
  return text;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// Functions return whether they succeeded; the first failure is in `error`.
class ProtoParser {
public:
  explicit ProtoParser(StringRef text) : text(text) {}

  bool parseShape(Shape &shape, int depth = 0);
  bool parseLayout(Layout &layout);
  bool parseEnd();
  bool check(MaybeViolation violation);

  llvm::Error takeError() {
    return llvm::make_error<LayoutError>(std::move(error));
  }

private:
  /// The fields of a ShapeProto before they are put together.
  struct ShapeFields {
    size_t start = 0;
    StringRef elementType;
    size_t elementTypeAt = 0;
    llvm::SmallVector<int64_t, 6> dimensions;
    std::vector<Shape> tupleShapes;
    std::optional<Layout> layout;
    llvm::SmallVector<bool, 6> isDynamic;
    size_t isDynamicAt = 0;
  };

  // Tokens.
  char peek();
  bool consumeIf(char c);
  StringRef parseWord();
  bool parseInteger(int64_t &value);
  bool parseBool(bool &value);
  bool parseEnum(StringRef &name, llvm::ArrayRef<StringRef> names);
  bool parseColon();

  // Fields and messages.
  bool parseFields(llvm::function_ref<bool(StringRef, size_t)> parseField);
  bool parseMessage(llvm::function_ref<bool()> parseBody);
  bool parseRepeated(llvm::function_ref<bool()> parseElement);
  bool parseIntegers(llvm::SmallVectorImpl<int64_t> &values, Field field,
                     int64_t i);
  bool parseNumber(int64_t &value, Field field, int64_t defaultValue);

  // ShapeProto.
  bool parseShapeField(ShapeFields &fields, StringRef name, size_t at,
                       int depth);
  bool makeShape(Shape &shape, ShapeFields &fields);
  bool makeArray(Shape &shape, ShapeFields &fields, PrimitiveType type);

  // LayoutProto.
  bool parseLayoutField(Layout &layout, StringRef name, size_t at);
  bool parseTile(Layout &layout);
  bool parseSplit(Layout &layout);
#define LAYOUT_FIELD(ID, ...) bool parse##ID(Layout &layout, size_t at);
#include "tessera/Layout/LayoutFields.def"
  bool parseSparseField(StringRef name, size_t at);

  bool fail(size_t at, StringRef rule, const Twine &field,
            const Twine &expected, const Twine &remedy = "");
  void note(Field field, int64_t i = FieldEntry::kWhole,
            int64_t j = FieldEntry::kWhole) {
    peek();
    positions[{field, i, j}] = pos;
  }

  StringRef text;
  size_t pos = 0;
  Diagnostic error;
  /// Positions in the text of the array that is being read.
  FieldPositions positions;
};
} // namespace

bool ProtoParser::fail(size_t at, StringRef rule, const Twine &field,
                       const Twine &expected, const Twine &remedy) {
  error.rule = rule.str();
  error.field = field.str();
  error.expected = expected.str();
  error.remedy = remedy.str();
  error.found = describeToken(text, at);
  error.position = static_cast<int64_t>(at);
  return false;
}

bool ProtoParser::check(MaybeViolation violation) {
  if (!violation)
    return true;
  error = std::move(violation->diagnostic);
  error.position =
      static_cast<int64_t>(findPosition(positions, violation->entry, 0));
  return false;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// The next character that is neither blank nor in a comment; NUL at the end.
char ProtoParser::peek() {
  while (pos < text.size()) {
    if (llvm::isSpace(text[pos]))
      ++pos;
    else if (text[pos] == '#')
      pos = std::min(text.find('\n', pos), text.size());
    else
      return text[pos];
  }
  return '\0';
}

bool ProtoParser::consumeIf(char c) {
  if (peek() != c || pos >= text.size())
    return false;
  ++pos;
  return true;
}

/// Letters, digits and `_`; may be empty.
StringRef ProtoParser::parseWord() {
  peek();
  StringRef word = text.substr(pos).take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_'; });
  pos += word.size();
  return word;
}

/// Decimal, `0x` hexadecimal or `0` octal.
bool ProtoParser::parseInteger(int64_t &value) {
  peek();
  size_t start = pos;
  bool isNegative = consumeIf('-');
  StringRef digits = parseWord();
  if (digits.empty() || !llvm::isDigit(digits.front()))
    return fail(start, "proto_c1", "value", "an integer");
  uint64_t magnitude = 0;
  StringRef rest = digits;
  bool isHex = rest.consume_front_insensitive("0x");
  bool isOctal = !isHex && rest.size() > 1 && rest.consume_front("0");
  unsigned radix = isHex ? 16 : isOctal ? 8 : 10;
  if (!llvm::all_of(rest, llvm::isHexDigit) || rest.empty())
    return fail(start, "proto_c1", "value", "an integer");
  uint64_t limit = static_cast<uint64_t>(INT64_MAX) + isNegative;
  if (rest.getAsInteger(radix, magnitude) || magnitude > limit)
    return fail(start, "text_c2", "value", "an integer of 64 bits");
  value = static_cast<int64_t>(isNegative ? 0 - magnitude : magnitude);
  return true;
}

bool ProtoParser::parseBool(bool &value) {
  peek();
  size_t start = pos;
  auto parsed = llvm::StringSwitch<std::optional<bool>>(parseWord())
                    .Cases({"true", "True", "t", "1"}, true)
                    .Cases({"false", "False", "f", "0"}, false)
                    .Default(std::nullopt);
  if (!parsed)
    return fail(start, "proto_c1", "value", "true or false");
  value = *parsed;
  return true;
}

/// One of `names`, or its number.
bool ProtoParser::parseEnum(StringRef &name, llvm::ArrayRef<StringRef> names) {
  peek();
  size_t start = pos;
  StringRef word = parseWord();
  size_t number;
  if (!word.empty() && !word.getAsInteger(10, number) && number < names.size())
    word = names[number];
  const StringRef *found = llvm::find(names, word);
  if (found == names.end())
    return fail(start, "proto_c4", "enumerator",
                "one of " + names.front() + " to " + names.back());
  name = *found;
  return true;
}

bool ProtoParser::parseEnd() {
  peek();
  return pos == text.size() ||
         fail(pos, "proto_c1", "text", "nothing after the message");
}

bool ProtoParser::parseColon() {
  return consumeIf(':') || fail(pos, "proto_c1", "field", "`:` and a value");
}

//===----------------------------------------------------------------------===//
// Fields and messages
//===----------------------------------------------------------------------===//

/// Fields up to the end of the message; `,` and `;` may stand between them.
/// `parseField` gets the name and its position, and parses what follows.
bool ProtoParser::parseFields(
    llvm::function_ref<bool(StringRef, size_t)> parseField) {
  // Fields that are not repeated, and those that come more than once.
  static constexpr StringRef kRepeated[] = {
      "dimensions",     "tuple_shapes",  "is_dynamic_dimension",
      "minor_to_major", "tiles",         "padded_dimensions",
      "split_configs",  "split_indices", "dim_level_types",
      "dim_unique",     "dim_ordered",
  };
  llvm::SmallVector<StringRef, 12> seen;
  while (pos < text.size() && peek() != '}' && peek() != '>') {
    size_t at = pos;
    StringRef name = parseWord();
    if (name.empty())
      return at == text.size() || fail(at, "proto_c1", "field", "a name");
    if (!llvm::is_contained(kRepeated, name)) {
      if (llvm::is_contained(seen, name))
        return fail(at, "proto_c3", "field", "each field at most once");
      seen.push_back(name);
    }
    if (!parseField(name, at))
      return false;
    if (!consumeIf(','))
      consumeIf(';');
  }
  return true;
}

/// `{ ... }` or `< ... >`, after an optional `:`.
bool ProtoParser::parseMessage(llvm::function_ref<bool()> parseBody) {
  consumeIf(':');
  char close = peek() == '<' ? '>' : '}';
  if (!consumeIf('{') && !consumeIf('<'))
    return fail(pos, "proto_c1", "message", "`{`");
  if (!parseBody())
    return false;
  return consumeIf(close) ||
         fail(pos, "proto_c1", "message", "`" + Twine(close) + "`");
}

/// One value, or a list of them in brackets.
bool ProtoParser::parseRepeated(llvm::function_ref<bool()> parseElement) {
  if (!consumeIf('['))
    return parseElement();
  if (consumeIf(']'))
    return true;
  do {
    if (!parseElement())
      return false;
  } while (consumeIf(','));
  return consumeIf(']') || fail(pos, "proto_c1", "list", "`,` or `]`");
}

/// Values of a repeated field; each is entry (i, position in `values`) of
/// `field`, or entry (position) when `i` is kWhole.
bool ProtoParser::parseIntegers(llvm::SmallVectorImpl<int64_t> &values,
                                Field field, int64_t i) {
  return parseColon() && parseRepeated([&] {
           auto entry = static_cast<int64_t>(values.size());
           if (i == FieldEntry::kWhole)
             note(field, entry);
           else
             note(field, i, entry);
           return parseInteger(values.emplace_back());
         });
}

/// 0 stands for the default, as it does in messages without the field.
bool ProtoParser::parseNumber(int64_t &value, Field field,
                              int64_t defaultValue) {
  if (!parseColon())
    return false;
  note(field);
  if (!parseInteger(value))
    return false;
  if (value == 0)
    value = defaultValue;
  return true;
}

//===----------------------------------------------------------------------===//
// ShapeProto
//===----------------------------------------------------------------------===//

bool ProtoParser::parseShape(Shape &shape, int depth) {
  if (depth > kMaxNesting)
    return fail(pos, "text_c8", "tuple",
                "at most " + Twine(kMaxNesting) + " tuples in each other");
  peek();
  ShapeFields fields;
  fields.start = pos;
  FieldPositions outer = std::move(positions);
  positions.clear();
  bool isOk = parseFields([&](StringRef name, size_t at) {
    return parseShapeField(fields, name, at, depth);
  });
  isOk = isOk && makeShape(shape, fields);
  positions = std::move(outer);
  return isOk;
}

bool ProtoParser::parseShapeField(ShapeFields &fields, StringRef name,
                                  size_t at, int depth) {
  if (name == "element_type") {
    if (!parseColon())
      return false;
    peek();
    fields.elementTypeAt = pos;
    return parseEnum(fields.elementType, kTypeNames);
  }
  if (name == "dimensions")
    return parseIntegers(fields.dimensions, Field::Dimensions,
                         FieldEntry::kWhole);
  if (name == "tuple_shapes")
    return consumeIf(':'), parseRepeated([&] {
             return parseMessage([&] {
               return parseShape(fields.tupleShapes.emplace_back(), depth + 1);
             });
           });
  if (name == "layout") {
    note(Field::MinorToMajor);
    return parseMessage([&] { return parseLayout(fields.layout.emplace()); });
  }
  if (name == "is_dynamic_dimension") {
    fields.isDynamicAt = pos;
    return parseColon() && parseRepeated([&] {
             return parseBool(fields.isDynamic.emplace_back());
           });
  }
  return fail(at, "proto_c2", "field", "a field of ShapeProto");
}

bool ProtoParser::makeShape(Shape &shape, ShapeFields &fields) {
  StringRef type = fields.elementType;
  if (type.empty() || type == kInvalidType)
    return fail(type.empty() ? fields.start : fields.elementTypeAt, "proto_c5",
                "element_type", "a type");
  bool isAggregate = type == kTuple || type == kBuffer;
  bool isArray = !isAggregate && type != "TOKEN" && type != "OPAQUE_TYPE";
  if (!isArray && (!fields.dimensions.empty() || !fields.isDynamic.empty()))
    return fail(fields.start, "proto_c7", "dimensions",
                "none, since the type is " + type);
  if (!isAggregate && !fields.tupleShapes.empty())
    return fail(fields.start, "proto_c7", "tuple_shapes",
                "none, since the type is " + type);
  if (isArray)
    return makeArray(shape, fields, *fromProtoName(type));
  // Older writers put an empty layout here.
  if (fields.layout && *fields.layout != Layout())
    return fail(fields.start, "proto_c7", "layout",
                "none, since the type is " + type);

  if (type == kTuple)
    shape = Shape::tuple(std::move(fields.tupleShapes));
  else if (type != kBuffer)
    shape = type == "TOKEN" ? Shape::token() : Shape::opaque();
  else if (fields.tupleShapes.size() != 1 || !fields.tupleShapes[0].isArray())
    return fail(fields.start, "shape_c5", "buffer", "exactly one array");
  else
    shape = Shape::buffer(std::move(fields.tupleShapes[0]));
  return true;
}

bool ProtoParser::makeArray(Shape &shape, ShapeFields &fields,
                            PrimitiveType type) {
  size_t flags = fields.isDynamic.size();
  if (flags != 0 && flags != fields.dimensions.size())
    return fail(fields.isDynamicAt, "proto_c6", "is_dynamic_dimension",
                Twine(fields.dimensions.size()) + " entries, or none");
  shape = Shape::array(type, fields.dimensions, std::move(fields.layout));
  for (int64_t dim = 0; dim < shape.rank(); ++dim)
    shape.setDynamicDimension(dim, flags != 0 && fields.isDynamic[dim]);
  positions.try_emplace({Field::MinorToMajor}, fields.start);
  positions.try_emplace({Field::Dimensions}, fields.start);
  return check(checkArray(shape));
}

//===----------------------------------------------------------------------===//
// LayoutProto
//===----------------------------------------------------------------------===//

bool ProtoParser::parseLayout(Layout &layout) {
  return parseFields([&](StringRef name, size_t at) {
    return parseLayoutField(layout, name, at);
  });
}

bool ProtoParser::parseLayoutField(Layout &layout, StringRef name, size_t at) {
  if (name == "minor_to_major")
    return parseIntegers(layout.minorToMajor, Field::MinorToMajor,
                         FieldEntry::kWhole);
#define LAYOUT_NUMBER(ID, KEY, MEMBER, DEFAULT, PHRASE, IGNORE, NUMBER, NAME,  \
                      ...)                                                     \
  if (NUMBER != 0 && name == NAME)                                             \
    return parseNumber(layout.MEMBER, Field::ID, DEFAULT);
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, PHRASE, IGNORE, NUMBER, NAME, ...) \
  if (NUMBER != 0 && name == NAME)                                             \
    return parse##ID(layout, at);
#include "tessera/Layout/LayoutFields.def"
  return parseSparseField(name, at);
}

bool ProtoParser::parsePaddedDimensions(Layout &layout, size_t at) {
  positions.try_emplace({Field::PaddedDimensions}, at);
  return parseIntegers(layout.paddedDimensions, Field::PaddedDimensions,
                       FieldEntry::kWhole);
}

bool ProtoParser::parseTiles(Layout &layout, size_t) {
  return consumeIf(':'), parseRepeated([&] { return parseTile(layout); });
}

bool ProtoParser::parseSplitConfigs(Layout &layout, size_t) {
  return consumeIf(':'), parseRepeated([&] { return parseSplit(layout); });
}

bool ProtoParser::parseBounds(Layout &, size_t) {
  llvm_unreachable("LayoutProto has no such field");
}

bool ProtoParser::parseTile(Layout &layout) {
  auto index = static_cast<int64_t>(layout.tiles.size());
  note(Field::Tiles, index);
  Tile &tile = layout.tiles.emplace_back();
  return parseMessage([&] {
    return parseFields([&](StringRef name, size_t at) {
      if (name == "dimensions")
        return parseIntegers(tile.sizes, Field::Tiles, index);
      return fail(at, "proto_c2", "field", "a field of TileProto");
    });
  });
}

bool ProtoParser::parseSplit(Layout &layout) {
  auto index = static_cast<int64_t>(layout.splitConfigs.size());
  note(Field::SplitConfigs, index);
  SplitConfig &split = layout.splitConfigs.emplace_back();
  return parseMessage([&] {
    return parseFields([&](StringRef name, size_t at) {
      if (name == "dimension") {
        if (!parseColon())
          return false;
        note(Field::SplitConfigs, index);
        return parseInteger(split.dimension);
      }
      if (name != "split_indices")
        return fail(at, "proto_c2", "field", "a field of SplitConfigProto");
      return parseColon() && parseRepeated([&] {
               note(Field::SplitConfigs, index,
                    static_cast<int64_t>(split.indices.size()) + 1);
               return parseInteger(split.indices.emplace_back());
             });
    });
  });
}

bool ProtoParser::parsePaddingValue(Layout &layout, size_t) {
  if (!parseColon())
    return false;
  note(Field::PaddingValue);
  StringRef name;
  if (!parseEnum(name, kPaddingNames))
    return false;
  auto number = llvm::find(kPaddingNames, name) - std::begin(kPaddingNames);
  // UNKNOWN_PAD and the default INVALID_PAD promise nothing.
  if (number >= 1 && number <= 4)
    layout.paddingValue = static_cast<PaddingValue>(number - 1);
  return true;
}

/// Fields that only sparse arrays had: dropped where they say nothing, refused
/// where they do.
bool ProtoParser::parseSparseField(StringRef name, size_t at) {
  auto refuse = [&] {
    return fail(at, "text_c6", name, "a dense array, or no such field");
  };
  StringRef word;
  if (name == "dim_level_types")
    return parseColon() &&
           parseRepeated([&] { return parseEnum(word, kLevelNames); });
  if (name == "dim_unique" || name == "dim_ordered") {
    bool value;
    return parseColon() && parseRepeated([&] { return parseBool(value); });
  }
  if (name == "index_primitive_type" || name == "pointer_primitive_type") {
    if (!parseColon() || !parseEnum(word, kTypeNames))
      return false;
    return word == kInvalidType || refuse();
  }
  if (name == "format") {
    if (!parseColon() || !parseEnum(word, kFormatNames))
      return false;
    return word != "SPARSE" || refuse();
  }
  if (name == "max_sparse_elements") {
    int64_t value;
    if (!parseColon() || !parseInteger(value))
      return false;
    return value == 0 || refuse();
  }
  if (name == "physical_shape")
    return refuse();
  return fail(at, "proto_c2", "field", "a field of LayoutProto");
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

llvm::Expected<Shape> tessera::parseShapeProto(StringRef text) {
  ProtoParser parser(text);
  Shape shape;
  if (!parser.parseShape(shape) || !parser.parseEnd())
    return parser.takeError();
  return shape;
}

llvm::Expected<Layout> tessera::parseLayoutProto(StringRef text) {
  ProtoParser parser(text);
  Layout layout;
  if (!parser.parseLayout(layout) || !parser.parseEnd() ||
      !parser.check(checkLayout(layout)))
    return parser.takeError();
  return layout;
}
