//===- Relation.cpp - How layouts pass through ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Assign/Relation.h"

#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using Order = llvm::SmallVector<int64_t, 6>;

Shape tessera::withoutSpace(Shape shape) {
  shape.setLayout(shape.layoutOrDefault());
  shape.mutableLayout().memorySpace = 0;
  shape.mutableLayout().splitConfigs.clear();
  return shape;
}

//===----------------------------------------------------------------------===//
// Which layouts fit
//===----------------------------------------------------------------------===//

/// The order of a shape's dimensions that have more than one index.
static Order getOrder(const Shape &shape) {
  Order order;
  for (int64_t dim : shape.layout().minorToMajor)
    if (shape.dimensions()[dim] != 1)
      order.push_back(dim);
  return order;
}

/// Dimensions of the result that the operand has too, in the order of either.
static Order getSharedOrder(const Relation &relation, const Shape &shape,
                            bool isResult) {
  Order shared;
  for (int64_t dim : getOrder(shape))
    for (auto [from, to] : relation.dims)
      if ((isResult ? to : from) == dim)
        shared.push_back(to);
  return shared;
}

/// The map is found faster, and says no to most.
static bool haveSameBytes(const Shape &from, const Shape &to,
                          const std::optional<IndexMap> &map) {
  return map && getBitcastMap(from, to) == map && mayBitcast(from, to);
}

Shape tessera::getInOrderOf(const Shape &operand, const Shape &result) {
  Shape ordered = operand;
  ordered.mutableLayout().minorToMajor = result.layout().minorToMajor;
  return ordered;
}

/// Whether dimensions of the operand that have more than one index stand in the
/// result as they do there.
static bool haveOneOrder(const Shape &operand, const Shape &result) {
  Order order;
  for (int64_t dim : result.layout().minorToMajor)
    if (operand.dimensions()[dim] != 1)
      order.push_back(dim);
  return order == getOrder(operand);
}

bool Relation::accepts(const Shape &operand, const Shape &result,
                       bool isFused) const {
  switch (kind) {
  case Kind::Any:
    return true;
  case Kind::Equal:
    return withoutSpace(operand).layout() == withoutSpace(result).layout();
  case Kind::Order:
    return operand.layout().minorToMajor == result.layout().minorToMajor ||
           (haveOneOrder(operand, result) &&
            (isFused ||
             isRelayoutBitcast(operand, getInOrderOf(operand, result))));
  case Kind::Dims:
    return getSharedOrder(*this, operand, false) ==
           getSharedOrder(*this, result, true);
  case Kind::View:
    return haveSameBytes(withoutSpace(operand), withoutSpace(result), map);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Induced layouts
//===----------------------------------------------------------------------===//

/// `shape` in an order, with the tiles of the rule; nothing where it has none.
static std::optional<Shape> inOrder(LayoutRule rule, const Shape &shape,
                                    llvm::ArrayRef<int64_t> order) {
  llvm::Expected<Shape> ordered = chooseLayoutInOrder(rule, shape, order);
  if (!ordered) {
    llvm::consumeError(ordered.takeError());
    return std::nullopt;
  }
  ordered->mutableLayout().memorySpace = shape.layout().memorySpace;
  return *ordered;
}

/// The order of `wanted` in which the dimensions that it shares with `given`
/// stand as they do there.
static Order getOrderLike(const Relation &relation, const Shape &given,
                          const Shape &wanted, bool isResult) {
  Order order(wanted.layout().minorToMajor);
  llvm::SmallVector<int64_t, 6> shared;
  for (int64_t dim : given.layout().minorToMajor)
    for (auto [from, to] : relation.dims)
      if ((isResult ? from : to) == dim)
        shared.push_back(isResult ? to : from);
  auto *next = shared.begin();
  for (int64_t &dim : order)
    if (llvm::is_contained(shared, dim))
      dim = *next++;
  return order;
}

/// All orders are tried, with the tiles of the rule and those of `given`.
static llvm::SmallVector<Shape, 2> findViews(const Relation &relation,
                                             const Shape &given,
                                             const Shape &wanted, bool isResult,
                                             LayoutRule rule) {
  constexpr int64_t kMaxDimensions = 5;
  if (wanted.rank() > kMaxDimensions)
    return {};
  Order order(wanted.layout().minorToMajor);
  llvm::sort(order);
  do {
    std::optional<Shape> candidate = inOrder(rule, wanted, order);
    if (!candidate)
      continue;
    auto fits = [&](const Shape &shape) {
      return isResult ? relation.accepts(given, shape)
                      : relation.accepts(shape, given);
    };
    if (fits(*candidate))
      return {*candidate};
    if (candidate->layout().tiles == given.layout().tiles)
      continue;
    candidate->mutableLayout().tiles = given.layout().tiles;
    // Tiles of an array of more dimensions are none for it.
    llvm::Error error = candidate->verify();
    bool isValid = !error;
    llvm::consumeError(std::move(error));
    if (isValid && fits(*candidate))
      return {*candidate};
  } while (std::next_permutation(order.begin(), order.end()));
  return {};
}

llvm::SmallVector<Shape, 2> tessera::induce(const Relation &relation,
                                            const Shape &given,
                                            const Shape &wanted, bool isResult,
                                            LayoutRule rule) {
  Shape like = wanted;
  std::optional<Shape> ordered;
  switch (relation.kind) {
  case Relation::Kind::Any:
    return {};
  case Relation::Kind::Equal:
    like = withoutSpace(given);
    like.mutableLayout().memorySpace = wanted.layout().memorySpace;
    return {like};
  case Relation::Kind::Order:
    ordered = inOrder(rule, wanted, given.layout().minorToMajor);
    break;
  case Relation::Kind::Dims:
    ordered =
        inOrder(rule, wanted, getOrderLike(relation, given, wanted, isResult));
    break;
  case Relation::Kind::View:
    return findViews(relation, given, wanted, isResult, rule);
  }
  if (!ordered)
    return {};
  return {*ordered};
}
