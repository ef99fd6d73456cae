// RUN: tessera-opt %s -allow-unregistered-dialect -cse | FileCheck %s --check-prefix=CSE
// RUN: tessera-opt %s -allow-unregistered-dialect -inline | FileCheck %s --check-prefix=INLINE
// RUN: tessera-opt %s -allow-unregistered-dialect -sccp | FileCheck %s --check-prefix=SCCP
// RUN: tessera-opt %s -allow-unregistered-dialect -loop-invariant-code-motion | FileCheck %s --check-prefix=LICM
// RUN: tessera-opt %s -allow-unregistered-dialect -resolve-ranked-shaped-type-result-dims -canonicalize | FileCheck %s --check-prefix=DIMS
// RUN: tessera-opt %s -allow-unregistered-dialect -canonicalize | FileCheck %s --check-prefix=CAST
// RUN: tessera-opt %s -allow-unregistered-dialect -canonicalize | FileCheck %s --check-prefix=FOLD

// Upstream's passes on the dialect's operations: what is pure is shared, moved
// and inlined; what writes memory stays where it is.

#tiled = #tessera.layout<{1,0:T(8,128)}>
#columns = #tessera.layout<{0,1}>

// CSE-LABEL: func.func @values
// CSE-COUNT-1: tessera.relayout
// CSE-NOT: tessera.relayout
// CSE-LABEL: func.func @memory
func.func @values(%a: tensor<4x5xf32>) -> (tensor<4x5xf32, #tiled>, tensor<4x5xf32, #tiled>) {
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #tiled>
  %1 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #tiled>
  return %0, %1 : tensor<4x5xf32, #tiled>, tensor<4x5xf32, #tiled>
}

// CSE: tessera.relayout
// CSE: tessera.relayout
func.func @memory(%a: memref<4x5xf32>, %b: memref<4x5xf32, #tiled>) {
  tessera.relayout %a into %b : memref<4x5xf32>, memref<4x5xf32, #tiled>
  tessera.relayout %a into %b : memref<4x5xf32>, memref<4x5xf32, #tiled>
  return
}

// INLINE-LABEL: func.func @caller
// INLINE-NOT: call
// INLINE: tessera.relayout
// INLINE: return
func.func private @callee(%a: tensor<4x5xf32>) -> tensor<4x5xf32, #tiled> {
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #tiled>
  return %0 : tensor<4x5xf32, #tiled>
}
func.func @caller(%a: tensor<4x5xf32>) -> tensor<4x5xf32, #tiled> {
  %0 = call @callee(%a) : (tensor<4x5xf32>) -> tensor<4x5xf32, #tiled>
  return %0 : tensor<4x5xf32, #tiled>
}

// SCCP-LABEL: func.func @branches
// SCCP: tessera.relayout
// SCCP: tessera.bitcast
func.func @branches(%c: i1, %a: tensor<4x5xf32>) -> tensor<20xf32> {
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #columns>
  cf.cond_br %c, ^bb1(%0 : tensor<4x5xf32, #columns>), ^bb1(%0 : tensor<4x5xf32, #columns>)
^bb1(%x: tensor<4x5xf32, #columns>):
  %1 = tessera.bitcast %x : tensor<4x5xf32, #columns> to tensor<20xf32>
  return %1 : tensor<20xf32>
}

// LICM-LABEL: func.func @loop
// LICM: tessera.relayout %{{.*}} : tensor
// LICM: scf.for
// LICM: tessera.relayout %{{.*}} into
func.func @loop(%n: index, %a: tensor<4x5xf32>, %s: memref<4x5xf32>, %d: memref<4x5xf32, #tiled>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #tiled>
    "test.use"(%0) : (tensor<4x5xf32, #tiled>) -> ()
    tessera.relayout %s into %d : memref<4x5xf32>, memref<4x5xf32, #tiled>
  }
  return
}

// Dynamic sizes are asked of the operand.
// DIMS-LABEL: func.func @dims
// DIMS-SAME: %[[A:.*]]: tensor<?x32xf32>, %[[N:.*]]: index
// DIMS-NOT: tessera
// DIMS: %[[D0:.*]] = tensor.dim %[[A]]
// DIMS: %[[D1:.*]] = tensor.dim %[[A]]
// DIMS: return %[[D0]], %[[D1]], %[[N]]
func.func @dims(%a: tensor<?x32xf32>, %n: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tessera.relayout %a : tensor<?x32xf32> to tensor<?x32xf32, #tiled>
  %1 = tessera.bitcast %a : tensor<?x32xf32> to tensor<32x?xf32, #columns>
  %2 = tessera.empty(%n) : tensor<?x32xf32, #tiled>
  %d0 = tensor.dim %0, %c0 : tensor<?x32xf32, #tiled>
  %d1 = tensor.dim %1, %c1 : tensor<32x?xf32, #columns>
  %d2 = tensor.dim %2, %c0 : tensor<?x32xf32, #tiled>
  return %d0, %d1, %d2 : index, index, index
}

// A cast must not drop what the layout says about memory: packing, alignment.
// CAST-LABEL: func.func @strided
// CAST: memref.subview %{{.*}}[0, 0] [2, 2] [1, 1] : memref<4x5xf32, #{{.*}}> to memref<2x2xf32, strided<[1, 4]>>
func.func @strided(%m: memref<4x5xf32, #columns>) -> memref<2x2xf32, strided<[1, 4]>> {
  %0 = memref.subview %m[0, 0] [2, 2] [1, 1] : memref<4x5xf32, #columns> to memref<2x2xf32, strided<[1, 4]>>
  return %0 : memref<2x2xf32, strided<[1, 4]>>
}

#bounded = #tessera.layout<{1,0:T(2,2)B(8,?)}>

// A size that becomes known leaves the bound, and with it the buffer, as it was.
// FOLD-LABEL: func.func @bounded
// FOLD: tensor.empty() : tensor<5x3xf32, #[[B:.*]]>
// FOLD: linalg.fill {{.*}} -> tensor<5x3xf32, #[[B]]>
// FOLD: tensor.cast {{.*}} tensor<5x3xf32, #[[B]]> to tensor<?x3xf32, #[[B]]>
func.func @bounded(%x: f32) -> tensor<?x3xf32, #bounded> {
  %c5 = arith.constant 5 : index
  %e = tensor.empty(%c5) : tensor<?x3xf32, #bounded>
  %f = linalg.fill ins(%x : f32) outs(%e : tensor<?x3xf32, #bounded>) -> tensor<?x3xf32, #bounded>
  return %f : tensor<?x3xf32, #bounded>
}

// A view of all of the source becomes the source. What writes it before the copy
// is done is wrong before and after, and a matter of --tessera-verify.
// FOLD-LABEL: func.func @copied_view
// FOLD: tessera.copy_start %[[A:.*]] into
// FOLD-NEXT: memref.store %{{.*}}, %[[A]]
func.func @copied_view(%a: memref<4xf32>, %b: memref<4xf32>, %i: index, %f: f32) {
  %view = memref.subview %a[0] [4] [1] : memref<4xf32> to memref<4xf32>
  %t = tessera.copy_start %a into %b : memref<4xf32>, memref<4xf32>
  memref.store %f, %view[%i] : memref<4xf32>
  tessera.copy_done %t
  return
}
