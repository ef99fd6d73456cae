#!/usr/bin/env python3
"""Prints random pairs of shapes as programs for TPUs have them, a line each:
name, source, destination. For TesseraRuntimeBenchmarks --pairs.

  PYTHONPATH=build/release/python_packages random_pairs.py [--seed N] [--count N]
      [--least BYTES] [--most BYTES] [--types s4,u4] [--sizes close]
"""

import argparse
import math
import random

import tessera as ts

# Of arrays of types this wide, in bytes: the tiles that compilers for TPUs and
# GPUs and hand-written kernels choose, most of the time those of TPUs.
TILES = {
    1 / 4: ["T(8,128)(16,1)", "T(128,128)(16,1)"],
    1 / 2: ["T(8,128)(8,1)", "T(8,128)(8,1)", "T(64,128)(8,1)", "T(32,128)(8,1)", "T(8,128)"],
    1: ["T(8,128)(4,1)", "T(32,128)(4,1)", "T(32,128)(4,1)", "T(32,128)"],
    2: ["T(8,128)(2,1)", "T(8,128)(2,1)", "T(16,128)(2,1)", "T(128,8)"],
    4: ["T(8,128)", "T(8,128)", "T(1,128)", "T(128,8)"],
    8: ["T(8,128)", "T(1024)"],
}
TYPES = [("s8", 1), ("u8", 1), ("bf16", 2), ("bf16", 2), ("f32", 4), ("s32", 4), ("f64", 8)]
# Those that --types may name besides.
SUB_BYTE_TYPES = [("s4", 1 / 2), ("u4", 1 / 2), ("s2", 1 / 4), ("u2", 1 / 4)]

# Batches and channels, heads, pixels and their odd kin.
SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 27, 32, 40, 49, 56, 64, 77, 96, 100,
         112, 128, 160, 196, 200, 224, 256, 320, 384, 512, 768, 1000, 1024, 2048,
         3072, 4096, 9318]
# Close to powers of two: lines that are so far apart share sets of the caches.
CLOSE_SIZES = [1, 2, 3, 5] + [
    2**n + offset for n in range(3, 13) for offset in (-3, -1, 0, 1, 2, 5)]


def random_layout(rng, width, dims, tiled):
    """A layout's text."""
    order = list(range(len(dims)))[::-1]
    if rng.random() < 0.6:
        rng.shuffle(order)
    tile = rng.choice(TILES[width]) if tiled else ""
    # Programs for TPUs pack such elements; hosts have them one to a byte, too.
    if width < 1 and (tiled or rng.random() < 0.6):
        tile += f"E({round(8 * width)})"
    return "{" + ",".join(map(str, order)) + (":" + tile if tile else "") + "}"


def random_pair(rng, types, sizes, least, most):
    """A pair of one of the types, whose elements take `least` bytes at least, and
    whose buffers take `most` bytes at most."""
    while True:
        name, width = rng.choice(types)
        dims = [rng.choice(sizes) for _ in range(rng.choice([2, 2, 3, 3, 3, 4, 4, 5]))]
        if width * math.prod(dims) < least:
            continue
        tiled = rng.choice([(False, True), (True, False), (False, False), (True, True)])
        text = f"{name}[{','.join(map(str, dims))}]"
        source, destination = (
            text + random_layout(rng, width, dims, side) for side in tiled)
        if source != destination and all(
                ts.Shape(side).bytes <= most for side in (source, destination)):
            return source, destination


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--least", type=int, default=64 << 10, metavar="BYTES")
    parser.add_argument("--most", type=int, default=8 << 20, metavar="BYTES")
    parser.add_argument("--types", type=lambda names: names.split(","), metavar="NAME,...")
    parser.add_argument("--sizes", choices=("programs", "close"), default="programs",
                        help="those of programs, or close to powers of two")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    types = TYPES
    if arguments.types:
        types = [kind for kind in TYPES + SUB_BYTE_TYPES if kind[0] in arguments.types]
        if len({name for name, _ in types}) < len(set(arguments.types)):
            parser.error("unknown type: expected one of "
                         + ", ".join(sorted({name for name, _ in TYPES + SUB_BYTE_TYPES})))
    sizes = CLOSE_SIZES if arguments.sizes == "close" else SIZES
    for i in range(arguments.count):
        print(f"p{i}", *random_pair(rng, types, sizes, arguments.least, arguments.most))


if __name__ == "__main__":
    main()
