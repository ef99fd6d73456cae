// RUN: tessera-opt %s -split-input-file \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=64 nontemporal-bytes=1024 cpu=znver5' \
// RUN:   | FileCheck %s
// RUN: tessera-opt %s -split-input-file \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=64 nontemporal-bytes=1024' \
// RUN:   | FileCheck %s --check-prefix=OTHERS

// Rows that lie one behind another are copied into tiles of a line of each, 512
// at a time, and prefetched past the caches. The buffer has room for one line
// more in each tile: 64 * (512 + 1) * 64, and as much as makes a power of two.
// It is made before all loops; what is left of the rows has the same one. Where
// there is no memory for it, everything is moved without.

// CHECK-LABEL: func @panels
// CHECK: %[[STRIP:.+]] = memref.alloc() {alignment = 64 : i64, bufferization.manual_deallocation} : memref<4194304xi8>
// CHECK: %[[ADDRESS:.+]] = memref.extract_aligned_pointer_as_index %[[STRIP]]
// CHECK: %[[IS_THERE:.+]] = arith.cmpi ne, %[[ADDRESS]]
// CHECK: scf.if %[[IS_THERE]] {
// CHECK: affine.for %{{.+}} = 0 to 2 {
// CHECK: affine.for %{{.+}} = 0 to 512 {
// CHECK: affine.for %{{.+}} = 0 to 64 {
// CHECK: memref.prefetch %{{.+}}, read, locality<0>
// CHECK: vector.store %{{.+}}, %[[STRIP]]{{.+}} vector<64xi8>
// CHECK: affine.for %{{.+}} = 0 to 64 {
// CHECK: vector.load %[[STRIP]]{{.+}} vector<16xi8>
// CHECK: vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
// CHECK-NOT: memref.alloc(
// CHECK: affine.for %{{.+}} = 0 to 320 {
// CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"
// CHECK: } else {
// CHECK: memref.store %{{.+}}, %[[FLAG:.+]][] : memref<i8>
// CHECK: memref.dealloc %[[STRIP]] {bufferization.manual_deallocation}
// CHECK: %[[IS_MISSING:.+]] = memref.load %[[FLAG]][]
// CHECK: scf.if
// CHECK: tessera.relayout %arg0 into %arg1
// OTHERS-LABEL: func @panels
// OTHERS-NOT: memref.alloc(
// OTHERS: return
func.func @panels(%src: memref<1344x4096xi8>,
    %dst: memref<1344x4096xi8, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<1344x4096xi8>, memref<1344x4096xi8, #tessera.layout<{0,1}>>
  return
}

// -----

// Columns begin anywhere in a line: a panel takes 16 rows more, and writes the
// two lines of each column that begin in its 32 rows; the first one also has
// what comes before. Short panels are kept on the stack.

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
