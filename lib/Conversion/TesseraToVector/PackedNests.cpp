//===- PackedNests.cpp - Nests of elements that share bytes ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/PackedNests.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace tessera;

/// Bytes that a nest writes in each step of its loops.
static constexpr size_t kMaxPackedBytes = 16;
/// Elements of a run that is so short that those behind it, as one run, are
/// better than to merge bits at its ends.
static constexpr int64_t kMaxShort = 16;

/// Whether whole bytes of the source are meant.
static bool isCopy(const PackedBytes &packedBytes) {
  return packedBytes.parts.size() == 1 &&
         packedBytes.parts.front().shift == 0 &&
         packedBytes.parts.front().mask == 0xFF;
}

/// Lets offsets count from the first ones, which the nest begins at.
static void makeRelative(PackedNest &nest) {
  llvm::sort(nest.packedBytes, [](const PackedBytes &a, const PackedBytes &b) {
    return a.dstOffset < b.dstOffset;
  });
  int64_t dst = nest.packedBytes.front().dstOffset, src = 0;
  if (!nest.packedBytes.front().parts.empty())
    src = nest.packedBytes.front().parts.front().srcOffset;
  for (PackedBytes &packedBytes : nest.packedBytes) {
    llvm::sort(packedBytes.parts);
    for (const BytePart &part : packedBytes.parts)
      src = std::min(src, part.srcOffset);
  }
  for (PackedBytes &packedBytes : nest.packedBytes) {
    packedBytes.dstOffset -= dst;
    for (BytePart &part : packedBytes.parts)
      part.srcOffset -= src;
  }
  nest.strided.srcOffset = src;
  nest.strided.dstOffset = dst;
}

namespace {
/// A position on both sides, in elements.
struct Positions {
  int64_t src = 0, dst = 0;
};

/// A run along the destination that begins at one of several positions: a head
/// that is less than a byte, whole bytes, and a tail.
struct Run {
  Positions begin;
  int64_t head = 0, bytes = 0, tail = 0;
};

/// A byte of a run: the number of its first element, and where the run begins.
struct ByteOfRun {
  Positions begin;
  int64_t first = 0;
};

/// Packs the nests of one relayout.
class NestPacker {
public:
  NestPacker(const ElementBits &bits, bool forFill, size_t maxNests)
      : bits(std::min(bits.src, bits.dst)),
        srcBits(forFill ? bits.dst : bits.src), srcPerByte(8 / srcBits),
        dstPerByte(8 / bits.dst), forFill(forFill), maxNests(maxNests) {}

  void pack(StridedNest nest) {
    run = takeLoop(nest, 1);
    repeat = {1, 0, run.count};
    if (run.count % dstPerByte != 0 && run.count <= kMaxShort)
      repeat = takeLoop(nest, run.count);
    packLoops(std::move(nest), 0);
  }

  std::vector<PackedNest> packed;

private:
  /// Steps of a loop that together are whole bytes on both sides.
  int64_t getPeriod(const PlanLoop &loop) const {
    int64_t src = forFill ? 0 : loop.srcStride;
    return std::max(srcPerByte / std::gcd(srcPerByte, src),
                    dstPerByte / std::gcd(dstPerByte, loop.dstStride));
  }

  /// Packs `outer` from loop `depth` on: steps that are no whole period become
  /// nests of their own.
  void packLoops(StridedNest outer, size_t depth) {
    if (packed.size() > maxNests)
      return;
    if (depth == outer.loops.size())
      return packPeriods(outer);
    PlanLoop loop = outer.loops[depth];
    // The analyzer loses what a small vector holds.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    int64_t remainder = loop.count % getPeriod(loop);
    for (int64_t i = loop.count - remainder; i < loop.count; ++i) {
      StridedNest step = outer;
      step.srcOffset += i * loop.srcStride;
      step.dstOffset += i * loop.dstStride;
      step.loops.erase(step.loops.begin() + depth);
      packLoops(std::move(step), depth);
    }
    outer.loops[depth].count -= remainder;
    if (remainder < loop.count)
      packLoops(std::move(outer), depth + 1);
  }

  /// The same where all loops are whole periods.
  void packPeriods(const StridedNest &outer) {
    StridedNest inBytes = outer;
    llvm::SmallVector<Run> runs;
    for (Positions begin : splitLoops(inBytes))
      runs.push_back(makeRun(begin));
    packRuns(inBytes, runs);
  }

  /// Replaces the loops by ones of bytes, and returns where their steps begin.
  llvm::SmallVector<Positions> splitLoops(StridedNest &nest) const {
    llvm::SmallVector<Positions> begins = {{nest.srcOffset, nest.dstOffset}};
    for (PlanLoop &loop : nest.loops) {
      int64_t period = getPeriod(loop);
      size_t size = begins.size();
      for (int64_t i = 1; i < period; ++i)
        for (size_t k = 0; k < size; ++k)
          begins.push_back({begins[k].src + i * loop.srcStride,
                            begins[k].dst + i * loop.dstStride});
      loop = {loop.count / period, period * loop.srcStride / srcPerByte,
              period * loop.dstStride / dstPerByte};
    }
    llvm::erase_if(nest.loops,
                   [](const PlanLoop &loop) { return loop.count == 1; });
    return begins;
  }

  Run makeRun(Positions begin) const {
    Run result = {begin};
    int64_t phase = begin.dst % dstPerByte, count = run.count * repeat.count;
    result.head = std::min((dstPerByte - phase) % dstPerByte, count);
    result.bytes = (count - result.head) / dstPerByte;
    result.tail = (count - result.head) % dstPerByte;
    return result;
  }

  /// Whole bytes of all runs, as far as they all have them, and the others.
  void packRuns(const StridedNest &inBytes, llvm::ArrayRef<Run> runs) {
    int64_t stride = getRunPeriod(), groups = runs.front().bytes / stride;
    for (const Run &run : runs)
      groups = std::min(groups, run.bytes / stride);
    llvm::SmallVector<ByteOfRun> common, others;
    auto addRange = [&](const Run &run, int64_t begin, int64_t end,
                        llvm::SmallVector<ByteOfRun> &bytes) {
      for (int64_t i = begin; i < end; ++i)
        bytes.push_back({run.begin, run.head + i * dstPerByte});
    };
    for (const Run &run : runs) {
      if (groups > 0)
        addRange(run, 0, stride, common);
      addRange(run, groups * stride, run.bytes, others);
    }
    auto add = [&](llvm::MutableArrayRef<ByteOfRun> bytes, int64_t count) {
      llvm::sort(bytes, [](const ByteOfRun &a, const ByteOfRun &b) {
        return a.begin.dst + a.first < b.begin.dst + b.first;
      });
      addBytes(inBytes, bytes, count, stride);
    };
    add(common, groups);
    add(others, 1);
    for (const Run &run : runs) {
      addPart(inBytes, run, 0, run.head);
      addPart(inBytes, run, run.head + run.bytes * dstPerByte, run.tail);
    }
  }

  /// Elements of a run, from number `first` on, that are part of a byte.
  void addPart(const StridedNest &inBytes, const Run &run, int64_t first,
               int64_t count) {
    if (count == 0)
      return;
    int64_t bit = (run.begin.dst + first) % dstPerByte * bits;
    auto mask = static_cast<uint8_t>(((1 << count * bits) - 1) << bit);
    PackedNest nest = {inBytes, mask, {pack({run.begin, first}, count)}};
    makeRelative(nest);
    const auto &parts = nest.packedBytes.front().parts;
    if (parts.empty() || (parts.size() == 1 && parts.front().shift == 0))
      nest.packedBytes.clear();
    packed.push_back(std::move(nest));
  }

  /// `groups` times the bytes, `stride` bytes apart.
  void addBytes(const StridedNest &inBytes, llvm::ArrayRef<ByteOfRun> bytes,
                int64_t groups, int64_t stride) {
    if (groups == 0 || bytes.empty())
      return;
    // Of a fill, and of what many steps make, each part is a nest.
    size_t most = forFill ? 1 : kMaxPackedBytes;
    if (bytes.size() > most) {
      addBytes(inBytes, bytes.take_front(most), groups, stride);
      addBytes(inBytes, bytes.drop_front(most), groups, stride);
      return;
    }
    PackedNest nest = {inBytes, 0xFF, {}};
    for (ByteOfRun byte : bytes)
      nest.packedBytes.push_back(pack(byte, dstPerByte));
    makeRelative(nest);
    if (groups > 1)
      nest.strided.loops.push_back(
          {groups,
           forFill ? 0 : getSrcDistance(stride * dstPerByte) / srcPerByte,
           stride});
    if (forFill ||
        (nest.packedBytes.size() == 1 && isCopy(nest.packedBytes.front())))
      nest.packedBytes.clear();
    packed.push_back(std::move(nest));
  }

  /// `count` elements of a run as parts of one byte. Offsets count from byte 0
  /// of both buffers.
  PackedBytes pack(ByteOfRun byte, int64_t count) const {
    PackedBytes result;
    result.dstOffset = (byte.begin.dst + byte.first) / dstPerByte;
    for (int64_t i = 0; i < count && !forFill; ++i) {
      Positions at = getPositions(byte.begin, byte.first + i);
      auto to = static_cast<int>(at.dst % dstPerByte * (8 / dstPerByte));
      auto from = static_cast<int>(at.src % srcPerByte * srcBits);
      auto mask = static_cast<uint8_t>(((1 << bits) - 1) << to);
      BytePart part = {at.src / srcPerByte, to - from, mask};
      BytePart *same = llvm::find_if(result.parts, [&](const BytePart &other) {
        return other.srcOffset == part.srcOffset && other.shift == part.shift;
      });
      if (same == result.parts.end())
        result.parts.push_back(part);
      else
        same->mask |= part.mask;
    }
    return result;
  }
  /// Element number `element` of a run.
  Positions getPositions(Positions begin, int64_t element) const {
    return {begin.src + element / run.count * repeat.srcStride +
                element % run.count * run.srcStride,
            begin.dst + element};
  }
  /// Elements of the source that so many of a run, in whole runs where they
  /// are short, move on by.
  int64_t getSrcDistance(int64_t elements) const {
    return repeat.count == 1 ? elements * run.srcStride
                             : elements / run.count * repeat.srcStride;
  }

  /// Bytes of a run after which the source is at the same position within a
  /// byte, and within a short run, again.
  int64_t getRunPeriod() const {
    int64_t bytes = 1;
    auto isWhole = [&] {
      int64_t elements = bytes * dstPerByte;
      bool isWholeRuns = repeat.count == 1 || elements % run.count == 0;
      return isWholeRuns &&
             (forFill || getSrcDistance(elements) % srcPerByte == 0);
    };
    while (!isWhole())
      ++bytes;
    return bytes;
  }

  /// Takes the loop of a stride out of the nest; one step if there is none.
  PlanLoop takeLoop(StridedNest &nest, int64_t dstStride) const {
    PlanLoop *it = llvm::find_if(nest.loops, [&](const PlanLoop &loop) {
      return loop.dstStride == dstStride;
    });
    if (it == nest.loops.end())
      return {1, 0, dstStride};
    PlanLoop loop = *it;
    nest.loops.erase(it);
    return loop;
  }

  int64_t bits, srcBits, srcPerByte, dstPerByte;
  bool forFill;
  size_t maxNests;
  /// The loop of neighbours in the destination, or one step; and the loop over
  /// short ones of these, one behind the other, which make one long run.
  PlanLoop run, repeat;
};
} // namespace
llvm::Expected<std::vector<PackedNest>>
tessera::packNests(llvm::ArrayRef<StridedNest> nests, const ElementBits &bits,
                   bool forFill, size_t maxNests) {
  NestPacker packer(bits, forFill, maxNests);
  for (const StridedNest &nest : nests) {
    packer.pack(nest);
    if (packer.packed.size() > maxNests)
      return refusePlan("parts of bytes that make at most " +
                            llvm::Twine(maxNests) + " nests",
                        "more");
  }
  return std::move(packer.packed);
}
