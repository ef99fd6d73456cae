//===- RelayoutPlan.cpp - How to copy one layout into another -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "NestPlanner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace tessera;

/// Registers that all processors have.
static constexpr int64_t kMinVectorBytes = 16;
/// The time that a plan takes grows with the third power of the axes.
static constexpr size_t kMaxAxes = 512;
/// What the text of a plan says of a destination that may begin anywhere.
static constexpr llvm::StringLiteral kAnyPosition = ", to any position";
/// One in so many nontemporal stores may go through the cache for shorter code.
static constexpr int64_t kMaxLost = 16;

bool RelayoutTuning::isRule() const {
  bool isRule = true;
  visit(*this, [&](llvm::StringRef, const auto &choice) {
    isRule &= !choice.has_value();
  });
  return isRule;
}

bool RelayoutPlan::isNontemporal() const {
  return llvm::any_of(nests, [](const NestSchedule &nest) {
    return nest.stores() != StoreKind::Plain;
  });
}

bool RelayoutPlan::hasWholeLines() const {
  return llvm::any_of(nests, [&](const NestSchedule &nest) {
    return !nest.shiftsRows &&
           (nest.stores() == StoreKind::Nontemporal ||
            (isLineAligned && nest.isOnLines(elementBits / 8)));
  });
}

int64_t RelayoutPlan::getAlignment() const {
  if (!isNontemporal())
    return 1;
  if (isLineAligned)
    return RelayoutTarget::kLineBytes;
  int64_t elements = 1;
  for (const NestSchedule &nest : nests)
    if (nest.shiftsRows)
      elements = std::max(elements, nest.runElements);
  return elements * (elementBits / 8);
}

int64_t RelayoutPlan::numNontemporal() const {
  int64_t count = 0;
  for (const NestSchedule &nest : nests)
    if (nest.stores() != StoreKind::Plain)
      count += nest.numElements();
  return count;
}

bool RelayoutPlan::isReordered() const {
  return llvm::any_of(nests, [](const NestSchedule &nest) {
    return nest.is<TransposeKernel>() || nest.is<GatherKernel>();
  });
}

void RelayoutPlan::print(llvm::raw_ostream &os) const {
  os << "relayout of " << elementBits << "-bit elements, " << srcElements
     << " to " << dstElements << (isLineAligned ? "" : kAnyPosition) << "\n";
  for (const NestSchedule &nest : nests)
    nest.print(os);
}

void NestTrials::print(llvm::raw_ostream &os) const {
  os << "nest src " << srcOffset << " dst " << dstOffset << "\n";
  for (const PlanTrial &trial : trials)
    os << "  " << trial.name << ": " << (trial.isTaken ? "yes, " : "no, ")
       << trial.reason << "\n";
}

void RelayoutPlan::printTrials(llvm::raw_ostream &os) const {
  for (const NestTrials &nest : trials)
    nest.print(os);
}

/// The error of a first line that is none.
static llvm::Error makeHeaderError(llvm::StringRef header) {
  return invalidError("", "plan", "'relayout of N-bit elements, SIZE to SIZE'",
                      "'" + header + "'");
}

llvm::Expected<RelayoutPlan> RelayoutPlan::parse(llvm::StringRef text) {
  RelayoutPlan plan;
  auto [header, nests] = text.split('\n');
  llvm::StringRef rest = header;
  bool isHeader = rest.consume_front("relayout of ") &&
                  !rest.consumeInteger(10, plan.elementBits) &&
                  rest.consume_front("-bit elements, ") &&
                  !rest.consumeInteger(10, plan.srcElements) &&
                  rest.consume_front(" to ") &&
                  !rest.consumeInteger(10, plan.dstElements);
  plan.isLineAligned = !rest.consume_front(kAnyPosition);
  if (!isHeader || !rest.empty())
    return makeHeaderError(header);
  auto schedules = parseSchedules(nests);
  if (!schedules)
    return schedules.takeError();
  plan.nests.append(std::make_move_iterator(schedules->begin()),
                    std::make_move_iterator(schedules->end()));
  return plan;
}

llvm::Error RelayoutPlan::verify() const {
  if (!llvm::is_contained({8, 16, 32, 64, 128}, elementBits))
    return invalidError("", "plan", "elements of 8 to 128 bits",
                        llvm::Twine(elementBits) + " bits");
  for (const NestSchedule &nest : nests) {
    if (llvm::Error error =
            nest.verify(elementBits / 8, srcElements, dstElements))
      return error;
    if (nest.stores() == StoreKind::Nontemporal && !isLineAligned &&
        !nest.shiftsRows)
      return invalidError("", "nontemporal stores of a plan",
                          "lines that are known, or rows shifted",
                          "a destination at any position");
  }
  return llvm::Error::success();
}

/// Whether a nest may run within the loops of another: two that merge bits of a
/// byte must not do so at once.
static bool mayFuseLoops(const NestSchedule &nest) {
  return !nest.is<MergeKernel>() && !nest.is<FillBitsKernel>();
}

/// Outermost loops that are the same for both nests. A fill reads nothing, so
/// that its strides in the source say nothing.
static size_t countFusedLoops(const NestSchedule &first,
                              const NestSchedule &second) {
  bool isFill = second.is<FillKernel>();
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
    NestSchedule &nest = plan.nests[i], &before = plan.nests[i - 1];
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

/// A plan without nests, for buffers of so many bits an element; of less than a
/// byte, they are bytes.
static RelayoutPlan makePlan(const PlanSide &src, const PlanSide &dst,
                             const ElementBits &bits,
                             const RelayoutTarget &target) {
  auto getElements = [](const PlanSide &side, int64_t width) {
    return llvm::divideCeil(side.axes.numAllocated(),
                            std::max<int64_t>(8 / width, 1));
  };
  RelayoutPlan plan;
  plan.isLineAligned = target.isLineAligned;
  plan.elementBits = std::max<int64_t>(bits.dst, 8);
  plan.srcElements = getElements(src, bits.src);
  plan.dstElements = getElements(dst, bits.dst);
  return plan;
}

/// Whether both buffers outgrow the cache, and stores may bypass it. Elements
/// are as wide as the narrower side has them.
static bool mayUseNontemporal(const PlanSide &src, const PlanSide &dst,
                              const ElementBits &bits,
                              const RelayoutTarget &target) {
  int64_t width = std::min(bits.src, bits.dst), moved = countMoved(src, dst);
  bool isLarge = width < 8 ? moved / (8 / width) >= target.nontemporalBytes
                           : moved >= target.nontemporalBytes / (width / 8);
  return isLarge && target.hasNontemporalStores &&
         target.tuning.nontemporal.value_or(true);
}

/// Adds the plan of a nest in bytes, and what was tried for it.
static void addPackedNest(const PackedNest &nest, const RelayoutTarget &target,
                          bool isLarge, bool isFill, RelayoutPlan &plan) {
  NestPlanner planner(nest.strided, /*elementBytes=*/1, target, isLarge);
  if (nest.mask != 0xFF)
    plan.nests.push_back(planner.planBits(nest, isFill));
  else if (!nest.packedBytes.empty())
    plan.nests.push_back(planner.planPacked(nest));
  else if (isFill)
    plan.nests.push_back(planner.planFill());
  else
    llvm::append_range(plan.nests, planner.plan());
  if (!isFill)
    plan.trials.push_back(planner.takeTrials());
}

/// Adds the plans of `nests`, packed into bytes.
static llvm::Error packAndAdd(llvm::Expected<std::vector<StridedNest>> nests,
                              const ElementBits &bits,
                              const RelayoutTarget &target, bool isLarge,
                              bool isFill, RelayoutPlan &plan) {
  if (!nests)
    return nests.takeError();
  auto packed = packNests(*nests, bits, isFill);
  if (!packed)
    return packed.takeError();
  size_t first = plan.nests.size();
  for (const PackedNest &nest : *packed)
    addPackedNest(nest, target, isLarge, isFill, plan);
  if (!isFill && bits.isSigned && bits.src < bits.dst)
    for (NestSchedule &nest : llvm::drop_begin(plan.nests, first))
      nest.signedBits = bits.src;
  return llvm::Error::success();
}

/// Adds the nests of elements of less than a byte, on one side at least.
static llvm::Error addPackedNests(const PlanSide &src, const PlanSide &dst,
                                  const ElementBits &bits, bool fillPadding,
                                  const RelayoutTarget &target,
                                  RelayoutPlan &plan) {
  if (llvm::Error error = packAndAdd(splitElements(src, dst), bits, target,
                                     mayUseNontemporal(src, dst, bits, target),
                                     /*isFill=*/false, plan))
    return error;
  if (!fillPadding)
    return llvm::Error::success();
  return packAndAdd(splitPadding(dst.axes), bits, target,
                    /*isLarge=*/false, /*isFill=*/true, plan);
}

/// Padding of the destination, where it is filled, or may be written over.
static llvm::Expected<std::vector<StridedNest>> findFills(const PlanSide &dst,
                                                          bool fillPadding) {
  if (!fillPadding && !dst.isWhole())
    return std::vector<StridedNest>();
  auto fills = splitPadding(dst.axes);
  if (fills || fillPadding)
    return fills;
  llvm::consumeError(fills.takeError());
  return std::vector<StridedNest>();
}

/// Adds the nests of elements of whole bytes.
static llvm::Error addNests(const PlanSide &src, const PlanSide &dst,
                            const ElementBits &bits, bool fillPadding,
                            const RelayoutTarget &target, RelayoutPlan &plan) {
  auto copies = splitElements(src, dst);
  if (!copies)
    return copies.takeError();
  auto fills = findFills(dst, fillPadding);
  if (!fills)
    return fills.takeError();
  int64_t bytes = bits.dst / 8;
  bool isLarge = mayUseNontemporal(src, dst, bits, target);
  auto addFill = [&](const StridedNest &nest) {
    plan.nests.push_back(NestPlanner(nest, bytes, target, false).planFill());
  };
  for (const StridedNest &nest : *copies) {
    std::optional<RunPadding> padding = findPadding(nest, *fills);
    NestPlanner planner(nest, bytes, target, isLarge, padding, fillPadding);
    std::vector<NestSchedule> schedules = planner.plan();
    plan.nests.push_back(std::move(schedules.front()));
    if (padding && fillPadding) {
      // What the nest leaves is filled next, in the loops that both have.
      if (!plan.nests.back().padding())
        addFill((*fills)[padding->fill]);
      fills->erase(fills->begin() + padding->fill);
    }
    plan.nests.append(std::next(schedules.begin()), schedules.end());
    plan.trials.push_back(planner.takeTrials());
  }
  if (fillPadding)
    llvm::for_each(*fills, addFill);
  return llvm::Error::success();
}

static bool isPacked(int64_t bits) {
  return llvm::is_contained({1, 2, 4}, bits);
}

/// Whether there are kernels for such elements.
static llvm::Error checkBits(const ElementBits &bits) {
  if (bits.src != bits.dst)
    return refusePlan("one width on both sides, or bits and bytes",
                      llvm::Twine(bits.src) + " and " + llvm::Twine(bits.dst) +
                          " bits");
  if (!llvm::is_contained({8, 16, 32, 64, 128}, bits.dst))
    return refusePlan("elements of 1 to 16 whole bytes",
                      llvm::Twine(bits.dst) + " bits");
  return llvm::Error::success();
}

/// Whether bytes of all steps of a strided side fit, those behind the last one
/// of each dimension included.
static llvm::Error checkStrides(const PlanSide &side) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  if (!side.strides)
    return llvm::Error::success();
  std::string found;
  llvm::raw_string_ostream os(found);
  llvm::interleaveComma(*side.strides, os);
  int64_t all = 0;
  for (auto [size, stride] :
       llvm::zip_equal(side.axes.dimensions(), *side.strides)) {
    int64_t steps = 0;
    if (llvm::MulOverflow(size, stride, steps) ||
        llvm::AddOverflow(all, std::max<int64_t>(steps, 0), all) || all > kMost)
      return refusePlan("strides that reach at most " + llvm::Twine(kMost) +
                            " elements",
                        "strides of " + found);
  }
  return llvm::Error::success();
}

llvm::Expected<RelayoutPlan>
tessera::planRelayout(const PlanSide &src, const PlanSide &dst,
                      ElementBits bits, bool fillPadding,
                      const RelayoutTarget &target) {
  if (src.axes.size() > kMaxAxes || dst.axes.size() > kMaxAxes)
    return refusePlan("at most " + llvm::Twine(kMaxAxes) + " axes",
                      llvm::Twine(std::max(src.axes.size(), dst.axes.size())));
  for (const PlanSide *side : {&src, &dst})
    if (llvm::Error error = checkStrides(*side))
      return std::move(error);
  bool isInBytes = isPacked(std::min(bits.src, bits.dst)) &&
                   (bits.src == bits.dst || std::max(bits.src, bits.dst) == 8);
  if (!isInBytes)
    if (llvm::Error error = checkBits(bits))
      return std::move(error);
  RelayoutPlan plan = makePlan(src, dst, bits, target);
  auto *add = isInBytes ? addPackedNests : addNests;
  if (llvm::Error error = add(src, dst, bits, fillPadding, target, plan))
    return std::move(error);
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
  auto getStores = [&](size_t version) {
    llvm::ArrayRef<NestSchedule> nests = versions[version].plan.nests;
    return nests.empty() ? StoreKind::Plain : nests.front().stores();
  };
  if (versions.size() > 1 && !versions[0].plan.hasWholeLines() &&
      getStores(0) == getStores(1) &&
      versions[1].plan.numNontemporal() >=
          versions[0].plan.numNontemporal() / kMaxLost * (kMaxLost - 1))
    versions.erase(versions.begin());
  return versions;
}
