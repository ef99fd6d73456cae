//===- AffineRanges.cpp - Affine expressions of bounded values ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/AffineRanges.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

using llvm::divideFloorSigned;

namespace {
/// A sum of atoms times coefficients, and a constant. Atoms are operands,
/// floordivs and mods; the order is that of first occurrence, so that results
/// do not depend on addresses.
struct LinearSum {
  llvm::MapVector<AffineExpr, int64_t> terms;
  int64_t constant = 0;
  /// Arithmetic left int64: the sum must not be used.
  bool overflows = false;

  void addConstant(int64_t value) {
    overflows |= llvm::AddOverflow(constant, value, constant) != 0;
  }
  void addTerm(AffineExpr atom, int64_t coefficient) {
    int64_t &sum = terms[atom];
    overflows |= llvm::AddOverflow(sum, coefficient, sum) != 0;
  }
  void add(const LinearSum &other, int64_t factor) {
    overflows |= other.overflows;
    for (auto [atom, coefficient] : other.terms)
      addTerm(atom, multiply(coefficient, factor));
    addConstant(multiply(other.constant, factor));
  }
  AffineExpr toExpr(MLIRContext *context) const;

private:
  int64_t multiply(int64_t lhs, int64_t rhs) {
    int64_t product = 0;
    overflows |= llvm::MulOverflow(lhs, rhs, product) != 0;
    return product;
  }
};

/// Rewrites expressions bottom up into linear sums.
class Simplifier {
public:
  Simplifier(unsigned numDims, OperandRanges ranges)
      : numDims(numDims), ranges(ranges) {}

  LinearSum simplify(AffineExpr expr);
  std::optional<IntegerRange> rangeOf(const LinearSum &sum);

private:
  LinearSum divide(const LinearSum &sum, int64_t divisor, MLIRContext *context);
  LinearSum remainder(const LinearSum &sum, int64_t divisor,
                      MLIRContext *context);
  std::optional<IntegerRange> rangeOfAtom(AffineExpr atom);

  unsigned numDims;
  OperandRanges ranges;
  llvm::DenseMap<AffineExpr, std::optional<IntegerRange>> atomRanges;
};
} // namespace

AffineExpr LinearSum::toExpr(MLIRContext *context) const {
  AffineExpr result = getAffineConstantExpr(0, context);
  for (auto [atom, coefficient] : terms)
    if (coefficient != 0)
      result = result + atom * coefficient;
  return result + constant;
}

static LinearSum makeAtom(AffineExpr expr) {
  LinearSum sum;
  sum.addTerm(expr, 1);
  return sum;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

std::optional<IntegerRange> Simplifier::rangeOfAtom(AffineExpr atom) {
  if (auto dim = dyn_cast<AffineDimExpr>(atom))
    return ranges[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(atom))
    return ranges[numDims + symbol.getPosition()];
  auto known = atomRanges.find(atom);
  return known == atomRanges.end() ? std::nullopt : known->second;
}

std::optional<IntegerRange> Simplifier::rangeOf(const LinearSum &sum) {
  if (sum.overflows)
    return std::nullopt;
  IntegerRange total{sum.constant, sum.constant};
  for (auto [atom, coefficient] : sum.terms) {
    if (coefficient == 0)
      continue;
    std::optional<IntegerRange> range = rangeOfAtom(atom);
    int64_t low, high;
    if (!range || llvm::MulOverflow(range->min, coefficient, low) ||
        llvm::MulOverflow(range->max, coefficient, high))
      return std::nullopt;
    if (coefficient < 0)
      std::swap(low, high);
    if (llvm::AddOverflow(total.min, low, total.min) ||
        llvm::AddOverflow(total.max, high, total.max))
      return std::nullopt;
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// Splits `sum` into `divisor * quotient + remainder`, the remainder having no
/// multiple of the divisor as a coefficient and a constant in [0, divisor).
static void splitMultiples(const LinearSum &sum, int64_t divisor,
                           LinearSum &quotient, LinearSum &remainder) {
  quotient.overflows = remainder.overflows = sum.overflows;
  for (auto [atom, coefficient] : sum.terms) {
    if (coefficient % divisor == 0)
      quotient.addTerm(atom, coefficient / divisor);
    else
      remainder.addTerm(atom, coefficient);
  }
  quotient.addConstant(divideFloorSigned(sum.constant, divisor));
  remainder.addConstant(llvm::mod(sum.constant, divisor));
}

/// The block of `divisor` values in which the whole range lies, if one does.
static std::optional<int64_t> findBlock(std::optional<IntegerRange> range,
                                        int64_t divisor) {
  if (!range)
    return std::nullopt;
  int64_t block = divideFloorSigned(range->min, divisor);
  if (block != divideFloorSigned(range->max, divisor))
    return std::nullopt;
  return block;
}

LinearSum Simplifier::divide(const LinearSum &sum, int64_t divisor,
                             MLIRContext *context) {
  LinearSum quotient, remainder;
  splitMultiples(sum, divisor, quotient, remainder);
  std::optional<IntegerRange> range = rangeOf(remainder);
  if (std::optional<int64_t> block = findBlock(range, divisor)) {
    quotient.addConstant(*block);
    return quotient;
  }
  AffineExpr atom = remainder.toExpr(context).floorDiv(divisor);
  if (range)
    atomRanges[atom] = IntegerRange{divideFloorSigned(range->min, divisor),
                                    divideFloorSigned(range->max, divisor)};
  quotient.addTerm(atom, 1);
  return quotient;
}

LinearSum Simplifier::remainder(const LinearSum &sum, int64_t divisor,
                                MLIRContext *context) {
  LinearSum quotient, remainder;
  splitMultiples(sum, divisor, quotient, remainder);
  if (std::optional<int64_t> block = findBlock(rangeOf(remainder), divisor)) {
    LinearSum multiples;
    multiples.addConstant(*block);
    remainder.add(multiples, -divisor);
    return remainder;
  }
  AffineExpr atom = remainder.toExpr(context) % divisor;
  atomRanges[atom] = IntegerRange{0, divisor - 1};
  return makeAtom(atom);
}

/// The value of a constant operand that may divide.
static std::optional<int64_t> getDivisor(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  if (!constant || constant.getValue() <= 0)
    return std::nullopt;
  return constant.getValue();
}

LinearSum Simplifier::simplify(AffineExpr expr) {
  LinearSum result;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result.addConstant(constant.getValue());
    return result;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return makeAtom(expr);
  if (expr.getKind() == AffineExprKind::Add) {
    result.add(simplify(binary.getLHS()), 1);
    result.add(simplify(binary.getRHS()), 1);
    return result;
  }
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() == AffineExprKind::Mul && factor) {
    result.add(simplify(binary.getLHS()), factor.getValue());
    return result;
  }
  std::optional<int64_t> divisor = getDivisor(binary.getRHS());
  if (!divisor)
    return makeAtom(expr);
  LinearSum operand = simplify(binary.getLHS());
  if (operand.overflows)
    return makeAtom(expr);
  MLIRContext *context = expr.getContext();
  if (expr.getKind() == AffineExprKind::Mod)
    return remainder(operand, *divisor, context);
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return divide(operand, *divisor, context);
  // x ceildiv c is -(-x floordiv c).
  LinearSum negated;
  negated.add(operand, -1);
  result.add(divide(negated, *divisor, context), -1);
  return result;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

std::optional<IntegerRange> tessera::getRange(AffineExpr expr, unsigned numDims,
                                              OperandRanges ranges) {
  Simplifier simplifier(numDims, ranges);
  return simplifier.rangeOf(simplifier.simplify(expr));
}

AffineExpr tessera::simplifyWithRanges(AffineExpr expr, unsigned numDims,
                                       OperandRanges ranges) {
  LinearSum sum = Simplifier(numDims, ranges).simplify(expr);
  return separateRemainders(sum.overflows ? expr
                                          : sum.toExpr(expr.getContext()));
}

AffineMap tessera::simplifyWithRanges(AffineMap map, OperandRanges ranges) {
  SmallVector<AffineExpr> results;
  for (AffineExpr result : map.getResults())
    results.push_back(simplifyWithRanges(result, map.getNumDims(), ranges));
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                        map.getContext());
}
