module {
  func.func @main(%a: memref<5x8x3xf32, #tpu.memory_space<vmem>>, %out: memref<5x8x3xi32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0, %c0] : memref<5x8x3xf32, #tpu.memory_space<vmem>>, vector<5x8x3xf32>
    %r = arith.fptosi %x : vector<5x8x3xf32> to vector<5x8x3xi32>
    vector.store %r, %out[%c0, %c0, %c0] : memref<5x8x3xi32, #tpu.memory_space<vmem>>, vector<5x8x3xi32>
    return
  }
}
