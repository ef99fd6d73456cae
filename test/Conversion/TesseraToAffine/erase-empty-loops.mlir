// RUN: tessera-opt %s -tessera-erase-empty-loops | FileCheck %s
// RUN: tessera-opt %s -tessera-erase-empty-loops -canonicalize | FileCheck %s

// The size is known only behind the cast and the division. Upstream's
// canonicalizer alone leaves the inner loop without an upper bound.

// CHECK-LABEL: func.func @tiles
// CHECK-NOT: affine.for
// CHECK: return
func.func @tiles(%a: memref<0xf32>, %b: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %cast = memref.cast %a : memref<0xf32> to memref<?xf32>
  %n = memref.dim %cast, %c0 : memref<?xf32>
  affine.for %i = 0 to affine_map<()[s0] -> (s0 ceildiv 8)>()[%n] {
    affine.for %j = 0 to min affine_map<(d0)[s0] -> (8, s0 - d0 * 8)>(%i)[%n] {
      %v = affine.load %cast[%i * 8 + %j] : memref<?xf32>
      affine.store %v, %b[%i, %j] : memref<?x8xf32>
    }
  }
  return
}

// What an empty loop carries is what it starts with.

// CHECK-LABEL: func.func @carries
// CHECK-SAME: %[[X:.*]]: f32
// CHECK: return %[[X]]
func.func @carries(%x: f32) -> f32 {
  %r = affine.for %i = 5 to 3 iter_args(%s = %x) -> f32 {
    %t = arith.addf %s, %s : f32
    affine.yield %t : f32
  }
  return %r : f32
}

// CHECK-LABEL: func.func @others
// CHECK: affine.for %{{.*}} = 0 to %{{.*}} {
// CHECK: affine.for %{{.*}} = 0 to 1 {
func.func @others(%m: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %m, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    affine.store %x, %m[%i] : memref<?xf32>
  }
  affine.for %i = 0 to 1 {
    affine.store %x, %m[%i] : memref<?xf32>
  }
  return
}
