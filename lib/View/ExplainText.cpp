//===- ExplainText.cpp - Any text with shapes in words --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a text is shows by how it begins: `{` a layout, `tensor<` a type of
// MLIR,
// `%name =` a line of HLO, `f32[` a shape. Anything else is searched for shapes
// and types, as a message of an error has them.
//
//===----------------------------------------------------------------------===//

#include "MLIRTypeText.h"

#include "tessera/HLO/Parser.h"
#include "tessera/Layout/Text.h"
#include "tessera/View/Explain.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;

/// Shapes of a message that are explained; more are only counted.
static constexpr size_t kMaxShapes = 16;

/// Bytes of a shape or type in a message. What begins like one and does not end
/// would be read to the end of the text.
static constexpr size_t kMaxShapeText = 4096;

static bool isNameCharacter(char c) {
  return llvm::isAlnum(c) || StringRef("%_.-").contains(c);
}

//===----------------------------------------------------------------------===//
// Lines of HLO
//===----------------------------------------------------------------------===//

/// Whether a line of HLO begins as the text does, or goes on as a shape does
/// not: with an opcode and its arguments.
static bool isInstruction(StringRef text) {
  StringRef rest = text.ltrim();
  if (rest.consume_front("ROOT"))
    return true;
  StringRef name = rest.take_while(isNameCharacter);
  if (!name.empty() && rest.drop_front(name.size()).ltrim().starts_with("="))
    return true;
  size_t offset = text.size() - text.ltrim().size();
  llvm::Expected<Shape> shape = parseShapePrefix(text, offset);
  if (!shape) {
    llvm::consumeError(shape.takeError());
    return false;
  }
  rest = text.drop_front(offset).ltrim();
  StringRef opcode = rest.take_while(isNameCharacter);
  return !opcode.empty() && rest.drop_front(opcode.size()).starts_with("(");
}

/// The byte of the text at a location of its lines.
static int64_t getPosition(StringRef text, hlo::SourceLocation location) {
  size_t start = 0;
  for (unsigned line = 1; line < location.line; ++line)
    start = text.find('\n', start) + 1;
  return start + location.column - 1;
}

static llvm::Error explainInstruction(StringRef text, llvm::raw_ostream &os,
                                      ExplainOptions options) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> line = hlo::parseLine(text, errors);
  if (line)
    return explainLine(*line, os, options);
  llvm::Error all = llvm::Error::success();
  for (hlo::SourceDiagnostic &error : errors) {
    error.diagnostic.position = getPosition(text, error.location);
    all = llvm::joinErrors(std::move(all), llvm::make_error<LayoutError>(
                                               std::move(error.diagnostic)));
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// The shape or type that begins at `offset`, which is moved behind it.
static std::optional<Shape> takeShape(StringRef text, size_t &offset) {
  auto take = [&](llvm::Expected<Shape> shape) -> std::optional<Shape> {
    if (shape)
      return std::move(*shape);
    llvm::consumeError(shape.takeError());
    return std::nullopt;
  };
  text = text.take_front(offset + kMaxShapeText);
  if (startsMLIRType(text.drop_front(offset)))
    return take(parseMLIRTypePrefix(text, offset));
  // Only arrays: parentheses of a sentence are no tuple.
  StringRef word = text.drop_front(offset).take_while(llvm::isAlnum);
  if (!word.empty() && text.drop_front(offset + word.size()).starts_with("["))
    return take(parseShapePrefix(text, offset));
  return std::nullopt;
}

/// The shapes in a text, in its order, each once.
static std::vector<Shape> findShapes(StringRef text) {
  std::vector<Shape> shapes;
  llvm::StringSet<> seen;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    if (std::optional<Shape> shape = takeShape(text, end)) {
      if (seen.insert(shape->toString()).second)
        shapes.push_back(std::move(*shape));
      i = end;
      continue;
    }
    // To the beginning of the next word.
    while (i < text.size() && isNameCharacter(text[i]))
      ++i;
    while (i < text.size() && !isNameCharacter(text[i]))
      ++i;
  }
  return shapes;
}

static llvm::Error explainAll(llvm::ArrayRef<Shape> shapes,
                              llvm::raw_ostream &os, ExplainOptions options) {
  bool isFirst = true;
  for (const Shape &shape : shapes.take_front(kMaxShapes)) {
    if (!std::exchange(isFirst, false))
      os << '\n';
    if (llvm::Error error = explainShape(shape, os, options))
      return error;
  }
  if (shapes.size() > kMaxShapes)
    os << "\nand " << shapes.size() - kMaxShapes << " shapes more\n";
  return llvm::Error::success();
}

/// Whether a text is meant as a shape alone: what is wrong with it is then said
/// of it.
static bool isShape(StringRef text) {
  StringRef rest = text.ltrim();
  StringRef word = rest.take_while(llvm::isAlnum);
  return rest.empty() || rest.starts_with("(") ||
         rest.drop_front(word.size()).starts_with("[") ||
         rest.size() == word.size() || rest.starts_with("b(");
}

llvm::Error tessera::explainText(StringRef text, llvm::raw_ostream &os,
                                 ExplainOptions options) {
  if (text.ltrim().starts_with("{")) {
    llvm::Expected<Layout> layout = parseLayout(text);
    if (!layout)
      return layout.takeError();
    explainLayout(*layout, os, options);
    return llvm::Error::success();
  }
  if (isInstruction(text))
    return explainInstruction(text, os, options);
  llvm::Expected<Shape> shape =
      startsMLIRType(text.ltrim()) ? parseMLIRType(text) : parseShape(text);
  if (shape)
    return explainShape(*shape, os, options);
  std::vector<Shape> shapes;
  if (!isShape(text))
    shapes = findShapes(text);
  if (shapes.empty())
    return shape.takeError();
  llvm::consumeError(shape.takeError());
  return explainAll(shapes, os, options);
}
