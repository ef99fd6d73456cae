// RUN: tessera-opt %s | tessera-opt | FileCheck %s --check-prefix=PRINT
// RUN: tessera-opt %s -canonicalize | FileCheck %s

#tiled = #tessera.layout<{1,0:T(2,2)}>
#wide = #tessera.layout<{0,1:PD(3,5)PV(zero)}>

// PRINT-LABEL: func.func @forms
func.func @forms(%i: index, %j: index, %p: index, %n: index, %m: memref<3x5xf32, #tiled>) {
  // PRINT: tessera.linearize_index %{{.*}}, %{{.*}} in tensor<3x5xf32, #{{.*}}>
  %0 = tessera.linearize_index %i, %j in tensor<3x5xf32, #tiled>
  // PRINT: tessera.linearize_index %{{.*}}, %{{.*}} in memref<?x5xf32, #{{.*}}>(%{{.*}})
  %1 = tessera.linearize_index %i, %j in memref<?x5xf32, #tiled>(%n)
  // A bounded dimension needs no size.
  // PRINT: tessera.linearize_index %{{.*}}, %{{.*}} in tensor<?x5xf32, #{{.*}}>
  %2 = tessera.linearize_index %i, %j in tensor<?x5xf32, #tessera.layout<{0,1:B(8,?)}>>
  // PRINT: tessera.linearize_index in tensor<f32>
  %3 = tessera.linearize_index in tensor<f32>
  // PRINT: %{{.*}}:2, %{{.*}} = tessera.delinearize_index %{{.*}} in tensor<3x5xf32, #{{.*}}>
  %4:2, %valid = tessera.delinearize_index %p in tensor<3x5xf32, #tiled>
  // PRINT: tessera.delinearize_index %{{.*}} in tensor<?x?xf32>(%{{.*}}, %{{.*}})
  %5:3 = tessera.delinearize_index %p in tensor<?x?xf32>(%n, %n)
  // PRINT: tessera.storage_size %{{.*}} : memref<3x5xf32, #{{.*}}>
  %6 = tessera.storage_size %m : memref<3x5xf32, #tiled>
  return
}

// The example of XLA's page on tiles: f32[3,5]{1,0:T(2,2)}, (2,3) -> 17.
// CHECK-LABEL: func.func @linearize_constant
// CHECK: %[[C:.*]] = arith.constant 17 : index
// CHECK: return %[[C]]
func.func @linearize_constant() -> index {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = tessera.linearize_index %c2, %c3 in tensor<3x5xf32, #tiled>
  return %0 : index
}

// [8,8] T(2,4)(2,1,1,1), (6,5) -> 51; scalars stand at 0.
// CHECK-LABEL: func.func @linearize_more
// CHECK-DAG: %[[C51:.*]] = arith.constant 51 : index
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK: return %[[C51]], %[[C0]]
func.func @linearize_more() -> (index, index) {
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %0 = tessera.linearize_index %c6, %c5 in memref<8x8xf32, #tessera.layout<{1,0:T(2,4)(2,1,1,1)}>>
  %1 = tessera.linearize_index in tensor<f32, #tessera.layout<{:T(256)}>>
  return %0, %1 : index, index
}

// Constant sizes are as good as static ones; with an unknown size the index is
// not known either.
// CHECK-LABEL: func.func @linearize_dynamic
// CHECK-DAG: %[[C17:.*]] = arith.constant 17 : index
// CHECK: %[[P:.*]] = tessera.linearize_index
// CHECK: return %[[C17]], %[[P]]
func.func @linearize_dynamic(%n: index) -> (index, index) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %0 = tessera.linearize_index %c2, %c3 in tensor<3x?xf32, #tiled>(%c5)
  %1 = tessera.linearize_index %c2, %c3 in tensor<3x?xf32, #tiled>(%n)
  return %0, %1 : index, index
}

// An index outside, a negative size, and a size that PD does not admit are
// wrong at run time: nothing folds.
// CHECK-LABEL: func.func @linearize_outside
// CHECK-COUNT-4: tessera.linearize_index
func.func @linearize_outside() -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %minus = arith.constant -1 : index
  %0 = tessera.linearize_index %c0, %c5 in tensor<3x5xf32, #tiled>
  %1 = tessera.linearize_index %minus, %c0 in tensor<3x5xf32, #tiled>
  %2 = tessera.linearize_index %c0, %c0 in tensor<3x?xf32, #tiled>(%minus)
  %3 = tessera.linearize_index %c0, %c0 in tensor<2x?xf32, #wide>(%c9)
  return %0, %1, %2, %3 : index, index, index, index
}

// CHECK-LABEL: func.func @delinearize_constant
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK: return %[[C2]], %[[C3]], %[[TRUE]]
func.func @delinearize_constant() -> (index, index, i1) {
  %c17 = arith.constant 17 : index
  %0:2, %valid = tessera.delinearize_index %c17 in tensor<3x5xf32, #tiled>
  return %0#0, %0#1, %valid : index, index, i1
}

// Padding by a tile, and by L behind all axes.
// CHECK-LABEL: func.func @delinearize_padding
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK: return %[[FALSE]], %[[FALSE]]
func.func @delinearize_padding() -> (i1, i1) {
  %c15 = arith.constant 15 : index
  %c23 = arith.constant 23 : index
  %0:2, %tile = tessera.delinearize_index %c23 in tensor<3x5xf32, #tiled>
  %1:2, %tail = tessera.delinearize_index %c15 in tensor<3x5xf32, #tessera.layout<{1,0:L(16)}>>
  return %tile, %tail : i1, i1
}

// CHECK-LABEL: func.func @delinearize_outside
// CHECK: tessera.delinearize_index
func.func @delinearize_outside() -> i1 {
  %c24 = arith.constant 24 : index
  %0:2, %valid = tessera.delinearize_index %c24 in tensor<3x5xf32, #tiled>
  return %valid : i1
}

// There and back again.
// CHECK-LABEL: func.func @round_trips
// CHECK-SAME: %[[I:.*]]: index, %[[J:.*]]: index, %[[N:.*]]: index
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-NOT: tessera
// CHECK: return %[[I]], %[[I]], %[[J]], %[[TRUE]]
func.func @round_trips(%i: index, %j: index, %n: index) -> (index, index, index, i1) {
  %0:2, %v0 = tessera.delinearize_index %i in tensor<3x?xf32, #tiled>(%n)
  %1 = tessera.linearize_index %0#0, %0#1 in tensor<3x?xf32, #tiled>(%n)
  %2 = tessera.linearize_index %i, %j in tensor<3x?xf32, #tiled>(%n)
  %3:2, %v1 = tessera.delinearize_index %2 in tensor<3x?xf32, #tiled>(%n)
  return %1, %3#0, %3#1, %v1 : index, index, index, i1
}

// Another size, type or order of indices is another position.
// CHECK-LABEL: func.func @no_round_trips
// CHECK-COUNT-6: tessera.
func.func @no_round_trips(%i: index, %n: index, %m: index) -> (index, index, index) {
  %0:2, %v0 = tessera.delinearize_index %i in tensor<3x?xf32, #tiled>(%n)
  %1 = tessera.linearize_index %0#0, %0#1 in tensor<3x?xf32, #tiled>(%m)
  %2:2, %v1 = tessera.delinearize_index %i in tensor<3x5xf32, #tiled>
  %3 = tessera.linearize_index %2#0, %2#1 in tensor<3x5xf32>
  %4:2, %v2 = tessera.delinearize_index %i in tensor<5x5xf32, #tiled>
  %5 = tessera.linearize_index %4#1, %4#0 in tensor<5x5xf32, #tiled>
  return %1, %3, %5 : index, index, index
}

// Bytes: tiles, packing, the tail, bounds, nothing at all; and not known.
// CHECK-LABEL: func.func @storage_size
// CHECK-DAG: %[[TILED:.*]] = arith.constant 96 : index
// CHECK-DAG: %[[PACKED:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[TAIL:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[BOUND:.*]] = arith.constant 160 : index
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0 : index
// CHECK: %[[FREE:.*]] = tessera.storage_size
// CHECK: return %[[TILED]], %[[PACKED]], %[[TAIL]], %[[BOUND]], %[[NONE]], %[[FREE]]
func.func @storage_size(%tiled: tensor<3x5xf32, #tiled>,
                        %packed: memref<3x5xi4, #tessera.layout<{1,0:E(4)}>>,
                        %tail: tensor<3x5xf32, #tessera.layout<{1,0:L(16)}>>,
                        %bound: tensor<?x5xf32, #tessera.layout<{1,0:B(8,?)}>>,
                        %none: tensor<0x5xf32, #tiled>,
                        %free: tensor<?x5xf32, #tiled>)
    -> (index, index, index, index, index, index) {
  %0 = tessera.storage_size %tiled : tensor<3x5xf32, #tiled>
  %1 = tessera.storage_size %packed : memref<3x5xi4, #tessera.layout<{1,0:E(4)}>>
  %2 = tessera.storage_size %tail : tensor<3x5xf32, #tessera.layout<{1,0:L(16)}>>
  %3 = tessera.storage_size %bound : tensor<?x5xf32, #tessera.layout<{1,0:B(8,?)}>>
  %4 = tessera.storage_size %none : tensor<0x5xf32, #tiled>
  %5 = tessera.storage_size %free : tensor<?x5xf32, #tiled>
  return %0, %1, %2, %3, %4, %5 : index, index, index, index, index, index
}
