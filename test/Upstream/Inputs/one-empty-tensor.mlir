func.func @f(%v: f32, %w: f32, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %o = tensor.empty() : tensor<4xf32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %e, %b = %e, %s = %o) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a1 = tensor.insert %v into %a[%i] : tensor<4xf32>
    %b1 = tensor.insert %w into %b[%i] : tensor<4xf32>
    %p = tensor.extract %a1[%i] : tensor<4xf32>
    %s1 = tensor.insert %p into %s[%i] : tensor<4xf32>
    scf.yield %a1, %b1, %s1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#2 : tensor<4xf32>
}
