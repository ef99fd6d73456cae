//===- LowerLayouts.cpp - From laid-out to physical memrefs ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/LowerLayouts.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tessera {
#define GEN_PASS_DEF_LOWERLAYOUTS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct LowerLayoutsPass : tessera::impl::LowerLayoutsBase<LowerLayoutsPass> {
  using LowerLayoutsBase::LowerLayoutsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkLowerable(module)))
      return signalPassFailure();
    if (stridedBoundaries)
      makeBoundariesStrided(module);
    AccessStatistics statistics = lowerAccesses(module);
    numAccesses += statistics.numAccesses;
    numSplitLoops += statistics.numSplitLoops;
    numOrderedNests += statistics.numOrderedNests;

    PhysicalTypeConverter converter;
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    populateLowerLayoutsPatterns(converter, patterns, target);
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
