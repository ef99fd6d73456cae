// RUN: tessera-opt %s -allow-unregistered-dialect --tessera-refine-openmp \
// RUN:   | FileCheck %s
// RUN: tessera-opt %s -allow-unregistered-dialect --tessera-vectorize-relayouts='nontemporal-bytes=1024 threads=2 parallel-bytes=1024' \
// RUN:   --tessera-lower-layouts --lower-affine --convert-scf-to-openmp=num-threads=2 \
// RUN:   --tessera-refine-openmp | FileCheck %s --check-prefix=CHAIN

// The buffer moves to the start of the threads' code, the body takes the place
// of the scope.

// CHECK-LABEL: func @loop
// CHECK: omp.parallel
// CHECK-NEXT: %[[A:.+]] = memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK-NEXT: omp.wsloop
// CHECK-NEXT: omp.loop_nest
// CHECK-NEXT: "test.use"(%[[A]])
// CHECK-NEXT: omp.yield
func.func @loop(%n: index, %step: index) {
  omp.parallel {
    omp.wsloop {
      omp.loop_nest (%i) : index = (%n) to (%n) step (%step) {
        memref.alloca_scope {
          %a = memref.alloca() {alignment = 64 : i64} : memref<16xf32>
          "test.use"(%a) : (memref<16xf32>) -> ()
        }
        omp.yield
      }
    }
    omp.terminator
  }
  return
}

// Sizes that are computed stay where they are, as do scopes without threads.

// CHECK-LABEL: func @stays
// CHECK: omp.parallel
// CHECK-NEXT: memref.alloca_scope
// CHECK: omp.terminator
// CHECK: memref.alloca_scope
func.func @stays(%n: index) {
  omp.parallel {
    memref.alloca_scope {
      %a = memref.alloca(%n) : memref<?xf32>
      "test.use"(%a) : (memref<?xf32>) -> ()
    }
    omp.terminator
  }
  memref.alloca_scope {
    %a = memref.alloca() : memref<16xf32>
    "test.use"(%a) : (memref<16xf32>) -> ()
  }
  return
}

// A staged transpose: every thread has a buffer and a fence of its own.

// CHAIN-LABEL: func @transpose
// CHAIN: scf.if
// CHAIN: omp.parallel num_threads(%{{.+}} : i32)
// CHAIN-NEXT: memref.alloca() {alignment = 64 : i64, relayout_stage}
// CHAIN: omp.wsloop nowait schedule(guided = %{{.+}} : index)
// CHAIN: omp.loop_nest
// CHAIN-NOT: memref.alloca_scope
// CHAIN: llvm.call_intrinsic "llvm.x86.sse.sfence"
// CHAIN: omp.yield
func.func @transpose(%src: memref<256x32xf32>,
    %dst: memref<256x32xf32, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<256x32xf32>, memref<256x32xf32, #tessera.layout<{0,1}>>
  return
}
