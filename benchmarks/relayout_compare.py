#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times relayouts as two commands make them, side by side.

A command is that of `tessera-compile relayout` with options, of another build
or the same. Prints a Markdown table of the pairs whose plans differ: what the
second one takes of the time of the first, and the kernels of both; then the
geometric mean. Pairs are given as "SRC DST", or in a file; without any they are
those of relayout_variants.py and relayout_cases.txt, transposes drawn at random,
and few rows and columns. Both take turns, and the best of --reps counts.
"""

import argparse
import math
import pathlib
import random
import re
import subprocess
import tempfile

from relayout_variants import CASES, Variants, byte_width

RANDOM_PAIRS = 40
SIZES = [48 << 10, 200 << 10, 1 << 20, 24 << 20, 60 << 20]


class Pair(Variants):
    """One relayout by both commands."""

    def __init__(self, commands, source, destination, folder, buffers):
        self.shapes, self.buffers = [source, destination], buffers
        self.plans = [self.make(command, "--emit=plan", "-o", "-") for command in commands]
        self.functions = []
        if self.plans[0] == self.plans[1]:
            return
        for i, command in enumerate(commands):
            path = pathlib.Path(folder, f"{id(self)}_{i}.so")
            self.make(command, "-o", str(path))
            self.functions.append(self.load(path))
            path.unlink()

    def make(self, command, *options):
        words = [*command.split(), *self.shapes, *options]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def kernels(self):
        return [re.search(r"(transpose|copy|interleave|deinterleave|gather) .*", plan)[0] for plan in self.plans]


def draw_transposes():
    """Arrays of two to four dimensions, half of them multiples of 8."""
    generator = random.Random(7)
    for _ in range(RANDOM_PAIRS):
        kind = generator.choice(("s8", "bf16", "f32", "f64"))
        rank, rest = generator.choice((2, 2, 2, 3, 3, 4)), generator.choice(SIZES) // byte_width(kind)
        dimensions = []
        for left in range(rank - 1, 0, -1):
            most = max(3.1, math.log2(max(rest, 2)) - 3 * left)
            dimensions.append(round(2 ** generator.uniform(3, most)))
            rest = max(2, rest // dimensions[-1])
        dimensions.append(rest)
        generator.shuffle(dimensions)
        if generator.random() < 0.5:
            dimensions = [max(8, d // 8 * 8) for d in dimensions]
        order = list(range(rank))
        while order == sorted(order):
            generator.shuffle(order)
        shape = f"{kind}[{','.join(map(str, dimensions))}]"
        yield shape, f"{shape}{{{','.join(map(str, reversed(order)))}}}"


def few_rows_and_columns():
    """In the caches, and beyond: columns that begin anywhere, and at lines."""
    for kind in ("s8", "bf16", "f32", "f64"):
        for few in (3, 4, 7, 8, 12, 16, 20):
            many = 24000000 // byte_width(kind) // few
            for length in (300000 // byte_width(kind) // 4, many, many // 64 * 64):
                for dimensions in (f"{few},{length}", f"{length},{few}"):
                    yield f"{kind}[{dimensions}]", f"{kind}[{dimensions}]{{0,1}}"


def get_pairs(texts, file):
    if file:
        texts = texts + file.read_text().splitlines()
    if texts:
        return [tuple(text.split()[-2:]) for text in texts]
    lines = pathlib.Path(__file__).with_name("relayout_cases.txt").read_text().splitlines()
    known = [tuple(line.split()[1:]) for line in lines if line and not line.startswith("#")]
    return list(dict.fromkeys([*CASES, *known, *draw_transposes(), *few_rows_and_columns()]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs=2, metavar="COMMAND")
    parser.add_argument("pairs", nargs="*", metavar="PAIR")
    parser.add_argument("--file", type=pathlib.Path, help="more pairs, a line each, as random_pairs.py prints them")
    parser.add_argument("--reps", type=int, default=11)
    parser.add_argument("--micros", type=float, default=300, help="least time of a repetition, in microseconds")
    parser.add_argument("--buffers", choices=("unknown", "hot", "cold"), default="unknown", help="when they are timed")
    args = parser.parse_args()
    pairs, ratios = get_pairs(args.pairs, args.file), []
    print("| from | to | time | first | second |\n| --- | --- | --- | --- | --- |")
    for source, destination in pairs:
        with tempfile.TemporaryDirectory() as folder:
            pair = Pair(args.commands, source, destination, folder, args.buffers)
        if not pair.functions:
            continue
        first, second = pair.best(args.reps, args.micros)
        ratios.append(second / first)
        kernels = " | ".join(pair.kernels())
        print(f"| `{source}` | `{destination}` | {ratios[-1]:.2f} | {kernels} |", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / max(len(ratios), 1))
    print(f"{len(ratios)} of {len(pairs)} plans differ: {mean:.2f} of the time (geometric mean)")


if __name__ == "__main__":
    main()
