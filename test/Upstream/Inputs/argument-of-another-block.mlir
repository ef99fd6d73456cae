func.func @f(%a: tensor<4xi32>, %c: i1) -> i32 {
  cf.cond_br %c, ^write, ^read
^write:
  %0 = linalg.map { arith.addi } ins(%a, %a : tensor<4xi32>, tensor<4xi32>) outs(%a : tensor<4xi32>)
  cf.br ^read
^read:
  %k = arith.constant 0 : index
  %r = tensor.extract %a[%k] : tensor<4xi32>
  return %r : i32
}
