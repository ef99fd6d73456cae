#s = strided<[1,2]>
func.func @main(%arg0: tensor<2x3xf32, #s>) -> tensor<2x3xf32, #s> {
  return %arg0 : tensor<2x3xf32, #s>
}
