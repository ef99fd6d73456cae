func.func @f(%a: tensor<?xi32>) -> tensor<?xi32> {
  %0 = arith.xori %a, %a : tensor<?xi32>
  return %0 : tensor<?xi32>
}
