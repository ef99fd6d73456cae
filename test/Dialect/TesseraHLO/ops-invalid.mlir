// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// instruction_c1
func.func @unknown_opcode(%x: tensor<2xf32>) {
  // expected-error @+1 {{invalid opcode: expected the name of an instruction of HLO, found 'frobnicate' [instruction_c1]}}
  %0 = tessera_hlo.instruction "frobnicate"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// instruction_c1
func.func @parameter() {
  // expected-error @+1 {{found 'parameter'; a parameter is an argument of its function [instruction_c1]}}
  %0 = tessera_hlo.instruction "parameter"() : () -> tensor<2xf32>
  return
}

// -----

// instruction_c2
func.func @operand_count(%x: tensor<2xf32>) {
  // expected-error @+1 {{invalid number of operands of 'add': expected 2, found 1 [instruction_c2]}}
  %0 = tessera_hlo.instruction "add"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// instruction_c3
func.func @unknown_attribute(%x: tensor<2xf32>) {
  // expected-error @+1 {{invalid attribute of an instruction: expected one that 'negate' may have, found 'dimensions' [instruction_c3]}}
  %0 = tessera_hlo.instruction "negate"(%x) {hlo_attributes = {dimensions = "{0}"}} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// instruction_c3
func.func @attribute_value(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected strings and references to functions, found another attribute [instruction_c3]}}
  %0 = tessera_hlo.instruction "negate"(%x) {hlo_attributes = {metadata = 1 : i32}} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// instruction_c4
func.func @kept_layout(%x: tensor<2x3xf32, #tessera.layout<{0,1:T(8,128)}>>) {
  // expected-error @+1 {{invalid layout of operand 0: expected the result's, {1,0}, but for tiles, memory space and SC, found {0,1:T(8,128)}; lay out the operand with a copy first [instruction_c4]}}
  %0 = tessera_hlo.instruction "negate"(%x) : (tensor<2x3xf32, #tessera.layout<{0,1:T(8,128)}>>) -> tensor<2x3xf32>
  return
}

// -----

// instruction_c4: only convert and the like may change the element size.
func.func @kept_element_size(%x: tensor<2xi4, #tessera.layout<{0:E(4)}>>) {
  %ok = tessera_hlo.instruction "convert"(%x) : (tensor<2xi4, #tessera.layout<{0:E(4)}>>) -> tensor<2xi8>
  // expected-error @+1 {{[instruction_c4]}}
  %0 = tessera_hlo.instruction "negate"(%x) : (tensor<2xi4, #tessera.layout<{0:E(4)}>>) -> tensor<2xi4>
  return
}

// -----

// instruction_c5
func.func @missing_function(%x: tensor<2xf32>) {
  // expected-error @+1 {{invalid reference of an instruction: expected a function, found '@nobody' [instruction_c5]}}
  %0 = tessera_hlo.instruction "call"(%x) {hlo_attributes = {to_apply = @nobody}} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// instruction_c5
func.func @missing_function_of_list(%x: tensor<i32>) {
  // expected-error @+1 {{found '@nobody' [instruction_c5]}}
  %0 = tessera_hlo.instruction "conditional"(%x) {hlo_attributes = {branch_computations = [@missing_function_of_list, @nobody]}} : (tensor<i32>) -> tensor<i32>
  return
}

// -----

// instruction_c6
func.func @constant_without_literal() {
  // expected-error @+1 {{invalid literal: expected the value of the constant, found none [instruction_c6]}}
  %0 = tessera_hlo.instruction "constant"() : () -> tensor<2xf32>
  return
}

// -----

// instruction_c6
func.func @literal_of_another(%x: tensor<2xf32>) {
  // expected-error @+1 {{invalid literal: expected none, found '1' [instruction_c6]}}
  %0 = tessera_hlo.instruction "negate"(%x) literal "1" : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// attributes_c1
// expected-error @+1 {{invalid attribute 'tessera_hlo.position': expected an integer that is not negative, found -1 : i64 [attributes_c1]}}
func.func @negative_position(%x: tensor<2xf32> {tessera_hlo.position = -1}) {
  return
}

// -----

// attributes_c1
// expected-error @+1 {{invalid attribute 'tessera_hlo.name': expected a string, found 1 : i64 [attributes_c1]}}
func.func @name() attributes {tessera_hlo.name = 1} {
  return
}

// -----

// attributes_c1
// expected-error @+1 {{invalid attribute 'tessera_hlo.attributes': expected a dictionary of strings and references to functions, found {a = 1 : i64} [attributes_c1]}}
func.func @attributes() attributes {tessera_hlo.attributes = {a = 1}} {
  return
}

// -----

// Only what HLO has as types.
func.func @type(%x: f32) {
  // expected-error @+1 {{operand #0 must be variadic of ranked tensor of any type values or}}
  %0 = tessera_hlo.instruction "negate"(%x) : (f32) -> f32
  return
}
