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
from run_checks import Check, compare, make_main, nest, subscripts
from run_main import run_main
from test_counts import test_count, test_seed

LAID_OUT = """
func.func private @twice{n}(%a: {type}) -> {type} {{
  %b = memref.alloc() : {type}
  {loops}
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
  return %sum : i64
}}
"""

TO_LLVM = """--expand-strided-metadata --lower-affine --convert-scf-to-cf --convert-to-llvm
    --reconcile-unrealized-casts""".split()


def make_check(n, rng):
    """A function, and its caller."""
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
    type_text, index = f"memref<{shape}xi32, {layout}>", subscripts(rank)
    double = f"""%v = affine.load %a[{index}] : {type_text}
    %w = arith.addi %v, %v : i32
    affine.store %w, %b[{index}] : {type_text}"""
    laid_out = LAID_OUT.format(n=n, type=type_text, loops=nest(sizes, double))
    strided = f"memref<{shape}xi32, strided<[{', '.join(map(str, strides))}]>>"
    caller = CALLER.format(
        n=n,
        count=values.size,
        shape=shape,
        sizes=", ".join(map(str, sizes)),
        strides=", ".join(map(str, strides)),
        type=strided,
        given=values.transpose(order[::-1]).reshape(-1).tolist(),
        wanted=(2 * values).tolist(),
        loops=compare("%b", strided, "%wanted", sizes, "i32"),
    )
    return laid_out, Check(caller)


def main():
    rng = random.Random(test_seed())
    pairs = [make_check(n, rng) for n in range(test_count(200))]
    lowered = subprocess.run(
        ["tessera-opt", "--tessera-to-affine=strided-boundaries"],
        input="".join(laid_out for laid_out, _ in pairs),
        text=True,
        capture_output=True,
    )
    if lowered.returncode:
        sys.exit(lowered.stderr)
    checks = [check for _, check in pairs]
    callers = "".join(check.text for check in checks)
    end = lowered.stdout.rindex("}")
    mismatches = run_main(lowered.stdout[:end] + callers + make_main(checks) + "}", *TO_LLVM)
    print(f"{len(pairs)} functions, {mismatches} mismatches")


main()
