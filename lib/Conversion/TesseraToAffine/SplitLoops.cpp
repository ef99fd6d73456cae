//===- SplitLoops.cpp - Splitting loops at tile sizes ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/SplitLoops.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

//===----------------------------------------------------------------------===//
// Ranges of operands
//===----------------------------------------------------------------------===//

/// The tightest constant among the results of a bound: of a lower bound (a
/// max) the largest, of an upper bound (a min) the smallest.
static std::optional<int64_t> getConstantBound(AffineMap map, bool isLower) {
  std::optional<int64_t> bound;
  for (AffineExpr result : map.getResults()) {
    auto constant = dyn_cast<AffineConstantExpr>(result);
    if (!constant)
      continue;
    int64_t value = constant.getValue();
    if (!bound || (isLower ? value > *bound : value < *bound))
      bound = value;
  }
  return bound;
}

static std::optional<IntegerRange> makeRange(std::optional<int64_t> lower,
                                             std::optional<int64_t> upper) {
  if (!lower || !upper || *upper <= *lower)
    return std::nullopt;
  return IntegerRange{*lower, *upper - 1};
}

std::optional<IntegerRange> tessera::getOperandRange(Value operand) {
  llvm::APInt constant;
  if (matchPattern(operand, m_ConstantInt(&constant)))
    return IntegerRange{constant.getSExtValue(), constant.getSExtValue()};
  if (AffineForOp loop = affine::getForInductionVarOwner(operand))
    return makeRange(getConstantBound(loop.getLowerBoundMap(), true),
                     getConstantBound(loop.getUpperBoundMap(), false));
  affine::AffineParallelOp parallel =
      affine::getAffineParallelInductionVarOwner(operand);
  if (!parallel)
    return std::nullopt;
  unsigned position = cast<BlockArgument>(operand).getArgNumber();
  return makeRange(
      getConstantBound(parallel.getLowerBoundMap(position), true),
      getConstantBound(parallel.getUpperBoundMap(position), false));
}

SmallVector<std::optional<IntegerRange>>
tessera::getOperandRanges(ValueRange operands) {
  return llvm::map_to_vector(operands, getOperandRange);
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

bool tessera::canSplit(AffineForOp loop) {
  return loop.getStepAsInt() == 1 && loop.hasConstantLowerBound() &&
         loop.getConstantLowerBound() == 0;
}

/// The number of blocks of `size` iterations, the last one maybe short.
static AffineForOp createBlockLoop(RewriterBase &rewriter, AffineForOp loop,
                                   int64_t size) {
  AffineMap bound = loop.getUpperBoundMap();
  SmallVector<AffineExpr> counts;
  for (AffineExpr result : bound.getResults())
    counts.push_back(separateRemainders(result.ceilDiv(size)));
  return AffineForOp::create(
      rewriter, loop.getLoc(), ValueRange(), loop.getLowerBoundMap(),
      loop.getUpperBoundOperands(),
      AffineMap::get(bound.getNumDims(), bound.getNumSymbols(), counts,
                     rewriter.getContext()),
      /*step=*/1, loop.getInits());
}

/// The iterations of one block: `size`, or what is left of them. A constant
/// that `size` divides leaves none out.
static AffineForOp createElementLoop(RewriterBase &rewriter, AffineForOp loop,
                                     AffineForOp blocks, int64_t size) {
  AffineMap bound = loop.getUpperBoundMap();
  unsigned numDims = bound.getNumDims();
  MLIRContext *context = rewriter.getContext();
  AffineExpr block = getAffineDimExpr(numDims, context);
  SmallVector<AffineExpr> limits = {getAffineConstantExpr(size, context)};
  for (AffineExpr result : bound.getResults()) {
    auto constant = dyn_cast<AffineConstantExpr>(result);
    if (!constant || constant.getValue() % size != 0)
      limits.push_back(result - block * size);
  }
  SmallVector<Value> operands(loop.getUpperBoundOperands());
  operands.insert(operands.begin() + numDims, blocks.getInductionVar());
  AffineMap map =
      AffineMap::get(numDims + 1, bound.getNumSymbols(), limits, context);
  affine::canonicalizeMapAndOperands(&map, &operands);
  return AffineForOp::create(rewriter, loop.getLoc(), ValueRange(),
                             loop.getLowerBoundMap(), operands, map,
                             /*step=*/1, blocks.getRegionIterArgs());
}

/// Makes `loop` a nest of blocks of `size` iterations; returns the loop over
/// the iterations of a block.
static AffineForOp splitOnce(RewriterBase &rewriter, AffineForOp loop,
                             int64_t size) {
  rewriter.setInsertionPoint(loop);
  AffineForOp blocks = createBlockLoop(rewriter, loop, size);
  rewriter.setInsertionPointToStart(blocks.getBody());
  AffineForOp elements = createElementLoop(rewriter, loop, blocks, size);
  for (AffineForOp piece : {blocks, elements})
    piece->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  // Loops that carry values are made without terminators.
  bool carries = loop.getNumResults() != 0;
  if (carries)
    affine::AffineYieldOp::create(rewriter, loop.getLoc(),
                                  elements.getResults());
  else
    rewriter.eraseOp(elements.getBody()->getTerminator());

  rewriter.setInsertionPointToStart(elements.getBody());
  AffineExpr block = rewriter.getAffineDimExpr(0);
  AffineExpr element = rewriter.getAffineDimExpr(1);
  SmallVector<Value> arguments = {affine::makeComposedAffineApply(
      rewriter, loop.getLoc(), block * size + element,
      ArrayRef<OpFoldResult>{blocks.getInductionVar(),
                             elements.getInductionVar()})};
  llvm::append_range(arguments, elements.getRegionIterArgs());
  rewriter.inlineBlockBefore(loop.getBody(), elements.getBody(),
                             elements.getBody()->end(), arguments);
  rewriter.replaceOp(loop, blocks.getResults());
  return elements;
}

void tessera::splitLoop(RewriterBase &rewriter, AffineForOp loop,
                        ArrayRef<int64_t> divisors) {
  assert(canSplit(loop) && "normalize the loop first");
  OpBuilder::InsertionGuard guard(rewriter);
  for (int64_t divisor : llvm::reverse(divisors))
    loop = splitOnce(rewriter, loop, divisor);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The element that the operation leaves others as they are with, if it may be
/// regrouped.
static std::optional<TypedAttr> getNeutralOfGroup(Operation *op) {
  auto fastMath = dyn_cast<arith::ArithFastMathInterface>(op);
  bool isRounded = isa<arith::AddFOp, arith::MulFOp>(op);
  if (isRounded &&
      !arith::bitEnumContainsAll(fastMath.getFastMathFlagsAttr().getValue(),
                                 arith::FastMathFlags::reassoc))
    return std::nullopt;
  return arith::getNeutralElement(op);
}

void tessera::detachReductions(RewriterBase &rewriter, AffineForOp loop) {
  auto outer = dyn_cast<AffineForOp>(loop->getParentOp());
  for (auto [number, init] : llvm::enumerate(loop.getInitsMutable())) {
    SmallVector<Operation *> combiners;
    if (!outer || !llvm::is_contained(outer.getRegionIterArgs(), init.get()) ||
        !matchReduction(loop.getRegionIterArgs(), number, combiners) ||
        combiners.size() != 1)
      continue;
    std::optional<TypedAttr> neutral = getNeutralOfGroup(combiners.front());
    if (!neutral || neutral->getType() != init.get().getType())
      continue;
    Value carried = init.get(), result = loop.getResult(number);
    rewriter.setInsertionPoint(loop);
    init.set(arith::ConstantOp::create(rewriter, loop.getLoc(), *neutral));
    rewriter.setInsertionPointAfter(loop);
    Operation *combined = rewriter.clone(*combiners.front());
    combined->setOperands({carried, result});
    rewriter.replaceAllUsesExcept(result, combined->getResult(0), combined);
  }
}
