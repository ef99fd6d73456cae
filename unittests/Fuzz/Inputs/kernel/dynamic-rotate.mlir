module {
  func.func @main(%a: memref<7xf32, #tpu.memory_space<vmem>>, %out: memref<7xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %n = arith.constant 16 : i32
    %x = vector.load %a[%c0] : memref<7xf32, #tpu.memory_space<vmem>>, vector<7xf32>
    %r = "tpu.dynamic_rotate"(%x, %n) {dimension = 0 : si32} : (vector<7xf32>, i32) -> vector<7xf32>
    vector.store %r, %out[%c0] : memref<7xf32, #tpu.memory_space<vmem>>, vector<7xf32>
    return
  }
}
