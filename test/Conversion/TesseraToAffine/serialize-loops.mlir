// RUN: tessera-opt %s --tessera-serialize-loops --split-input-file --verify-diagnostics | FileCheck %s

// What may end the program in a loop.

// CHECK-LABEL: func @assertion
// CHECK-NOT:     scf.parallel
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             cf.assert
func.func @assertion(%x: memref<8x8xi32>, %n: index, %ok: i1, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    scf.if %ok {
      cf.assert %ok, "not right"
    }
    memref.store %v, %x[%i, %j] : memref<8x8xi32>
  }
  return
}

// -----

// A loop in it has no such operation.
// CHECK-LABEL: func @others
// CHECK:         scf.for
// CHECK:           call @one
// CHECK:           scf.parallel
// CHECK:         scf.for
// CHECK:           memref.alloc
func.func private @one(memref<8xi32>)
func.func @others(%x: memref<8xi32>, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    func.call @one(%x) : (memref<8xi32>) -> ()
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      memref.store %v, %x[%j] : memref<8xi32>
    }
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %m = memref.alloc() : memref<8xi32>
    memref.store %v, %m[%i] : memref<8xi32>
    memref.dealloc %m : memref<8xi32>
  }
  return
}

// -----

// Code that looks whether there is memory.
// CHECK-LABEL: func @looks
// CHECK:         scf.parallel
func.func @looks(%n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %m = memref.alloc() : memref<8xi32>
    %p = memref.extract_aligned_pointer_as_index %m : memref<8xi32> -> index
    %is = arith.cmpi ne, %p, %c0 : index
    scf.if %is {
      memref.store %v, %m[%i] : memref<8xi32>
    }
    memref.dealloc %m : memref<8xi32>
  }
  return
}

// -----

func.func @reduction(%n: index, %ok: i1, %v: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{unsupported reduction among threads: expected no assertion, call or allocation in the loop, found one; run the program with one thread}}
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init(%v) -> i32 {
    cf.assert %ok, "not right"
    scf.reduce(%v : i32) {
    ^bb0(%a: i32, %b: i32):
      %s = arith.addi %a, %b : i32
      scf.reduce.return %s : i32
    }
  }
  return %r : i32
}
