module {
  func.func @main(%a: memref<1x5x6xf32, #tpu.memory_space<vmem>>, %b: memref<1xi32, #tpu.memory_space<vmem>>, %out: memref<2x6xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %p = arith.constant 0 : i32
    %number = memref.load %b[%c0] : memref<1xi32, #tpu.memory_space<vmem>>
    %zero = arith.constant 0 : i32
    %s = "tpu.memref_slice"(%a, %p, %number, %zero) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x5x6xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x2x6xf32, #tpu.memory_space<vmem>>
    %t = "tpu.memref_squeeze"(%s) {} : (memref<1x2x6xf32, #tpu.memory_space<vmem>>) -> memref<2x6xf32, #tpu.memory_space<vmem>>
    %x = vector.load %t[%c0, %c0] : memref<2x6xf32, #tpu.memory_space<vmem>>, vector<2x6xf32>
    vector.store %x, %out[%c0, %c0] : memref<2x6xf32, #tpu.memory_space<vmem>>, vector<2x6xf32>
    return
  }
}
