// RUN: tessera-opt %s -tessera-pass-buffers-to-blocks | FileCheck %s
// RUN: tessera-opt %s -tessera-to-affine=deallocate | FileCheck %s --check-prefix=AFFINE
// RUN: tessera-opt %s -tessera-to-llvm=deallocate \
// RUN:   | mlir-runner -e main -entry-point-result=i32 | FileCheck %s --check-prefix=RESULT

// A buffer that a loop returns lives across a branch. Upstream's deallocation
// ended the process.

// RESULT: 0

// CHECK-LABEL: func.func private @loop
// CHECK: %[[R:.*]] = scf.for
// CHECK: cf.br ^[[REST:.*]](%[[R]] : memref<4xi32>)
// CHECK: ^[[REST]](%[[S:.*]]: memref<4xi32>):
// CHECK-NEXT: cf.cond_br
// CHECK: return %[[S]]

// AFFINE-LABEL: func.func private @loop
// AFFINE: memref.dealloc
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
// CHECK: %[[R:.*]]:3 = scf.if
// CHECK: cf.br ^[[REST:.*]](%[[R]]#0, %[[R]]#2 : memref<4xi32>, memref<4xi32>)
// CHECK: ^[[REST]](%{{.*}}: memref<4xi32>, %{{.*}}: memref<4xi32>):
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

// What stays in its block is left alone.
// CHECK-LABEL: func.func private @one_block
// CHECK-NOT: cf.br
func.func private @one_block(%p: i1, %x: memref<4xi32>) -> memref<4xi32> {
  %r = scf.if %p -> memref<4xi32> {
    %a = memref.alloc() : memref<4xi32>
    memref.copy %x, %a : memref<4xi32> to memref<4xi32>
    scf.yield %a : memref<4xi32>
  } else {
    scf.yield %x : memref<4xi32>
  }
  %copy = memref.alloc() : memref<4xi32>
  memref.copy %r, %copy : memref<4xi32> to memref<4xi32>
  return %copy : memref<4xi32>
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
  return %zero : i32
}
