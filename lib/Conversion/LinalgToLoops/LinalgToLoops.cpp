//===- LinalgToLoops.cpp - Loops that are affine where they can be --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"
#include "tessera/Conversion/TesseraToAffine/OrderLoops.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera {
#define GEN_PASS_DEF_LINALGTOLOOPS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Whether an affine loop at `op` may be bounded by the size of a dimension.
static bool isValidBound(IRRewriter &rewriter, Operation *op, Value memref,
                         int64_t dim) {
  // Only the rules of the affine dialect know, and they look at operations.
  auto size = memref::DimOp::create(rewriter, op->getLoc(), memref, dim);
  bool isValid = affine::isValidDim(size, affine::getAffineScope(op));
  Value index = size.getIndex();
  rewriter.eraseOp(size);
  rewriter.eraseOp(index.getDefiningOp());
  return isValid;
}

/// Whether all sizes that loops over `op` may need are known or symbols.
static bool hasAffineBounds(IRRewriter &rewriter, linalg::LinalgOp op) {
  rewriter.setInsertionPoint(op);
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim) && !isValidBound(rewriter, op, operand, dim))
        return false;
  }
  return true;
}

/// Makes loop variables dimensions where they stand as symbols: what they were
/// before, indices of linalg, upstream simplifies so.
static void repairSymbols(Operation *loop) {
  loop->walk([&](affine::AffineApplyOp apply) {
    AffineMap map = apply.getAffineMap();
    Region *scope = affine::getAffineScope(apply);
    auto isSymbol = [&](Value operand) {
      return affine::isValidSymbol(operand, scope);
    };
    if (llvm::all_of(apply.getSymbolOperands(), isSymbol))
      return;
    SmallVector<AffineExpr> dims;
    for (unsigned i = 0; i < map.getNumSymbols(); ++i)
      dims.push_back(
          getAffineDimExpr(map.getNumDims() + i, apply.getContext()));
    apply.setMap(map.replaceDimsAndSymbols({}, dims, map.getNumInputs(), 0));
  });
}

/// Marks the loops of an operation on arrays with layouts that may run in the
/// order of memory, which is known once layouts are lowered.
static void markOrder(linalg::LinalgOp op, ArrayRef<Operation *> loops) {
  auto isLaidOut = [](Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    return memref && getLayoutAttr(memref);
  };
  if (op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::any_of(op->getOperandTypes(), isLaidOut))
    return;
  for (Operation *loop : loops)
    loop->setAttr(kHasAnyOrder, UnitAttr::get(loop->getContext()));
}

namespace {
struct LinalgToLoopsPass : tessera::impl::LinalgToLoopsBase<LinalgToLoopsPass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics())
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      bool isAffine = hasAffineBounds(rewriter, op);
      rewriter.setInsertionPoint(op);
      auto loops = isAffine ? linalg::linalgOpToAffineLoops(rewriter, op)
                            : linalg::linalgOpToLoops(rewriter, op);
      // What has no loops of its own is left for others.
      if (failed(loops))
        continue;
      if (isAffine)
        markOrder(op, *loops);
      rewriter.eraseOp(op);
      if (!loops->empty())
        repairSymbols(loops->front());
      ++(isAffine ? numAffine : numOther);
    }
  }
};
} // namespace
