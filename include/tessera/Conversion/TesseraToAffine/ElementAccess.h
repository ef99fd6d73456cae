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

#include "tessera/Conversion/TesseraToAffine/BufferSizes.h"

#include "mlir/IR/AffineMap.h"

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
class ElementAccess : public BufferSizes {
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

  /// The type of loaded and stored elements.
  mlir::Type element() const { return elementType; }

  /// Whether positions depend on the dynamic sizes of the memref, which
  /// accesses then ask for: those of a flat buffer (E, L) where a size that is
  /// not known is no most major one.
  bool needsSizes() const;

  /// The position of the element at `logical` subscripts in the physical
  /// memref. floordiv and mod remain only where the ranges of the operands do
  /// not decide them.
  Subscripts getAxisSubscripts(mlir::OpBuilder &builder, mlir::Location loc,
                               const Subscripts &logical) const;

  /// The subscripts of that position in the physical memref, flat or not.
  /// `sizes` as below.
  Subscripts getPhysicalSubscripts(mlir::OpBuilder &builder, mlir::Location loc,
                                   const Subscripts &logical,
                                   mlir::ValueRange sizes = {}) const;

  /// Whether memory holds elements of their own type, each at an address.
  bool holdsElements() const {
    return !isPacked() && physicalType().getElementType() == elementType;
  }

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

private:
  ElementAccess(BufferSizes sizes, mlir::Type elementType)
      : BufferSizes(std::move(sizes)), elementType(elementType) {}

  Subscripts linearize(mlir::OpBuilder &builder, mlir::Location loc,
                       const Subscripts &axes, mlir::ValueRange sizes) const;
  mlir::Value toElement(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value stored) const;
  mlir::Value toStored(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value element) const;
  void storeInPhysical(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, mlir::Value memref,
                       const Subscripts &position) const;

  mlir::Type elementType;
};

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_ELEMENTACCESS_H
