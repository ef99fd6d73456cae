//===- IndexExpr.h - Integer expressions of indices -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The index of an axis as an expression of logical indices (or, inverted, a
// logical index as an expression of axis indices). Four node kinds are enough:
// tiles only ever split (floordiv, mod) and merge (x * extent + y).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_INDEXEXPR_H
#define TESSERA_LAYOUT_INDEXEXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace tessera {

/// `(variable floordiv divisor) mod extent`; extent 0 means that no mod is
/// needed because the value never reaches it.
struct Digit {
  unsigned variable = 0;
  int64_t divisor = 1;
  int64_t extent = 0;

  bool operator==(const Digit &other) const {
    return variable == other.variable && divisor == other.divisor &&
           extent == other.extent;
  }
};

/// A digit times a coefficient.
struct DigitTerm {
  int64_t coefficient = 1;
  Digit digit;
};

/// The values of an expression as one variable grows step by step: `value`, and
/// `stride` more with each of the first `steps` - 1 steps; kUnlimited where
/// that never ends.
struct IndexRun {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  int64_t value = 0;
  int64_t stride = 0;
  int64_t steps = kUnlimited;
};

/// An immutable expression over non-negative integer variables. Handles are
/// cheap to copy; builders simplify what follows from ranges and divisibility.
class IndexExpr {
public:
  enum class Kind : uint8_t { Constant, Variable, FloorDiv, Mod, MulAdd };

  /// The constant 0 (no other constants occur).
  IndexExpr() = default;

  /// Variable number `variable`, with values in [0, range); `range` is
  /// kDynamic when it is not known.
  static IndexExpr variable(unsigned variable, int64_t range);

  /// `this floordiv divisor`, `this mod divisor`; divisor >= 1.
  IndexExpr floorDiv(int64_t divisor) const;
  IndexExpr mod(int64_t divisor) const;
  /// `major * factor + minor`, where 0 <= minor < factor.
  static IndexExpr mulAdd(const IndexExpr &major, int64_t factor,
                          const IndexExpr &minor);

  Kind kind() const;
  bool isZero() const { return kind() == Kind::Constant; }
  /// One more than the largest value (an upper bound where padding is
  /// involved); kDynamic when not known.
  int64_t range() const;
  /// Of a Variable.
  unsigned variableNumber() const;
  /// The divisor of FloorDiv and Mod, the factor of MulAdd.
  int64_t constant() const;
  /// Nodes of the tree, shared ones counted each time: what a walk costs.
  int64_t treeSize() const;
  /// The operand of FloorDiv and Mod, the major one of MulAdd.
  IndexExpr lhs() const;
  /// The minor operand of MulAdd.
  IndexExpr rhs() const;

  /// The value where `variables[i]` is the value of variable i.
  int64_t evaluate(llvm::ArrayRef<int64_t> variables) const;

  /// The value there, and those behind it along variable number `variable`.
  IndexRun getRun(llvm::ArrayRef<int64_t> variables, unsigned variable) const;

  /// The digit that this is, if it is one. Not so for `(i mod 8) floordiv 3`.
  std::optional<Digit> asDigit() const;

  /// The sum of digits times coefficients that this is, if it is one; empty
  /// for 0. Merged axes that split again where they were merged are such sums.
  std::optional<llvm::SmallVector<DigitTerm, 2>> asDigitSum() const;

  /// Whether variable number `variable` occurs.
  bool involves(unsigned variable) const;

  /// Structural equality.
  bool operator==(const IndexExpr &other) const;
  bool operator!=(const IndexExpr &other) const { return !(*this == other); }

  /// For people and tests: `(d0 floordiv 8) mod 4`, with `prefix` for `d`.
  std::string toString(llvm::StringRef prefix = "d") const;

private:
  struct Node;
  explicit IndexExpr(std::shared_ptr<const Node> node)
      : node(std::move(node)) {}
  static IndexExpr unary(Kind kind, const IndexExpr &lhs, int64_t constant,
                         int64_t range);

  std::shared_ptr<const Node> node;
};

} // namespace tessera

#endif // TESSERA_LAYOUT_INDEXEXPR_H
