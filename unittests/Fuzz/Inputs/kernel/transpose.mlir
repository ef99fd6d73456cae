module {
  func.func @main(%a: memref<3xf32, #tpu.memory_space<vmem>>, %out: memref<3xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0] : memref<3xf32, #tpu.memory_space<vmem>>, vector<3xf32>
    %r = "tpu.transpose"(%x) {permutation = array<i64: 0>} : (vector<3xf32>) -> vector<3xf32>
    vector.store %r, %out[%c0] : memref<3xf32, #tpu.memory_space<vmem>>, vector<3xf32>
    return
  }
}
