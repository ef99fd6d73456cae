// RUN: tessera-opt %s --tessera-vectorize-relayouts -o /dev/null \
// RUN:   --remarks-filter-missed=tessera-vectorize-relayouts \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s
// RUN: tessera-opt %s --tessera-vectorize-relayouts -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SILENT --allow-empty

// A relayout that has no plan says why, if anybody asks.

// CHECK: remarks.mlir:[[# @LINE + 6]]:3: remark: [Missed] RelayoutLeft
// CHECK-SAME: unsupported vector relayout: expected sizes, or the same bounds on both sides
// CHECK-NOT: remark:
// SILENT-NOT: remark
func.func @f(%a: memref<?x4xf32>, %b: memref<?x4xf32, #tessera.layout<{0,1}>>,
             %c: memref<4x4xf32>, %d: memref<4x4xf32, #tessera.layout<{0,1}>>) {
  tessera.relayout %a into %b : memref<?x4xf32>, memref<?x4xf32, #tessera.layout<{0,1}>>
  tessera.relayout %c into %d : memref<4x4xf32>, memref<4x4xf32, #tessera.layout<{0,1}>>
  return
}
