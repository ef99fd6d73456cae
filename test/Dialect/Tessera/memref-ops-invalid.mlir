// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @bitcast_view_c1_positions(%m: memref<8x32xf32>) {
  // expected-error @+1 {{bitcast_view_c1}}
  %t = tessera.bitcast_view %m : memref<8x32xf32> to memref<16x32xf32>
  return
}

// -----

func.func @bitcast_view_c1_padding(%m: memref<5xf32, #tessera.layout<{0:T(8)}>>) {
  // expected-error @+1 {{bitcast_view_c1}}
  %t = tessera.bitcast_view %m
      : memref<5xf32, #tessera.layout<{0:T(8)}>>
      to memref<5xf32, #tessera.layout<{0:T(8)PV(zero)}>>
  return
}

// -----

func.func @bitcast_view_c2_space(%m: memref<8xf32>) {
  // expected-error @+1 {{invalid memory space: expected 0, found 1; tessera.relayout moves an array [bitcast_view_c2]}}
  %t = tessera.bitcast_view %m
      : memref<8xf32> to memref<8xf32, #tessera.memory_space<1>>
  return
}

// -----

func.func @bitcast_view_c2_attribute(%m: memref<8xf32, 1>) {
  // expected-error @+1 {{invalid memory space: expected the attribute of the source [bitcast_view_c2]}}
  %t = tessera.bitcast_view %m
      : memref<8xf32, 1> to memref<8xf32, #tessera.memory_space<1>>
  return
}

// -----

func.func @bitcast_view_c3_dynamic(%m: memref<?xf32>) {
  // expected-error @+1 {{bitcast_view_c3}}
  %t = tessera.bitcast_view %m : memref<?xf32> to memref<?x?xf32>
  return
}

// -----

func.func @fill_padding_c1_no_promise(%m: memref<5xf32, #tessera.layout<{0:T(8)}>>) {
  // expected-error @+1 {{invalid layout of the buffer: expected a layout with a padding value, found one without PV; write PV(zero), for example, in the layout [fill_padding_c1]}}
  tessera.fill_padding %m : memref<5xf32, #tessera.layout<{0:T(8)}>>
  return
}
