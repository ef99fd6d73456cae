//===- LayoutUtil.h - Building and asking layouts ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What users of XLA's LayoutUtil know, under the same names. Functions that
// take a Layout expect one that satisfies Layout::verify.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_LAYOUTUTIL_H
#define TESSERA_LAYOUT_LAYOUTUTIL_H

#include "tessera/Layout/Shape.h"

namespace tessera {
namespace layout_util {

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

/// The layout of that order and those tiles. An error (layout_c1 to layout_c4)
/// where there is none.
llvm::Expected<Layout> makeLayout(llvm::ArrayRef<int64_t> minorToMajor,
                                  llvm::ArrayRef<Tile> tiles = {});
/// The same from the slowest varying dimension to the fastest.
llvm::Expected<Layout>
makeLayoutFromMajorToMinor(llvm::ArrayRef<int64_t> majorToMinor);

/// `{rank-1,...,0}`, the default of XLA, and `{0,...,rank-1}`; rank >= 0.
Layout makeDescendingLayout(int64_t rank);
Layout makeAscendingLayout(int64_t rank);

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Whether the order is descending (row-major), or ascending.
bool isMonotonicWithDim0Major(const Layout &layout);
bool isMonotonicWithDim0Minor(const Layout &layout);

/// The dimension in physical position `i`, counted from the fastest varying
/// one, or from the slowest.
int64_t minor(const Layout &layout, int64_t i);
int64_t major(const Layout &layout, int64_t i);

/// For each logical dimension its physical position, 0 = slowest: the inverse
/// of the reversed minor_to_major.
llvm::SmallVector<int64_t, 6> makeLogicalToPhysical(const Layout &layout);

/// Whether only dimensions of size 1 vary slower than `dim`. -1 is the last
/// dimension; an error for one that the shape has not.
llvm::Expected<bool> isEffectivelyMostMajorDimension(const Shape &shape,
                                                     int64_t dim);

/// `layout` with `dim` varying slowest; the order of the others is kept, and so
/// is everything else.
llvm::Expected<Layout> moveDimToMajor(const Layout &layout, int64_t dim);

//===----------------------------------------------------------------------===//
// Whole shapes
//===----------------------------------------------------------------------===//

/// Whether every array has a layout.
bool hasLayout(const Shape &shape);
/// Every layout taken away, or set to the descending one.
void clearLayout(Shape &shape);
void setToDefaultLayout(Shape &shape);

/// Whether the shapes have the same structure and ranks, and layouts that are
/// equal under `equal`. Sizes and types are not compared.
bool layoutsInShapesEqual(const Shape &lhs, const Shape &rhs,
                          const LayoutEqual &equal = {});

/// Elements of `dim` in the largest piece that SC makes of it; its size where
/// SC does not split it. Dimensions as in shape_util::getDimension.
llvm::Expected<int64_t> maxSplitSize(const Shape &shape, int64_t dim);
/// The product of that over all dimensions. (Without tiles, as in XLA.)
llvm::Expected<int64_t> maxElementsInPerSplit(const Shape &shape);

/// How many elements of a one-dimensional array share a word: for three tiles
/// of which the third has two sizes, as T(1024)(128)(2,1), its first size;
/// else 1.
int64_t packedFactorFor1DInterleavedArray(const Layout &layout);

} // namespace layout_util
} // namespace tessera

#endif // TESSERA_LAYOUT_LAYOUTUTIL_H
