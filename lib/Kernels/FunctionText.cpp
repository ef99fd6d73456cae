//===- FunctionText.cpp - The function of a kernel, from text -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Brackets
//===----------------------------------------------------------------------===//

namespace {
/// Goes through a text of MLIR and knows how many brackets are open.
class BracketScanner {
public:
  explicit BracketScanner(StringRef text) : text(text) {}

  bool atEnd() const { return position >= text.size(); }
  size_t offset() const { return position; }
  char current() const { return text[position]; }
  /// 0 outside of all brackets; less where one closes that was not opened.
  int64_t depth() const { return level; }

  /// Over a character, a string, an arrow, a comparison or a comment.
  void advance() {
    StringRef rest = text.substr(position);
    if (rest.front() == '"')
      return skipString();
    if (rest.starts_with("//"))
      return skipComment();
    if (rest.starts_with("->") || rest.starts_with(">=")) {
      position += 2;
      return;
    }
    if (StringRef("([{<").contains(rest.front()))
      ++level;
    if (StringRef(")]}>").contains(rest.front()))
      --level;
    ++position;
  }

private:
  void skipString() {
    ++position;
    while (!atEnd() && current() != '"')
      position += current() == '\\' ? 2 : 1;
    position = std::min(position + 1, text.size());
  }
  void skipComment() {
    position = std::min(text.find('\n', position), text.size());
  }

  StringRef text;
  size_t position = 0;
  int64_t level = 0;
};
} // namespace

/// What stands between the bracket that `text` begins with and the one that
/// closes it, and `text` from behind that.
static std::optional<StringRef> takeBracket(StringRef &text) {
  if (text.empty() || !StringRef("([{<").contains(text.front()))
    return std::nullopt;
  BracketScanner scanner(text);
  do
    scanner.advance();
  while (scanner.depth() > 0 && !scanner.atEnd());
  if (scanner.depth() > 0)
    return std::nullopt;
  StringRef inside = text.slice(1, scanner.offset() - 1);
  text = text.substr(scanner.offset()).ltrim();
  return inside;
}

std::vector<StringRef> tessera::splitList(StringRef text) {
  std::vector<StringRef> pieces;
  size_t begin = 0;
  BracketScanner scanner(text);
  while (!scanner.atEnd()) {
    if (scanner.depth() == 0 && scanner.current() == ',') {
      pieces.push_back(text.slice(begin, scanner.offset()).trim());
      begin = scanner.offset() + 1;
    }
    scanner.advance();
  }
  if (StringRef last = text.substr(begin).trim();
      !last.empty() || !pieces.empty())
    pieces.push_back(last);
  return pieces;
}

std::vector<std::pair<StringRef, StringRef>>
tessera::splitDictionary(StringRef text) {
  std::vector<std::pair<StringRef, StringRef>> entries;
  for (StringRef piece : splitList(text)) {
    auto [key, value] = piece.split('=');
    entries.emplace_back(key.trim(), value.trim());
  }
  return entries;
}

std::optional<StringRef> tessera::unwrap(StringRef text, StringRef open,
                                         StringRef close) {
  text = text.trim();
  if (!text.consume_front(open) || !text.consume_back(close))
    return std::nullopt;
  return text.trim();
}

std::optional<llvm::SmallVector<int64_t, 4>>
tessera::readIntegers(StringRef text) {
  std::optional<StringRef> inside = unwrap(text, "[", "]");
  if (!inside) {
    inside = unwrap(text, "array<", ">");
    if (!inside)
      return std::nullopt;
    // `array<i64>` is empty.
    inside = inside->split(':').second.trim();
  }
  llvm::SmallVector<int64_t, 4> numbers;
  for (StringRef piece : splitList(*inside))
    // `2 : i64`, as older kernels have it.
    if (piece.split(':').first.trim().getAsInteger(10, numbers.emplace_back()))
      return std::nullopt;
  return numbers;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static llvm::Error notFound(const llvm::Twine &expected) {
  return unsupportedError("kernel body", expected, "a text without",
                          "look at it with tessera-hlo kernels -o");
}

StringRef FunctionText::get(StringRef attribute) const {
  for (auto [key, value] : attributes)
    if (key == attribute)
      return value;
  return "";
}

/// `%a: i32, %b: memref<...> {attributes}`; the types alone.
static std::vector<StringRef> readArgumentTypes(StringRef text) {
  std::vector<StringRef> types;
  for (StringRef argument : splitList(text)) {
    StringRef type = argument.split(':').second.trim();
    // Attributes and locations of the argument follow the type.
    BracketScanner scanner(type);
    while (!scanner.atEnd() &&
           !(scanner.depth() == 0 && scanner.current() == ' '))
      scanner.advance();
    types.push_back(type.take_front(scanner.offset()));
  }
  return types;
}

/// Behind `func.func`: `private @name(...) -> ... attributes {...} {`.
static Expected<FunctionText> readCustomForm(StringRef text) {
  FunctionText function;
  size_t at = text.find('@'), open = text.find('(');
  if (at == StringRef::npos || open == StringRef::npos || open < at)
    return notFound("the name and the arguments of a function");
  function.name = text.slice(at + 1, open).trim().trim('"');
  StringRef rest = text.substr(open);
  std::optional<StringRef> arguments = takeBracket(rest);
  if (!arguments)
    return notFound("`)` behind the arguments of a function");
  function.argumentTypes = readArgumentTypes(*arguments);
  // Results, if any, end where the attributes or the body begin.
  rest = rest.drop_front(std::min(rest.find_first_of("{a"), rest.size()));
  if (!rest.consume_front("attributes"))
    return function;
  rest = rest.ltrim();
  std::optional<StringRef> dictionary = takeBracket(rest);
  if (!dictionary)
    return notFound("`}` behind the attributes of a function");
  function.attributes = splitDictionary(*dictionary);
  return function;
}

/// The arguments of the first block: `{ ^bb0(%a: i32): ...`.
static std::optional<StringRef> takeBlockArguments(StringRef region) {
  region = region.ltrim();
  if (!region.consume_front("{"))
    return std::nullopt;
  region = region.ltrim();
  // A block without arguments has no label.
  if (!region.starts_with("^"))
    return StringRef();
  region = region.drop_until([](char c) { return c == '(' || c == ':'; });
  if (region.starts_with(":"))
    return StringRef();
  return takeBracket(region);
}

/// Behind `"func.func"`: `() <{...}> ({ ^bb0(...): ... }) {...} : ...`.
static Expected<FunctionText> readGenericForm(StringRef text) {
  FunctionText function;
  StringRef rest = text.ltrim();
  if (!takeBracket(rest))
    return notFound("`()` behind func.func");
  auto addAttributes = [&](StringRef dictionary) {
    llvm::append_range(function.attributes, splitDictionary(dictionary));
  };
  if (rest.starts_with("<"))
    if (std::optional<StringRef> properties = takeBracket(rest))
      if (auto inside = unwrap(*properties, "{", "}"))
        addAttributes(*inside);
  std::optional<StringRef> region = takeBracket(rest);
  std::optional<StringRef> arguments;
  if (region)
    arguments = takeBlockArguments(*region);
  if (!arguments)
    return notFound("the region of a function");
  function.argumentTypes = readArgumentTypes(*arguments);
  if (std::optional<StringRef> dictionary = takeBracket(rest))
    addAttributes(*dictionary);
  function.name = function.get("sym_name").trim('"');
  return function;
}

Expected<FunctionText> tessera::readFunction(StringRef text) {
  static constexpr StringRef keyword = "func.func";
  size_t position = text.find(keyword);
  if (position == StringRef::npos)
    return notFound("a function, func.func");
  StringRef rest = text.substr(position + keyword.size());
  if (rest.consume_front("\""))
    return readGenericForm(rest);
  return readCustomForm(rest);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Takes `8x128x` off, with kDynamic for `?`.
static llvm::SmallVector<int64_t, 4> takeDimensions(StringRef &text) {
  llvm::SmallVector<int64_t, 4> dimensions;
  for (;;) {
    StringRef digits = text.take_while(llvm::isDigit);
    bool isDynamic = text.starts_with("?");
    StringRef behind = text.drop_front(isDynamic ? 1 : digits.size());
    int64_t size = kDynamic;
    if (!behind.starts_with("x") ||
        (!isDynamic && digits.getAsInteger(10, size)))
      return dimensions;
    dimensions.push_back(size);
    text = behind.drop_front();
  }
}

std::optional<KernelMemRef> tessera::readMemRef(StringRef type) {
  std::optional<StringRef> inside = unwrap(type, "memref<", ">");
  if (!inside)
    return std::nullopt;
  std::vector<StringRef> parts = splitList(*inside);
  if (parts.empty() || parts.front().starts_with("*"))
    return std::nullopt;
  KernelMemRef memref;
  memref.dimensions = takeDimensions(parts.front());
  memref.elementType = parts.front().str();
  for (StringRef part : llvm::drop_begin(parts)) {
    if (auto space = unwrap(part, "#tpu.memory_space<", ">"))
      memref.space = space->str();
    else
      memref.layout = part.str();
  }
  return memref;
}
