# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} results, 0 wrong
"""Calls of the TPU compiler's own, mulhi, and instructions that change the precision,
none of which XLA's CPU backend has, against numpy, on random sizes and layouts.

A case gives the instruction, with its operands as %p0, %p1, ..., the operands, and
what it should give.
"""

import os
import random
import sys

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from test_counts import test_count, test_seed

TILES = ["", ":T(8,128)", ":T(4,128)", ":T(2,3)", ":T(3,4)(2,1)", ":T(5)"]
NAMES = {"f": "f", "i": "s", "u": "u", "c": "c"}
DOUBLE = """%double (p: SHAPE) -> SHAPE {
  %p = SHAPE parameter(0)
  ROOT %s = SHAPE add(%p, %p)
}
"""


def call(target, count=1, attributes=""):
    operands = ", ".join(f"%p{number}" for number in range(count))
    return f'custom-call({operands}), custom_call_target="{target}"{attributes}'


def get_batch(rng):
    return tuple(rng.randint(1, 3) for _ in range(rng.randint(0, 2)))


def draw_matrices(rng, numbers, is_square=True):
    rows = rng.randint(1, 9)
    columns = rows if is_square else rng.randint(1, 9)
    return numbers.normal(0, 1, (*get_batch(rng), rows, columns)).astype(rng.choice([np.float32, np.float64]))


def map_matrices(function, array):
    """Results of a function of one matrix, for all of them."""
    results = [function(matrix.astype(np.float64)) for matrix in array.reshape(-1, *array.shape[-2:])]
    return [np.reshape(r, (*array.shape[:-2], *r[0].shape)) for r in zip(*results)]


def cholesky(rng, numbers):
    a = draw_matrices(rng, numbers)
    a = a @ np.swapaxes(a, -1, -2) + 3 * np.eye(a.shape[-1], dtype=a.dtype)
    return call("Cholesky"), [a], [np.linalg.cholesky(a.astype(np.float64))]


def inverse(rng, numbers):
    a = draw_matrices(rng, numbers) + 3 * np.eye(1)
    a = a + 5 * np.eye(a.shape[-1], dtype=a.dtype)
    name, keep = rng.choice([("Lower", np.tril), ("Upper", np.triu)])
    return call(f"InvertDiagBlocks{name}Triangular"), [a], [np.linalg.inv(keep(a))]


def eliminate(a):
    a, rows = a.copy(), np.arange(a.shape[0])
    pivots = []
    for k in range(min(a.shape)):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        pivots.append(pivot)
        a[[k, pivot]], rows[[k, pivot]] = a[[pivot, k]], rows[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, np.array(pivots, np.int32), rows.astype(np.int32)


def lu(rng, numbers):
    a = draw_matrices(rng, numbers, is_square=False)
    return call("LuRealDecompositionBlock"), [a], map_matrices(eliminate, a)


def factor(a):
    packed, factors = np.linalg.qr(a, mode="raw")
    return packed.T, factors


def qr(rng, numbers):
    a = draw_matrices(rng, numbers, is_square=False)
    return call("QrDecompositionBlock"), [a], map_matrices(factor, a)


def accumulate(w):
    t = np.diag(np.diag(w))
    for j in range(1, len(w)):
        t[:j, j] = t[:j, :j] @ w[:j, j]
    return (t,)


def compact_wy(rng, numbers):
    w = np.triu(draw_matrices(rng, numbers))
    return call("CompactWyHelper"), [w], map_matrices(accumulate, w)


def get_dims(rng):
    return tuple(rng.randint(1, 9) for _ in range(rng.randint(1, 3)))


def split(rng, numbers):
    x = numbers.integers(-(2**63), 2**63 - 1, get_dims(rng))
    is_high = rng.random() < 0.5
    if rng.random() < 0.5:
        half = (x >> 32 if is_high else x & 0xFFFFFFFF).astype(np.uint32)
        return call(f"X64Split{'High' if is_high else 'Low'}"), [x.view(np.uint64)], [half]
    x = (numbers.normal(0, 1, x.shape) + 1j * numbers.normal(0, 1, x.shape)).astype(np.complex64)
    return call(f"X64Split{'High' if is_high else 'Low'}"), [x], [x.imag if is_high else x.real]


def combine(rng, numbers):
    dims = get_dims(rng)
    if rng.random() < 0.5:
        low, high = (numbers.integers(0, 2**32, dims, np.uint32) for _ in range(2))
        return call("X64Combine", 2), [low, high], [low + (high.astype(np.uint64) << np.uint64(32))]
    low, high = (numbers.normal(0, 1, dims).astype(np.float32) for _ in range(2))
    return call("X64Combine", 2), [low, high], [(low + 1j * high).astype(np.complex64)]


def concatenate(rng, numbers):
    dims, count = get_dims(rng), rng.randint(1, 4)
    dim = rng.randrange(len(dims))
    shapes = [(*dims[:dim], rng.randint(1, 5), *dims[dim + 1 :]) for _ in range(count)]
    parts = [numbers.integers(0, 99, shape, np.int16) for shape in shapes]
    whole = np.concatenate(parts, dim)
    return call("ConcatBitcast", count), parts, [whole]


def largest(rng, numbers):
    dims = get_dims(rng)
    x = numbers.integers(*rng.choice([(-9, 9), (-(2**31), 2**31 - 1)]), dims, np.int32)
    kept = -np.sort(-x.astype(np.int64), -1)[..., : rng.randint(1, dims[-1])]
    return call("TopKBatchMajorSmallK"), [x], [kept.astype(np.int32)]


def promise(rng, numbers):
    x = numbers.integers(-99, 99, get_dims(rng), np.int32)
    name = rng.choice(["GatherScatterIndicesBitpacked", "AssumeGatherIndicesInBound"])
    return call(name), [x], [x]


def host(rng, numbers):
    x = numbers.integers(-99, 99, get_dims(rng), np.int32)
    return call("HostExecute", 1, ", called_computations={%double}"), [x], [2 * x]


def high_product(rng, numbers):
    dtype, dims = np.dtype(rng.choice("bBhHiIlL")), get_dims(rng)
    info = np.iinfo(dtype)
    x, y = (numbers.integers(info.min, info.max, dims, dtype, endpoint=True) for _ in range(2))
    product = x.astype(object) * y.astype(object)
    return "mulhi(%p0, %p1)", [x, y], [(product >> info.bits).astype(dtype)]


def other_precision(rng, numbers):
    """Any instruction of the TPU compiler may convert, too."""
    narrow_type, wide_type = rng.sample([np.float16, np.float32], 2)
    dims = get_dims(rng)
    x = numbers.normal(0, 1, dims).astype(narrow_type)
    order = rng.sample(range(len(dims)), len(dims))
    instruction, result = rng.choice([
        ("reverse(%p0), dimensions={0}", x[::-1]),
        (f"slice(%p0), slice={{{', '.join(f'[0:{d}]' for d in dims)}}}", x),
        (f"transpose(%p0), dimensions={{{','.join(map(str, order))}}}", x.transpose(order)),
    ])  # fmt: skip
    return instruction, [x], [np.ascontiguousarray(result).astype(wide_type)]


CASES = [
    cholesky, inverse, lu, qr, compact_wy, split, combine, concatenate, largest, promise, host, high_product,
    other_precision,
]  # fmt: skip


def get_shape(rng, array):
    order = rng.sample(range(array.ndim), array.ndim)
    name = f"{NAMES[array.dtype.kind]}{array.dtype.itemsize * 8}"
    return f"{name}[{','.join(map(str, array.shape))}]{{{','.join(map(str, order))}{rng.choice(TILES)}}}"


def make_module(rng, instruction, operands, results):
    shapes = [get_shape(rng, array) for array in operands]
    found = [get_shape(rng, array) for array in results]
    result = found[0] if len(found) == 1 else f"({', '.join(found)})"
    header = ", ".join(f"p{number}: {shape}" for number, shape in enumerate(shapes))
    lines = [f"%p{number} = {shape} parameter({number})" for number, shape in enumerate(shapes)]
    body = "\n  ".join([*lines, f"ROOT %root = {result} {instruction}"])
    computation = DOUBLE.replace("SHAPE", shapes[0]) if "%double" in instruction else ""
    return f"HloModule m\n\n{computation}\nENTRY %e ({header}) -> {result} {{\n  {body}\n}}\n"


def is_near(found, expected):
    if found.dtype.kind in "iu":
        return np.array_equal(found, expected)
    scale = max(1, np.abs(expected).max(initial=0))
    near = 1e-9 if found.dtype.itemsize == 8 and found.dtype.kind == "f" else 1e-3
    return np.allclose(found, expected, rtol=0, atol=near * scale)


def check(rng, numbers, case):
    """The results that were compared, and those that were wrong."""
    instruction, operands, expected = case(rng, numbers)
    text = make_module(rng, instruction, operands, narrow(operands, expected))
    found = ts.Program(text)(*operands)
    found = found if isinstance(found, tuple) else (found,)
    wrong = sum(not is_near(f, e) for f, e in zip(found, expected, strict=True))
    if wrong:
        print(text, operands, found, expected)
    return len(expected), wrong


def narrow(operands, expected):
    """Models compute in double precision, the module in the operands'."""
    return [e.astype(operands[0].dtype) if e.dtype == np.float64 else e for e in expected]


def main():
    seed = test_seed()
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    counts = [check(rng, numbers, case) for case in CASES for _ in range(test_count(200))]
    print(f"{sum(c for c, _ in counts)} results, {sum(w for _, w in counts)} wrong")


main()
