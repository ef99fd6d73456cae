// Stock passes take affine loops to kernels for a GPU (docs/gpu.md). There is one
// for each piece of an array that is full or ragged in the same dimensions.
// REQUIRES: nvptx
// RUN: tessera-opt %s --tessera-to-affine | mlir-opt @%tessera_src_root/examples/relayouts_to_ptx.rsp | sed -e 's/\\0A/\n/g' -e 's/\\09/ /g' | FileCheck %s

// Full tiles: 12 * 2 * 8 * 128 elements are 96 blocks of 256 threads.
// CHECK-LABEL: func.func @to_tiles
// CHECK-DAG:     %[[BLOCKS:c[0-9]+]] = arith.constant 96 : index
// CHECK:         gpu.launch_func @to_tiles_kernel::@to_tiles_kernel blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c256, %c1, %c1) args(%arg0 : memref<100x300xbf16>, %arg1 : memref<13x3x4x128x2x1xbf16>)
// CHECK-COUNT-3: gpu.launch_func
// CHECK-NOT:     memref.store
// CHECK:         return

// Two neighbouring threads write the two elements of a word, and the next two
// threads the next word. All threads have work.
// CHECK:         gpu.binary @to_tiles_kernel [#gpu.object<#nvvm.target<chip = "sm_80">
// CHECK:         .visible .entry to_tiles_kernel(
// CHECK-NOT:     bra
// CHECK:         mov.u32 %[[BLOCK:r[0-9]+]], %ctaid.x;
// CHECK:         mov.u32 %[[THREAD:r[0-9]+]], %tid.x;
// CHECK:         shl.b32 %[[FIRST:r[0-9]+]], %[[BLOCK]], 8;
// CHECK:         or.b32 %[[NARROW:r[0-9]+]], %[[FIRST]], %[[THREAD]];
// CHECK:         cvt.u64.u32 %[[NUMBER:rd[0-9]+]], %[[NARROW]];
// CHECK-DAG:     and.b64 %[[ELEMENT:rd[0-9]+]], %[[NUMBER]], 1;
// CHECK-DAG:     bfe.u64 %[[COLUMN:rd[0-9]+]], %[[NUMBER]], 1, 7;
// CHECK:         ld.global.b16 %[[VALUE:rs[0-9]+]],
// CHECK:         shl.b64 %[[COLUMN_BYTES:rd[0-9]+]], %[[COLUMN]], 2;
// CHECK:         add.s64 %[[WORD:rd[0-9]+]], %{{.*}}, %[[COLUMN_BYTES]];
// CHECK:         shl.b64 %[[ELEMENT_BYTES:rd[0-9]+]], %[[ELEMENT]], 1;
// CHECK:         add.s64 %[[ADDRESS:rd[0-9]+]], %[[WORD]], %[[ELEMENT_BYTES]];
// CHECK:         st.global.b16 [%[[ADDRESS]]], %[[VALUE]];

// The columns that are left over, 12 * 8 * 44 elements, are no multiple of 256.
// CHECK:         gpu.binary @to_tiles_kernel_1
// CHECK:         setp.gt.u32 %[[BEHIND:p[0-9]+]], %{{.*}}, 4223;
// CHECK-NEXT:    @%[[BEHIND]] bra [[END:\$L[A-Z0-9_]+]];
// CHECK:         st.global.b16
// CHECK-NEXT:    [[END]]:
// CHECK-NEXT:    ret;
func.func @to_tiles(%src: memref<100x300xbf16>,
                    %dst: memref<100x300xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>) {
  tessera.relayout %src into %dst
      : memref<100x300xbf16>,
        memref<100x300xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
  return
}

// Back again, 256 threads write 256 neighbouring elements of a row of 600 bytes.
// CHECK-LABEL: func.func @from_tiles
// CHECK:         .visible .entry from_tiles_kernel(
// CHECK:         ld.global.b16 %[[VALUE:rs[0-9]+]],
// CHECK:         and.b64 %[[COLUMN:rd[0-9]+]], %{{.*}}, 255;
// CHECK-NEXT:    mad.lo.s64 %[[ROW:rd[0-9]+]], %{{.*}}, 600, %{{.*}};
// CHECK-NEXT:    shl.b64 %[[BYTES:rd[0-9]+]], %[[COLUMN]], 1;
// CHECK-NEXT:    add.s64 %[[ADDRESS:rd[0-9]+]], %[[ROW]], %[[BYTES]];
// CHECK-NEXT:    st.global.b16 [%[[ADDRESS]]], %[[VALUE]];
func.func @from_tiles(%src: memref<100x300xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>,
                      %dst: memref<100x300xbf16>) {
  tessera.relayout %src into %dst
      : memref<100x300xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>,
        memref<100x300xbf16>
  return
}

// A transpose writes the destination from end to end, and reads a row apart.
// CHECK-LABEL: func.func @transpose
// CHECK:         .visible .entry transpose_kernel(
// CHECK:         mov.u32 %[[BLOCK:r[0-9]+]], %ctaid.x;
// CHECK:         mov.u32 %[[THREAD:r[0-9]+]], %tid.x;
// CHECK:         shl.b32 %[[FIRST:r[0-9]+]], %[[BLOCK]], 8;
// CHECK:         or.b32 %[[NUMBER:r[0-9]+]], %[[FIRST]], %[[THREAD]];
// CHECK:         setp.gt.u32 %{{.*}}, %[[NUMBER]], 30602;
// CHECK:         mul.wide.u32 %{{.*}}, %{{.*}}, 1212;
// CHECK:         ld.global.b32 %[[VALUE:r[0-9]+]],
// CHECK:         mul.wide.u32 %[[BYTES:rd[0-9]+]], %[[NUMBER]], 4;
// CHECK:         add.s64 %[[ADDRESS:rd[0-9]+]], %{{.*}}, %[[BYTES]];
// CHECK:         st.global.b32 [%[[ADDRESS]]], %[[VALUE]];
func.func @transpose(%src: memref<101x303xf32>,
                     %dst: memref<101x303xf32, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<101x303xf32>, memref<101x303xf32, #tessera.layout<{0,1}>>
  return
}

// Loops that write the padding that is promised do not begin at zero.
// CHECK-LABEL: func.func @promised
// CHECK-COUNT-7: gpu.launch_func
// CHECK-NOT:     memref.store
// CHECK:         return
func.func @promised(%src: memref<9x130xf32>,
                    %dst: memref<9x130xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>) {
  tessera.relayout %src into %dst
      : memref<9x130xf32>,
        memref<9x130xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>
  return
}

// Space 1 is global memory of NVPTX.
// CHECK-LABEL: func.func @spaces
// CHECK:         .entry spaces_kernel(
// CHECK-NEXT:    .param .u64 .ptr .global .align 1 spaces_kernel_param_0,
func.func @spaces(%src: memref<16x128xf32, #tessera.memory_space<1>>,
                  %dst: memref<16x128xf32, #tessera.layout<{1,0:T(8,128)}>>) {
  tessera.relayout %src into %dst
      : memref<16x128xf32, #tessera.memory_space<1>>,
        memref<16x128xf32, #tessera.layout<{1,0:T(8,128)}>>
  return
}
