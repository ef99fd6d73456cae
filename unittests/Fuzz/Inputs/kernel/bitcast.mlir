module {
  func.func @main(%a: memref<8x3xbf16, #tpu.memory_space<vmem>>, %out: memref<4x3xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<8x3xbf16, #tpu.memory_space<vmem>>, vector<8x3xbf16>
    %r = "tpu.bitcast"(%x) {} : (vector<8x3xbf16>) -> vector<4x3xf32>
    vector.store %r, %out[%c0, %c0] : memref<4x3xf32, #tpu.memory_space<vmem>>, vector<4x3xf32>
    return
  }
}
