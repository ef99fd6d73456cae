// RUN: tessera-opt %s --tessera-hlo-to-linalg | FileCheck %s

// What a loop carries from step to step: not what its body hands on, which is
// the same memory as an array of the same type.

!n = tensor<i32, #tessera.layout<{}>>
!p = tensor<i1, #tessera.layout<{}>>
!row = tensor<4x4xf32, #tessera.layout<{1,0}>>
!column = tensor<4x4xf32, #tessera.layout<{0,1}>>
!flat = tensor<16xf32, #tessera.layout<{0}>>
!state = tuple<!n, !row>
!other = tuple<!n, !column>

func.func private @goes_on(%s: !state) -> !p {
  %i = tessera_hlo.instruction "get-tuple-element"(%s) {hlo_attributes = {index = "0"}} : (!state) -> !n
  %n = arith.constant dense<3> : !n
  %r = tessera_hlo.instruction "compare"(%i, %n) {hlo_attributes = {direction = "LT"}} : (!n, !n) -> !p
  return %r : !p
}

// There and back again.
func.func private @same(%s: !state) -> !state {
  %i = tessera_hlo.instruction "get-tuple-element"(%s) {hlo_attributes = {index = "0"}} : (!state) -> !n
  %x = tessera_hlo.instruction "get-tuple-element"(%s) {hlo_attributes = {index = "1"}} : (!state) -> !row
  %j = tessera_hlo.instruction "add"(%i, %i) : (!n, !n) -> !n
  %f = tessera.bitcast %x : !row to !flat
  %y = tessera.bitcast %f : !flat to !row
  %t = tessera_hlo.instruction "tuple"(%j, %y) : (!n, !row) -> !state
  %u = tessera_hlo.instruction "domain"(%t) {hlo_attributes = {domain = "{}"}} : (!state) -> !state
  return %u : !state
}

// The same memory is the transpose in another layout.
func.func private @transposed(%s: !state) -> !other {
  %i = tessera_hlo.instruction "get-tuple-element"(%s) {hlo_attributes = {index = "0"}} : (!state) -> !n
  %x = tessera_hlo.instruction "get-tuple-element"(%s) {hlo_attributes = {index = "1"}} : (!state) -> !row
  %j = tessera_hlo.instruction "add"(%i, %i) : (!n, !n) -> !n
  %y = tessera.bitcast %x : !row to !column
  %t = tessera_hlo.instruction "tuple"(%j, %y) : (!n, !column) -> !other
  return %t : !other
}

// The tuple is one of a copy.
func.func private @copied(%s: !state) -> !state {
  %i = tessera_hlo.instruction "get-tuple-element"(%s) {hlo_attributes = {index = "0"}} : (!state) -> !n
  %x = tessera_hlo.instruction "get-tuple-element"(%s) {hlo_attributes = {index = "1"}} : (!state) -> !row
  %j = tessera_hlo.instruction "add"(%i, %i) : (!n, !n) -> !n
  %y = tessera.bitcast %x : !row to !column
  %t = tessera_hlo.instruction "tuple"(%j, %y) : (!n, !column) -> !state
  return %t : !state
}

// CHECK-LABEL: func.func @main(
// CHECK:         scf.while (%{{[^,]*}} = %{{[^,]*}}) : (tensor<i32, {{.*}}>) -> tensor<i32, {{[^,]*}}> {
// CHECK:         scf.while (%{{[^,]*}} = %{{[^,]*}}, %{{[^,]*}} = %{{[^,]*}}) :
// CHECK:         scf.while (%{{[^,]*}} = %{{[^,]*}}, %{{[^,]*}} = %{{[^,]*}}) :
func.func @main(%s: !state) -> !state {
  %0 = tessera_hlo.instruction "while"(%s) {hlo_attributes = {condition = @goes_on, body = @same}} : (!state) -> !state
  %1 = tessera_hlo.instruction "while"(%0) {hlo_attributes = {condition = @goes_on, body = @transposed}} : (!state) -> !state
  %2 = tessera_hlo.instruction "while"(%1) {hlo_attributes = {condition = @goes_on, body = @copied}} : (!state) -> !state
  return %2 : !state
}
