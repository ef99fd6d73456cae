// RUN: tessera-opt %s -emit-bytecode | tessera-opt | FileCheck %s
// RUN: tessera-opt %s > %t.mlir
// RUN: tessera-opt %s -emit-bytecode | tessera-opt > %t.bytecode.mlir
// RUN: diff %t.mlir %t.bytecode.mlir

// CHECK-DAG: #[[ALL:.*]] = #tessera.layout<{1,0:T(*,8)(2,1)L(16)E(32)S(3)SC(0:8)M(64)PD(16,256)PV(lowest)}>
// CHECK-DAG: #[[TILED:.*]] = #tessera.layout<{1,0:T(8,128)}>

// CHECK-LABEL: func.func @round_trip
// CHECK-SAME: tensor<10x200xf32, #[[ALL]]>, %{{.*}}: memref<10x200xf32, #[[TILED]], #tessera.memory_space<1>>
func.func @round_trip(
    %a: tensor<10x200xf32, #tessera.layout<{1,0:T(*,8)(2,1)L(16)E(32)S(3)SC(0:8)M(64)PD(16,256)PV(lowest)}>>,
    %m: memref<10x200xf32, #tessera.layout<{1,0:T(8,128)}>, #tessera.memory_space<1>>)
    attributes {shape = #tessera.shape<"(f32[2]{0}, token[])">, tile = #tessera.tile<(*,8)>} {
  // CHECK: tessera.relayout %{{.*}} : tensor<10x200xf32, #[[ALL]]> to tensor<10x200xf32>
  %0 = tessera.relayout %a : tensor<10x200xf32, #tessera.layout<{1,0:T(*,8)(2,1)L(16)E(32)S(3)SC(0:8)M(64)PD(16,256)PV(lowest)}>> to tensor<10x200xf32>
  // CHECK: tessera.bitcast %{{.*}} fused : tensor<10x200xf32> to tensor<2000xf32>
  %1 = tessera.bitcast %0 fused : tensor<10x200xf32> to tensor<2000xf32>
  // CHECK: tessera.relayout %{{.*}} into %{{.*}} : memref<10x200xf32, #[[TILED]], #tessera.memory_space<1>>, memref<10x200xf32, #[[TILED]], #tessera.memory_space<1>>
  tessera.relayout %m into %m : memref<10x200xf32, #tessera.layout<{1,0:T(8,128)}>, #tessera.memory_space<1>>, memref<10x200xf32, #tessera.layout<{1,0:T(8,128)}>, #tessera.memory_space<1>>
  return
}
