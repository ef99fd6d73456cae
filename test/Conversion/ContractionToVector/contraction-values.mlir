// Products of pairs of tiles, for registers of all widths and numbers, have the
// values of loops over row-major arrays. Elements are small integers: sums are
// exact in any order.

// DEFINE: %{options} =
// DEFINE: %{run} = tessera-opt %s --tessera-to-llvm="poison-padding deallocate %{options}" \
// DEFINE:   | mlir-runner -e main -entry-point-result=i32 | FileCheck %s

// REDEFINE: %{options} = vector-bytes=16 vector-registers=16
// RUN: %{run}
// REDEFINE: %{options} = vector-bytes=16 vector-registers=4
// RUN: %{run}
// REDEFINE: %{options} = vector-bytes=32 vector-registers=16
// RUN: %{run}
// REDEFINE: %{options} = vector-bytes=64 vector-registers=32
// RUN: %{run}
// REDEFINE: %{options} = vectorize=false
// RUN: %{run}

// CHECK: {{^}}0{{$}}

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
!lhs = tensor<21x301xbf16>
!rhs = tensor<301x150xbf16>
!sum = tensor<21x150xf32>
!lhs_pairs = tensor<21x301xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
!rhs_pairs = tensor<301x150xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
!rhs_along = tensor<301x150xbf16, #tessera.layout<{0,1:T(8,128)(2,1)}>>
!sum_tiles = tensor<21x150xf32, #tessera.layout<{1,0:T(8,128)}>>

// The number (7 i + 3 j) mod 9 - 4 for each i and j.
func.func private @number(%i: index, %j: index) -> bf16 {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %c9 = arith.constant 9 : index
  %x = arith.muli %i, %c7 : index
  %y = arith.muli %j, %c3 : index
  %z = arith.addi %x, %y : index
  %r = arith.remui %z, %c9 : index
  %s = arith.subi %r, %c4 : index
  %t = arith.index_cast %s : index to i32
  %f = arith.sitofp %t : i32 to bf16
  return %f : bf16
}

// Loops that are no contraction: they subtract.
func.func private @expected(%a: !lhs, %b: !rhs, %zeros: !sum) -> !sum {
  %r = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : !lhs, !rhs) outs(%zeros : !sum) {
  ^bb0(%l: bf16, %m: bf16, %sum: f32):
    %x = arith.extf %l : bf16 to f32
    %y = arith.extf %m : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %n = arith.negf %p : f32
    %s = arith.subf %sum, %n : f32
    linalg.yield %s : f32
  } -> !sum
  return %r : !sum
}

func.func private @columns(%a: !lhs, %b: !rhs, %zeros: !sum) -> !sum {
  %at = tessera.relayout %a : !lhs to !lhs_pairs
  %bt = tessera.relayout %b : !rhs to !rhs_pairs
  %ct = tessera.relayout %zeros : !sum to !sum_tiles
  %r = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%at, %bt : !lhs_pairs, !rhs_pairs) outs(%ct : !sum_tiles) {
  ^bb0(%l: bf16, %m: bf16, %sum: f32):
    %x = arith.extf %l : bf16 to f32
    %y = arith.extf %m : bf16 to f32
    %p = arith.mulf %x, %y fastmath<contract> : f32
    %s = arith.addf %sum, %p fastmath<contract, reassoc> : f32
    linalg.yield %s : f32
  } -> !sum_tiles
  %plain = tessera.relayout %r : !sum_tiles to !sum
  return %plain : !sum
}

func.func private @along(%a: !lhs, %b: !rhs, %zeros: !sum) -> !sum {
  %at = tessera.relayout %a : !lhs to !lhs_pairs
  %bt = tessera.relayout %b : !rhs to !rhs_along
  %ct = tessera.relayout %zeros : !sum to !sum_tiles
  %r = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%at, %bt : !lhs_pairs, !rhs_along) outs(%ct : !sum_tiles) {
  ^bb0(%l: bf16, %m: bf16, %sum: f32):
    %x = arith.extf %l : bf16 to f32
    %y = arith.extf %m : bf16 to f32
    %p = arith.mulf %x, %y fastmath<contract> : f32
    %s = arith.addf %sum, %p fastmath<contract, reassoc> : f32
    linalg.yield %s : f32
  } -> !sum_tiles
  %plain = tessera.relayout %r : !sum_tiles to !sum
  return %plain : !sum
}

// How many elements differ.
func.func private @compare(%a: !sum, %b: !sum) -> i32 {
  %zero = arith.constant dense<0> : tensor<i32>
  %count = linalg.generic {indexing_maps = [#id, #id, affine_map<(m, n) -> ()>],
                           iterator_types = ["reduction", "reduction"]}
      ins(%a, %b : !sum, !sum) outs(%zero : tensor<i32>) {
  ^bb0(%x: f32, %y: f32, %n: i32):
    %differs = arith.cmpf une, %x, %y : f32
    %one = arith.extui %differs : i1 to i32
    %s = arith.addi %n, %one : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  %r = tensor.extract %count[] : tensor<i32>
  return %r : i32
}

func.func @main() -> i32 {
  %zeros = arith.constant dense<0.0> : !sum
  %a = tensor.generate {
  ^bb0(%i: index, %j: index):
    %n = func.call @number(%i, %j) : (index, index) -> bf16
    tensor.yield %n : bf16
  } : !lhs
  %b = tensor.generate {
  ^bb0(%i: index, %j: index):
    %n = func.call @number(%j, %i) : (index, index) -> bf16
    tensor.yield %n : bf16
  } : !rhs
  %e = func.call @expected(%a, %b, %zeros) : (!lhs, !rhs, !sum) -> !sum
  %c = func.call @columns(%a, %b, %zeros) : (!lhs, !rhs, !sum) -> !sum
  %d = func.call @along(%a, %b, %zeros) : (!lhs, !rhs, !sum) -> !sum
  %x = func.call @compare(%c, %e) : (!sum, !sum) -> i32
  %y = func.call @compare(%d, %e) : (!sum, !sum) -> i32
  %s = arith.addi %x, %y : i32
  return %s : i32
}
