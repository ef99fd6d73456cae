//===- IndexMapping.cpp - Which element is which --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexMapping.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::detail;

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
