// RUN: tessera-opt %s | tessera-opt | FileCheck %s --check-prefix=PRINT
// RUN: tessera-opt %s -canonicalize | FileCheck %s
// RUN: tessera-opt %s -resolve-ranked-shaped-type-result-dims | FileCheck %s --check-prefix=DIMS

#tiled = #tessera.layout<{1,0:T(8,128)}>
#tiled_s1 = #tessera.layout<{1,0:T(8,128)S(1)}>

// PRINT-LABEL: func.func @forms
func.func @forms(%a: tensor<8x6x128xf32>, %d: tensor<?x6x128xf32>, %s: tensor<1x1xf32>) {
  // PRINT: tessera.reshape %{{.*}} : tensor<8x6x128xf32> to tensor<48x128xf32, #{{.*}}>
  %0 = tessera.reshape %a : tensor<8x6x128xf32> to tensor<48x128xf32, #tiled>
  // PRINT: tessera.reshape %{{.*}} : tensor<?x6x128xf32> to tensor<?x128xf32, #{{.*}}>
  %1 = tessera.reshape %d : tensor<?x6x128xf32> to tensor<?x128xf32, #tiled>
  // Whole rows remain for the dynamic dimension.
  // PRINT: tessera.reshape %{{.*}} : tensor<8x6x128xf32> to tensor<?x128xf32>
  %2 = tessera.reshape %a : tensor<8x6x128xf32> to tensor<?x128xf32>
  // PRINT: tessera.reshape %{{.*}} : tensor<?x6x128xf32> to tensor<1536xf32>
  %3 = tessera.reshape %d : tensor<?x6x128xf32> to tensor<1536xf32>
  // PRINT: tessera.reshape %{{.*}} : tensor<1x1xf32> to tensor<f32>
  %4 = tessera.reshape %s : tensor<1x1xf32> to tensor<f32>
  // PRINT: tessera.assume_layout %{{.*}} : tensor<8x6x128xf32> to tensor<8x6x128xf32, #{{.*}}>
  %5 = tessera.assume_layout %a : tensor<8x6x128xf32> to tensor<8x6x128xf32, #tessera.layout<{0,1,2}>>
  // PRINT: tessera.assume_layout %{{.*}} : tensor<?x6x128xf32> to tensor<?x6x128xf32, #{{.*}}>
  %6 = tessera.assume_layout %d : tensor<?x6x128xf32> to tensor<?x6x128xf32, #tessera.layout<{0,1,2}>>
  return
}

// CHECK-LABEL: func.func @same
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: return %[[A]]
func.func @same(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = tessera.reshape %a : tensor<?x4xf32> to tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: %[[R:.*]] = tessera.reshape %[[A]] : tensor<?x4xf32> to tensor<2x?xf32>
// CHECK-NEXT: return %[[R]]
func.func @chain(%a: tensor<?x4xf32>) -> tensor<2x?xf32> {
  %0 = tessera.reshape %a : tensor<?x4xf32> to tensor<?xf32>
  %1 = tessera.reshape %0 : tensor<?xf32> to tensor<2x?xf32>
  return %1 : tensor<2x?xf32>
}

// CHECK-LABEL: func.func @back
// CHECK-SAME: (%[[A:.*]]: tensor
// CHECK-NEXT: return %[[A]]
func.func @back(%a: tensor<8x4xf32, #tiled>) -> tensor<8x4xf32, #tiled> {
  %0 = tessera.reshape %a : tensor<8x4xf32, #tiled> to tensor<32xf32>
  %1 = tessera.reshape %0 : tensor<32xf32> to tensor<8x4xf32, #tiled>
  return %1 : tensor<8x4xf32, #tiled>
}

// Another space in the middle is passed through.
// CHECK-LABEL: func.func @third_space
// CHECK-COUNT-2: tessera.reshape
func.func @third_space(%a: tensor<32xf32>) -> tensor<32xf32> {
  %0 = tessera.reshape %a : tensor<32xf32> to tensor<8x4xf32, #tiled_s1>
  %1 = tessera.reshape %0 : tensor<8x4xf32, #tiled_s1> to tensor<32xf32>
  return %1 : tensor<32xf32>
}

// CHECK-LABEL: func.func @to_relayout
// CHECK: tessera.relayout %{{.*}} : tensor<?x4xf32> to tensor<?x4xf32, #{{.*}}>
func.func @to_relayout(%a: tensor<?x4xf32>) -> tensor<?x4xf32, #tiled> {
  %0 = tessera.reshape %a : tensor<?x4xf32> to tensor<?x4xf32, #tiled>
  return %0 : tensor<?x4xf32, #tiled>
}

// A pinned layout stays, even where it is the operand's.
// CHECK-LABEL: func.func @pinned
// CHECK-COUNT-1: tessera.assume_layout
// CHECK-NOT: tessera.assume_layout
func.func @pinned(%a: tensor<8x4xf32, #tiled>) -> tensor<8x4xf32, #tiled> {
  %0 = tessera.assume_layout %a : tensor<8x4xf32, #tiled> to tensor<8x4xf32, #tiled>
  %1 = tessera.assume_layout %0 : tensor<8x4xf32, #tiled> to tensor<8x4xf32, #tiled>
  return %1 : tensor<8x4xf32, #tiled>
}

// DIMS-LABEL: func.func @dims
// DIMS-SAME: %[[A:.*]]: tensor<?x?x4xf32>
// DIMS-DAG: %[[C4:.*]] = arith.constant 4 : index
// DIMS-DAG: %[[C2:.*]] = arith.constant 2 : index
// DIMS: %[[D0:.*]] = tensor.dim %[[A]], %{{.*}}
// DIMS: %[[D1:.*]] = tensor.dim %[[A]], %{{.*}}
// DIMS: %[[M:.*]] = arith.muli %[[D0]], %[[C4]]
// DIMS: %[[P:.*]] = arith.muli %[[M]], %[[D1]]
// DIMS: %[[Q:.*]] = arith.divui %[[P]], %[[C2]]
// DIMS: return %[[Q]]
func.func @dims(%a: tensor<?x?x4xf32>) -> index {
  %c1 = arith.constant 1 : index
  %0 = tessera.reshape %a : tensor<?x?x4xf32> to tensor<2x?xf32>
  %1 = tensor.dim %0, %c1 : tensor<2x?xf32>
  return %1 : index
}
