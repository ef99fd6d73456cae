// RUN: tessera-opt %s -split-input-file | tessera-opt -split-input-file | FileCheck %s

// CHECK: module attributes {tessera.target = #tessera.target<"tpu_v5e">}
module attributes {tessera.target = #tessera.target<"tpu_v5e">} {}

// -----

// CHECK: module attributes {tessera.target = #tessera.target<"mine", [<number = 0, name = "dram", alignment = 64>, <number = 1, name = "sram", capacity = 65536, address_space = 3>]>}
module attributes {tessera.target = #tessera.target<"mine", [
  <number = 0, name = "dram", alignment = 64>,
  <number = 1, name = "sram", capacity = 65536, alignment = 1, address_space = 3>
]>} {}
