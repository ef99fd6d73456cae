// RUN: not tessera-opt %s --tessera-bufferize 2>&1 | FileCheck %s

// The parser counts the elements in 64 bits, and finds none.

// CHECK: error: 'arith.constant' op invalid size of the padded array: expected a product of extents within 64 bits, found an overflow
func.func @huge() -> tensor<4294967296x4294967296x4294967296xf32> {
  %0 = arith.constant dense<> : tensor<4294967296x4294967296x4294967296xf32>
  return %0 : tensor<4294967296x4294967296x4294967296xf32>
}
