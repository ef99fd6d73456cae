// RUN: tessera-opt %s --tessera-assert-faults | FileCheck %s

// CHECK-LABEL: func @divide
// CHECK: %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK: %[[NOT_ZERO:.+]] = arith.cmpi ne, %arg1, %[[ZERO]]
// CHECK: cf.assert %[[NOT_ZERO]], "{{.*}}assert-faults.mlir:[[@LINE+6]]:8: 'arith.divsi': division by zero"
// CHECK: arith.cmpi ne, %arg0, %{{.+}} : i32
// CHECK: arith.cmpi ne, %arg1, %{{.+}} : i32
// CHECK: cf.assert {{.*}}the smallest number divided by -1
// CHECK: arith.divsi
func.func @divide(%a: i32, %b: i32) -> i32 {
  %c = arith.divsi %a, %b : i32
  return %c : i32
}

// All elements of a vector at once.

// CHECK-LABEL: func @vector
// CHECK: %[[ALL:.+]] = vector.reduction <and>, %{{.+}} : vector<4xi1> into i1
// CHECK: cf.assert %[[ALL]]
func.func @vector(%a: vector<4xi32>, %b: vector<4xi32>) -> vector<4xi32> {
  %c = arith.remui %a, %b : vector<4xi32>
  return %c : vector<4xi32>
}

// CHECK-LABEL: func @index
// CHECK: cf.assert {{.*}}'tensor.extract': {{.*}}out-of-bounds
// CHECK: tensor.extract
// CHECK: cf.assert {{.*}}'affine.load': index out of bounds
// CHECK: affine.load
// CHECK: cf.assert {{.*}}'vector.load': index out of bounds
// CHECK: vector.load
func.func @index(%t: tensor<8xf32, #tessera.layout<{0:T(4)}>>, %m: memref<8xf32>, %i: index)
    -> (f32, f32, vector<4xf32>) {
  %a = tensor.extract %t[%i] : tensor<8xf32, #tessera.layout<{0:T(4)}>>
  %b = affine.load %m[symbol(%i) + 1] : memref<8xf32>
  %c = vector.load %m[%i] : memref<8xf32>, vector<4xf32>
  return %a, %b, %c : f32, f32, vector<4xf32>
}

// CHECK-LABEL: func @sizes
// CHECK: cf.assert {{.*}}'tessera.empty': negative size
// CHECK: cf.assert {{.*}}'tessera.empty': more elements than can be counted
// CHECK: cf.assert {{.*}}'tessera.empty': size beyond the bound of the layout, 16
// CHECK: tessera.empty
// CHECK: cf.assert {{.*}}'memref.alloca': negative size
// CHECK-NOT: memref.alloca(
// CHECK: memref.alloc(
func.func @sizes(%n: index) -> tensor<?xf32, #tessera.layout<{0:B(16)}>> {
  %e = tessera.empty(%n) : tensor<?xf32, #tessera.layout<{0:B(16)}>>
  %m = memref.alloca(%n) : memref<?xf32>
  return %e : tensor<?xf32, #tessera.layout<{0:B(16)}>>
}

// Memory with tiles has no strides, which upstream's check asks for.

// CHECK-LABEL: func @cast
// CHECK: %[[DIM:.+]] = memref.dim %arg0
// CHECK: arith.cmpi eq, %[[DIM]]
// CHECK: cf.assert {{.*}}'memref.cast': another size than that of the result
// CHECK: memref.cast
func.func @cast(%m: memref<?x8xf32, #tessera.layout<{1,0:T(2,4)}>>)
    -> memref<16x8xf32, #tessera.layout<{1,0:T(2,4)}>> {
  %c = memref.cast %m : memref<?x8xf32, #tessera.layout<{1,0:T(2,4)}>>
      to memref<16x8xf32, #tessera.layout<{1,0:T(2,4)}>>
  return %c : memref<16x8xf32, #tessera.layout<{1,0:T(2,4)}>>
}

// Loops end, and messages say where they come from.

// CHECK-LABEL: func @others
// CHECK: cf.assert {{.*}}'scf.for': a step that is not positive
// CHECK: scf.for
// CHECK: cf.assert %{{.+}}, "{{.*}}assert-faults.mlir:{{[0-9]+}}:3: 'cf.assert': it is true"
// CHECK: arith.cmpi sgt
// CHECK: cf.assert {{.*}}'affine.apply': division by a number that is not positive
// CHECK: affine.apply
func.func @others(%n: index, %ok: i1, %r: index) -> index {
  scf.for %i = %n to %n step %n {
  }
  cf.assert %ok, "it is true"
  %q = affine.apply affine_map<()[s0, s1] -> (s0 floordiv s1)>()[%n, %r]
  return %q : index
}
