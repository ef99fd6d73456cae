module {
  func.func @main(%a: memref<3x1x5xf32, #tpu.memory_space<vmem>>, %b: memref<3x1xf32, #tpu.memory_space<vmem>>, %out: memref<3x1xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0, %c0] : memref<3x1x5xf32, #tpu.memory_space<vmem>>, vector<3x1x5xf32>
    %y = vector.load %b[%c0, %c0] : memref<3x1xf32, #tpu.memory_space<vmem>>, vector<3x1xf32>
    %r = vector.multi_reduction <mul>, %x, %y [2] : vector<3x1x5xf32> to vector<3x1xf32>
    vector.store %r, %out[%c0, %c0] : memref<3x1xf32, #tpu.memory_space<vmem>>, vector<3x1xf32>
    return
  }
}
