//===- Passes.td - Passes that leave the tessera dialect ---*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PASSES_TD
#define TESSERA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerLayouts : Pass<"tessera-lower-layouts", "::mlir::ModuleOp"> {
  let summary = "Turn accesses to laid-out memrefs into accesses to memory";
  let description = [{
    Every memref with a layout becomes its physical memref: identity layout, the
    extents of the axes as its shape, padding included. Where sizes are dynamic,
    one `index` for each `?` follows it through arguments, results, calls,
    branches and loops. Loads and stores address the axes. Loops whose variables
    are subscripts of tiled dimensions are cut at the tile sizes, so that
    no floordiv or mod is left there; other subscripts get floordiv and mod.

    ```mlir
    func.func @clear(%m: memref<20xf32, #tessera.layout<{0:T(8)}>>) {
      %c0 = arith.constant 0.0 : f32
      affine.for %i = 0 to 20 {
        affine.store %c0, %m[%i] : memref<20xf32, #tessera.layout<{0:T(8)}>>
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @clear(%m: memref<3x8xf32>) {
      %c0 = arith.constant 0.0 : f32
      affine.for %a = 0 to 3 {
        affine.for %b = 0 to min affine_map<(d0) -> (8, d0 * -8 + 20)>(%a) {
          affine.store %c0, %m[%a, %b] : memref<3x8xf32>
        }
      }
      return
    }
    ```

    Handled are loads and stores of `memref` and `affine`; `memref.alloc`,
    `alloca`, `dealloc`, `dim`, `cast`, `copy` between equal layouts, `global`
    and `get_global`; `tessera.physical_view`; functions, calls, `cf` branches,
    `scf` loops and conditionals, `arith.select`. Untiled layouts are also seen
    as strided memrefs by all other operations of `memref`, `vector`, `linalg`
    and `affine`. Anything else is *unsupported*; then the pass reports all such
    operations, and the IR stays as it was.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::tessera::TesseraDialect"
  ];
  let statistics = [
    Statistic<"numAccesses", "accesses-lowered",
              "Loads and stores that address the axes now">,
    Statistic<"numCutLoops", "loops-cut", "Loops cut at tile sizes">
  ];
}

#endif // TESSERA_CONVERSION_PASSES_TD
