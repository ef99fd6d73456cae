// RUN: tessera-opt %s -tessera-lower-relayouts | FileCheck %s --check-prefix=PEELED
// RUN: tessera-opt %s -tessera-lower-relayouts=max-nests=1 | FileCheck %s --check-prefix=CAPPED

// With the default there is a nest for each remainder; with a cap of one, inner
// loops end early in the last tile.

// PEELED-COUNT-4: affine.store
// CAPPED: affine.for %[[A:.*]] = 0 to 3
// CAPPED-NEXT: affine.for %[[B:.*]] = 0 to 3
// CAPPED-NEXT: affine.for %{{.*}} = 0 to min #{{.*}}(%[[A]])
// CAPPED-NEXT: affine.for %{{.*}} = 0 to min #{{.*}}(%[[B]])
// CAPPED-COUNT-1: affine.store
// CAPPED-NOT: affine.store
func.func @f(%src: memref<20x300xf32>,
             %dst: memref<20x300xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  tessera.relayout %src into %dst
      : memref<20x300xf32>,
        memref<20x300xf32, #tessera.layout<{1,0:T(8,128)}>>
  return
}
