//===- Relation.h - How layouts pass through --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ASSIGN_RELATION_H
#define TESSERA_ASSIGN_RELATION_H

#include "tessera/DataFlow/IndexMap.h"
#include "tessera/Layout/Target.h"

namespace tessera {

/// What the layouts of an operand and of a result have to do with each other.
struct Relation {
  enum class Kind : uint8_t {
    Any,   ///< Nothing.
    Equal, ///< They are one, but for memory spaces.
    Order, ///< Dimensions have one order.
    Dims,  ///< The dimensions that both have do.
    View,  ///< The bytes are the same, else they are moved.
  };
  Kind kind = Kind::Any;
  /// Of Dims: pairs of a dimension of the operand and one of the result.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 6> dims;
  /// Of View: from elements of the result to those of the operand.
  std::optional<IndexMap> map;

  /// Sizes of 1 have no place in an order. In memory (not `isFused`), their
  /// place must not matter to bytes either.
  bool accepts(const Shape &operand, const Shape &result,
               bool isFused = false) const;
};

/// `operand` with its dimensions in the order of `result`.
Shape getInOrderOf(const Shape &operand, const Shape &result);

/// The layouts of `wanted` that fit `given`, in the tiles of a rule: the
/// result's if `isResult`, else the operand's.
llvm::SmallVector<Shape, 2> induce(const Relation &relation, const Shape &given,
                                   const Shape &wanted, bool isResult,
                                   LayoutRule rule);

/// `shape` in space 0. Spaces, and how an array is divided among parts of one,
/// are not chosen.
Shape withoutSpace(Shape shape);

} // namespace tessera

#endif // TESSERA_ASSIGN_RELATION_H
