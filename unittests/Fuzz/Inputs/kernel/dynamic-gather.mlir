module {
  func.func @main(%a: memref<4xf32, #tpu.memory_space<vmem>>, %b: memref<4xi32, #tpu.memory_space<vmem>>, %out: memref<4xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    %i = vector.load %b[%c0] : memref<4xi32, #tpu.memory_space<vmem>>, vector<4xi32>
    %r = "tpu.dynamic_gather"(%x, %i) {dimensions = array<i32: 0>} : (vector<4xf32>, vector<4xi32>) -> vector<4xf32>
    vector.store %r, %out[%c0] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    return
  }
}
