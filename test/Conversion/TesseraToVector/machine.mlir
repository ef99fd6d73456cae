// A file of measurements decides plans: by coefficients, and by what was tuned.

// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{opt} = tessera-opt %t/in.mlir --tessera-vectorize-relayouts
// RUN: %{opt}='vector-bytes=64 cpu=znver5' | FileCheck %s --check-prefix=RULE
// RUN: %{opt}='vector-bytes=64 machine=%t/costs.json' | FileCheck %s --check-prefix=COSTS
// RUN: %{opt}='vector-bytes=64 cpu=znver5 machine=%t/costs.json' | FileCheck %s --check-prefix=COSTS
// RUN: %{opt}='vector-bytes=64 machine=%t/costs.json nontemporal-bytes=1048576' | FileCheck %s --check-prefix=LARGE
// RUN: %{opt}='vector-bytes=64 machine=%t/tuned.json' | FileCheck %s --check-prefix=TUNED
// RUN: %{opt}='vector-bytes=64 machine=%t/tuned.json buffers=hot' | FileCheck %s --check-prefix=HOT
// RUN: %{opt}='vector-bytes=64 machine=%t/tuned.json threads=2' | FileCheck %s --check-prefix=RULE
// RUN: tessera-opt %t/in.mlir --tessera-to-llvm='vector-bytes=64 machine=%t/tuned.json' > %t/tuned.ll
// RUN: tessera-opt %t/in.mlir --tessera-to-llvm='vector-bytes=64 cpu=znver5' > %t/rule.ll
// RUN: not cmp -s %t/tuned.ll %t/rule.ll

// The file alone decides: twice the same, and in every function of a module.
// RUN: %{opt}='vector-bytes=64 machine=%t/tuned.json' > %t/once.mlir
// RUN: tessera-opt %t/in.mlir --pass-pipeline='builtin.module(func.func(tessera-vectorize-relayouts{vector-bytes=64 machine=%t/tuned.json}))' > %t/twice.mlir
// RUN: cmp %t/once.mlir %t/twice.mlir

// One of AArch64 has no fence of x86, and no stores around the cache.
// RUN: %{opt}='machine=%t/arm.json' | FileCheck %s --check-prefix=ARM

// Errors.
// RUN: not %{opt}='machine=%t/tuned.json cpu=znver4' 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: invalid file of a machine: expected measurements of `znver4`, which code is for, found those of `znver5`; name that processor, or another file
// RUN: not tessera-opt %t/in.mlir --tessera-to-llvm='machine=%t/tuned.json cpu=znver4 vectorize=false' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not %{opt}=machine=%t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: invalid input file: expected a file that can be read, found `{{.*}}none.json`
// RUN: not %{opt}=machine=%t/in.mlir 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: invalid file of a machine: expected what tessera-compile calibrate writes, {{.*}}; calibrate again, or mend the field in `{{.*}}in.mlir`
// RUN: not %{opt}=machine=%t/range.json 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: invalid file of a machine: {{.*}}a value that is no number in the range at machine.costs.copy-streams
// RUN: not %{opt}=buffers=warm 2>&1 | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: error: invalid option buffers: expected unknown, hot or cold, found `warm`

//--- costs.json
{"schema": "tessera.machine", "version": 1, "cpu": "znver5",
 "costs": {"nontemporal-bytes": 65536}}
//--- tuned.json
{"schema": "tessera.machine", "version": 1, "cpu": "znver5",
 "relayouts": [
   {"source": "f32[256,256]{1,0}", "destination": "f32[256,256]{0,1}",
    "threads": 1, "plan": {"row-bytes": 64, "column-bytes": 64}},
   {"source": "f32[256,256]{1,0}", "destination": "f32[256,256]{0,1}",
    "threads": 1, "buffers": "hot",
    "plan": {"row-bytes": 128, "column-bytes": 64}},
   {"source": "s32[256,256]{1,0}", "destination": "s32[256,256]{0,1}",
    "threads": 1, "plan": {"row-bytes": 64, "column-bytes": 64}}]}
//--- arm.json
{"schema": "tessera.machine", "version": 1, "cpu": "neoverse-v1",
 "costs": {"nontemporal-bytes": 65536}}
//--- range.json
{"schema": "tessera.machine", "version": 1, "cpu": "znver5",
 "costs": {"copy-streams": 0}}
//--- in.mlir
// RULE-LABEL: func @transpose
// RULE-NEXT: memref.collapse_shape
// RULE: affine.for %{{.+}} = 0 to 8
// RULE-NEXT: affine.for %{{.+}} = 0 to 2
// RULE-NOT: nontemporal
// COSTS-LABEL: func @transpose
// COSTS: nontemporal = true
// COSTS: llvm.x86.sse.sfence
// LARGE-LABEL: func @transpose
// LARGE-NOT: nontemporal
// ARM-LABEL: func @transpose
// ARM-NOT: nontemporal
// TUNED-LABEL: func @transpose
// TUNED: affine.for %{{.+}} = 0 to 16
// TUNED-NEXT: affine.for %{{.+}} = 0 to 16
// HOT-LABEL: func @transpose
// HOT: affine.for %{{.+}} = 0 to 16
// HOT-NEXT: affine.for %{{.+}} = 0 to 8
func.func @transpose(%src: memref<256x256xf32>,
    %dst: memref<256x256xf32, #tessera.layout<{0,1}>, #tessera.memory_space<1>>) {
  tessera.relayout %src into %dst
      : memref<256x256xf32>,
        memref<256x256xf32, #tessera.layout<{0,1}>, #tessera.memory_space<1>>
  return
}
// Signless integers are signed ones in the file.
// TUNED-LABEL: func @integers
// TUNED: affine.for %{{.+}} = 0 to 16
// TUNED-NEXT: affine.for %{{.+}} = 0 to 16
// HOT-LABEL: func @integers
// HOT: affine.for %{{.+}} = 0 to 8
// HOT-NEXT: affine.for %{{.+}} = 0 to 2
func.func @integers(%src: memref<256x256xi32>,
    %dst: memref<256x256xi32, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<256x256xi32>, memref<256x256xi32, #tessera.layout<{0,1}>>
  return
}
// Arrays that the notation cannot write have no entry.
// TUNED-LABEL: func @strided
// TUNED: affine.for %{{.+}} = 0 to 8
// TUNED-NEXT: affine.for %{{.+}} = 0 to 2
func.func @strided(%src: memref<256x256xf32, strided<[300, 1]>>,
    %dst: memref<256x256xf32, #tessera.layout<{0,1}>>) {
  tessera.relayout %src into %dst
      : memref<256x256xf32, strided<[300, 1]>>,
        memref<256x256xf32, #tessera.layout<{0,1}>>
  return
}
