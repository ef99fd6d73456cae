# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} bitcasts, 0 wrong
"""Bitcasts that are expanded, in other layouts, against the bytes that they read.

Random pairs of shapes whose buffers are equally large, so that some read padding, which
is zero then. The model puts elements into a buffer one by one, and reads it as the other
shape; what is expanded runs in drawn layouts, with its own padding poisoned.
"""

import itertools
import os
import random
import subprocess
import sys

import numpy as np
import tessera as ts

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../Inputs"))
from test_counts import test_count, test_seed

TYPES = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "bf16", "f32"]
TILES = ["", "", ":T(8,128)", ":T(2,4)", ":T(4,8)(2,1)", ":T(3,2)", ":T(2,2,2)", ":T(16)", ":T(6)(3)", ":L(8)"]
SIZES = [1, 1, 2, 3, 4, 5, 6, 8, 12, 16, 40]
PER_MODULE = 10


def draw_shape(rng):
    dims = [rng.choice(SIZES) for _ in range(rng.randint(1, 4))]
    order = rng.sample(range(len(dims)), len(dims))
    sizes, order = (",".join(map(str, numbers)) for numbers in (dims, order))
    return ts.Shape(f"{rng.choice(TYPES)}[{sizes}]{{{order}{rng.choice(TILES)}}}")


def draw_pairs(rng, count):
    """Shapes by the bytes of their buffers, and pairs of them."""
    groups = {}
    for _ in range(40 * count):
        shape = draw_shape(rng)
        groups.setdefault(shape.bytes, []).append(shape)
    groups = [group for group in groups.values() if len(group) > 4]
    return [rng.sample(rng.choice(groups), 2) for _ in range(count)]


def make_module(pairs):
    lines = [f"%p{n} = {pair[0]} parameter({n})" for n, pair in enumerate(pairs)]
    lines += [f"%b{n} = {pair[1]} bitcast(%p{n})" for n, pair in enumerate(pairs)]
    types = ", ".join(str(pair[1]) for pair in pairs)
    names = ", ".join(f"%b{n}" for n in range(len(pairs)))
    parameters = ", ".join(f"p{n}: {pair[0].to_string(layout=False)}" for n, pair in enumerate(pairs))
    body = "\n  ".join([*lines, f"ROOT %t = ({types}) tuple({names})"])
    return f"HloModule m\n\nENTRY %e ({parameters}) -> ({types}) {{\n  {body}\n}}\n"


def evaluate(array, source, target):
    """The elements of `target` in the bytes of `source`."""
    buffer = np.zeros(source.bytes, np.uint8)
    for index, element in np.ndenumerate(array):
        buffer.view(source.dtype)[source.linear_index(index)] = element
    result = np.empty(target.dimensions, target.dtype)
    for index in np.ndindex(result.shape):
        result[index] = buffer.view(target.dtype)[target.linear_index(index)]
    return result


def count_wrong(pairs, seed):
    """How many bitcasts have other values when they are expanded."""
    command = ["tessera-hlo", "expand-bitcasts", f"--redraw-layouts={seed % 2**32}", "-"]
    expanded = subprocess.run(command, input=make_module(pairs), check=True, capture_output=True, text=True)
    rng = np.random.default_rng(seed)
    arrays = []
    for source, _ in pairs:
        count = int(np.prod(source.dimensions)) * np.dtype(source.dtype).itemsize
        values = rng.integers(1, 255, count, dtype=np.uint8)
        arrays.append(values.view(source.dtype).reshape(source.dimensions))
    results = ts.Program(expanded.stdout, poison_padding=True)(*arrays)
    wrong = 0
    for (source, target), array, result in zip(pairs, arrays, results, strict=True):
        if result.tobytes() != evaluate(array, source, target).tobytes():
            print(f"seed {seed}: {source} read as {target}")
            wrong += 1
    return wrong


def main():
    rng = random.Random(test_seed())
    pairs = iter(draw_pairs(rng, PER_MODULE * test_count(30)))
    count = wrong = 0
    while group := list(itertools.islice(pairs, PER_MODULE)):
        wrong += count_wrong(group, rng.getrandbits(32))
        count += len(group)
    print(f"{count} bitcasts, {wrong} wrong")


main()
