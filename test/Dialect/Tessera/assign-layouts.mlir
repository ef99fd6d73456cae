// RUN: tessera-opt %s --allow-unregistered-dialect --tessera-assign-layouts=target=tpu_v5e --split-input-file | FileCheck %s
// RUN: tessera-opt %s --allow-unregistered-dialect --tessera-assign-layouts=target=cpu --split-input-file | FileCheck %s --check-prefix=CPU --implicit-check-not=tessera.relayout

// A second run changes nothing: neither with the option nor with the target
// that the first one put on the module.
// RUN: tessera-opt %s --allow-unregistered-dialect --tessera-assign-layouts=target=tpu_v5e --split-input-file > %t.once
// RUN: tessera-opt %s --allow-unregistered-dialect --tessera-assign-layouts=target=tpu_v5e --tessera-assign-layouts=target=tpu_v5e --split-input-file > %t.twice
// RUN: diff %t.once %t.twice
// RUN: tessera-opt %t.once --allow-unregistered-dialect --tessera-assign-layouts --split-input-file | diff %t.once -

// The example of the description. On a CPU these are the defaults already.
// CHECK-DAG: #[[L:.*]] = #tessera.layout<{0,1:T(8,128)}>
// CHECK: module attributes {tessera.target = #tessera.target<"tpu_v5e">}
// CHECK: func.func @f(%[[A:.*]]: tensor<4096x129xf32, #[[L]]>) -> tensor<4096x129xf32, #[[L]]>
// CHECK-NEXT: %[[B:.*]] = math.exp %[[A]] : tensor<4096x129xf32, #[[L]]>
// CHECK-NEXT: return %[[B]] : tensor<4096x129xf32, #[[L]]>
// CPU: func.func @f(%{{.*}}: tensor<4096x129xf32>) -> tensor<4096x129xf32>
func.func @f(%a: tensor<4096x129xf32>) -> tensor<4096x129xf32> {
  %b = math.exp %a : tensor<4096x129xf32>
  return %b : tensor<4096x129xf32>
}

// -----

// Loops, constants, empty tensors, named operations and calls follow.
// CHECK-DAG: #[[L:.*]] = #tessera.layout<{1,0:T(8,128)}>
// CHECK: func.func private @callee(%{{.*}}: tensor<16x128xf32, #[[L]]>) -> tensor<16x128xf32, #[[L]]>
// CHECK: func.func @structured
// CHECK-NOT: tessera.relayout
// CHECK: arith.constant dense<0.000000e+00> : tensor<16x128xf32, #[[L]]>
// CHECK: scf.for {{.*}} -> (tensor<16x128xf32, #[[L]]>)
// CHECK: linalg.add ins(%{{.*}}, %{{.*}} : tensor<16x128xf32, #[[L]]>, tensor<16x128xf32, #[[L]]>) outs(%{{.*}} : tensor<16x128xf32, #[[L]]>)
// CHECK: call @callee(%{{.*}}) : (tensor<16x128xf32, #[[L]]>) -> tensor<16x128xf32, #[[L]]>
// CHECK: scf.yield %{{.*}} : tensor<16x128xf32, #[[L]]>
// CHECK-NOT: tessera.relayout
// CHECK: return
func.func private @callee(%x: tensor<16x128xf32>) -> tensor<16x128xf32> {
  return %x : tensor<16x128xf32>
}
func.func @structured(%x: tensor<16x128xf32>, %n: index) -> tensor<16x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16x128xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x128xf32>) {
    %e = tensor.empty() : tensor<16x128xf32>
    %s = linalg.add ins(%acc, %x : tensor<16x128xf32>, tensor<16x128xf32>) outs(%e : tensor<16x128xf32>) -> tensor<16x128xf32>
    %t = func.call @callee(%s) : (tensor<16x128xf32>) -> tensor<16x128xf32>
    scf.yield %t : tensor<16x128xf32>
  }
  return %r : tensor<16x128xf32>
}

// -----

// A pinned value stays, and so does what has no default.
// CHECK-LABEL: func.func @pinned
// CHECK-SAME: tensor<16x128xf32, #layout>, %{{.*}}: tensor<?x128xf32>, %{{.*}}: tensor<4xindex>
// CHECK-NOT: tessera.relayout
#pin = #tessera.layout<{0,1}>
func.func @pinned(%a: tensor<16x128xf32, #pin>, %b: tensor<?x128xf32>, %c: tensor<4xindex>) -> tensor<16x128xf32, #pin> {
  %0 = math.exp %a : tensor<16x128xf32, #pin>
  %1 = math.exp %b : tensor<?x128xf32>
  return %0 : tensor<16x128xf32, #pin>
}

// -----

// A result that follows from the operands is relaid out to the target's choice.
// CHECK-DAG: #[[F:.*]] = #tessera.layout<{1,0:T(8,128)}>
// CHECK-DAG: #[[P:.*]] = #tessera.layout<{1,0:T(8,128)(4,1)}>
// CHECK-LABEL: func.func @inferred
// CHECK: %[[C:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : tensor<16x128xf32, #[[F]]>
// CHECK-NEXT: %[[D:.*]] = tessera.relayout %[[C]] : tensor<16x128xi1, #[[F]]> to tensor<16x128xi1, #[[P]]>
// CHECK-NEXT: arith.andi %[[D]], %[[D]] : tensor<16x128xi1, #[[P]]>
// CPU-LABEL: func.func @inferred
func.func @inferred(%a: tensor<16x128xf32>) -> tensor<16x128xi1> {
  %0 = arith.cmpf olt, %a, %a : tensor<16x128xf32>
  %1 = arith.andi %0, %0 : tensor<16x128xi1>
  return %1 : tensor<16x128xi1>
}

// -----

// What cannot change, or must not, keeps its types between relayouts: casts,
// other dialects, bitcasts (they read bytes). Slices are slices in any layout.
// CHECK-LABEL: func.func @kept
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [4, 4] [1, 1] : tensor<16x128xf32, #[[L:.*]]> to tensor<4x4xf32, #{{.*}}>
// CHECK-NEXT: %[[A:.*]] = tessera.relayout %{{.*}} : tensor<16x128xf32, #[[L]]> to tensor<16x128xf32>
// CHECK-NEXT: tensor.cast %[[A]] : tensor<16x128xf32> to tensor<?x128xf32>
// CHECK: "test.other"(%{{.*}}) : (tensor<16x128xf32>) -> tensor<16x128xf32>
// CHECK: tessera.bitcast %{{.*}} : tensor<16x128xf32> to tensor<2048xf32>
func.func @kept(%a: tensor<16x128xf32>) -> (tensor<4x4xf32>, tensor<?x128xf32>, tensor<16x128xf32>, tensor<2048xf32>) {
  %0 = tensor.extract_slice %a[0, 0] [4, 4] [1, 1] : tensor<16x128xf32> to tensor<4x4xf32>
  %1 = tensor.cast %a : tensor<16x128xf32> to tensor<?x128xf32>
  %2 = "test.other"(%a) : (tensor<16x128xf32>) -> tensor<16x128xf32>
  %3 = tessera.bitcast %a : tensor<16x128xf32> to tensor<2048xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<?x128xf32>, tensor<16x128xf32>, tensor<2048xf32>
}

// -----

// Signatures that others know stay: declarations, and functions whose address
// is taken; their bodies and callers use the target's layouts all the same.
// CHECK: func.func private @external(tensor<16x128xf32>) -> tensor<16x128xf32>
func.func private @external(%x: tensor<16x128xf32>) -> tensor<16x128xf32>
// CHECK: func.func @taken(%[[X:.*]]: tensor<16x128xf32>) -> tensor<16x128xf32>
// CHECK-NEXT: %[[Y:.*]] = tessera.relayout %[[X]] : tensor<16x128xf32> to tensor<16x128xf32, #[[L:.*]]>
// CHECK-NEXT: %[[Z:.*]] = math.exp %[[Y]] : tensor<16x128xf32, #[[L]]>
// CHECK-NEXT: cf.br ^bb1(%[[Z]] : tensor<16x128xf32, #[[L]]>)
// CHECK: %[[R:.*]] = tessera.relayout %{{.*}} : tensor<16x128xf32, #[[L]]> to tensor<16x128xf32>
// CHECK-NEXT: return %[[R]] : tensor<16x128xf32>
func.func @taken(%x: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %0 = math.exp %x : tensor<16x128xf32>
  cf.br ^next(%0 : tensor<16x128xf32>)
^next(%1: tensor<16x128xf32>):
  return %1 : tensor<16x128xf32>
}
// CHECK: func.func @caller(%[[X:.*]]: tensor<16x128xf32, #[[L]]>)
// CHECK: %[[Y:.*]] = tessera.relayout %[[X]] : tensor<16x128xf32, #[[L]]> to tensor<16x128xf32>
// CHECK-NEXT: %[[Z:.*]] = call @external(%[[Y]]) : (tensor<16x128xf32>) -> tensor<16x128xf32>
// CHECK-NEXT: tessera.relayout %[[Z]] : tensor<16x128xf32> to tensor<16x128xf32, #[[L]]>
func.func @caller(%x: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %f = func.constant @taken : (tensor<16x128xf32>) -> tensor<16x128xf32>
  %0 = call @external(%x) : (tensor<16x128xf32>) -> tensor<16x128xf32>
  return %0 : tensor<16x128xf32>
}

// -----

// A relayout takes what it gets: no second one in front of it.
// CHECK-DAG: #[[P:.*]] = #tessera.layout<{0,1}>
// CHECK: func.func private @other(tensor<16x128xf32>) -> tensor<16x128xf32>
// CPU: tessera.relayout %{{.*}} : tensor<16x128xf32> to tensor<16x128xf32, #
// CHECK: func.func @relaid
// CHECK: %[[Y:.*]] = call @other
// CHECK-NEXT: tessera.relayout %[[Y]] : tensor<16x128xf32> to tensor<16x128xf32, #[[P]]>
// CHECK-NEXT: return
#pin = #tessera.layout<{0,1}>
func.func private @other(%x: tensor<16x128xf32>) -> tensor<16x128xf32>
func.func @relaid(%x: tensor<16x128xf32>) -> tensor<16x128xf32, #pin> {
  %0 = call @other(%x) : (tensor<16x128xf32>) -> tensor<16x128xf32>
  %1 = tessera.relayout %0 : tensor<16x128xf32> to tensor<16x128xf32, #pin>
  return %1 : tensor<16x128xf32, #pin>
}

// -----

// A relayout to a type without a layout is written, too. Who uses it gets the
// target's layout, like all others.
// CHECK-DAG: #[[P:.*]] = #tessera.layout<{0,1}>
// CHECK-DAG: #[[L:.*]] = #tessera.layout<{1,0:T(8,128)}>
// CHECK: func.func @returned(%[[X:.*]]: tensor<16x128xf32, #[[P]]>) -> tensor<16x128xf32, #[[L]]>
// CHECK-NEXT: %[[A:.*]] = tessera.relayout %[[X]] : tensor<16x128xf32, #[[P]]> to tensor<16x128xf32>
// CHECK-NEXT: %[[B:.*]] = tessera.relayout %[[A]] : tensor<16x128xf32> to tensor<16x128xf32, #[[L]]>
// CHECK-NEXT: return %[[B]]
// CPU: tessera.relayout
#pin = #tessera.layout<{0,1}>
func.func @returned(%x: tensor<16x128xf32, #pin>) -> tensor<16x128xf32> {
  %0 = tessera.relayout %x : tensor<16x128xf32, #pin> to tensor<16x128xf32>
  return %0 : tensor<16x128xf32>
}
// CHECK: func.func @added
// CHECK: %[[B:.*]] = tessera.relayout %{{.*}} : tensor<16x128xf32> to tensor<16x128xf32, #[[L]]>
// CHECK-NEXT: arith.addf %[[B]], %{{.*}} : tensor<16x128xf32, #[[L]]>
// CPU: tessera.relayout
func.func @added(%x: tensor<16x128xf32, #pin>, %y: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %0 = tessera.relayout %x : tensor<16x128xf32, #pin> to tensor<16x128xf32>
  %1 = arith.addf %0, %y : tensor<16x128xf32>
  return %1 : tensor<16x128xf32>
}
// CHECK: func.func @passed
// CHECK: %[[B:.*]] = tessera.relayout %{{.*}} : tensor<16x128xf32> to tensor<16x128xf32, #[[L]]>
// CHECK-NEXT: call @returns(%[[B]])
// CPU: tessera.relayout
func.func @returns(%x: tensor<16x128xf32>) -> tensor<16x128xf32> {
  return %x : tensor<16x128xf32>
}
func.func @passed(%x: tensor<16x128xf32, #pin>) -> tensor<16x128xf32> {
  %0 = tessera.relayout %x : tensor<16x128xf32, #pin> to tensor<16x128xf32>
  %1 = call @returns(%0) : (tensor<16x128xf32>) -> tensor<16x128xf32>
  return %1 : tensor<16x128xf32>
}
// CHECK: func.func @carried
// CHECK: %[[B:.*]] = tessera.relayout %{{.*}} : tensor<16x128xf32> to tensor<16x128xf32, #[[L]]>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[B]]) -> (tensor<16x128xf32, #[[L]]>)
// CPU: tessera.relayout
func.func @carried(%x: tensor<16x128xf32, #pin>, %n: index) -> tensor<16x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tessera.relayout %x : tensor<16x128xf32, #pin> to tensor<16x128xf32>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %0) -> tensor<16x128xf32> {
    %2 = math.exp %a : tensor<16x128xf32>
    scf.yield %2 : tensor<16x128xf32>
  }
  return %1 : tensor<16x128xf32>
}

// -----

// What a copy writes is moved on when the copy is done.
// CHECK: func.func @copied
// CHECK-NEXT: %[[C:.*]], %[[T:.*]] = tessera.copy_start
// CHECK-NEXT: tessera.copy_done %[[T]]
// CHECK-NEXT: tessera.relayout %[[C]] : tensor<16x128xf32> to tensor<16x128xf32, #
func.func @copied(%x: tensor<16x128xf32, #tessera.layout<{1,0:S(1)}>>) -> tensor<16x128xf32> {
  %0, %token = tessera.copy_start %x : tensor<16x128xf32, #tessera.layout<{1,0:S(1)}>> to tensor<16x128xf32>
  tessera.copy_done %token
  return %0 : tensor<16x128xf32>
}

// -----

// The types of other functions are their dialect's business.
// CHECK: llvm.func @no_tensors()
llvm.func @no_tensors() {
  llvm.return
}
