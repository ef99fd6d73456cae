// RUN: tessera-opt %s -split-input-file -verify-diagnostics -tessera-verify -allow-unregistered-dialect

// All violations are reported, not the first alone.

// expected-error @+1 {{invalid padding value PV}}
func.func @verify_c1(%m: memref<4xf8E8M0FNU, #tessera.layout<{0:PV(zero)}>>,
                     // expected-error @+1 {{unsupported element type}}
                     %n: memref<4xindex, #tessera.layout<{0}>>) {
  // expected-error @+1 {{[layout_c15]}}
  %0 = memref.alloc() : memref<4xi1, #tessera.layout<{0:PV(lowest)}>>
  return
}

// -----

// expected-error @+1 {{[layout_c15]}}
func.func private @verify_c1_declaration(memref<4xi1, #tessera.layout<{0:PV(lowest)}>>)

// -----

// expected-error @+1 {{unsupported memory space: expected a number, found '"fast"'; use #tessera.memory_space<n>}}
func.func @spaces(%m: memref<8x128xf32, "fast">) {
  return
}

// -----

module attributes {tessera.target = #tessera.target<"cpu">} {
  // expected-error @+1 {{invalid memory space: expected a space of the target "cpu", found 1 [verify_c2]}}
  func.func @verify_c2(%a: tensor<4xf32, #tessera.layout<{0:S(1)}>>,
                       // expected-error @+1 {{[verify_c2]}}
                       %m: memref<4xf32, #tessera.memory_space<1>>) {
    return
  }
}

// -----

// expected-error @+1 {{unsupported split configurations SC: expected none}}
func.func @unsupported(%a: tensor<8xf32, #tessera.layout<{0:SC(0:4)}>>,
                       // expected-error @+1 {{unsupported metadata prefix M: expected none, found 16 bytes}}
                       %b: tensor<8xf32, #tessera.layout<{0:M(16)}>>,
                       // expected-error @+1 {{unsupported element size E}}
                       %c: tensor<8xf32, #tessera.layout<{0:E(16)}>>,
                       // expected-error @+1 {{unsupported}}
                       %d: tensor<8x?xf32, #tessera.layout<{1,0:T(*,8)}>>) {
  return
}

// -----

// expected-error @+1 {{invalid tail padding L: expected a multiple of whole bytes, found 3 elements of 4 bits; make L a multiple of 8 [verify_c3]}}
func.func @verify_c3(%a: tensor<8xi4, #tessera.layout<{0:L(3)E(4)}>>) {
  return
}

// -----

module attributes {tessera.target = #tessera.target<"tpu_v5e">} {
  // expected-error @+1 {{invalid tail padding L: expected a multiple or divisor of the 512 bytes that space 0 aligns to, found 1200 bytes [verify_c3]}}
  func.func @verify_c3_alignment(%a: tensor<8xf32, #tessera.layout<{0:L(300)}>>) {
    return
  }
}

// -----

func.func @verify_c4(%m: memref<4xf32>) {
  // expected-error @+1 {{invalid cast: expected no promise about padding, found PV(zero); tessera.relayout fills padding [verify_c4]}}
  %0 = memref.cast %m : memref<4xf32> to memref<4xf32, #tessera.layout<{0:PV(zero)}>>
  // expected-error @+1 {{invalid cast: expected at most the 16 bytes of the operand, found 32 bytes [verify_c4]}}
  %1 = memref.cast %m : memref<4xf32> to memref<4xf32, #tessera.layout<{0:L(8)}>>
  return
}

// -----

func.func @verify_c5_destination(%m: memref<4xf32>, %n: memref<4xf32>, %i: index) {
  // expected-note @+1 {{the copy starts here}}
  %t = tessera.copy_start %m into %n : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{found another effect}}
  %0 = memref.load %n[%i] : memref<4xf32>
  tessera.copy_done %t
  return
}

// -----

func.func @verify_c5_source(%m: memref<4xf32>, %n: memref<4xf32>, %i: index, %f: f32) {
  // expected-note @+1 {{the copy starts here}}
  %t = tessera.copy_start %m into %n : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{found a write}}
  memref.store %f, %m[%i] : memref<4xf32>
  tessera.copy_done %t
  return
}

// -----

func.func @verify_c5(%src: memref<8xf32>, %dst: memref<8xf32, strided<[1]>>, %f: f32, %i: index, %c: i1) {
  %view = memref.subview %src[0] [4] [1] : memref<8xf32> to memref<4xf32>
  %other = memref.cast %dst : memref<8xf32, strided<[1]>> to memref<8xf32>
  // expected-note @+1 {{the copy starts here}}
  %t = tessera.copy_start %src into %dst : memref<8xf32>, memref<8xf32, strided<[1]>>
  // Reading the source is right.
  %0 = memref.load %view[%i] : memref<4xf32>
  scf.if %c {
    // expected-error @+1 {{invalid use before the copy is done: expected the source unwritten and the destination untouched, found a write; move it behind the copy_done [verify_c5]}}
    memref.store %f, %view[%i] : memref<4xf32>
  }
  // expected-error @+1 {{found another effect}}
  %1 = memref.load %other[%i] : memref<8xf32>
  tessera.copy_done %t
  memref.store %f, %view[%i] : memref<4xf32>
  return
}

// -----

module attributes {tessera.target = #tessera.target<"mine", [
    <number = 0, name = "dram">,
    <number = 1, name = "sram", capacity = 65536, alignment = 512>]>} {
  // expected-error @+1 {{invalid use of space 1 (sram): expected at most its capacity of 65536 bytes live at once, found 131072 bytes [verify_c6]}}
  func.func @verify_c6(%a: tensor<128x128xf32>) {
    %0 = tessera.relayout %a : tensor<128x128xf32> to tensor<128x128xf32, #tessera.layout<{1,0:S(1)}>>
    // expected-note @+1 {{most is live at this operation}}
    %1 = tessera.relayout %0 : tensor<128x128xf32, #tessera.layout<{1,0:S(1)}>> to tensor<128x128xf32, #tessera.layout<{0,1:S(1)}>>
    "test.use"(%1) : (tensor<128x128xf32, #tessera.layout<{0,1:S(1)}>>) -> ()
    return
  }

  // A value of the outside is live in the loop; alignment counts.
  // expected-error @+1 {{found 66048 bytes [verify_c6]}}
  func.func @verify_c6_nested(%a: tensor<16384xf32, #tessera.layout<{0:S(1)}>>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @+1 {{most is live at this operation}}
      %m = memref.alloc() : memref<1xf32, #tessera.memory_space<1>>
      "test.use"(%m) : (memref<1xf32, #tessera.memory_space<1>>) -> ()
      memref.dealloc %m : memref<1xf32, #tessera.memory_space<1>>
    }
    "test.use"(%a) : (tensor<16384xf32, #tessera.layout<{0:S(1)}>>) -> ()
    return
  }

  // Every block, with what is handed to it.
  // expected-error @+1 {{found 131072 bytes [verify_c6]}}
  func.func @verify_c6_blocks(%a: tensor<16384xf32, #tessera.layout<{0:S(1)}>>) {
    cf.br ^bb1(%a : tensor<16384xf32, #tessera.layout<{0:S(1)}>>)
  ^bb1(%b: tensor<16384xf32, #tessera.layout<{0:S(1)}>>):
    // expected-note @+1 {{most is live at this operation}}
    %m = memref.alloc() : memref<16384xf32, #tessera.memory_space<1>>
    "test.use"(%b, %m) : (tensor<16384xf32, #tessera.layout<{0:S(1)}>>, memref<16384xf32, #tessera.memory_space<1>>) -> ()
    return
  }
}

// -----

// Upstream's folder forgets encodings: it would replace these by their operands.
#layout = #tessera.layout<{0,1}>
func.func @transpose_moves_nothing(%a: tensor<2x3xf32, #layout>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{unsupported linalg.transpose that moves no dimension: expected one type of the input and the result, found tensor<2x3xf32, #tessera.layout<{0,1}>> and tensor<2x3xf32>; canonicalization makes invalid IR of it; use tessera.relayout}}
  %0 = linalg.transpose ins(%a : tensor<2x3xf32, #layout>) outs(%b : tensor<2x3xf32>) permutation = [0, 1]
  return %0 : tensor<2x3xf32>
}

func.func @transposes_move_nothing(%a: tensor<2x3x4xf32, #tessera.layout<{0,1,2}>>, %b: tensor<3x4x2xf32>, %c: tensor<4x2x3xf32>, %d: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = linalg.transpose ins(%a : tensor<2x3x4xf32, #tessera.layout<{0,1,2}>>) outs(%b : tensor<3x4x2xf32>) permutation = [1, 2, 0]
  %1 = linalg.transpose ins(%0 : tensor<3x4x2xf32>) outs(%c : tensor<4x2x3xf32>) permutation = [1, 2, 0]
  // expected-error @+1 {{unsupported linalg.transpose that moves no dimension}}
  %2 = linalg.transpose ins(%1 : tensor<4x2x3xf32>) outs(%d : tensor<2x3x4xf32>) permutation = [1, 2, 0]
  return %2 : tensor<2x3x4xf32>
}

// Upstream would make one fill of a tensor without the layout.
func.func @concat_of_fills(%v: f32, %w: f32, %e: tensor<2xf32>) -> (tensor<4xf32, #tessera.layout<{0:T(8)}>>, tensor<4xf32, #tessera.layout<{0:T(8)}>>, tensor<4xf32>) {
  %a = linalg.fill ins(%v : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %b = linalg.fill ins(%w : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{unsupported tensor.concat of linalg.fill with one value: expected a result without a layout, found tensor<4xf32, #tessera.layout<{0:T(8)}>>; canonicalization makes invalid IR of it; use tessera.relayout behind it}}
  %0 = tensor.concat dim(0) %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32, #tessera.layout<{0:T(8)}>>
  // These stay as they are: two values, no layout.
  %1 = tensor.concat dim(0) %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32, #tessera.layout<{0:T(8)}>>
  %2 = tensor.concat dim(0) %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32, #tessera.layout<{0:T(8)}>>, tensor<4xf32, #tessera.layout<{0:T(8)}>>, tensor<4xf32>
}

// These are right: one type, or a dimension that moves.
func.func @transposes(%a: tensor<2x2xf32, #layout>, %b: tensor<2x2xf32>, %c: tensor<2x2xf32, #layout>) -> (tensor<2x2xf32>, tensor<2x2xf32, #layout>) {
  %0 = linalg.transpose ins(%a : tensor<2x2xf32, #layout>) outs(%b : tensor<2x2xf32>) permutation = [1, 0]
  %1 = linalg.transpose ins(%a : tensor<2x2xf32, #layout>) outs(%c : tensor<2x2xf32, #layout>) permutation = [0, 1]
  %2 = linalg.transpose ins(%0 : tensor<2x2xf32>) outs(%c : tensor<2x2xf32, #layout>) permutation = [1, 0]
  return %0, %2 : tensor<2x2xf32>, tensor<2x2xf32, #layout>
}

// In memory nothing is folded.
func.func @transpose_memrefs(%a: memref<2x3xf32, #layout>, %b: memref<2x3xf32>) {
  linalg.transpose ins(%a : memref<2x3xf32, #layout>) outs(%b : memref<2x3xf32>) permutation = [0, 1]
  return
}

// -----

func.func @verify_c7(%a: tensor<2x3xf32>, %b: tensor<2x3xf32, #tessera.layout<{0,1}>>, %c: tensor<2x?xf32>) {
  // expected-error @+1 {{invalid operand of arith.addf: expected the layout of the result, tensor<2x3xf32>, found tensor<2x3xf32, #tessera.layout<{0,1}>>; put tessera.relayout in front [verify_c7]}}
  %0 = "arith.addf"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32, #tessera.layout<{0,1}>>) -> tensor<2x3xf32>
  // Sizes may differ in what is known of them.
  %2 = "arith.addf"(%a, %c) : (tensor<2x3xf32>, tensor<2x?xf32>) -> tensor<2x3xf32>
  return
}
