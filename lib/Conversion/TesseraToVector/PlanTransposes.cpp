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
Draft NestPlanner::planTranspose(Draft draft, const Chain &rows,
                                 const Chain &columns) const {
  int64_t line = RelayoutTarget::kLineBytes, wide = line;
  int64_t high = rowRuns(
      draft, std::min(4 * target.vectorBytes, kMaxRows * draft.runBytes()));
  draft.takeBlock(rows, high, high + high / 4, Role::DstContiguous);
  int64_t conflicts = draft.countConflicts();
  if (target.vectorBytes == line && draft.runBytes() >= 4 &&
      target.costs.cachedLoadBytes == line)
    wide = conflicts > kMaxWays ? 2 * line
                                : std::clamp(kStageBytes / draft.blockRows(),
                                             2 * line, kMaxWide);
  wide = columnRuns(draft, wide / line * line);
  draft.takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
  TransposeKernel transpose;
  if (target.vectorBytes == line && draft.runBytes() == 1 &&
      conflicts > kMaxCachedWays)
    transpose.rows = TransposeKernel::Rows::Gathered;
  draft.kernel = transpose;
  orderLoops(draft, false);
  return draft;
}

static bool hasConflicts(int64_t pitch) { return pitch % kConflictBytes == 0; }

/// Bytes that a block writes straight from registers.
int64_t NestPlanner::getDirectRun(const Draft &draft) const {
  int64_t least = target.costs.directRunBytes;
  return std::clamp(least / 4 * draft.runBytes(), least, 2 * least);
}

bool NestPlanner::isNear(const Draft &draft, int64_t stride) const {
  int64_t pitch = stride * bytes;
  return draft.runBytes() <= target.costs.panelRunBytes &&
         (stride <= kTileRuns * draft.runElements ||
          (pitch < kConflictBytes && pitch % kRunBytes != 0));
}

/// Bytes that a block writes to each column. Columns that conflict in the cache
/// suffer most from short runs: if rows do not conflict, the run is as long as
/// stays in the cache. One line suffices where narrow columns lie in one tile,
/// since the next block writes to the same place; rows of one tile likewise are
/// read together.
int64_t NestPlanner::getDirectRun(const Draft &draft, const Chain &rows,
                                  const Chain &columns) const {
  if (isNear(draft, columns.front().dstStride))
    return RelayoutTarget::kLineBytes;
  if (isNear(draft, rows.front().srcStride) && draft.runBytes() == 1)
    return kGatheredBytes;
  int64_t pitch = rows.front().srcStride * bytes;
  int64_t columnPitch = columns.front().dstStride * bytes;
  bool isWithinTiles = std::max(pitch, columnPitch) <= kConflictBytes;
  bool areRowsPagesApart = pitch % RelayoutTarget::kPageBytes == 0;
  // Such rows are read slowly with every block size. Where columns lie pages
  // apart as well, three lines to each are best, for 4 bytes if they are far.
  if (areRowsPagesApart && columnPitch % RelayoutTarget::kPageBytes == 0 &&
      (draft.runBytes() == 8 ||
       (draft.runBytes() == 4 && std::max(pitch, columnPitch) > kFarBytes)))
    return kConflictRunBytes;
  if (draft.runBytes() != 4 || areRowsPagesApart || isWithinTiles ||
      !hasConflicts(columnPitch))
    return getDirectRun(draft);
  return pitch < RelayoutTarget::kPageBytes && !hasConflicts(pitch)
             ? kRunBytes
             : kConflictRunBytes;
}

/// Rows of whole lines, where those that a block of `wanted` takes of inner
/// loops end within one: as many times all of those.
int64_t NestPlanner::getWholeLines(const Draft &draft, const Chain &rows,
                                   int64_t wanted) const {
  int64_t runs = 1;
  for (const PlanLoop &loop : rows) {
    if (runs * loop.count > wanted + wanted / 4)
      break;
    runs *= loop.count;
  }
  int64_t line = RelayoutTarget::kLineBytes;
  int64_t times = line / std::gcd(runs * draft.runBytes(), line);
  return runs * times * draft.runBytes() <= kGatheredBytes ? runs * times
                                                           : wanted;
}

/// A block that takes `high` rows, if it writes whole lines.
NestPlanner::Trial NestPlanner::planDirectBlock(Draft draft, const Chain &rows,
                                                const Chain &columns,
                                                int64_t high) const {
  int64_t wide = columnRuns(draft, RelayoutTarget::kLineBytes);
  draft.takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
  draft.takeBlock(rows, high, high + high / 4, Role::DstContiguous);
  if (!isWholeLines(draft, draft.blockRows() * draft.runElements,
                    draft.columns))
    return std::nullopt;
  TransposeKernel transpose;
  transpose.stores = StoreKind::Nontemporal;
  if (draft.runBytes() < target.costs.gatheredBytes &&
      draft.countConflicts() > kMaxWays)
    transpose.rows = TransposeKernel::Rows::Gathered;
  draft.kernel = transpose;
  return draft;
}

/// Beyond the cache, registers as wide as a line write whole lines themselves,
/// and blocks follow the source; or the destination where narrow rows lie in
/// one tile of the source, and columns do not.
NestPlanner::Trial
NestPlanner::planDirectTranspose(const Draft &draft, const Chain &rows,
                                 const Chain &columns) const {
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.value_or(false))
    return refuse("direct transpose", "registers are no lines");
  auto planBlock = [&](int64_t high) {
    return planDirectBlock(draft, rows, columns, high);
  };
  bool isFromTile = isNear(draft, rows.front().srcStride);
  bool isToTile = isNear(draft, columns.front().dstStride);
  int64_t wanted = rowRuns(draft, getDirectRun(draft, rows, columns));
  Trial block = planBlock(wanted);
  if (!block)
    block = planBlock(getWholeLines(draft, rows, wanted));
  bool isMultiple = block && block->blockRows() > wanted + wanted / 4;
  auto isGathered = [&] {
    return block->get<TransposeKernel>()->rows ==
           TransposeKernel::Rows::Gathered;
  };
  if (block && isGathered() && draft.runBytes() == 1 && !isToTile &&
      !isMultiple && target.costs.cachedLoadBytes == RelayoutTarget::kLineBytes)
    block = planBlock(rowRuns(draft, kGatheredBytes));
  // Rows that stay where they are have to be few enough to stay in the cache.
  if (block && !isGathered() && !isFromTile && !isMultiple &&
      block->blockRows() > kMaxRows)
    block = planBlock(rowRuns(draft, kMaxRows * draft.runBytes()));
  if (!block)
    return refuse("direct transpose",
                  "blocks of " + llvm::Twine(wanted) +
                      " rows are not known to be whole lines");
  take("direct transpose", "blocks of " + llvm::Twine(block->blockRows()) +
                               " rows are whole lines");
  orderLoops(*block, !isFromTile || isToTile);
  return block;
}

/// Bytes of a column that a panel of rows of so many bytes writes: as many as
/// a row has, within bounds. Wide panels take the fewer rows.
int64_t NestPlanner::getPanelRun(const Draft &draft, int64_t rowBytes) const {
  // Threads write to as many more positions at a time.
  if (draft.runBytes() > target.costs.panelRunBytes)
    return getDirectRun(draft) * (target.threads > 1 ? 2 : 1);
  int64_t run = std::clamp(rowBytes, kDirectRunBytes, kGatheredBytes);
  bool isWide = rowBytes > kPanelBytes / (run / draft.runBytes());
  return isWide ? std::min(run, kRunBytes) : run;
}

/// Whether panels are worth a buffer: where rows are short, or where lines of
/// narrow elements, which are read in several loads, push one another out of
/// the cache. Bytes are written a line at a time otherwise, which suffers from
/// such pitches too, and carried at half the rate of two-byte elements.
bool NestPlanner::mayPackPanels(const Draft &draft, const PlanLoop &row,
                                const Chain &columns, StoreKind stores) const {
  int64_t width = countSteps(columns) * draft.runBytes();
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged || target.tuning.columnBytes ||
      !draft.isDensePanel(row, columns) ||
      row.count * draft.runBytes() < kRunBytes ||
      (stores == StoreKind::Staged && columns.size() > 1))
    return false;
  if (width <= target.costs.panelRowBytes)
    return true;
  if (draft.runBytes() > target.costs.panelRunBytes ||
      isNear(draft, columns.front().dstStride))
    return false;
  if (hasConflicts(row.srcStride * bytes))
    return true;
  bool isRagged = stores == StoreKind::Staged;
  int64_t columnPitch = columns.front().dstStride * bytes;
  if (draft.runBytes() > 1)
    return isRagged ? width <= kMaxWide
                    : columnPitch % RelayoutTarget::kPageBytes == 0;
  return isRagged || width > kLongRowBytes || hasConflicts(columnPitch);
}

/// Whether the innermost loops are those of panels, if there are several, and
/// of columns, if there are more than a block has.
static bool hasPanelsInside(const Draft &draft) {
  llvm::ArrayRef<PlanLoop> loops = draft.loops;
  for (Role role : {Role::SrcContiguous, Role::DstContiguous})
    if (!loops.empty() && loops.back().role == role)
      loops = loops.drop_back();
  return llvm::all_of(
      loops, [](const PlanLoop &loop) { return loop.role == Role::Outer; });
}

/// Beyond the cache, rows that lie one behind another in the source. Memory is
/// read fastest from end to end, at twice the rate of lines a page apart: a
/// panel of rows is copied into a buffer first. Columns are written from there
/// in long runs, through a small buffer where they do not begin at lines.
NestPlanner::Trial NestPlanner::planPanelTranspose(Draft draft,
                                                   const Chain &rows,
                                                   const Chain &columns,
                                                   StoreKind stores) const {
  const PlanLoop &row = rows.front();
  bool isRagged = stores == StoreKind::Staged;
  llvm::StringRef name = isRagged ? "ragged panels" : "panels";
  if (!mayPackPanels(draft, row, columns, stores))
    return refuse(
        name, "rows of " + llvm::Twine(countSteps(columns) * draft.runBytes()) +
                  " bytes, " + llvm::Twine(row.srcStride * bytes) +
                  " bytes apart, are not worth a buffer");
  int64_t line = RelayoutTarget::kLineBytes, wide = columnRuns(draft, line);
  int64_t run = draft.runBytes(), width = countSteps(columns) * run;
  int64_t wanted = rowRuns(draft, getPanelRun(draft, width));
  int64_t high = llvm::alignTo(wanted * run, line) / run;
  if (isRagged && row.count < kMinRaggedPanels * high)
    return refuse(name, "there are less than five");
  draft.takeBlock(row, high, high + high / 4, Role::DstContiguous);
  draft.takeBlock(columns, wide, wide, Role::SrcContiguous);
  draft.orderLoops(/*bySource=*/true);
  bool isWhole =
      isWholeLines(draft, draft.blockRows() * draft.runElements, draft.columns);
  if (!hasPanelsInside(draft) || draft.panelColumns() != countSteps(columns) ||
      draft.blockColumns() != std::min(wide, draft.panelColumns()) ||
      (!isRagged && !isWhole))
    return refuse(name, "no whole lines, or loops between rows and columns");
  take(name, "rows are read from end to end into a buffer");
  TransposeKernel transpose;
  transpose.stores = stores;
  transpose.rows = TransposeKernel::Rows::Panel;
  transpose.prefetch = target.tuning.prefetch.value_or(
      llvm::divideCeil(kPanelFetchBytes, row.srcStride * bytes));
  draft.kernel = transpose;
  int64_t parts = llvm::divideCeil(draft.blockRows() * width, 2 * kPanelBytes);
  if (size_t last = draft.loops.size() - 1; parts > 1)
    splitLoop(draft, last, parts, std::min(last, draft.findPanels()));
  return draft;
}

/// Where all rows fit in a block and columns go on behind them, a block is one
/// run of the destination. It reads a line of each row, so that reading and
/// writing take turns in short steps (0.7 against 1.3 of memcpy for four), or
/// as many as make a run.
NestPlanner::Trial NestPlanner::planDenseTranspose(Draft draft,
                                                   const Chain &rows,
                                                   const Chain &columns) const {
  int64_t allRows = countSteps(rows);
  int64_t line = columnRuns(draft, RelayoutTarget::kLineBytes);
  const PlanLoop &column = columns.front();
  if (allRows > 2 * rowRuns(draft, kRunBytes) || column.count < line ||
      column.dstStride != allRows * draft.runElements)
    return refuse("dense transpose",
                  llvm::Twine(allRows) +
                      " rows are no run of a block, with columns behind them");
  take("dense transpose",
       "a block of all " + llvm::Twine(allRows) + " rows is one run");
  int64_t lines =
      llvm::divideCeil(kRaggedRunBytes, line * allRows * draft.runBytes());
  draft.takeBlock(rows, allRows, allRows, Role::DstContiguous);
  draft.takeBlock(column, lines * line, lines * line, Role::SrcContiguous);
  draft.kernel = TransposeKernel{StoreKind::Staged};
  return draft;
}

/// Keeps `count` steps of `loop` and leaves the others, which are few, to nests
/// with less code. Columns fill loads, a few of them twice.
void NestPlanner::leaveRemainder(Draft &draft, PlanLoop &loop,
                                 int64_t count) const {
  StridedNest others = draft.strided;
  int64_t remainder = loop.count - count;
  if (loop.role == Role::SrcContiguous)
    remainder = std::min<int64_t>(
        llvm::alignTo(remainder,
                      std::max(kLaneBytes / draft.runBytes(), int64_t(1))),
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
  find(draft.strided)->count = count;
  loop.count = count;
  NestPlanner planner(others, bytes, target, isLarge);
  planner.mayCarry = false;
  llvm::append_range(draft.remainders, planner.plan());
}

/// Splits loop `depth` into at least `fewest` parts of the same number of
/// blocks, two at least, with a loop over parts outside of loop `outside`.
void NestPlanner::splitLoop(Draft &draft, size_t depth, int64_t fewest,
                            size_t outside) const {
  PlanLoop &loop = draft.loops[depth];
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
    leaveRemainder(draft, loop, parts * width);
  loop.count = width;
  PlanLoop outer = {parts, width * loop.srcStride, width * loop.dstStride};
  draft.loops.insert(draft.loops.begin() + outside, outer);
}

/// Orders loops so that few lines wait for the next panel, in the end those of
/// the loop of columns. False where there is none inside of the panels.
bool NestPlanner::orderCarried(Draft &draft) const {
  orderLoops(draft, true);
  size_t panels = draft.findPanels();
  for (; draft.countCarried(panels) > kCarryBytes; ++panels) {
    if (panels + 1 == draft.loops.size() ||
        draft.loops[panels + 1].role != Role::Outer)
      break;
    std::swap(draft.loops[panels], draft.loops[panels + 1]);
  }
  return draft.countCarried(panels) <= kCarryBytes ||
         (draft.loops[panels + 1].role == Role::SrcContiguous &&
          draft.countCarried(panels + 1) <= kCarryBytes);
}

/// Splits columns so that lines that wait stay in the second-level cache, and
/// panels so that there is something to share among threads.
void NestPlanner::splitCarried(Draft &draft) const {
  size_t panels = draft.findPanels();
  if (draft.countCarried(panels) > kCarryBytes) {
    int64_t most = kCarryBytes / draft.countCarried(panels + 1);
    int64_t blocks = draft.loops[panels + 1].numBlocks();
    splitLoop(draft, panels + 1, llvm::divideCeil(blocks, most), panels);
  }
  int64_t shares = kPartsPerThread * target.threads;
  auto isEnough = [&](const PlanLoop &loop) { return loop.count >= shares; };
  panels = draft.findPanels();
  if (target.threads > 1 &&
      draft.numElements() * bytes >= target.parallelBytes &&
      llvm::none_of(llvm::ArrayRef(draft.loops).take_front(panels), isEnough))
    splitLoop(draft, panels, shares, 0);
}

/// Beyond the cache, columns that begin anywhere in a line, but all at the same
/// place of one as those of the blocks before: lines are made of what the panel
/// above has left and what this one brings.
NestPlanner::Trial
NestPlanner::planCarriedTranspose(Draft draft, const Chain &rows,
                                  const Chain &columns) const {
  if (target.vectorBytes != RelayoutTarget::kLineBytes || !mayCarry ||
      !knowsLines(draft) || target.tuning.isStaged.has_value())
    return refuse("carried transpose",
                  "registers are no lines, or lines are not known");
  int64_t line = RelayoutTarget::kLineBytes, wide = columnRuns(draft, line);
  // One register of narrow elements; two would need a loop.
  int64_t high =
      rowRuns(draft, draft.runBytes() < 4 ? line : getDirectRun(draft));
  draft.takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
  draft.takeBlock(rows, high, high, Role::DstContiguous);
  bool hasPanels = false, isSteady = true;
  for (const PlanLoop &loop : draft.loops) {
    isSteady &= (draft.shiftsRows && loop.role == Role::Outer) ||
                loop.dstStride * loop.step * bytes % line == 0;
    hasPanels |=
        loop.role == Role::DstContiguous && loop.count >= 2 * loop.step;
  }
  if (!hasPanels || !isSteady)
    return refuse("carried transpose",
                  "columns of blocks begin at other positions of lines, or "
                  "there is one panel");
  if (!orderCarried(draft))
    return refuse("carried transpose", "more lines wait than the cache keeps");
  take("carried transpose", "what a panel leaves of lines waits for the next");
  draft.kernel = TransposeKernel{StoreKind::Carried};
  splitCarried(draft);
  for (PlanLoop &loop : draft.loops)
    if (loop.role == Role::SrcContiguous && loop.count % loop.step != 0)
      leaveRemainder(draft, loop, loop.count - loop.count % loop.step);
  return draft;
}

/// Beyond the cache, runs that begin anywhere in a line and are written by
/// registers as wide as a line: what a panel of rows leaves of its last lines
/// is still in the cache when the next panel comes, so that stores go through
/// it.
NestPlanner::Trial
NestPlanner::planRaggedTranspose(Draft draft, const Chain &rows,
                                 const Chain &columns) const {
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.value_or(false))
    return refuse("transpose in panels of lines", "registers are no lines");
  int64_t wide = columnRuns(draft, RelayoutTarget::kLineBytes);
  int64_t high =
      rowRuns(draft, std::min(kDirectRunBytes, kMaxRows * draft.runBytes()));
  draft.takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
  draft.takeBlock(rows, high, high + high / 4, Role::DstContiguous);
  draft.kernel = TransposeKernel();
  orderLoops(draft, true);
  return draft;
}

/// Plans transposes that are larger than the cache and cannot write whole lines
/// from registers: a block is transposed in a small buffer and written in runs
/// of several lines.
Draft NestPlanner::planStagedTranspose(const Draft &draft, const Chain &rows,
                                       const Chain &columns) const {
  int64_t wide = columnRuns(draft, RelayoutTarget::kLineBytes);
  Draft block = draft;
  for (int64_t run : {kRunBytes, kRaggedRunBytes}) {
    block = draft;
    int64_t high = rowRuns(draft, run);
    block.takeBlock(columns, wide, wide + wide / 4, Role::SrcContiguous);
    block.takeBlock(rows, high, 2 * high, Role::DstContiguous);
    if (isWholeLines(block, block.blockRows() * block.runElements,
                     block.columns))
      break;
  }
  block.kernel = TransposeKernel{StoreKind::Staged};
  return block;
}

/// Plans transposes whose destination, or each batch of it, need not begin at a
/// line. Rows are taken from the first one that begins a line, so that lines
/// are known from there on. The rows of one line at either end are moved apart,
/// and some of them are written twice.
NestPlanner::Trial
NestPlanner::planShiftedTranspose(Draft draft, const PlanLoop &row) const {
  int64_t size = RelayoutTarget::kLineBytes / draft.runBytes();
  bool isWhole = draft.dstOffset % draft.runElements == 0;
  for (const PlanLoop &loop : draft.loops)
    isWhole &= loop.dstStride % draft.runElements == 0;
  if (draft.shiftsRows || !isWhole || row.dstStride != draft.runElements ||
      row.count < kMinShiftedLines * size)
    return refuse("shifted rows", "rows are shifted already, are no run, or "
                                  "have less than 32 lines");
  auto split = [&](auto &loops, int64_t count) {
    llvm::find_if(loops, [&](const PlanLoop &loop) {
      return isSameLoop(loop, row);
    })->count = count;
  };
  int64_t count = row.count - size;
  StridedNest ends = draft.strided;
  split(draft.strided.loops, count);
  split(draft.loops, count);
  draft.shiftsRows = true;
  auto [rows, columns] = draft.findRowsAndColumns();
  size_t numTrials = trials.size();
  Draft shifted = planNontemporalTranspose(draft, rows, columns);
  // Runs that begin anywhere in a line do so with and without.
  StoreKind stores = shifted.stores();
  if (stores == StoreKind::Plain ||
      (stores == StoreKind::Staged && !shifted.isOnLines(bytes))) {
    trials.resize(numTrials);
    return refuse("shifted rows", "runs begin anywhere in a line all the same");
  }
  trials.insert(
      trials.begin() + static_cast<ptrdiff_t>(numTrials),
      {"shifted rows", true, "from the first one that begins a line"});
  split(ends.loops, size);
  ends.loops.push_back({2, count * row.srcStride, count * row.dstStride});
  ends.loops.back().isEnds = true;
  NestPlanner planner(ends, bytes, target, isLarge);
  planner.mayUseNontemporal = false;
  llvm::append_range(shifted.remainders, planner.plan());
  return shifted;
}

/// Whether registers write lines, which each batch may have elsewhere.
bool NestPlanner::mayShiftBatches() const {
  return target.vectorBytes == RelayoutTarget::kLineBytes && mayCarry &&
         !target.tuning.isStaged;
}

Draft NestPlanner::planNontemporalTranspose(const Draft &draft,
                                            const Chain &rows,
                                            const Chain &columns) const {
  if (!target.isLineAligned)
    if (Trial shifted = planShiftedTranspose(draft, rows.front()))
      return *shifted;
  if (Trial panels =
          planPanelTranspose(draft, rows, columns, StoreKind::Nontemporal))
    return *panels;
  int64_t ahead = kPrefetchBlocks;
  Trial done = planDirectTranspose(draft, rows, columns);
  if (!done) {
    done = planDenseTranspose(draft, rows, columns);
    if (done) {
      orderLoops(*done, true);
      ahead = kLongPrefetchBlocks;
    }
  }
  if (!done) {
    if (Trial panels =
            planPanelTranspose(draft, rows, columns, StoreKind::Staged))
      return *panels;
    done = planCarriedTranspose(draft, rows, columns);
    if (done)
      ahead = kLongPrefetchBlocks;
  }
  if (!done) {
    if (mayShiftBatches())
      if (Trial shifted = planShiftedTranspose(draft, rows.front()))
        return *shifted;
    done = planRaggedTranspose(draft, rows, columns);
    if (done)
      take("transpose in panels of lines", "stores go through the cache");
  }
  if (!done) {
    take("staged transpose", "blocks are written from a buffer");
    done = planStagedTranspose(draft, rows, columns);
    orderLoops(*done, true);
  }
  planPrefetch(*done, ahead);
  return *done;
}
