module {
  func.func @main(%a: memref<6x5x8xf32, #tpu.memory_space<vmem>>, %out: memref<6x5x8xi32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0, %c0] : memref<6x5x8xf32, #tpu.memory_space<vmem>>, vector<6x5x8xf32>
    %w = "tpu.weird"(%x) {} : (vector<6x5x8xf32>) -> vector<6x5x8xi1>
    %r = arith.extui %w : vector<6x5x8xi1> to vector<6x5x8xi32>
    vector.store %r, %out[%c0, %c0, %c0] : memref<6x5x8xi32, #tpu.memory_space<vmem>>, vector<6x5x8xi32>
    return
  }
}
