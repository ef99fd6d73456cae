// RUN: tessera-opt %s -canonicalize | tessera-opt | FileCheck %s

// CHECK-LABEL: func.func @bitcast_view
// CHECK-NEXT: %[[T:.*]] = tessera.bitcast_view %{{.*}} : memref<8x32xf32> to memref<32x8xf32, #layout>
// CHECK-NEXT: return %[[T]]
func.func @bitcast_view(%m: memref<8x32xf32>)
    -> memref<32x8xf32, #tessera.layout<{0,1}>> {
  %t = tessera.bitcast_view %m
      : memref<8x32xf32> to memref<32x8xf32, #tessera.layout<{0,1}>>
  return %t : memref<32x8xf32, #tessera.layout<{0,1}>>
}

// Views of views are views of the first; one of the same type is the operand.
// CHECK-LABEL: func.func @fold
// CHECK-SAME: (%[[M:.*]]: memref<8x32xf32>)
// CHECK-NEXT: return %[[M]]
func.func @fold(%m: memref<8x32xf32>) -> memref<8x32xf32> {
  %t = tessera.bitcast_view %m
      : memref<8x32xf32> to memref<32x8xf32, #tessera.layout<{0,1}>>
  %u = tessera.bitcast_view %t
      : memref<32x8xf32, #tessera.layout<{0,1}>> to memref<8x32xf32>
  return %u : memref<8x32xf32>
}

// CHECK-LABEL: func.func @dynamic
// CHECK: tessera.bitcast_view %{{.*}} : memref<?x4xf32> to memref<?x2x2xf32>
func.func @dynamic(%m: memref<?x4xf32>) -> memref<?x2x2xf32> {
  %t = tessera.bitcast_view %m : memref<?x4xf32> to memref<?x2x2xf32>
  return %t : memref<?x2x2xf32>
}

// CHECK-LABEL: func.func @fill_padding
// CHECK-NEXT: tessera.fill_padding %{{.*}} : memref<5x3xf32, #layout1>
func.func @fill_padding(
    %m: memref<5x3xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>) {
  tessera.fill_padding %m
      : memref<5x3xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>
  return
}
