# REQUIRES: numpy
# RUN: %python %s %tessera_src_root | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} relayouts, 0 mismatches
"""Relayouts and copies from and to parts of arrays, executed, against numpy.

A part is a view with strides of a plain array, or of one whose layout has no
tiles; offsets, sizes and strides are in its type or not. Where the part is
written, the whole array is compared: nothing beside the part may change. Parts
of tensors that are relayouted come from tensor.extract_slice.
"""

import math
import os
import random
import sys

import numpy as np

root = sys.argv[1]
sys.path.append(os.path.join(root, "test", "Inputs"))
from run_checks import Check, compare, nest, plain_type, random_layout, run_checks, subscripts
from test_counts import test_count, test_seed

FUNCTION = """
memref.global "private" constant @given{n} : memref<{given_shape}> = dense<{given}>
memref.global "private" constant @wanted{n} : memref<{wanted_shape}> = dense<{wanted}>
func.func private @check{n}({arguments}) -> i64 {{
  %zero = arith.constant 0 : i64
  %given = memref.get_global @given{n} : memref<{given_shape}>
  %wanted = memref.get_global @wanted{n} : memref<{wanted_shape}>
  {body}
  return %sum : i64
}}
"""


def fill(memref, type_text, values, sizes, element):
    """Stores into each element of a memref what a plain array has there."""
    index = subscripts(len(sizes))
    return nest(
        sizes,
        f"%v = affine.load {values}[{index}] : {plain_type(sizes, element)}\n"
        f"affine.store %v, {memref}[{index}] : {type_text}",
    )


class Part:
    """A part of a random array, with the type that it has as a view."""

    def __init__(self, rng):
        rank = rng.randint(1, 3)
        self.element = rng.choice(["i8", "i16", "i32", "i64"])
        limit = 40 if rank < 3 else 12
        self.dims = [rng.randint(1, limit) for _ in range(rank)]
        self.begin, self.count, self.step = [], [], []
        for dim in self.dims:
            step = rng.choice([1, 1, 1, 2, 3])
            begin = rng.randrange(dim)
            self.step.append(step)
            self.begin.append(begin)
            self.count.append(rng.randint(1, (dim - 1 - begin) // step + 1))
        self.order = rng.sample(range(rank), rank) if rng.random() < 0.4 else None
        # Offsets, sizes and strides that the type does not say.
        self.has_unknown_offset = rng.random() < 0.5
        self.unknown_sizes = [rng.random() < 0.15 for _ in self.dims]
        self.has_unknown_strides = not self.order and rng.random() < 0.2

    def array_type(self):
        layout = ""
        if self.order:
            layout = ", #tessera.layout<{%s}>" % ",".join(map(str, self.order))
        return f"memref<{'x'.join(map(str, self.dims))}x{self.element}{layout}>"

    def array_strides(self):
        strides, step = [0] * len(self.dims), 1
        for dim in self.order or reversed(range(len(self.dims))):
            strides[dim] = step
            step *= self.dims[dim]
        return strides

    def sizes(self):
        """The sizes as types have them."""
        return ["?" if u else str(c) for u, c in zip(self.unknown_sizes, self.count)]

    def view_type(self):
        strides = [s * t for s, t in zip(self.array_strides(), self.step)]
        offset = sum(s * b for s, b in zip(self.array_strides(), self.begin))
        if self.has_unknown_strides:
            strides = ["?"] * (len(strides) - 1) + [self.step[-1]]
            # A step of no known length from index 0 goes nowhere.
            offset = "?" if any(self.begin[:-1]) else self.begin[-1]
        if self.has_unknown_offset:
            offset = "?"
        text = ", ".join(map(str, strides))
        return f"memref<{'x'.join(self.sizes())}x{self.element}, strided<[{text}], offset: {offset}>>"

    def view(self, array):
        """Operations that make %part of the array."""
        type_text, lines = self.array_type(), []
        if self.has_unknown_strides:
            loose = f"memref<{'x'.join('?' * len(self.dims))}x{self.element}>"
            lines.append(f"%loose = memref.cast {array} : {type_text} to {loose}")
            array, type_text = "%loose", loose
        lines.append(f"%part = memref.subview {array}{self.brackets()} : {type_text} to {self.view_type()}")
        return "\n  ".join(lines)

    def brackets(self):
        offsets = [f"%b{k}" if self.has_unknown_offset else str(b) for k, b in enumerate(self.begin)]
        sizes = [f"%n{k}" if u else str(c) for k, (u, c) in enumerate(zip(self.unknown_sizes, self.count))]
        return "[%s] [%s] [%s]" % tuple(", ".join(map(str, t)) for t in (offsets, sizes, self.step))

    def slices(self):
        return tuple(slice(b, b + (c - 1) * s + 1, s) for b, c, s in zip(self.begin, self.count, self.step))

    def alloc(self, name, type_text):
        operands = ", ".join(f"%n{k}" for k, u in enumerate(self.unknown_sizes) if u)
        return f"{name} = memref.alloc({operands}) : {type_text}"


def make_check(n, rng):
    part = Part(rng)
    values = np.arange(math.prod(part.dims)).reshape(part.dims) % 127
    layout = random_layout(rng, len(part.dims), (1, 2, 3, 4, 8, 16))
    laid_out = f"{'x'.join(part.sizes())}x{part.element}, {layout}"
    other, tensor = f"memref<{laid_out}>", f"tensor<{laid_out}>"
    array = part.array_type()
    move = rng.choice(["tessera.relayout {0} into {1} : {2}, {3}", "memref.copy {0}, {1} : {2} to {3}"])
    kind = rng.choice(["from", "to", "tensor"])
    if kind == "tensor" and not part.order:
        plain = f"tensor<{'x'.join(map(str, part.dims))}x{part.element}>"
        sliced = f"tensor<{'x'.join(part.sizes())}x{part.element}>"
        lines = [
            f"%array = bufferization.to_tensor %given restrict : {array} to {plain}",
            f"%slice = tensor.extract_slice %array{part.brackets()} : {plain} to {sliced}",
            f"%tiled = tessera.relayout %slice : {sliced} to {tensor}",
            f"%other = bufferization.to_buffer %tiled read_only : {tensor} to {other}",
            compare("%other", other, "%wanted", part.count, part.element),
        ]
        given, wanted = values, values[part.slices()]
    elif kind == "to":
        given, wanted = values[part.slices()], np.full(part.dims, -1)
        wanted[part.slices()] = given
        lines = [
            f"%array = memref.alloc() : {array}",
            f"%none = arith.constant -1 : {part.element}",
            nest(part.dims, f"affine.store %none, %array[{subscripts(len(part.dims))}] : {array}"),
            part.alloc("%other", other),
            fill("%other", other, "%given", part.count, part.element),
            part.view("%array"),
            move.format("%other", "%part", other, part.view_type()),
            compare("%array", array, "%wanted", part.dims, part.element),
        ]
    else:
        given, wanted = values, values[part.slices()]
        lines = [
            f"%array = memref.alloc() : {array}",
            fill("%array", array, "%given", part.dims, part.element),
            part.view("%array"),
            part.alloc("%other", other),
            move.format("%part", "%other", part.view_type(), other),
            compare("%other", other, "%wanted", part.count, part.element),
        ]
    shape_of = lambda a: "x".join(map(str, a.shape)) + f"x{part.element}"
    rank = len(part.dims)
    names = [f"%b{k}" for k in range(rank)] + [f"%n{k}" for k in range(rank)]
    text = FUNCTION.format(
        n=n,
        given=given.tolist(),
        given_shape=shape_of(given),
        wanted=wanted.tolist(),
        wanted_shape=shape_of(wanted),
        arguments=", ".join(f"{name}: index" for name in names),
        body="\n  ".join(lines),
    )
    return Check(text, part.begin + part.count)


def main():
    rng = random.Random(test_seed())
    # Some modules without kernels.
    passes_of = lambda module: [f"--tessera-to-llvm=vectorize={'true' if module % 2 else 'false'}"]
    run_checks(lambda n: make_check(n, rng), test_count(400), "relayouts", passes_of=passes_of)


main()
