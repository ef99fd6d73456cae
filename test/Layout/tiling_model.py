# REQUIRES: numpy
# RUN: %python %s | FileCheck %s
# CHECK: all agree
"""The tools against numpy, which knows nothing of axes.

An array of element numbers is put through the steps of XLA's page on tiled
layouts with transpose, pad and reshape; what comes out is the memory.
"""

import json
import math
import os
import random
import subprocess

import numpy as np

PADDING = -1


def split(memory, tile):
    """Puts the array, most major dimension first, through one tile."""
    missing = len(tile) - memory.ndim
    memory = memory.reshape((1,) * max(missing, 0) + memory.shape)
    front = memory.ndim - len(tile)
    sizes, run = [], 1
    for size, entry in zip(memory.shape[front:], tile):
        run *= size
        if entry != "*":
            sizes.append(run)
            run = 1
    tile = [entry for entry in tile if entry != "*"]
    counts = [-(-size // entry) for size, entry in zip(sizes, tile)]
    leading = memory.shape[:front]
    memory = memory.reshape(leading + tuple(sizes))
    widths = [(0, 0)] * front
    widths += [(0, c * t - s) for c, t, s in zip(counts, tile, sizes)]
    memory = np.pad(memory, widths, constant_values=PADDING)
    # [a, b] -> [a / t, t, b / u, u] -> [a / t, b / u, t, u]
    pairs = [n for pair in zip(counts, tile) for n in pair]
    memory = memory.reshape(leading + tuple(pairs))
    positions = range(front, front + 2 * len(tile))
    return memory.transpose([*range(front), *positions[::2], *positions[1::2]])


def memory_of(dims, minor_to_major, tiles, widths, alignment):
    """The physical shape, and the element number at each place."""
    memory = np.arange(math.prod(dims)).reshape(dims)
    if widths and 0 not in dims:
        padding = [(0, width - dim) for dim, width in zip(dims, widths)]
        memory = np.pad(memory, padding, constant_values=PADDING)
    elif widths:
        padding = [(0, (w - d) * (d != 0)) for d, w in zip(dims, widths)]
        memory = np.pad(memory, padding, constant_values=PADDING)
    memory = memory.transpose(minor_to_major[::-1])
    for tile in tiles:
        memory = split(memory, tile)
    flat = memory.reshape(-1)
    flat = np.pad(flat, (0, -flat.size % alignment), constant_values=PADDING)
    return list(memory.shape), flat


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
        place = int(np.flatnonzero(memory == number)[0])
        assert run("index", text, name(number)) == "%d\n" % place, text
        assert run("index", "--inverse", text, str(place)) == name(number) + "\n", text
    return True


def main():
    full = os.environ.get("TESSERA_FULL") == "1"
    seed = int(os.environ.get("TESSERA_SEED", random.randrange(2**32) if full else 1))
    print("TESSERA_SEED=%d" % seed)
    rng = random.Random(seed)
    todo = 400 if full else 40
    while todo:
        todo -= check(rng)
    print("all agree")


if __name__ == "__main__":
    main()
