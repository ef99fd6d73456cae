// Relayouts that move what need not be moved.
// RUN: tessera-opt %s --tessera-fold-relayouts=remarks --split-input-file --verify-diagnostics | FileCheck %s

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>
#tiles = #tessera.layout<{1,0:T(1,128)}>
#fast = #tessera.layout<{1,0:S(1)}>
#padded = #tessera.layout<{1,0:T(8,128)}>

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
  // expected-remark @below {{relayout stays: 8192 bytes read and written; an argument of the function has this layout; give it that of the result, and 'arith.addf' takes the other; --tessera-propagate-layouts chooses both}}
  %u = tessera.relayout %w : tensor<8x128xf32, #rows> to tensor<8x128xf32, #columns>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> tensor<8x128xf32, #columns> {
    %t = tessera.relayout %w : tensor<8x128xf32, #rows> to tensor<8x128xf32, #columns>
    %v = arith.addf %s, %t : tensor<8x128xf32, #columns>
    %y = arith.addf %v, %u : tensor<8x128xf32, #columns>
    scf.yield %y : tensor<8x128xf32, #columns>
  }
  return %r : tensor<8x128xf32, #columns>
}

// Moves to a third space stay. What reads any order reads what there is.
// CHECK-LABEL: @spaces
// CHECK: tessera.relayout
// CHECK: tessera.relayout
// CHECK: scf.for
// CHECK-NOT: tessera.relayout
// CHECK: linalg.transpose ins(%{{.*}} : tensor<8x128xf32, #[[R:.*]]>) outs(%{{.*}} : tensor<128x8xf32, #[[C:.*]]>)
func.func @spaces(%a: tensor<8x128xf32, #rows>, %x: tensor<8x128xf32, #rows>, %n: index) -> (tensor<8x128xf32, #rows>, tensor<8x128xf32, #rows>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @below {{relayout stays: 8192 bytes read and written; it moves to another memory space}}
  %f = tessera.relayout %a : tensor<8x128xf32, #rows> to tensor<8x128xf32, #fast>
  // expected-remark @below {{it moves to another memory space}}
  %b = tessera.relayout %f : tensor<8x128xf32, #fast> to tensor<8x128xf32, #rows>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> tensor<8x128xf32, #rows> {
    %t = tessera.relayout %s : tensor<8x128xf32, #rows> to tensor<8x128xf32, #columns>
    %e = tensor.empty() : tensor<128x8xf32, #columns>
    %p = linalg.transpose ins(%t : tensor<8x128xf32, #columns>) outs(%e : tensor<128x8xf32, #columns>) permutation = [1, 0]
    %q = tessera.bitcast %p : tensor<128x8xf32, #columns> to tensor<8x128xf32, #rows>
    scf.yield %q : tensor<8x128xf32, #rows>
  }
  return %b, %r : tensor<8x128xf32, #rows>, tensor<8x128xf32, #rows>
}

// A slice and a sum read the large array as it is: nothing of it is moved.
// CHECK-LABEL: @sink
// CHECK-NOT: tessera.relayout
// CHECK: tensor.extract_slice %{{.*}} : tensor<800x128xf32, #[[R]]> to tensor<4x8xf32, #[[C]]>
// CHECK: linalg.reduce {{.*}} ins(%{{.*}} : tensor<800x128xf32, #[[R]]>)
// CHECK: return
func.func @sink(%a: tensor<800x128xf32, #rows>, %z: tensor<128xf32>) -> (tensor<4x8xf32, #columns>, tensor<128xf32>) {
  %b = tessera.relayout %a : tensor<800x128xf32, #rows> to tensor<800x128xf32, #columns>
  %c = tensor.extract_slice %b[3, 5] [4, 8] [1, 1] : tensor<800x128xf32, #columns> to tensor<4x8xf32, #columns>
  %s = linalg.reduce { arith.addf } ins(%b : tensor<800x128xf32, #columns>) outs(%z : tensor<128xf32>) dimensions = [0]
  return %c, %s : tensor<4x8xf32, #columns>, tensor<128xf32>
}

// What is written anew is written as it is wanted.
// CHECK-LABEL: @writer
// CHECK-NOT: tessera.relayout
// CHECK: tensor.empty() : tensor<128x8xf32, #[[C]]>
// CHECK: return
func.func @writer(%a: tensor<8x128xf32, #rows>) -> tensor<128x8xf32, #columns> {
  %e = tensor.empty() : tensor<128x8xf32, #rows>
  %p = linalg.transpose ins(%a : tensor<8x128xf32, #rows>) outs(%e : tensor<128x8xf32, #rows>) permutation = [1, 0]
  %q = tessera.relayout %p : tensor<128x8xf32, #rows> to tensor<128x8xf32, #columns>
  return %q : tensor<128x8xf32, #columns>
}

// Something else reads the other order, or writes over it, or the array has so
// much padding that ten sums of it would read more than a copy.
// CHECK-LABEL: @stay
// CHECK-COUNT-3: tessera.relayout
func.func @stay(%a: tensor<8x128xf32, #rows>, %d: tensor<8x128xf32, #columns>, %w: tensor<800x2xf32, #padded>, %z: tensor<2xf32>, %n: index)
    -> (tensor<4x8xf32, #columns>, tensor<8x128xf32, #columns>, tensor<8x128xf32, #rows>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @below {{relayout stays: 8192 bytes read and written; an argument of the function has this layout; give it that of the result, and 'tensor.extract_slice' takes the other; --tessera-propagate-layouts chooses both}}
  %b = tessera.relayout %a : tensor<8x128xf32, #rows> to tensor<8x128xf32, #columns>
  %c = tensor.extract_slice %b[3, 5] [4, 8] [1, 1] : tensor<8x128xf32, #columns> to tensor<4x8xf32, #columns>
  %e = arith.addf %d, %d : tensor<8x128xf32, #columns>
  // expected-remark @below {{'arith.addf' gives this layout, and 'func.return' takes the other; let the function return this one}}
  %f = tessera.relayout %e : tensor<8x128xf32, #columns> to tensor<8x128xf32, #rows>
  // expected-remark @below {{'linalg.reduce' takes the other}}
  %v = tessera.relayout %w : tensor<800x2xf32, #padded> to tensor<800x2xf32, #columns>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> tensor<2xf32> {
    %t = linalg.reduce { arith.addf } ins(%v : tensor<800x2xf32, #columns>) outs(%s : tensor<2xf32>) dimensions = [0]
    scf.yield %t : tensor<2xf32>
  }
  return %c, %b, %f, %r : tensor<4x8xf32, #columns>, tensor<8x128xf32, #columns>, tensor<8x128xf32, #rows>, tensor<2xf32>
}
