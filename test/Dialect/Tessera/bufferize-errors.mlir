// RUN: tessera-opt %s -split-input-file -verify-diagnostics -tessera-bufferize

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
  // expected-error @+1 {{op was not bufferized}}
  %b, %t = tessera.copy_start %a : tensor<8xf32>
      to tensor<8xf32, #tessera.layout<{0:S(1)}>>
  tessera.copy_done %t
  return %b : tensor<8xf32, #tessera.layout<{0:S(1)}>>
}
