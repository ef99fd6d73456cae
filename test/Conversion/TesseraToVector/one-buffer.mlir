// RUN: tessera-opt %s \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=64 nontemporal-bytes=1024' \
// RUN:   | FileCheck %s

// Lines that wait for the next panel of a ragged transpose are kept on the
// stack. Relayouts come one after another and use one buffer, of a power of two
// that is enough for either (176 and 192 columns): the stack could not hold one
// for each.

// CHECK-LABEL: func @both
// CHECK-NEXT: %[[KEPT:.+]] = memref.alloca() {alignment = 64 : i64, relayout_stage} : memref<4096xf32>
// CHECK-NOT: memref.alloca
// CHECK: vector.store %{{.+}}, %[[KEPT]]
// CHECK: memref.extract_aligned_pointer_as_index %{{.+}} : memref<38208xf32>
// CHECK: vector.store %{{.+}}, %[[KEPT]]
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @both(%a: memref<167x176xf32>,
    %b: memref<167x176xf32, #tessera.layout<{0,1}>>, %c: memref<199x192xf32>,
    %d: memref<199x192xf32, #tessera.layout<{0,1}>>) {
  tessera.relayout %a into %b
      : memref<167x176xf32>, memref<167x176xf32, #tessera.layout<{0,1}>>
  tessera.relayout %c into %d
      : memref<199x192xf32>, memref<199x192xf32, #tessera.layout<{0,1}>>
  return
}
