"""Runs relayouts of boxes of arrays and compares them with numpy's slices.

    boxes.py TESSERA_COMPILE LIBRARY

Arrays with tiles are laid out by numpy here: rows and columns are padded to
whole tiles, which become axes of their own.
"""

import ctypes
import random
import subprocess
import sys

import numpy as np

TYPES = {"u8": np.uint8, "u16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def layout(order, tile):
    tiles = f":T({tile[0]},{tile[1]})" if tile else ""
    return f"{{{order[0]},{order[1]}{tiles}}}"


def positions(sizes, order, tile):
    """The position in memory of every element."""
    major, minor = order[1], order[0]
    rows, columns = np.meshgrid(np.arange(sizes[0]), np.arange(sizes[1]),
                                indexing="ij")
    index = (rows, columns)
    r, c, width = index[major], index[minor], sizes[minor]
    if not tile:
        return r * width + c, sizes[0] * sizes[1]
    tr, tc = tile
    across = -(-width // tc)
    down = -(-sizes[major] // tr)
    position = ((r // tr * across + c // tc) * tr + r % tr) * tc + c % tc
    return position, down * across * tr * tc


def random_side(counts, rng):
    """Sizes, slices, order and tile of an array that has room for a box."""
    sizes, slices = [], []
    for count in counts:
        step = rng.choice([1, 1, 1, 2, 3, 4])
        begin = rng.choice([0, 0, 3, 8, 16, rng.randrange(20)])
        end = begin + (count - 1) * step + 1
        sizes.append(end + rng.choice([0, 0, 5, rng.randrange(30)]))
        slices.append(slice(begin, end, step))
    tile = rng.choice([None, (8, 16), (8, 128), (4, 8), (3, 5)])
    return sizes, slices, rng.choice([(1, 0), (0, 1)]), tile


def main():
    tool, library = sys.argv[1:]
    rng = random.Random(20261121)
    cases, lines = [], []
    for number in range(120):
        counts = [rng.randrange(1, 40), rng.randrange(1, 150)]
        name = rng.choice(list(TYPES))
        sides = [random_side(counts, rng), random_side(counts, rng)]
        words = [f"{name}[{s[0]},{s[1]}]{layout(order, tile)}"
                 for s, _, order, tile in sides]
        boxes = [",".join(f"{b.start}:{b.stop}:{b.step}" for b in box)
                 for _, box, _, _ in sides]
        cases.append((TYPES[name], sides))
        lines.append(f"{words[0]} {words[1]} symbol=f{number} "
                     f"src-box={boxes[0]} dst-box={boxes[1]}")
    subprocess.run([tool, "relayout", "--batch=-", "-o", library],
                   input="\n".join(lines), text=True, check=True)
    loaded = ctypes.CDLL(library)
    for number, (dtype, sides) in enumerate(cases):
        (positions_in, size_in), (positions_out, size_out) = [
            positions(sizes, order, tile) for sizes, _, order, tile in sides]
        generator = np.random.default_rng(number)
        limit = np.iinfo(dtype).max
        source = generator.integers(0, limit, size_in, dtype=dtype)
        guard = 64
        memory = generator.integers(0, limit, size_out + 2 * guard, dtype=dtype)
        want = memory.copy()
        inside = want[guard:guard + size_out]
        inside[positions_out[tuple(sides[1][1])]] = source[
            positions_in[tuple(sides[0][1])]]
        function = getattr(loaded, f"f{number}")
        function.argtypes, function.restype = [ctypes.c_void_p] * 2, None
        function(source.ctypes.data,
                 memory.ctypes.data + guard * memory.itemsize)
        assert np.array_equal(memory, want), lines[number]


main()
