//===- ApproximateMath.cpp - Functions that vectorize ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Those of upstream's approximations that are within a few units in the last
/// place over all of f32, and right for infinities, NaN and zeros.
static bool isAccurate(StringRef name) {
  return llvm::is_contained(
      {math::ExpOp::getOperationName(), math::ExpM1Op::getOperationName(),
       math::LogOp::getOperationName(), math::Log1pOp::getOperationName(),
       math::ErfOp::getOperationName(), math::TanhOp::getOperationName()},
      name);
}

namespace {
struct ApproximateMathPass
    : tessera::impl::ApproximateMathBase<ApproximateMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, isAccurate);
    // Upstream's patterns leave out the encodings of tensors.
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isAccurate(op->getName().getStringRef()) &&
          !isa<TensorType>(op->getResult(0).getType()))
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    config.enableFolding(false);
    (void)applyOpPatternsGreedily(ops, std::move(patterns), config);
  }
};
} // namespace
