# RUN: %python %s | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} contractions, 0 wrong
"""Sums of products of random dimensions, sizes, layouts and element types, against
numpy.

Elements are small integers, so that sums are exact in any order and types, and
every difference is a fault. All padding holds NaN.
"""

import os
import random
import sys

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from test_counts import test_count, test_seed  # noqa: E402

# Of a factor: its type in MLIR, and the conversions of it, each to a type.
TYPES = {
    "f16": [("f16",)],
    "f32": [
        ("f32",),
        ("bf16", ("extf", "f32")),
        ("f16", ("extf", "f32")),
        ("i8", ("sitofp", "f32")),
        ("i8", ("extui", "i16"), ("uitofp", "f32")),
    ],
    "f64": [("f64",), ("f32", ("extf", "f64")), ("bf16", ("extf", "f32"), ("extf", "f64"))],
    "i32": [("i32",), ("i8", ("extsi", "i32")), ("i8", ("extui", "i32")), ("i16", ("extsi", "i32"))],
    "i64": [("i64",), ("i8", ("extsi", "i16"), ("extui", "i64"))],
}
TILES = ["", ":T(8,128)", ":T(8,128)(2,1)", ":T(2,128)", ":T(128)", ":T(4,8)", ":T(3,16)(2,1)", ":T(2,2)"]
KINDS = "brcs"


def draw_layout(rng, rank):
    order = rng.sample(range(rank), rank) if rng.random() < 0.5 else range(rank - 1, -1, -1)
    tiles = rng.choice(TILES) if rank > 1 else rng.choice(["", ":T(128)"])
    return f"#tessera.layout<{{{','.join(map(str, order))}{tiles}}}>"


class Contraction:
    """result[dims of b, r, c] += lhs[dims of b, r, s] * rhs[dims of b, s, c]."""

    def __init__(self, rng):
        # One dimension is long, so that it has more than one block.
        counts = {"b": rng.choice([0, 0, 1]), "r": 1, "c": 1, "s": 1}
        counts[rng.choice("rcs")] = rng.choice([0, 1, 1, 2])
        counts[rng.choice("brcs")] += rng.random() < 0.2
        self.dims = [kind + str(i) for kind in KINDS for i in range(counts[kind])]
        longest = rng.choice(self.dims)
        self.sizes = {dim: rng.randint(1, 290 if dim == longest else 24) for dim in self.dims}
        if len(self.dims) > 4:
            self.sizes = {dim: rng.randint(1, 9) for dim in self.dims}
        if rng.random() < 0.3:
            self.sizes[rng.choice(self.dims)] = rng.choice([0, 1, 1])
        self.arrays = []
        for kinds in ("brs", "bcs", "brc"):
            dims = [dim for dim in self.dims if dim[0] in kinds]
            self.arrays.append(rng.sample(dims, len(dims)) if rng.random() < 0.5 else dims)
        # Factors may have a dimension of size 1, whose index is 0.
        for dims in self.arrays[:2]:
            if rng.random() < 0.2:
                dims.insert(rng.randint(0, len(dims)), "0")
        self.sum = rng.choice(sorted(TYPES))
        self.factors = [rng.choice(TYPES[self.sum])] * 2
        if rng.random() < 0.3:
            self.factors[1] = rng.choice(TYPES[self.sum])
        self.isProductFirst, self.isRhsFirst = rng.random() < 0.5, rng.random() < 0.5
        self.layouts = [draw_layout(rng, len(dims)) if dims else None for dims in self.arrays]
        self.flags = rng.choice(["", " fastmath<contract>", " fastmath<contract,reassoc>"])
        if self.sum[0] == "i":
            self.flags = ""

    def shape(self, array):
        return [self.sizes.get(dim, 1) for dim in self.arrays[array]]

    def type(self, array, is_plain=False):
        element = (self.factors[0][0], self.factors[1][0], self.sum)[array]
        sizes = "".join(f"{size}x" for size in self.shape(array))
        layout = "" if is_plain or not self.layouts[array] else ", " + self.layouts[array]
        return f"tensor<{sizes}{element}{layout}>"

    def text(self):
        """A function of all three arrays."""
        maps, lines, numbers = [], [], []
        for array, dims in enumerate(self.arrays):
            maps.append(f"affine_map<({', '.join(self.dims)}) -> ({', '.join(dims)})>")
            if self.type(array) != self.type(array, True):
                lines.append(f"%x{array} = tessera.relayout %p{array} : {self.type(array, True)} to {self.type(array)}")
        names = [f"%{'px'[self.type(array) != self.type(array, True)]}{array}" for array in range(3)]
        iterators = ", ".join('"reduction"' if dim[0] == "s" else '"parallel"' for dim in self.dims)
        body = []
        for factor, (element, *casts) in enumerate(self.factors):
            numbers.append(f"%e{factor}")
            for step, (cast, wide) in enumerate(casts):
                body.append(f"%w{factor}_{step} = arith.{cast} {numbers[factor]} : {element} to {wide}")
                numbers[factor], element = f"%w{factor}_{step}", wide
        suffix = self.sum[0]
        if self.isRhsFirst:
            numbers.reverse()
        terms = ["%product", "%e2"] if self.isProductFirst else ["%e2", "%product"]
        body.append(f"%product = arith.mul{suffix} {', '.join(numbers)}{self.flags} : {self.sum}")
        body.append(f"%total = arith.add{suffix} {', '.join(terms)}{self.flags} : {self.sum}")
        arguments = ", ".join(f"%p{array}: {self.type(array, True)}" for array in range(3))
        elements = ", ".join(f"%e{i}: {kind}" for i, kind in enumerate([*(f[0] for f in self.factors), self.sum]))
        plain = self.type(2, True)
        out = "%r" if plain == self.type(2) else "%out"
        back = [] if out == "%r" else [f"%out = tessera.relayout %r : {self.type(2)} to {plain}"]
        return "\n".join([
            f"func.func @main({arguments}) -> {plain} {{",
            *lines,
            f"%r = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}}",
            f"ins({names[0]}, {names[1]} : {self.type(0)}, {self.type(1)}) outs({names[2]} : {self.type(2)}) {{",
            f"^bb0({elements}):",
            *body,
            f"linalg.yield %total : {self.sum}",
            f"}} -> {self.type(2)}",
            *back,
            f"return {out} : {plain}",
            "}",
        ])  # fmt: skip

    def draw(self, numbers):
        """Numbers from 0 on where a conversion takes them for such."""
        casts = [[cast for cast, _ in factor[1:]] for factor in self.factors]
        lowest = [0 if {"extui", "uitofp"} & {*names} else -3 for names in casts]
        return [numbers.integers(low, 4, self.shape(array)) for array, low in enumerate([*lowest, -3])]

    def expected(self, arrays):
        letters = {dim: chr(ord("a") + i) for i, dim in enumerate([*self.dims, "0"])}
        specs = ["".join(letters[dim] for dim in dims) for dims in self.arrays]
        return arrays[2] + np.einsum(f"{specs[0]},{specs[1]}->{specs[2]}", arrays[0], arrays[1])


def store(numbers, element):
    """Integers as elements of a type; bf16 travels as uint16."""
    if element == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    names = {"f": "float", "i": "int"}
    return numbers.astype(names[element[0]] + element[1:])


def main():
    rng = random.Random(test_seed())
    numbers = np.random.default_rng(test_seed())
    count, wrong = test_count(600), 0
    for _ in range(count):
        contraction = Contraction(rng)
        arrays = contraction.draw(numbers)
        text = contraction.text()
        program = ts.Program(text, poison_padding=True)
        elements = [contraction.factors[0][0], contraction.factors[1][0], contraction.sum]
        result = program(*(store(array, element) for array, element in zip(arrays, elements, strict=True)))
        if not np.array_equal(result, contraction.expected(arrays)):
            wrong += 1
            print(f"seed {test_seed()}:\n{text}")
    print(f"{count} contractions, {wrong} wrong")


main()
