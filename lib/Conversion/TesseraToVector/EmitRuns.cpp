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
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace mlir;

/// Lines that a run of unknown alignment must span for nontemporal stores.
static constexpr int64_t kMinLines = 4;

/// Rows one behind the other into the buffer, which is then written as one run.
/// A single row needs no buffer.
void NestEmitter::emitStagedCopy(Position from, Position to,
                                 llvm::ArrayRef<int64_t> rows, bool isAligned) {
  int64_t numRows = rows.size();
  if (numRows == 1)
    return emitNontemporalRun(from, to, nest.runElements, isAligned);
  Position stage = getStage();
  auto copyRow = [&](Position row, Position position) {
    kernels.copy(row, position, nest.runElements);
  };
  if (std::optional<int64_t> stride = getUniformStride(rows, 1))
    repeat(numRows, [&](Value i) {
      Position source = advance(from, i, *stride);
      Position target = advance(stage, i, nest.runElements);
      copyRow(source, target);
    });
  else
    for (auto [i, row] : llvm::enumerate(rows))
      copyRow(from + row, stage + i * nest.runElements);
  emitNontemporalRun(stage, to, numRows * nest.runElements, isAligned);
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
  return {scratch.get(elements), arith::ConstantIndexOp::create(b, 0)};
}

void NestEmitter::emitStagedColumns(Position stage, Position to,
                                    llvm::ArrayRef<int64_t> columns,
                                    int64_t length, bool isAligned) {
  // Columns that all follow one another are one run.
  auto emitColumns = [&](Position from, Position at, int64_t count,
                         bool aligned) {
    emitNontemporalRun(from, at, count * length, aligned);
  };
  int64_t numColumns = columns.size(), group = 1;
  while (group < numColumns && columns[group] == group * length)
    ++group;
  bool isDivided = numColumns % group == 0;
  std::optional<int64_t> stride;
  if (isDivided)
    stride = getUniformStride(columns, group);
  if (stride)
    return repeat(numColumns / group, [&](Value i) {
      Position source = advance(stage, i, group * length);
      Position target = advance(to, i, *stride);
      emitColumns(source, target, group,
                  isAligned && *stride % lineElements() == 0);
    });
  for (auto [i, column] : llvm::enumerate(columns))
    emitColumns(stage + i * length, to + column, 1,
                isAligned && column % lineElements() == 0);
}

void NestEmitter::emitNontemporalRun(Position from, Position to, int64_t count,
                                     bool isAligned) {
  int64_t line = lineElements();
  if (isAligned)
    return emitAlignedRun(from, to, count);
  if (count < kMinLines * line) {
    kernels.copy(from, to, count);
    return;
  }
  if (kernels.hasMasks())
    return emitMaskedRun(from, to, count, /*hasHead=*/true);
  // Elements up to the first line, whole lines, and what is left.
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  AffineExpr start = b.getAffineDimExpr(0);
  AffineExpr lines = (-start + count).floorDiv(line);
  Value head = createHead(to);
  emitElements(from, to, constant(0), head);
  Value zero = constant(0);
  repeatBetween(zero, apply(lines, head), [&](Value i) {
    Position source = advance(skip(from, head), i, line);
    Position target = advance(skip(to, head), i, line);
    kernels.copy(source, target, line, /*isNontemporal=*/true);
  });
  Value remainder = apply(start + lines * line, head);
  emitElements(from, to, remainder, constant(count));
}

/// A run that begins anywhere, without a branch: one masked store up to the
/// first line, as many lines as there are wherever it begins, and masked stores
/// for the one or two lines that are left.
void NestEmitter::emitMaskedRun(Position from, Position to, int64_t count,
                                bool hasHead) {
  int64_t line = lineElements(), lines = (count - line + 1) / line;
  Value head = createHead(to);
  if (hasHead)
    kernels.copyFirst(from, to, head);
  from = skip(from, head);
  to = skip(to, head);
  emitAlignedRun(from, to, lines * line);
  // What is left of `count - lines * line` elements once the head is gone.
  for (int64_t done = lines * line; done < count; done += line) {
    AffineExpr left = -b.getAffineDimExpr(0) + (count - done);
    kernels.copyFirst(from + done, to + done, apply(left, head));
  }
}

Value NestEmitter::createHead(Position to) {
  return createInLine(to, /*isNegative=*/true);
}

Value NestEmitter::createShift(Position to) {
  return createInLine(to, /*isNegative=*/false);
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
void NestEmitter::emitCoalescedRun(Position from, Position to,
                                   AffineExpr number) {
  int64_t line = lineElements(), count = nest.runElements;
  emitCopyPrefetch(from, {0}, count);
  if (!kernels.joinsRuns())
    return emitNontemporalRun(from, to, count, /*isAligned=*/false);
  const PlanLoop &chain = *llvm::find_if(nest.loops, [&](const PlanLoop &loop) {
    return loop.dstStride == count;
  });
  Value shift = createShift(to);
  from.index = arith::SubIOp::create(b, from.index, shift);
  to.index = arith::SubIOp::create(b, to.index, shift);
  Value run = createIndex(number);
  auto isRun = [&](int64_t other) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, run,
                                 arith::ConstantIndexOp::create(b, other));
  };
  emitChoice(
      isRun(0), [&] { kernels.copyLast(from, to, shift); },
      [&] {
        kernels.copySeam(from + (count - chain.srcStride), from, to, shift);
      });
  int64_t whole = count / line * line;
  emitAlignedRun(from + line, to + line, whole - line);
  emitCoalescedEnd(from + whole, to + whole, shift, count - whole,
                   isRun(chain.count - 1));
}

/// What is left behind the last line that every run has: `shift` elements, and
/// `remainder` more. Runs that begin late in a line end one more.
void NestEmitter::emitCoalescedEnd(Position from, Position to, Value shift,
                                   int64_t remainder, Value isLast) {
  if (remainder > 0) {
    Value line = arith::ConstantIndexOp::create(b, lineElements());
    Value zero = arith::ConstantIndexOp::create(b, 0);
    shift = arith::AddIOp::create(b, shift,
                                  arith::ConstantIndexOp::create(b, remainder));
    Value endsLine =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, shift, line);
    emitChoice(endsLine, [&] { emitAlignedRun(from, to, lineElements()); });
    Value done = arith::SelectOp::create(b, endsLine, line, zero);
    shift = arith::SubIOp::create(b, shift, done);
    from = skip(from, done);
    to = skip(to, done);
  }
  emitChoice(isLast, [&] { kernels.copyFirst(from, to, shift); });
}

void NestEmitter::emitChoice(Value condition, llvm::function_ref<void()> then,
                             llvm::function_ref<void()> otherwise) {
  auto choice = scf::IfOp::create(b, condition,
                                  /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  then();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(choice.elseBlock());
  otherwise();
}

void NestEmitter::emitAlignedRun(Position from, Position to, int64_t count) {
  int64_t line = lineElements(), chunk = kChunkBytes / kernels.elementBytes();
  int64_t chunks = count / chunk;
  repeat(chunks, [&](Value i) {
    Position source = advance(from, i, chunk);
    Position target = advance(to, i, chunk);
    kernels.copy(source, target, chunk, /*isNontemporal=*/true);
  });
  int64_t done = chunks * chunk, lines = (count - done) / line * line;
  if (lines)
    kernels.copy(from + done, to + done, lines, /*isNontemporal=*/true);
  done += lines;
  if (done < count)
    kernels.copy(from + done, to + done, count - done);
}

void NestEmitter::emitElements(Position from, Position to, Value begin,
                               Value end) {
  repeatBetween(begin, end, [&](Value i) {
    Value element = kernels.load(advance(from, i, 1), 1);
    kernels.store(element, advance(to, i, 1));
  });
}

void NestEmitter::repeatBetween(Value begin, Value end, Body body) {
  OpBuilder::InsertionGuard guard(b);
  // Bounds that depend on an address are none that `affine` knows.
  auto loop =
      scf::ForOp::create(b, begin, end, arith::ConstantIndexOp::create(b, 1));
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}
