func.func private @callee() -> tensor<3xi64> {
  %c = arith.constant dense<[1, 2, 3]> : tensor<3xi64>
  return %c : tensor<3xi64>
}
func.func @main(%v: i64, %i: index) -> tensor<3xi64> {
  %a = func.call @callee() : () -> tensor<3xi64>
  %b = tensor.insert %v into %a[%i] : tensor<3xi64>
  return %b : tensor<3xi64>
}
