// Cases in which layouts have been seen to cost more than they save.
// RUN: tessera-opt %s --tessera-propagate-layouts=remarks --split-input-file --verify-diagnostics | FileCheck %s

#wide = #tessera.layout<{1,0:T(8,128)}>
#narrow = #tessera.layout<{0,1:T(8,128)}>

// A narrow table with a consumer that reads rows. In its narrow order the table
// has an eighth of the bytes, and the rows that are taken of it are brought into
// the consumer's order, not the table: two megabytes are not moved.
// expected-remark @below {{moved for layouts}}
module {
func.func private @rows(tensor<64x8xf32, #wide>)
// CHECK-LABEL: @table
// CHECK-NOT: tessera.relayout {{.*}}4096
// CHECK: tensor.extract_slice %{{.*}} : tensor<4096x8xf32, #[[NARROW:.*]]> to tensor<64x8xf32, #[[WIDE:.*]]>
// CHECK-NEXT: call @rows(%{{.*}}) : (tensor<64x8xf32, #[[WIDE]]>)
func.func @table(%table: tensor<4096x8xf32, #narrow>, %i: index) {
  %t = tessera.relayout %table : tensor<4096x8xf32, #narrow> to tensor<4096x8xf32, #wide>
  %r = tensor.extract_slice %t[%i, 0] [64, 8] [1, 1] : tensor<4096x8xf32, #wide> to tensor<64x8xf32, #wide>
  call @rows(%r) : (tensor<64x8xf32, #wide>) -> ()
  return
}
}

// -----

#cache = #tessera.layout<{2,1,0:T(8,128)}>
#heads = #tessera.layout<{2,0,1:T(8,128)}>

// A cache that a kernel of somebody else's reads in each step, in an order of
// its own, and that each step writes a row of: the whole loop has it in that
// order, and it is moved in front of the loop and behind it, not in each step.
// 4 MiB read and written twice are 16 MiB; they were 2 * 32 times that.
// expected-remark @below {{16777216 bytes moved for layouts, 536870912 before; no assignment of these candidates moves less than 16777216}}
module {
func.func private @attention(tensor<1024x8x128xf32, #heads>)
// CHECK-LABEL: @decode
// CHECK: tessera.relayout
// CHECK: scf.for
// CHECK-NOT: tessera.relayout
// CHECK: scf.yield
// CHECK: tessera.relayout
func.func @decode(%cache: tensor<1024x8x128xf32, #cache>, %new: tensor<1x8x128xf32, #cache>) -> tensor<1024x8x128xf32, #cache> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %r = scf.for %i = %c0 to %c32 step %c1 iter_args(%c = %cache) -> tensor<1024x8x128xf32, #cache> {
    %u = tensor.insert_slice %new into %c[%i, 0, 0] [1, 8, 128] [1, 1, 1] : tensor<1x8x128xf32, #cache> into tensor<1024x8x128xf32, #cache>
    %t = tessera.relayout %u : tensor<1024x8x128xf32, #cache> to tensor<1024x8x128xf32, #heads>
    func.call @attention(%t) : (tensor<1024x8x128xf32, #heads>) -> ()
    %v = tessera.relayout %t : tensor<1024x8x128xf32, #heads> to tensor<1024x8x128xf32, #cache>
    scf.yield %v : tensor<1024x8x128xf32, #cache>
  }
  return %r : tensor<1024x8x128xf32, #cache>
}
}

// -----

#rows = #tessera.layout<{1,0:T(8,128)}>
#columns = #tessera.layout<{0,1:T(8,128)}>

// Weights that are transposed in each step for a kernel: once is enough.
// expected-remark @below {{2097152 bytes moved for layouts, 41943040 before; no assignment of these candidates moves less than 2097152}}
module {
func.func private @kernel(tensor<512x512xf32, #columns>, tensor<512x512xf32, #columns>) -> tensor<512x512xf32, #columns>
// CHECK-LABEL: @weights
// CHECK-COUNT-1: tessera.relayout
// CHECK: scf.for
// CHECK-NOT: tessera.relayout
func.func @weights(%w: tensor<512x512xf32, #rows>, %x: tensor<512x512xf32, #columns>) -> tensor<512x512xf32, #columns> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %r = scf.for %i = %c0 to %c20 step %c1 iter_args(%s = %x) -> tensor<512x512xf32, #columns> {
    %t = tessera.relayout %w : tensor<512x512xf32, #rows> to tensor<512x512xf32, #columns>
    %y = func.call @kernel(%t, %s) : (tensor<512x512xf32, #columns>, tensor<512x512xf32, #columns>) -> tensor<512x512xf32, #columns>
    scf.yield %y : tensor<512x512xf32, #columns>
  }
  return %r : tensor<512x512xf32, #columns>
}
}

// -----

#tiles = #tessera.layout<{1,0:T(16,16)}>

// Data tiling around a product of 20 by 20: tiles have more padding than the
// product has numbers, and each operand is moved for one use. It stays untiled.
// expected-remark @below {{0 bytes moved for layouts, 27072 before; no assignment of these candidates moves less than 0}}
module {
// CHECK-LABEL: @small
// CHECK-NOT: tessera.relayout
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<20x20xf32>, tensor<20x20xf32>)
// CHECK-NOT: tessera.relayout
func.func @small(%a: tensor<20x20xf32>, %b: tensor<20x20xf32>) -> tensor<20x20xf32> {
  %s = tessera.relayout %a : tensor<20x20xf32> to tensor<20x20xf32, #tiles>
  %t = tessera.relayout %b : tensor<20x20xf32> to tensor<20x20xf32, #tiles>
  %z = arith.constant dense<0.0> : tensor<20x20xf32, #tiles>
  %p = linalg.matmul ins(%s, %t : tensor<20x20xf32, #tiles>, tensor<20x20xf32, #tiles>) outs(%z : tensor<20x20xf32, #tiles>) -> tensor<20x20xf32, #tiles>
  %r = tessera.relayout %p : tensor<20x20xf32, #tiles> to tensor<20x20xf32>
  return %r : tensor<20x20xf32>
}
}
