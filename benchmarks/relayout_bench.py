#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times compiled relayouts against memcpy and the plain affine loops.

Prints a Markdown table: for each case the rate of memcpy of the elements'
bytes (read and written), and the ratios to it of the vector kernels and of the
affine loops (--vectorize=false), best of --reps, all taken in turn.

The arrays are made of random bytes, and the two functions must agree in every
byte that holds an element before they are timed.
"""

import argparse
import ctypes
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np

# The elements' bytes, source and destination. Large ones, then small ones.
CASES = [
    ("f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}"),
    ("bf16[8192,4096]{1,0}", "bf16[8192,4096]{0,1}"),
    ("s8[8192,8192]{1,0}", "s8[8192,8192]{0,1}"),
    ("f64[4096,4096]{1,0}", "f64[4096,4096]{0,1}"),
    ("f32[4099,3001]{1,0}", "f32[4099,3001]{0,1}"),
    ("f32[96,64,56,56]{3,2,1,0}", "f32[96,64,56,56]{1,3,2,0}"),
    ("f32[96,64,56,56]{1,3,2,0}", "f32[96,64,56,56]{3,2,1,0}"),
    ("f32[4096,4096]{1,0}", "f32[4096,4096]{1,0:T(8,128)}"),
    ("f32[4099,3001]{1,0}", "f32[4099,3001]{1,0:T(8,128)PV(zero)}"),
    ("f32[4096,4096]{1,0:T(8,128)}", "f32[4096,4096]{0,1:T(8,128)}"),
    ("bf16[8192,4096]{1,0}", "bf16[8192,4096]{1,0:T(8,128)(2,1)}"),
    ("bf16[8192,4096]{1,0:T(8,128)(2,1)}", "bf16[8192,4096]{1,0}"),
    ("s8[8192,8192]{1,0}", "s8[8192,8192]{1,0:T(8,128)(4,1)}"),
    ("f32[32,16,24,24,64]{4,3,2,1,0}", "f32[32,16,24,24,64]{2,4,1,3,0}"),
    ("f32[256,256]{1,0}", "f32[256,256]{0,1}"),
    ("bf16[256,256]{1,0}", "bf16[256,256]{0,1}"),
    ("s8[512,512]{1,0}", "s8[512,512]{0,1}"),
    ("f32[259,201]{1,0}", "f32[259,201]{0,1}"),
    ("f32[256,256]{1,0}", "f32[256,256]{1,0:T(8,128)}"),
    ("bf16[256,256]{1,0}", "bf16[256,256]{1,0:T(8,128)(2,1)}"),
    ("f32[256,256]{1,0:T(8,128)}", "f32[256,256]{0,1:T(8,128)}"),
]
BYTES = {"f32": 4, "bf16": 2, "s8": 1, "f64": 8}


def element_bytes(shape):
    """Bytes of the elements of a shape, without padding."""
    match = re.match(r"(\w+)\[([\d,]*)\]", shape)
    return BYTES[match[1]] * int(np.prod([int(d) for d in match[2].split(",")]))


def aligned(size):
    """Bytes that begin at a page and have been touched."""
    raw = np.zeros(size + 4096, np.uint8)
    skip = -raw.ctypes.data % 4096
    return raw[skip:skip + size]


class Case:
    def __init__(self, tool, sizes, source, destination, folder, number):
        self.useful = element_bytes(source)
        self.functions = []
        for variant in ("true", "false"):
            path = pathlib.Path(folder, f"{number}_{variant}.so")
            subprocess.run([tool, "relayout", source, destination,
                            f"--vectorize={variant}", "-o", path], check=True)
            function = ctypes.CDLL(str(path)).tessera_relayout
            function.argtypes, function.restype = [ctypes.c_void_p] * 2, None
            self.functions.append(function)
        self.source = aligned(sizes(source))
        self.source[:] = np.random.default_rng(0).integers(
            0, 256, self.source.size, dtype=np.uint8)
        self.outputs = [aligned(max(sizes(destination), self.useful))
                        for _ in self.functions]

    def check(self):
        for function, output in zip(self.functions, self.outputs):
            function(self.source.ctypes.data, output.ctypes.data)
        # Padding without PV is zero in both, as the memory came.
        assert np.array_equal(*self.outputs), "the two functions disagree"

    def best(self, reps, micros):
        src, dst = self.source.ctypes.data, self.outputs[0].ctypes.data
        bodies = [lambda: ctypes.memmove(dst, src, self.useful)]
        bodies += [lambda f=f: f(src, dst) for f in self.functions]
        times = [[] for _ in bodies]
        counts = []
        for body in bodies:
            begin = time.perf_counter()
            body()
            once = max(time.perf_counter() - begin, 1e-7)
            counts.append(max(1, int(micros * 1e-6 / once)))
        for _ in range(reps):
            for body, count, taken in zip(bodies, counts, times):
                begin = time.perf_counter()
                for _ in range(count):
                    body()
                taken.append((time.perf_counter() - begin) / count)
        return [min(taken) for taken in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tessera-compile", default="tessera-compile")
    parser.add_argument("--tessera-layout", default=None,
                        help="default: beside tessera-compile")
    parser.add_argument("--reps", type=int, default=15)
    parser.add_argument("--micros", type=float, default=300,
                        help="least time of a repetition, in microseconds")
    parser.add_argument("--cases", default=".", help="pattern of shapes")
    args = parser.parse_args()
    layout = args.tessera_layout or str(
        pathlib.Path(args.tessera_compile).with_name("tessera-layout"))

    def sizes(shape):
        text = subprocess.run([layout, "size", "--json", shape], check=True,
                              capture_output=True, text=True).stdout
        return int(re.search(r'"bytes":\s*(\d+)', text)[1])

    print("| from | to | memcpy GB/s | kernels | affine loops |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for number, (source, destination) in enumerate(CASES):
            if not re.search(args.cases, source + " " + destination):
                continue
            case = Case(args.tessera_compile, sizes, source, destination,
                        folder, number)
            case.check()
            copy, kernels, loops = case.best(args.reps, args.micros)
            print(f"| `{source}` | `{destination}` "
                  f"| {2 * case.useful / copy / 1e9:.1f} "
                  f"| {copy / kernels:.2f} | {copy / loops:.2f} |", flush=True)


if __name__ == "__main__":
    main()
