module {
  func.func @main(%a: memref<5x1x6xbf16, #tpu.memory_space<vmem>>, %b: memref<6x7x5xbf16, #tpu.memory_space<vmem>>, %c: memref<7x1x5xf32, #tpu.memory_space<vmem>>, %out: memref<7x1x5xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0, %c0] : memref<5x1x6xbf16, #tpu.memory_space<vmem>>, vector<5x1x6xbf16>
    %y = vector.load %b[%c0, %c0, %c0] : memref<6x7x5xbf16, #tpu.memory_space<vmem>>, vector<6x7x5xbf16>
    %z = vector.load %c[%c0, %c0, %c0] : memref<7x1x5xf32, #tpu.memory_space<vmem>>, vector<7x1x5xf32>
    %r = "tpu.matmul"(%x, %y, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[2], [0], [1], [1], [1, 1, 0, 1, 0, 0], [0], [2]>} : (vector<5x1x6xbf16>, vector<6x7x5xbf16>, vector<7x1x5xf32>) -> vector<7x1x5xf32>
    vector.store %r, %out[%c0, %c0, %c0] : memref<7x1x5xf32, #tpu.memory_space<vmem>>, vector<7x1x5xf32>
    return
  }
}
