// Relayouts that move what need not be moved.
// RUN: tessera-opt %s --tessera-fold-relayouts=remarks --split-input-file --verify-diagnostics | FileCheck %s

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>
#tiles = #tessera.layout<{1,0:T(1,128)}>
#fast = #tessera.layout<{1,0:S(1)}>

// CHECK-LABEL: @bitcast
// CHECK: tessera.bitcast
// CHECK-NOT: tessera.relayout
// CHECK: return
func.func @bitcast(%a: tensor<8x128xf32, #rows>) -> tensor<8x128xf32, #tiles> {
  %b = tessera.relayout %a : tensor<8x128xf32, #rows> to tensor<8x128xf32, #tiles>
  return %b : tensor<8x128xf32, #tiles>
}

// There and back; of a constant.
// CHECK-LABEL: @cancel
// CHECK-NOT: tessera.relayout
// CHECK: arith.constant dense<{{.*}}> : tensor<2x2xf32, #[[COLUMNS:.*]]>
// CHECK: return
func.func @cancel(%a: tensor<2x2xf32, #rows>) -> (tensor<2x2xf32, #rows>, tensor<2x2xf32, #columns>) {
  %b = tessera.relayout %a : tensor<2x2xf32, #rows> to tensor<2x2xf32, #columns>
  %c = tessera.relayout %b : tensor<2x2xf32, #columns> to tensor<2x2xf32, #rows>
  %d = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32, #rows>
  %e = tessera.relayout %d : tensor<2x2xf32, #rows> to tensor<2x2xf32, #columns>
  return %c, %e : tensor<2x2xf32, #rows>, tensor<2x2xf32, #columns>
}

// One of two that are equal, in front of the loop.
// CHECK-LABEL: @loop
// CHECK-COUNT-1: tessera.relayout
// CHECK: scf.for
// CHECK-NOT: tessera.relayout
func.func @loop(%w: tensor<8x128xf32, #rows>, %x: tensor<8x128xf32, #columns>, %n: index) -> tensor<8x128xf32, #columns> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @below {{relayout stays: 8192 bytes read and written; an argument of the function has this layout; give it that of the result, and 'arith.addf' takes the other}}
  %u = tessera.relayout %w : tensor<8x128xf32, #rows> to tensor<8x128xf32, #columns>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> tensor<8x128xf32, #columns> {
    %t = tessera.relayout %w : tensor<8x128xf32, #rows> to tensor<8x128xf32, #columns>
    %v = arith.addf %s, %t : tensor<8x128xf32, #columns>
    %y = arith.addf %v, %u : tensor<8x128xf32, #columns>
    scf.yield %y : tensor<8x128xf32, #columns>
  }
  return %r : tensor<8x128xf32, #columns>
}

// Moves to a third space stay, and so do those of what a loop computes.
// CHECK-LABEL: @spaces
// CHECK: tessera.relayout
// CHECK: tessera.relayout
// CHECK: scf.for
// CHECK: tessera.relayout
func.func @spaces(%a: tensor<8x128xf32, #rows>, %x: tensor<8x128xf32, #rows>, %n: index) -> (tensor<8x128xf32, #rows>, tensor<8x128xf32, #rows>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @below {{relayout stays: 8192 bytes}}
  %f = tessera.relayout %a : tensor<8x128xf32, #rows> to tensor<8x128xf32, #fast>
  // expected-remark @below {{'tessera.relayout' gives this layout, and 'func.return' takes the other}}
  %b = tessera.relayout %f : tensor<8x128xf32, #fast> to tensor<8x128xf32, #rows>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> tensor<8x128xf32, #rows> {
    // expected-remark @below {{a block argument has this layout, and 'linalg.transpose' takes the other}}
    %t = tessera.relayout %s : tensor<8x128xf32, #rows> to tensor<8x128xf32, #columns>
    %e = tensor.empty() : tensor<128x8xf32, #columns>
    %p = linalg.transpose ins(%t : tensor<8x128xf32, #columns>) outs(%e : tensor<128x8xf32, #columns>) permutation = [1, 0]
    %q = tessera.bitcast %p : tensor<128x8xf32, #columns> to tensor<8x128xf32, #rows>
    scf.yield %q : tensor<8x128xf32, #rows>
  }
  return %b, %r : tensor<8x128xf32, #rows>, tensor<8x128xf32, #rows>
}
