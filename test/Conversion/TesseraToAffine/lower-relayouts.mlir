// RUN: tessera-opt %s -split-input-file -tessera-lower-relayouts | FileCheck %s

// A dimension is split at the tile size, with one loop for each piece. What the
// tile leaves over gets a nest of its own.

// CHECK-LABEL: func.func @tile
// CHECK-SAME: (%[[SRC:.*]]: memref<20xf32>, %[[DST:.*]]: memref<20xf32, #layout>)
// CHECK: %[[TILES:.*]] = tessera.physical_view %[[DST]] : memref<20xf32, #layout> to memref<3x8xf32>
// CHECK-NEXT: affine.for %[[A:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[B:.*]] = 0 to 8 {
// CHECK-NEXT: %[[X:.*]] = affine.load %[[SRC]][%[[A]] * 8 + %[[B]]]
// CHECK-NEXT: affine.store %[[X]], %[[TILES]][%[[A]], %[[B]]]
// CHECK: affine.for %[[B:.*]] = 0 to 4 {
// CHECK-NEXT: %[[X:.*]] = affine.load %[[SRC]][%[[B]] + 16]
// CHECK-NEXT: affine.store %[[X]], %[[TILES]][2, %[[B]]]
// CHECK-NOT: affine.for
func.func @tile(%src: memref<20xf32>,
                %dst: memref<20xf32, #tessera.layout<{0:T(8)}>>) {
  tessera.relayout %src into %dst
      : memref<20xf32>, memref<20xf32, #tessera.layout<{0:T(8)}>>
  return
}

// -----

// Loops are in the order of the destination, here columns before rows. Neither
// side is addressed with floordiv or mod.

// CHECK-LABEL: func.func @transpose
// CHECK: affine.for %[[J:.*]] = 0 to 2
// CHECK-NEXT: affine.for %[[Y:.*]] = 0 to 128
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 2
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 8
// CHECK-NEXT: affine.load %{{.*}}[%[[I]], %[[J]], %[[X]], %[[Y]]]
// CHECK-NEXT: affine.store %{{.*}}[%[[J]] * 128 + %[[Y]], %[[I]] * 8 + %[[X]]]
func.func @transpose(
    %src: memref<16x256xf32, #tessera.layout<{1,0:T(8,128)}>>,
    %dst: memref<16x256xf32, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<16x256xf32, #tessera.layout<{1,0:T(8,128)}>>,
        memref<16x256xf32, #tessera.layout<{0,1}>>
  return
}

// -----

// PV: more nests write the padding of the tiles, and the tail that L adds. A
// value that arith has no constant of comes from a global.

// CHECK: memref.global "private" constant @tessera_padding_u8_highest : memref<ui8> = dense<255>
// CHECK-LABEL: func.func @padding
// CHECK: %[[FLAT:.*]] = tessera.physical_view %{{.*}} to memref<100xui8>
// CHECK-COUNT-2: affine.load %arg0
// CHECK: %[[G:.*]] = memref.get_global @tessera_padding_u8_highest
// CHECK-NEXT: %[[PAD:.*]] = affine.load %[[G]][] : memref<ui8>
// CHECK: affine.store %[[PAD]], %[[FLAT]]
// CHECK: affine.for %[[I:.*]] = 24 to 100 {
// CHECK-NEXT: affine.store %[[PAD]], %[[FLAT]][%[[I]]]
func.func @padding(
    %src: memref<5x3xui8>,
    %dst: memref<5x3xui8, #tessera.layout<{0,1:T(4,2)L(100)PV(highest)}>>) {
  tessera.relayout %src into %dst
      : memref<5x3xui8>,
        memref<5x3xui8, #tessera.layout<{0,1:T(4,2)L(100)PV(highest)}>>
  return
}

// -----

// Elements that share a byte are masked into it.

// CHECK-LABEL: func.func @packed
// CHECK: tessera.physical_view %{{.*}} to memref<16xi8>
// CHECK: %[[BYTE:.*]] = affine.load %{{.*}}[%[[I:.*]] * 4 + %[[J:.*]] floordiv 2] : memref<16xi8>
// CHECK: %[[KEPT:.*]] = arith.andi %[[BYTE]]
// CHECK: %[[NEW:.*]] = arith.ori %[[KEPT]]
// CHECK-NEXT: affine.store %[[NEW]], %{{.*}}[%[[I]] * 4 + %[[J]] floordiv 2]
func.func @packed(%src: memref<4x8xi4>,
                  %dst: memref<4x8xi4, #tessera.layout<{1,0:T(4,8)E(4)}>>) {
  tessera.relayout %src into %dst
      : memref<4x8xi4>, memref<4x8xi4, #tessera.layout<{1,0:T(4,8)E(4)}>>
  return
}

// -----

// A scalar takes a whole tile; no loop is needed for its one element.

// CHECK-LABEL: func.func @scalar
// CHECK: %[[X:.*]] = affine.load %arg0[] : memref<complex<f32>>
// CHECK-NEXT: affine.store %[[X]], %{{.*}}[0, 0] : memref<1x256xcomplex<f32>>
// CHECK: affine.for %{{.*}} = 1 to 256
func.func @scalar(%src: memref<complex<f32>>,
                  %dst: memref<complex<f32>, #tessera.layout<{:T(256)PV(one)}>>) {
  tessera.relayout %src into %dst
      : memref<complex<f32>>,
        memref<complex<f32>, #tessera.layout<{:T(256)PV(one)}>>
  return
}

// -----

// Tiles of 3 and 4 form no chain: floordiv and mod stay in that dimension.

// CHECK-LABEL: func.func @no_chain
// CHECK: affine.load %{{.*}}[%[[I:.*]] floordiv 3, %[[J:.*]], %[[I]] mod 3, %[[K:.*]]]
// CHECK-NEXT: affine.store %{{.*}}[%[[I]] floordiv 4, %[[J]], %[[I]] mod 4, %[[K]]]
func.func @no_chain(
    %src: memref<12x8xf32, #tessera.layout<{1,0:T(3,4)}>>,
    %dst: memref<12x8xf32, #tessera.layout<{1,0:T(4,4)}>>) {
  tessera.relayout %src into %dst
      : memref<12x8xf32, #tessera.layout<{1,0:T(3,4)}>>,
        memref<12x8xf32, #tessera.layout<{1,0:T(4,4)}>>
  return
}

// -----

// A size known at run time: the inner loop ends early in the last tile, and the
// loops over padding begin where it ended.

// CHECK-DAG: #[[TILES:.*]] = affine_map<()[s0] -> (s0 ceildiv 8)>
// CHECK-DAG: #[[END:.*]] = affine_map<(d0)[s0] -> (8, d0 * -8 + s0)>
// CHECK-DAG: #[[FULL:.*]] = affine_map<()[s0] -> (0, s0 floordiv 8)>
// CHECK-DAG: #[[BEGIN:.*]] = affine_map<(d0)[s0] -> (0, d0 * -8 + s0)>
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[N:.*]] = memref.dim %arg0
// CHECK: affine.for %[[A:.*]] = 0 to #[[TILES]]()[%[[N]]] {
// CHECK-NEXT: affine.for %{{.*}} = 0 to min #[[END]](%[[A]])[%[[N]]] {
// CHECK: affine.for %[[A:.*]] = max #[[FULL]]()[%[[N]]] to #[[TILES]]()[%[[N]]] {
// CHECK-NEXT: affine.for %{{.*}} = max #[[BEGIN]](%[[A]])[%[[N]]] to 8 {
func.func @dynamic(%src: memref<?xf32>,
                   %dst: memref<?xf32, #tessera.layout<{0:T(8)PV(zero)}>>) {
  tessera.relayout %src into %dst
      : memref<?xf32>, memref<?xf32, #tessera.layout<{0:T(8)PV(zero)}>>
  return
}

// -----

// Padding alone.

// CHECK-LABEL: func.func @fill
// CHECK: %[[PAD:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: affine.for %[[I:.*]] = 5 to 8 {
// CHECK-NEXT: affine.store %[[PAD]], %{{.*}}[0, %[[I]]]
func.func @fill(%m: memref<5xf32, #tessera.layout<{0:T(8)PV(lowest)}>>) {
  tessera.fill_padding %m
      : memref<5xf32, #tessera.layout<{0:T(8)PV(lowest)}>>
  return
}

// -----

// Where positions with elements form no boxes, every position is asked.

// CHECK: #[[SET:.*]] = affine_set<(d0, d1, d2, d3) : (-(d1 * 3 + d3) + 7 >= 0, -(d0 * 8 + d1 * 3 + d3) + 12 >= 0)>
// CHECK-LABEL: func.func @guard
// CHECK: affine.if #[[SET]]
// CHECK-NEXT: } else {
// CHECK-NEXT: affine.store
func.func @guard(
    %m: memref<13x4xf32, #tessera.layout<{1,0:T(8,4)(3,1)PV(zero)}>>) {
  tessera.fill_padding %m
      : memref<13x4xf32, #tessera.layout<{1,0:T(8,4)(3,1)PV(zero)}>>
  return
}

// -----

// A copy between layouts is a relayout, which keeps the promise of PV; one within a
// layout stays a copy.

// CHECK-LABEL: func.func @copy
// CHECK-COUNT-2: affine.store
// CHECK-NOT: affine.store
// CHECK: memref.copy
func.func @copy(%src: memref<4x8xf32, #tessera.layout<{1,0}>>,
                %dst: memref<4x8xf32, #tessera.layout<{0,1:PD(5,8)PV(one)}>>,
                %same: memref<4x8xf32, #tessera.layout<{1,0}>>) {
  memref.copy %src, %dst
      : memref<4x8xf32, #tessera.layout<{1,0}>>
      to memref<4x8xf32, #tessera.layout<{0,1:PD(5,8)PV(one)}>>
  memref.copy %src, %same
      : memref<4x8xf32, #tessera.layout<{1,0}>>
      to memref<4x8xf32, #tessera.layout<{1,0}>>
  return
}

// -----

// The form on tensors is for --tessera-bufferize.

// CHECK-LABEL: func.func @tensors
// CHECK: tessera.relayout
func.func @tensors(%a: tensor<20xf32>)
    -> tensor<20xf32, #tessera.layout<{0:T(8)}>> {
  %b = tessera.relayout %a : tensor<20xf32>
      to tensor<20xf32, #tessera.layout<{0:T(8)}>>
  return %b : tensor<20xf32, #tessera.layout<{0:T(8)}>>
}

// -----

// A size that is computed in a loop is no affine symbol: scf loops take it.

// CHECK-LABEL: func.func @computed_size
// CHECK: scf.for
// CHECK: %[[N:.*]] = memref.dim
// CHECK: scf.for
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step
// CHECK: memref.load
// CHECK: memref.store %{{.*}} : memref<?x8xf32>
func.func @computed_size(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %size = arith.muli %i, %n : index
    %src = memref.alloc(%size) : memref<?xf32>
    %dst = memref.alloc(%size) : memref<?xf32, #tessera.layout<{0:T(8)}>>
    tessera.relayout %src into %dst
        : memref<?xf32>, memref<?xf32, #tessera.layout<{0:T(8)}>>
  }
  return
}

// -----

// Strides are in the type: subscripts are the logical indices.

// CHECK-LABEL: func.func @strided
// CHECK:       %[[V:.*]] = affine.load %{{.*}}[%[[I:.*]], %[[A:.*]] * 2 + %[[B:.*]]] : memref<3x4xf32, strided<[?, 3], offset: ?>>
// CHECK:       affine.store %[[V]], %{{.*}}[%[[I]], %[[A]], %[[B]]] : memref<3x2x2xf32>
// CHECK:       affine.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : memref<3x4xf32, strided<[8, 2], offset: 1>>
// CHECK-NOT:   memref.copy
func.func @strided(%a: memref<3x4xf32, strided<[?, 3], offset: ?>>,
                   %b: memref<3x4xf32, #tessera.layout<{1,0:T(2)}>>,
                   %c: memref<3x4xf32, strided<[8, 2], offset: 1>>) {
  tessera.relayout %a into %b : memref<3x4xf32, strided<[?, 3], offset: ?>>,
                                memref<3x4xf32, #tessera.layout<{1,0:T(2)}>>
  memref.copy %a, %c : memref<3x4xf32, strided<[?, 3], offset: ?>>
                    to memref<3x4xf32, strided<[8, 2], offset: 1>>
  return
}

// -----

// What copies bytes, and elements that XLA does not have, are not for us.

// CHECK-LABEL: func.func @plain_copies
// CHECK-COUNT-3: memref.copy
func.func @plain_copies(%a: memref<3x4xf32, strided<[4, 1], offset: ?>>, %b: memref<3x4xf32>,
                        %c: memref<4xindex, strided<[2]>>, %d: memref<4xindex>,
                        %e: memref<?x4xf32>) {
  memref.copy %a, %b : memref<3x4xf32, strided<[4, 1], offset: ?>> to memref<3x4xf32>
  memref.copy %c, %d : memref<4xindex, strided<[2]>> to memref<4xindex>
  memref.copy %e, %b : memref<?x4xf32> to memref<3x4xf32>
  return
}

// -----

// A copy may know a size from its source and another from its target.

// CHECK-LABEL: func.func @sizes_of_both_sides
// CHECK-SAME:  %[[A:.*]]: memref<?x3xf32>, %[[B:.*]]: memref<20x?xf32, #
// CHECK-NOT:   memref.dim
// CHECK:       affine.for %{{.*}} = 0 to 3
// CHECK:       affine.for %{{.*}} = 0 to 2
// CHECK:       affine.for %{{.*}} = 0 to 8
func.func @sizes_of_both_sides(%a: memref<?x3xf32>, %b: memref<20x?xf32, #tessera.layout<{0,1:T(8)}>>) {
  memref.copy %a, %b : memref<?x3xf32> to memref<20x?xf32, #tessera.layout<{0,1:T(8)}>>
  return
}
