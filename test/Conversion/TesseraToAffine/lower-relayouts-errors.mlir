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

func.func @packed_unsigned(%a: memref<?xui4>, %b: memref<?xui4, #tessera.layout<{0:E(4)}>>) {
  // expected-error @+1 {{unsupported access to packed elements: expected signless integers, found unsigned or signed ones; convert the element type to a signless one}}
  tessera.relayout %a into %b : memref<?xui4>, memref<?xui4, #tessera.layout<{0:E(4)}>>
  return
}

// -----

%source = memref.alloc() : memref<4xf32>
%destination = memref.alloc() : memref<4xf32, #tessera.layout<{0:T(2)}>>
// expected-error @+1 {{unsupported relayout: expected a function around it, found none; move it into a function}}
tessera.relayout %source into %destination : memref<4xf32>, memref<4xf32, #tessera.layout<{0:T(2)}>>
