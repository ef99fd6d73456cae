func.func @f(%x: tensor<2x3xf32, "enc">, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = linalg.transpose ins(%x : tensor<2x3xf32, "enc">) outs(%y : tensor<2x3xf32>) permutation = [0, 1]
  return %0 : tensor<2x3xf32>
}
