// RUN: tessera-opt %s -tessera-to-affine=deallocate | FileCheck %s
// RUN: tessera-opt %s -tessera-to-llvm=deallocate \
// RUN:   | mlir-runner -e main -entry-point-result=i32 | FileCheck %s --check-prefix=RESULT

// Functions of several blocks, whose buffers are freed. Upstream's deallocation
// alone ends the process, refuses them, or takes time exponential in the number
// of blocks.

// RESULT: 0

// A buffer that a loop returns lives across a branch.
// CHECK-LABEL: func.func private @loop
// CHECK-NOT: {{ }}cf.
// CHECK: memref.dealloc
func.func private @loop(%p: i1, %n: index, %x: memref<4xi32>) -> memref<4xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.alloc() : memref<4xi32>
  memref.copy %x, %first : memref<4xi32> to memref<4xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %first) -> memref<4xi32> {
    %e = memref.alloc() : memref<4xi32>
    linalg.add ins(%a, %x : memref<4xi32>, memref<4xi32>) outs(%e : memref<4xi32>)
    scf.yield %e : memref<4xi32>
  }
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  return %r : memref<4xi32>
^bb2:
  %copy = memref.alloc() : memref<4xi32>
  memref.copy %x, %copy : memref<4xi32> to memref<4xi32>
  return %copy : memref<4xi32>
}

// Two buffers, one of which a conditional in a third block uses.
// CHECK-LABEL: func.func private @both
// CHECK-NOT: {{ }}cf.
func.func private @both(%p: i1, %x: memref<4xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  %r, %k, %s = scf.if %p -> (memref<4xi32>, index, memref<4xi32>) {
    %a = memref.alloc() : memref<4xi32>
    memref.copy %x, %a : memref<4xi32> to memref<4xi32>
    scf.yield %a, %c0, %x : memref<4xi32>, index, memref<4xi32>
  } else {
    scf.yield %x, %c0, %x : memref<4xi32>, index, memref<4xi32>
  }
  cf.br ^bb1
^bb1:
  %y = scf.if %p -> i32 {
    %z = memref.load %r[%k] : memref<4xi32>
    scf.yield %z : i32
  } else {
    %z = memref.load %s[%k] : memref<4xi32>
    scf.yield %z : i32
  }
  return %y : i32
}

// A block twice, one buffer twice, and a path that joins late.
// CHECK-LABEL: func.func private @joins
// CHECK-NOT: ub.poison : memref
// CHECK: memref.dealloc
func.func private @joins(%p: i1, %q: i1, %x: memref<4xi32>) -> memref<4xi32> {
  %a = memref.alloc() : memref<4xi32>
  %b = memref.alloc() : memref<4xi32>
  memref.copy %x, %b : memref<4xi32> to memref<4xi32>
  cf.cond_br %p, ^bb1(%a : memref<4xi32>), ^bb2
^bb1(%m: memref<4xi32>):
  memref.copy %x, %m : memref<4xi32> to memref<4xi32>
  cf.cond_br %q, ^bb3(%m, %m : memref<4xi32>, memref<4xi32>), ^bb2
^bb2:
  %c = memref.alloc() : memref<4xi32>
  linalg.add ins(%b, %x : memref<4xi32>, memref<4xi32>) outs(%c : memref<4xi32>)
  cf.cond_br %q, ^bb3(%c, %a : memref<4xi32>, memref<4xi32>),
                 ^bb3(%c, %b : memref<4xi32>, memref<4xi32>)
^bb3(%r: memref<4xi32>, %s: memref<4xi32>):
  linalg.add ins(%r, %b : memref<4xi32>, memref<4xi32>) outs(%s : memref<4xi32>)
  return %r : memref<4xi32>
}

// A loop of branches, with a view of a buffer of its own.
// CHECK-LABEL: func.func private @branch_loop
// CHECK: scf.while
// CHECK: memref.dealloc
func.func private @branch_loop(%n: index, %x: memref<4xi32>) -> memref<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.alloc() : memref<4xi32>
  memref.copy %x, %first : memref<4xi32> to memref<4xi32>
  %view = memref.cast %first : memref<4xi32> to memref<?xi32>
  cf.br ^head(%c0, %view : index, memref<?xi32>)
^head(%i: index, %m: memref<?xi32>):
  %more = arith.cmpi ult, %i, %n : index
  cf.cond_br %more, ^body, ^end
^body:
  %e = memref.alloc() : memref<4xi32>
  linalg.add ins(%m, %x : memref<?xi32>, memref<4xi32>) outs(%e : memref<4xi32>)
  %next = memref.cast %e : memref<4xi32> to memref<?xi32>
  %j = arith.addi %i, %c1 : index
  cf.br ^head(%j, %next : index, memref<?xi32>)
^end:
  return %m : memref<?xi32>
}

// CHECK-LABEL: func.func private @switch
// CHECK: memref.dealloc
func.func private @switch(%k: i32, %x: memref<4xi32>) -> memref<4xi32> {
  %a = memref.alloc() : memref<4xi32>
  memref.copy %x, %a : memref<4xi32> to memref<4xi32>
  cf.switch %k : i32, [
    default: ^bb1(%a : memref<4xi32>),
    1: ^bb2,
    2: ^bb1(%x : memref<4xi32>)
  ]
^bb1(%m: memref<4xi32>):
  return %m : memref<4xi32>
^bb2:
  %b = memref.alloc() : memref<4xi32>
  linalg.add ins(%a, %x : memref<4xi32>, memref<4xi32>) outs(%b : memref<4xi32>)
  return %b : memref<4xi32>
}

// CHECK-LABEL: func.func @main
func.func @main() -> i32 {
  %yes = arith.constant true
  %no = arith.constant false
  %c0 = arith.constant 0 : index
  %n = arith.constant 3 : index
  %seven = arith.constant 7 : i32
  %x = memref.alloc() : memref<4xi32>
  linalg.fill ins(%seven : i32) outs(%x : memref<4xi32>)
  %a = call @loop(%yes, %n, %x) : (i1, index, memref<4xi32>) -> memref<4xi32>
  %b = call @loop(%no, %n, %x) : (i1, index, memref<4xi32>) -> memref<4xi32>
  %c = call @both(%no, %x) : (i1, memref<4xi32>) -> i32
  %four = memref.load %a[%c0] : memref<4xi32>
  %one = memref.load %b[%c0] : memref<4xi32>
  // 4 * 7 - 3 * 7 - 7
  %k = arith.constant 3 : i32
  %three = arith.muli %one, %k : i32
  %rest = arith.subi %four, %three : i32
  %zero = arith.subi %rest, %c : i32
  // 14 + 14 + 28 + 7 + 7, and what @joins does not write, is 70.
  %two = arith.constant 2 : i32
  %j1 = call @joins(%yes, %yes, %x) : (i1, i1, memref<4xi32>) -> memref<4xi32>
  %j2 = call @joins(%yes, %no, %x) : (i1, i1, memref<4xi32>) -> memref<4xi32>
  %l = call @branch_loop(%n, %x) : (index, memref<4xi32>) -> memref<?xi32>
  %s = call @switch(%seven, %x) : (i32, memref<4xi32>) -> memref<4xi32>
  %s2 = call @switch(%two, %x) : (i32, memref<4xi32>) -> memref<4xi32>
  %k1 = memref.load %j1[%c0] : memref<4xi32>
  %k2 = memref.load %j2[%c0] : memref<4xi32>
  %k3 = memref.load %l[%c0] : memref<?xi32>
  %k4 = memref.load %s[%c0] : memref<4xi32>
  %k5 = memref.load %s2[%c0] : memref<4xi32>
  %sum1 = arith.addi %k1, %k2 : i32
  %sum2 = arith.addi %sum1, %k3 : i32
  %sum3 = arith.addi %sum2, %k4 : i32
  %sum4 = arith.addi %sum3, %k5 : i32
  %c70 = arith.constant 70 : i32
  %zero2 = arith.subi %sum4, %c70 : i32
  %both = arith.ori %zero, %zero2 : i32
  return %both : i32
}
