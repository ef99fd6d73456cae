//===- LayoutUtils.h - Layouts of MLIR's types ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between MLIR's types and the values of the layout library. Whoever wants to
// know where the elements of a tensor or memref lie asks here; errors are
// LayoutErrors, given to users by emitLayoutError.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_LAYOUTUTILS_H
#define TESSERA_DIALECT_TESSERA_IR_LAYOUTUTILS_H

#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace tessera {

//===--- Errors -----------------------------------------------------------===//

/// Emits the message of `error`, which must be one, and returns failure.
mlir::LogicalResult
emitLayoutError(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                llvm::Error error);

/// Drops what its thread diagnoses while it lives, and makes the diagnostics to
/// drop: for a question whose answer may be no. (Verifiers may not be given an
/// inactive diagnostic: they write to it.)
class SilentDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  explicit SilentDiagnostics(mlir::MLIRContext *context);
  mlir::InFlightDiagnostic operator()() const;

private:
  mlir::Location location;
};

//===--- Element types ----------------------------------------------------===//

/// XLA's name for an element type. Error: *unsupported* for a type that is not
/// in the table of the dialect's description.
llvm::Expected<PrimitiveType> getPrimitiveType(mlir::Type elementType);

/// The element type of that name; null for token and opaque.
mlir::Type getElementType(mlir::MLIRContext *context, PrimitiveType type);

//===--- Layouts ----------------------------------------------------------===//

/// The layout of a ranked tensor or memref if its type has one that takes part;
/// null otherwise (none, strided, an affine map, a foreign attribute).
LayoutAttrInterface getLayoutAttr(mlir::Type type);

/// A memref whose elements lie at strides that upstream's types say: not in
/// row-major order from the start of the buffer, and without a layout that
/// takes part. Null for every other type.
mlir::MemRefType getStridedMemRef(mlir::Type type);

/// The dimensions whose sizes nothing in the type limits: dynamic and without a
/// bound in the layout.
llvm::SmallVector<unsigned> getUnboundedDims(mlir::ShapedType type);

/// The layout of a ranked tensor or memref in XLA's notation, with the memory
/// space of a memref as S. A type without one is laid out in descending order.
/// Errors: *unsupported* for layouts that have no such form and for memory
/// spaces that are not numbers.
llvm::Expected<Layout> getLayout(mlir::ShapedType type);

/// The shape in XLA's notation; bounds of the layout become `<=N`. Errors as of
/// getLayout and getPrimitiveType.
llvm::Expected<Shape> getShape(mlir::ShapedType type);

/// The tensor type of an array shape, bounds in its layout. An explicit layout
/// stays explicit. Null for other kinds of shapes.
mlir::RankedTensorType getTensorType(mlir::MLIRContext *context,
                                     const Shape &shape);

/// The axes of memory of a ranked tensor or memref; of a strided memref
/// *unsupported*.
llvm::Expected<AxisList> getAxisList(mlir::ShapedType type);

/// Bits between neighbouring elements in the buffer. Errors as of
/// getPrimitiveType.
llvm::Expected<int64_t> getStorageBits(mlir::ShapedType type);

/// Bytes of the buffer of a ranked tensor or memref; kDynamic where they depend
/// on sizes. Errors as of getAxisList and getStorageBits; *invalid* on
/// overflow.
llvm::Expected<int64_t> getStorageBytes(mlir::ShapedType type);

/// L of the layout: the elements of a buffer are a multiple of it. 1 without a
/// layout, or where it has no such form.
int64_t getTailPaddingAlignment(mlir::ShapedType type);

/// What all padding of the buffer holds, if anything is promised.
std::optional<PaddingValue> getPaddingValue(mlir::ShapedType type);

/// The rules of a layout against dimensions and element type.
mlir::LogicalResult
verifyLayout(const Layout &layout, PrimitiveType type,
             llvm::ArrayRef<int64_t> dimensions,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The same of the layout of a type that has one. The verifier of a tensor type
/// has done so already; that of a memref knows no element type.
mlir::LogicalResult
verifyLayout(mlir::ShapedType type,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Whether nothing in a layout is left out by the lowerings. Error:
/// *unsupported* for SC, M, and widths E other than the type's own or whole
/// bytes that hold it, up to 128 bits.
llvm::Error checkSupported(const Layout &layout, PrimitiveType type);

//===--- Memory spaces ----------------------------------------------------===//

/// The number of a memref's memory space or of S(n) of a tensor's layout. A
/// memory space may be `#tessera.memory_space<n>`, an integer, or absent (0).
/// Error: *unsupported* for other attributes.
llvm::Expected<int64_t> getMemorySpaceNumber(mlir::ShapedType type);

/// The memory space of a memref in space `number`; null for 0.
mlir::Attribute getMemorySpace(mlir::MLIRContext *context, int64_t number);

//===--- Memrefs ----------------------------------------------------------===//

/// The memref of the same bytes as a tensor: its layout without the space, its
/// space as memory space. A tensor without a layout gives a memref without one.
llvm::Expected<mlir::MemRefType> getMemRefType(mlir::RankedTensorType type);

/// The memref that is really allocated: identity layout, the same memory space,
/// the extents of the axes as its shape and the same element type; but
///   - a flat memref of all allocated elements when L adds a tail, or may add
///     one (dynamic sizes),
///   - a flat memref of bytes (`i8`) when elements share bytes by E,
///   - integers of the storage width when E is a wider container of whole
///     bytes.
/// A memref without a layout is its own physical memref. Errors: as of
/// getAxisList and checkSupported.
llvm::Expected<mlir::MemRefType> getPhysicalMemRefType(mlir::MemRefType type);

/// What loops over the elements of a memref need to know of its type.
struct StoredArray {
  /// Those of the layout; of a strided memref the dimensions, for its type says
  /// where an index is.
  AxisList axes;
  /// The physical memref, or the strided one itself.
  mlir::MemRefType physical;
  /// Between neighbouring elements in the buffer.
  int64_t bits;
  bool isStrided;
};

/// Errors: as of getPhysicalMemRefType, getAxisList and getStorageBits.
llvm::Expected<StoredArray> getStoredArray(mlir::MemRefType type);

//===--- Affine expressions -----------------------------------------------===//

/// `expr` with `variables[i]` in place of variable i.
mlir::AffineExpr toAffineExpr(const IndexExpr &expr,
                              llvm::ArrayRef<mlir::AffineExpr> variables,
                              mlir::MLIRContext *context);

/// `expr` or `map` without a remainder that is divided again, as in
/// `(d0 mod 3) floordiv 2`. The value stays. Upstream's canonicalizer takes
/// `least mod 3` for the least value of `d0 mod 3`, also where a multiple of 3
/// follows `least`, and so folds some of these divisions to wrong constants.
/// Whatever we emit goes through here.
mlir::AffineExpr separateRemainders(mlir::AffineExpr expr);
mlir::AffineMap separateRemainders(mlir::AffineMap map);

/// The map from logical indices to axis indices.
mlir::AffineMap getAffineMap(const AxisList &axes, mlir::MLIRContext *context);

/// Whether the innermost operation around `op` that is isolated from above is a
/// function: loops elsewhere have no form in LLVM.
bool isInFunction(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_IR_LAYOUTUTILS_H
