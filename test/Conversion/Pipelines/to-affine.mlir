// RUN: tessera-opt %s -tessera-to-affine | FileCheck %s --implicit-check-not=tessera.
// RUN: tessera-opt %s -tessera-to-affine=address-spaces=1:3 | FileCheck %s --check-prefix=MAPPED
// RUN: tessera-opt %s -tessera-to-llvm | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM
// RUN: tessera-opt %s -tessera-to-llvm | FileCheck %s --check-prefix=VECTOR --implicit-check-not=tessera.
// RUN: tessera-opt %s -tessera-to-llvm=vectorize=false | FileCheck %s --check-prefix=SCALAR --implicit-check-not='vector<'

// Nothing of the dialect is left, in function types neither: what is allocated
// shows its padding as extents and its space as a number.

// CHECK: func.func @tile(%[[A:.*]]: memref<20xf32>) -> memref<3x8xf32, 1>
// CHECK: %[[B:.*]] = memref.alloc() {alignment = 64 : i64} : memref<3x8xf32, 1>
// CHECK: affine.for
// CHECK: return %[[B]] : memref<3x8xf32, 1>
// MAPPED: -> memref<3x8xf32, 3>
// LLVM: define { ptr, ptr, i64, [2 x i64], [2 x i64] } @tile(
func.func @tile(%a: tensor<20xf32>)
    -> tensor<20xf32, #tessera.layout<{0:T(8)S(1)PV(one)}>> {
  %b = tessera.relayout %a : tensor<20xf32>
      to tensor<20xf32, #tessera.layout<{0:T(8)S(1)PV(one)}>>
  return %b : tensor<20xf32, #tessera.layout<{0:T(8)S(1)PV(one)}>>
}

// A dynamic size follows the memref that it belongs to.

// CHECK: func.func @dynamic(%{{.*}}: memref<?x3xf32>) -> (memref<?x1x8x128xf32>, index)
func.func @dynamic(%a: tensor<?x3xf32>)
    -> tensor<?x3xf32, #tessera.layout<{1,0:T(8,128)}>> {
  %b = tessera.relayout %a : tensor<?x3xf32>
      to tensor<?x3xf32, #tessera.layout<{1,0:T(8,128)}>>
  return %b : tensor<?x3xf32, #tessera.layout<{1,0:T(8,128)}>>
}

// What a bitcast of bytes in place costs: nothing, or a cast.

// CHECK: func.func @bitcast(%[[A:.*]]: memref<8x32xf32>) -> memref<256xf32>
// CHECK-NEXT: %[[V:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [256], strides: [1]
// CHECK-NEXT: return %[[V]]
func.func @bitcast(%a: tensor<8x32xf32, #tessera.layout<{1,0}>>)
    -> tensor<256xf32, #tessera.layout<{0}>> {
  %b = tessera.bitcast %a : tensor<8x32xf32, #tessera.layout<{1,0}>>
      to tensor<256xf32, #tessera.layout<{0}>>
  return %b : tensor<256xf32, #tessera.layout<{0}>>
}

// Compute between tiles of different orders.

// CHECK: func.func @add(%{{.*}}: memref<3x1x8x128xf32>, %{{.*}}: memref<4x1x8x128xf32>) -> memref<3x1x8x128xf32>
// CHECK: arith.addf
func.func @add(%a: tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)}>>,
               %b: tensor<20x30xf32, #tessera.layout<{0,1:T(8,128)}>>)
    -> tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)}>> {
  %e = tessera.empty() : tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)}>>
  %r = linalg.add
      ins(%a, %b : tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)}>>,
                   tensor<20x30xf32, #tessera.layout<{0,1:T(8,128)}>>)
      outs(%e : tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)}>>)
      -> tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)}>>
  return %r : tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)}>>
}

// Relayouts become vector kernels on the way to LLVM, padding included, in
// every memory space.

// VECTOR-LABEL: llvm.func @kernel
// VECTOR: llvm.load {{.+}} -> vector<8xf32>
// VECTOR: llvm.store {{.+}} : vector<8xf32>, !llvm.ptr
// SCALAR-LABEL: llvm.func @kernel
func.func @kernel(%a: tensor<30x250xf32>)
    -> tensor<30x250xf32, #tessera.layout<{1,0:T(8,128)S(1)PV(zero)}>> {
  %b = tessera.relayout %a : tensor<30x250xf32>
      to tensor<30x250xf32, #tessera.layout<{1,0:T(8,128)S(1)PV(zero)}>>
  return %b : tensor<30x250xf32, #tessera.layout<{1,0:T(8,128)S(1)PV(zero)}>>
}
