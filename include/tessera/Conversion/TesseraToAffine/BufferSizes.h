//===- BufferSizes.h - Sizes of physical memrefs as IR ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_BUFFERSIZES_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_BUFFERSIZES_H

#include "tessera/Dialect/Tessera/IR/AxisArithmetic.h"

#include "mlir/IR/BuiltinTypes.h"

namespace tessera {

/// How the dynamic sizes of a memref with a layout determine its physical
/// memref:
///
///   memref<?x5xf32, #tessera.layout<{1,0:T(2,2)}>> of size n
///     physical memref<?x3x2x2xf32> of size ceil(n / 2)
///   memref<?xi4, #tessera.layout<{0:E(4)}>> of size n
///     physical memref<?xi8> of size ceil(n / 2), two elements a byte
///
/// Functions take the sizes of all dynamic dimensions, in order.
class BufferSizes {
public:
  static llvm::Expected<BufferSizes> get(mlir::MemRefType type);
  /// Those of an array whose extents are all known.
  BufferSizes(AxisList axes, mlir::MemRefType physical, int64_t storageBits,
              bool isFlat)
      : axisList(std::move(axes)), physical(physical), storageBits(storageBits),
        hasOneAxis(isFlat) {}

  const AxisList &axes() const { return axisList; }
  mlir::MemRefType physicalType() const { return physical; }
  /// The distance of elements that are neighbours in the buffer.
  int64_t bits() const { return storageBits; }
  /// Whether elements share bytes.
  bool isPacked() const { return storageBits < 8; }
  /// Whether the physical memref has one axis in place of the list.
  bool isFlat() const { return hasOneAxis; }
  /// Whether the buffer may be longer than its axes, by L.
  bool mayHaveTail() const { return tailPaddingAlignment > 1; }

  /// Arithmetic on the axes, for the extents of a memref of these sizes.
  AxisArithmetic getArithmetic(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::ValueRange sizes) const {
    return AxisArithmetic(builder, loc, axisList, dynamicDims, sizes);
  }
  /// Positions of the whole buffer (L).
  mlir::OpFoldResult countAllocated(mlir::OpBuilder &builder,
                                    mlir::Location loc,
                                    mlir::ValueRange sizes) const {
    return getArithmetic(builder, loc, sizes)
        .countAllocated(tailPaddingAlignment);
  }
  /// The dynamic sizes of the physical memref.
  llvm::SmallVector<mlir::Value>
  buildPhysicalSizes(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::ValueRange sizes) const;

protected:
  AxisList axisList;
  mlir::MemRefType physical;
  int64_t storageBits;

private:
  bool hasOneAxis;
  /// L, where the number of positions is not known.
  int64_t tailPaddingAlignment = 1;
  /// The dynamic dimensions of the memref.
  llvm::SmallVector<unsigned> dynamicDims;
};

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_BUFFERSIZES_H
