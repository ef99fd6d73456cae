func.func @f(%v: i32, %e: tensor<2xi32>) -> tensor<4xi32, "enc"> {
  %0 = linalg.fill ins(%v : i32) outs(%e : tensor<2xi32>) -> tensor<2xi32>
  %1 = tensor.concat dim(0) %0, %0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32, "enc">
  return %1 : tensor<4xi32, "enc">
}
