//===- PackedBlocks.cpp - Elements that share bytes, by blocks ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedBlocks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <memory>

using namespace tessera;
using namespace tessera::runtime;

/// Fewer bytes are written one by one in the time that blocks are planned.
static constexpr int64_t kLeastBytes = 256;
/// The shortest registers have so many columns.
static constexpr int64_t kLeastColumns = 16;

//===----------------------------------------------------------------------===//
// The steps of a block
//===----------------------------------------------------------------------===//

namespace {
/// Chooses how many steps of each loop of a nest are in a block: a line of the
/// destination, two of the source, which come one after the other, and then as
/// many as there is room for, along the destination.
class BlockSteps {
public:
  BlockSteps(llvm::ArrayRef<Loop> loops, int64_t mostSteps)
      : counts(loops.size(), 1), loops(loops), most(mostSteps) {
    grow(&Loop::dst, kLineBytes, kLineBytes);
    grow(&Loop::src, 2 * kLineBytes, kLineBytes);
    grow(&Loop::dst, most, INT64_MAX);
  }

  /// Steps of each loop that are in a block.
  llvm::SmallVector<int64_t, 6> counts;
  int64_t steps = 1;

private:
  /// Takes steps of loops, those nearest to one another on a side first, until
  /// these are `wanted`. Steps that are `apart` bytes or more are not taken.
  void grow(int64_t Loop::*side, int64_t wanted, int64_t apart) {
    llvm::SmallVector<size_t, 6> order;
    for (size_t i = 0; i < loops.size(); ++i)
      if (std::abs(loops[i].*side) < apart)
        order.push_back(i);
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::abs(loops[a].*side) < std::abs(loops[b].*side);
    });
    int64_t taken = 1;
    for (size_t i : order) {
      take(i, llvm::divideCeil(wanted, taken));
      taken *= counts[i];
      if (taken >= wanted || counts[i] < loops[i].count)
        return;
    }
  }

  /// Takes about `wanted` steps of a loop.
  void take(size_t i, int64_t wanted) {
    int64_t room = most / (steps / counts[i]);
    int64_t size = std::min({loops[i].count, room, 2 * wanted - 1});
    if (size < loops[i].count) {
      // Whole lines, or else parts of much the same size.
      size = std::min(room, wanted);
      int64_t unit = size < kLineBytes ? 1 : kLineBytes;
      int64_t parts = llvm::divideCeil(loops[i].count, size / unit * unit);
      size = llvm::alignTo(llvm::divideCeil(loops[i].count, parts), unit);
    }
    if (size <= counts[i])
      return;
    steps = steps / counts[i] * size;
    counts[i] = size;
  }

  llvm::ArrayRef<Loop> loops;
  int64_t most;
};
} // namespace

//===----------------------------------------------------------------------===//
// Moves between the buffers and the arrays
//===----------------------------------------------------------------------===//

namespace {
/// How the steps of a block and the rows of a buffer lie in it: runs of one
/// array, then what is nearest in the other one, which is transposed.
struct BufferOrder {
  BufferOrder(llvm::ArrayRef<Loop> blockLoops, int64_t Loop::*runs,
              int64_t Loop::*others, llvm::ArrayRef<int64_t> otherOffsets);

  /// Bytes between the steps of each loop in a buffer of groups of rows.
  llvm::SmallVector<int64_t, 6> getDistances(int64_t numRows) const;
  /// Whether the first loop is a run of an array of which there is a register.
  bool hasRuns(int64_t Loop::*side, const KernelTable &kernels) const {
    return !loops.empty() && loops.front().*side == 1 &&
           loops.front().count >= kernels.vectorBytes;
  }

  /// The loops of the block, most minor first; those within a group of rows.
  llvm::SmallVector<Loop, 6> loops;
  size_t numInner;
  /// Steps of a group, and groups.
  int64_t size = 1, groups = 1;
  /// Bytes between rows.
  int64_t pitch;
};
} // namespace

BufferOrder::BufferOrder(llvm::ArrayRef<Loop> blockLoops, int64_t Loop::*runs,
                         int64_t Loop::*others,
                         llvm::ArrayRef<int64_t> otherOffsets)
    : loops(blockLoops) {
  auto sortBy = [&](Loop *begin, int64_t Loop::*side) {
    std::sort(begin, loops.end(), [=](const Loop &a, const Loop &b) {
      return std::abs(a.*side) < std::abs(b.*side);
    });
  };
  sortBy(loops.begin(), runs);
  Loop *it = loops.begin();
  int64_t run = 1;
  while (it != loops.end() && run < kLineBytes &&
         (it == loops.begin() || it->*runs == it[-1].*runs * it[-1].count))
    run *= it++->count;
  sortBy(it, others);
  // Rows go where they continue what lies in the other array before them.
  int64_t distance =
      otherOffsets.size() > 1 ? otherOffsets[1] - otherOffsets[0] : INT64_MAX;
  it = std::find_if(it, loops.end(), [=](const Loop &loop) {
    return std::abs(loop.*others) > distance;
  });
  numInner = it - loops.begin();
  auto count = [&](size_t begin, size_t end) {
    int64_t steps = 1;
    for (size_t i = begin; i < end; ++i)
      steps *= loops[i].count;
    return steps;
  };
  if (count(0, numInner) < kLineBytes)
    numInner = loops.size();
  size = count(0, numInner);
  groups = count(numInner, loops.size());
  pitch = groups == 1 ? llvm::alignTo(size, kLineBytes) : size;
}

llvm::SmallVector<int64_t, 6> BufferOrder::getDistances(int64_t numRows) const {
  llvm::SmallVector<int64_t, 6> distances;
  int64_t distance = 1;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    if (i == numInner)
      distance = pitch * numRows;
    distances.push_back(distance);
    distance *= loop.count;
  }
  return distances;
}

namespace {
/// Plans what moves rows of a buffer.
struct RowPlanner {
  /// From `offsets` in an array, or to them, counted from where a block begins:
  /// to the rows from number `firstRow` on, or from them.
  RowMoves plan(llvm::ArrayRef<int64_t> offsets, int64_t firstRow,
                int64_t Loop::*side, bool isWrite) const;

  const BufferOrder &order;
  int64_t numRows; ///< Of a group.
  const KernelTable &kernels;
};
} // namespace

/// Appends loops that have offsets as their steps, the rows of a buffer in
/// order. False where there are none.
static bool addOffsets(llvm::ArrayRef<int64_t> offsets, int64_t pitch,
                       llvm::SmallVectorImpl<Loop> &loops) {
  if (offsets.size() == 1)
    return true;
  int64_t distance = offsets[1] - offsets[0];
  size_t count = 2;
  while (count < offsets.size() &&
         offsets[count] - offsets[count - 1] == distance)
    ++count;
  llvm::SmallVector<int64_t> begins;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (i % count == 0)
      begins.push_back(offsets[i]);
    if (offsets[i] - begins.back() != int64_t(i % count) * distance)
      return false;
  }
  loops.push_back({int64_t(count), distance, pitch});
  return offsets.size() % count == 0 &&
         addOffsets(begins, int64_t(count) * pitch, loops);
}

/// Puts loops in the order of the destination, and makes one of those that
/// continue one another on both sides.
static void sortAndMerge(llvm::SmallVectorImpl<Loop> &loops) {
  llvm::sort(loops, [](const Loop &a, const Loop &b) {
    return std::abs(a.dst) > std::abs(b.dst);
  });
  for (size_t i = loops.size(); i-- > 1;) {
    Loop &outer = loops[i - 1], inner = loops[i];
    if (outer.src != inner.src * inner.count ||
        outer.dst != inner.dst * inner.count)
      continue;
    outer = {outer.count * inner.count, inner.src, inner.dst};
    loops.erase(loops.begin() + i);
  }
}

RowMoves RowPlanner::plan(llvm::ArrayRef<int64_t> offsets, int64_t firstRow,
                          int64_t Loop::*side, bool isWrite) const {
  ElementNest nest;
  for (auto [loop, distance] :
       llvm::zip_equal(order.loops, order.getDistances(numRows)))
    nest.loops.push_back({loop.count, loop.*side, distance});
  llvm::SmallVector<Loop, 6> all = nest.loops;
  bool isOneNest = addOffsets(offsets, order.pitch, all);
  if (isOneNest)
    nest.loops = all;
  if (isWrite)
    for (Loop &loop : nest.loops)
      std::swap(loop.src, loop.dst);
  sortAndMerge(nest.loops);
  RowMoves moves;
  moves.schedule.addElements(nest, /*elementBytes=*/1, {kernels, INT64_MAX});
  moves.schedule.divideChains(kernels);
  moves.schedule.makeTasks(kernels, /*padding=*/std::nullopt);
  for (auto [i, offset] : llvm::enumerate(offsets)) {
    int64_t row = (firstRow + int64_t(i)) * order.pitch;
    if (i == 0 || !isOneNest)
      moves.places.push_back(isWrite ? RowMoves::Place{row, offset}
                                     : RowMoves::Place{offset, row});
  }
  return moves;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {
/// The bytes of a step: where those of the source are that it takes parts of,
/// and those that it writes.
struct StepBytes {
  explicit StepBytes(const Move &move);

  int64_t numSources() const { return int64_t(sources.size()) + keepsBits; }
  int64_t numTargets() const { return int64_t(targets.size()); }
  /// Steps that the buffers have room for, whole lines.
  int64_t getMostSteps() const {
    int64_t most =
        PackedBlock::kBufferBytes / std::max(numSources(), numTargets());
    return most / kLineBytes * kLineBytes;
  }
  /// What a step of a move packs, with rows of buffers, `pitch` bytes apart, in
  /// place of the source and of the destination. Kernels take the same power of
  /// two of parts for each byte: what is added has no bits.
  void pack(const Move &move, int64_t pitch, bool fromRows, bool toRows,
            std::vector<BitPart> &parts, std::vector<ByteParts> &bytes) const;

  llvm::SmallVector<int64_t> sources, targets;
  /// Whether the destination is the last of the sources.
  bool keepsBits;
};
} // namespace

StepBytes::StepBytes(const Move &move) : keepsBits(move.mask != 0xFF) {
  for (const BitPart &part : move.parts)
    sources.push_back(part.src);
  llvm::sort(sources);
  sources.erase(llvm::unique(sources), sources.end());
  for (const ByteParts &byte : move.bytes)
    targets.push_back(byte.dst);
}

void StepBytes::pack(const Move &move, int64_t pitch, bool fromRows,
                     bool toRows, std::vector<BitPart> &parts,
                     std::vector<ByteParts> &bytes) const {
  auto getSource = [&](int64_t source) {
    int64_t row = llvm::lower_bound(sources, source) - sources.begin();
    return fromRows ? row * pitch : source;
  };
  size_t most = 0;
  for (const ByteParts &byte : move.bytes)
    most = std::max(most, byte.numParts);
  size_t size = llvm::PowerOf2Ceil(most + (keepsBits ? 1 : 0));
  for (const ByteParts &byte : move.bytes) {
    size_t end = parts.size() + size;
    for (const BitPart &part : llvm::ArrayRef(byte.parts, byte.numParts))
      parts.push_back({getSource(part.src), part.shift, part.mask});
    if (keepsBits)
      parts.push_back({pitch * int64_t(sources.size()), 0,
                       static_cast<uint8_t>(~move.mask)});
    parts.resize(end, {parts.back().src, 0, 0});
  }
  for (size_t i = 0; i < move.bytes.size(); ++i)
    bytes.push_back({toRows ? int64_t(i) * pitch : targets[i],
                     parts.data() + i * size, size});
}

/// One move of `runs`, of which the first loop is the columns.
static RowMoves makeRuns(Move runs, const KernelTable &kernels) {
  runs.kind = Move::Kind::PackBits;
  runs.columns = runs.loops.front();
  runs.loops.erase(runs.loops.begin());
  std::reverse(runs.loops.begin(), runs.loops.end());
  RowMoves moves;
  moves.schedule.moves.push_back(std::move(runs));
  moves.schedule.makeTasks(kernels, /*padding=*/std::nullopt);
  moves.places.push_back({0, 0});
  return moves;
}

/// Runs of a block that are packed on their way from or to an array, of which
/// the other side is a buffer.
static RowMoves packRuns(const Move &move, const StepBytes &bytes,
                         const BufferOrder &order, bool isWrite,
                         const KernelTable &kernels) {
  Move runs;
  runs.signedBits = move.signedBits;
  auto distances =
      order.getDistances(isWrite ? bytes.numSources() : bytes.numTargets());
  for (auto [loop, distance] : llvm::zip_equal(order.loops, distances))
    runs.loops.push_back(isWrite ? Loop{loop.count, distance, loop.dst}
                                 : Loop{loop.count, loop.src, distance});
  bytes.pack(move, order.pitch, /*fromRows=*/isWrite, /*toRows=*/!isWrite,
             runs.parts, runs.bytes);
  return makeRuns(std::move(runs), kernels);
}

/// Rows of one buffer that become those of the other one.
static RowMoves packRows(const Move &move, const StepBytes &bytes,
                         const BufferOrder &order, const KernelTable &kernels) {
  Move runs;
  runs.signedBits = move.signedBits;
  runs.loops.push_back({order.pitch, 1, 1});
  if (order.groups > 1)
    runs.loops.push_back({order.groups, bytes.numSources() * order.pitch,
                          bytes.numTargets() * order.pitch});
  bytes.pack(move, order.pitch, /*fromRows=*/true, /*toRows=*/true, runs.parts,
             runs.bytes);
  return makeRuns(std::move(runs), kernels);
}

/// The block of such loops of a move.
static std::shared_ptr<PackedBlock> makeBlock(const Move &move,
                                              const StepBytes &bytes,
                                              llvm::ArrayRef<Loop> loops,
                                              const KernelTable &kernels) {
  auto block = std::make_shared<PackedBlock>(kernels);
  // What has far fewer bytes is transposed.
  bool transposesWrites = bytes.numSources() >= 2 * bytes.numTargets();
  BufferOrder order =
      transposesWrites
          ? BufferOrder(loops, &Loop::src, &Loop::dst, bytes.targets)
          : BufferOrder(loops, &Loop::dst, &Loop::src, bytes.sources);
  block->steps = order.size * order.groups;
  bool packsReads = transposesWrites && !bytes.keepsBits &&
                    order.hasRuns(&Loop::src, kernels);
  bool packsWrites = !packsReads && order.hasRuns(&Loop::dst, kernels);
  RowPlanner sources = {order, bytes.numSources(), kernels};
  RowPlanner targets = {order, bytes.numTargets(), kernels};
  block->reads = packsReads
                     ? packRuns(move, bytes, order, /*isWrite=*/false, kernels)
                     : sources.plan(bytes.sources, /*firstRow=*/0, &Loop::src,
                                    /*isWrite=*/false);
  if (bytes.keepsBits)
    block->keeps = sources.plan({0}, bytes.numSources() - 1, &Loop::dst,
                                /*isWrite=*/false);
  if (!packsReads && !packsWrites)
    block->packs = packRows(move, bytes, order, kernels);
  block->writes = packsWrites
                      ? packRuns(move, bytes, order, /*isWrite=*/true, kernels)
                      : targets.plan(bytes.targets, /*firstRow=*/0, &Loop::dst,
                                     /*isWrite=*/true);
  return block;
}

void PackedBlock::streamWrites() {
  for (Move &move : writes.schedule.moves)
    move.isStreamed = true;
  writes.schedule.tasks.clear();
  writes.schedule.makeTasks(kernels, /*padding=*/std::nullopt);
}

/// Adds the moves of what blocks of `counts` steps leave of a nest.
static void addRemainders(const PackedNest &nest,
                          llvm::ArrayRef<int64_t> counts,
                          const ElementBits &bits, const Kernels &kernels,
                          Schedule &schedule) {
  PackedNest whole = nest;
  for (auto [i, count] : llvm::enumerate(counts)) {
    PlanLoop &loop = whole.strided.loops[i];
    int64_t rest = loop.count % count;
    if (rest == 0)
      continue;
    loop.count -= rest;
    PackedNest remainder = whole;
    remainder.strided.srcOffset += loop.count * loop.srcStride;
    remainder.strided.dstOffset += loop.count * loop.dstStride;
    remainder.strided.loops[i].count = rest;
    addPackedNest(remainder, bits, kernels, schedule);
  }
}

bool tessera::runtime::isOfWholeBytes(const PackedNest &nest) {
  return nest.mask == 0xFF && nest.packedBytes.empty();
}

void tessera::runtime::addPackedNest(const PackedNest &nest,
                                     const ElementBits &bits,
                                     const Kernels &kernels,
                                     Schedule &schedule) {
  if (isOfWholeBytes(nest)) {
    ElementNest elements = getBytes(nest.strided, 1, 1);
    return schedule.addElements(elements, /*elementBytes=*/1, kernels);
  }
  Move move = planPacked(nest, bits);
  StepBytes bytes(move);
  if (move.numBytes() < kLeastBytes || bytes.getMostSteps() == 0 ||
      takeColumns(move, kLeastColumns, kernels.table.vectorBytes)) {
    schedule.moves.push_back(std::move(move));
    return;
  }
  BlockSteps steps(move.loops, bytes.getMostSteps());
  llvm::SmallVector<Loop, 6> inner, outer;
  for (auto [loop, count] : llvm::zip_equal(move.loops, steps.counts)) {
    if (count > 1)
      inner.push_back({count, loop.src, loop.dst});
    if (int64_t blocks = loop.count / count; blocks > 1)
      outer.push_back({blocks, loop.src * count, loop.dst * count});
  }
  move.loops = outer;
  move.block = makeBlock(move, bytes, inner, kernels.table);
  schedule.moves.push_back(std::move(move));
  addRemainders(nest, steps.counts, bits, kernels, schedule);
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

void RowMoves::run(const char *from, char *to) const {
  for (const Place &place : places)
    for (const Task &task : schedule.tasks)
      task.run(from + place.src, to + place.dst);
}

static void moveBlock(const PackedBlock &block, const char *src, char *dst) {
  constexpr int64_t kMost = PackedBlock::kBufferBytes;
  alignas(kLineBytes) char sources[kMost], outputs[kMost];
  block.reads.run(src, sources);
  block.keeps.run(dst, sources);
  block.packs.run(sources, outputs);
  block.writes.run(block.packs.places.empty() ? sources : outputs, dst);
}

static void moveBlocks(const PackedBlock &block, llvm::ArrayRef<Loop> loops,
                       const char *src, char *dst) {
  if (loops.empty())
    return moveBlock(block, src, dst);
  const Loop &loop = loops.front();
  for (int64_t i = 0; i < loop.count; ++i)
    moveBlocks(block, loops.drop_front(), src + i * loop.src,
               dst + i * loop.dst);
}

void tessera::runtime::movePackedBlocks(const Job &job, const char *src,
                                        char *dst) {
  moveBlocks(*job.block, llvm::ArrayRef(job.loops, job.numLoops), src, dst);
}
