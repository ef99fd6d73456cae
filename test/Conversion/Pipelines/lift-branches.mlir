// RUN: tessera-opt %s -tessera-lift-branches | FileCheck %s

// A function of one block keeps its affine loops.
// CHECK-LABEL: func.func @one_block
// CHECK: affine.for
// CHECK: scf.if
func.func @one_block(%p: i1, %m: memref<4xi32>) {
  %c1 = arith.constant 1 : i32
  affine.for %i = 0 to 4 {
    affine.store %c1, %m[%i] : memref<4xi32>
  }
  scf.if %p {
    affine.store %c1, %m[0] : memref<4xi32>
  }
  return
}

// A size is computed where the branch goes, and bounds a loop.
// CHECK-LABEL: func.func @two_paths
// CHECK: %[[R:.*]] = scf.if
// CHECK: %[[N:.*]] = memref.dim
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
// CHECK: } else {
// CHECK: return %[[R]]
func.func @two_paths(%p: i1, %m: memref<?xi32>) -> memref<?xi32> {
  %c0 = arith.constant 0 : index
  cf.cond_br %p, ^bb1, ^bb2(%m : memref<?xi32>)
^bb1:
  %n = memref.dim %m, %c0 : memref<?xi32>
  %a = memref.alloc(%n) : memref<?xi32>
  affine.for %i = 0 to %n {
    %x = affine.load %m[%i] : memref<?xi32>
    affine.store %x, %a[%i] : memref<?xi32>
  }
  cf.br ^bb2(%a : memref<?xi32>)
^bb2(%r: memref<?xi32>):
  return %r : memref<?xi32>
}

// On the path without a buffer there is one of no bytes, of any strides and in
// any space. What is no buffer stays poison.
// CHECK-LABEL: func.func @late
// CHECK-DAG: ub.poison : index
// CHECK-DAG: %[[A:.*]] = memref.alloca() : memref<0xf32, 3>
// CHECK-DAG: memref.reinterpret_cast %[[A]] to offset: [%{{.*}}], sizes: [%{{.*}}, 8], strides: [%{{.*}}, 2] : memref<0xf32, 3> to memref<?x8xf32, strided<[?, 2], offset: ?>, 3>
func.func @late(%p: i1, %q: i1, %n: index,
                %m: memref<?x8xf32, strided<[?, 2], offset: ?>, 3>) -> index {
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  cf.cond_br %q, ^bb2, ^bb3(%n, %m : index, memref<?x8xf32, strided<[?, 2], offset: ?>, 3>)
^bb2:
  %c1 = arith.constant 1 : index
  cf.br ^bb3(%c1, %m : index, memref<?x8xf32, strided<[?, 2], offset: ?>, 3>)
^bb3(%i: index, %r: memref<?x8xf32, strided<[?, 2], offset: ?>, 3>):
  %dim = memref.dim %r, %i : memref<?x8xf32, strided<[?, 2], offset: ?>, 3>
  return %dim : index
}
