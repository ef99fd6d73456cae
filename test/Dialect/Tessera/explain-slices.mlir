// RUN: tessera-opt %s --tessera-explain-slices --verify-diagnostics
// RUN: sed 's/expected-remark//' %s \
// RUN:   | tessera-opt --tessera-explain-slices=only-partial 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=PARTIAL --implicit-check-not=remark:

// PARTIAL-COUNT-6: remark: slice of {{.*}} not whole tiles for all begins
// PARTIAL-COUNT-3: remark: slice that is not analyzed

#f = #tessera.layout<{1,0:T(8,128)}>
#t = #tessera.layout<{1,0:T(8,128)(2,1)}>

func.func @constants(%a: tensor<64x256xbf16, #t>) -> tensor<16x256xbf16> {
  // expected-remark @+1 {{slice of bf16[64,256]{1,0:T(8,128)(2,1)}: 2 x 2 whole tiles of 8 x 128; 1 run of 8192 bytes; begins at a multiple of 8192 bytes}}
  %s = tensor.extract_slice %a[16, 0] [16, 256] [1, 1] : tensor<64x256xbf16, #t> to tensor<16x256xbf16>
  return %s : tensor<16x256xbf16>
}

func.func @products(%a: tensor<64x256xbf16, #t>, %b: tensor<8x100xbf16>, %i: index, %n: i32) -> tensor<64x256xbf16, #t> {
  %c4 = arith.constant 4 : index
  %c3_i32 = arith.constant 3 : i32
  %c2_i32 = arith.constant 2 : i32
  %d0 = arith.muli %c4, %i : index
  // 8 times %n, by a shift, and 16 less.
  %shifted = arith.shli %n, %c3_i32 : i32
  %twice = arith.shli %c2_i32, %c3_i32 : i32
  %less = arith.subi %shifted, %twice : i32
  %d1 = arith.index_cast %less : i32 to index
  // expected-remark @+1 {{slice of bf16[64,256]{1,0:T(8,128)(2,1)}: not whole tiles for all begins: d0: 4*%arg2 is a multiple of 4, needed is a multiple of 8: %arg2 must be a multiple of 2; 100 elements of d1 are no multiple of 128}}
  %s = tensor.insert_slice %b into %a[%d0, %d1] [8, 100] [1, 1] : tensor<8x100xbf16> into tensor<64x256xbf16, #t>
  return %s : tensor<64x256xbf16, #t>
}

func.func @applied(%a: tensor<64x256xf32, #f>, %i: index, %j: index) {
  // A quotient is known to be an integer, and no more.
  %d0 = affine.apply affine_map<(d0)[s0] -> ((d0 floordiv 3) * 8 + s0 * 16 + 8)>(%i)[%j]
  %d1 = affine.apply affine_map<(d0) -> (d0 mod 256)>(%i)
  // expected-remark @+1 {{slice of f32[64,256]{1,0:T(8,128)}: 1 x 1 whole tiles of 8 x 128; 1 run of 4096 bytes; begins at a multiple of 4096 bytes}}
  %0 = tensor.extract_slice %a[%d0, 128] [8, 128] [1, 1] : tensor<64x256xf32, #f> to tensor<8x128xf32>
  // expected-remark @+1 {{d1: (d0 mod 256) can be any integer, needed is a multiple of 128}}
  %1 = tensor.extract_slice %a[8, %d1] [8, 128] [1, 1] : tensor<64x256xf32, #f> to tensor<8x128xf32>
  return
}

func.func @loops(%a: tensor<64x256xf32, #f>, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c8 to %n step %c8 {
    // expected-remark @+1 {{1 x 2 whole tiles of 8 x 128; 1 run of 8192 bytes}}
    %0 = tensor.extract_slice %a[%i, 0] [8, 256] [1, 1] : tensor<64x256xf32, #f> to tensor<8x256xf32>
  }
  scf.for %i = %c4 to %n step %c8 {
    // expected-remark @+1 {{d0: 8*iteration(%arg2) + 4 is 4 more than a multiple of 8, needed is a multiple of 8, and none of its values is}}
    %0 = tensor.extract_slice %a[%i, 0] [8, 256] [1, 1] : tensor<64x256xf32, #f> to tensor<8x256xf32>
  }
  affine.for %i = 0 to 64 step 16 {
    // expected-remark @+1 {{2 x 2 whole tiles of 8 x 128}}
    %0 = tensor.extract_slice %a[%i, 0] [16, 256] [1, 1] : tensor<64x256xf32, #f> to tensor<16x256xf32>
  }
  // The step is not known.
  scf.for %i = %c0 to %c8 step %n {
    // expected-remark @+1 {{d0: %arg2 can be any integer, needed is a multiple of 8}}
    %0 = tensor.extract_slice %a[%i, 0] [8, 256] [1, 1] : tensor<64x256xf32, #f> to tensor<8x256xf32>
  }
  return
}

// Each dimension counts for itself, also where they have an offset in common.
func.func @diagonal(%a: tensor<64x256xf32, #f>, %i: index) {
  %c128 = arith.constant 128 : index
  %d = arith.muli %i, %c128 : index
  // expected-remark @+1 {{8 x 1 whole tiles of 8 x 128; 8 runs of 4096 bytes, 8 that are 8192 bytes apart}}
  %0 = tensor.extract_slice %a[0, %d] [64, 128] [1, 1] : tensor<64x256xf32, #f> to tensor<64x128xf32>
  // expected-remark @+1 {{d0: %arg1 can be any integer, needed is a multiple of 8: %arg1 must be a multiple of 8; d1: %arg1 can be any integer, needed is a multiple of 128: %arg1 must be a multiple of 128}}
  %1 = tensor.extract_slice %a[%i, %i] [8, 128] [1, 1] : tensor<64x256xf32, #f> to tensor<8x128xf32>
  return
}

// What overflows, or is no sum, is a variable.
func.func @variables(%a: tensor<64x256xf32, #f>, %i: index, %j: index) {
  %huge = arith.constant 0x4000000000000000 : index
  %c2 = arith.constant 2 : index
  %d0 = arith.muli %huge, %c2 : index
  %d1 = arith.muli %i, %j : index
  // expected-remark @+1 {{can be any integer, needed is a multiple of 128}}
  %0 = tensor.extract_slice %a[%d0, %d1] [64, 128] [1, 1] : tensor<64x256xf32, #f> to tensor<64x128xf32>
  return
}

// No remark: there is no layout, and row-major order is no news.
func.func @plain(%a: tensor<64x256xf32>, %i: index) -> tensor<8x256xf32> {
  %0 = tensor.extract_slice %a[%i, 0] [8, 256] [1, 1] : tensor<64x256xf32> to tensor<8x256xf32>
  return %0 : tensor<8x256xf32>
}

func.func @not_analyzed(%a: tensor<64x256xf32, #f>, %i: index, %b: tensor<?x256xf32, #f>) {
  // expected-remark @+1 {{slice that is not analyzed: unsupported sizes of the slice: expected numbers, found %}}
  %0 = tensor.extract_slice %a[0, 0] [%i, 256] [1, 1] : tensor<64x256xf32, #f> to tensor<?x256xf32>
  // expected-remark @+1 {{slice that is not analyzed: unsupported strides of the slice: expected 1 in each dimension}}
  %1 = tensor.extract_slice %a[0, 0] [8, 128] [1, 2] : tensor<64x256xf32, #f> to tensor<8x128xf32>
  // expected-remark @+1 {{slice that is not analyzed: }}
  %2 = tensor.extract_slice %b[0, 0] [8, 256] [1, 1] : tensor<?x256xf32, #f> to tensor<8x256xf32>
  return
}
