// RUN: tessera-opt %s -tessera-to-affine=deallocate | FileCheck %s
// RUN: tessera-opt %s -tessera-to-affine | FileCheck %s --check-prefix=KEPT
// RUN: tessera-opt %s -tessera-to-llvm=deallocate | FileCheck %s --check-prefix=LLVM

// The buffer between two relayouts is freed; what is returned is the caller's.

// CHECK-LABEL: func.func @through
// CHECK: %[[TILES:.*]] = memref.alloc() {{.*}} : memref<3x8xf32>
// CHECK: %[[RESULT:.*]] = memref.alloc() {{.*}} : memref<20xf32>
// CHECK: memref.dealloc %[[TILES]]
// CHECK-NOT: memref.dealloc
// CHECK: return %[[RESULT]]
// KEPT-LABEL: func.func @through
// KEPT-NOT: memref.dealloc
// LLVM-LABEL: llvm.func @through
// LLVM-COUNT-1: llvm.call @free
func.func @through(%a: tensor<20xf32>) -> tensor<20xf32> {
  %b = tessera.relayout %a : tensor<20xf32>
      to tensor<20xf32, #tessera.layout<{0:T(8)}>>
  %e = tessera.empty() : tensor<20xf32, #tessera.layout<{0:T(8)}>>
  %c = linalg.exp ins(%b : tensor<20xf32, #tessera.layout<{0:T(8)}>>)
      outs(%b : tensor<20xf32, #tessera.layout<{0:T(8)}>>)
      -> tensor<20xf32, #tessera.layout<{0:T(8)}>>
  %d = tessera.relayout %c : tensor<20xf32, #tessera.layout<{0:T(8)}>>
      to tensor<20xf32>
  return %d : tensor<20xf32>
}
