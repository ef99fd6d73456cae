// RUN: tessera-opt %s --tessera-poison-padding | FileCheck %s
// RUN: tessera-opt %s --tessera-to-affine=poison-padding | FileCheck %s --check-prefix=AFFINE

// Elements of each kind.

// CHECK-LABEL: func @kinds
// CHECK: %[[I:.*]] = memref.alloc() : memref<4xi8>
// CHECK: memref.store %c-1_i8, %[[I]]
// CHECK: %[[B:.*]] = memref.alloca() : memref<bf16>
// CHECK: %[[NAN:.*]] = arith.constant 0x7FC0 : bf16
// CHECK: memref.store %[[NAN]], %[[B]][]
// A type without NaN has its largest number.
// CHECK: %[[F:.*]] = memref.alloc() : memref<2xf4E2M1FN>
// CHECK: %[[LARGE:.*]] = arith.constant 6.000000e+00 : f4E2M1FN
// CHECK: memref.store %[[LARGE]], %[[F]]
// CHECK: %[[C:.*]] = memref.alloc() : memref<2xcomplex<f32>>
// CHECK: %[[PART:.*]] = arith.constant 0x7FC00000 : f32
// CHECK: %[[NANS:.*]] = complex.create %[[PART]], %[[PART]]
// CHECK: memref.store %[[NANS]], %[[C]]
// CHECK: %[[X:.*]] = memref.alloc() : memref<2xindex>
// CHECK: memref.store %{{.*}}, %[[X]]
// CHECK: memref.alloc() : memref<2xvector<4xf32>>
// CHECK-NOT: memref.store
func.func @kinds() -> (memref<4xi8>, memref<2xf4E2M1FN>, memref<2xcomplex<f32>>, memref<2xindex>, memref<2xvector<4xf32>>) {
  %i = memref.alloc() : memref<4xi8>
  %b = memref.alloca() : memref<bf16>
  %f = memref.alloc() : memref<2xf4E2M1FN>
  %c = memref.alloc() : memref<2xcomplex<f32>>
  %x = memref.alloc() : memref<2xindex>
  %v = memref.alloc() : memref<2xvector<4xf32>>
  return %i, %f, %c, %x, %v : memref<4xi8>, memref<2xf4E2M1FN>, memref<2xcomplex<f32>>, memref<2xindex>, memref<2xvector<4xf32>>
}

// Sizes known when it runs.

// CHECK-LABEL: func @dynamic
// CHECK-SAME: %[[N:.*]]: index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
func.func @dynamic(%n: index) -> memref<?x3xf32> {
  %m = memref.alloc(%n) : memref<?x3xf32>
  return %m : memref<?x3xf32>
}

// In a pipeline buffers have padding by then: 32 elements for 3 x 5. What the
// layout promises of padding is written behind it.

// AFFINE-LABEL: func @tiled
// AFFINE: %[[M:.*]] = memref.alloc() {{.*}}: memref<2x2x2x4xf32>
// AFFINE: memref.store %{{.*}}, %[[M]]
// AFFINE: affine.store %{{.*}}, %[[M]]
func.func @tiled(%a: tensor<3x5xf32>) -> tensor<3x5xf32, #tessera.layout<{1,0:T(2,4)}>> {
  %t = tessera.relayout %a : tensor<3x5xf32> to tensor<3x5xf32, #tessera.layout<{1,0:T(2,4)}>>
  return %t : tensor<3x5xf32, #tessera.layout<{1,0:T(2,4)}>>
}

// Outside of functions nothing runs.

// CHECK: memref.alloc() : memref<7xf32>
// CHECK-NOT: memref.store
memref.alloc() : memref<7xf32>
