// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @linearize_index_c1(%i: index) {
  // expected-error @+1 {{invalid number of indices: expected 2, one for each dimension, found 1 [linearize_index_c1]}}
  %0 = tessera.linearize_index %i in tensor<3x5xf32>
  return
}

// -----

func.func @linearize_index_c2(%i: index) {
  // expected-error @+1 {{invalid number of sizes: expected 1, one for each dynamic dimension without a bound, found 0 [linearize_index_c2]}}
  %0 = tessera.linearize_index %i in tensor<?xf32>
  return
}

// -----

func.func @linearize_index_c2_bound(%i: index) {
  // expected-error @+1 {{[linearize_index_c2]}}
  %0 = tessera.linearize_index %i in tensor<?xf32, #tessera.layout<{0:B(8)}>>(%i)
  return
}

// -----

func.func @linearize_type(%i: index) {
  // expected-error @+1 {{failed to satisfy constraint: type attribute of}}
  %0 = tessera.linearize_index %i in vector<3xf32>
  return
}

// -----

func.func @linearize_unranked(%i: index) {
  // expected-error @+1 {{failed to satisfy constraint: type attribute of}}
  %0 = tessera.linearize_index %i in memref<*xf32>
  return
}

// -----

func.func @linearize_element_type(%i: index) {
  // expected-error @+1 {{[layout_c15]}}
  %0 = tessera.linearize_index %i in memref<3xf8E8M0FNU, #tessera.layout<{0:PV(zero)}>>
  return
}

// -----

func.func @delinearize_index_c1(%p: index) {
  // expected-error @+1 {{invalid number of indices: expected 2, one for each dimension, found 1 [delinearize_index_c1]}}
  %0:2 = "tessera.delinearize_index"(%p) {arrayType = tensor<3x5xf32>} : (index) -> (index, i1)
  return
}

// -----

func.func @delinearize_index_c2(%p: index) {
  // expected-error @+1 {{[delinearize_index_c2]}}
  %0:2 = tessera.delinearize_index %p in tensor<?xf32>
  return
}

// -----

func.func @delinearize_unranked(%p: index) {
  // expected-error @+1 {{expected a ranked tensor or memref type, found 'tensor<*xf32>'}}
  %0:2 = tessera.delinearize_index %p in tensor<*xf32>
  return
}

// -----

func.func @delinearize_type(%p: index) {
  // expected-error @+1 {{failed to satisfy constraint: type attribute of}}
  %0:2 = tessera.delinearize_index %p in vector<4xf32>
  return
}

// -----

func.func @storage_size_element_type(%m: memref<3xindex, #tessera.layout<{0}>>) {
  // expected-error @+1 {{unsupported element type}}
  %0 = tessera.storage_size %m : memref<3xindex, #tessera.layout<{0}>>
  return
}

// -----

func.func @storage_size_type(%v: vector<3xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of any type values or memref of any type values}}
  %0 = tessera.storage_size %v : vector<3xf32>
  return
}
