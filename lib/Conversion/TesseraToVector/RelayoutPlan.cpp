//===- RelayoutPlan.cpp - How to copy one layout into another -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "NestPlanner.h"
#include "ParallelizeNests.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

/// Registers that all processors have.
static constexpr int64_t kMinVectorBytes = 16;
/// The time that a plan takes grows with the third power of the axes.
static constexpr size_t kMaxAxes = 512;
/// One in so many nontemporal stores may go through the cache for shorter code.
static constexpr int64_t kMaxLost = 16;

bool RelayoutTuning::isRule() const {
  bool isRule = true;
  visit(*this, [&](llvm::StringRef, const auto &choice) {
    isRule &= !choice.has_value();
  });
  return isRule;
}

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

static int64_t countRuns(llvm::ArrayRef<PlanLoop> inner,
                         llvm::ArrayRef<PlanLoop> loops, PlanLoop::Role role) {
  int64_t runs = 1;
  for (const PlanLoop &loop : inner)
    runs *= loop.count;
  for (const PlanLoop &loop : loops)
    if (loop.role == role)
      runs *= loop.step;
  return runs;
}

int64_t PlanNest::blockRows() const {
  return countRuns(rows, loops, PlanLoop::Role::DstContiguous);
}

int64_t PlanNest::blockColumns() const {
  return countRuns(columns, loops, PlanLoop::Role::SrcContiguous);
}

llvm::SmallVector<int64_t, 64>
PlanNest::getOffsets(PlanLoop::Role role, bool inSource,
                     std::optional<int64_t> steps) const {
  llvm::SmallVector<int64_t, 64> offsets = {0};
  auto addLoop = [&](const PlanLoop &loop, int64_t count) {
    int64_t stride = inSource ? loop.srcStride : loop.dstStride;
    size_t size = offsets.size();
    for (int64_t i = 1; i < count; ++i)
      for (size_t k = 0; k < size; ++k)
        offsets.push_back(offsets[k] + i * stride);
  };
  for (const PlanLoop &loop :
       role == PlanLoop::Role::DstContiguous ? rows : columns)
    addLoop(loop, loop.count);
  for (const PlanLoop &loop : loops)
    if (loop.role == role)
      addLoop(loop, steps.value_or(loop.step));
  return offsets;
}

int64_t PlanNest::panelColumns() const {
  int64_t runs = 1;
  for (const PlanLoop &loop : columns)
    runs *= loop.count;
  for (const PlanLoop &loop : loops)
    runs *= loop.role == PlanLoop::Role::SrcContiguous ? loop.count : 1;
  return runs;
}

int64_t PlanNest::packedRun() const {
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

int64_t PlanNest::numBlockElements() const {
  // Padding lies behind each column that is interleaved; else a block is one
  // run.
  int64_t runs = numPackedBytes() * runElements;
  if (kernel == KernelKind::Interleave)
    return (blockRows() * runs + padding) * blockColumns();
  return blockRows() * blockColumns() * runs + padding;
}

int64_t PlanNest::numElements() const {
  int64_t elements = runElements * numPackedBytes();
  for (const PlanLoop &loop : rows)
    elements *= loop.count;
  // Rows that are interleaved are all within a block.
  bool isInterleave = kernel == KernelKind::Interleave;
  elements += isInterleave ? padding : 0;
  for (const PlanLoop &loop : columns)
    elements *= loop.count;
  elements += isInterleave ? 0 : padding;
  for (const PlanLoop &loop : loops)
    elements *= loop.count;
  return elements;
}

bool RelayoutPlan::isNontemporal() const {
  return llvm::any_of(nests, [](const PlanNest &nest) {
    return nest.stores != StoreKind::Plain;
  });
}

bool RelayoutPlan::hasWholeLines() const {
  return llvm::any_of(nests, [](const PlanNest &nest) {
    return !nest.shiftStride &&
           (nest.isOnLines || nest.stores == StoreKind::Nontemporal);
  });
}

int64_t RelayoutPlan::getAlignment() const {
  if (!isNontemporal())
    return 1;
  if (isLineAligned)
    return RelayoutTarget::kLineBytes;
  int64_t elements = 1;
  for (const PlanNest &nest : nests)
    if (nest.shiftStride)
      elements = std::max(elements, nest.runElements);
  return elements * (elementBits / 8);
}

int64_t RelayoutPlan::numNontemporal() const {
  int64_t count = 0;
  for (const PlanNest &nest : nests)
    if (nest.stores != StoreKind::Plain)
      count += nest.numElements();
  return count;
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
    os << (loop.role == PlanLoop::Role::DstContiguous ? "  rows" : "  columns");
  if (loop.isEnds)
    os << "  ends";
  if (loop.isParallel)
    os << "  parallel";
  os << "\n";
}

/// The bits of the destination that each part gives, and where it lies.
static void printPackedBytes(const PackedBytes &packedBytes,
                             llvm::raw_ostream &os) {
  os << "byte " << packedBytes.dstOffset << " of ";
  llvm::ListSeparator separator;
  for (const BytePart &part : packedBytes.parts) {
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
  unsigned indent = 2 * nest.numFused;
  os.indent(indent) << (nest.numFused == 0 ? "nest" : "and");
  if (!isFill)
    os << " src " << nest.srcOffset;
  os << " dst " << nest.dstOffset << "\n";
  indent += 2;
  for (const PlanLoop &loop : llvm::drop_begin(nest.loops, nest.numFused)) {
    os.indent(indent) << "for ";
    printLoop(loop, os);
    indent += 2;
  }
  os.indent(indent) << getName(nest.kernel) << " " << nest.blockRows() << "x"
                    << nest.blockColumns() << " runs of " << nest.runElements;
  if (nest.padding)
    os << ", padding of " << nest.padding;
  if (nest.isPaddingBetween)
    os << ", padding kept";
  if (nest.stores == StoreKind::Nontemporal)
    os << ", nontemporal";
  if (nest.stores == StoreKind::Staged)
    os << ", staged and nontemporal";
  if (nest.stores == StoreKind::Carried)
    os << ", carried and nontemporal";
  if (nest.shiftStride)
    os << ", rows shifted";
  if (nest.gathersRows)
    os << ", rows gathered";
  if (nest.packsPanels)
    os << ", panels packed";
  if (nest.prefetch)
    os << ", prefetch " << nest.prefetch
       << (nest.kernel == KernelKind::Copy ? " bytes" : "") << " ahead"
       << (nest.prefetchesToL2 ? " to L2" : "");
  if (nest.mask != 0xFF)
    os << ", bits " << llvm::format_hex(nest.mask, 4);
  if (nest.columnPitch != 1)
    os << ", columns " << nest.columnPitch << " apart";
  if (nest.signedBits)
    os << ", sign of " << nest.signedBits << " bits";
  os << "\n";
  for (const PackedBytes &packedBytes : nest.packedBytes)
    printPackedBytes(packedBytes, os.indent(indent + 2));
  for (const PlanLoop &loop : nest.within)
    printLoop(loop, os.indent(indent + 2) << "within ");
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

/// Whether a nest may run within the loops of another: two that merge bits of a
/// byte must not do so at once.
static bool mayFuseLoops(const PlanNest &nest) {
  return nest.kernel != KernelKind::Merge &&
         nest.kernel != KernelKind::FillBits;
}

/// Outermost loops that are the same for both nests. A fill reads nothing, so
/// that its strides in the source say nothing.
static size_t countFusedLoops(const PlanNest &first, const PlanNest &second) {
  bool isFill = second.kernel == KernelKind::Fill;
  size_t shared = 0;
  for (auto [a, c] : llvm::zip(first.loops, second.loops)) {
    bool isSame = a.role == Role::Outer && c.role == Role::Outer &&
                  a.count == c.count && a.dstStride == c.dstStride &&
                  (isFill || a.srcStride == c.srcStride) &&
                  a.isEnds == c.isEnds && (a.isParallel || !c.isParallel);
    if (!isSame)
      break;
    ++shared;
  }
  return shared;
}

/// Lets nests share the loops that they have in common with the nest before.
static void fuseLoops(RelayoutPlan &plan) {
  for (size_t i = 1; i < plan.nests.size(); ++i) {
    PlanNest &nest = plan.nests[i], &before = plan.nests[i - 1];
    if (!mayFuseLoops(nest) || !mayFuseLoops(before))
      continue;
    nest.numFused = countFusedLoops(before, nest);
    // A fill takes the strides in the source too, for the nest after it.
    std::copy_n(before.loops.begin(), nest.numFused, nest.loops.begin());
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
                           bool mayUseNontemporal, bool isFill,
                           llvm::SmallVectorImpl<PlanNest> &nests) {
  NestPlanner planner(nest.strided, /*elementBytes=*/1, target,
                      mayUseNontemporal);
  if (nest.mask != 0xFF)
    nests.push_back(planner.planBits(nest, isFill));
  else if (!nest.packedBytes.empty())
    nests.push_back(planner.planPacked(nest));
  else
    nests.push_back(isFill ? planner.planFill() : planner.plan());
  llvm::append_range(nests, planner.getRemainders());
}

/// The plan for elements of less than a byte, on one side at least.
static llvm::Expected<RelayoutPlan>
planPacked(const PlanSide &src, const PlanSide &dst, const ElementBits &bits,
           bool fillPadding, const RelayoutTarget &target) {
  RelayoutPlan plan;
  plan.isLineAligned = target.isLineAligned;
  plan.elementBits = 8;
  plan.srcElements = llvm::divideCeil(src.axes.numAllocated(), 8 / bits.src);
  plan.dstElements = llvm::divideCeil(dst.axes.numAllocated(), 8 / bits.dst);
  bool mayUseNontemporal =
      target.hasNontemporalStores && target.tuning.nontemporal.value_or(true) &&
      countMoved(src, dst) / (8 / std::min(bits.src, bits.dst)) >=
          target.nontemporalBytes;
  auto add = [&](llvm::Expected<std::vector<StridedNest>> nests,
                 bool isFill) -> llvm::Error {
    if (!nests)
      return nests.takeError();
    auto packed = packNests(*nests, bits, isFill);
    if (!packed)
      return packed.takeError();
    size_t first = plan.nests.size();
    for (const PackedNest &nest : *packed)
      planPackedNest(nest, target, mayUseNontemporal && !isFill, isFill,
                     plan.nests);
    if (!isFill && bits.isSigned && bits.src < bits.dst)
      for (PlanNest &nest : llvm::drop_begin(plan.nests, first))
        nest.signedBits = bits.src;
    return llvm::Error::success();
  };
  if (llvm::Error error = add(splitElements(src, dst), /*isFill=*/false))
    return std::move(error);
  if (fillPadding)
    if (llvm::Error error = add(splitPadding(dst.axes), /*isFill=*/true))
      return std::move(error);
  parallelizeNests(plan, target);
  fuseLoops(plan);
  return plan;
}

static bool isPacked(int64_t bits) {
  return llvm::is_contained({1, 2, 4}, bits);
}

llvm::Expected<RelayoutPlan>
tessera::planRelayout(const PlanSide &src, const PlanSide &dst,
                      ElementBits bits, bool fillPadding,
                      const RelayoutTarget &target) {
  if (src.axes.size() > kMaxAxes || dst.axes.size() > kMaxAxes)
    return unsupportedError(
        "relayout plan", "at most " + llvm::Twine(kMaxAxes) + " axes",
        llvm::Twine(std::max(src.axes.size(), dst.axes.size())),
        "lower it with --tessera-lower-relayouts");
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
  llvm::Expected<std::vector<StridedNest>> copies = splitElements(src, dst);
  if (!copies)
    return copies.takeError();
  RelayoutPlan plan;
  plan.isLineAligned = target.isLineAligned;
  plan.elementBits = elementBits;
  plan.srcElements = src.axes.numAllocated();
  plan.dstElements = dst.axes.numAllocated();
  int64_t bytes = elementBits / 8;
  bool mayUseNontemporal =
      target.hasNontemporalStores && target.tuning.nontemporal.value_or(true) &&
      countMoved(src, dst) >= target.nontemporalBytes / bytes;
  std::vector<StridedNest> fills;
  // Kernels may write over padding, so it is computed even if it is not filled.
  if (fillPadding || dst.isWhole()) {
    llvm::Expected<std::vector<StridedNest>> padding = splitPadding(dst.axes);
    if (padding)
      fills = std::move(*padding);
    else if (fillPadding)
      return padding.takeError();
    else
      llvm::consumeError(padding.takeError());
  }
  for (const StridedNest &nest : *copies) {
    std::optional<RunPadding> padding = findPadding(nest, fills);
    NestPlanner planner(nest, bytes, target, mayUseNontemporal, padding,
                        fillPadding);
    plan.nests.push_back(planner.plan());
    if (padding && fillPadding) {
      // What the nest leaves is filled next, in the loops that both have.
      const StridedNest &fill = fills[padding->fill];
      if (!plan.nests.back().padding)
        plan.nests.push_back(
            NestPlanner(fill, bytes, target, false).planFill());
      fills.erase(fills.begin() + padding->fill);
    }
    llvm::append_range(plan.nests, planner.getRemainders());
  }
  if (!fillPadding)
    fills.clear();
  for (const StridedNest &nest : fills)
    plan.nests.push_back(NestPlanner(nest, bytes, target, false).planFill());
  parallelizeNests(plan, target);
  fuseLoops(plan);
  return plan;
}

llvm::Expected<std::vector<RelayoutVersion>>
tessera::planVersions(const PlanSide &src, const PlanSide &dst,
                      ElementBits bits, bool fillPadding,
                      const RelayoutTarget &target) {
  RelayoutTarget anyLine = target, anywhere = target;
  anyLine.isLineAligned = false;
  // Hardly ever wanted: short code.
  anywhere.hasNontemporalStores = false;
  anywhere.vectorBytes = kMinVectorBytes;
  std::vector<RelayoutVersion> versions;
  for (const RelayoutTarget &choice : {target, anyLine, anywhere}) {
    auto plan = planRelayout(src, dst, bits, fillPadding, choice);
    if (!plan)
      return plan.takeError();
    versions.push_back({choice, std::move(*plan)});
    if (versions.back().plan.getAlignment() == 1)
      break;
  }
  if (versions.size() > 1 && !versions[0].plan.hasWholeLines() &&
      versions[1].plan.numNontemporal() >=
          versions[0].plan.numNontemporal() / kMaxLost * (kMaxLost - 1))
    versions.erase(versions.begin());
  return versions;
}
