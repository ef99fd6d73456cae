module {
  func.func @main(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %out: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %i = arith.constant 3 : i32
    %far = arith.constant 300 : index
    %w = "tpu.iota"() {dimensions = array<i32: 0>} : () -> vector<300x2xi32>
%f = arith.sitofp %w : vector<300x2xi32> to vector<300x2xf32>
%y = "tpu.reduce_index"(%f) {axis = 0 : i32, kind = #tpu.reduction_kind<arg_max>} : (vector<300x2xf32>) -> vector<2xi8>
    vector.store %x, %out[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    return
  }
}
