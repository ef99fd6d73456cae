#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the plan that costs least against plans with other parameters.

Prints a Markdown table: for each case the ratio of the chosen plan to the best
of all variants (1 is best), and the options of that best one. Variants overrule
the choice by tessera-compile's hidden --plan options: the kind of a schedule,
bytes of a block along the destination and the source, whether rows are
gathered, order of loops, stores and prefetch. Those that give a plan already
tried are left out. All take turns; the best of --reps counts. With
--buffers=hot the destination has been written just before each call, with cold
both buffers are the next ones of a ring that is larger than the caches; unknown
are those of the call before. At last it says what each kind is worth: the best
variant without it beside the best of all.
"""

import argparse
import collections
import contextlib
import ctypes
import hashlib
import itertools
import json
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np

# Other sizes, ranks, pitches, tiles and widths than those of relayout_cases.txt.
CASES = [
    ("f32[3000,4000]{1,0}", "f32[3000,4000]{0,1}"),
    ("f32[3008,4016]{1,0}", "f32[3008,4016]{0,1}"),
    ("bf16[6016,4032]{1,0}", "bf16[6016,4032]{0,1}"),
    ("s8[8128,8128]{1,0}", "s8[8128,8128]{0,1}"),
    ("f64[3008,2000]{1,0}", "f64[3008,2000]{0,1}"),
    ("c128[1500,2000]{1,0}", "c128[1500,2000]{0,1}"),
    ("bf16[5001,4999]{1,0}", "bf16[5001,4999]{0,1}"),
    ("s8[7001,7003]{1,0}", "s8[7001,7003]{0,1}"),
    ("f32[4096,4032]{1,0}", "f32[4096,4032]{0,1}"),
    ("f32[8192,1008]{1,0}", "f32[8192,1008]{0,1}"),
    ("f32[8192,8192]{1,0}", "f32[8192,8192]{0,1}"),
    ("f64[8192,4096]{1,0}", "f64[8192,4096]{0,1}"),
    ("bf16[4096,8064]{1,0}", "bf16[4096,8064]{0,1}"),
    ("s8[5056,12032]{1,0}", "s8[5056,12032]{0,1}"),
    ("bf16[131072,256]{1,0}", "bf16[131072,256]{0,1}"),
    ("f32[262144,60]{1,0}", "f32[262144,60]{0,1}"),
    ("f64[262145,31]{1,0}", "f64[262145,31]{0,1}"),
    ("f32[100,64,1000]{2,1,0}", "f32[100,64,1000]{1,2,0}"),
    ("f32[64,100,32,48]{3,2,1,0}", "f32[64,100,32,48]{1,0,3,2}"),
    ("bf16[4096,3000]{1,0}", "bf16[4096,3000]{1,0:T(16,128)(2,1)}"),
    ("f32[2000,5000]{1,0:T(8,128)}", "f32[2000,5000]{0,1:T(8,128)}"),
    ("s8[6000,8000]{1,0}", "s8[6000,8000]{1,0:T(32,128)(4,1)}"),
    ("f32[16,512,1500]{2,1,0}", "f32[16,512,1500]{2,0,1}"),
    ("f32[200,300]{1,0}", "f32[200,300]{0,1}"),
    ("bf16[160,352]{1,0}", "bf16[160,352]{0,1}"),
    ("s8[300,400]{1,0}", "s8[300,400]{0,1}"),
    ("f32[4,24,40,20]{3,2,1,0}", "f32[4,24,40,20]{1,3,2,0}"),
    ("f64[120,200]{1,0}", "f64[120,200]{0,1}"),
    ("f32[200,200]{1,0:T(8,128)}", "f32[200,200]{1,0}"),
    ("bf16[200,300]{1,0:T(8,128)(2,1)}", "bf16[200,300]{1,0}"),
    ("f32[30,50,60]{2,1,0:PD(30,50,64)}", "f32[30,50,60]{2,0,1}"),
    # From 16 KiB to 4 MiB.
    ("f32[60,70]{1,0}", "f32[60,70]{0,1}"),
    ("bf16[127,129]{1,0}", "bf16[127,129]{0,1}"),
    ("s8[200,500]{1,0}", "s8[200,500]{0,1}"),
    ("bf16[64,200]{1,0}", "bf16[64,200]{1,0:T(8,128)(2,1)}"),
    ("f32[333,444]{1,0}", "f32[333,444]{1,0:T(8,128)}"),
    ("s8[250,700]{1,0:T(8,128)(4,1)}", "s8[250,700]{1,0}"),
    ("f32[500,600]{1,0}", "f32[500,600]{0,1}"),
    ("bf16[700,900]{1,0}", "bf16[700,900]{0,1}"),
    ("s8[1000,1500]{1,0}", "s8[1000,1500]{0,1}"),
    ("f64[300,500]{1,0}", "f64[300,500]{0,1}"),
    ("f32[8,100,12,40]{3,2,1,0}", "f32[8,100,12,40]{3,1,2,0}"),
    ("f32[2,3,200,300]{3,2,1,0}", "f32[2,3,200,300]{1,3,2,0}"),
    ("bf16[900,1000]{1,0}", "bf16[900,1000]{1,0:T(8,128)(2,1)}"),
    ("bf16[900,1000]{1,0:T(8,128)(2,1)}", "bf16[900,1000]{1,0}"),
    ("bf16[512,768]{1,0:T(8,128)(2,1)}", "bf16[512,768]{0,1:T(8,128)(2,1)}"),
    ("f32[1000,1000]{1,0}", "f32[1000,1000]{0,1}"),
    # Columns a multiple of 2 or 4 KiB apart.
    ("f32[2048,96]{1,0}", "f32[2048,96]{0,1}"),
    ("bf16[2048,128]{1,0}", "bf16[2048,128]{0,1}"),
    ("s8[2048,200]{1,0}", "s8[2048,200]{0,1}"),
    ("f64[1024,64]{1,0}", "f64[1024,64]{0,1}"),
    # Beyond.
    ("f32[1500,2000]{1,0}", "f32[1500,2000]{1,0:T(8,128)}"),
    ("f32[1500,2000]{1,0:T(8,128)}", "f32[1500,2000]{1,0}"),
    ("bf16[3000,3000]{1,0}", "bf16[3000,3000]{0,1}"),
    ("s8[3000,4000]{1,0}", "s8[3000,4000]{0,1}"),
    ("f32[8,7,999,300]{3,2,1,0}", "f32[8,7,999,300]{1,3,2,0}"),
    ("f32[8,300,31,300]{3,2,1,0}", "f32[8,300,31,300]{3,1,2,0}"),
    ("f64[5000,1500]{1,0}", "f64[5000,1500]{0,1}"),
    ("bf16[20,500,1000]{2,1,0}", "bf16[20,500,1000]{0,2,1}"),
    ("f32[9000,1023]{1,0}", "f32[9000,1023]{1,0:PD(9000,1024)}"),
    ("f32[9000,1023]{1,0:PD(9000,1024)}", "f32[9000,1023]{1,0}"),
    ("s8[20000,12000]{1,0}", "s8[20000,12000]{0,1}"),
    ("bf16[12000,10000]{1,0}", "bf16[12000,10000]{1,0:T(8,128)(2,1)}"),
    ("f32[10000,6400]{1,0:T(8,128)}", "f32[10000,6400]{0,1:T(8,128)}"),
    # Few columns, columns a multiple of 512 bytes apart, odd runs.
    ("f32[320,1040,24]{2,1,0}", "f32[320,1040,24]{1,2,0}"),
    ("bf16[631,1056,24]{2,1,0}", "bf16[631,1056,24]{1,2,0}"),
    ("f64[480,1040,8]{2,1,0}", "f64[480,1040,8]{1,2,0}"),
    ("f64[769,1040,5]{2,1,0}", "f64[769,1040,5]{1,2,0}"),
    ("s8[490,1088,60]{2,1,0}", "s8[490,1088,60]{1,2,0}"),
    ("s8[16,262144]{0,1}", "s8[16,262144]{1,0}"),
    ("f32[107,68,167,12]{3,2,1,0}", "f32[107,68,167,12]{2,3,1,0}"),
    ("s8[16,1024,4096]{0,1,2}", "s8[16,1024,4096]{2,1,0}"),
    ("f32[6400,1552]{1,0}", "f32[6400,1552]{0,1}"),
    ("bf16[6656,1568]{1,0}", "bf16[6656,1568]{0,1}"),
    ("bf16[64,7,2048,32,2]{4,3,2,1,0}", "bf16[64,7,2048,32,2]{4,1,0,2,3}"),
    ("bf16[141,6,71]{2,1,0}", "bf16[141,6,71]{2,0,1}"),
    ("bf16[52,16,64,2]{3,2,1,0}", "bf16[52,16,64,2]{1,2,0,3}"),
    ("s8[6,56,7,24,6]{4,3,2,1,0}", "s8[6,56,7,24,6]{2,1,3,0,4}"),
]
# Bytes that a ring of buffers has, beyond all caches.
RING_BYTES = 512 << 20
# Hot destinations of so many bytes are written before each call; smaller ones
# are in the caches since the call before.
WRITTEN_BYTES = 256 << 10
# Of transposes, which have blocks, and of others.
KINDS = ("cached", "direct", "dense", "panels", "ragged-panels", "carried")
OTHERS = ("interleave", "deinterleave", "copy", "line-copy", "coalesced-copy", "masked-copy", "buffered-copy")


def byte_width(kind):
    """Bytes of an element of a type of whole bytes."""
    return int(re.match(r"[a-z]+(\d+)", kind)[1]) // 8


def element_bytes(shape):
    """Bytes of the elements of a shape, without padding."""
    kind, dimensions = re.match(r"(\w+)\[([\d,]*)\]", shape).groups()
    return byte_width(kind) * int(np.prod([int(d) for d in dimensions.split(",")]))


def aligned(size):
    """Bytes that begin at a page and have been touched."""
    raw = np.zeros(size + 4096, np.uint8)
    raw[::4096] = 1  # Pages that were never written are all one page of zeros.
    skip = -raw.ctypes.data % 4096
    return raw[skip : skip + size]


def all_options(is_large, is_wide):
    """What is chosen, then every variant, as lists of options."""
    yield []
    bytes_of_rows = (64, 128, 192, 256, 512) if is_wide else (64, 128, 192, 256)
    bytes_of_columns = (64, 128, 256, 512) if is_wide else (64, 256)
    if not is_large:
        bytes_of_columns = (16, 32, *bytes_of_columns)
    for rows, columns, source in itertools.product(bytes_of_rows, bytes_of_columns, (0, 1)):
        block = [f"--plan-row-bytes={rows}", f"--plan-column-bytes={columns}", f"--plan-by-source={source}"]
        yield block
        if is_large and rows == 128 and columns == 64:
            yield block + ["--plan-nontemporal=0"]
    for kind in OTHERS:
        yield [f"--plan-kind={kind}"]
    for kind, rows in itertools.product(("cached", "direct") if is_large else ("cached",), bytes_of_rows):
        yield [f"--plan-kind={kind}", f"--plan-row-bytes={rows}", "--plan-gathers"]
    if is_large:
        for kind, rows in itertools.product(KINDS, bytes_of_rows):
            yield [f"--plan-kind={kind}", f"--plan-row-bytes={rows}"]
        for prefetch in (0, 1, 4, 6, 8):
            yield [f"--plan-prefetch={prefetch}"]
            for rows in (64, 128, 192, 256) if is_wide else ():
                yield [f"--plan-row-bytes={rows}", f"--plan-prefetch={prefetch}"]


class Variants:
    """The variants of a case, compiled into `folder` unless they are there."""

    def __init__(self, tool, source, destination, folder, is_wide, buffers):
        self.tool, self.shapes, self.folder, self.buffers = tool, [source, destination], folder, buffers
        self.useful = element_bytes(source)
        key = hashlib.sha1(repr([self.shapes, buffers, is_wide]).encode()).hexdigest()[:12]
        manifest = pathlib.Path(folder, f"{key}.json")
        if not manifest.exists():
            self.plans, self.options = [], []
            is_large = self.useful >= (64 << 10 if buffers == "cold" else 4 << 20)
            for options in all_options(is_large, is_wide):
                self.compile(options, key)
            manifest.write_text(json.dumps([self.plans, self.options]))
        self.plans, self.options = json.loads(manifest.read_text())
        self.functions = []
        for i in range(len(self.plans)):
            self.functions.append(self.load(pathlib.Path(folder, f"{key}_{i}.so")))

    @staticmethod
    def load(path):
        function = ctypes.CDLL(str(path)).tessera_relayout
        function.argtypes, function.restype = [ctypes.c_void_p] * 2, None
        return function

    def run(self, *options):
        return subprocess.run(
            [self.tool, "relayout", *self.shapes, f"--buffers={self.buffers}", *options],
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def compile(self, options, key):
        plan = self.run(*options, "--emit=plan", "-o", "-")
        if plan in self.plans:
            return
        path = pathlib.Path(self.folder, f"{key}_{len(self.plans)}.so")
        self.run(*options, "-o", str(path))
        self.plans.append(plan)
        self.options.append(options)

    def make_buffers(self):
        """Pairs of arrays, of which the first has a source of random bytes."""
        width = byte_width(self.shapes[0].split("[")[0])
        sizes = re.match(r"\D+\d+-bit elements, (\d+) to (\d+)", self.plans[0])
        sizes = [max(int(n) * width, 1) for n in sizes.groups()]
        count = RING_BYTES // sum(sizes) + 1 if self.buffers == "cold" else 1
        pairs = [[aligned(size) for size in sizes] for _ in range(count)]
        source = pairs[0][0]
        source[:] = np.random.default_rng(0).integers(0, 256, source.size, dtype=np.uint8)
        return pairs

    def check(self, source, destination):
        """All variants write the same."""
        want = None
        for function in self.functions:
            destination[:] = 0
            function(source.ctypes.data, destination.ctypes.data)
            want = destination.copy() if want is None else want
            assert np.array_equal(destination, want), "variants disagree"

    def best(self, reps, micros):
        """The least time of each variant."""
        pairs = self.make_buffers()
        self.check(*pairs[0])
        ring = itertools.cycle(pairs)
        best = [float("inf")] * len(self.functions)
        for _, (i, function) in itertools.product(range(reps), enumerate(self.functions)):
            count = max(1, int(micros * 1e-6 / self.time(function, [next(ring)])))
            seconds = self.time(function, list(itertools.islice(ring, count))) / count
            best[i] = min(best[i], seconds)
        return best

    def time(self, function, pairs):
        """Seconds of a call for each of the pairs."""
        is_written = self.buffers == "hot" and pairs[0][1].size >= WRITTEN_BYTES
        calls = [[array.ctypes.data for array in pair] for pair in pairs]
        seconds = 0
        # One by one only where something comes between: clocks take time.
        for batch in [[call] for call in calls] if is_written else [calls]:
            if is_written:
                pairs[0][1].fill(1)
            begin = time.perf_counter()
            for pointers in batch:
                function(*pointers)
            seconds += time.perf_counter() - begin
        return seconds


def read_pairs(path):
    """[(source, destination)]; lines that begin with # are left out."""
    lines = path.read_text().splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tessera-compile", default="tessera-compile")
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--micros", type=float, default=200, help="least time of a repetition, in microseconds")
    parser.add_argument("--pairs", type=pathlib.Path, help="a file of pairs to time, one in each line")
    parser.add_argument("--cases", default=".", help="pattern of shapes")
    parser.add_argument("--folder", help="keeps compiled variants here, so that another run need not compile")
    parser.add_argument("--wide", action="store_true", help="more variants: a minute a case to compile")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--buffers", choices=("unknown", "hot", "cold"), default="unknown")
    args = parser.parse_args()
    pairs = read_pairs(args.pairs) if args.pairs else CASES
    cases = [case for case in pairs if re.search(args.cases, " ".join(case))]
    worth = Worth()
    keeper = contextlib.nullcontext(args.folder) if args.folder else tempfile.TemporaryDirectory()
    with keeper as folder:
        pathlib.Path(folder).mkdir(exist_ok=True)
        if not args.compile_only:
            print("| from | to | GB/s | chosen / best | plans | best |\n| --- | --- | --- | --- | --- | --- |")
        for case in cases:
            variants = Variants(args.tessera_compile, *case, folder, args.wide, args.buffers)
            if not args.compile_only:
                times = variants.best(args.reps, args.micros)
                report(variants, times)
                worth.add(variants.plans, times)
    if not args.compile_only:
        worth.report()


class Worth:
    """What kernels and their ways to store are worth."""

    def __init__(self):
        self.ratios = collections.defaultdict(list)

    def add(self, plans, times):
        names = [self.name(plan) for plan in plans]
        for name in set(names):
            others = [seconds for seconds, other in zip(times, names) if other != name]
            if others:
                self.ratios[name].append(min(others) / min(times))

    @staticmethod
    def name(plan):
        """The first kernel, without what is a number."""
        text = re.search(r"(transpose|copy|interleave|deinterleave|gather) .*", plan)[0]
        text = re.sub(r" \d+x\d+ runs of \d+|,? prefetch .*|, padding.*", "", text)
        return text.replace(",", "")

    def report(self):
        print("\n| without | mean | worst | needed (by 3 %) |\n| --- | --- | --- | --- |")
        for name, ratios in sorted(self.ratios.items()):
            mean = np.exp(np.mean(np.log(ratios)))
            needed = sum(ratio > 1.03 for ratio in ratios)
            print(f"| {name} | {mean:.2f} | {max(ratios):.2f} | {needed} of {len(ratios)} |")


def report(variants, times):
    least = min(times)
    options = " ".join(variants.options[times.index(least)]) or "the one chosen"
    source, destination = variants.shapes
    print(
        f"| `{source}` | `{destination}` "
        f"| {2 * variants.useful / times[0] / 1e9:.1f} "
        f"| {least / times[0]:.2f} | {len(times)} | {options} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
