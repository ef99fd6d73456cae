# REQUIRES: tessera-python, aarch64-emulator
# RUN: %python %s %t | FileCheck %s
# CHECK: relayouts: {{[1-9][0-9]*}}, all right
"""Relayouts compiled for AArch64, run by an emulator on random pairs of layouts.

usage: aarch64-run.py FOLDER

The C program gets the packed sources, one behind the other, and gives the destinations,
some of which begin off a line. Between buffers lie bytes that no relayout may touch.
Half of the relayouts have stores that bypass the cache, however small they are.
"""

import json
import os
import random
import subprocess
import sys

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "../Inputs"))
from test_counts import test_count, test_seed

TILES = {
    "f32": ["", "T(8,128)", "T(2,3)", "T(4,4)"],
    "f64": ["", "T(8,128)", "T(3,2)"],
    "bf16": ["", "T(8,128)(2,1)", "T(8,128)", "T(5,4)"],
    "s8": ["", "T(8,128)(4,1)", "T(3,7)", "T(16,16)"],
    "s4": ["E(4)", "T(8,128)(8,1)E(4)"],
}

MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{declarations}
enum {{ kGuard = 64 }};
static int move(void (*function)(const void *, void *), size_t from, size_t to, size_t offset) {{
  unsigned char *source = aligned_alloc(64, (from + 127) / 64 * 64);
  unsigned char *memory = aligned_alloc(64, (offset + to + 2 * kGuard + 63) / 64 * 64);
  unsigned char *guarded = memory + offset;
  memset(guarded, 0xA5, to + 2 * kGuard);
  if (fread(source, 1, from, stdin) != from)
    return 1;
  function(source, guarded + kGuard);
  for (int i = 0; i < kGuard; ++i)
    if (guarded[i] != 0xA5 || guarded[kGuard + to + i] != 0xA5)
      return 2;
  fwrite(guarded + kGuard, 1, to, stdout);
  free(source);
  free(memory);
  return 0;
}}
int main(void) {{
  int error = 0;
{calls}
  return error;
}}
"""


def draw_shapes(rng):
    """Two shapes of one array."""
    name = rng.choice(sorted(TILES))
    rank = rng.randrange(1, 4)
    dims = [rng.choice([1, 3, 8, 17, 64, 100, 129]) for _ in range(rank)]
    while np.prod(dims) > 60000:
        dims[dims.index(max(dims))] //= 3

    def draw():
        order = rng.sample(range(rank), rank)
        tiles = rng.choice([t for t in TILES[name] if rank > 1 or "," not in t])
        layout = ",".join(map(str, order)) + (":" + tiles if tiles else "")
        return f"{name}[{','.join(map(str, dims))}]{{{layout}}}"

    return draw(), draw()


def make_array(rng, shape):
    """Bits of any kind: relayouts move them as they are."""
    dtype = shape.dtype
    if shape.element_type == "s4":
        return rng.integers(-8, 8, shape.dimensions).astype(dtype)
    return rng.integers(0, 256, (*shape.dimensions, dtype.itemsize), dtype=np.uint8).view(dtype)[..., 0]


def get_bits(array):
    """The bits of all elements; those of four bits have a byte, whose upper half is any."""
    return (array.astype(np.int8) if array.dtype == ts.Shape("s4[]").dtype else array).tobytes()


def compile_pairs(folder, pairs, first, costs):
    """The path of an object file with every other relayout, from number `first` on."""
    paths = [os.path.join(folder, f"{name}{first}") for name in ("pairs", "machine.json", "moves.o")]
    with open(paths[0], "w") as file:
        file.writelines(f"{s} {t} symbol=move{first + 2 * i}\n" for i, (s, t) in enumerate(pairs[first::2]))
    with open(paths[1], "w") as file:
        json.dump({"schema": "tessera.machine", "version": 1, "cpu": "generic", "costs": costs}, file)
    command = ["tessera-compile", "relayout", f"--batch={paths[0]}", f"--machine={paths[1]}"]
    target = ["--target=aarch64-linux-gnu", "--target-cpu=generic", "--emit=obj"]
    subprocess.run([*command, *target, "-o", paths[2]], check=True)
    return paths[2]


def build(folder, pairs):
    """The path of a program that does the relayouts of all pairs."""
    os.makedirs(folder, exist_ok=True)
    paths = {name: os.path.join(folder, name) for name in ("main.c", "main")}
    moves = [compile_pairs(folder, pairs, 0, {}), compile_pairs(folder, pairs, 1, {"nontemporal-bytes": 64})]
    names = range(len(pairs))
    calls = [
        f"  error = error ? error : move(move{i}, {ts.Shape(s).bytes}, {ts.Shape(t).bytes}, {i // 2 % 3 * 8});"
        for i, (s, t) in enumerate(pairs)
    ]
    declarations = "\n".join(f"void move{i}(const void *, void *);" for i in names)
    with open(paths["main.c"], "w") as file:
        file.write(MAIN.format(declarations=declarations, calls="\n".join(calls)))
    linked = ["clang-22", "--target=aarch64-linux-gnu", "-static", "-fuse-ld=lld", "-O1"]
    subprocess.run([*linked, paths["main.c"], *moves, "-o", paths["main"]], check=True)
    return paths["main"]


def main():
    rng = random.Random(test_seed())
    numbers = np.random.default_rng(test_seed())
    pairs = [draw_shapes(rng) for _ in range(test_count(400))]
    arrays = [make_array(numbers, ts.Shape(source)) for source, _ in pairs]
    packed = b"".join(bytes(ts.pack(array, source)) for array, (source, _) in zip(arrays, pairs))
    run = subprocess.run(["qemu-aarch64", build(sys.argv[1], pairs)], input=packed, capture_output=True)
    if run.returncode:
        sys.exit(f"exit code {run.returncode}: {run.stderr.decode()}")
    wrong = position = 0
    for array, (source, target) in zip(arrays, pairs):
        size = ts.Shape(target).bytes
        found = ts.unpack(run.stdout[position : position + size], target)
        position += size
        if get_bits(found) != get_bits(array):
            wrong += 1
            print(f"wrong: {source} {target}")
    print(f"relayouts: {len(pairs)}, {'all right' if not wrong else f'{wrong} wrong'}")


main()
