//===- PhysicalIndices.cpp - Positions as functions of variables ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PhysicalIndices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using namespace tessera::detail;

//===----------------------------------------------------------------------===//
// Functions of one variable
//===----------------------------------------------------------------------===//

/// The steps of a variable of `size` values whose digits are `terms`; nothing
/// when the divisors form no chain.
static std::optional<Steps> getSteps(llvm::SmallVector<DigitTerm, 4> terms,
                                     int64_t size) {
  llvm::sort(terms, [](const DigitTerm &lhs, const DigitTerm &rhs) {
    return lhs.digit.divisor < rhs.digit.divisor;
  });
  Steps steps;
  int64_t next = 1; // 0 after a digit without a mod, which is the last one.
  for (const DigitTerm &term : terms) {
    int64_t divisor = term.digit.divisor;
    if (divisor >= size) // Always 0.
      break;
    if (divisor != next)
      return std::nullopt;
    next = llvm::checkedMul(divisor, term.digit.extent).value_or(0);
    bool continues =
        !steps.empty() &&
        term.coefficient == llvm::checkedMul(steps.back().stride,
                                             divisor / steps.back().divisor);
    if (!continues)
      steps.push_back({divisor, term.coefficient});
  }
  // Digits that stop below the size repeat positions, which no layout does.
  if (next != 0 && next < size)
    return std::nullopt;
  return steps;
}

std::optional<int64_t> detail::getDifference(const Steps &lhs,
                                             const Steps &rhs) {
  size_t common = std::min(lhs.size(), rhs.size());
  for (size_t i = 0; i < common; ++i)
    if (!(lhs[i] == rhs[i]))
      return std::min(lhs[i].divisor, rhs[i].divisor);
  if (lhs.size() == rhs.size())
    return std::nullopt;
  return (lhs.size() > rhs.size() ? lhs : rhs)[common].divisor;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

IndexExpr detail::substitute(const IndexExpr &expr,
                             llvm::ArrayRef<IndexExpr> values) {
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
    return expr;
  case IndexExpr::Kind::Variable:
    return values[expr.variableNumber()];
  case IndexExpr::Kind::FloorDiv:
    return substitute(expr.lhs(), values).floorDiv(expr.constant());
  case IndexExpr::Kind::Mod:
    return substitute(expr.lhs(), values).mod(expr.constant());
  case IndexExpr::Kind::MulAdd:
    return IndexExpr::mulAdd(substitute(expr.lhs(), values), expr.constant(),
                             substitute(expr.rhs(), values));
  }
  llvm_unreachable("all kinds of expressions are handled");
}

void detail::collectVariables(const IndexExpr &expr,
                              llvm::SmallVectorImpl<unsigned> &variables) {
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
    return;
  case IndexExpr::Kind::Variable:
    if (!llvm::is_contained(variables, expr.variableNumber()))
      variables.push_back(expr.variableNumber());
    return;
  case IndexExpr::Kind::MulAdd:
    collectVariables(expr.rhs(), variables);
    [[fallthrough]];
  case IndexExpr::Kind::FloorDiv:
  case IndexExpr::Kind::Mod:
    collectVariables(expr.lhs(), variables);
    return;
  }
}

Index detail::evaluate(llvm::ArrayRef<IndexExpr> exprs,
                       llvm::ArrayRef<int64_t> at) {
  Index values;
  for (const IndexExpr &expr : exprs)
    values.push_back(expr.evaluate(at));
  return values;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

PhysicalIndices detail::getPhysicalIndices(const AxisList &list,
                                           llvm::ArrayRef<IndexExpr> indices,
                                           llvm::ArrayRef<int64_t> sizes) {
  PhysicalIndices result;
  llvm::SmallVector<llvm::SmallVector<DigitTerm, 4>, 6> terms(sizes.size());
  for (auto [axis, stride] : llvm::zip_equal(list.axes(), list.strides())) {
    IndexExpr expr = substitute(axis.index, indices);
    std::optional<llvm::SmallVector<DigitTerm, 2>> digits = expr.asDigitSum();
    if (!digits) {
      collectVariables(expr, result.entangled.emplace_back());
      continue;
    }
    for (DigitTerm term : *digits) {
      term.coefficient *= stride;
      terms[term.digit.variable].push_back(term);
    }
  }
  for (auto [ofVariable, size] : llvm::zip_equal(terms, sizes))
    result.steps.push_back(getSteps(ofVariable, size));
  for (llvm::ArrayRef<unsigned> variables : result.entangled)
    for (unsigned variable : variables)
      result.steps[variable] = std::nullopt;
  return result;
}

//===----------------------------------------------------------------------===//
// Corresponding elements
//===----------------------------------------------------------------------===//

IndexMapping detail::getTransposition(llvm::ArrayRef<int64_t> dimensions,
                                      llvm::ArrayRef<int64_t> permutation) {
  IndexMapping result;
  result.sizes.assign(dimensions.begin(), dimensions.end());
  for (auto [dim, size] : llvm::enumerate(dimensions))
    result.from.push_back(IndexExpr::variable(dim, size));
  for (int64_t dim : permutation)
    result.to.push_back(result.from[dim]);
  return result;
}

/// The indices of `dimensions` of which `variable` is the row-major position.
static void splitVariable(IndexExpr variable,
                          llvm::ArrayRef<int64_t> dimensions,
                          llvm::MutableArrayRef<IndexExpr> indices) {
  for (size_t i = dimensions.size(); i-- > 0;) {
    indices[i] = variable.mod(dimensions[i]);
    variable = variable.floorDiv(dimensions[i]);
  }
}

IndexMapping detail::getReshape(llvm::ArrayRef<int64_t> from,
                                llvm::ArrayRef<int64_t> to) {
  IndexMapping result;
  result.from.resize(from.size());
  result.to.resize(to.size());
  size_t fromBegin = 0, toBegin = 0;
  while (fromBegin < from.size() || toBegin < to.size()) {
    size_t fromEnd = fromBegin, toEnd = toBegin;
    int64_t fromSize = 1, toSize = 1;
    // Start with a dimension of each side, then extend the smaller product.
    do {
      if (fromEnd < from.size() && (fromSize <= toSize || toEnd == to.size()))
        fromSize *= from[fromEnd++];
      else
        toSize *= to[toEnd++];
    } while (fromSize != toSize);
    IndexExpr variable = IndexExpr::variable(result.sizes.size(), fromSize);
    result.sizes.push_back(fromSize);
    splitVariable(variable, from.slice(fromBegin, fromEnd - fromBegin),
                  llvm::MutableArrayRef<IndexExpr>(result.from)
                      .slice(fromBegin, fromEnd - fromBegin));
    splitVariable(variable, to.slice(toBegin, toEnd - toBegin),
                  llvm::MutableArrayRef<IndexExpr>(result.to).slice(
                      toBegin, toEnd - toBegin));
    fromBegin = fromEnd;
    toBegin = toEnd;
  }
  return result;
}
