module {
  func.func @main(%a: memref<3x9xi32, #tpu.memory_space<vmem>>, %b: memref<3x9xi32, #tpu.memory_space<vmem>>, %out: memref<3x9xi32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<3x9xi32, #tpu.memory_space<vmem>>, vector<3x9xi32>
    %y = vector.load %b[%c0, %c0] : memref<3x9xi32, #tpu.memory_space<vmem>>, vector<3x9xi32>
    %r = arith.floordivsi %x, %y : vector<3x9xi32>
    vector.store %r, %out[%c0, %c0] : memref<3x9xi32, #tpu.memory_space<vmem>>, vector<3x9xi32>
    vector.store %x, %out[%c0, %c0] : memref<3x9xi32, #tpu.memory_space<vmem>>, vector<3x9xi32>
    return
  }
}
