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

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
sys.path.append(os.path.join(os.path.dirname(__file__), "Inputs"))
from kernel_text import BF16, get_error, load, make_kernel, make_module, make_program, memref, store, vector  # noqa: E402
from test_counts import test_count, test_seed  # noqa: E402

X = np.zeros((8, 128), np.float32)
V, M = vector(X.shape), memref(X.shape)
TILED = "f32[8,128]{1,0:T(8,128)}"
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


def call(body, operands=(TILED,), result=TILED, **options):
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

EIGHT = vector((8, 8))
SIZES = memref((1,), np.int32)


def with_transform(function):
    """A kernel with a prefetched operand, one of whose windows is where the function says."""
    arguments = (("i", "i32"), ("n", SIZES), ("a", memref((4, 128))), ("out", M))
    attributes = f"{GRID}, scalar_prefetch = 1 : i64, window_params = [{{transform_indices = @f}}, {{}}]"
    body = make_kernel(arguments, (), attributes)
    body = body.rstrip().removesuffix("}") + f"  func.func @f{function}\n}}\n"
    return call(body, ("s32[1]{0}", "f32[8,128]{1,0:T(8,128)}"))


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
    (
        of("tpu.truncf", "rounding_mode = #tpu.rounding_mode<towards_zero>", result=vector(X.shape, BF16)),
        "`tpu.truncf` of the kernel: expected to_nearest_even as rounding_mode",
    ),
    (
        do(
            f"%k = arith.constant dense<1> : vector<8xi32>\n%i2 = arith.fptosi %x : {V} to {V.replace('f32', 'i32')}\n"
            f"%y = vector.multi_reduction <maximumf>, %i2, %k [1] : {V.replace('f32', 'i32')} to vector<8xi32>"
        ),
        "expected a kind of its elements, found maximumf of i32",
    ),
    (
        do(
            '%w = "tpu.iota"() {dimensions = array<i32: 0>} : () -> vector<300x2xi32>\n'
            "%f = arith.sitofp %w : vector<300x2xi32> to vector<300x2xf32>\n"
            '%y = "tpu.reduce_index"(%f) {axis = 0 : i32, kind = #tpu.reduction_kind<arg_max>} : '
            "(vector<300x2xf32>) -> vector<2xi8>"
        ),
        "`tpu.reduce_index`",
    ),
    # A dimension that is summed over, in the result.
    (
        do(
            "%s = vector.extract_strided_slice %x {offsets = [0, 0], sizes = [8, 8], strides = [1, 1]} : "
            f"{V} to {EIGHT}\n"
            f'%y = "tpu.matmul"(%s, %s, %s) {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], '
            f"[0, 1, 1, 1], [], []>}} : ({EIGHT}, {EIGHT}, {EIGHT}) -> {EIGHT}"
        ),
        "dimension numbers that fit",
    ),
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
    # The last element is where 64 bits count from the beginning again.
    (
        of(
            "tpu.strided_load",
            f"strides = array<i64: {2**63 - 1}, 1>",
            "%a, %c0, %c0",
            f"{M}, index, index",
            vector((3, 128)),
        ),
        "expected parts of the array, found 3 elements from 0 on of 8",
    ),
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
    (
        do(
            f'%y = "tpu.memref_slice"(%a, %i, %i) {{operandSegmentSizes = array<i32: 1, 2, 0>}} : ({M}, i32, i32) -> '
            f"{memref(X.shape, np.int32)}"
        ),
        "expected elements of the memref",
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
    # What the region gives belongs to another operation.
    (
        do('%yes = arith.constant true\n%y = "tpu.region"() ({\nscf.if %yes {}\n}) : () -> i1'),
        "`tpu.region` of the kernel: expected results that the region yields",
    ),
    # Results that nothing has.
    (
        do(
            "%yes = arith.constant true\n%y = scf.if %yes -> (i32) {\n"
            '%n = "tpu.delay"(%i) : (i32) -> i32\nscf.yield %n : i32\n} else {\nscf.yield %i : i32\n}'
        ),
        "`tpu.delay` of the kernel: expected results that it is known to have, found i32",
    ),
    # Types: those that are no numbers, and more than any memory.
    *(
        (do(f"%m = memref.alloca() : memref<{type}>"), f"value of the kernel: expected {expected}")
        for type, expected in [
            ("4xvector<8xf32>", "numbers of up to 64 bits"),
            ("4xcomplex<f32>", "numbers of up to 64 bits"),
            ("4xi16777215", "numbers of up to 64 bits"),
            ("4294967296x4294967296xf32", "at most 2^48 bytes"),
            ("4294967296x65536xi8", "at most 2^48 bytes"),
        ]
    ),
    (do("%y = arith.constant dense<1.0> : vector<[4]xf32>"), "found vector<[4]xf32>"),
    (do("%y = arith.constant 1 : i65"), "found i65"),
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
    (kernel(f"{GRID}, window_params = [{{transform_indices = @none}}, {WINDOW}}}]", HALF), "found @none"),
    (
        kernel(f"{GRID}, window_params = [{{transform_indices = affine_map<(d0) -> (d0)>}}, {WINDOW}}}]", HALF),
        "expected a map or function of the grid to an index of each dimension, found 1 of 2",
    ),
    *(
        (
            with_transform(transform),
            f"expected a map or function of the grid to an index of each dimension, found {found}",
        )
        for transform, found in [
            (f"(%i: i32, %n: {SIZES}) -> i32 {{ return %i : i32 }}", "1 of 2"),
            (f"(%i: i64, %n: {SIZES}) -> (i64, i64) {{ return %i, %i : i64, i64 }}", "i64"),
            ("(%i: i32) -> (i32, i32) { return %i, %i : i32, i32 }", "f"),
            (
                f"(%i: i32, %n: {SIZES}) -> (f32, f32) {{ %z = arith.constant 0.0 : f32 return %z, %z : f32, f32 }}",
                "f32",
            ),
            (
                f"(%i: i32, %n: {SIZES}) -> (i32, i32) {{ %z = arith.constant 0 : index "
                f"memref.store %i, %n[%z] : {SIZES} return %i, %i : i32, i32 }}",
                "one that writes to memory",
            ),
        ]
    ),
    (kernel(f"{GRID}, window_params = [{{}}]", INDEXED), "expected arguments for the grid"),
    (kernel("iteration_bounds = array<i64: -5>", INDEXED), "expected arguments for the grid"),
    *(
        (
            call(make_kernel(INDEXED, (), f"iteration_bounds = array<i64: {-(2**63)}>"), (size, TILED)),
            f"unsupported size of the grid: expected an integer of 32 or 64 bits, found tensor<{found}>",
        )
        for size, found in [
            ("f32[1]", "1xf32"),
            ("s32[0]", "0xi32"),
            ("s32[2]", "2xi32"),
            ("pred[]", "i1"),
            ("u8[]", "i8"),
        ]
    ),
    # Two results in one place.
    (
        call(
            make_kernel((("a", M), ("b", M), ("c", M)), ()),
            (TILED,),
            f"({TILED}, {TILED})",
            attributes=", output_to_operand_aliasing={{0}: (0, {}), {1}: (0, {})}",
        ),
        "unsupported result 1 of the kernel: expected memory that no other result is in, found that of operand 0",
    ),
    # What the kernel has to agree with its call about, by the rules of docs/hlo.md.
    (kernel("", (("a", memref((8, 64))), ("out", M))), "kernel_c2"),
    # Bodies.
    (call("nothing"), "unsupported kernel body"),
    # MLIR's parser dies of it.
    (of("tpu.iota", "dimensions = array<index: 0>", "", ""), "found a fault of its parser"),
    (call("module {}"), "unsupported kernel"),
    (call("ML\ufeffR"), "unsupported kernel body"),
    (
        call(f"module attributes {{stable_mosaic.version = 99 : i64}} {{ {EMPTY} }}"),
        "found version 99",
    ),
]


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
