# REQUIRES: numpy
# RUN: %python %s %tessera_src_root | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} functions, 0 mismatches
"""Loops of scf with constant bounds, and parallel ones, around accesses to tiles, executed, against numpy.

Each function writes some elements of a laid-out memref in loops of random
kinds, bounds and steps, then all elements are compared.
"""

import os
import random
import sys

import numpy as np

root = sys.argv[1]
sys.path.append(os.path.join(root, "test", "Inputs"))
from run_checks import Check, nest, random_layout, run_checks, subscripts
from test_counts import test_count, test_seed

FUNCTION = """
memref.global "private" constant @given{n} : memref<{shape}xi32> = dense<{given}>
memref.global "private" constant @wanted{n} : memref<{shape}xi32> = dense<{wanted}>
func.func private @check{n}() -> i64 {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %none = arith.constant -1 : i32
  %given = memref.get_global @given{n} : memref<{shape}xi32>
  %wanted = memref.get_global @wanted{n} : memref<{shape}xi32>
  %m = memref.alloc() : {type}
  {fill}
  {constants}
  {write}
  {compare}
  return %sum : i64
}}
"""


def make_check(n, rng):
    rank = rng.randint(1, 3)
    sizes = [rng.randint(1, 24 if rank < 3 else 9) for _ in range(rank)]
    shape = "x".join(map(str, sizes))
    type_text = f"memref<{shape}xi32, {random_layout(rng, rank, num_tiles=(1, 1, 2))}>"
    given = np.arange(np.prod(sizes)).reshape(sizes)
    wanted = np.full(sizes, -1)
    ranges = []
    for size in sizes:
        begin = rng.randrange(size)
        ranges.append((begin, rng.randint(begin, size), rng.choice([1, 1, 1, 2, 3])))
    box = tuple(slice(*r) for r in ranges)
    wanted[box] = given[box]
    indices = subscripts(rank)
    constants, lines = [], []
    if rng.random() < 0.5:
        lower, upper, steps = (", ".join(map(str, column)) for column in zip(*ranges))
        lines.append(f"affine.parallel ({indices}) = ({lower}) to ({upper}) step ({steps}) {{")
        closing = "}"
        access = ("affine.load", "affine.store")
    else:
        for k, values in enumerate(ranges):
            constants += [f"%b{k}_{m} = arith.constant {v} : index" for m, v in enumerate(values)]
            lines.append(f"scf.for %i{k} = %b{k}_0 to %b{k}_1 step %b{k}_2 {{")
        closing = "}" * rank
        access = ("memref.load", "memref.store")
    lines += [
        f"%v = {access[0]} %given[{indices}] : memref<{shape}xi32>",
        f"{access[1]} %v, %m[{indices}] : {type_text}",
        closing,
    ]
    # The sum is carried by a loop of scf, which is raised with what it carries.
    count = f"""%end = arith.constant {sizes[0]} : index
  %one = arith.constant 1 : index
  %sum = scf.for %k = %c0 to %end step %one iter_args(%acc = %zero) -> (i64) {{
    %partial = memref.alloca() : memref<i64>
    affine.store %zero, %partial[] : memref<i64>
    INNER
    %row = affine.load %partial[] : memref<i64>
    %next = arith.addi %acc, %row : i64
    scf.yield %next : i64
  }}"""
    rest = ", ".join(["%k", *(f"%i{k}" for k in range(1, rank))])
    inner = [f"affine.for %i{k} = 0 to {sizes[k]} {{" for k in range(1, rank)]
    inner += [
        f"%got = memref.load %m[{rest}] : {type_text}",
        f"%want = memref.load %wanted[{rest}] : memref<{shape}xi32>",
        "%differs = arith.cmpi ne, %got, %want : i32",
        "%number = arith.extui %differs : i1 to i64",
        "%before = affine.load %partial[] : memref<i64>",
        "%after = arith.addi %before, %number : i64",
        "affine.store %after, %partial[] : memref<i64>",
        "}" * (rank - 1),
    ]
    text = FUNCTION.format(
        n=n,
        shape=shape,
        type=type_text,
        given=given.tolist(),
        wanted=wanted.tolist(),
        fill=nest(sizes, f"affine.store %none, %m[{indices}] : {type_text}"),
        constants="\n  ".join(constants),
        write="\n  ".join(lines),
        compare=count.replace("INNER", "\n    ".join(inner)),
    )
    return Check(text)


def main():
    rng = random.Random(test_seed())
    run_checks(lambda n: make_check(n, rng), test_count(400), "functions")


main()
