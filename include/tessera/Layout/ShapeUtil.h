//===- ShapeUtil.h - Building and changing shapes ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What users of XLA's ShapeUtil know, under the same names. Sizes in memory are
// in Size.h and byte identity in Bitcast.h; XLA's own answers to both are in
// XlaCompat.h.
//
// Dimension numbers may be negative: -1 is the last one. Functions return an
// error for a dimension that the shape has not, for shapes that are no arrays
// where only arrays make sense, and for results that violate a rule of the
// notation. Fields of a layout that belong to a dimension (PD, SC) go with it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_SHAPEUTIL_H
#define TESSERA_LAYOUT_SHAPEUTIL_H

#include "tessera/Layout/Shape.h"

namespace tessera {
namespace shape_util {

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

/// `makeShape(PrimitiveType::F32, {2, 3})`: an array in descending order.
/// `dynamic` says which sizes are bounds; it is empty or has an entry for each.
llvm::Expected<Shape> makeShape(PrimitiveType type,
                                llvm::ArrayRef<int64_t> dimensions,
                                llvm::ArrayRef<bool> dynamic = {});

/// An array in the order of `minorToMajor` with `tiles`.
llvm::Expected<Shape>
makeShapeWithDenseLayout(PrimitiveType type, llvm::ArrayRef<int64_t> dimensions,
                         llvm::ArrayRef<int64_t> minorToMajor,
                         llvm::ArrayRef<Tile> tiles = {});

/// The shape whose dimensions are those of `shape` in physical order, so that
/// a descending layout describes the same memory. T, L, E, S, M and dynamic
/// flags stay; SC, which counts physical dimensions, does too.
llvm::Expected<Shape>
makeShapeWithDescendingLayoutAndSamePhysicalLayout(const Shape &shape);

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The number of the dimension that `dim` means: from the end when negative.
llvm::Expected<int64_t> getDimensionNumber(const Shape &shape, int64_t dim);
/// Its size in elements; kDynamic where unbounded.
llvm::Expected<int64_t> getDimension(const Shape &shape, int64_t dim);

/// Dimensions of a size other than 1: 0 counts (XLA's rule).
int64_t trueNumDimensions(const Shape &shape);
bool hasDegenerateDimensions(const Shape &shape);
bool isZeroElementArray(const Shape &shape);

/// Product of the sizes, bounds for dynamic ones. An error on overflow and for
/// unbounded dimensions.
llvm::Expected<int64_t> elementsIn(const Shape &shape);

//===----------------------------------------------------------------------===//
// Equality
//===----------------------------------------------------------------------===//

/// What ShapeEqual leaves out (XLA's Shape::Equal switches).
struct ShapeEqual {
  bool ignoreLayout = false;
  bool ignoreElementType = false;
  /// All floating-point types count as one.
  bool ignoreFpPrecision = false;
  /// `<=8` and `8` are equal.
  bool ignoreDynamicDimensions = false;
  /// Only ranks are compared.
  bool ignoreDimensions = false;
  /// What is compared of layouts.
  LayoutEqual layout;

  bool operator()(const Shape &lhs, const Shape &rhs) const;
};

/// Equal but for layouts and dynamic flags; and besides for element types.
bool compatible(const Shape &lhs, const Shape &rhs);
bool compatibleIgnoringElementType(const Shape &lhs, const Shape &rhs);
bool compatibleIgnoringFpPrecision(const Shape &lhs, const Shape &rhs);
bool equalIgnoringFpPrecision(const Shape &lhs, const Shape &rhs);
bool equalIgnoringElementType(const Shape &lhs, const Shape &rhs);

/// Whether two arrays have the same dimensions, or the same rank.
bool sameDimensions(const Shape &lhs, const Shape &rhs);
bool sameRank(const Shape &lhs, const Shape &rhs);

//===----------------------------------------------------------------------===//
// Changes of dimensions; the memory stays what it is
//===----------------------------------------------------------------------===//

/// The shape with dim[i] = old dim[permutation[i]], in an order that leaves
/// every element where it is.
llvm::Expected<Shape> permuteDimensions(llvm::ArrayRef<int64_t> permutation,
                                        const Shape &shape);

/// The shape without those dimensions. Tiles stay, even if they are then longer
/// than the rank.
llvm::Expected<Shape> deleteDimensions(llvm::ArrayRef<int64_t> dims,
                                       const Shape &shape);
llvm::Expected<Shape> deleteDimension(int64_t dim, const Shape &shape);
/// Without all dimensions of size 1.
llvm::Expected<Shape> dropDegenerateDimensions(const Shape &shape);

/// The shape with a dimension of `size` elements put before logical dimension
/// `dim` (rank: behind the last), at physical position `physical`, 0 =
/// slowest. Negative numbers count from behind: -1 is behind the last.
llvm::Expected<Shape> insertDimension(int64_t dim, int64_t size,
                                      int64_t physical, const Shape &shape);
/// A first dimension that varies slowest; a last one that varies fastest.
llvm::Expected<Shape> prependMajorDimension(int64_t size, const Shape &shape);
llvm::Expected<Shape> appendMinorDimension(int64_t size, const Shape &shape);

/// The shape with `dim` varying slowest (this one moves memory).
llvm::Expected<Shape> moveDimToMajor(const Shape &shape, int64_t dim);

//===----------------------------------------------------------------------===//
// Changes of fields, in every array of a tuple
//===----------------------------------------------------------------------===//

/// Another element type; E is cleared unless the type is narrower than a byte
/// and not pred.
llvm::Expected<Shape> changeElementType(const Shape &shape, PrimitiveType type);

/// E as wide as the type where that is narrower than a byte and not pred and
/// `packSubByteTypes`, else no E.
Shape updateElementSizeInBits(const Shape &shape, bool packSubByteTypes);

/// The shape as the host keeps it: without T, S, E, L and M. SC, PD and PV
/// stay.
Shape deviceShapeToHostShape(const Shape &shape);

//===----------------------------------------------------------------------===//
// Reshapes, seen from their dimensions alone
//===----------------------------------------------------------------------===//

/// Pairs (dimension of `from`, dimension of `to`) that the row-major reshape
/// from one to the other leaves as they are: the sizes agree, and so do the
/// numbers of elements before and behind them. Increasing; dimensions of size 1
/// are paired where they meet. An error where the shapes have different
/// numbers of elements.
llvm::Expected<llvm::SmallVector<std::pair<int64_t, int64_t>, 6>>
dimensionsUnmodifiedByReshape(const Shape &from, const Shape &to);

/// The dimensions of `to` that `dims` (of `from`, increasing) become, or
/// nothing if the reshape changes one of them.
llvm::Expected<std::optional<llvm::SmallVector<int64_t, 6>>>
reshapeLeavesDimensionsUnmodified(const Shape &from, const Shape &to,
                                  llvm::ArrayRef<int64_t> dims);

/// Dimensions of size 1 that a reshape takes away or puts in, when it does
/// nothing else.
struct OneSizedDimensions {
  llvm::SmallVector<int64_t, 6> deleted;  ///< Of `from`.
  llvm::SmallVector<int64_t, 6> inserted; ///< Of `to`.
};
std::optional<OneSizedDimensions>
insertedOrDeleted1SizedDimensions(const Shape &from, const Shape &to);

} // namespace shape_util
} // namespace tessera

#endif // TESSERA_LAYOUT_SHAPEUTIL_H
