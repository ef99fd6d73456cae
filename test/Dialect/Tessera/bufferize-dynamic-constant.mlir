// RUN: not tessera-opt %s --canonicalize --tessera-bufferize 2>&1 | FileCheck %s

// The fold makes a constant of a dynamic shape, which no buffer can hold.

// CHECK: error: 'arith.constant' op unsupported dimensions: expected sizes that are known, found 'tensor<?xi32>'; bufferize before --canonicalize
func.func @zero(%a: tensor<?xi32>) -> tensor<?xi32> {
  %0 = arith.xori %a, %a : tensor<?xi32>
  return %0 : tensor<?xi32>
}
