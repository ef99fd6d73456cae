// RUN: tessera-opt %s | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --emit-bytecode | tessera-opt | FileCheck %s

#tiled = #tessera.layout<{1,0:T(8,128)}>
#fast = #tessera.layout<{1,0:T(8,128)S(1)}>

// CHECK: func.func private @fused
func.func private @fused(%x: tensor<8x128xf32, #tiled>) -> tensor<8x128xf32, #fast> {
  // An opcode that keeps layouts: tiles and space may differ.
  // CHECK: %exp = tessera_hlo.instruction "exponential"(%arg0) {name = "exp"} : (tensor<8x128xf32, #layout>) -> tensor<8x128xf32, #layout1>
  %0 = tessera_hlo.instruction "exponential"(%x) {name = "exp"}
      : (tensor<8x128xf32, #tiled>) -> tensor<8x128xf32, #fast>
  // Split configurations may differ too.
  // CHECK: tessera_hlo.instruction "convert"
  %1 = tessera_hlo.instruction "convert"(%x)
      : (tensor<8x128xf32, #tiled>) -> tensor<8x128xbf16, #tessera.layout<{1,0:SC(0:4)}>>
  return %0 : tensor<8x128xf32, #fast>
}

// CHECK: func.func @main
func.func @main(%x: tensor<8x128xf32, #tiled> {tessera_hlo.name = "x", tessera_hlo.position = 1}) -> tuple<tensor<8x128xf32, #fast>, !tessera_hlo.token> {
  // The example of the description.
  // CHECK: %fusion.1 = tessera_hlo.instruction "fusion"(%arg0) {hlo_attributes = {calls = @fused, kind = "kLoop"}, name = "fusion.1"} : (tensor<8x128xf32, #layout>) -> tensor<8x128xf32, #layout1>
  %y = tessera_hlo.instruction "fusion"(%x)
      {hlo_attributes = {calls = @fused, kind = "kLoop"}, name = "fusion.1"}
      : (tensor<8x128xf32, #tessera.layout<{1,0:T(8,128)}>>)
      -> tensor<8x128xf32, #tessera.layout<{1,0:T(8,128)S(1)}>>
  // Lists of functions; the step of an asynchronous instruction.
  // CHECK: "conditional"({{.*}}) {hlo_attributes = {branch_computations = [@fused, @fused]}}
  %c = tessera_hlo.instruction "constant"() literal "1" : () -> tensor<i32>
  %b = tessera_hlo.instruction "conditional"(%c, %x, %x)
      {hlo_attributes = {branch_computations = [@fused, @fused]}}
      : (tensor<i32>, tensor<8x128xf32, #tiled>, tensor<8x128xf32, #tiled>) -> tensor<8x128xf32, #fast>
  // CHECK: "all-reduce-start"
  %s = tessera_hlo.instruction "all-reduce-start"(%x) {hlo_attributes = {to_apply = @fused}}
      : (tensor<8x128xf32, #tiled>) -> tensor<8x128xf32, #tiled>
  // CHECK: "after-all"() : () -> !tessera_hlo.token
  %t = tessera_hlo.instruction "after-all"() : () -> !tessera_hlo.token
  // CHECK: "custom-call"() {{.*}} -> !tessera_hlo.buffer<tensor<2xf32, #{{.*}}>>
  %buffer = tessera_hlo.instruction "custom-call"() {hlo_attributes = {custom_call_target = "\22f\22"}}
      : () -> !tessera_hlo.buffer<tensor<2xf32, #tessera.layout<{0}>>>
  // CHECK: -> !tessera_hlo.opaque
  %opaque = tessera_hlo.instruction "custom-call"() {hlo_attributes = {custom_call_target = "\22f\22"}}
      : () -> !tessera_hlo.opaque
  %r = tessera_hlo.instruction "tuple"(%y, %t)
      : (tensor<8x128xf32, #fast>, !tessera_hlo.token) -> tuple<tensor<8x128xf32, #fast>, !tessera_hlo.token>
  return %r : tuple<tensor<8x128xf32, #fast>, !tessera_hlo.token>
}
