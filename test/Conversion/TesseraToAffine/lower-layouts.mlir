// RUN: tessera-opt %s --tessera-lower-layouts | FileCheck %s
// RUN: tessera-opt %s --tessera-lower-layouts --verify-each \
// RUN:   --canonicalize --cse --loop-invariant-code-motion | tessera-opt \
// RUN:   -o /dev/null

#tiled = #tessera.layout<{1,0:T(8,128)}>
#columns = #tessera.layout<{0,1:PD(8,8)}>
#packed = #tessera.layout<{1,0:T(2,4)E(4)}>

// The example of the documentation: the loop is split at the tile size, and the
// last block is short.

// CHECK-DAG: #[[SHORT:.+]] = affine_map<(d0) -> (8, d0 * -8 + 20)>
// CHECK-DAG: #[[TILES_OF:.+]] = affine_map<()[s0] -> (s0 ceildiv 8)>
// CHECK-DAG: #[[WITH_TAIL:.+]] = affine_map<()[s0] -> ((s0 ceildiv 16) * 16)>
// CHECK-LABEL: func.func @clear(
// CHECK-SAME:    %[[M:.+]]: memref<3x8xf32>)
// CHECK:         affine.for %[[A:.+]] = 0 to 3 {
// CHECK-NEXT:      affine.for %[[B:.+]] = 0 to min #[[SHORT]](%[[A]]) {
// CHECK-NEXT:        affine.store %{{.+}}, %[[M]][%[[A]], %[[B]]] : memref<3x8xf32>
func.func @clear(%m: memref<20xf32, #tessera.layout<{0:T(8)}>>) {
  %c0 = arith.constant 0.0 : f32
  affine.for %i = 0 to 20 {
    affine.store %c0, %m[%i] : memref<20xf32, #tessera.layout<{0:T(8)}>>
  }
  return
}

// Reversed and swapped subscripts are sums of loop variables, too; sizes that
// divide need no short block.

// CHECK-LABEL: func.func @reversed_swapped(
// CHECK-SAME:    %[[M:.+]]: memref<2x2x8x128xf32>
// CHECK-SAME:    %[[N:.+]]: memref<32x2x8x128xf32>)
// CHECK:         affine.for %[[I0:.+]] = 0 to 2
// CHECK-NEXT:      affine.for %[[I1:.+]] = 0 to 8
// CHECK:             affine.for %[[J0:.+]] = 0 to 2
// CHECK-NEXT:          affine.for %[[J1:.+]] = 0 to 16
// CHECK-NEXT:            affine.for %[[J2:.+]] = 0 to 8
// CHECK:                   affine.load %[[M]][%[[I0]], -%[[J0]] + 1, %[[I1]], %[[J1]] * -8 - %[[J2]] + 127]
// CHECK:                   affine.store %{{.+}}, %[[N]][%[[J0]] * 16 + %[[J1]], 0, %[[J2]], %[[I0]] * 8 + %[[I1]]]
func.func @reversed_swapped(%m: memref<16x256xf32, #tiled>,
                            %n: memref<256x129xf32, #tiled>) {
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 256 {
      %v = affine.load %m[%i, 255 - %j] : memref<16x256xf32, #tiled>
      affine.store %v, %n[%j, %i] : memref<256x129xf32, #tiled>
    }
  }
  return
}

// Splitting does not help a sum of two variables: floordiv and mod stay. A loop
// that is short enough needs no split.

// CHECK-LABEL: func.func @window(
// CHECK:         affine.for %[[I:.+]] = 0 to 14
// CHECK-NEXT:      affine.for %[[K:.+]] = 0 to 3
// CHECK-NEXT:        affine.load %{{.+}}[(%[[I]] + %[[K]]) floordiv 8, 0, (%[[I]] + %[[K]]) mod 8, %[[K]]]
func.func @window(%m: memref<16x100xf32, #tiled>) {
  affine.for %i = 0 to 14 {
    affine.for %k = 0 to 3 {
      %v = affine.load %m[%i + %k, %k] : memref<16x100xf32, #tiled>
    }
  }
  return
}

// Where 3 does not divide 8, no digit helps. The remainder by 8 is not divided
// again: upstream would take 0 for its least value only while the loop begins
// at 0.

// CHECK-LABEL: func.func @no_chain(
// CHECK:         affine.for %[[I:.+]] = 0 to 16
// CHECK-NEXT:      affine.load %{{.+}}[%[[I]] floordiv 8, 0, (%[[I]] - (%[[I]] floordiv 8) * 2) floordiv 3 - (%[[I]] floordiv 8) * 2, 0, (%[[I]] - (%[[I]] floordiv 8) * 2) mod 3, 0]
func.func @no_chain(%m: memref<16x4xf32, #tessera.layout<{1,0:T(8,4)(3,1)}>>) {
  affine.for %i = 0 to 16 {
    %v = affine.load %m[%i, 0]
      : memref<16x4xf32, #tessera.layout<{1,0:T(8,4)(3,1)}>>
  }
  return
}

// Subscripts that are no affine operands are computed.

// CHECK-LABEL: func.func @gather(
// CHECK-SAME:    %[[M:.+]]: memref<2x1x8x128xf32>, %[[IDS:.+]]: memref<4xindex>
// CHECK:           %[[ID:.+]] = affine.load %[[IDS]]
// CHECK:           %[[Q:.+]] = arith.divui %[[ID]], %c8
// CHECK:           %[[R:.+]] = arith.remui %[[ID]], %c8
// CHECK:           memref.load %[[M]][%[[Q]], %{{.+}}, %[[R]], %{{.+}}] : memref<2x1x8x128xf32>
func.func @gather(%m: memref<16x24xf32, #tiled>, %ids: memref<4xindex>) {
  affine.for %i = 0 to 4 {
    %id = affine.load %ids[%i] : memref<4xindex>
    %v = memref.load %m[%id, %i] : memref<16x24xf32, #tiled>
  }
  return
}

// Elements of four bits: a byte is read, changed and written back.

// CHECK-LABEL: func.func @packed(
// CHECK-SAME:    %[[M:.+]]: memref<24xi8>, %[[V:.+]]: i4)
// CHECK:         %[[OLD:.+]] = affine.load %[[M]][{{.*}} floordiv 2] : memref<24xi8>
// CHECK:         %[[KEPT:.+]] = arith.andi %[[OLD]], %{{.+}} : i8
// CHECK:         %[[NEW:.+]] = arith.ori %[[KEPT]], %{{.+}} : i8
// CHECK:         affine.store %[[NEW]], %[[M]]
func.func @packed(%m: memref<5x7xi4, #packed>, %v: i4) {
  affine.for %i = 0 to 5 {
    affine.for %j = 0 to 7 {
      affine.store %v, %m[%i, %j] : memref<5x7xi4, #packed>
    }
  }
  return
}

// A tail by L makes the memref flat.

// CHECK-LABEL: func.func @tail(
// CHECK-SAME:    %[[M:.+]]: memref<32xf32>)
// CHECK:         affine.load %[[M]][17] : memref<32xf32>
func.func @tail(%m: memref<3x5xf32, #tessera.layout<{1,0:T(2,2)L(16)}>>) {
  %v = affine.load %m[2, 3]
    : memref<3x5xf32, #tessera.layout<{1,0:T(2,2)L(16)}>>
  return
}

// Dynamic sizes travel with the physical memref, in order.

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:    %[[M:.+]]: memref<?x2x8x128xf32>, %[[SIZE:.+]]: index, %[[N:.+]]: index)
// CHECK-SAME:    -> (memref<?x2x8x128xf32>, index)
// CHECK:         %[[TILES:.+]] = affine.apply #[[TILES_OF]]()[%[[N]]]
// CHECK:         %[[NEW:.+]] = memref.alloc(%[[TILES]]) : memref<?x2x8x128xf32>
// CHECK:         affine.for %[[A:.+]] = 0 to #{{.+}}()[%[[SIZE]]]
// CHECK-NEXT:      affine.for %[[B:.+]] = 0 to min #{{.+}}(%[[A]])[%[[SIZE]]]
// CHECK-NEXT:        affine.load %[[M]][%[[A]], 1, %[[B]], 72]
// CHECK:         %[[R:.+]]:2 = call @dynamic(%[[NEW]], %[[N]], %[[N]])
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @dynamic(%m: memref<?x256xf32, #tiled>, %n: index)
    -> memref<?x256xf32, #tiled> {
  %c0 = arith.constant 0 : index
  %size = memref.dim %m, %c0 : memref<?x256xf32, #tiled>
  %new = memref.alloc(%n) : memref<?x256xf32, #tiled>
  affine.for %i = 0 to %size {
    %v = affine.load %m[%i, 200] : memref<?x256xf32, #tiled>
  }
  %r = func.call @dynamic(%new, %n)
    : (memref<?x256xf32, #tiled>, index) -> memref<?x256xf32, #tiled>
  return %r : memref<?x256xf32, #tiled>
}

// A bound fixes the memory; the size is still passed on.

// CHECK-LABEL: func.func @bounded(
// CHECK-SAME:    %{{.+}}: memref<8x3xf32>, %[[SIZE:.+]]: index) -> index
// CHECK:         return %[[SIZE]]
func.func @bounded(%m: memref<?x3xf32, #tessera.layout<{1,0:B(8,?)}>>) -> index {
  %c0 = arith.constant 0 : index
  %size = memref.dim %m, %c0
    : memref<?x3xf32, #tessera.layout<{1,0:B(8,?)}>>
  return %size : index
}

// Branches, loops, conditionals and calls pass memrefs with their sizes.

// CHECK-LABEL: func.func private @external(memref<?x?x8x128xf32>, index, index) -> (memref<?x1x8x128xf32>, index)
func.func private @external(memref<?x?xf32, #tiled>) -> memref<?x4xf32, #tiled>

// CHECK-LABEL: func.func @control_flow(
// CHECK-SAME:    %[[C:.+]]: i1, %[[M:.+]]: memref<?x?x8x128xf32>, %[[M0:.+]]: index, %[[M1:.+]]: index,
// CHECK-SAME:    %[[K:.+]]: index)
// CHECK-SAME:    -> (memref<?x?x8x128xf32>, index, index, index)
// CHECK:         cf.br ^bb1(%[[M]], %[[M0]], %[[M1]] : memref<?x?x8x128xf32>, index, index)
// CHECK:       ^bb1(%[[P:.+]]: memref<?x?x8x128xf32>, %[[P0:.+]]: index, %[[P1:.+]]: index):
// CHECK:         arith.select %[[C]], %[[P]], %[[M]] : memref<?x?x8x128xf32>
// CHECK:         arith.select %[[C]], %[[P0]], %[[M0]] : index
// CHECK:         %[[W:.+]]:3 = scf.while
// CHECK:         %[[I:.+]]:3 = scf.if
// CHECK:         %[[IS1:.+]] = arith.cmpi eq, %[[K]], %c1
// CHECK:         %[[DIM:.+]] = arith.select %[[IS1]], %[[I]]#2
// CHECK:         %[[Z:.+]]:2 = call @external(%[[I]]#0, %[[I]]#1, %[[I]]#2)
// CHECK:         %[[CAST:.+]] = memref.cast %[[Z]]#0 : memref<?x1x8x128xf32> to memref<?x?x8x128xf32>
// CHECK:         memref.dealloc %[[M]]
// CHECK:         return %[[CAST]], %[[Z]]#1, %c4{{.*}}, %[[DIM]]
func.func @control_flow(%c: i1, %m: memref<?x?xf32, #tiled>, %k: index)
    -> (memref<?x?xf32, #tiled>, index) {
  cf.br ^next(%m : memref<?x?xf32, #tiled>)
^next(%p: memref<?x?xf32, #tiled>):
  %s = arith.select %c, %p, %m : memref<?x?xf32, #tiled>
  %w = scf.while (%q = %s) : (memref<?x?xf32, #tiled>)
      -> memref<?x?xf32, #tiled> {
    scf.condition(%c) %q : memref<?x?xf32, #tiled>
  } do {
  ^body(%x: memref<?x?xf32, #tiled>):
    scf.yield %x : memref<?x?xf32, #tiled>
  }
  %i = scf.if %c -> memref<?x?xf32, #tiled> {
    scf.yield %w : memref<?x?xf32, #tiled>
  } else {
    scf.yield %m : memref<?x?xf32, #tiled>
  }
  %d = memref.dim %i, %k : memref<?x?xf32, #tiled>
  %z = func.call @external(%i)
    : (memref<?x?xf32, #tiled>) -> memref<?x4xf32, #tiled>
  %cast = memref.cast %z
    : memref<?x4xf32, #tiled> to memref<?x?xf32, #tiled>
  memref.dealloc %m : memref<?x?xf32, #tiled>
  return %cast, %d : memref<?x?xf32, #tiled>, index
}

// Without tiles there are strides: other operations see a strided memref.

// CHECK-LABEL: func.func @strided(
// CHECK-SAME:    %[[M:.+]]: memref<8x8xf32>
// CHECK:         %[[V:.+]] = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [5, 7], strides: [1, 8]
// CHECK:         memref.subview %[[V]][1, 2] [2, 2] [1, 1]
// CHECK:         linalg.fill ins(%{{.+}} : f32) outs(%{{.+}} : memref<5x7xf32, strided<[1, 8]>>)
func.func @strided(%m: memref<5x7xf32, #columns>, %c: f32)
    -> memref<2x2xf32, strided<[1, 8], offset: 17>> {
  %sub = memref.subview %m[1, 2] [2, 2] [1, 1] : memref<5x7xf32, #columns>
    to memref<2x2xf32, strided<[1, 8], offset: 17>>
  linalg.fill ins(%c : f32) outs(%m : memref<5x7xf32, #columns>)
  return %sub : memref<2x2xf32, strided<[1, 8], offset: 17>>
}

// A copy between equal layouts copies memory, padding included.

// CHECK-LABEL: func.func @copy(
// CHECK:         memref.copy %{{.+}}, %{{.+}} : memref<2x1x8x128xf32> to memref<2x1x8x128xf32>
func.func @copy(%m: memref<16x24xf32, #tiled>, %n: memref<16x24xf32, #tiled>) {
  memref.copy %m, %n : memref<16x24xf32, #tiled> to memref<16x24xf32, #tiled>
  return
}

// Constants are placed at compile time.

// CHECK: memref.global "private" @constant : memref<3x2xf32> =
// CHECK-SAME{LITERAL}: dense<[[1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]>
memref.global "private" @constant : memref<2x3xf32, #tessera.layout<{0,1}>>
  = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]>

// Padding holds what is promised, and packed elements are bytes.

// CHECK: memref.global "private" @promised_elements : memref<1x2x2x2xi32> =
// CHECK-SAME{LITERAL}: dense<[[[[1, 2], [4, 5]], [[3, 1], [6, 1]]]]>
memref.global "private" @promised_elements : memref<2x3xi32, #tessera.layout<{1,0:T(2,2)PV(one)}>>
  = dense<[[1, 2, 3], [4, 5, 6]]>
// CHECK: memref.global "private" @packed_elements : memref<2xi8> = dense<[33, 3]>
memref.global "private" @packed_elements : memref<3xi4, #tessera.layout<{0:E(4)}>>
  = dense<[1, 2, 3]>
// CHECK: memref.global "private" @packed_splat : memref<500000000000xi8> = dense<-1>
memref.global "private" @packed_splat : memref<1000000000000xi4, #tessera.layout<{0:E(4)}>>
  = dense<-1>
// CHECK: memref.global "private" @wide_elements : memref<2xi16> = dense<[255, 1]>
memref.global "private" @wide_elements : memref<2xi8, #tessera.layout<{0:E(16)}>>
  = dense<[-1, 1]>
// CHECK: memref.global "private" @bit_elements : memref<2x4xi1> =
// CHECK-SAME{LITERAL}: dense<[[true, false, true, true], [false, true, false, false]]>
memref.global "private" @bit_elements : memref<6xi1, #tessera.layout<{0:T(4)PV(zero)}>>
  = dense<[true, false, true, true, false, true]>
// CHECK: memref.global "private" @complex_elements : memref<4xcomplex<f32>> =
// CHECK-SAME: dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,0.000000e+00), (5.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00)]>
memref.global "private" @complex_elements : memref<3xcomplex<f32>, #tessera.layout<{0:L(4)PV(one)}>>
  = dense<[(1.0, 2.0), (3.0, 0.0), (5.0, 0.0)]>

// CHECK-LABEL: func.func @global()
// CHECK:         affine.load %{{.+}}[2, 1] : memref<3x2xf32>
func.func @global() -> f32 {
  %g = memref.get_global @constant : memref<2x3xf32, #tessera.layout<{0,1}>>
  %r = affine.load %g[1, 2] : memref<2x3xf32, #tessera.layout<{0,1}>>
  return %r : f32
}

// CHECK: memref.global "private" @empty : memref<0x1x2x2xf32> = dense<>
memref.global "private" @empty : memref<0x2xf32, #tessera.layout<{1,0:T(2,2)}>>
  = dense<>

// In a flat buffer strides come from sizes, where these are not known; below
// the most major dimension only that one is free, and the sum stays affine.

// CHECK-LABEL: func.func @flat_dynamic(
// CHECK-SAME:    %[[M:.+]]: memref<?xf32>, %[[ROWS:.+]]: index, %[[COLUMNS:.+]]: index, %[[N:.+]]: memref<?xi8>, %{{.+}}: index)
// CHECK:         affine.for %[[I:.+]] = 0 to %[[ROWS]]
// CHECK:           affine.for %[[J:.+]] = 0 to %[[COLUMNS]]
// CHECK:             %[[MAJOR:.+]] = arith.muli %[[I]], %[[COLUMNS]]
// CHECK:             %[[POSITION:.+]] = arith.addi %[[J]], %[[MAJOR]]
// CHECK:             memref.load %[[M]][%[[POSITION]]]
// CHECK:         affine.load %[[N]][%{{.+}} * 2]
func.func @flat_dynamic(%m: memref<?x?xf32, #tessera.layout<{1,0:L(16)}>>,
                        %n: memref<?x4xi4, #tessera.layout<{1,0:E(4)}>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %m, %c0 : memref<?x?xf32, #tessera.layout<{1,0:L(16)}>>
  %columns = memref.dim %m, %c1 : memref<?x?xf32, #tessera.layout<{1,0:L(16)}>>
  affine.for %i = 0 to %rows {
    affine.for %j = 0 to %columns {
      %v = affine.load %m[%i, %j] : memref<?x?xf32, #tessera.layout<{1,0:L(16)}>>
    }
    %w = affine.load %n[%i, 0] : memref<?x4xi4, #tessera.layout<{1,0:E(4)}>>
  }
  return
}

// A buffer that is flat because a size is not known is seen from one that has
// the shape of its tiles.

// CHECK-LABEL: func.func @flat_cast(
// CHECK-SAME:    %[[M:.+]]: memref<2x8xf32>) -> (memref<?xf32>, index)
// CHECK:         memref.reinterpret_cast %[[M]] to offset: [0], sizes: [%{{.+}}], strides: [1] : memref<2x8xf32> to memref<?xf32>
func.func @flat_cast(%m: memref<16xf32, #tessera.layout<{0:T(8)L(2)}>>)
    -> memref<?xf32, #tessera.layout<{0:T(8)L(2)}>> {
  %c = memref.cast %m : memref<16xf32, #tessera.layout<{0:T(8)L(2)}>>
      to memref<?xf32, #tessera.layout<{0:T(8)L(2)}>>
  return %c : memref<?xf32, #tessera.layout<{0:T(8)L(2)}>>
}

// Affine loops and conditionals carry memrefs with their sizes, too. A loop that
// is split passes them through both of its halves.

// CHECK-LABEL: func.func @affine_carried(
// CHECK-SAME:    %[[M:.+]]: memref<?x2x8x128xf32>, %[[M0:.+]]: index, %[[N:.+]]: memref<?x2x8x128xf32>, %[[N0:.+]]: index
// CHECK:         %[[R:.+]]:4 = affine.for %[[A:.+]] = 0 to 2 iter_args(%[[P:.+]] = %[[M]], %[[P0:.+]] = %[[M0]], %[[Q:.+]] = %[[N]], %[[Q0:.+]] = %[[N0]])
// CHECK-SAME:        -> (memref<?x2x8x128xf32>, index, memref<?x2x8x128xf32>, index)
// CHECK:           %[[S:.+]]:4 = affine.for %[[B:.+]] = 0 to 8 iter_args(%[[X:.+]] = %[[P]], %{{.+}} = %[[P0]], %{{.+}} = %[[Q]], %{{.+}} = %[[Q0]])
// CHECK:             affine.store %{{.+}}, %[[X]][%[[A]], 1, %[[B]], 0] : memref<?x2x8x128xf32>
// CHECK:           affine.yield %[[S]]#0, %[[S]]#1, %[[S]]#2, %[[S]]#3
// CHECK:         %[[I:.+]]:2 = affine.if #{{.+}}() -> (memref<?x2x8x128xf32>, index)
// CHECK:           affine.yield %[[R]]#0, %[[R]]#1
// CHECK:         return %[[I]]#0, %[[I]]#1
func.func @affine_carried(%m: memref<?x256xf32, #tiled>,
                          %n: memref<?x256xf32, #tiled>, %c: f32)
    -> memref<?x256xf32, #tiled> {
  %r:2 = affine.for %i = 0 to 16 iter_args(%p = %m, %q = %n)
      -> (memref<?x256xf32, #tiled>, memref<?x256xf32, #tiled>) {
    affine.store %c, %p[%i, 128] : memref<?x256xf32, #tiled>
    affine.yield %q, %p : memref<?x256xf32, #tiled>, memref<?x256xf32, #tiled>
  }
  %s = affine.if affine_set<() : (1 >= 0)>() -> memref<?x256xf32, #tiled> {
    affine.yield %r#0 : memref<?x256xf32, #tiled>
  } else {
    affine.yield %r#1 : memref<?x256xf32, #tiled>
  }
  return %s : memref<?x256xf32, #tiled>
}

// What is allocated has the tail, of one axis too.

// CHECK-LABEL: func.func @tail_alloc(
// CHECK-SAME:    %[[N:.+]]: index)
// CHECK:         %[[SIZE:.+]] = affine.apply #[[WITH_TAIL]]()[%[[N]]]
// CHECK:         memref.alloc(%[[SIZE]]) : memref<?xf32>
func.func @tail_alloc(%n: index) -> memref<?xf32, #tessera.layout<{0:L(16)}>> {
  %m = memref.alloc(%n) : memref<?xf32, #tessera.layout<{0:L(16)}>>
  return %m : memref<?xf32, #tessera.layout<{0:L(16)}>>
}

// In row-major order the physical memref is the view, of the type that views of
// views are inferred from.

// CHECK-LABEL: func.func @row_major_views(
// CHECK-SAME:    %[[M:.+]]: memref<4x6xf32>)
// CHECK:         memref.expand_shape %[[M]] {{.*}} : memref<4x6xf32> into memref<2x2x6xf32>
// CHECK:         memref.collapse_shape %[[M]] {{.*}} : memref<4x6xf32> into memref<24xf32>
func.func @row_major_views(%m: memref<4x6xf32, #tessera.layout<{1,0}>>)
    -> (memref<2x2x6xf32>, memref<24xf32>) {
  %e = memref.expand_shape %m [[0, 1], [2]] output_shape [2, 2, 6]
      : memref<4x6xf32, #tessera.layout<{1,0}>> into memref<2x2x6xf32>
  %c = memref.collapse_shape %m [[0, 1]]
      : memref<4x6xf32, #tessera.layout<{1,0}>> into memref<24xf32>
  return %e, %c : memref<2x2x6xf32>, memref<24xf32>
}

// CHECK-LABEL: func.func @strided_views(
// CHECK:         %[[V:.+]] = memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [4, 6], strides: [1, 4]
// CHECK:         memref.expand_shape %[[V]]
func.func @strided_views(%m: memref<4x6xf32, #tessera.layout<{0,1}>>)
    -> memref<2x2x6xf32, strided<[2, 1, 4]>> {
  %e = memref.expand_shape %m [[0, 1], [2]] output_shape [2, 2, 6]
      : memref<4x6xf32, #tessera.layout<{0,1}>> into memref<2x2x6xf32, strided<[2, 1, 4]>>
  return %e : memref<2x2x6xf32, strided<[2, 1, 4]>>
}

// CHECK-LABEL: func.func @switch(
// CHECK:         scf.index_switch %{{.+}} -> memref<3x2xf32>
func.func @switch(%i: index, %m: memref<2x3xf32, #tessera.layout<{0,1}>>,
                  %n: memref<2x3xf32, #tessera.layout<{0,1}>>) -> memref<2x3xf32, #tessera.layout<{0,1}>> {
  %r = scf.index_switch %i -> memref<2x3xf32, #tessera.layout<{0,1}>>
  case 1 {
    scf.yield %m : memref<2x3xf32, #tessera.layout<{0,1}>>
  }
  default {
    scf.yield %n : memref<2x3xf32, #tessera.layout<{0,1}>>
  }
  return %r : memref<2x3xf32, #tessera.layout<{0,1}>>
}

// An atomic update goes to the position of the element.

// CHECK-LABEL: func.func @update
// CHECK: %[[P:.*]] = memref.atomic_rmw addf %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : (f32, memref<5x2x8x128xf32>) -> f32
func.func @update(%m: memref<40x250xf32, #tiled>, %v: f32, %i: index, %j: index) -> f32 {
  %p = memref.atomic_rmw addf %v, %m[%i, %j] : (f32, memref<40x250xf32, #tiled>) -> f32
  return %p : f32
}
