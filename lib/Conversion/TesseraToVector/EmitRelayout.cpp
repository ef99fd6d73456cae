//===- EmitRelayout.cpp - Code for a relayout plan ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/EmitRelayout.h"

#include "NestEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace mlir;

/// Shuffles in the unrolled tiles of one relayout: each takes the code
/// generator some 40 microseconds.
static constexpr int64_t kMostShuffles = 2176;

/// Emits nests, those that share their next loop in that loop. `nests` and
/// `emitters` are the same ones.
static void emitNests(ImplicitLocOpBuilder &b, llvm::ArrayRef<PlanNest> nests,
                      llvm::MutableArrayRef<NestEmitter> emitters,
                      const OpenLoops &open) {
  size_t depth = open.iterations.size();
  for (size_t begin = 0, end = 0; begin < nests.size(); begin = end) {
    LoopShape shape = {1, false, false, true};
    int64_t bytes = 0;
    do {
      shape.isStreaming |= nests[end].stores != StoreKind::Plain;
      shape.isUnrolled &= emitters[end].isUnrolled();
      bytes += emitters[end].countBytes(depth);
      ++end;
    } while (end < nests.size() && nests[end].numShared > depth);
    if (end == begin + 1) {
      emitters[begin].emit(open);
      continue;
    }
    const PlanLoop &loop = nests[begin].loops[depth];
    shape.trips = loop.count;
    shape.isParallel = loop.isParallel;
    shape.isUnrolled &= bytes <= kUnrolledBytes;
    OpenLoops inner = open;
    emitLoop(b, shape, inner.ivs, [&](AffineExpr iteration) {
      inner.iterations.push_back(iteration);
      emitNests(b, nests.slice(begin, end - begin),
                emitters.slice(begin, end - begin), inner);
      inner.iterations.pop_back();
    });
  }
}

void tessera::emitRelayout(OpBuilder &builder, Location loc, Value source,
                           Value destination, const RelayoutPlan &plan,
                           const RelayoutTarget &target, TypedAttr padding) {
  ImplicitLocOpBuilder b(loc, builder);
  int64_t shufflesLeft = kMostShuffles;
  std::vector<NestEmitter> emitters;
  for (const PlanNest &nest : plan.nests)
    emitters.emplace_back(b, source, destination, nest, target, padding,
                          shufflesLeft);
  for (const NestEmitter &emitter : emitters)
    shufflesLeft -= emitter.countTileShuffles();
  emitNests(b, plan.nests, emitters, {});
  if (plan.isStreaming())
    emitFence(b);
}

/// Whether the memref begins at a line.
static Value isLineAligned(ImplicitLocOpBuilder &b, Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  Value mask =
      arith::ConstantIndexOp::create(b, RelayoutTarget::kLineBytes - 1);
  Value rest = arith::AndIOp::create(b, address, mask);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, zero);
}

llvm::Error tessera::buildVectorRelayout(OpBuilder &builder, Location loc,
                                         Value source, Value destination,
                                         const PlanSide &src,
                                         const PlanSide &dst, ElementBits bits,
                                         TypedAttr padding,
                                         const RelayoutTarget &target) {
  bool fillPadding = static_cast<bool>(padding);
  auto plan = planRelayout(src, dst, bits, fillPadding, target);
  if (!plan)
    return plan.takeError();
  auto emit = [&](OpBuilder &at, const RelayoutPlan &chosen) {
    emitRelayout(at, loc, source, destination, chosen, target, padding);
  };
  if (!plan->isStreaming()) {
    emit(builder, *plan);
    return llvm::Error::success();
  }
  RelayoutTarget plain = target;
  plain.isLineAligned = false;
  auto plainPlan = planRelayout(src, dst, bits, fillPadding, plain);
  if (!plainPlan)
    return plainPlan.takeError();
  ImplicitLocOpBuilder b(loc, builder);
  auto choice = scf::IfOp::create(b, isLineAligned(b, destination),
                                  /*withElseRegion=*/true);
  OpBuilder thenBuilder = choice.getThenBodyBuilder();
  emit(thenBuilder, *plan);
  OpBuilder elseBuilder = choice.getElseBodyBuilder();
  emit(elseBuilder, *plainPlan);
  return llvm::Error::success();
}
