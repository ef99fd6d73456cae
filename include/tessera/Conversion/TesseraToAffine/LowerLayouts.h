//===- LowerLayouts.h - From laid-out to physical memrefs -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of --tessera-lower-layouts, for pipelines of others: first the
// accesses (in place, types unchanged), then the types.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOAFFINE_LOWERLAYOUTS_H
#define TESSERA_CONVERSION_TESSERATOAFFINE_LOWERLAYOUTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tessera {

/// The type as a memref with a layout attribute that takes part; null for
/// every other type.
mlir::MemRefType getLaidOutMemRef(mlir::Type type);

/// Whether the operation makes, passes on or views laid-out memrefs whole, and
/// so is rewritten with its types and not before.
bool isConvertedByType(mlir::Operation *op);

/// The memref with static strides that a laid-out one is, where its layout has
/// nothing but an order of dimensions that is not row-major; null for others.
mlir::MemRefType getDenseStridedType(mlir::Type type);

/// Gives functions that are only called, and calls of them, such memrefs for
/// arguments and results, by casts.
void makeBoundariesStrided(mlir::ModuleOp module);

struct AccessStatistics {
  int64_t numAccesses = 0;
  int64_t numSplitLoops = 0;
  int64_t numOrderedNests = 0;
};

/// Whether lowerAccesses and the type conversion can take everything below
/// `root`. If not, emits *unsupported* at each operation that they can't.
mlir::LogicalResult checkLowerable(mlir::Operation *root);

/// Makes every load and store of a laid-out memref below `root` one of its
/// tessera.physical_view, with loops split at the tile sizes, and gives views
/// of untiled ones to operations that take strided memrefs. checkLowerable must
/// have succeeded.
AccessStatistics lowerAccesses(mlir::Operation *root);

/// Converts a laid-out memref to its physical memref, followed by an index for
/// each dynamic dimension.
class PhysicalTypeConverter : public mlir::TypeConverter {
public:
  PhysicalTypeConverter();
};

/// Patterns for the operations that make, pass on, and view laid-out memrefs,
/// function boundaries included, and the legality that goes with them.
/// `converter` must outlive both.
void populateLowerLayoutsPatterns(const PhysicalTypeConverter &converter,
                                  mlir::RewritePatternSet &patterns,
                                  mlir::ConversionTarget &target);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOAFFINE_LOWERLAYOUTS_H
