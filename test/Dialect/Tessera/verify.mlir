// RUN: tessera-opt %s -split-input-file -tessera-verify | FileCheck %s

// What is right passes without a word, and stays as it is.

// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%a: tensor<?x128xf32, #tessera.layout<{1,0:T(8,128)}>>,
                   %m: memref<?x5xf32, #tessera.layout<{1,0:T(*,8)PD(9,5)B(9,?)}>>,
                   %s: memref<4xf32, strided<[2]>>, %i: memref<4xindex, 3>) {
  // A bitcast of sizes that nobody knows is believed.
  %0 = tessera.bitcast %a : tensor<?x128xf32, #tessera.layout<{1,0:T(8,128)}>> to tensor<?x128xf32, #tessera.layout<{1,0:T(1,128)}>>
  // A promise may be dropped by a cast.
  %1 = memref.alloc() : memref<4xf32, #tessera.layout<{0:L(16)PD(8)PV(zero)}>>
  %2 = memref.cast %1 : memref<4xf32, #tessera.layout<{0:L(16)PD(8)PV(zero)}>> to memref<4xf32, strided<[1]>>
  return
}

// -----

// Spaces that the target has, tails that fit its alignment, and capacity: the
// two buffers of 64 KiB are not live at once; nor is there a second one for the
// bitcast.
module attributes {tessera.target = #tessera.target<"mine", [
    <number = 0, name = "dram", alignment = 64>,
    <number = 1, name = "sram", capacity = 65536, alignment = 512>]>} {
  // CHECK-LABEL: func.func @capacity
  func.func @capacity(%a: tensor<128x128xf32>) -> tensor<16384xf32> {
    %0 = tessera.relayout %a : tensor<128x128xf32> to tensor<128x128xf32, #tessera.layout<{1,0:L(1024)S(1)}>>
    %1 = tessera.relayout %0 : tensor<128x128xf32, #tessera.layout<{1,0:L(1024)S(1)}>> to tensor<128x128xf32>
    %2 = tessera.relayout %1 : tensor<128x128xf32> to tensor<128x128xf32, #tessera.layout<{0,1:S(1)}>>
    %3 = tessera.bitcast %2 : tensor<128x128xf32, #tessera.layout<{0,1:S(1)}>> to tensor<16384xf32, #tessera.layout<{0:S(1)}>>
    %4 = tessera.relayout %3 : tensor<16384xf32, #tessera.layout<{0:S(1)}>> to tensor<16384xf32>
    return %4 : tensor<16384xf32>
  }
}
