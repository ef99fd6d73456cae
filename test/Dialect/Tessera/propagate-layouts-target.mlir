// The target's default layout is a candidate: padding is worth a relayout.
// RUN: tessera-opt %s --tessera-propagate-layouts=remarks 2>&1 | FileCheck %s
// RUN: tessera-opt %s --tessera-propagate-layouts="remarks max-candidates=1" 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not tessera-opt %s --tessera-propagate-layouts=unknown-trips=0 2>&1 | FileCheck %s --check-prefix=TRIPS
// RUN: not tessera-opt %s --tessera-propagate-layouts=unknown-size=0 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not tessera-opt %s --tessera-propagate-layouts=max-candidates=17 2>&1 | FileCheck %s --check-prefix=CANDIDATES

// TRIPS: invalid unknown-trips: expected 1 or more, found 0
// SIZE: invalid unknown-size: expected 1 or more, found 0
// CANDIDATES: invalid max-candidates: expected 1 to 16, found 17

// ONE: remark: 7864320 bytes moved for layouts, 7864320 before
// ONE: tensor.empty() : tensor<4096x8xf32, #layout>

#wide = #tessera.layout<{1,0:T(8,128)}>

// CHECK: remark: 0 bytes moved for layouts, {{[1-9][0-9]*}} before
// CHECK: #[[NARROW:.*]] = #tessera.layout<{0,1:T(8,128)}>
// CHECK: tensor.empty() : tensor<4096x8xf32, #[[NARROW]]>
module attributes {tessera.target = #tessera.target<"tpu_v5e">} {
  func.func @narrow(%x: f32) -> f32 {
    %c0 = arith.constant 0 : index
    %e = tensor.empty() : tensor<4096x8xf32, #wide>
    %f = linalg.fill ins(%x : f32) outs(%e : tensor<4096x8xf32, #wide>) -> tensor<4096x8xf32, #wide>
    %g = math.exp %f : tensor<4096x8xf32, #wide>
    %i = tensor.empty() : tensor<f32>
    %s = linalg.reduce { arith.addf } ins(%g : tensor<4096x8xf32, #wide>) outs(%i : tensor<f32>) dimensions = [0, 1]
    %r = tensor.extract %s[] : tensor<f32>
    return %r : f32
  }
}
