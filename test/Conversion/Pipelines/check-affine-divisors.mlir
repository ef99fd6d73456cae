// RUN: tessera-opt %s --tessera-check-affine-divisors --split-input-file --verify-diagnostics
// RUN: tessera-opt %s --tessera-to-llvm --split-input-file --verify-diagnostics

func.func @nested(%i: index) -> index {
  // expected-error-re @+1 {{unsupported affine expression: expected positive divisors, found `{{d|s}}0 mod 0`}}
  %0 = affine.apply affine_map<(d0) -> ((d0 mod 0) floordiv 2)>(%i)
  return %0 : index
}

// -----

// Not only maps: sets, and bounds of loops.
func.func @others(%i: index, %m: memref<8xf32>, %c: f32) {
  // expected-error-re @+1 {{found `{{d|s}}0 floordiv -3`}}
  affine.if affine_set<(d0) : ((d0 floordiv -3) mod 2 == 0)>(%i) {
    memref.store %c, %m[%i] : memref<8xf32>
  }
  // expected-error-re @+1 {{found `{{d|s}}0 ceildiv 0`}}
  affine.for %j = 0 to affine_map<(d0) -> ((d0 ceildiv 0) + 1)>(%i) {
    memref.store %c, %m[%j] : memref<8xf32>
  }
  return
}

// -----

// Divisors that only the run knows are none of its business.
func.func @symbols(%i: index, %s: index) -> index {
  %0 = affine.apply affine_map<(d0)[s0] -> ((d0 mod 7) floordiv s0)>(%i)[%s]
  return %0 : index
}
