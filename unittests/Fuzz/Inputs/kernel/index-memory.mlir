module {
  func.func @main(%a: memref<7x4xf32, #tpu.memory_space<vmem>>, %out: memref<1x4xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %indices = memref.alloca() : memref<3xindex>
    %row = arith.constant 1 : index
    memref.store %row, %indices[%c0] : memref<3xindex>
    %i = memref.load %indices[%c0] : memref<3xindex>
    %x = vector.load %a[%i, %c0] : memref<7x4xf32, #tpu.memory_space<vmem>>, vector<1x4xf32>
    vector.store %x, %out[%c0, %c0] : memref<1x4xf32, #tpu.memory_space<vmem>>, vector<1x4xf32>
    return
  }
}
