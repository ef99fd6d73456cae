module {
  func.func @main(%a: memref<6x5xf32, #tpu.memory_space<vmem>>, %b: memref<1xi32, #tpu.memory_space<vmem>>, %out: memref<6x5xf32, #tpu.memory_space<vmem>>) attributes {} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0, %c0] : memref<6x5xf32, #tpu.memory_space<vmem>>, vector<6x5xf32>
    vector.store %x, %out[%c0, %c0] : memref<6x5xf32, #tpu.memory_space<vmem>>, vector<6x5xf32>
    %one = arith.constant 1 : i32
    %first = arith.constant 0 : i32
    %steps = memref.load %b[%c0] : memref<1xi32, #tpu.memory_space<vmem>>
    %limit = arith.constant 4 : i32
    %zero = arith.constant dense<0.0> : vector<6x5xf32>
    %sums = scf.for %i = %first to %steps step %one iter_args(%s = %zero) -> (vector<6x5xf32>) : i32 {
    %early = arith.cmpi slt, %i, %limit : i32
    %before = vector.load %out[%c0, %c0] : memref<6x5xf32, #tpu.memory_space<vmem>>, vector<6x5xf32>
    %next = scf.if %early -> (vector<6x5xf32>) {
    %more = arith.addf %before, %x : vector<6x5xf32>
    vector.store %more, %out[%c0, %c0] : memref<6x5xf32, #tpu.memory_space<vmem>>, vector<6x5xf32>
    scf.yield %s : vector<6x5xf32>
    } else {
    %t = arith.addf %s, %before : vector<6x5xf32>
    scf.yield %t : vector<6x5xf32>
    }
    scf.yield %next : vector<6x5xf32>
    }
    %last = vector.load %out[%c0, %c0] : memref<6x5xf32, #tpu.memory_space<vmem>>, vector<6x5xf32>
    %r = arith.addf %last, %sums : vector<6x5xf32>
    vector.store %r, %out[%c0, %c0] : memref<6x5xf32, #tpu.memory_space<vmem>>, vector<6x5xf32>
    return
  }
}
