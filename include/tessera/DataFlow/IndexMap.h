//===- IndexMap.h - Which element is which ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What movements of data do, as one function: from the elements of a value to
// those of another that it was made of. Elements are numbered row-major, so a
// reshape does nothing, and a transposition, slice, reversal or broadcast is a
// sum of digits times strides.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DATAFLOW_INDEXMAP_H
#define TESSERA_DATAFLOW_INDEXMAP_H

#include "tessera/Layout/Box.h"
#include "tessera/Layout/Shape.h"

namespace tessera {

/// A digit of an element's number, and what a step of it means on the other
/// side.
struct MapDigit {
  int64_t size = 1;
  int64_t stride = 0;

  bool operator==(const MapDigit &other) const {
    return size == other.size && stride == other.stride;
  }
};

/// `offset` plus digits times strides, most major digit first. Equal functions
/// have equal forms: digits of one value are left out, and those that continue
/// each other are one.
class IndexMap {
public:
  using Digits = llvm::SmallVector<MapDigit, 6>;

  /// Of an array without elements.
  IndexMap() = default;
  /// Maps every number below `count` to itself.
  static IndexMap identity(int64_t count);
  static IndexMap get(llvm::ArrayRef<MapDigit> digits, int64_t offset);

  llvm::ArrayRef<MapDigit> digits() const { return digitList; }
  int64_t offset() const { return first; }
  /// The number of elements that it maps.
  int64_t count() const { return elements; }

  /// Where `element`, below count(), goes.
  int64_t operator()(int64_t element) const;
  bool isIdentity() const;

  bool operator==(const IndexMap &other) const {
    return digitList == other.digitList && first == other.first &&
           elements == other.elements;
  }
  bool operator!=(const IndexMap &other) const { return !(*this == other); }

  /// The first element that two maps of one count take to different ones;
  /// nothing where they are equal.
  static std::optional<int64_t> findDifference(const IndexMap &lhs,
                                               const IndexMap &rhs);

  //===--- Moves of an array of `sizes` that this maps
  //----------------------===//
  // Nothing where the result is no sum of digits (a dimension that is no
  // product of whole digits), or would not fit in 64 bits.

  /// The digits of each dimension.
  std::optional<llvm::SmallVector<Digits, 6>>
  split(llvm::ArrayRef<int64_t> sizes) const;

  /// Dimension i of the result is dimension permutation[i].
  std::optional<IndexMap> transpose(llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<int64_t> permutation) const;
  /// The elements of `box`.
  std::optional<IndexMap> slice(llvm::ArrayRef<int64_t> sizes,
                                const Box &box) const;
  std::optional<IndexMap> reverse(llvm::ArrayRef<int64_t> sizes,
                                  llvm::ArrayRef<int64_t> dims) const;
  /// Dimension i becomes dimension dims[i] of `resultSizes`.
  std::optional<IndexMap> broadcast(llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<int64_t> resultSizes,
                                    llvm::ArrayRef<int64_t> dims) const;

  /// `permutation` of this map's elements, and then this map.
  std::optional<IndexMap> after(const IndexMap &permutation) const;

  /// An array whose parts along `dim`, arrays of `sizes`, are these maps of one
  /// array. Nothing also where it is not found.
  static std::optional<IndexMap>
  concatenate(llvm::ArrayRef<IndexMap> maps,
              llvm::ArrayRef<llvm::ArrayRef<int64_t>> sizes, size_t dim);

private:
  Digits digitList;
  int64_t first = 0;
  int64_t elements = 0;
};

/// The element of `from` whose bytes each element of `to` has, in a bitcast
/// from one to the other that is right (mayBitcast). Nothing where that is no
/// rearrangement of digits, as where elements of different widths share bytes.
std::optional<IndexMap> getBitcastMap(const Shape &from, const Shape &to);

/// The index in an array of `sizes` that has this number.
llvm::SmallVector<int64_t, 6> getIndex(llvm::ArrayRef<int64_t> sizes,
                                       int64_t element);

} // namespace tessera

#endif // TESSERA_DATAFLOW_INDEXMAP_H
