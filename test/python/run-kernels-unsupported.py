# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} kernels refused, 0 wrong
"""Kernels that do not run say what is unsupported, with the line of the call and the
operation, all of it, and next to what else is; damaged ones say that, too.
"""

import os
import random
import sys

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
sys.path.append(os.path.join(os.path.dirname(__file__), "Inputs"))
from kernel_text import load, make_kernel, make_module, make_program, memref, store, vector  # noqa: E402
from test_counts import test_count, test_seed  # noqa: E402

X = np.zeros((8, 128), np.float32)
V, M = vector(X.shape), memref(X.shape)
LOAD, STORE = load("x", "a", X.shape), store("r", "out", X.shape)


def use(line):
    """A kernel that makes %r of %x."""
    return make_program([X], X, [LOAD, line, STORE])


def do(line):
    """A kernel that does something with its memory."""
    return make_program(
        [X],
        X,
        [LOAD, "%i = arith.constant 3 : i32", "%far = arith.constant 300 : index", line, store("x", "out", X.shape)],
    )


def of(name, attributes="", operands="%x", types=V, result=V):
    """One that gives %r, of another type than what is stored, or not."""
    line = f'%{"r" if result == V else "y"} = "{name}"({operands}) {{{attributes}}} : ({types}) -> {result}'
    return use(line) if result == V else do(line)


def call(body, operands=("f32[8,128]{1,0:T(8,128)}",), result="f32[8,128]{1,0:T(8,128)}", **options):
    return make_module(operands, result, body, **options)


def kernel(attributes, arguments=(("a", M), ("out", M)), lines=()):
    return call(make_kernel(arguments, lines, attributes))


GRID = "iteration_bounds = array<i64: 2>"
INDEXED = (("i", "i32"), ("a", M), ("out", M))
HALF = (("i", "i32"), ("a", memref((4, 128))), ("out", memref((4, 128))))
WINDOW = "{transform_indices = affine_map<(d0) -> (d0, 0)>"

EMPTY = f"func.func @main(%a: {M}, %out: {M}) {{ return }}"
PADDED = "window_kind = #tpu.element_window<[1, 0], [0, 0]>"
SIZED = "operandSegmentSizes = array<i32: 1, 1, 1>"
REMOTE = "array<i32: 1, 0, 1, 1, 1, 0>"
COLUMN = f"%column = arith.constant dense<0.0> : {vector((8, 8))}\n"
CONTRACTION = (
    "{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,"
    " affine_map<(m, n, k) -> (m, n)>],"
    ' iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<maximumf>}'
)

CASES = [
    # Operations that there are not.
    (
        of("tpu.prng_random_bits", operands="", types=""),
        "expected one that is converted, found `tpu.prng_random_bits`",
    ),
    (of("other.operation"), "found `other.operation`"),
    (of("other.\\FF"), "found `other."),
    # Operands and attributes that do not fit.
    (
        of("tpu.repeat", "dimension = 2 : i32, times = 1 : i32"),
        "`tpu.repeat` of the kernel: expected a vector that repeats",
    ),
    (of("tpu.repeat", "dimension = 1 : i32, times = 2 : i32"), "`tpu.repeat`"),
    (of("tpu.repeat", "dimension = 1 : i32, times = 4000000000 : i64"), "`tpu.repeat`"),
    (
        of("tpu.rotate", "amount = 1 : si32, dimension = -1 : si32"),
        "`tpu.rotate` of the kernel: expected a vector and one of its dimensions",
    ),
    (of("tpu.rotate", "dimension = 0 : si32"), "`tpu.rotate` of the kernel: expected a vector and an amount"),
    (of("tpu.dynamic_rotate", "dimension = 0 : si32"), "`tpu.dynamic_rotate`"),
    (of("tpu.concatenate", "dimension = 0 : i32", "%x, %x", f"{V}, {V}"), "`tpu.concatenate`"),
    (of("tpu.iota", "dimensions = array<i32: 2>", "", ""), "`tpu.iota`"),
    (
        of("tpu.transpose", "permutation = array<i64: 1, 0>"),
        "`tpu.transpose` of the kernel: expected a result of the permuted shape",
    ),
    (of("tpu.transpose", "permutation = array<i64: 1, 1>"), "`tpu.transpose` of the kernel: expected a permutation"),
    (of("tpu.bitcast", result=vector((3, 128), np.int16)), "`tpu.bitcast`"),
    (
        of("tpu.reduce_index", "axis = 0 : i32, kind = #tpu.reduction_kind<sum>", result=vector((128,), np.int32)),
        "`tpu.reduce_index`",
    ),
    (of("tpu.dynamic_gather", "dimensions = array<i32: 0>", "%x, %x", f"{V}, {V}"), "`tpu.dynamic_gather`"),
    (
        of("tpu.matmul", "", "%x, %x, %x", f"{V}, {V}, {V}"),
        "`tpu.matmul` of the kernel: expected dimension numbers that fit",
    ),
    (
        of("tpu.matmul", "dimension_numbers = #tpu.dot_dimension_numbers<[0]>", "%x, %x, %x", f"{V}, {V}, {V}"),
        "dimension numbers that fit",
    ),
    (of("tpu.reciprocal", result=vector((3,))), "`tpu.reciprocal`"),
    (of("tpu.logistic", operands="%x, %x", types=f"{V}, {V}"), "`tpu.logistic`"),
    (of("tpu.weird"), "`tpu.weird`"),
    (of("tpu.truncf"), "`tpu.truncf`"),
    (of("tpu.assume_multiple", operands="", types=""), "`tpu.assume_multiple`"),
    (of("tpu.device_id", operands="", types=""), "`tpu.device_id`"),
    (
        do(f"{COLUMN} %y = vector.contract {CONTRACTION} %x, %x, %column : {V}, {V} into {vector((8, 8))}"),
        "`vector.contract`",
    ),
    # Memory.
    (
        of("tpu.strided_load", "strides = array<i32: 0, 1>", "%a, %c0, %c0", f"{M}, index, index"),
        "expected strides from 1 on",
    ),
    (
        of(
            "tpu.vector_load",
            "operandSegmentSizes = array<i32: 1, 1, 0>, strides = array<i32>",
            "%a, %c0, %c0",
            f"{M}, index, index",
        ),
        "`tpu.vector_load`",
    ),
    (
        of("tpu.strided_load", "strides = array<i32: 2, 1>", "%a, %c0, %c0", f"{M}, index, index"),
        "expected parts of the array, found 8 elements from 0 on of 8",
    ),
    (
        do(f"%y = vector.load %a[%far, %c0] : {M}, {V}"),
        "expected parts of the array, found 8 elements from 300 on of 8",
    ),
    (do(f'"tpu.strided_store"(%x) : ({V}) -> ()'), "`tpu.strided_store`"),
    (
        do(f'"tpu.vector_store"(%x, %out) {{operandSegmentSizes = array<i32: 9, -7>}} : ({V}, {M}) -> ()'),
        "`tpu.vector_store`",
    ),
    (
        do(f'%y = "tpu.memref_slice"(%a, %i) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({M}, i32) -> {M}'),
        "expected an offset for each dimension",
    ),
    (
        do(f'%y = "tpu.memref_slice"(%a, %i, %i) {{{SIZED}}} : ({M}, i32, i32) -> {M}'),
        "expected static sizes",
    ),
    (do(f'%y = "tpu.memref_squeeze"(%a) : ({M}) -> {memref((128,))}'), "`tpu.memref_squeeze`"),
    (do(f'%y = "tpu.reinterpret_cast"(%a) : ({M}) -> {memref((4, 256))}'), "`tpu.reinterpret_cast`"),
    (
        do(f'"tpu.enqueue_dma"(%a, %out, %out, %i) {{operandSegmentSizes = {REMOTE}}} : ({M}, {M}, {M}, i32) -> ()'),
        "expected a copy within one core",
    ),
    (do('"tpu.enqueue_dma"(%i) : (i32) -> ()'), "`tpu.enqueue_dma` of the kernel: expected a source and a target"),
    (do(f'"tpu.sem_signal"(%out, %i) : ({M}, i32) -> ()'), "`tpu.sem_signal`"),
    # Regions.
    (do(f'%y = "tpu.region"() ({{}}) : () -> {V}'), "`tpu.region`"),
    # The function: its arguments, windows, grid.
    (kernel("scratch_operands = 1 : i64"), "kernel_c1"),
    (kernel(f"{GRID}, window_params = [{WINDOW}}}, {WINDOW}}}]", HALF[:2]), "kernel_c1"),
    (
        kernel(f"{GRID}, window_params = [{{window_bounds = array<i64: 4, 128>}}, {WINDOW}}}]", HALF),
        "expected a map or function of its index",
    ),
    (
        kernel(f"{GRID}, window_params = [{WINDOW}, {PADDED}}}, {WINDOW}}}]", HALF),
        "expected windows without padding",
    ),
    (kernel(f"{GRID}, window_params = [{{transform_indices = @none}}, {WINDOW}}}]", HALF), "found none"),
    (
        kernel(f"{GRID}, window_params = [{{transform_indices = affine_map<(d0) -> (d0)>}}, {WINDOW}}}]", HALF),
        "expected a map or function of the grid to 2 indices",
    ),
    (kernel(f"{GRID}, window_params = [{{}}]", INDEXED), "expected arguments for the grid"),
    (kernel("iteration_bounds = array<i64: -5>", INDEXED), "expected arguments for the grid"),
    # What the kernel has to agree with its call about, by the rules of docs/hlo.md.
    (kernel("", (("a", memref((8, 64))), ("out", M))), "kernel_c2"),
    # Bodies.
    (call("nothing"), "unsupported kernel body"),
    (call("module {}"), "unsupported kernel"),
    (call("ML\ufeffR"), "unsupported kernel body"),
    (
        call(f"module attributes {{stable_mosaic.version = 99 : i64}} {{ {EMPTY} }}"),
        "found version 99",
    ),
]


def get_error(text):
    try:
        ts.Program(text)
    except (ts.UnsupportedError, ts.InvalidError) as error:
        return str(error)
    return "no error"


def check_together():
    """Two operations of a kernel and another instruction, each with its line."""
    text = of("tpu.one").replace(
        "  ROOT", '  %q = f32[8,128]{1,0:T(8,128)} custom-call(%p0), custom_call_target="Other"\n  ROOT'
    )
    error = get_error(text.replace("tpu.one", "tpu.two"))
    found = get_error(text)
    return "`tpu.one`" in found and "Other" in found and ":5:" in found and ":6:" in found and "tpu.two" not in error


def damage(rng, text):
    """The body of a kernel with some bytes changed."""
    body = bytearray(text.encode())
    for _ in range(rng.randint(1, 4)):
        body[rng.randrange(len(body))] = rng.choice(b"()<>{}%0129axvi, =:-")
    return body.decode()


def main():
    wrong = 0
    for text, expected in CASES:
        error = get_error(text)
        if expected not in error:
            wrong += 1
            print(f"expected {expected!r}, found {error[:600]}")
    wrong += not check_together()
    # Any error will do, or none.
    rng = random.Random(test_seed())
    lines = [LOAD, f'%r = "tpu.repeat"(%x) {{dimension = 1 : i32, times = 1 : i32}} : ({V}) -> {V}', STORE]
    body = make_kernel((("a", M), ("out", M)), lines)
    for _ in range(test_count(500)):
        get_error(call(damage(rng, body)))
    print(f"{len(CASES)} kernels refused, {wrong} wrong")


main()
