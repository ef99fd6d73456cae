"""Prints a relayout of an array of so many dimensions, most of size 1."""

import sys

rank = int(sys.argv[1])
order = ",".join(str(d) for d in range(rank))
source = f"memref<{'1x' * (rank - 2)}3x5xf32>"
target = source[:-1] + f", #tessera.layout<{{{order}:T(2,2)}}>>"
print(f"func.func @f(%a: {source}, %b: {target}) {{")
print(f"  tessera.relayout %a into %b : {source}, {target}")
print("  return\n}")
