#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step of a loop costs in programs of HLO: on arrays in tiles of T(8,128), on
the same in row-major order, and on XLA's CPU backend.

usage: hlo_loops.py [--sizes 512x512,...] [--kinds exponential,...] [--repeat N]

A step is the difference between loops of different trip counts, so neither the call
nor the boundary is in it; the state of the loop is. Pin the process to one processor
(taskset -c 0): all three take one thread then. Prints a table of ratios.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
sys.path.append(os.path.join(os.path.dirname(__file__), "../test/python/Inputs"))
import numpy as np
import xla_cpu

import tessera as ts

# What a step makes of %x, an M x N array, and %w, a vector of the larger of both.
KINDS = {
    "elementwise": """
  %b = {T} multiply(%x, %x)
  %k = f32[]{S} constant(0.25)
  %kb = {T} broadcast(%k), dimensions={{}}
  %r = {T} subtract(%kb, %b)""",
    "exponential": """
  %b = {T} negate(%x)
  %r = {T} exponential(%b)""",
    "tanh": """
  %b = {T} tanh(%x)
  %k = f32[]{S} constant(1.25)
  %kb = {T} broadcast(%k), dimensions={{}}
  %r = {T} multiply(%kb, %b)""",
    "broadcast rows": """
  %s = f32[{N}]{V} slice(%w), slice={{[0:{N}]}}
  %b = {T} broadcast(%s), dimensions={{1}}
  %r = {T} subtract(%b, %x)""",
    "broadcast columns": """
  %s = f32[{M}]{V} slice(%w), slice={{[0:{M}]}}
  %b = {T} broadcast(%s), dimensions={{0}}
  %r = {T} subtract(%b, %x)""",
    "reduce rows": """
  %z = f32[]{S} constant(0)
  %s = f32[{N}]{V} reduce(%x, %z), dimensions={{0}}, to_apply=%add
  %k = f32[]{S} constant(0.001)
  %kb = f32[{N}]{V} broadcast(%k), dimensions={{}}
  %m = f32[{N}]{V} multiply(%s, %kb)
  %r = {T} broadcast(%m), dimensions={{1}}""",
    "reduce columns": """
  %z = f32[]{S} constant(0)
  %s = f32[{M}]{V} reduce(%x, %z), dimensions={{1}}, to_apply=%add
  %k = f32[]{S} constant(0.001)
  %kb = f32[{M}]{V} broadcast(%k), dimensions={{}}
  %m = f32[{M}]{V} multiply(%s, %kb)
  %r = {T} broadcast(%m), dimensions={{0}}""",
    "dot": """
  %d = {T} dot(%x, %x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  %k = f32[]{S} constant(0.01)
  %kb = {T} broadcast(%k), dimensions={{}}
  %r = {T} multiply(%d, %kb)""",
}

MODULE = """HloModule loop

%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[]{S} parameter(0)
  %b = f32[]{S} parameter(1)
  ROOT %s = f32[]{S} add(%a, %b)
}}

%body (p: {state}) -> {state} {{
  %p = {state} parameter(0)
  %i = s32[]{S} get-tuple-element(%p), index=0
  %n = s32[]{S} get-tuple-element(%p), index=1
  %x = {T} get-tuple-element(%p), index=2
  %w = {W} get-tuple-element(%p), index=3
  %one = s32[]{S} constant(1)
  %j = s32[]{S} add(%i, %one){step}
  ROOT %t = {state} tuple(%j, %n, %r, %w)
}}

%condition (p: {state}) -> pred[] {{
  %p = {state} parameter(0)
  %i = s32[]{S} get-tuple-element(%p), index=0
  %n = s32[]{S} get-tuple-element(%p), index=1
  ROOT %c = pred[] compare(%i, %n), direction=LT
}}

ENTRY %main (n: s32[], x: {T}, w: {W}) -> {T} {{
  %n = s32[]{S} parameter(0)
  %x = {T} parameter(1)
  %w = {W} parameter(2)
  %z = s32[]{S} constant(0)
  %t = {state} tuple(%z, %n, %x, %w)
  %l = {state} while(%t), condition=%condition, body=%body
  ROOT %r = {T} get-tuple-element(%l), index=2
}}
"""


def get_text(kind, rows, columns, is_tiled):
    names = {"M": rows, "N": columns}
    names["T"] = f"f32[{rows},{columns}]" + ("{1,0:T(8,128)}" if is_tiled else "{1,0}")
    names["V"] = "{0:T(1024)}" if is_tiled else "{0}"
    names["S"] = "{:T(128)}" if is_tiled else ""
    names["W"] = f"f32[{max(rows, columns)}]{names['V']}"
    names["state"] = "(s32[]{S}, s32[]{S}, {T}, {W})".format(**names)
    return MODULE.format(step=KINDS[kind].format(**names), **names)


def get_runs(kind, rows, columns, arrays):
    """A function of the trip count for each contestant."""
    tiled, plain = (ts.Program(get_text(kind, rows, columns, is_tiled)) for is_tiled in (True, False))
    xla = xla_cpu.compile_module(get_text(kind, rows, columns, False))
    return {
        "tiled": lambda count: tiled(np.int32(count), *arrays),
        "row-major": lambda count: plain(np.int32(count), *arrays),
        "XLA": lambda count: xla([np.int32(count), *arrays])[0],
    }


def measure(runs, steps, repeat):
    """Seconds of a step, and the last values."""
    best, values = {}, {}
    for _ in range(repeat):
        for name, run in runs.items():
            for count in (1, 1 + steps):
                start = time.perf_counter()
                values[name] = run(count)
                seconds = time.perf_counter() - start
                best[name, count] = min(best.get((name, count), seconds), seconds)
    return {name: (best[name, 1 + steps] - best[name, 1]) / steps for name in runs}, values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="512x512,1000x700")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| step | tiled us | of row-major | of XLA |\n|---|---|---|---|")
    for size in options.sizes.split(","):
        rows, columns = map(int, size.split("x"))
        arrays = [rng.normal(0, 0.1, dims).astype(np.float32) for dims in ((rows, columns), max(rows, columns))]
        for kind in options.kinds.split(","):
            if kind == "dot" and rows != columns:
                continue
            runs = get_runs(kind, rows, columns, arrays)
            work = rows * columns * (rows / 16 if kind == "dot" else 1)
            seconds, values = measure(runs, max(3, int(3e7 / work)), options.repeat)
            if not all(np.allclose(value, values["XLA"], 1e-3, 1e-4) for value in values.values()):
                sys.exit(f"{kind} of {size}: values differ")
            ratios = [seconds["tiled"] / seconds[name] for name in ("row-major", "XLA")]
            print(f"| {kind} {size} | {seconds['tiled'] * 1e6:.0f} | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)


main()
