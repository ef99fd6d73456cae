//===- HLOToLinalg.cpp - --tessera-hlo-to-linalg --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera {
#define GEN_PASS_DEF_HLOTOLINALG
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct HLOToLinalgPass : tessera::impl::HLOToLinalgBase<HLOToLinalgPass> {
  void runOnOperation() override {
    hlo::InstructionConversions conversions;
    hlo::populateHLOToLinalgConversions(conversions);
    if (failed(hlo::convertHLOToLinalg(getOperation(), conversions)))
      signalPassFailure();
  }
};
} // namespace
