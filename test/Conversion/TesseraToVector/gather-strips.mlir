// RUN: tessera-opt %s -split-input-file \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=64 streaming-bytes=1024 cpu=znver5' \
// RUN:   | FileCheck %s
// RUN: tessera-opt %s -split-input-file \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=64 streaming-bytes=1024' \
// RUN:   | FileCheck %s --check-prefix=OTHERS

// Rows that lie one behind another are copied into tiles of a line of each, 512
// at a time, and fetched past the caches. The buffer has room for one line
// more in each tile: 16 * (512 + 1) * 64. It is made before the loop over
// strips; what is left has one of its own.

// CHECK-LABEL: func @strips
// CHECK: %[[STRIP:.+]] = memref.alloc() {alignment = 64 : i64} : memref<525312xi8>
// CHECK: affine.for %{{.+}} = 0 to 2 {
// CHECK: affine.for %{{.+}} = 0 to 512 {
// CHECK: affine.for %{{.+}} = 0 to 16 {
// CHECK: memref.prefetch %{{.+}}, read, locality<0>
// CHECK: vector.store %{{.+}}, %[[STRIP]]{{.+}} vector<64xi8>
// CHECK: affine.for %{{.+}} = 0 to 16 {
// CHECK: vector.load %[[STRIP]]{{.+}} vector<16xi8>
// CHECK: vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
// CHECK: memref.dealloc %[[STRIP]]
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<525312xi8>
// CHECK: affine.for %{{.+}} = 0 to 320 {
// CHECK: memref.dealloc
// CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"
// OTHERS-LABEL: func @strips
// OTHERS-NOT: memref.alloc(
// OTHERS: return
func.func @strips(%src: memref<1344x1024xi8>,
    %dst: memref<1344x1024xi8, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<1344x1024xi8>, memref<1344x1024xi8, #tessera.layout<{0,1}>>
  return
}

// -----

// Columns begin anywhere in a line: a strip takes 16 rows more, and writes the
// two lines of each column that begin in its 32 rows; the first one also has
// what comes before. Short strips are kept on the stack.

// CHECK-LABEL: func @ragged
// CHECK: memref.alloca() {alignment = 64 : i64, relayout_stage}
// CHECK-NOT: memref.alloc(
// CHECK: affine.for %{{.+}} = 0 to 6 {
// CHECK: affine.for %{{.+}} = 0 to 48 {
// CHECK: %[[IS_FIRST:.+]] = arith.cmpi eq
// CHECK: scf.if %[[IS_FIRST]]
// CHECK: vector.maskedstore
// CHECK: vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
// CHECK: affine.for %{{.+}} = 0 to 18 {
// CHECK: vector.maskedstore
func.func @ragged(%src: memref<210x64xf32>,
    %dst: memref<210x64xf32, #tessera.layout<{0,1:PD(211,64)}>>) {
  tessera.relayout %src into %dst
      : memref<210x64xf32>,
        memref<210x64xf32, #tessera.layout<{0,1:PD(211,64)}>>
  return
}
