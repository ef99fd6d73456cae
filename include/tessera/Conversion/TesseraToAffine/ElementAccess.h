//===- ElementAccess.h - One element in its physical memref -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes one element of a laid-out memref in the physical memref that
// stands for it, whatever the layout: an access along the axes, along one flat
// axis (L), or to some bits of a byte (E).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_ELEMENTACCESS_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_ELEMENTACCESS_H

#include "tessera/Layout/AxisList.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tessera {

/// Subscripts of an access: the results of a map over operands. While the
/// operands are valid affine operands, accesses are those of the affine
/// dialect; else `map` is the identity and accesses are memref's.
struct Subscripts {
  mlir::AffineMap map;
  llvm::SmallVector<mlir::Value> operands;
  bool isAffine = true;

  /// Subscripts `map(operands)`; affine when all operands are valid dimensions
  /// or symbols at `op`, else the values are computed.
  static Subscripts get(mlir::OpBuilder &builder, mlir::Operation *op,
                        mlir::AffineMap map, mlir::ValueRange operands);

  /// The values of all subscripts.
  llvm::SmallVector<mlir::Value> materialize(mlir::OpBuilder &builder,
                                             mlir::Location loc) const;
};

/// How elements of memrefs of one type are reached.
class ElementAccess {
public:
  /// Errors: as of getPhysicalMemRefType and getAxisList; *unsupported* where
  /// elements that share bytes have a type without arithmetic (unsigned ones).
  static llvm::Expected<ElementAccess> get(mlir::MemRefType type);

  /// Elements of a type that need not be one of XLA's, such as i128, along
  /// `axes`, which are static. `storageBits` is below 8 and a power of two, or
  /// the width of `elementType`. Error: *invalid* for a buffer whose size in
  /// bits exceeds int64.
  static llvm::Expected<ElementAccess>
  get(AxisList axes, mlir::Type elementType, int64_t storageBits);

  mlir::MemRefType physicalType() const { return physical; }
  /// The type of loaded and stored elements.
  mlir::Type element() const { return elementType; }
  const AxisList &axes() const { return axisList; }

  /// Whether positions depend on the dynamic sizes of the memref, which
  /// accesses then ask for: those of a flat buffer (E, L) where a size that is
  /// not known is no most major one.
  bool needsSizes() const;

  /// Whether the buffer may be longer than its axes, by L.
  bool mayHaveTail() const { return tailPaddingAlignment > 1; }

  /// Positions of the buffer along the axes, and all of them (L), as values.
  mlir::Value buildNumPositions(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::ValueRange sizes) const;
  mlir::Value buildNumAllocated(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::ValueRange sizes) const;

  /// The position of the element at `logical` subscripts in the physical
  /// memref. floordiv and mod remain only where the ranges of the operands do
  /// not decide them.
  Subscripts getAxisSubscripts(mlir::OpBuilder &builder, mlir::Location loc,
                               const Subscripts &logical) const;

  /// Reads the element at `logical` from `memref`, which has the physical type.
  /// `sizes` are those of the dynamic dimensions, in order; here and below they
  /// may be left out unless needsSizes().
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value memref, const Subscripts &logical,
                   mlir::ValueRange sizes = {}) const;

  /// Writes it. Elements that share its byte are kept, by reading the byte
  /// first: no other thread may write to it meanwhile.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
             mlir::Value memref, const Subscripts &logical,
             mlir::ValueRange sizes = {}) const;

  /// The same for the position, padding or not, at `axes` subscripts.
  void storeAtAxes(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Value memref,
                   const Subscripts &axes, mlir::ValueRange sizes = {}) const;

  /// The same for the position number `position` of the buffer, which must be
  /// longer than its axes (L).
  void storeAtPosition(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, mlir::Value memref,
                       const Subscripts &position) const;

  /// The distance of elements that are neighbours in the buffer.
  int64_t bits() const { return storageBits; }
  /// Whether elements share bytes.
  bool isPacked() const { return storageBits < 8; }

private:
  explicit ElementAccess(AxisList axes) : axisList(std::move(axes)) {}

  mlir::Value buildExtent(mlir::OpBuilder &builder, mlir::Location loc,
                          const Extent &extent, mlir::ValueRange sizes) const;
  Subscripts linearize(mlir::OpBuilder &builder, mlir::Location loc,
                       const Subscripts &axes, mlir::ValueRange sizes) const;
  mlir::Value toElement(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value stored) const;
  mlir::Value toStored(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value element) const;
  void storeInPhysical(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, mlir::Value memref,
                       const Subscripts &position) const;

  AxisList axisList;
  mlir::MemRefType physical;
  mlir::Type elementType;
  int64_t storageBits = 0;
  /// L, where the number of positions is not known.
  int64_t tailPaddingAlignment = 1;
  /// The dynamic dimensions of the memref.
  llvm::SmallVector<unsigned> dynamicDims;
  /// Whether the physical memref has one axis in place of the list.
  bool isFlat = false;
};

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_ELEMENTACCESS_H
