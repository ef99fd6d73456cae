// RUN: tessera-opt %s -split-input-file -tessera-bufferize | FileCheck %s

// A relayout writes into a new buffer. The encoding becomes the layout, S the
// memory space, in the function's type too.

// CHECK-LABEL: func.func @tile
// CHECK-SAME: (%[[A:.*]]: memref<20xf32>) -> memref<20xf32, #layout, #tessera.memory_space<1>>
// CHECK: %[[B:.*]] = memref.alloc() {alignment = 64 : i64} : memref<20xf32, #layout, #tessera.memory_space<1>>
// CHECK: tessera.relayout %[[A]] into %[[B]]
// CHECK: return %[[B]]
func.func @tile(%a: tensor<20xf32>)
    -> tensor<20xf32, #tessera.layout<{0:T(8)S(1)}>> {
  %b = tessera.relayout %a : tensor<20xf32>
      to tensor<20xf32, #tessera.layout<{0:T(8)S(1)}>>
  return %b : tensor<20xf32, #tessera.layout<{0:T(8)S(1)}>>
}

// -----

// The descending layout written out has the bytes of none: nothing moves.

// CHECK-LABEL: func.func @written_out
// CHECK-NOT: alloc
// CHECK: tessera.bitcast_view
// CHECK-NOT: relayout
func.func @written_out(%a: tensor<20x3xf32>)
    -> tensor<20x3xf32, #tessera.layout<{1,0}>> {
  %b = tessera.relayout %a : tensor<20x3xf32>
      to tensor<20x3xf32, #tessera.layout<{1,0}>>
  return %b : tensor<20x3xf32, #tessera.layout<{1,0}>>
}

// -----

// CHECK-LABEL: func.func @bitcast
// CHECK: tessera.bitcast_view %{{.*}} : memref<8x32xf32> to memref<32x8xf32, #layout>
func.func @bitcast(%a: tensor<8x32xf32>)
    -> tensor<32x8xf32, #tessera.layout<{0,1}>> {
  %b = tessera.bitcast %a : tensor<8x32xf32>
      to tensor<32x8xf32, #tessera.layout<{0,1}>>
  return %b : tensor<32x8xf32, #tessera.layout<{0,1}>>
}

// -----

// Dynamic sizes of a new buffer are those of the operand.

// CHECK-LABEL: func.func @dynamic
// CHECK: %[[N:.*]] = memref.dim %{{.*}}, %{{.*}} : memref<?x3xf32>
// CHECK: memref.alloc(%[[N]])
func.func @dynamic(%a: tensor<?x3xf32>)
    -> tensor<?x3xf32, #tessera.layout<{1,0:T(8,128)}>> {
  %b = tessera.relayout %a : tensor<?x3xf32>
      to tensor<?x3xf32, #tessera.layout<{1,0:T(8,128)}>>
  return %b : tensor<?x3xf32, #tessera.layout<{1,0:T(8,128)}>>
}

// -----

// Compute on tensors with layouts; the promised padding of a new buffer is
// written. tensor.empty keeps its layout as tessera.empty does.

// CHECK-LABEL: func.func @compute
// CHECK: %[[E:.*]] = memref.alloc() {alignment = 64 : i64} : memref<20x30xf32, #[[PV:.*]]>
// CHECK: tessera.fill_padding %[[E]]
// CHECK: linalg.exp ins(%{{.*}} : memref<20x30xf32, #{{.*}}>) outs(%[[E]] : memref<20x30xf32, #[[PV]]>)
func.func @compute(%a: tensor<20x30xf32, #tessera.layout<{0,1:T(8,128)}>>)
    -> tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>> {
  %e = tensor.empty()
      : tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>
  %r = linalg.exp
      ins(%a : tensor<20x30xf32, #tessera.layout<{0,1:T(8,128)}>>)
      outs(%e : tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>)
      -> tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>
  return %r : tensor<20x30xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>
}

// -----

// A conflict: %a is written and read afterwards, so it is copied, into a buffer
// of the same layout.

// CHECK-LABEL: func.func @conflict
// CHECK-SAME: (%[[A:.*]]: memref<4x5xf32, #layout>
// CHECK: %[[COPY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4x5xf32, #layout>
// CHECK: memref.copy %[[A]], %[[COPY]]
// CHECK: memref.store %{{.*}}, %[[COPY]]
// CHECK: return %[[COPY]], %[[A]]
func.func @conflict(%a: tensor<4x5xf32, #tessera.layout<{0,1}>>, %x: f32)
    -> (tensor<4x5xf32, #tessera.layout<{0,1}>>,
        tensor<4x5xf32, #tessera.layout<{0,1}>>) {
  %c0 = arith.constant 0 : index
  %b = tensor.insert %x into %a[%c0, %c0]
      : tensor<4x5xf32, #tessera.layout<{0,1}>>
  return %b, %a : tensor<4x5xf32, #tessera.layout<{0,1}>>,
                  tensor<4x5xf32, #tessera.layout<{0,1}>>
}

// -----

// Through calls and loops.

// CHECK-LABEL: func.func private @callee(memref<8xf32, #layout>) -> memref<8xf32, #layout>
func.func private @callee(tensor<8xf32, #tessera.layout<{0:T(4)}>>)
    -> tensor<8xf32, #tessera.layout<{0:T(4)}>>
// CHECK-LABEL: func.func @loop
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[I:.*]] = %{{.*}}) -> (memref<8xf32, #layout>)
// CHECK: %[[C:.*]] = func.call @callee(%{{.*}})
// CHECK: scf.yield
func.func @loop(%a: tensor<8xf32, #tessera.layout<{0:T(4)}>>, %n: index)
    -> tensor<8xf32, #tessera.layout<{0:T(4)}>> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a)
      -> tensor<8xf32, #tessera.layout<{0:T(4)}>> {
    %s = func.call @callee(%t) : (tensor<8xf32, #tessera.layout<{0:T(4)}>>)
        -> tensor<8xf32, #tessera.layout<{0:T(4)}>>
    scf.yield %s : tensor<8xf32, #tessera.layout<{0:T(4)}>>
  }
  return %r : tensor<8xf32, #tessera.layout<{0:T(4)}>>
}

// -----

// A reshape between row-major tensors is a view, whose size is what the static
// ones leave.

// CHECK-LABEL: func.func @reshape
// CHECK-SAME: (%[[A:.*]]: memref<?x4xf32, #layout, #tessera.memory_space<1>>)
// CHECK: %[[FLAT:.*]] = tessera.bitcast_view %[[A]] : memref<?x4xf32, #layout, #tessera.memory_space<1>> to memref<?x4xf32, #tessera.memory_space<1>>
// CHECK: %[[N:.*]] = memref.dim %[[FLAT]]
// CHECK: %[[COUNT:.*]] = arith.muli %c4, %[[N]]
// CHECK: %[[M:.*]] = arith.divui %[[COUNT]], %c2
// CHECK: %[[V:.*]] = memref.reinterpret_cast %[[FLAT]] to offset: [0], sizes: [2, %[[M]]], strides: [%{{.*}}, 1]
// CHECK: tessera.bitcast_view %[[V]] : memref<2x?xf32, #tessera.memory_space<1>> to memref<2x?xf32, #layout, #tessera.memory_space<1>>
func.func @reshape(%a: tensor<?x4xf32, #tessera.layout<{1,0:S(1)}>>)
    -> tensor<2x?xf32, #tessera.layout<{1,0:S(1)}>> {
  %b = tessera.reshape %a : tensor<?x4xf32, #tessera.layout<{1,0:S(1)}>>
      to tensor<2x?xf32, #tessera.layout<{1,0:S(1)}>>
  return %b : tensor<2x?xf32, #tessera.layout<{1,0:S(1)}>>
}

// -----

// A loop that yields a tensor from outside yields a copy of it: the insertion
// below must not change the loop's result.

// CHECK-LABEL: func.func @yields_outside
// CHECK: %[[R:.*]] = scf.for
// CHECK: %[[COPY:.*]] = memref.alloc() {{.*}} : memref<8xf32, #layout>
// CHECK: memref.copy %{{.*}}, %[[COPY]]
// CHECK: scf.yield %[[COPY]]
func.func @yields_outside(%a: tensor<8xf32, #tessera.layout<{0:T(4)}>>, %n: index, %x: f32)
    -> (tensor<8xf32, #tessera.layout<{0:T(4)}>>, tensor<8xf32, #tessera.layout<{0:T(4)}>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a)
      -> tensor<8xf32, #tessera.layout<{0:T(4)}>> {
    %c = tensor.cast %a : tensor<8xf32, #tessera.layout<{0:T(4)}>>
        to tensor<8xf32, #tessera.layout<{0:T(4)}>>
    scf.yield %c : tensor<8xf32, #tessera.layout<{0:T(4)}>>
  }
  %s = tensor.insert %x into %a[%c0] : tensor<8xf32, #tessera.layout<{0:T(4)}>>
  return %r, %s : tensor<8xf32, #tessera.layout<{0:T(4)}>>, tensor<8xf32, #tessera.layout<{0:T(4)}>>
}

// -----

// A constant is a global that has the layout. In another memory space, where no
// program starts with contents, it is moved.

// CHECK: memref.global "private" constant @tessera_constant : memref<2x3xi32, #layout> = dense<{{\[\[}}1, 2, 3], [4, 5, 6]]>
// CHECK-LABEL: func.func @constants
// CHECK: %[[C:.*]] = memref.get_global @tessera_constant : memref<2x3xi32, #layout>
// CHECK: tessera.bitcast_view %[[C]] : memref<2x3xi32, #layout> to memref<6xi32>
// CHECK: %[[P:.*]] = memref.get_global @{{.*}} : memref<2x3xi32>
// CHECK: tessera.relayout %[[P]] into %{{.*}} : memref<2x3xi32>, memref<2x3xi32, #layout, #tessera.memory_space<1>>
func.func @constants() -> (tensor<6xi32>, tensor<2x3xi32, #tessera.layout<{0,1:S(1)}>>) {
  %c = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32, #tessera.layout<{0,1}>>
  %b = tessera.bitcast %c : tensor<2x3xi32, #tessera.layout<{0,1}>> to tensor<6xi32>
  %d = arith.constant dense<7> : tensor<2x3xi32, #tessera.layout<{0,1:S(1)}>>
  return %b, %d : tensor<6xi32>, tensor<2x3xi32, #tessera.layout<{0,1:S(1)}>>
}

// -----

// What upstream would give a plain buffer gets one, and is relayouted.

// CHECK-LABEL: func.func @generate
// CHECK: %[[P:.*]] = memref.alloc() {{.*}} : memref<2x3xi32>
// CHECK: linalg.map outs(%[[P]]
// CHECK: tessera.relayout %[[P]] into %{{.*}} : memref<2x3xi32>, memref<2x3xi32, #layout, #tessera.memory_space<1>>
func.func @generate(%x: i32) -> tensor<2x3xi32, #tessera.layout<{0,1:S(1)}>> {
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    tensor.yield %x : i32
  } : tensor<2x3xi32, #tessera.layout<{0,1:S(1)}>>
  return %g : tensor<2x3xi32, #tessera.layout<{0,1:S(1)}>>
}

// -----

// CHECK-LABEL: func.func @cast
// CHECK-SAME: (%[[A:.*]]: memref<2x3xi32, #[[FROM:.*]]>) -> memref<2x3xi32, #[[TO:.*]]>
// CHECK: %[[B:.*]] = memref.alloc() {{.*}} : memref<2x3xi32, #[[TO]]>
// CHECK-NEXT: tessera.relayout %[[A]] into %[[B]]
// CHECK-NEXT: return %[[B]]
func.func @cast(%a: tensor<2x3xi32, #tessera.layout<{0,1}>>)
    -> tensor<2x3xi32, #tessera.layout<{1,0:T(2,2)}>> {
  %b = tensor.cast %a : tensor<2x3xi32, #tessera.layout<{0,1}>>
      to tensor<2x3xi32, #tessera.layout<{1,0:T(2,2)}>>
  return %b : tensor<2x3xi32, #tessera.layout<{1,0:T(2,2)}>>
}

// -----

// A view with strides is one of a plain buffer.

// CHECK-LABEL: func.func @expand
// CHECK: tessera.relayout %{{.*}} into %[[P:.*]] : memref<8x4xf32, #layout>, memref<8x4xf32>
// CHECK: memref.expand_shape %[[P]]
func.func @expand(%a: tensor<8x4xf32, #tessera.layout<{1,0:T(8,128)}>>)
    -> tensor<2x4x4xf32> {
  %b = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 4, 4]
      : tensor<8x4xf32, #tessera.layout<{1,0:T(8,128)}>> into tensor<2x4x4xf32>
  return %b : tensor<2x4x4xf32>
}

// -----

// Insertions in parallel go into a plain buffer; nothing is relayouted in the
// loop but what is inserted.

// CHECK-LABEL: func.func @parallel
// CHECK-SAME: (%[[A:.*]]: memref<4x6xf32, #layout>, %[[B:.*]]: memref<2x6xf32>)
// CHECK: tessera.relayout %[[A]] into %[[P:.*]] : memref<4x6xf32, #layout>, memref<4x6xf32>
// CHECK: scf.forall
// CHECK-NEXT: memref.subview %[[P]]
// CHECK-NEXT: memref.copy %[[B]]
// CHECK: tessera.relayout %[[P]] into
func.func @parallel(%a: tensor<4x6xf32, #tessera.layout<{0,1}>>, %b: tensor<2x6xf32>)
    -> tensor<4x6xf32, #tessera.layout<{0,1}>> {
  %r = scf.forall (%i) in (2) shared_outs(%o = %a) -> tensor<4x6xf32, #tessera.layout<{0,1}>> {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %b into %o[%i, 0] [2, 6] [1, 1]
          : tensor<2x6xf32> into tensor<4x6xf32, #tessera.layout<{0,1}>>
    }
  }
  return %r : tensor<4x6xf32, #tessera.layout<{0,1}>>
}

// -----

// A fused bitcast that leaves the memory space is a move and a view.

// CHECK-LABEL: func.func @fused
// CHECK: tessera.relayout %{{.*}} into %[[M:.*]] : memref<4x6xf32, #layout, #tessera.memory_space<1>>, memref<4x6xf32, #layout>
// CHECK: tessera.bitcast_view %[[M]] : memref<4x6xf32, #layout> to memref<6x4xf32>
func.func @fused(%a: tensor<4x6xf32, #tessera.layout<{0,1:S(1)}>>) -> tensor<6x4xf32> {
  %b = tessera.bitcast %a fused
      : tensor<4x6xf32, #tessera.layout<{0,1:S(1)}>> to tensor<6x4xf32>
  return %b : tensor<6x4xf32>
}

// -----

// A function does not return its constant, which a caller might write to.

// CHECK-LABEL: func.func @returns_constant
// CHECK: memref.get_global
// CHECK: memref.copy %{{.*}}, %[[COPY:.*]] : memref<2xi32> to memref<2xi32>
// CHECK: return %[[COPY]]
func.func @returns_constant(%yes: i1, %a: tensor<2xi32>) -> tensor<2xi32> {
  %c = arith.constant dense<[1, 2]> : tensor<2xi32>
  cf.cond_br %yes, ^next(%a : tensor<2xi32>), ^next(%c : tensor<2xi32>)
^next(%r: tensor<2xi32>):
  return %r : tensor<2xi32>
}

// -----

// CHECK-LABEL: func.func @unranked(
// CHECK-SAME: memref<*xf32>
func.func @unranked(%a: tensor<*xf32>) -> tensor<?xf32, #tessera.layout<{0:T(8)}>> {
  %r = tensor.cast %a : tensor<*xf32> to tensor<?xf32, #tessera.layout<{0:T(8)}>>
  return %r : tensor<?xf32, #tessera.layout<{0:T(8)}>>
}

// -----

// What a bitcast reads is whole: a part of a plain tensor is copied.

// CHECK-LABEL: func.func @bitcast_of_slice
// CHECK: %[[S:.*]] = memref.subview
// CHECK: memref.copy %[[S]], %[[W:.*]] : memref<2x3xf32, strided<[6, 1], offset: 7>> to memref<2x3xf32>
// CHECK: tessera.bitcast_view %[[W]] : memref<2x3xf32> to memref<6xf32>
func.func @bitcast_of_slice(%a: tensor<4x6xf32>) -> tensor<6xf32> {
  %b = tensor.extract_slice %a[1, 1] [2, 3] [1, 1] : tensor<4x6xf32> to tensor<2x3xf32>
  %c = tessera.bitcast %b : tensor<2x3xf32> to tensor<6xf32>
  return %c : tensor<6xf32>
}

// -----

// A relayout reads it where it is.

// CHECK-LABEL: func.func @relayout_of_slice
// CHECK-NOT: memref.copy
// CHECK: %[[S:.*]] = memref.subview
// CHECK: tessera.relayout %[[S]] into %{{.*}} : memref<?x3xf32, strided<[6, 1], offset: 7>>, memref<?x3xf32, #{{.*}}>
func.func @relayout_of_slice(%a: tensor<4x6xf32>, %n: index)
    -> tensor<?x3xf32, #tessera.layout<{1,0:T(2,2)}>> {
  %b = tensor.extract_slice %a[1, 1] [%n, 3] [1, 1] : tensor<4x6xf32> to tensor<?x3xf32>
  %c = tessera.relayout %b : tensor<?x3xf32> to tensor<?x3xf32, #tessera.layout<{1,0:T(2,2)}>>
  return %c : tensor<?x3xf32, #tessera.layout<{1,0:T(2,2)}>>
}

// -----

// Constants of the same elements share a global if they have the same layout.

// CHECK-DAG: memref.global "private" constant @[[PLAIN:.*]] : memref<2x2xi32> =
// CHECK-DAG: memref.global "private" constant @[[LAID_OUT:.*]] : memref<2x2xi32, #layout> =
// CHECK-LABEL: func.func @shared_constants
// CHECK-DAG: memref.get_global @[[PLAIN]] : memref<2x2xi32>
// CHECK-DAG: memref.get_global @[[LAID_OUT]] : memref<2x2xi32, #layout>
// CHECK-DAG: memref.get_global @[[PLAIN]] : memref<2x2xi32>
func.func @shared_constants() -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %a = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32, #tessera.layout<{0,1}>>
  %b = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %c = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %d = tessera.bitcast %a : tensor<2x2xi32, #tessera.layout<{0,1}>> to tensor<4xi32>
  %e = tessera.bitcast %b : tensor<2x2xi32> to tensor<4xi32>
  %f = tessera.bitcast %c : tensor<2x2xi32> to tensor<4xi32>
  return %d, %e, %f : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// -----

// The tensor that a case yields may be read later, and constants not written:
// the result of the switch is copied.

// CHECK-LABEL: func.func @write_behind_switch
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: scf.index_switch
// CHECK: case 0 {
// CHECK: %[[B:.*]] = memref.alloc
// CHECK: memref.copy %[[A]], %[[B]]
// CHECK: scf.yield %[[B]]
func.func @write_behind_switch(%i: index, %x: i32) -> (tensor<3xi32>, tensor<3xi32>) {
  %e = tensor.empty() : tensor<3xi32>
  %f = linalg.fill ins(%x : i32) outs(%e : tensor<3xi32>) -> tensor<3xi32>
  %s = scf.index_switch %i -> tensor<3xi32>
  case 0 {
    scf.yield %f : tensor<3xi32>
  }
  default {
    %c = arith.constant dense<[4, 2, 3]> : tensor<3xi32>
    scf.yield %c : tensor<3xi32>
  }
  %t = tensor.insert %x into %s[%i] : tensor<3xi32>
  return %t, %f : tensor<3xi32>, tensor<3xi32>
}

// -----

// A write in another block than the argument's is not seen to conflict with a
// read after it.

// CHECK-LABEL: func.func @write_in_another_block
// CHECK-SAME: (%[[A:[a-z0-9]*]]: memref<4xi32>
// CHECK: %[[B:.*]] = memref.alloc
// CHECK: memref.copy %[[A]], %[[B]]
// CHECK: cf.cond_br
// CHECK-NOT: outs(%[[A]]
// CHECK: return
func.func @write_in_another_block(%a: tensor<4xi32>, %c: i1) -> i32 {
  cf.cond_br %c, ^write, ^read
^write:
  %0 = linalg.map { arith.addi } ins(%a, %a : tensor<4xi32>, tensor<4xi32>) outs(%a : tensor<4xi32>)
  cf.br ^read
^read:
  %k = arith.constant 0 : index
  %r = tensor.extract %a[%k] : tensor<4xi32>
  return %r : i32
}

// -----

// What a function returns twice are two buffers: the insertion into one must not
// be seen in the other. The argument's own buffer is the caller's, and no result.

// CHECK-LABEL: func private @same_twice
// CHECK-SAME: (%[[T:.*]]: memref<4xi32>)
// CHECK: %[[COPY:.*]] = memref.alloc
// CHECK: memref.copy %[[T]], %[[COPY]]
// CHECK: return %[[COPY]] :
func.func private @same_twice(%t: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  return %t, %t : tensor<4xi32>, tensor<4xi32>
}

// Also where one is a view of the other, or comes back from a call.

// CHECK-LABEL: func private @view
// CHECK: %[[VIEW:.*]] = tessera.bitcast_view
// CHECK: memref.copy %[[VIEW]], %[[COPY:.*]] :
// CHECK: return %[[COPY]] :
func.func private @view(%t: tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<4xi32>) {
  %0 = tessera.bitcast %t : tensor<2x2xi32> to tensor<4xi32>
  return %t, %0 : tensor<2x2xi32>, tensor<4xi32>
}

// CHECK-LABEL: func private @call
// CHECK-SAME: (%[[T:.*]]: memref<4xi32>)
// CHECK: call @same_twice(%[[T]])
// CHECK: memref.copy %[[T]], %[[COPY:.*]] :
// CHECK: return %[[COPY]] :
func.func private @call(%t: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0:2 = call @same_twice(%t) : (tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %t, %0#0 : tensor<4xi32>, tensor<4xi32>
}

// Two buffers that are nothing to each other are not copied.

// CHECK-LABEL: func private @different
// CHECK-NOT: memref.copy
// CHECK: return
func.func private @different(%t: tensor<4xi32>, %u: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  return %t, %u : tensor<4xi32>, tensor<4xi32>
}

// A constant that comes back from a call is not for the caller to write to.

// CHECK-LABEL: func private @constant_of_call
// CHECK: %[[C:.*]] = memref.get_global
// CHECK: call @same(%[[C]])
// CHECK: memref.copy %[[C]], %[[COPY:.*]] :
// CHECK: return %[[COPY]]
func.func private @same(%t: tensor<4xi32>) -> tensor<4xi32> {
  return %t : tensor<4xi32>
}
func.func private @constant_of_call() -> tensor<4xi32> {
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %0 = call @same(%c) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

// What a call gives may be its argument: in functions of several blocks, other
// blocks use a copy, as they do of the argument.

// CHECK-LABEL: func private @call_of_another_block
// CHECK-SAME: (%[[R:.*]]: memref<4xi32>, %{{.*}}: i32
// CHECK: call @same(%[[R]])
// CHECK: %[[COPY:.*]] = memref.alloc
// CHECK: memref.copy %[[R]], %[[COPY]]
// CHECK: ^bb1:
// CHECK-NOT: memref.store %{{.*}}, %[[R]]
// CHECK: ^bb2(
func.func private @same(%t: tensor<4xi32>) -> tensor<4xi32> {
  return %t : tensor<4xi32>
}
func.func private @call_of_another_block(%t: tensor<4xi32>, %v: i32, %c: i1) -> (tensor<4xi32>, tensor<4xi32>) {
  %c0 = arith.constant 0 : index
  %0 = call @same(%t) : (tensor<4xi32>) -> tensor<4xi32>
  cf.cond_br %c, ^bb1, ^bb2(%0 : tensor<4xi32>)
^bb1:
  %1 = tensor.insert %v into %0[%c0] : tensor<4xi32>
  cf.br ^bb2(%1 : tensor<4xi32>)
^bb2(%2: tensor<4xi32>):
  return %0, %2 : tensor<4xi32>, tensor<4xi32>
}

// -----

// What a loop carries in two places does not begin in one buffer.

// CHECK-LABEL: func private @one_empty_tensor
// CHECK: %[[B:.*]] = memref.alloc() {{.*}} : memref<4xf32>
// CHECK: %[[A:.*]] = memref.alloc() {{.*}} : memref<4xf32>
// CHECK: %[[S:.*]] = memref.alloc() {{.*}} : memref<4xf32>
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[A]]
// CHECK: memref.store %{{.*}}, %[[B]]
// CHECK: %[[P:.*]] = memref.load %[[A]]
// CHECK: memref.store %[[P]], %[[S]]
// CHECK: return %[[S]]
func.func private @one_empty_tensor(%v: f32, %w: f32, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %o = tensor.empty() : tensor<4xf32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %e, %b = %e, %s = %o) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a1 = tensor.insert %v into %a[%i] : tensor<4xf32>
    %b1 = tensor.insert %w into %b[%i] : tensor<4xf32>
    %p = tensor.extract %a1[%i] : tensor<4xf32>
    %s1 = tensor.insert %p into %s[%i] : tensor<4xf32>
    scf.yield %a1, %b1, %s1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#2 : tensor<4xf32>
}

// -----

// A function that is a value keeps its type, and the others of the module.

// CHECK-LABEL: func private @value(%{{.*}}: memref<4xi32>) -> memref<4xi32>
// CHECK-LABEL: func @of_value
// CHECK: constant @value : (memref<4xi32>) -> memref<4xi32>
func.func private @value(%m: memref<4xi32>) -> memref<4xi32> {
  return %m : memref<4xi32>
}
func.func @of_value() -> ((memref<4xi32>) -> memref<4xi32>) {
  %0 = constant @value : (memref<4xi32>) -> memref<4xi32>
  return %0 : (memref<4xi32>) -> memref<4xi32>
}
