// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// Carets point into the notation: the column of an error is that of the text.

// expected-error @+1 {{expected the notation between '<' and '>'}}
#none = #tessera.layout

// -----

// expected-error @+1 {{unknown attribute 'lay_out' of dialect 'tessera'}}
#unknown = #tessera.lay_out<{0}>

// -----

// expected-error @+1 {{found `q`}}
#text = #tessera.layout<{1,0:T(8,q)}>

// -----

// expected-error @+1 {{invalid}}
#braces = #tessera.layout<1,0>

// -----

// expected-error @+1 {{invalid minor_to_major: expected a permutation of the dimensions 0 to 1, found 1 for the second time [layout_c1]}}
#permutation = #tessera.layout<{1,1}>

// -----

// expected-error @+1 {{[layout_c2]}}
#empty_tile = #tessera.layout<{1,0:T()}>

// -----

// expected-error @+1 {{[layout_c3]}}
#tile_size = #tessera.layout<{1,0:T(0,2)}>

// -----

// expected-error @+1 {{[layout_c4]}}
#trailing_star = #tessera.layout<{1,0:T(2,*)}>

// -----

// expected-error @+1 {{[layout_c5]}}
#tail = #tessera.layout<{1,0:L(0)}>

// -----

// expected-error @+1 {{[layout_c6]}}
#element_size = #tessera.layout<{1,0:E(-1)}>

// -----

// expected-error @+1 {{[layout_c7]}}
#space = #tessera.layout<{1,0:S(128)}>

// -----

// expected-error @+1 {{[layout_c8]}}
#split_dimension = #tessera.layout<{1,0:SC(2:1)}>

// -----

// expected-error @+1 {{[layout_c9]}}
#split_indices = #tessera.layout<{1,0:SC(0:2,1)}>

// -----

// expected-error @+1 {{[layout_c10]}}
#metadata = #tessera.layout<{1,0:M(-1)}>

// -----

// expected-error @+1 {{[layout_c11]}}
#widths = #tessera.layout<{1,0:PD(3)}>

// -----

// expected-error @+1 {{[layout_c12]}}
#bounds = #tessera.layout<{1,0:B(3)}>

// -----

// expected-error @+1 {{[layout_c13]}}
func.func private @rank(tensor<3xf32, #tessera.layout<{1,0}>>)

// -----

// expected-error @+1 {{[layout_c13]}}
func.func private @memref_rank(memref<3xf32, #tessera.layout<{1,0}>>)

// -----

// expected-error @+1 {{[layout_c14]}}
func.func private @narrow(tensor<3x4xf32, #tessera.layout<{1,0:PD(3,3)}>>)

// -----

// expected-error @+1 {{[layout_c14]}}
func.func private @memref_narrow(memref<3x4xf32, #tessera.layout<{1,0:PD(3,3)}>>)

// -----

// expected-error @+1 {{[layout_c15]}}
func.func private @padding_value(tensor<3xf8E8M0FNU, #tessera.layout<{0:PV(zero)}>>)

// -----

// expected-error @+1 {{[layout_c16]}}
func.func private @bound_below_size(tensor<3x?xf32, #tessera.layout<{1,0:B(2,?)}>>)

// -----

// expected-error @+1 {{[layout_c16]}}
func.func private @memref_bound_below_size(memref<3x?xf32, #tessera.layout<{1,0:B(2,?)}>>)

// -----

// The buffer of a legal shape may still be too large to count: in elements, by
// its bytes, by its bounds.

// expected-error @+1 {{invalid size of the buffer: expected at most 2^63 - 1 elements and bytes, padding included, found more [layout_c17]}}
func.func private @elements(tensor<4294967296x1xf32, #tessera.layout<{1,0:T(1,4294967296)}>>)

// -----

// expected-error @+1 {{[layout_c17]}}
func.func private @memref_elements(memref<4294967296x1xf32, #tessera.layout<{1,0:T(1,4294967296)}>>)

// -----

// expected-error @+1 {{[layout_c17]}}
func.func private @bytes(tensor<4294967296x2147483647xf32, #tessera.layout<{1,0}>>)

// -----

// expected-error @+1 {{[layout_c17]}}
func.func private @bounds(tensor<?x?xf32, #tessera.layout<{1,0:B(4294967296,4294967296)}>>)

// -----

// expected-error @+1 {{unsupported element type: expected a type that XLA has, found 'index'}}
func.func private @index_elements(tensor<3xindex, #tessera.layout<{0}>>)

// -----

// expected-error @+1 {{found 'vector<4xf32>'}}
func.func private @vector_elements(tensor<3xvector<4xf32>, #tessera.layout<{0}>>)

// -----

// expected-error @+1 {{found 'si32'}}
func.func private @signed_elements(tensor<3xsi32, #tessera.layout<{0}>>)

// -----

// expected-error @+1 {{found 'i3'}}
func.func private @odd_elements(tensor<3xi3, #tessera.layout<{0}>>)

// -----

// expected-error @+1 {{found 'f80'}}
func.func private @long_elements(tensor<3xf80, #tessera.layout<{0}>>)

// -----

// expected-error @+1 {{invalid memory space S on the layout of a memref: expected none, found 1; write #tessera.memory_space<1> behind the layout [memref_layout_c1]}}
func.func private @memref_space(memref<3xf32, #tessera.layout<{0:S(1)}>>)

// -----

// expected-error @+1 {{add PD with the widths [memref_layout_c2]}}
func.func private @memref_star(memref<3x4xf32, #tessera.layout<{1,0:T(*,8)}>>)

// -----

// expected-error @+1 {{invalid memory space: expected a number from 1 to 127, found 0; space 0 is a memref without a memory space [memory_space_c1]}}
func.func private @space_zero(memref<3xf32, #tessera.memory_space<0>>)

// -----

// expected-error @+1 {{found 128}}
func.func private @space_large(memref<3xf32, #tessera.memory_space<128>>)

// -----

// expected-error @+1 {{[layout_c3]}}
#tile = #tessera.tile<(8,0)>

// -----

// expected-error @+1 {{[layout_c4]}}
#tile_star = #tessera.tile<(8,*)>

// -----

// expected-error @+1 {{found `x`}}
#tile_text = #tessera.tile<(8,x)>

// -----

// expected-error @+1 {{found `q32`}}
#shape = #tessera.shape<"(f32[2], q32[])">

// -----

// expected-error @+1 {{[layout_c1]}}
#shape_layout = #tessera.shape<"f32[2]{1}">

// -----

// expected-error @+1 {{expected string}}
#shape_form = #tessera.shape<f32>

// -----

// The parser asks the layout even where there is no element type.
// expected-error @+1 {{expected non-function type}}
func.func private @no_element_type(tensor<4x, #tessera.layout<{0}>>)

// -----

// expected-error @+1 {{undefined symbol alias id 'nope'}}
func.func private @unknown_element_type(tensor<4x!nope, #tessera.layout<{0}>>)

// -----

// expected-error @+1 {{undefined symbol alias id 'nope'}}
func.func private @in_tuple(tuple<tensor<!nope, #tessera.layout<{}>>>)

// -----

// expected-error @+1 {{expected non-function type}}
func.func private @memref(memref<4x, #tessera.layout<{0}>>)

// -----

// expected-error @+1 {{undefined symbol alias id 'nope'}}
func.func private @vector(vector<4x!nope, #tessera.layout<{0}>>)
