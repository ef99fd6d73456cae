//===- PlanTransposes.cpp - Blocks of transposes --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace tessera;

/// Rows of a block from which lines are taken in several loads.
static constexpr int64_t kMaxRows = 64;
/// Bytes that a block writes in one go where it takes 64 of each row, and few
/// rows are in the cache at once.
static constexpr int64_t kGatheredBytes = 512;
/// What a packed panel of rows takes: a part of the third-level cache
/// where it has to; and how far it is prefetched.
static constexpr int64_t kPanelBytes = 4 << 20;
static constexpr int64_t kPanelFetchBytes = 16 << 10;
/// With fewer ragged panels, the first and the last one cost more than packing
/// gains.
static constexpr int64_t kMinRaggedPanels = 5;
/// Multiples of this as pitches put lines into a few sets of a cache.
static constexpr int64_t kConflictBytes = 512;
/// Longer rows are read slowly in any case.
static constexpr int64_t kLongRowBytes = 6 << 10;
/// Runs of a row of a tile.
static constexpr int64_t kTileRuns = 128;
/// What a block writes in one go where such columns conflict: three lines.
static constexpr int64_t kConflictRunBytes = 192;
/// Pitches of whole pages beyond which that helps where rows conflict too.
static constexpr int64_t kFarBytes = 16 << 10;
/// Lines of columns that wait for the next panel of rows: they have to stay in
/// the second-level cache.
static constexpr int64_t kCarryBytes = 256 << 10;
/// Parts of a loop over rows for each thread, with lines of their own.
static constexpr int64_t kPartsPerThread = 4;
/// Numbers of parts among which the best is looked for.
static constexpr int64_t kMaxParts = 4096;
/// Lines of a run of rows that are worth leaving one at either end.
static constexpr int64_t kMinShiftedLines = 32;
/// Bytes of a row that a block in the cache reads at most.
static constexpr int64_t kMaxWide = 1024;
/// Blocks from a prefetch of rows to their use where blocks are dense runs, or
/// hand on what is left of lines: they take longer to write.
static constexpr int64_t kLongPrefetchBlocks = 6;
/// Beyond this many rows in one set, a line is gone before the second of
/// several loads takes its part.
static constexpr int64_t kMaxWays = 6;
/// The same in cache, for bytes: a line is read in four loads.
static constexpr int64_t kMaxCachedWays = 8;

/// In cache: a block writes runs of four registers, which is what one piece of
/// code without loops writes, and blocks follow the destination. It reads a
/// line of each row, gathered where bytes push one another out of the first
/// level. Where one load takes a line it reads more: many loads that
/// each move on by the same distance are what processors prefetch best, as
/// long as rows do not push one another out of the cache.
void NestPlanner::planTranspose(const Chain &rows, const Chain &columns) {
  nest.kernel = KernelKind::Transpose;
  int64_t line = RelayoutTarget::kLineBytes, wide = line;
  int64_t high =
      rowRuns(std::min(4 * target.vectorBytes, kMaxRows * runBytes()));
  takeBlock(rows, high, high + high / 4, Role::DstContiguous);
  if (target.vectorBytes == line && runBytes() >= 4 &&
      target.costs.cachedLoadBytes == line)
    wide = countConflicts() > kMaxWays
               ? 2 * line
               : std::clamp(kStageBytes / nest.blockRows(), 2 * line, kMaxWide);
  wide = columnRuns(wide / line * line);
  takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
  nest.gathersRows = target.vectorBytes == line && runBytes() == 1 &&
                     countConflicts() > kMaxCachedWays;
  orderLoops(target.tuning.bySource.value_or(false));
}

static bool hasConflicts(int64_t pitch) { return pitch % kConflictBytes == 0; }

/// Bytes that a block writes straight from registers.
int64_t NestPlanner::getDirectRun() const {
  int64_t least = target.costs.directRunBytes;
  return std::clamp(least / 4 * runBytes(), least, 2 * least);
}

bool NestPlanner::isNear(int64_t stride) const {
  int64_t pitch = stride * bytes;
  return runBytes() <= target.costs.panelRunBytes &&
         (stride <= kTileRuns * nest.runElements ||
          (pitch < kConflictBytes && pitch % kRunBytes != 0));
}

/// Bytes that a block writes to each column. Columns that conflict in the cache
/// suffer most from short runs: if rows do not conflict, the run is as long as
/// stays in the cache. One line suffices where narrow columns lie in one tile,
/// since the next block writes to the same place; rows of one tile likewise are
/// read together.
int64_t NestPlanner::getDirectRun(const Chain &rows,
                                  const Chain &columns) const {
  if (isNear(columns.front().dstStride))
    return RelayoutTarget::kLineBytes;
  if (isNear(rows.front().srcStride) && runBytes() == 1)
    return kGatheredBytes;
  int64_t pitch = rows.front().srcStride * bytes;
  int64_t columnPitch = columns.front().dstStride * bytes;
  bool isWithinTiles = std::max(pitch, columnPitch) <= kConflictBytes;
  bool areRowsPagesApart = pitch % RelayoutTarget::kPageBytes == 0;
  // Such rows are read slowly with every block size. Where columns lie pages
  // apart as well, three lines to each are best, for 4 bytes if they are far.
  if (areRowsPagesApart && columnPitch % RelayoutTarget::kPageBytes == 0 &&
      (runBytes() == 8 ||
       (runBytes() == 4 && std::max(pitch, columnPitch) > kFarBytes)))
    return kConflictRunBytes;
  if (runBytes() != 4 || areRowsPagesApart || isWithinTiles ||
      !hasConflicts(columnPitch))
    return getDirectRun();
  return pitch < RelayoutTarget::kPageBytes && !hasConflicts(pitch)
             ? kRunBytes
             : kConflictRunBytes;
}

/// Rows of whole lines, where those that a block of `wanted` takes of inner
/// loops end within one: as many times all of those.
int64_t NestPlanner::getWholeLines(const Chain &rows, int64_t wanted) const {
  int64_t runs = 1;
  for (const PlanLoop &loop : rows) {
    if (runs * loop.count > wanted + wanted / 4)
      break;
    runs *= loop.count;
  }
  int64_t line = RelayoutTarget::kLineBytes;
  int64_t times = line / std::gcd(runs * runBytes(), line);
  return runs * times * runBytes() <= kGatheredBytes ? runs * times : wanted;
}

/// Beyond the cache, registers as wide as a line write whole lines themselves,
/// and blocks follow the source; or the destination where narrow rows lie in
/// one tile of the source, and columns do not.
bool NestPlanner::planDirectTranspose(const Chain &rows, const Chain &columns) {
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.value_or(false))
    return false;
  int64_t wide = columnRuns(RelayoutTarget::kLineBytes);
  const PlanNest untouched = nest;
  auto takeBlocks = [&](int64_t high) {
    nest = untouched;
    takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
    takeBlock(rows, high, high + high / 4, Role::DstContiguous);
    nest.gathersRows =
        runBytes() < target.costs.gatheredBytes && countConflicts() > kMaxWays;
    return isWholeLines(nest.blockRows() * nest.runElements, nest.columns);
  };
  bool isFromTile = isNear(rows.front().srcStride);
  bool isToTile = isNear(columns.front().dstStride);
  int64_t wanted = rowRuns(getDirectRun(rows, columns));
  bool isDirect = takeBlocks(wanted) || takeBlocks(getWholeLines(rows, wanted));
  bool isMultiple = isDirect && nest.blockRows() > wanted + wanted / 4;
  if (isDirect && nest.gathersRows && runBytes() == 1 && !isToTile &&
      !isMultiple && target.costs.cachedLoadBytes == RelayoutTarget::kLineBytes)
    isDirect = takeBlocks(rowRuns(kGatheredBytes));
  // Rows that stay where they are have to be few enough to stay in the cache.
  if (isDirect && !nest.gathersRows && !isFromTile && !isMultiple &&
      nest.blockRows() > kMaxRows)
    isDirect = takeBlocks(rowRuns(kMaxRows * runBytes()));
  if (!isDirect) {
    nest = untouched;
    return false;
  }
  nest.stores = StoreKind::Nontemporal;
  orderLoops(target.tuning.bySource.value_or(!isFromTile || isToTile));
  return true;
}

/// Whether rows of all columns lie one behind another, but for small gaps.
bool NestPlanner::isDensePanel(const PlanLoop &row,
                               const Chain &columns) const {
  int64_t width = countSteps(columns) * nest.runElements;
  int64_t gap = row.srcStride - width;
  return gap >= 0 && gap <= width / kMaxGap;
}

/// Bytes of a column that a panel of rows of so many bytes writes: as many as
/// a row has, within bounds. Wide panels take the fewer rows.
int64_t NestPlanner::getPanelRun(int64_t rowBytes) const {
  // Threads write to as many more positions at a time.
  if (runBytes() > target.costs.panelRunBytes)
    return getDirectRun() * (target.threads > 1 ? 2 : 1);
  int64_t run = std::clamp(rowBytes, kDirectRunBytes, kGatheredBytes);
  bool isWide = rowBytes > kPanelBytes / (run / runBytes());
  return isWide ? std::min(run, kRunBytes) : run;
}

/// Whether panels are worth a buffer: where rows are short, or where lines of
/// narrow elements, which are read in several loads, push one another out of
/// the cache. Bytes are written a line at a time otherwise, which suffers from
/// such pitches too, and carried at half the rate of two-byte elements.
bool NestPlanner::mayPackPanels(const PlanLoop &row, const Chain &columns,
                                StoreKind stores) const {
  int64_t width = countSteps(columns) * runBytes();
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged || target.tuning.columnBytes ||
      !isDensePanel(row, columns) || row.count * runBytes() < kRunBytes ||
      (stores == StoreKind::Staged && columns.size() > 1))
    return false;
  if (width <= target.costs.panelRowBytes)
    return true;
  if (runBytes() > target.costs.panelRunBytes ||
      isNear(columns.front().dstStride))
    return false;
  if (hasConflicts(row.srcStride * bytes))
    return true;
  bool isRagged = stores == StoreKind::Staged;
  int64_t columnPitch = columns.front().dstStride * bytes;
  if (runBytes() > 1)
    return isRagged ? width <= kMaxWide
                    : columnPitch % RelayoutTarget::kPageBytes == 0;
  return isRagged || width > kLongRowBytes || hasConflicts(columnPitch);
}

/// Beyond the cache, rows that lie one behind another in the source. Memory is
/// read fastest from end to end, at twice the rate of lines a page apart: a
/// panel of rows is copied into a buffer first. Columns are written from there
/// in long runs, through a small buffer where they do not begin at lines.
bool NestPlanner::planPanelTranspose(const Chain &rows, const Chain &columns,
                                     StoreKind stores) {
  const PlanLoop &row = rows.front();
  if (!mayPackPanels(row, columns, stores))
    return false;
  const PlanNest untouched = nest;
  int64_t line = RelayoutTarget::kLineBytes, wide = columnRuns(line);
  int64_t width = countSteps(columns) * runBytes();
  int64_t high = llvm::alignTo(rowRuns(getPanelRun(width)) * runBytes(), line) /
                 runBytes();
  if (stores == StoreKind::Staged && row.count < kMinRaggedPanels * high)
    return false;
  takeBlock(row, high, high + high / 4, Role::DstContiguous);
  takeBlock(columns, wide, wide, Role::SrcContiguous);
  orderLoops(/*bySource=*/true);
  bool isWhole =
      isWholeLines(nest.blockRows() * nest.runElements, nest.columns);
  if (!hasPanelsInside() || nest.panelColumns() != countSteps(columns) ||
      nest.blockColumns() != std::min(wide, nest.panelColumns()) ||
      (stores == StoreKind::Nontemporal && !isWhole)) {
    nest = untouched;
    return false;
  }
  nest.stores = stores;
  nest.packsPanels = true;
  nest.prefetch = target.tuning.prefetch.value_or(
      llvm::divideCeil(kPanelFetchBytes, row.srcStride * bytes));
  int64_t parts = llvm::divideCeil(nest.blockRows() * width, 2 * kPanelBytes);
  if (size_t last = nest.loops.size() - 1; parts > 1)
    splitLoop(last, parts, std::min(last, findPanels()));
  return true;
}

/// Whether the innermost loops are those of panels, if there are several, and
/// of columns, if there are more than a block has.
bool NestPlanner::hasPanelsInside() const {
  llvm::ArrayRef<PlanLoop> loops = nest.loops;
  for (Role role : {Role::SrcContiguous, Role::DstContiguous})
    if (!loops.empty() && loops.back().role == role)
      loops = loops.drop_back();
  return llvm::all_of(
      loops, [](const PlanLoop &loop) { return loop.role == Role::Outer; });
}

/// Where all rows fit in a block and columns go on behind them, a block is one
/// run of the destination. It reads a line of each row, so that reading and
/// writing take turns in short steps (0.7 against 1.3 of memcpy for four), or
/// as many as make a run.
bool NestPlanner::planDenseTranspose(const Chain &rows, const Chain &columns) {
  int64_t allRows = countSteps(rows);
  int64_t line = columnRuns(RelayoutTarget::kLineBytes);
  const PlanLoop &column = columns.front();
  if (allRows > 2 * rowRuns(kRunBytes) || column.count < line ||
      column.dstStride != allRows * nest.runElements)
    return false;
  int64_t lines =
      llvm::divideCeil(kRaggedRunBytes, line * allRows * runBytes());
  takeBlock(rows, allRows, allRows, Role::DstContiguous);
  takeBlock(column, lines * line, lines * line, Role::SrcContiguous);
  nest.stores = StoreKind::Staged;
  nest.isOnLines = isWholeLines(nest.numBlockElements(), {}, /*isDense=*/true);
  return true;
}

/// Bytes of the lines that wait for the next iteration of loop `depth`.
int64_t NestPlanner::countCarried(size_t depth) const {
  int64_t size = nest.blockColumns() * RelayoutTarget::kLineBytes;
  for (size_t i = depth + 1; i < nest.loops.size(); ++i)
    size *= nest.loops[i].numBlocks();
  return size;
}

/// Keeps `count` steps of `loop` and leaves the others, which are few, to nests
/// with less code. Columns fill loads, a few of them twice.
void NestPlanner::leaveRemainder(PlanLoop &loop, int64_t count) {
  StridedNest others = strided;
  int64_t remainder = loop.count - count;
  if (loop.role == Role::SrcContiguous)
    remainder = std::min<int64_t>(
        llvm::alignTo(remainder, std::max(kLaneBytes / runBytes(), int64_t(1))),
        loop.count);
  auto find = [&](StridedNest &where) {
    return llvm::find_if(where.loops, [&](const PlanLoop &other) {
      return isSameLoop(loop, other);
    });
  };
  find(others)->count = remainder;
  llvm::erase_if(others.loops, [](const PlanLoop &l) { return l.count == 1; });
  others.srcOffset += (loop.count - remainder) * loop.srcStride;
  others.dstOffset += (loop.count - remainder) * loop.dstStride;
  find(strided)->count = count;
  loop.count = count;
  NestPlanner planner(others, bytes, target, isLarge);
  planner.mayCarry = false;
  remainders.push_back(planner.plan());
  llvm::append_range(remainders, planner.getRemainders());
}

/// Splits loop `depth` into at least `fewest` parts of the same number of
/// blocks, two at least, with a loop over parts outside of loop `outside`.
void NestPlanner::splitLoop(size_t depth, int64_t fewest, size_t outside) {
  PlanLoop &loop = nest.loops[depth];
  int64_t blocks = loop.count / loop.step;
  fewest = std::min<int64_t>(llvm::alignTo(fewest, target.threads), blocks / 2);
  if (fewest < 2)
    return;
  // As few blocks as possible are left, of numbers that are soon tried.
  int64_t parts = fewest, most = fewest + std::min(fewest, kMaxParts);
  for (int64_t more = fewest; more < most; more += target.threads)
    if (blocks % more < blocks % parts)
      parts = more;
  int64_t width = blocks / parts * loop.step;
  if (loop.count > parts * width)
    leaveRemainder(loop, parts * width);
  loop.count = width;
  PlanLoop outer = {parts, width * loop.srcStride, width * loop.dstStride};
  nest.loops.insert(nest.loops.begin() + outside, outer);
}

/// Orders loops so that few lines wait for the next panel, in the end those of
/// the loop of columns. False where there is none inside of the panels.
bool NestPlanner::orderCarried() {
  orderLoops(target.tuning.bySource.value_or(true));
  size_t panels = findPanels();
  for (; countCarried(panels) > kCarryBytes; ++panels) {
    if (panels + 1 == nest.loops.size() ||
        nest.loops[panels + 1].role != Role::Outer)
      break;
    std::swap(nest.loops[panels], nest.loops[panels + 1]);
  }
  return countCarried(panels) <= kCarryBytes ||
         (nest.loops[panels + 1].role == Role::SrcContiguous &&
          countCarried(panels + 1) <= kCarryBytes);
}

/// Splits columns so that lines that wait stay in the second-level cache, and
/// panels so that there is something to share among threads.
void NestPlanner::splitCarried() {
  size_t panels = findPanels();
  if (countCarried(panels) > kCarryBytes) {
    int64_t most = kCarryBytes / countCarried(panels + 1);
    int64_t blocks = nest.loops[panels + 1].numBlocks();
    splitLoop(panels + 1, llvm::divideCeil(blocks, most), panels);
  }
  int64_t shares = kPartsPerThread * target.threads;
  auto isEnough = [&](const PlanLoop &loop) { return loop.count >= shares; };
  panels = findPanels();
  if (target.threads > 1 &&
      nest.numElements() * bytes >= target.parallelBytes &&
      llvm::none_of(llvm::ArrayRef(nest.loops).take_front(panels), isEnough))
    splitLoop(panels, shares, 0);
}

size_t NestPlanner::findPanels() const {
  const PlanLoop *panels = llvm::find_if(nest.loops, [](const PlanLoop &loop) {
    return loop.role == Role::DstContiguous;
  });
  return panels - nest.loops.begin();
}

/// Beyond the cache, columns that begin anywhere in a line, but all at the same
/// place of one as those of the blocks before: lines are made of what the panel
/// above has left and what this one brings.
bool NestPlanner::planCarriedTranspose(const Chain &rows,
                                       const Chain &columns) {
  if (target.vectorBytes != RelayoutTarget::kLineBytes || !mayCarry ||
      !knowsLines() || target.tuning.isStaged.has_value())
    return false;
  int64_t line = RelayoutTarget::kLineBytes, wide = columnRuns(line);
  // One register of narrow elements; two would need a loop.
  int64_t high = rowRuns(runBytes() < 4 ? line : getDirectRun());
  const PlanNest untouched = nest;
  takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
  takeBlock(rows, high, high, Role::DstContiguous);
  bool hasPanels = false, isSteady = true;
  for (const PlanLoop &loop : nest.loops) {
    isSteady &= mayBeginAnywhere(loop) ||
                loop.dstStride * loop.step * bytes % line == 0;
    hasPanels |=
        loop.role == Role::DstContiguous && loop.count >= 2 * loop.step;
  }
  if (!hasPanels || !isSteady || !orderCarried()) {
    nest = untouched;
    return false;
  }
  nest.stores = StoreKind::Carried;
  splitCarried();
  for (PlanLoop &loop : nest.loops)
    if (loop.role == Role::SrcContiguous && loop.count % loop.step != 0)
      leaveRemainder(loop, loop.count - loop.count % loop.step);
  return true;
}

/// Beyond the cache, runs that begin anywhere in a line and are written by
/// registers as wide as a line: what a panel of rows leaves of its last lines
/// is still in the cache when the next panel comes, so that stores go through
/// it.
bool NestPlanner::planRaggedTranspose(const Chain &rows, const Chain &columns) {
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.value_or(false))
    return false;
  int64_t wide = columnRuns(RelayoutTarget::kLineBytes);
  int64_t high = rowRuns(std::min(kDirectRunBytes, kMaxRows * runBytes()));
  takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
  takeBlock(rows, high, high + high / 4, Role::DstContiguous);
  nest.kernel = KernelKind::Transpose;
  nest.stores = StoreKind::Plain;
  orderLoops(target.tuning.bySource.value_or(true));
  return true;
}

/// Plans transposes that are larger than the cache and cannot write whole lines
/// from registers: a block is transposed in a small buffer and written in runs
/// of several lines.
void NestPlanner::planStagedTranspose(const Chain &rows, const Chain &columns) {
  const PlanNest untouched = nest;
  int64_t wide = columnRuns(RelayoutTarget::kLineBytes);
  for (int64_t run : {kRunBytes, kRaggedRunBytes}) {
    nest = untouched;
    int64_t high = rowRuns(run);
    takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
    takeBlock(rows, high, 2 * high, Role::DstContiguous);
    nest.isOnLines =
        isWholeLines(nest.blockRows() * nest.runElements, nest.columns);
    if (nest.isOnLines)
      break;
  }
  nest.stores = StoreKind::Staged;
}

/// Plans transposes whose destination, or each batch of it, need not begin at a
/// line. Rows are taken from the first one that begins a line, so that lines
/// are known from there on. The rows of one line at either end are moved apart,
/// and some of them are written twice.
bool NestPlanner::planShiftedTranspose(const PlanLoop &row) {
  int64_t size = RelayoutTarget::kLineBytes / runBytes();
  bool isWhole = nest.dstOffset % nest.runElements == 0;
  for (const PlanLoop &loop : nest.loops)
    isWhole &= loop.dstStride % nest.runElements == 0;
  if (nest.shiftStride || !isWhole || row.dstStride != nest.runElements ||
      row.count < kMinShiftedLines * size)
    return false;
  auto split = [&](auto &loops, int64_t count) {
    llvm::find_if(loops, [&](const PlanLoop &loop) {
      return isSameLoop(loop, row);
    })->count = count;
  };
  int64_t count = row.count - size;
  const PlanNest untouched = nest;
  const StridedNest all = strided;
  split(strided.loops, count);
  split(nest.loops, count);
  nest.shiftStride = row.srcStride;
  auto [rows, columns] = findRowsAndColumns();
  planNontemporalTranspose(rows, columns);
  // Runs that begin anywhere in a line do so with and without.
  if (nest.stores == StoreKind::Plain ||
      (nest.stores == StoreKind::Staged && !nest.isOnLines)) {
    nest = untouched;
    strided = all;
    remainders.clear();
    return false;
  }
  StridedNest ends = all;
  split(ends.loops, size);
  ends.loops.push_back({2, count * row.srcStride, count * row.dstStride});
  ends.loops.back().isEnds = true;
  NestPlanner planner(ends, bytes, target, isLarge);
  planner.mayUseNontemporal = false;
  remainders.push_back(planner.plan());
  return true;
}

/// Whether registers write lines, which each batch may have elsewhere.
bool NestPlanner::mayShiftBatches() const {
  return target.vectorBytes == RelayoutTarget::kLineBytes && mayCarry &&
         !target.tuning.isStaged;
}

void NestPlanner::planNontemporalTranspose(const Chain &rows,
                                           const Chain &columns) {
  nest.kernel = KernelKind::Transpose;
  if (!target.isLineAligned && planShiftedTranspose(rows.front()))
    return;
  if (planPanelTranspose(rows, columns, StoreKind::Nontemporal))
    return;
  bool isDirect = planDirectTranspose(rows, columns);
  bool isDense = !isDirect && planDenseTranspose(rows, columns);
  bool isCarried = false;
  if (!isDirect && !isDense) {
    if (planPanelTranspose(rows, columns, StoreKind::Staged))
      return;
    isCarried = planCarriedTranspose(rows, columns);
    if (!isCarried && mayShiftBatches() && planShiftedTranspose(rows.front()))
      return;
    if (!isCarried && !planRaggedTranspose(rows, columns))
      planStagedTranspose(rows, columns);
  }
  if (!isDirect && !isCarried)
    orderLoops(target.tuning.bySource.value_or(true));
  planPrefetch(isDense || isCarried ? kLongPrefetchBlocks : kPrefetchBlocks);
}
