// RUN: tessera-opt %s -tessera-split-ranges -canonicalize -cse | FileCheck %s

// Two operands behind one another: tile 4 has the end of the first and the
// beginning of the second, which is elsewhere in its tiles.

// CHECK-LABEL: func.func @concatenate
// CHECK-SAME: %[[M:.*]]: memref<7x128xf32>, %[[A:.*]]: memref<5x128xf32>, %[[B:.*]]: memref<3x128xf32>
// CHECK: affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 128 {
// CHECK-NEXT: %[[V:.*]] = affine.load %[[A]][%[[I]], %[[J]]]
// CHECK-NEXT: affine.store %[[V]], %[[M]][%[[I]], %[[J]]]
// CHECK: affine.for %[[I:.*]] = 4 to 5 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 88 {
// CHECK-NEXT: affine.load %[[A]][%[[I]], %[[J]]]
// CHECK: affine.for %[[J:.*]] = 88 to 128 {
// CHECK-NEXT: affine.load %[[B]][%[[I]] - 4, %[[J]] - 88]
// CHECK: affine.for %[[I:.*]] = 5 to 7 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 88 {
// CHECK-NEXT: affine.load %[[B]][%[[I]] - 5, %[[J]] + 40]
// CHECK: affine.for %[[J:.*]] = 88 to 128 {
// CHECK-NEXT: affine.load %[[B]][%[[I]] - 4, %[[J]] - 88]
// CHECK-NOT: scf.if
func.func @concatenate(%m: memref<7x128xf32>, %a: memref<5x128xf32>,
                       %b: memref<3x128xf32>) {
  %c600 = arith.constant 600 : index
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 128 {
      %k = affine.apply affine_map<(i, j) -> (i * 128 + j)>(%i, %j)
      %isA = arith.cmpi slt, %k, %c600 : index
      %v = scf.if %isA -> f32 {
        %x = affine.load %a[%i, %j] : memref<5x128xf32>
        scf.yield %x : f32
      } else {
        %x = affine.load %b[(%i * 128 + %j - 600) floordiv 128, (%i * 128 + %j - 600) mod 128] : memref<3x128xf32>
        scf.yield %x : f32
      }
      affine.store %v, %m[%i, %j] : memref<7x128xf32>
    }
  }
  return
}

// The last tile is shorter; what a loop carries goes from part to part.

// CHECK-LABEL: func.func @carries
// CHECK: %[[A:.*]] = affine.for %[[I:.*]] = 0 to 7 iter_args(%[[S:.*]] = %arg1)
// CHECK-NEXT: affine.for %{{.*}} = 0 to 128 iter_args(%{{.*}} = %[[S]])
// CHECK: %[[B:.*]] = affine.for %[[I:.*]] = 7 to 8 iter_args(%[[S:.*]] = %[[A]])
// CHECK-NEXT: affine.for %{{.*}} = 0 to 104 iter_args(%{{.*}} = %[[S]])
// CHECK: return %[[B]]
func.func @carries(%m: memref<8x128xf32>, %x: f32) -> f32 {
  %r = affine.for %i = 0 to 8 iter_args(%s = %x) -> f32 {
    %t = affine.for %j = 0 to min affine_map<(i) -> (128, i * -128 + 1000)>(%i) iter_args(%u = %s) -> f32 {
      %v = affine.load %m[%i, %j] : memref<8x128xf32>
      %w = arith.addf %u, %v : f32
      affine.yield %w : f32
    }
    affine.yield %t : f32
  }
  return %r : f32
}

// A window of 3 with padding on both sides: only its first and last place have
// conditions, which then bound the loop over the window.

// CHECK-LABEL: func.func @window
// CHECK: affine.for %[[I:.*]] = 0 to 1 {
// CHECK: affine.for %[[W:.*]] = 1 to 3 iter_args
// CHECK-NEXT: affine.load %arg1[%[[I]] + %[[W]] - 1]
// CHECK: affine.for %[[I:.*]] = 1 to 9 {
// CHECK-NEXT: affine.for %[[W:.*]] = 0 to 3 iter_args
// CHECK-NEXT: affine.load %arg1[%[[I]] + %[[W]] - 1]
// CHECK: affine.for %[[I:.*]] = 9 to 10 {
// CHECK-NEXT: affine.for %[[W:.*]] = 0 to 2 iter_args
// CHECK-NOT: scf.if
func.func @window(%m: memref<10xf32>, %a: memref<10xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c10 = arith.constant 10 : index
  affine.for %i = 0 to 10 {
    %r = affine.for %w = 0 to 3 iter_args(%s = %x) -> f32 {
      %p = affine.apply affine_map<(i, w) -> (i + w - 1)>(%i, %w)
      %low = arith.cmpi sge, %p, %c0 : index
      %high = arith.cmpi slt, %p, %c10 : index
      %is = arith.andi %low, %high : i1
      %t = scf.if %is -> f32 {
        %v = affine.load %a[%i + %w - 1] : memref<10xf32>
        %u = arith.addf %s, %v : f32
        scf.yield %u : f32
      } else {
        scf.yield %s : f32
      }
      affine.yield %t : f32
    }
    affine.store %r, %m[%i] : memref<10xf32>
  }
  return
}

// Left alone: sizes that are not known, comparisons with others, and conditions
// that change too often.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: affine.for
// CHECK-NOT: affine.for
func.func @others(%m: memref<?xf32>, %x: f32, %y: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %size = memref.dim %m, %c0 : memref<?xf32>
  affine.for %i = 0 to %size {
    %is = arith.cmpi slt, %i, %c3 : index
    %v = arith.select %is, %x, %y : f32
    affine.store %v, %m[%i] : memref<?xf32>
  }
  affine.for %i = 0 to 100 {
    %is = arith.cmpi slt, %i, %n : index
    %v = arith.select %is, %x, %y : f32
    affine.store %v, %m[%i] : memref<?xf32>
  }
  affine.for %i = 0 to 100 {
    affine.store %x, %m[%i mod 10] : memref<?xf32>
  }
  return
}

// Bounds as large as they can be are no harm.

// CHECK-LABEL: func.func @huge
// CHECK: affine.for %{{.*}} = 0 to 9223372036854775807 {
func.func @huge(%m: memref<?xf32>, %x: f32, %y: f32) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 9223372036854775807 {
    %p = affine.apply affine_map<(i) -> (9223372036854775807 - i)>(%i)
    %q = affine.apply affine_map<(i) -> (i * 4611686018427387904 + 3)>(%i)
    %low = arith.cmpi sgt, %p, %c0 : index
    %high = arith.cmpi sge, %q, %c0 : index
    %is = arith.andi %low, %high : i1
    %v = arith.select %is, %x, %y : f32
    affine.store %v, %m[%c0] : memref<?xf32>
  }
  return
}
