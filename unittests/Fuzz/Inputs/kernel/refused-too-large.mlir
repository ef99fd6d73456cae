module {
  func.func @main(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %out: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %i = arith.constant 3 : i32
    %far = arith.constant 300 : index
    %m = memref.alloca() : memref<4294967296x4294967296xf32>
    vector.store %x, %out[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    return
  }
}
