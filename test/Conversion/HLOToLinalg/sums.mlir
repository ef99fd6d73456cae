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
// CHECK:       linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%arg0, %arg1
// CHECK-NEXT:  ^bb0(%[[L:.*]]: f32, %[[R:.*]]: f32, %[[S:.*]]: f32):
// CHECK-NEXT:    %[[P:.*]] = arith.mulf %[[L]], %[[R]] fastmath<reassoc,contract>
// CHECK-NEXT:    arith.addf %[[S]], %[[P]] fastmath<reassoc,contract>
// CHECK-NOT:   linalg.generic
// CHECK:       return
func.func @product(%a: !lhs, %b: !rhs) -> !out {
  %r = tessera_hlo.instruction "dot"(%a, %b) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{0}"}} : (!lhs, !rhs) -> !out
  return %r : !out
}

// Both operands lie along what is summed over, which is innermost.
// CHECK-LABEL: func.func @inner(
// CHECK-NOT:   scf.for
// CHECK:       linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1
func.func @inner(%a: !lhs, %b: !rhs_t) -> !out {
  %r = tessera_hlo.instruction "dot"(%a, %b) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{0}"}} : (!lhs, !rhs_t) -> !out
  return %r : !out
}

// A window that pairs each index of the result with one of both operands is that
// of a batch. One that reaches beyond is not.
!images = tensor<3x4x6xf32, #tessera.layout<{2,1,0:T(8,128)}>>
!filters = tensor<3x6x9xf32, #tessera.layout<{2,1,0:T(8,128)}>>
!batches = tensor<3x4x9xf32, #tessera.layout<{2,1,0:T(8,128)}>>

// CHECK-LABEL: func.func @batches(
// CHECK:       linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}], iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%arg0, %arg1
// CHECK-LABEL: func.func @window(
// CHECK:       scf.if
func.func @batches(%a: !images, %b: !filters) -> !batches {
  %r = tessera_hlo.instruction "convolution"(%a, %b) {hlo_attributes = {dim_labels = "0bf_0io->0bf", window = "{size=3 stride=2 lhs_dilate=3}"}} : (!images, !filters) -> !batches
  return %r : !batches
}
func.func @window(%a: !images, %b: !filters) -> !batches {
  %r = tessera_hlo.instruction "convolution"(%a, %b) {hlo_attributes = {dim_labels = "0bf_0io->0bf", window = "{size=3 pad=1_1}"}} : (!images, !filters) -> !batches
  return %r : !batches
}

// Operands that are moved to another space in a fusion are read where they are.
!far = tensor<64x256xf32, #tessera.layout<{1,0:T(8,128)}>>
!rows = tensor<1x64x256xf32, #tessera.layout<{2,1,0:T(8,128)S(1)}>>
!weights = tensor<256x128xf32, #tessera.layout<{1,0:T(8,128)}>>
!product = tensor<64x128xf32, #tessera.layout<{1,0:T(8,128)}>>
// CHECK-LABEL: func.func @spaces(
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<1x64x256xf32
// CHECK:         %[[VIEW:.*]] = tessera.bitcast %[[X]] : {{.*}} to tensor<64x256xf32
// CHECK:         linalg.generic {{.*}}"reduction"{{.*}} ins(%[[VIEW]], %
func.func @spaces(%x: !rows, %w: !weights) -> !product {
  %b = tessera.bitcast %x fused : !rows to !far
  %r = tessera_hlo.instruction "convolution"(%b, %w) {hlo_attributes = {dim_labels = "bf_io->bf"}} : (!far, !weights) -> !product
  return %r : !product
}
