//===- Simplify.cpp - Simpler kernels, and fewer loops for them -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tessera;

void mosaic::expandQuotients(ModuleOp kernel) {
  SmallVector<Operation *> quotients;
  kernel->walk([&](Operation *op) {
    if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
      quotients.push_back(op);
  });
  RewritePatternSet patterns(kernel.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  // Nothing else changes.
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps)
      .enableFolding(false)
      .enableConstantCSE(false);
  (void)applyOpPatternsGreedily(quotients, std::move(patterns), config);
}

/// Whether the consumer reads each element once, or the producer computes
/// nothing.
static bool isFusedForFree(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer)
    return false;
  bool isMove = llvm::hasSingleElement(*producer.getBody());
  bool isElementwise = consumer.getNumReductionLoops() == 0;
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  return producer->hasOneUse() &&
         (map.isPermutation() || (isMove && isElementwise));
}

void mosaic::simplifyFunction(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet toLoops(context), fusion(context);
  linalg::populateElementwiseToLinalgConversionPatterns(toLoops);
  (void)applyPatternsGreedily(module, std::move(toLoops));
  linalg::populateElementwiseOpsFusionPatterns(fusion, isFusedForFree);
  (void)applyPatternsGreedily(module, std::move(fusion));
  IRRewriter rewriter(context);
  DominanceInfo dominance(module);
  eliminateCommonSubExpressions(rewriter, dominance, module);
}
