// RUN: tessera-opt %s -tessera-assign-address-spaces | FileCheck %s --check-prefix=SAME
// RUN: tessera-opt %s -tessera-assign-address-spaces=map=1:3,5:0 | FileCheck %s --check-prefix=MAPPED
// RUN: tessera-opt %s "-tessera-assign-address-spaces=map=1:3,*:7" | FileCheck %s --check-prefix=REST
// RUN: not tessera-opt %s -tessera-assign-address-spaces=map=1:3 2>&1 | FileCheck %s --check-prefix=UNMAPPED
// RUN: not tessera-opt %s -tessera-assign-address-spaces=map=0:3 2>&1 | FileCheck %s --check-prefix=BAD

// Without a map a space keeps its number. Address space 0 is written as none.

// SAME: memref.global "private" @g : memref<4xf32, 1>
// MAPPED: memref.global "private" @g : memref<4xf32, 3>
memref.global "private" @g : memref<4xf32, #tessera.memory_space<1>>

// SAME: func.func @f(%{{.*}}: memref<8xf32, 1>, %{{.*}}: memref<*xf32, 5>, %{{.*}}: memref<8xf32>)
// MAPPED: func.func @f(%{{.*}}: memref<8xf32, 3>, %{{.*}}: memref<*xf32>, %{{.*}}: memref<8xf32>)
// REST: func.func @f(%{{.*}}: memref<8xf32, 3>, %{{.*}}: memref<*xf32, 7>, %{{.*}}: memref<8xf32>)
// UNMAPPED: assign-address-spaces.mlir:[[@LINE+2]]:1: error: 'func.func' op unsupported memory space: expected a space that the option map has, found 5; add 5:N to map
// BAD: error: invalid option map: expected entries SPACE:ADDRESS-SPACE, where SPACE is 1 or more, or `*` for all others, found `0:3`
func.func @f(%a: memref<8xf32, #tessera.memory_space<1>>,
             %b: memref<*xf32, #tessera.memory_space<5>>, %c: memref<8xf32>) {
  // MAPPED: memref.alloc() : memref<2xf32, 3>
  %0 = memref.alloc() : memref<2xf32, #tessera.memory_space<1>>
  return
}
