//===- EmitPanels.cpp - Code for panels that are packed -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

using namespace tessera;
using namespace mlir;

bool NestEmitter::isWithinPanel(size_t depth) const {
  return depth == nest.loops.size() ||
         nest.loops[depth].role == PlanLoop::Role::SrcContiguous;
}

void NestEmitter::emitPanel(size_t depth, Offsets at, int64_t rows,
                            int64_t columns) {
  if (panel)
    rows += haloRows();
  int64_t size =
      llvm::divideCeil(nest.panelColumns() * nest.runElements, lineElements()) *
      countTile();
  panelBuffer = getStage(size).memref;
  packPanel(getSource(at), nest.getOffsets(PlanLoop::Role::DstContiguous,
                                           /*inSource=*/true, rows));
  emitWithin(depth, at, rows, columns);
}

/// Copies rows into tiles, the lines of all rows one behind the other.
void NestEmitter::packPanel(Position from, llvm::ArrayRef<int64_t> rows) {
  int64_t line = lineElements(), width = nest.panelColumns() * nest.runElements;
  int64_t lines = width / line, remainder = width % line;
  int64_t stride = rows.size() > 1 ? rows[1] : 0;
  int64_t prefetch = nest.get<TransposeKernel>()->prefetch;
  Move rowsToTiles = {from, {panelBuffer, constant(0)}};
  repeatInLoop(rows.size(), [&](Value row) {
    Move first = advance(rowsToTiles, row, stride, line);
    Position ahead = getAhead(first.from, prefetch * stride, width);
    auto copyLine = [&](Value i, int64_t count) {
      if (prefetch)
        emitPrefetchOfLine(advance(ahead, i, line));
      kernels.copy(advance(first, i, line, countTile()), count);
    };
    repeat(lines, [&](Value i) { copyLine(i, line); });
    if (remainder)
      copyLine(constant(lines), remainder);
  });
}
