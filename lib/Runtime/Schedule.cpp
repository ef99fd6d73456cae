//===- Schedule.cpp - A relayout as calls of kernels ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include "Gathers.h"

#include "tessera/Conversion/TesseraToVector/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::runtime;

/// A nest costs a few words and a call, so that many are no trouble.
static constexpr size_t kMaxRuntimeNests = 4096;
/// The time that planning takes grows with the third power of the axes.
static constexpr size_t kMaxAxes = 64;
/// Runs that are transposed are powers of two up to these bytes, and those that
/// are interleaved.
static constexpr int64_t kMaxTransposedBytes = 16, kMaxInterleavedBytes = 8;
/// Shorter runs are written faster through the caches.
static constexpr int64_t kMinStreamedRun = 2 * kLineBytes;
/// The most runs that are read side by side: processors foresee as many.
static constexpr int64_t kMaxSideBySide = 16;
static constexpr int64_t kPageBytes = 4096;

/// Bytes of the source between those that are packed into a run, and columns
/// that are worth a buffer.
static constexpr int64_t kMaxPackedStride = 8, kMinPackedColumns = 16;

//===----------------------------------------------------------------------===//
// One nest
//===----------------------------------------------------------------------===//

/// A nest, in bytes.
static ElementNest getBytes(const StridedNest &nest, int64_t srcBytes,
                            int64_t dstBytes) {
  ElementNest bytes;
  bytes.srcOffset = nest.srcOffset * srcBytes;
  bytes.dstOffset = nest.dstOffset * dstBytes;
  for (const PlanLoop &loop : nest.loops)
    bytes.loops.push_back(
        {loop.count, loop.srcStride * srcBytes, loop.dstStride * dstBytes});
  return bytes;
}

/// A move of single elements, so far.
static Move makeMove(const ElementNest &nest) {
  Move move;
  move.srcOffset = nest.srcOffset;
  move.dstOffset = nest.dstOffset;
  move.loops = nest.loops;
  return move;
}

/// Makes neighbours on both sides one run.
static void absorbRun(Move &move, int64_t elementBytes) {
  move.runBytes = elementBytes;
  if (move.loops.empty())
    return;
  const Loop &last = move.loops.back();
  if (last.src != elementBytes || last.dst != elementBytes)
    return;
  move.runBytes *= last.count;
  move.loops.pop_back();
}

/// Whether there are kernels that transpose such runs.
static bool isTransposable(int64_t runBytes) {
  return runBytes <= kMaxTransposedBytes && llvm::isPowerOf2_64(runBytes);
}

/// The first loop whose steps are so far apart on a side; the end if there is
/// none.
static Loop *findLoop(Move &move, int64_t Loop::*side, int64_t distance) {
  return llvm::find_if(
      move.loops, [&](const Loop &loop) { return loop.*side == distance; });
}

/// Makes the loops of runs that are contiguous in the destination and in the
/// source rows and columns. False where there are not both.
static bool takeRowsAndColumns(Move &move, int64_t runBytes) {
  Loop *rows = findLoop(move, &Loop::dst, runBytes);
  Loop *columns = findLoop(move, &Loop::src, runBytes);
  if (rows == columns || rows == move.loops.end() ||
      columns == move.loops.end())
    return false;
  move.rows = *rows;
  move.columns = *columns;
  move.loops.erase(std::max(rows, columns));
  move.loops.erase(std::min(rows, columns));
  return true;
}

/// Whether runs that are so far apart are some of those that are interleaved.
static bool isApart(int64_t distance, int64_t runBytes) {
  return runBytes <= kMaxInterleavedBytes && isTransposable(runBytes) &&
         (distance == 2 * runBytes || distance == 4 * runBytes);
}

/// Makes `numRows` rows and at most `ways` columns whose runs are those of
/// words of `ways` runs, which follow one another on both sides, a transpose of
/// words. False where there are none.
static bool takeWords(Move &move, int64_t ways, int64_t numRows) {
  int64_t run = move.runBytes, word = ways * run;
  auto isWord = [=](const Loop &loop) {
    return loop.src == word && loop.dst == word;
  };
  const Loop *words = llvm::find_if(move.loops, isWord);
  if (words == move.loops.end() || !isApart(word, run) || word > kMaxWordBytes)
    return false;
  auto get = [&](int64_t Loop::*side, const Loop &single) {
    const Loop *loop = findLoop(move, side, run);
    return loop == move.loops.end() ? single : *loop;
  };
  Loop rows = get(&Loop::dst, {1, word, run});
  Loop columns = get(&Loop::src, {1, run, word});
  if (rows.count != numRows || columns.count > ways ||
      std::abs(rows.src) < word || std::abs(columns.dst) < word)
    return false; // Those are within a word, or columns overlap.
  move.kind = Move::Kind::Transpose;
  move.rows = rows;
  move.columns = columns;
  move.moreRows = *words;
  llvm::erase_if(move.loops, [=](const Loop &loop) {
    return loop.dst == run || loop.src == run || isWord(loop);
  });
  return true;
}

/// The same of words of two or four runs, or of fewer rows and the padding
/// behind them.
static bool findWords(Move &move, const std::optional<RunPadding> &padding,
                      int64_t elementBytes) {
  if (padding && move.runBytes == elementBytes &&
      takeWords(move, padding->run + padding->count, padding->run)) {
    move.fillBytes = padding->count * elementBytes;
    return true;
  }
  return takeWords(move, 2, 2) || takeWords(move, 4, 4);
}

static void findTranspose(Move &move) {
  if (isTransposable(move.runBytes) && takeRowsAndColumns(move, move.runBytes))
    move.kind = Move::Kind::Transpose;
}

/// Where a few rows and columns are contiguous on both sides, as those of tiles
/// within tiles are, makes them a run whose elements are transposed within it,
/// if there are rows and columns of these.
static void takeSquare(Move &move) {
  int64_t count = move.columns.count, row = count * move.runBytes;
  int64_t size = row * count;
  bool isSquare = move.kind == Move::Kind::Transpose &&
                  (count == 2 || count == 4) && move.rows.count == count &&
                  move.rows.src == row && move.columns.dst == row &&
                  size <= kMaxTransposedBytes;
  if (!isSquare || !takeRowsAndColumns(move, size))
    return;
  move.square = count;
  move.runBytes = size;
}

/// Fewer rows of squares on one side would go element by element.
static constexpr int64_t kRunsOfLane = kMaxTransposedBytes / kRunOfSquare;

/// Whether all that is read lies in blocks of `size` bytes of a source of
/// `wholeBytes`, each of which is read from its begin on.
static bool isInBlocks(const Move &move, int64_t size, int64_t wholeBytes) {
  auto isOfBlocks = [=](const Loop &loop) {
    return loop.src % size == 0 || (loop.src > 0 && loop.src < size);
  };
  return wholeBytes > 0 && wholeBytes % size == 0 &&
         move.srcOffset % size == 0 && llvm::all_of(move.loops, isOfBlocks);
}

/// The same where they are contiguous on one side alone, as where the packed
/// dimension of a tile is that of the lines on the other side: what is
/// contiguous on both is a run then, a part of a square there. Squares of the
/// source may have fewer columns where they belong as a whole to a buffer of
/// `wholeBytes`.
static void takeSquareOf(SquareSides side, Move &move, int64_t wholeBytes) {
  bool isOfSource = side == SquareSides::Source;
  int64_t Loop::*here = isOfSource ? &Loop::src : &Loop::dst;
  int64_t Loop::*there = isOfSource ? &Loop::dst : &Loop::src;
  int64_t element = move.runBytes;
  const Loop *end = move.loops.end();
  const Loop *inRun = findLoop(move, there, element);
  if (inRun == end || inRun->count * element != kRunOfSquare ||
      inRun->*here != kRunOfSquare)
    return;
  int64_t ways = inRun->count, size = ways * kRunOfSquare;
  const Loop *inSquare = findLoop(move, here, element);
  const Loop *more = findLoop(move, here, size);
  const Loop *across = findLoop(move, there, kRunOfSquare);
  if (across == end || more == end || across == inSquare || across == more)
    return;
  Loop runs = inSquare == end ? Loop{1, 0, 0} : *inSquare;
  bool isComplete = runs.count == ways;
  bool isWithin = isOfSource && runs.count < ways;
  int64_t numRows = isOfSource ? across->count : ways * more->count;
  if ((!isComplete && !(isWithin && isInBlocks(move, size, wholeBytes))) ||
      numRows < kRunsOfLane)
    return;
  runs.*here = kRunOfSquare;
  move.kind = Move::Kind::Transpose;
  move.square = ways;
  move.squareSides = side;
  move.runBytes = kRunOfSquare;
  (isOfSource ? move.columns : move.rows) = runs;
  (isOfSource ? move.moreColumns : move.moreRows) = *more;
  (isOfSource ? move.rows : move.columns) = *across;
  llvm::erase_if(move.loops, [=](const Loop &loop) {
    return loop.*here == element || loop.*here == size ||
           loop.*there == element || loop.*there == kRunOfSquare;
  });
}

/// Makes a row of runs that lie apart in the source, or a column that has them
/// apart in the destination, a transpose.
static void takeSpreadRow(Move &move) {
  Loop last = move.loops.pop_back_val();
  bool isRow = last.dst == move.runBytes;
  move.kind = Move::Kind::Transpose;
  (isRow ? move.rows : move.columns) = last;
  (isRow ? move.columns : move.rows) = {1, move.runBytes, move.runBytes};
}

/// The same of rows that fill a register, which are read faster with what lies
/// between.
static void findSpreadRow(Move &move) {
  if (move.kind != Move::Kind::Copy || move.loops.empty())
    return;
  const Loop &row = move.loops.back();
  if (row.dst == move.runBytes && isApart(row.src, move.runBytes) &&
      row.count * move.runBytes >= kMaxTransposedBytes)
    takeSpreadRow(move);
}

/// Whether words are transposed: see `takeWords`.
static bool isOfWords(const Move &move) {
  return move.moreRows.src == move.moreRows.dst && move.square == 1 &&
         move.moreRows.dst <= kMaxWordBytes &&
         move.columns.count * move.runBytes <= move.moreRows.dst &&
         isApart(move.moreRows.dst, move.runBytes);
}

/// Whether each column takes a part of a line alone, as where a dimension of
/// few elements is padded to lanes.
static bool isSparse(const Move &move) {
  if (move.kind != Move::Kind::Transpose || isOfWords(move))
    return false;
  int64_t bytes = move.rows.count * move.runBytes;
  // A loop that continues the rows, or one whose steps are in other lines.
  auto suits = [&](const Loop &loop) {
    bool goesOn = loop.dst == bytes;
    if (goesOn)
      bytes *= loop.count;
    return goesOn || loop.count == 1 || std::abs(loop.dst) >= kLineBytes;
  };
  return suits(move.moreRows) && suits(move.moreColumns) &&
         llvm::all_of(move.loops, suits) && bytes < kLineBytes &&
         std::abs(move.columns.dst) >= kLineBytes;
}

/// Whether runs of the source are divided among a few columns.
static bool isDividedAmongFew(const Move &move) {
  return move.kind == Move::Kind::Transpose && !isOfWords(move) &&
         !isSparse(move) && move.columns.count * move.moreColumns.count <= 4;
}

/// Makes loops follow the source.
static void orderBySource(llvm::MutableArrayRef<Loop> loops) {
  llvm::sort(loops, [](const Loop &a, const Loop &b) {
    return std::pair(std::abs(a.src), a.dst) >
           std::pair(std::abs(b.src), b.dst);
  });
}

/// `wholeBytes` are those of the buffer of the source, or 0 where that may hold
/// anything else.
static Move planCopy(const ElementNest &nest,
                     const std::optional<RunPadding> &padding,
                     int64_t elementBytes, int64_t wholeBytes) {
  Move move = makeMove(nest);
  absorbRun(move, elementBytes);
  if (findWords(move, padding, elementBytes))
    return move;
  takeSquareOf(SquareSides::Source, move, wholeBytes);
  if (move.square == 1)
    takeSquareOf(SquareSides::Destination, move, wholeBytes);
  if (move.square > 1)
    return move;
  findTranspose(move);
  takeSquare(move);
  findSpreadRow(move);
  return move;
}

/// Whether two or four rows make one run of the destination, column by column.
static bool isInterleave(const Move &move) {
  return move.kind == Move::Kind::Transpose && move.square == 1 &&
         move.columns.dst == move.rows.count * move.runBytes &&
         isApart(move.columns.dst, move.runBytes);
}

/// Whether a run of the source is divided among two or four columns, or some of
/// these.
static bool isDividedRun(const Move &move) {
  return move.kind == Move::Kind::Transpose && move.square == 1 &&
         move.rows.src >= move.columns.count * move.runBytes &&
         isApart(move.rows.src, move.runBytes);
}

/// Whether rows and columns go through tiles, and are no interleave.
static bool isTiled(const Move &move) {
  return move.kind == Move::Kind::Transpose && move.fillBytes == 0 &&
         !isInterleave(move) && !isDividedRun(move) && !isOfWords(move);
}

/// Takes the loops that continue rows or columns of less than a line, or of few
/// lines, as those of tiles do: else a step would read or write these alone.
static void findChains(Move &move) {
  bool isFilled = isSparse(move) && move.fillBytes > 0;
  if (!isTiled(move) && !isFilled)
    return;
  auto take = [&](const Loop &inner, int64_t Loop::*side, Loop &more) {
    int64_t size = inner.count * move.runBytes;
    Loop *loop = findLoop(move, side, size);
    bool suits =
        inner.count > 1 &&
        (size < kLineBytes || (size <= kShortRow && size % kLineBytes == 0));
    if (!suits || loop == move.loops.end())
      return;
    more = *loop;
    move.loops.erase(loop);
  };
  // Where one loop continues both, the shorter ones need it more.
  bool hasShortRows = move.rows.count <= move.columns.count;
  if (hasShortRows)
    take(move.rows, &Loop::dst, move.moreRows);
  take(move.columns, &Loop::src, move.moreColumns);
  if (!hasShortRows)
    take(move.rows, &Loop::dst, move.moreRows);
}

/// A move of elements without padding.
static Move planElements(const ElementNest &nest, int64_t elementBytes,
                         int64_t wholeBytes) {
  Move move =
      planCopy(nest, /*padding=*/std::nullopt, elementBytes, wholeBytes);
  findChains(move);
  return move;
}

/// Whether rows or columns go on in the next tile.
static bool isChained(const Move &move) {
  return move.moreRows.count > 1 || move.moreColumns.count > 1;
}

/// Lets a kernel write the padding behind rows with which it makes columns of
/// two or four runs. False where it does not make such.
static bool takeRowPadding(Move &move, const RunPadding &padding,
                           int64_t elementBytes) {
  int64_t pitch = (padding.run + padding.count) * elementBytes;
  if (isOfWords(move)) // They took it when they were found.
    return move.fillBytes > 0;
  if (move.runBytes != elementBytes || !isApart(pitch, elementBytes))
    return false;
  // A single row has no loop.
  if (move.kind == Move::Kind::Copy && !move.loops.empty() &&
      move.loops.back().src == elementBytes && move.loops.back().dst == pitch)
    takeSpreadRow(move);
  if (move.kind != Move::Kind::Transpose || move.rows.count != padding.run ||
      move.columns.dst != pitch)
    return false;
  move.fillBytes = padding.count * elementBytes;
  return true;
}

/// Takes the loop that continues rows, if there is one, so that padding lies
/// behind the rows of each column, which has less than a line of them.
static bool takeSparseRows(Move &move, const RunPadding &padding,
                           int64_t elementBytes) {
  if (move.runBytes != elementBytes || move.square > 1 || !isSparse(move) ||
      padding.run * elementBytes >= kLineBytes)
    return false;
  if (move.rows.count == padding.run)
    return true;
  Loop *more = findLoop(move, &Loop::dst, move.rows.count * elementBytes);
  if (more == move.loops.end() || move.rows.count * more->count != padding.run)
    return false;
  move.moreRows = *more;
  move.loops.erase(more);
  return true;
}

/// The same, and padding behind runs that it copies or interleaves, or behind
/// columns of less than a line.
static bool takePadding(Move &move, const RunPadding &padding,
                        int64_t elementBytes) {
  int64_t pitch = (padding.run + padding.count) * elementBytes;
  bool isBehindRun = move.kind == Move::Kind::Copy &&
                     move.runBytes == padding.run * elementBytes &&
                     !isApart(pitch, elementBytes);
  bool isBehindColumns = move.runBytes == elementBytes && isInterleave(move) &&
                         move.rows.count * move.columns.count == padding.run;
  if (!isBehindRun && !isBehindColumns &&
      !takeSparseRows(move, padding, elementBytes))
    return takeRowPadding(move, padding, elementBytes);
  move.fillBytes = padding.count * elementBytes;
  return true;
}

static Move planFill(const StridedNest &nest, int64_t elementBytes) {
  Move move = makeMove(getBytes(nest, 0, elementBytes));
  move.kind = Move::Kind::Fill;
  move.srcOffset = 0;
  move.runBytes = elementBytes;
  if (!move.loops.empty() && move.loops.back().dst == elementBytes)
    move.runBytes *= move.loops.pop_back_val().count;
  return move;
}

//===----------------------------------------------------------------------===//
// Elements that share bytes
//===----------------------------------------------------------------------===//

/// The parts that a step packs; of bits that keep their position, one part.
static void addParts(Move &move, const PackedNest &nest) {
  llvm::SmallVector<PackedBytes, 2> packed = nest.packedBytes;
  if (packed.empty())
    packed.push_back({0, {{0, 0, nest.mask}}});
  for (const PackedBytes &byte : packed)
    for (const BytePart &part : byte.parts)
      move.parts.push_back({part.srcOffset, part.shift, part.mask});
  const BitPart *parts = move.parts.data();
  for (const PackedBytes &byte : packed) {
    move.bytes.push_back({byte.dstOffset, parts, byte.parts.size()});
    parts += byte.parts.size();
  }
}

/// Makes a long run of the destination the columns, if it is nearly one of the
/// source too; else the loop that is nearest to contiguous in the source, and
/// that which is contiguous in the destination the rows.
static void findRuns(Move &move) {
  if (move.loops.empty())
    return;
  auto take = [&](Loop *loop) {
    Loop taken = *loop;
    move.loops.erase(loop);
    return taken;
  };
  Loop *run =
      llvm::find_if(move.loops, [](const Loop &loop) { return loop.dst == 1; });
  Loop *nearest = llvm::min_element(
      move.loops, [](const Loop &a, const Loop &b) { return a.src < b.src; });
  bool hasRun = run != move.loops.end();
  bool isDense = hasRun && (run == nearest || run->src <= kMaxPackedStride ||
                            nearest->count < kMinPackedColumns);
  move.columns = take(isDense ? run : nearest);
  // What lies between the columns in the source comes next.
  auto isBetween = [&](const Loop &loop) {
    return std::abs(loop.src) < move.columns.src;
  };
  if (isDense)
    if (Loop *loop = llvm::find_if(move.loops, isBetween);
        loop != move.loops.end())
      move.loops.push_back(take(loop));
  if (isDense || !hasRun)
    return;
  move.rows = take(llvm::find_if(
      move.loops, [](const Loop &loop) { return loop.dst == 1; }));
}

static Move planPacked(const PackedNest &nest, const ElementBits &bits) {
  if (nest.mask == 0xFF && nest.packedBytes.empty())
    return planElements(getBytes(nest.strided, 1, 1), /*elementBytes=*/1,
                        /*wholeBytes=*/0);
  Move move = makeMove(getBytes(nest.strided, 1, 1));
  move.kind = Move::Kind::PackBits;
  if (nest.mask == 0xFF)
    findRuns(move);
  move.mask = nest.mask;
  if (bits.isSigned && bits.src < bits.dst)
    move.signedBits = static_cast<int>(bits.src);
  addParts(move, nest);
  return move;
}

static Move planPackedFill(const PackedNest &nest) {
  Move move = planFill(nest.strided, 1);
  if (nest.mask != 0xFF &&
      move.runBytes != 1) { // Bits are merged byte by byte.
    move.loops.push_back({move.runBytes, 0, 1});
    move.runBytes = 1;
  }
  move.mask = nest.mask;
  return move;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// Element by element, a run takes about so many cycles; those that follow one
/// another take one each.
static constexpr int64_t kRunCycles = 3;

/// The cycles, about, in which a copy of short runs writes as much as a
/// register has; 0 for others.
static int64_t getShortCopyCycles(const Move &move, int64_t registerBytes) {
  if (move.loops.empty() || move.runBytes > kMaxInterleavedBytes)
    return 0;
  // What comes next in a line is read when the line has been evicted.
  auto isWithinLine = [](const Loop &loop) {
    return std::abs(loop.src) < kLineBytes;
  };
  bool jumps = !isWithinLine(move.loops.back()) &&
               llvm::any_of(move.loops, isWithinLine);
  return registerBytes / move.runBytes * (jumps ? kRunCycles : 1);
}

/// The largest power of two that is no more than a number above 0.
static int64_t floorToPower(int64_t value) {
  return std::max<int64_t>(llvm::bit_floor<uint64_t>(value), 1);
}

/// The same of few rows that become columns without gaps, or the other way
/// round, by a kernel of their own; 0 for others. Chains are divided. Measured
/// on Zen 4.
static int64_t getDenseCycles(const Move &move, const KernelTable &kernels,
                              bool isStreamed) {
  if (!isTiled(move) || move.square > 1)
    return 0;
  int64_t run = move.runBytes;
  const DenseLimits &dense = kernels.dense[llvm::Log2_64(run)];
  auto getCycles = [=, &kernels, &dense](const Loop &few, const Loop &many) {
    int64_t size = many.count * run;
    int64_t slots = dense.isExact ? few.count : llvm::PowerOf2Ceil(few.count);
    // Whole registers are moved, also where rows end within one.
    int64_t unit = kernels.gatherRegisters.laneBytes;
    int64_t bytes =
        std::min(std::max(dense.leastRowBytes, unit), floorToPower(size));
    return 8 * slots * unit * llvm::divideCeil(size, bytes) /
           (few.count * size);
  };
  if (dense.writes(move.rows, move.columns, run))
    return getCycles(move.rows, move.columns);
  if (dense.reads(move.rows, move.columns, run, isStreamed))
    return getCycles(move.columns, move.rows);
  return 0;
}

/// The same of a transpose of few rows or columns; 0 for others, which
/// registers suit. Measured on Zen 3.
static int64_t getFewCycles(const Move &move, int64_t registerBytes) {
  constexpr int64_t kBlockCycles = 40;
  if (!isTiled(move) || move.square > 1 || isDividedRun(move) ||
      move.runBytes > kMaxInterleavedBytes)
    return 0;
  int64_t runs = registerBytes / move.runBytes;
  int64_t inLane = kMaxTransposedBytes / move.runBytes;
  int64_t rows = move.rows.count, columns = move.columns.count;
  bool hasFewRows = rows * move.moreRows.count < inLane;
  bool hasFewColumns = columns * move.moreColumns.count < inLane;
  if (!hasFewRows && !hasFewColumns)
    return 0;
  // Less than a lane goes element by element, less than a register by shorter
  // ones.
  int64_t many = hasFewColumns ? rows : columns;
  if (many < inLane)
    return runs * kRunCycles;
  int64_t registers = runs / std::min(runs, floorToPower(many));
  // Registers of all rows or columns of a lane are unpacked in rounds; columns
  // of few rows are stored one by one.
  int64_t rounds = llvm::Log2_64(inLane);
  int64_t cycles = hasFewColumns
                       ? inLane * rounds / columns + 2
                       : llvm::divideCeil(runs, rows) * 2 * (rounds - 1);
  return registers * cycles + kBlockCycles * runs / (rows * columns);
}

/// Replaces the last one of `moves`, which moves `elements`, with gathers where
/// those take less time, and a move of what they leave.
static void takeGathers(const ElementNest &elements, int64_t elementBytes,
                        const Kernels &kernels, int64_t wholeBytes,
                        std::vector<Move> &moves) {
  const Move &planned = moves.back();
  const GatherRegisters &registers = kernels.table.gatherRegisters;
  if (registers.laneBytes == 0 || planned.numBytes() == 0 ||
      planned.fillBytes > 0 || planned.keepsPadding)
    return;
  int64_t mostCycles = getDenseCycles(
      planned, kernels.table, planned.numBytes() >= kernels.streamedBytes);
  if (mostCycles == 0)
    mostCycles = planned.kind == Move::Kind::Copy
                     ? getShortCopyCycles(planned, registers.laneBytes)
                     : getFewCycles(planned, registers.laneBytes);
  std::optional<ElementNest> rest = elements;
  while (rest) {
    ElementNest nest = std::move(*rest);
    rest.reset();
    auto gather = planGather(nest, elementBytes, registers, mostCycles, rest);
    if (!gather)
      return;
    moves.back() = std::move(*gather);
    if (rest)
      moves.push_back(planElements(*rest, elementBytes, wholeBytes));
  }
}

//===----------------------------------------------------------------------===//
// All nests
//===----------------------------------------------------------------------===//

/// Adds moves of whole bytes, and fills unless padding keeps its bytes.
static void addMoves(llvm::ArrayRef<StridedNest> nests,
                     std::vector<StridedNest> fills, bool keepsPadding,
                     int64_t elementBytes, const PlanSide &src,
                     const Kernels &kernels, Schedule &schedule) {
  int64_t srcBytes = src.strides ? 1 : elementBytes;
  int64_t wholeBytes =
      src.isWhole() ? src.axes.numAllocated() * elementBytes : 0;
  for (const StridedNest &nest : nests) {
    auto padding = findPadding(nest, fills);
    const ElementNest elements = getBytes(nest, srcBytes, elementBytes);
    Move move = planCopy(elements, padding, elementBytes, wholeBytes);
    if (keepsPadding) {
      move.keepsPadding =
          padding && takeRowPadding(move, *padding, elementBytes);
    } else if (padding && takePadding(move, *padding, elementBytes)) {
      schedule.includedFills.push_back(
          planFill(fills[padding->fill], elementBytes));
      fills.erase(fills.begin() + padding->fill);
    }
    findChains(move);
    schedule.moves.push_back(std::move(move));
    takeGathers(elements, elementBytes, kernels, wholeBytes, schedule.moves);
  }
  if (!keepsPadding)
    for (const StridedNest &nest : fills)
      schedule.moves.push_back(planFill(nest, elementBytes));
}

/// Adds moves of bytes that elements share, on one side at least.
static llvm::Error addPackedMoves(llvm::ArrayRef<StridedNest> nests,
                                  llvm::ArrayRef<StridedNest> fills,
                                  const ElementBits &bits,
                                  std::vector<Move> &moves) {
  auto copied = packNests(nests, bits, /*forFill=*/false, kMaxRuntimeNests);
  if (!copied)
    return copied.takeError();
  for (const PackedNest &nest : *copied)
    moves.push_back(planPacked(nest, bits));
  if (bits.dst % 8 == 0) {
    for (const StridedNest &nest : fills)
      moves.push_back(planFill(nest, bits.dst / 8));
    return llvm::Error::success();
  }
  auto filled = packNests(fills, bits, /*forFill=*/true, kMaxRuntimeNests);
  if (!filled)
    return filled.takeError();
  for (const PackedNest &nest : *filled)
    moves.push_back(planPackedFill(nest));
  return llvm::Error::success();
}

llvm::Expected<Schedule> Schedule::get(const PlanSide &src, const PlanSide &dst,
                                       ElementBits bits, bool fillPadding,
                                       const Kernels &kernels) {
  if (src.axes.size() > kMaxAxes || dst.axes.size() > kMaxAxes)
    return unsupportedError(
        "schedule", "at most " + llvm::Twine(kMaxAxes) + " axes", "more");
  auto nests = splitElements(src, dst, kMaxRuntimeNests);
  if (!nests)
    return nests.takeError();
  // What is padding may be written back where it keeps its bytes.
  bool isOfBytes = bits.src == bits.dst && bits.dst % 8 == 0;
  std::vector<StridedNest> fills;
  if (fillPadding || (isOfBytes && dst.isWhole())) {
    auto padding = splitPadding(dst.axes, kMaxRuntimeNests);
    if (padding)
      fills = std::move(*padding);
    else if (fillPadding)
      return padding.takeError();
    else
      llvm::consumeError(padding.takeError());
  }
  Schedule schedule;
  if (isOfBytes) {
    int64_t bytes = bits.dst / 8;
    addMoves(*nests, std::move(fills), /*keepsPadding=*/!fillPadding, bytes,
             src, kernels, schedule);
  } else if (llvm::Error error =
                 addPackedMoves(*nests, fills, bits, schedule.moves)) {
    return std::move(error);
  }
  return schedule;
}

int64_t Schedule::numBytes() const {
  int64_t bytes = 0;
  for (const Move &move : moves)
    bytes += move.numBytes();
  return bytes;
}

//===----------------------------------------------------------------------===//
// Moves past the caches
//===----------------------------------------------------------------------===//

/// Whether more than `most` of so many lines begin at one set of the
/// first-level cache, as pages do.
static bool evictsLines(int64_t count, int64_t pitch, int64_t most) {
  int64_t step = pitch & -pitch;
  int64_t sets = step == 0 || step >= kPageBytes ? 1 : kPageBytes / step;
  return count / sets > most;
}

/// A transpose in blocks of so many lines of each column, along the source.
static NestSchedule makeBlocks(const Move &move, int64_t lines,
                               StoreKind stores) {
  int64_t line = kLineBytes / move.runBytes;
  NestSchedule nest;
  nest.runElements = move.runBytes;
  auto addLoop = [&](const Loop &inner, const Loop &more, int64_t runs,
                     PlanLoop::Role role, auto &inBlock) {
    auto push = [&](const Loop &loop, int64_t block) {
      nest.loops.push_back({loop.count, std::abs(loop.src), std::abs(loop.dst),
                            std::clamp<int64_t>(block, 1, loop.count), role});
    };
    bool isInBlock = more.count > 1 && inner.count <= runs;
    if (isInBlock) {
      inBlock.push_back(
          {inner.count, std::abs(inner.src), std::abs(inner.dst)});
      return push(more, runs / inner.count);
    }
    if (more.count > 1)
      push(more, 1);
    push(inner, runs);
  };
  addLoop(move.rows, move.moreRows, lines * line, PlanLoop::Role::DstContiguous,
          nest.rows);
  addLoop(move.columns, move.moreColumns, line, PlanLoop::Role::SrcContiguous,
          nest.columns);
  TransposeKernel transpose;
  transpose.stores = stores;
  transpose.prefetch = 1;
  nest.kernel = transpose;
  return nest;
}

/// The number of lines that costs least, by the model of compiled relayouts.
static int64_t chooseLines(const Move &move, const RelayoutTarget &target) {
  bool isStaged = target.vectorBytes < kLineBytes;
  StoreKind stores = isStaged ? StoreKind::Staged : StoreKind::Nontemporal;
  // More rows at a time are more than a processor foresees, or a buffer holds.
  int64_t mostRows = isStaged ? kMostStagedRows : 64;
  int64_t mostLines = isStaged ? kMostStagedLines : kMostLines;
  int64_t line = kLineBytes / move.runBytes, best = 1;
  int64_t rows = std::min(move.rows.count * move.moreRows.count, mostRows);
  std::optional<int64_t> least;
  auto tryLines = [&](int64_t lines) {
    int64_t cost = getPlanCost(makeBlocks(move, lines, stores),
                               /*elementBytes=*/1, target, /*isLarge=*/true)
                       .total();
    if (least && cost >= *least)
      return;
    least = cost;
    best = lines;
  };
  for (int64_t lines = 1; lines <= std::min(mostLines, rows / line); ++lines)
    tryLines(lines);
  if (isStaged && rows == kMostStagedRows)
    tryLines(kMostStagedRows / line);
  return best;
}

/// Short rows that lie one behind another: they are read fastest from end to
/// end.
static bool isDense(const Move &move) {
  int64_t size = move.columns.count * move.runBytes;
  return size <= kShortRow && std::abs(move.rows.src) <= size + size / 8;
}

/// Rows of which a tile takes a part of a line, so that they are read again and
/// again: of single bytes, of which it takes a quarter; or where they evict one
/// another meanwhile, or columns need long runs to use all channels of the
/// memory.
static bool isReadAgain(const Move &move, const ProcessorCosts &costs) {
  constexpr int64_t kAllChannels = 512;
  bool sharesChannel =
      costs.channelPs > 0 && move.columns.dst % kAllChannels == 0;
  return move.runBytes == 1 ||
         (move.runBytes == 2 &&
          (sharesChannel ||
           evictsLines(kLineBytes / move.runBytes, move.rows.src, kCacheWays)));
}

/// The blocks of a transpose. Of packed rows, columns get as many lines as of
/// the panels of compiled relayouts, or twice as many where they need more.
static StreamedBlocks chooseBlocks(const Move &move,
                                   const RelayoutTarget &target) {
  const ProcessorCosts &costs = target.costs;
  StreamedBlocks blocks;
  if (target.vectorBytes < kLineBytes) {
    blocks.lines = chooseLines(move, target);
    return blocks;
  }
  bool isAgain = isReadAgain(move, costs);
  bool isWithTiles = isChained(move) || move.square > 1;
  blocks.packsRows = !isWithTiles && (isAgain || isDense(move));
  if (blocks.packsRows) {
    int64_t lines = costs.panelRunBytes / kLineBytes * (isAgain ? 2 : 1);
    blocks.lines = std::clamp<int64_t>(lines, 1, kMostPackedLines);
    return blocks;
  }
  blocks.lines = chooseLines(move, target);
  int64_t conflicts =
      countConflicts(makeBlocks(move, blocks.lines, StoreKind::Nontemporal),
                     /*elementBytes=*/1, PlanLoop::Role::DstContiguous);
  blocks.prefetchesToL2 = conflicts > costs.firstLevelConflicts &&
                          conflicts <= costs.prefetchConflicts;
  return blocks;
}

/// Whether copies in the order of the destination read few runs side by side,
/// where those in the order of the source would write more.
static bool isOfFewRuns(const Move &move) {
  if (move.loops.empty() || move.loops.back().dst != move.runBytes ||
      move.loops.back().count > kMaxSideBySide)
    return false;
  const Loop *written = llvm::find_if(
      move.loops, [&](const Loop &loop) { return loop.src == move.runBytes; });
  return written == move.loops.end() || written->count > kMaxSideBySide;
}

/// Whether interleaves of more rows than are read best side by side make a
/// tile. Two interleaves of four rows, one below the other, are read as fast.
static bool isOfManyRows(const Move &move) {
  return isInterleave(move) && !move.loops.empty() &&
         move.loops.back().count > 2;
}

/// Makes the blocks of rows that go on in other tiles a loop, in which each
/// block follows the source through the tiles beside it.
static void loopOverBlocks(Move &move) {
  int64_t rows = move.rows.count, line = kLineBytes / move.runBytes;
  int64_t groups = move.blocks.lines * line / rows, all = move.moreRows.count;
  int64_t fewest = std::max<int64_t>(groups / 2, 1);
  while (groups >= fewest && (all % groups != 0 || groups * rows % line != 0))
    --groups;
  if (groups < fewest || groups == all)
    return;
  move.loops.push_back(
      {all / groups, groups * move.moreRows.src, groups * move.moreRows.dst});
  move.moreRows.count = groups;
}

/// Whether runs of a line or half of one make whole lines of the destination,
/// if that begins with one, by the innermost loop.
static bool isOfShortRuns(const Move &move) {
  if (move.kind != Move::Kind::Copy || move.fillBytes > 0 ||
      (move.runBytes != kLineBytes && move.runBytes != kLineBytes / 2) ||
      move.loops.empty())
    return false;
  const Loop &rows = move.loops.back();
  return rows.dst == move.runBytes && rows.count * rows.dst % kLineBytes == 0 &&
         llvm::all_of(llvm::drop_end(move.loops), [](const Loop &loop) {
           return loop.dst % kLineBytes == 0;
         });
}

/// Puts the loop over runs that are contiguous in the source around the
/// innermost one.
static void orderShortRuns(Move &move) {
  auto *end = std::prev(move.loops.end());
  auto *columns = llvm::find_if(
      move.loops, [&](const Loop &loop) { return loop.src == move.runBytes; });
  if (columns < end)
    std::rotate(columns, std::next(columns), end);
}

/// How many times as much of the caches a transpose takes as it has bytes: sets
/// between columns that lie powers of two apart stay empty.
static int64_t getSpread(const Move &move) {
  constexpr int64_t kMostSpread = 8;
  int64_t size = std::max(move.rows.count * move.moreRows.count * move.runBytes,
                          kLineBytes);
  int64_t step = kMostSpread * size;
  auto consider = [&](const Loop &loop) {
    if (loop.count > 1 && loop.dst != 0)
      step = std::min(step, loop.dst & -loop.dst);
  };
  llvm::for_each(move.loops, consider);
  consider(move.columns);
  consider(move.moreColumns);
  return std::max<int64_t>(step / size, 1);
}

/// Bytes that a move writes, those behind its runs or columns included.
static int64_t countWritten(const Move &move) {
  int64_t filled = move.fillBytes;
  if (move.kind == Move::Kind::Transpose && !move.isFilledBehindColumns())
    filled *= move.columns.count * (isOfWords(move) ? move.moreRows.count : 1);
  for (const Loop &loop : move.loops)
    filled *= loop.count;
  return move.numBytes() + filled;
}

/// Whether a move fills lines that bypass the caches. Of columns with padding
/// behind their rows, short registers do not.
static bool streamsLines(const Move &move, bool hasLineRegisters) {
  int64_t column = move.rows.count * move.moreRows.count * move.runBytes;
  bool isOfTurns = hasLineRegisters ? isApart(move.columns.dst, move.runBytes)
                                    : isInterleave(move);
  return move.isStreamed &&
         (move.kind != Move::Kind::Transpose || column >= kLineBytes ||
          isOfTurns || isSparse(move));
}

/// Long fills follow the moves between them: lines that are read to be written
/// come fastest one behind the other, without gaps.
static void streamFills(std::vector<Move> &moves, bool hasLineRegisters) {
  int64_t written = 0, streamed = 0;
  for (const Move &move : moves) {
    int64_t bytes = move.kind == Move::Kind::Fill ? 0 : countWritten(move);
    written += bytes;
    streamed += streamsLines(move, hasLineRegisters) ? bytes : 0;
  }
  if (streamed <= written / 8 * 7)
    return;
  for (Move &move : moves)
    if (move.kind == Move::Kind::Fill && move.mask == 0xFF)
      move.isStreamed = move.runBytes >= kMinStreamedRun;
}

void Schedule::streamStores(const StreamedBytes &least,
                            const RelayoutTarget &target) {
  bool hasLineRegisters = target.vectorBytes >= kLineBytes;
  // Short registers write lines in which runs end through the caches, so that
  // padding behind these gains less.
  int64_t bytes = 0;
  for (const Move &move : moves)
    bytes += hasLineRegisters || isSparse(move) ? countWritten(move)
                                                : move.numBytes();
  for (Move &move : moves) {
    bool isInParts = isSparse(move);
    // Short registers have no masks, and go by turns to few columns.
    bool paysLater = !hasLineRegisters && isDividedAmongFew(move);
    int64_t taken = bytes / (paysLater ? 2 : 1);
    if (isTiled(move) || isInParts ? taken * getSpread(move) < least.transposes
                                   : taken < least.others)
      continue;
    // Registers of a line write the end of a run and what fills its line.
    int64_t run = move.runBytes;
    if (hasLineRegisters && (run + move.fillBytes) % kLineBytes == 0)
      run += move.fillBytes;
    bool isLong = move.kind == Move::Kind::Copy && run >= kMinStreamedRun;
    bool isShort = isOfShortRuns(move);
    // Lines that are not filled, or that others write in part, go through the
    // caches.
    bool isTranspose = move.kind == Move::Kind::Transpose &&
                       (!isInParts || move.fillBytes > 0);
    bool isMost =
        move.kind == Move::Kind::Gather && move.numBytes() > bytes / 8 * 7;
    move.isStreamed = isLong || isShort || isTranspose || isMost;
    // Lines that bypass the caches may be written in any order; those that are
    // read come fastest one behind the other, or a few side by side.
    bool isRead = isLong && (hasLineRegisters || !isOfFewRuns(move));
    bool isTall = isTranspose && isOfManyRows(move) && hasLineRegisters &&
                  target.costs.interleavesBySource;
    if (isTranspose && isTiled(move))
      move.blocks = chooseBlocks(move, target);
    if (move.moreRows.count > 1 && move.moreColumns.count > 1)
      loopOverBlocks(move);
    if (isRead || isTall || (isChained(move) && !isInParts))
      orderBySource(move.loops);
    if (isShort)
      orderShortRuns(move);
  }
  streamFills(moves, hasLineRegisters);
}

/// Whether rows of a lane are read without gaps, and columns have lines: tiles
/// as they are take no more registers than chains of these.
static bool readsLanes(const Move &move) {
  return move.rows.src == kMaxTransposedBytes &&
         move.columns.count * move.runBytes == kMaxTransposedBytes &&
         move.rows.count * move.runBytes >= kLineBytes;
}

void Schedule::divideChains(const KernelTable &kernels) {
  for (Move &move : moves) {
    if (move.isStreamed || !isTiled(move) || move.square > 1 ||
        (!readsLanes(move) &&
         getDenseCycles(move, kernels, /*isStreamed=*/false) == 0))
      continue;
    for (Loop *more : {&move.moreColumns, &move.moreRows})
      if (more->count > 1)
        move.loops.push_back(std::exchange(*more, {1, 0, 0}));
  }
}

/// Whether the columns of a tile, in the order of the source, evict each other.
static bool evictsColumns(const Move &move, int64_t most) {
  int64_t columns = move.columns.count, pitch = std::abs(move.columns.dst);
  for (const Loop &loop : move.loops)
    if (std::abs(loop.dst) == columns * pitch)
      columns *= loop.count;
  return evictsLines(columns, pitch, most);
}

/// Whether copies are faster in the order of the source. There, runs that
/// follow one another go to some places by turns, as the rows of a tile do; in
/// the order of the destination they come from some.
static bool isCopiedBySource(const Move &move) {
  if (move.kind != Move::Kind::Copy || move.loops.empty())
    return false;
  const Loop *to = llvm::find_if(
      move.loops, [&](const Loop &loop) { return loop.src == move.runBytes; });
  if (to == move.loops.end())
    return false;
  const Loop &from = move.loops.back();
  bool isRun = from.dst == move.runBytes;
  // Parts of lines stay in the caches, if not in the first one, until the other
  // parts come.
  constexpr int64_t kMost = 2 * kCacheWays;
  if (move.runBytes < kLineBytes)
    return isRun && evictsLines(from.count, from.src, kMost) &&
           !evictsLines(to->count, to->dst, kMost);
  if (move.runBytes < kMinStreamedRun || to->count > kMaxSideBySide)
    return false;
  if (!isRun)
    return true;
  // Few places are foreseen best; within a page, longer loops are faster.
  bool isInPage = to->count * from.count * move.runBytes <= kPageBytes;
  return isInPage ? to->count > from.count : to->count < from.count;
}

void Schedule::orderDivided(int64_t mostInOneSet) {
  for (Move &move : moves) {
    bool isCached = !move.isStreamed;
    bool isDivided = isDividedAmongFew(move) || (isCached && isOfWords(move));
    bool followsSource =
        isDivided && !(isCached && evictsColumns(move, mostInOneSet));
    if (followsSource || (isCached && isCopiedBySource(move)))
      orderBySource(move.loops);
  }
}

//===----------------------------------------------------------------------===//
// Moves that take turns
//===----------------------------------------------------------------------===//

/// Makes that loop the one of a move at `depth`, if it has it there, or it can
/// be split off; whether it has it now.
static bool takeLoop(Move &move, size_t depth, const Loop &loop) {
  if (depth >= move.loops.size() || move.kind == Move::Kind::PackBits)
    return false;
  Loop &own = move.loops[depth];
  if (loop.count == 0 || own.count % loop.count != 0)
    return false;
  int64_t times = own.count / loop.count;
  bool isFill = move.kind == Move::Kind::Fill; // Which reads nothing.
  if (own.dst * times != loop.dst || (!isFill && own.src * times != loop.src))
    return false;
  if (times == 1)
    return true;
  Loop rest = {times, own.src, own.dst};
  own = {loop.count, own.src * times, loop.dst};
  move.loops.insert(move.loops.begin() + depth + 1, rest);
  return true;
}

/// The order in which moves look for others. Fills are the last ones.
static bool isSmaller(const Move &a, const Move &b) {
  auto getSize = [](const Move &move) {
    return move.kind == Move::Kind::Fill ? 0 : move.numBytes();
  };
  return getSize(a) < getSize(b);
}

/// Bytes of a side from the first one that a step of the loop at `depth` moves
/// to the last one.
static int64_t getSpan(const Move &move, size_t depth, int64_t Loop::*side) {
  bool isGathered = move.kind == Move::Kind::Gather && side == &Loop::src;
  int64_t span =
      isGathered ? move.gather.srcSpan
                 : move.runBytes + (side == &Loop::dst ? move.fillBytes : 0);
  auto add = [&](const Loop &loop) {
    span += (loop.count - 1) * std::abs(loop.*side);
  };
  llvm::for_each(llvm::ArrayRef(move.loops).drop_front(depth + 1), add);
  for (const Loop &loop :
       {move.rows, move.columns, move.moreRows, move.moreColumns})
    add(loop);
  return span;
}

/// Whether the steps of a loop that moves share follow one another on a side,
/// as caches expect it.
static bool isAscending(llvm::ArrayRef<Move> group, size_t depth,
                        int64_t Loop::*side) {
  int64_t begin = INT64_MAX, end = INT64_MIN;
  bool isDst = side == &Loop::dst;
  for (const Move &move : group) {
    if (!isDst && move.kind == Move::Kind::Fill)
      continue;
    int64_t offset = isDst ? move.dstOffset : move.srcOffset;
    begin = std::min(begin, offset);
    end = std::max(end, offset + getSpan(move, depth, side));
  }
  return end - begin <= group.front().loops[depth].*side;
}

/// Whether it pays that moves take turns at the steps of a loop: lines that
/// follow one another on a side are moved together, and each call of a kernel
/// moves enough of them. What is read stays in the caches for the others, so
/// that long steps alone pay there.
static bool isWorthTurns(llvm::ArrayRef<Move> group, size_t depth,
                         int64_t steps) {
  constexpr int64_t kMinWritten = 512, kMinRead = 8192;
  int64_t written = 0, read = 0;
  int64_t calls = steps * static_cast<int64_t>(group.size());
  for (const Move &move : group) {
    written += countWritten(move);
    read += move.kind == Move::Kind::Fill ? 0 : move.numBytes();
  }
  return (written / calls >= kMinWritten &&
          isAscending(group, depth, &Loop::dst)) ||
         (read / calls >= kMinRead && isAscending(group, depth, &Loop::src));
}

static void shareLoops(llvm::MutableArrayRef<Move> moves, size_t depth,
                       int64_t steps);

/// Lets others take turns with the first move, at each step of its loop at
/// `depth`, where that pays. How many they are with the first one, which are in
/// front then; 1: none.
static size_t takeTurns(llvm::MutableArrayRef<Move> moves, size_t depth,
                        int64_t steps) {
  const Move &first = moves.front();
  if (depth == first.loops.size() || first.kind == Move::Kind::PackBits ||
      first.loops[depth].count == 0)
    return 1;
  const Loop loop = first.loops[depth];
  steps *= loop.count;
  size_t count = 1;
  // Less than a line at a step is not worth a call.
  for (Move &move : moves.drop_front())
    if (countWritten(move) / steps >= kLineBytes && takeLoop(move, depth, loop))
      std::swap(move, moves[count++]);
  auto group = moves.take_front(count);
  if (count == 1 || !isWorthTurns(group, depth, steps))
    return 1;
  for (Move &move : group)
    move.loops[depth] = loop; // Of a fill, which may be in front, too.
  shareLoops(group, depth + 1, steps);
  for (Move &move : group.drop_front())
    move.numShared = std::max(move.numShared, depth + 1);
  return count;
}

/// Puts groups of moves in the order of the destination.
static void
orderGroups(llvm::MutableArrayRef<Move> moves,
            llvm::MutableArrayRef<llvm::MutableArrayRef<Move>> groups) {
  llvm::sort(groups, [](const auto &a, const auto &b) {
    return std::pair(a.front().dstOffset, a.data()) <
           std::pair(b.front().dstOffset, b.data());
  });
  std::vector<Move> ordered;
  ordered.reserve(moves.size());
  for (llvm::MutableArrayRef<Move> group : groups)
    std::move(group.begin(), group.end(), std::back_inserter(ordered));
  llvm::move(ordered, moves.begin());
}

/// Lets moves share loops from `depth` on, of which there are `steps` then, the
/// largest one first.
static void shareLoops(llvm::MutableArrayRef<Move> moves, size_t depth,
                       int64_t steps) {
  llvm::SmallVector<llvm::MutableArrayRef<Move>> groups;
  for (auto rest = moves; !rest.empty();
       rest = rest.drop_front(groups.back().size())) {
    std::swap(rest.front(), *llvm::max_element(rest, isSmaller));
    groups.push_back(rest.take_front(takeTurns(rest, depth, steps)));
  }
  orderGroups(moves, groups);
}

/// The same fill at another place.
static Move makeLike(const Move &fill, int64_t dstOffset) {
  Move result;
  result.kind = fill.kind;
  result.runBytes = fill.runBytes;
  result.dstOffset = dstOffset;
  result.loops = fill.loops;
  result.isStreamed = fill.isStreamed;
  return result;
}

/// Splits the last steps off fills that have more of them than the largest
/// move, as do the rows behind those of the last tiles.
static void splitFills(std::vector<Move> &moves) {
  auto largest = llvm::max_element(moves, isSmaller);
  if (largest->loops.empty())
    return;
  const Loop loop = largest->loops.front();
  int64_t begin = largest->dstOffset, end = begin + loop.dst;
  for (size_t i = 0, count = moves.size(); i < count; ++i) {
    Move &fill = moves[i];
    bool hasMore = fill.kind == Move::Kind::Fill && fill.mask == 0xFF &&
                   !fill.loops.empty() && fill.loops.front().dst == loop.dst &&
                   fill.loops.front().count > loop.count &&
                   fill.dstOffset >= begin && fill.dstOffset < end;
    if (!hasMore)
      continue;
    Move rest = makeLike(fill, fill.dstOffset + loop.count * loop.dst);
    rest.loops.front().count -= loop.count;
    if (rest.loops.front().count == 1)
      rest.loops.erase(rest.loops.begin());
    fill.loops.front().count = loop.count;
    moves.push_back(std::move(rest));
  }
}

/// A loop of a fill, within the outermost one, of whose few steps each is worth
/// a call, and between which other moves begin.
static Loop *findDivided(llvm::ArrayRef<Move> moves, Move &fill) {
  constexpr int64_t kMostSteps = 4, kMinWritten = 256;
  int64_t written = fill.runBytes;
  auto outermost = std::prev(fill.loops.rend());
  for (auto loop = fill.loops.rbegin(); loop != outermost; ++loop) {
    int64_t first = fill.dstOffset;
    int64_t last = first + (loop->count - 1) * loop->dst;
    bool isBetween = llvm::any_of(moves, [=](const Move &move) {
      return move.kind != Move::Kind::Fill && move.dstOffset > first &&
             move.dstOffset < last;
    });
    if (isBetween && written >= kMinWritten && loop->count <= kMostSteps)
      return std::prev(loop.base());
    written *= loop->count;
  }
  return fill.loops.end();
}

/// Makes such steps moves of their own, so that all moves that take turns with
/// the largest one go in the order of the destination.
static void divideFills(std::vector<Move> &moves) {
  auto largest = llvm::max_element(moves, isSmaller);
  if (largest->loops.empty())
    return;
  const Loop shared = largest->loops.front();
  for (size_t i = 0, count = moves.size(); i < count; ++i) {
    if (moves[i].kind != Move::Kind::Fill || moves[i].mask != 0xFF)
      continue;
    Move step = makeLike(moves[i], moves[i].dstOffset);
    if (!takeLoop(step, /*depth=*/0, shared))
      continue;
    Loop *divided = findDivided(moves, step);
    if (divided == step.loops.end())
      continue;
    const Loop loop = *divided;
    step.loops.erase(divided);
    for (int64_t k = 1; k < loop.count; ++k)
      moves.push_back(makeLike(step, step.dstOffset + k * loop.dst));
    moves[i] = std::move(step);
  }
}

/// Whether a move interleaves fewer rows than columns have runs, and fills the
/// others.
static bool fillsOtherRows(const Move &move) {
  return move.kind == Move::Kind::Transpose && move.fillBytes > 0 &&
         !move.keepsPadding && move.square == 1 && !isChained(move) &&
         !isOfWords(move) && isApart(move.columns.dst, move.runBytes) &&
         move.rows.count * move.runBytes + move.fillBytes == move.columns.dst;
}

/// Lets such moves fill what lies behind their last column, too, where the next
/// move does so at the same steps: most often it is the rest of their tile.
/// Those moves become `included`.
static void takeFillsBehind(std::vector<Move> &moves,
                            std::vector<Move> &included) {
  for (size_t i = 0; i + 1 < moves.size();) {
    Move &move = moves[i], &fill = moves[i + 1];
    int64_t end = move.dstOffset + move.columns.count * move.columns.dst;
    bool isBehind = fill.kind == Move::Kind::Fill && fill.mask == 0xFF &&
                    fill.dstOffset == end + move.fillBehind;
    bool isTogether = fill.numShared == fill.loops.size() &&
                      fill.numShared == move.loops.size();
    if (!fillsOtherRows(move) || !isBehind || !isTogether ||
        fill.isStreamed != move.isStreamed) {
      ++i;
      continue;
    }
    move.fillBehind += fill.runBytes;
    included.push_back(std::move(fill));
    moves.erase(moves.begin() + i + 1);
  }
}

void Schedule::findTogether() {
  // The search takes as long as the square of the number of moves.
  constexpr size_t kMostMoves = 64;
  if (moves.empty() || moves.size() > kMostMoves)
    return;
  splitFills(moves);
  divideFills(moves);
  shareLoops(moves, /*depth=*/0, /*steps=*/1);
  takeFillsBehind(moves, includedFills);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

static bool isEmpty(const Job &job) {
  return job.runBytes == 0 || job.rows.count == 0 || job.columns.count == 0 ||
         job.moreRows.count == 0 || job.moreColumns.count == 0 ||
         llvm::any_of(llvm::ArrayRef(job.loops, job.numLoops),
                      [](const Loop &loop) { return loop.count == 0; });
}

Kernel *tessera::runtime::getKernel(const KernelTable &kernels, Move::Kind kind,
                                    const Job &job) {
  if (isEmpty(job))
    return [](const Job &, const char *, char *) {}; // Nothing.
  switch (kind) {
  case Move::Kind::Copy:
    return kernels.copy(job);
  case Move::Kind::Transpose:
    return kernels.transpose(job);
  case Move::Kind::Gather:
    return kernels.gather(job);
  case Move::Kind::PackBits:
    return kernels.packBits(job);
  case Move::Kind::Fill:
    return kernels.fill(job);
  }
  return nullptr;
}

Task tessera::runtime::makeTask(
    const Move &move, const KernelTable &kernels,
    const std::optional<std::array<uint8_t, 16>> &padding) {
  Task task = {};
  task.numShared = move.numShared;
  task.src = move.srcOffset;
  task.dst = move.dstOffset;
  Job &job = task.job;
  job.loops = move.loops.data();
  job.numLoops = move.loops.size();
  job.runBytes = move.runBytes;
  job.rows = move.rows;
  job.columns = move.columns;
  job.moreRows = move.moreRows;
  job.moreColumns = move.moreColumns;
  job.square = move.square;
  job.squareSides = move.squareSides;
  job.isStreamed = move.isStreamed;
  job.blocks = move.blocks;
  job.fillBytes = move.fillBytes;
  job.fillBehind = move.fillBehind;
  job.keepsPadding = move.keepsPadding;
  job.gather = move.gather.getTable();
  job.bytes = move.bytes.data();
  job.numBytes = move.bytes.size();
  job.mask = move.mask;
  job.signedBits = move.signedBits;
  if (padding)
    for (size_t i = 0; i < kFillerBytes; ++i)
      job.filler[i] = (*padding)[i % padding->size()];
  task.kernel = getKernel(kernels, move.kind, job);
  return task;
}

void Schedule::makeTasks(
    const KernelTable &kernels,
    const std::optional<std::array<uint8_t, 16>> &padding) {
  tasks.reserve(moves.size());
  for (auto [i, move] : llvm::enumerate(moves)) {
    Task task = makeTask(move, kernels, padding);
    size_t next = i + 1 < moves.size() ? moves[i + 1].numShared : 0;
    size_t numShared = std::max(move.numShared, next);
    task.job.loops += numShared;
    task.job.numLoops -= numShared;
    tasks.push_back(task);
  }
  isStreamed = llvm::any_of(moves, [](const Move &m) { return m.isStreamed; });
}

//===----------------------------------------------------------------------===//
// Moves as text
//===----------------------------------------------------------------------===//

int64_t Move::numBytes() const {
  int64_t count = runBytes * rows.count * columns.count * moreRows.count *
                  moreColumns.count * std::max<int64_t>(bytes.size(), 1);
  for (const Loop &loop : loops)
    count *= loop.count;
  return count;
}

static llvm::StringRef getKindName(Move::Kind kind) {
  switch (kind) {
  case Move::Kind::Copy:
    return "copy";
  case Move::Kind::Transpose:
    return "transpose";
  case Move::Kind::Gather:
    return "gather";
  case Move::Kind::PackBits:
    return "pack bits";
  case Move::Kind::Fill:
    return "fill";
  }
  return "";
}

static llvm::StringRef getSidesName(SquareSides sides) {
  switch (sides) {
  case SquareSides::Both:
    return "";
  case SquareSides::Source:
    return " in the source";
  case SquareSides::Destination:
    return " in the destination";
  }
  return "";
}

static void printLoop(llvm::StringRef name, const Loop &loop,
                      llvm::raw_ostream &os) {
  os << "  " << name << " " << loop.count << "  src " << loop.src << " dst "
     << loop.dst << "\n";
}

void Move::print(llvm::raw_ostream &os) const {
  os << (numShared > 0 ? "and " : "") << getKindName(kind) << " of " << runBytes
     << (runBytes == 1 ? " byte, src " : " bytes, src ") << srcOffset << " dst "
     << dstOffset << (isStreamed ? ", streamed" : "")
     << (keepsPadding ? ", padding kept"
         : fillBytes  ? ", padding behind it"
                      : "");
  if (fillBehind > 0)
    os << " and " << fillBehind << " bytes";
  if (blocks.lines > 1)
    os << ", " << blocks.lines << " lines of a column";
  if (square > 1)
    os << ", squares of " << square << " by " << square
       << getSidesName(squareSides);
  if (kind == Kind::Gather)
    os << ", " << gather.ways << " windows of a "
       << (gather.isShared ? "register" : "lane");
  os << (blocks.packsRows ? ", rows packed" : "")
     << (blocks.prefetchesToL2 ? ", prefetched to L2" : "") << "\n";
  for (const Loop &loop : llvm::ArrayRef(loops).drop_front(numShared))
    printLoop("for", loop, os);
  if (kind == Kind::Copy || kind == Kind::Fill || kind == Kind::Gather)
    return;
  printLoop("rows", rows, os);
  if (moreRows.count > 1)
    printLoop(isOfWords(*this) ? "words" : "more rows", moreRows, os);
  printLoop("columns", columns, os);
  if (moreColumns.count > 1)
    printLoop("more columns", moreColumns, os);
}
