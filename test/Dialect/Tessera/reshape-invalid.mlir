// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @reshape_c1(%a: tensor<4xf32>) {
  // expected-error @+1 {{invalid element type: expected that of the source, 'f32', found 'i32'; tessera.bitcast changes it [reshape_c1]}}
  %0 = tessera.reshape %a : tensor<4xf32> to tensor<2x2xi32>
  return
}

// -----

func.func @reshape_c2(%a: tensor<4x5xf32>) {
  // expected-error @+1 {{invalid number of elements: expected 20 as in the operand, found 21 [reshape_c2]}}
  %0 = tessera.reshape %a : tensor<4x5xf32> to tensor<21xf32>
  return
}

// -----

func.func @reshape_c2_remainder(%a: tensor<4x5xf32>) {
  // expected-error @+1 {{expected 20 as in the operand, found 3 times a size [reshape_c2]}}
  %0 = tessera.reshape %a : tensor<4x5xf32> to tensor<3x?xf32>
  return
}

// -----

// Products of sizes beyond 64 bits are fine where the array is empty.

func.func @reshape_c2_empty(%a: tensor<4294967296x4294967296x0xf32>) {
  %b = tessera.reshape %a : tensor<4294967296x4294967296x0xf32> to tensor<0xf32>
  return
}

// -----

func.func @reshape_c2_overflow(%a: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{expected products of dimensions within 64 bits, found an overflow [reshape_c2]}}
  %0 = tessera.reshape %a : tensor<4294967296x4294967296xf32> to tensor<0xf32>
  return
}

// -----

func.func @reshape_c3(%a: tensor<?x?xf32>) {
  // expected-error @+1 {{invalid dynamic dimensions of the result: expected at most one, and then none of size 0, found ?x?; split the reshape, or make sizes static [reshape_c3]}}
  %0 = tessera.reshape %a : tensor<?x?xf32> to tensor<?x?xf32>
  return
}

// -----

func.func @reshape_c3_empty(%a: tensor<0xf32>) {
  // expected-error @+1 {{[reshape_c3]}}
  %0 = tessera.reshape %a : tensor<0xf32> to tensor<0x?xf32>
  return
}

// -----

func.func @assume_layout_c1(%a: tensor<4xf32>) {
  // expected-error @+1 {{[assume_layout_c1]}}
  %0 = tessera.assume_layout %a : tensor<4xf32> to tensor<5xf32, #tessera.layout<{0}>>
  return
}

// -----

func.func @assume_layout_c2(%a: tensor<4xf32>) {
  // expected-error @+1 {{[assume_layout_c2]}}
  %0 = tessera.assume_layout %a : tensor<4xf32> to tensor<4xi32, #tessera.layout<{0}>>
  return
}

// -----

func.func @assume_layout_c3(%a: tensor<4xf32>) {
  // expected-error @+1 {{invalid type of the result: expected a tensor with a layout, found one without; write the layout that is wanted here [assume_layout_c3]}}
  %0 = tessera.assume_layout %a : tensor<4xf32> to tensor<4xf32>
  return
}
