//===- AxisArithmetic.h - Positions and sizes as IR -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A position is the mixed-radix number whose digits are the axis indices. Where
// all extents are constants it is one affine map of the logical indices; where
// some depend on sizes, strides are values:
//
//   memref<?x?xf32, #tessera.layout<{1,0:T(8,128)}>> of sizes m, n, at (i, j)
//
//     extents   ceil(m / 8), ceil(n / 128), 8, 128
//     strides   1024 * ceil(n / 128), 1024, 128, 1
//     position  (i floordiv 8) * stride                        arith.muli
//               + affine.apply((j floordiv 128) * 1024
//                              + (i mod 8) * 128 + j mod 128)
//
// Upstream's computeStridesIRBlock and computeLinearIndex write products of two
// values as semi-affine maps of symbols. Sizes here need not be symbols: a loop
// may carry the memref that they are of.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_AXISARITHMETIC_H
#define TESSERA_DIALECT_TESSERA_IR_AXISARITHMETIC_H

#include "tessera/Layout/AxisList.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace tessera {

/// Emits index arithmetic, affine and arith, on the axes of one array. Results
/// that are known are attributes.
class AxisArithmetic {
public:
  /// `sizes` are those of the logical dimensions `dims`; extents may depend on
  /// no others.
  AxisArithmetic(mlir::OpBuilder &builder, mlir::Location loc,
                 const AxisList &axes, llvm::ArrayRef<unsigned> dims,
                 mlir::ValueRange sizes);

  mlir::OpFoldResult getExtent(const Extent &extent) const;
  /// The positions of the axes.
  mlir::OpFoldResult countPositions() const {
    return countPositions(getStrides());
  }
  /// The positions of the buffer, when `alignment` is its L.
  mlir::OpFoldResult countAllocated(int64_t alignment) const;

  /// The position of an element.
  mlir::OpFoldResult linearize(mlir::ValueRange indices) const;
  /// The position at an index along each axis.
  mlir::OpFoldResult linearizeAxes(mlir::ValueRange axisIndices) const;
  /// The logical index at a position; `valid` says whether there is one.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value position,
                                             mlir::Value &valid) const;

  /// `expr` over `operands` as dimensions, folded if it is a constant.
  mlir::OpFoldResult apply(mlir::AffineExpr expr,
                           llvm::ArrayRef<mlir::OpFoldResult> operands) const;
  mlir::Value toValue(mlir::OpFoldResult result) const;

private:
  mlir::AffineExpr dim(unsigned i) const { return builder.getAffineDimExpr(i); }
  /// The position at axis indices that are expressions over `operands`.
  mlir::OpFoldResult
  linearize(llvm::ArrayRef<mlir::AffineExpr> axisIndices,
            llvm::ArrayRef<mlir::OpFoldResult> operands) const;
  /// a * b, folded.
  mlir::OpFoldResult multiply(mlir::OpFoldResult a, mlir::OpFoldResult b) const;
  /// The index along an axis at a position.
  mlir::OpFoldResult getDigit(mlir::Value position, size_t axis,
                              mlir::OpFoldResult stride) const;
  /// Distances between neighbours along each axis.
  llvm::SmallVector<mlir::OpFoldResult> getStrides() const;
  mlir::OpFoldResult
  countPositions(llvm::ArrayRef<mlir::OpFoldResult> strides) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const AxisList &axes;
  /// By logical dimension; null where no extent asks for it.
  llvm::SmallVector<mlir::Value> sizeOfDim;
};

/// The sizes of an array of `shape` with as many elements as one of
/// `sourceSizes`. At most one dimension is dynamic, and then no size is 0.
llvm::SmallVector<mlir::OpFoldResult>
buildReshapedSizes(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::ArrayRef<mlir::OpFoldResult> sourceSizes,
                   llvm::ArrayRef<int64_t> shape);

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_IR_AXISARITHMETIC_H
