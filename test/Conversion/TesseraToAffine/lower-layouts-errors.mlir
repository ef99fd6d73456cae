// RUN: tessera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --tessera-lower-layouts

// Each operation that can't be lowered is reported, not the first alone.

#tiled = #tessera.layout<{1,0:T(8,128)}>
func.func @all_of_them(%m: memref<16x256xf32, #tiled>, %c: f32) {
  // expected-error @+1 {{unsupported operation on a laid-out memref: expected loads, stores, calls, branches, loops}}
  linalg.fill ins(%c : f32) outs(%m : memref<16x256xf32, #tiled>)
  // expected-error @+1 {{unsupported cast of a laid-out memref: expected a memref of the same layout and, where the layout has PD, no dimension of size 0; use tessera.relayout}}
  %u = memref.cast %m : memref<16x256xf32, #tiled> to memref<*xf32>
  return
}

// -----

#tiled = #tessera.layout<{1,0:T(8,128)}>
func.func @no_such_dimension(%m: memref<16x256xf32, #tiled>) -> (index, index) {
  %c2 = arith.constant 2 : index
  %c-1 = arith.constant -1 : index
  // expected-error @+1 {{unsupported dimension: expected an index below the rank 2, found 2; the result would be undefined, so ask for another}}
  %d = memref.dim %m, %c2 : memref<16x256xf32, #tiled>
  // expected-error @+1 {{expected an index below the rank 2, found -1}}
  %e = memref.dim %m, %c-1 : memref<16x256xf32, #tiled>
  return %d, %e : index, index
}

// -----

#tiled = #tessera.layout<{1,0:T(8,128)}>
func.func @relayouts_first(%m: memref<16x256xf32, #tiled>,
                           %n: memref<16x256xf32>) {
  // expected-error @+1 {{run --tessera-lower-relayouts first}}
  tessera.relayout %n into %m : memref<16x256xf32>, memref<16x256xf32, #tiled>
  // expected-error @+1 {{run --tessera-lower-relayouts first}}
  memref.copy %n, %m : memref<16x256xf32> to memref<16x256xf32, #tiled>
  return
}

// -----

// expected-error @+1 {{unsupported initial value: expected dense elements in at most 2^24 positions; take smaller tiles, or leave the global uninitialized}}
memref.global "private" @sparse
  : memref<3x3xf32, #tessera.layout<{1,0:T(2,2)}>> = sparse<[[0, 1]], 2.0>

// -----

// expected-error @+1 {{unsupported element size E: expected the 4 bits of s4 or more whole bytes, at most 128 bits, found 3; write the type without E}}
func.func @no_physical_type(
    %m: memref<4xi4, #tessera.layout<{0:E(3)}>>) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{unsupported element size E: expected the 4 bits of s4 or more whole bytes, at most 128 bits, found 3; write the type without E}}
  %v = memref.load %m[%c0] : memref<4xi4, #tessera.layout<{0:E(3)}>>
  return
}

// -----

func.func @packed_unsigned(%m: memref<4xui4, #tessera.layout<{0:E(4)}>>) {
  // expected-error @+1 {{unsupported access to packed elements: expected signless integers, found unsigned or signed ones}}
  %v = affine.load %m[0] : memref<4xui4, #tessera.layout<{0:E(4)}>>
  return
}

// -----

// Two elements in a tile that no compiler should list.
// expected-error @+1 {{in at most 2^24 positions}}
memref.global "private" @huge
  : memref<2xi8, #tessera.layout<{0:T(1099511627776)}>> = dense<[1, 2]>

// -----

// The buffer of no elements is empty; that of an unknown number has the width.

func.func @empty_cast(%m: memref<0x2xi32, #tessera.layout<{1,0:PD(3,2)}>>)
    -> memref<?x2xi32, #tessera.layout<{1,0:PD(3,2)}>> {
  // expected-error @+1 {{unsupported cast of a laid-out memref}}
  %c = memref.cast %m : memref<0x2xi32, #tessera.layout<{1,0:PD(3,2)}>>
      to memref<?x2xi32, #tessera.layout<{1,0:PD(3,2)}>>
  return %c : memref<?x2xi32, #tessera.layout<{1,0:PD(3,2)}>>
}

// -----

// Sizes of a plain memref whose product is beyond 64 bits.

func.func @huge_view(%m: memref<?x4xf32>)
    -> memref<?x9223372036854775807x9223372036854775807xf32> {
  // expected-error @+1 {{unsupported view}}
  %t = tessera.bitcast_view %m : memref<?x4xf32>
      to memref<?x9223372036854775807x9223372036854775807xf32>
  return %t : memref<?x9223372036854775807x9223372036854775807xf32>
}

// -----

func.func @update(%m: memref<8xi4, #tessera.layout<{0:E(4)}>>, %v: i4, %i: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op unsupported update of packed elements: expected elements that have an address each}}
  %p = memref.atomic_rmw addi %v, %m[%i] : (i4, memref<8xi4, #tessera.layout<{0:E(4)}>>) -> i4
  return
}

// -----

func.func @affine_vector(%m: memref<8x16xf32, #tessera.layout<{1,0:T(2,2)}>>) -> vector<4xf32> {
  // expected-error @+1 {{'affine.vector_load' op unsupported operation on a laid-out memref}}
  %v = affine.vector_load %m[0, 0] : memref<8x16xf32, #tessera.layout<{1,0:T(2,2)}>>, vector<4xf32>
  return %v : vector<4xf32>
}
