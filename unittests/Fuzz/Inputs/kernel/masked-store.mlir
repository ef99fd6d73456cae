module {
  func.func @main(%a: memref<3x6xf32, #tpu.memory_space<vmem>>, %b: memref<2x6xf32, #tpu.memory_space<vmem>>, %c: memref<1xi32, #tpu.memory_space<vmem>>, %out: memref<3x6xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<3x6xf32, #tpu.memory_space<vmem>>, vector<3x6xf32>
    vector.store %x, %out[%c0, %c0] : memref<3x6xf32, #tpu.memory_space<vmem>>, vector<3x6xf32>
    %y = vector.load %b[%c0, %c0] : memref<2x6xf32, #tpu.memory_space<vmem>>, vector<2x6xf32>
    %number = memref.load %c[%c0] : memref<1xi32, #tpu.memory_space<vmem>>
    %i = arith.index_cast %number : i32 to index
    %zero = arith.constant dense<0.0> : vector<2x6xf32>
    %m = arith.cmpf ogt, %y, %zero : vector<2x6xf32>
    "tpu.vector_store"(%y, %out, %i, %c0, %m) {operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>, add = true} : (vector<2x6xf32>, memref<3x6xf32, #tpu.memory_space<vmem>>, index, index, vector<2x6xi1>) -> ()
    return
  }
}
