// RUN: tessera-opt %s -split-input-file -verify-diagnostics -canonicalize | FileCheck %s

// A layout of another dialect takes part through the layout interface.

// CHECK-LABEL: func.func @relayout
// CHECK-SAME: (%[[A:.*]]: tensor<40x256xf32>
// CHECK-NEXT: %[[R:.*]] = tessera.relayout %[[A]] : tensor<40x256xf32> to tensor<40x256xf32, #test_tessera.blocked<[8, 128], 1>>
// CHECK-NEXT: return %[[R]]
func.func @relayout(%a: tensor<40x256xf32>) -> tensor<40x256xf32, #test_tessera.blocked<[8, 128], 1>> {
  %0 = tessera.relayout %a : tensor<40x256xf32> to tensor<40x256xf32, #tessera.layout<{0,1}>>
  %1 = tessera.relayout %0 : tensor<40x256xf32, #tessera.layout<{0,1}>> to tensor<40x256xf32, #test_tessera.blocked<[8, 128], 1>>
  return %1 : tensor<40x256xf32, #test_tessera.blocked<[8, 128], 1>>
}

// Its memory space counts like any other: this passes through space 1.
// CHECK-LABEL: func.func @third_space
// CHECK-COUNT-2: tessera.relayout
func.func @third_space(%a: tensor<40x256xf32>) -> tensor<40x256xf32> {
  %0 = tessera.relayout %a : tensor<40x256xf32> to tensor<40x256xf32, #test_tessera.blocked<[8, 128], 1>>
  %1 = tessera.relayout %0 : tensor<40x256xf32, #test_tessera.blocked<[8, 128], 1>> to tensor<40x256xf32>
  return %1 : tensor<40x256xf32>
}

// CHECK-LABEL: func.func @memory
// CHECK: tessera.relayout %{{.*}} into %{{.*}} : memref<40x250xf32>, memref<40x250xf32, #test_tessera.blocked<[8, 128]>>
// CHECK: tessera.physical_view %{{.*}} : memref<40x250xf32, #test_tessera.blocked<[8, 128]>> to memref<5x2x8x128xf32>
func.func @memory(%a: memref<40x250xf32>, %b: memref<40x250xf32, #test_tessera.blocked<[8, 128]>>) -> memref<5x2x8x128xf32> {
  tessera.relayout %a into %b : memref<40x250xf32>, memref<40x250xf32, #test_tessera.blocked<[8, 128]>>
  %0 = tessera.physical_view %b : memref<40x250xf32, #test_tessera.blocked<[8, 128]>> to memref<5x2x8x128xf32>
  return %0 : memref<5x2x8x128xf32>
}

// -----

// Without the notation, bytes can't be compared.
func.func @bitcast(%a: tensor<8x128xf32, #test_tessera.blocked<[8, 128]>>) {
  // expected-error @+1 {{unsupported layout: expected a layout in XLA's notation, found '#test_tessera.blocked<[8, 128]>'}}
  %0 = tessera.bitcast %a : tensor<8x128xf32, #test_tessera.blocked<[8, 128]>> to tensor<1024xf32>
  return
}

// -----

// expected-error @+1 {{expected block sizes of at least 1}}
func.func private @no_blocks(tensor<4xf32, #test_tessera.blocked<[0]>>)
