module {
  func.func @main(%a: memref<1xf32, #tpu.memory_space<vmem>>, %out: memref<7x1xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0] : memref<1xf32, #tpu.memory_space<vmem>>, vector<1xf32>
    %r = vector.broadcast %x : vector<1xf32> to vector<7x1xf32>
    vector.store %r, %out[%c0, %c0] : memref<7x1xf32, #tpu.memory_space<vmem>>, vector<7x1xf32>
    return
  }
}
