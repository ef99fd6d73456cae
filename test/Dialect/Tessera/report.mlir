// RUN: tessera-opt %s --tessera-report -o /dev/null | FileCheck %s
// RUN: tessera-opt %s --tessera-report=json -o /dev/null | %python -m json.tool | FileCheck %s --check-prefix=JSON
// RUN: tessera-opt %s --tessera-report=function=callee -o /dev/null | FileCheck %s --check-prefix=CALLEE
// RUN: tessera-opt %s --tessera-report=bound -o /dev/null | FileCheck %s --check-prefix=BOUND
// RUN: not tessera-opt %s --tessera-report=function=nothing -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE

// The example of the documentation, with a callee, a move between spaces, and a
// view that takes no memory of its own. Sizes by hand:
//   20 x 300 x 4 = 24000 bytes, in tiles 24 x 384 x 4 = 36864.

#tiled = #tessera.layout<{1,0:T(8,128)}>
#fast = #tessera.layout<{1,0:T(8,128)S(1)}>

// CHECK: arguments    24,064 bytes
// CHECK: outputs      36,864 bytes
// CHECK: relayouts    60,864 bytes
// BOUND: traffic 60,864 bytes (59.4 KiB) read and written that layouts decide; no assignment of them has less than 60,864 bytes
// CHECK: async copies 73,728 bytes
// The argument is live throughout, the source of the copy until it is awaited.
// CHECK: peak live at step all buffers
// CHECK-NEXT: 60864 0 60864 12864 60864 36864 S(0)
// What the callee is given and gives back is the caller's.
// CHECK-NEXT: 73728 4 73728 25728 0 36864 S(1)
// CHECK: most padding
// CHECK: 12864 of 36864 bytes are padding
// CHECK: most moved, of 2 moves
// CHECK: written, while 1 step runs
// CHECK-NOT: %%

// JSON-DAG: "argument_bytes": 24064
// JSON-DAG: "output_bytes": 36864

// CALLEE: arguments    36,864 bytes

// NONE: error: invalid function: expected a function named `nothing`, found none; name one with the option `function`

func.func private @callee(%x: tensor<20x300xf32, #fast>)
    -> tensor<20x300xf32, #fast> {
  return %x : tensor<20x300xf32, #fast>
}

func.func @main(%a: tensor<20x300xf32>) -> tensor<20x300xf32, #fast> {
  %b = tessera.relayout %a
      : tensor<20x300xf32> to tensor<20x300xf32, #tiled>
  %c, %t = tessera.copy_start %b
      : tensor<20x300xf32, #tiled> to tensor<20x300xf32, #fast>
  %n = arith.constant 1 : index
  tessera.copy_done %t
  %d = func.call @callee(%c)
      : (tensor<20x300xf32, #fast>) -> tensor<20x300xf32, #fast>
  return %d : tensor<20x300xf32, #fast>
}
