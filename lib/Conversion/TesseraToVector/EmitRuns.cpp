//===- EmitRuns.cpp - Code for runs around the cache ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace mlir;

/// Lines that a run of unknown alignment must span for nontemporal stores.
static constexpr int64_t kMinLines = 4;

/// Rows one behind the other into the buffer, which is then written as one run.
/// A single row needs no buffer.
void NestEmitter::emitStagedCopy(const Block &block, bool isAligned) {
  llvm::ArrayRef<int64_t> rows = block.rows;
  int64_t numRows = rows.size();
  if (numRows == 1)
    return emitNontemporalRun(block, nest.runElements, isAligned);
  Move move = {block.from, getStage()};
  if (std::optional<int64_t> stride = getUniformStride(rows, 1))
    repeat(numRows, [&](Value i) {
      kernels.copy(advance(move, i, *stride, nest.runElements),
                   nest.runElements);
    });
  else
    for (auto [i, row] : llvm::enumerate(rows))
      kernels.copy({move.from + row, move.to + i * nest.runElements},
                   nest.runElements);
  emitNontemporalRun({move.to, block.to}, numRows * nest.runElements,
                     isAligned);
}

int64_t NestEmitter::getCarryStride(size_t depth) const {
  if (nest.packsPanels())
    return isWithinPanel(depth) ? countTile() : 0;
  if (!isCarried())
    return 0;
  if (nest.is<CopyKernel>())
    return nest.loops[depth].dstStride == nest.runElements ? 1 : 0;
  int64_t stride = nest.blockColumns() * lineElements();
  for (size_t i = nest.loops.size(); i-- > 0;) {
    const PlanLoop &loop = nest.loops[i];
    if (loop.role == PlanLoop::Role::DstContiguous)
      return 0;
    if (i == depth)
      break;
    stride *= loop.numBlocks();
  }
  return stride;
}

int64_t NestEmitter::countStage() const {
  if (!isCarried())
    return (gathersRows() ? std::min(nest.blockRows(), kSquareRows)
                          : nest.blockRows()) *
           nest.blockColumns() * nest.runElements * nest.numPackedBytes();
  // What a step of the loop over panels would take.
  int64_t size = nest.blockColumns() * lineElements();
  for (const PlanLoop &loop : llvm::reverse(nest.loops)) {
    if (loop.role == PlanLoop::Role::DstContiguous)
      break;
    size *= loop.numBlocks();
  }
  return size;
}

/// The buffer of a block.
Position NestEmitter::getStage(int64_t elements) {
  return {scratch.get(elements), constant(0)};
}

void NestEmitter::emitStagedColumns(Move move, llvm::ArrayRef<int64_t> columns,
                                    int64_t length, bool isAligned) {
  // Columns that all follow one another are one run.
  int64_t numColumns = columns.size(), group = 1, line = lineElements();
  while (group < numColumns && columns[group] == group * length)
    ++group;
  std::optional<int64_t> stride;
  if (numColumns % group == 0)
    stride = getUniformStride(columns, group);
  if (stride)
    return repeat(numColumns / group, [&](Value i) {
      emitNontemporalRun(advance(move, i, group * length, *stride),
                         group * length, isAligned && *stride % line == 0);
    });
  for (auto [i, column] : llvm::enumerate(columns))
    emitNontemporalRun({move.from + i * length, move.to + column}, length,
                       isAligned && column % line == 0);
}

void NestEmitter::emitNontemporalRun(Move run, int64_t count, bool isAligned) {
  int64_t line = lineElements();
  if (isAligned)
    return emitAlignedRun(run, count);
  if (count < kMinLines * line)
    return kernels.copy(run, count);
  if (kernels.hasMasks())
    return emitMaskedRun(run, count, /*hasHead=*/true);
  // Elements up to the first line, whole lines, and what is left.
  AffineExpr start = b.getAffineDimExpr(0);
  AffineExpr lines = (-start + count).floorDiv(line);
  Value head = createHead(run.to);
  emitElements(run, constant(0), head);
  Value zero = constant(0);
  repeatBetween(zero, apply(lines, head), [&](Value i) {
    // Both sides are skipped next to where they are used.
    Position from = advance(skip(run.from, head), i, line);
    Position to = advance(skip(run.to, head), i, line);
    kernels.copy({from, to}, line, /*isNontemporal=*/true);
  });
  Value remainder = apply(start + lines * line, head);
  emitElements(run, remainder, constant(count));
}

/// A run that begins anywhere, without a branch: one masked store up to the
/// first line, as many lines as there are wherever it begins, and masked stores
/// for the one or two lines that are left.
void NestEmitter::emitMaskedRun(Move run, int64_t count, bool hasHead) {
  int64_t line = lineElements(), lines = (count - line + 1) / line;
  Value head = createHead(run.to);
  if (hasHead)
    kernels.copyFirst(run, head);
  run = skip(run, head);
  emitAlignedRun(run, lines * line);
  // What is left of `count - lines * line` elements once the head is gone.
  for (int64_t done = lines * line; done < count; done += line) {
    AffineExpr left = -b.getAffineDimExpr(0) + (count - done);
    kernels.copyFirst(run + done, apply(left, head));
  }
}

Value NestEmitter::createInLine(Position to, bool isNegative) {
  AffineExpr position = b.getAffineDimExpr(0) + to.offset;
  llvm::SmallVector<Value, 2> operands = {to.index};
  if (phase) {
    position = position + b.getAffineDimExpr(1);
    operands.push_back(phase);
  }
  position = (isNegative ? -position : position) % lineElements();
  return affine::AffineApplyOp::create(
      b, AffineMap::get(operands.size(), 0, position), operands);
}

Position NestEmitter::skip(Position position, Value elements) {
  return {position.memref, arith::AddIOp::create(b, position.index, elements),
          position.offset};
}

/// A run writes whole lines, the first one that it has a part of, which it
/// shares with the run before, up to the last one that ends in it. The first
/// run and the last one have masked stores at their ends.
void NestEmitter::emitCoalescedRun(Move move, AffineExpr number) {
  int64_t line = lineElements(), count = nest.runElements;
  emitCopyPrefetch(move.from, {0}, count);
  if (!kernels.joinsRuns())
    return emitNontemporalRun(move, count, /*isAligned=*/false);
  const PlanLoop &chain = *llvm::find_if(nest.loops, [&](const PlanLoop &loop) {
    return loop.dstStride == count;
  });
  Value shift = createShift(move.to);
  for (Position *side : {&move.from, &move.to})
    side->index = arith::SubIOp::create(b, side->index, shift);
  Value run = createIndex(number);
  emitChoice(
      b, isEqual(run, constant(0)), [&] { kernels.copyLast(move, shift); },
      [&] {
        kernels.copySeam(move.from + (count - chain.srcStride), move, shift);
      });
  int64_t whole = count / line * line;
  emitAlignedRun(move + line, whole - line);
  emitCoalescedEnd(move + whole, shift, count - whole,
                   isEqual(run, constant(chain.count - 1)));
}

/// What is left behind the last line that every run has: `shift` elements, and
/// `remainder` more. Runs that begin late in a line end one more.
void NestEmitter::emitCoalescedEnd(Move run, Value shift, int64_t remainder,
                                   Value isLast) {
  if (remainder > 0) {
    Value line = constant(lineElements()), zero = constant(0);
    shift = arith::AddIOp::create(b, shift, constant(remainder));
    Value endsLine =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, shift, line);
    emitChoice(b, endsLine, [&] { emitAlignedRun(run, lineElements()); });
    Value done = arith::SelectOp::create(b, endsLine, line, zero);
    shift = arith::SubIOp::create(b, shift, done);
    run = skip(run, done);
  }
  emitChoice(b, isLast, [&] { kernels.copyFirst(run, shift); });
}

void NestEmitter::emitAlignedRun(Move run, int64_t count) {
  forEachChunk<Move>(run, count, [&](Move chunk, int64_t size) {
    int64_t lines = size / lineElements() * lineElements();
    if (lines)
      kernels.copy(chunk, lines, /*isNontemporal=*/true);
    if (lines < size)
      kernels.copy(chunk + lines, size - lines);
  });
}

void NestEmitter::emitElements(Move run, Value begin, Value end) {
  repeatBetween(begin, end, [&](Value i) {
    Value element = kernels.load(advance(run.from, i, 1), 1);
    kernels.store(element, advance(run.to, i, 1));
  });
}
