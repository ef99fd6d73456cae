//===- ContiguousRun.cpp - Runs that are contiguous on both sides ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexMapping.h"

#include "tessera/Layout/Bitcast.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <numeric>

using namespace tessera;
using namespace tessera::detail;

/// Positions up to which a walk finds what happens to continue behind a ragged
/// end; it takes about a millisecond.
static constexpr int64_t kRaggedCap = int64_t(1) << 16;

namespace {

/// The end of the step that moves by `stride`, as a divisor: the next one, or
/// 0 when it is the variable's last.
struct Run {
  unsigned variable;
  int64_t begin;
  int64_t end;
};

/// The step with `stride` of a variable with more than one value.
std::optional<Run> findStep(const PhysicalIndices &positions, int64_t stride) {
  for (auto [variable, steps] : llvm::enumerate(positions.steps))
    for (size_t i = 0; i < steps->size(); ++i)
      if ((*steps)[i].stride == stride) {
        int64_t end = i + 1 < steps->size() ? (*steps)[i + 1].divisor : 0;
        return Run{static_cast<unsigned>(variable), (*steps)[i].divisor, end};
      }
  return std::nullopt;
}

/// A run, and whether it ends at a ragged end of a dimension: what follows may
/// then happen to continue it.
struct RunLength {
  int64_t length = 1;
  bool isRagged = false;
};

/// Run length from the steps: as long as both sides go on in one dimension, and
/// that dimension is complete, the next one may continue the run.
RunLength getRunByForm(const PhysicalIndices &from, const PhysicalIndices &to,
                       llvm::ArrayRef<int64_t> sizes) {
  RunLength run;
  for (;;) {
    std::optional<Run> lhs = findStep(from, run.length);
    std::optional<Run> rhs = findStep(to, run.length);
    if (!lhs || !rhs || lhs->variable != rhs->variable ||
        lhs->begin != rhs->begin)
      return run;
    int64_t size = sizes[lhs->variable];
    // A step that ends on one side alone splits the other's at its multiples.
    int64_t end = std::gcd(lhs->end, rhs->end);
    int64_t length =
        end != 0 ? end / lhs->begin : (size + lhs->begin - 1) / lhs->begin;
    run.length *= length;
    run.isRagged = size % (end != 0 ? end : lhs->begin) != 0;
    if (run.isRagged || lhs->end != rhs->end)
      return run;
  }
}

/// A length that all runs are multiples of, by walking over all elements.
int64_t getRunByEnumeration(const AxisList &from, const AxisList &to) {
  int64_t result = 0, run = 0, previous = -2;
  for (int64_t position = 0; position < from.numPositions(); ++position) {
    auto index = from.logicalIndex(position);
    int64_t other = index ? to.linearIndex(*index) : -2;
    if (index && run != 0 && other == previous + 1) {
      ++run;
    } else {
      result = std::gcd(result, run);
      run = index ? 1 : 0;
    }
    previous = other;
  }
  return std::gcd(result, run);
}

} // namespace

llvm::Expected<int64_t> tessera::largestContiguousRun(const Shape &from,
                                                      const Shape &to) {
  if (from.dimensions() != to.dimensions())
    return invalidError("run_c1", "second shape of a relayout",
                        "the dimensions of " + from.toString(false),
                        to.toString(false));
  llvm::Expected<AxisList> lhs = AxisList::getStatic(from);
  if (!lhs)
    return lhs.takeError();
  llvm::Expected<AxisList> rhs = AxisList::getStatic(to);
  if (!rhs)
    return rhs.takeError();
  if (llvm::is_contained(lhs->dimensions(), 0))
    return 0;
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, from.rank()));
  IndexMapping elements = getTransposition(from.dimensions(), permutation);
  PhysicalIndices lhsPositions =
      getPhysicalIndices(*lhs, elements.from, elements.sizes);
  PhysicalIndices rhsPositions =
      getPhysicalIndices(*rhs, elements.to, elements.sizes);
  auto isKnown = [](const std::optional<Steps> &steps) {
    return steps.has_value();
  };
  if (llvm::all_of(lhsPositions.steps, isKnown) &&
      llvm::all_of(rhsPositions.steps, isKnown)) {
    RunLength run = getRunByForm(lhsPositions, rhsPositions, elements.sizes);
    if (!run.isRagged || lhs->numPositions() > kRaggedCap)
      return run.length;
    return std::max(run.length, getRunByEnumeration(*lhs, *rhs));
  }
  // One element at a time is always right.
  if (lhs->numPositions() > BitcastOptions().enumerationCap)
    return 1;
  return getRunByEnumeration(*lhs, *rhs);
}
