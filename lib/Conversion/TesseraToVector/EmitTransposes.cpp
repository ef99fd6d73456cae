//===- EmitTransposes.cpp - Code for blocks of transposes -----------------===//
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

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace tessera;
using namespace mlir;

/// Shuffles of a block's tiles that are unrolled between large arrays, where
/// memory hides what a loop costs.
static constexpr int64_t kMaxUnrolledShuffles = 192;
/// Rows of narrow elements that are unpacked at once, with code for each such
/// set: twice as many are faster in a loop.
static constexpr int64_t kMaxUnrolledRows = 8;
/// Nests that move less than this part of all are not unrolled.
static constexpr int64_t kLightNests = 32;
/// Arrays that fit into the first-level cache are unrolled where that takes few
/// shuffles: rolled tiles of odd sides overlap.
static constexpr int64_t kFirstLevelBytes = 16 << 10;
static constexpr int64_t kMaxFirstLevelShuffles = 512;
/// Lines that are stored under one condition: half the registers.
static constexpr size_t kCarriedGroup = 16;

void NestEmitter::emitTranspose(Position from, Position to,
                                llvm::ArrayRef<int64_t> rows,
                                llvm::ArrayRef<int64_t> columns,
                                bool isAligned) {
  if (haloRows())
    return emitRaggedColumns(from, to, rows, columns);
  if (nest.stores() != StoreKind::Staged)
    return emitRowChunks(from, to, rows, columns);
  // In the buffer, columns lie one behind the other.
  Position stage = getStage();
  int64_t length = rows.size() * nest.runElements;
  Table stageColumns;
  for (size_t i = 0; i < columns.size(); ++i)
    stageColumns.push_back(i * length);
  emitRowChunks(from, stage, rows, stageColumns);
  emitStagedColumns(stage, to, columns, length, isAligned);
}

void NestEmitter::emitTiles(Position from, Position to,
                            llvm::ArrayRef<int64_t> rows,
                            llvm::ArrayRef<int64_t> columns, bool fillsLines,
                            bool unrolls) {
  int64_t width = kernels.registerColumns(rows.size(), columns.size());
  auto emitTile = [&](const Part &part) {
    Position source = advanceRuns(from, part);
    Position target = advance(to, part.iteration, part.stride);
    kernels.transpose(source, rows, target, part.entries, fillsLines);
  };
  forEachPart(columns, width, kernels.laneRuns(), unrolls,
              /*overlaps=*/!unrolls, emitTile);
}

/// Transposes squares of whole registers in two steps, where that is what the
/// block consists of: rows are unpacked into the buffer of the block, and
/// columns put together from there.
bool NestEmitter::emitSquares(Position from, Position to,
                              llvm::ArrayRef<int64_t> rows,
                              llvm::ArrayRef<int64_t> columns) {
  int64_t q = kernels.laneRuns(), line = lineElements(),
          side = line / nest.runElements;
  int64_t numRows = rows.size(), numColumns = columns.size();
  int64_t height = std::min(numRows, kSquareRows);
  std::optional<int64_t> columnStride = getUniformStride(columns, 1);
  if (numColumns != side || numRows % height != 0 || height % side != 0 ||
      !columnStride || !getUniformStride(rows, q))
    return false;
  Position stage = getStage();
  Table lanes;
  for (int64_t i = 0; i < side; i += q)
    lanes.push_back(columns[i]);
  forEachPart(
      rows, height, height, /*unrolls=*/false, /*overlaps=*/false,
      [&](const Part &part) {
        Position first = advance(from, part.iteration, part.stride);
        Position column =
            advance(to, part.iteration, height * nest.runElements);
        forEachPart(part.entries, q, q, q <= kMaxUnrolledRows,
                    /*overlaps=*/false, [&](const Part &set) {
                      Position source =
                          advance(first, set.iteration, set.stride);
                      Position target = advance(stage, set.iteration, q * line);
                      kernels.unpackRows(source, set.entries, target);
                    });
        repeatTiles(q, /*unrolls=*/false, [&](Value i) {
          for (int64_t row = 0; row < height; row += side) {
            Position source = advance(stage + row * line, i, line);
            Position target =
                advance(column + row * nest.runElements, i, *columnStride);
            kernels.splitColumns(source, target, lanes, isNontemporal());
          }
        });
      });
  return true;
}

/// Loads each row once, side by side into the buffer of the block, from where
/// the kernel takes its parts.
void NestEmitter::emitGatheredRows(Position from, Position to,
                                   llvm::ArrayRef<int64_t> rows,
                                   llvm::ArrayRef<int64_t> columns) {
  if (hasWideLoads && emitSquares(from, to, rows, columns))
    return;
  int64_t size =
      std::min<int64_t>(kernels.registerRows(rows.size()), rows.size());
  int64_t length = columns.size() * nest.runElements;
  Position stage = getStage();
  auto emitRows = [&](const Part &part) {
    Position first = advance(from, part.iteration, part.stride);
    Table stageRows;
    for (auto [i, row] : llvm::enumerate(part.entries)) {
      stageRows.push_back(i * length);
      kernels.copy(first + row, stage + i * length, length);
    }
    emitTiles(stage, advanceRuns(to, part), stageRows, columns,
              isNontemporal() && part.begin % size == 0, /*unrolls=*/false);
  };
  forEachPart(rows, size, size, /*unrolls=*/false,
              /*overlaps=*/!isNontemporal(), emitRows);
}

/// As many columns at a time as one load takes, each from its first row to the
/// last, so that memory gets long runs.
void NestEmitter::emitLongColumns(Position from, Position to,
                                  llvm::ArrayRef<int64_t> rows,
                                  llvm::ArrayRef<int64_t> columns) {
  int64_t height = kernels.registerRows(rows.size());
  int64_t width = kernels.registerColumns(rows.size(), columns.size());
  auto emitTile = [&](const Part &tile, const Part &part) {
    Position first = advance(from, part.iteration, part.stride);
    Position column = advanceRuns(to, part);
    Position source = advanceRuns(first, tile);
    Position target = advance(column, tile.iteration, tile.stride);
    kernels.transpose(source, part.entries, target, tile.entries,
                      isNontemporal() && part.begin % height == 0);
  };
  forEachPart(columns, width, kernels.laneRuns(), /*unrolls=*/false,
              /*overlaps=*/true, [&](const Part &tile) {
                forEachPart(rows, height, 1, /*unrolls=*/false,
                            /*overlaps=*/false,
                            [&](const Part &part) { emitTile(tile, part); });
              });
}

/// The same through a buffer, where columns begin anywhere in a line.
void NestEmitter::emitRaggedColumns(Position from, Position to,
                                    llvm::ArrayRef<int64_t> rows,
                                    llvm::ArrayRef<int64_t> columns) {
  int64_t width = kernels.registerColumns(rows.size(), columns.size());
  int64_t length = rows.size() * nest.runElements;
  int64_t pitch = llvm::alignTo(length, lineElements());
  int64_t stride = columns.size() > 1 ? columns[1] : 0;
  Position stage = getStage(width * pitch);
  auto emitColumns = [&](const Part &tile) {
    Table stageColumns;
    for (size_t i = 0; i < tile.entries.size(); ++i)
      stageColumns.push_back(i * pitch);
    emitLongColumns(advanceRuns(from, tile), stage, rows, stageColumns);
    Position column =
        advance(to + tile.entries.front(), tile.iteration, tile.stride);
    repeat(tile.entries.size(), [&](Value i) {
      Position source = advance(stage, i, pitch);
      Position target = advance(column, i, stride);
      emitRaggedColumn(source, target, length);
    });
  };
  forEachPart(columns, width, kernels.laneRuns(), /*unrolls=*/false,
              /*overlaps=*/true, emitColumns);
}

/// The lines that begin in a panel's part of a column; the first panel also has
/// what comes before them, and the last one what is left behind.
void NestEmitter::emitRaggedColumn(Position from, Position to, int64_t count) {
  if (!panel) {
    bool isOnly = llvm::all_of(nest.loops, [&](const PlanLoop &loop) {
      return loop.role != PlanLoop::Role::DstContiguous ||
             countFullBlocks(loop) == 0;
    });
    return emitMaskedRun(from, to, count, /*hasHead=*/isOnly);
  }
  Value head = createHead(to);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, panel,
                                        arith::ConstantIndexOp::create(b, 0));
  emitChoice(isFirst, [&] { kernels.copyFirst(from, to, head); });
  Position source = skip(from, head);
  Position target = skip(to, head);
  emitAlignedRun(source, target, count - haloRows() * nest.runElements);
}

void NestEmitter::emitRowChunks(Position from, Position to,
                                llvm::ArrayRef<int64_t> rows,
                                llvm::ArrayRef<int64_t> columns) {
  if (!nest.packedBytes.empty())
    return emitPackedTranspose(from, to, rows, columns);
  if (gathersRows())
    return emitGatheredRows(from, to, rows, columns);
  if (nest.packsPanels())
    return emitLongColumns(from, to, rows, columns);
  int64_t height = kernels.registerRows(rows.size());
  bool unrolls = unrollsTiles(rows.size(), columns.size());
  bool prefetches = !isLight(rows.size(), columns.size());
  if (unrolls && prefetches)
    emitPrefetch(from, rows);
  auto emitRows = [&](const Part &part) {
    Position first = advance(from, part.iteration, part.stride);
    if (!unrolls && prefetches)
      emitPrefetch(first, part.entries);
    emitTiles(first, advanceRuns(to, part), part.entries, columns,
              isNontemporal() && part.begin % height == 0,
              unrolls || unrollsTiles(part.entries.size(), columns.size()));
  };
  // Nontemporal stores of lines begin where registers begin; a register may be
  // stored in part.
  forEachPart(rows, height, kernels.hasMasks() ? 1 : height, unrolls,
              /*overlaps=*/!unrolls && !isNontemporal(), emitRows);
}

bool NestEmitter::isLight(int64_t rows, int64_t columns) const {
  return trips * rows * columns * nest.runElements < numElements / kLightNests;
}

/// Whether a part of the nest is worth code for each of its tiles: where the
/// data is in the second-level cache, processors prefetch for many loads of
/// their own better than for few that return. Large arrays only gain by short
/// code, and those in the first-level cache lose little in loops.
bool NestEmitter::unrollsTiles(int64_t rows, int64_t columns) {
  bool isEnds = llvm::any_of(nest.loops,
                             [](const PlanLoop &loop) { return loop.isEnds; });
  if (isLight(rows, columns) || isEnds)
    return false;
  int64_t most = isInCache ? shufflesLeft : kMaxUnrolledShuffles;
  if (numElements * kernels.elementBytes() <= kFirstLevelBytes)
    most = std::min(most, kMaxFirstLevelShuffles);
  int64_t shuffles = kernels.countShuffles(rows, columns);
  if (shuffles > most)
    return false;
  shufflesLeft -= shuffles;
  return true;
}

void NestEmitter::forEachPart(llvm::ArrayRef<int64_t> table, int64_t size,
                              int64_t least, bool unrolls, bool overlaps,
                              llvm::function_ref<void(const Part &)> body) {
  int64_t count = table.size(), full = count / size, remainder = count % size;
  std::optional<int64_t> stride =
      getUniformStride(table.take_front(full * size), size);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  // Parts that do not lie alike have code of their own each.
  if (full == 0 || !stride) {
    for (int64_t begin = 0; begin < count; begin += size)
      body({table.slice(begin, std::min(size, count - begin)), begin, zero, 0,
            size});
    return;
  }
  llvm::ArrayRef<int64_t> first = table.take_front(size);
  std::optional<int64_t> single = getUniformStride(table, 1);
  if (remainder && overlaps && single)
    // One piece of code for all: the last part overlaps the one before.
    return repeatTiles(full + 1, unrolls, [&](Value i) {
      Value begin =
          arith::MulIOp::create(b, i, arith::ConstantIndexOp::create(b, size));
      Value last = arith::ConstantIndexOp::create(b, count - size);
      begin = arith::MinUIOp::create(b, begin, last);
      body({first, 0, begin, *single, 1});
    });
  if (full == 1)
    body({first, 0, zero, *stride, size});
  else
    repeatTiles(full, unrolls,
                [&](Value i) { body({first, 0, i, *stride, size}); });
  if (remainder) {
    int64_t begin = count - std::max(remainder, least);
    body({table.drop_front(begin), begin, zero, 0, size});
  }
}

/// Copies the rows of a block side by side in the buffer of the block, once for
/// each byte of a run, and transposes them from there as bytes: there is one
/// piece of code for all columns, and but a loop for each byte.
void NestEmitter::emitPackedTranspose(Position from, Position to,
                                      llvm::ArrayRef<int64_t> rows,
                                      llvm::ArrayRef<int64_t> columns) {
  int64_t length = columns.size() * nest.runElements, run = nest.packedRun();
  int64_t numRows = rows.size() * run, numPackedBytes = nest.packedBytes.size();
  Position stage = getStage();
  Table stageRows, positions;
  for (int64_t i = 0; i < numPackedBytes; ++i) {
    if (i % run == 0)
      positions.push_back(nest.packedBytes[i].dstOffset);
    int64_t row = i / run * numRows + i % run;
    emitPackedRows(i, from, stage + row * length, rows, length);
  }
  for (int64_t i = 0; i < numRows; ++i)
    stageRows.push_back(i * length);
  auto transposeAll = [&](Position rowsAt, Position columnsAt) {
    emitColumnChunks(rowsAt, columnsAt, stageRows, columns);
  };
  if (std::optional<int64_t> stride = getUniformStride(positions, 1);
      stride && positions.size() > 1)
    return repeatInLoop(positions.size(), [&](Value i) {
      Position source = advance(stage, i, numRows * length);
      Position target = advance(to, i, *stride);
      transposeAll(source, target);
    });
  for (auto [i, position] : llvm::enumerate(positions))
    transposeAll(stage + i * numRows * length, to + position);
}

/// The rows of a block in the buffer, of the packed bytes of one number: at a
/// distance where others come between.
void NestEmitter::emitPackedRows(size_t number, Position from, Position stage,
                                 llvm::ArrayRef<int64_t> rows, int64_t length) {
  int64_t numRows = rows.size(), size = 1;
  int64_t distance = nest.packedRun() * length;
  while (size < numRows && !getUniformStride(rows, size))
    ++size;
  std::optional<int64_t> stride;
  if (numRows % size == 0)
    stride = getUniformStride(rows, size);
  else
    size = numRows;
  std::optional<int64_t> inner = getUniformStride(rows.take_front(size), 1);
  repeat(numRows / size, [&](Value i) {
    Position group = advance(from, i, stride.value_or(0));
    Position to = advance(stage, i, size * distance);
    if (inner)
      return repeat(size, [&](Value k) {
        Position source = advance(group, k, *inner);
        Position target = advance(to, k, distance);
        kernels.pack(number, source, target, length, nest.columnPitch());
      });
    for (int64_t k = 0; k < size; ++k)
      kernels.pack(number, group + rows[k], to + k * distance, length,
                   nest.columnPitch());
  });
}

/// As many columns at a time as one load takes, the last of which overlap.
void NestEmitter::emitColumnChunks(Position from, Position to,
                                   llvm::ArrayRef<int64_t> rows,
                                   llvm::ArrayRef<int64_t> columns) {
  int64_t size = 16 / nest.runElements, numColumns = columns.size();
  std::optional<int64_t> stride = getUniformStride(columns, 1);
  if (numColumns <= size || !stride)
    return kernels.transpose(from, rows, to, columns, isNontemporal());
  AffineExpr part = b.getAffineDimExpr(0) * size;
  AffineExpr last = b.getAffineConstantExpr(numColumns - size);
  repeatInLoop(llvm::divideCeil(numColumns, size), [&](Value i) {
    Value begin = affine::AffineMinOp::create(
        b, AffineMap::get(1, 0, {part, last}, b.getContext()), ValueRange{i});
    Position source = advance(from, begin, nest.runElements);
    Position target = advance(to, begin, *stride);
    kernels.transpose(source, rows, target, columns.take_front(size),
                      isNontemporal());
  });
}

void NestEmitter::emitCarried(Position from, Position to, Position carry,
                              llvm::ArrayRef<int64_t> rows,
                              llvm::ArrayRef<int64_t> columns, int64_t phase) {
  int64_t line = lineElements(), size = line / nest.runElements;
  int64_t lines = rows.size() / size;
  emitPrefetch(from, rows);
  Value zero = arith::ConstantIndexOp::create(b, 0), isFirst;
  auto isZero = [&](Value number) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, zero);
  };
  if (panel)
    isFirst = isZero(panel);
  auto stride = getUniformStride(rows.take_front(lines * size), size);
  if (lines <= kMaxUnrolled || !stride) {
    for (int64_t i = 0; i < lines; ++i)
      emitCarriedLines(from, to + i * line, carry, rows.slice(i * size, size),
                       columns, phase, i == 0 ? isFirst : Value());
  } else {
    repeatInLoop(lines, [&](Value i) {
      Value first = isFirst;
      if (first)
        first = arith::AndIOp::create(b, first, isZero(i));
      Position source = advance(from, i, *stride);
      Position target = advance(to, i, line);
      emitCarriedLines(source, target, carry, rows.take_front(size), columns,
                       phase, first);
    });
  }
  if (panel)
    return;
  // What makes no line any more is little: it goes through the cache, by short
  // code.
  Position end = to + lines * line;
  emitKeptLines(end, carry, columns, phase);
  if (llvm::ArrayRef<int64_t> remainder = rows.drop_front(lines * size);
      !remainder.empty())
    emitRowChunks(from, end, remainder, columns);
}

void NestEmitter::emitCarriedLines(Position from, Position to, Position carry,
                                   llvm::ArrayRef<int64_t> rows,
                                   llvm::ArrayRef<int64_t> columns,
                                   int64_t phase, Value isFirst) {
  int64_t line = lineElements();
  llvm::SmallBitVector isDone(columns.size());
  llvm::SmallVector<CarriedLine, kCarriedGroup> group;
  kernels.transposeRows(
      from, rows, columns.size(), [&](Value column, int64_t number) {
        if (isDone.test(number))
          return;
        isDone.set(number);
        int64_t shift = (phase + columns[number]) % line;
        Value whole = column;
        if (Position kept = carry + number * line; shift) {
          whole = kernels.alignLines(kernels.load(kept, line), column, shift);
          kernels.store(column, kept);
        }
        group.push_back({whole, to + (columns[number] - shift), shift});
        if (group.size() < kCarriedGroup && !isDone.all())
          return;
        storeLines(group, isFirst);
        group.clear();
      });
}

void NestEmitter::storeLines(llvm::ArrayRef<CarriedLine> lines, Value isFirst) {
  auto storeWhole = [&] {
    for (const CarriedLine &line : lines)
      kernels.store(line.value, line.position, /*isNontemporal=*/true);
  };
  if (!isFirst)
    return storeWhole();
  auto storeParts = [&] {
    for (const CarriedLine &line : lines)
      kernels.storePart(line.value, line.position, line.shift, lineElements());
  };
  emitChoice(isFirst, storeParts, storeWhole);
}

void NestEmitter::emitKeptLines(Position to, Position carry,
                                llvm::ArrayRef<int64_t> columns,
                                int64_t phase) {
  int64_t line = lineElements();
  for (auto [number, column] : llvm::enumerate(columns)) {
    int64_t shift = (phase + column) % line;
    if (shift == 0)
      continue;
    Value kept = kernels.load(carry + number * line, line);
    kernels.storePart(kernels.alignLines(kept, kept, shift),
                      to + (column - shift), 0, shift);
  }
}

/// Prefetches what the same rows have some blocks of columns ahead.
void NestEmitter::emitPrefetch(Position from, llvm::ArrayRef<int64_t> rows) {
  const auto *transpose = nest.get<TransposeKernel>();
  int64_t blocks =
      transpose ? transpose->prefetch : nest.get<InterleaveKernel>()->prefetch;
  if (!blocks || rows.empty())
    return;
  const PlanLoop &inner = nest.loops.back();
  int64_t width = nest.blockColumns() * nest.runElements;
  Position ahead = getAhead(from, blocks * inner.srcStride * inner.step,
                            width + *llvm::max_element(rows));
  for (int64_t row : rows)
    for (int64_t i = 0; i < width; i += lineElements())
      emitPrefetchOfLine(ahead + (row + i));
}

/// Prefetches what is read some bytes after `count` elements of runs.
void NestEmitter::emitCopyPrefetch(Position from, llvm::ArrayRef<int64_t> runs,
                                   int64_t count) {
  const auto *copy = nest.get<CopyKernel>();
  if (!copy || !copy->prefetchBytes || count == 0)
    return;
  Position ahead = getAhead(from, copy->prefetchBytes / kernels.elementBytes(),
                            count + *llvm::max_element(runs));
  for (int64_t run : runs)
    for (int64_t i = 0; i < count; i += lineElements())
      emitPrefetchOfLine(ahead + (run + i));
}

Position NestEmitter::getAhead(Position from, int64_t distance, int64_t reach) {
  int64_t elements = cast<MemRefType>(src.getType()).getNumElements();
  AffineExpr ahead = b.getAffineDimExpr(0) + (from.offset + distance);
  AffineExpr last =
      b.getAffineConstantExpr(std::max<int64_t>(elements - reach, 0));
  AffineMap map = AffineMap::get(1, 0, {ahead, last}, b.getContext());
  return {src, affine::AffineMinOp::create(b, map, ValueRange{from.index})};
}

void NestEmitter::emitPrefetchOfLine(Position position) {
  // Panels are read once, and not to push anything out of a cache.
  const auto *transpose = nest.get<TransposeKernel>();
  bool isToL2 = transpose && transpose->prefetchesToL2;
  int locality = nest.packsPanels() ? 0 : isToL2 ? 2 : 3;
  memref::PrefetchOp::create(b, src, ValueRange{kernels.getIndex(position)},
                             /*isWrite=*/false, locality, /*isDataCache=*/true);
}
