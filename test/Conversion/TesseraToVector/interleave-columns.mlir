// RUN: tessera-opt %s \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=64 nontemporal-bytes=1024' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: tessera-opt %s \
// RUN:   --tessera-vectorize-relayouts='vector-bytes=32 nontemporal-bytes=1024' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,NARROW

// The last registers of 80 columns overlap those before. Each line of the 320
// bytes is written once nevertheless, past the caches: a line that has bypassed
// them would be read back from memory to be written again.

// CHECK-LABEL: func @columns
// WIDE-COUNT-5: vector.store %{{.+}}, %{{.+}} {alignment = 64 : i64, nontemporal = true}
// NARROW-COUNT-10: vector.store %{{.+}}, %{{.+}} {alignment = 32 : i64, nontemporal = true}
// CHECK-NOT: vector.store
// CHECK: } else {
// CHECK-NOT: nontemporal
// CHECK: return
func.func @columns(%src: memref<32x80xi8>,
    %dst: memref<32x80xi8, #tessera.layout<{1,0:T(32,128)(4,1)}>>) {
  tessera.relayout %src into %dst
      : memref<32x80xi8>, memref<32x80xi8, #tessera.layout<{1,0:T(32,128)(4,1)}>>
  return
}
