#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a dot costs: of operands in the tiles that a TPU compiler gives them, of the
same in row-major order, of oneDNN and of XLA's CPU backend.

usage: dots.py [--sizes 8x4096x4096,...] [--types f32,bf16] [--repeat N] [--onednn FILE]

Sizes are MxKxN, and sums f32. oneDNN multiplies by weights that it packed before
("packed"), and by row-major ones that it packs each time ("reorder"); its library is
FILE, such as libdnnl.so.3 of the package onednn-cpu-gomp, and is left out without
one. Contestants take turns; the time is the best of all. Pin the process to one
processor (taskset -c 0), and give it OMP_NUM_THREADS=1: all take one thread then.
Prints a table of times and ratios.
"""

import argparse
import ctypes
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
import jax
import numpy as np
import tessera as ts

TILES = {"f32": "{1,0:T(8,128)}", "bf16": "{1,0:T(8,128)(2,1)}"}

# Dots again and again, each into the same array: the difference of two counts is
# a dot alone, without conversions of layouts before and after.
MODULE = """
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @main(%count: index, %a: {A}, %b: {B}) -> {C} {{
  %lhs = tessera.relayout %a : {A} to {LHS}
  %rhs = tessera.relayout %b : {B} to {RHS}
  %zero = arith.constant 0.0 : f32
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %empty = tessera.empty() : {RESULT}
  %first = linalg.fill ins(%zero : f32) outs(%empty : {RESULT}) -> {RESULT}
  %last = scf.for %i = %0 to %count step %1 iter_args(%array = %first) -> ({RESULT}) {{
    %zeros = linalg.fill ins(%zero : f32) outs(%array : {RESULT}) -> {RESULT}
    %r = linalg.generic {{indexing_maps = [#mk, #kn, #mn],
                         iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%lhs, %rhs : {LHS}, {RHS}) outs(%zeros : {RESULT}) {{
    ^bb0(%l: {T}, %r: {T}, %sum: f32):
      {WIDEN}
      %p = arith.mulf {FACTORS} fastmath<contract, reassoc> : f32
      %s = arith.addf %sum, %p fastmath<contract, reassoc> : f32
      linalg.yield %s : f32
    }} -> {RESULT}
    scf.yield %r : {RESULT}
  }}
  %out = tessera.relayout %last : {RESULT} to {C}
  return %out : {C}
}}
"""


def get_text(m, k, n, kind, is_tiled):
    def tensor(rows, columns, element, layout=""):
        return f"tensor<{rows}x{columns}x{element}{layout}>"

    names = {"T": kind, "A": tensor(m, k, kind), "B": tensor(k, n, kind), "C": tensor(m, n, "f32")}
    for name, sizes in {"LHS": (m, k, kind), "RHS": (k, n, kind), "RESULT": (m, n, "f32")}.items():
        layout = TILES[sizes[2]] if is_tiled else "{1,0}"
        names[name] = tensor(*sizes, f", #tessera.layout<{layout}>")
    names["WIDEN"], names["FACTORS"] = "", "%l, %r"
    if kind == "bf16":
        names["WIDEN"] = "%x = arith.extf %l : bf16 to f32\n      %y = arith.extf %r : bf16 to f32"
        names["FACTORS"] = "%x, %y"
    return MODULE.format(**names)


class Tessera:
    """Seconds of a dot as the difference of two counts."""

    def __init__(self, m, k, n, kind, is_tiled, arrays):
        self.program = ts.Program(get_text(m, k, n, kind, is_tiled))
        self.arrays = arrays
        self.steps = max(2, min(40, int(2e9 / (m * k * n))))
        self.best = {}

    def __call__(self):
        for count in (1, 1 + self.steps):
            start = time.perf_counter()
            result = self.program(np.int64(count), *self.arrays)
            seconds = time.perf_counter() - start
            self.best[count] = min(self.best.get(count, seconds), seconds)
        return result

    def seconds(self):
        return (self.best[1 + self.steps] - self.best[1]) / self.steps


class Repeated:
    """Seconds of a call."""

    def __init__(self, call):
        self.call, self.best = call, float("inf")

    def __call__(self):
        start = time.perf_counter()
        result = self.call()
        self.best = min(self.best, time.perf_counter() - start)
        return result

    def seconds(self):
        return self.best


class OneDNN:
    """Matrix products by the C interface of oneDNN 3."""

    TYPES = {"bf16": 2, "f32": 3}
    ANY, ROW_MAJOR = 1, 3
    WEIGHTS_MD = 131
    SOURCE, RESULT, WEIGHTS = 1, 17, 33

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.engine = self.make("engine_create", ctypes.c_int(1), ctypes.c_size_t(0))
        self.stream = self.make("stream_create", self.engine, ctypes.c_uint(1))

    def make(self, function, *arguments):
        result = ctypes.c_void_p()
        self.check(getattr(self.library, "dnnl_" + function)(ctypes.byref(result), *arguments))
        return result

    def check(self, status):
        if status != 0:
            sys.exit(f"oneDNN: status {status}")

    def describe(self, shape, kind, tag):
        sizes = (ctypes.c_int64 * 12)(*shape)
        return self.make("memory_desc_create_with_tag", ctypes.c_int(2), sizes, self.TYPES[kind], ctypes.c_int(tag))

    def allocate(self, description, array=None):
        # All ones: oneDNN allocates.
        handle = ctypes.c_void_p(-1 if array is None else array.ctypes.data)
        return self.make("memory_create", description, self.engine, handle)

    def execute(self, primitive, memories):
        class Argument(ctypes.Structure):
            _fields_ = [("index", ctypes.c_int), ("memory", ctypes.c_void_p)]

        arguments = (Argument * len(memories))(*(Argument(i, m.value) for i, m in memories.items()))
        self.check(self.library.dnnl_primitive_execute(primitive, self.stream, len(memories), arguments))
        self.check(self.library.dnnl_stream_wait(self.stream))

    def get_runs(self, lhs, rhs, kind):
        """With packed weights, and with weights that are packed first."""
        m, k, n = *lhs.shape, rhs.shape[1]
        result = np.zeros((m, n), np.float32)
        source, target = self.describe((m, k), kind, self.ROW_MAJOR), self.describe((m, n), "f32", self.ROW_MAJOR)
        plain = self.describe((k, n), kind, self.ROW_MAJOR)
        product = self.make(
            "matmul_primitive_desc_create",
            self.engine,
            source,
            self.describe((k, n), kind, self.ANY),
            None,
            target,
            None,
        )
        query = self.library.dnnl_primitive_desc_query_md
        query.restype = ctypes.c_void_p
        packed = ctypes.c_void_p(query(product, self.WEIGHTS_MD, 0))
        pack = self.make("reorder_primitive_desc_create", plain, self.engine, packed, self.engine, None)
        multiply, reorder = (self.make("primitive_create", what) for what in (product, pack))
        weights = self.allocate(packed)
        memories = {
            self.SOURCE: self.allocate(source, lhs),
            self.WEIGHTS: weights,
            self.RESULT: self.allocate(target, result),
        }
        from_to = {self.SOURCE: self.allocate(plain, rhs), self.RESULT: weights}

        def run_packed():
            self.execute(multiply, memories)
            return result

        def run_reorder():
            self.execute(reorder, from_to)
            return run_packed()

        # The other one must find weights.
        run_reorder()
        return {"oneDNN packed": Repeated(run_packed), "oneDNN reorder": Repeated(run_reorder)}


def get_xla(lhs, rhs, kind):
    def dot(a, b):
        return jax.lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=np.float32)

    device = jax.devices("cpu")[0]
    arrays = [jax.device_put(x.view(jax.numpy.bfloat16) if kind == "bf16" else x, device) for x in (lhs, rhs)]
    compiled = jax.jit(dot)
    return Repeated(lambda: compiled(*arrays).block_until_ready())


def draw(rng, shape, kind):
    """An array, and the same as f32."""
    array = rng.normal(0, 1, shape).astype(np.float32)
    if kind == "f32":
        return array, array
    bits = array.view(np.uint32) & np.uint32(0xFFFF0000)
    return (bits >> 16).astype(np.uint16), bits.view(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = ",".join(f"{m}x4096x4096" for m in (1, 8, 16, 64)) + ",2048x2048x2048"
    parser.add_argument("--sizes", default=sizes)
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--onednn")
    options = parser.parse_args()
    onednn = OneDNN(options.onednn) if options.onednn else None
    names = ["row-major", *(["oneDNN packed", "oneDNN reorder"] if onednn else []), "XLA"]
    print(f"| dot | tiled ms | {' | '.join('of ' + name for name in names)} |\n|---|{'---|' * (len(names) + 1)}")
    rng = np.random.default_rng(0)
    for kind in options.types.split(","):
        for size in options.sizes.split(","):
            m, k, n = map(int, size.split("x"))
            (lhs, wide_lhs), (rhs, wide_rhs) = draw(rng, (m, k), kind), draw(rng, (k, n), kind)
            runs = {name: Tessera(m, k, n, kind, name == "tiled", (lhs, rhs)) for name in ("tiled", "row-major")}
            if onednn:
                runs.update(onednn.get_runs(lhs, rhs, kind))
            runs["XLA"] = get_xla(lhs, rhs, kind)
            expected = wide_lhs @ wide_rhs
            for _ in range(options.repeat):
                for name, run in runs.items():
                    if not np.allclose(run(), expected, 1e-2, 1e-2):
                        sys.exit(f"{kind} {size}: {name} differs")
            seconds = {name: run.seconds() for name, run in runs.items()}
            ratios = [f"{seconds['tiled'] / seconds[name]:.2f}" for name in names]
            print(f"| {kind} {size} | {seconds['tiled'] * 1e3:.2f} | {' | '.join(ratios)} |", flush=True)


main()
