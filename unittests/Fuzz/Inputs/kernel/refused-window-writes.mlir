module {
  func.func @main(%i: i32, %n: memref<1xi32, #tpu.memory_space<vmem>>, %a: memref<4x128xf32, #tpu.memory_space<vmem>>, %out: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {iteration_bounds = array<i64: 2>, scalar_prefetch = 1 : i64, window_params = [{transform_indices = @f}, {}]} {
    %c0 = arith.constant 0 : index
    return
  }
  func.func @f(%i: i32, %n: memref<1xi32, #tpu.memory_space<vmem>>) -> (i32, i32) { %z = arith.constant 0 : index memref.store %i, %n[%z] : memref<1xi32, #tpu.memory_space<vmem>> return %i, %i : i32, i32 }
}
