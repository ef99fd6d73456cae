// RUN: tessera-opt %s -canonicalize | FileCheck %s

#rows = #tessera.layout<{1,0}>
#columns = #tessera.layout<{0,1}>
#tiled = #tessera.layout<{1,0:T(8,128)}>
#tiled_s1 = #tessera.layout<{1,0:T(8,128)S(1)}>
#zeros = #tessera.layout<{1,0:T(8,128)PV(zero)}>

// CHECK-DAG: #[[ROWS:.*]] = #tessera.layout<{1,0}>
// CHECK-DAG: #[[COLUMNS:.*]] = #tessera.layout<{0,1}>
// CHECK-DAG: #[[TILED:.*]] = #tessera.layout<{1,0:T(8,128)}>
// CHECK-DAG: #[[TILED_S1:.*]] = #tessera.layout<{1,0:T(8,128)S(1)}>
// CHECK-DAG: #[[ZEROS:.*]] = #tessera.layout<{1,0:T(8,128)PV(zero)}>

// CHECK-LABEL: func.func @same_type
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: return %[[A]]
func.func @same_type(%a: tensor<4x5xf32, #tiled>) -> tensor<4x5xf32, #tiled> {
  %0 = tessera.relayout %a : tensor<4x5xf32, #tiled> to tensor<4x5xf32, #tiled>
  return %0 : tensor<4x5xf32, #tiled>
}

// An explicit default layout is another type; the two vanish at bufferization.
// CHECK-LABEL: func.func @explicit_default
// CHECK: tessera.relayout
func.func @explicit_default(%a: tensor<4x5xf32>) -> tensor<4x5xf32, #rows> {
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #rows>
  return %0 : tensor<4x5xf32, #rows>
}

// CHECK-LABEL: func.func @merge
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: %[[R:.*]] = tessera.relayout %[[A]] : tensor<4x5xf32> to tensor<4x5xf32, #[[TILED]]>
// CHECK-NEXT: return %[[R]]
func.func @merge(%a: tensor<4x5xf32>) -> tensor<4x5xf32, #tiled> {
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #columns>
  %1 = tessera.relayout %0 : tensor<4x5xf32, #columns> to tensor<4x5xf32, #tiled>
  return %1 : tensor<4x5xf32, #tiled>
}

// CHECK-LABEL: func.func @merge_dynamic
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: return %[[A]]
func.func @merge_dynamic(%a: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = tessera.relayout %a : tensor<?x5xf32> to tensor<?x5xf32, #columns>
  %1 = tessera.relayout %0 : tensor<?x5xf32, #columns> to tensor<?x5xf32, #tiled>
  %2 = tessera.relayout %1 : tensor<?x5xf32, #tiled> to tensor<?x5xf32>
  return %2 : tensor<?x5xf32>
}

// A promise about padding that nobody sees is not kept.
// CHECK-LABEL: func.func @drop_promise
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: return %[[A]]
func.func @drop_promise(%a: tensor<4x5xf32, #tiled>) -> tensor<4x5xf32, #tiled> {
  %0 = tessera.relayout %a : tensor<4x5xf32, #tiled> to tensor<4x5xf32, #zeros>
  %1 = tessera.relayout %0 : tensor<4x5xf32, #zeros> to tensor<4x5xf32, #tiled>
  return %1 : tensor<4x5xf32, #tiled>
}

// Padding is filled, though no element moves.
// CHECK-LABEL: func.func @fill
// CHECK: tessera.relayout %{{.*}} : tensor<4x5xf32, #[[TILED]]> to tensor<4x5xf32, #[[ZEROS]]>
func.func @fill(%a: tensor<4x5xf32, #tiled>) -> tensor<4x5xf32, #zeros> {
  %0 = tessera.relayout %a : tensor<4x5xf32, #tiled> to tensor<4x5xf32, #zeros>
  return %0 : tensor<4x5xf32, #zeros>
}

// A move to a space that is an end's: the other relayout is merged into it.
// CHECK-LABEL: func.func @merge_move
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: %[[R:.*]] = tessera.relayout %[[A]] : tensor<4x5xf32> to tensor<4x5xf32, #[[TILED_S1]]>
// CHECK-NEXT: return %[[R]]
func.func @merge_move(%a: tensor<4x5xf32>) -> tensor<4x5xf32, #tiled_s1> {
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #tiled>
  %1 = tessera.relayout %0 : tensor<4x5xf32, #tiled> to tensor<4x5xf32, #tiled_s1>
  return %1 : tensor<4x5xf32, #tiled_s1>
}

// There and back through another space stays: somebody wanted these moves.
// CHECK-LABEL: func.func @keep_moves
// CHECK-NEXT: tessera.relayout
// CHECK-NEXT: tessera.relayout
// CHECK-NEXT: return
func.func @keep_moves(%a: tensor<4x5xf32, #tiled>) -> tensor<4x5xf32, #tiled> {
  %0 = tessera.relayout %a : tensor<4x5xf32, #tiled> to tensor<4x5xf32, #tiled_s1>
  %1 = tessera.relayout %0 : tensor<4x5xf32, #tiled_s1> to tensor<4x5xf32, #tiled>
  return %1 : tensor<4x5xf32, #tiled>
}

// CHECK-LABEL: func.func @third_space
// CHECK-NEXT: tessera.relayout
// CHECK-NEXT: tessera.relayout
// CHECK-NEXT: return
func.func @third_space(%a: tensor<4x5xf32>) -> tensor<4x5xf32, #tessera.layout<{1,0:S(2)}>> {
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #tiled_s1>
  %1 = tessera.relayout %0 : tensor<4x5xf32, #tiled_s1> to tensor<4x5xf32, #tessera.layout<{1,0:S(2)}>>
  return %1 : tensor<4x5xf32, #tessera.layout<{1,0:S(2)}>>
}

// The first relayout stays for its other user.
// CHECK-LABEL: func.func @two_users
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-DAG: %[[C:.*]] = tessera.relayout %[[A]] : tensor<4x5xf32> to tensor<4x5xf32, #[[COLUMNS]]>
// CHECK-DAG: %[[T:.*]] = tessera.relayout %[[A]] : tensor<4x5xf32> to tensor<4x5xf32, #[[TILED]]>
// CHECK: return %[[C]], %[[T]]
func.func @two_users(%a: tensor<4x5xf32>) -> (tensor<4x5xf32, #columns>, tensor<4x5xf32, #tiled>) {
  %0 = tessera.relayout %a : tensor<4x5xf32> to tensor<4x5xf32, #columns>
  %1 = tessera.relayout %0 : tensor<4x5xf32, #columns> to tensor<4x5xf32, #tiled>
  return %0, %1 : tensor<4x5xf32, #columns>, tensor<4x5xf32, #tiled>
}

// CHECK-LABEL: func.func @memref_self
// CHECK-NEXT: return
func.func @memref_self(%m: memref<4x5xf32, #tiled>) {
  tessera.relayout %m into %m : memref<4x5xf32, #tiled>, memref<4x5xf32, #tiled>
  return
}

// Buffers of one type are still two buffers.
// CHECK-LABEL: func.func @memref_other
// CHECK-NEXT: tessera.relayout
func.func @memref_other(%m: memref<4x5xf32, #tiled>, %n: memref<4x5xf32, #tiled>) {
  tessera.relayout %m into %n : memref<4x5xf32, #tiled>, memref<4x5xf32, #tiled>
  return
}

// CHECK-LABEL: func.func @bitcast_same
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: return %[[A]]
func.func @bitcast_same(%a: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = tessera.bitcast %a : tensor<8x32xf32> to tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @bitcast_chain
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: %[[B:.*]] = tessera.bitcast %[[A]] : tensor<8x32xf32> to tensor<256xi32>
// CHECK-NEXT: return %[[B]]
func.func @bitcast_chain(%a: tensor<8x32xf32>) -> tensor<256xi32> {
  %0 = tessera.bitcast %a : tensor<8x32xf32> to tensor<32x8xf32, #columns>
  %1 = tessera.bitcast %0 : tensor<32x8xf32, #columns> to tensor<256xi32>
  return %1 : tensor<256xi32>
}

// CHECK-LABEL: func.func @bitcast_back
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: return %[[A]]
func.func @bitcast_back(%a: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = tessera.bitcast %a : tensor<8x32xf32> to tensor<32x8xf32, #columns>
  %1 = tessera.bitcast %0 : tensor<32x8xf32, #columns> to tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @bitcast_fused
// CHECK: tessera.bitcast %{{.*}} fused : tensor<4x5xf32, #[[TILED]]> to tensor<4x4xf32, #[[TILED_S1]]>
func.func @bitcast_fused(%a: tensor<4x5xf32, #tiled>) -> tensor<4x4xf32, #tiled_s1> {
  %0 = tessera.bitcast %a fused : tensor<4x5xf32, #tiled> to tensor<4x5xf32, #tiled_s1>
  %1 = tessera.bitcast %0 : tensor<4x5xf32, #tiled_s1> to tensor<4x4xf32, #tiled_s1>
  return %1 : tensor<4x4xf32, #tiled_s1>
}

// CHECK-LABEL: func.func @empty_sizes
// CHECK-SAME: (%[[N:.*]]: index
// CHECK: %[[E:.*]] = tessera.empty(%[[N]]) : tensor<4x?xf32, #[[TILED]]>
// CHECK: tensor.cast %[[E]] : tensor<4x?xf32, #[[TILED]]> to tensor<?x?xf32, #[[TILED]]>
func.func @empty_sizes(%n: index) -> tensor<?x?xf32, #tiled> {
  %c4 = arith.constant 4 : index
  %0 = tessera.empty(%c4, %n) : tensor<?x?xf32, #tiled>
  return %0 : tensor<?x?xf32, #tiled>
}

// A dimension with a bound stays dynamic, and so does a size that is none.
// CHECK-LABEL: func.func @empty_kept
// CHECK: tessera.empty(%{{.*}}) : tensor<?x5xf32, #{{.*}}>
// CHECK: tessera.empty(%{{.*}}) : tensor<?x5xf32>
func.func @empty_kept() -> (tensor<?x5xf32, #tessera.layout<{1,0:B(8,?)}>>, tensor<?x5xf32>) {
  %c4 = arith.constant 4 : index
  %minus = arith.constant -4 : index
  %0 = tessera.empty(%c4) : tensor<?x5xf32, #tessera.layout<{1,0:B(8,?)}>>
  %1 = tessera.empty(%minus) : tensor<?x5xf32>
  return %0, %1 : tensor<?x5xf32, #tessera.layout<{1,0:B(8,?)}>>, tensor<?x5xf32>
}

// A constant that the layout does not admit stays: it is wrong at run time only.
// CHECK-LABEL: func.func @empty_too_large
// CHECK: tessera.empty(%{{.*}}) : tensor<?x5xf32, #{{.*}}>
func.func @empty_too_large() -> tensor<?x5xf32, #tessera.layout<{1,0:PD(8,5)}>> {
  %c9 = arith.constant 9 : index
  %0 = tessera.empty(%c9) : tensor<?x5xf32, #tessera.layout<{1,0:PD(8,5)}>>
  return %0 : tensor<?x5xf32, #tessera.layout<{1,0:PD(8,5)}>>
}

// A relayout learns the sizes that a cast forgot, and keeps their bounds.
// CHECK-LABEL: func.func @relayout_cast
// CHECK: %[[R:.*]] = tessera.relayout %{{.*}} : tensor<4x5xf32> to tensor<4x5xf32, #[[TILED]]>
// CHECK: %[[C:.*]] = tensor.cast %[[R]] : tensor<4x5xf32, #[[TILED]]> to tensor<?x5xf32, #[[TILED]]>
// CHECK: %[[B:.*]] = tessera.relayout %{{.*}} : tensor<4x5xf32> to tensor<4x5xf32, #[[BOUNDED:.*]]>
// CHECK: %[[D:.*]] = tensor.cast %[[B]] : tensor<4x5xf32, #[[BOUNDED]]> to tensor<?x5xf32, #[[BOUNDED]]>
// CHECK: return %[[C]], %[[D]]
func.func @relayout_cast(%a: tensor<4x5xf32>) -> (tensor<?x5xf32, #tiled>, tensor<?x5xf32, #tessera.layout<{1,0:B(8,?)}>>) {
  %0 = tensor.cast %a : tensor<4x5xf32> to tensor<?x5xf32>
  %1 = tessera.relayout %0 : tensor<?x5xf32> to tensor<?x5xf32, #tiled>
  %2 = tessera.relayout %0 : tensor<?x5xf32> to tensor<?x5xf32, #tessera.layout<{1,0:B(8,?)}>>
  return %1, %2 : tensor<?x5xf32, #tiled>, tensor<?x5xf32, #tessera.layout<{1,0:B(8,?)}>>
}

// A cast that changes the encoding is a relayout itself.
// CHECK-LABEL: func.func @relayout_encoding_cast
// CHECK-NEXT: tensor.cast
// CHECK-NEXT: tessera.relayout
func.func @relayout_encoding_cast(%a: tensor<4x5xf32>) -> tensor<?x5xf32, #tiled> {
  %0 = tensor.cast %a : tensor<4x5xf32> to tensor<?x5xf32, #rows>
  %1 = tessera.relayout %0 : tensor<?x5xf32, #rows> to tensor<?x5xf32, #tiled>
  return %1 : tensor<?x5xf32, #tiled>
}

// CHECK-LABEL: func.func @physical_view_plain
// CHECK-SAME: (%[[M:.*]]: memref
// CHECK-NEXT: return %[[M]]
func.func @physical_view_plain(%m: memref<4x5xf32>) -> memref<4x5xf32> {
  %0 = tessera.physical_view %m : memref<4x5xf32> to memref<4x5xf32>
  return %0 : memref<4x5xf32>
}

// The constant is one in the other layout, unless a buffer of more than 2^24
// positions would have to be listed, or the space changes.

// CHECK-LABEL: func.func @constants
// CHECK-DAG: %[[ROWS:.*]] = arith.constant dense<{{.*}}> : tensor<2x2xf32>
// CHECK-DAG: %[[A:.*]] = arith.constant dense<{{.*}}> : tensor<2x2xf32, #{{.*}}>
// CHECK-DAG: %[[B:.*]] = tessera.relayout %[[ROWS]] : tensor<2x2xf32> to tensor<2x2xf32, #{{.*}}>
// CHECK-DAG: %[[C:.*]] = tessera.relayout %[[ROWS]] : tensor<2x2xf32> to tensor<2x2xf32, #{{.*}}>
// CHECK: return %[[A]], %[[B]], %[[C]]
func.func @constants() -> (tensor<2x2xf32, #tiled>, tensor<2x2xf32, #tiled_s1>,
                           tensor<2x2xf32, #tessera.layout<{1,0:T(8192,8192)}>>) {
  %0 = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = tessera.relayout %0 : tensor<2x2xf32> to tensor<2x2xf32, #tiled>
  %2 = tessera.relayout %0 : tensor<2x2xf32> to tensor<2x2xf32, #tiled_s1>
  %3 = tessera.relayout %0 : tensor<2x2xf32> to tensor<2x2xf32, #tessera.layout<{1,0:T(8192,8192)}>>
  return %1, %2, %3 : tensor<2x2xf32, #tiled>, tensor<2x2xf32, #tiled_s1>,
                      tensor<2x2xf32, #tessera.layout<{1,0:T(8192,8192)}>>
}

// Equal elements are one number, however many there are.

// CHECK-LABEL: func.func @equal_elements
// CHECK-NEXT: arith.constant dense<1.000000e+00> : tensor<99999x99999xf32, #{{.*}}>
// CHECK-NEXT: return
func.func @equal_elements() -> tensor<99999x99999xf32, #tiled> {
  %0 = arith.constant dense<1.0> : tensor<99999x99999xf32>
  %1 = tessera.relayout %0 : tensor<99999x99999xf32> to tensor<99999x99999xf32, #tiled>
  return %1 : tensor<99999x99999xf32, #tiled>
}
