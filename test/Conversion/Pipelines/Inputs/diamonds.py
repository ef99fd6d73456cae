"""Prints a function with a number of branches, one behind another, each of which
hands one of two buffers on: the number of paths is two to the power of it."""

import sys

count = int(sys.argv[1])
print("func.func @f(%x: memref<4xi32>, %p: i1) -> memref<4xi32> {")
print("  %m0 = memref.alloc() : memref<4xi32>")
for i in range(count):
    print(f"""  memref.copy %x, %m{i} : memref<4xi32> to memref<4xi32>
  cf.cond_br %p, ^then{i}, ^join{i}(%m{i} : memref<4xi32>)
^then{i}:
  %a{i} = memref.alloc() : memref<4xi32>
  cf.br ^join{i}(%a{i} : memref<4xi32>)
^join{i}(%m{i + 1}: memref<4xi32>):""")
print(f"  return %m{count} : memref<4xi32>\n}}")
