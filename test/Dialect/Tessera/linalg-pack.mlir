// Layouts as linalg.pack and linalg.unpack, and back.
// RUN: split-file %s %t
// RUN: tessera-opt %t/to.mlir --tessera-to-linalg-pack --split-input-file | FileCheck %t/to.mlir
// RUN: tessera-opt %t/errors.mlir --tessera-to-linalg-pack --split-input-file --verify-diagnostics
// RUN: tessera-opt %t/from.mlir --tessera-from-linalg-pack=remarks --split-input-file --verify-diagnostics | FileCheck %t/from.mlir

// There and back again.
// RUN: tessera-opt %t/to.mlir --tessera-to-linalg-pack --tessera-from-linalg-pack --canonicalize --split-input-file | FileCheck %t/to.mlir --check-prefix=BACK

//--- to.mlir
#tiles = #tessera.layout<{1,0:T(8,128)}>

// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: %[[A:.*]]: tensor<16x200xf32>) -> tensor<2x2x8x128xf32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK: linalg.pack %[[A]] padding_value(%[[ZERO]] : f32) outer_dims_perm = [0, 1] inner_dims_pos = [0, 1] inner_tiles = [8, 128] into
// BACK-LABEL: @tiles
// BACK: linalg.pack
func.func @tiles(%a: tensor<16x200xf32>) -> tensor<16x200xf32, #tiles> {
  %b = tessera.relayout %a : tensor<16x200xf32> to tensor<16x200xf32, #tiles>
  return %b : tensor<16x200xf32, #tiles>
}

// -----

#columns = #tessera.layout<{0,1}>
#tiles = #tessera.layout<{0,2,1:T(8,128)(2,1)}>

// Orders alone, and two levels of tiles; what computes does so in between.
// CHECK-LABEL: func.func @levels(
// CHECK-SAME: %[[A:.*]]: tensor<200x16xf32>, %[[B:.*]]: tensor<16x1x2x4x128x2x1xbf16>)
// CHECK: %[[U:.*]] = linalg.unpack %[[A]] outer_dims_perm = [1, 0] inner_dims_pos = [] inner_tiles = [] into
// CHECK: %[[E:.*]] = math.exp %[[U]] : tensor<16x200xf32>
// CHECK: linalg.pack %[[E]] outer_dims_perm = [1, 0] inner_dims_pos = [] inner_tiles = [] into
// CHECK: %[[V:.*]] = linalg.unpack %[[B]] outer_dims_perm = [0, 1, 2, 3, 4] inner_dims_pos = [3, 4] inner_tiles = [2, 1]
// CHECK: linalg.unpack %[[V]] outer_dims_perm = [1, 2, 0] inner_dims_pos = [2, 0] inner_tiles = [8, 128]
// BACK-LABEL: @levels
// BACK: tessera.relayout
func.func @levels(%a: tensor<16x200xf32, #columns>, %b: tensor<256x16x8xbf16, #tiles>)
    -> (tensor<16x200xf32, #columns>, tensor<256x16x8xbf16>) {
  %c = math.exp %a : tensor<16x200xf32, #columns>
  %d = tessera.relayout %b : tensor<256x16x8xbf16, #tiles> to tensor<256x16x8xbf16>
  return %c, %d : tensor<16x200xf32, #columns>, tensor<256x16x8xbf16>
}

// -----

#tiles = #tessera.layout<{1,0:T(8,128)}>
#rows = #tessera.layout<{1,0}>

// Calls, loops and branches hand packed tensors on.
// CHECK-LABEL: func.func private @callee(
// CHECK-SAME: tensor<2x1x8x128xf32>) -> tensor<2x1x8x128xf32>
func.func private @callee(%a: tensor<16x128xf32, #tiles>) -> tensor<16x128xf32, #tiles> {
  cf.br ^end(%a : tensor<16x128xf32, #tiles>)
^end(%b: tensor<16x128xf32, #tiles>):
  return %b : tensor<16x128xf32, #tiles>
}
// CHECK-LABEL: func.func @control(
// CHECK: linalg.pack
// CHECK-NOT: padding_value
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (tensor<2x1x8x128xf32>)
// CHECK: call @callee
// CHECK: tensor.empty() : tensor<2x1x8x128xf32>
// CHECK: linalg.unpack
// CHECK-NOT: tessera
func.func @control(%a: tensor<16x128xf32, #rows>, %n: index) -> (tensor<16x128xf32>, tensor<16x128xf32, #tiles>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tessera.assume_layout %a : tensor<16x128xf32, #rows> to tensor<16x128xf32, #tiles>
  %c = scf.for %i = %c0 to %n step %c1 iter_args(%s = %b) -> tensor<16x128xf32, #tiles> {
    %d = func.call @callee(%s) : (tensor<16x128xf32, #tiles>) -> tensor<16x128xf32, #tiles>
    scf.yield %d : tensor<16x128xf32, #tiles>
  }
  %e = tessera.empty() : tensor<16x128xf32, #tiles>
  %f = tessera.relayout %c : tensor<16x128xf32, #tiles> to tensor<16x128xf32>
  return %f, %e : tensor<16x128xf32>, tensor<16x128xf32, #tiles>
}

//--- errors.mlir
func.func @space(%a: tensor<16x200xf32, #tessera.layout<{1,0:S(1)}>>) {
  // expected-error @above {{unsupported layout as linalg.pack: expected an order of dimensions with tiles, of static sizes, found other fields in tensor<16x200xf32}}
  return
}

// -----

func.func private @padding(tensor<16x200xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>)
// expected-error @above {{found other fields in}}

// -----

func.func @combined(%a: tensor<2x16x200xf32>) {
  // expected-error @below {{found a tile that combines dimensions in}}
  %b = tessera.relayout %a : tensor<2x16x200xf32> to tensor<2x16x200xf32, #tessera.layout<{2,1,0:T(*,8,128)}>>
  return
}

// -----

func.func @rank(%a: tensor<200xf32>) {
  // expected-error @below {{found a tile of more dimensions than there are in}}
  %b = tessera.relayout %a : tensor<200xf32> to tensor<200xf32, #tessera.layout<{0:T(8,128)}>>
  return
}

// -----

func.func @dynamic(%a: tensor<?x200xf32>) {
  // expected-error @below {{found dynamic sizes, which an unpack would not know in}}
  %b = tessera.relayout %a : tensor<?x200xf32> to tensor<?x200xf32, #tessera.layout<{0,1}>>
  return
}

// -----

func.func @operation(%a: tensor<16x200xf32>) {
  // expected-error @below {{unsupported operation on tensors with layouts: expected one that takes tensors without layouts, too, found tessera.bitcast; run --tessera-expand-ops first}}
  %b = tessera.bitcast %a : tensor<16x200xf32> to tensor<200x16xf32, #tessera.layout<{0,1}>>
  return
}

// -----

func.func private @callee(tensor<8xf32, #tessera.layout<{0:T(4)}>>)

func.func @reference() {
  // expected-error @below {{found func.constant}}
  %f = func.constant @callee : (tensor<8xf32, #tessera.layout<{0:T(4)}>>) -> ()
  return
}

// -----

func.func @parallel(%out: tensor<8xf32>, %part: tensor<4xf32, #tessera.layout<{0:T(4)}>>) -> tensor<8xf32> {
  %0 = scf.forall (%i) in (2) shared_outs(%o = %out) -> tensor<8xf32> {
    scf.forall.in_parallel {
      // expected-error @below {{found tensor.parallel_insert_slice}}
      tensor.parallel_insert_slice %part into %o[%i] [4] [1]
          : tensor<4xf32, #tessera.layout<{0:T(4)}>> into tensor<8xf32>
    }
  }
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{unsupported memref with a layout}}
func.func @buffer(%a: memref<16x200xf32, #tessera.layout<{0,1}>>) {
  return
}

//--- from.mlir
// CHECK-LABEL: @both
// CHECK: tessera.relayout %{{.*}} : tensor<16x200xf32> to tensor<16x200xf32, #[[L:.*]]>
// CHECK: tessera.relayout %{{.*}} : tensor<16x200xf32, #[[L]]> to tensor<16x200xf32>
// CHECK-NOT: linalg
func.func @both(%a: tensor<16x200xf32>) -> tensor<16x200xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x8x128xf32>
  %b = linalg.pack %a padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 128] into %e : tensor<16x200xf32> -> tensor<2x2x8x128xf32>
  %f = tensor.empty() : tensor<16x200xf32>
  %c = linalg.unpack %b inner_dims_pos = [0, 1] inner_tiles = [8, 128] into %f : tensor<2x2x8x128xf32> -> tensor<16x200xf32>
  return %c : tensor<16x200xf32>
}

// -----

// Bytes are read as what they are.
// CHECK: #layout = #tessera.layout<{0,1:T(16,8)}>
// CHECK-LABEL: @ends
// CHECK: %[[B:.*]] = tessera.bitcast %{{.*}} : tensor<2x4x16x8xf32> to tensor<30x25xf32, #layout>
// CHECK: tessera.relayout %[[B]]
// CHECK: %[[R:.*]] = tessera.relayout %{{.*}} : tensor<32x32xf32> to tensor<32x32xf32, #layout>
// CHECK: tessera.bitcast %[[R]] : tensor<32x32xf32, #layout> to tensor<2x4x16x8xf32>
func.func @ends(%a: tensor<2x4x16x8xf32>, %d: tensor<32x32xf32>) -> (tensor<30x25xf32>, tensor<2x4x16x8xf32>) {
  %f = tensor.empty() : tensor<30x25xf32>
  %b = linalg.unpack %a outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 8] into %f : tensor<2x4x16x8xf32> -> tensor<30x25xf32>
  %e = tensor.empty() : tensor<2x4x16x8xf32>
  %c = linalg.pack %d outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 8] into %e : tensor<32x32xf32> -> tensor<2x4x16x8xf32>
  return %b, %c : tensor<30x25xf32>, tensor<2x4x16x8xf32>
}

// -----

// CHECK-LABEL: @stay
// CHECK-COUNT-3: linalg.{{(un)?}}pack
func.func @stay(%a: tensor<32x30xf32>, %d: tensor<?x32xf32>, %n: index) -> (tensor<2x4x8x16xf32>, tensor<2x2x16x16xf32>, tensor<?x2x16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x8x16xf32>
  // expected-remark @below {{stays: no order of dimensions with tiles of the last of them, of static sizes, says what it does}}
  %b = linalg.pack %a padding_value(%zero : f32) outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %e : tensor<32x30xf32> -> tensor<2x4x8x16xf32>
  %f = tensor.empty() : tensor<2x2x16x16xf32>
  // expected-remark @below {{stays: something other than an unpack reads its padding, of which no layout says what it holds}}
  %c = linalg.pack %a padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %f : tensor<32x30xf32> -> tensor<2x2x16x16xf32>
  %g = tensor.empty(%n) : tensor<?x2x16x16xf32>
  // expected-remark @below {{stays: no order}}
  %h = linalg.pack %d padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %g : tensor<?x32xf32> -> tensor<?x2x16x16xf32>
  return %b, %c, %h : tensor<2x4x8x16xf32>, tensor<2x2x16x16xf32>, tensor<?x2x16x16xf32>
}
