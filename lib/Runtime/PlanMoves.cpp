//===- PlanMoves.cpp - The kernel that suits a nest -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanMoves.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>

using namespace tessera;
using namespace tessera::runtime;

//===----------------------------------------------------------------------===//
// Elements of whole bytes
//===----------------------------------------------------------------------===//

ElementNest tessera::runtime::getBytes(const StridedNest &nest,
                                       int64_t srcBytes, int64_t dstBytes) {
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

Move tessera::runtime::planCopy(const ElementNest &nest,
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

void tessera::runtime::findChains(Move &move) {
  bool isFilled = isSparse(move) && move.fillBytes > 0;
  if (!isTiled(move) && !isFilled)
    return;
  auto take = [&](const Loop &inner, int64_t Loop::*side, Loop &more) {
    int64_t size = inner.count * move.runBytes;
    Loop *loop = findLoop(move, side, size);
    bool isOnLines = size < kLineBytes || size % kLineBytes == 0;
    bool suits =
        inner.count > 1 && size <= kShortRow && (isOnLines || !isFilled);
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

Move tessera::runtime::planElements(const ElementNest &nest,
                                    int64_t elementBytes, int64_t wholeBytes) {
  Move move =
      planCopy(nest, /*padding=*/std::nullopt, elementBytes, wholeBytes);
  findChains(move);
  return move;
}

bool tessera::runtime::takeRowPadding(Move &move, const RunPadding &padding,
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

bool tessera::runtime::takePadding(Move &move, const RunPadding &padding,
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

Move tessera::runtime::planFill(const StridedNest &nest, int64_t elementBytes) {
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

Move tessera::runtime::planPacked(const PackedNest &nest,
                                  const ElementBits &bits) {
  Move move = makeMove(getBytes(nest.strided, 1, 1));
  move.kind = Move::Kind::PackBits;
  move.mask = nest.mask;
  if (bits.isSigned && bits.src < bits.dst)
    move.signedBits = static_cast<int>(bits.src);
  addParts(move, nest);
  return move;
}

/// Makes steps that take parts of a word, which no other step does, the
/// columns.
static bool takeWordColumns(Move &move, int64_t leastColumns,
                            int64_t vectorBytes) {
  Loop *columns = findLoop(move, &Loop::dst, 1);
  if (columns == move.loops.end() || move.mask != 0xFF)
    return false;
  int64_t word = columns->src;
  bool isOwn = llvm::none_of(
      move.loops, [=](const Loop &loop) { return std::abs(loop.src) < word; });
  if (!isOwn || (word != 2 && word != 4 && word != 8))
    return false;
  // The last words begin before their steps where these leave bytes behind.
  auto numParts = static_cast<int64_t>(move.bytes.front().numParts);
  bool isWhole = numParts == word;
  int64_t least = !isWhole   ? vectorBytes + 1
                  : word > 2 ? vectorBytes
                             : leastColumns;
  auto suits = [=](const ByteParts &byte) {
    if (static_cast<int64_t>(byte.numParts) != numParts ||
        (!isWhole && numParts > 2))
      return false;
    for (int64_t i = 0; i < numParts; ++i) {
      const BitPart &part = byte.parts[i];
      if (part.src >= word || part.shift > 8 * part.src ||
          (isWhole && part.src != i))
        return false;
    }
    return true;
  };
  if (columns->count < least || !llvm::all_of(move.bytes, suits))
    return false;
  move.columns = *columns;
  move.loops.erase(columns);
  return true;
}

Halves tessera::runtime::findHalves(llvm::ArrayRef<ByteParts> bytes) {
  Halves halves = {};
  if (bytes.size() != 2 || bytes[0].numParts != bytes[1].numParts)
    return halves;
  auto isPart = [](const BitPart &part, int shift, uint8_t mask) {
    return part.shift == shift && part.mask == mask;
  };
  const BitPart *low = bytes[0].parts, *high = bytes[1].parts;
  size_t numParts = bytes[0].numParts;
  halves.isFound = isPart(low[0], 0, 0x0F) && isPart(high[0], -4, 0x0F) &&
                   low[0].src == high[0].src && numParts <= 2;
  halves.src[0] = low[0].src;
  if (numParts != 2)
    return halves;
  halves.isFound &= isPart(low[1], 4, 0xF0) && isPart(high[1], 0, 0xF0) &&
                    low[1].src == high[1].src;
  halves.isZip = true;
  halves.src[1] = low[1].src;
  return halves;
}

/// What has become columns, rows, or more columns, is no loop any more.
static void dropRuns(Move &move) {
  llvm::erase_if(move.loops, [](const Loop &loop) {
    return loop.src == 1 || loop.dst == 1;
  });
}

/// Makes words of which all halves of bytes go to runs the columns, and what
/// lies within a word more of them.
static bool takeHalvesColumns(Move &move, int64_t leastColumns) {
  Loop *columns = findLoop(move, &Loop::dst, 1);
  Halves halves = findHalves(move.bytes);
  if (columns == move.loops.end() || columns->count < leastColumns ||
      move.mask != 0xFF || !halves.isFound || halves.src[0] != 0)
    return false;
  int64_t word = columns->src;
  Loop *inner = findLoop(move, &Loop::src, 1);
  bool hasInner = inner != move.loops.end() && inner != columns;
  int64_t steps = hasInner ? inner->count : 1;
  if ((word != 2 && word != 4 && word != 8) ||
      steps != (halves.isZip ? word / 2 : word) ||
      (halves.isZip && halves.src[1] != word / 2))
    return false;
  move.columns = *columns;
  if (hasInner)
    move.moreColumns = *inner;
  dropRuns(move);
  return true;
}

bool tessera::runtime::takeColumns(Move &move, int64_t leastColumns,
                                   int64_t vectorBytes) {
  if (takeHalvesColumns(move, leastColumns) ||
      takeWordColumns(move, leastColumns, vectorBytes))
    return true;
  Loop *columns = findLoop(move, &Loop::src, 1);
  if (columns == move.loops.end() || columns->count < leastColumns ||
      move.mask != 0xFF)
    return false;
  Loop *rows = findLoop(move, &Loop::dst, 1);
  bool hasRows = rows != move.loops.end() && rows != columns;
  int64_t numRows = hasRows ? rows->count : 1;
  int64_t together = numRows * int64_t(move.bytes.size());
  bool areNeighbours = (together == 2 || together == 4 || together == 8) &&
                       columns->dst == together;
  size_t numParts = move.bytes.front().numParts;
  bool areAlike = llvm::isPowerOf2_64(numParts);
  for (auto [i, byte] : llvm::enumerate(move.bytes)) {
    areNeighbours &= byte.dst == int64_t(i) * numRows && numParts <= 2;
    areAlike &= byte.numParts == numParts;
  }
  if (!areAlike || (columns->dst != 1 && !areNeighbours))
    return false;
  move.columns = *columns;
  if (hasRows)
    move.rows = *rows;
  dropRuns(move);
  return true;
}

Move tessera::runtime::planPackedFill(const PackedNest &nest) {
  Move move = planFill(nest.strided, 1);
  if (nest.mask != 0xFF &&
      move.runBytes != 1) { // Bits are merged byte by byte.
    move.loops.push_back({move.runBytes, 0, 1});
    move.runBytes = 1;
  }
  move.mask = nest.mask;
  return move;
}
