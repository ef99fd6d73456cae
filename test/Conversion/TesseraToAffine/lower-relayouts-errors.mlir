// RUN: tessera-opt %s -split-input-file -verify-diagnostics -tessera-lower-relayouts

// All that cannot be lowered is reported, not the first alone.

func.func @metadata(%a: memref<4xf32>, %b: memref<4xf32, #tessera.layout<{0:M(8)}>>,
                    %c: memref<4xf32, #tessera.layout<{0:M(16)}>>) {
  // expected-error @+1 {{unsupported metadata prefix M: expected none, found 8 bytes}}
  tessera.relayout %a into %b : memref<4xf32>, memref<4xf32, #tessera.layout<{0:M(8)}>>
  // expected-error @+1 {{found 16 bytes}}
  tessera.relayout %a into %c : memref<4xf32>, memref<4xf32, #tessera.layout<{0:M(16)}>>
  return
}

// -----

func.func @dynamic_packed(%a: memref<?xi4>, %b: memref<?xi4, #tessera.layout<{0:E(4)}>>) {
  // expected-error @+1 {{expected sizes that are known, found dynamic ones; give the dimensions bounds with B}}
  tessera.relayout %a into %b : memref<?xi4>, memref<?xi4, #tessera.layout<{0:E(4)}>>
  return
}
