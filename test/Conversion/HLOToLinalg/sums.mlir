// RUN: tessera-opt %s --tessera-hlo-to-linalg | FileCheck %s

// Where neighbours in memory belong to different sums, these are added up side by
// side, in arrays; where they belong to one sum, it is carried by the loops.

!t = tensor<16x256xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
!row = tensor<256xbf16, #tessera.layout<{0:T(256)(128)(2,1)}>>
!column = tensor<16xbf16, #tessera.layout<{0:T(256)(128)(2,1)}>>
!s = tensor<bf16, #tessera.layout<{}>>
!lhs = tensor<16x64xf32, #tessera.layout<{1,0:T(8,128)}>>
!rhs = tensor<64x256xf32, #tessera.layout<{1,0:T(8,128)}>>
!rhs_t = tensor<64x256xf32, #tessera.layout<{0,1:T(8,128)}>>
!out = tensor<16x256xf32, #tessera.layout<{1,0:T(8,128)}>>

func.func private @add(%x: !s, %y: !s) -> !s {
  %r = tessera_hlo.instruction "add"(%x, %y) : (!s, !s) -> !s
  return %r : !s
}

// Sums of f32, which are rounded at the end; what is summed has no array.
// CHECK-LABEL: func.func @rows(
// CHECK:       scf.for %[[I:[a-z0-9]+]] = {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (tensor<256xf32,
// CHECK:         scf.for %[[J:[a-z0-9]+]] =
// CHECK:           tensor.extract %{{.*}}[%[[J]]] : tensor<256xf32,
// CHECK:           tensor.extract %{{.*}}[%[[I]], %[[J]]] : tensor<16x256xbf16,
// CHECK:           arith.addf {{.*}} fastmath<reassoc> : f32
// CHECK:           tensor.insert
// CHECK:       arith.truncf
func.func @rows(%a: !t) -> !row {
  %zero = arith.constant dense<0.0> : !s
  %n = tessera_hlo.instruction "negate"(%a) : (!t) -> !t
  %r = tessera_hlo.instruction "reduce"(%n, %zero) {hlo_attributes = {dimensions = "{0}", to_apply = @add}} : (!t, !s) -> !row
  return %r : !row
}

// CHECK-LABEL: func.func @columns(
// CHECK-NOT:   scf.for
// CHECK:       affine.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK:         arith.addf {{.*}} fastmath<reassoc> : f32
func.func @columns(%a: !t) -> !column {
  %zero = arith.constant dense<0.0> : !s
  %r = tessera_hlo.instruction "reduce"(%a, %zero) {hlo_attributes = {dimensions = "{1}", to_apply = @add}} : (!t, !s) -> !column
  return %r : !column
}

// Rows of the right operand are added to a row of the result.
// CHECK-LABEL: func.func @product(
// CHECK:       scf.for %[[M:[a-z0-9]+]] =
// CHECK:         scf.for %[[K:[a-z0-9]+]] =
// CHECK:           scf.for %[[N:[a-z0-9]+]] =
// CHECK:             tensor.extract %{{.*}}[%[[M]], %[[N]]]
// CHECK:             tensor.extract %{{.*}}[%[[M]], %[[K]]]
// CHECK:             tensor.extract %{{.*}}[%[[K]], %[[N]]]
// CHECK-NOT:   linalg.generic
// CHECK:       return
func.func @product(%a: !lhs, %b: !rhs) -> !out {
  %r = tessera_hlo.instruction "dot"(%a, %b) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{0}"}} : (!lhs, !rhs) -> !out
  return %r : !out
}

// Both operands lie along what is summed over.
// CHECK-LABEL: func.func @inner(
// CHECK-NOT:   scf.for
// CHECK:       affine.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
func.func @inner(%a: !lhs, %b: !rhs_t) -> !out {
  %r = tessera_hlo.instruction "dot"(%a, %b) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{0}"}} : (!lhs, !rhs_t) -> !out
  return %r : !out
}
