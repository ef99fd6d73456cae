module {
  func.func @main(%a: memref<5xf32, #tpu.memory_space<vmem>>, %b: memref<3xf32, #tpu.memory_space<vmem>>, %out: memref<8xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %va = vector.load %a[%c0] : memref<5xf32, #tpu.memory_space<vmem>>, vector<5xf32>
    %vb = vector.load %b[%c0] : memref<3xf32, #tpu.memory_space<vmem>>, vector<3xf32>
    %r = "tpu.concatenate"(%va, %vb) {dimension = 0 : i32} : (vector<5xf32>, vector<3xf32>) -> vector<8xf32>
    vector.store %r, %out[%c0] : memref<8xf32, #tpu.memory_space<vmem>>, vector<8xf32>
    return
  }
}
