//===- Gathers.cpp - Plans of gathers -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gathers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using namespace tessera::runtime;

static constexpr int64_t kMostRegisterBytes = 64;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// How many of `count` steps of `bytes` make a block, so that the fewest
/// registers are written.
static int64_t chooseSteps(int64_t count, int64_t bytes,
                           int64_t registerBytes) {
  constexpr int64_t kRestRegisters = 4; // What another move costs.
  auto countRegisters = [=](int64_t steps) {
    auto inBlock = [=](int64_t steps) {
      return llvm::divideCeil(steps * bytes, registerBytes);
    };
    int64_t rest = count % steps;
    return count / steps * inBlock(steps) +
           (rest > 0 ? inBlock(rest) + kRestRegisters : 0);
  };
  int64_t most = std::min(count, kMostGatheredBytes / bytes);
  int64_t best = bytes < registerBytes ? most : 1;
  int64_t least = countRegisters(best);
  for (int64_t steps = most; steps > most / 2; --steps)
    if (int64_t registers = countRegisters(steps); registers < least) {
      least = registers;
      best = steps;
    }
  return best;
}

/// The last steps of a loop of `nest`, with the loops of `block` within.
static ElementNest getLast(const ElementNest &nest, const Loop &loop,
                           int64_t steps, llvm::ArrayRef<Loop> block) {
  ElementNest last = nest;
  int64_t begin = loop.count - steps;
  last.srcOffset += begin * loop.src;
  last.dstOffset += begin * loop.dst;
  Loop *own = last.loops.begin() + (&loop - nest.loops.begin());
  own->count = steps;
  if (steps == 1)
    last.loops.erase(own);
  last.loops.append(block.rbegin(), block.rend());
  return last;
}

/// Takes the loops of a block from a nest, innermost first: all of those whose
/// elements follow one another in the destination, and a part of the last one,
/// as there is room.
static llvm::SmallVector<Loop, 6> takeBlock(ElementNest &nest,
                                            int64_t elementBytes,
                                            int64_t registerBytes,
                                            std::optional<ElementNest> &rest) {
  llvm::SmallVector<Loop, 6> block;
  int64_t bytes = elementBytes;
  while (2 * bytes <= kMostGatheredBytes) {
    Loop *loop = llvm::find_if(
        nest.loops, [=](const Loop &loop) { return loop.dst == bytes; });
    if (loop == nest.loops.end())
      break;
    int64_t steps = chooseSteps(loop->count, bytes, registerBytes);
    if (steps == 1)
      break;
    if (int64_t left = loop->count % steps)
      rest = getLast(nest, *loop, left, block);
    block.push_back({steps, loop->src, loop->dst});
    bytes *= steps;
    int64_t blocks = loop->count / steps;
    *loop = {blocks, steps * loop->src, steps * loop->dst};
    if (blocks > 1)
      break;
    nest.loops.erase(loop);
    if (rest)
      break;
  }
  return block;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// Bytes of the source, and the number that each byte of a register, or of a
/// lane, has among them.
struct Window {
  /// Adds the numbers of its bytes to those of a register or of a lane, which
  /// has it behind `before` others.
  void putNumbers(int64_t before, llvm::MutableArrayRef<uint8_t> all) const {
    for (size_t i = 0; i < all.size(); ++i)
      if (numbers[i] != GatherTable::kNone)
        all[i] = before + numbers[i];
  }

  int64_t place;
  std::array<uint8_t, kMostRegisterBytes> numbers;
};

/// The windows of one part of a register.
using PartWindows = llvm::SmallVector<Window, 4>;

/// Where the elements of a block come from, in the order of the destination.
struct Sources {
  Sources(llvm::ArrayRef<Loop> block, int64_t elementBytes);

  int64_t numBytes() const { return elementBytes * elements.size(); }
  /// Bytes of the source between which they lie.
  int64_t span() const { return end - begin; }
  /// The windows of so many bytes of the block, from `begin` on.
  PartWindows getWindows(int64_t begin, int64_t bytes,
                         int64_t windowBytes) const;

  int64_t elementBytes;
  std::vector<int64_t> elements;
  int64_t begin, end;
};
} // namespace

Sources::Sources(llvm::ArrayRef<Loop> block, int64_t elementBytes)
    : elementBytes(elementBytes), elements(1) {
  for (const Loop &loop : block) {
    size_t inner = elements.size();
    for (size_t i = inner; i < inner * loop.count; ++i)
      elements.push_back(elements[i - inner] + loop.src);
  }
  auto [first, last] = std::minmax_element(elements.begin(), elements.end());
  begin = *first;
  end = *last + elementBytes;
}

PartWindows Sources::getWindows(int64_t begin, int64_t bytes,
                                int64_t windowBytes) const {
  struct Element {
    int64_t src, at;
  };
  llvm::SmallVector<Element, kMostRegisterBytes> sorted;
  for (int64_t at = 0; at < bytes; at += elementBytes)
    sorted.push_back({elements[(begin + at) / elementBytes], at});
  llvm::sort(sorted,
             [](const Element &a, const Element &b) { return a.src < b.src; });
  PartWindows windows;
  for (const Element &element : sorted) {
    bool isWithin = !windows.empty() && element.src + elementBytes <=
                                            windows.back().place + windowBytes;
    if (!isWithin) {
      // The last one ends where the source does.
      windows.push_back({std::min(element.src, end - windowBytes), {}});
      windows.back().numbers.fill(GatherTable::kNone);
    }
    Window &window = windows.back();
    for (int64_t i = 0; i < elementBytes; ++i)
      window.numbers[element.at + i] = element.src - window.place + i;
  }
  return windows;
}

namespace {
/// A method to gather: by registers of `bytes`, of which each part picks from
/// its own windows, `windows` of them in each way. A register takes `kStore`
/// half cycles and `perWay` for each way.
struct GatherMethod {
  static constexpr int64_t kStore = 6;

  int64_t bytes, partBytes, windowBytes, windows, perWay, mostWays;
};
} // namespace

/// Makes the table of the windows of all parts. Those that have fewer than
/// others read their first one again, of which they pick none.
static void putWindows(llvm::ArrayRef<PartWindows> parts,
                       const GatherMethod &method, Gather &gather) {
  int64_t part = method.partBytes, numParts = method.bytes / part;
  int64_t windows = method.windows, ways = gather.ways;
  gather.places.resize(parts.size() * ways * windows);
  gather.numbers.assign(parts.size() * ways * part, GatherTable::kNone);
  for (int64_t i = 0; i < int64_t(parts.size()); ++i)
    for (int64_t k = 0; k < ways * windows; ++k) {
      bool isRead = k < int64_t(parts[i].size());
      const Window &window = parts[i][isRead ? k : 0];
      int64_t way =
          (i / numParts * ways + k / windows) * numParts + i % numParts;
      gather.places[way * windows + k % windows] = window.place;
      if (isRead)
        window.putNumbers(k % windows * method.windowBytes,
                          {&gather.numbers[way * part], size_t(part)});
    }
}

/// The gather of a method. Nothing for more than `mostWays`, or where all of
/// the source is no window.
static std::optional<Gather> makeGather(const Sources &sources,
                                        const GatherMethod &method,
                                        int64_t mostWays) {
  int64_t bytes = sources.numBytes(), width = method.bytes;
  if (bytes < width || sources.span() < method.windowBytes)
    return std::nullopt;
  std::vector<PartWindows> parts;
  int64_t mostWindows = 0;
  for (int64_t at = 0; at < bytes; at += width)
    for (int64_t i = 0; i < width; i += method.partBytes) {
      parts.push_back(sources.getWindows(std::min(at, bytes - width) + i,
                                         method.partBytes, method.windowBytes));
      mostWindows = std::max<int64_t>(mostWindows, parts.back().size());
      if (mostWindows > mostWays * method.windows)
        return std::nullopt;
    }
  Gather gather;
  gather.registerBytes = width;
  gather.partBytes = method.partBytes;
  gather.windows = method.windows * (width / method.partBytes);
  gather.ways = llvm::divideCeil(mostWindows, method.windows);
  gather.srcSpan = sources.span();
  putWindows(parts, method, gather);
  return gather;
}

/// The table that takes the least time. Nothing for more than `mostCycles` for
/// as much as a register of lanes has.
static std::optional<Gather> chooseGather(const Sources &sources,
                                          const GatherRegisters &registers,
                                          int64_t mostCycles) {
  // Windows of parts are put together; long ones lie across two lines, most of
  // them.
  constexpr int64_t kShared = 3, kSeparate = 4, kLong = 6, kHalves = 6,
                    kQuarters = 8;
  constexpr int64_t kWindow = GatherRegisters::kWindowBytes;
  int64_t wide = registers.wideBytes, lanes = registers.laneBytes;
  int64_t width = sources.numBytes() < lanes ? kWindow : lanes;
  const GatherMethod methods[] = {
      {wide, wide, wide, 1, kLong, kMostGatherWays},
      {wide, wide, wide / 2, 2, kHalves, kMostWideWays},
      {wide, wide, wide / 4, 4, kQuarters, kMostWideWays},
      {width, width, kWindow, 1, kShared, kMostGatherWays},
      {width, kWindow, kWindow, 1, kSeparate, kMostSeparateWays}};
  std::optional<Gather> best;
  int64_t left = 2 * mostCycles;
  for (const GatherMethod &method : methods) {
    if (method.bytes == 0)
      continue;
    int64_t scale = method.bytes > lanes ? method.bytes / lanes : 1;
    int64_t mostWays = (left * scale - GatherMethod::kStore) / method.perWay;
    auto gather =
        makeGather(sources, method, std::min(mostWays, method.mostWays));
    if (!gather)
      continue;
    left = (GatherMethod::kStore + method.perWay * gather->ways) / scale - 1;
    best = std::move(gather);
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// Makes the loop the innermost one whose steps read from the same lines.
static void putNearestLast(llvm::MutableArrayRef<Loop> loops) {
  auto isNearer = [](const Loop &a, const Loop &b) {
    return std::abs(a.src) < std::abs(b.src);
  };
  Loop *nearest = std::min_element(loops.begin(), loops.end(), isNearer);
  if (nearest != loops.end() && std::abs(nearest->src) < kLineBytes &&
      isNearer(*nearest, loops.back()))
    std::rotate(nearest, nearest + 1, loops.end());
}

std::optional<Move> tessera::runtime::planGather(
    ElementNest nest, int64_t elementBytes, const GatherRegisters &registers,
    int64_t mostCycles, std::optional<ElementNest> &rest) {
  if (mostCycles == 0)
    return std::nullopt;
  llvm::SmallVector<Loop, 6> block =
      takeBlock(nest, elementBytes,
                std::max(registers.wideBytes, registers.laneBytes), rest);
  Sources sources(block, elementBytes);
  auto gather = chooseGather(sources, registers, mostCycles);
  if (!gather)
    return std::nullopt;
  Move move;
  move.kind = Move::Kind::Gather;
  move.srcOffset = nest.srcOffset;
  move.dstOffset = nest.dstOffset;
  move.runBytes = sources.numBytes();
  move.loops = std::move(nest.loops);
  move.gather = std::move(*gather);
  putNearestLast(move.loops);
  return move;
}
