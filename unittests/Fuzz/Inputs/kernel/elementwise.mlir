module {
  func.func @main(%a: memref<7x1x4xf32, #tpu.memory_space<vmem>>, %out: memref<7x1x4xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0, %c0] : memref<7x1x4xf32, #tpu.memory_space<vmem>>, vector<7x1x4xf32>
    %r = "math.floor"(%x) {} : (vector<7x1x4xf32>) -> vector<7x1x4xf32>
    vector.store %r, %out[%c0, %c0, %c0] : memref<7x1x4xf32, #tpu.memory_space<vmem>>, vector<7x1x4xf32>
    return
  }
}
