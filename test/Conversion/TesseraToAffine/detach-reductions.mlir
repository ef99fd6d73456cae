// RUN: tessera-opt %s --tessera-lower-layouts | FileCheck %s

// A sum over tiles adds up each tile by itself, from zero, so that one tile does
// not wait for the one before. Operations that round may not be regrouped
// without `reassoc`; operations of several steps are left as they are.

!row = memref<700xf32, #tessera.layout<{0:T(128)}>>

// CHECK-LABEL: func @sum
// CHECK:         affine.for {{.*}} iter_args(%[[SUM:.*]] = %arg1)
// CHECK:           %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:           %[[TILE:.*]] = affine.for {{.*}} iter_args(%{{.*}} = %[[ZERO]])
// CHECK:           %[[NEXT:.*]] = arith.addf %[[SUM]], %[[TILE]] fastmath<reassoc>
// CHECK:           affine.yield %[[NEXT]]
func.func @sum(%x: !row, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 700 iter_args(%a = %init) -> f32 {
    %e = memref.load %x[%i] : !row
    %s = arith.addf %a, %e fastmath<reassoc> : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// Both are detached.
// CHECK-LABEL: func @two
// CHECK:         affine.for {{.*}} iter_args(%[[A:.*]] = %arg1, %[[B:.*]] = %arg2)
// CHECK-DAG:       %[[ONES:.*]] = arith.constant -1 : i32
// CHECK-DAG:       %[[LEAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK:           %[[R:.*]]:2 = affine.for {{.*}} iter_args(%{{.*}} = %[[LEAST]], %{{.*}} = %[[ONES]])
// CHECK:           arith.andi %[[B]], %[[R]]#1
// CHECK:           arith.maximumf %[[A]], %[[R]]#0
func.func @two(%x: !row, %f: f32, %n: i32) -> (f32, i32) {
  %r:2 = affine.for %i = 0 to 700 iter_args(%a = %f, %b = %n) -> (f32, i32) {
    %e = memref.load %x[%i] : !row
    %k = arith.fptosi %e : f32 to i32
    %s = arith.maximumf %a, %e : f32
    %t = arith.andi %k, %b : i32
    affine.yield %s, %t : f32, i32
  }
  return %r#0, %r#1 : f32, i32
}

// CHECK-LABEL: func @rounded
// CHECK:         affine.for {{.*}} iter_args(%[[SUM:.*]] = %arg1)
// CHECK:           affine.for {{.*}} iter_args(%{{.*}} = %[[SUM]])
func.func @rounded(%x: !row, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 700 iter_args(%a = %init) -> f32 {
    %e = memref.load %x[%i] : !row
    %s = arith.addf %a, %e : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// CHECK-LABEL: func @steps
// CHECK:         affine.for {{.*}} iter_args(%[[SUM:.*]] = %arg1)
// CHECK:           affine.for {{.*}} iter_args(%{{.*}} = %[[SUM]])
func.func @steps(%x: !row, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 700 iter_args(%a = %init) -> f32 {
    %e = memref.load %x[%i] : !row
    %s = arith.addf %a, %e fastmath<reassoc> : f32
    %t = arith.mulf %s, %e fastmath<reassoc> : f32
    affine.yield %t : f32
  }
  return %r : f32
}
