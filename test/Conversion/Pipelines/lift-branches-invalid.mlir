// RUN: tessera-opt %s -tessera-lift-branches -split-input-file -verify-diagnostics

// expected-error@+1 {{unsupported memref where branches join: expected a ranked type with strides, found memref<*xf32>; do not deallocate, or return before}}
func.func @unranked(%p: i1, %q: i1, %m: memref<*xf32>) -> index {
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  cf.cond_br %q, ^bb2, ^bb3(%m : memref<*xf32>)
^bb2:
  cf.br ^bb3(%m : memref<*xf32>)
^bb3(%r: memref<*xf32>):
  %rank = memref.rank %r : memref<*xf32>
  return %rank : index
}

// -----

// expected-error@+1 {{unsupported branches: expected one kind of terminator that returns, found several kinds; do not deallocate}}
func.func @two_ends(%p: i1) {
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  return
^bb2:
  llvm.unreachable
}
