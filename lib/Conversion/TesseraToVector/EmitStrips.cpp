//===- EmitStrips.cpp - Code for strips that are gathered -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace tessera;
using namespace mlir;

/// Longer buffers are not for the stack. The others stay in the second-level
/// cache.
static constexpr int64_t kMostOnStack = 256 << 10;

/// The outermost loop around `block` that is not shared among threads.
static Operation *findOutermostLoop(Block *block) {
  Operation *outermost = nullptr;
  for (Operation *op = block->getParentOp();
       isa<affine::AffineForOp, scf::ForOp>(op); op = op->getParentOp())
    outermost = op;
  return outermost;
}

bool NestEmitter::isWithinStrip(size_t depth) const {
  return depth == nest.loops.size() ||
         nest.loops[depth].role == PlanLoop::Role::Columns;
}

/// Makes the buffer once for all iterations of `loop`, if there is one, and
/// frees it behind that.
void NestEmitter::allocateStrips(int64_t size, Operation *loop) {
  if (loop && loop == stripLoop)
    return;
  stripLoop = loop;
  auto type =
      MemRefType::get({size}, cast<MemRefType>(dst.getType()).getElementType());
  OpBuilder::InsertionGuard guard(b);
  if (loop)
    b.setInsertionPoint(loop);
  stripBuffer = memref::AllocOp::create(
      b, type, b.getI64IntegerAttr(RelayoutTarget::kLineBytes));
  if (!loop)
    return;
  b.setInsertionPointAfter(loop);
  memref::DeallocOp::create(b, stripBuffer);
}

void NestEmitter::emitStrip(size_t depth, Offsets at, int64_t rows,
                            int64_t columns) {
  if (strip)
    rows += haloRows();
  int64_t size =
      llvm::divideCeil(nest.stripColumns() * nest.unit, lineElements()) *
      countTile();
  bool isOnStack = size * kernels.elementBytes() <= kMostOnStack;
  Operation *loop = findOutermostLoop(b.getInsertionBlock());
  if (isOnStack)
    stripBuffer = getStage(size).memref;
  else
    allocateStrips(size, loop);
  gatherStrip(getSource(at),
              nest.getOffsets(PlanLoop::Role::Rows, /*inSource=*/true, rows));
  emitWithin(depth, at, rows, columns);
  if (!isOnStack && !loop)
    memref::DeallocOp::create(b, stripBuffer);
}

/// Copies rows into tiles, the lines of all rows one behind the other.
void NestEmitter::gatherStrip(Place from, llvm::ArrayRef<int64_t> rows) {
  int64_t line = lineElements(), width = nest.stripColumns() * nest.unit;
  int64_t lines = width / line, rest = width % line;
  int64_t stride = rows.size() > 1 ? rows[1] : 0;
  Place tiles = {stripBuffer, arith::ConstantIndexOp::create(b, 0)};
  repeatInLoop(rows.size(), [&](Value row) {
    Place first = advance(from, row, stride), to = advance(tiles, row, line);
    Place ahead = getAhead(first, nest.prefetch * stride, width);
    auto copyLine = [&](Value i, int64_t count) {
      if (nest.prefetch)
        emitFetch(advance(ahead, i, line));
      Place source = advance(first, i, line);
      Place target = advance(to, i, countTile());
      kernels.copy(source, target, count);
    };
    repeat(lines, [&](Value i) { copyLine(i, line); });
    if (rest)
      copyLine(arith::ConstantIndexOp::create(b, lines), rest);
  });
}
