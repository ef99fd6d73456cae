// RUN: tessera-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: tessera-opt %s -split-input-file -verify-diagnostics -normalize-memrefs | FileCheck %s --check-prefix=MAP

// What upstream sees of a layout: an affine map, strides where there are some,
// and whether the layout is the identity.

// The map lists the axes: normalization makes the physical memref by it.
// MAP-LABEL: func.func @map
func.func @map(%f: f32, %i: index, %j: index) {
  // MAP: memref.alloc() : memref<5x2x8x128xf32>
  %0 = memref.alloc() : memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>
  // MAP: affine.store %{{.*}}, %{{.*}}[symbol(%[[I:.*]]) floordiv 8, symbol(%[[J:.*]]) floordiv 128, symbol(%[[I]]) mod 8, symbol(%[[J]]) mod 128]
  affine.store %f, %0[%i, %j] : memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>
  // MAP: memref.alloc() : memref<5x2x4x128x2x1xbf16>
  %1 = memref.alloc() : memref<40x250xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
  // MAP: memref.alloc() : memref<3x2xf32>
  %2 = memref.alloc() : memref<2x3xf32, #tessera.layout<{0,1}>>
  memref.dealloc %0 : memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>
  memref.dealloc %1 : memref<40x250xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
  memref.dealloc %2 : memref<2x3xf32, #tessera.layout<{0,1}>>
  return
}

// -----

// Untiled layouts have strides.
// CHECK-LABEL: func.func @strides
func.func @strides(%columns: memref<4x5xf32, #tessera.layout<{0,1}>>,
                   %wide: memref<2x3xf32, #tessera.layout<{0,1:PD(3,5)}>>,
                   %dynamic: memref<?x3xf32, #tessera.layout<{0,1}>>,
                   %bound: memref<?x3xf32, #tessera.layout<{0,1:B(8,?)}>>) {
  // CHECK: memref.cast
  %0 = memref.cast %columns : memref<4x5xf32, #tessera.layout<{0,1}>> to memref<4x5xf32, strided<[1, 4]>>
  // CHECK: memref.cast
  %1 = memref.cast %wide : memref<2x3xf32, #tessera.layout<{0,1:PD(3,5)}>> to memref<2x3xf32, strided<[1, 3]>>
  // CHECK: memref.cast
  %2 = memref.cast %dynamic : memref<?x3xf32, #tessera.layout<{0,1}>> to memref<?x3xf32, strided<[1, ?]>>
  // CHECK: memref.cast
  %3 = memref.cast %bound : memref<?x3xf32, #tessera.layout<{0,1:B(8,?)}>> to memref<?x3xf32, strided<[1, 8]>>
  // CHECK: memref.subview
  %4 = memref.subview %columns[1, 2] [2, 2] [1, 1] : memref<4x5xf32, #tessera.layout<{0,1}>> to memref<2x2xf32, strided<[1, 4], offset: 9>>
  return
}

// -----

func.func @wrong_strides(%columns: memref<4x5xf32, #tessera.layout<{0,1}>>) {
  // expected-error @+1 {{are cast incompatible}}
  %0 = memref.cast %columns : memref<4x5xf32, #tessera.layout<{0,1}>> to memref<4x5xf32, strided<[5, 1]>>
  return
}

// -----

// A tiled layout has none.
func.func @tiled(%m: memref<8x128xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  // expected-error @+1 {{are cast incompatible}}
  %0 = memref.cast %m : memref<8x128xf32, #tessera.layout<{1,0:T(8,128)}>> to memref<8x128xf32>
  return
}

// -----

// A cast would drop how elements are packed.
func.func @packed(%m: memref<8xi4, #tessera.layout<{0:E(4)}>>) {
  // expected-error @+1 {{are cast incompatible}}
  %0 = memref.cast %m : memref<8xi4, #tessera.layout<{0:E(4)}>> to memref<8xi4>
  return
}

// -----

func.func @metadata(%m: memref<8xi4, #tessera.layout<{0:M(16)}>>) {
  // expected-error @+1 {{are cast incompatible}}
  %0 = memref.cast %m : memref<8xi4, #tessera.layout<{0:M(16)}>> to memref<8xi4>
  return
}

// -----

// The explicit descending order is the identity, and so upstream takes it for
// none; with an attribute it is not.
// CHECK-LABEL: func.func @identity
func.func @identity(%m: memref<4x5xf32, #tessera.layout<{1,0}>>) {
  // CHECK: memref.cast
  %0 = memref.cast %m : memref<4x5xf32, #tessera.layout<{1,0}>> to memref<4x5xf32>
  // CHECK: memref.expand_shape
  %1 = memref.expand_shape %m [[0], [1, 2]] output_shape [4, 5, 1] : memref<4x5xf32, #tessera.layout<{1,0}>> into memref<4x5x1xf32>
  return
}
