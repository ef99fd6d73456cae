//===- CheckAffineDivisors.cpp - Refuse divisions by zero -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Layout/Diagnostic.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/IntegerSet.h"

namespace tessera {
#define GEN_PASS_DEF_CHECKAFFINEDIVISORS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The expressions of a map or a set; none of another attribute.
static ArrayRef<AffineExpr> getExpressions(Attribute attribute) {
  if (auto map = dyn_cast<AffineMapAttr>(attribute))
    return map.getValue().getResults();
  if (auto set = dyn_cast<IntegerSetAttr>(attribute))
    return set.getValue().getConstraints();
  return {};
}

/// A division by a constant that is not positive, or null.
static AffineExpr findBadDivision(AffineExpr expression) {
  AffineExpr found;
  expression.walk([&](AffineExpr part) {
    bool isDivision =
        llvm::is_contained({AffineExprKind::Mod, AffineExprKind::FloorDiv,
                            AffineExprKind::CeilDiv},
                           part.getKind());
    if (!isDivision)
      return;
    auto divisor =
        dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(part).getRHS());
    if (divisor && divisor.getValue() <= 0)
      found = part;
  });
  return found;
}

/// *Unsupported* where an attribute of an affine operation has one.
static llvm::Error checkDivisors(Operation *op) {
  for (NamedAttribute attribute : op->getAttrs())
    for (AffineExpr expression : getExpressions(attribute.getValue()))
      if (AffineExpr division = findBadDivision(expression)) {
        std::string found;
        llvm::raw_string_ostream(found) << division;
        return unsupportedError("affine expression", "positive divisors",
                                "`" + found + "`");
      }
  return llvm::Error::success();
}

namespace {
struct CheckAffineDivisorsPass
    : tessera::impl::CheckAffineDivisorsBase<CheckAffineDivisorsPass> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (!isa_and_nonnull<affine::AffineDialect>(op->getDialect()))
        return;
      llvm::Error error = checkDivisors(op);
      if (error && failed(emitLayoutError([&] { return op->emitError(); },
                                          std::move(error))))
        signalPassFailure();
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
