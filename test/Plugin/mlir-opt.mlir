// A stock mlir-opt knows the dialect and the passes once it loads the plugin.

// The stock tool has no sanitizer to run this plugin with.
// UNSUPPORTED: sanitized

// RUN: mlir-opt %s --load-dialect-plugin=%tessera_lib_dir/TesseraPlugin%shlibext \
// RUN:   --load-pass-plugin=%tessera_lib_dir/TesseraPlugin%shlibext \
// RUN:   --pass-pipeline='builtin.module(tessera-verify,canonicalize)' | FileCheck %s

// Without it the dialect is unknown.
// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=STOCK

// Options of passes are there too, with their errors.
// RUN: not mlir-opt %s --load-dialect-plugin=%tessera_lib_dir/TesseraPlugin%shlibext \
// RUN:   --load-pass-plugin=%tessera_lib_dir/TesseraPlugin%shlibext \
// RUN:   --pass-pipeline='builtin.module(tessera-vectorize-relayouts{machine=%t.none})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MACHINE
// MACHINE: error: invalid input file: expected a file that can be read, found `{{.*}}.none`

// CHECK: #[[TILED:.+]] = #tessera.layout<{1,0:T(8,128)}>
// STOCK: error: {{.*}}tessera

// CHECK-LABEL: func @there_and_back(
// CHECK-SAME: %[[A:.+]]: tensor<16x256xf32>
func.func @there_and_back(%a: tensor<16x256xf32>)
    -> tensor<16x256xf32, #tessera.layout<{1,0:T(8,128)}>> {
  // CHECK-NEXT: tessera.relayout %[[A]] : tensor<16x256xf32> to tensor<16x256xf32, #[[TILED]]>
  %b = tessera.relayout %a
      : tensor<16x256xf32> to tensor<16x256xf32, #tessera.layout<{1,0:T(8,128)}>>
  return %b : tensor<16x256xf32, #tessera.layout<{1,0:T(8,128)}>>
}
