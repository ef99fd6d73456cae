module {
  func.func @main(%a: memref<4x20xf32, #tpu.memory_space<vmem>>, %out: memref<4x20xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<4x20xf32, #tpu.memory_space<vmem>>, vector<4x20xf32>
    %r = vector.shape_cast %x : vector<4x20xf32> to vector<4x20xf32>
    vector.store %r, %out[%c0, %c0] : memref<4x20xf32, #tpu.memory_space<vmem>>, vector<4x20xf32>
    return
  }
}
