//===- NestPlanner.cpp - How to copy one strided nest ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestPlanner.h"

#include "llvm/Support/MathExtras.h"

#include <tuple>

using namespace tessera;

/// Bytes between columns that are picked from registers.
static constexpr int64_t kMaxColumnPitch = 4;

ProcessorCosts ProcessorCosts::get(llvm::StringRef cpu) {
#define PROCESSOR(NAME, ...)                                                   \
  if (cpu == (NAME))                                                           \
    return {__VA_ARGS__};
#define LIKE(NAME, OTHER)                                                      \
  if (cpu == (NAME))                                                           \
    return get(OTHER);
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"
  return {};
}

int64_t ProcessorCosts::getNontemporalBytes(BufferState state) const {
  switch (state) {
  case BufferState::Unknown:
    return nontemporalBytes;
  case BufferState::Hot:
    return hotBytes;
  case BufferState::Cold:
    return coldBytes;
  }
  llvm_unreachable("a state of buffers");
}

static constexpr llvm::StringLiteral kBufferStates[] = {"unknown", "hot",
                                                        "cold"};

llvm::StringRef tessera::getName(BufferState state) {
  return kBufferStates[static_cast<size_t>(state)];
}

std::optional<BufferState> tessera::parseBufferState(llvm::StringRef name) {
  const auto *it = llvm::find(kBufferStates, name);
  if (it == std::end(kBufferStates))
    return std::nullopt;
  return static_cast<BufferState>(it - std::begin(kBufferStates));
}

/// Why stores bypass the cache, or do not.
void NestPlanner::noteStores() const {
  std::string most = std::to_string(target.nontemporalBytes) + " bytes";
  if (mayUseNontemporal)
    take("nontemporal stores", "both buffers have at least " + most);
  else
    refuse("nontemporal stores",
           target.hasNontemporalStores
               ? "a buffer has less than " + most + ", or they are not wanted"
               : "the processor has none that are of use");
}

/// The schedule, and behind it those of what it leaves: ends of rows, which go
/// through the cache, and rows or columns that make no block.
std::vector<NestSchedule> NestPlanner::planLeftovers(Draft draft) const {
  std::vector<StridedNest> leftovers = std::move(draft.leftovers);
  std::vector<NestSchedule> schedules = {std::move(draft)};
  for (const StridedNest &nest : leftovers) {
    NestPlanner planner(nest, bytes, target, isLarge);
    planner.mayUseNontemporal &=
        nest.loops.empty() || !nest.loops.back().isEnds;
    planner.mayCarry = false;
    llvm::append_range(schedules, planner.plan());
  }
  return schedules;
}

/// Blocks from a prefetch of rows to their use, of about so many lines, where
/// the innermost loop moves on along them.
int64_t NestPlanner::getPrefetchBlocks(const Draft &draft,
                                       int64_t lines) const {
  if (!isLarge || draft.loops.empty())
    return 0;
  const PlanLoop &inner = draft.loops.back();
  int64_t width = draft.blockColumns() * draft.runElements;
  if (inner.srcStride * inner.step != width || width * bytes > kMaxPrefetched)
    return 0;
  int64_t rows = std::max<int64_t>(draft.blockRows(), 1);
  int64_t blocks = std::clamp<int64_t>(lines / rows, 2, kMaxPrefetchBlocks);
  return target.tuning.prefetch.value_or(blocks);
}

/// Rows and columns are those of runs that fit into a lane of a register. Loops
/// of so few bytes that change their order are one run, if what is left is
/// transposed.
BlockedNest NestPlanner::findBlocks(Draft draft) const {
  if (draft.runBytes() > kLaneBytes || !llvm::isPowerOf2_64(draft.runBytes())) {
    refuse("transpose", "runs of " + llvm::Twine(draft.runBytes()) +
                            " bytes are no power of two up to 16");
    return {std::move(draft), {}, {}};
  }
  Draft permuted = draft;
  if (permuted.takePermutedRun(kLaneBytes)) {
    auto [rows, columns] = permuted.findRowsAndColumns(getColumnBytes());
    if (!rows.empty() && !columns.empty()) {
      take("permuted runs", "elements of " + llvm::Twine(permuted.runBytes()) +
                                " bytes change positions within");
      return {std::move(permuted), rows, columns};
    }
  }
  auto [rows, columns] = draft.findRowsAndColumns(getColumnBytes());
  if (rows.empty() || columns.empty())
    refuse("transpose", "one side has no neighbouring runs");
  return {std::move(draft), rows, columns};
}

std::vector<NestSchedule> NestPlanner::plan() const {
  noteStores();
  Draft draft(strided, bytes);
  draft.takeRun(/*bothSides=*/true);
  return planLeftovers(search(findBlocks(std::move(draft))));
}

NestSchedule NestPlanner::planBits(const PackedNest &packed,
                                   bool isFill) const {
  take(isFill ? "fill bits" : "merge", "some bits of each byte are written");
  Draft draft(strided, bytes);
  if (isFill)
    draft.kernel = FillBitsKernel();
  else
    draft.kernel = MergeKernel();
  draft.choices().mask = packed.mask;
  draft.packedBytes = packed.packedBytes;
  draft.takeRun(/*bothSides=*/!isFill);
  draft.orderLoops(/*bySource=*/false);
  return draft;
}

/// The columns where there are no neighbours in the source, but every few bytes
/// one: as where whole bytes become parts of bytes in rows of odd sizes.
Chain NestPlanner::findSpreadColumns(const Draft &draft,
                                     const Chain &rows) const {
  if (rows.empty() || draft.runElements != 1)
    return {};
  for (const PlanLoop &loop : draft.loops) {
    if (!hasSame(rows, loop) && loop.srcStride > 1 &&
        loop.srcStride <= kMaxColumnPitch)
      return {loop};
  }
  return {};
}

/// A block of lines, packed in a buffer of half of what is one otherwise: the
/// source has as many lines again in the cache.
Draft NestPlanner::planPackedTranspose(Draft draft, const Chain &rows,
                                       const Chain &columns) const {
  TransposeKernel transpose;
  transpose.rows = TransposeKernel::Rows::Gathered;
  int64_t run = draft.packedRun();
  int64_t high =
      std::max<int64_t>(rowRuns(draft, RelayoutTarget::kLineBytes) / run, 1);
  draft.takeBlock(rows, high, high, Role::DstContiguous);
  int64_t packed = draft.blockRows() * draft.packedBytes.size();
  int64_t wide = columnRuns(
      draft, std::clamp<int64_t>(kStageBytes / 2 / packed, 16, kMaxPrefetched));
  draft.takeBlock(columns, wide, wide, Role::SrcContiguous);
  if (mayUseNontemporal && target.vectorBytes == RelayoutTarget::kLineBytes &&
      isWholeLines(draft, draft.blockRows() * run * draft.runElements,
                   draft.columns))
    transpose.stores = StoreKind::Nontemporal;
  draft.kernel = transpose;
  orderLoops(draft, mayUseNontemporal);
  return draft;
}

NestSchedule NestPlanner::planPacked(const PackedNest &packed) const {
  Draft draft(strided, bytes);
  draft.packedBytes = packed.packedBytes;
  draft.takeRun(/*bothSides=*/true);
  Chain rows, columns;
  if (draft.runBytes() <= 16 && llvm::isPowerOf2_64(draft.runBytes()))
    std::tie(rows, columns) = draft.findRowsAndColumns(getColumnBytes());
  noteStores();
  if (interleavesPacked(draft, rows, columns)) {
    take("packed interleave", "the bytes of few rows are one run");
    return interleave(draft, rows, columns);
  }
  if (deinterleavesPacked(draft, rows, columns)) {
    take("packed deinterleave", "the parts of few columns are one run");
    return deinterleave(draft, rows, columns);
  }
  Chain spread = columns.empty() ? findSpreadColumns(draft, rows) : columns;
  if (!rows.empty() && !spread.empty()) {
    take("packed transpose", "rows are packed in a buffer");
    return planPackedTranspose(draft, rows, spread);
  }
  refuse("packed transpose", "one side has no neighbouring runs");
  return search({std::move(draft), {}, {}});
}

NestSchedule NestPlanner::planFill() const {
  Draft draft(strided, bytes);
  draft.kernel = FillKernel();
  draft.takeRun(/*bothSides=*/false);
  draft.orderLoops(/*bySource=*/false);
  return draft;
}
