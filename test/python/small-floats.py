# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: small floats: all passed
"""Arithmetic on floats of a byte or less in programs, against ml_dtypes."""

import os
import sys

import ml_dtypes
import numpy as np
import tessera as ts
from tessera.ir import Context, Location, Module
from tessera.passmanager import PassManager

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from expect import expect, run_tests
from test_counts import test_count, test_seed

TYPES = {
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
WIDE = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def all_numbers(dtype):
    """Every number of a type."""
    if dtype == ml_dtypes.bfloat16:
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    count = 16 if dtype == ml_dtypes.float4_e2m1fn else 256
    return np.arange(count, dtype=np.uint8).view(dtype)


def check(what, inputs, result, wanted):
    """Equal numbers, with their signs; any NaN is as good as any other, and zero where
    a type has none."""
    result, wanted = np.asarray(result), np.asarray(wanted)
    assert result.dtype == wanted.dtype, what
    a, b = (x.astype(np.float64) for x in (result, wanted))
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    if wanted.dtype == ml_dtypes.float4_e2m1fn:
        same |= (a == 0) & (b == 0)
    first = np.argwhere(~same)
    assert not len(first), (what, [x.ravel()[first[0]] for x in inputs], a[~same][0], b[~same][0])


def expand_bf16(text):
    """The module after the pass, as for processors that do not round to bf16."""
    with Context(), Location.unknown():
        module = Module.parse(text)
        manager = PassManager.parse("builtin.module(tessera-expand-small-floats{bf16=true})")
        manager.run(module.operation)
        return str(module)


def elementwise(operation, types, result, layout="", prepare=str):
    """A program that applies an operation to flat arrays."""
    sizes, names = [], []
    for number, (element, size) in enumerate(types):
        names.append("%%a%d" % number)
        sizes.append("tensor<%dx%s%s>" % (size, element, layout))
    arguments = ", ".join(map(": ".join, zip(names, sizes)))
    out = "tensor<%dx%s%s>" % (types[0][1], result, layout)
    operands = ", ".join(names)
    if result == types[0][0]:
        kind = out
    else:
        kind = "%s to %s" % (sizes[0], out)
    text = "func.func @f(%s) -> %s { %%r = %s %s : %s return %%r : %s }"
    return ts.Program(prepare(text % (arguments, out, operation, operands, kind, out)))


def test_arithmetic():
    """All pairs of numbers; ml_dtypes computes in f32 too, and numpy rounds once."""
    for element, dtype in TYPES.items():
        numbers = all_numbers(dtype)
        a, b = (x.ravel() for x in np.meshgrid(numbers, numbers))
        for operation, function in {
            "arith.addf": np.add,
            "arith.subf": np.subtract,
            "arith.mulf": np.multiply,
            "arith.divf": np.divide,
        }.items():
            program = elementwise(operation, [(element, len(a))] * 2, element, ", #tessera.layout<{0:T(128)}>")
            with np.errstate(all="ignore"):
                wide = function(a.astype(np.float64), b.astype(np.float64))
                wanted = wide.astype(np.float32).astype(dtype)
            # Twice rounded is once rounded: what f64 has lost is beyond all ties.
            check((element, operation), (a, b), program(a, b), wanted)


def test_extensions():
    for element, dtype in TYPES.items():
        numbers = all_numbers(dtype)
        for wide, wide_dtype in WIDE.items():
            program = elementwise("arith.extf", [(element, len(numbers))], wide)
            check((element, wide), (numbers,), program(numbers), numbers.astype(wide_dtype))


def near_numbers(rng, dtype, wide):
    """Numbers of `wide` at, between and beside those of `dtype`, and far from them."""
    numbers = np.unique(all_numbers(dtype).astype(np.float64))
    numbers = numbers[np.isfinite(numbers)]
    ties = (numbers[1:] + numbers[:-1]) / 2
    edges = np.concatenate([numbers, ties, 2 * numbers, numbers / 2, numbers / 4])
    with np.errstate(all="ignore"):
        edges = edges.astype(wide)
        some = (np.exp(rng.uniform(-100, 90, 2000)) * rng.choice([-1, 1], 2000)).astype(wide)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan]).astype(wide)
        near = rng.choice(edges, 2000).astype(np.float64) * rng.uniform(0.98, 1.02, 2000)
        bits = edges.view(f"u{edges.itemsize}")
        beside = [(bits + 1).view(wide), (bits - 1).view(wide)]
        return np.concatenate([edges, some, special, near.astype(wide), *beside])


def test_truncations():
    """Ties go to even, and what is a little beside one does not, from f64 either."""
    rng = np.random.default_rng(test_seed())
    for _ in range(test_count(1)):
        for element, dtype in TYPES.items():
            for wide, wide_dtype in WIDE.items():
                numbers = near_numbers(rng, dtype, wide_dtype)
                program = elementwise("arith.truncf", [(wide, len(numbers))], element)
                with np.errstate(all="ignore"):
                    wanted = round_once(numbers.astype(np.float64), dtype)
                check((wide, element), (numbers,), program(numbers), wanted)


def test_bf16():
    """Numbers that integers round to bf16, from wider and smaller types, and sums of them."""
    rng = np.random.default_rng(test_seed())
    dtype = ml_dtypes.bfloat16
    for wide in ("f32", "f64"):
        numbers = near_numbers(rng, dtype, WIDE[wide])
        program = elementwise("arith.truncf", [(wide, len(numbers))], "bf16", prepare=expand_bf16)
        with np.errstate(all="ignore"):
            wanted = round_once(numbers.astype(np.float64), dtype)
        check((wide, "bf16"), (numbers,), program(numbers), wanted)
    numbers = all_numbers(ml_dtypes.float8_e5m2)
    program = elementwise("arith.extf", [("f8E5M2", len(numbers))], "bf16", prepare=expand_bf16)
    check(("f8E5M2", "bf16"), (numbers,), program(numbers), numbers.astype(dtype))
    a, b = rng.choice(all_numbers(dtype), (2, 100000))
    program = elementwise("arith.addf", [("bf16", len(a))] * 2, "bf16", prepare=expand_bf16)
    with np.errstate(all="ignore"):
        check("sums", (a, b), program(a, b), a + b)


def round_once(numbers, dtype):
    """The nearest number of `dtype`, ties to even, found by search."""
    finite = np.unique(all_numbers(dtype).astype(np.float64))
    finite = finite[np.isfinite(finite)]
    largest = finite[-1]
    # Numbers that lie half a step beyond the largest are rounded to what follows it.
    step = finite[-1] - finite[-2]
    grid = np.append(finite[finite >= 0], largest + step)
    magnitude = np.abs(np.where(np.isnan(numbers), 0, numbers))
    above = np.clip(np.searchsorted(grid, magnitude), 1, len(grid) - 1)
    low, high = grid[above - 1], grid[above]
    is_low = magnitude - low < high - magnitude
    is_tie = magnitude - low == high - magnitude
    # Numbers alternate between even and odd bits, from zero on.
    is_low |= is_tie & ((above - 1) % 2 == 0)
    nearest = np.where(is_low, low, high)
    nearest = np.where(magnitude >= grid[-1], grid[-1], nearest)
    beyond = np.float32(np.inf).astype(dtype).astype(np.float64)
    nearest = np.where(nearest > largest, beyond, nearest)
    nearest = np.where(np.isnan(numbers), np.nan, nearest)
    return np.copysign(nearest, numbers).astype(np.float32).astype(dtype)


def test_between_small_types():
    for element, dtype in TYPES.items():
        for other, other_dtype in TYPES.items():
            widths = [np.dtype(t).itemsize if t != ml_dtypes.float4_e2m1fn else 0 for t in (dtype, other_dtype)]
            if widths[0] == widths[1]:
                continue
            operation = "arith.extf" if widths[0] < widths[1] else "arith.truncf"
            numbers = all_numbers(dtype)
            program = elementwise(operation, [(element, len(numbers))], other)
            with np.errstate(all="ignore"):
                wanted = numbers.astype(np.float32).astype(other_dtype)
            check((element, other), (numbers,), program(numbers), wanted)


def test_others():
    """Comparisons, integers, functions, constants, vectors and products of matrices."""
    rng = np.random.default_rng(test_seed())
    for element, dtype in TYPES.items():
        program = ts.Program(
            """
            !t = tensor<16x%(e)s>
            func.func @f(%%a: !t, %%b: !t, %%m: tensor<4x4x%(e)s>, %%n: %(e)s)
                -> (tensor<16xi1>, tensor<16xi32>, !t, !t, tensor<4x4xf32>, %(e)s, !t) {
              %%less = arith.cmpf olt, %%a, %%b : !t
              %%integer = arith.fptosi %%a : !t to tensor<16xi32>
              %%again = arith.sitofp %%integer : tensor<16xi32> to !t
              %%root = math.sqrt %%b : !t
              %%zero = arith.constant dense<0.0> : tensor<4x4xf32>
              %%product = linalg.matmul ins(%%m, %%m : tensor<4x4x%(e)s>, tensor<4x4x%(e)s>)
                  outs(%%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
              %%one = arith.constant 1.0 : %(e)s
              %%sum = arith.addf %%n, %%one : %(e)s
              %%less_than_one = arith.cmpf olt, %%n, %%one : %(e)s
              %%start = arith.select %%less_than_one, %%n, %%sum : %(e)s
              %%empty = tensor.empty() : !t
              %%many = linalg.fill ins(%%start : %(e)s) outs(%%empty : !t) -> !t
              return %%less, %%integer, %%again, %%root, %%product, %%sum, %%many
                  : tensor<16xi1>, tensor<16xi32>, !t, !t, tensor<4x4xf32>, %(e)s, !t
            }
            """
            % {"e": element}
        )
        a, b = (rng.uniform(-4, 4, 16).astype(dtype) for _ in range(2))
        b = np.abs(b.astype(np.float32)).astype(dtype)
        m = rng.uniform(-4, 4, (4, 4)).astype(dtype)
        number = a[0]
        less, integer, again, root, product, total, many = program(a, b, m, number)
        wide = a.astype(np.float32)
        assert (less == (wide < b.astype(np.float32))).all(), element
        assert (integer == wide.astype(np.int32)).all(), element
        check(element, (a,), again, (wide.astype(np.int32) + np.float32(0)).astype(dtype))
        check(element, (b,), root, np.sqrt(b.astype(np.float32)).astype(dtype))
        assert np.allclose(product, m.astype(np.float32) @ m.astype(np.float32), rtol=1e-6), element
        wanted = (np.float32(number) + np.float32(1)).astype(dtype)
        check(element, (a,), total, wanted)
        check(element, (a,), many, np.full(16, number if number < 1 else wanted, dtype))


def test_errors():
    def refuses(message, source, result, operation, kind=""):
        expect(
            ts.UnsupportedError,
            message,
            lambda: ts.Program(
                "func.func @f(%%a: %s) -> %s {\n  %%b = %s : %s\n  return %%b : %s\n}"
                % (source, result, operation, kind or source, result)
            ),
        )

    exponents, pair = "f8E8M0FNU", "tensor<2xf8E8M0FNU>"
    refuses("module:2:8: error: unsupported `math.sqrt` on small floats", pair, pair, "math.sqrt %a")
    refuses("module:2:8: error: unsupported `arith.addf` on small floats", pair, pair, "arith.addf %a, %a")
    found = "of at most 64 bits, found f8E8M0FNU"
    refuses(found, exponents, exponents, "arith.negf %a")
    refuses(found, pair, "tensor<2xf32>", "arith.extf %a", pair + " to tensor<2xf32>")
    refuses(found, "f32", exponents, "arith.truncf %a", "f32 to f8E8M0FNU")
    refuses(
        "expected to_nearest_even, found toward_zero",
        "f32",
        "f8E5M2",
        "arith.truncf %a toward_zero",
        "f32 to f8E5M2",
    )
    refuses(
        "unsupported `arith.scaling_extf`",
        "f4E2M1FN",
        "f32",
        "arith.scaling_extf %a, %a",
        "f4E2M1FN, f4E2M1FN to f32",
    )


run_tests(globals())
print("small floats: all passed")
