func.func private @same(%t: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  return %t, %t : tensor<4xi32>, tensor<4xi32>
}
func.func @main(%t: tensor<4xi32> {bufferization.writable = false}, %v: i32) -> (tensor<4xi32>, i32) {
  %c0 = arith.constant 0 : index
  %0:2 = call @same(%t) : (tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  %1 = tensor.insert %v into %0#0[%c0] : tensor<4xi32>
  %2 = tensor.extract %0#1[%c0] : tensor<4xi32>
  return %1, %2 : tensor<4xi32>, i32
}
