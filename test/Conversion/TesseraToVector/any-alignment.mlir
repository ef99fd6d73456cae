// RUN: tessera-opt %s --split-input-file \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=64 nontemporal-bytes=1024 cpu=znver5' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: tessera-opt %s --split-input-file \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=32 nontemporal-bytes=1024' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,NARROW

// Where stores are nontemporal, the destination's address chooses the code, also
// where it is no symbol to `affine`: within another operation. Rows of 801 are
// taken from the first that begins a line, 785 of them, and 16 are left at
// either end, 785 apart. Narrower registers look for the line of every column.

// CHECK-LABEL: func @odd
// CHECK: scf.if %arg0
// CHECK: %[[BYTES:.+]] = memref.extract_aligned_pointer_as_index %{{.+}} : memref<29637xf32>
// CHECK: %[[THREE:.+]] = arith.constant 3 : index
// CHECK: %[[POSITION:.+]] = arith.andi %[[BYTES]], %[[THREE]] : index
// CHECK: %[[ZERO:.+]] = arith.constant 0 : index
// CHECK: %[[ELEMENT:.+]] = arith.cmpi eq, %[[POSITION]], %[[ZERO]] : index
// CHECK: scf.if %[[ELEMENT]]
// CHECK: %[[LINE:.+]] = arith.constant 63 : index
// CHECK: %[[INLINE:.+]] = arith.andi %{{.+}}, %[[LINE]] : index
// CHECK: %[[SIZE:.+]] = arith.constant 4 : index
// CHECK: arith.divui %[[INLINE]], %[[SIZE]] : index
// WIDE: affine.for %{{.+}} = 0 to 24
// WIDE: vector.store %{{.+}} {alignment = 64 : i64, nontemporal = true} : memref<29637xf32>, vector<16xf32>
// NARROW: vector.store %{{.+}} {alignment = 32 : i64, nontemporal = true} : memref<29637xf32>, vector<8xf32>
// CHECK: } else {
// CHECK-NOT: nontemporal = true
// CHECK: return
func.func @odd(%condition: i1, %src: memref<801x37xf32>,
    %dst: memref<801x37xf32, #tessera.layout<{0,1}>>) {
  scf.if %condition {
    tessera.relayout %src into %dst
        : memref<801x37xf32>, memref<801x37xf32, #tessera.layout<{0,1}>>
  }
  return
}
