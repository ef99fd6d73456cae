//===- IndexExpr.cpp - Integer expressions of indices ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/IndexExpr.h"

#include "tessera/Layout/Layout.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>

using namespace tessera;

/// A null handle is the constant 0, so no node stands for it.
struct IndexExpr::Node {
  explicit Node(Kind kind) : kind(kind) {}

  Kind kind;
  unsigned variable = 0;
  int64_t constant = 0;
  int64_t range = kDynamic;
  int64_t size = 1;
  IndexExpr lhs;
  IndexExpr rhs;
};

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

IndexExpr::Kind IndexExpr::kind() const {
  return node ? node->kind : Kind::Constant;
}

int64_t IndexExpr::range() const { return node ? node->range : 1; }

int64_t IndexExpr::treeSize() const { return node ? node->size : 1; }

unsigned IndexExpr::variableNumber() const {
  assert(kind() == Kind::Variable && "not a variable");
  return node->variable;
}

int64_t IndexExpr::constant() const { return node ? node->constant : 0; }

IndexExpr IndexExpr::lhs() const { return node->lhs; }

IndexExpr IndexExpr::rhs() const { return node->rhs; }

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

/// Whether every value of `expr` is below `limit`.
static bool isBelow(const IndexExpr &expr, int64_t limit) {
  return expr.range() != kDynamic && expr.range() <= limit;
}

IndexExpr IndexExpr::variable(unsigned variable, int64_t range) {
  if (range == 1)
    return IndexExpr();
  Node node(Kind::Variable);
  node.variable = variable;
  node.range = range;
  return IndexExpr(std::make_shared<const Node>(std::move(node)));
}

/// A FloorDiv or Mod node that nothing simplifies. (Sizes saturate: shared
/// subtrees count each time that a walk meets them.)
IndexExpr IndexExpr::unary(Kind kind, const IndexExpr &lhs, int64_t constant,
                           int64_t range) {
  Node node(kind);
  node.constant = constant;
  node.range = range;
  node.size = llvm::SaturatingAdd<uint32_t>(1, lhs.treeSize());
  node.lhs = lhs;
  return IndexExpr(std::make_shared<const Node>(std::move(node)));
}

IndexExpr IndexExpr::floorDiv(int64_t divisor) const {
  assert(divisor >= 1 && "division by a non-positive number");
  if (divisor == 1 || isZero() || range() == 0)
    return *this;
  if (isBelow(*this, divisor))
    return IndexExpr();
  switch (kind()) {
  case Kind::FloorDiv: {
    int64_t product;
    if (llvm::MulOverflow(constant(), divisor, product))
      return IndexExpr(); // No value reaches a divisor beyond int64.
    return lhs().floorDiv(product);
  }
  case Kind::Mod:
    if (constant() % divisor == 0)
      return lhs().floorDiv(divisor).mod(constant() / divisor);
    break;
  case Kind::MulAdd:
    if (constant() % divisor == 0)
      return mulAdd(lhs(), constant() / divisor, rhs().floorDiv(divisor));
    if (divisor % constant() == 0)
      return lhs().floorDiv(divisor / constant());
    break;
  case Kind::Constant:
  case Kind::Variable:
    break;
  }
  int64_t newRange =
      range() == kDynamic ? kDynamic : llvm::divideCeil(range(), divisor);
  return unary(Kind::FloorDiv, *this, divisor, newRange);
}

IndexExpr IndexExpr::mod(int64_t divisor) const {
  assert(divisor >= 1 && "remainder of a non-positive number");
  if (divisor == 1)
    return IndexExpr();
  if (isZero() || isBelow(*this, divisor))
    return *this;
  if (kind() == Kind::Mod && constant() % divisor == 0)
    return lhs().mod(divisor);
  if (kind() == Kind::MulAdd) {
    if (constant() % divisor == 0)
      return rhs().mod(divisor);
    if (divisor % constant() == 0)
      return mulAdd(lhs().mod(divisor / constant()), constant(), rhs());
  }
  return unary(Kind::Mod, *this, divisor, divisor);
}

/// `x floordiv (d*f) [mod e]` times f plus `(x floordiv d) mod f` is the digit
/// `x floordiv d [mod e*f]`: two digits that belong together, or nothing.
static std::optional<Digit> joinDigits(const IndexExpr &major, int64_t factor,
                                       const IndexExpr &minor) {
  std::optional<Digit> high = major.asDigit(), low = minor.asDigit();
  int64_t divisor, extent;
  if (!high || !low || high->variable != low->variable ||
      low->extent != factor ||
      llvm::MulOverflow(low->divisor, factor, divisor) ||
      llvm::MulOverflow(high->extent, factor, extent) ||
      high->divisor != divisor)
    return std::nullopt;
  return Digit{low->variable, low->divisor, extent};
}

/// The variable below a digit.
static IndexExpr getDigitBase(IndexExpr expr) {
  while (expr.kind() != IndexExpr::Kind::Variable)
    expr = expr.lhs();
  return expr;
}

IndexExpr IndexExpr::mulAdd(const IndexExpr &major, int64_t factor,
                            const IndexExpr &minor) {
  if (major.isZero())
    return minor;
  if (std::optional<Digit> joined = joinDigits(major, factor, minor)) {
    IndexExpr quotient = getDigitBase(major).floorDiv(joined->divisor);
    return joined->extent ? quotient.mod(joined->extent) : quotient;
  }
  if (major.kind() == Kind::FloorDiv && minor.kind() == Kind::Mod &&
      major.constant() == factor && minor.constant() == factor &&
      major.lhs() == minor.lhs())
    return major.lhs();

  Node node(Kind::MulAdd);
  node.constant = factor;
  node.size =
      llvm::SaturatingAdd<uint32_t>(1, major.treeSize(), minor.treeSize());
  node.lhs = major;
  node.rhs = minor;
  if (major.range() == 0 || minor.range() == 0) {
    node.range = 0;
  } else if (major.range() != kDynamic && minor.range() != kDynamic) {
    int64_t range;
    if (!llvm::MulOverflow(major.range() - 1, factor, range) &&
        !llvm::AddOverflow(range, minor.range(), range))
      node.range = range;
  }
  return IndexExpr(std::make_shared<const Node>(std::move(node)));
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

int64_t IndexExpr::evaluate(llvm::ArrayRef<int64_t> variables) const {
  switch (kind()) {
  case Kind::Constant:
    return 0;
  case Kind::Variable:
    return variables[variableNumber()];
  case Kind::FloorDiv:
    return node->lhs.evaluate(variables) / constant();
  case Kind::Mod:
    return node->lhs.evaluate(variables) % constant();
  case Kind::MulAdd:
    return node->lhs.evaluate(variables) * constant() +
           node->rhs.evaluate(variables);
  }
  llvm_unreachable("unknown kind");
}

/// The run of `lhs floordiv divisor`: where steps are no multiples of it, the
/// value stays up to the next multiple.
static IndexRun floorDiv(IndexRun lhs, int64_t divisor) {
  if (lhs.stride % divisor == 0)
    return {lhs.value / divisor, lhs.stride / divisor, lhs.steps};
  int64_t left = divisor - lhs.value % divisor;
  return {lhs.value / divisor, 0,
          std::min(lhs.steps, llvm::divideCeilSigned(left, lhs.stride))};
}

/// The run of `lhs mod divisor`.
static IndexRun mod(IndexRun lhs, int64_t divisor) {
  int64_t value = lhs.value % divisor;
  if (lhs.stride % divisor == 0)
    return {value, 0, lhs.steps};
  return {
      value, lhs.stride,
      std::min(lhs.steps, llvm::divideCeilSigned(divisor - value, lhs.stride))};
}

IndexRun IndexExpr::getRun(llvm::ArrayRef<int64_t> variables,
                           unsigned variable) const {
  switch (kind()) {
  case Kind::Constant:
    return {};
  case Kind::Variable:
    return {variables[variableNumber()], variableNumber() == variable ? 1 : 0};
  case Kind::FloorDiv:
    return ::floorDiv(node->lhs.getRun(variables, variable), constant());
  case Kind::Mod:
    return ::mod(node->lhs.getRun(variables, variable), constant());
  case Kind::MulAdd: {
    IndexRun major = node->lhs.getRun(variables, variable);
    IndexRun minor = node->rhs.getRun(variables, variable);
    return {major.value * constant() + minor.value,
            major.stride * constant() + minor.stride,
            std::min(major.steps, minor.steps)};
  }
  }
  llvm_unreachable("unknown kind");
}

std::optional<Digit> IndexExpr::asDigit() const {
  IndexExpr expr = *this;
  Digit digit;
  if (expr.kind() == Kind::Mod) {
    digit.extent = expr.constant();
    expr = expr.lhs();
  }
  if (expr.kind() == Kind::FloorDiv) {
    digit.divisor = expr.constant();
    expr = expr.lhs();
  }
  if (expr.kind() != Kind::Variable)
    return std::nullopt;
  digit.variable = expr.variableNumber();
  return digit;
}

/// Appends `expr` times `coefficient` to `terms`; false when it is no sum of
/// digits.
static bool appendDigits(const IndexExpr &expr, int64_t coefficient,
                         llvm::SmallVectorImpl<DigitTerm> &terms) {
  if (expr.isZero())
    return true;
  if (expr.kind() == IndexExpr::Kind::MulAdd) {
    int64_t majorCoefficient;
    return !llvm::MulOverflow(coefficient, expr.constant(), majorCoefficient) &&
           appendDigits(expr.lhs(), majorCoefficient, terms) &&
           appendDigits(expr.rhs(), coefficient, terms);
  }
  std::optional<Digit> digit = expr.asDigit();
  if (digit)
    terms.push_back({coefficient, *digit});
  return digit.has_value();
}

std::optional<llvm::SmallVector<DigitTerm, 2>> IndexExpr::asDigitSum() const {
  llvm::SmallVector<DigitTerm, 2> terms;
  if (!appendDigits(*this, 1, terms))
    return std::nullopt;
  return terms;
}

bool IndexExpr::involves(unsigned variable) const {
  switch (kind()) {
  case Kind::Constant:
    return false;
  case Kind::Variable:
    return variableNumber() == variable;
  case Kind::FloorDiv:
  case Kind::Mod:
    return node->lhs.involves(variable);
  case Kind::MulAdd:
    return node->lhs.involves(variable) || node->rhs.involves(variable);
  }
  llvm_unreachable("unknown kind");
}

bool IndexExpr::operator==(const IndexExpr &other) const {
  if (node == other.node)
    return true;
  if (kind() != other.kind() || treeSize() != other.treeSize() ||
      constant() != other.constant())
    return false;
  switch (kind()) {
  case Kind::Constant:
    return true;
  case Kind::Variable:
    return variableNumber() == other.variableNumber();
  case Kind::FloorDiv:
  case Kind::Mod:
    return node->lhs == other.node->lhs;
  case Kind::MulAdd:
    return node->lhs == other.node->lhs && node->rhs == other.node->rhs;
  }
  llvm_unreachable("unknown kind");
}

static void print(const IndexExpr &expr, llvm::StringRef prefix,
                  llvm::raw_ostream &os) {
  auto printOperand = [&](const IndexExpr &operand) {
    bool isAtom =
        operand.isZero() || operand.kind() == IndexExpr::Kind::Variable;
    os << (isAtom ? "" : "(");
    print(operand, prefix, os);
    os << (isAtom ? "" : ")");
  };
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
    os << 0;
    return;
  case IndexExpr::Kind::Variable:
    os << prefix << expr.variableNumber();
    return;
  case IndexExpr::Kind::FloorDiv:
    printOperand(expr.lhs());
    os << " floordiv " << expr.constant();
    return;
  case IndexExpr::Kind::Mod:
    printOperand(expr.lhs());
    os << " mod " << expr.constant();
    return;
  case IndexExpr::Kind::MulAdd:
    printOperand(expr.lhs());
    os << " * " << expr.constant() << " + ";
    printOperand(expr.rhs());
    return;
  }
}

std::string IndexExpr::toString(llvm::StringRef prefix) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(*this, prefix, os);
  return text;
}
