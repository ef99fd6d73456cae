// RUN: tessera-opt %s --tessera-expand-small-floats --split-input-file --verify-diagnostics

func.func @exponents(%a: f8E8M0FNU, %b: vector<2xf8E8M0FNU>, %c: f32) {
  // expected-error @+1 {{unsupported `arith.addf` on small floats: expected floats with signs, of at most 64 bits, found f8E8M0FNU}}
  %d = arith.addf %a, %a : f8E8M0FNU
  // expected-error @+1 {{unsupported `math.exp` on small floats: expected floats with signs, of at most 64 bits, found f8E8M0FNU}}
  %e = math.exp %b : vector<2xf8E8M0FNU>
  // expected-error @+1 {{unsupported `arith.extf` on small floats}}
  %f = arith.extf %a : f8E8M0FNU to f32
  // expected-error @+1 {{unsupported `arith.truncf` on small floats}}
  %g = arith.truncf %c : f32 to f8E8M0FNU
  // expected-error @+1 {{unsupported `vector.fma` on small floats}}
  %h = vector.fma %b, %b, %b : vector<2xf8E8M0FNU>
  return
}

// -----

func.func @wide(%a: f8E5M2, %b: f80) {
  // expected-error @+1 {{unsupported `arith.extf` on small floats: expected floats with signs, of at most 64 bits, found f128}}
  %c = arith.extf %a : f8E5M2 to f128
  // expected-error @+1 {{found f80}}
  %d = arith.truncf %b : f80 to f8E5M2
  return
}

// -----

func.func @rounding(%a: f32) {
  // expected-error @+1 {{unsupported rounding of `arith.truncf` to small floats: expected to_nearest_even, found upward}}
  %b = arith.truncf %a upward : f32 to f8E5M2
  return
}

// -----

func.func @scales(%a: f4E2M1FN, %s: f8E5M2) {
  // expected-error @+1 {{unsupported `arith.scaling_extf`: expected arithmetic without scales, found it; multiply by the scale}}
  %b = arith.scaling_extf %a, %s : f4E2M1FN, f8E5M2 to f32
  return
}

// -----

func.func @others(%m: memref<4xf8E5M2>, %i: index, %a: f8E5M2) -> complex<f8E5M2> {
  // expected-error @+1 {{unsupported `memref.atomic_rmw` on small floats: expected operations of arith, math and vector, found it; compute in f32}}
  %b = memref.atomic_rmw addf %a, %m[%i] : (f8E5M2, memref<4xf8E5M2>) -> f8E5M2
  %c = memref.atomic_rmw assign %a, %m[%i] : (f8E5M2, memref<4xf8E5M2>) -> f8E5M2
  %d = complex.create %b, %c : complex<f8E5M2>
  // expected-error @+1 {{unsupported `complex.mul` on small floats}}
  %e = complex.mul %d, %d : complex<f8E5M2>
  return %e : complex<f8E5M2>
}
