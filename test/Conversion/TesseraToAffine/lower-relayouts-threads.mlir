// RUN: tessera-opt %s -tessera-lower-relayouts='threads=3 parallel-bytes=1024' | FileCheck %s --check-prefix=SHARED
// RUN: tessera-opt %s -tessera-lower-relayouts=threads=3 | FileCheck %s --check-prefix=SMALL

// A loop that threads share evenly, the outermost such one; of packed elements
// they would share bytes, and sizes that are not known may be small.

// SHARED-LABEL: func.func @even
// SHARED: affine.parallel (%{{.*}}) = (0) to (12)
// SHARED-NEXT: affine.for
// SMALL-LABEL: func.func @even
// SMALL-NOT: affine.parallel
func.func @even(%src: memref<48x64xf32>,
                %dst: memref<48x64xf32, #tessera.layout<{0,1:T(8,4)(3,1)}>>) {
  tessera.relayout %src into %dst
      : memref<48x64xf32>,
        memref<48x64xf32, #tessera.layout<{0,1:T(8,4)(3,1)}>>
  return
}

// SHARED-LABEL: func.func @inner
// SHARED: affine.for %{{.*}} = 0 to 2
// SHARED-NEXT: affine.parallel (%{{.*}}) = (0) to (999)
func.func @inner(%src: memref<2x999xf32>, %dst: memref<2x999xf32>) {
  tessera.relayout %src into %dst : memref<2x999xf32>, memref<2x999xf32>
  return
}

// SHARED-LABEL: func.func @packed
// SHARED-NOT: affine.parallel
func.func @packed(%src: memref<64x64xi4>,
                  %dst: memref<64x64xi4, #tessera.layout<{1,0:E(4)}>>) {
  tessera.relayout %src into %dst
      : memref<64x64xi4>, memref<64x64xi4, #tessera.layout<{1,0:E(4)}>>
  return
}

// SHARED-LABEL: func.func @unknown
// SHARED-NOT: affine.parallel
func.func @unknown(%src: memref<?x64xf32>,
                   %dst: memref<?x64xf32, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<?x64xf32>, memref<?x64xf32, #tessera.layout<{0,1}>>
  return
}
