// RUN: tessera-opt %s -allow-unregistered-dialect | tessera-opt -allow-unregistered-dialect | FileCheck %s
// RUN: tessera-opt %s -allow-unregistered-dialect -canonicalize -cse | FileCheck %s
// RUN: tessera-opt %s -allow-unregistered-dialect -convert-scf-to-cf | FileCheck %s --check-prefix=CF

#s1 = #tessera.layout<{1,0:S(1)}>

// CHECK-LABEL: func.func @tensor
func.func @tensor(%a: tensor<8x128xf32>) -> tensor<8x128xf32, #s1> {
  // CHECK: %[[B:.*]], %[[T:.*]] = tessera.copy_start %{{.*}} : tensor<8x128xf32> to tensor<8x128xf32, #{{.*}}>
  %b, %t = tessera.copy_start %a : tensor<8x128xf32> to tensor<8x128xf32, #s1>
  // The source may be read meanwhile.
  // CHECK: "test.use"
  "test.use"(%a) : (tensor<8x128xf32>) -> ()
  // CHECK: tessera.copy_done %[[T]]
  tessera.copy_done %t
  return %b : tensor<8x128xf32, #s1>
}

// CHECK-LABEL: func.func @memref
func.func @memref(%f: f32, %src: memref<8x128xf32>, %dst: memref<8x128xf32, #tessera.memory_space<1>>) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[T:.*]] = tessera.copy_start %{{.*}} into %{{.*}} : memref<8x128xf32>, memref<8x128xf32, #tessera.memory_space<1>>
  %t = tessera.copy_start %src into %dst : memref<8x128xf32>, memref<8x128xf32, #tessera.memory_space<1>>
  // CHECK: memref.load
  %0 = memref.load %src[%c0, %c0] : memref<8x128xf32>
  "test.use"(%0) : (f32) -> ()
  // CHECK: tessera.copy_done %[[T]]
  tessera.copy_done %t
  memref.store %f, %src[%c0, %c0] : memref<8x128xf32>
  return
}

// Two starts are two copies, though nobody reads the results.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-2: tessera.copy_start
// CHECK-COUNT-2: tessera.copy_done
func.func @two(%a: tensor<?x128xf32>) {
  %b, %t = tessera.copy_start %a : tensor<?x128xf32> to tensor<?x128xf32, #s1>
  %c, %u = tessera.copy_start %a : tensor<?x128xf32> to tensor<?x128xf32, #s1>
  tessera.copy_done %t
  tessera.copy_done %u
  return
}

// A copy beside a condition is awaited in another block when blocks are all
// that is left.
// CHECK-LABEL: func.func @beside_condition
// CF-LABEL: func.func @beside_condition
// CF: tessera.copy_start
// CF: cf.cond_br
// CF: tessera.copy_done
func.func @beside_condition(%a: tensor<8x128xf32>, %c: i1) -> tensor<8x128xf32, #s1> {
  %b, %t = tessera.copy_start %a : tensor<8x128xf32> to tensor<8x128xf32, #s1>
  scf.if %c {
    "test.use"() : () -> ()
  }
  tessera.copy_done %t
  return %b : tensor<8x128xf32, #s1>
}
