// RUN: tessera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --test-tessera-probe-buffers --tessera-bufferize | FileCheck %s
// RUN: tessera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --test-tessera-probe-buffers --tessera-bufferize \
// RUN:   --test-tessera-erase-probes | FileCheck %s --check-prefix=ERASED

// What the random programs of unittests/Compile run before their buffers are
// lowered: each tensor with a layout has a buffer with that layout.

// ERASED-NOT: test_tessera.probe

#t = #tessera.layout<{0,1}>

// CHECK-LABEL: func @values
// CHECK: probe %arg0 of tensor<2x3xi32, #layout> : memref<2x3xi32, #layout>
// CHECK: %[[C:.*]] = memref.get_global
// CHECK: probe %[[C]] of tensor<2x3xi32, #layout> : memref<2x3xi32, #layout>
// CHECK: scf.for
// CHECK: probe %{{.*}} of tensor<2x3xi32, #layout> : memref<2x3xi32, #layout>
func.func @values(%t: tensor<2x3xi32, #t>, %n: index, %b: i1) -> tensor<2x3xi32, #t> {
  %lb = arith.constant 0 : index
  %step = arith.constant 1 : index
  %c = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32, #t>
  %r = scf.for %i = %lb to %n step %step iter_args(%x = %t)
      -> tensor<2x3xi32, #t> {
    %s = arith.select %b, %x, %c : tensor<2x3xi32, #t>
    scf.yield %s : tensor<2x3xi32, #t>
  }
  return %r : tensor<2x3xi32, #t>
}

// -----

func.func @other_buffer(%m: memref<2x3xi32>) {
  // expected-error @+1 {{expected a buffer of type 'memref<2x3xi32, #tessera.layout<{0,1}>>', found 'memref<2x3xi32>'}}
  test_tessera.probe %m of tensor<2x3xi32, #tessera.layout<{0,1}>> : memref<2x3xi32>
  return
}

// -----

func.func @no_tensor(%m: memref<2x3xi32>) {
  // expected-error @+1 {{expected the type of the tensor of the buffer}}
  test_tessera.probe %m : memref<2x3xi32>
  return
}
