// RUN: tessera-opt %s --tessera-vectorize-relayouts -split-input-file \
// RUN:   | FileCheck %s
// RUN: tessera-opt %s --tessera-vectorize-relayouts='vector-bytes=64 cpu=znver5' \
// RUN:   -split-input-file | FileCheck %s --check-prefix=WIDE
// RUN: tessera-opt %s --tessera-vectorize-relayouts=vector-bytes=64 \
// RUN:   -split-input-file | FileCheck %s --check-prefix=LANES
// RUN: tessera-opt %s -split-input-file \
// RUN:   --tessera-vectorize-relayouts='nontemporal-bytes=1024 threads=2 parallel-bytes=1024' \
// RUN:   | FileCheck %s --check-prefix=STREAM

// Rows of 128 are contiguous on both sides.

// CHECK-LABEL: func @tile
// CHECK: %[[SRC:.+]] = memref.collapse_shape %arg0
// CHECK: %[[VIEW:.+]] = tessera.physical_view %arg1
// CHECK: %[[DST:.+]] = memref.collapse_shape %[[VIEW]]
// CHECK: affine.for %{{.+}} = 0 to 2
// CHECK: vector.load %[[SRC]][%{{.+}}] {alignment = 1 : i64} : memref<1024xf32>, vector<8xf32>
// CHECK: vector.store %{{.+}}, %[[DST]][%{{.+}}] {alignment = 1 : i64} : memref<1024xf32>, vector<8xf32>
// CHECK-NOT: tessera.relayout
// WIDE-LABEL: func @tile
// WIDE: vector.load {{.+}} vector<16xf32>

// An aligned destination is written around the cache, one line at a time, and
// fenced; each thread fences its own stores. Off a line, lines are made of two
// runs.

// STREAM-LABEL: func @tile
// STREAM: memref.extract_aligned_pointer_as_index
// STREAM: scf.if
// STREAM: vector.store {{.+}} {alignment = 32 : i64, nontemporal = true}
// STREAM: llvm.call_intrinsic "llvm.x86.sse.sfence"
// STREAM: else
// STREAM: vector.maskedload
// STREAM: vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
// STREAM: else
// STREAM-NOT: nontemporal
// STREAM: return
func.func @tile(%src: memref<4x256xf32>,
    %dst: memref<4x256xf32, #tessera.layout<{1,0:T(4,128)}>>) {
  tessera.relayout %src into %dst
      : memref<4x256xf32>, memref<4x256xf32, #tessera.layout<{1,0:T(4,128)}>>
  return
}

// -----

// A transpose loads 16 bytes of each row and unpacks within lanes. Where that is
// better for the processor, registers of 64 bytes are loaded at once, and lanes
// are split afterwards.

// CHECK-LABEL: func @transpose
// CHECK: affine.for %{{.+}} = 0 to 2
// CHECK: affine.for %{{.+}} = 0 to 2
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xi32>, vector<8xi32>
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [2, 10, 3, 11, 6, 14, 7, 15] : vector<8xi32>, vector<8xi32>
// WIDE-LABEL: func @transpose
// WIDE: vector.load {{.+}} vector<16xf32>
// WIDE: vector.shuffle %{{.+}}, %{{.+}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29] : vector<16xi32>, vector<16xi32>
// WIDE: vector.shuffle %{{.+}}, %{{.+}} [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27] : vector<16xi32>, vector<16xi32>
// LANES-LABEL: func @transpose
// LANES: vector.load {{.+}} vector<4xf32>
// LANES-NOT: vector.load {{.+}} vector<16xf32>
// LANES: vector.store {{.+}} vector<16xf32>
// STREAM-LABEL: func @transpose
// STREAM: affine.parallel
// STREAM: memref.alloca() {alignment = 64 : i64, relayout_stage}
func.func @transpose(%src: memref<256x32xf32>,
    %dst: memref<256x32xf32, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<256x32xf32>, memref<256x32xf32, #tessera.layout<{0,1}>>
  return
}

// -----

// Two rows of bf16 are interleaved.

// CHECK-LABEL: func @interleave
// CHECK: vector.bitcast %{{.+}} : vector<16xbf16> to vector<16xi16>
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [0, 16, 1, 17, 2, 18
func.func @interleave(%src: memref<8x128xbf16>,
    %dst: memref<8x128xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>) {
  tessera.relayout %src into %dst : memref<8x128xbf16>,
      memref<8x128xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
  return
}

// -----

// Padding with PV is filled in the same function.

// CHECK-LABEL: func @fill
// CHECK: vector.load
// CHECK: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK: vector.broadcast %[[ONE]] : f32 to vector<8xf32>
// CHECK-NOT: tessera.relayout
func.func @fill(%src: memref<30x250xf32>,
    %dst: memref<30x250xf32, #tessera.layout<{1,0:T(8,128)PV(one)}>>) {
  tessera.relayout %src into %dst : memref<30x250xf32>,
      memref<30x250xf32, #tessera.layout<{1,0:T(8,128)PV(one)}>>
  return
}

// -----

// Packed elements on both sides are bytes that are packed from parts of bytes;
// on one side only they stay: a memref of i4 is no memref of bytes.

// CHECK-LABEL: func @packed
// CHECK: vector.load {{.*}} : memref<512xi8>
// CHECK: arith.shli
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}} : memref<512xi8>
// CHECK: tessera.relayout
// CHECK-NOT: tessera.relayout
func.func @packed(
    %a: memref<8x128xi4, #tessera.layout<{1,0:E(4)}>>,
    %b: memref<8x128xi4, #tessera.layout<{1,0:T(8,128)(8,1)E(4)}>>,
    %c: memref<8x128xi4>) {
  tessera.relayout %a into %b
      : memref<8x128xi4, #tessera.layout<{1,0:E(4)}>>,
        memref<8x128xi4, #tessera.layout<{1,0:T(8,128)(8,1)E(4)}>>
  tessera.relayout %c into %b
      : memref<8x128xi4>,
        memref<8x128xi4, #tessera.layout<{1,0:T(8,128)(8,1)E(4)}>>
  return
}

// -----

// What has no plan stays: divisors of one side that do not divide one another, bits,
// dynamic sizes, unsigned padding.

// CHECK-LABEL: func @left
// CHECK-COUNT-4: tessera.relayout
func.func @left(
    %a: memref<16x4xf32, #tessera.layout<{1,0:T(8,4)(3,1)}>>,
    %b: memref<16x4xf32, #tessera.layout<{1,0:T(4,4)}>>,
    %c: memref<8xi1>, %d: memref<8xi1, #tessera.layout<{0:T(4)}>>,
    %e: memref<?xf32>, %f: memref<?xf32, #tessera.layout<{0:T(4)}>>,
    %g: memref<6xui8>, %h: memref<6xui8, #tessera.layout<{0:T(4)PV(one)}>>) {
  tessera.relayout %a into %b : memref<16x4xf32, #tessera.layout<{1,0:T(8,4)(3,1)}>>,
      memref<16x4xf32, #tessera.layout<{1,0:T(4,4)}>>
  tessera.relayout %c into %d
      : memref<8xi1>, memref<8xi1, #tessera.layout<{0:T(4)}>>
  tessera.relayout %e into %f
      : memref<?xf32>, memref<?xf32, #tessera.layout<{0:T(4)}>>
  tessera.relayout %g into %h
      : memref<6xui8>, memref<6xui8, #tessera.layout<{0:T(4)PV(one)}>>
  return
}

// Bounds stand for sizes where they are the same on both sides; widths in PD
// and other bounds do not.

// CHECK-LABEL: func.func @bounds
// CHECK-NOT: tessera.relayout
// CHECK: return
func.func @bounds(%a: memref<?x256xf32, #tessera.layout<{1,0:B(16,?)}>>,
                  %b: memref<?x256xf32, #tessera.layout<{1,0:T(8,128)B(16,?)}>>) {
  tessera.relayout %a into %b
      : memref<?x256xf32, #tessera.layout<{1,0:B(16,?)}>>,
        memref<?x256xf32, #tessera.layout<{1,0:T(8,128)B(16,?)}>>
  return
}

// CHECK-LABEL: func.func @widths
// CHECK-COUNT-2: tessera.relayout
func.func @widths(%a: memref<?x256xf32, #tessera.layout<{1,0:PD(16,256)}>>,
                  %b: memref<?x256xf32, #tessera.layout<{1,0:T(8,128)PD(16,256)}>>,
                  %c: memref<?x256xf32, #tessera.layout<{1,0:B(16,?)}>>,
                  %d: memref<?x256xf32, #tessera.layout<{1,0:B(24,?)}>>) {
  tessera.relayout %a into %b
      : memref<?x256xf32, #tessera.layout<{1,0:PD(16,256)}>>,
        memref<?x256xf32, #tessera.layout<{1,0:T(8,128)PD(16,256)}>>
  tessera.relayout %c into %d
      : memref<?x256xf32, #tessera.layout<{1,0:B(16,?)}>>,
        memref<?x256xf32, #tessera.layout<{1,0:B(24,?)}>>
  return
}

// -----

// Kernels allocate in functions. Outside of one a relayout stays as it is.
// CHECK: module
// CHECK: tessera.relayout
// STREAM: module
// STREAM: tessera.relayout
%src = memref.alloc() : memref<4096x4096xf32>
%dst = memref.alloc() : memref<4096x4096xf32, #tessera.layout<{0,1}>>
tessera.relayout %src into %dst
    : memref<4096x4096xf32>, memref<4096x4096xf32, #tessera.layout<{0,1}>>

// -----

// A memref with static strides is moved by kernels, wherever it begins.

// CHECK-LABEL: func.func @strided
// CHECK-NOT: tessera.relayout
// CHECK-NOT: memref.copy
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [%{{.*}}], sizes: [1920], strides: [1] : memref<f32> to memref<1920xf32, strided<[1], offset: ?>>
// CHECK: vector.load %{{.*}} : memref<1920xf32, strided<[1], offset: ?>>, vector<8xf32>
// CHECK: vector.store %{{.*}} : memref<1920xf32, strided<[1], offset: ?>>, vector<8xf32>
// CHECK: return
func.func @strided(%a: memref<8x128xf32, strided<[256, 1], offset: ?>>, %b: memref<8x128xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  tessera.relayout %a into %b : memref<8x128xf32, strided<[256, 1], offset: ?>>, memref<8x128xf32, #tessera.layout<{1,0:T(8,128)}>>
  memref.copy %b, %a : memref<8x128xf32, #tessera.layout<{1,0:T(8,128)}>> to memref<8x128xf32, strided<[256, 1], offset: ?>>
  return
}

// CHECK-LABEL: func.func @strided_left
// CHECK-COUNT-3: tessera.relayout
func.func @strided_left(%a: memref<8x128xf32, strided<[?, 1]>>, %b: memref<8x128xf32, strided<[2, 3]>>,
                        %c: memref<8x128xf32, strided<[0, 1]>>, %d: memref<8x128xf32>) {
  tessera.relayout %a into %d : memref<8x128xf32, strided<[?, 1]>>, memref<8x128xf32>
  tessera.relayout %b into %d : memref<8x128xf32, strided<[2, 3]>>, memref<8x128xf32>
  tessera.relayout %c into %d : memref<8x128xf32, strided<[0, 1]>>, memref<8x128xf32>
  return
}
