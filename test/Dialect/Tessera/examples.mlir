// The examples of the descriptions in TableGen, word for word.

// RUN: tessera-opt %s -split-input-file | tessera-opt -split-input-file -o %t
// RUN: %python %S/Inputs/check_examples.py %s %tessera_src_root/include/tessera/Dialect/Tessera/IR/*.td | FileCheck %s
// CHECK: {{^[1-9][0-9]+}} statements, 0 missing

// A statement that is in no test is noticed.
// RUN: not %python %S/Inputs/check_examples.py %t %tessera_src_root/include/tessera/Dialect/Tessera/IR/TesseraCopyOps.td | FileCheck %s --check-prefix=MISSING
// MISSING: not in {{.*}}: %b, %t = tessera.copy_start %a
// MISSING: {{[1-9]}} missing

func.func private @layouts(
    tensor<32x32x4096xbf16, #tessera.layout<{2,1,0:T(8,128)(2,1)S(1)}>>,
    memref<32x32x4096xbf16, #tessera.layout<{2,1,0:T(8,128)(2,1)}>,
           #tessera.memory_space<1>>,
    tensor<4096x512xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>,
    tensor<3x2xf32, #tessera.layout<{0,1:PD(5,2)PV(zero)}>>,
    tensor<?x3xf32, #tessera.layout<{1,0:B(8,?)}>>,
    tensor<5x3xf32, #tessera.layout<{1,0:B(8,?)}>>,
    tensor<f32, #tessera.layout<{:T(256)}>>,
    memref<8x128xf32, #tessera.memory_space<1>>)

func.func private @values() attributes {
  tile = #tessera.tile<(8,128)>,
  combined = #tessera.tile<(*,128)>,
  shape = #tessera.shape<"(f32[2,3]{1,0}, token[])">,
  space = #tessera.space<number = 1, name = "vmem", capacity = 134217728,
                         alignment = 512, address_space = 1>
}

module attributes {tessera.target = #tessera.target<"tpu_v5e">} {}
module attributes {tessera.target = #tessera.target<"mine", [
  <number = 0, name = "dram", alignment = 64>,
  <number = 1, name = "sram", capacity = 65536, address_space = 3>]>} {}

// -----

func.func @relayout(
    %rows: tensor<40x256xf32>, %src: memref<40x256xf32>,
    %dst: memref<40x256xf32, #tessera.layout<{0,1}>, #tessera.memory_space<1>>) {
  %tiled = tessera.relayout %rows
      : tensor<40x256xf32>
      to tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>
  tessera.relayout %src into %dst
      : memref<40x256xf32>,
        memref<40x256xf32, #tessera.layout<{0,1}>, #tessera.memory_space<1>>
  return
}

func.func @bitcast(
    %a: tensor<8x32xf32, #tessera.layout<{1,0}>>,
    %b: tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  %t = tessera.bitcast %a
      : tensor<8x32xf32, #tessera.layout<{1,0}>>
      to tensor<32x8xf32, #tessera.layout<{0,1}>>
  %s = tessera.bitcast %b fused
      : tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>
      to tensor<40x200xf32, #tessera.layout<{1,0:T(8,128)S(1)}>>
  return
}

func.func @reshape(%a: tensor<8x6x128xf32, #tessera.layout<{2,1,0:T(8,128)}>>) {
  %b = tessera.reshape %a
      : tensor<8x6x128xf32, #tessera.layout<{2,1,0:T(8,128)}>>
      to tensor<48x128xf32, #tessera.layout<{1,0:T(8,128)}>>
  return
}

func.func @assume_layout(%a: tensor<4096x512xf32>) {
  %b = tessera.assume_layout %a
      : tensor<4096x512xf32>
      to tensor<4096x512xf32, #tessera.layout<{0,1:T(8,128)}>>
  return
}

func.func @empty(%n: index) {
  %e = tessera.empty(%n)
      : tensor<?x256xf32, #tessera.layout<{1,0:T(8,128)}>>
  return
}

func.func @physical_view(%m: memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  %p = tessera.physical_view %m
      : memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>
      to memref<5x2x8x128xf32>
  return
}

// -----

func.func @linearize(%i: index, %j: index, %n: index) {
  %p = tessera.linearize_index %i, %j
      in tensor<3x5xf32, #tessera.layout<{1,0:T(2,2)}>>
  %q = tessera.linearize_index %i, %j
      in memref<?x5xf32, #tessera.layout<{0,1:T(2,2)}>>(%n)
  return
}

func.func @delinearize(%p: index) {
  %i:2, %valid = tessera.delinearize_index %p
      in tensor<3x5xf32, #tessera.layout<{1,0:T(2,2)}>>
  return
}

func.func @storage_size(%a: tensor<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  %n = tessera.storage_size %a
      : tensor<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>
  return
}

// -----

func.func @copies(%a: tensor<8x128xf32>, %src: memref<8x128xf32>,
                  %dst: memref<8x128xf32, #tessera.memory_space<1>>) {
  %b, %t = tessera.copy_start %a
      : tensor<8x128xf32> to tensor<8x128xf32, #tessera.layout<{1,0:S(1)}>>
  tessera.copy_done %t
  %u = tessera.copy_start %src into %dst
      : memref<8x128xf32>, memref<8x128xf32, #tessera.memory_space<1>>
  tessera.copy_done %u
  return
}

// -----

func.func @bitcast_view(%m: memref<8x32xf32>) {
  %t = tessera.bitcast_view %m
      : memref<8x32xf32> to memref<32x8xf32, #tessera.layout<{0,1}>>
  return
}

// -----

func.func @fill_padding(
    %m: memref<5x3xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>) {
  tessera.fill_padding %m
      : memref<5x3xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>
  return
}
