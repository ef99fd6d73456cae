//===- LowerRelayouts.h - Relayouts as affine loops -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_LOWERRELAYOUTS_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_LOWERRELAYOUTS_H

#include "tessera/Conversion/TesseraToAffine/BuildRelayout.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Whether `op` moves elements between layouts or writes padding, in memory: a
/// tessera.relayout with a destination, a memref.copy between layouts, or a
/// tessera.fill_padding.
bool isLoweredRelayout(mlir::Operation *op);

/// Whether loops can be built for such an operation. If not, emits
/// *unsupported* at it.
mlir::LogicalResult checkRelayoutLowerable(mlir::Operation *op);

/// The value that the padding of a memref of `elementType` is filled with. One
/// that arith has no constant of (complex, unsigned) is read from a constant
/// global, which is made in the module of the insertion point.
mlir::Value buildPaddingValue(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Type elementType, PaddingValue value);

/// Replaces such an operation by affine loops over the physical memrefs of its
/// operands. checkRelayoutLowerable must have succeeded.
void lowerRelayout(mlir::RewriterBase &rewriter, mlir::Operation *op,
                   LoopNestOptions options = {});

/// The same as a pattern. It makes globals, so it is for module passes.
void populateLowerRelayoutsPatterns(mlir::RewritePatternSet &patterns,
                                    LoopNestOptions options = {});

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_LOWERRELAYOUTS_H
