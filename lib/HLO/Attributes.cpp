//===- Attributes.cpp - Reading attribute values of HLO -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Attributes.h"

#include "Lexer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::StringRef;

std::optional<int64_t> hlo::getInt(const Attribute *attribute) {
  return attribute ? parseInteger(attribute->text) : std::nullopt;
}

bool hlo::getBool(const Attribute *attribute) {
  return attribute && attribute->text == "true";
}

llvm::SmallVector<int64_t, 6> hlo::getInts(const Attribute *attribute) {
  llvm::SmallVector<int64_t, 6> result;
  if (!attribute)
    return result;
  Lexer lexer(attribute->text);
  while (!lexer.lex().is(TokenKind::Eof))
    if (lexer.token().is(TokenKind::Int))
      result.push_back(parseInteger(lexer.token().text).value_or(0));
  return result;
}

std::vector<llvm::SmallVector<int64_t, 4>>
hlo::getIntLists(const Attribute *attribute) {
  std::vector<llvm::SmallVector<int64_t, 4>> result;
  if (!attribute)
    return result;
  Lexer lexer(attribute->text);
  lexer.lex(); // The outer brace.
  while (!lexer.lex().is(TokenKind::Eof)) {
    if (lexer.token().is(TokenKind::LBrace) ||
        lexer.token().is(TokenKind::LSquare))
      result.emplace_back();
    else if (lexer.token().is(TokenKind::Int) && !result.empty())
      result.back().push_back(parseInteger(lexer.token().text).value_or(0));
  }
  return result;
}

/// Appends the character of `code` in UTF-8.
static void appendCodePoint(std::string &text, unsigned code) {
  char buffer[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char *end = buffer;
  if (llvm::ConvertCodePointToUTF8(code, end))
    text.append(buffer, end);
}

std::string hlo::unquote(StringRef quoted) {
  StringRef rest = quoted.drop_front().drop_back();
  std::string text;
  text.reserve(rest.size());
  auto takeNumber = [&](size_t most, unsigned radix) {
    StringRef digits = rest.take_front(most).take_while([&](char c) {
      return radix == 16 ? llvm::isHexDigit(c) : c >= '0' && c <= '7';
    });
    unsigned value = 0;
    digits.getAsInteger(radix, value);
    rest = rest.drop_front(digits.size());
    return value;
  };
  while (!rest.empty()) {
    char c = rest.front();
    rest = rest.drop_front();
    if (c != '\\' || rest.empty()) {
      text += c;
      continue;
    }
    char escape = rest.front();
    constexpr StringRef letters = "abfnrtv";
    constexpr StringRef meanings = "\a\b\f\n\r\t\v";
    size_t letter = letters.find(escape);
    if (letter != StringRef::npos) {
      text += meanings[letter];
      rest = rest.drop_front();
    } else if (escape >= '0' && escape <= '7') {
      text += static_cast<char>(takeNumber(3, 8));
    } else if (escape == 'x' || escape == 'X') {
      rest = rest.drop_front();
      text += static_cast<char>(takeNumber(rest.size(), 16));
    } else if (escape == 'u' || escape == 'U') {
      rest = rest.drop_front();
      appendCodePoint(text, takeNumber(escape == 'u' ? 4 : 8, 16));
    } else {
      text += escape;
      rest = rest.drop_front();
    }
  }
  return text;
}

std::optional<std::string> hlo::getString(const Attribute *attribute) {
  if (!attribute)
    return std::nullopt;
  if (attribute->text.starts_with("{"))
    return attribute->text.str();
  return unquote(attribute->text);
}

std::optional<std::string> hlo::getMetadata(const Attribute *attribute,
                                            StringRef name) {
  if (!attribute)
    return std::nullopt;
  Lexer lexer(attribute->text);
  while (!lexer.lex().is(TokenKind::Eof)) {
    if (!lexer.token().is(TokenKind::AttributeName) ||
        lexer.token().text != name)
      continue;
    lexer.lex();
    return lexer.token().is(TokenKind::String) ? unquote(lexer.token().text)
                                               : lexer.token().text.str();
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Where an instruction comes from, and what it takes
//===----------------------------------------------------------------------===//

/// Row `number`, counted from 1; null where there is none.
template <typename Row>
static const Row *getRow(const std::vector<Row> &rows, int64_t number) {
  bool isRow = number >= 1 && number <= static_cast<int64_t>(rows.size());
  return isRow ? &rows[number - 1] : nullptr;
}

/// The innermost line of a stack frame.
static std::string getFrameLine(const StackFrameIndex &index, int64_t number) {
  const StackFrame *frame = getRow(index.stackFrames, number);
  const FileLocation *location =
      frame ? getRow(index.fileLocations, frame->fileLocation) : nullptr;
  const StringRef *file =
      location ? getRow(index.fileNames, location->fileName) : nullptr;
  if (!file || file->size() < 2)
    return "";
  return unquote(*file) + ":" + std::to_string(location->line);
}

std::string hlo::getSourceLine(const Module &module,
                               const Instruction &instruction) {
  const Attribute *metadata = instruction.getAttribute("metadata");
  if (std::optional<std::string> file = getMetadata(metadata, "source_file"))
    return *file + ":" + getMetadata(metadata, "source_line").value_or("?");
  std::optional<std::string> frame = getMetadata(metadata, "stack_frame_id");
  int64_t number = 0;
  if (!frame || !module.stackFrames() ||
      StringRef(*frame).getAsInteger(10, number))
    return "";
  return getFrameLine(*module.stackFrames(), number);
}

/// The number behind `"key":"` in JSON as protocol buffers write it.
static std::optional<int64_t> findNumber(StringRef json, StringRef key) {
  size_t position = json.find(("\"" + key + "\":\"").str());
  if (position == StringRef::npos)
    return std::nullopt;
  return parseInteger(json.substr(position + key.size() + 4).split('"').first);
}

CompilerEstimate hlo::getCompilerEstimate(const Instruction &instruction) {
  CompilerEstimate estimate;
  const Attribute *config = instruction.getAttribute("backend_config");
  if (!config)
    return estimate;
  estimate.cycles = findNumber(config->text, "estimated_cycles");
  // A list of objects that have no lists.
  StringRef list =
      config->text.split("\"used_scoped_memory_configs\":[").second;
  list = list.split(']').first;
  while (!list.empty()) {
    auto [object, rest] = list.split('}');
    std::optional<int64_t> space = findNumber(object, "memory_space");
    std::optional<int64_t> size = findNumber(object, "size");
    if (space && size && *size > 0)
      estimate.scopedMemory.push_back({*space, *size});
    list = rest;
  }
  return estimate;
}

std::vector<Alias> hlo::getAliases(const Attribute *attribute) {
  std::vector<Alias> result;
  if (!attribute)
    return result;
  Lexer lexer(attribute->text);
  lexer.lex(); // The outer brace.
  auto takeIndex = [&](llvm::SmallVectorImpl<int64_t> &index) {
    while (!lexer.lex().is(TokenKind::RBrace) &&
           !lexer.token().is(TokenKind::Eof))
      if (lexer.token().is(TokenKind::Int))
        index.push_back(parseInteger(lexer.token().text).value_or(0));
  };
  // Each entry has an index, a number, and another index.
  while (!lexer.lex().is(TokenKind::Eof)) {
    if (!lexer.token().is(TokenKind::LBrace))
      continue;
    Alias &alias = result.emplace_back();
    takeIndex(alias.outputIndex);
    while (!lexer.lex().is(TokenKind::LBrace) &&
           !lexer.token().is(TokenKind::Eof))
      if (lexer.token().is(TokenKind::Int))
        alias.number = parseInteger(lexer.token().text).value_or(0);
    takeIndex(alias.inputIndex);
  }
  return result;
}

const Shape *hlo::getSubshape(const Shape &shape,
                              llvm::ArrayRef<int64_t> index) {
  const Shape *result = &shape;
  for (int64_t i : index) {
    if (!result->isTuple() || i < 0 ||
        i >= static_cast<int64_t>(result->elements().size()))
      return nullptr;
    result = &result->elements()[i];
  }
  return result;
}
