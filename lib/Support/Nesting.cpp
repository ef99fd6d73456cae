//===- Nesting.cpp - How deep MLIR's text is nested -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The depth of a token is that of the recursion there, or more: a level for
// each open bracket and each sign in front, less for each operator of the
// expression that it belongs to, and that of an alias where its name stands.
// An alias that others are made of is printed in full where they are used.
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Nesting.h"

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Support/FileKind.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tessera;

/// Depth is counted in parts of a level. An operator between operands is one
/// part: MLIR parses `a + b + c` in a loop, but walks the tree that comes out.
static constexpr int64_t kLevel = 16;

namespace {

/// Follows the tokens that nest. Comments and strings are skipped by the rules
/// of MLIR's lexer.
class NestingScanner {
public:
  explicit NestingScanner(llvm::StringRef text) : rest(text) {}

  /// Whether no token is deeper than kMaxNesting, and no aliases expand.
  bool run();

  /// Whether aliases stand for more than kMaxExpansion others.
  bool isExpanding() const { return expansion > kMaxExpansion; }

  /// Whether an operation has a list of indices that MLIR's parser refuses,
  /// and then reads nevertheless.
  bool hasBrokenIndices() const { return isBroken; }

private:
  struct Level {
    char bracket;
    /// Depth by operators since the last token that ends an expression.
    int64_t operators;
  };

  struct Alias {
    int64_t depth = 0;
    /// The aliases that it is made of, and that those are made of, and so on.
    int64_t parts = 0;
  };

  void scanToken();
  void skipString();
  void scanWord();
  void checkIndices(llvm::StringRef word);
  void scanAlias();
  void open(char bracket);
  void close(char bracket);
  void addOperator(int64_t parts);
  void endExpression();
  void reach(int64_t more = 0);
  void use(const Alias &alias);

  llvm::StringRef rest;
  llvm::SmallVector<Level, 32> levels{{'\0', 0}};
  int64_t depth = 0;
  int64_t deepest = 0;
  /// The aliases so far, by name with # or !, and the one being defined.
  llvm::StringMap<Alias> aliases;
  llvm::StringMapEntry<Alias> *defined = nullptr;
  /// What all aliases stand for that are used outside of definitions.
  int64_t expansion = 0;
  /// Whether the last token was the `=` of that definition.
  bool isDefinitionStart = false;
  /// Whether the last token may end an operand; a sign behind it has two.
  bool isOperand = false;
  /// The keyword of the list of indices that comes next at this level.
  llvm::StringRef indicesKeyword;
  size_t indicesLevel = 0;
  bool isBroken = false;
};

} // namespace

static char getOpening(char closing) {
  switch (closing) {
  case ')':
    return '(';
  case ']':
    return '[';
  case '}':
    return '{';
  default:
    return '<';
  }
}

static bool isWordCharacter(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
}

/// Notes that the depth, plus `more`, is reached here.
void NestingScanner::reach(int64_t more) {
  deepest = std::max(deepest, depth + more);
  if (defined)
    defined->second.depth = std::max(defined->second.depth, depth + more);
}

/// Notes that `alias` stands here, in the definition of another or not.
void NestingScanner::use(const Alias &alias) {
  reach(alias.depth);
  if (defined)
    defined->second.parts =
        std::min(defined->second.parts + alias.parts + 1, kMaxExpansion + 1);
  else
    expansion = std::min(expansion + alias.parts, kMaxExpansion + 1);
}

void NestingScanner::open(char bracket) {
  // The first region after the definitions of aliases.
  if (bracket == '{' && levels.size() == 1 && !isDefinitionStart)
    defined = nullptr;
  levels.push_back({bracket, 0});
  depth += kLevel;
  reach();
}

/// Closes the innermost bracket of that kind and what is open in it, such as a
/// `<` that is a comparison. A closing bracket without an opening one is a sign
/// of comparison, or ends the parser.
void NestingScanner::close(char bracket) {
  size_t size = levels.size();
  // Only `<` is other things than a bracket.
  while (size > 1 && levels[size - 1].bracket != getOpening(bracket)) {
    if (levels[size - 1].bracket != '<')
      return;
    --size;
  }
  if (size <= 1)
    return;
  while (levels.size() >= size)
    depth -= kLevel + levels.pop_back_val().operators;
}

void NestingScanner::addOperator(int64_t parts) {
  levels.back().operators += parts;
  depth += parts;
  reach();
}

void NestingScanner::endExpression() {
  depth -= levels.back().operators;
  levels.back().operators = 0;
}

/// Behind a quotation mark: what is behind the string, or behind the line,
/// where the lexer gives up.
static llvm::StringRef dropString(llvm::StringRef text) {
  while (!text.empty() && text.front() != '"' && text.front() != '\n')
    text = text.substr(text.front() == '\\' ? 2 : 1);
  return text.drop_front(text.starts_with("\""));
}

void NestingScanner::skipString() { rest = dropString(rest); }

void NestingScanner::scanWord() {
  llvm::StringRef word = rest.take_while(isWordCharacter);
  rest = rest.drop_front(word.size());
  isOperand = word != "mod" && word != "floordiv" && word != "ceildiv";
  if (!isOperand)
    addOperator(1);
  checkIndices(word);
}

static llvm::StringRef skipBlanks(llvm::StringRef text) {
  text = text.ltrim();
  while (text.starts_with("//"))
    text = text.drop_until([](char c) { return c == '\n'; }).ltrim();
  return text;
}

/// Takes an integer of 64 bits as MLIR writes it.
static bool takeInteger(llvm::StringRef &text) {
  text = skipBlanks(text);
  text.consume_front("-");
  text = skipBlanks(text);
  llvm::StringRef word = text.take_while(llvm::isAlnum);
  text = skipBlanks(text.drop_front(word.size()));
  unsigned radix = word.consume_front("0x") ? 16 : 10;
  int64_t value;
  return !word.getAsInteger(radix, value);
}

/// Whether the text begins with `= [1, 0]`.
static bool hasIndices(llvm::StringRef text) {
  text = skipBlanks(text);
  if (!text.consume_front("="))
    return true; // The parser says so, and is well.
  text = skipBlanks(text);
  if (!text.consume_front("["))
    return false;
  text = skipBlanks(text);
  if (text.starts_with("]"))
    return true;
  while (takeInteger(text))
    if (!text.consume_front(","))
      return text.starts_with("]");
  return false;
}

/// The keyword in front of the list of an operation whose parser does not look
/// whether there is one.
static llvm::StringRef getIndicesKeyword(llvm::StringRef operation) {
  return llvm::StringSwitch<llvm::StringRef>(operation)
      .Case("linalg.transpose", "permutation")
      .Cases({"linalg.broadcast", "linalg.reduce"}, "dimensions")
      .Default("");
}

void NestingScanner::checkIndices(llvm::StringRef word) {
  if (llvm::StringRef keyword = getIndicesKeyword(word); !keyword.empty()) {
    indicesKeyword = keyword;
    indicesLevel = levels.size();
  } else if (word == indicesKeyword && levels.size() == indicesLevel) {
    isBroken |= !hasIndices(rest);
    indicesKeyword = "";
  }
}

/// The name of an alias, behind # or !: of its definition, or of a use.
void NestingScanner::scanAlias() {
  llvm::StringRef word = rest.drop_front().take_while(
      [](char c) { return isWordCharacter(c) || c == '-'; });
  llvm::StringRef name = rest.take_front(1 + word.size());
  rest = rest.drop_front(name.size());
  llvm::StringRef next = rest.ltrim();
  if (levels.size() == 1 && next.starts_with("=") && !next.starts_with("==")) {
    endExpression();
    defined = &*aliases.try_emplace(name).first;
    defined->second = Alias();
    rest = next.drop_front();
    isDefinitionStart = true;
    return;
  }
  auto alias = aliases.find(name);
  if (alias == aliases.end())
    return;
  // No alias is defined by itself: the definition is over.
  if (&*alias == defined)
    defined = nullptr;
  use(alias->second);
}

void NestingScanner::scanToken() {
  char c = rest.front();
  if (llvm::isAlnum(c) || c == '_')
    return scanWord();
  if (c == '#' || c == '!')
    return scanAlias();
  bool isArrow = rest.starts_with("->");
  bool isUnary = !isOperand;
  isOperand = llvm::StringRef(")]}>").contains(c);
  rest = rest.drop_front(isArrow ? 2 : 1);
  if (isArrow)
    return;
  if (c == '"')
    skipString();
  else if (llvm::StringRef("([{<").contains(c))
    open(c);
  else if (isOperand)
    close(c);
  else if (llvm::StringRef("+-*").contains(c))
    addOperator(isUnary ? kLevel : 1);
  else if (llvm::StringRef(",:=").contains(c))
    endExpression();
}

bool NestingScanner::run() {
  while (deepest <= kMaxNesting * kLevel && !isExpanding()) {
    rest = rest.ltrim();
    if (rest.starts_with("//")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    if (rest.empty())
      return true;
    bool wasStart = isDefinitionStart;
    scanToken();
    // It holds for one token.
    if (wasStart)
      isDefinitionStart = false;
  }
  return false;
}

/// Whether a transposition of no dimensions may be in the text: an attribute
/// `permutation` without entries, as linalg.transpose prints it or generic.
static bool hasEmptyPermutation(llvm::StringRef text) {
  constexpr llvm::StringRef name = "permutation";
  for (size_t at = text.find(name); at != llvm::StringRef::npos;
       at = text.find(name, at + 1)) {
    llvm::StringRef value = text.substr(at + name.size()).ltrim();
    if (!value.consume_front("="))
      continue;
    value = value.ltrim();
    if (value.starts_with("array<i64>") ||
        (value.consume_front("[") && value.ltrim().starts_with("]")))
      return true;
  }
  return false;
}

/// Whether a list within a list may be an empty group of dimensions of
/// tensor.expand_shape, in any of the ways to write it.
static bool hasEmptyGroup(llvm::StringRef text) {
  if (!text.contains("tensor.expand_shape"))
    return false;
  char last = '\0';
  for (text = skipBlanks(text); !text.empty(); text = skipBlanks(text)) {
    char c = text.front();
    text = text.drop_front();
    if (c == '"')
      text = dropString(text);
    bool isInner = last == '[' || last == ',';
    if (c == '[' && isInner && skipBlanks(text).starts_with("]"))
      return true;
    last = c;
  }
  return false;
}

llvm::Error tessera::checkParsable(llvm::StringRef text) {
  if (isBytecode(text))
    return llvm::Error::success();
  NestingScanner scanner(text);
  bool isRight = scanner.run();
  if (scanner.isExpanding())
    return unsupportedError("module",
                            "aliases made of at most " +
                                llvm::Twine(kMaxExpansion) + " others",
                            "more", "write fewer aliases of aliases");
  if (!isRight)
    return unsupportedError("module",
                            "at most " + llvm::Twine(kMaxNesting) +
                                " levels of brackets and operators",
                            "more", "move inner regions to functions");
  if (scanner.hasBrokenIndices())
    return invalidError("", "indices of linalg.transpose, broadcast or reduce",
                        "a list of integers such as `[1, 0]`", "another text");
  if (text.contains("linalg.transpose") && hasEmptyPermutation(text))
    return unsupportedError("linalg.transpose",
                            "a permutation of at least one dimension",
                            "an empty one", "use the operand itself");
  if (hasEmptyGroup(text))
    return unsupportedError("tensor.expand_shape",
                            "groups of at least one dimension", "an empty one",
                            "write no `[]` within lists");
  return llvm::Error::success();
}
