func.func @f(%i: index, %x: i32, %m: memref<3xi32>, %k: index) {
  %1 = scf.index_switch %i -> tensor<3xi32>
  case 0 {
    %e = arith.constant dense<[7, 8, 9]> : tensor<3xi32>
    scf.yield %e : tensor<3xi32>
  }
  default {
    %c = arith.constant dense<[4, 2, 3]> : tensor<3xi32>
    scf.yield %c : tensor<3xi32>
  }
  %2 = tensor.insert %x into %1[%k] : tensor<3xi32>
  bufferization.materialize_in_destination %2 in restrict writable %m : (tensor<3xi32>, memref<3xi32>) -> ()
  return
}
