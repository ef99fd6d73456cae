# REQUIRES: tessera-python
# RUN: %python %s %S/../HLO/Inputs/run | FileCheck %s
# RUN: %python %s %S/../HLO/Inputs/run --poison-padding | FileCheck %s
# RUN: %python %s %S/../HLO/Inputs/run --poison-padding --redraw | FileCheck %s
#
# Layouts of which LLVM makes shuffles of nine bf16, which its code generator for AVX512_BF16
# cannot make code of.
# RUN: mkdir -p %t && cp %S/../HLO/Inputs/run/mlp_softmax.* %t
# RUN: env TESSERA_SEED=20260727 %python %s %t --redraw | FileCheck %s --check-prefix=ODD
# ODD: modules: 1 of 1 right
# CHECK: modules: 13 of 13 right
"""Modules as the TPU compiler wrote them, against the values that XLA's CPU backend
gave for the same functions.

transformer_block rounds the scores of its attention to bf16, which XLA's CPU backend
did not do, and where two of them are close the softmax tells. So its values come from
the same function in numpy, with numbers rounded where the text has them in bf16.

With --redraw, bitcasts are expanded and all layouts drawn at random, anew each time;
`--redraw=20` does that 20 times.

Whoever adds a module puts NAME.hlo and NAME.npz, with arg0, ... and out0, ..., into
the folder.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import numpy as np
import tessera as ts

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../Inputs"))
from test_counts import test_seed

BF16 = ts.Shape("bf16[]").dtype


def to_bf16(numbers):
    """Rounded, as float64."""
    return numbers.astype(np.float32).astype(BF16).astype(np.float64)


def normalize(x):
    centered = x - x.mean(-1, keepdims=True)
    variance = (centered**2).mean(-1, keepdims=True)
    return to_bf16(centered / np.sqrt(variance + 1e-6))


def evaluate_transformer(x, wq, wk, wv, wo, w1, w2):
    """The function that transformer_block was compiled from."""

    def product(equation, a, b):
        return to_bf16(np.einsum(equation, a, b))

    h = normalize(x)
    q, k, v = (product("bsd,dhk->bhsk", h, w) for w in (wq, wk, wv))
    scores = product("bhsk,bhtk->bhst", q, k)
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    weights = to_bf16(exponentials / exponentials.sum(-1, keepdims=True))
    heads = product("bhst,bhtk->bhsk", weights, v)
    y = to_bf16(x + product("bhsk,hkd->bsd", heads, wo))
    u = product("bsd,df->bsf", normalize(y), w1)
    gelu = to_bf16(0.5 * u * (1 + np.tanh(0.7978845608 * (u + 0.044715 * u**3))))
    return to_bf16(y + product("bsf,fd->bsd", gelu, w2))


def get_reference(path, inputs, arrays):
    """The results by name."""
    if path.stem != "transformer_block":
        return arrays
    result = evaluate_transformer(*(array.astype(np.float64) for array in inputs))
    return {"out0": result.astype(np.float32).astype(BF16)}


def is_close(found, expected, shape):
    """Integers are equal; others are as near as the type lets them be."""
    if found.dtype.kind in "biu":
        return np.array_equal(found, expected)
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    if shape.element_type == "bf16":
        scale = np.abs(expected).max(initial=0)
        return np.allclose(found, expected, 0, 2e-2 * scale, equal_nan=True)
    return np.allclose(found, expected, 1e-3, 1e-4, equal_nan=True)


def redraw(path, seed):
    """The text of a module in other layouts."""
    command = ["tessera-hlo", "expand-bitcasts", f"--redraw-layouts={seed % 2**32}", path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def is_right(path, text, poison):
    """Whether the program of a text gives the values that belong to `path`."""
    program = ts.Program(text, poison_padding=poison)
    arrays = np.load(path.with_suffix(".npz"))
    inputs = [arrays[f"arg{number}"].view(shape.dtype) for number, shape in enumerate(program.inputs)]
    results = program(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    reference = get_reference(path, inputs, arrays)
    right = True
    for number, (result, shape) in enumerate(zip(results, program.outputs)):
        expected = reference[f"out{number}"].view(shape.dtype)
        if not is_close(result, expected, shape):
            print(f"{path.stem}: out{number} differs")
            right = False
    return right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--poison-padding", action="store_true")
    parser.add_argument("--redraw", type=int, nargs="?", default=0, const=1)
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.hlo"))
    right = 0
    for path in paths:
        texts = [redraw(path, test_seed() + number) for number in range(options.redraw)]
        try:
            right += all(is_right(path, text, options.poison_padding) for text in texts or [path.read_text()])
        except ts.TesseraError as error:
            print(f"{path.stem}: {str(error)[:2000]}")
    print(f"modules: {right} of {len(paths)} right")


main()
