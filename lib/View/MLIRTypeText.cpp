//===- MLIRTypeText.cpp - MLIR's types as shapes --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLIRTypeText.h"

#include "tessera/Layout/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using llvm::StringRef;

static constexpr StringRef kKinds[] = {"tensor<", "memref<", "vector<"};

bool tessera::startsMLIRType(StringRef text) {
  return llvm::any_of(kKinds,
                      [&](StringRef kind) { return text.starts_with(kind); });
}

/// XLA's type of a name of MLIR's: `i1`, `si8`, `f8E4M3FN`, `complex<f32>`.
static std::optional<PrimitiveType> getElementType(StringRef name) {
  StringRef bits = name;
  if (name == "i1")
    return PrimitiveType::Pred;
  if (name == "complex<f32>")
    return PrimitiveType::C64;
  if (name == "complex<f64>")
    return PrimitiveType::C128;
  // Integers without a sign stand for signed ones.
  if (bits.consume_front("ui"))
    return parsePrimitiveType(("u" + bits).str());
  if (bits.consume_front("si") || bits.consume_front("i"))
    return parsePrimitiveType(("s" + bits).str());
  return parsePrimitiveType(name.lower());
}

namespace {
/// Functions return false after an error.
class TypeParser {
public:
  TypeParser(StringRef text, size_t offset)
      : text(text), rest(text.drop_front(offset)) {}

  llvm::Expected<Shape> parse();
  size_t offset() const { return rest.data() - text.data(); }

private:
  bool parseDimensions();
  bool parseElementType();
  bool parseParameters();
  bool parseLayoutText();
  StringRef takeParameter();
  bool fail(DiagnosticKind kind, StringRef expected, StringRef remedy = "");

  StringRef text;
  StringRef rest;
  llvm::SmallVector<int64_t, 6> sizes;
  PrimitiveType type = PrimitiveType::F32;
  std::optional<Layout> layout;
  llvm::Error error = llvm::Error::success();
};
} // namespace

bool TypeParser::fail(DiagnosticKind kind, StringRef expected,
                      StringRef remedy) {
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.field = "type of MLIR";
  diagnostic.expected = expected.str();
  diagnostic.found =
      rest.empty() ? "the end" : ("`" + rest.take_front(24) + "`").str();
  diagnostic.remedy = remedy.str();
  diagnostic.position = offset();
  error = llvm::joinErrors(
      std::move(error), llvm::make_error<LayoutError>(std::move(diagnostic)));
  return false;
}

/// `16x?x` in front of the element type.
bool TypeParser::parseDimensions() {
  for (;;) {
    StringRef digits = rest.take_while(llvm::isDigit);
    int64_t size = kDynamic;
    if (digits.empty() ? !rest.starts_with("?") : digits.getAsInteger(10, size))
      return digits.empty() ||
             fail(DiagnosticKind::Invalid, "a size below 2^63");
    rest = rest.drop_front(std::max<size_t>(digits.size(), 1));
    sizes.push_back(size);
    if (!rest.consume_front("x"))
      return fail(DiagnosticKind::Invalid, "`x` and an element type");
  }
}

bool TypeParser::parseElementType() {
  StringRef name = rest.take_while(llvm::isAlnum);
  if (name == "complex")
    name = rest.take_front(rest.find('>')).size() < rest.size()
               ? rest.take_front(rest.find('>') + 1)
               : name;
  std::optional<PrimitiveType> found = getElementType(name);
  if (!found)
    return fail(DiagnosticKind::Unsupported, "an element type that XLA has");
  type = *found;
  rest = rest.drop_front(name.size());
  return true;
}

/// A parameter behind the element type, up to a comma or the end of the type.
StringRef TypeParser::takeParameter() {
  int depth = 0;
  size_t end = 0;
  for (; end < rest.size(); ++end) {
    char c = rest[end];
    if (depth == 0 && (c == ',' || c == '>'))
      break;
    depth += StringRef("<{([").contains(c);
    depth -= StringRef(">})]").contains(c);
  }
  StringRef parameter = rest.take_front(end);
  rest = rest.drop_front(end);
  return parameter;
}

bool TypeParser::parseLayoutText() {
  StringRef begin = rest;
  StringRef body = takeParameter().trim();
  if (!body.consume_front("#tessera.layout<") || !body.consume_back(">")) {
    rest = begin;
    return fail(DiagnosticKind::Unsupported, "`#tessera.layout<{...}>`",
                "write out an alias, which only its module knows");
  }
  llvm::Expected<Layout> parsed = parseLayout(body);
  if (!parsed) {
    Diagnostic diagnostic = takeDiagnostic(parsed.takeError());
    if (diagnostic.position >= 0)
      diagnostic.position += body.data() - text.data();
    error = llvm::joinErrors(
        std::move(error), llvm::make_error<LayoutError>(std::move(diagnostic)));
    return false;
  }
  layout = std::move(*parsed);
  return true;
}

/// A layout, and a memory space, either of which may be absent.
bool TypeParser::parseParameters() {
  while (rest.consume_front(",")) {
    rest = rest.ltrim();
    bool isSpace = rest.starts_with("#tessera.memory_space<") ||
                   (!rest.empty() && llvm::isDigit(rest.front()));
    if (!isSpace) {
      if (!parseLayoutText())
        return false;
      continue;
    }
    StringRef digits = takeParameter();
    digits.consume_front("#tessera.memory_space<");
    int64_t space;
    if (digits.take_while(llvm::isDigit).getAsInteger(10, space))
      return fail(DiagnosticKind::Invalid, "the number of a memory space");
    if (!layout)
      layout = Layout::descending(sizes.size());
    layout->memorySpace = space;
  }
  return true;
}

/// The bounds of a layout are those of the shape's dimensions.
static Shape makeShape(PrimitiveType type, llvm::ArrayRef<int64_t> sizes,
                       Layout layout) {
  Shape shape = Shape::array(type, sizes);
  llvm::SmallVector<int64_t, 6> bounded(sizes);
  for (auto [i, bound] : llvm::enumerate(layout.bounds))
    if (bound != kDynamic) {
      bounded[i] = bound;
      shape.setDynamicDimension(i, true);
    }
  // Dimensions stay dynamic, but count with their bounds.
  shape.setDimensions(bounded);
  layout.bounds.clear();
  shape.setLayout(std::move(layout));
  return shape;
}

llvm::Expected<Shape> TypeParser::parse() {
  rest = rest.drop_front(rest.find('<') + 1);
  bool ok =
      parseDimensions() && parseElementType() && parseParameters() &&
      (rest.consume_front(">") || fail(DiagnosticKind::Invalid, "`,` or `>`"));
  if (!ok)
    return std::move(error);
  llvm::cantFail(std::move(error));
  if (!layout)
    layout = Layout::descending(sizes.size());
  if (llvm::Error invalid = verifyLayout(*layout, type, sizes))
    return std::move(invalid);
  Shape shape = makeShape(type, sizes, std::move(*layout));
  if (llvm::Error invalid = shape.verify())
    return std::move(invalid);
  return shape;
}

llvm::Expected<Shape> tessera::parseMLIRTypePrefix(StringRef text,
                                                   size_t &offset) {
  TypeParser parser(text, offset);
  llvm::Expected<Shape> shape = parser.parse();
  if (shape)
    offset = parser.offset();
  return shape;
}

llvm::Expected<Shape> tessera::parseMLIRType(StringRef text) {
  size_t offset = text.size() - text.ltrim().size();
  llvm::Expected<Shape> shape = parseMLIRTypePrefix(text, offset);
  if (shape && !text.drop_front(offset).trim().empty())
    return invalidError("", "type of MLIR", "the end of the text",
                        "`" + text.drop_front(offset).take_front(24) + "`");
  return shape;
}
