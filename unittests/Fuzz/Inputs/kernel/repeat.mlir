module {
  func.func @main(%a: memref<5x6x9xf32, #tpu.memory_space<vmem>>, %out: memref<20x6x9xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0, %c0] : memref<5x6x9xf32, #tpu.memory_space<vmem>>, vector<5x6x9xf32>
    %r = "tpu.repeat"(%x) {dimension = 0 : i32, times = 4 : i32} : (vector<5x6x9xf32>) -> vector<20x6x9xf32>
    vector.store %r, %out[%c0, %c0, %c0] : memref<20x6x9xf32, #tpu.memory_space<vmem>>, vector<20x6x9xf32>
    return
  }
}
