//===- PlanTransposes.cpp - Candidates of transposes ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kind of transposes makes a schedule of a choice, or nothing where there
// is none (Search.cpp).
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace tessera;

/// The most that rows of whole lines take where others end within one.
static constexpr int64_t kMaxWholeRows = 512;
/// What a block takes at most that is one run of the destination.
static constexpr int64_t kDenseBytes = 32 << 10;
/// What a packed panel of rows takes at most: a part of the third-level cache.
static constexpr int64_t kPanelBytes = 8 << 20;
/// With fewer ragged panels, the first and the last one cost more than packing
/// gains.
static constexpr int64_t kMinRaggedPanels = 5;
/// Lines of columns that wait for the next panel of rows: they have to stay in
/// the second-level cache.
static constexpr int64_t kCarryBytes = 256 << 10;
/// Bytes between columns of which eight and more share a page.
static constexpr int64_t kSharedPagePitch = RelayoutTarget::kPageBytes / 8;
/// Parts of a loop over rows for each thread, with lines of their own.
static constexpr int64_t kPartsPerThread = 4;
/// Numbers of parts among which the best is looked for.
static constexpr int64_t kMaxParts = 4096;
/// Lines of a run of rows that are worth leaving one at either end.
static constexpr int64_t kMinShiftedLines = 32;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

static int64_t countRuns(const Draft &draft, int64_t bytes) {
  return std::max<int64_t>(bytes / draft.runBytes(), 1);
}

/// A block of about so many bytes of each column and of each row.
static Draft takeBlock(const BlockedNest &nest, int64_t rowBytes,
                       int64_t columnBytes) {
  Draft draft = nest.draft;
  int64_t high = countRuns(draft, rowBytes);
  int64_t wide = countRuns(draft, columnBytes);
  draft.takeBlock(nest.columns, wide, wide + wide / 4, Role::SrcContiguous);
  draft.takeBlock(nest.rows, high, high + high / 4, Role::DstContiguous);
  return draft;
}

/// Stores go through the cache.
NestPlanner::Trial NestPlanner::planCached(const BlockedNest &nest,
                                           const PlanChoice &choice) const {
  Draft draft = takeBlock(nest, choice.rowBytes, choice.columnBytes);
  draft.kernel = TransposeKernel();
  return draft;
}

/// Rows of whole lines, where those that a block of so many bytes takes of
/// inner loops end within one: as many times all of those.
static int64_t getWholeLines(const BlockedNest &nest, int64_t bytes) {
  int64_t wanted = countRuns(nest.draft, bytes), runs = 1;
  for (const PlanLoop &loop : nest.rows) {
    if (runs * loop.count > wanted + wanted / 4)
      break;
    runs *= loop.count;
  }
  int64_t length = runs * nest.draft.runBytes();
  int64_t whole = std::lcm(length, RelayoutTarget::kLineBytes);
  return whole <= kMaxWholeRows ? whole : bytes;
}

/// Registers as wide as a line write whole lines that bypass the cache. Longer
/// parts of rows pay only for squares between tiles, of which a register has
/// eight rows or more, and whose columns share pages: elsewhere too many pages
/// are written at once.
NestPlanner::Trial NestPlanner::planDirect(const BlockedNest &nest,
                                           const PlanChoice &choice) const {
  bool isWide = choice.columnBytes > RelayoutTarget::kLineBytes;
  bool sharesPages = !nest.draft.within.empty() && nest.draft.runBytes() <= 8 &&
                     nest.columns.front().dstStride * bytes <= kSharedPagePitch;
  if (!hasLineRegisters() ||
      (isWide && !sharesPages && !target.tuning.columnBytes))
    return std::nullopt;
  for (int64_t high : {choice.rowBytes, getWholeLines(nest, choice.rowBytes)}) {
    Draft draft = takeBlock(nest, high, choice.columnBytes);
    draft.kernel = TransposeKernel{{StoreKind::Nontemporal}};
    if (isWholeLines(draft, draft.blockRows() * draft.runElements,
                     draft.columns))
      return draft;
  }
  return std::nullopt;
}

/// All rows are in a block, and columns go on behind them: a block is one run
/// of the destination, written from a buffer, if it is not short and begins
/// anywhere.
NestPlanner::Trial NestPlanner::planDense(const BlockedNest &nest,
                                          const PlanChoice &choice) const {
  Draft draft = nest.draft;
  int64_t allRows = countSteps(nest.rows);
  const PlanLoop &column = nest.columns.front();
  int64_t wide = std::min(countRuns(draft, choice.columnBytes), column.count);
  if (wide == 0 || allRows > countRuns(draft, kDenseBytes) / wide ||
      column.dstStride != allRows * draft.runElements)
    return std::nullopt;
  draft.takeBlock(nest.rows, allRows, allRows, Role::DstContiguous);
  draft.takeBlock(column, wide, wide, Role::SrcContiguous);
  if (!knowsLines(draft) &&
      draft.numBlockElements() * bytes < 4 * kRaggedRunBytes)
    return std::nullopt;
  draft.kernel = TransposeKernel{{StoreKind::Staged}};
  return draft;
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

/// Rows that lie one behind another in the source are copied into a buffer, as
/// memory is read fastest from end to end. Columns are written from there in
/// long runs, through a small buffer where they do not begin at lines
/// ("ragged").
NestPlanner::Trial NestPlanner::planPanels(const BlockedNest &nest,
                                           const PlanChoice &choice) const {
  Draft draft = nest.draft;
  const PlanLoop &row = nest.rows.front();
  bool isRagged = choice.kind == PlanKind::RaggedPanels;
  if (!hasLineRegisters() || !draft.isDensePanel(row, nest.columns) ||
      row.count * draft.runBytes() < kRunBytes ||
      (isRagged && nest.columns.size() > 1))
    return std::nullopt;
  if (choice.rowBytes < target.costs.panelRunBytes && !target.tuning.rowBytes)
    return std::nullopt;
  int64_t line = RelayoutTarget::kLineBytes, run = draft.runBytes();
  int64_t wide = countRuns(draft, line);
  int64_t high = llvm::alignTo(choice.rowBytes, line) / run;
  if (isRagged && row.count < kMinRaggedPanels * high)
    return std::nullopt;
  draft.takeBlock(row, high, high + high / 4, Role::DstContiguous);
  draft.takeBlock(nest.columns, wide, wide, Role::SrcContiguous);
  draft.orderLoops(/*bySource=*/true);
  bool isWhole =
      isWholeLines(draft, draft.blockRows() * draft.runElements, draft.columns);
  if (!hasPanelsInside(draft) ||
      draft.panelColumns() != countSteps(nest.columns) ||
      draft.blockColumns() != std::min(wide, draft.panelColumns()) ||
      isRagged == isWhole)
    return std::nullopt;
  TransposeKernel transpose;
  transpose.stores = isRagged ? StoreKind::Staged : StoreKind::Nontemporal;
  transpose.rows = TransposeKernel::Rows::Panel;
  transpose.prefetch = target.tuning.prefetch.value_or(
      llvm::divideCeil(target.costs.copyPrefetchBytes, row.srcStride * bytes));
  draft.kernel = transpose;
  return draft;
}

/// Columns begin anywhere in a line, but all at the same place of one as those
/// of the blocks before: lines are made of what the panel above has left and
/// what this one brings.
NestPlanner::Trial NestPlanner::planCarried(const BlockedNest &nest,
                                            const PlanChoice &choice) const {
  if (!hasLineRegisters() || !mayCarry || !knowsLines(nest.draft))
    return std::nullopt;
  Draft draft = takeBlock(nest, choice.rowBytes, choice.columnBytes);
  bool hasPanels = false, isSteady = true;
  for (const PlanLoop &loop : draft.loops) {
    isSteady &=
        (draft.shiftsRows && loop.role == Role::Outer) ||
        loop.dstStride * loop.step * bytes % RelayoutTarget::kLineBytes == 0;
    hasPanels |=
        loop.role == Role::DstContiguous && loop.count >= 2 * loop.step;
  }
  draft.kernel = TransposeKernel{{StoreKind::Carried}};
  if (!hasPanels || !isSteady || !orderCarried(draft))
    return std::nullopt;
  return draft;
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

/// Registers are shorter than lines: a block is transposed in a small buffer
/// and written in runs of several lines.
NestPlanner::Trial NestPlanner::planStaged(const BlockedNest &nest,
                                           const PlanChoice &choice) const {
  if (hasLineRegisters() && !target.tuning.kind)
    return std::nullopt;
  Draft draft = takeBlock(nest, choice.rowBytes, choice.columnBytes);
  draft.kernel = TransposeKernel{{StoreKind::Staged}};
  return draft;
}

/// Copies the rows of a block side by side first, of elements so narrow that a
/// line is taken in several loads. False where that cannot be done, as where
/// blocks are in a buffer already, or takes a copy for less than a load.
bool NestPlanner::gatherRows(Draft &draft) const {
  auto &transpose = std::get<TransposeKernel>(draft.kernel);
  bool isBuffered = transpose.rows != TransposeKernel::Rows::InSource ||
                    transpose.stores == StoreKind::Staged ||
                    transpose.stores == StoreKind::Carried;
  transpose.rows = TransposeKernel::Rows::Gathered;
  return !isBuffered && hasLineRegisters() && draft.runBytes() <= 2 &&
         draft.blockColumns() * draft.runBytes() >= kLaneBytes;
}

/// Prefetches rows where the cache has room for what is prefetched.
void NestPlanner::planPrefetch(Draft &draft, PlanKind kind) const {
  auto &transpose = std::get<TransposeKernel>(draft.kernel);
  bool isStaged = transpose.stores == StoreKind::Staged;
  int64_t conflicts = countConflicts(draft, bytes, Role::DstContiguous);
  if (!isStaged && conflicts > target.costs.prefetchConflicts)
    return;
  transpose.prefetch = getPrefetchBlocks(
      draft, kind == PlanKind::Dense ? kDensePrefetchLines : kPrefetchLines);
  transpose.prefetchesToL2 = transpose.prefetch &&
                             transpose.stores == StoreKind::Nontemporal &&
                             conflicts > target.costs.firstLevelConflicts;
}

//===----------------------------------------------------------------------===//
// What is left to others
//===----------------------------------------------------------------------===//

/// The destination, or each batch of it, need not begin at a line: rows are
/// taken from the first one that does, so that lines are known from there on.
/// The rows of one line at either end are left, and some of them are written
/// twice.
NestPlanner::Trial NestPlanner::shiftRows(Draft draft,
                                          const PlanLoop &row) const {
  int64_t size = RelayoutTarget::kLineBytes / draft.runBytes();
  bool isWhole = draft.dstOffset % draft.runElements == 0;
  for (const PlanLoop &loop : draft.loops)
    isWhole &= loop.dstStride % draft.runElements == 0;
  if (!mayCarry || !isWhole || row.dstStride != draft.runElements ||
      row.count < kMinShiftedLines * size)
    return std::nullopt;
  int64_t count = row.count - size;
  StridedNest ends = draft.strided;
  findSame(ends.loops, row)->count = size;
  ends.loops.push_back({2, count * row.srcStride, count * row.dstStride});
  ends.loops.back().isEnds = true;
  draft.leftovers.push_back(std::move(ends));
  findSame(draft.strided.loops, row)->count = count;
  findSame(draft.loops, row)->count = count;
  draft.shiftsRows = true;
  return draft;
}

/// Keeps `count` steps of `loop` and leaves the others, which are few, to nests
/// with less code. Columns fill loads, a few of them twice.
static void leaveRemainder(Draft &draft, PlanLoop &loop, int64_t count) {
  StridedNest others = draft.strided;
  int64_t remainder = loop.count - count;
  if (loop.role == Role::SrcContiguous)
    remainder = std::min<int64_t>(
        llvm::alignTo(remainder,
                      std::max(kLaneBytes / draft.runBytes(), int64_t(1))),
        loop.count);
  findSame(others.loops, loop)->count = remainder;
  llvm::erase_if(others.loops, [](const PlanLoop &l) { return l.count == 1; });
  others.srcOffset += (loop.count - remainder) * loop.srcStride;
  others.dstOffset += (loop.count - remainder) * loop.dstStride;
  findSame(draft.strided.loops, loop)->count = count;
  loop.count = count;
  draft.leftovers.push_back(std::move(others));
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

/// Splits columns so that lines that wait stay in the second-level cache, and
/// panels so that there is something to share among threads. Columns that make
/// no block are left.
void NestPlanner::finishCarried(Draft &draft) const {
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
  for (PlanLoop &loop : draft.loops)
    if (loop.role == Role::SrcContiguous && loop.count % loop.step != 0)
      leaveRemainder(draft, loop, loop.count - loop.count % loop.step);
}

/// Rows of panels are split so that none of them outgrows the cache.
void NestPlanner::finishPanels(Draft &draft) const {
  int64_t size = draft.blockRows() * draft.panelColumns() * draft.runBytes();
  int64_t parts = llvm::divideCeil(size, kPanelBytes);
  if (size_t last = draft.loops.size() - 1; parts > 1)
    splitLoop(draft, last, parts, std::min(last, draft.findPanels()));
}

/// Splits loops of what was chosen, and leaves what does not fit.
void NestPlanner::finish(Draft &draft) const {
  if (draft.stores() == StoreKind::Carried)
    finishCarried(draft);
  if (draft.packsPanels())
    finishPanels(draft);
}
