func.func private @same(%t: tensor<4xi32>) -> tensor<4xi32> {
  return %t : tensor<4xi32>
}
func.func private @f() -> tensor<4xi32> {
  %c = arith.constant dense<[1,2,3,4]> : tensor<4xi32>
  %0 = call @same(%c) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func @main(%v: i32) -> (tensor<4xi32>, tensor<4xi32>) {
  %c0 = arith.constant 0 : index
  %0 = call @f() : () -> tensor<4xi32>
  %1 = tensor.insert %v into %0[%c0] : tensor<4xi32>
  %2 = call @f() : () -> tensor<4xi32>
  return %1, %2 : tensor<4xi32>, tensor<4xi32>
}
