# REQUIRES: numpy
# RUN: %python %s %tessera_src_root | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} functions, 0 mismatches
"""Functions whose boundaries keep logical shapes, called by others, against numpy.

A function on memrefs whose layout is an order of dimensions is lowered with
`strided-boundaries`. Its caller, which is added afterwards, knows nothing of
layouts: it passes memrefs with strides and reads the result by its strides.
"""

import math
import os
import random
import subprocess
import sys

import numpy as np

root = sys.argv[1]
sys.path.append(os.path.join(root, "test", "Inputs"))
from run_main import run_main
from test_counts import test_count, test_seed

LAID_OUT = """
func.func private @twice{n}(%a: {type}) -> {type} {{
  %b = memref.alloc() : {type}
  {loops}
    %v = affine.load %a[{subscripts}] : {type}
    %w = arith.addi %v, %v : i32
    affine.store %w, %b[{subscripts}] : {type}
  {closing}
  return %b : {type}
}}
func.func @f{n}(%a: {type}) -> {type} {{
  %b = call @twice{n}(%a) : ({type}) -> {type}
  return %b : {type}
}}
"""

CALLER = """
memref.global "private" constant @given{n} : memref<{count}xi32> = dense<{given}>
memref.global "private" constant @wanted{n} : memref<{shape}xi32> = dense<{wanted}>
func.func private @check{n}() -> i64 {{
  %zero = arith.constant 0 : i64
  %given = memref.get_global @given{n} : memref<{count}xi32>
  %wanted = memref.get_global @wanted{n} : memref<{shape}xi32>
  %a = memref.reinterpret_cast %given to offset: [0], sizes: [{sizes}], strides: [{strides}]
      : memref<{count}xi32> to {type}
  %b = call @f{n}(%a) : ({type}) -> {type}
  {loops}
    %got = affine.load %b[{subscripts}] : {type}
    %want = affine.load %wanted[{subscripts}] : memref<{shape}xi32>
    %differs = arith.cmpi ne, %got, %want : i32
    %number = arith.extui %differs : i1 to i64
    %next = arith.addi %acc, %number : i64
    affine.yield %next : i64
  {closing}
  return %sum : i64
}}
"""

TO_LLVM = """--expand-strided-metadata --lower-affine --convert-scf-to-cf --convert-to-llvm
    --reconcile-unrealized-casts""".split()


def case(n, rng):
    """A function, its caller, and the call of that."""
    rank = rng.randint(2, 4)
    sizes = [rng.randint(1, 6) for _ in range(rank)]
    order = rng.sample(range(rank), rank)
    if order == list(range(rank))[::-1]:
        order.reverse()
    strides, step = [0] * rank, 1
    for dim in order:
        strides[dim] = step
        step *= sizes[dim]
    values = np.arange(math.prod(sizes)).reshape(sizes)
    shape = "x".join(map(str, sizes))
    layout = "#tessera.layout<{%s}>" % ",".join(map(str, order))
    subscripts = ", ".join(f"%i{k}" for k in range(rank))
    loops = "\n  ".join(f"affine.for %i{k} = 0 to {size} {{" for k, size in enumerate(sizes))
    laid_out = LAID_OUT.format(
        n=n,
        type=f"memref<{shape}xi32, {layout}>",
        loops=loops,
        subscripts=subscripts,
        closing="}" * rank,
    )
    # One loop with a sum around the others would do; a single flat one is shorter.
    flat = ", ".join(
        f"%p floordiv {math.prod(sizes[k + 1 :])} mod {size}" if size > 1 else "0" for k, size in enumerate(sizes)
    )
    caller = CALLER.format(
        n=n,
        count=values.size,
        shape=shape,
        sizes=", ".join(map(str, sizes)),
        strides=", ".join(map(str, strides)),
        type=f"memref<{shape}xi32, strided<[{', '.join(map(str, strides))}]>>",
        given=values.transpose(order[::-1]).reshape(-1).tolist(),
        wanted=(2 * values).tolist(),
        loops=f"%sum = affine.for %p = 0 to {values.size} iter_args(%acc = %zero) -> (i64) {{",
        subscripts=flat,
        closing="}",
    )
    lines = [f"%x{n} = call @check{n}() : () -> i64", f"%t{n + 1} = arith.addi %t{n}, %x{n} : i64"]
    return laid_out, caller, lines


def main():
    rng = random.Random(test_seed())
    count = test_count(200)
    body, laid_out, callers = ["%t0 = arith.constant 0 : i64"], "", ""
    for n in range(count):
        function, caller, lines = case(n, rng)
        laid_out, callers = laid_out + function, callers + caller
        body += lines
    lowered = subprocess.run(
        ["tessera-opt", "--tessera-to-affine=strided-boundaries"], input=laid_out, text=True, capture_output=True
    )
    if lowered.returncode:
        sys.exit(lowered.stderr)
    text = lowered.stdout
    begin, end = text.index("module {") + len("module {"), text.rindex("}")
    entry = "func.func @main() -> i64 {\n  " + "\n  ".join([*body, f"return %t{count} : i64"]) + "\n}\n"
    mismatches = run_main(text[: begin - len("module {")] + text[begin:end] + callers + entry, *TO_LLVM)
    print(f"{count} functions, {mismatches} mismatches")


main()
