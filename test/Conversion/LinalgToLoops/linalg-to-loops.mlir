// RUN: tessera-opt %s -tessera-linalg-to-loops -canonicalize | FileCheck %s

#tiled = #tessera.layout<{1,0:T(8,128)}>

// CHECK-LABEL: func.func @static
// CHECK: affine.for %[[I:.*]] = 0 to 20
// CHECK: affine.for %[[J:.*]] = 0 to 30
// CHECK: affine.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
// CHECK-NOT: linalg
func.func @static(%m: memref<20x30xf32, #tiled>, %c: f32) {
  linalg.fill ins(%c : f32) outs(%m : memref<20x30xf32, #tiled>)
  return
}

// The size of an argument is a symbol.

// CHECK-LABEL: func.func @dynamic
// CHECK: %[[N:.*]] = memref.dim
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
func.func @dynamic(%m: memref<?xf32>, %c: f32) {
  linalg.fill ins(%c : f32) outs(%m : memref<?xf32>)
  return
}

// That of a memref which a loop carries is none.

// CHECK-LABEL: func.func @carried
// CHECK: iter_args(%[[T:[a-z0-9]+]] =
// CHECK-NOT: affine.for
// CHECK: %[[N:.*]] = memref.dim %[[T]]
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]]
// CHECK: memref.store %{{.*}}, %[[T]][%[[I]]]
func.func @carried(%m: memref<?xf32, #tessera.layout<{0:T(8)}>>,
                   %o: memref<?xf32, #tessera.layout<{0:T(8)}>>,
                   %c: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %m, %u = %o)
      -> (memref<?xf32, #tessera.layout<{0:T(8)}>>,
          memref<?xf32, #tessera.layout<{0:T(8)}>>) {
    linalg.fill ins(%c : f32)
      outs(%t : memref<?xf32, #tessera.layout<{0:T(8)}>>)
    scf.yield %u, %t : memref<?xf32, #tessera.layout<{0:T(8)}>>,
                       memref<?xf32, #tessera.layout<{0:T(8)}>>
  }
  return
}

// CHECK-LABEL: func.func @tensors
// CHECK: linalg.fill
func.func @tensors(%t: tensor<8xf32>, %c: f32) -> tensor<8xf32> {
  %r = linalg.fill ins(%c : f32) outs(%t : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
