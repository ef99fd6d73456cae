// RUN: tessera-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics -tessera-bufferize

func.func @reshape(%a: tensor<8x4xf32, #tessera.layout<{1,0:T(8,128)}>>)
    -> tensor<32xf32> {
  // expected-error @+2 {{unsupported reshape: expected row-major order on both sides, in one memory space; run --tessera-expand-ops first}}
  // expected-error @+1 {{failed to bufferize op}}
  %b = tessera.reshape %a : tensor<8x4xf32, #tessera.layout<{1,0:T(8,128)}>>
      to tensor<32xf32>
  return %b : tensor<32xf32>
}

// -----

// Copies under way are for --tessera-expand-ops, too.

func.func @copy(%a: tensor<8xf32>) -> tensor<8xf32, #tessera.layout<{0:S(1)}>> {
  // expected-error @+1 {{unsupported on tensors: expected an operation that One-Shot Bufferize makes buffers for}}
  %b, %t = tessera.copy_start %a : tensor<8xf32>
      to tensor<8xf32, #tessera.layout<{0:S(1)}>>
  tessera.copy_done %t
  return %b : tensor<8xf32, #tessera.layout<{0:S(1)}>>
}

// -----

// A memref's layout with `*` needs widths of all dimensions, those that are not
// merged too.

func.func @merged(%n: index) {
  // expected-error @+2 {{unsupported `*` in the layout of a memref: expected sizes or bounds of all dimensions, found a size that is not known; give the dynamic dimensions bounds with B}}
  // expected-error @+1 {{failed to bufferize op}}
  %e = tessera.empty(%n) : tensor<3x?xi32, #tessera.layout<{1,0:T(*,9,2)}>>
  "test.use"(%e) : (tensor<3x?xi32, #tessera.layout<{1,0:T(*,9,2)}>>) -> ()
  return
}

// -----

func.func private @callee(%a: tensor<4xi32>) -> tensor<4xi32> {
  cf.br ^end(%a : tensor<4xi32>)
^end(%b: tensor<4xi32>):
  return %b : tensor<4xi32>
}

func.func @function_value() {
  // expected-error @+1 {{unsupported value that is a function: expected one without tensors among its arguments and results, found (tensor<4xi32>) -> tensor<4xi32>; call it by its name}}
  %0 = func.constant @callee : (tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @pack(%a: tensor<8x16xf32, #tessera.layout<{1,0:T(2,2)}>>, %b: tensor<2x2x4x8xf32>)
    -> tensor<2x2x4x8xf32> {
  // expected-error @+1 {{'linalg.pack' op unsupported on tensors}}
  %x = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %b
      : tensor<8x16xf32, #tessera.layout<{1,0:T(2,2)}>> -> tensor<2x2x4x8xf32>
  return %x : tensor<2x2x4x8xf32>
}

// -----

// Memrefs have not all elements that tensors may have.

func.func @element(%n: index) {
  // expected-error @+1 {{unsupported element type: expected one that a memref may have, found !tessera_hlo.token}}
  %e = tessera.empty(%n) : tensor<12x?x!tessera_hlo.token>
  return
}

// -----

// expected-error @+1 {{unsupported element type: expected one that a memref may have, found !tessera_hlo.token}}
func.func private @argument(tensor<4x!tessera_hlo.token>)
