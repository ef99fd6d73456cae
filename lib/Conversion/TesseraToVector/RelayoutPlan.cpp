//===- RelayoutPlan.cpp - How to copy one layout into another -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule, in the order in which it is applied to a nest (the figures behind
// it are in docs/performance.md):
//
//   1. A loop contiguous on both sides is the unit. Units of 16 bytes and less
//      can be shuffled in registers; longer ones are copied.
//   2. The loops contiguous in the destination are the rows of a block, those
//      contiguous in the source its columns. Few rows that weave into a dense
//      run are interleaved, the mirror image deinterleaved, all else is
//      transposed. Without rows or columns there is only the gather.
//   3. Where both sides outgrow the cache, stores bypass it, but only as whole
//      lines: directly where lines are complete and aligned, else through a
//      small buffer. Loops then follow the source, so that it is read in long
//      streams, unless the destination is one sequential run.
//   4. In cache, loops follow the destination.
//   5. Padding behind runs is filled by the nest that writes them, and nests
//      that walk along the same loops share them.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "PackedNests.h"
#include "ShareWork.h"
#include "StridedNests.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>

using namespace tessera;

/// The buffer of a staged block stays within half the first-level cache.
static constexpr int64_t kStageBytes = 16 << 10;
/// Runs whose ragged ends are worth masked stores of their own.
static constexpr int64_t kMaskedRunBytes = 512;
/// What a block writes in one go: a few lines, so that memory sees a run.
static constexpr int64_t kRunBytes = 256;
/// The same from registers as wide as a line, and the least rows that go with
/// it: so few that what was fetched ahead is still there.
static constexpr int64_t kDirectRunBytes = 128;
static constexpr int64_t kDirectRows = 32;
/// What it writes where runs begin within a line: their ragged ends matter.
static constexpr int64_t kRaggedRunBytes = 1024;
/// Rows of a block from which lines are taken in several loads.
static constexpr int64_t kMostRows = 64;
/// Bytes that a block writes in one go where it takes 64 of each row, and few
/// rows are in the cache at once.
static constexpr int64_t kGatheredBytes = 512;
/// Lines of columns that wait for the next strip of rows: they have to stay in
/// the second-level cache, and on the stack.
static constexpr int64_t kCarryBytes = 256 << 10;
/// Panels of columns for each thread, with lines of their own.
static constexpr int64_t kPanels = 4;
/// Bytes of a row that a block in the cache reads at most.
static constexpr int64_t kMostWide = 1024;
/// Rows that are woven, and columns that are split, at most, and rows where
/// shuffles across lanes are few and slow.
static constexpr int64_t kMostWoven = 24;
static constexpr int64_t kMostSplit = 12;
static constexpr int64_t kMostWovenNarrow = 6;
/// Rows of which a block takes more than a register.
static constexpr int64_t kMostUnrolledRows = 8;
/// Bytes from one column to the next, or one row, where what lies between is
/// passed over.
static constexpr int64_t kMostSpread = 32;
/// What a block writes of a run that begins anywhere in a line, and the columns
/// that it must have.
static constexpr int64_t kShiftedRunBytes = 64 << 10;
static constexpr int64_t kLeastShifted = 256;
/// Blocks between the fetch of a line ahead and its use.
static constexpr int64_t kPrefetchBlocks = 2;
/// The same where blocks are dense runs, or hand on what is left of lines: they
/// take longer to write.
static constexpr int64_t kLongPrefetchBlocks = 6;
/// The same where two to eight rows are woven: there is room for more.
static constexpr int64_t kWeavePrefetchBlocks = 8;
/// Bytes between the fetch of joined runs and their use, and the longest of
/// those that are fetched.
static constexpr int64_t kFetchedBytes = 8 << 10;
static constexpr int64_t kMostFetchedRun = 1024;
/// Longer pieces of rows need no help: the processor fetches them itself.
static constexpr int64_t kMostFetched = 256;
/// Ways of the first-level cache that a block's rows may take, fetched ahead
/// twice. A way is a page.
static constexpr int64_t kMostConflicts = 3;
/// Beyond this many rows in one set, a line is gone before the second of
/// several loads takes its part.
static constexpr int64_t kMostWays = 6;
/// Bytes between columns that are picked from registers.
static constexpr int64_t kMostColumnPitch = 4;
static constexpr int64_t kPageBytes = 4096;

ProcessorCosts ProcessorCosts::get(llvm::StringRef cpu) {
  ProcessorCosts costs;
  if (cpu != "znver5")
    return costs;
  costs.copyStreams = 1;
  costs.fetchedConflicts = kMostConflicts;
  costs.gatheredBytes = 4;
  costs.cachedLoadBytes = RelayoutTarget::kLineBytes;
  return costs;
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

llvm::StringRef tessera::getName(KernelKind kind) {
  switch (kind) {
  case KernelKind::Copy:
    return "copy";
  case KernelKind::Transpose:
    return "transpose";
  case KernelKind::Interleave:
    return "interleave";
  case KernelKind::Deinterleave:
    return "deinterleave";
  case KernelKind::Gather:
    return "gather";
  case KernelKind::Fill:
    return "fill";
  case KernelKind::Merge:
    return "merge";
  case KernelKind::FillBits:
    return "fill bits";
  }
  return "";
}

static int64_t countUnits(llvm::ArrayRef<PlanLoop> inner,
                          llvm::ArrayRef<PlanLoop> loops, PlanLoop::Role role) {
  int64_t units = 1;
  for (const PlanLoop &loop : inner)
    units *= loop.count;
  for (const PlanLoop &loop : loops)
    if (loop.role == role)
      units *= loop.step;
  return units;
}

int64_t PlanNest::blockRows() const {
  return countUnits(rows, loops, PlanLoop::Role::Rows);
}

int64_t PlanNest::blockColumns() const {
  return countUnits(columns, loops, PlanLoop::Role::Columns);
}

int64_t PlanNest::joinedRun() const {
  auto isRun = [&](size_t length) {
    for (size_t i = 0; i < joined.size(); ++i)
      if (i % length != 0 &&
          joined[i].dstOffset != joined[i - 1].dstOffset + unit)
        return false;
    return joined.size() % length == 0;
  };
  size_t length = std::max<size_t>(joined.size(), 1);
  while (!isRun(length))
    --length;
  return length;
}

int64_t PlanNest::numBlockElements() const {
  // Padding lies behind each column that is woven; else a block is one run.
  int64_t units = std::max<size_t>(joined.size(), 1) * unit;
  if (kernel == KernelKind::Interleave)
    return (blockRows() * units + padding) * blockColumns();
  return blockRows() * blockColumns() * units + padding;
}

int64_t PlanNest::numElements() const {
  int64_t elements = unit * std::max<size_t>(joined.size(), 1);
  for (const PlanLoop &loop : rows)
    elements *= loop.count;
  // Rows that are woven are all within a block.
  bool isWoven = kernel == KernelKind::Interleave;
  elements += isWoven ? padding : 0;
  for (const PlanLoop &loop : columns)
    elements *= loop.count;
  elements += isWoven ? 0 : padding;
  for (const PlanLoop &loop : loops)
    elements *= loop.count;
  return elements;
}

bool RelayoutPlan::isStreaming() const {
  return llvm::any_of(nests, [](const PlanNest &nest) {
    return nest.stores != StoreKind::Plain;
  });
}

bool RelayoutPlan::isReordered() const {
  return llvm::any_of(nests, [](const PlanNest &nest) {
    return nest.kernel == KernelKind::Transpose ||
           nest.kernel == KernelKind::Gather;
  });
}

static void printLoop(const PlanLoop &loop, llvm::raw_ostream &os) {
  os << loop.count;
  if (loop.role != PlanLoop::Role::Outer)
    os << " by " << loop.step;
  os << "  src " << loop.srcStride << " dst " << loop.dstStride;
  if (loop.role != PlanLoop::Role::Outer)
    os << (loop.role == PlanLoop::Role::Rows ? "  rows" : "  columns");
  if (loop.isParallel)
    os << "  parallel";
  os << "\n";
}

/// The bits of the destination that each part gives, and where it lies.
static void printJoined(const JoinedBytes &joined, llvm::raw_ostream &os) {
  os << "byte " << joined.dstOffset << " of ";
  llvm::ListSeparator separator;
  for (const BytePart &part : joined.parts) {
    int first = llvm::countr_zero(part.mask) - part.shift;
    int last = first + llvm::popcount(part.mask) - 1;
    os << separator << "bits " << first << "-" << last << " at "
       << part.srcOffset;
  }
  os << "\n";
}

static void printNest(const PlanNest &nest, llvm::raw_ostream &os) {
  bool isFill =
      nest.kernel == KernelKind::Fill || nest.kernel == KernelKind::FillBits;
  unsigned indent = 2 * nest.numShared;
  os.indent(indent) << (nest.numShared == 0 ? "nest" : "and");
  if (!isFill)
    os << " src " << nest.srcOffset;
  os << " dst " << nest.dstOffset << "\n";
  indent += 2;
  for (const PlanLoop &loop : llvm::drop_begin(nest.loops, nest.numShared)) {
    os.indent(indent) << "for ";
    printLoop(loop, os);
    indent += 2;
  }
  os.indent(indent) << getName(nest.kernel) << " " << nest.blockRows() << "x"
                    << nest.blockColumns() << " units of " << nest.unit;
  if (nest.padding)
    os << ", padding of " << nest.padding;
  if (nest.isPaddingBetween)
    os << ", padding kept";
  if (nest.stores == StoreKind::Streaming)
    os << ", streaming";
  if (nest.stores == StoreKind::Staged)
    os << ", staged and streaming";
  if (nest.stores == StoreKind::Carried)
    os << ", carried and streaming";
  if (nest.gathersRows)
    os << ", rows gathered";
  if (nest.prefetch)
    os << ", prefetch " << nest.prefetch << " ahead"
       << (nest.fetchesFar ? " to L2" : "");
  if (nest.mask != 0xFF)
    os << ", bits " << llvm::format_hex(nest.mask, 4);
  if (nest.columnPitch != 1)
    os << ", columns " << nest.columnPitch << " apart";
  if (nest.signedBits)
    os << ", sign of " << nest.signedBits << " bits";
  os << "\n";
  for (const JoinedBytes &joined : nest.joined)
    printJoined(joined, os.indent(indent + 2));
  for (const PlanLoop &loop : nest.rows)
    printLoop(loop, os.indent(indent + 2) << "rows ");
  for (const PlanLoop &loop : nest.columns)
    printLoop(loop, os.indent(indent + 2) << "columns ");
}

void RelayoutPlan::print(llvm::raw_ostream &os) const {
  os << "relayout of " << elementBits << "-bit elements, " << srcElements
     << " to " << dstElements << "\n";
  for (const PlanNest &nest : nests)
    printNest(nest, os);
}

//===----------------------------------------------------------------------===//
// Planner
//===----------------------------------------------------------------------===//

namespace {
using Chain = llvm::SmallVector<PlanLoop, 6>;
using Role = PlanLoop::Role;

/// Plans one nest.
class NestPlanner {
public:
  /// `padding`, if any, goes into the nest where its kernel can fill it, if
  /// that is wanted.
  NestPlanner(const StridedNest &strided, int64_t elementBytes,
              const RelayoutTarget &target, bool isLarge,
              std::optional<RunPadding> padding = std::nullopt,
              bool mayFill = false)
      : strided(strided), bytes(elementBytes), target(target), isLarge(isLarge),
        mayStream(isLarge && target.isLineAligned), padding(padding),
        mayFill(mayFill) {
    nest.srcOffset = strided.srcOffset;
    nest.dstOffset = strided.dstOffset;
    nest.loops = strided.loops;
  }

  PlanNest plan();
  /// What `plan` has left to other nests.
  llvm::ArrayRef<PlanNest> getRests() const { return rests; }
  PlanNest planFill();
  /// Bytes of which only `mask` is written.
  PlanNest planBits(const PackedNest &packed, bool isFill);
  /// Bytes that are joined from parts of others.
  PlanNest planJoined(const PackedNest &packed);

private:
  /// Takes the loop of stride 1 (on both sides, or in the destination) out of
  /// the nest as the unit.
  void takeUnit(bool bothSides);
  /// The loops that continue the unit, and one another, in the destination or
  /// the source, most minor first. A loop that is in `taken` ends it.
  Chain findChain(bool inDestination, llvm::ArrayRef<PlanLoop> taken) const;
  /// The rows and columns of a block. A loop that continues both chains goes to
  /// the one that starts with it, else to the rows.
  std::pair<Chain, Chain> findRowsAndColumns() const;
  /// Makes blocks of about `wanted` units of `chain`, or up to `most` where
  /// that avoids a cut: whole loops move into the block, and one is cut.
  void takeBlock(llvm::ArrayRef<PlanLoop> chain, int64_t wanted, int64_t most,
                 Role role);

  void planCopy();
  void readSideBySide();
  void planRaggedCopy();
  bool planJoinedCopy();
  void planTranspose(const Chain &rows, const Chain &columns);
  void planStreamingTranspose(const Chain &rows, const Chain &columns);
  bool planDirectTranspose(const Chain &rows, const Chain &columns);
  bool planDenseTranspose(const Chain &rows, const Chain &columns);
  bool planCarriedTranspose(const Chain &rows, const Chain &columns);
  bool orderCarried();
  void cutCarried();
  size_t findStrips() const;
  void cutPanels(size_t depth, int64_t fewest, size_t outside);
  void leaveRest(PlanLoop &loop, int64_t count);
  int64_t countCarried(size_t depth) const;
  bool planRaggedTranspose(const Chain &rows, const Chain &columns);
  void planStagedTranspose(const Chain &rows, const Chain &columns);
  int64_t countConflicts() const;
  void planPrefetch(int64_t blocks);
  void planInterleave(const Chain &rows, const Chain &columns);
  void planDeinterleave(const Chain &rows, const Chain &columns);
  void planShiftedInterleave(const PlanLoop &column, const PlanNest &untouched);
  bool isFew(int64_t units, bool isInterleave) const;
  bool isWeave(const Chain &narrow, int64_t count, int64_t stride,
               bool isInterleave) const;
  bool mayPassOver(int64_t units, int64_t pitch) const;
  bool isPaddingBetween(int64_t units, int64_t pitch) const;
  bool planWeave(const Chain &rows, const Chain &columns);
  int64_t getWeaveBytes(int64_t units) const;
  bool interleavesJoined(const Chain &rows, const Chain &columns) const;
  bool deinterleavesJoined(const Chain &rows, const Chain &columns) const;
  Chain findSpreadColumns(const Chain &rows) const;
  void planJoinedTranspose(const Chain &rows, const Chain &columns);
  bool interleavesRows(const Chain &rows, const Chain &columns) const;

  int64_t unitBytes() const { return nest.unit * bytes; }
  /// Bytes that a block writes straight from registers: 32 rows, within bounds.
  int64_t getDirectRun() const {
    return std::clamp(kDirectRows * unitBytes(), kDirectRunBytes,
                      2 * kDirectRunBytes);
  }
  int64_t numJoined() const { return std::max<int64_t>(nest.joined.size(), 1); }
  /// Units of a block along the destination and the source, of `wanted` bytes
  /// unless the tuning has others.
  int64_t rowUnits(int64_t wanted) const {
    int64_t tuned = target.tuning.rowBytes;
    return std::max<int64_t>((tuned ? tuned : wanted) / unitBytes(), 1);
  }
  int64_t columnUnits(int64_t wanted) const {
    int64_t tuned = target.tuning.columnBytes;
    return std::max<int64_t>((tuned ? tuned : wanted) / unitBytes(), 1);
  }
  /// Whether all runs of `run` elements in the destination are whole lines: a
  /// run for each step of the loops around a block and of `inner`.
  /// Columns of a block are runs of their own unless they are `dense`.
  bool isWholeLines(int64_t run, llvm::ArrayRef<PlanLoop> inner = {},
                    bool isDense = false) const;
  /// Whether copies and weaves read the source from end to end.
  bool followsSource() const {
    return mayStream && target.costs.copyStreams == 1;
  }
  /// Sorts the loops around a block by a stride, most major first.
  void orderLoops(bool bySource);

  StridedNest strided;
  int64_t bytes;
  const RelayoutTarget &target;
  /// Whether both sides outgrow the cache, and stores can bypass it.
  bool isLarge, mayStream;
  bool mayCarry = true;
  std::optional<RunPadding> padding;
  bool mayFill;
  PlanNest nest;
  std::vector<PlanNest> rests;
};
} // namespace

static bool isSameLoop(const PlanLoop &a, const PlanLoop &b) {
  return a.srcStride == b.srcStride && a.dstStride == b.dstStride;
}

static int64_t countSteps(llvm::ArrayRef<PlanLoop> chain) {
  int64_t steps = 1;
  for (const PlanLoop &loop : chain)
    steps *= loop.count;
  return steps;
}

void NestPlanner::takeUnit(bool bothSides) {
  PlanLoop *it = llvm::find_if(nest.loops, [&](const PlanLoop &loop) {
    return loop.dstStride == 1 && (!bothSides || loop.srcStride == 1);
  });
  if (it == nest.loops.end())
    return;
  nest.unit = it->count;
  nest.loops.erase(it);
}

Chain NestPlanner::findChain(bool inDestination,
                             llvm::ArrayRef<PlanLoop> taken) const {
  Chain chain;
  int64_t next = nest.unit * (inDestination ? nest.joinedRun() : 1);
  while (true) {
    const PlanLoop *it = llvm::find_if(nest.loops, [&](const PlanLoop &loop) {
      return (inDestination ? loop.dstStride : loop.srcStride) == next;
    });
    bool ends = it == nest.loops.end() ||
                llvm::any_of(taken, [&](const PlanLoop &loop) {
                  return isSameLoop(*it, loop);
                });
    if (ends)
      return chain;
    chain.push_back(*it);
    next *= it->count;
  }
}

std::pair<Chain, Chain> NestPlanner::findRowsAndColumns() const {
  Chain source = findChain(/*inDestination=*/false, {});
  source.truncate(std::min<size_t>(source.size(), 1));
  Chain rows = findChain(/*inDestination=*/true, source);
  return {rows, findChain(/*inDestination=*/false, rows)};
}

void NestPlanner::takeBlock(llvm::ArrayRef<PlanLoop> chain, int64_t wanted,
                            int64_t most, Role role) {
  auto &inner = role == Role::Rows ? nest.rows : nest.columns;
  int64_t units = 1;
  for (const PlanLoop &loop : chain) {
    PlanLoop *it = llvm::find_if(nest.loops, [&](const PlanLoop &other) {
      return isSameLoop(loop, other);
    });
    if (units * loop.count <= most) {
      inner.push_back(loop);
      inner.back().role = role;
      units *= loop.count;
      nest.loops.erase(it);
      continue;
    }
    int64_t step = std::max<int64_t>(wanted / units, 1);
    if (step > 1 || units == 1) {
      it->step = step;
      it->role = role;
    }
    return;
  }
}

bool NestPlanner::isWholeLines(int64_t run, llvm::ArrayRef<PlanLoop> inner,
                               bool isDense) const {
  int64_t line = RelayoutTarget::kLineBytes;
  bool result = nest.dstOffset * bytes % line == 0 && run * bytes % line == 0;
  for (const PlanLoop &loop : nest.loops) {
    bool isWhole = loop.role != Role::Columns || isDense;
    int64_t stride = loop.dstStride * (isWhole ? loop.step : 1);
    result &= stride * bytes % line == 0;
  }
  for (const PlanLoop &loop : inner)
    result &= loop.dstStride * bytes % line == 0;
  for (size_t i = 0; i < nest.joined.size(); i += nest.joinedRun())
    result &= isDense || nest.joined[i].dstOffset % line == 0;
  return result;
}

void NestPlanner::orderLoops(bool bySource) {
  llvm::sort(nest.loops, [&](const PlanLoop &a, const PlanLoop &b) {
    auto src = std::pair(a.srcStride * a.step, b.srcStride * b.step);
    auto dst = std::pair(a.dstStride * a.step, b.dstStride * b.step);
    auto [first, second] = bySource ? std::pair(src, dst) : std::pair(dst, src);
    return first.first != first.second ? first.first > first.second
                                       : second.first > second.second;
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Runs of whole lines that continue one another, all at the same place within
/// a line: whole lines stream, those at seams made of the ends of two runs.
/// Reading ends is enough to confuse what fetches lines ahead.
bool NestPlanner::planJoinedCopy() {
  auto continues = [&](const PlanLoop &loop) {
    return loop.dstStride == nest.unit;
  };
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.has_value() || nest.kernel != KernelKind::Copy ||
      unitBytes() % RelayoutTarget::kLineBytes != 0 ||
      llvm::none_of(nest.loops, continues))
    return false;
  nest.stores = StoreKind::Carried;
  orderLoops(target.tuning.bySource.value_or(true));
  if (nest.loops.back().srcStride == nest.unit &&
      unitBytes() <= kMostFetchedRun)
    nest.prefetch =
        target.tuning.prefetch.value_or(kFetchedBytes / unitBytes());
  return true;
}

/// Runs that do not begin on lines. Long ones are written with masked stores at
/// their ends, where there are such; else those that follow one another are
/// joined in a buffer.
void NestPlanner::planRaggedCopy() {
  if (planJoinedCopy())
    return;
  if (target.vectorBytes == RelayoutTarget::kLineBytes &&
      unitBytes() >= kMaskedRunBytes && !target.tuning.isStaged) {
    nest.stores = StoreKind::Staged;
    orderLoops(target.tuning.bySource.value_or(true));
    return;
  }
  Chain rows = findChain(/*inDestination=*/true, {});
  int64_t wanted = kStageBytes / unitBytes();
  if (wanted > 1)
    takeBlock(rows, wanted, wanted, Role::Rows);
  if (nest.blockRows() * unitBytes() >= kRaggedRunBytes)
    nest.stores = StoreKind::Staged;
}

/// Runs that are contiguous on both sides. Where they stream, several are read
/// side by side, or the source from end to end: lines that bypass the cache may
/// go anywhere.
void NestPlanner::planCopy() {
  nest.kernel = unitBytes() >= 8 ? KernelKind::Copy : KernelKind::Gather;
  orderLoops(target.tuning.bySource.value_or(false));
  if (padding && mayFill && padding->run == nest.unit &&
      nest.kernel == KernelKind::Copy)
    nest.padding = padding->count;
  int64_t run = nest.unit + nest.padding;
  if (!mayStream || run * bytes < kRunBytes)
    return;
  if (!isWholeLines(run)) {
    if (unitBytes() < kRunBytes)
      return;
    nest.padding = 0;
    planRaggedCopy();
    return;
  }
  nest.stores = StoreKind::Streaming;
  if (target.costs.copyStreams > 1)
    readSideBySide();
  else
    orderLoops(target.tuning.bySource.value_or(true));
}

/// Lets several runs advance side by side. The loop over those is the shortest
/// one that is dense on either side, because it stays within a tile.
void NestPlanner::readSideBySide() {
  auto isTile = [&](const PlanLoop &loop) {
    return loop.srcStride == nest.unit || loop.dstStride == nest.unit;
  };
  auto isBetter = [&](const PlanLoop &a, const PlanLoop &b) {
    return isTile(a) != isTile(b) ? isTile(a) : a.count < b.count;
  };
  PlanLoop *streams = llvm::min_element(nest.loops, isBetter);
  if (streams == nest.loops.end())
    return;
  streams->role = Role::Rows;
  streams->step = std::min(streams->count, target.costs.copyStreams);
  std::rotate(streams, streams + 1, nest.loops.end());
}

/// Whether `units` are so few that weaving them takes fewer shuffles than a
/// transpose, or better ones. A transpose is best where the units of a column
/// fill a register of a power of two; and it needs no shuffles from one lane of
/// 16 bytes into another, which narrower registers lack.
bool NestPlanner::isFew(int64_t units, bool isInterleave) const {
  int64_t width = units * unitBytes();
  if (target.vectorBytes != RelayoutTarget::kLineBytes)
    return units <= kMostWovenNarrow || (units == 8 && width <= 16);
  if (width <= 16)
    return true;
  if (!isInterleave)
    return units <= kMostSplit && !llvm::isPowerOf2_64(units);
  if (mayStream)
    return units <= kMostWoven && width % RelayoutTarget::kLineBytes != 0;
  int64_t filled = llvm::bit_ceil(static_cast<uint64_t>(units));
  return width <= target.vectorBytes && 4 * units <= 3 * filled;
}

/// Whether the loops of `narrow` are few units, and `count` steps of the other
/// side, at `stride`, go on right behind them, or so near that it is worth to
/// pass over what lies between.
bool NestPlanner::isWeave(const Chain &narrow, int64_t count, int64_t stride,
                          bool isInterleave) const {
  int64_t units = countSteps(narrow), pitch = stride / nest.unit;
  if (stride % nest.unit != 0 || pitch < units)
    return false;
  int64_t least = pitch * unitBytes() <= 16 ? 16 : target.vectorBytes;
  if (count * unitBytes() < least)
    return false;
  if (pitch == units)
    return isFew(units, isInterleave);
  return unitBytes() <= 8 && pitch * unitBytes() <= kMostSpread &&
         (!isInterleave || mayPassOver(units, pitch));
}

/// Whether all of a run of columns may be written, of which `units` of `pitch`
/// are to be: what lies between is padding, or there are masks.
bool NestPlanner::mayPassOver(int64_t units, int64_t pitch) const {
  return isPaddingBetween(units, pitch) ||
         target.vectorBytes == RelayoutTarget::kLineBytes;
}

bool NestPlanner::isPaddingBetween(int64_t units, int64_t pitch) const {
  return padding && padding->run == units * nest.unit &&
         padding->count == (pitch - units) * nest.unit;
}

/// Bytes of the long side that a block of `units` takes: few rows in one piece
/// of code, of many a register each.
int64_t NestPlanner::getWeaveBytes(int64_t units) const {
  bool isUnrolled = units <= kMostUnrolledRows && nest.joined.empty();
  return isUnrolled ? kRunBytes : target.vectorBytes;
}

/// Columns of a run that begins anywhere: those up to a line, and the last
/// ones, go through the cache, and all between stream.
void NestPlanner::planShiftedInterleave(const PlanLoop &column,
                                        const PlanNest &untouched) {
  int64_t pitch = column.dstStride;
  int64_t wanted = kShiftedRunBytes / (pitch * bytes);
  // Then there is a column that begins at a line.
  bool isDivided = nest.dstOffset % pitch == 0;
  for (const PlanLoop &loop : nest.loops)
    isDivided &= loop.dstStride % pitch == 0;
  if (!isDivided || std::min(column.count, wanted) < kLeastShifted)
    return;
  nest = untouched;
  takeBlock(column, wanted, wanted, Role::Columns);
  nest.stores = StoreKind::Staged;
}

void NestPlanner::planInterleave(const Chain &rows, const Chain &columns) {
  nest.kernel = KernelKind::Interleave;
  int64_t units = countSteps(rows) * numJoined();
  int64_t wide = columnUnits(getWeaveBytes(units));
  int64_t gap = columns.front().dstStride - units * nest.unit;
  if (isPaddingBetween(units, units + gap / nest.unit)) {
    nest.padding = mayFill ? gap : 0;
    nest.isPaddingBetween = !mayFill;
  }
  takeBlock(rows, countSteps(rows), countSteps(rows), Role::Rows);
  const PlanNest untouched = nest;
  takeBlock(columns.front(), wide, 2 * wide, Role::Columns);
  if (mayStream && nest.padding == gap) {
    if (isWholeLines(nest.numBlockElements(), {}, /*isDense=*/true))
      nest.stores = StoreKind::Streaming;
    else
      planShiftedInterleave(columns.front(), untouched);
  }
  orderLoops(target.tuning.bySource.value_or(followsSource()));
  planPrefetch(kWeavePrefetchBlocks);
}

void NestPlanner::planDeinterleave(const Chain &rows, const Chain &columns) {
  nest.kernel = KernelKind::Deinterleave;
  int64_t units = countSteps(columns), run = getWeaveBytes(units);
  // Single lines to each of several columns, a page apart, are half as fast.
  if (mayStream)
    run = std::max(run, kDirectRunBytes);
  int64_t wide = rowUnits(run);
  takeBlock(columns, units, units, Role::Columns);
  takeBlock(rows.front(), wide, 2 * wide, Role::Rows);
  if (mayStream && isWholeLines(nest.blockRows() * nest.unit, nest.columns))
    nest.stores = StoreKind::Streaming;
  orderLoops(target.tuning.bySource.value_or(followsSource()));
}

/// In cache: a block writes runs of four registers, which is what one piece of
/// code without loops writes, and blocks follow the destination. It reads a
/// line of each row. Where one load takes a line it reads more: many loads that
/// each move on by the same distance are what processors fetch ahead best, as
/// long as rows do not push one another out of the cache.
void NestPlanner::planTranspose(const Chain &rows, const Chain &columns) {
  nest.kernel = KernelKind::Transpose;
  int64_t line = RelayoutTarget::kLineBytes, wide = line;
  int64_t high =
      rowUnits(std::min(4 * target.vectorBytes, kMostRows * unitBytes()));
  takeBlock(rows, high, high + high / 4, Role::Rows);
  if (target.vectorBytes == line && unitBytes() >= 4 &&
      target.costs.cachedLoadBytes == line)
    wide =
        countConflicts() > kMostWays
            ? 2 * line
            : std::clamp(kStageBytes / nest.blockRows(), 2 * line, kMostWide);
  wide = columnUnits(wide);
  takeBlock(columns, wide, wide + wide / 4, Role::Columns);
  orderLoops(target.tuning.bySource.value_or(false));
}

/// The most rows of a block that fall into one set of the first-level cache, by
/// the lines at which they begin. Powers of two as pitches put all into one.
int64_t NestPlanner::countConflicts() const {
  llvm::SmallVector<int64_t> begins = {0};
  auto addLoop = [&](const PlanLoop &loop, int64_t count) {
    size_t size = begins.size();
    for (int64_t i = 1; i < count; ++i)
      for (size_t k = 0; k < size; ++k)
        begins.push_back(begins[k] + i * loop.srcStride * bytes);
  };
  for (const PlanLoop &loop : nest.rows)
    addLoop(loop, loop.count);
  for (const PlanLoop &loop : nest.loops)
    if (loop.role == Role::Rows)
      addLoop(loop, loop.step);
  std::array<int64_t, kPageBytes / RelayoutTarget::kLineBytes> sets = {};
  for (int64_t begin : begins)
    ++sets[begin % kPageBytes / RelayoutTarget::kLineBytes];
  return *llvm::max_element(sets);
}

/// Fetches rows ahead where the innermost loop moves on along them, and where
/// the cache has room for what is fetched.
void NestPlanner::planPrefetch(int64_t blocks) {
  if (nest.loops.empty() || !isLarge)
    return;
  const PlanLoop &inner = nest.loops.back();
  int64_t width = nest.blockColumns() * nest.unit;
  bool isWeave = nest.kernel == KernelKind::Interleave;
  if (inner.srcStride * inner.step == width && width * bytes <= kMostFetched &&
      (isWeave || nest.stores == StoreKind::Staged ||
       countConflicts() <= target.costs.fetchedConflicts)) {
    nest.prefetch = target.tuning.prefetch.value_or(blocks);
    nest.fetchesFar = !isWeave && nest.stores == StoreKind::Streaming &&
                      countConflicts() > kMostConflicts;
  }
}

/// Beyond the cache, registers as wide as a line write whole lines themselves,
/// and blocks follow the source.
bool NestPlanner::planDirectTranspose(const Chain &rows, const Chain &columns) {
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.value_or(false))
    return false;
  int64_t wide = columnUnits(RelayoutTarget::kLineBytes);
  const PlanNest untouched = nest;
  auto takeBlocks = [&](int64_t high) {
    nest = untouched;
    takeBlock(columns, wide, wide + wide / 4, Role::Columns);
    takeBlock(rows, high, high + high / 4, Role::Rows);
    nest.gathersRows = unitBytes() < target.costs.gatheredBytes &&
                       countConflicts() > kMostWays;
    return isWholeLines(nest.blockRows() * nest.unit, nest.columns);
  };
  bool isDirect = takeBlocks(rowUnits(getDirectRun()));
  if (isDirect && nest.gathersRows && unitBytes() == 1 &&
      target.costs.cachedLoadBytes == RelayoutTarget::kLineBytes)
    isDirect = takeBlocks(rowUnits(kGatheredBytes));
  // Rows that stay where they are have to be few enough to stay in the cache.
  if (isDirect && !nest.gathersRows && nest.blockRows() > kMostRows)
    isDirect = takeBlocks(rowUnits(kMostRows * unitBytes()));
  if (!isDirect)
    nest = untouched;
  else
    nest.stores = StoreKind::Streaming;
  return isDirect;
}

/// Where all rows fit in a block and columns go on behind them, a block is one
/// run of the destination. It reads a line of each row, so that reading and
/// writing take turns in short steps (0.7 against 1.3 of memcpy for four), or
/// as many as make a run.
bool NestPlanner::planDenseTranspose(const Chain &rows, const Chain &columns) {
  int64_t allRows = countSteps(rows);
  int64_t line = columnUnits(RelayoutTarget::kLineBytes);
  const PlanLoop &column = columns.front();
  if (allRows > 2 * rowUnits(kRunBytes) || column.count < line ||
      column.dstStride != allRows * nest.unit)
    return false;
  int64_t lines =
      llvm::divideCeil(kRaggedRunBytes, line * allRows * unitBytes());
  takeBlock(rows, allRows, allRows, Role::Rows);
  takeBlock(column, lines * line, lines * line, Role::Columns);
  nest.stores = StoreKind::Staged;
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
/// with less code.
void NestPlanner::leaveRest(PlanLoop &loop, int64_t count) {
  StridedNest others = strided;
  auto find = [&](StridedNest &where) {
    return llvm::find_if(where.loops, [&](const PlanLoop &other) {
      return isSameLoop(loop, other);
    });
  };
  find(others)->count = loop.count - count;
  llvm::erase_if(others.loops, [](const PlanLoop &l) { return l.count == 1; });
  others.srcOffset += count * loop.srcStride;
  others.dstOffset += count * loop.dstStride;
  find(strided)->count = count;
  loop.count = count;
  NestPlanner planner(others, bytes, target, isLarge);
  planner.mayCarry = false;
  rests.push_back(planner.plan());
  llvm::append_range(rests, planner.getRests());
}

/// Cuts loop `depth` into at least `fewest` panels of the same number of
/// blocks, two at least, with a loop over panels outside of loop `outside`.
void NestPlanner::cutPanels(size_t depth, int64_t fewest, size_t outside) {
  PlanLoop &loop = nest.loops[depth];
  int64_t blocks = loop.count / loop.step;
  fewest = std::min<int64_t>(llvm::alignTo(fewest, target.threads), blocks / 2);
  if (fewest < 2)
    return;
  // As few blocks as possible are left.
  int64_t panels = fewest;
  for (int64_t more = fewest; more < 2 * fewest; more += target.threads)
    if (blocks % more < blocks % panels)
      panels = more;
  int64_t width = blocks / panels * loop.step;
  if (loop.count > panels * width)
    leaveRest(loop, panels * width);
  loop.count = width;
  PlanLoop outer = {panels, width * loop.srcStride, width * loop.dstStride};
  nest.loops.insert(nest.loops.begin() + outside, outer);
}

/// Orders loops so that few lines wait for the next strip, in the end those of
/// the loop of columns. False where there is none inside of the strips.
bool NestPlanner::orderCarried() {
  orderLoops(target.tuning.bySource.value_or(true));
  size_t strips = findStrips();
  for (; countCarried(strips) > kCarryBytes; ++strips) {
    if (strips + 1 == nest.loops.size() ||
        nest.loops[strips + 1].role != Role::Outer)
      break;
    std::swap(nest.loops[strips], nest.loops[strips + 1]);
  }
  return countCarried(strips) <= kCarryBytes ||
         (nest.loops[strips + 1].role == Role::Columns &&
          countCarried(strips + 1) <= kCarryBytes);
}

/// Cuts columns so that lines that wait stay in the second-level cache, and
/// strips so that there is something to share among threads.
void NestPlanner::cutCarried() {
  size_t strips = findStrips();
  if (countCarried(strips) > kCarryBytes) {
    int64_t most = kCarryBytes / countCarried(strips + 1);
    int64_t blocks = nest.loops[strips + 1].numBlocks();
    cutPanels(strips + 1, llvm::divideCeil(blocks, most), strips);
  }
  int64_t shares = kPanels * target.threads;
  auto isEnough = [&](const PlanLoop &loop) { return loop.count >= shares; };
  strips = findStrips();
  if (target.threads > 1 &&
      nest.numElements() * bytes >= target.parallelBytes &&
      llvm::none_of(llvm::ArrayRef(nest.loops).take_front(strips), isEnough))
    cutPanels(strips, shares, 0);
}

size_t NestPlanner::findStrips() const {
  const PlanLoop *strips = llvm::find_if(
      nest.loops, [](const PlanLoop &loop) { return loop.role == Role::Rows; });
  return strips - nest.loops.begin();
}

/// Beyond the cache, columns that begin anywhere in a line, but all at the same
/// place of one as those of the blocks before: lines are made of what the strip
/// above has left and what this one brings.
bool NestPlanner::planCarriedTranspose(const Chain &rows,
                                       const Chain &columns) {
  if (target.vectorBytes != RelayoutTarget::kLineBytes || !mayCarry ||
      target.tuning.isStaged.has_value())
    return false;
  int64_t line = RelayoutTarget::kLineBytes, wide = columnUnits(line);
  // One register of narrow elements, of which two would be a loop.
  int64_t high = rowUnits(unitBytes() < 4 ? line : getDirectRun());
  const PlanNest untouched = nest;
  takeBlock(columns, wide, wide + wide / 4, Role::Columns);
  takeBlock(rows, high, high, Role::Rows);
  bool hasStrips = false, isSteady = true;
  for (const PlanLoop &loop : nest.loops) {
    isSteady &= loop.dstStride * loop.step * bytes % line == 0;
    hasStrips |= loop.role == Role::Rows && loop.count >= 2 * loop.step;
  }
  if (!hasStrips || !isSteady || !orderCarried()) {
    nest = untouched;
    return false;
  }
  nest.stores = StoreKind::Carried;
  cutCarried();
  for (PlanLoop &loop : nest.loops)
    if (loop.role == Role::Columns && loop.count % loop.step != 0)
      leaveRest(loop, loop.count - loop.count % loop.step);
  return true;
}

/// Beyond the cache, runs that begin anywhere in a line and are written by
/// registers as wide as a line: what a strip of rows leaves of its last lines
/// is still in the cache when the next strip comes, so that stores go through
/// it.
bool NestPlanner::planRaggedTranspose(const Chain &rows, const Chain &columns) {
  if (target.vectorBytes != RelayoutTarget::kLineBytes ||
      target.tuning.isStaged.value_or(false))
    return false;
  int64_t wide = columnUnits(RelayoutTarget::kLineBytes);
  int64_t high = rowUnits(std::min(kDirectRunBytes, kMostRows * unitBytes()));
  takeBlock(columns, wide, wide + wide / 4, Role::Columns);
  takeBlock(rows, high, high + high / 4, Role::Rows);
  nest.kernel = KernelKind::Transpose;
  nest.stores = StoreKind::Plain;
  orderLoops(target.tuning.bySource.value_or(true));
  return true;
}

/// Beyond the cache, whatever cannot write whole lines from registers: a block
/// is transposed in a small buffer and streamed out in runs of several lines.
void NestPlanner::planStagedTranspose(const Chain &rows, const Chain &columns) {
  const PlanNest untouched = nest;
  int64_t wide = columnUnits(RelayoutTarget::kLineBytes);
  for (int64_t run : {kRunBytes, kRaggedRunBytes}) {
    nest = untouched;
    int64_t high = rowUnits(run);
    takeBlock(columns, wide, wide + wide / 4, Role::Columns);
    takeBlock(rows, high, 2 * high, Role::Rows);
    if (isWholeLines(nest.blockRows() * nest.unit, nest.columns))
      break;
  }
  nest.stores = StoreKind::Staged;
}

void NestPlanner::planStreamingTranspose(const Chain &rows,
                                         const Chain &columns) {
  nest.kernel = KernelKind::Transpose;
  bool isDirect = planDirectTranspose(rows, columns);
  bool isDense = !isDirect && planDenseTranspose(rows, columns);
  bool isCarried = !isDirect && !isDense && planCarriedTranspose(rows, columns);
  if (!isDirect && !isDense && !isCarried &&
      !planRaggedTranspose(rows, columns))
    planStagedTranspose(rows, columns);
  if (!isCarried)
    orderLoops(target.tuning.bySource.value_or(true));
  planPrefetch(isDense || isCarried ? kLongPrefetchBlocks : kPrefetchBlocks);
}

/// One row that is spread, or read from a spread one, has no loop.
bool NestPlanner::planWeave(const Chain &rows, const Chain &columns) {
  auto isWovenInto = [&](const Chain &narrow, const Chain &wide,
                         bool isInterleave) {
    if (wide.empty())
      return false;
    const PlanLoop &loop = wide.front();
    return isWeave(narrow, loop.count,
                   isInterleave ? loop.dstStride : loop.srcStride,
                   isInterleave);
  };
  if (isWovenInto(rows, columns, /*isInterleave=*/true))
    planInterleave(rows, columns);
  else if (isWovenInto(columns, rows, /*isInterleave=*/false))
    planDeinterleave(rows, columns);
  else
    return false;
  return true;
}

PlanNest NestPlanner::plan() {
  takeUnit(/*bothSides=*/true);
  bool fitsRegisters = unitBytes() <= 16 && llvm::isPowerOf2_64(unitBytes());
  Chain rows, columns;
  if (fitsRegisters)
    std::tie(rows, columns) = findRowsAndColumns();
  if (planWeave(rows, columns))
    return nest;
  if (rows.empty() || columns.empty()) {
    planCopy();
    return nest;
  }
  if (mayStream)
    planStreamingTranspose(rows, columns);
  else if (isLarge && planRaggedTranspose(rows, columns))
    planPrefetch(kPrefetchBlocks);
  else
    planTranspose(rows, columns);
  return nest;
}

//===----------------------------------------------------------------------===//
// Packed elements
//===----------------------------------------------------------------------===//

PlanNest NestPlanner::planBits(const PackedNest &packed, bool isFill) {
  nest.kernel = isFill ? KernelKind::FillBits : KernelKind::Merge;
  nest.mask = packed.mask;
  nest.joined = packed.joined;
  takeUnit(/*bothSides=*/!isFill);
  orderLoops(/*bySource=*/false);
  return nest;
}

/// Whether the joined bytes of a few rows, those of the first place of all rows
/// before those of the second, are one run, which the next column continues.
bool NestPlanner::interleavesJoined(const Chain &rows,
                                    const Chain &columns) const {
  int64_t run = countSteps(rows) * nest.unit;
  int64_t units = countSteps(rows) * nest.joined.size();
  for (auto [i, joined] : llvm::enumerate(nest.joined))
    if (joined.dstOffset != static_cast<int64_t>(i) * run)
      return false;
  return isFew(units, /*isInterleave=*/true) && !columns.empty() &&
         columns.front().dstStride == units * nest.unit;
}

/// Whether the parts of a few columns, the first parts of all columns before
/// the second ones, are one run of the source, which the next row continues.
bool NestPlanner::deinterleavesJoined(const Chain &rows,
                                      const Chain &columns) const {
  int64_t run = countSteps(columns) * nest.unit;
  size_t numParts = nest.joined.front().parts.size();
  for (const JoinedBytes &joined : nest.joined)
    for (auto [i, part] : llvm::enumerate(joined.parts))
      if (joined.parts.size() != numParts ||
          part.srcOffset - joined.parts.front().srcOffset !=
              static_cast<int64_t>(i) * run)
        return false;
  int64_t units = countSteps(columns) * numParts;
  return isFew(units, /*isInterleave=*/false) && !rows.empty() &&
         rows.front().dstStride == nest.unit &&
         rows.front().srcStride == units * nest.unit;
}

/// The columns where there are no neighbours in the source, but every few bytes
/// one: as where whole bytes become parts of bytes in rows of odd sizes.
Chain NestPlanner::findSpreadColumns(const Chain &rows) const {
  if (rows.empty() || nest.unit != 1)
    return {};
  for (const PlanLoop &loop : nest.loops) {
    bool isRow = llvm::any_of(
        rows, [&](const PlanLoop &row) { return isSameLoop(row, loop); });
    if (!isRow && loop.srcStride > 1 && loop.srcStride <= kMostColumnPitch)
      return {loop};
  }
  return {};
}

/// A block of lines, joined in a buffer of half of what is one otherwise: the
/// source has as many lines again in the cache.
void NestPlanner::planJoinedTranspose(const Chain &rows, const Chain &columns) {
  nest.kernel = KernelKind::Transpose;
  nest.gathersRows = true;
  int64_t run = nest.joinedRun();
  int64_t high =
      std::max<int64_t>(rowUnits(RelayoutTarget::kLineBytes) / run, 1);
  takeBlock(rows, high, high, Role::Rows);
  int64_t bytes = nest.blockRows() * nest.joined.size();
  int64_t wide = columnUnits(
      std::clamp<int64_t>(kStageBytes / 2 / bytes, 16, kMostFetched));
  takeBlock(columns, wide, wide, Role::Columns);
  if (mayStream && target.vectorBytes == RelayoutTarget::kLineBytes &&
      isWholeLines(nest.blockRows() * run * nest.unit, nest.columns))
    nest.stores = StoreKind::Streaming;
  orderLoops(target.tuning.bySource.value_or(mayStream));
}

PlanNest NestPlanner::planJoined(const PackedNest &packed) {
  nest.joined = packed.joined;
  takeUnit(/*bothSides=*/true);
  Chain rows, columns;
  if (unitBytes() <= 16 && llvm::isPowerOf2_64(unitBytes()))
    std::tie(rows, columns) = findRowsAndColumns();
  if (interleavesJoined(rows, columns)) {
    planInterleave(rows, columns);
  } else if (deinterleavesJoined(rows, columns)) {
    planDeinterleave(rows, columns);
  } else if (!rows.empty() && !columns.empty()) {
    planJoinedTranspose(rows, columns);
  } else if (Chain spread = findSpreadColumns(rows); !spread.empty()) {
    nest.columnPitch = spread.front().srcStride;
    planJoinedTranspose(rows, spread);
  } else {
    // Buffers are copied from as they are.
    mayStream &= isWholeLines(nest.unit);
    planCopy();
  }
  return nest;
}

PlanNest NestPlanner::planFill() {
  nest.kernel = KernelKind::Fill;
  takeUnit(/*bothSides=*/false);
  orderLoops(/*bySource=*/false);
  return nest;
}

/// Whether a nest may run within the loops of another: two that merge bits of a
/// byte must not do so at once.
static bool mayShareLoops(const PlanNest &nest) {
  return nest.kernel != KernelKind::Merge &&
         nest.kernel != KernelKind::FillBits;
}

/// Outermost loops that are the same for both nests. A fill reads nothing, so
/// that its strides in the source say nothing.
static size_t countSharedLoops(const PlanNest &first, const PlanNest &second) {
  bool isFill = second.kernel == KernelKind::Fill;
  size_t shared = 0;
  for (auto [a, c] : llvm::zip(first.loops, second.loops)) {
    bool isSame = a.role == Role::Outer && c.role == Role::Outer &&
                  a.count == c.count && a.dstStride == c.dstStride &&
                  (isFill || a.srcStride == c.srcStride) &&
                  (a.isParallel || !c.isParallel);
    if (!isSame)
      break;
    ++shared;
  }
  return shared;
}

/// Lets nests share the loops that they have in common with the nest before.
static void shareLoops(RelayoutPlan &plan) {
  for (size_t i = 1; i < plan.nests.size(); ++i) {
    PlanNest &nest = plan.nests[i], &before = plan.nests[i - 1];
    if (!mayShareLoops(nest) || !mayShareLoops(before))
      continue;
    nest.numShared = countSharedLoops(before, nest);
    // A fill takes the strides in the source too, for the nest after it.
    std::copy_n(before.loops.begin(), nest.numShared, nest.loops.begin());
  }
}

/// The elements that pass through the cache: of whole arrays those of the
/// smaller buffer, of boxes those that are selected.
static int64_t countMoved(const PlanSide &src, const PlanSide &dst) {
  int64_t least = std::min(src.axes.numAllocated(), dst.axes.numAllocated());
  if (src.isWhole() && dst.isWhole())
    return least;
  int64_t count = 1;
  for (unsigned dim = 0; dim < dst.axes.dimensions().size(); ++dim)
    count *= dst.getSlice(dim).count;
  return std::min(least, count);
}

/// Adds the plan of a nest in bytes to `nests`.
static void planPackedNest(const PackedNest &nest, const RelayoutTarget &target,
                           bool mayStream, bool isFill,
                           llvm::SmallVectorImpl<PlanNest> &nests) {
  NestPlanner planner(nest.strided, /*elementBytes=*/1, target, mayStream);
  if (nest.mask != 0xFF)
    nests.push_back(planner.planBits(nest, isFill));
  else if (!nest.joined.empty())
    nests.push_back(planner.planJoined(nest));
  else
    nests.push_back(isFill ? planner.planFill() : planner.plan());
  llvm::append_range(nests, planner.getRests());
}

/// The plan for elements of less than a byte, on one side at least.
static llvm::Expected<RelayoutPlan>
planPacked(const PlanSide &src, const PlanSide &dst, const ElementBits &bits,
           bool fillPadding, const RelayoutTarget &target) {
  RelayoutPlan plan;
  plan.elementBits = 8;
  plan.srcElements = llvm::divideCeil(src.axes.numAllocated(), 8 / bits.src);
  plan.dstElements = llvm::divideCeil(dst.axes.numAllocated(), 8 / bits.dst);
  bool mayStream = target.hasStreamingStores &&
                   target.tuning.streams.value_or(true) &&
                   countMoved(src, dst) / (8 / std::min(bits.src, bits.dst)) >=
                       target.streamingBytes;
  auto add = [&](llvm::Expected<std::vector<StridedNest>> nests,
                 bool isFill) -> llvm::Error {
    if (!nests)
      return nests.takeError();
    auto packed = packNests(*nests, bits, isFill);
    if (!packed)
      return packed.takeError();
    size_t first = plan.nests.size();
    for (const PackedNest &nest : *packed)
      planPackedNest(nest, target, mayStream && !isFill, isFill, plan.nests);
    if (!isFill && bits.isSigned && bits.src < bits.dst)
      for (PlanNest &nest : llvm::drop_begin(plan.nests, first))
        nest.signedBits = bits.src;
    return llvm::Error::success();
  };
  if (llvm::Error error = add(cutElements(src, dst), /*isFill=*/false))
    return std::move(error);
  if (fillPadding)
    if (llvm::Error error = add(cutPadding(dst.axes), /*isFill=*/true))
      return std::move(error);
  shareWork(plan, target);
  shareLoops(plan);
  return plan;
}

static bool isPacked(int64_t bits) {
  return llvm::is_contained({1, 2, 4}, bits);
}

llvm::Expected<RelayoutPlan>
tessera::planRelayout(const PlanSide &src, const PlanSide &dst,
                      ElementBits bits, bool fillPadding,
                      const RelayoutTarget &target) {
  bool isOneWidth = bits.src == bits.dst;
  if (isPacked(std::min(bits.src, bits.dst)) &&
      (isOneWidth || std::max(bits.src, bits.dst) == 8))
    return planPacked(src, dst, bits, fillPadding, target);
  int64_t elementBits = bits.dst;
  if (!isOneWidth)
    return unsupportedError(
        "relayout plan", "one width on both sides, or bits and bytes",
        llvm::Twine(bits.src) + " and " + llvm::Twine(bits.dst) + " bits",
        "lower it with --tessera-lower-relayouts");
  if (!llvm::is_contained({8, 16, 32, 64, 128}, elementBits))
    return unsupportedError("relayout plan", "elements of 1 to 16 whole bytes",
                            llvm::Twine(elementBits) + " bits",
                            "lower it with --tessera-lower-relayouts");
  llvm::Expected<std::vector<StridedNest>> copies = cutElements(src, dst);
  if (!copies)
    return copies.takeError();
  RelayoutPlan plan;
  plan.elementBits = elementBits;
  plan.srcElements = src.axes.numAllocated();
  plan.dstElements = dst.axes.numAllocated();
  int64_t bytes = elementBits / 8;
  bool mayStream = target.hasStreamingStores &&
                   target.tuning.streams.value_or(true) &&
                   countMoved(src, dst) >= target.streamingBytes / bytes;
  std::vector<StridedNest> fills;
  // Where nothing is filled, it is of use all the same to know what is padding.
  if (fillPadding || dst.isWhole()) {
    llvm::Expected<std::vector<StridedNest>> padding = cutPadding(dst.axes);
    if (padding)
      fills = std::move(*padding);
    else if (fillPadding)
      return padding.takeError();
    else
      llvm::consumeError(padding.takeError());
  }
  for (const StridedNest &nest : *copies) {
    std::optional<RunPadding> padding = findPadding(nest, fills);
    NestPlanner planner(nest, bytes, target, mayStream, padding, fillPadding);
    plan.nests.push_back(planner.plan());
    if (padding && fillPadding) {
      // What the nest leaves is filled next, in the loops that both have.
      const StridedNest &fill = fills[padding->fill];
      if (!plan.nests.back().padding)
        plan.nests.push_back(
            NestPlanner(fill, bytes, target, false).planFill());
      fills.erase(fills.begin() + padding->fill);
    }
    llvm::append_range(plan.nests, planner.getRests());
  }
  if (!fillPadding)
    fills.clear();
  for (const StridedNest &nest : fills)
    plan.nests.push_back(NestPlanner(nest, bytes, target, false).planFill());
  shareWork(plan, target);
  shareLoops(plan);
  return plan;
}
