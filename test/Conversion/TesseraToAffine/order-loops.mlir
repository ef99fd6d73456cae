// RUN: tessera-opt %s -tessera-linalg-to-loops | FileCheck %s --check-prefix=MARK
// RUN: tessera-opt %s -tessera-linalg-to-loops -tessera-lower-layouts -canonicalize | FileCheck %s

#tiles = #tessera.layout<{1,0:T(8,128)(2,1)}>
#id = affine_map<(i, j) -> (i, j)>

// Loops over pairs of rows are the innermost ones, as in memory.

// MARK-LABEL: func.func @negate
// MARK: } {tessera_has_any_order}
// MARK-NEXT: } {tessera_has_any_order}
// CHECK-LABEL: func.func @negate
// CHECK: affine.for %[[A:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[B:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[D:.*]] = 0 to 128 {
// CHECK-NEXT: affine.for %[[E:.*]] = 0 to 2 {
// CHECK: affine.store %{{.*}}, %{{.*}}[%[[A]], %[[B]], %[[C]], %[[D]], %[[E]], 0]
// CHECK-NOT: tessera_has_any_order
func.func @negate(%a: memref<16x256xbf16, #tiles>, %b: memref<16x256xbf16, #tiles>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<16x256xbf16, #tiles>) outs(%b : memref<16x256xbf16, #tiles>) {
  ^bb0(%x: bf16, %y: bf16):
    %z = arith.negf %x : bf16
    linalg.yield %z : bf16
  }
  return
}

// What bounds a loop stays outside of it: the last tiles are shorter.

// CHECK-LABEL: func.func @short
// CHECK: affine.for %[[A:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[B:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to min #{{.*}}(%[[A]]) {
// CHECK-NEXT: affine.for %[[D:.*]] = 0 to min #{{.*}}(%[[B]]) {
// CHECK-NEXT: affine.for %[[E:.*]] = 0 to min #{{.*}}(%[[A]], %[[C]]) {
func.func @short(%b: memref<13x250xbf16, #tiles>, %x: bf16) {
  linalg.fill ins(%x : bf16) outs(%b : memref<13x250xbf16, #tiles>)
  return
}

// Sums keep their order, and arrays without layouts have no mark.

// MARK-LABEL: func.func @sum
// MARK-NOT: tessera_has_any_order
// CHECK-LABEL: func.func @sum
// CHECK: affine.for %[[I:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[K:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 2 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 128 {
#row = affine_map<(i, j) -> (i)>
func.func @sum(%a: memref<16x256xbf16, #tiles>, %b: memref<16xbf16>, %c: memref<4xbf16>, %x: bf16) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<16x256xbf16, #tiles>) outs(%b : memref<16xbf16>) {
  ^bb0(%v: bf16, %s: bf16):
    %z = arith.addf %v, %s : bf16
    linalg.yield %z : bf16
  }
  linalg.fill ins(%x : bf16) outs(%c : memref<4xbf16>)
  return
}

// An index that is read leaves the other subscripts affine: columns need no
// division.

// MARK-LABEL: func.func @gather
// CHECK-LABEL: func.func @gather
// CHECK: affine.for %[[A:.*]] = 0 to 2 {
// CHECK: affine.for %[[B:.*]] = 0 to 2 {
// CHECK: affine.for %[[D:.*]] = 0 to 128 {
// CHECK: %[[ROW:.*]] = memref.load
// CHECK-NOT: %c128
// CHECK: memref.load %{{.*}}[%{{.*}}, %[[B]], %{{.*}}, %[[D]], %{{.*}}, %c0]
func.func @gather(%a: memref<1000x256xbf16, #tiles>, %i: memref<16xindex>, %b: memref<16x256xbf16, #tiles>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%b : memref<16x256xbf16, #tiles>) {
  ^bb0(%y: bf16):
    %r = linalg.index 0 : index
    %c = linalg.index 1 : index
    %row = memref.load %i[%r] : memref<16xindex>
    %z = memref.load %a[%row, %c] : memref<1000x256xbf16, #tiles>
    linalg.yield %z : bf16
  }
  return
}
