// RUN: tessera-opt %s --tessera-hlo-to-linalg | FileCheck %s

// One instruction is one operation on the same laid-out tensors, one computation
// a function; tuples and signs are gone. Programs that run are in test/python.

!u = tensor<4x6xui16, #tessera.layout<{1,0:T(2,4)}>>
!t = tensor<6x4xui16, #tessera.layout<{0,1:T(2,4)}>>
!s = tensor<ui16, #tessera.layout<{}>>

// CHECK-LABEL: func.func private @fused
// CHECK-SAME:    (%[[A:.*]]: tensor<4x6xi16, #{{.*}}>) -> (tensor<4x6xi16, #{{.*}}>, tensor<6x4xi16, #{{.*}}>)
func.func private @fused(%a: !u) -> tuple<!u, !t> {
  // CHECK: linalg.generic
  // CHECK:   tensor.extract %[[A]][%{{.*}}, %{{.*}}]
  // CHECK:   arith.maxui
  %m = tessera_hlo.instruction "maximum"(%a, %a) : (!u, !u) -> !u
  // CHECK: tessera.bitcast %{{.*}} : tensor<4x6xi16, #{{.*}}> to tensor<6x4xi16, #{{.*}}>
  %t = tessera.bitcast %m : !u to !t
  %r = tessera_hlo.instruction "tuple"(%m, %t) : (!u, !t) -> tuple<!u, !t>
  // CHECK: return %{{.*}}, %{{.*}} :
  return %r : tuple<!u, !t>
}

// CHECK-LABEL: func.func private @add(
func.func private @add(%x: !s, %y: !s) -> !s {
  %r = tessera_hlo.instruction "add"(%x, %y) : (!s, !s) -> !s
  return %r : !s
}

// CHECK-LABEL: func.func @main(
func.func @main(%a: !u) -> !s {
  // CHECK: %[[CALL:.*]]:2 = call @fused
  %p = tessera_hlo.instruction "fusion"(%a) {hlo_attributes = {calls = @fused, kind = "kLoop"}} : (!u) -> tuple<!u, !t>
  %t = tessera_hlo.instruction "get-tuple-element"(%p) {hlo_attributes = {index = "1"}} : (tuple<!u, !t>) -> !t
  // CHECK: arith.constant dense<3> : tensor<i16,
  %z = arith.constant dense<3> : !s
  // The most minor dimension in memory is innermost.
  // CHECK: affine.for %[[J:.*]] = 0 to 4
  // CHECK:   affine.for %[[I:.*]] = 0 to 6
  // CHECK:     %[[E:.*]] = tensor.extract %[[CALL]]#1[%[[I]], %[[J]]]
  // CHECK:     arith.addi %{{.*}}, %[[E]]
  %r = tessera_hlo.instruction "reduce"(%t, %z) {hlo_attributes = {dimensions = "{0,1}", to_apply = @add}} : (!t, !s) -> !s
  return %r : !s
}
