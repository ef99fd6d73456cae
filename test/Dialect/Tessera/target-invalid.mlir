// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// A name without spaces is a preset (target_c1).
// expected-error @+1 {{unsupported target: expected one of cpu, tpu_v2, tpu_v3, tpu_v4, tpu_v5e, tpu_v5p, tpu_v6e, tpu_v7x, nvgpu, found 'abacus'}}
module attributes {tessera.target = #tessera.target<"abacus">} {}

// -----

// Other names of presets are for command lines.
// expected-error @+1 {{unsupported target: expected one of cpu, tpu_v2, tpu_v3, tpu_v4, tpu_v5e, tpu_v5p, tpu_v6e, tpu_v7x, nvgpu, found 'trillium'; write "tpu_v6e"}}
module attributes {tessera.target = #tessera.target<"trillium">} {}

// -----

// expected-error @+1 {{invalid order of the spaces: expected increasing numbers, 0 first, found 1 at position 0 [target_c2]}}
module attributes {tessera.target = #tessera.target<"mine", [<number = 1, name = "sram">]>} {}

// -----

// expected-error @+1 {{[target_c2]}}
module attributes {tessera.target = #tessera.target<"mine", [<number = 0, name = "a">, <number = 0, name = "b">]>} {}

// -----

// expected-error @+1 {{invalid number of a space: expected 0 to 127, found 128 [space_c1]}}
#number = #tessera.space<number = 128, name = "a">

// -----

// expected-error @+1 {{invalid capacity: expected bytes, 0 for no limit, found -1 [space_c1]}}
#capacity = #tessera.space<number = 1, name = "a", capacity = -1>

// -----

// expected-error @+1 {{invalid alignment: expected a power of two of bytes, found 3 [space_c1]}}
#alignment = #tessera.space<number = 1, name = "a", alignment = 3>

// -----

// expected-error @+1 {{invalid address space: expected at least 0, found -1 [space_c1]}}
#address = #tessera.space<number = 1, name = "a", address_space = -1>

// -----

// expected-error @+1 {{invalid attribute 'tessera.target': expected a #tessera.target<...> on a module}}
module attributes {tessera.target = "tpu_v5e"} {}

// -----

// expected-error @+1 {{expected a #tessera.target<...> on a module}}
func.func private @f() attributes {tessera.target = #tessera.target<"cpu">}

// -----

// expected-error @+1 {{unknown attribute 'tessera.goal' of dialect 'tessera'}}
module attributes {tessera.goal = 1 : i64} {}
