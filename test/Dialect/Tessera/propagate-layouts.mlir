// Layouts are chosen so that relayouts move the fewest bytes.
// RUN: tessera-opt %s --tessera-propagate-layouts=remarks --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tessera-opt %s --tessera-propagate-layouts --split-input-file | tessera-opt --tessera-propagate-layouts --split-input-file | FileCheck %s

#rows = #tessera.layout<{1,0:T(8,128)}>
#columns = #tessera.layout<{0,1:T(8,128)}>

// There and back again, around what can be done in either layout.
// expected-remark @below {{0 bytes moved for layouts, 262144 before; no assignment of these candidates moves less than 0}}
module {
// CHECK-LABEL: @elementwise
// CHECK-NOT: relayout
// CHECK: math.exp %{{.*}} : tensor<128x128xf32, #layout>
// CHECK: return
func.func @elementwise(%a: tensor<128x128xf32, #rows>) -> tensor<128x128xf32, #rows> {
  %b = tessera.relayout %a : tensor<128x128xf32, #rows> to tensor<128x128xf32, #columns>
  %c = math.exp %b : tensor<128x128xf32, #columns>
  %d = tessera.relayout %c : tensor<128x128xf32, #columns> to tensor<128x128xf32, #rows>
  return %d : tensor<128x128xf32, #rows>
}
}

// -----

#rows = #tessera.layout<{1,0:T(8,128)}>
#columns = #tessera.layout<{0,1:T(8,128)}>

// A weight that is brought into another layout in each step of a loop is
// brought into it once.
// expected-remark @below {{131072 bytes moved for layouts, 917504 before; no assignment of these candidates moves less than 131072}}
module {
// CHECK-LABEL: @loop
// CHECK: tessera.relayout
// CHECK: scf.for
// CHECK-NOT: tessera.relayout
func.func @loop(%w: tensor<128x128xf32, #rows>, %x: tensor<128x128xf32, #columns>) -> tensor<128x128xf32, #columns> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %r:2 = scf.for %i = %c0 to %c7 step %c1 iter_args(%state = %x, %weight = %w)
      -> (tensor<128x128xf32, #columns>, tensor<128x128xf32, #rows>) {
    %t = tessera.relayout %weight : tensor<128x128xf32, #rows> to tensor<128x128xf32, #columns>
    %s = arith.addf %state, %t : tensor<128x128xf32, #columns>
    scf.yield %s, %weight : tensor<128x128xf32, #columns>, tensor<128x128xf32, #rows>
  }
  return %r#0 : tensor<128x128xf32, #columns>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// A reader that takes any layout reads what there is; a constant is written
// down in the layout that is wanted. The layout of the result stays.
// expected-remark @below {{0 bytes moved for layouts, 1280 before}}
module {
// CHECK-LABEL: @reader
// CHECK-NOT: tessera.relayout
// CHECK: linalg.transpose ins(%{{.*}} : tensor<8x10xf32, #layout>)
func.func @reader(%a: tensor<8x10xf32, #rows>) -> tensor<10x8xf32, #rows> {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  %e = tensor.empty() : tensor<10x8xf32, #columns>
  %t = linalg.transpose ins(%b : tensor<8x10xf32, #columns>) outs(%e : tensor<10x8xf32, #columns>) permutation = [1, 0]
  %c = arith.constant dense<1.0> : tensor<10x8xf32, #columns>
  %s = arith.addf %t, %c : tensor<10x8xf32, #columns>
  %r = tessera.relayout %s : tensor<10x8xf32, #columns> to tensor<10x8xf32, #rows>
  return %r : tensor<10x8xf32, #rows>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>
#fast = #tessera.layout<{0,1:S(1)}>

// Boundaries, calls of what is elsewhere, and memory spaces stay as they are.
// expected-remark @below {{1920 bytes moved for layouts, 1920 before; no assignment of these candidates moves less than 1920}}
module {
func.func private @callee(tensor<8x10xf32, #columns>)
// CHECK-LABEL: @stay
// CHECK-COUNT-3: tessera.relayout
func.func @stay(%a: tensor<8x10xf32, #rows>) -> tensor<8x10xf32, #rows> {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  call @callee(%b) : (tensor<8x10xf32, #columns>) -> ()
  %f = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #fast>
  %g = math.exp %f : tensor<8x10xf32, #fast>
  %h = tessera.relayout %g : tensor<8x10xf32, #fast> to tensor<8x10xf32, #rows>
  return %h : tensor<8x10xf32, #rows>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// Branches and endless loops tie what goes around.
// expected-remark @below {{0 bytes moved for layouts}}
module {
// CHECK-LABEL: @branches
// CHECK-NOT: tessera.relayout
func.func @branches(%a: tensor<8x10xf32, #rows>, %p: i1) -> tensor<8x10xf32, #rows> {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  %c = scf.if %p -> tensor<8x10xf32, #columns> {
    %n = arith.negf %b : tensor<8x10xf32, #columns>
    scf.yield %n : tensor<8x10xf32, #columns>
  } else {
    scf.yield %b : tensor<8x10xf32, #columns>
  }
  %d = scf.while (%x = %c) : (tensor<8x10xf32, #columns>) -> tensor<8x10xf32, #columns> {
    scf.condition(%p) %x : tensor<8x10xf32, #columns>
  } do {
  ^bb0(%y: tensor<8x10xf32, #columns>):
    %e = math.exp %y : tensor<8x10xf32, #columns>
    scf.yield %e : tensor<8x10xf32, #columns>
  }
  %r = tessera.relayout %d : tensor<8x10xf32, #columns> to tensor<8x10xf32, #rows>
  return %r : tensor<8x10xf32, #rows>
}
}
