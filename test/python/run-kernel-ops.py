# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} kernels, 0 wrong
"""Operations of Mosaic against numpy, each in a kernel that is written here, on random
odd sizes, with poisoned memory.

A case gives the operands, what the kernel should write, and its lines.
"""

import os
import random
import sys

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
sys.path.append(os.path.join(os.path.dirname(__file__), "Inputs"))
from kernel_text import (  # noqa: E402
    BF16,
    get_mlir_type,
    get_shape,
    load,
    make_kernel,
    make_module,
    make_program,
    memref,
    store,
    vector,
)
from test_counts import test_count, test_seed  # noqa: E402

I32 = np.int32


def draw(numbers, shape, dtype=np.float32):
    if np.issubdtype(dtype, np.integer):
        return numbers.integers(-9, 10, shape).astype(dtype)
    return numbers.standard_normal(shape).astype(dtype)


def draw_shape(rng, rank=None):
    return tuple(rng.randint(1, 9) for _ in range(rank or rng.randint(1, 3)))


def apply(result, name, *operands, attributes=""):
    """`%result = "name"(...)`, of (name, type) operands."""
    names = ", ".join(f"%{operand}" for operand, _ in operands)
    types = ", ".join(type for _, type in operands)
    target = f"%{result[0]} = " if result else ""
    results = result[1] if result else "()"
    return f'{target}"{name}"({names}) {{{attributes}}} : ({types}) -> {results}'


def unary(a, expected, name, attributes):
    """An operation on all of %a."""
    line = apply(
        ("r", vector(expected.shape, expected.dtype)), name, ("x", vector(a.shape, a.dtype)), attributes=attributes
    )
    return [a], expected, [load("x", "a", a.shape, a.dtype), line, store("r", "out", expected.shape, expected.dtype)]


def repeat(rng, numbers):
    a = draw(numbers, draw_shape(rng))
    dimension, times = rng.randrange(a.ndim), rng.randint(1, 4)
    expected = np.concatenate([a] * times, axis=dimension)
    return unary(a, expected, "tpu.repeat", f"dimension = {dimension} : i32, times = {times} : i32")


def rotate(rng, numbers):
    a = draw(numbers, draw_shape(rng, 2))
    dimension, amount, stride = rng.randrange(2), rng.randint(0, 20), rng.randint(0, 3)
    attributes = f"amount = {amount} : si32, dimension = {dimension} : si32"
    if rng.random() < 0.5:
        return unary(a, np.roll(a, amount, dimension), "tpu.rotate", attributes)
    attributes += f", stride = {stride} : si32, stride_dimension = {1 - dimension} : si32"
    rows = np.moveaxis(a, 1 - dimension, 0)
    expected = np.stack([np.roll(row, amount + stride * i) for i, row in enumerate(rows)], axis=1 - dimension)
    return unary(a, expected, "tpu.rotate", attributes)


def dynamic_rotate(rng, numbers):
    a = draw(numbers, draw_shape(rng))
    dimension, amount = rng.randrange(a.ndim), rng.randint(-20, 20)
    line = apply(
        ("r", vector(a.shape)),
        "tpu.dynamic_rotate",
        ("x", vector(a.shape)),
        ("n", "i32"),
        attributes=f"dimension = {dimension} : si32",
    )
    lines = [f"%n = arith.constant {amount} : i32", load("x", "a", a.shape), line, store("r", "out", a.shape)]
    return [a], np.roll(a, amount, dimension), lines


def concatenate(rng, numbers):
    shape = draw_shape(rng)
    dimension = rng.randrange(len(shape))
    shapes = [shape[:dimension] + (rng.randint(1, 9),) + shape[dimension + 1 :] for _ in range(rng.randint(1, 3))]
    arrays = [draw(numbers, s) for s in shapes]
    expected = np.concatenate(arrays, axis=dimension)
    names = "abc"[: len(arrays)]
    loads = [load(f"v{n}", n, a.shape) for n, a in zip(names, arrays)]
    operands = [(f"v{n}", vector(a.shape)) for n, a in zip(names, arrays)]
    line = apply(
        ("r", vector(expected.shape)), "tpu.concatenate", *operands, attributes=f"dimension = {dimension} : i32"
    )
    return arrays, expected, [*loads, line, store("r", "out", expected.shape)]


def iota(rng, _):
    shape = draw_shape(rng)
    dimensions = rng.sample(range(len(shape)), rng.randint(1, len(shape)))
    index = np.indices(shape)
    expected = np.zeros(shape, I32)
    for dimension in dimensions:
        expected = expected * shape[dimension] + index[dimension]
    listed = ", ".join(map(str, dimensions))
    line = apply(("r", vector(shape, I32)), "tpu.iota", attributes=f"dimensions = array<i32: {listed}>")
    return [], expected.astype(I32), [line, store("r", "out", shape, I32)]


def transpose(rng, numbers):
    a = draw(numbers, draw_shape(rng))
    order = rng.sample(range(a.ndim), a.ndim)
    return unary(a, a.transpose(order), "tpu.transpose", f"permutation = array<i64: {', '.join(map(str, order))}>")


def bitcast(rng, numbers):
    """Rows of narrow elements lie in one row of wide ones, the first in the lowest bits."""
    narrow = np.dtype(rng.choice([BF16, np.int16, np.int8]))
    wide = np.dtype(rng.choice([np.float32, np.int32]))
    ratio = wide.itemsize // narrow.itemsize
    rows, columns = draw_shape(rng, 2)
    words = np.ascontiguousarray(draw(numbers, (rows, columns), np.float32)).view(wide)
    parts = words.view(narrow).reshape(rows, columns, ratio).transpose(0, 2, 1).reshape(rows * ratio, columns)
    a, expected = (words, parts) if rng.random() < 0.5 else (parts, words)
    return unary(np.ascontiguousarray(a), np.ascontiguousarray(expected), "tpu.bitcast", "")


def reduce_index(rng, numbers):
    a = draw(numbers, draw_shape(rng, rng.randint(2, 3)), I32).astype(np.float32)
    axis, kind = rng.randrange(a.ndim), rng.choice(["max", "min"])
    expected = (a.argmax if kind == "max" else a.argmin)(axis).astype(I32)
    return unary(a, expected, "tpu.reduce_index", f"axis = {axis} : i32, kind = #tpu.reduction_kind<arg_{kind}>")


def dynamic_gather(rng, numbers):
    a = draw(numbers, draw_shape(rng))
    dimension = rng.randrange(a.ndim)
    index = draw(numbers, a.shape, I32)
    expected = np.take_along_axis(a, index % a.shape[dimension], dimension)
    line = apply(
        ("r", vector(a.shape)),
        "tpu.dynamic_gather",
        ("x", vector(a.shape)),
        ("i", vector(a.shape, I32)),
        attributes=f"dimensions = array<i32: {dimension}>",
    )
    lines = [load("x", "a", a.shape), load("i", "b", a.shape, I32), line, store("r", "out", a.shape)]
    return [a, index], expected, lines


def matmul(rng, numbers):
    """Any order of batch, summed and other dimensions, of floats or integers."""
    sizes = {letter: rng.randint(1, 9) for letter in "bmkn"}
    batch = "b" if rng.random() < 0.5 else ""
    left, right, result = ("".join(rng.sample(text, len(text))) for text in (batch + "mk", batch + "kn", batch + "mn"))
    dtype, wide = rng.choice([(np.float32, np.float32), (BF16, np.float32), (np.int8, I32)])
    a, b, c = (draw(numbers, tuple(sizes[d] for d in t), e) for t, e in ((left, dtype), (right, dtype), (result, wide)))
    exact = np.float64 if wide == np.float32 else I32
    expected = (np.einsum(f"{left},{right}->{result}", a.astype(exact), b.astype(exact)) + c).astype(wide)
    order = [n for d in result for n in ((0, left.index(d)) if d in left else (1, right.index(d)))]
    lists = [[left.index("k")], [right.index("k")], [left.index("m")], [right.index("n")], order]
    lists += [[left.index("b")], [right.index("b")]] if batch else [[], []]
    numbers_text = f"dimension_numbers = #tpu.dot_dimension_numbers<{', '.join(map(str, lists))}>"
    line = apply(
        ("r", vector(c.shape, wide)),
        "tpu.matmul",
        ("x", vector(a.shape, dtype)),
        ("y", vector(b.shape, dtype)),
        ("z", vector(c.shape, wide)),
        attributes=numbers_text,
    )
    loads = [load(v, s, t.shape, t.dtype) for v, s, t in (("x", "a", a), ("y", "b", b), ("z", "c", c))]
    return [a, b, c], expected, [*loads, line, store("r", "out", c.shape, wide)]


def contract(rng, numbers):
    """Matrices, either of them transposed."""
    m, n, k = (rng.randint(1, 9) for _ in range(3))
    left, right = rng.choice(["mk", "km"]), rng.choice(["kn", "nk"])
    sizes = {"m": m, "n": n, "k": k}
    a, b = (draw(numbers, tuple(sizes[d] for d in text)) for text in (left, right))
    c = draw(numbers, (m, n))
    maps = ", ".join(f"affine_map<(m, n, k) -> ({', '.join(text)})>" for text in (left, right, "mn"))
    types = f"{vector(a.shape)}, {vector(b.shape)} into {vector(c.shape)}"
    line = (
        f'%r = vector.contract {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"], '
        f"kind = #vector.kind<add>}} %x, %y, %z : {types}"
    )
    loads = [load(v, s, t.shape) for v, s, t in (("x", "a", a), ("y", "b", b), ("z", "c", c))]
    expected = np.einsum(f"{left},{right}->mn", a.astype(np.float64), b.astype(np.float64)) + c
    return [a, b, c], expected.astype(np.float32), [*loads, line, store("r", "out", c.shape)]


def reduction(rng, numbers):
    dtype, kind, function = rng.choice(
        [
            (np.float32, "add", np.sum),
            (np.float32, "maximumf", np.max),
            (np.float32, "minimumf", np.min),
            (np.float32, "mul", np.prod),
            (I32, "add", np.sum),
            (I32, "maxsi", np.max),
            (I32, "minsi", np.min),
        ]
    )
    a = draw(numbers, draw_shape(rng, rng.randint(2, 3)), dtype)
    dimensions = tuple(sorted(rng.sample(range(a.ndim), rng.randint(1, a.ndim - 1))))
    part = function(a.astype(np.float64), axis=dimensions)
    b = draw(numbers, part.shape, dtype)
    expected = function(np.stack([part, b.astype(np.float64)]), axis=0).astype(dtype)
    types = f"{vector(a.shape, dtype)} to {vector(b.shape, dtype)}"
    line = f"%r = vector.multi_reduction <{kind}>, %x, %y {list(dimensions)} : {types}"
    loads = [load("x", "a", a.shape, dtype), load("y", "b", b.shape, dtype)]
    return [a, b], expected, [*loads, line, store("r", "out", b.shape, dtype)]


def broadcast(rng, numbers):
    shape = draw_shape(rng)
    source = tuple(rng.choice([1, size]) for size in shape[rng.randint(0, len(shape) - 1) :])
    a = draw(numbers, source)
    line = f"%r = vector.broadcast %x : {vector(source)} to {vector(shape)}"
    return [a], np.broadcast_to(a, shape).copy(), [load("x", "a", source), line, store("r", "out", shape)]


def shape_cast(rng, numbers):
    factors = [rng.randint(1, 5) for _ in range(4)]

    def group():
        cut = sorted(rng.sample(range(5), 2))
        parts = [factors[: cut[0]], factors[cut[0] : cut[1]], factors[cut[1] :]]
        return tuple(int(np.prod(part)) for part in parts if part)

    a, shape = draw(numbers, group()), group()
    line = f"%r = vector.shape_cast %x : {vector(a.shape)} to {vector(shape)}"
    return [a], a.reshape(shape), [load("x", "a", a.shape), line, store("r", "out", shape)]


def part_of_vector(rng, numbers):
    a = draw(numbers, draw_shape(rng))
    starts = [rng.randrange(size) for size in a.shape]
    sizes = [rng.randint(1, size - start) for size, start in zip(a.shape, starts)]
    expected = a[tuple(slice(start, start + size) for start, size in zip(starts, sizes))]
    line = (
        f"%r = vector.extract_strided_slice %x {{offsets = {starts}, sizes = {sizes}, strides = {[1] * a.ndim}}} : "
        f"{vector(a.shape)} to {vector(expected.shape)}"
    )
    return [a], expected.copy(), [load("x", "a", a.shape), line, store("r", "out", expected.shape)]


def strided_load(rng, numbers):
    """With a start that only the running kernel knows."""
    rows, columns, stride = rng.randint(1, 5), rng.randint(1, 9), rng.randint(1, 3)
    start = rng.randint(0, 4)
    a = draw(numbers, (start + (rows - 1) * stride + 1 + rng.randint(0, 2), columns))
    expected = a[start : start + (rows - 1) * stride + 1 : stride]
    line = apply(
        ("r", vector(expected.shape)),
        "tpu.strided_load",
        ("a", memref(a.shape)),
        ("i", "index"),
        ("c0", "index"),
        attributes=f"strides = array<i32: {stride}, 1>",
    )
    lines = [
        f"%number = memref.load %b[%c0] : {memref((1,), I32)}",
        "%i = arith.index_cast %number : i32 to index",
        line,
        store("r", "out", expected.shape),
    ]
    return [a, np.array([start], I32)], expected.copy(), lines


def masked_store(rng, numbers):
    """Adds to what is there, where a mask says so, at a dynamic row."""
    a, b = draw(numbers, (rng.randint(3, 9), rng.randint(1, 9))), draw(numbers, (2, 1))
    b = np.broadcast_to(b, (2, a.shape[1])).copy()
    row, is_added = rng.randint(0, a.shape[0] - 2), rng.random() < 0.5
    expected = a.copy()
    expected[row : row + 2] = np.where(b > 0, b + (a[row : row + 2] if is_added else 0), a[row : row + 2])
    mask = vector(b.shape).replace("f32", "i1")
    lines = [
        load("x", "a", a.shape),
        store("x", "out", a.shape),
        load("y", "b", b.shape),
        f"%number = memref.load %c[%c0] : {memref((1,), I32)}",
        "%i = arith.index_cast %number : i32 to index",
        f"%zero = arith.constant dense<0.0> : {vector(b.shape)}",
        f"%m = arith.cmpf ogt, %y, %zero : {vector(b.shape)}",
        apply(
            None,
            "tpu.vector_store",
            ("y", vector(b.shape)),
            ("out", memref(a.shape)),
            ("i", "index"),
            ("c0", "index"),
            ("m", mask),
            attributes="operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>, "
            f"add = {str(is_added).lower()}",
        ),
    ]
    return [a, b, np.array([row], I32)], expected, lines


def slice_of_memref(rng, numbers):
    """A plane of rows of a part, squeezed and copied."""
    planes, rows, columns = rng.randint(1, 4), rng.randint(2, 9), rng.randint(1, 9)
    a = draw(numbers, (planes, rows, columns))
    plane, row = rng.randrange(planes), rng.randrange(rows - 1)
    expected = a[plane, row : row + 2]
    part, flat = memref((1, 2, columns)), memref((2, columns))
    lines = [
        f"%p = arith.constant {plane} : i32",
        f"%number = memref.load %b[%c0] : {memref((1,), I32)}",
        "%zero = arith.constant 0 : i32",
        apply(
            ("s", part),
            "tpu.memref_slice",
            ("a", memref(a.shape)),
            ("p", "i32"),
            ("number", "i32"),
            ("zero", "i32"),
            attributes="operandSegmentSizes = array<i32: 1, 3, 0>",
        ),
        apply(("t", flat), "tpu.memref_squeeze", ("s", part)),
        load("x", "t", (2, columns)),
        store("x", "out", (2, columns)),
    ]
    return [a, np.array([row], I32)], expected.copy(), lines


def control(rng, numbers):
    """A loop that writes its array in some steps, and carries a sum."""
    a = draw(numbers, draw_shape(rng, 2))
    steps, limit = rng.randint(0, 6), rng.randint(0, 6)
    expected, sums = a.copy(), np.zeros_like(a)
    for step in range(steps):
        if step < limit:
            expected = expected + a
        else:
            sums = sums + expected
    kind = vector(a.shape)
    lines = [
        load("x", "a", a.shape),
        store("x", "out", a.shape),
        "%one = arith.constant 1 : i32",
        "%first = arith.constant 0 : i32",
        f"%steps = memref.load %b[%c0] : {memref((1,), I32)}",
        f"%limit = arith.constant {limit} : i32",
        f"%zero = arith.constant dense<0.0> : {kind}",
        f"%sums = scf.for %i = %first to %steps step %one iter_args(%s = %zero) -> ({kind}) : i32 {{",
        "%early = arith.cmpi slt, %i, %limit : i32",
        load("before", "out", a.shape),
        f"%next = scf.if %early -> ({kind}) {{",
        f"%more = arith.addf %before, %x : {kind}",
        store("more", "out", a.shape),
        f"scf.yield %s : {kind}",
        "} else {",
        f"%t = arith.addf %s, %before : {kind}",
        f"scf.yield %t : {kind}",
        "}",
        f"scf.yield %next : {kind}",
        "}",
        load("last", "out", a.shape),
        f"%r = arith.addf %last, %sums : {kind}",
        store("r", "out", a.shape),
    ]
    return [a, np.array([steps], I32)], expected + sums, lines


def while_loop(rng, numbers):
    """Doubles its array while a number is below a limit."""
    a = draw(numbers, draw_shape(rng, 2))
    limit = rng.randint(0, 5)
    lines = [
        load("x", "a", a.shape),
        store("x", "out", a.shape),
        "%one = arith.constant 1 : i32",
        "%first = arith.constant 0 : i32",
        f"%limit = memref.load %b[%c0] : {memref((1,), I32)}",
        "%count = scf.while (%i = %first) : (i32) -> i32 {",
        "%goes = arith.cmpi slt, %i, %limit : i32",
        "scf.condition(%goes) %i : i32",
        "} do {",
        "^bb0(%i: i32):",
        load("y", "out", a.shape),
        f"%z = arith.addf %y, %y : {vector(a.shape)}",
        store("z", "out", a.shape),
        "%next = arith.addi %i, %one : i32",
        "scf.yield %next : i32",
        "}",
    ]
    return [a, np.array([limit], I32)], a * 2**limit, lines


def binary(a, b, expected, name):
    """An operation on all of %a and %b."""
    kind = vector(a.shape, a.dtype)
    lines = [load("x", "a", a.shape, a.dtype), load("y", "b", a.shape, a.dtype), f"%r = {name} %x, %y : {kind}"]
    return [a, b], expected, [*lines, store("r", "out", a.shape, a.dtype)]


def draw_edges(numbers):
    return numbers.choice([-(2**31), -7, -1, 0, 1, 2, 3, 31, 32, 2**31 - 1], (3, 9)).astype(I32)


def divide(rng, numbers):
    """By zeros and -1, too: HLO says what that is."""
    a, b = draw_edges(numbers), draw_edges(numbers)
    wide, by = a.astype(np.int64), b.astype(np.int64)
    safe = np.where(by == 0, 1, by)
    quotient = np.abs(wide) // np.abs(safe) * np.sign(wide) * np.sign(safe)
    name = rng.choice(["divsi", "remsi"])
    zero = -1 if name == "divsi" else wide
    expected = np.where(by == 0, zero, quotient if name == "divsi" else wide - quotient * safe)
    return binary(a, b, expected.astype(np.int64).astype(I32), f"arith.{name}")


def divide_rounded(rng, numbers):
    """Up or down. By zero there is a number, whichever."""
    a, b = draw_edges(numbers), draw_edges(numbers)
    name = rng.choice(["floordivsi", "ceildivsi", "ceildivui"])
    if name == "ceildivui":
        wide, by = a.view(np.uint32).astype(np.int64), b.view(np.uint32).astype(np.int64)
    else:
        wide, by = a.astype(np.int64), b.astype(np.int64)
    sign = 1 if name == "floordivsi" else -1
    # The smallest number by -1 is one that 32 bits do not have.
    a = np.where((by == 0) | (sign * (sign * wide // np.where(by == 0, 1, by)) == 2**31) & (by < 0), 5, a).astype(I32)
    b = np.where(by == 0, 1, b).astype(I32)
    wide, by = (x.view(np.uint32) if name == "ceildivui" else x for x in (a, b))
    expected = sign * (sign * wide.astype(np.int64) // by.astype(np.int64))
    return binary(a, b, expected.astype(I32), f"arith.{name}")


def divide_rounded_by_zero(rng, numbers):
    """Processors trap: what comes out does not matter, but that something does."""
    a = draw_edges(numbers)
    name = rng.choice(["floordivsi", "ceildivsi", "ceildivui"])
    operands, _, lines = binary(a, np.resize(np.array([0, -1], I32), a.shape), a, f"arith.{name}")
    return operands, a, [*lines, store("x", "out", a.shape, I32)]


def shift(rng, numbers):
    """By the width and more, too: no bit stays."""
    a, b = draw_edges(numbers), draw_edges(numbers)
    name = rng.choice(["shli", "shrsi", "shrui"])
    amount = b.view(np.uint32).astype(np.uint64)
    within = np.minimum(amount, 31)
    if name == "shli":
        expected = np.where(amount > 31, 0, a.astype(np.int64) << within.astype(np.int64))
    elif name == "shrsi":
        expected = a >> within.astype(I32)
    else:
        expected = np.where(amount > 31, 0, a.view(np.uint32) >> within.astype(np.uint32))
    return binary(a, b, expected.astype(np.int64).astype(I32), f"arith.{name}")


def to_integer(rng, numbers):
    """What is beyond the type is its limit, and NaN is 0."""
    dtype = rng.choice([np.float32, BF16])
    choices = [0.0, -0.5, 2.75, -2.75, 3e9, -3e9, 5e9, np.inf, -np.inf, np.nan, 2.0**31, -(2.0**31)]
    a = numbers.choice(choices, draw_shape(rng)).astype(dtype)
    name = rng.choice(["arith.fptosi", "arith.fptoui"])
    low, high = (-(2**31), 2**31 - 1) if name == "arith.fptosi" else (0, 2**32 - 1)
    wide = np.nan_to_num(np.trunc(a.astype(np.float64)), nan=0.0, posinf=high, neginf=low)
    expected = np.clip(wide, low, high).astype(np.int64).astype(I32)
    line = f"%r = {name} %x : {vector(a.shape, dtype)} to {vector(a.shape, I32)}"
    return [a], expected, [load("x", "a", a.shape, dtype), line, store("r", "out", a.shape, I32)]


def unsigned_loop(rng, numbers):
    """Across the largest signed number."""
    a, steps = draw(numbers, draw_shape(rng)), rng.randint(0, 4)
    first = 2**31 - rng.randint(0, 4)
    kind = vector(a.shape)
    lines = [
        load("x", "a", a.shape),
        f"%first = arith.constant {first} : i32",
        f"%last = arith.constant {first + steps} : i32",
        "%one = arith.constant 1 : i32",
        f"%r = scf.for unsigned %i = %first to %last step %one iter_args(%s = %x) -> ({kind}) : i32 {{",
        f"%t = arith.addf %s, %x : {kind}",
        f"scf.yield %t : {kind}",
        "}",
        store("r", "out", a.shape),
    ]
    return [a], sum([a] * steps, a), lines


def index_memory(rng, numbers):
    """Indices in memory of the kernel's own."""
    a = draw(numbers, (rng.randint(2, 9), rng.randint(1, 9)))
    row = rng.randrange(len(a))
    lines = [
        "%indices = memref.alloca() : memref<3xindex>",
        f"%row = arith.constant {row} : index",
        "memref.store %row, %indices[%c0] : memref<3xindex>",
        "%i = memref.load %indices[%c0] : memref<3xindex>",
        f"%x = vector.load %a[%i, %c0] : {memref(a.shape)}, {vector((1, a.shape[1]))}",
        store("x", "out", (1, a.shape[1])),
    ]
    return [a], a[row : row + 1].copy(), lines


def elementwise(rng, numbers):
    """Functions, of bf16 computed as f32."""
    dtype = rng.choice([np.float32, BF16])
    name, function = rng.choice(
        [
            ("math.exp", np.exp),
            ("math.tanh", np.tanh),
            ("math.absf", np.abs),
            ("arith.negf", np.negative),
            ("math.floor", np.floor),
            ("tpu.reciprocal", lambda x: 1 / x),
            ("tpu.logistic", lambda x: 1 / (1 + np.exp(-x))),
        ]
    )
    a = draw(numbers, draw_shape(rng), dtype)
    a = np.where(a == 0, 1, a).astype(dtype)
    return unary(a, function(a.astype(np.float64)).astype(dtype), name, "")


def weird(rng, numbers):
    a = draw(numbers, draw_shape(rng))
    a = np.where(a > 1, np.inf, np.where(a < -1, np.nan, a)).astype(np.float32)
    mask, kind = vector(a.shape).replace("f32", "i1"), vector(a.shape, I32)
    lines = [
        load("x", "a", a.shape),
        apply(("w", mask), "tpu.weird", ("x", vector(a.shape))),
        f"%r = arith.extui %w : {mask} to {kind}",
        store("r", "out", a.shape, I32),
    ]
    return [a], (~np.isfinite(a)).astype(I32), lines


CASES = [
    *(repeat, rotate, dynamic_rotate, concatenate, iota, transpose, bitcast, reduce_index, dynamic_gather, matmul),
    *(contract, reduction, broadcast, shape_cast, part_of_vector, strided_load, masked_store, slice_of_memref),
    *(control, while_loop, divide, divide_rounded, divide_rounded_by_zero, shift, to_integer, elementwise, weird),
    *(unsigned_loop, index_memory),
]


def check_window(rng, numbers):
    """What is wrong with windows of an array, which may be larger than it or have nothing to see."""
    rows, window, columns = rng.choice([0, 0, 1, rng.randint(2, 20)]), rng.randint(1, 9), rng.randint(1, 9)
    a = draw(numbers, (rows, columns))
    block = (window, columns)
    bounds = f"window_bounds = array<i64: {window}, {columns}>"
    params = ", ".join([f"{{transform_indices = affine_map<(i) -> (i, 0)>, {bounds}}}"] * 2)
    attributes = f"iteration_bounds = array<i64: {max(1, -(-rows // window))}>, window_params = [{params}]"
    lines = [load("x", "a", block), f"%r = arith.addf %x, %x : {vector(block)}", store("r", "out", block)]
    number = rng.choice(["i32", "index"])
    body = make_kernel((("i", number), ("a", memref(block)), ("out", memref(block))), lines, attributes)
    shape = get_shape(a.shape, a.dtype, tiles=False)
    found = ts.Program(make_module([shape], shape, body), poison_padding=True)(a)
    return "" if is_right(found, a + a) else f"windows of {window} of {a.shape}: {found}, expected {a + a}"


def is_right(found, expected):
    if expected.dtype.kind in "iu":
        return np.array_equal(found, expected)
    tolerance = 2e-2 if expected.dtype == BF16 else 1e-5
    wide, right = found.astype(np.float64), expected.astype(np.float64)
    return np.allclose(wide, right, tolerance, tolerance, equal_nan=True)


def main():
    rng = random.Random(test_seed())
    numbers = np.random.default_rng(test_seed())
    count, wrong = 0, 0
    for _ in range(test_count(100)):
        for case in CASES:
            operands, expected, lines = case(rng, numbers)
            text = make_program(operands, expected, lines)
            try:
                found = ts.Program(text, poison_padding=True)(*operands)
            except ts.UnsupportedError as error:
                found = error
            count += 1
            if isinstance(found, Exception) or not is_right(found, expected):
                wrong += 1
                types = [f"{get_mlir_type(a.dtype)}{list(a.shape)}" for a in operands]
                print(f"{case.__name__} of {types}, seed {test_seed()}:\n  " + "\n  ".join(lines))
                print(found, "expected", expected)
        problem = check_window(rng, numbers)
        count += 1
        if problem:
            wrong += 1
            print(problem)
    print(f"{count} kernels, {wrong} wrong")


main()
