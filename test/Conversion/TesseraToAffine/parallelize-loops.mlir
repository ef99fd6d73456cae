// RUN: tessera-opt %s --tessera-parallelize-loops="threads=2 parallel-bytes=256" | FileCheck %s
// RUN: tessera-opt %s --tessera-parallelize-loops=parallel-bytes=256 | FileCheck %s --check-prefix=ONE
// ONE-NOT: affine.parallel

// The outermost loop whose iterations are independent; what is inside stays.
// CHECK-LABEL: func private @rows
// CHECK:         affine.parallel (%{{.*}}) = (0) to (8)
// CHECK:           affine.for
func.func private @rows(%x: memref<8x16xf32>, %y: memref<8x16xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 16 {
      %e = affine.load %x[%i, %j] : memref<8x16xf32>
      affine.store %e, %y[%i, %j] : memref<8x16xf32>
    }
  }
  return
}

// A row needs the row before; its elements are independent.
// CHECK-LABEL: func @inner
// CHECK:         affine.for
// CHECK:           affine.parallel (%{{.*}}) = (0) to (64)
func.func @inner(%x: memref<9x64xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 64 {
      %e = affine.load %x[%i, %j] : memref<9x64xf32>
      affine.store %e, %x[%i + 1, %j] : memref<9x64xf32>
    }
  }
  return
}

// 128 + 64 bytes: of the elements read and written, where blocks run short.
// CHECK-LABEL: func private @small
// CHECK-NOT:     affine.parallel
func.func private @small(%x: memref<16xf64>, %y: memref<16xf32>) {
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to min affine_map<(d0) -> (8, 13 - d0 * 8)>(%i) {
      %e = affine.load %x[%i * 8 + %j] : memref<16xf64>
      %f = arith.truncf %e : f64 to f32
      affine.store %f, %y[%i * 8 + %j] : memref<16xf32>
    }
  }
  return
}

// Two numbers of four bits share a byte.
// CHECK-LABEL: func @packed
// CHECK-NOT:     affine.parallel
func.func @packed(%x: memref<200xi8>) {
  %mask = arith.constant 15 : i8
  affine.for %i = 0 to 400 {
    %e = affine.load %x[%i floordiv 2] : memref<200xi8>
    %m = arith.andi %e, %mask : i8
    affine.store %m, %x[%i floordiv 2] : memref<200xi8>
  }
  return
}

// Views of what is written, in another order.
// CHECK-LABEL: func @views
// CHECK-NOT:     affine.parallel
func.func @views(%x: memref<1024xi8>) {
  %c0 = arith.constant 0 : index
  %a = memref.view %x[%c0][] : memref<1024xi8> to memref<256xf32>
  %b = memref.view %x[%c0][] : memref<1024xi8> to memref<16x16xf32>
  affine.for %i = 0 to 256 {
    %e = affine.load %a[%i] : memref<256xf32>
    affine.store %e, %b[%i mod 16, %i floordiv 16] : memref<16x16xf32>
  }
  return
}

// The same view is known.
// CHECK-LABEL: func @one_view
// CHECK:         affine.parallel
func.func @one_view(%x: memref<1024xi8>) {
  %c0 = arith.constant 0 : index
  %a = memref.view %x[%c0][] : memref<1024xi8> to memref<256xf32>
  affine.for %i = 0 to 256 {
    %e = affine.load %a[%i] : memref<256xf32>
    %s = arith.negf %e : f32
    affine.store %s, %a[%i] : memref<256xf32>
  }
  return
}

// What a call gives may be its argument, and what a loop carries any of two.
// CHECK-LABEL: func @unknown
// CHECK-NOT:     affine.parallel
func.func private @get(memref<256xf32>) -> memref<256xf32>
func.func @unknown(%x: memref<256xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = call @get(%x) : (memref<256xf32>) -> memref<256xf32>
  affine.for %i = 0 to 256 {
    %e = affine.load %x[%i] : memref<256xf32>
    affine.store %e, %y[255 - %i] : memref<256xf32>
  }
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %x)
      -> (memref<256xf32>, memref<256xf32>) {
    affine.for %i = 0 to 256 {
      %e = affine.load %a[%i] : memref<256xf32>
      affine.store %e, %b[255 - %i] : memref<256xf32>
    }
    scf.yield %b, %a : memref<256xf32>, memref<256xf32>
  }
  return
}

// Memory of their own, sums, and calls.
// CHECK-LABEL: func @others
// CHECK-NOT:     affine.parallel
func.func private @call()
func.func @others(%x: memref<256xf32>, %init: f32) -> f32 {
  affine.for %i = 0 to 256 {
    %m = memref.alloc() : memref<1xf32>
    %e = affine.load %x[%i] : memref<256xf32>
    affine.store %e, %m[0] : memref<1xf32>
    memref.dealloc %m : memref<1xf32>
  }
  affine.for %i = 0 to 256 {
    %e = affine.load %x[%i] : memref<256xf32>
    func.call @call() : () -> ()
  }
  %r = affine.for %i = 0 to 256 iter_args(%a = %init) -> f32 {
    %e = affine.load %x[%i] : memref<256xf32>
    %s = arith.addf %a, %e : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// Callers that are not known may give one buffer twice.
// CHECK-LABEL: func @public
// CHECK-NOT:     affine.parallel
func.func @public(%x: memref<256xf32>, %y: memref<256xf32>) {
  affine.for %i = 0 to 256 {
    %e = affine.load %x[%i] : memref<256xf32>
    affine.store %e, %y[255 - %i] : memref<256xf32>
  }
  return
}

// CHECK-LABEL: func @separate
// CHECK:         affine.parallel
func.func @separate(%x: memref<256xf32> {llvm.noalias},
                    %y: memref<256xf32> {llvm.noalias}) {
  affine.for %i = 0 to 256 {
    %e = affine.load %x[%i] : memref<256xf32>
    affine.store %e, %y[255 - %i] : memref<256xf32>
  }
  return
}

// Two names of one global; a constant is nobody else's memory.
// CHECK-LABEL: func @globals
// CHECK:         affine.for
// CHECK:         affine.parallel
memref.global "private" @variable : memref<256xf32>
memref.global "private" constant @constant : memref<256xf32> = dense<1.0>
func.func @globals(%x: memref<256xf32>) {
  %a = memref.get_global @variable : memref<256xf32>
  %b = memref.get_global @variable : memref<256xf32>
  %c = memref.get_global @constant : memref<256xf32>
  affine.for %i = 0 to 256 {
    %e = affine.load %a[%i] : memref<256xf32>
    affine.store %e, %b[255 - %i] : memref<256xf32>
  }
  affine.for %i = 0 to 256 {
    %e = affine.load %c[%i] : memref<256xf32>
    affine.store %e, %x[255 - %i] : memref<256xf32>
  }
  return
}
