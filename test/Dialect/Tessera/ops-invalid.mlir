// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @relayout_c1_tensor_into(%a: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error @+1 {{invalid form: expected 'to' and a result for a tensor, 'into' and a destination for a memref, found 'tensor<4xf32>' with no result and a destination [relayout_c1]}}
  tessera.relayout %a into %m : tensor<4xf32>, memref<4xf32>
  return
}

// -----

func.func @relayout_c1_memref_result(%m: memref<4xf32>) {
  // expected-error @+1 {{[relayout_c1]}}
  %0 = tessera.relayout %m : memref<4xf32> to tensor<4xf32>
  return
}

// -----

func.func @relayout_c1_neither(%a: tensor<4xf32>) {
  // expected-error @+1 {{with no result and no destination [relayout_c1]}}
  tessera.relayout %a : tensor<4xf32>
  return
}

// -----

func.func @relayout_c1_both(%a: memref<4xf32>, %m: memref<4xf32>) {
  // expected-error @+1 {{[relayout_c1]}}
  %0 = tessera.relayout %a into %m : memref<4xf32> to tensor<4xf32>, memref<4xf32>
  return
}

// -----

func.func @relayout_unranked(%a: tensor<*xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of any type values or memref of any type values}}
  %0 = tessera.relayout %a : tensor<*xf32> to tensor<4xf32>
  return
}

// -----

func.func @relayout_unranked_memref(%a: memref<*xf32>, %b: memref<4xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of any type values or memref of any type values}}
  tessera.relayout %a into %b : memref<*xf32>, memref<4xf32>
  return
}

// -----

func.func @relayout_c2(%a: tensor<4x5xf32>) {
  // expected-error @+1 {{invalid dimensions: expected 4x5 as in the source, found 5x4; tessera.reshape changes dimensions [relayout_c2]}}
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<5x4xf32, #tessera.layout<{0,1}>>
  return
}

// -----

func.func @relayout_c2_rank(%a: tensor<f32>) {
  // expected-error @+1 {{[relayout_c2]}}
  %0 = tessera.relayout %a : tensor<f32> to tensor<1xf32>
  return
}

// -----

func.func @relayout_c2_dynamic(%a: tensor<?x5xf32>) {
  // expected-error @+1 {{expected ?x5 as in the source, found 4x5}}
  %0 = tessera.relayout %a : tensor<?x5xf32> to tensor<4x5xf32, #tessera.layout<{0,1}>>
  return
}

// -----

func.func @relayout_c2_memref(%a: memref<4x5xf32>, %b: memref<4x6xf32>) {
  // expected-error @+1 {{[relayout_c2]}}
  tessera.relayout %a into %b : memref<4x5xf32>, memref<4x6xf32>
  return
}

// -----

// Where two types clash, the producer is pointed at.
func.func @relayout_c3(%n: index) {
  // expected-note @+1 {{operand of type 'tensor<4xf32>' comes from here}}
  %a = tessera.empty() : tensor<4xf32>
  // expected-error @+1 {{invalid element type: expected that of the source, 'f32', found 'i32' [relayout_c3]}}
  %0 = tessera.relayout %a : tensor<4xf32> to tensor<4xi32>
  return
}

// -----

// A memref's own verifier sees no element type.
func.func @relayout_padding_value(%a: memref<4xf8E8M0FNU>, %b: memref<4xf8E8M0FNU, #tessera.layout<{0:PV(zero)}>>) {
  // expected-error @+1 {{[layout_c15]}}
  tessera.relayout %a into %b : memref<4xf8E8M0FNU>, memref<4xf8E8M0FNU, #tessera.layout<{0:PV(zero)}>>
  return
}

// -----

func.func @relayout_element_type(%a: memref<4xindex>, %b: memref<4xindex, #tessera.layout<{0}>>) {
  // expected-error @+1 {{unsupported element type}}
  tessera.relayout %a into %b : memref<4xindex>, memref<4xindex, #tessera.layout<{0}>>
  return
}

// -----

func.func @bitcast_c1_moves(%a: tensor<8x32xf32>) {
  // expected-error @+1 {{invalid bitcast: }}
  %0 = tessera.bitcast %a : tensor<8x32xf32> to tensor<16x32xf32>
  return
}

// -----

func.func @bitcast_c1_footprint() {
  // expected-note @+1 {{comes from here}}
  %a = tessera.empty() : tensor<8x32xf32>
  // expected-error @+1 {{[bitcast_c1]}}
  %0 = tessera.bitcast %a : tensor<8x32xf32> to tensor<8x32xf32, #tessera.layout<{1,0:T(8,128)}>>
  return
}

// -----

// Padding of the operand would become elements of the result.
func.func @bitcast_c1_padding(%a: tensor<40x200xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  // expected-error @+1 {{[bitcast_c1]}}
  %0 = tessera.bitcast %a : tensor<40x200xf32, #tessera.layout<{1,0:T(8,128)}>> to tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>
  return
}

// -----

// A promise about padding is not gained for nothing.
func.func @bitcast_c1_padding_value(%a: tensor<3xf32, #tessera.layout<{0:T(8)}>>) {
  // expected-error @+1 {{[bitcast_c1]}}
  %0 = tessera.bitcast %a : tensor<3xf32, #tessera.layout<{0:T(8)}>> to tensor<3xf32, #tessera.layout<{0:T(8)PV(zero)}>>
  return
}

// -----

func.func @bitcast_c2(%a: tensor<3xf32>) {
  // expected-error @+1 {{invalid memory space: expected 0, found 1; tessera.relayout moves an array [bitcast_c2]}}
  %0 = tessera.bitcast %a : tensor<3xf32> to tensor<3xf32, #tessera.layout<{0:S(1)}>>
  return
}

// -----

func.func @bitcast_c3(%a: tensor<?x3xf32>) {
  // expected-error @+1 {{invalid number of dynamic dimensions: expected 1, found 0 [bitcast_c3]}}
  %0 = tessera.bitcast %a : tensor<?x3xf32> to tensor<2x3xf32>
  return
}

// -----

func.func @bitcast_elements(%a: tensor<4xindex>) {
  // expected-error @+1 {{unsupported element type}}
  %0 = tessera.bitcast %a : tensor<4xindex> to tensor<4xi64>
  return
}

// -----

func.func @bitcast_foreign(%a: tensor<4xf32, "mine">) {
  // expected-error @+1 {{unsupported layout: expected a layout in XLA's notation, found '"mine"'; use a #tessera.layout<{...}>}}
  %0 = tessera.bitcast %a : tensor<4xf32, "mine"> to tensor<4xi32>
  return
}

// -----

func.func @empty_c1_missing() {
  // expected-error @+1 {{invalid number of sizes: expected 1, one for each dynamic dimension, found 0 [empty_c1]}}
  %0 = tessera.empty() : tensor<?x3xf32>
  return
}

// -----

func.func @empty_c1_extra(%n: index) {
  // expected-error @+1 {{[empty_c1]}}
  %0 = tessera.empty(%n) : tensor<3xf32>
  return
}

// -----

func.func @physical_view_c1(%a: memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  // expected-error @+1 {{invalid type of the result: expected 'memref<5x2x8x128xf32>', the physical memref of the operand, found 'memref<40x250xf32>' [physical_view_c1]}}
  %0 = tessera.physical_view %a : memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>> to memref<40x250xf32>
  return
}

// -----

func.func @physical_view_c1_space(%a: memref<4xf32, #tessera.layout<{0}>, #tessera.memory_space<1>>) {
  // expected-error @+1 {{[physical_view_c1]}}
  %0 = tessera.physical_view %a : memref<4xf32, #tessera.layout<{0}>, #tessera.memory_space<1>> to memref<4xf32>
  return
}

// -----

func.func @physical_view_strided(%a: memref<4xf32, strided<[2]>>) {
  // expected-error @+1 {{unsupported layout: expected a layout in XLA's notation, found 'strided<[2]>'}}
  %0 = tessera.physical_view %a : memref<4xf32, strided<[2]>> to memref<4xf32>
  return
}

// -----

func.func @physical_view_metadata(%a: memref<4xf32, #tessera.layout<{0:M(16)}>>) {
  // expected-error @+1 {{unsupported metadata prefix M: expected none, found 16 bytes; write the type of the array behind the prefix, without M}}
  %0 = tessera.physical_view %a : memref<4xf32, #tessera.layout<{0:M(16)}>> to memref<4xf32>
  return
}

// -----

func.func @physical_view_narrow(%a: memref<4xf32, #tessera.layout<{0:E(16)}>>) {
  // expected-error @+1 {{unsupported element size E: expected the 32 bits of f32 or more whole bytes, at most 128 bits, found 16; write the type without E}}
  %0 = tessera.physical_view %a : memref<4xf32, #tessera.layout<{0:E(16)}>> to memref<4xf32>
  return
}

// -----

func.func @physical_view_odd_container(%a: memref<4xi4, #tessera.layout<{0:E(5)}>>) {
  // expected-error @+1 {{unsupported element size E: expected the 4 bits of s4 or more whole bytes, at most 128 bits, found 5}}
  %0 = tessera.physical_view %a : memref<4xi4, #tessera.layout<{0:E(5)}>> to memref<3xi8>
  return
}

// -----

func.func @physical_view_wide_container(%a: memref<4xi4, #tessera.layout<{0:E(4294967304)}>>) {
  // expected-error @+1 {{at most 128 bits, found 4294967304}}
  %0 = tessera.physical_view %a : memref<4xi4, #tessera.layout<{0:E(4294967304)}>> to memref<4xi8>
  return
}

// -----

func.func @physical_view_splits(%a: memref<4xf32, #tessera.layout<{0:SC(0:2)}>>) {
  // expected-error @+1 {{unsupported split configurations SC}}
  %0 = tessera.physical_view %a : memref<4xf32, #tessera.layout<{0:SC(0:2)}>> to memref<4xf32>
  return
}

// -----

func.func @physical_view_elements(%a: memref<4xindex, #tessera.layout<{0}>>) {
  // expected-error @+1 {{unsupported element type}}
  %0 = tessera.physical_view %a : memref<4xindex, #tessera.layout<{0}>> to memref<4xindex>
  return
}
