// RUN: tessera-opt %s --split-input-file --verify-diagnostics -tessera-assign-address-spaces | FileCheck %s
// RUN: tessera-opt %s --split-input-file "-tessera-assign-address-spaces=map=1:4,*:7" | FileCheck %s --check-prefix=MAP

// The target of the module says where its spaces are; the map comes before it.
// It is gone then.

// CHECK-LABEL: module @gpu {
// CHECK: func.func @f(%{{.*}}: memref<8xf32, 3>, %{{.*}}: memref<8xf32, 1>, %{{.*}}: memref<8xf32>)
// MAP: func.func @f(%{{.*}}: memref<8xf32, 7>, %{{.*}}: memref<8xf32, 4>, %{{.*}}: memref<8xf32>)
module @gpu attributes {tessera.target = #tessera.target<"nvgpu">} {
  func.func @f(%a: memref<8xf32, #tessera.memory_space<3>>,
               %b: memref<8xf32, #tessera.memory_space<1>>, %c: memref<8xf32>) {
    return
  }
}

// -----

// A machine of one's own; address space 0 is written as none.
// CHECK-LABEL: module @own {
// CHECK: func.func @f(%{{.*}}: memref<8xf32, 9>, %{{.*}}: memref<8xf32>)
module @own attributes {tessera.target = #tessera.target<"mine", [
    <number = 0, name = "dram">, <number = 1, name = "sram", address_space = 9>,
    <number = 2, name = "scratch">]>} {
  func.func @f(%a: memref<8xf32, #tessera.memory_space<1>>,
               %b: memref<8xf32, #tessera.memory_space<2>>) {
    return
  }
}

// -----

// A space that the target does not have. The IR stays as it was.
module @missing attributes {tessera.target = #tessera.target<"cpu">} {
  // expected-error @+1 {{unsupported memory space: expected a space that the target cpu has, found 1; add 1:N to the option map, which comes before the target}}
  func.func @f(%a: memref<8xf32, #tessera.memory_space<1>>) {
    return
  }
}
