// RUN: tessera-opt %s -tessera-expand-ops | FileCheck %s

#tiled = #tessera.layout<{1,0:T(8,128)}>

// A position in a static array is one affine map of the index.
// CHECK-DAG: #[[POSITION:.*]] = affine_map<()[s0, s1] -> (s0 * 128 + s1 + (s0 floordiv 8) * 1024 + (s1 floordiv 128) * 896)>
// CHECK-DAG: #[[BYTES:.*]] = affine_map<()[s0] -> ((s0 ceildiv 8) * 8192)>

// CHECK-LABEL: func.func @position
// CHECK-NEXT: %[[P:.*]] = affine.apply #[[POSITION]]
// CHECK-NEXT: return %[[P]]
func.func @position(%i: index, %j: index) -> index {
  %p = tessera.linearize_index %i, %j in tensor<40x256xf32, #tiled>
  return %p : index
}

// Where a size is not known, strides are values.
// CHECK-LABEL: func.func @position_dynamic
// CHECK-SAME: %[[I:.*]]: index, %[[J:.*]]: index, %[[N:.*]]: index
// CHECK: affine.apply #{{.*}}()[%[[N]]]
// CHECK: arith.muli
// CHECK-NOT: tessera
func.func @position_dynamic(%i: index, %j: index, %n: index) -> index {
  %p = tessera.linearize_index %i, %j in tensor<40x?xf32, #tiled>(%n)
  return %p : index
}

// CHECK-LABEL: func.func @element
// CHECK-SAME: %[[P:.*]]: index
// CHECK: arith.cmpi ult, %[[P]]
// CHECK-NOT: tessera
func.func @element(%p: index) -> (index, index, i1) {
  %i:2, %valid = tessera.delinearize_index %p in tensor<33x250xf32, #tiled>
  return %i#0, %i#1, %valid : index, index, i1
}

// Bytes: two tiles of 4 KiB for each eight rows begun.
// CHECK-LABEL: func.func @bytes
// CHECK-SAME: %[[A:.*]]: tensor<?x250xf32
// CHECK: %[[N:.*]] = tensor.dim %[[A]]
// CHECK: %[[B:.*]] = affine.apply #[[BYTES]]()[%[[N]]]
// CHECK: return %[[B]]
func.func @bytes(%a: tensor<?x250xf32, #tiled>) -> index {
  %0 = tessera.storage_size %a : tensor<?x250xf32, #tiled>
  return %0 : index
}

// CHECK-LABEL: func.func @copies
// CHECK-NEXT: %[[B:.*]] = tessera.relayout %{{.*}} : tensor<8x128xf32> to tensor<8x128xf32, #{{.*}}>
// CHECK-NEXT: tessera.relayout %{{.*}} into %{{.*}} : memref<8x128xf32>, memref<8x128xf32, #tessera.memory_space<1>>
// CHECK-NEXT: return %[[B]]
func.func @copies(%a: tensor<8x128xf32>, %src: memref<8x128xf32>, %dst: memref<8x128xf32, #tessera.memory_space<1>>) -> tensor<8x128xf32, #tessera.layout<{1,0:S(1)}>> {
  %b, %t = tessera.copy_start %a : tensor<8x128xf32> to tensor<8x128xf32, #tessera.layout<{1,0:S(1)}>>
  %u = tessera.copy_start %src into %dst : memref<8x128xf32>, memref<8x128xf32, #tessera.memory_space<1>>
  tessera.copy_done %u
  tessera.copy_done %t
  return %b : tensor<8x128xf32, #tessera.layout<{1,0:S(1)}>>
}

// CHECK-LABEL: func.func @pinned
// CHECK-NEXT: tessera.relayout
func.func @pinned(%a: tensor<8x128xf32>) -> tensor<8x128xf32, #tiled> {
  %0 = tessera.assume_layout %a : tensor<8x128xf32> to tensor<8x128xf32, #tiled>
  return %0 : tensor<8x128xf32, #tiled>
}

// CHECK-LABEL: func.func @reshape
// CHECK-SAME: %[[A:.*]]: tensor
// CHECK-NEXT: %[[F:.*]] = tessera.relayout %[[A]] : tensor<8x6x128xf32, #{{.*}}> to tensor<8x6x128xf32>
// CHECK-NEXT: %[[G:.*]] = tessera.bitcast %[[F]] : tensor<8x6x128xf32> to tensor<48x128xf32>
// CHECK-NEXT: %[[R:.*]] = tessera.relayout %[[G]] : tensor<48x128xf32> to tensor<48x128xf32, #{{.*}}>
// CHECK-NEXT: return %[[R]]
func.func @reshape(%a: tensor<8x6x128xf32, #tessera.layout<{2,1,0:T(8,128)}>>) -> tensor<48x128xf32, #tiled> {
  %0 = tessera.reshape %a : tensor<8x6x128xf32, #tessera.layout<{2,1,0:T(8,128)}>> to tensor<48x128xf32, #tiled>
  return %0 : tensor<48x128xf32, #tiled>
}

// In a space of its own, the operand is made row-major there.
// CHECK-LABEL: func.func @reshape_space
// CHECK: tessera.bitcast %{{.*}} : tensor<8x4xf32, #[[S:.*]]> to tensor<32xf32, #{{.*}}>
// CHECK: tessera.relayout %{{.*}} to tensor<32xf32>
func.func @reshape_space(%a: tensor<8x4xf32, #tessera.layout<{0,1:S(1)}>>) -> tensor<32xf32> {
  %0 = tessera.reshape %a : tensor<8x4xf32, #tessera.layout<{0,1:S(1)}>> to tensor<32xf32>
  return %0 : tensor<32xf32>
}

// With dynamic sizes a reshape is left, from row-major to row-major order.
// CHECK-LABEL: func.func @reshape_dynamic
// CHECK-NEXT: tessera.relayout %{{.*}} : tensor<?x4xf32, #{{.*}}> to tensor<?x4xf32, #[[S2:.*]]>
// CHECK-NEXT: tessera.reshape %{{.*}} : tensor<?x4xf32, #[[S2]]> to tensor<2x?xf32, #[[S2]]>
// CHECK-NEXT: tessera.relayout %{{.*}} : tensor<2x?xf32, #[[S2]]> to tensor<2x?xf32, #{{.*}}>
func.func @reshape_dynamic(%a: tensor<?x4xf32, #tessera.layout<{0,1:T(8)S(1)}>>)
    -> tensor<2x?xf32, #tiled> {
  %0 = tessera.reshape %a : tensor<?x4xf32, #tessera.layout<{0,1:T(8)S(1)}>>
      to tensor<2x?xf32, #tiled>
  return %0 : tensor<2x?xf32, #tiled>
}

// What is not done is left as it is.
// CHECK-LABEL: func.func @left
// CHECK: tessera.reshape %{{.*}} : tensor<?x4xf32> to tensor<?xf32>
// CHECK: tessera.linearize_index
func.func @left(%a: tensor<?x4xf32>, %i: index) -> (tensor<?xf32>, index) {
  %0 = tessera.reshape %a : tensor<?x4xf32> to tensor<?xf32>
  %1 = tessera.linearize_index %i in memref<4xf32, strided<[2]>>
  return %0, %1 : tensor<?xf32>, index
}

// Folds of other operations are not this pass's business: some upstream forget
// encodings.
// CHECK-LABEL: func.func @others
// CHECK: linalg.transpose
func.func @others(%a: tensor<4xf32>, %b: tensor<4xf32, #tessera.layout<{0:T(8)}>>)
    -> (tensor<4xf32, #tessera.layout<{0:T(8)}>>, index) {
  %t = linalg.transpose ins(%a : tensor<4xf32>)
      outs(%b : tensor<4xf32, #tessera.layout<{0:T(8)}>>) permutation = [0]
  %n = tessera.storage_size %b : tensor<4xf32, #tessera.layout<{0:T(8)}>>
  return %t, %n : tensor<4xf32, #tessera.layout<{0:T(8)}>>, index
}

// Slices and reshapes of the tensor dialect, which have no strides where there
// are tiles.

// CHECK-LABEL: func.func @extract_slice
// CHECK-SAME: (%[[A:[a-z0-9]+]]: tensor<4x32x256xf32, #{{.*}}>, %[[N:[a-z0-9]+]]: index)
// CHECK: %[[E:.*]] = tessera.empty(%[[N]]) : tensor<8x?xf32, #
// CHECK: linalg.generic {{.*}} outs(%[[E]] :
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: %[[P:.*]] = affine.apply #{{.*}}(%[[I]])
// CHECK: %[[Q:.*]] = arith.addi %{{.*}}, %[[N]]
// CHECK: tensor.extract %[[A]][%{{.*}}, %[[P]], %[[Q]]]
func.func @extract_slice(%a: tensor<4x32x256xf32, #tessera.layout<{2,1,0:T(8,128)}>>, %n: index)
    -> tensor<8x?xf32, #tiled> {
  %0 = tensor.extract_slice %a[3, 16, %n] [1, 8, %n] [1, 2, 1]
      : tensor<4x32x256xf32, #tessera.layout<{2,1,0:T(8,128)}>> to tensor<8x?xf32, #tiled>
  return %0 : tensor<8x?xf32, #tiled>
}

// CHECK-LABEL: func.func @insert_slice
// CHECK-SAME: (%[[A:[a-z0-9]+]]: tensor<8x?xf32>, %[[B:[a-z0-9]+]]: tensor<32x256xf32, #
// CHECK: scf.for {{.*}} iter_args(%[[R:[a-z0-9]+]] = %[[B]])
// CHECK: scf.for {{.*}} iter_args(%[[S:[a-z0-9]+]] = %[[R]])
// CHECK: %[[V:.*]] = tensor.extract %[[A]]
// CHECK: tensor.insert %[[V]] into %[[S]]
func.func @insert_slice(%a: tensor<8x?xf32>, %b: tensor<32x256xf32, #tiled>, %n: index)
    -> tensor<32x256xf32, #tiled> {
  %0 = tensor.insert_slice %a into %b[8, 128] [8, %n] [1, 1]
      : tensor<8x?xf32> into tensor<32x256xf32, #tiled>
  return %0 : tensor<32x256xf32, #tiled>
}

// A block that is relayouted for it is read in its own layout; one that others
// want as well is not.

// CHECK-LABEL: func.func @insert_relayouted
// CHECK-SAME: (%[[A:[a-z0-9]+]]: tensor<8x128xf32, #{{.*}}>, %[[B:[a-z0-9]+]]: tensor<32x256xf32, #
// CHECK-NOT: tessera.relayout
// CHECK: tensor.extract %[[A]]
// CHECK: return
func.func @insert_relayouted(%a: tensor<8x128xf32, #tessera.layout<{0,1:T(4,4)}>>, %b: tensor<32x256xf32, #tiled>)
    -> tensor<32x256xf32, #tiled> {
  %p = tessera.relayout %a : tensor<8x128xf32, #tessera.layout<{0,1:T(4,4)}>> to tensor<8x128xf32>
  %0 = tensor.insert_slice %p into %b[8, 128] [8, 128] [1, 1]
      : tensor<8x128xf32> into tensor<32x256xf32, #tiled>
  return %0 : tensor<32x256xf32, #tiled>
}

// CHECK-LABEL: func.func @insert_shared
// CHECK: %[[P:.*]] = tessera.relayout
// CHECK: tensor.extract %[[P]]
func.func @insert_shared(%a: tensor<8x128xf32, #tessera.layout<{0,1:T(4,4)}>>, %b: tensor<32x256xf32, #tiled>)
    -> (tensor<32x256xf32, #tiled>, tensor<8x128xf32>) {
  %p = tessera.relayout %a : tensor<8x128xf32, #tessera.layout<{0,1:T(4,4)}>> to tensor<8x128xf32>
  %0 = tensor.insert_slice %p into %b[8, 128] [8, 128] [1, 1]
      : tensor<8x128xf32> into tensor<32x256xf32, #tiled>
  return %0, %p : tensor<32x256xf32, #tiled>, tensor<8x128xf32>
}

// CHECK-LABEL: func.func @reassociations
// CHECK-NOT: tensor.{{expand|collapse}}
// CHECK: tessera.bitcast %{{.*}} : tensor<32x256xf32> to tensor<1024x8xf32>
// CHECK-NOT: tensor.{{expand|collapse}}
func.func @reassociations(%a: tensor<32x256xf32, #tiled>) -> tensor<1024x8xf32, #tiled> {
  %0 = tensor.expand_shape %a [[0], [1, 2]] output_shape [32, 32, 8]
      : tensor<32x256xf32, #tiled> into tensor<32x32x8xf32>
  %1 = tensor.collapse_shape %0 [[0, 1], [2]]
      : tensor<32x32x8xf32> into tensor<1024x8xf32, #tiled>
  return %1 : tensor<1024x8xf32, #tiled>
}

// Without layouts they are upstream's.

// CHECK-LABEL: func.func @plain_slice
// CHECK: tensor.extract_slice
func.func @plain_slice(%a: tensor<32x256xf32>) -> tensor<8x256xf32> {
  %0 = tensor.extract_slice %a[8, 0] [8, 256] [1, 1] : tensor<32x256xf32> to tensor<8x256xf32>
  return %0 : tensor<8x256xf32>
}

// Arithmetic reads each tensor by its layout, and writes to an operand or to a
// new tensor.

// CHECK-LABEL: func.func @arithmetic
// CHECK-SAME: (%[[A:.*]]: tensor<?x256xf32, #{{.*}}>, %[[B:.*]]: tensor<?x256xf32, #{{.*}}>)
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[B]] : {{.*}}) outs(%[[A]]
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<nnan> : f32
// CHECK: %[[N:.*]] = tensor.dim %{{.*}}, %{{.*}} : tensor<?x256xf32
// CHECK: %[[E:.*]] = tessera.empty(%[[N]]) : tensor<?x256xi1, #{{.*}}>
// CHECK: linalg.generic {{.*}} outs(%[[E]]
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : f32
func.func @arithmetic(%a: tensor<?x256xf32, #tiled>, %b: tensor<?x256xf32, #tiled>) -> tensor<?x256xi1, #tiled> {
  %0 = arith.addf %a, %b fastmath<nnan> : tensor<?x256xf32, #tiled>
  %1 = arith.cmpf olt, %0, %b : tensor<?x256xf32, #tiled>
  return %1 : tensor<?x256xi1, #tiled>
}

// A selection between whole tensors stays: it hands one of them on.

// CHECK-LABEL: func.func @whole_selection
// CHECK: arith.select %{{.*}} : tensor<8x256xf32, #{{.*}}>
func.func @whole_selection(%c: i1, %a: tensor<8x256xf32, #tiled>, %b: tensor<8x256xf32, #tiled>)
    -> tensor<8x256xf32, #tiled> {
  %0 = arith.select %c, %a, %b : tensor<8x256xf32, #tiled>
  return %0 : tensor<8x256xf32, #tiled>
}

// A slice that is relayouted is read once.

// CHECK-LABEL: func.func @relayout_of_slice
// CHECK: %[[E:.*]] = tessera.empty() : tensor<8x256xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} outs(%[[E]]
// CHECK-NOT: tessera.relayout
// CHECK: return %[[R]]
func.func @relayout_of_slice(%a: tensor<32x256xf32, #tiled>) -> tensor<8x256xf32> {
  %0 = tensor.extract_slice %a[8, 0] [8, 256] [1, 1] : tensor<32x256xf32, #tiled> to tensor<8x256xf32, #tiled>
  %1 = tessera.relayout %0 : tensor<8x256xf32, #tiled> to tensor<8x256xf32>
  return %1 : tensor<8x256xf32>
}

// Weights are constants in the layout that they are used in.

// CHECK-LABEL: func.func @weights
// CHECK: %[[C:.*]] = arith.constant dense<{{.*}}> : tensor<2x2xf32, #{{.*}}>
// CHECK-NEXT: return %[[C]]
func.func @weights() -> tensor<2x2xf32, #tiled> {
  %0 = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = tessera.relayout %0 : tensor<2x2xf32> to tensor<2x2xf32, #tiled>
  return %1 : tensor<2x2xf32, #tiled>
}
