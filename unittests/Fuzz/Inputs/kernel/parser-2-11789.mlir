module {
  func.func @main(%a: memref<16x6xf32, #tpu.memory_space<vmem>>, %b: memref<1xi32, #tpu.memory_space<vmem>>, %out: memref<5x6xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %number = memref.load %b[%c0] : memref<1xi32, #tpu.memory_space<vmem>>
    %i = arith.index_cast %number : i32 to index
    %r = "tpu.strided_load"(%a, %i, %c0) {strides = array<index: 3, 1>} : (memref<16x6xf32, #tpu.memory_space<vmem>>, index, index) -> vector<5x6xf32>
    vector.store %r, %out[%c0, %c0] : memref<5x6xf32, #tpu.memory_space<vmem>>, vector<5x6xf32>
    return
  }
}
