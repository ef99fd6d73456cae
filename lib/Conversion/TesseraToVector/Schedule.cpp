//===- Schedule.cpp - How the elements of one nest move -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/Schedule.h"

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"
#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace tessera;
using Role = PlanLoop::Role;

/// A lane of a register: runs that are shuffled fit into it.
static constexpr int64_t kLaneBytes = 16;
/// Bytes that are packed for each step, and parts of one.
static constexpr size_t kMaxPackedBytes = 16, kMaxParts = 8;
/// Columns of more bytes than these are runs of their own.
static constexpr int64_t kMaxDenseBytes = 512;
/// Runs of a block: each may be code.
static constexpr int64_t kMaxBlockRuns = 1 << 20;

//===----------------------------------------------------------------------===//
// What follows from the fields
//===----------------------------------------------------------------------===//

/// At most what fits: a schedule that was read may have anything.
static int64_t multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return llvm::MulOverflow(a, b, product) ? std::numeric_limits<int64_t>::max()
                                          : product;
}

static int64_t add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return llvm::AddOverflow(a, b, sum) ? std::numeric_limits<int64_t>::max()
                                      : sum;
}

int64_t tessera::countSteps(llvm::ArrayRef<PlanLoop> loops) {
  int64_t steps = 1;
  for (const PlanLoop &loop : loops)
    steps = multiply(steps, loop.count);
  return steps;
}

const PlanLoop *NestSchedule::findLoop(Role role) const {
  const auto *it = llvm::find_if(
      loops, [&](const PlanLoop &loop) { return loop.role == role; });
  return it == loops.end() ? nullptr : it;
}

int64_t NestSchedule::countRuns(Role role) const {
  int64_t runs = countSteps(getInner(role));
  for (const PlanLoop &loop : loops)
    if (loop.role == role)
      runs = multiply(runs, loop.step);
  return runs;
}

void tessera::addSteps(llvm::SmallVectorImpl<int64_t> &offsets, int64_t stride,
                       int64_t count) {
  size_t size = offsets.size();
  for (int64_t i = 1; i < count; ++i)
    for (size_t k = 0; k < size; ++k)
      offsets.push_back(offsets[k] + i * stride);
}

llvm::SmallVector<int64_t, 64>
NestSchedule::getOffsets(Role role, bool inSource,
                         std::optional<int64_t> steps) const {
  llvm::SmallVector<int64_t, 64> offsets = {0};
  for (const PlanLoop &loop : getInner(role))
    addSteps(offsets, loop.getStride(inSource), loop.count);
  for (const PlanLoop &loop : loops)
    if (loop.role == role)
      addSteps(offsets, loop.getStride(inSource), steps.value_or(loop.step));
  return offsets;
}

int64_t tessera::countWords(llvm::ArrayRef<int64_t> rows, int64_t width,
                            int64_t runElements) {
  if (width < 2 || !llvm::isPowerOf2_64(width))
    return 1;
  size_t row = width;
  while (row < rows.size() &&
         rows[row] == rows[row - width] + width * runElements)
    ++row;
  return std::max<int64_t>(row / width, 1);
}

int64_t NestSchedule::panelColumns() const {
  int64_t runs = countSteps(columns);
  for (const PlanLoop &loop : loops)
    runs = multiply(runs, loop.role == Role::SrcContiguous ? loop.count : 1);
  return runs;
}

int64_t NestSchedule::packedRun() const {
  auto isRun = [&](size_t length) {
    for (size_t i = 0; i < packedBytes.size(); ++i)
      if (i % length != 0 && packedBytes[i].dstOffset !=
                                 packedBytes[i - 1].dstOffset + runElements)
        return false;
    return packedBytes.size() % length == 0;
  };
  size_t length = numPackedBytes();
  while (!isRun(length))
    --length;
  return length;
}

int64_t NestSchedule::columnPitch() const {
  const PlanLoop *column = findInnermost(Role::SrcContiguous);
  bool isSpread = is<TransposeKernel>() && !packedBytes.empty() && column;
  return isSpread ? column->srcStride / runElements : 1;
}

int64_t NestSchedule::shiftStride() const {
  const PlanLoop *row = findInnermost(Role::DstContiguous);
  return row ? row->srcStride : 0;
}

int64_t NestSchedule::numBlockElements() const {
  // Padding lies behind each column that is interleaved; else a block is one
  // run.
  int64_t rowElements =
      multiply(blockRows(), multiply(numPackedBytes(), runElements));
  if (is<InterleaveKernel>())
    return multiply(add(rowElements, padding()), blockColumns());
  return add(multiply(rowElements, blockColumns()), padding());
}

int64_t NestSchedule::numElements() const {
  int64_t elements =
      multiply(multiply(runElements, numPackedBytes()), countSteps(rows));
  // Rows that are interleaved are all within a block.
  bool isInterleave = is<InterleaveKernel>();
  elements = multiply(add(elements, isInterleave ? padding() : 0),
                      countSteps(columns));
  return multiply(add(elements, isInterleave ? 0 : padding()),
                  countSteps(loops));
}

bool NestSchedule::isWholeLines(int64_t run, int64_t elementBytes,
                                llvm::ArrayRef<PlanLoop> inner,
                                bool isDense) const {
  // A line is a power of two, so that products may wrap.
  uint64_t line = RelayoutTarget::kLineBytes, bytes = elementBytes;
  auto isWhole = [&](uint64_t elements) {
    return elements * bytes % line == 0;
  };
  bool result = isWhole(run) && (shiftsRows || isWhole(dstOffset));
  for (const PlanLoop &loop : loops) {
    // Of rows that are shifted, each step of an outer loop has its own first.
    if (shiftsRows && loop.role == Role::Outer)
      continue;
    bool isBlock = loop.role != Role::SrcContiguous || isDense;
    uint64_t stride = loop.dstStride;
    result &= isWhole(isBlock ? stride * loop.step : stride);
  }
  for (const PlanLoop &loop : inner)
    result &= isWhole(loop.dstStride);
  for (size_t i = 0; i < packedBytes.size(); i += packedRun())
    result &= isDense || isWhole(packedBytes[i].dstOffset);
  return result;
}

bool NestSchedule::isOnLines(int64_t elementBytes) const {
  int64_t run = multiply(blockRows(), runElements);
  if (stores() != StoreKind::Staged || packsPanels())
    return false;
  if (is<InterleaveKernel>())
    return true;
  if (is<CopyKernel>())
    return blockRows() > 1 && isWholeLines(run, elementBytes);
  // Short columns that go on behind one another make one run of a block; long
  // ones are runs that find their lines themselves.
  const PlanLoop *column = findInnermost(Role::SrcContiguous);
  bool isDense = column && column->dstStride == run &&
                 multiply(run, elementBytes) <= kMaxDenseBytes;
  return isDense ? isWholeLines(numBlockElements(), elementBytes, {},
                                /*isDense=*/true)
                 : isWholeLines(run, elementBytes, columns);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {
/// The least and the greatest position that a side of a nest touches.
struct Reach {
  int64_t least = 0, greatest = 0;
  bool overflows = false;

  void add(int64_t distance) {
    int64_t &end = distance < 0 ? least : greatest;
    overflows |= llvm::AddOverflow(end, distance, end);
  }
  void addLoops(llvm::ArrayRef<PlanLoop> loops, bool inSource) {
    for (const PlanLoop &loop : loops) {
      int64_t distance = 0;
      overflows |= llvm::MulOverflow(std::max<int64_t>(loop.count - 1, 0),
                                     loop.getStride(inSource), distance);
      add(distance);
    }
  }
};

/// Checks one schedule, a few fields at a time. Each function says whether its
/// rules hold; the first one that does not is the error.
class Verifier {
public:
  Verifier(const NestSchedule &nest, int64_t bytes, llvm::Error &error)
      : nest(nest), bytes(bytes), error(error) {}

  bool verify(int64_t srcElements, int64_t dstElements) {
    return verifyRun() && verifyLoops() && verifyPackedBytes() &&
           verifyBuffer(/*isSource=*/false, dstElements) &&
           (nest.isFill() || verifyBuffer(/*isSource=*/true, srcElements)) &&
           verifyBlock() && verifyKernel();
  }

private:
  bool verifyRun() {
    return check(nest.runElements >= 1, "run", "1 or more elements",
                 nest.runElements) &&
           (nest.within.empty() || (verifyWithin(/*inSource=*/true) &&
                                    verifyWithin(/*inSource=*/false)));
  }

  /// Loops within a run have each of its elements once, on both sides.
  bool verifyWithin(bool inSource) {
    llvm::SmallVector<PlanLoop, 2> loops = nest.within;
    llvm::sort(loops, [&](const PlanLoop &a, const PlanLoop &b) {
      return a.getStride(inSource) < b.getStride(inSource);
    });
    int64_t next = 1;
    for (const PlanLoop &loop : loops) {
      int64_t stride = loop.getStride(inSource);
      bool isNext = stride == next && loop.count >= 1 &&
                    loop.count <= nest.runElements && next <= nest.runElements;
      if (!check(isNext, "loops within the run", "all of its elements once",
                 "stride " + llvm::Twine(stride)))
        return false;
      next = multiply(next, loop.count);
    }
    return check(next == nest.runElements, "loops within the run",
                 llvm::Twine(nest.runElements) + " elements", next);
  }

  bool verifyLoops() {
    if (!check(nest.numFused <= nest.loops.size(), "loops that are shared",
               "at most " + llvm::Twine(nest.loops.size()), nest.numFused))
      return false;
    for (auto [depth, loop] : llvm::enumerate(nest.loops))
      if (!verifyLoop(loop, depth))
        return false;
    auto isSingle = [&](Role role) {
      return llvm::count_if(nest.loops, [&](const PlanLoop &loop) {
               return loop.role == role;
             }) <= 1;
    };
    auto verifyAll = [&](llvm::ArrayRef<PlanLoop> loops) {
      return llvm::all_of(
          loops, [&](const PlanLoop &loop) { return verifyInner(loop); });
    };
    return check(isSingle(Role::DstContiguous) && isSingle(Role::SrcContiguous),
                 "block", "one loop that continues its rows, or its columns",
                 "several") &&
           verifyAll(nest.rows) && verifyAll(nest.columns);
  }

  bool verifyLoop(const PlanLoop &loop, size_t depth) {
    int64_t most =
        loop.role == Role::Outer ? 1 : std::max<int64_t>(loop.count, 1);
    return check(loop.count >= 0, "loop", "0 or more steps", loop.count) &&
           check(loop.step >= 1 && loop.step <= most, "steps of a block",
                 "1 to " + llvm::Twine(most), loop.step) &&
           check(!loop.isEnds || loop.count == 2, "loop over ends", "2 steps",
                 loop.count) &&
           check(!loop.isParallel || depth == 0, "parallel loop",
                 "the outermost one", "number " + llvm::Twine(depth)) &&
           check(depth >= nest.numFused || loop.role == Role::Outer,
                 "loop that is shared", "one around blocks", "one of a block");
  }

  bool verifyInner(const PlanLoop &loop) {
    return check(loop.count >= 1 && loop.count <= kMaxBlockRuns,
                 "loop of a block", "1 to 2^20 steps", loop.count);
  }

  bool verifyBlock() {
    int64_t runs = 0;
    bool isTooLarge =
        llvm::MulOverflow(nest.blockRows(), nest.blockColumns(), runs) ||
        runs > kMaxBlockRuns;
    const PlanLoop *row = nest.findInnermost(Role::DstContiguous);
    bool mayShift =
        nest.is<TransposeKernel>() && row && row->dstStride == nest.runElements;
    return check(!isTooLarge, "block", "at most 2^20 runs",
                 llvm::Twine(nest.blockRows()) + "x" +
                     llvm::Twine(nest.blockColumns())) &&
           check(nest.is<TransposeKernel>() || nest.within.empty(), "run",
                 "elements in one order", "loops within it") &&
           check(!nest.shiftsRows || mayShift, "rows that are shifted",
                 "neighbours in the destination", "none");
  }

  bool verifyPackedByte(const PackedBytes &packed) {
    if (!check(!packed.parts.empty() && packed.parts.size() <= kMaxParts,
               "packed byte", "1 to 8 parts", packed.parts.size()))
      return false;
    uint8_t taken = 0;
    for (const BytePart &part : packed.parts) {
      int from = llvm::countr_zero(part.mask) - part.shift;
      int to = 7 - llvm::countl_zero(part.mask) - part.shift;
      bool isPart =
          part.mask != 0 && from >= 0 && to <= 7 && !(taken & part.mask);
      if (!check(isPart, "part of a byte", "bits 0 to 7, each once",
                 "bits " + llvm::Twine(from) + " to " + llvm::Twine(to)))
        return false;
      taken |= part.mask;
    }
    return true;
  }

  bool verifyPackedBytes() {
    bool mayPack = nest.packedBytes.empty() || (bytes == 1 && !nest.isFill());
    return check(mayPack && nest.packedBytes.size() <= kMaxPackedBytes,
                 "packed bytes", "at most 16 of copied bytes",
                 nest.packedBytes.size()) &&
           check(nest.signedBits >= 0 && nest.signedBits <= 7, "sign",
                 "one of 0 to 7 bits", nest.signedBits) &&
           llvm::all_of(nest.packedBytes, [&](const PackedBytes &packed) {
             return verifyPackedByte(packed);
           });
  }

  /// Loops inside a block, and the one that continues them: each goes on where
  /// the one before ends, the first `stride` elements from run to run.
  bool verifyChain(Role role, int64_t stride) {
    bool isRow = role == Role::DstContiguous;
    auto chain = llvm::to_vector<2>(nest.getInner(role));
    if (const PlanLoop *loop = nest.findLoop(role))
      chain.push_back(*loop);
    for (const PlanLoop &loop : chain) {
      int64_t found = loop.getStride(/*inSource=*/!isRow);
      if (!check(found == stride, isRow ? "rows" : "columns",
                 llvm::Twine(stride) + " elements from one to the next", found))
        return false;
      stride = multiply(stride, loop.count);
    }
    return true;
  }

  bool verifyBuffer(bool isSource, int64_t elements) {
    // What has no steps touches nothing, but its figures have to fit all the
    // same.
    bool isEmpty = llvm::any_of(
        nest.loops, [](const PlanLoop &loop) { return loop.count == 0; });
    Reach reach;
    reach.addLoops(nest.loops, isSource);
    reach.addLoops(nest.rows, isSource);
    reach.addLoops(nest.columns, isSource);
    int64_t packed = 0;
    for (const PackedBytes &byte : nest.packedBytes) {
      packed = std::max(packed, isSource ? 0 : byte.dstOffset);
      for (const BytePart &part : byte.parts)
        packed = std::max(packed, isSource ? part.srcOffset : 0);
    }
    reach.add(packed);
    reach.add(nest.runElements - 1);
    reach.add(isSource ? 0 : nest.padding());
    int64_t offset = isSource ? nest.srcOffset : nest.dstOffset, end = 0;
    reach.overflows |=
        llvm::AddOverflow(reach.least, offset, reach.least) ||
        llvm::AddOverflow(reach.greatest, offset, reach.greatest) ||
        llvm::AddOverflow(reach.greatest, int64_t(1), end) ||
        llvm::MulOverflow(end, bytes, end);
    bool isInside =
        !reach.overflows &&
        (isEmpty || (reach.least >= 0 && reach.greatest < elements));
    return check(isInside, isSource ? "source" : "destination",
                 "elements 0 to " + llvm::Twine(elements - 1),
                 reach.overflows ? llvm::Twine("more than 2^63 bytes")
                                 : llvm::Twine(reach.least) + " to " +
                                       llvm::Twine(reach.greatest));
  }

  bool verifyKernel() {
    if (const auto *copy = nest.get<CopyKernel>())
      return verifyCopy(*copy);
    if (const auto *transpose = nest.get<TransposeKernel>())
      return verifyTranspose(*transpose);
    if (const auto *interleave = nest.get<InterleaveKernel>())
      return verifyInterleave(*interleave);
    if (nest.is<DeinterleaveKernel>())
      return verifyDeinterleave();
    if (nest.is<MergeKernel>() || nest.is<FillBitsKernel>())
      return verifyBits();
    return verifyNoBlock();
  }

  bool verifyCopy(const CopyKernel &copy) {
    bool isRagged = mayStore({StoreKind::Staged, StoreKind::Carried});
    bool continues = llvm::any_of(nest.loops, [&](const PlanLoop &loop) {
      return loop.dstStride == nest.runElements && loop.step == 1;
    });
    if (!check(nest.blockColumns() == 1, "block", "runs in one column",
               llvm::Twine(nest.blockColumns()) + " columns") ||
        !check(copy.padding == 0 || (copy.padding > 0 && !isRagged), "padding",
               "none behind runs with ragged ends", copy.padding))
      return false;
    if (copy.stores == StoreKind::Staged)
      return verifyChain(Role::DstContiguous, nest.runElements);
    return check(copy.stores != StoreKind::Carried ||
                     (continues && runBytes() >= RelayoutTarget::kLineBytes),
                 "runs that are carried",
                 "at least a line that continue one another",
                 llvm::Twine(runBytes()) + " bytes") &&
           verifyLines(nest.runElements + copy.padding, {});
  }

  bool verifyTranspose(const TransposeKernel &transpose) {
    int64_t run = multiply(nest.runElements, nest.packedRun());
    int64_t pitch = nest.runElements * nest.columnPitch();
    return check(runBytes() <= kLaneBytes && llvm::isPowerOf2_64(runBytes()),
                 "run", "a power of two of at most 16 bytes",
                 llvm::Twine(runBytes()) + " bytes") &&
           verifyChain(Role::DstContiguous, run) &&
           verifyChain(Role::SrcContiguous, pitch) &&
           (nest.packedBytes.empty() ||
            verifyUnbuffered("stores of packed bytes")) &&
           (transpose.rows != TransposeKernel::Rows::Gathered ||
            verifyUnbuffered("stores of rows that are gathered")) &&
           (!nest.packsPanels() || verifyPanels(transpose)) &&
           (transpose.stores == StoreKind::Carried
                ? verifyCarried()
                : verifyLines(multiply(nest.blockRows(), run), nest.columns));
  }

  /// All that is within a panel are columns; rows are one loop.
  bool verifyPanels(const TransposeKernel &transpose) {
    const PlanLoop *column = nest.findLoop(Role::SrcContiguous);
    bool isInside = !column || column == &nest.loops.back();
    size_t numRows =
        nest.rows.size() + (nest.findLoop(Role::DstContiguous) ? 1 : 0);
    return check(isInside && numRows == 1 && nest.packedBytes.empty(), "panels",
                 "one loop of rows, and that of columns inside", "others") &&
           check(mayStore({StoreKind::Nontemporal, StoreKind::Staged}),
                 "stores of panels", "nontemporal", "others");
  }

  /// Panels hand on lines, at the same positions of each.
  bool verifyCarried() {
    const PlanLoop *panels = nest.findLoop(Role::DstContiguous);
    const PlanLoop *column = nest.findLoop(Role::SrcContiguous);
    bool isSteady = panels && panels->count >= panels->step &&
                    (!column || column->count % column->step == 0);
    // A line is a power of two, so that products may wrap.
    auto isWholeLine = [&](const PlanLoop &loop) {
      uint64_t stride = loop.dstStride, step = loop.step;
      return stride * step * bytes % RelayoutTarget::kLineBytes == 0;
    };
    for (const PlanLoop &loop : nest.loops)
      isSteady &=
          (nest.shiftsRows && loop.role == Role::Outer) || isWholeLine(loop);
    return check(isSteady, "panels that are carried",
                 "blocks at the same positions of lines", "others");
  }

  bool verifyInterleave(const InterleaveKernel &interleave) {
    const PlanLoop *column = nest.findInnermost(Role::SrcContiguous);
    int64_t width = multiply(nest.blockRows(),
                             multiply(nest.numPackedBytes(), nest.runElements));
    width = interleave.padding < 0 ? width : add(width, interleave.padding);
    bool isBehind = column && !nest.findLoop(Role::DstContiguous) &&
                    interleave.padding >= 0 && width <= column->dstStride;
    return verifyChain(Role::SrcContiguous, nest.runElements) &&
           check(isBehind, "columns",
                 "one behind another, of " + llvm::Twine(width) + " elements",
                 column ? llvm::Twine(column->dstStride) + " apart"
                        : llvm::Twine("none")) &&
           check(interleave.stores != StoreKind::Carried, "stores",
                 "plain, nontemporal or staged", "carried") &&
           verifyLines(nest.numBlockElements(), {}, /*isDense=*/true);
  }

  bool verifyDeinterleave() {
    return verifyChain(Role::DstContiguous, nest.runElements) &&
           check(!nest.findLoop(Role::SrcContiguous), "columns",
                 "all of them in a block", "a loop of them") &&
           verifyUnbuffered("stores") &&
           verifyLines(multiply(nest.blockRows(), nest.runElements),
                       nest.columns);
  }

  bool verifyBits() {
    return check(bytes == 1 && nest.mask() != 0, "bits", "some of single bytes",
                 "bytes of " + llvm::Twine(8 * bytes) + " bits") &&
           verifyNoBlock();
  }

  bool verifyNoBlock() {
    return check(
        nest.blockRows() * nest.blockColumns() == 1, "block", "1x1 runs",
        llvm::Twine(nest.blockRows()) + "x" + llvm::Twine(nest.blockColumns()));
  }

  bool verifyUnbuffered(const llvm::Twine &field) {
    return check(mayStore({StoreKind::Plain, StoreKind::Nontemporal}), field,
                 "plain or nontemporal", "others");
  }

  bool verifyLines(int64_t run, llvm::ArrayRef<PlanLoop> inner,
                   bool isDense = false) {
    return check(!mayStore(StoreKind::Nontemporal) ||
                     nest.isWholeLines(run, bytes, inner, isDense),
                 "nontemporal runs", "whole lines of 64 bytes",
                 llvm::Twine(multiply(run, bytes)) + " bytes");
  }

  /// One rule: what is expected of a field, and what was found.
  bool check(bool holds, const llvm::Twine &field, const llvm::Twine &expected,
             const llvm::Twine &found) {
    llvm::StringRef article =
        nest.is<InterleaveKernel>() ? " of an " : " of a ";
    if (!holds)
      error = invalidError("", field + article + nest.getKernelName(), expected,
                           found);
    return holds;
  }
  bool check(bool holds, const llvm::Twine &field, const llvm::Twine &expected,
             int64_t found) {
    return check(holds, field, expected, llvm::Twine(found));
  }
  int64_t runBytes() const { return nest.runElements * bytes; }
  bool mayStore(llvm::ArrayRef<StoreKind> kinds) const {
    return llvm::is_contained(kinds, nest.stores());
  }

  const NestSchedule &nest;
  int64_t bytes;
  llvm::Error &error;
};
} // namespace
llvm::Error NestSchedule::verify(int64_t elementBytes, int64_t srcElements,
                                 int64_t dstElements) const {
  llvm::Error error = llvm::Error::success();
  llvm::ErrorAsOutParameter mayBeSet(error);
  Verifier(*this, elementBytes, error).verify(srcElements, dstElements);
  return error;
}
