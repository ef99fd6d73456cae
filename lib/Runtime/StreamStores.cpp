//===- StreamStores.cpp - Moves past the caches, and orders ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveCosts.h"
#include "PackedBlocks.h"
#include "Schedule.h"

#include "tessera/Conversion/TesseraToVector/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <utility>

using namespace tessera;
using namespace tessera::runtime;

/// Shorter runs are written faster through the caches.
static constexpr int64_t kMinStreamedRun = 2 * kLineBytes;
/// The most runs that are read side by side: processors foresee as many.
static constexpr int64_t kMaxSideBySide = 16;
/// The same of runs that are written, through the caches.
static constexpr int64_t kMaxWrittenSideBySide = 8;

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
  // More rows at a time are more than a processor foresees, or a buffer holds;
  // those of a tile lie together.
  bool isInTiles = move.moreRows.count > 1;
  int64_t mostRows = isStaged || isInTiles ? kMostStagedRows : 64;
  int64_t mostLines = isStaged    ? kMostStagedLines
                      : isInTiles ? kMostChainedLines
                                  : kMostLines;
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
  return size < kShortRow && std::abs(move.rows.src) <= size + size / 8;
}

/// Whether all columns begin at one channel of the memory, so that they need
/// longer runs to use the others.
static bool sharesChannel(const Move &move) {
  constexpr int64_t kAllChannels = 512;
  return move.columns.dst % kAllChannels == 0;
}

/// Rows of which a tile takes a part of a line, so that they are read again and
/// again: of single bytes, of which it takes a quarter; or where they evict one
/// another meanwhile.
static bool isReadAgain(const Move &move) {
  return move.runBytes == 1 ||
         (move.runBytes == 2 &&
          isInFewSets(kLineBytes / move.runBytes, move.rows.src));
}

/// The blocks of a transpose. Of packed rows, columns get as many lines as of
/// the panels of compiled relayouts, twice as many where they need more, and
/// those of few columns as many as make a block that is worth its beginning.
static StreamedBlocks chooseBlocks(const Move &move,
                                   const RelayoutTarget &target) {
  constexpr int64_t kPackedBytes = 1 << 12;
  const ProcessorCosts &costs = target.costs;
  StreamedBlocks blocks;
  if (target.vectorBytes < kLineBytes) {
    blocks.lines = chooseLines(move, target);
    return blocks;
  }
  bool isAgain = isReadAgain(move);
  bool isWithTiles = isChained(move) || move.square > 1;
  blocks.packsRows = !isWithTiles && (isAgain || isDense(move));
  if (blocks.packsRows) {
    // Where nothing is known of channels, rows that are read again count.
    bool needsMore = costs.channelPs > 0
                         ? move.runBytes <= 2 && sharesChannel(move)
                         : isAgain;
    int64_t lines = costs.panelRunBytes / kLineBytes * (needsMore ? 2 : 1);
    int64_t least = sharesChannel(move) ? 2 : 1;
    int64_t worth = kPackedBytes / kLineBytes / move.columns.count;
    blocks.lines = std::min(std::max({lines, least, worth}), kMostPackedLines);
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

/// Whether a transpose reads one run, and writes lines of each column, or one
/// run.
static bool isOneRun(const Move &move) {
  int64_t size = move.rows.count * move.runBytes;
  return isTiled(move) && move.rows.src == move.columns.count * move.runBytes &&
         (size >= kLineBytes || move.columns.dst == size);
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

/// Rows of an interleave that loops in the order of the destination read side
/// by side: those of a step, for each step of loops inside the one that goes on
/// along them.
static int64_t countRowsSideBySide(const Move &move) {
  const auto *along =
      llvm::min_element(move.loops, [](const Loop &a, const Loop &b) {
        return std::abs(a.src) < std::abs(b.src);
      });
  int64_t count = move.rows.count;
  for (const Loop &loop : move.loops)
    if (loop.dst < along->dst)
      count *= loop.count;
  return count;
}

/// Whether columns past the caches begin anywhere in a line: those of a loop
/// are carried from line to line, those of a chain go through the caches.
static bool isCarried(const Move &move) {
  return move.isStreamed && move.moreRows.count <= 1 &&
         move.columns.count * move.runBytes >= kLineBytes &&
         (move.columns.dst % kLineBytes != 0 ||
          move.moreColumns.dst % kLineBytes != 0);
}

/// Whether blocks of rows follow the source through the tiles beside them:
/// those of tiles, and those whose prefetched lines evict one another before
/// the next tile is read.
static bool followsTiles(const Move &move) {
  return move.moreColumns.count > 1 && !isCarried(move) &&
         (move.moreRows.count > 1 ||
          isInFewSets(kLineBytes / move.runBytes, move.rows.src));
}

/// Makes blocks of rows a loop.
static void loopOverBlocks(Move &move) {
  bool isInTiles = move.moreRows.count > 1;
  int64_t rows = isInTiles ? move.rows.count : 1;
  Loop &along = isInTiles ? move.moreRows : move.rows;
  int64_t line = kLineBytes / move.runBytes;
  int64_t groups = move.blocks.lines * line / rows, all = along.count;
  int64_t fewest = std::max<int64_t>(groups / 2, 1);
  while (groups >= fewest && (all % groups != 0 || groups * rows % line != 0))
    --groups;
  if (groups < fewest || groups == all)
    return;
  move.loops.push_back({all / groups, groups * along.src, groups * along.dst});
  along.count = groups;
}

/// Whether all steps of some loops are whole lines of the destination.
static bool stepOverLines(llvm::ArrayRef<Loop> loops) {
  return llvm::all_of(
      loops, [](const Loop &loop) { return loop.dst % kLineBytes == 0; });
}

/// Whether runs of more than a line follow one another in the destination, so
/// that two make a line where one ends and the next begins.
static bool makesSeams(const Move &move) {
  return move.runBytes > kLineBytes && move.fillBytes == 0 &&
         llvm::any_of(move.loops, [&](const Loop &loop) {
           return continuesRuns(loop, move.runBytes);
         });
}

/// Whether each run is a line of the destination, if that begins with one.
static bool isOfLines(const Move &move) {
  return move.kind == Move::Kind::Copy && move.fillBytes == 0 &&
         move.runBytes == kLineBytes && stepOverLines(move.loops);
}

/// Whether runs of half a line make lines of it, by the innermost loop.
static bool isOfHalfLines(const Move &move) {
  if (move.kind != Move::Kind::Copy || move.fillBytes > 0 ||
      move.runBytes != kLineBytes / 2 || move.loops.empty())
    return false;
  const Loop &rows = move.loops.back();
  return rows.dst == move.runBytes && rows.count % 2 == 0 &&
         stepOverLines(llvm::ArrayRef(move.loops).drop_back());
}

/// Puts the loop over runs that are contiguous in the source around the
/// innermost one.
static void orderHalfLines(Move &move) {
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

/// Whether a move of `bytes`, with the others, is large enough to bypass the
/// caches. Short registers have no masks, and go by turns to few columns.
static bool isLarge(const Move &move, int64_t bytes, const StreamedBytes &least,
                    bool hasLineRegisters) {
  if (!hasLineRegisters && isDividedAmongFew(move))
    bytes /= 2;
  return isTiled(move) || isSparse(move)
             ? bytes * getSpread(move) >= least.transposes
             : bytes >= least.others;
}

/// Whether runs have whole lines. Registers of a line write the end of a run
/// and what fills its line.
static bool isOfLongRuns(const Move &move, bool hasLineRegisters) {
  int64_t run = move.runBytes;
  if (hasLineRegisters && (run + move.fillBytes) % kLineBytes == 0)
    run += move.fillBytes;
  return move.kind == Move::Kind::Copy &&
         (run >= kMinStreamedRun || makesSeams(move));
}

/// Whether a loop, a byte or a place begins at lines of the destination.
static bool isOnLine(int64_t bytes) { return bytes % kLineBytes == 0; }
template <typename T> static bool areOnLines(const T &all) {
  return llvm::all_of(all, [](const auto &at) { return isOnLine(at.dst); });
}

/// Whether registers are packed into whole lines, one behind the other; short
/// ones to one place at a time.
static bool packsLines(const Move &move, bool hasLineRegisters) {
  bool isOnLines = isOnLine(move.dstOffset) && isOnLine(move.moreColumns.dst) &&
                   isOnLine(move.columns.count * move.columns.dst) &&
                   areOnLines(move.loops);
  if (move.columns.count == 1 || !isOnLines)
    return false;
  return move.columns.dst > 1 ||
         ((hasLineRegisters || move.bytes.size() == 1) &&
          areOnLines(move.bytes));
}

/// The same of blocks: their runs are packed or copied to the destination.
static bool writesBlockLines(const Move &move, bool hasLineRegisters) {
  const RowMoves &writes = move.block->writes;
  if (!isOnLine(move.dstOffset) || !areOnLines(move.loops) ||
      !areOnLines(writes.places))
    return false;
  return llvm::all_of(writes.schedule.moves, [=](const Move &write) {
    bool isCopy = write.kind == Move::Kind::Copy && isOnLine(write.runBytes) &&
                  areOnLines(write.loops);
    return isCopy || (write.kind == Move::Kind::PackBits &&
                      packsLines(write, hasLineRegisters));
  });
}

/// Whether a move, of `bytes` in all, writes whole lines: those that are not
/// filled, or that others write in part, go through the caches.
static bool writesLines(const Move &move, int64_t bytes,
                        bool hasLineRegisters) {
  switch (move.kind) {
  case Move::Kind::Copy:
    return isOfLongRuns(move, hasLineRegisters) || isOfLines(move) ||
           isOfHalfLines(move);
  case Move::Kind::Transpose:
    return !isSparse(move) || move.fillBytes > 0;
  case Move::Kind::Gather:
    return move.numBytes() > bytes / 8 * 7;
  case Move::Kind::PackBits:
    return move.block ? writesBlockLines(move, hasLineRegisters)
                      : packsLines(move, hasLineRegisters);
  case Move::Kind::Fill:
    return false;
  }
  return false;
}

/// Whether loops follow the source. Lines that bypass the caches may be written
/// in any order; those that are read come fastest one behind the other, or a
/// few side by side.
static bool followsSource(const Move &move, const RelayoutTarget &target) {
  bool hasLineRegisters = target.vectorBytes >= kLineBytes;
  if (move.kind == Move::Kind::Copy)
    return isOfLines(move) || (isOfLongRuns(move, hasLineRegisters) &&
                               (hasLineRegisters || !isOfFewRuns(move)));
  if (isInterleave(move))
    return hasLineRegisters &&
           countRowsSideBySide(move) > target.costs.interleavedRows;
  return isOneRun(move) || (isChained(move) && !isSparse(move));
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
    if (!isLarge(move, bytes, least, hasLineRegisters) ||
        !writesLines(move, bytes, hasLineRegisters))
      continue;
    move.isStreamed = true;
    if (move.block)
      move.block->streamWrites();
    if (isTiled(move))
      move.blocks = chooseBlocks(move, target);
    if (followsTiles(move))
      loopOverBlocks(move);
    if (followsSource(move, target))
      orderBySource(move.loops);
    if (isOfHalfLines(move))
      orderHalfLines(move);
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

/// Whether a chain of rows, or of columns, pays through the caches: where they
/// are less than a line, or whole lines and `others` are a chain, too.
static bool isChainInCaches(const Loop &inner, int64_t runBytes,
                            const Loop &others) {
  int64_t size = inner.count * runBytes;
  return size < kLineBytes || (size % kLineBytes == 0 && others.count > 1);
}

/// Whether rows make few lines of each column, and those of all columns evict
/// one another before their next lines are written: a chain writes these first.
static bool writesEvictedLines(const Move &move) {
  constexpr int64_t kMostRows = 32;
  return move.rows.count <= kMostRows &&
         move.columns.count * move.runBytes >= kLineBytes &&
         isInFewSets(move.columns.count, move.columns.dst);
}

void Schedule::divideChains(const KernelTable &kernels) {
  for (Move &move : moves) {
    if (!isTiled(move) || move.square > 1)
      continue;
    if (move.isStreamed && !isCarried(move))
      continue;
    bool isDivided = isCarried(move) || readsLanes(move) ||
                     getDenseCycles(move, kernels, /*isStreamed=*/false) > 0;
    auto divide = [&](const Loop &inner, Loop &more, const Loop &others) {
      if (more.count > 1 &&
          (isDivided || !isChainInCaches(inner, move.runBytes, others)))
        move.loops.push_back(std::exchange(more, {1, 0, 0}));
    };
    divide(move.columns, move.moreColumns, move.moreRows);
    if (!writesEvictedLines(move))
      divide(move.rows, move.moreRows, move.moreColumns);
  }
}

/// Whether the columns of a tile, in the order of the source, evict each other
/// before the next rows make more of their lines.
static bool evictsColumns(const Move &move, int64_t most) {
  int64_t rowBytes = move.rows.count * move.moreRows.count * move.runBytes;
  const Loop *along = llvm::find_if(
      move.loops, [&](const Loop &loop) { return loop.dst == rowBytes; });
  int64_t end = along == move.loops.end() ? INT64_MAX : std::abs(along->src);
  int64_t columns = move.columns.count, pitch = std::abs(move.columns.dst);
  for (const Loop &loop : move.loops)
    if (std::abs(loop.dst) == columns * pitch && std::abs(loop.src) < end)
      columns *= loop.count;
  return isInFewSets(columns, pitch, most);
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
    return isRun && isInFewSets(from.count, from.src, kMost) &&
           !isInFewSets(to->count, to->dst, kMost);
  if (move.runBytes < kMinStreamedRun || to->count > kMaxWrittenSideBySide)
    return false;
  if (!isRun)
    return true;
  // Few places are foreseen best; within a page, longer loops are faster.
  bool isInPage = to->count * from.count * move.runBytes <= kPageBytes;
  return isInPage ? to->count > from.count : to->count < from.count;
}

/// Columns of few lines that are a multiple of a page apart, as those of padded
/// tiles are, evict one another from all caches, and each has a page of its
/// own. Eight to sixteen, in whole lanes, are taken at a time: they stay until
/// the steps that write behind them.
static void divideColumns(Move &move) {
  constexpr int64_t kFewest = 8, kMost = 16, kMostLines = 4;
  int64_t size = move.rows.count * move.moreRows.count * move.runBytes;
  Loop &columns = move.columns;
  auto goesOn = [](const Loop &loop) {
    return std::abs(loop.dst) < kPageBytes;
  };
  if (!isTiled(move) || move.isStreamed || move.moreColumns.count > 1 ||
      size > kMostLines * kLineBytes || columns.count <= kMost ||
      llvm::none_of(move.loops, goesOn) ||
      !isInFewSets(columns.count, columns.dst, kCacheWays))
    return;
  int64_t few = kMost;
  while (few > 0 && (columns.count % few != 0 ||
                     few * move.runBytes % kMaxTransposedBytes != 0))
    --few;
  if (few < kFewest)
    return;
  Loop *inside = llvm::find_if(move.loops, [&](const Loop &loop) {
    return std::abs(loop.dst) < std::abs(few * columns.dst);
  });
  move.loops.insert(
      inside, {columns.count / few, few * columns.src, few * columns.dst});
  columns.count = few;
}

void Schedule::orderDivided(int64_t mostInOneSet) {
  for (Move &move : moves) {
    divideColumns(move);
    bool isCached = !move.isStreamed;
    bool isDivided = isDividedAmongFew(move) || (isCached && isOfWords(move));
    bool followsSource =
        isDivided && !(isCached && evictsColumns(move, mostInOneSet));
    if (followsSource || (isCached && isCopiedBySource(move)))
      orderBySource(move.loops);
  }
}
