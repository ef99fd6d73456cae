//===- EmitTransposes.cpp - Code for blocks of transposes -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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
static constexpr int64_t kMaxFirstLevelShuffles = 512;
/// Lines that are stored under one condition: half the registers.
static constexpr size_t kCarriedGroup = 16;
/// What one load takes of a row, where packed bytes are transposed.
static constexpr int64_t kLaneBytes = 16;

/// Where runs of `length` begin that lie one behind the other.
static Table getPositions(int64_t count, int64_t length) {
  Table positions;
  for (int64_t i = 0; i < count; ++i)
    positions.push_back(i * length);
  return positions;
}

void NestEmitter::emitTranspose(const Block &block, bool isAligned) {
  if (haloRows())
    return emitRaggedColumns(block);
  if (nest.stores() != StoreKind::Staged)
    return emitRowChunks(block);
  // In the buffer, columns lie one behind the other.
  Position stage = getStage();
  int64_t length = block.rows.size() * nest.runElements;
  Table stageColumns = getPositions(block.columns.size(), length);
  emitRowChunks({{block.from, stage}, block.rows, stageColumns});
  emitStagedColumns({stage, block.to}, block.columns, length, isAligned);
}

void NestEmitter::emitTiles(const Block &block, bool fillsLines, bool unrolls) {
  int64_t width =
      kernels.registerColumns(block.rows.size(), block.columns.size());
  auto emitTile = [&](const Part &part) {
    Move move = {advanceRuns(block.from, part), advance(block.to, part)};
    kernels.transpose({move, block.rows, part.entries}, fillsLines);
  };
  forEachPart(block.columns, width, kernels.laneRuns(), unrolls,
              /*overlaps=*/!unrolls, emitTile);
}

/// Transposes squares of whole registers in two steps, where that is what the
/// block consists of: rows are unpacked into the buffer of the block, and
/// columns put together from there.
bool NestEmitter::emitSquares(const Block &block) {
  auto [rows, columns] = std::pair(block.rows, block.columns);
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
  auto emitSquare = [&](const Part &part) {
    Position first = advance(block.from, part);
    Position column =
        advance(block.to, part.iteration, height * nest.runElements);
    forEachPart(part.entries, q, q, q <= kMaxUnrolledRows, /*overlaps=*/false,
                [&](const Part &set) {
                  Position source = advance(first, set);
                  kernels.unpackRows(source, set.entries,
                                     advance(stage, set.iteration, q * line));
                });
    repeatTiles(q, /*unrolls=*/false, [&](Value i) {
      for (int64_t row = 0; row < height; row += side) {
        Move move = {stage + row * line, column + row * nest.runElements};
        kernels.splitColumns(advance(move, i, line, *columnStride), lanes,
                             isNontemporal());
      }
    });
  };
  forEachPart(rows, height, height, /*unrolls=*/false, /*overlaps=*/false,
              emitSquare);
  return true;
}

/// Loads each row once, side by side into the buffer of the block, from where
/// the kernel takes its parts.
void NestEmitter::emitGatheredRows(const Block &block) {
  if (hasWideLoads && emitSquares(block))
    return;
  int64_t numRows = block.rows.size();
  int64_t size = std::min<int64_t>(kernels.registerRows(numRows), numRows);
  int64_t length = block.columns.size() * nest.runElements;
  Position stage = getStage();
  auto emitRows = [&](const Part &part) {
    Position first = advance(block.from, part);
    Table stageRows = getPositions(part.entries.size(), length);
    for (auto [row, stageRow] : llvm::zip_equal(part.entries, stageRows))
      kernels.copy({first + row, stage + stageRow}, length);
    Move move = {stage, advanceRuns(block.to, part)};
    emitTiles({move, stageRows, block.columns},
              isNontemporal() && part.begin % size == 0, /*unrolls=*/false);
  };
  forEachPart(block.rows, size, size, /*unrolls=*/false,
              /*overlaps=*/!isNontemporal(), emitRows);
}

/// As many columns at a time as one load takes, each from its first row to the
/// last, so that memory gets long runs.
void NestEmitter::emitLongColumns(const Block &block) {
  int64_t height = kernels.registerRows(block.rows.size());
  int64_t width =
      kernels.registerColumns(block.rows.size(), block.columns.size());
  auto emitTile = [&](const Part &tile, const Part &part) {
    Position first = advance(block.from, part);
    Position column = advanceRuns(block.to, part);
    Move move = {advanceRuns(first, tile), advance(column, tile)};
    kernels.transpose({move, part.entries, tile.entries},
                      isNontemporal() && part.begin % height == 0);
  };
  forEachPart(block.columns, width, kernels.laneRuns(), /*unrolls=*/false,
              /*overlaps=*/true, [&](const Part &tile) {
                forEachPart(block.rows, height, 1, /*unrolls=*/false,
                            /*overlaps=*/false,
                            [&](const Part &part) { emitTile(tile, part); });
              });
}

/// The same through a buffer, where columns begin anywhere in a line.
void NestEmitter::emitRaggedColumns(const Block &block) {
  llvm::ArrayRef<int64_t> columns = block.columns;
  int64_t width = kernels.registerColumns(block.rows.size(), columns.size());
  int64_t length = block.rows.size() * nest.runElements;
  int64_t pitch = llvm::alignTo(length, lineElements());
  int64_t stride = columns.size() > 1 ? columns[1] : 0;
  Position stage = getStage(width * pitch);
  auto emitColumns = [&](const Part &tile) {
    Table stageColumns = getPositions(tile.entries.size(), pitch);
    emitLongColumns(
        {{advanceRuns(block.from, tile), stage}, block.rows, stageColumns});
    Move move = {stage, advance(block.to + tile.entries.front(), tile)};
    repeat(tile.entries.size(), [&](Value i) {
      emitRaggedColumn(advance(move, i, pitch, stride), length);
    });
  };
  forEachPart(columns, width, kernels.laneRuns(), /*unrolls=*/false,
              /*overlaps=*/true, emitColumns);
}

/// The lines that begin in a panel's part of a column; the first panel also has
/// what comes before them, and the last one what is left behind.
void NestEmitter::emitRaggedColumn(Move column, int64_t count) {
  if (!panel) {
    const PlanLoop *panels = nest.findLoop(PlanLoop::Role::DstContiguous);
    bool isOnly = !panels || countFullBlocks(*panels) == 0;
    return emitMaskedRun(column, count, /*hasHead=*/isOnly);
  }
  Value head = createHead(column.to);
  emitChoice(b, isEqual(panel, constant(0)),
             [&] { kernels.copyFirst(column, head); });
  emitAlignedRun(skip(column, head), count - haloRows() * nest.runElements);
}

void NestEmitter::emitRowChunks(const Block &block) {
  if (!nest.packedBytes.empty())
    return emitPackedTranspose(block);
  if (gathersRows())
    return emitGatheredRows(block);
  if (nest.packsPanels())
    return emitLongColumns(block);
  auto [rows, columns] = std::pair(block.rows, block.columns);
  int64_t height = kernels.registerRows(rows.size());
  bool unrolls = unrollsTiles(rows.size(), columns.size());
  bool prefetches = !isLight(rows.size(), columns.size());
  if (unrolls && prefetches)
    emitPrefetch(block.from, rows);
  auto emitRows = [&, columns = columns](const Part &part) {
    Position first = advance(block.from, part);
    if (!unrolls && prefetches)
      emitPrefetch(first, part.entries);
    Move move = {first, advanceRuns(block.to, part)};
    emitTiles({move, part.entries, columns},
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
  if (isInFirstLevel)
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
  Value zero = constant(0);
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
      Value begin = arith::MulIOp::create(b, i, constant(size));
      begin = arith::MinUIOp::create(b, begin, constant(count - size));
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
void NestEmitter::emitPackedTranspose(const Block &block) {
  int64_t length = block.columns.size() * nest.runElements;
  int64_t run = nest.packedRun(), numRows = block.rows.size() * run;
  Position stage = getStage();
  Table positions;
  for (auto [i, packed] : llvm::enumerate(nest.packedBytes)) {
    if (i % run == 0)
      positions.push_back(packed.dstOffset);
    int64_t row = static_cast<int64_t>(i) / run * numRows + i % run;
    emitPackedRows(i, {block.from, stage + row * length}, block.rows, length);
  }
  Table stageRows = getPositions(numRows, length);
  auto transposeAll = [&](Move move) {
    emitColumnChunks({move, stageRows, block.columns});
  };
  Move move = {stage, block.to};
  if (std::optional<int64_t> stride = getUniformStride(positions, 1);
      stride && positions.size() > 1)
    return repeatInLoop(positions.size(), [&](Value i) {
      transposeAll(advance(move, i, numRows * length, *stride));
    });
  for (auto [i, position] : llvm::enumerate(positions))
    transposeAll({stage + i * numRows * length, block.to + position});
}

/// The rows of a block in the buffer, of the packed bytes of one number: at a
/// distance where others come between.
void NestEmitter::emitPackedRows(size_t number, Move move,
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
  auto packRow = [&](Move row) {
    kernels.pack(number, row, length, nest.columnPitch());
  };
  repeat(numRows / size, [&](Value i) {
    Move group = advance(move, i, stride.value_or(0), size * distance);
    if (inner)
      return repeat(
          size, [&](Value k) { packRow(advance(group, k, *inner, distance)); });
    for (int64_t k = 0; k < size; ++k)
      packRow({group.from + rows[k], group.to + k * distance});
  });
}

/// As many columns at a time as one load takes, the last of which overlap.
void NestEmitter::emitColumnChunks(const Block &block) {
  int64_t size = kLaneBytes / nest.runElements;
  int64_t numColumns = block.columns.size();
  std::optional<int64_t> stride = getUniformStride(block.columns, 1);
  if (numColumns <= size || !stride)
    return kernels.transpose(block, isNontemporal());
  repeatInLoop(llvm::divideCeil(numColumns, size), [&](Value i) {
    Value begin = applyMin(b.getAffineDimExpr(0) * size,
                           b.getAffineConstantExpr(numColumns - size), i);
    kernels.transpose({advance(block, begin, nest.runElements, *stride),
                       block.rows, block.columns.take_front(size)},
                      isNontemporal());
  });
}

void NestEmitter::emitCarried(const Block &block, Position carry,
                              int64_t phase) {
  int64_t line = lineElements(), size = line / nest.runElements;
  llvm::ArrayRef<int64_t> rows = block.rows;
  int64_t lines = rows.size() / size;
  emitPrefetch(block.from, rows);
  Value zero = constant(0), isFirst;
  if (panel)
    isFirst = isEqual(panel, zero);
  auto stride = getUniformStride(rows.take_front(lines * size), size);
  if (lines <= kMaxUnrolled || !stride) {
    for (int64_t i = 0; i < lines; ++i)
      emitCarriedLines({{block.from, block.to + i * line},
                        rows.slice(i * size, size),
                        block.columns},
                       carry, phase, i == 0 ? isFirst : Value());
  } else {
    repeatInLoop(lines, [&](Value i) {
      Value first = isFirst;
      if (first)
        first = arith::AndIOp::create(b, first, isEqual(i, zero));
      emitCarriedLines({advance(block, i, *stride, line), rows.take_front(size),
                        block.columns},
                       carry, phase, first);
    });
  }
  if (panel)
    return;
  // What makes no line any more is little: it goes through the cache, by short
  // code.
  Position end = block.to + lines * line;
  emitKeptLines(end, carry, block.columns, phase);
  if (llvm::ArrayRef<int64_t> left = rows.drop_front(lines * size);
      !left.empty())
    emitRowChunks({{block.from, end}, left, block.columns});
}

void NestEmitter::emitCarriedLines(const Block &block, Position carry,
                                   int64_t phase, Value isFirst) {
  int64_t line = lineElements();
  llvm::ArrayRef<int64_t> columns = block.columns;
  llvm::SmallBitVector isDone(columns.size());
  llvm::SmallVector<CarriedLine, kCarriedGroup> group;
  kernels.transposeRows(
      block.from, block.rows, columns.size(),
      [&](Value column, int64_t number) {
        if (isDone.test(number))
          return;
        isDone.set(number);
        int64_t shift = (phase + columns[number]) % line;
        Value whole = column;
        if (Position kept = carry + number * line; shift) {
          whole = kernels.alignLines(kernels.load(kept, line), column, shift);
          kernels.store(column, kept);
        }
        group.push_back({whole, block.to + (columns[number] - shift), shift});
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
  emitChoice(b, isFirst, storeParts, storeWhole);
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
  int64_t blocks = nest.choices().prefetch;
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
  return {src, applyMin(ahead, last, from.index)};
}

void NestEmitter::emitPrefetchOfLine(Position position) {
  // Panels are read once, and not to push anything out of a cache.
  const auto *transpose = nest.get<TransposeKernel>();
  bool isToL2 = transpose && transpose->prefetchesToL2;
  int locality = nest.packsPanels() ? 0 : isToL2 ? 2 : 3;
  memref::PrefetchOp::create(b, src, ValueRange{kernels.getIndex(position)},
                             /*isWrite=*/false, locality, /*isDataCache=*/true);
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

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
