//===- AxisList.h - A layout is a list of axes ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An AxisList maps the logical indices of an array to positions in its buffer,
// and back. It is the central data structure of Tessera: the verifier, sizes,
// pictures, index operations, folds, lowerings and cost models all derive from
// it, and no other code computes an address.
//
// The buffer is a row-major array over a list of *axes*, most major first. Each
// axis has an extent, in elements, and an index, which is an expression of the
// logical indices d0, d1, ... The position of an element is the mixed-radix
// number whose digits are the indices of all axes.
//
// The list is built in two steps:
//
//   1. It starts with one axis for each dimension, in the reversed order of
//      minor_to_major. PD replaces the extent of an axis by its padded width.
//   2. Each tile of T rewrites the minor end of the list. A size t splits the
//      axis x into `x floordiv t`, among the more major axes, and `x mod t`
//      among the more minor ones. `*` merges an axis into its more minor
//      neighbour: x and y become `x * extent(y) + y`.
//
// Example 1: a column-major matrix, f32[3,5]{0,1}
//
//   axis   extent   index
//     0       5      d1
//     1       3      d0
//
// Element (2,3) is at position 3 * 3 + 2 = 11. All 15 positions hold elements.
//
// Example 2: tiles of 2 x 2, f32[3,5]{1,0:T(2,2)}
//
//   axis   extent   index
//     0       2      d0 floordiv 2
//     1       3      d1 floordiv 2
//     2       2      d0 mod 2
//     3       2      d1 mod 2
//
// Element (2,3) has the axis indices (1, 1, 0, 1), and its position is
// ((1 * 3 + 1) * 2 + 0) * 2 + 1 = 17. There are 24 positions for 15 elements;
// the others are padding. The inverse mapping tells them apart: d0 is
// `a0 * 2 + a2` and d1 is `a1 * 2 + a3` of the axis indices, and a position
// holds an element if d0 < 3 and d1 < 5.
//
// Example 3: a tile of a tile, bf16[16,256]{1,0:T(8,128)(2,1)}
//
//   axis   extent   index
//     0       2      d0 floordiv 8
//     1       2      d1 floordiv 128
//     2       4      (d0 floordiv 2) mod 4
//     3     128      d1 mod 128
//     4       2      d0 mod 2
//     5       1      0
//
// The second tile, (2,1), splits the two most minor axes of the first one. Two
// rows are thereby interleaved, as TPUs pack elements of two bytes.
//
// Terms of the form `(i floordiv d) mod e` are the *digits* of a dimension.
// Where the divisors of all digits of a dimension divide one another (a
// *divisor chain*), a loop over each digit addresses memory by a constant
// stride; getSplit() returns these divisors, here {2, 8} for d0 and {128} for
// d1. Relayouts between two layouts loop over the digits of both.
//
// Extents are symbolic where a dimension is dynamic and has neither a bound nor
// a width in PD: `f32[?,5]{1,0:T(2,2)}` has the extent `ceil(size of d0 / 2)`.
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

/// Positions one behind another that all hold elements, or are all padding.
struct PositionRun {
  bool isPadding = false;
  int64_t count = 0;
};

/// The axes of an array with a layout, most major first.
class AxisList {
public:
  /// The axes of `dimensions` (elements, kDynamic where unknown) under
  /// `layout`, which must satisfy Layout::verify and have as many dimensions.
  /// A dimension with an entry in `layout.bounds` has the axes of one of that
  /// size; one with a width in PD has static axes, too.
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

  /// That position, and those of the indices behind it along `dim`, which may
  /// go beyond the dimension.
  IndexRun linearRun(llvm::ArrayRef<int64_t> index, unsigned dim) const;

  /// The index along each axis of a logical index.
  llvm::SmallVector<int64_t, 8>
  axisIndices(llvm::ArrayRef<int64_t> index) const;

  /// The logical index at `position` in [0, numAllocated), or nothing when
  /// that position is padding. The list must be static.
  std::optional<llvm::SmallVector<int64_t, 6>>
  logicalIndex(int64_t position) const;

  /// What is at `position` in [0, numAllocated), and at some positions behind
  /// it: at least 1, not always as many as there are.
  PositionRun positionRun(int64_t position) const;

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
