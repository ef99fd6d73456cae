//===- SliceText.cpp - Parsing slices -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/SymbolicSlice.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using llvm::StringRef;

std::string SliceBegin::toString() const {
  std::string text;
  auto append = [&](int64_t number, StringRef variable) {
    bool isNegative = number < 0;
    // The least number has no absolute value; the parser refuses it.
    uint64_t size = isNegative ? -number : number;
    if (!text.empty())
      text += isNegative ? " - " : " + ";
    else if (isNegative)
      text += "-";
    if (variable.empty() || size != 1)
      text += std::to_string(size) + (variable.empty() ? "" : "*");
    text += variable;
  };
  for (const Term &term : terms)
    append(term.coefficient, term.variable);
  if (constant != 0 || terms.empty())
    append(constant, "");
  return text;
}

namespace {
/// Functions return false after an error.
class Parser {
public:
  Parser(StringRef text, llvm::ArrayRef<int64_t> dimensions)
      : text(text), rest(text.ltrim()), dimensions(dimensions) {}

  llvm::Expected<SymbolicSlice> parse();

private:
  bool parsePart();
  bool parseDimension(int64_t &dim);
  bool parseBegin(SliceBegin &begin);
  bool parseTerm(bool isNegative, SliceBegin &begin);
  bool parseNumber(int64_t &number);
  bool addVariable(int64_t coefficient, SliceBegin &begin);

  bool consume(StringRef token) {
    if (!rest.consume_front(token))
      return false;
    rest = rest.ltrim();
    return true;
  }
  bool expect(StringRef token) {
    return consume(token) || fail("`" + token + "`");
  }
  bool fail(const llvm::Twine &expected, const llvm::Twine &remedy = "") {
    Diagnostic diagnostic;
    diagnostic.field = "slice";
    diagnostic.expected = expected.str();
    diagnostic.found =
        rest.empty() ? "the end" : ("`" + rest.take_front(20) + "`").str();
    diagnostic.remedy = remedy.str();
    diagnostic.position = rest.data() - text.data();
    error = std::move(diagnostic);
    return false;
  }

  StringRef text;
  StringRef rest;
  llvm::ArrayRef<int64_t> dimensions;
  SymbolicSlice slice;
  llvm::SmallVector<std::string, 4> variables;
  llvm::SmallVector<bool, 6> seen;
  Diagnostic error;
};
} // namespace

bool Parser::parseNumber(int64_t &number) {
  StringRef digits = rest.take_while(llvm::isDigit);
  if (digits.getAsInteger(10, number))
    return fail("a number below 2^63");
  rest = rest.drop_front(digits.size()).ltrim();
  return true;
}

static bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

bool Parser::addVariable(int64_t coefficient, SliceBegin &begin) {
  StringRef name = rest.take_while(isNameCharacter);
  if (name.empty() || llvm::isDigit(name.front()))
    return fail("a variable");
  if (llvm::is_contained(variables, name))
    return fail("each variable once",
                "dimensions that move together are not analyzed; give each "
                "its own variable, and the answer holds for all their values");
  variables.push_back(name.str());
  rest = rest.drop_front(name.size()).ltrim();
  if (coefficient != 0)
    begin.terms.push_back({name.str(), coefficient});
  return true;
}

bool Parser::parseTerm(bool isNegative, SliceBegin &begin) {
  int64_t sign = isNegative ? -1 : 1;
  if (rest.empty() || !llvm::isDigit(rest.front()))
    return addVariable(sign, begin);
  int64_t number;
  if (!parseNumber(number))
    return false;
  if (consume("*"))
    return addVariable(sign * number, begin);
  std::optional<int64_t> sum = llvm::checkedAdd(begin.constant, sign * number);
  if (!sum || *sum == INT64_MIN)
    return fail("a sum below 2^63");
  begin.constant = *sum;
  return true;
}

bool Parser::parseBegin(SliceBegin &begin) {
  bool isNegative = consume("-");
  for (;;) {
    if (!parseTerm(isNegative, begin))
      return false;
    isNegative = consume("-");
    if (!isNegative && !consume("+"))
      return true;
  }
}

bool Parser::parseDimension(int64_t &dim) {
  StringRef start = rest;
  if (!consume("d") || !parseNumber(dim)) {
    rest = start;
    return fail("a dimension, as in `d0=8*i:+16`");
  }
  bool isThere = dim < static_cast<int64_t>(dimensions.size());
  if (isThere && !seen[dim])
    return seen[dim] = true;
  rest = start;
  if (isThere)
    return fail("each dimension once");
  return fail("a dimension below d" + llvm::Twine(dimensions.size()));
}

bool Parser::parsePart() {
  int64_t dim;
  if (!parseDimension(dim) || !expect("=") || !parseBegin(slice.begins[dim]) ||
      !expect(":"))
    return false;
  if (!consume("+"))
    return fail("`+` and the number of elements, as in `8*i:+16`");
  return parseNumber(slice.sizes[dim]);
}

llvm::Expected<SymbolicSlice> Parser::parse() {
  slice.begins.resize(dimensions.size());
  slice.sizes.assign(dimensions.begin(), dimensions.end());
  seen.assign(dimensions.size(), false);
  bool ok = true;
  while (ok && !rest.empty()) {
    ok = parsePart();
    if (ok && !rest.empty())
      ok = consume(",") ? !rest.empty() || fail("a dimension")
                        : fail("`,` or the end");
  }
  if (!ok)
    return llvm::make_error<LayoutError>(std::move(error));
  return std::move(slice);
}

llvm::Expected<SymbolicSlice>
tessera::parseSlice(StringRef text, llvm::ArrayRef<int64_t> dimensions) {
  return Parser(text, dimensions).parse();
}
