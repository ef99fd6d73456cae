//===- PropagateLayouts.cpp - Layouts that move the fewest bytes ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutProblem.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"

namespace tessera {
#define GEN_PASS_DEF_PROPAGATELAYOUTS
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct PropagateLayoutsPass
    : tessera::impl::PropagateLayoutsBase<PropagateLayoutsPass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LayoutProblemOptions getOptions() {
    return {unknownTrips, unknownSize, maxCandidates,
            TargetAttr::lookup(getOperation())};
  }
  std::optional<int64_t> rewrite(Operation *copy, const Choices &choices);
  void remark(int64_t before, int64_t after, int64_t bound);
};
} // namespace

LogicalResult PropagateLayoutsPass::initialize(MLIRContext *context) {
  auto emit = [&] { return emitError(UnknownLoc::get(context)); };
  if (unknownTrips < 1)
    return emitLayoutError(emit, invalidError("", "unknown-trips", "1 or more",
                                              Twine(unknownTrips)));
  if (unknownSize < 1)
    return emitLayoutError(emit, invalidError("", "unknown-size", "1 or more",
                                              Twine(unknownSize)));
  if (maxCandidates < 1 || maxCandidates > 16)
    return emitLayoutError(emit, invalidError("", "max-candidates", "1 to 16",
                                              Twine(maxCandidates)));
  return success();
}

/// Rewrites a copy of the operation; what is moved there, or nothing if it is
/// not valid.
std::optional<int64_t> PropagateLayoutsPass::rewrite(Operation *copy,
                                                     const Choices &choices) {
  LayoutProblem::Changes changes =
      LayoutProblem(copy, getOptions()).apply(choices);
  SilentDiagnostics ignore(&getContext());
  if (failed(verify(copy)))
    return std::nullopt;
  std::optional<int64_t> bytes = LayoutProblem(copy, getOptions()).countBytes();
  numChanged += changes.changed;
  numErased += changes.erased;
  numInserted += changes.inserted;
  return bytes;
}

void PropagateLayoutsPass::remark(int64_t before, int64_t after,
                                  int64_t bound) {
  if (remarks)
    emitRemark(getOperation()->getLoc())
        << after << " bytes moved for layouts, " << before
        << " before; no assignment of these candidates moves less than "
        << bound;
}

void PropagateLayoutsPass::runOnOperation() {
  Operation *op = getOperation();
  LayoutProblem problem(op, getOptions());
  llvm::Expected<Solution> solution = problem.solve();
  if (!solution) {
    (void)emitLayoutError([&] { return op->emitError(); },
                          solution.takeError());
    return signalPassFailure();
  }
  // The solver has said that sums fit.
  int64_t before = *problem.countBytes(), after = before;
  if (solution->cost < before) {
    // Where two problems are built of equal IR, they have equal choices.
    OwningOpRef<Operation *> copy(op->clone());
    std::optional<int64_t> bytes = rewrite(*copy, solution->choices);
    if (bytes && *bytes <= before) {
      after = *bytes;
      for (auto [region, changed] :
           llvm::zip_equal(op->getRegions(), copy->getRegions()))
        region.takeBody(changed);
    }
  }
  bytesBefore += before;
  bytesAfter += after;
  bytesBound += solution->lowerBound;
  remark(before, after, solution->lowerBound);
}
