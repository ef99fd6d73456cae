//===- Verify.cpp - Rules about layouts of a whole module -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/IR/Operation.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFY
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct VerifyPass : tessera::impl::VerifyBase<VerifyPass> {
  void runOnOperation() override {
    bool failed = false;
    getOperation()->walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (auto shaped = dyn_cast<MemRefType>(type))
          failed |= mlir::failed(
              verifyLayout(shaped, [&] { return op->emitOpError(); }));
    });
    if (failed)
      signalPassFailure();
  }
};
} // namespace
