# REQUIRES: numpy
# RUN: %python %s %tessera_src_root | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} arrays, 0 mismatches
"""Expanded index operations, executed, against numpy.

Each random array becomes a function that asks for the element at every position of
its buffer, and for the position of that element; sizes of some dimensions reach it
as arguments. The table of what is where comes from a model that knows nothing of
axes (test/Inputs/tiling.py).
"""

import os
import random
import sys

root = sys.argv[1]
sys.path.append(os.path.join(root, "test", "Inputs"))
from run_checks import Check, run_checks
from test_counts import test_count, test_seed
from tiling import memory_of

FUNCTION = """
memref.global "private" constant @table{n} : memref<{positions}xi64> = dense<{table}>
func.func private @check{n}({arguments}) -> i64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %positions = arith.constant {positions} : index
  %zero = arith.constant 0 : i64
  %padding = arith.constant -1 : index
  %table = memref.get_global @table{n} : memref<{positions}xi64>
  %sum = scf.for %p = %c0 to %positions step %c1 iter_args(%acc = %zero) -> (i64) {{
    {results} = tessera.delinearize_index %p in {type}
    {number}
    %got = arith.select %valid, %number, %padding : index
    %got64 = arith.index_cast %got : index to i64
    %wanted = memref.load %table[%p] : memref<{positions}xi64>
    %wrong = arith.cmpi ne, %got64, %wanted : i64
    %back = tessera.linearize_index {indices} in {type}
    %elsewhere = arith.cmpi ne, %back, %p : index
    %lost = arith.andi %valid, %elsewhere : i1
    %bad = arith.ori %wrong, %lost : i1
    %one = arith.extui %bad : i1 to i64
    %next = arith.addi %acc, %one : i64
    scf.yield %next : i64
  }}
  return %sum : i64
}}
"""


def random_array(rng):
    """Dimensions, minor_to_major, tiles, widths and L of a small array."""
    dims = [rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 9]) for _ in range(rng.randint(0, 4))]
    order = rng.sample(range(len(dims)), len(dims))
    tiles = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        tile = [rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(1, 3))]
        if len(tile) <= len(dims) and len(tile) > 1 and rng.random() < 0.2:
            tile[0] = "*"
        tiles.append(tile)
    widths = [d + rng.randint(0, 3) for d in dims] if rng.random() < 0.3 else []
    return dims, order, tiles, widths, rng.choice([1, 1, 1, 16])


def layout_text(order, tiles, widths, alignment):
    keys = ""
    if tiles:
        keys += "T" + "".join("(%s)" % ",".join(map(str, tile)) for tile in tiles)
    if alignment > 1:
        keys += f"L({alignment})"
    if widths:
        keys += "PD(%s)" % ",".join(map(str, widths))
    return "{" + ",".join(map(str, order)) + (":" + keys if keys else "") + "}"


def make_check(n, rng):
    memory = []
    while not 0 < len(memory) <= 2000:
        array = random_array(rng)
        memory = memory_of(*array)[1]
    dims, tiles = array[0], array[2]
    has_star = any("*" in tile for tile in tiles)
    dynamic = [not has_star and rng.random() < 0.4 for _ in dims]
    sizes = [d for d, is_dynamic in zip(dims, dynamic) if is_dynamic]
    names = [f"%n{i}" for i in range(len(sizes))]
    shape = "".join("?x" if dyn else f"{d}x" for d, dyn in zip(dims, dynamic))
    type_text = f"tensor<{shape}f32, #tessera.layout<{layout_text(*array[1:])}>>"
    if names:
        type_text += "(%s)" % ", ".join(names)
    indices = [f"%i#{k}" if len(dims) > 1 else "%i" for k in range(len(dims))]
    results = {0: "%valid", 1: "%i, %valid"}.get(len(dims), f"%i:{len(dims)}, %valid")
    # The number of an element, in row-major order.
    lines = ["%r0 = arith.constant 0 : index"]
    for k, (index, size) in enumerate(zip(indices, dims)):
        lines += [
            f"%s{k} = arith.constant {size} : index",
            f"%m{k} = arith.muli %r{k}, %s{k} : index",
            f"%r{k + 1} = arith.addi %m{k}, {index} : index",
        ]
    lines.append(f"%number = arith.addi %r{len(dims)}, %c0 : index")
    text = FUNCTION.format(
        n=n,
        positions=len(memory),
        table="[%s]" % ", ".join(map(str, memory)),
        arguments=", ".join(f"{name}: index" for name in names),
        results=results,
        type=type_text,
        number="\n    ".join(lines),
        indices=", ".join(indices),
    )
    return Check(text, sizes)


PASSES = """--tessera-expand-ops --lower-affine --convert-scf-to-cf --expand-strided-metadata
    --convert-to-llvm --reconcile-unrealized-casts""".split()


def main():
    rng = random.Random(test_seed())
    run_checks(
        lambda n: make_check(n, rng), test_count(1000), "arrays", per_module=50, passes_of=lambda module: PASSES
    )


main()
