// How layouts pass through operations. test/Passes/propagate-models.py runs each.
// RUN: tessera-opt %s --tessera-propagate-layouts=remarks --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tessera-opt %s --tessera-propagate-layouts --split-input-file | tessera-opt --tessera-propagate-layouts --split-input-file | FileCheck %s

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// A private function has the layouts of its calls.
// expected-remark @below {{0 bytes moved for layouts, 1280 before}}
module {
// CHECK-LABEL: func.func private @twice(
// CHECK-SAME: tensor<8x10xf32, #layout>) -> tensor<8x10xf32, #layout> {
func.func private @twice(%a: tensor<8x10xf32, #columns>) -> tensor<8x10xf32, #columns> {
  %b = arith.addf %a, %a : tensor<8x10xf32, #columns>
  return %b : tensor<8x10xf32, #columns>
}
// CHECK-LABEL: @call
// CHECK-NOT: tessera.relayout
// CHECK: call @twice(%{{.*}}) : (tensor<8x10xf32, #layout>) -> tensor<8x10xf32, #layout>
func.func @call(%a: tensor<8x10xf32, #rows>) -> tensor<8x10xf32, #rows> {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  %c = call @twice(%b) : (tensor<8x10xf32, #columns>) -> tensor<8x10xf32, #columns>
  %r = tessera.relayout %c : tensor<8x10xf32, #columns> to tensor<8x10xf32, #rows>
  return %r : tensor<8x10xf32, #rows>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// A public one has other callers, and so has one that is used as a value.
// expected-remark @below {{1280 bytes moved for layouts, 1280 before}}
module {
// CHECK-LABEL: func.func @public(
// CHECK-SAME: #[[COLUMNS:.*]]>) -> tensor<8x10xf32, #[[COLUMNS]]> {
func.func @public(%a: tensor<8x10xf32, #columns>) -> tensor<8x10xf32, #columns> {
  return %a : tensor<8x10xf32, #columns>
}
func.func private @value(%a: tensor<8x10xf32, #columns>) -> tensor<8x10xf32, #columns> {
  return %a : tensor<8x10xf32, #columns>
}
// CHECK-LABEL: @callers
// CHECK-COUNT-2: tessera.relayout
func.func @callers(%a: tensor<8x10xf32, #rows>) -> tensor<8x10xf32, #rows> {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  %c = call @public(%b) : (tensor<8x10xf32, #columns>) -> tensor<8x10xf32, #columns>
  %f = func.constant @value : (tensor<8x10xf32, #columns>) -> tensor<8x10xf32, #columns>
  %d = call @value(%c) : (tensor<8x10xf32, #columns>) -> tensor<8x10xf32, #columns>
  %r = tessera.relayout %d : tensor<8x10xf32, #columns> to tensor<8x10xf32, #rows>
  return %r : tensor<8x10xf32, #rows>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// What blocks hand on has one layout; a loop of blocks runs ten times.
// expected-remark @below {{0 bytes moved for layouts, 7040 before}}
module {
// CHECK-LABEL: @blocks
// CHECK-NOT: tessera.relayout
// CHECK: ^bb1(%{{.*}}: tensor<8x10xf32, #layout>
func.func @blocks(%a: tensor<8x10xf32, #rows>, %p: i1) -> tensor<8x10xf32, #rows> {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  cf.br ^head(%b : tensor<8x10xf32, #columns>)
^head(%s: tensor<8x10xf32, #columns>):
  %t = tessera.relayout %s : tensor<8x10xf32, #columns> to tensor<8x10xf32, #rows>
  %u = math.exp %t : tensor<8x10xf32, #rows>
  %v = tessera.bitcast %u : tensor<8x10xf32, #rows> to tensor<8x10xf32, #rows>
  cf.cond_br %p, ^head(%b : tensor<8x10xf32, #columns>), ^end(%v : tensor<8x10xf32, #rows>)
^end(%r: tensor<8x10xf32, #rows>):
  return %r : tensor<8x10xf32, #rows>
}
}

// -----

#rows = #tessera.layout<{1,0:T(8,128)}>
#columns = #tessera.layout<{0,1:T(8,128)}>
#batches = #tessera.layout<{2,1,0:T(8,128)}>
#turned = #tessera.layout<{1,2,0:T(8,128)}>

// Layouts go through reshapes where bytes stay, here of whole tiles.
// expected-remark @below {{0 bytes moved for layouts, 3145728 before}}
module {
// CHECK-LABEL: @reshape
// CHECK-NOT: tessera.relayout
// CHECK: tensor.expand_shape {{.*}} : tensor<256x256xf32, #[[ROWS:.*]]> into tensor<4x64x256xf32, #[[BATCHES:.*]]>
// CHECK-NEXT: math.exp %{{.*}} : tensor<4x64x256xf32, #[[BATCHES]]>
// CHECK-NEXT: tensor.collapse_shape
// CHECK-NEXT: return
func.func @reshape(%a: tensor<256x256xf32, #rows>) -> tensor<256x256xf32, #rows> {
  %c = tensor.expand_shape %a [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32, #rows> into tensor<4x64x256xf32, #turned>
  %d = math.exp %c : tensor<4x64x256xf32, #turned>
  %e = tessera.relayout %d : tensor<4x64x256xf32, #turned> to tensor<4x64x256xf32, #batches>
  %f = tensor.collapse_shape %e [[0, 1], [2]] : tensor<4x64x256xf32, #batches> into tensor<256x256xf32, #columns>
  %g = tessera.relayout %f : tensor<256x256xf32, #columns> to tensor<256x256xf32, #rows>
  return %g : tensor<256x256xf32, #rows>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// Dimensions that an operation hands through stand in one order: the columns
// that are wanted behind a slice, a reduction and a broadcast are found.
// expected-remark @below {{0 bytes moved for layouts}}
module {
// CHECK-LABEL: @orders
// CHECK-NOT: tessera.relayout
// CHECK: tensor.extract_slice {{.*}} : tensor<8x10xf32, #[[COLUMNS:.*]]> to tensor<4x5xf32, #[[COLUMNS]]>
func.func @orders(%a: tensor<8x10xf32, #columns>) -> tensor<4x5xf32, #columns> {
  %b = tessera.relayout %a : tensor<8x10xf32, #columns> to tensor<8x10xf32, #rows>
  %c = math.exp %b : tensor<8x10xf32, #rows>
  %d = tensor.extract_slice %c[0, 0] [4, 5] [2, 2] : tensor<8x10xf32, #rows> to tensor<4x5xf32, #rows>
  %e = math.exp %d : tensor<4x5xf32, #rows>
  %f = tessera.relayout %e : tensor<4x5xf32, #rows> to tensor<4x5xf32, #columns>
  return %f : tensor<4x5xf32, #columns>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// Three calls read one copy. It counts once.
// expected-remark @below {{640 bytes moved for layouts, 1920 before; no assignment of these candidates moves less than 640}}
module {
func.func private @read(tensor<8x10xf32, #columns>)
// CHECK-LABEL: @shared
// CHECK-COUNT-1: tessera.relayout
// CHECK-NOT: tessera.relayout
// CHECK: return
func.func @shared(%a: tensor<8x10xf32, #rows>) {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  call @read(%b) : (tensor<8x10xf32, #columns>) -> ()
  %c = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  call @read(%c) : (tensor<8x10xf32, #columns>) -> ()
  %d = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  call @read(%d) : (tensor<8x10xf32, #columns>) -> ()
  return
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// A relayout leaves a loop, but stays in the branch that needs it.
// expected-remark @below {{640 bytes moved for layouts, 6400 before}}
module {
func.func private @read(tensor<8x10xf32, #columns>)
// CHECK-LABEL: @branch
// CHECK-NOT: tessera.relayout
// CHECK: scf.if
// CHECK-NEXT: tessera.relayout
// CHECK-NEXT: scf.for
// CHECK-NOT: tessera.relayout
func.func @branch(%a: tensor<8x10xf32, #rows>, %p: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.if %p {
    scf.for %i = %c0 to %n step %c1 {
      %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
      func.call @read(%b) : (tensor<8x10xf32, #columns>) -> ()
    }
  } else {
    scf.yield
  }
  return
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>
#fast = #tessera.layout<{1,0:S(1)}>
#fast_columns = #tessera.layout<{0,1:S(1)}>

// A move to another space takes the layout that is wanted there.
// expected-remark @below {{640 bytes moved for layouts, 1280 before; no assignment of these candidates moves less than 640}}
module {
func.func private @read(tensor<8x10xf32, #fast_columns>)
// CHECK-LABEL: @space
// CHECK-COUNT-1: tessera.relayout
// CHECK-NOT: tessera.relayout
// CHECK: return
func.func @space(%a: tensor<8x10xf32, #rows>) {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #fast>
  %c = tessera.relayout %b : tensor<8x10xf32, #fast> to tensor<8x10xf32, #fast_columns>
  call @read(%c) : (tensor<8x10xf32, #fast_columns>) -> ()
  return
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>
#flat = #tessera.layout<{0}>

// Both sides of a bitcast change, or none: its elements stay which they are.
// expected-remark @below {{0 bytes moved for layouts, 1280 before}}
module {
// CHECK-LABEL: @bitcast
// CHECK: %[[A:.*]] = math.exp %{{.*}} : tensor<8x10xf32, #[[ROWS:.*]]>
// CHECK-NEXT: %[[B:.*]] = tessera.bitcast %[[A]] : tensor<8x10xf32, #[[ROWS]]> to tensor<10x8xf32, #[[COLUMNS:.*]]>
// CHECK-NEXT: return %[[B]]
func.func @bitcast(%a: tensor<8x10xf32, #rows>) -> tensor<10x8xf32, #columns> {
  %b = tessera.relayout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  %c = math.exp %b : tensor<8x10xf32, #columns>
  %d = tessera.bitcast %c : tensor<8x10xf32, #columns> to tensor<10x8xf32, #rows>
  %e = tessera.relayout %d : tensor<10x8xf32, #rows> to tensor<10x8xf32, #columns>
  return %e : tensor<10x8xf32, #columns>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// What the user fixes stays, and so does a concatenation that upstream folds.
// expected-remark @below {{640 bytes moved for layouts, 640 before}}
module {
// CHECK-LABEL: @fixed
// CHECK: tessera.assume_layout %{{.*}} : tensor<8x10xf32, #[[ROWS:.*]]> to tensor<8x10xf32, #[[COLUMNS:.*]]>
// CHECK: tensor.concat {{.*}} -> tensor<16x10xf32>
func.func @fixed(%a: tensor<8x10xf32, #rows>, %x: f32) -> (tensor<8x10xf32, #columns>, tensor<16x10xf32>) {
  %b = tessera.assume_layout %a : tensor<8x10xf32, #rows> to tensor<8x10xf32, #columns>
  %e = tensor.empty() : tensor<8x10xf32>
  %f = linalg.fill ins(%x : f32) outs(%e : tensor<8x10xf32>) -> tensor<8x10xf32>
  %g = tensor.concat dim(0) %f, %f : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<16x10xf32>
  return %b, %g : tensor<8x10xf32, #columns>, tensor<16x10xf32>
}
}

// -----

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>

// Dynamic dimensions count as 1024.
// expected-remark @below {{81920 bytes moved for layouts, 163840 before; no assignment of these candidates moves less than 81920}}
module {
func.func private @read(tensor<?x10xf32, #columns>)
// CHECK-LABEL: @dynamic
// CHECK: math.exp {{.*}} : tensor<?x10xf32, #[[ROWS:.*]]>
func.func @dynamic(%a: tensor<?x10xf32, #rows>) -> tensor<?x10xf32, #rows> {
  %b = tessera.relayout %a : tensor<?x10xf32, #rows> to tensor<?x10xf32, #columns>
  call @read(%b) : (tensor<?x10xf32, #columns>) -> ()
  %c = math.exp %b : tensor<?x10xf32, #columns>
  %d = tessera.relayout %c : tensor<?x10xf32, #columns> to tensor<?x10xf32, #rows>
  return %d : tensor<?x10xf32, #rows>
}
}
