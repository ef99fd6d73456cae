// RUN: tessera-opt %s --tessera-expand-small-floats | FileCheck %s
// RUN: tessera-opt %s --tessera-expand-small-floats | mlir-opt-22 --canonicalize --convert-vector-to-llvm --convert-arith-to-llvm --convert-math-to-llvm --convert-func-to-llvm --reconcile-unrealized-casts | mlir-translate-22 --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// RUN: tessera-opt %s --tessera-expand-small-floats=bf16 | FileCheck %s --check-prefix=BF16

// LLVM: define i8 @add(i8 %0, i8 %1)

// No conversion is left, and the sum is in f32.
// CHECK-LABEL: func.func @add(
// CHECK-NOT: arith.extf
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT: arith.bitcast %{{.*}} : i8 to f8E4M3FN
func.func @add(%a: f8E4M3FN, %b: f8E4M3FN) -> f8E4M3FN {
  %c = arith.addf %a, %b : f8E4M3FN
  return %c : f8E4M3FN
}

// Vectors keep their shape.
// CHECK-LABEL: func.func @vectors(
// CHECK: math.exp %{{.*}} : vector<4xf32>
// CHECK: arith.bitcast %{{.*}} : vector<4xi8> to vector<4xf8E5M2>
// CHECK: vector.reduction <add>, %{{.*}} : vector<4xf32> into f32
// CHECK: arith.bitcast %{{.*}} : i8 to f8E5M2
func.func @vectors(%a: vector<4xf8E5M2>) -> f8E5M2 {
  %b = math.exp %a : vector<4xf8E5M2>
  %c = vector.reduction <add>, %b : vector<4xf8E5M2> into f8E5M2
  return %c : f8E5M2
}

// f64 is not rounded to f32 first.
// CHECK-LABEL: func.func @from_f64(
// CHECK-NEXT: arith.bitcast %{{.*}} : f64 to i64
// CHECK-NOT: f32
// CHECK: arith.trunci %{{.*}} : i64 to i4
func.func @from_f64(%a: f64) -> f4E2M1FN {
  %b = arith.truncf %a : f64 to f4E2M1FN
  return %b : f4E2M1FN
}

// CHECK-LABEL: func.func @compare(
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f6E2M3FN
func.func @compare(%a: f6E2M3FN, %b: f6E2M3FN) -> f6E2M3FN {
  %c = arith.cmpf olt, %a, %b : f6E2M3FN
  %d = arith.select %c, %a, %b : f6E2M3FN
  return %d : f6E2M3FN
}

// To f16 by way of f32; between small types too.
// CHECK-LABEL: func.func @extend(
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.bitcast %{{.*}} : i8 to f8E3M4
func.func @extend(%a: f4E2M1FN) -> (f16, f8E3M4) {
  %b = arith.extf %a : f4E2M1FN to f16
  %c = arith.extf %a : f4E2M1FN to f8E3M4
  return %b, %c : f16, f8E3M4
}

// What moves bits, and exponents that nothing computes with, stay.
// CHECK-LABEL: func.func @bits(
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f8E8M0FNU
// CHECK-NEXT: %[[S:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ONE]] : f8E8M0FNU
// CHECK-NEXT: arith.bitcast %[[S]] : f8E8M0FNU to i8
func.func @bits(%a: f8E8M0FNU, %c: i1) -> i8 {
  %one = arith.constant 1.0 : f8E8M0FNU
  %b = arith.select %c, %a, %one : f8E8M0FNU
  %d = arith.bitcast %b : f8E8M0FNU to i8
  return %d : i8
}

// Other floats are left alone.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: arith.truncf %{{.*}} : f64 to bf16
// CHECK-NEXT: arith.addf %{{.*}} : bf16
func.func @others(%a: f64) -> bf16 {
  %b = arith.truncf %a : f64 to bf16
  %c = arith.addf %b, %b : bf16
  return %c : bf16
}

// With `bf16`, rounding to bf16 is shifts and sums; LLVM shifts back by itself.
// CHECK-LABEL: func.func @bf16(
// CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} : bf16
// BF16-LABEL: func.func @bf16(
// BF16-NEXT: arith.extf
// BF16-NEXT: arith.extf
// BF16-NEXT: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// BF16-NEXT: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// BF16-NOT: arith.truncf
// BF16: %[[HALF:.*]] = arith.trunci %{{.*}} : i32 to i16
// BF16-NEXT: arith.bitcast %[[HALF]] : i16 to bf16
func.func @bf16(%a: bf16, %b: bf16) -> bf16 {
  %c = arith.addf %a, %b : bf16
  return %c : bf16
}
