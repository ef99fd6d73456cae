// The option, the module's target, and neither.

// RUN: split-file %s %t
// RUN: tessera-opt %t/own.mlir --allow-unregistered-dialect --tessera-assign-layouts | FileCheck %s --check-prefix=OWN
// RUN: tessera-opt %t/own.mlir --allow-unregistered-dialect --tessera-assign-layouts=target=tpu_v4 | FileCheck %s --check-prefix=OPTION
// RUN: not tessera-opt %t/none.mlir --tessera-assign-layouts 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tessera-opt %t/none.mlir --tessera-assign-layouts=target=tpu 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// OWN: #tessera.layout<{0:E(4)}>
// OPTION: #tessera.layout<{0:T(1024)(128)(8,1)E(4)}>
// OPTION: tessera.target = #tessera.target<"tpu_v4">
// NONE: error: invalid target: expected one by the option or of the module, found none; say target=tpu_v5e, or put tessera.target on the module
// UNKNOWN: error: unsupported target: expected one of cpu, tpu_v2, {{.*}}, tpu_v4, {{.*}}, found 'tpu'

//--- own.mlir
module attributes {tessera.target = #tessera.target<"cpu">} {
  func.func @f(%x: tensor<4xi4>) -> tensor<4xi4> {
    %0 = "test.other"(%x) : (tensor<4xi4>) -> tensor<4xi4>
    return %x : tensor<4xi4>
  }
}
//--- none.mlir
module {}
