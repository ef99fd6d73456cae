# REQUIRES: numpy
# RUN: %python %s | FileCheck %s
# CHECK: all agree
"""The tools against numpy, which knows nothing of axes: Inputs/tiling.py."""

import json
import math
import os
import random
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from test_counts import test_count, test_seed
from tiling import PADDING, memory_of


def random_case(rng):
    rank = rng.randint(0, 5)
    dims = [0 if rng.random() < 0.03 else rng.choice([1, 2, 3, 5, 7]) for _ in range(rank)]
    minor_to_major = rng.sample(range(rank), rank)
    tiles, length = [], rank
    for _ in range(rng.randint(0, 3)):
        size = rng.randint(1, min(length + 1, 5))
        tile = [rng.choice([1, 2, 3, 4, "*"]) for _ in range(size - 1)] + [rng.choice([2, 3])]
        tiles.append(tile)
        length = max(length, size) + size - tile.count("*") * 2
    widths = [dim + rng.randint(0, 2) for dim in dims] if rng.random() < 0.2 else []
    return dims, minor_to_major, tiles, widths, rng.choice([1, 1, 4, 10])


def text_of(dims, minor_to_major, tiles, widths, alignment):
    join = lambda entries: ",".join(map(str, entries))
    keys = "T" * bool(tiles) + "".join("(%s)" % join(tile) for tile in tiles)
    keys += "L(%d)" % alignment if alignment != 1 else ""
    keys += "PD(%s)" % join(widths) if widths else ""
    if not dims and not keys:
        return "u8[]"
    return "u8[%s]{%s%s}" % (join(dims), join(minor_to_major), ":" * bool(keys) + keys)


def run(*arguments):
    return subprocess.run(
        ["tessera-layout", *arguments], check=True, capture_output=True, text=True
    ).stdout


def check(rng):
    case = random_case(rng)
    dims, text = case[0], text_of(*case)
    physical_shape, memory = memory_of(*case)
    if memory.size > 20000:
        return False
    size = json.loads(run("size", "--json", text))
    assert size["physical_shape"] == physical_shape, text
    assert size["allocated_elements"] == size["bytes"] == memory.size, text
    assert size["logical_elements"] == math.prod(dims), text

    def name(number):
        if number == PADDING:
            return "padding"
        return ",".join(map(str, np.unravel_index(number, dims))) if dims else ""

    table = run("index", "--table", text).splitlines()
    assert table == ["%d\t%s" % entry for entry in enumerate(map(name, memory))], text
    if math.prod(dims):
        number = rng.randrange(math.prod(dims))
        position = int(np.flatnonzero(memory == number)[0])
        assert run("index", text, name(number)) == "%d\n" % position, text
        assert run("index", "--inverse", text, str(position)) == name(number) + "\n", text
    return True


def main():
    print(f"TESSERA_SEED={test_seed()}")
    rng = random.Random(test_seed())
    todo = test_count(400)
    while todo:
        todo -= check(rng)
    print("all agree")


if __name__ == "__main__":
    main()
