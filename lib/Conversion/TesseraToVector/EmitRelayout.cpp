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

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace mlir;

/// Shuffles in the unrolled tiles of one relayout: each takes the code
/// generator some 40 microseconds.
static constexpr int64_t kMaxShuffles = 2176;

/// Emits nests, those that share their next loop in that loop. `nests` and
/// `emitters` are the same ones.
static void emitNests(ImplicitLocOpBuilder &b, Scratch &scratch,
                      llvm::ArrayRef<NestSchedule> nests,
                      llvm::MutableArrayRef<NestEmitter> emitters,
                      const OpenLoops &open) {
  size_t depth = open.iterations.size();
  for (size_t begin = 0, end = 0; begin < nests.size(); begin = end) {
    LoopShape shape = {1, false, false, true};
    int64_t bytes = 0;
    do {
      shape.needsFence |= emitters[end].needsFence();
      shape.isUnrolled &= emitters[end].isUnrolled();
      bytes += emitters[end].countBytes(depth);
      ++end;
    } while (end < nests.size() && nests[end].numFused > depth);
    if (end == begin + 1) {
      emitters[begin].emit(open);
      continue;
    }
    const PlanLoop &loop = nests[begin].loops[depth];
    shape.trips = loop.count;
    shape.isParallel = loop.isParallel;
    shape.isUnrolled &= bytes <= kUnrolledBytes;
    OpenLoops inner = open;
    emitLoop(b, scratch, shape, inner.ivs, [&](AffineExpr iteration) {
      inner.iterations.push_back(iteration);
      emitNests(b, scratch, nests.slice(begin, end - begin),
                emitters.slice(begin, end - begin), inner);
      inner.iterations.pop_back();
    });
  }
}

/// The address of the memref's first byte, modulo a power of two.
static Value getAddress(ImplicitLocOpBuilder &b, Value memref,
                        int64_t modulus) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  auto type = cast<MemRefType>(memref.getType());
  if (!type.getLayout().isIdentity()) {
    Value offset =
        memref::ExtractStridedMetadataOp::create(b, memref).getOffset();
    Value bytes =
        arith::ConstantIndexOp::create(b, type.getElementTypeBitWidth() / 8);
    address = arith::AddIOp::create(b, address,
                                    arith::MulIOp::create(b, offset, bytes));
  }
  Value mask = arith::ConstantIndexOp::create(b, modulus - 1);
  return arith::AndIOp::create(b, address, mask);
}

/// The nests of one plan. Their nontemporal stores are followed by the fence
/// that x86 needs.
static void emitVersion(ImplicitLocOpBuilder &b, Scratch &scratch, Value source,
                        Value destination, const RelayoutVersion &version,
                        TypedAttr padding) {
  const auto &[target, plan] = version;
  Value phase;
  if (plan.isNontemporal() && !plan.isLineAligned) {
    Value inLine = getAddress(b, destination, RelayoutTarget::kLineBytes);
    Value size = arith::ConstantIndexOp::create(b, plan.elementBits / 8);
    phase = arith::DivUIOp::create(b, inLine, size);
  }
  int64_t shufflesLeft = kMaxShuffles;
  std::vector<NestEmitter> emitters;
  for (const NestSchedule &nest : plan.nests)
    emitters.emplace_back(b, scratch, source, destination, phase, nest, target,
                          padding, shufflesLeft);
  for (const NestEmitter &emitter : emitters)
    shufflesLeft -= emitter.countTileShuffles();
  emitNests(b, scratch, plan.nests, emitters, {});
  if (plan.isNontemporal() && target.needsFence)
    emitFence(b);
}

/// The first version that the destination is aligned for.
static void emitVersions(ImplicitLocOpBuilder &b, Scratch &scratch,
                         Value source, Value destination,
                         llvm::ArrayRef<RelayoutVersion> versions,
                         TypedAttr padding) {
  const RelayoutVersion &version = versions.front();
  int64_t alignment = version.plan.getAlignment();
  auto emitFirst = [&] {
    scratch.emitScope([&] {
      emitVersion(b, scratch, source, destination, version, padding);
    });
  };
  if (alignment == 1)
    return emitFirst();
  Value address = getAddress(b, destination, alignment);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value isAligned =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, address, zero);
  emitChoice(b, isAligned, emitFirst, [&] {
    emitVersions(b, scratch, source, destination, versions.drop_front(),
                 padding);
  });
}

void tessera::emitRelayout(OpBuilder &builder, Location loc, Value source,
                           Value destination,
                           llvm::ArrayRef<RelayoutVersion> versions,
                           TypedAttr padding,
                           llvm::function_ref<void(OpBuilder &)> emitPlain) {
  ImplicitLocOpBuilder b(loc, builder);
  Type element = cast<MemRefType>(destination.getType()).getElementType();
  Scratch scratch(b, element);
  emitVersions(b, scratch, source, destination, versions, padding);
  scratch.emitFallback([&] { emitPlain(b); });
}
