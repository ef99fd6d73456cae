// RUN: tessera-opt %s --tessera-to-affine=strided-boundaries | FileCheck %s
// RUN: tessera-opt %s --tessera-to-affine | FileCheck %s --check-prefix=PHYSICAL

#columns = #tessera.layout<{0,1}>
#tiled = #tessera.layout<{1,0:T(2,2)}>

// CHECK-LABEL: func.func @columns(
// CHECK-SAME: %[[A:.*]]: memref<3x5xf32, strided<[1, 3]>>, %{{.*}}: memref<2x3x2x2xf32>, %{{.*}}: memref<3x5xf32>)
// CHECK-SAME: -> memref<3x5xf32, strided<[1, 3]>>
// CHECK: affine.load
// PHYSICAL-LABEL: func.func @columns(
// PHYSICAL-SAME: %{{.*}}: memref<5x3xf32>
// PHYSICAL-SAME: -> memref<5x3xf32>
func.func @columns(%a: memref<3x5xf32, #columns>, %b: memref<3x5xf32, #tiled>,
                   %c: memref<3x5xf32, #tessera.layout<{1,0}>>) -> memref<3x5xf32, #columns> {
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 5 {
      %v = affine.load %a[%i, %j] : memref<3x5xf32, #columns>
      affine.store %v, %b[%i, %j] : memref<3x5xf32, #tiled>
    }
  }
  return %a : memref<3x5xf32, #columns>
}

// A size that no stride depends on may be dynamic; it comes with the memref.

// CHECK-LABEL: func.func private @outside(memref<3x?xf32, strided<[1, 3]>>, memref<3x?xf32>, index)
func.func private @outside(memref<3x?xf32, #columns>, memref<?x3xf32, #columns>)

// CHECK-LABEL: func.func @call
// CHECK: call @outside(%{{.*}}) : (memref<3x?xf32, strided<[1, 3]>>, memref<3x?xf32>, index) -> ()
func.func @call(%a: memref<3x?xf32, #columns>, %b: memref<?x3xf32, #columns>) {
  call @outside(%a, %b) : (memref<3x?xf32, #columns>, memref<?x3xf32, #columns>) -> ()
  return
}
