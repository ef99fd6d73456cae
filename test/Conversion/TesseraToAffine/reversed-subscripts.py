# RUN: %python %s %tessera_src_root | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} arrays, 0 mismatches
"""Subscripts that decrease, or begin anywhere, on tiles of all sizes, executed.

Each random array holds the number of each element. A loop reads some of them by
subscripts with coefficients of both signs, and another one writes them back in
another order. Tile sizes need not divide each other: then lowered subscripts
have remainders of sums, which upstream's simplification got wrong.
"""

import os
import random
import sys

root = sys.argv[1]
sys.path.append(os.path.join(root, "test", "Inputs"))
from run_checks import Check, run_checks
from test_counts import test_count, test_seed

FUNCTION = """
func.func private @check{n}() -> i64 {{
  %m = memref.alloc() : {type}
  %copy = memref.alloc() : {type}
  %zero = arith.constant 0 : i64
  affine.for %a = 0 to {d0} {{
    affine.for %b = 0 to {d1} {{
      %k = affine.apply affine_map<(a, b) -> (a * {d1} + b)>(%a, %b)
      %v = arith.index_cast %k : index to {element}
      affine.store %v, %m[{whole}] : {type}
    }}
  }}
  %sum = affine.for %i = {i0} to {i1} iter_args(%outer = %zero) -> i64 {{
    %inner = affine.for %j = {j0} to {j1} iter_args(%acc = %outer) -> i64 {{
      %v = affine.load %m[{subscripts}] : {type}
      affine.store %v, %copy[{subscripts}] : {type}
      %w = affine.load %copy[{subscripts}] : {type}
      %k = affine.apply affine_map<(i, j) -> ({number})>(%i, %j)
      %wanted = arith.index_cast %k : index to {element}
      %wrong = arith.cmpi ne, %v, %wanted : {element}
      %lost = arith.cmpi ne, %w, %wanted : {element}
      %bad = arith.ori %wrong, %lost : i1
      %one = arith.extui %bad : i1 to i64
      %next = arith.addi %acc, %one : i64
      affine.yield %next : i64
    }}
    affine.yield %inner : i64
  }}
  memref.dealloc %m : {type}
  memref.dealloc %copy : {type}
  return %sum : i64
}}
"""


def random_subscript(rng, loops):
    """A subscript of i and j, and the size that a dimension needs for it."""
    coefficients = [rng.choice([-3, -2, -1, -1, 0, 1, 2]) for _ in loops]
    ends = [[c * low, c * (high - 1)] for c, (low, high) in zip(coefficients, loops)]
    offset = rng.randint(0, 3) - sum(map(min, ends))
    size = offset + sum(map(max, ends)) + 1 + rng.randint(0, 2)
    return (*coefficients, offset), size


def make_check(n, rng):
    loops = [(low, low + rng.randint(1, 11)) for low in (rng.randint(0, 5), rng.randint(0, 3))]
    rank = rng.choice([1, 1, 2])
    parts = [random_subscript(rng, loops) for _ in range(rank)]
    sizes = [size for _, size in parts]
    tiles = ""
    for _ in range(rng.randint(1, 3)):
        tile = [str(rng.randint(1, 9)) for _ in range(rng.randint(1, rank))]
        tiles += "(%s)" % ",".join(tile)
    element, packed = rng.choice([("i32", ""), ("i32", ""), ("i4", "E(4)")])
    order = ",".join(map(str, rng.sample(range(rank), rank)))
    layout = f"#tessera.layout<{{{order}:T{tiles}{packed}}}>"
    d1 = sizes[-1] if rank == 2 else 1
    (a, b, c), (d, e, f) = parts[0][0], parts[-1][0] if rank == 2 else (0, 0, 0)
    texts = ["%i * {} + %j * {} + {}".format(*subscript) for subscript, _ in parts]
    text = FUNCTION.format(
        n=n,
        type=f"memref<{'x'.join(map(str, sizes))}x{element}, {layout}>",
        element=element,
        d0=sizes[0],
        d1=d1,
        whole="%a, %b" if rank == 2 else "%a + %b",
        i0=loops[0][0],
        i1=loops[0][1],
        j0=loops[1][0],
        j1=loops[1][1],
        subscripts=", ".join(texts),
        number=f"i * {a * d1 + d} + j * {b * d1 + e} + {c * d1 + f}",
    )
    return Check(text)


def main():
    rng = random.Random(test_seed())
    run_checks(lambda n: make_check(n, rng), test_count(2000), "arrays", per_module=50)


main()
