#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What whole modules cost: compiled by the TPU compiler and run on this processor on
their own tiled bytes, against the same functions by XLA's CPU backend.

usage: hlo_modules.py [--target v5e:2x2] [--repeat N] [NAME...]

Needs jax and libtpu; no TPU. Times are of calls from Python, with arguments and results
that are logical and row-major on both sides. Pin the process to one processor (taskset
-c 0): both take one thread then. Prints a table of ratios and their geometric mean.
"""

import argparse
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
os.environ.setdefault("TPU_WORKER_ID", "0")
os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding
from jaxlib import _hlo

import tessera as ts

jax.config.update("jax_default_matmul_precision", "highest")


def embed(table, tokens):
    return table[tokens] * 2


def normalize(x):
    return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5)


def stem(x, w):
    x = lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def scan(x, h, w, u):
    def step(h, x):
        h = jnp.tanh(x @ w + h @ u)
        return h, h

    return lax.scan(step, h, x)


def block(x, wq, wk, wv, wo, w1, w2):
    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    h = norm(x)
    q, k, v = (jnp.einsum("bsd,dhk->bhsk", h, w) for w in (wq, wk, wv))
    scores = jax.nn.softmax(jnp.einsum("bhsk,bhtk->bhst", q, k) / 8)
    x = x + jnp.einsum("bhsk,hkd->bsd", jnp.einsum("bhst,bhtk->bhsk", scores, v), wo)
    return x + jax.nn.gelu(norm(x) @ w1) @ w2


# The programs that the tests run (test/HLO/Inputs/run), with larger arrays. Two of those
# have nothing that could be larger: numbers, and an array without elements. The second
# here has rows of whole tiles: otherwise the text has a bitcast that reads padding, which
# runs only when expanded.
PROGRAMS = {
    "bool_mask": (lambda x, m: jnp.where(m, x, 0).sum(1), ("bf16", 2000, 3000), ("pred", 2000, 3000)),
    "concat_pad_reverse": (
        lambda a, b: (jnp.concatenate([a, b], 1), jnp.pad(a, ((1, 2), (3, 4))), a[::-1]),
        ("f32", 1536, 600),
        ("f32", 1536, 250),
    ),
    "conv_stem": (stem, ("f32", 4, 112, 112, 3), ("f32", 7, 7, 3, 64)),
    "embedding_gather": (embed, ("bf16", 5000, 1030), ("s32", 16, 128)),
    "batchnorm": (normalize, ("f32", 8, 28, 28, 200)),
    "int4_weights": (lambda x, w: x @ w.astype(jnp.bfloat16), ("bf16", 64, 1024), ("s4", 1024, 1030)),
    "mlp_softmax": (lambda x, w: jax.nn.softmax(jnp.tanh(x @ w)), ("bf16", 500, 700), ("bf16", 700, 1300)),
    "rnn_scan": (scan, ("f32", 50, 32, 128), ("f32", 32, 256), ("f32", 128, 256), ("f32", 256, 256)),
    "transformer_block": (
        block,
        ("f32", 2, 200, 512),
        *(("f32", 512, 8, 64),) * 3,
        ("f32", 8, 64, 512),
        ("f32", 512, 1024),
        ("f32", 1024, 512),
    ),
    "transpose_zoo": (
        lambda x: (x.transpose(2, 0, 1), x.transpose(1, 2, 0), x.reshape(x.shape[0], -1).T),
        ("f32", 60, 175, 154),
    ),
    "u16_bits": (lambda x: (x << 3) ^ (x >> 5) | (x & 77), ("u16", 500, 6000)),
}
TYPES = {"f32": "float32", "bf16": "bfloat16", "s32": "int32", "u16": "uint16", "s4": "int4", "pred": "bool_"}


def make_argument(rng, type, *shape):
    dtype = jnp.dtype(getattr(jnp, TYPES[type]))
    if type == "pred":
        return rng.random(shape) < 0.5
    if type in ("f32", "bf16"):
        return (rng.standard_normal(shape) * 0.05).astype(dtype)
    return rng.integers(0, 7 if type == "s4" else 5000, shape).astype(dtype)


def compile_for_tpu(function, arguments, target):
    device = topologies.get_topology_desc(platform="tpu", topology_name=target).devices[0]
    here = SingleDeviceSharding(device)
    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments]
    jitted = jax.jit(function, in_shardings=here, out_shardings=here)
    compiled = jitted.trace(*structs).lower(lowering_platforms=("tpu",)).compile()
    text = _hlo.HloPrintOptions()
    text.print_large_constants = True
    return compiled.runtime_executable().hlo_modules()[0].to_string(text)


def as_bits(array, spec):
    """An array as the program wants it: bf16 as bits, s4 as bytes."""
    return array.view(spec.dtype) if array.dtype.itemsize == spec.dtype.itemsize else array.astype(spec.dtype)


def measure(runs, repeat):
    best = {}
    for _ in range(repeat):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
    return best


def check(name, found, expected):
    for a, b in zip(found, expected, strict=True):
        b = np.asarray(b)
        a = a.view(b.dtype) if a.dtype != b.dtype else a
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not np.allclose(a, b, 2e-2, 2e-2 * max(np.abs(b).max(), 1e-3)):
            sys.exit(f"{name}: values differ by up to {np.abs(a - b).max()}")


def compare(name, target, repeat):
    """Seconds of a call, here and by XLA."""
    function, *shapes = PROGRAMS[name]
    rng = np.random.default_rng(0)
    arguments = [make_argument(rng, *shape) for shape in shapes]
    program = ts.Program(compile_for_tpu(function, arguments, target))
    inputs = [as_bits(a, spec) for a, spec in zip(arguments, program.inputs, strict=True)]
    on_device = [jax.device_put(a) for a in arguments]
    jitted = jax.jit(function)
    found, expected = program(*inputs), jitted(*on_device)
    check(name, jax.tree.leaves(found), jax.tree.leaves(expected))
    runs = {"here": lambda: program(*inputs), "XLA": lambda: jax.block_until_ready(jitted(*on_device))}
    best = measure(runs, repeat)
    return best["here"], best["XLA"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="v5e:2x2")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("names", nargs="*", default=list(PROGRAMS), metavar="NAME")
    options = parser.parse_args()
    ratios = []
    print("| module | ms | of XLA |\n|---|---|---|")
    for name in options.names:
        here, xla = compare(name, options.target, options.repeat)
        ratios.append(here / xla)
        print(f"| {name} | {here * 1e3:.2f} | {ratios[-1]:.2f} |", flush=True)
    print(f"\ngeometric mean: {statistics.geometric_mean(ratios):.2f}")


main()
