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

llvm::StringRef NestSchedule::getKernelName() const {
  static constexpr llvm::StringLiteral kNames[] = {
      "copy",         "gather", "transpose", "interleave",
      "deinterleave", "fill",   "merge",     "fill bits"};
  static_assert(std::size(kNames) == std::variant_size_v<NestKernel>);
  return kNames[kernel.index()];
}

StoreKind NestSchedule::stores() const {
  if (const auto *copy = get<CopyKernel>())
    return copy->stores;
  if (const auto *transpose = get<TransposeKernel>())
    return transpose->stores;
  if (const auto *interleave = get<InterleaveKernel>())
    return interleave->stores;
  if (const auto *deinterleave = get<DeinterleaveKernel>())
    return deinterleave->stores;
  return StoreKind::Plain;
}

int64_t NestSchedule::padding() const {
  if (const auto *copy = get<CopyKernel>())
    return copy->padding;
  if (const auto *interleave = get<InterleaveKernel>())
    return interleave->padding;
  return 0;
}

bool NestSchedule::packsPanels() const {
  const auto *transpose = get<TransposeKernel>();
  return transpose && transpose->rows == TransposeKernel::Rows::Panel;
}

uint8_t NestSchedule::mask() const {
  if (const auto *merge = get<MergeKernel>())
    return merge->mask;
  if (const auto *fill = get<FillBitsKernel>())
    return fill->mask;
  return 0xFF;
}

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

static int64_t countRuns(llvm::ArrayRef<PlanLoop> inner,
                         llvm::ArrayRef<PlanLoop> loops, Role role) {
  int64_t runs = 1;
  for (const PlanLoop &loop : inner)
    runs = multiply(runs, loop.count);
  for (const PlanLoop &loop : loops)
    if (loop.role == role)
      runs = multiply(runs, loop.step);
  return runs;
}

int64_t NestSchedule::blockRows() const {
  return countRuns(rows, loops, Role::DstContiguous);
}

int64_t NestSchedule::blockColumns() const {
  return countRuns(columns, loops, Role::SrcContiguous);
}

llvm::SmallVector<int64_t, 64>
NestSchedule::getOffsets(Role role, bool inSource,
                         std::optional<int64_t> steps) const {
  llvm::SmallVector<int64_t, 64> offsets = {0};
  auto addLoop = [&](const PlanLoop &loop, int64_t count) {
    int64_t stride = inSource ? loop.srcStride : loop.dstStride;
    size_t size = offsets.size();
    for (int64_t i = 1; i < count; ++i)
      for (size_t k = 0; k < size; ++k)
        offsets.push_back(offsets[k] + i * stride);
  };
  for (const PlanLoop &loop : role == Role::DstContiguous ? rows : columns)
    addLoop(loop, loop.count);
  for (const PlanLoop &loop : loops)
    if (loop.role == role)
      addLoop(loop, steps.value_or(loop.step));
  return offsets;
}

int64_t NestSchedule::panelColumns() const {
  int64_t runs = 1;
  for (const PlanLoop &loop : columns)
    runs *= loop.count;
  for (const PlanLoop &loop : loops)
    runs *= loop.role == Role::SrcContiguous ? loop.count : 1;
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

/// The innermost loop of a block's rows or columns; null if there is none.
static const PlanLoop *getInnermost(llvm::ArrayRef<PlanLoop> inner,
                                    llvm::ArrayRef<PlanLoop> loops, Role role) {
  if (!inner.empty())
    return &inner.front();
  const auto *it = llvm::find_if(
      loops, [&](const PlanLoop &loop) { return loop.role == role; });
  return it == loops.end() ? nullptr : it;
}

int64_t NestSchedule::columnPitch() const {
  const PlanLoop *column = getInnermost(columns, loops, Role::SrcContiguous);
  bool isSpread = is<TransposeKernel>() && !packedBytes.empty() && column;
  return isSpread ? column->srcStride / runElements : 1;
}

int64_t NestSchedule::shiftStride() const {
  const PlanLoop *row = getInnermost(rows, loops, Role::DstContiguous);
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
  int64_t elements = multiply(runElements, numPackedBytes());
  for (const PlanLoop &loop : rows)
    elements = multiply(elements, loop.count);
  // Rows that are interleaved are all within a block.
  bool isInterleave = is<InterleaveKernel>();
  elements = add(elements, isInterleave ? padding() : 0);
  for (const PlanLoop &loop : columns)
    elements = multiply(elements, loop.count);
  elements = add(elements, isInterleave ? 0 : padding());
  for (const PlanLoop &loop : loops)
    elements = multiply(elements, loop.count);
  return elements;
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
  const PlanLoop *column = getInnermost(columns, loops, Role::SrcContiguous);
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
/// Checks one schedule, a few fields at a time.
class Verifier {
public:
  Verifier(const NestSchedule &nest, int64_t bytes)
      : nest(nest), bytes(bytes) {}

  llvm::Error verify(int64_t srcElements, int64_t dstElements);

private:
  llvm::Error verifyRun();
  llvm::Error verifyLoops();
  llvm::Error verifyLoop(const PlanLoop &loop, size_t depth);
  llvm::Error verifyBlock();
  llvm::Error verifyPackedBytes();
  /// Loops inside a block, and the one that continues them: each goes on where
  /// the one before ends, the first `stride` elements from run to run.
  llvm::Error verifyChain(Role role, int64_t stride);
  llvm::Error verifyBuffer(bool isSource, int64_t elements);
  llvm::Error verifyKernel();
  llvm::Error verifyCopy(const CopyKernel &copy);
  llvm::Error verifyTranspose(const TransposeKernel &transpose);
  llvm::Error verifyPanels(const TransposeKernel &transpose);
  llvm::Error verifyCarried();
  llvm::Error verifyInterleave(const InterleaveKernel &interleave);
  llvm::Error verifyDeinterleave(const DeinterleaveKernel &deinterleave);
  llvm::Error verifyBits();
  llvm::Error verifyNoBlock();
  llvm::Error verifyLines(int64_t run, llvm::ArrayRef<PlanLoop> inner,
                          bool isDense = false);

  llvm::Error invalid(const llvm::Twine &field, const llvm::Twine &expected,
                      const llvm::Twine &found) {
    llvm::StringRef article =
        nest.is<InterleaveKernel>() ? " of an " : " of a ";
    return invalidError("", field + article + nest.getKernelName(), expected,
                        found);
  }
  int64_t runBytes() const { return nest.runElements * bytes; }
  const PlanLoop *findLoop(Role role) const {
    const auto *it = llvm::find_if(
        nest.loops, [&](const PlanLoop &loop) { return loop.role == role; });
    return it == nest.loops.end() ? nullptr : it;
  }

  const NestSchedule &nest;
  int64_t bytes;
};
} // namespace

llvm::Error Verifier::verify(int64_t srcElements, int64_t dstElements) {
  if (llvm::Error error = verifyRun())
    return error;
  if (llvm::Error error = verifyLoops())
    return error;
  if (llvm::Error error = verifyPackedBytes())
    return error;
  if (llvm::Error error = verifyBuffer(/*isSource=*/false, dstElements))
    return error;
  if (!nest.isFill())
    if (llvm::Error error = verifyBuffer(/*isSource=*/true, srcElements))
      return error;
  if (llvm::Error error = verifyBlock())
    return error;
  return verifyKernel();
}

llvm::Error Verifier::verifyRun() {
  if (nest.runElements < 1)
    return invalid("run", "1 or more elements", llvm::Twine(nest.runElements));
  if (nest.within.empty())
    return llvm::Error::success();
  // Loops within a run have each of its elements once, on both sides.
  for (bool inSource : {true, false}) {
    llvm::SmallVector<PlanLoop, 2> loops = nest.within;
    auto getStride = [&](const PlanLoop &loop) {
      return inSource ? loop.srcStride : loop.dstStride;
    };
    llvm::sort(loops, [&](const PlanLoop &a, const PlanLoop &b) {
      return getStride(a) < getStride(b);
    });
    int64_t next = 1;
    for (const PlanLoop &loop : loops) {
      if (getStride(loop) != next || loop.count < 1 ||
          loop.count > nest.runElements || next > nest.runElements)
        return invalid("loops within the run", "all of its elements once",
                       "stride " + llvm::Twine(getStride(loop)));
      next = multiply(next, loop.count);
    }
    if (next != nest.runElements)
      return invalid("loops within the run",
                     llvm::Twine(nest.runElements) + " elements",
                     llvm::Twine(next));
  }
  return llvm::Error::success();
}

llvm::Error Verifier::verifyLoop(const PlanLoop &loop, size_t depth) {
  if (loop.count < 0)
    return invalid("loop", "0 or more steps", llvm::Twine(loop.count));
  int64_t most =
      loop.role == Role::Outer ? 1 : std::max<int64_t>(loop.count, 1);
  if (loop.step < 1 || loop.step > most)
    return invalid("steps of a block", "1 to " + llvm::Twine(most),
                   llvm::Twine(loop.step));
  if (loop.isEnds && loop.count != 2)
    return invalid("loop over ends", "2 steps", llvm::Twine(loop.count));
  if (loop.isParallel && depth > 0)
    return invalid("parallel loop", "the outermost one",
                   "number " + llvm::Twine(depth));
  if (depth < nest.numFused && loop.role != Role::Outer)
    return invalid("loop that is shared", "one around blocks",
                   "one of a block");
  return llvm::Error::success();
}

llvm::Error Verifier::verifyLoops() {
  if (nest.numFused > nest.loops.size())
    return invalid("loops that are shared",
                   "at most " + llvm::Twine(nest.loops.size()),
                   llvm::Twine(nest.numFused));
  for (auto [depth, loop] : llvm::enumerate(nest.loops))
    if (llvm::Error error = verifyLoop(loop, depth))
      return error;
  for (Role role : {Role::DstContiguous, Role::SrcContiguous})
    if (llvm::count_if(nest.loops, [&](const PlanLoop &loop) {
          return loop.role == role;
        }) > 1)
      return invalid("block",
                     "one loop that continues its rows, or its columns",
                     "several");
  for (const auto &inner : {nest.rows, nest.columns})
    for (const PlanLoop &loop : inner)
      if (loop.count < 1 || loop.count > kMaxBlockRuns)
        return invalid("loop of a block", "1 to 2^20 steps",
                       llvm::Twine(loop.count));
  return llvm::Error::success();
}

llvm::Error Verifier::verifyPackedBytes() {
  bool mayPack = nest.packedBytes.empty() || (bytes == 1 && !nest.isFill());
  if (!mayPack || nest.packedBytes.size() > kMaxPackedBytes)
    return invalid("packed bytes", "at most 16 of copied bytes",
                   llvm::Twine(nest.packedBytes.size()));
  if (nest.signedBits < 0 || nest.signedBits > 7)
    return invalid("sign", "one of 0 to 7 bits", llvm::Twine(nest.signedBits));
  for (const PackedBytes &packed : nest.packedBytes) {
    if (packed.parts.empty() || packed.parts.size() > kMaxParts)
      return invalid("packed byte", "1 to 8 parts",
                     llvm::Twine(packed.parts.size()));
    uint8_t taken = 0;
    for (const BytePart &part : packed.parts) {
      int from = llvm::countr_zero(part.mask) - part.shift;
      int to = 7 - llvm::countl_zero(part.mask) - part.shift;
      if (part.mask == 0 || from < 0 || to > 7 || (taken & part.mask))
        return invalid("part of a byte", "bits 0 to 7, each once",
                       "bits " + llvm::Twine(from) + " to " + llvm::Twine(to));
      taken |= part.mask;
    }
  }
  return llvm::Error::success();
}

namespace {
/// The least and the greatest position that a side of a nest touches.
struct Reach {
  int64_t least = 0, greatest = 0;
  bool overflows = false;

  void add(int64_t distance) {
    int64_t &end = distance < 0 ? least : greatest;
    overflows |= llvm::AddOverflow(end, distance, end);
  }
  void addLoop(int64_t count, int64_t stride) {
    int64_t distance = 0;
    overflows |=
        llvm::MulOverflow(std::max<int64_t>(count - 1, 0), stride, distance);
    add(distance);
  }
};
} // namespace

llvm::Error Verifier::verifyBuffer(bool isSource, int64_t elements) {
  // What has no steps touches nothing, but its figures have to fit all the
  // same.
  bool isEmpty = llvm::any_of(
      nest.loops, [](const PlanLoop &loop) { return loop.count == 0; });
  Reach reach;
  for (llvm::ArrayRef<PlanLoop> loops :
       {llvm::ArrayRef<PlanLoop>(nest.loops), llvm::ArrayRef(nest.rows),
        llvm::ArrayRef(nest.columns)})
    for (const PlanLoop &loop : loops)
      reach.addLoop(loop.count, isSource ? loop.srcStride : loop.dstStride);
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
  bool isInside = !reach.overflows &&
                  (isEmpty || (reach.least >= 0 && reach.greatest < elements));
  if (isInside)
    return llvm::Error::success();
  return invalid(isSource ? "source" : "destination",
                 "elements 0 to " + llvm::Twine(elements - 1),
                 reach.overflows ? llvm::Twine("more than 2^63 bytes")
                                 : llvm::Twine(reach.least) + " to " +
                                       llvm::Twine(reach.greatest));
}

llvm::Error Verifier::verifyBlock() {
  int64_t runs = 0;
  if (llvm::MulOverflow(nest.blockRows(), nest.blockColumns(), runs) ||
      runs > kMaxBlockRuns)
    return invalid("block", "at most 2^20 runs",
                   llvm::Twine(nest.blockRows()) + "x" +
                       llvm::Twine(nest.blockColumns()));
  if (!nest.is<TransposeKernel>() && !nest.within.empty())
    return invalid("run", "elements in one order", "loops within it");
  if (!nest.shiftsRows)
    return llvm::Error::success();
  const PlanLoop *row =
      getInnermost(nest.rows, nest.loops, Role::DstContiguous);
  if (!nest.is<TransposeKernel>() || !row || row->dstStride != nest.runElements)
    return invalid("rows that are shifted", "neighbours in the destination",
                   "none");
  return llvm::Error::success();
}

llvm::Error Verifier::verifyChain(Role role, int64_t stride) {
  bool isRow = role == Role::DstContiguous;
  llvm::SmallVector<PlanLoop, 2> chain = isRow ? nest.rows : nest.columns;
  if (const PlanLoop *loop = findLoop(role))
    chain.push_back(*loop);
  for (const PlanLoop &loop : chain) {
    int64_t found = isRow ? loop.dstStride : loop.srcStride;
    if (found != stride)
      return invalid(isRow ? "rows" : "columns",
                     llvm::Twine(stride) + " elements from one to the next",
                     llvm::Twine(found));
    stride = multiply(stride, loop.count);
  }
  return llvm::Error::success();
}

llvm::Error Verifier::verifyLines(int64_t run, llvm::ArrayRef<PlanLoop> inner,
                                  bool isDense) {
  if (nest.stores() != StoreKind::Nontemporal ||
      nest.isWholeLines(run, bytes, inner, isDense))
    return llvm::Error::success();
  return invalid("nontemporal runs", "whole lines of 64 bytes",
                 llvm::Twine(multiply(run, bytes)) + " bytes");
}

llvm::Error Verifier::verifyNoBlock() {
  if (nest.blockRows() * nest.blockColumns() == 1)
    return llvm::Error::success();
  return invalid("block", "1x1 runs",
                 llvm::Twine(nest.blockRows()) + "x" +
                     llvm::Twine(nest.blockColumns()));
}

llvm::Error Verifier::verifyCopy(const CopyKernel &copy) {
  if (nest.blockColumns() != 1)
    return invalid("block", "runs in one column",
                   llvm::Twine(nest.blockColumns()) + " columns");
  if (copy.padding < 0 || (copy.padding && (copy.stores == StoreKind::Staged ||
                                            copy.stores == StoreKind::Carried)))
    return invalid("padding", "none behind runs with ragged ends",
                   llvm::Twine(copy.padding));
  if (copy.stores == StoreKind::Staged)
    return verifyChain(Role::DstContiguous, nest.runElements);
  if (copy.stores == StoreKind::Carried) {
    bool continues = llvm::any_of(nest.loops, [&](const PlanLoop &loop) {
      return loop.dstStride == nest.runElements && loop.step == 1;
    });
    if (!continues || runBytes() < RelayoutTarget::kLineBytes)
      return invalid("runs that are carried",
                     "at least a line that continue one another",
                     llvm::Twine(runBytes()) + " bytes");
  }
  return verifyLines(nest.runElements + copy.padding, {});
}

llvm::Error Verifier::verifyTranspose(const TransposeKernel &transpose) {
  if (runBytes() > kLaneBytes || !llvm::isPowerOf2_64(runBytes()))
    return invalid("run", "a power of two of at most 16 bytes",
                   llvm::Twine(runBytes()) + " bytes");
  int64_t run = multiply(nest.runElements, nest.packedRun());
  if (llvm::Error error = verifyChain(Role::DstContiguous, run))
    return error;
  int64_t pitch = nest.runElements * nest.columnPitch();
  if (llvm::Error error = verifyChain(Role::SrcContiguous, pitch))
    return error;
  if (!nest.packedBytes.empty() && transpose.stores != StoreKind::Plain &&
      transpose.stores != StoreKind::Nontemporal)
    return invalid("stores of packed bytes", "plain or nontemporal", "others");
  if (transpose.rows == TransposeKernel::Rows::Gathered &&
      transpose.stores != StoreKind::Plain &&
      transpose.stores != StoreKind::Nontemporal)
    return invalid("stores of rows that are gathered", "plain or nontemporal",
                   "others");
  if (transpose.rows == TransposeKernel::Rows::Panel)
    if (llvm::Error error = verifyPanels(transpose))
      return error;
  if (transpose.stores == StoreKind::Carried)
    return verifyCarried();
  return verifyLines(multiply(nest.blockRows(), run), nest.columns);
}

/// All that is within a panel are columns; rows are one loop.
llvm::Error Verifier::verifyPanels(const TransposeKernel &transpose) {
  const PlanLoop *column = findLoop(Role::SrcContiguous);
  bool isInside = !column || column == &nest.loops.back();
  size_t numRows = nest.rows.size() + (findLoop(Role::DstContiguous) ? 1 : 0);
  if (!isInside || numRows != 1 || !nest.packedBytes.empty())
    return invalid("panels", "one loop of rows, and that of columns inside",
                   "others");
  if (transpose.stores != StoreKind::Nontemporal &&
      transpose.stores != StoreKind::Staged)
    return invalid("stores of panels", "nontemporal", "others");
  return llvm::Error::success();
}

/// Panels hand on lines, at the same positions of each.
llvm::Error Verifier::verifyCarried() {
  const PlanLoop *panels = findLoop(Role::DstContiguous);
  const PlanLoop *column = findLoop(Role::SrcContiguous);
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
  if (isSteady)
    return llvm::Error::success();
  return invalid("panels that are carried",
                 "blocks at the same positions of lines", "others");
}

llvm::Error Verifier::verifyInterleave(const InterleaveKernel &interleave) {
  if (llvm::Error error = verifyChain(Role::SrcContiguous, nest.runElements))
    return error;
  const PlanLoop *column =
      getInnermost(nest.columns, nest.loops, Role::SrcContiguous);
  int64_t width = multiply(nest.blockRows(),
                           multiply(nest.numPackedBytes(), nest.runElements));
  width = interleave.padding < 0 ? width : add(width, interleave.padding);
  if (!column || findLoop(Role::DstContiguous) || interleave.padding < 0 ||
      width > column->dstStride)
    return invalid("columns",
                   "one behind another, of " + llvm::Twine(width) + " elements",
                   column ? llvm::Twine(column->dstStride) + " apart"
                          : llvm::Twine("none"));
  if (interleave.stores == StoreKind::Carried)
    return invalid("stores", "plain, nontemporal or staged", "carried");
  return verifyLines(nest.numBlockElements(), {}, /*isDense=*/true);
}

llvm::Error
Verifier::verifyDeinterleave(const DeinterleaveKernel &deinterleave) {
  if (llvm::Error error = verifyChain(Role::DstContiguous, nest.runElements))
    return error;
  if (findLoop(Role::SrcContiguous))
    return invalid("columns", "all of them in a block", "a loop of them");
  if (deinterleave.stores != StoreKind::Plain &&
      deinterleave.stores != StoreKind::Nontemporal)
    return invalid("stores", "plain or nontemporal", "others");
  return verifyLines(multiply(nest.blockRows(), nest.runElements),
                     nest.columns);
}

llvm::Error Verifier::verifyBits() {
  if (bytes != 1 || nest.mask() == 0)
    return invalid("bits", "some of single bytes",
                   "bytes of " + llvm::Twine(8 * bytes) + " bits");
  return verifyNoBlock();
}

llvm::Error Verifier::verifyKernel() {
  if (const auto *copy = nest.get<CopyKernel>())
    return verifyCopy(*copy);
  if (const auto *transpose = nest.get<TransposeKernel>())
    return verifyTranspose(*transpose);
  if (const auto *interleave = nest.get<InterleaveKernel>())
    return verifyInterleave(*interleave);
  if (const auto *deinterleave = nest.get<DeinterleaveKernel>())
    return verifyDeinterleave(*deinterleave);
  if (nest.is<MergeKernel>() || nest.is<FillBitsKernel>())
    return verifyBits();
  return verifyNoBlock();
}

llvm::Error NestSchedule::verify(int64_t elementBytes, int64_t srcElements,
                                 int64_t dstElements) const {
  return Verifier(*this, elementBytes).verify(srcElements, dstElements);
}
