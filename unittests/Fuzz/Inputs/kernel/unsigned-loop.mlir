module {
  func.func @main(%a: memref<7x3x1xf32, #tpu.memory_space<vmem>>, %out: memref<7x3x1xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0, %c0] : memref<7x3x1xf32, #tpu.memory_space<vmem>>, vector<7x3x1xf32>
    %first = arith.constant 2147483645 : i32
    %last = arith.constant 2147483645 : i32
    %one = arith.constant 1 : i32
    %r = scf.for unsigned %i = %first to %last step %one iter_args(%s = %x) -> (vector<7x3x1xf32>) : i32 {
    %t = arith.addf %s, %x : vector<7x3x1xf32>
    scf.yield %t : vector<7x3x1xf32>
    }
    vector.store %r, %out[%c0, %c0, %c0] : memref<7x3x1xf32, #tpu.memory_space<vmem>>, vector<7x3x1xf32>
    return
  }
}
