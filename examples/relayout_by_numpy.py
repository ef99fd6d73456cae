"""The bytes of an array in the TPU's layout, by numpy instead of Tessera.

usage: relayout_by_numpy.py extract MODULE.npz OUT.bin   argument 1, row by row
       relayout_by_numpy.py check MODULE.npz IN.bin      is IN.bin that argument in
                                     the layout bf16[70,130]{0,1:T(8,128)(2,1)}?
"""

import sys

import numpy as np


def tile(array, rows, columns):
    """Cuts the last two dimensions into tiles, each a block of its own."""
    *outer, height, width = array.shape
    padding = [(0, 0)] * len(outer) + [(0, -height % rows), (0, -width % columns)]
    array = np.pad(array, padding)
    array = array.reshape(
        *outer, array.shape[-2] // rows, rows, array.shape[-1] // columns, columns
    )
    return array.swapaxes(-3, -2)


def main(action, module, file):
    weights = np.load(module)["arg1"]  # bf16, as the bits of uint16
    if action == "extract":
        weights.tofile(file)
        return 0
    # {0,1}: dimension 0 is minor, so the columns of the array come first.
    # T(8,128): tiles of 8 columns by 128 rows; (2,1): pairs of them in a word.
    expected = tile(tile(weights.T, 8, 128), 2, 1)
    same = np.array_equal(np.fromfile(file, weights.dtype), expected.ravel())
    print("numpy has the same bytes" if same else "numpy has OTHER bytes")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
