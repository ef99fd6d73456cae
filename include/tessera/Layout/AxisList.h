//===- AxisList.h - A layout is a list of axes ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one idea of the project. Memory is a row-major array over a list of
// axes. The list starts with one axis a dimension, most major first (reversed
// minor_to_major; PD widens them). Each tile then rewrites the tail of the
// list: `*` merges an axis into its more minor neighbour, a size t splits an
// axis x into `x floordiv t` and `x mod t`.
//
//   f32[3,5]{1,0:T(2,2)}
//     start        d0 (3)                      d1 (5)
//     T(2,2)       d0 floordiv 2 (2)  d1 floordiv 2 (3)  d0 mod 2 (2)  d1 mod 2
//     (2) element (2,3) is at axes (1,1,0,1) = ((1*3 + 1)*2 + 0)*2 + 1 = 17
//
// Nobody computes an address elsewhere: verifier, sizes, pictures, index
// operations, folds, lowerings and cost models are views of this class.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_AXISLIST_H
#define TESSERA_LAYOUT_AXISLIST_H

#include "tessera/Layout/IndexExpr.h"
#include "tessera/Layout/Shape.h"

namespace tessera {

/// A number of elements that is known, or `ceil(size of dim / divisor)` for an
/// unbounded dynamic dimension.
struct Extent {
  int64_t value = 1;   ///< kDynamic when it depends on a dimension's size.
  unsigned dim = 0;    ///< The logical dimension, when value is kDynamic.
  int64_t divisor = 1; ///< When value is kDynamic.

  bool isStatic() const { return value != kDynamic; }
  /// The number, where `sizes` are the logical sizes.
  int64_t evaluate(llvm::ArrayRef<int64_t> sizes) const;
};

/// One axis of memory.
struct Axis {
  /// Positions that it spans, padding included.
  Extent extent;
  /// Its index as an expression of the logical indices (variable i is
  /// dimension i). Its range() is the number of values that it really takes,
  /// at most the extent.
  IndexExpr index;
};

/// `index < limit`, one of the conditions under which a position holds an
/// element.
struct AxisCondition {
  IndexExpr index; ///< Over axis indices: variable i is axis i.
  Extent limit;
};

/// The way back from positions to elements.
struct InverseIndex {
  /// A logical index for each dimension, over axis indices.
  llvm::SmallVector<IndexExpr, 6> indices;
  /// All must hold, else the position is padding. Those that always hold are
  /// left out.
  llvm::SmallVector<AxisCondition, 6> conditions;
};

/// The axes of an array with a layout, most major first.
class AxisList {
public:
  /// The axes of `dimensions` (elements, kDynamic where unknown) under
  /// `layout`, which must satisfy Layout::verify and have as many dimensions.
  /// A dynamic dimension with an entry in `layout.bounds`, or with a width in
  /// PD, has static axes.
  ///
  /// Errors: *invalid* where a product of extents exceeds int64; *unsupported*
  /// where a `*` merges an axis whose extent is not known into another.
  static llvm::Expected<AxisList> get(llvm::ArrayRef<int64_t> dimensions,
                                      const Layout &layout);
  /// The axes of an array shape; `<=N` counts with its bound.
  static llvm::Expected<AxisList> get(const Shape &shape);
  /// The axes of an array whose dimensions all have a size or a bound. Errors:
  /// *invalid* where `shape` is no array, *unsupported* where it has a `?`.
  static llvm::Expected<AxisList> getStatic(const Shape &shape);

  llvm::ArrayRef<Axis> axes() const { return axisList; }
  size_t size() const { return axisList.size(); }
  const Axis &operator[](size_t i) const { return axisList[i]; }

  /// Logical sizes that it was made from: bounds in place of dynamic sizes that
  /// have them, else kDynamic.
  llvm::ArrayRef<int64_t> dimensions() const { return dims; }

  /// Whether every extent is known.
  bool isStatic() const;

  /// The extents, kDynamic where not known. Empty for an untiled scalar.
  llvm::SmallVector<int64_t, 8> physicalShape() const;

  /// Product of the extents, without L; kDynamic when not static.
  int64_t numPositions() const { return positions; }
  /// numPositions rounded up to L: elements of the buffer; kDynamic when not
  /// static.
  int64_t numAllocated() const { return allocated; }

  /// Distance in elements between neighbours along each axis; kDynamic where a
  /// more minor extent is not known.
  llvm::SmallVector<int64_t, 8> strides() const;

  /// Position in elements of a logical index, which must be within the
  /// dimensions and the list static.
  int64_t linearIndex(llvm::ArrayRef<int64_t> index) const;

  /// The index along each axis of a logical index.
  llvm::SmallVector<int64_t, 8>
  axisIndices(llvm::ArrayRef<int64_t> index) const;

  /// The logical index at `position` in [0, numAllocated), or nothing when
  /// that position is padding. The list must be static.
  std::optional<llvm::SmallVector<int64_t, 6>>
  logicalIndex(int64_t position) const;

  /// The same as expressions, for code generators.
  const InverseIndex &inverse() const { return inverseIndex; }

  /// The offset of a step of one along each dimension, in elements, when the
  /// linear index is a sum of index times stride (no axis splits a dimension of
  /// more than one element); nothing otherwise. A dimension of size 1 has the
  /// stride 0; a stride that depends on a size not known is kDynamic.
  std::optional<llvm::SmallVector<int64_t, 6>> logicalStrides() const;

  /// One line for each axis: `[i] extent E: expression`.
  void print(llvm::raw_ostream &os) const;

private:
  llvm::SmallVector<Axis, 8> axisList;
  llvm::SmallVector<int64_t, 6> dims;
  InverseIndex inverseIndex;
  int64_t positions = 1;
  int64_t allocated = 1;
};

/// The divisors at which the digits of `lists` split logical dimension `dim`,
/// increasing, without 1: for T(8,128)(2,1), {2, 8} of the row dimension.
struct DimensionSplit {
  llvm::SmallVector<int64_t, 4> divisors;
  /// Whether each divides the next, and every axis index that involves the
  /// dimension is a sum of digits: then a loop for each piece addresses with
  /// constant strides, without floordiv or mod.
  bool isChain = true;
};
DimensionSplit getSplit(unsigned dim, llvm::ArrayRef<const AxisList *> lists);
/// The same for expressions of the logical indices, such as axis indices.
DimensionSplit getSplit(unsigned dim, llvm::ArrayRef<IndexExpr> indices);

} // namespace tessera

#endif // TESSERA_LAYOUT_AXISLIST_H
