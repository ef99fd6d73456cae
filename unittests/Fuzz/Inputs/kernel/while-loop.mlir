module {
  func.func @main(%a: memref<2x5xf32, #tpu.memory_space<vmem>>, %b: memref<1xi32, #tpu.memory_space<vmem>>, %out: memref<2x5xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<2x5xf32, #tpu.memory_space<vmem>>, vector<2x5xf32>
    vector.store %x, %out[%c0, %c0] : memref<2x5xf32, #tpu.memory_space<vmem>>, vector<2x5xf32>
    %one = arith.constant 1 : i32
    %first = arith.constant 0 : i32
    %limit = memref.load %b[%c0] : memref<1xi32, #tpu.memory_space<vmem>>
    %count = scf.while (%i = %first) : (i32) -> i32 {
    %goes = arith.cmpi slt, %i, %limit : i32
    scf.condition(%goes) %i : i32
    } do {
    ^bb0(%i: i32):
    %y = vector.load %out[%c0, %c0] : memref<2x5xf32, #tpu.memory_space<vmem>>, vector<2x5xf32>
    %z = arith.addf %y, %y : vector<2x5xf32>
    vector.store %z, %out[%c0, %c0] : memref<2x5xf32, #tpu.memory_space<vmem>>, vector<2x5xf32>
    %next = arith.addi %i, %one : i32
    scf.yield %next : i32
    }
    return
  }
}
