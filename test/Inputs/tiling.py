"""A model of layouts in numpy, which knows nothing of axes.

An array of element numbers is put through the steps of XLA's page on tiled
layouts with transpose, pad and reshape; what comes out is the memory.
"""

import math

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
    """The physical shape, and the element number at each position."""
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
