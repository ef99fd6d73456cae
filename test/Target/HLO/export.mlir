// What was not imported exports too: names are made up, constants written out.

// RUN: tessera-translate --export-hlo %s | FileCheck %s

// CHECK: HloModule main, entry_computation_layout={(f32[2,3]{0,1:T(2,2)}, f32[<=8]{0})->f32[2,3]{1,0}}

// CHECK: ENTRY %main (copy: f32[2,3], parameter: f32[<=8]) -> f32[2,3] {
func.func @main(%x: tensor<2x3xf32, #tessera.layout<{0,1:T(2,2)}>> {tessera_hlo.name = "copy"},
                %b: tensor<?xf32, #tessera.layout<{0:B(8)}>>) -> tensor<2x3xf32, #tessera.layout<{1,0}>> {
  // CHECK-NEXT: %copy = f32[2,3]{0,1:T(2,2)} parameter(0)
  // CHECK-NEXT: %parameter = f32[<=8]{0} parameter(1)
  // A name that is taken gets a number.
  // CHECK-NEXT: %copy.1 = f32[2,3]{1,0} copy(%copy)
  %0 = tessera.relayout %x : tensor<2x3xf32, #tessera.layout<{0,1:T(2,2)}>> to tensor<2x3xf32, #tessera.layout<{1,0}>>
  // CHECK-NEXT: %constant = f32[2,2]{{.*}} constant({{[{][{]}}1.5, -inf}, {nan(0x400000), -0.0}})
  %1 = arith.constant dense<[[1.5, 0xFF800000], [0x7FC00000, -0.0]]> : tensor<2x2xf32>
  // CHECK-NEXT: %constant.1 = pred[] constant(true)
  %2 = arith.constant dense<true> : tensor<i1>
  // CHECK-NEXT: %constant.2 = c64[1]{{.*}} constant({(1, 2)})
  %3 = arith.constant dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>
  // CHECK-NEXT: %constant.3 = f32[2,0]{{.*}} constant({{[{][{]}}}, {}})
  %4 = arith.constant dense<> : tensor<2x0xf32>
  // A name given twice is given once.
  // CHECK-NEXT: %constant.4 = u8[] constant(255)
  %5 = arith.constant {tessera_hlo.name = "copy"} dense<255> : tensor<ui8>
  // CHECK-NEXT: ROOT %out = f32[2,3]{1,0} negate(%copy.1)
  %6 = tessera_hlo.instruction "negate"(%0) {name = "out"} : (tensor<2x3xf32, #tessera.layout<{1,0}>>) -> tensor<2x3xf32, #tessera.layout<{1,0}>>
  return %6 : tensor<2x3xf32, #tessera.layout<{1,0}>>
}
