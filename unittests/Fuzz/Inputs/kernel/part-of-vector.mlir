module {
  func.func @main(%a: memref<4xf32, #tpu.memory_space<vmem>>, %out: memref<1xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    %r = vector.extract_strided_slice %x {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
    vector.store %r, %out[%c0] : memref<1xf32, #tpu.memory_space<vmem>>, vector<1xf32>
    return
  }
}
