//===- Passes.td - Passes that keep the tessera dialect ----*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_TD
#define TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def Verify : Pass<"tessera-verify"> {
  let summary = "Check the rules about layouts that no single verifier can see";
  let description = [{
    Reports, all of them and not the first alone:

    * layouts of memrefs against element types: `E` and `PV` (a verifier of a
      memref's layout sees no element type),
    * memory spaces that have no number.

    The IR is not changed. The pass fails if there was anything to report.
  }];
}

#endif // TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_TD
