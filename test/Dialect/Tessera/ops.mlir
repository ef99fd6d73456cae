// RUN: tessera-opt %s -split-input-file | tessera-opt -split-input-file | FileCheck %s
// RUN: tessera-opt %s -split-input-file -mlir-print-op-generic | tessera-opt -split-input-file | FileCheck %s

#rows = #tessera.layout<{1,0}>
#tiled = #tessera.layout<{1,0:T(8,128)}>
#tiled_s1 = #tessera.layout<{1,0:T(8,128)S(1)}>
#columns = #tessera.layout<{0,1}>

// CHECK-LABEL: func.func @relayout_tensor
func.func @relayout_tensor(%a: tensor<40x256xf32>) {
  // CHECK: tessera.relayout %{{.*}} : tensor<40x256xf32> to tensor<40x256xf32, #[[TILED:layout[0-9]*]]>
  %tiled = tessera.relayout %a : tensor<40x256xf32> to tensor<40x256xf32, #tiled>
  // CHECK: tessera.relayout %{{.*}} {tag} : tensor<40x256xf32, #[[TILED]]> to tensor<40x256xf32, #{{.*}}>
  %moved = tessera.relayout %tiled {tag} : tensor<40x256xf32, #tiled> to tensor<40x256xf32, #tiled_s1>
  return
}

// CHECK-LABEL: func.func @relayout_memref
func.func @relayout_memref(%src: memref<40x256xf32>,
                           %dst: memref<40x256xf32, #columns, #tessera.memory_space<1>>) {
  // CHECK: tessera.relayout %{{.*}} into %{{.*}} : memref<40x256xf32>, memref<40x256xf32, #{{.*}}, #tessera.memory_space<1>>
  tessera.relayout %src into %dst : memref<40x256xf32>, memref<40x256xf32, #columns, #tessera.memory_space<1>>
  return
}

// CHECK-LABEL: func.func @relayout_dynamic
func.func @relayout_dynamic(%a: tensor<?x256xf32>, %src: memref<?x256xf32>, %dst: memref<?x256xf32, #tiled>) {
  // CHECK: tessera.relayout %{{.*}} : tensor<?x256xf32> to tensor<?x256xf32, #{{.*}}>
  %0 = tessera.relayout %a : tensor<?x256xf32> to tensor<?x256xf32, #tiled>
  // A bound may appear: the size at run time is at most it.
  // CHECK: tessera.relayout %{{.*}} : tensor<?x256xf32, #{{.*}}> to tensor<?x256xf32, #{{.*}}>
  %1 = tessera.relayout %0 : tensor<?x256xf32, #tiled> to tensor<?x256xf32, #tessera.layout<{1,0:B(64,?)}>>
  // CHECK: tessera.relayout %{{.*}} into %{{.*}} : memref<?x256xf32>, memref<?x256xf32, #{{.*}}>
  tessera.relayout %src into %dst : memref<?x256xf32>, memref<?x256xf32, #tiled>
  return
}

// Scalars, empty arrays, and memory without a layout of ours.
// CHECK-LABEL: func.func @relayout_corners
func.func @relayout_corners(%s: tensor<f32>, %z: tensor<0x5xf32>,
                            %m: memref<4x4xf32, strided<[8, 1], offset: ?>>, %d: memref<4x4xf32, #columns>) {
  // CHECK: tessera.relayout
  %0 = tessera.relayout %s : tensor<f32> to tensor<f32, #tessera.layout<{:T(256)}>>
  // CHECK: tessera.relayout
  %1 = tessera.relayout %z : tensor<0x5xf32> to tensor<0x5xf32, #tiled>
  // CHECK: tessera.relayout
  tessera.relayout %m into %d : memref<4x4xf32, strided<[8, 1], offset: ?>>, memref<4x4xf32, #columns>
  return
}

// CHECK-LABEL: func.func @bitcast
func.func @bitcast(%a: tensor<8x32xf32, #rows>, %b: tensor<40x256xf32, #tiled>, %c: tensor<8x16xf32>) {
  // A transposition that moves nothing.
  // CHECK: tessera.bitcast %{{.*}} : tensor<8x32xf32, #{{.*}}> to tensor<32x8xf32, #{{.*}}>
  %0 = tessera.bitcast %a : tensor<8x32xf32, #rows> to tensor<32x8xf32, #columns>
  // A slice: the rows of the result end in what was the operand's.
  // CHECK: tessera.bitcast %{{.*}} : tensor<40x256xf32, #{{.*}}> to tensor<40x200xf32, #{{.*}}>
  %1 = tessera.bitcast %b : tensor<40x256xf32, #tiled> to tensor<40x200xf32, #tiled>
  // CHECK: tessera.bitcast %{{.*}} fused : tensor<40x256xf32, #{{.*}}> to tensor<40x200xf32, #{{.*}}>
  %2 = tessera.bitcast %b fused : tensor<40x256xf32, #tiled> to tensor<40x200xf32, #tiled_s1>
  // Another element type; no layout is the descending one.
  // CHECK: tessera.bitcast %{{.*}} : tensor<8x16xf32> to tensor<128xi32, #{{.*}}>
  %3 = tessera.bitcast %c : tensor<8x16xf32> to tensor<128xi32, #tessera.layout<{0}>>
  return
}

// Dynamic sizes are the operand's, in order; bytes are not compared.
// CHECK-LABEL: func.func @bitcast_dynamic
func.func @bitcast_dynamic(%a: tensor<?x32xf32>, %b: tensor<?x32xf32, #tessera.layout<{1,0:B(8,?)}>>) {
  // CHECK: tessera.bitcast %{{.*}} : tensor<?x32xf32> to tensor<32x?xf32, #{{.*}}>
  %0 = tessera.bitcast %a : tensor<?x32xf32> to tensor<32x?xf32, #columns>
  // CHECK: tessera.bitcast %{{.*}} : tensor<?x32xf32, #{{.*}}> to tensor<?x32xf32, #{{.*}}>
  %1 = tessera.bitcast %b : tensor<?x32xf32, #tessera.layout<{1,0:B(8,?)}>> to tensor<?x32xf32, #tessera.layout<{1,0:T(1,32)B(8,?)}>>
  return
}

// CHECK-LABEL: func.func @empty
func.func @empty(%n: index) {
  // CHECK: tessera.empty() : tensor<40x256xf32, #{{.*}}>
  %0 = tessera.empty() : tensor<40x256xf32, #tiled>
  // CHECK: tessera.empty(%{{.*}}) : tensor<?x256xf32, #{{.*}}>
  %1 = tessera.empty(%n) : tensor<?x256xf32, #tiled>
  // CHECK: tessera.empty(%{{.*}}, %{{.*}}) : tensor<?x?xf32>
  %2 = tessera.empty(%n, %n) : tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @physical_view
func.func @physical_view(
    %tiled: memref<40x250xf32, #tiled, #tessera.memory_space<1>>,
    %plain: memref<40x250xf32>,
    %columns: memref<3x5xf32, #columns>,
    %wide: memref<2x3xf32, #tessera.layout<{0,1:PD(3,5)PV(zero)}>>,
    %tail: memref<3x5xf32, #tessera.layout<{1,0:L(16)}>>,
    %no_tail: memref<4x4xf32, #tessera.layout<{1,0:L(16)}>>,
    %packed: memref<3x5xi4, #tessera.layout<{1,0:E(4)}>>,
    %container: memref<3x5xi4, #tessera.layout<{1,0:E(16)}>>,
    %scalar: memref<f32, #tessera.layout<{:T(256)}>>) {
  // CHECK: to memref<5x2x8x128xf32, #tessera.memory_space<1>>
  %0 = tessera.physical_view %tiled : memref<40x250xf32, #tiled, #tessera.memory_space<1>> to memref<5x2x8x128xf32, #tessera.memory_space<1>>
  // CHECK: to memref<40x250xf32>
  %1 = tessera.physical_view %plain : memref<40x250xf32> to memref<40x250xf32>
  // CHECK: to memref<5x3xf32>
  %2 = tessera.physical_view %columns : memref<3x5xf32, #columns> to memref<5x3xf32>
  // CHECK: to memref<5x3xf32>
  %3 = tessera.physical_view %wide : memref<2x3xf32, #tessera.layout<{0,1:PD(3,5)PV(zero)}>> to memref<5x3xf32>
  // A tail makes the buffer flat.
  // CHECK: to memref<16xf32>
  %4 = tessera.physical_view %tail : memref<3x5xf32, #tessera.layout<{1,0:L(16)}>> to memref<16xf32>
  // CHECK: to memref<4x4xf32>
  %5 = tessera.physical_view %no_tail : memref<4x4xf32, #tessera.layout<{1,0:L(16)}>> to memref<4x4xf32>
  // Packed elements are bytes.
  // CHECK: to memref<8xi8>
  %6 = tessera.physical_view %packed : memref<3x5xi4, #tessera.layout<{1,0:E(4)}>> to memref<8xi8>
  // CHECK: to memref<3x5xi16>
  %7 = tessera.physical_view %container : memref<3x5xi4, #tessera.layout<{1,0:E(16)}>> to memref<3x5xi16>
  // CHECK: to memref<1x256xf32>
  %8 = tessera.physical_view %scalar : memref<f32, #tessera.layout<{:T(256)}>> to memref<1x256xf32>
  return
}

// CHECK-LABEL: func.func @physical_view_dynamic
func.func @physical_view_dynamic(
    %free: memref<?x250xf32, #tiled>,
    %bound: memref<?x250xf32, #tessera.layout<{1,0:T(8,128)B(33,?)}>>,
    %tail: memref<?x5xf32, #tessera.layout<{1,0:L(16)}>>,
    %packed: memref<?x5xi4, #tessera.layout<{1,0:E(4)}>>) {
  // CHECK: to memref<?x2x8x128xf32>
  %0 = tessera.physical_view %free : memref<?x250xf32, #tiled> to memref<?x2x8x128xf32>
  // CHECK: to memref<5x2x8x128xf32>
  %1 = tessera.physical_view %bound : memref<?x250xf32, #tessera.layout<{1,0:T(8,128)B(33,?)}>> to memref<5x2x8x128xf32>
  // CHECK: to memref<?xf32>
  %2 = tessera.physical_view %tail : memref<?x5xf32, #tessera.layout<{1,0:L(16)}>> to memref<?xf32>
  // CHECK: to memref<?xi8>
  %3 = tessera.physical_view %packed : memref<?x5xi4, #tessera.layout<{1,0:E(4)}>> to memref<?xi8>
  return
}
