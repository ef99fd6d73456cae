// RUN: tessera-opt %s -tessera-to-affine | FileCheck %s --check-prefix=AFFINE --implicit-check-not=tessera.
// RUN: tessera-opt %s -tessera-to-affine -mlir-print-op-generic | FileCheck %s --check-prefix=DIALECTS --implicit-check-not='"tessera.' --implicit-check-not='"tensor.' --implicit-check-not='"bufferization.' --implicit-check-not='"linalg.'
// RUN: tessera-opt %s -tessera-to-llvm | FileCheck %s --check-prefix=LLVM --implicit-check-not=tessera. --implicit-check-not=unrealized_conversion_cast
// RUN: tessera-opt %s -tessera-to-llvm | mlir-translate --mlir-to-llvmir -o /dev/null

// Every operation of the dialect goes all the way, in tensor and memref form,
// static and dynamic.

// DIALECTS: "builtin.module"

#tiled = #tessera.layout<{1,0:T(8,128)}>
#columns = #tessera.layout<{0,1:T(8,128)(2,1)PV(zero)}>

module attributes {tessera.target = #tessera.target<"tpu_v5e">} {

// AFFINE-LABEL: func.func @relayout(
// LLVM-LABEL: llvm.func @relayout(
func.func @relayout(%a: tensor<20x30xf32, #tiled>, %b: tensor<?x30xf32>)
    -> (tensor<20x30xf32, #columns>, tensor<?x30xf32, #columns>) {
  %0 = tessera.relayout %a : tensor<20x30xf32, #tiled> to tensor<20x30xf32, #columns>
  %1 = tessera.relayout %b : tensor<?x30xf32> to tensor<?x30xf32, #columns>
  return %0, %1 : tensor<20x30xf32, #columns>, tensor<?x30xf32, #columns>
}

// AFFINE-LABEL: func.func @relayout_memref(
// LLVM-LABEL: llvm.func @relayout_memref(
func.func @relayout_memref(%a: memref<20x?xf32, #tiled>,
                           %b: memref<20x?xf32, #tessera.layout<{0,1:T(8,128)(2,1)PV(zero)}>, #tessera.memory_space<1>>) {
  tessera.relayout %a into %b : memref<20x?xf32, #tiled>, memref<20x?xf32, #tessera.layout<{0,1:T(8,128)(2,1)PV(zero)}>, #tessera.memory_space<1>>
  return
}

// AFFINE-LABEL: func.func @assume_layout(
// LLVM-LABEL: llvm.func @assume_layout(
func.func @assume_layout(%a: tensor<20x?xf32>) -> tensor<20x?xf32, #tiled> {
  %0 = tessera.assume_layout %a : tensor<20x?xf32> to tensor<20x?xf32, #tiled>
  return %0 : tensor<20x?xf32, #tiled>
}

// AFFINE-LABEL: func.func @bitcast(
// LLVM-LABEL: llvm.func @bitcast(
func.func @bitcast(%a: tensor<8x?xf32>, %m: memref<8x32xf32>)
    -> (tensor<?x8xf32, #tessera.layout<{0,1}>>, memref<32x8xf32, #tessera.layout<{0,1}>>) {
  %0 = tessera.bitcast %a : tensor<8x?xf32> to tensor<?x8xf32, #tessera.layout<{0,1}>>
  %1 = tessera.bitcast_view %m : memref<8x32xf32> to memref<32x8xf32, #tessera.layout<{0,1}>>
  return %0, %1 : tensor<?x8xf32, #tessera.layout<{0,1}>>, memref<32x8xf32, #tessera.layout<{0,1}>>
}

// AFFINE-LABEL: func.func @reshape(
// LLVM-LABEL: llvm.func @reshape(
func.func @reshape(%a: tensor<20x30xf32, #tiled>, %b: tensor<?x30x?xf32, #tessera.layout<{2,1,0:T(8,128)}>>)
    -> (tensor<600xf32, #tessera.layout<{0:T(256)}>>, tensor<5x?xf32, #tiled>) {
  %0 = tessera.reshape %a : tensor<20x30xf32, #tiled> to tensor<600xf32, #tessera.layout<{0:T(256)}>>
  %1 = tessera.reshape %b : tensor<?x30x?xf32, #tessera.layout<{2,1,0:T(8,128)}>> to tensor<5x?xf32, #tiled>
  return %0, %1 : tensor<600xf32, #tessera.layout<{0:T(256)}>>, tensor<5x?xf32, #tiled>
}

// AFFINE-LABEL: func.func @indices(
// LLVM-LABEL: llvm.func @indices(
func.func @indices(%i: index, %j: index, %n: index) -> (index, index, index, index, i1) {
  %p = tessera.linearize_index %i, %j in tensor<20x30xf32, #tiled>
  %q = tessera.linearize_index %i, %j in memref<20x?xf32, #tiled>(%n)
  %k:2, %valid = tessera.delinearize_index %i in tensor<20x?xf32, #tiled>(%n)
  return %p, %q, %k#0, %k#1, %valid : index, index, index, index, i1
}

// AFFINE-LABEL: func.func @storage_size(
// LLVM-LABEL: llvm.func @storage_size(
func.func @storage_size(%a: tensor<?x30xf32, #tiled>, %b: memref<20x?xi4, #tessera.layout<{1,0:T(8,128)L(64)E(4)}>>) -> (index, index) {
  %0 = tessera.storage_size %a : tensor<?x30xf32, #tiled>
  %1 = tessera.storage_size %b : memref<20x?xi4, #tessera.layout<{1,0:T(8,128)L(64)E(4)}>>
  return %0, %1 : index, index
}

// AFFINE-LABEL: func.func @empty(
// LLVM-LABEL: llvm.func @empty(
func.func @empty(%n: index) -> (tensor<?x30xf32, #columns>, tensor<20x30xf32, #tiled>) {
  %0 = tessera.empty(%n) : tensor<?x30xf32, #columns>
  %1 = tessera.empty() : tensor<20x30xf32, #tiled>
  return %0, %1 : tensor<?x30xf32, #columns>, tensor<20x30xf32, #tiled>
}

// AFFINE-LABEL: func.func @physical_view(
// LLVM-LABEL: llvm.func @physical_view(
func.func @physical_view(%m: memref<20x?xf32, #tiled>) -> memref<3x?x8x128xf32> {
  %0 = tessera.physical_view %m : memref<20x?xf32, #tiled> to memref<3x?x8x128xf32>
  return %0 : memref<3x?x8x128xf32>
}

// AFFINE-LABEL: func.func @fill_padding(
// LLVM-LABEL: llvm.func @fill_padding(
func.func @fill_padding(%m: memref<20x30xf32, #columns>, %n: memref<?x?xf32, #tessera.layout<{1,0:L(16)PV(one)}>>) {
  tessera.fill_padding %m : memref<20x30xf32, #columns>
  tessera.fill_padding %n : memref<?x?xf32, #tessera.layout<{1,0:L(16)PV(one)}>>
  return
}

// AFFINE-LABEL: func.func @copies(
// LLVM-LABEL: llvm.func @copies(
func.func @copies(%a: tensor<?x30xf32, #tiled>, %src: memref<20x30xf32>, %dst: memref<20x30xf32, #tiled, #tessera.memory_space<1>>)
    -> tensor<?x30xf32, #tessera.layout<{1,0:T(8,128)S(1)}>> {
  %b, %t = tessera.copy_start %a : tensor<?x30xf32, #tiled> to tensor<?x30xf32, #tessera.layout<{1,0:T(8,128)S(1)}>>
  %u = tessera.copy_start %src into %dst : memref<20x30xf32>, memref<20x30xf32, #tiled, #tessera.memory_space<1>>
  tessera.copy_done %u
  tessera.copy_done %t
  return %b : tensor<?x30xf32, #tessera.layout<{1,0:T(8,128)S(1)}>>
}

// Branches, loops, calls and choices carry laid-out tensors.

// AFFINE-LABEL: func.func @control(
// LLVM-LABEL: llvm.func @control(
func.func @control(%c: i1, %a: tensor<?x30xf32, #tiled>, %n: index) -> tensor<?x30xf32, #tiled> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> tensor<?x30xf32, #tiled> {
    %w:2 = scf.while (%k = %i, %u = %t) : (index, tensor<?x30xf32, #tiled>) -> (index, tensor<?x30xf32, #tiled>) {
      %more = arith.cmpi ult, %k, %n : index
      scf.condition(%more) %k, %u : index, tensor<?x30xf32, #tiled>
    } do {
    ^bb0(%k: index, %u: tensor<?x30xf32, #tiled>):
      %next = arith.addi %k, %c1 : index
      %v = func.call @relaid(%u) : (tensor<?x30xf32, #tiled>) -> tensor<?x30xf32, #tiled>
      scf.yield %next, %v : index, tensor<?x30xf32, #tiled>
    }
    %chosen = scf.if %c -> tensor<?x30xf32, #tiled> {
      scf.yield %w#1 : tensor<?x30xf32, #tiled>
    } else {
      scf.yield %t : tensor<?x30xf32, #tiled>
    }
    scf.yield %chosen : tensor<?x30xf32, #tiled>
  }
  cf.cond_br %c, ^left(%r : tensor<?x30xf32, #tiled>), ^right
^left(%l: tensor<?x30xf32, #tiled>):
  %s = arith.select %c, %l, %r : tensor<?x30xf32, #tiled>
  return %s : tensor<?x30xf32, #tiled>
^right:
  return %r : tensor<?x30xf32, #tiled>
}

func.func private @relaid(%a: tensor<?x30xf32, #tiled>) -> tensor<?x30xf32, #tiled> {
  %0 = tessera.relayout %a : tensor<?x30xf32, #tiled> to tensor<?x30xf32>
  %1 = tessera.relayout %0 : tensor<?x30xf32> to tensor<?x30xf32, #tiled>
  return %1 : tensor<?x30xf32, #tiled>
}

}
