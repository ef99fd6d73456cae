module {
  func.func @main(%out: memref<3x2xi32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %r = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<3x2xi32>
    vector.store %r, %out[%c0, %c0] : memref<3x2xi32, #tpu.memory_space<vmem>>, vector<3x2xi32>
    return
  }
}
