//===- TokenMutator.cpp - Changes of texts that keep their grammar --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tessera::fuzz;
using llvm::StringRef;

namespace {
/// Part [begin, end) of a text; pieces of one kind may replace each other.
struct Piece {
  size_t begin, end;
  size_t kind;
};

class PieceFinder {
public:
  explicit PieceFinder(StringRef text) : text(text) {}
  std::vector<Piece> run();

private:
  /// An open bracket, and the piece that ends where it stands.
  struct Open {
    size_t position;
    std::optional<Piece> head;
  };

  bool skipBlank();
  Piece lex();
  void open(const Piece &token);
  void close(const Piece &token);
  void add(Piece piece);
  /// What comes next belongs to nothing in front of it.
  void forget() {
    last.reset();
    assignment.reset();
  }
  void addLines();
  size_t skipWord(size_t position) const;

  StringRef text;
  size_t cursor = 0;
  std::vector<Piece> pieces;
  llvm::SmallVector<Open> stack;
  /// What ends at the cursor, if nothing blank is between.
  std::optional<Piece> last;
  /// `name=`, whose value comes next.
  std::optional<size_t> assignment;
};
} // namespace

static constexpr size_t kWord = 'a', kNumber = '0', kString = '"', kLine = '\n',
                        kAssignment = '=';

static bool isWordStart(char c) { return llvm::isAlpha(c) || c == '_'; }

static bool isWordChar(char c) {
  return llvm::isAlnum(c) || StringRef("_.$-").contains(c);
}

/// Behind the word at `position`; an arrow is no part of it.
size_t PieceFinder::skipWord(size_t position) const {
  while (position < text.size() && isWordChar(text[position]) &&
         !text.substr(position).starts_with("->"))
    ++position;
  return position;
}

/// Skips blanks and comments; true if there were any.
bool PieceFinder::skipBlank() {
  size_t begin = cursor;
  while (cursor < text.size()) {
    StringRef rest = text.substr(cursor);
    if (llvm::isSpace(rest.front()))
      ++cursor;
    else if (rest.starts_with("//"))
      cursor += std::min(rest.find('\n'), rest.size());
    else if (size_t end; rest.starts_with("/*") &&
                         (end = rest.find("*/", 2)) != StringRef::npos)
      cursor += end + 2;
    else
      break;
  }
  return cursor != begin;
}

Piece PieceFinder::lex() {
  StringRef rest = text.substr(cursor);
  char c = rest.front();
  auto take = [&](size_t end, size_t kind) {
    Piece token{cursor, end, kind};
    cursor = end;
    return token;
  };
  if (c == '"') {
    size_t end = cursor + 1;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    return take(std::min(end + 1, text.size()), kString);
  }
  if (isWordStart(c)) {
    // The x of 2x3xf32.
    if (c == 'x' && cursor > 0 &&
        (llvm::isDigit(text[cursor - 1]) || text[cursor - 1] == '?'))
      return take(cursor + 1, c);
    return take(skipWord(cursor), kWord);
  }
  if (StringRef("%@#!^").contains(c))
    return take(skipWord(cursor + 1), c);
  bool isNegative = c == '-' && rest.size() > 1 && llvm::isDigit(rest[1]);
  if (llvm::isDigit(c) || isNegative) {
    size_t end = cursor + 1;
    while (end < text.size() && llvm::isDigit(text[end]))
      ++end;
    return take(end, kNumber);
  }
  for (StringRef two : {"->", "<=", ">=", "=="})
    if (rest.starts_with(two))
      return take(cursor + 2, two.back());
  return take(cursor + 1, c);
}

void PieceFinder::add(Piece piece) {
  pieces.push_back(piece);
  if (assignment)
    pieces.push_back({*assignment, piece.end, kAssignment});
  last = piece;
}

void PieceFinder::open(const Piece &token) {
  std::optional<Piece> head = last;
  if (head && head->end != token.begin)
    head = std::nullopt;
  stack.push_back({token.begin, head});
  forget();
}

/// Adds the bracket that `token` closes, alone and with what is in front.
void PieceFinder::close(const Piece &token) {
  char c = text[token.begin];
  char opener = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
  while (!stack.empty() && text[stack.back().position] != opener)
    stack.pop_back();
  forget();
  if (stack.empty())
    return;
  Open bracket = stack.pop_back_val();
  Piece piece{bracket.position, token.end, static_cast<size_t>(opener)};
  if (bracket.head) {
    pieces.push_back(piece);
    piece = {bracket.head->begin, token.end,
             llvm::hash_combine(bracket.head->kind, piece.kind)};
  }
  add(piece);
}

void PieceFinder::addLines() {
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    if (begin != end)
      pieces.push_back({begin, end, kLine});
    begin = end + 1;
  }
}

std::vector<Piece> PieceFinder::run() {
  while (true) {
    if (skipBlank())
      forget();
    if (cursor >= text.size())
      break;
    Piece token = lex();
    StringRef spelling = text.slice(token.begin, token.end);
    if (spelling.size() == 1 && StringRef("([{<").contains(spelling[0])) {
      open(token);
    } else if (spelling.size() == 1 &&
               StringRef(")]}>").contains(spelling[0])) {
      close(token);
    } else if (spelling == "=" && last && last->kind == kWord) {
      assignment = last->begin;
      last = std::nullopt;
    } else {
      add(token);
      assignment = std::nullopt;
    }
  }
  addLines();
  return std::move(pieces);
}

//===----------------------------------------------------------------------===//
// TokenMutator
//===----------------------------------------------------------------------===//

TokenMutator::TokenMutator(StringRef dictionary) {
  auto file = llvm::MemoryBuffer::getFile(dictionary);
  require(!!file, "no dictionary: " + dictionary);
  llvm::SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    line = line.trim();
    if (!line.consume_front("\"") || !line.consume_back("\""))
      continue;
    std::string word;
    for (size_t i = 0; i < line.size(); ++i)
      word += line[i] == '\\' && i + 1 < line.size() ? line[++i] : line[i];
    words.push_back(word);
  }
  require(!words.empty(), "an empty dictionary");
}

/// Numbers at which something changes.
static std::string makeNumber(StringRef old, Random &random) {
  static const char *const kEdges[] = {"0",
                                       "1",
                                       "2",
                                       "3",
                                       "4",
                                       "7",
                                       "8",
                                       "16",
                                       "127",
                                       "128",
                                       "129",
                                       "256",
                                       "1000",
                                       "-1",
                                       "-2",
                                       "65536",
                                       "2147483647",
                                       "2147483648",
                                       "4294967296",
                                       "1099511627776",
                                       "4611686018427387904",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "-9223372036854775808",
                                       "18446744073709551616"};
  constexpr int64_t kLargest = int64_t(1) << 40;
  int64_t value;
  if (random.oneIn(2) || old.getAsInteger(10, value) || value < -kLargest ||
      value > kLargest)
    return kEdges[random.number(0, std::size(kEdges) - 1)];
  return std::to_string(random.oneIn(3) ? value * 2
                                        : value + random.number(-2, 2));
}

static std::string replaceBy(StringRef text, const Piece &piece, StringRef by) {
  return (text.take_front(piece.begin) + by + text.drop_front(piece.end)).str();
}

/// Replaces all pieces that read as `piece` does.
static std::string replaceAll(StringRef text, llvm::ArrayRef<Piece> pieces,
                              const Piece &piece, StringRef by) {
  StringRef old = text.slice(piece.begin, piece.end);
  std::string result;
  size_t done = 0;
  for (const Piece &other : pieces) {
    if (other.begin < done || other.kind != piece.kind ||
        text.slice(other.begin, other.end) != old)
      continue;
    result += text.slice(done, other.begin);
    result += by;
    done = other.end;
  }
  return result + text.drop_front(done).str();
}

static std::string swapPieces(StringRef text, Piece a, Piece b) {
  if (a.begin > b.begin)
    std::swap(a, b);
  if (a.end > b.begin)
    return text.str();
  return (text.take_front(a.begin) + text.slice(b.begin, b.end) +
          text.slice(a.end, b.begin) + text.slice(a.begin, a.end) +
          text.drop_front(b.end))
      .str();
}

/// Removes a piece, with the comma behind it if there is one.
static std::string erase(StringRef text, const Piece &piece) {
  StringRef rest = text.drop_front(piece.end);
  rest.consume_front(",");
  return (text.take_front(piece.begin) + rest).str();
}

/// The piece once more, behind it.
static std::string repeat(StringRef text, const Piece &piece) {
  StringRef self = text.slice(piece.begin, piece.end);
  StringRef separator = piece.kind == kLine ? "\n" : ", ";
  return (text.take_front(piece.end) + separator + self +
          text.drop_front(piece.end))
      .str();
}

/// Any piece of that kind, if there is one.
static std::optional<Piece> pickOfKind(llvm::ArrayRef<Piece> pieces,
                                       size_t kind, Random &random) {
  size_t first = random.number(0, pieces.size() - 1);
  for (size_t i = 0; i < pieces.size(); ++i)
    if (const Piece &piece = pieces[(first + i) % pieces.size()];
        piece.kind == kind)
      return piece;
  return std::nullopt;
}

std::string TokenMutator::mutateOnce(StringRef text, StringRef donor,
                                     Random &random) const {
  std::vector<Piece> pieces = PieceFinder(text).run();
  if (pieces.empty())
    return random.pick(words);
  std::vector<Piece> others;
  if (text.data() != donor.data())
    others = PieceFinder(donor).run();
  if (others.empty()) {
    others = pieces;
    donor = text;
  }
  Piece piece = random.pick(pieces);
  auto other = pickOfKind(others, piece.kind, random);
  StringRef by = other ? donor.slice(other->begin, other->end) : StringRef();
  switch (random.number(0, 11)) {
  case 0:
  case 1:
    return other ? replaceBy(text, piece, by) : erase(text, piece);
  case 2:
  case 3:
    return other ? replaceAll(text, pieces, piece, by)
                 : replaceBy(text, piece, random.pick(words));
  case 4:
    return swapPieces(text, piece,
                      pickOfKind(pieces, piece.kind, random).value_or(piece));
  case 5:
    return erase(text, piece);
  case 6:
    return repeat(text, piece);
  case 7:
    other = random.pick(others);
    return replaceBy(text, piece, donor.slice(other->begin, other->end));
  case 8:
    return replaceBy(text, piece, random.pick(words));
  case 9:
    return replaceBy(text, {piece.end, piece.end, 0}, random.pick(words));
  default:
    break;
  }
  auto number = pickOfKind(pieces, kNumber, random);
  if (!number)
    return erase(text, piece);
  std::string value =
      makeNumber(text.slice(number->begin, number->end), random);
  return random.oneIn(2) ? replaceBy(text, *number, value)
                         : replaceAll(text, pieces, *number, value);
}

std::string TokenMutator::mutate(StringRef text, Random &random) const {
  std::string result = mutateOnce(text, text, random);
  while (random.oneIn(2)) {
    std::string old = std::move(result);
    result = mutateOnce(old, old, random);
  }
  return result;
}

std::string TokenMutator::cross(StringRef text, StringRef donor,
                                Random &random) const {
  return mutateOnce(text, donor, random);
}
