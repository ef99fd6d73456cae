// RUN: split-file %s %t
// RUN: tessera-opt %t/blocks.mlir -tessera-vectorize-contractions | FileCheck %t/blocks.mlir
// RUN: tessera-opt %t/blocks.mlir -tessera-vectorize-contractions="vector-bytes=64 vector-registers=32 bf16-pairs" \
// RUN:   | FileCheck %t/blocks.mlir --check-prefix=WIDE
// RUN: tessera-opt %t/blocks.mlir -tessera-vectorize-contractions=enabled=false \
// RUN:   | FileCheck %t/blocks.mlir --check-prefix=OFF
// RUN: tessera-opt %t/blocks.mlir -tessera-vectorize-contractions="threads=2 parallel-bytes=262144" \
// RUN:   | FileCheck %t/blocks.mlir --check-prefix=SHARED
// RUN: tessera-opt %t/left.mlir -tessera-vectorize-contractions -o /dev/null \
// RUN:   --remarks-filter-missed=tessera-vectorize-contractions \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %t/left.mlir

//--- blocks.mlir
// OFF-NOT: vector.

#tiles = #tessera.layout<{1,0:T(8,128)}>
#pairs = #tessera.layout<{1,0:T(8,128)(2,1)}>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Blocks of registers of whole tiles have no mask. Loops step through tiles, so
// that nothing is divided.
// Blocks of columns are shared where there is so much work: 8 * 256 * 32 sums
// of four bytes, and fewer in what follows.
// SHARED-LABEL: @tiles
// SHARED: affine.parallel (%{{.*}}) = (0) to (2)
// SHARED-LABEL: @pairs
// SHARED-NOT: affine.parallel
// CHECK-LABEL: @tiles
// CHECK-NOT: arith.div
// CHECK-NOT: arith.rem
// CHECK-NOT: vector.masked
// CHECK: affine.for
// CHECK: vector.load {{.*}} memref<2048xf32>, vector<8xf32>
// CHECK: affine.for {{.*}} iter_args
// CHECK: vector.load {{.*}} memref<8192xf32>, vector<8xf32>
// CHECK: memref.load {{.*}} : memref<1024xf32>
// CHECK: vector.broadcast {{.*}} : f32 to vector<8xf32>
// CHECK: arith.addf {{.*}} fastmath<contract> : vector<8xf32>
// CHECK: vector.store
// WIDE-LABEL: @tiles
// WIDE: vector.load {{.*}} memref<8192xf32>, vector<16xf32>
func.func @tiles(%a: memref<8x32xf32, #tiles>, %b: memref<32x256xf32, #tiles>, %c: memref<8x256xf32, #tiles>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<8x32xf32, #tiles>, memref<32x256xf32, #tiles>)
      outs(%c : memref<8x256xf32, #tiles>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %p = arith.mulf %l, %r fastmath<contract> : f32
    %s = arith.addf %sum, %p fastmath<contract> : f32
    linalg.yield %s : f32
  }
  return
}

// The last register is masked, and so is a pair of which one is padding. Pairs
// are words, whose halves are shifted to become f32.
// CHECK-LABEL: @pairs
// CHECK: memref.alloc() {{.*}} : memref<{{.*}}xf32>
// CHECK: vector.maskedload {{.*}} vector<16xi1>, vector<16xbf16> into vector<16xbf16>
// CHECK: vector.bitcast {{.*}} : vector<16xbf16> to vector<8xi32>
// CHECK: arith.shli
// CHECK: arith.andi
// CHECK: vector.maskedstore {{.*}} vector<8xi1>, vector<8xf32>
// WIDE-LABEL: @pairs
// WIDE: memref.alloc() {{.*}} : memref<{{.*}}xbf16>
// WIDE: x86vector.avx512.dot
// WIDE: vector.maskedstore {{.*}} vector<16xi1>, vector<16xf32>
func.func @pairs(%a: memref<3x9xbf16, #pairs>, %b: memref<9x21xbf16, #pairs>, %c: memref<3x21xf32>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<3x9xbf16, #pairs>, memref<9x21xbf16, #pairs>) outs(%c : memref<3x21xf32>) {
  ^bb0(%l: bf16, %r: bf16, %sum: f32):
    %x = arith.extf %l : bf16 to f32
    %y = arith.extf %r : bf16 to f32
    %p = arith.mulf %x, %y fastmath<contract> : f32
    %s = arith.addf %sum, %p fastmath<contract, reassoc> : f32
    linalg.yield %s : f32
  }
  return
}

// Products of pairs are rounded once, and so need flags.
// WIDE-LABEL: @no_flags
// WIDE-NOT: x86vector
// WIDE: arith.shli
// WIDE: return
func.func @no_flags(%a: memref<2x8xbf16>, %b: memref<8x16xbf16, #pairs>, %c: memref<2x16xf32>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<2x8xbf16>, memref<8x16xbf16, #pairs>) outs(%c : memref<2x16xf32>) {
  ^bb0(%l: bf16, %r: bf16, %sum: f32):
    %x = arith.extf %l : bf16 to f32
    %y = arith.extf %r : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Registers along the sum are added up at the end; pairs of rows are split.
// CHECK-LABEL: @along_sum
// CHECK: vector.load {{.*}} vector<16xbf16>
// CHECK: arith.shli
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK: arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: vector.reduction <add>, {{.*}} fastmath<reassoc> : vector<8xf32> into f32
// CHECK-NOT: linalg
func.func @along_sum(%a: memref<2x64xbf16, #pairs>, %b: memref<3x64xbf16>, %c: memref<2x3xf32>) {
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<2x64xbf16, #pairs>, memref<3x64xbf16>) outs(%c : memref<2x3xf32>) {
  ^bb0(%l: bf16, %r: bf16, %sum: f32):
    %x = arith.extf %l : bf16 to f32
    %y = arith.extf %r : bf16 to f32
    %p = arith.mulf %x, %y fastmath<contract> : f32
    %s = arith.addf %sum, %p fastmath<contract, reassoc> : f32
    linalg.yield %s : f32
  }
  return
}

// Named operations, and batches, are the same.
// CHECK-LABEL: @batches
// CHECK: affine.for
// CHECK: vector.store {{.*}} vector<8xi32>
// CHECK-NOT: linalg
func.func @batches(%a: memref<3x4x8xi32>, %b: memref<3x8x16xi32>, %c: memref<3x4x16xi32>) {
  linalg.batch_matmul ins(%a, %b : memref<3x4x8xi32>, memref<3x8x16xi32>) outs(%c : memref<3x4x16xi32>)
  return
}

// A window that moves by two; the sum runs through a row of it and its features
// at once, 3 * 2 of them for each of 4 rows.
// CHECK-LABEL: @window
// CHECK-COUNT-24: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: vector.store {{.*}} vector<8xf32>
// CHECK-NOT: linalg
#image = affine_map<(x, o, w, i) -> (x * 2 + w, i)>
#kernel = affine_map<(x, o, w, i) -> (w, i, o)>
#map = affine_map<(x, o, w, i) -> (x, o)>
func.func @window(%a: memref<9x2xf32>, %b: memref<3x2x8xf32>, %c: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#image, #kernel, #map], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : memref<9x2xf32>, memref<3x2x8xf32>) outs(%c : memref<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %p = arith.mulf %l, %r fastmath<contract> : f32
    %s = arith.addf %sum, %p fastmath<contract> : f32
    linalg.yield %s : f32
  }
  return
}

//--- left.mlir
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#threes = #tessera.layout<{1,0:T(8,3)}>
#fours = #tessera.layout<{1,0:T(4,4)}>

// CHECK: [[# @LINE + 2]]:3: remark: [Missed] ContractionLeft {{.*}}expected memrefs of static shape, of numbers of 8 to 64 bits, found memref<?x4xf32>
func.func @dynamic(%a: memref<?x4xf32>, %b: memref<4x8xf32>, %c: memref<?x8xf32>) {
  linalg.matmul ins(%a, %b : memref<?x4xf32>, memref<4x8xf32>) outs(%c : memref<?x8xf32>)
  return
}

// CHECK: [[# @LINE + 2]]:3: remark: [Missed] ContractionLeft {{.*}}expected elements stored with their own width, from the start of a buffer, found memref<4x4xf32, strided<[9, 1]>>
func.func @strided(%a: memref<4x4xf32, strided<[9, 1]>>, %b: memref<4x8xf32>, %c: memref<4x8xf32>) {
  linalg.matmul ins(%a, %b : memref<4x4xf32, strided<[9, 1]>>, memref<4x8xf32>) outs(%c : memref<4x8xf32>)
  return
}

// CHECK: [[# @LINE + 2]]:3: remark: [Missed] ContractionLeft {{.*}}expected tile sizes that divide one another, found others in dimension 1
func.func @no_chain(%a: memref<9x9xf32>, %b: memref<9x9xf32, #threes>, %c: memref<9x9xf32, #fours>) {
  linalg.matmul ins(%a, %b : memref<9x9xf32>, memref<9x9xf32, #threes>) outs(%c : memref<9x9xf32, #fours>)
  return
}

// CHECK: [[# @LINE + 3]]:3: remark: [Missed] ContractionLeft {{.*}}expected a dimension along which a factor and the result, or both factors, have neighbours in memory, found none
// (Along the sum both factors have, but sums without flags are in order.)
func.func @no_neighbours(%a: memref<9x9xf32>, %b: memref<9x9xf32, #tessera.layout<{0,1}>>, %c: memref<9x9xf32>) {
  linalg.matmul ins(%a, %b : memref<9x9xf32>, memref<9x9xf32, #tessera.layout<{0,1}>>) outs(%c : memref<9x9xf32>)
  return
}

// A dimension that the sum has not is not one of a contraction.
// CHECK: [[# @LINE + 2]]:3: remark: [Missed] ContractionLeft {{.*}}expected dimensions of rows, columns, sums or of all arrays, found dimension 2 of size 5
func.func @other_sum(%a: memref<4x5xf32>, %b: memref<8xf32>, %c: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#mk, affine_map<(m, n, k) -> (n)>, #mn],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<4x5xf32>, memref<8xf32>) outs(%c : memref<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  }
  return
}
