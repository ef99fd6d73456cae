module {
  func.func @main(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %out: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %i = arith.constant 3 : i32
    %far = arith.constant 300 : index
    %yes = arith.constant true
%y = scf.if %yes -> (i32) {
%n = "tpu.delay"(%i) : (i32) -> i32
scf.yield %n : i32
} else {
scf.yield %i : i32
}
    vector.store %x, %out[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    return
  }
}
