module {
  func.func @main(%a: memref<8x6xf32, #tpu.memory_space<vmem>>, %b: memref<8x5xf32, #tpu.memory_space<vmem>>, %c: memref<6x5xf32, #tpu.memory_space<vmem>>, %out: memref<6x5xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<8x6xf32, #tpu.memory_space<vmem>>, vector<8x6xf32>
    %y = vector.load %b[%c0, %c0] : memref<8x5xf32, #tpu.memory_space<vmem>>, vector<8x5xf32>
    %z = vector.load %c[%c0, %c0] : memref<6x5xf32, #tpu.memory_space<vmem>>, vector<6x5xf32>
    %r = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", 3, "reduction"], kind = #vector.kind<add>} %x, %y, %z : vector<8x6xf32>, vector<8x5xf32> into vector<6x5xf32>
    vector.store %r, %out[%c0, %c0] : memref<6x5xf32, #tpu.memory_space<vmem>>, vector<6x5xf32>
    return
  }
}
