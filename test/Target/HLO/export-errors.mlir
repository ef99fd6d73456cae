// RUN: tessera-translate --export-hlo --split-input-file --verify-diagnostics %s

func.func @operation(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{unsupported operation in HLO: expected one that stands for an instruction, found 'arith.addf'}}
  %0 = arith.addf %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error @+1 {{unsupported function in HLO: expected one block, found none}}
func.func private @external(tensor<2xf32>) -> tensor<2xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

func.func @results(%x: tensor<2xf32>) {
  // expected-error @+1 {{unsupported function in HLO: expected one result, found 0}}
  return
}

// -----

// expected-error @+1 {{unsupported type of a value of HLO: expected a ranked tensor, a tuple or a type of tessera_hlo, found f32}}
func.func @type(%x: f32) -> f32 {
  return %x : f32
}

// -----

// expected-error @+1 {{invalid module in HLO: expected one public function, the entry computation, found 2}}
module {
  func.func @a(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
  func.func @b(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}

// -----

// A text that a reader would refuse is not written.
// expected-error @+2 {{the text of the module would be wrong, 3:16: error: invalid shape}}
// expected-error @+1 {{the text of the module would be wrong, 4:11: error: invalid instruction: expected `=`, found `b`}}
module {
  func.func @main(%x: tensor<2xf32> {tessera_hlo.name = "a b"}) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}

// -----

func.func @main() -> tensor<4294967296xf32> {
  // expected-error @below {{unsupported constant: expected at most 1048576 equal elements, found 'tensor<4294967296xf32>'; broadcast a scalar}}
  %0 = arith.constant dense<0.0> : tensor<4294967296xf32>
  return %0 : tensor<4294967296xf32>
}

// -----

func.func @main() -> tensor<4294967296x4294967296x0xf32> {
  // expected-error @below {{unsupported constant: expected at most 1048576 equal elements}}
  %0 = arith.constant dense<> : tensor<4294967296x4294967296x0xf32>
  return %0 : tensor<4294967296x4294967296x0xf32>
}
