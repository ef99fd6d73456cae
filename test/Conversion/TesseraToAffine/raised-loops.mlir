// RUN: tessera-opt %s --tessera-lower-layouts | FileCheck %s
// RUN: tessera-opt %s --tessera-to-affine | FileCheck %s --check-prefix=PIPELINE

// Loops that are affine.for in other words are split at tile sizes too.

#tiled = #tessera.layout<{1,0:T(2,4)}>

// CHECK-LABEL: func.func @constant_bounds
// CHECK-NOT: scf.for
// CHECK-NOT: {{divui|remui|floordiv|mod}}
// CHECK: affine.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : memref<4x4x2x4xf32>
// CHECK-NOT: {{divui|remui|floordiv|mod}}
// CHECK: return
func.func @constant_bounds(%m: memref<8x16xf32, #tiled>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      memref.store %v, %m[%i, %j] : memref<8x16xf32, #tiled>
    }
  }
  return
}

// A bound that is not known, and a loop over what has no tiles, stay.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: scf.for
func.func @others(%m: memref<8x16xf32, #tiled>, %p: memref<8xf32, #tessera.layout<{0:PD(9)}>>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %m[%i, %c0] : memref<8x16xf32, #tiled>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %v, %p[%i] : memref<8xf32, #tessera.layout<{0:PD(9)}>>
  }
  return
}

// CHECK-LABEL: func.func @parallel
// CHECK-NOT: affine.for
// CHECK-COUNT-4: affine.parallel
// CHECK-NOT: {{floordiv|mod}}
// CHECK: affine.store
// CHECK: return
func.func @parallel(%m: memref<8x16xf32, #tiled>, %v: f32) {
  affine.parallel (%i, %j) = (0, 0) to (8, 16) {
    affine.store %v, %m[%i, %j] : memref<8x16xf32, #tiled>
  }
  return
}

// A reduction stays as it is.

// CHECK-LABEL: func.func @reduction
// CHECK: affine.parallel {{.*}} reduce ("addf")
// CHECK: floordiv
func.func @reduction(%m: memref<8x16xf32, #tiled>) -> f32 {
  %s = affine.parallel (%i) = (0) to (8) reduce ("addf") -> f32 {
    %v = affine.load %m[%i, 0] : memref<8x16xf32, #tiled>
    affine.yield %v : f32
  }
  return %s : f32
}

// CHECK-LABEL: func.func @slice
// PIPELINE-LABEL: func.func @slice
// PIPELINE-NOT: scf.for
// PIPELINE-NOT: {{divui|remui|floordiv|mod}}
// PIPELINE: affine.store
// PIPELINE-NOT: {{divui|remui|floordiv|mod}}
// PIPELINE: return
func.func @slice(%a: tensor<8x16xf32, #tiled>, %b: tensor<4x8xf32, #tiled>) -> tensor<8x16xf32, #tiled> {
  %0 = tensor.insert_slice %b into %a[2, 4] [4, 8] [1, 1] : tensor<4x8xf32, #tiled> into tensor<8x16xf32, #tiled>
  return %0 : tensor<8x16xf32, #tiled>
}
