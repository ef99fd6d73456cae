//===- CostModel.cpp - What a schedule costs ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/CostModel.h"

#include "InterleaveGroups.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <utility>

using namespace tessera;
using Role = PlanLoop::Role;

static constexpr int64_t kLine = RelayoutTarget::kLineBytes;
static constexpr int64_t kPage = RelayoutTarget::kPageBytes;
/// The shortest load of a row.
static constexpr int64_t kLoad = 16;
/// Rows that are prefetched side by side without help, and where registers are
/// shorter than a line the most beyond them that count: of more none is.
static constexpr int64_t kFreeStreams = 16, kMostStreams = 48;
/// Jumps that a line past the caches costs which is evicted before all of it is
/// written.
static constexpr int64_t kEvictedJumps = 8;
/// The most runs of which lines are counted. So many fill the sets that they
/// fall into, as far as these have room.
static constexpr int64_t kMostBetween = 512;
/// What a line that is fetched for each of its runs costs, in jumps.
static constexpr int64_t kPartCost = 4;
/// Lines beyond those of a set of which all are evicted.
static constexpr int64_t kFewLines = 4;
/// Such blocks up to this size stay in the first-level cache beside the buffer.
static constexpr int64_t kStagedBlock = 16 << 10;
/// What others cost in copies through a buffer that stays there.
static constexpr int64_t kSpilledBuffers = 4;
/// Rows that a processor follows at once where no instruction prefetches them.
static constexpr int64_t kMostFollowed = 48;
/// Rows of which a block may take several lines each for nothing.
static constexpr int64_t kFewRows = 8;
/// Rows and columns of a block of which lines may share a set for nothing.
static constexpr int64_t kFreeRows = 6, kFreeColumns = 2;
/// Panels of fewer bytes stay in the first-level cache, and those of more do
/// not.
static constexpr int64_t kSmallPanel = 4 << 10, kLargePanel = 32 << 10;
/// Shuffles of the code of blocks that have no loops.
static constexpr int64_t kBlockShuffles = 1280;
/// Registers, of which a deinterleave needs two for each column; others are
/// stored and loaded again.
static constexpr int64_t kRegisters = 32;
/// Runs whose ragged ends count once.
static constexpr int64_t kRaggedBytes = 1 << 10;
/// How often they count in dense blocks, of which each waits for the line that
/// it shares with the one before.
static constexpr int64_t kDenseEnds = 3;
/// Instructions of a shuffle across lanes of registers shorter than a line,
/// where memory does not hide them.
static constexpr int64_t kNarrowShuffles = 2;
/// What one of two arrays has of a third-level cache, more or less.
static constexpr int64_t kThirdLevelBytes = 24 << 20;
/// The number of lines by which caches and memory are interleaved; blocks that
/// write to so many of them are as fast as those that write to all.
static constexpr int64_t kChannels = 8, kFreeChannels = 4;
/// Bytes of a row that a block in the cache reads in vain where rows conflict.
static constexpr int64_t kConflictBytes = 128;

/// The most of the lines that share a set of the first-level cache, of runs of
/// so many bytes at `offsets`, of elements.
static int64_t countInOneSet(llvm::ArrayRef<int64_t> offsets,
                             int64_t elementBytes, int64_t runBytes = 1) {
  std::array<int64_t, kPage / kLine> sets = {};
  // Lines that several runs begin in count once, if they are close.
  std::array<uint64_t, 4 * kPage / kLine> last;
  last.fill(UINT64_MAX);
  for (uint64_t begin : offsets) {
    uint64_t line = begin * elementBytes / kLine;
    if (std::exchange(last[line % last.size()], line) == line)
      continue;
    uint64_t end = (begin * elementBytes + runBytes - 1) / kLine;
    for (; line <= end; ++line)
      ++sets[line % sets.size()];
  }
  return *llvm::max_element(sets);
}

int64_t tessera::countConflicts(const NestSchedule &nest, int64_t elementBytes,
                                Role role) {
  std::array<int64_t, kPage / kLine> sets = {};
  bool inSource = role == Role::DstContiguous;
  for (uint64_t begin : nest.getOffsets(role, inSource))
    ++sets[begin * elementBytes % kPage / kLine];
  return *llvm::max_element(sets);
}

/// Bytes from one block of a loop to the next, or as many as fit.
static int64_t getStepBytes(const PlanLoop &loop, bool inSource,
                            int64_t elementBytes) {
  uint64_t step =
      llvm::SaturatingMultiply<uint64_t>(loop.getStride(inSource), loop.step);
  return std::min<uint64_t>(
      llvm::SaturatingMultiply<uint64_t>(step, elementBytes), INT64_MAX);
}

/// Adds what lies at `offsets` for all blocks of a loop, or some of many.
static void addBlocks(llvm::SmallVectorImpl<int64_t> &offsets,
                      const PlanLoop &loop, bool inSource) {
  int64_t most = kMostBetween / offsets.size();
  if (int64_t count = std::min(loop.numBlocks(), most); count > 1)
    addSteps(offsets, loop.step * loop.getStride(inSource), count);
}

/// The loops of a nest between one block and the next one that goes on in a
/// line of it on one side, or right behind its `runBytes`; the innermost one
/// where none does, as its blocks are in flight at once.
static llvm::ArrayRef<PlanLoop> getLoopsBetween(const NestSchedule &nest,
                                                int64_t elementBytes,
                                                bool inSource,
                                                int64_t runBytes) {
  llvm::ArrayRef<PlanLoop> loops = nest.loops;
  const PlanLoop *outer = llvm::find_if(loops, [&](const PlanLoop &loop) {
    return getStepBytes(loop, inSource, elementBytes) <=
           std::max(runBytes, kLine - 1);
  });
  return outer == loops.end() ? loops.take_back(1)
                              : loops.drop_front(outer - loops.begin() + 1);
}

/// The most lines in one set of the first-level cache that a nest touches on
/// one side in these loops, if a block has runs of so many bytes at `offsets`.
static int64_t countBetween(const NestSchedule &nest, int64_t elementBytes,
                            bool inSource,
                            llvm::SmallVector<int64_t, 64> offsets,
                            int64_t runBytes) {
  auto between = getLoopsBetween(nest, elementBytes, inSource, runBytes);
  for (const PlanLoop &loop : llvm::reverse(between))
    addBlocks(offsets, loop, inSource);
  return countInOneSet(offsets, elementBytes, std::min(runBytes, kPage));
}

/// The part of `cost` that is due to lines of which `conflicts` share a set of
/// the first-level cache: those that it has no room for.
static int64_t getMissing(const ProcessorCosts &costs, int64_t conflicts,
                          int64_t cost) {
  int64_t gone = std::max<int64_t>(conflicts - costs.firstLevelWays, 0);
  return cost * gone / std::max<int64_t>(conflicts, 1);
}

//===----------------------------------------------------------------------===//
// Transposes
//===----------------------------------------------------------------------===//

namespace {
/// Prices one schedule of a transpose.
class Pricer {
public:
  Pricer(const NestSchedule &nest, int64_t bytes, const RelayoutTarget &target)
      : nest(nest), transpose(*nest.get<TransposeKernel>()), bytes(bytes),
        target(target), costs(target.costs), runBytes(nest.runElements * bytes),
        rows(std::max<int64_t>(nest.blockRows(), 1)),
        columns(std::max<int64_t>(nest.blockColumns(), 1)),
        rowOffsets(nest.getOffsets(Role::DstContiguous, /*inSource=*/true)),
        columnOffsets(nest.getOffsets(Role::SrcContiguous, /*inSource=*/false)),
        words(isGathered() ? 1
                           : countWords(rowOffsets, columns, nest.runElements)),
        high(getMeanRows() * runBytes), wide(columns * runBytes * words),
        rowConflicts(words > 1
                         ? countInOneSet(rowOffsets, bytes)
                         : countConflicts(nest, bytes, Role::DstContiguous)),
        columnConflicts(countConflicts(nest, bytes, Role::SrcContiguous)) {}

  PlanCost priceLarge() const;
  PlanCost priceCached() const;

private:
  int64_t priceJumps() const;
  int64_t priceStreams() const;
  int64_t priceConflicts() const;
  /// The most lines in one set that blocks write before one goes on in a page
  /// of the first.
  int64_t countOpenLines() const;
  int64_t priceChannels() const;
  int64_t priceBuffers() const;
  /// What a load has of a row in the mean.
  int64_t getLoadBytes() const;
  int64_t priceShuffles() const;
  int64_t priceCache() const;
  int64_t priceCachedRows() const;
  /// Shuffles of the code of blocks, those at the ends of loops included.
  int64_t countBlockShuffles() const;

  /// Rows of a block, of which the last one of a loop has what is left.
  int64_t getMeanRows() const {
    const PlanLoop *loop = findLoop(Role::DstContiguous);
    if (!loop || loop->count == 0)
      return rows;
    return std::max<int64_t>(
        rows / loop->step * (loop->count / loop->numBlocks()), 1);
  }
  /// Bytes between neighbouring rows in the source, or columns in the
  /// destination; a page where it is more.
  int64_t getPitch(Role role) const;
  /// The loop that continues the rows, or columns, of a block.
  const PlanLoop *findLoop(Role role) const {
    const auto *it = llvm::find_if(
        nest.loops, [&](const PlanLoop &loop) { return loop.role == role; });
    return it == nest.loops.end() ? nullptr : it;
  }
  bool followsColumns() const {
    return !nest.loops.empty() &&
           nest.loops.back().role == Role::DstContiguous && !isPanel();
  }
  bool isPanel() const { return nest.packsPanels(); }
  /// What a processor has to prefetch side by side for the rows of a block: of
  /// those of tiles, which lie in few pages, the pages. Blocks that go through
  /// a buffer gain nothing by that.
  int64_t countStreams() const;
  /// Bytes of a row, of all columns; many where it is more than a page.
  int64_t getRowBytes() const {
    return std::min(nest.panelColumns(), kPage) * runBytes;
  }
  /// Whether rows of less than a page lie one behind another.
  bool isDenseRows() const {
    int64_t pitch = getPitch(Role::DstContiguous), width = getRowBytes();
    return pitch < kPage && pitch <= width + width / 8;
  }
  bool isGathered() const {
    return transpose.rows == TransposeKernel::Rows::Gathered;
  }
  /// Whether columns of a block go on behind one another.
  bool hasDenseColumns() const {
    return getPitch(Role::SrcContiguous) == std::min(high, kPage);
  }
  /// Whether a block is one run of the destination.
  bool isDense() const {
    return transpose.stores == StoreKind::Staged && hasDenseColumns();
  }
  /// Loads in which the columns of narrow elements take a line of a row.
  int64_t countLoads() const {
    return runBytes >= 4 ? 1 : runBytes == 2 ? 2 : 4;
  }

  const NestSchedule &nest;
  const TransposeKernel &transpose;
  int64_t bytes;
  const RelayoutTarget &target;
  const ProcessorCosts &costs;
  /// Bytes of a run; runs of a block.
  int64_t runBytes, rows, columns;
  /// Where the rows of a block begin in the source, and its columns in the
  /// destination; in elements.
  llvm::SmallVector<int64_t, 64> rowOffsets, columnOffsets;
  /// Words side by side in a row; bytes that a block writes to a column, and
  /// reads from a row.
  int64_t words, high, wide;
  int64_t rowConflicts, columnConflicts;
};
} // namespace

int64_t Pricer::getPitch(Role role) const {
  bool isRow = role == Role::DstContiguous;
  const auto &inner = isRow ? nest.rows : nest.columns;
  const PlanLoop *loop = inner.empty() ? findLoop(role) : &inner.front();
  if (!loop)
    return 0;
  int64_t stride = isRow ? loop->srcStride : loop->dstStride;
  return std::min(stride, kPage / bytes) * bytes;
}

/// Runs that are written to columns, which the next block continues in other
/// columns where loops follow the source: each jumps to a page of its own,
/// unless neighbours share one. Where loops follow the destination, rows are
/// read so, which is worse, as nothing prefetches them. Panels are packed row
/// by row; whole rows that lie one behind another are read in order.
int64_t Pricer::priceJumps() const {
  int64_t row = getRowBytes();
  bool isInOrder = !isPanel() && wide == row && isDenseRows();
  bool isPacked = isPanel() && transpose.stores != StoreKind::Staged;
  int64_t visitPs = isInOrder ? 0 : isPacked ? costs.packPs : costs.visitPs;
  int64_t visit = visitPs * kLine / (isPanel() ? row : wide);
  if (followsColumns()) {
    int64_t pitch = getPitch(Role::DstContiguous);
    return visit +
           (costs.skipPs + 2 * costs.jumpPs * pitch / kPage) * kLine / wide;
  }
  int64_t pitch = getPitch(Role::SrcContiguous);
  int64_t run = isDense() ? high * columns : high;
  return visit +
         costs.jumpPs * (5 * kPage + 3 * pitch) / (8 * kPage) * kLine / run;
}

int64_t Pricer::countStreams() const {
  if (nest.rows.empty() || transpose.stores == StoreKind::Staged)
    return rows;
  llvm::SmallDenseSet<int64_t, 64> pages;
  for (int64_t begin : nest.getOffsets(Role::DstContiguous, /*inSource=*/true))
    pages.insert(begin * bytes / kPage);
  return pages.size();
}

/// Rows beyond those that are prefetched, and lines of each beyond the first.
/// Lines that wait take room besides; short rows that lie one behind another
/// are half as bad, and the rows of a page are none where blocks go on in them.
/// Of dense blocks of whole rows, which are one run of the source, pages count.
/// Blocks with ragged ends are so much slower that rows do not matter.
int64_t Pricer::priceStreams() const {
  bool isStaged = transpose.stores == StoreKind::Staged && !isDense();
  if (isPanel() || (isStaged && !nest.isOnLines(bytes)))
    return 0;
  int64_t pitch = getPitch(Role::DstContiguous);
  int64_t streams =
      followsColumns() && pitch < kPage ? columns : countStreams();
  if (isDense() && isDenseRows() && wide == getRowBytes())
    streams = llvm::divideCeil(rows * pitch, kPage);
  streams = std::max<int64_t>(streams - kFreeStreams, 0);
  if (target.vectorBytes < kLine)
    streams = std::min(streams, kMostStreams);
  int64_t halves = transpose.stores == StoreKind::Carried ? 4
                   : isDenseRows()                        ? 1
                                                          : 2;
  int64_t lines = rows > kFewRows ? std::max<int64_t>(wide - kLine, 0) : 0;
  bool isLost =
      !followsColumns() && !transpose.prefetch && rows > kMostFollowed;
  bool waits = !transpose.prefetch && !isGathered();
  return costs.widePs * lines / kLine + costs.streamPs * streams * halves / 2 +
         (isLost ? costs.skipPs : 0) +
         (waits ? costs.latencyPs * std::max<int64_t>(countLoads() - 2, 0) : 0);
}

/// Lines of rows that are gone before the next of several loads takes its part,
/// and short runs to columns that share a set. Panels are read in order, and
/// write one column after another.
int64_t Pricer::priceConflicts() const {
  if (isPanel())
    return 0;
  int64_t gone = std::max<int64_t>(rowConflicts - kFreeRows, 0);
  int64_t reloads = isGathered() ? 0
                                 : costs.reloadPs * gone *
                                       (2 * countLoads() - 1) / (2 * rows);
  int64_t shared = std::max<int64_t>(columnConflicts - kFreeColumns, 0);
  bool isPlain = transpose.stores == StoreKind::Plain;
  // Where lines are not known, buffers instead would cost another version of
  // the code, without nontemporal stores.
  int64_t evicted = 0;
  if (isPlain && target.isLineAligned)
    evicted = getMissing(costs, countOpenLines(),
                         kEvictedJumps * costs.jumpPs * kLine / high);
  return evicted + reloads +
         costs.columnConflictPs * shared / columns *
             getPitch(Role::SrcContiguous) / kPage * (isPlain ? 3 : 1) * kLine /
             std::max(high, kLine);
}

int64_t Pricer::countOpenLines() const {
  auto offsets = columnOffsets;
  for (const PlanLoop &loop : llvm::reverse(nest.loops)) {
    if (getStepBytes(loop, /*inSource=*/false, bytes) < kPage)
      break;
    addBlocks(offsets, loop, /*inSource=*/false);
  }
  return countInOneSet(offsets, bytes);
}

/// Columns of which a block writes lines in few of the places of 512 bytes.
/// With loops by destination, the next block writes in others; panels are
/// packed in between.
int64_t Pricer::priceChannels() const {
  if (followsColumns() || isPanel() || transpose.stores == StoreKind::Plain)
    return 0;
  std::array<bool, kChannels> taken = {};
  for (uint64_t begin : nest.getOffsets(Role::SrcContiguous, false))
    for (int64_t i = 0; i < std::min(high, kChannels * kLine); i += kLine)
      taken[(begin * bytes + i) / kLine % kChannels] = true;
  int64_t count = llvm::count(taken, true);
  return costs.channelPs * std::max<int64_t>(kFreeChannels - count, 0) / count;
}

int64_t Pricer::priceBuffers() const {
  bool isStaged = transpose.stores == StoreKind::Staged;
  int64_t cost = isStaged || isGathered() ? costs.bufferPs : 0;
  bool isInBuffer = isStaged && !isDense() && !isPanel();
  int64_t run = isDense() ? high * columns : high;
  if (isStaged && !isPanel() && !nest.isOnLines(bytes))
    cost += (isDense() ? kDenseEnds : 1) * costs.raggedPs * kRaggedBytes / run;
  if (isInBuffer && rows * wide > kStagedBlock)
    cost += kSpilledBuffers * costs.bufferPs;
  if (transpose.stores == StoreKind::Carried)
    cost += costs.carryPs * countLoads();
  if (!isPanel())
    return cost;
  int64_t width = std::min(nest.panelColumns() * runBytes, kLargePanel);
  int64_t beyond = std::min(rows * width, kLargePanel) - kSmallPanel;
  int64_t panel = costs.panelPs * std::max<int64_t>(beyond, 0) /
                  (kLargePanel - kSmallPanel);
  // Memory hides some of what ragged columns cost, a third-level cache nothing.
  bool isNear = isStaged && nest.numElements() <= kThirdLevelBytes / bytes;
  return cost + (isNear ? panel + panel / 2 : panel);
}

int64_t Pricer::getLoadBytes() const {
  auto countLoads = [](int64_t size) {
    return static_cast<int64_t>(llvm::divideCeil(size, kLoad));
  };
  const PlanLoop *loop = findLoop(Role::SrcContiguous);
  int64_t count = loop ? loop->count : 1, step = loop ? loop->step : 1;
  int64_t size = wide / step;
  int64_t loads =
      count / step * countLoads(wide) + countLoads(count % step * size);
  return std::max(count * size / std::max<int64_t>(loads, 1), runBytes);
}

/// Rounds of shuffles that make columns of rows. Columns are stored by
/// registers of a power of two.
int64_t Pricer::priceShuffles() const {
  int64_t column = std::clamp<int64_t>(llvm::PowerOf2Ceil(high), runBytes,
                                       target.vectorBytes);
  if (words > 1)
    return costs.shufflePs * llvm::Log2_64(columns) * kLine / column;
  return costs.shufflePs * llvm::Log2_64(column / runBytes) * kLine / column *
         kLoad / getLoadBytes();
}

/// Stores through the cache read lines of the destination first, as those of
/// columns do that carried blocks leave, and they are short.
int64_t Pricer::priceCache() const {
  if (transpose.stores == StoreKind::Plain)
    return costs.allocatePs;
  const PlanLoop *column = findLoop(Role::SrcContiguous);
  if (transpose.stores != StoreKind::Carried || !column || !column->count)
    return 0;
  int64_t left = std::min<int64_t>(column->count % column->step, kPage);
  return 2 * costs.allocatePs * left / std::min(column->count, kPage);
}

PlanCost Pricer::priceLarge() const {
  return {priceJumps(),   priceStreams(),  priceConflicts() + priceChannels(),
          priceBuffers(), priceShuffles(), priceCache()};
}

/// In the cache: short runs, lines of rows that are read in parts, those that
/// are gone before they are read or written again, and code that is too long to
/// be without loops.
PlanCost Pricer::priceCached() const {
  PlanCost cost;
  // Whole lines one behind another are one run, others are stored in part.
  bool isDense = hasDenseColumns() && high % kLine == 0;
  int64_t visit =
      costs.cachedVisitPs + (followsColumns() ? costs.cachedSkipPs : 0);
  cost.jumps = costs.cachedRunPs * kLine / (isDense ? high * columns : high) +
               visit * kLine / wide;
  int64_t lines = countInOneSet(columnOffsets, bytes, std::min(high, kPage));
  cost.conflicts =
      getMissing(costs, lines, costs.cachedColumnPs) + priceCachedRows();
  if (!isDense)
    cost.conflicts += getMissing(
        costs,
        countBetween(nest, bytes, /*inSource=*/false, columnOffsets, high),
        costs.cachedColumnPs * kLine / high);
  cost.shuffles = priceShuffles();
  cost.buffers = isGathered() ? costs.cachedGatherPs : 0;
  cost.cache = costs.cachedConflictPs *
               std::clamp<int64_t>(countBlockShuffles() - kBlockShuffles, 0,
                                   kBlockShuffles) /
               kBlockShuffles;
  return cost;
}

int64_t Pricer::countBlockShuffles() const {
  // Registers or columns of full blocks, and of what is left behind them.
  auto count = [&](Role role, int64_t runs, int64_t size) {
    const PlanLoop *loop = findLoop(role);
    int64_t left = loop ? runs / loop->step * (loop->count % loop->step) : 0;
    return static_cast<int64_t>(llvm::divideCeil(runs, size) +
                                llvm::divideCeil(left, size));
  };
  int64_t size = target.vectorBytes / runBytes;
  return count(Role::DstContiguous, rows, size) *
         count(Role::SrcContiguous, columns, 1) * llvm::Log2_64(size);
}

/// Rows of which lines share a set, with those of the blocks in between. A
/// block that takes less than a line of each finds them gone the next time, one
/// that takes more has them evict each other. So do the rows of one register
/// between the loads of a line, unless they are gathered.
int64_t Pricer::priceCachedRows() const {
  int64_t again = std::max<int64_t>(kLine / wide - 1, 0);
  int64_t beyond = std::max<int64_t>(wide / kConflictBytes - 1, 0);
  int64_t cost = 0;
  if (again > 0)
    cost = getMissing(
        costs, countBetween(nest, bytes, /*inSource=*/true, rowOffsets, wide),
        costs.cachedConflictPs * again);
  if (beyond > 0 && countInOneSet(rowOffsets, bytes) > costs.firstLevelWays)
    cost += costs.cachedConflictPs * beyond;
  if (isGathered())
    return cost;
  auto registerRows =
      llvm::ArrayRef(rowOffsets).take_front(target.vectorBytes / runBytes);
  return cost + getMissing(costs, countInOneSet(registerRows, bytes),
                           2 * costs.cachedConflictPs * (countLoads() - 1));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// Runs from one step of the longer side of an interleave to the next.
static int64_t getPitch(const NestSchedule &nest, bool isInterleave,
                        int64_t least) {
  Role role = isInterleave ? Role::SrcContiguous : Role::DstContiguous;
  auto offsets = nest.getOffsets(role, /*inSource=*/!isInterleave);
  return offsets.size() > 1 ? (offsets[1] - offsets[0]) / nest.runElements
                            : least;
}

/// Shuffles, rows that are visited by turns, or columns that are jumped to.
static PlanCost priceInterleave(const NestSchedule &nest, int64_t elementBytes,
                                const RelayoutTarget &target, bool isLarge) {
  const ProcessorCosts &costs = target.costs;
  int64_t runBytes = nest.runElements * elementBytes;
  bool isInterleave = nest.is<InterleaveKernel>();
  int64_t rows = std::max<int64_t>(nest.blockRows(), 1);
  int64_t columns = std::max<int64_t>(nest.blockColumns(), 1);
  int64_t few = isInterleave ? rows : columns;
  int64_t width = (isInterleave ? columns : rows) * runBytes;
  int64_t size = target.vectorBytes / runBytes;
  auto groups =
      InterleaveGroups::choose(few, getPitch(nest, isInterleave, few), size,
                               /*lane=*/size, isInterleave);
  int64_t steps = !isLarge && target.vectorBytes < kLine ? kNarrowShuffles : 1;
  int64_t spilled =
      isInterleave ? 0 : std::max<int64_t>(2 * few - kRegisters, 0);
  int64_t shuffles = steps * groups.countShuffles(isInterleave) + 2 * spilled;
  PlanCost cost;
  cost.shuffles =
      costs.shufflePs * shuffles * kLine / (few * target.vectorBytes);
  if (!isLarge) {
    int64_t jump = isInterleave ? costs.cachedVisitPs : costs.cachedRunPs;
    cost.jumps = jump * kLine / width;
    if (!isInterleave)
      cost.conflicts = getMissing(
          costs, countConflicts(nest, elementBytes, Role::SrcContiguous),
          costs.cachedColumnPs);
    return cost;
  }
  cost.jumps = (isInterleave ? costs.visitPs : costs.jumpPs) * kLine / width;
  cost.streams = costs.streamPs * std::max<int64_t>(few - kFreeStreams, 0);
  if (nest.stores() == StoreKind::Plain)
    cost.cache = costs.allocatePs;
  return cost;
}

/// One side of a copy through the caches. Few runs side by side are prefetched;
/// of more, each is a jump to another page, or to a line that another run
/// shares. Lines that are evicted before the next run of them are fetched once
/// for each, and those of a destination before all of it is there, which costs
/// a third of what it does where columns are short. Of a few lines more than a
/// set has, each evicts the one that is needed next.
static int64_t pricePlainSide(const NestSchedule &nest, int64_t elementBytes,
                              int64_t runBytes, bool inSource,
                              const ProcessorCosts &costs) {
  auto between = getLoopsBetween(nest, elementBytes, inSource, runBytes);
  int64_t streams = 1;
  for (const PlanLoop &loop : between)
    streams = std::min(streams * std::min(loop.count, kPage), kPage);
  int64_t perRun = costs.cachedRunPs * kLine / runBytes;
  bool isPart = runBytes % kLine != 0;
  int64_t jump = 0;
  if (!between.empty()) {
    int64_t pitch = getStepBytes(between.back(), inSource, elementBytes);
    jump = perRun * std::min(pitch, kPage) / kPage + (isPart ? perRun / 2 : 0);
  }
  int64_t lines = countBetween(nest, elementBytes, inSource, {0}, runBytes);
  int64_t evicted = (isPart ? kPartCost * perRun : 0) +
                    (inSource ? 0 : costs.cachedColumnPs / 3);
  auto scale = [](int64_t cost, int64_t count, int64_t most) {
    return cost * std::clamp<int64_t>(count, 0, most) / most;
  };
  return scale(jump, streams - kFreeStreams, kMostStreams) +
         scale(evicted, lines - costs.firstLevelWays, kFewLines);
}

/// Ends of runs that begin anywhere in a line are made of two runs, or written
/// in part. Gathering takes a load and a store for each run.
static PlanCost priceCopy(const NestSchedule &nest, int64_t elementBytes,
                          const ProcessorCosts &costs, bool isLarge) {
  PlanCost cost;
  int64_t runBytes = std::max<int64_t>(nest.runElements * elementBytes, 1);
  int64_t block = runBytes * std::max<int64_t>(nest.blockRows(), 1);
  if (nest.is<GatherKernel>())
    cost.shuffles = costs.shufflePs * kLine / runBytes;
  switch (nest.stores()) {
  case StoreKind::Plain:
    cost.cache = isLarge ? costs.allocatePs : 0;
    for (bool inSource : {true, false})
      cost.jumps +=
          pricePlainSide(nest, elementBytes, runBytes, inSource, costs);
    break;
  case StoreKind::Nontemporal:
    break;
  case StoreKind::Carried:
    cost.buffers = costs.seamPs * kLine / runBytes;
    break;
  case StoreKind::Staged:
    cost.buffers = block > runBytes ? costs.bufferPs : 0;
    if (!nest.isOnLines(elementBytes))
      cost.buffers += costs.raggedPs * kRaggedBytes / block;
    break;
  }
  return cost;
}

PlanCost tessera::getPlanCost(const NestSchedule &nest, int64_t elementBytes,
                              const RelayoutTarget &target, bool isLarge) {
  if (nest.is<InterleaveKernel>() || nest.is<DeinterleaveKernel>())
    return priceInterleave(nest, elementBytes, target, isLarge);
  if (!nest.is<TransposeKernel>())
    return priceCopy(nest, elementBytes, target.costs, isLarge);
  Pricer pricer(nest, elementBytes, target);
  return isLarge ? pricer.priceLarge() : pricer.priceCached();
}
