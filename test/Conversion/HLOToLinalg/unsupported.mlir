// RUN: tessera-opt %s --tessera-hlo-to-linalg --split-input-file --verify-diagnostics

// All that cannot be converted is said at once.

!a = tensor<4xf32, #tessera.layout<{0}>>
func.func @main(%x: !a) -> !a {
  // expected-error@+1 {{unsupported opcode of stochastic-convert %r: expected one that is converted, found stochastic-convert}}
  %r = tessera_hlo.instruction "stochastic-convert"(%x, %x) {name = "r"} : (!a, !a) -> !a
  // expected-error@+1 {{unsupported target of custom-call: expected one that is converted, found Mystery}}
  %k = tessera_hlo.instruction "custom-call"(%r) {hlo_attributes = {custom_call_target = "\22Mystery\22"}} : (!a) -> !a
  // expected-error@+1 {{unsupported element type of popcnt: expected one that the opcode is defined for, found f32}}
  %p = tessera_hlo.instruction "popcnt"(%k) : (!a) -> !a
  return %p : !a
}

// -----

// What does not fit is no crash.

!a = tensor<2x4xf32, #tessera.layout<{1,0}>>
!b = tensor<4x2xf32, #tessera.layout<{1,0}>>
!i = tensor<i32, #tessera.layout<{}>>
func.func @main(%x: !a, %i: !i) -> !b {
  // expected-error@+1 {{unsupported dimensions of transpose: expected 2 of them, found 1}}
  %0 = tessera_hlo.instruction "transpose"(%x) {hlo_attributes = {dimensions = "{1}"}} : (!a) -> !b
  // expected-error@+1 {{unsupported dimension of transpose: expected one of 2, found 7}}
  %1 = tessera_hlo.instruction "transpose"(%x) {hlo_attributes = {dimensions = "{1,7}"}} : (!a) -> !b
  // expected-error@+1 {{unsupported dimension of reverse: expected one of 2, found 2}}
  %2 = tessera_hlo.instruction "reverse"(%x) {hlo_attributes = {dimensions = "{2}"}} : (!a) -> !a
  // expected-error@+1 {{unsupported slice of slice: expected start and limit of each dimension, found {[0:4]}}}
  %3 = tessera_hlo.instruction "slice"(%x) {hlo_attributes = {slice = "{[0:4]}"}} : (!a) -> !a
  // expected-error@+1 {{unsupported padding of pad: expected 2 dimensions, found 0_0}}
  %4 = tessera_hlo.instruction "pad"(%x, %i) {hlo_attributes = {padding = "0_0"}} : (!a, !i) -> !a
  // expected-error@+1 {{unsupported dim_labels of convolution: expected b, f and digits up to 9, found bf_io}}
  %5 = tessera_hlo.instruction "convolution"(%x, %x) {hlo_attributes = {dim_labels = "bf_io"}} : (!a, !a) -> !a
  // expected-error@+1 {{unsupported shapes of convolution: expected ones that fit dim_labels and window, found bf_io->bf}}
  %6 = tessera_hlo.instruction "convolution"(%x, %x) {hlo_attributes = {dim_labels = "bf_io->bf"}} : (!a, !a) -> !a
  // expected-error@+1 {{unsupported operands of dynamic-slice: expected a start for each dimension, found 1}}
  %7 = tessera_hlo.instruction "dynamic-slice"(%x, %i) {hlo_attributes = {dynamic_slice_sizes = "{2,4}"}} : (!a, !i) -> !a
  // Without a pair the result is zeros.
  // expected-error@+1 {{unsupported groups of collective-permute: expected one participant, found {}}}
  %8 = tessera_hlo.instruction "collective-permute"(%x) {hlo_attributes = {source_target_pairs = "{}"}} : (!a) -> !a
  return %0 : !b
}

// -----

// Reductions apply computations on scalars.

!a = tensor<4xf32, #tessera.layout<{0}>>
!s = tensor<f32, #tessera.layout<{}>>
// expected-error@+1 {{unsupported computation on scalars: expected one that takes 2 scalars, found '(tensor<4xf32, #tessera.layout<{0}>>, tensor<f32, #tessera.layout<{}>>) -> tensor<f32, #tessera.layout<{}>>'}}
func.func private @array(%x: !a, %y: !s) -> !s {
  return %y : !s
}
func.func @main(%x: !a, %z: !s) -> !s {
  // expected-error@+1 {{unsupported operands of reduce: expected arrays and as many scalars, a result for each, found (tensor<4xf32, #tessera.layout<{0}>>, tensor<4xf32, #tessera.layout<{0}>>) -> tensor<f32, #tessera.layout<{}>>; docs/running.md has what runs}}
  %0 = tessera_hlo.instruction "reduce"(%x, %x) {hlo_attributes = {dimensions = "{0}", to_apply = @array}} : (!a, !a) -> !s
  %1 = tessera_hlo.instruction "reduce"(%x, %z) {hlo_attributes = {dimensions = "{0}", to_apply = @array}} : (!a, !s) -> !s
  return %1 : !s
}

// -----

// Values that are no arrays, and arrays of unknown sizes.

!a = tensor<4xf32, #tessera.layout<{0}>>
!d = tensor<?xf32, #tessera.layout<{0}>>
func.func @main(%t: tuple<!a, !a>, %x: !a, %d: !d) -> !a {
  // expected-error@+1 {{unsupported operands of negate: expected arrays of static shape, found (tuple<tensor<4xf32, #tessera.layout<{0}>>, tensor<4xf32, #tessera.layout<{0}>>>) -> tensor<4xf32, #tessera.layout<{0}>>}}
  %0 = tessera_hlo.instruction "negate"(%t) : (tuple<!a, !a>) -> !a
  // expected-error@+1 {{unsupported result of negate: expected an array of static shape, found (tensor<4xf32, #tessera.layout<{0}>>) -> tuple<tensor<4xf32, #tessera.layout<{0}>>>}}
  %1 = tessera_hlo.instruction "negate"(%x) : (!a) -> tuple<!a>
  // expected-error@+1 {{unsupported operands of negate: expected arrays of static shape, found (tensor<?xf32, #tessera.layout<{0}>>) -> tensor<4xf32, #tessera.layout<{0}>>}}
  %2 = tessera_hlo.instruction "negate"(%d) : (!d) -> !a
  // expected-error@+1 {{unsupported operands of sort: expected arrays of static shape, found (tuple<tensor<4xf32, #tessera.layout<{0}>>, tensor<4xf32, #tessera.layout<{0}>>>) -> tensor<4xf32, #tessera.layout<{0}>>}}
  %3 = tessera_hlo.instruction "sort"(%t) {hlo_attributes = {dimensions = "{0}", to_apply = @main}} : (tuple<!a, !a>) -> !a
  // expected-error@+1 {{unsupported operands of add-start: expected those of add, found (tensor<4xf32, #tessera.layout<{0}>>) -> tuple<tuple<tensor<4xf32, #tessera.layout<{0}>>>, tensor<4xf32, #tessera.layout<{0}>>>}}
  %4 = tessera_hlo.instruction "add-start"(%x) : (!a) -> tuple<tuple<!a>, !a>
  // expected-error@+1 {{unsupported direction of compare: expected EQ, NE, LT, LE, GT or GE, found none}}
  %6 = tessera_hlo.instruction "compare"(%x, %x) : (!a, !a) -> tensor<4xi1, #tessera.layout<{0}>>
  // expected-error@+1 {{unsupported operands of concatenate: expected at least one, found none}}
  %7 = tessera_hlo.instruction "concatenate"() {hlo_attributes = {dimensions = "{0}"}} : () -> !a
  // expected-error@+1 {{unsupported index of get-tuple-element: expected one of a tuple, found 5}}
  %5 = tessera_hlo.instruction "get-tuple-element"(%t) {hlo_attributes = {index = "5"}} : (tuple<!a, !a>) -> !a
  return %0 : !a
}

// -----

// Transforms of what they are not defined for.

!r = tensor<3x8xf32, #tessera.layout<{1,0}>>
!c = tensor<3x8xcomplex<f32>, #tessera.layout<{1,0}>>
!h = tensor<3x5xcomplex<f32>, #tessera.layout<{1,0}>>
!d = tensor<?x8xcomplex<f32>, #tessera.layout<{1,0}>>
func.func @main(%r: !r, %c: !c, %h: !h, %d: !d) -> !r {
  // expected-error@+1 {{unsupported fft_type of fft: expected FFT, IFFT, RFFT or IRFFT, found DCT}}
  %0 = tessera_hlo.instruction "fft"(%c) {hlo_attributes = {fft_type = "DCT", fft_length = "{8}"}} : (!c) -> !c
  // expected-error@+1 {{unsupported fft_length of fft: expected positive numbers, found {0}}}
  %1 = tessera_hlo.instruction "fft"(%c) {hlo_attributes = {fft_type = "FFT", fft_length = "{0}"}} : (!c) -> !c
  // expected-error@+1 {{unsupported types of fft: expected arrays of f32, f64, c64 or c128 that fit FFT of {7}, found (tensor<3x8xcomplex<f32>}}
  %2 = tessera_hlo.instruction "fft"(%c) {hlo_attributes = {fft_type = "FFT", fft_length = "{7}"}} : (!c) -> !c
  // expected-error@+1 {{unsupported types of fft: expected arrays of f32, f64, c64 or c128 that fit FFT of {2,3,8}, found}}
  %3 = tessera_hlo.instruction "fft"(%c) {hlo_attributes = {fft_type = "FFT", fft_length = "{2,3,8}"}} : (!c) -> !c
  // expected-error@+1 {{unsupported types of fft: expected arrays of f32, f64, c64 or c128 that fit RFFT of {8}, found}}
  %4 = tessera_hlo.instruction "fft"(%r) {hlo_attributes = {fft_type = "RFFT", fft_length = "{8}"}} : (!r) -> !c
  // expected-error@+1 {{unsupported types of fft: expected arrays of f32, f64, c64 or c128 that fit FFT of {8}, found}}
  %5 = tessera_hlo.instruction "fft"(%r) {hlo_attributes = {fft_type = "FFT", fft_length = "{8}"}} : (!r) -> !r
  // expected-error@+1 {{unsupported types of fft: expected arrays of f32, f64, c64 or c128 that fit FFT of {8}, found}}
  %6 = tessera_hlo.instruction "fft"(%d) {hlo_attributes = {fft_type = "FFT", fft_length = "{8}"}} : (!d) -> !d
  %7 = tessera_hlo.instruction "fft"(%h) {hlo_attributes = {fft_type = "IRFFT", fft_length = "{8}"}} : (!h) -> !r
  return %7 : !r
}

// -----

// Random bits of other states and types.

!s = tensor<2xui64, #tessera.layout<{0}>>
!t = tensor<3xui64, #tessera.layout<{0}>>
!w = tensor<4xui32, #tessera.layout<{0}>>
!f = tensor<4xf32, #tessera.layout<{0}>>
func.func @main(%s: !s, %t: !t, %w: !w) -> tuple<!s, !w> {
  // expected-error@+1 {{unsupported algorithm of rng-bit-generator: expected rng_default, rng_philox or rng_three_fry, found rng_other}}
  %0 = tessera_hlo.instruction "rng-bit-generator"(%s) {hlo_attributes = {algorithm = "rng_other"}} : (!s) -> tuple<!s, !w>
  // expected-error@+1 {{unsupported types of rng-bit-generator: expected a state of u64[2], or u64[3] of Philox, and integers of 8, 16, 32 or 64 bits, found (tensor<3xui64}}
  %1 = tessera_hlo.instruction "rng-bit-generator"(%t) {hlo_attributes = {algorithm = "rng_three_fry"}} : (!t) -> tuple<!t, !w>
  // expected-error@+1 {{unsupported types of rng-bit-generator: expected a state of u64[2], or u64[3] of Philox, and integers}}
  %2 = tessera_hlo.instruction "rng-bit-generator"(%w) {hlo_attributes = {algorithm = "rng_philox"}} : (!w) -> tuple<!w, !w>
  // expected-error@+1 {{unsupported types of rng-bit-generator: expected a state of u64[2], or u64[3] of Philox, and integers}}
  %3 = tessera_hlo.instruction "rng-bit-generator"(%s) {hlo_attributes = {algorithm = "rng_philox"}} : (!s) -> tuple<!s, !f>
  // expected-error@+1 {{unsupported types of rng-bit-generator: expected a state of u64[2], or u64[3] of Philox, and integers}}
  %4 = tessera_hlo.instruction "rng-bit-generator"(%s) {hlo_attributes = {algorithm = "rng_philox"}} : (!s) -> !s
  %5 = tessera_hlo.instruction "rng-bit-generator"(%s) {hlo_attributes = {algorithm = "rng_philox"}} : (!s) -> tuple<!s, !w>
  return %5 : tuple<!s, !w>
}

// -----

// Groups of a dot.

!l = tensor<7x3xf32, #tessera.layout<{1,0}>>
!r = tensor<2x3x4xf32, #tessera.layout<{2,1,0}>>
!g = tensor<2xi32, #tessera.layout<{0}>>
!h = tensor<3xi32, #tessera.layout<{0}>>
!o = tensor<7x4xf32, #tessera.layout<{1,0}>>
func.func @main(%l: !l, %r: !r, %g: !g, %h: !h) -> !o {
  // expected-error@+1 {{unsupported groups of ragged-dot: expected one ragged dimension that is of no batch, and sizes of one dimension, found (tensor<7x3xf32}}
  %0 = tessera_hlo.instruction "ragged-dot"(%l, %r, %g) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{1}"}} : (!l, !r, !g) -> !o
  // expected-error@+1 {{unsupported groups of ragged-dot: expected one ragged dimension that is of no batch, and sizes of one dimension, found (tensor<7x3xf32}}
  %1 = tessera_hlo.instruction "ragged-dot"(%l, %r, %g) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{1}", lhs_ragged_dims = "{1}", rhs_group_dims = "{0}"}} : (!l, !r, !g) -> !o
  // expected-error@+1 {{unsupported dimension of ragged-dot: expected one of 2, found 5}}
  %2 = tessera_hlo.instruction "ragged-dot"(%l, %r, %g) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{1}", lhs_ragged_dims = "{5}", rhs_group_dims = "{0}"}} : (!l, !r, !g) -> !o
  // expected-error@+1 {{unsupported dimensions of ragged-dot: expected the same on both sides, found (tensor<7x3xf32}}
  %3 = tessera_hlo.instruction "ragged-dot"(%l, %r, %h) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{1}", lhs_ragged_dims = "{0}", rhs_group_dims = "{0}"}} : (!l, !r, !h) -> !o
  // expected-error@+1 {{unsupported dimensions of ragged-dot: expected the same on both sides, found (tensor<7x3xf32}}
  %4 = tessera_hlo.instruction "ragged-dot"(%l, %r, %g) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{1}", lhs_ragged_dims = "{0}", rhs_group_dims = "{1}"}} : (!l, !r, !g) -> !o
  %5 = tessera_hlo.instruction "ragged-dot"(%l, %r, %g) {hlo_attributes = {lhs_contracting_dims = "{1}", rhs_contracting_dims = "{1}", lhs_ragged_dims = "{0}", rhs_group_dims = "{0}"}} : (!l, !r, !g) -> !o
  return %5 : !o
}

// -----

// The order of complex numbers, and the number of one among several programs.

!a = tensor<2x4xcomplex<f32>, #tessera.layout<{1,0}>>
!n = tensor<2x4xi32, #tessera.layout<{1,0}>>
!i = tensor<ui32, #tessera.layout<{}>>
module attributes {tessera_hlo.attributes = {num_partitions = "2"}} {
  func.func @main(%x: !a) -> (!i, !i) {
    // expected-error@+1 {{unsupported element type of topk: expected one that has an order}}
    %0 = tessera_hlo.instruction "topk"(%x) {hlo_attributes = {k = "4"}} : (!a) -> tuple<!a, !n>
    %t = tessera_hlo.instruction "tuple"(%x) : (!a) -> tuple<!a>
    // expected-error@+1 {{unsupported operands of topk: expected arrays of static shape}}
    %3 = tessera_hlo.instruction "topk"(%t) {hlo_attributes = {k = "4"}} : (tuple<!a>) -> tuple<!a, !n>
    // expected-error@+1 {{unsupported participants of partition-id: expected one, found more}}
    %1 = tessera_hlo.instruction "partition-id"() : () -> !i
    // expected-error@+1 {{unsupported participants of replica-id: expected one, found more}}
    %2 = tessera_hlo.instruction "replica-id"() : () -> !i
    return %1, %2 : !i, !i
  }
}

// -----

// The condition of a loop.

!n = tensor<i32, #tessera.layout<{}>>
func.func private @number(%i: !n) -> !n {
  return %i : !n
}
func.func @main(%i: !n) -> !n {
  // expected-error@+1 {{unsupported computations of while: expected ones for the loop's state}}
  %0 = tessera_hlo.instruction "while"(%i) {hlo_attributes = {condition = @number, body = @number}} : (!n) -> !n
  return %0 : !n
}

// -----

// A dimension that is summed over twice.

!a = tensor<2x4xf32, #tessera.layout<{1,0}>>
!f = tensor<f32, #tessera.layout<{}>>
func.func private @add(%x: !f, %y: !f) -> !f {
  %0 = tessera_hlo.instruction "add"(%x, %y) : (!f, !f) -> !f
  return %0 : !f
}
func.func @main(%x: !a, %z: !f) -> !f {
  // expected-error@+1 {{unsupported dimensions of reduce: expected those that the result lacks}}
  %0 = tessera_hlo.instruction "reduce"(%x, %z) {hlo_attributes = {dimensions = "{1,1}", to_apply = @add}} : (!a, !f) -> !f
  return %0 : !f
}
