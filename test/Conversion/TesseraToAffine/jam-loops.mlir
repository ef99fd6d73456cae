// RUN: tessera-opt %s -tessera-jam-loops -canonicalize | FileCheck %s

// Four rows of pred[...]{1,0:T(8,128)(4,1)} alternate, in two loops: all four
// are added up in one.

// CHECK-LABEL: func.func private @rows
// CHECK: %[[SUMS:.*]]:4 = affine.for %[[C:.*]] = 0 to 128 iter_args
// CHECK: affine.load %arg0[%[[C]], 0]
// CHECK: affine.load %arg0[%[[C]], 1]
// CHECK: affine.load %arg0[%[[C]], 2]
// CHECK: affine.load %arg0[%[[C]], 3]
// CHECK-COUNT-4: affine.store %[[SUMS]]#
// CHECK-NOT: affine.for
func.func private @rows(%m: memref<128x4xf32>, %sums: memref<4xf32>, %zero: f32) {
  affine.for %a = 0 to 2 {
    affine.for %b = 0 to 2 {
      %sum = affine.for %c = 0 to 128 iter_args(%s = %zero) -> f32 {
        %v = affine.load %m[%c, %a * 2 + %b] : memref<128x4xf32>
        %t = arith.addf %s, %v : f32
        affine.yield %t : f32
      }
      affine.store %sum, %sums[%a * 2 + %b] : memref<4xf32>
    }
  }
  return
}

// Left alone: terms that lie side by side themselves, sums of others, more sums
// than registers, and sums that go where terms are read.

// CHECK-LABEL: func.func private @others
// CHECK-COUNT-8: affine.for
// CHECK-NOT: affine.for
func.func private @others(%m: memref<2x128xf32>, %n: memref<128x2xf32>, %w: memref<128x9xf32>,
                  %sums: memref<9xf32>, %zero: f32) {
  affine.for %a = 0 to 2 {
    %sum = affine.for %c = 0 to 128 iter_args(%s = %zero) -> f32 {
      %v = affine.load %m[%a, %c] : memref<2x128xf32>
      %t = arith.addf %s, %v : f32
      affine.yield %t : f32
    }
    affine.store %sum, %sums[%a] : memref<9xf32>
  }
  affine.for %a = 0 to 2 {
    %sum = affine.for %c = 0 to 128 iter_args(%s = %zero) -> f32 {
      %v = affine.load %n[%c, %a] : memref<128x2xf32>
      %u = affine.load %sums[8] : memref<9xf32>
      %t = arith.addf %s, %v : f32
      %x = arith.addf %t, %u : f32
      affine.yield %x : f32
    }
    affine.store %sum, %sums[8] : memref<9xf32>
  }
  affine.for %a = 0 to 9 {
    %sum = affine.for %c = 0 to 128 iter_args(%s = %zero) -> f32 {
      %v = affine.load %w[%c, %a] : memref<128x9xf32>
      %t = arith.addf %s, %v : f32
      affine.yield %t : f32
    }
    affine.store %sum, %sums[%a] : memref<9xf32>
  }
  affine.for %a = 0 to 2 {
    %sum = affine.for %c = 0 to 128 iter_args(%s = %zero) -> f32 {
      %v = affine.load %n[%c, %a] : memref<128x2xf32>
      %t = arith.addf %s, %v : f32
      affine.yield %t : f32
    }
    affine.store %sum, %n[5, 1] : memref<128x2xf32>
  }
  return
}

// Callers that are not known may give one buffer twice.

// CHECK-LABEL: func.func @public
// CHECK-COUNT-2: affine.for
// CHECK-NOT: affine.for
func.func @public(%m: memref<128x2xf32>, %sums: memref<2xf32>, %zero: f32) {
  affine.for %a = 0 to 2 {
    %sum = affine.for %c = 0 to 128 iter_args(%s = %zero) -> f32 {
      %v = affine.load %m[%c, %a] : memref<128x2xf32>
      %t = arith.addf %s, %v : f32
      affine.yield %t : f32
    }
    affine.store %sum, %sums[%a] : memref<2xf32>
  }
  return
}
