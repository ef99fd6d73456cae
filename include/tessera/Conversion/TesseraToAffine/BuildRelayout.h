//===- BuildRelayout.h - The loops of a relayout ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_BUILDRELAYOUT_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_BUILDRELAYOUT_H

#include "tessera/Conversion/TesseraToAffine/ElementAccess.h"
#include "tessera/Conversion/TesseraToAffine/LoopNest.h"

namespace mlir::affine {
class AffineForOp;
} // namespace mlir::affine

namespace tessera {

/// One side of a relayout: its physical memref and how to reach elements in it.
struct RelayoutSide {
  const ElementAccess &access;
  mlir::Value memref;
  /// The sizes of the dimensions that are dynamic on this side.
  llvm::SmallVector<mlir::Value> sizes = {};
};

/// Logical sizes: kDynamic in `sizes` where `values` has the number, in order.
/// Where a value is no valid affine symbol, loops are those of scf.
struct RelayoutSizes {
  llvm::ArrayRef<int64_t> sizes;
  mlir::ValueRange values;
};

/// Makes the element that is written from the one that was read.
using ConvertElementFn = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::Value)>;

/// Builds affine loops that copy every element of `source` to its position in
/// `destination`; the buffers must not overlap. Padding is not written.
void buildElementCopy(mlir::OpBuilder &builder, mlir::Location loc,
                      const RelayoutSide &source,
                      const RelayoutSide &destination, RelayoutSizes sizes,
                      ConvertElementFn convert = nullptr,
                      LoopNestOptions options = {});

/// Builds affine loops that write `value`, an element, to all padding of
/// `destination`, the tail that L adds included, and to nothing else.
void buildPaddingFill(mlir::OpBuilder &builder, mlir::Location loc,
                      const RelayoutSide &destination, RelayoutSizes sizes,
                      mlir::Value value, LoopNestOptions options = {});

/// Makes one of the loops of a perfect nest, outermost first, parallel if
/// `options` have threads: the outermost whose iterations are shared evenly.
/// Each iteration of the nest must write an element of its own in a buffer of
/// `access`. Left as they are: nests of few bytes or of sizes that are not
/// known, and packed elements, as threads would write to the same bytes.
void parallelizeLoops(llvm::ArrayRef<mlir::affine::AffineForOp> loops,
                      const ElementAccess &access, LoopNestOptions options);

/// Whether there may be a position for buildPaddingFill to write.
bool mayHavePadding(const AxisList &list);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_BUILDRELAYOUT_H
