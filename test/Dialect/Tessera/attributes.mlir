// RUN: tessera-opt %s -split-input-file | FileCheck %s
// RUN: tessera-opt %s -split-input-file | tessera-opt -split-input-file | FileCheck %s

// The text between the braces is XLA's, printed in its canonical form. Layouts
// print as aliases; aliases of the user are kept where there is one layout.

// CHECK: #layout = #tessera.layout<{2,1,0:T(8,128)(2,1)S(1)}>
// CHECK-LABEL: func.func private @tensor
// CHECK-SAME: tensor<32x32x4096xbf16, #layout>
func.func private @tensor(
  tensor<32x32x4096xbf16, #tessera.layout<{2,1,0:T(8,128)(2,1)S(1)}>>)

// -----

// On a memref the space is the memref's own.

// CHECK: #layout = #tessera.layout<{2,1,0:T(8,128)(2,1)}>
// CHECK-LABEL: func.func private @memref
// CHECK-SAME: memref<32x32x4096xbf16, #layout, #tessera.memory_space<1>>
func.func private @memref(
  memref<32x32x4096xbf16, #tessera.layout<{2,1,0:T(8,128)(2,1)}>,
         #tessera.memory_space<1>>)

// -----

// Blanks, comments and the other form of PV are gone after parsing.

// CHECK: #layout = #tessera.layout<{0,1:PD(3,5)PV(zero)}>
#mine = #tessera.layout<  { 0, /*minor first*/ 1 : PD(3,5) PV(0) } >
// CHECK-LABEL: func.func private @old_form
func.func private @old_form(tensor<2x3xf32, #mine>)

// -----

// Every key, in its order.

// CHECK: #layout = #tessera.layout<{1,0:T(8,128)(2,1)L(16)E(32)S(3)SC(0:8)M(64)PD(16,256)PV(lowest)}>
// CHECK-LABEL: func.func private @all_keys
func.func private @all_keys(
  tensor<10x200xf32, #tessera.layout<{1,0:T(8,128)(2,1)L(16)E(32)S(3)SC(0:8)M(64)PD(16,256)PV(lowest)}>>)

// -----

// The dialect's attribute may be written in its verbose form.

// CHECK: #layout = #tessera.layout<{0,1}>
// CHECK-LABEL: func.func private @verbose
func.func private @verbose(tensor<2x3xf32, #tessera<layout<{0,1}>>>)

// -----

// An explicit default layout is kept: it is another type with the same bytes.

// CHECK: #layout = #tessera.layout<{1,0}>
// CHECK-LABEL: func.func private @explicit_default
// CHECK-SAME: tensor<2x3xf32, #layout>, memref<2x3xf32, #layout>
func.func private @explicit_default(tensor<2x3xf32, #tessera.layout<{1,0}>>,
                                    memref<2x3xf32, #tessera.layout<{1,0}>>)

// -----

// Scalars: nothing to order, but a tile takes memory.

// CHECK-DAG: #[[TILED:layout[0-9]*]] = #tessera.layout<{:T(256)}>
// CHECK-DAG: #[[PLAIN:layout[0-9]*]] = #tessera.layout<{}>
// CHECK-LABEL: func.func private @scalars
// CHECK-SAME: tensor<f32, #[[PLAIN]]>, tensor<f32, #[[TILED]]>, memref<f32, #[[TILED]]>
func.func private @scalars(tensor<f32, #tessera.layout<{}>>,
                           tensor<f32, #tessera.layout<{:T(256)}>>,
                           memref<f32, #tessera.layout<{:T(256)}>>)

// -----

// Dynamic dimensions, with a bound and without.

// CHECK-DAG: #[[BOUND:layout[0-9]*]] = #tessera.layout<{1,0:B(8,?)}>
// CHECK-DAG: #[[FREE:layout[0-9]*]] = #tessera.layout<{1,0:T(8,128)}>
// CHECK-LABEL: func.func private @dynamic
// CHECK-SAME: tensor<?x3xf32, #[[BOUND]]>, tensor<?x?xf32, #[[FREE]]>
// CHECK-SAME: memref<?x3xf32, #[[BOUND]]>, memref<?x?xf32, #[[FREE]]>
func.func private @dynamic(tensor<?x3xf32, #tessera.layout<{1,0:B(8,?)}>>,
                           tensor<?x?xf32, #tessera.layout<{1,0:T(8,128)}>>,
                           memref<?x3xf32, #tessera.layout<{1,0:B(8,?)}>>,
                           memref<?x?xf32, #tessera.layout<{1,0:T(8,128)}>>)

// -----

// `*` on a tensor, and on a memref whose layout carries the widths.

// CHECK-DAG: #[[T:layout[0-9]*]] = #tessera.layout<{2,1,0:T(*,8,128)}>
// CHECK-DAG: #[[M:layout[0-9]*]] = #tessera.layout<{2,1,0:T(*,8,128)PD(3,20,200)}>
// CHECK-LABEL: func.func private @combined
// CHECK-SAME: tensor<3x20x200xf32, #[[T]]>, memref<3x20x200xf32, #[[M]]>
func.func private @combined(
  tensor<3x20x200xf32, #tessera.layout<{2,1,0:T(*,8,128)}>>,
  memref<3x20x200xf32, #tessera.layout<{2,1,0:T(*,8,128)PD(3,20,200)}>>)

// -----

// Empty arrays and tiles longer than the rank.

// CHECK-LABEL: func.func private @corners
func.func private @corners(
  tensor<0x5xf32, #tessera.layout<{1,0:T(8,128)}>>,
  memref<0x5xf32, #tessera.layout<{1,0:T(8,128)}>>,
  tensor<200xf32, #tessera.layout<{0:T(8,128)}>>,
  memref<200xf32, #tessera.layout<{0:T(8,128)}>>,
  tensor<2x7x8x11x10xf32, #tessera.layout<{4,3,2,1,0:T(*,*,2,*,3)}>>)

// -----

// Element types of the table, tensors and memrefs.

// CHECK-LABEL: func.func private @element_types
func.func private @element_types(
  tensor<9xi1, #tessera.layout<{0:T(8)}>>,
  tensor<9xsi1, #tessera.layout<{0:T(8)}>>,
  tensor<9xi2, #tessera.layout<{0:T(8)}>>,
  tensor<9xi4, #tessera.layout<{0:T(8)E(4)}>>,
  tensor<9xi8, #tessera.layout<{0:T(8)}>>,
  tensor<9xi16, #tessera.layout<{0:T(8)}>>,
  tensor<9xi32, #tessera.layout<{0:T(8)}>>,
  tensor<9xi64, #tessera.layout<{0:T(8)}>>,
  tensor<9xui1, #tessera.layout<{0:T(8)}>>,
  tensor<9xui2, #tessera.layout<{0:T(8)}>>,
  tensor<9xui4, #tessera.layout<{0:T(8)}>>,
  tensor<9xui8, #tessera.layout<{0:T(8)}>>,
  tensor<9xui16, #tessera.layout<{0:T(8)}>>,
  tensor<9xui32, #tessera.layout<{0:T(8)}>>,
  tensor<9xui64, #tessera.layout<{0:T(8)}>>,
  tensor<9xf16, #tessera.layout<{0:T(8)}>>,
  tensor<9xbf16, #tessera.layout<{0:T(8)}>>,
  tensor<9xf32, #tessera.layout<{0:T(8)}>>,
  tensor<9xf64, #tessera.layout<{0:T(8)}>>,
  tensor<9xf8E5M2, #tessera.layout<{0:T(8)}>>,
  tensor<9xf8E4M3, #tessera.layout<{0:T(8)}>>,
  tensor<9xf8E4M3FN, #tessera.layout<{0:T(8)}>>,
  tensor<9xf8E4M3B11FNUZ, #tessera.layout<{0:T(8)}>>,
  tensor<9xf8E3M4, #tessera.layout<{0:T(8)}>>,
  tensor<9xf8E5M2FNUZ, #tessera.layout<{0:T(8)}>>,
  tensor<9xf8E4M3FNUZ, #tessera.layout<{0:T(8)}>>,
  tensor<9xf8E8M0FNU, #tessera.layout<{0:T(8)}>>,
  tensor<9xf4E2M1FN, #tessera.layout<{0:T(8)}>>,
  tensor<9xcomplex<f32>, #tessera.layout<{0:T(8)}>>,
  tensor<9xcomplex<f64>, #tessera.layout<{0:T(8)}>>)

// -----

// Values: tiles, and any shape of XLA, in canonical form.

// CHECK-LABEL: func.func private @values
// CHECK-SAME: buffer = #tessera.shape<"b(f32[2]{0})">
// CHECK-SAME: layoutless = #tessera.shape<"f32[2,3]">
// CHECK-SAME: scalar = #tessera.shape<"u32[]{:S(2)}">
// CHECK-SAME: shape = #tessera.shape<"(f32[2,<=3]{1,0}, token[])">
// CHECK-SAME: space = #tessera.memory_space<127>
// CHECK-SAME: tile = #tessera.tile<(*,8,128)>
func.func private @values() attributes {
  tile = #tessera.tile<( *, 8, 128 )>,
  shape = #tessera.shape<"(f32[2, <=3]{1,0}, /*index=1*/ token[])">,
  layoutless = #tessera.shape<"f32[2,3]">,
  scalar = #tessera.shape<"u32[]{:S(2)}">,
  buffer = #tessera.shape<"b(f32[2]{0})">,
  space = #tessera.memory_space<127>
}
