module {
  func.func @main(%a: memref<4x1xf32, #tpu.memory_space<vmem>>, %out: memref<4x1xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>
    %r = "tpu.rotate"(%x) {amount = 3 : si32, dimension = 0 : si32} : (vector<4x1xf32>) -> vector<4x1xf32>
    vector.store %r, %out[%c0, %c0] : memref<4x1xf32, #tpu.memory_space<vmem>>, vector<4x1xf32>
    return
  }
}
