//===- TakeTurns.cpp - Moves that take turns ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <iterator>

using namespace tessera;
using namespace tessera::runtime;

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
  constexpr int64_t kMinWritten = 512;
  int64_t written = 0, read = 0;
  int64_t calls = steps * static_cast<int64_t>(group.size());
  for (const Move &move : group) {
    written += countWritten(move);
    read += move.kind == Move::Kind::Fill ? 0 : move.numBytes();
  }
  // Shorter ones do where one run comes from memory.
  bool isOneRun = group.front().isStreamed &&
                  2 * (read / steps) >= group.front().loops[depth].src;
  int64_t minRead = isOneRun ? 2048 : 8192;
  return (written / calls >= kMinWritten &&
          isAscending(group, depth, &Loop::dst)) ||
         (read / calls >= minRead && isAscending(group, depth, &Loop::src));
}

/// Places of the destination, a line at least from one another, to which a move
/// writes.
static int64_t countPlaces(const Move &move) {
  int64_t places = 1;
  auto count = [&](const Loop &loop) {
    if (std::abs(loop.dst) >= kLineBytes)
      places *= loop.count;
  };
  llvm::for_each(move.loops, count);
  for (const Loop &loop :
       {move.rows, move.columns, move.moreRows, move.moreColumns})
    count(loop);
  return places;
}

/// Whether it pays to call a move at each of so many steps of a larger one: it
/// writes a line at least, or bytes of several lines, which the larger one has
/// brought to a cache that does not hold all that it writes.
static bool isWorthCalls(const Move &move, const Move &larger, int64_t steps) {
  constexpr int64_t kMinPlaces = 8, kLarge = 512 << 10;
  return countWritten(move) / steps >= kLineBytes ||
         (countPlaces(move) / steps >= kMinPlaces &&
          countWritten(larger) >= kLarge);
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
  for (Move &move : moves.drop_front())
    if (isWorthCalls(move, first, steps) && takeLoop(move, depth, loop))
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
