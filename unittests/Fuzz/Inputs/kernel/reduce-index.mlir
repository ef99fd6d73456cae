module {
  func.func @main(%a: memref<6x4x9xf32, #tpu.memory_space<vmem>>, %out: memref<6x4xi32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0, %c0] : memref<6x4x9xf32, #tpu.memory_space<vmem>>, vector<6x4x9xf32>
    %r = "tpu.reduce_index"(%x) {axis = 2 : i32, kind = #tpu.reduction_kind<arg_max>} : (vector<6x4x9xf32>) -> vector<6x4xi32>
    vector.store %r, %out[%c0, %c0] : memref<6x4xi32, #tpu.memory_space<vmem>>, vector<6x4xi32>
    return
  }
}
