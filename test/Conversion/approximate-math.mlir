// RUN: tessera-opt %s --tessera-approximate-math | FileCheck %s

// Functions of f32 become arithmetic; the rest is left to the C library. Values of
// all of f32's edges are in test/python/run-opcodes.py.

// CHECK-LABEL: @functions
// CHECK-NOT: math.{{exp|expm1|log|log1p|erf|tanh}} {{.*}}f32
// CHECK: return
func.func @functions(%x: f32) -> (f32, f32, f32, f32, f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.expm1 %x : f32
  %2 = math.log %x : f32
  %3 = math.log1p %x : f32
  %4 = math.erf %x : f32
  %5 = math.tanh %x : f32
  return %0, %1, %2, %3, %4, %5 : f32, f32, f32, f32, f32, f32
}

// CHECK-LABEL: @others
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.atan %{{.*}} : f32
func.func @others(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.exp %x : f64
  %1 = math.atan %y : f32
  return %0, %1 : f64, f32
}

// Upstream drops encodings, and everything else is somebody else's to fold.
// CHECK-LABEL: @tensors
// CHECK: math.exp %{{.*}} : tensor<4xf32, #layout>
// CHECK: arith.addi
func.func @tensors(%x: tensor<4xf32, #tessera.layout<{0:T(8)}>>) -> (tensor<4xf32, #tessera.layout<{0:T(8)}>>, i32) {
  %0 = math.exp %x : tensor<4xf32, #tessera.layout<{0:T(8)}>>
  %one = arith.constant 1 : i32
  %two = arith.addi %one, %one : i32
  return %0, %two : tensor<4xf32, #tessera.layout<{0:T(8)}>>, i32
}
