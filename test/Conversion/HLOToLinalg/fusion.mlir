// RUN: tessera-opt %s --tessera-hlo-to-linalg | FileCheck %s
// RUN: tessera-opt %s --tessera-hlo-to-linalg --canonicalize --cse --tessera-to-affine | FileCheck %s --check-prefix=AFFINE

// What is used once has no array. All values are computed in
// test/python/run-programs.py.

!t = tensor<16x256xf32, #tessera.layout<{1,0:T(8,128)}>>
!r = tensor<256x16xf32, #tessera.layout<{0,1:T(8,128)}>>
!q = tensor<16x16xf32, #tessera.layout<{1,0:T(8,128)}>>
!v = tensor<16xf32, #tessera.layout<{0:T(128)}>>
!i = tensor<16x256xi32, #tessera.layout<{1,0:T(8,128)}>>
!s = tensor<f32, #tessera.layout<{}>>
!vmem = tensor<16x256xf32, #tessera.layout<{1,0:T(8,128)S(1)}>>

func.func private @add(%x: !s, %y: !s) -> !s {
  %r = tessera_hlo.instruction "add"(%x, %y) : (!s, !s) -> !s
  return %r : !s
}

// Elementwise instructions, each emitted once, of broadcasts, numbers and
// elements at other indices: one nest, which is that of the sum.
// CHECK-LABEL: func.func @chain(
// CHECK-COUNT-1: linalg.generic
// CHECK:         affine.for
// CHECK-COUNT-1: math.exp
// CHECK-NOT:     linalg.generic
// CHECK-NOT:     math.exp
// AFFINE-LABEL: func.func @chain(
// AFFINE-COUNT-1: memref.alloc
// AFFINE-NOT:     memref.alloc
func.func @chain(%a: !r, %b: !v, %c: !s) -> !v {
  %zero = arith.constant dense<0.0> : !s
  %t = tessera_hlo.instruction "transpose"(%a) {hlo_attributes = {dimensions = "{1,0}"}} : (!r) -> !t
  %e = tessera_hlo.instruction "exponential"(%t) : (!t) -> !t
  %square = tessera_hlo.instruction "multiply"(%e, %e) : (!t, !t) -> !t
  %row = tessera_hlo.instruction "broadcast"(%b) {hlo_attributes = {dimensions = "{0}"}} : (!v) -> !t
  %sum = tessera_hlo.instruction "add"(%square, %row) : (!t, !t) -> !t
  %scale = tessera_hlo.instruction "negate"(%c) : (!s) -> !s
  %all = tessera_hlo.instruction "broadcast"(%scale) {hlo_attributes = {dimensions = "{}"}} : (!s) -> !t
  %number = tessera_hlo.instruction "iota"() {hlo_attributes = {iota_dimension = "1"}} : () -> !i
  %real = tessera_hlo.instruction "convert"(%number) : (!i) -> !t
  %scaled = tessera_hlo.instruction "multiply"(%all, %real) : (!t, !t) -> !t
  %d = tessera_hlo.instruction "subtract"(%sum, %scaled) : (!t, !t) -> !t
  %f = tessera_hlo.instruction "multiply"(%d, %e) : (!t, !t) -> !t
  %r = tessera_hlo.instruction "reduce"(%f, %zero) {hlo_attributes = {dimensions = "{1}", to_apply = @add}} : (!t, !s) -> !v
  return %r : !v
}

// The sum is computed in the nest of what uses it at the same index.
// CHECK-LABEL: func.func @mean(
// AFFINE-LABEL: func.func @mean(
// CHECK-COUNT-1: linalg.generic
// CHECK:         affine.for
// CHECK:         math.rsqrt
// CHECK-NOT:     linalg.generic
func.func @mean(%a: !t) -> !v {
  %zero = arith.constant dense<0.0> : !s
  %r = tessera_hlo.instruction "reduce"(%a, %zero) {hlo_attributes = {dimensions = "{1}", to_apply = @add}} : (!t, !s) -> !v
  %q = tessera_hlo.instruction "rsqrt"(%r) : (!v) -> !v
  return %q : !v
}

// Nothing is computed twice: what is read at two indices, or for a whole row,
// has an array.
// CHECK-LABEL: func.func @twice(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @twice(%a: !q) -> !q {
  %e = tessera_hlo.instruction "exponential"(%a) : (!q) -> !q
  %x = tessera_hlo.instruction "transpose"(%e) {hlo_attributes = {dimensions = "{1,0}"}} : (!q) -> !q
  %r = tessera_hlo.instruction "add"(%e, %x) : (!q, !q) -> !q
  return %r : !q
}

// CHECK-LABEL: func.func @row(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @row(%a: !v, %b: !t) -> !t {
  %e = tessera_hlo.instruction "exponential"(%a) : (!v) -> !v
  %x = tessera_hlo.instruction "broadcast"(%e) {hlo_attributes = {dimensions = "{0}"}} : (!v) -> !t
  %r = tessera_hlo.instruction "add"(%b, %x) : (!t, !t) -> !t
  return %r : !t
}

// CHECK-LABEL: func.func private @inner(
func.func private @inner(%a: !vmem) -> !t {
  %e = tessera_hlo.instruction "negate"(%a) : (!vmem) -> !vmem
  %b = tessera.bitcast %e fused : !vmem to !t
  return %b : !t
}

// A fusion in a fusion is part of it, and bitcasts are read by elements there.
// CHECK-LABEL: func.func private @outer(
// CHECK-NOT:     call @
// CHECK-COUNT-1: linalg.generic
// CHECK:         arith.negf
// CHECK:         arith.addf
// CHECK-NOT:     linalg.generic
// CHECK-NOT:     tessera.bitcast
func.func private @outer(%a: !vmem, %b: !t) -> !t {
  %i = tessera_hlo.instruction "fusion"(%a) {hlo_attributes = {calls = @inner, kind = "kLoop"}} : (!vmem) -> !t
  %r = tessera_hlo.instruction "add"(%i, %b) : (!t, !t) -> !t
  return %r : !t
}

// CHECK-LABEL: func.func @fusions(
// CHECK: call @outer
func.func @fusions(%a: !vmem, %b: !t) -> !t {
  %r = tessera_hlo.instruction "fusion"(%a, %b) {hlo_attributes = {calls = @outer, kind = "kLoop"}} : (!vmem, !t) -> !t
  return %r : !t
}

// A copy that transposes is a relayout between two nests: in either, one side
// would be touched element by element.
// CHECK-LABEL: func.func @transposing_copy(
// CHECK:       linalg.generic
// CHECK:       math.exp
// CHECK:       tessera.relayout
// CHECK:       linalg.generic
// CHECK:       arith.negf
!columns = tensor<16x256xf32, #tessera.layout<{0,1:T(8,128)}>>
func.func @transposing_copy(%a: !t) -> !columns {
  %e = tessera_hlo.instruction "exponential"(%a) : (!t) -> !t
  %c = tessera.relayout %e : !t to !columns
  %r = tessera_hlo.instruction "negate"(%c) : (!columns) -> !columns
  return %r : !columns
}
