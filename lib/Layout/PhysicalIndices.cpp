//===- PhysicalIndices.cpp - Dimensions split at divisors -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/PhysicalIndices.h"

#include "IndexMapping.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using namespace tessera::detail;

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

int64_t tessera::evaluate(llvm::ArrayRef<Step> steps, int64_t i) {
  int64_t sum = 0;
  for (size_t k = 0; k < steps.size(); ++k) {
    int64_t digit = i / steps[k].divisor;
    if (k + 1 < steps.size())
      digit %= steps[k + 1].divisor / steps[k].divisor;
    sum += digit * steps[k].stride;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

PhysicalIndices tessera::getPhysicalIndices(const AxisList &list,
                                            llvm::ArrayRef<int64_t> sizes) {
  return getPhysicalIndices(list, {}, sizes);
}

PhysicalIndices tessera::getPhysicalIndices(const AxisList &list,
                                            llvm::ArrayRef<IndexExpr> indices,
                                            llvm::ArrayRef<int64_t> sizes) {
  PhysicalIndices result;
  llvm::SmallVector<llvm::SmallVector<DigitTerm, 4>, 6> terms(sizes.size());
  for (auto [axis, stride] : llvm::zip_equal(list.axes(), list.strides())) {
    IndexExpr expr =
        indices.empty() ? axis.index : substitute(axis.index, indices);
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
