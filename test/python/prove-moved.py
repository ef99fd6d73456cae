# REQUIRES: tessera-python
# Operations with their arrays in other orders of dimensions: 6,000 pairs in the full run.
# RUN: %python %s 6000 | FileCheck %s
# CHECK: wrong answers: 0 of
"""What `tessera-hlo prove` says of an operation that is written in two ways.

An operation (a product, a reduction, `pad`, `gather`, ...) is drawn over axes with
names. A text has parameters and results in one order of axes, and between them
transposes and reshapes to an order, and to halves of axes, that is drawn anew for
each text. Two texts of one operation must be proved equal. One in which two axes of
the same size, or two numbers of the operation, are swapped is another operation, or
is not: where it is proved equal, both are run on the same random arrays, and have to
give the same.
"""

import collections
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import tessera as ts

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../Inputs"))
from test_counts import test_count, test_seed  # noqa: E402

ADD = """
%add (p: f32[], q: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
  ROOT %s = f32[] add(%p, %q)
}
"""
LESS = """
%less (p: f32[], q: f32[]) -> pred[] {
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
  ROOT %s = pred[] compare(%p, %q), direction=LT
}
"""


class Operation:
    """Arrays by the axes that they have, and how the operation is written.

    `write(names, orders, rng)` gives the instruction but for its type and the order
    of its result. `whole` are axes that must not be split; axes of one `tie` are in the same
    order in all operands.
    """

    def __init__(self, name, sizes, operands, result, write, whole="", tied=False, scalars=0, numbers=(), limit=0):
        self.name, self.sizes, self.operands, self.result = name, sizes, operands, result
        self.write, self.whole, self.tied = write, whole, tied
        self.scalars, self.numbers, self.limit = scalars, list(numbers), limit


def braces(numbers):
    return "{" + ",".join(map(str, numbers)) + "}"


def places(order, axes):
    return [order.index(axis) for axis in axes]


def expand(axes, halves):
    """The names of axes, of which some are two."""
    return [part for axis in axes for part in halves.get(axis, [axis])]


def draw_sizes(rng, axes):
    return {axis: rng.choice([2, 3, 4, 4, 4]) for axis in axes}


def draw_dot(rng):
    sizes = draw_sizes(rng, "bmnk")

    def write(op, orders, halves, rng):
        batch, summed = expand("b", halves), expand("k", halves)
        rng.shuffle(batch)
        rng.shuffle(summed)
        attributes = []
        result = list(batch)
        for side, order in zip(("lhs", "rhs"), orders):
            attributes.append(f"{side}_batch_dims={braces(places(order, batch))}")
            attributes.append(f"{side}_contracting_dims={braces(places(order, summed))}")
            result += [axis for axis in order if axis not in batch + summed]
        return "dot", ", ".join(attributes), result

    return Operation("dot", sizes, ["bmk", "bkn"], "bmn", write)


def draw_convolution(rng):
    sizes = draw_sizes(rng, "bioxyuv")
    window = {}
    for at, (base, place, out) in {0: "xuX", 1: "yvY"}.items():
        low, high, stride = rng.randrange(3), rng.randrange(2), rng.choice([1, 1, 2])
        sizes[base] += sizes[place]
        sizes[out] = (sizes[base] + low + high - sizes[place]) // stride + 1
        window[at] = [sizes[place], stride, low, high]

    def write(op, orders, halves, rng):
        result = list("boXY")
        rng.shuffle(result)
        spatial = rng.sample([0, 1], 2)
        labels = []
        for order, letters in zip([*orders, result], ["bixy", "oiuv", "boXY"]):
            known = "bf" if letters[1] != "i" or letters[0] == "b" else "oi"
            names = {letters[0]: known[0], letters[1]: known[1]}
            names |= {letters[2 + at]: str(spatial[at]) for at in (0, 1)}
            labels.append("".join(names[axis] for axis in order))
        first, second = (op.numbers[4 * spatial.index(at) :][:4] for at in (0, 1))
        text = "size={}x{} stride={}x{} pad={}_{}x{}_{}".format(
            first[0], second[0], first[1], second[1], first[2], first[3], second[2], second[3]
        )
        return "convolution", f"window={{{text}}}, dim_labels={labels[0]}_{labels[1]}->{labels[2]}", result

    numbers = window[0] + window[1]
    return Operation("convolution", sizes, ["bixy", "oiuv"], "boXY", write, "bioxyuvXY", numbers=numbers)


def draw_reduce(rng):
    sizes = draw_sizes(rng, "abcd")
    summed = rng.choice(["d", "cd", "bcd"])

    def write(op, orders, halves, rng):
        gone = expand(summed, halves)
        rng.shuffle(gone)
        attributes = f"dimensions={braces(sorted(places(orders[0], gone)))}, to_apply=%add"
        return "reduce", attributes, [axis for axis in orders[0] if axis not in gone]

    result = "".join(axis for axis in "abcd" if axis not in summed)
    return Operation("reduce", sizes, ["abcd"], result, write, scalars=1)


def draw_reduce_window(rng):
    sizes = draw_sizes(rng, "abcd")
    sizes["c"], sizes["d"] = 5, 5
    numbers = [rng.choice([1, 2, 3]), rng.choice([1, 2]), rng.choice([1, 2, 3]), rng.choice([1, 2])]
    sizes |= {"C": (5 - numbers[0]) // numbers[1] + 1, "D": (5 - numbers[2]) // numbers[3] + 1}

    def write(op, orders, halves, rng):
        windows = {"c": op.numbers[:2], "d": op.numbers[2:]}
        each = [windows.get(axis, [1, 1]) for axis in orders[0]]
        size, stride = ("x".join(str(window[i]) for window in each) for i in (0, 1))
        result = [axis.upper() if axis in "cd" else axis for axis in orders[0]]
        return "reduce-window", f"window={{size={size} stride={stride}}}, to_apply=%add", result

    return Operation("reduce-window", sizes, ["abcd"], "abCD", write, "cdCD", scalars=1, numbers=numbers)


def draw_pad(rng):
    sizes = draw_sizes(rng, "abcd")
    numbers = [rng.randrange(3) for _ in range(6)]
    for axis, (low, high, interior) in {"c": numbers[:3], "d": numbers[3:]}.items():
        sizes[axis.upper()] = low + high + sizes[axis] + (sizes[axis] - 1) * interior

    def write(op, orders, halves, rng):
        numbers = {"c": op.numbers[:3], "d": op.numbers[3:]}
        each = ("_".join(map(str, numbers.get(axis, [0, 0, 0]))) for axis in orders[0])
        result = [axis.upper() if axis in "cd" else axis for axis in orders[0]]
        return "pad", "padding=" + "x".join(each), result

    return Operation("pad", sizes, ["abcd"], "abCD", write, "cdCD", scalars=1, numbers=numbers)


def draw_concatenate(rng):
    sizes = draw_sizes(rng, "abcde")
    sizes["f"] = sizes["c"] + sizes["d"] + sizes["e"]

    def write(op, orders, halves, rng):
        dim = orders[0].index("c")
        return "concatenate", f"dimensions={{{dim}}}", [("f" if axis == "c" else axis) for axis in orders[0]]

    return Operation("concatenate", sizes, ["abc", "abd", "abe"], "abf", write, "cdef", tied=True)


def draw_sort(rng):
    sizes = draw_sizes(rng, "abc")

    def write(op, orders, halves, rng):
        return "sort", f"dimensions={{{orders[0].index('c')}}}, to_apply=%less", orders[0]

    return Operation("sort", sizes, ["abc"], "abc", write, "c")


def draw_iota(rng):
    sizes = draw_sizes(rng, "abc")

    def write(op, orders, halves, rng):
        result = expand("abc", halves)
        rng.shuffle(result)
        return "iota", f"iota_dimension={result.index('c')}", result

    return Operation("iota", sizes, [], "abc", write, "c")


def draw_dynamic_slice(rng):
    sizes = draw_sizes(rng, "abcd") | {"c": 4, "d": 5, "C": 2, "D": 3}

    def write(op, orders, halves, rng):
        result = [axis.upper() if axis in "cd" else axis for axis in orders[0]]
        slices = ("SIZES", result)
        return "dynamic-slice", slices, result

    return Operation("dynamic-slice", sizes, ["abcd"], "abCD", write, "cdCD", limit=3)


def draw_dynamic_update_slice(rng):
    sizes = draw_sizes(rng, "abcd") | {"c": 4, "d": 5, "C": 2, "D": 3}

    def write(op, orders, halves, rng):
        return "dynamic-update-slice", "", orders[0]

    return Operation("dynamic-update-slice", sizes, ["abcd", "abCD"], "abcd", write, "cdCD", tied=True, limit=3)


def draw_gather(rng):
    """Slices along c and d, of one element along c, at the indices (i, j), of which v is the vector."""
    sizes = draw_sizes(rng, "abij") | {"c": 4, "d": 4, "v": 2, "D": 2}

    def write(op, orders, halves, rng):
        order, indices = orders
        offsets = [axis.upper() if axis == "d" else axis for axis in order if axis != "c"]
        batch = [axis for axis in indices if axis != "v"]
        taken = sorted(rng.sample(range(len(offsets) + len(batch)), len(offsets)))
        result = [""] * (len(offsets) + len(batch))
        for dim, axis in zip(taken, offsets):
            result[dim] = axis
        rest = iter(batch)
        result = [axis or next(rest) for axis in result]
        mapped = places(order, "cd" if op.numbers == [0, 1] else "dc")
        attributes = [
            f"offset_dims={braces(taken)}, collapsed_slice_dims={{{order.index('c')}}}",
            f"start_index_map={braces(mapped)}, index_vector_dim={indices.index('v')}",
        ]
        slices = ["1" if axis == "c" else axis.upper() if axis == "d" else axis for axis in order]
        return "gather", ("SLICES", slices, ", ".join(attributes)), result

    return Operation("gather", sizes, ["abcd", "ijv"], "abDij", write, "cdvD", numbers=[0, 1], limit=5)


def draw_scatter(rng):
    """Slices of one index of c are added at the indices i."""
    sizes = draw_sizes(rng, "abi") | {"c": 4, "v": 1}

    def write(op, orders, halves, rng):
        order, indices, updates = orders
        # The slice has the order of what it goes to.
        window = [axis for axis in order if axis != "c"]
        rest = iter(window)
        updates[:] = [axis if axis == "i" else next(rest) for axis in updates]
        attributes = [
            f"update_window_dims={braces(sorted(places(updates, window)))}",
            f"inserted_window_dims={{{order.index('c')}}}",
            f"scatter_dims_to_operand_dims={{{order.index('c')}}}",
            f"index_vector_dim={indices.index('v')}, to_apply=%add",
        ]
        return "scatter", ", ".join(attributes), order

    return Operation("scatter", sizes, ["abc", "iv", "abi"], "abc", write, "cvi", limit=5)


DRAWS = [value for name, value in sorted(globals().items()) if name.startswith("draw_") and name != "draw_sizes"]
MOVES = ["pad", "concatenate", "dynamic-slice", "dynamic-update-slice"]


class Writer:
    """Writes one text of an operation."""

    def __init__(self, op, rng, swaps):
        self.op, self.rng = op, rng
        self.halves = {}
        for axis, size in op.sizes.items():
            if size == 4 and axis not in op.whole and rng.random() < 0.4:
                self.halves[axis] = [axis + "0", axis + "1"]
        self.lines, self.parameters = [], []
        self.swaps = swaps
        self.negates_first = op.name in MOVES and rng.random() < 0.5

    def size(self, axis):
        if axis == "1":
            return 1
        return 2 if len(axis) == 2 else self.op.sizes[axis]

    def shape(self, axes, element="f32"):
        order = ",".join(str(i) for i in reversed(range(len(axes))))
        layout = "{" + order + "}" if axes else ""
        return f"{element}[{','.join(str(self.size(axis)) for axis in axes)}]" + layout

    def add(self, axes, text, element="f32"):
        self.lines.append(f"%v{len(self.lines)} = {self.shape(axes, element)} {text}")
        return f"%v{len(self.lines) - 1}"

    def add_parameter(self, axes, element="f32"):
        name = self.add(axes, f"parameter({len(self.parameters)})", element)
        self.parameters.append(self.shape(axes, element))
        return name

    def order(self, value, axes, order, element="f32"):
        """Transposes; where it is to swap, another one."""
        wrong = list(axes)
        pairs = [(i, j) for i in range(len(axes)) for j in range(i) if self.size(axes[i]) == self.size(axes[j])]
        if self.swaps and pairs and self.rng.random() < 0.5:
            i, j = self.rng.choice(pairs)
            wrong[i], wrong[j] = wrong[j], wrong[i]
            self.swaps = False
        return self.add(order, f"transpose({value}), dimensions={braces(places(wrong, order))}", element)

    def draw_orders(self):
        orders = []
        for axes in self.op.operands:
            order = expand(axes, self.halves)
            self.rng.shuffle(order)
            if self.op.tied and orders:
                # The axis along which operands differ stands where it does in the first.
                replaced = dict(zip(expand(self.op.operands[0], self.halves), expand(axes, self.halves)))
                order = [replaced[axis] for axis in orders[0]]
            orders.append(order)
        return orders

    def add_operands(self, orders, elements):
        values = []
        for axes, order, element in zip(self.op.operands, orders, elements):
            value = self.add_parameter(axes, element)
            if self.negates_first:
                value = self.add(axes, f"negate({value})")
            if any(axis in self.halves for axis in axes):
                value = self.add(expand(axes, self.halves), f"reshape({value})", element)
            values.append(self.order(value, expand(axes, self.halves), order, element))
        for _ in range(self.op.scalars):
            value = self.add_parameter("")
            values.append(self.add("", f"negate({value})") if self.negates_first else value)
        return values

    def add_starts(self, order):
        starts = {axis: self.add_parameter("", "s32") for axis in "cd"}
        zero = self.add("", "constant(0)", "s32")
        return [starts.get(axis, zero) for axis in order]

    def write(self):
        op = self.op
        orders = self.draw_orders()
        opcode, attributes, result = op.write(op, orders, self.halves, self.rng)
        elements = ["s32" if op.limit == 5 and i == 1 else "f32" for i in range(len(orders))]
        values = self.add_operands(orders, elements)
        if op.limit == 3:
            values += self.add_starts(orders[0])
        if attributes and attributes[0] == "SIZES":
            attributes = f"dynamic_slice_sizes={braces(map(self.size, attributes[1]))}"
        elif attributes and attributes[0] == "SLICES":
            attributes = f"slice_sizes={braces(map(self.size, attributes[1]))}, {attributes[2]}"
        attributes = ", " + attributes if attributes else ""
        value = self.add(result, f"{opcode}({', '.join(values)}){attributes}")
        order = expand(op.result, self.halves)
        value = self.order(value, result, order)
        value = self.add(op.result, f"reshape({value})")
        if op.name in MOVES and not self.negates_first:
            self.add(op.result, f"negate({value})")
        return self.text()

    def text(self):
        body = "\n".join("  " + line for line in self.lines[:-1])
        called = (ADD if "%add" in body else "") + (LESS if "%less" in body else "")
        named = ", ".join(f"p{i}: {shape.split('{')[0]}" for i, shape in enumerate(self.parameters))
        result = self.shape(self.op.result).split("{")[0]
        return f"HloModule m\n{called}\nENTRY %e ({named}) -> {result} {{\n{body}\n  ROOT {self.lines[-1]}\n}}\n"


def run(text, seed):
    program = ts.Program(text)
    rng = np.random.default_rng(seed)
    results = program(*(rng.integers(-3, 6, shape.dimensions).astype(shape.dtype) for shape in program.inputs))
    return np.asarray(results)


def prove(folder, texts):
    paths = [os.path.join(folder, name) for name in ("before.hlo", "after.hlo")]
    for path, text in zip(paths, texts):
        with open(path, "w") as file:
            file.write(text)
    done = subprocess.run(["tessera-hlo", "prove", *paths], capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"exit code {done.returncode}: {done.stderr}\n{texts[1]}")
    return {0: "yes", 1: "no", 3: "unknown"}[done.returncode]


def mutate_numbers(op, rng):
    """Two numbers of the operation the other way round; whether that is to be tried."""
    if len(op.numbers) < 2:
        return
    i, j = rng.sample(range(len(op.numbers)), 2)
    op.numbers[i], op.numbers[j] = op.numbers[j], op.numbers[i]


def main():
    count, seed = test_count(int(sys.argv[1])), test_seed()
    rng = random.Random(seed)
    tally, wrong = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            op = rng.choice(DRAWS)(rng)
            before = Writer(op, rng, swaps=False).write()
            kind = rng.choice(["same", "swapped axes", "swapped numbers"])
            numbers = list(op.numbers)
            if kind == "swapped numbers":
                mutate_numbers(op, rng)
            writer = Writer(op, rng, swaps=kind == "swapped axes")
            after = writer.write()
            is_same = op.numbers == numbers and (kind != "swapped axes" or writer.swaps)
            answer = prove(folder, [before, after])
            tally[op.name, "same" if is_same else "mutant", answer] += 1
            good = answer == "yes" if is_same else True
            if answer == "yes" and (not is_same or number % 10 == 0):
                good = np.array_equal(run(before, number), run(after, number))
            if not good:
                wrong += 1
                print(f"seed {seed}, {number}, {kind}: {answer}\n{before}\n{after}")
    for key, times in sorted(tally.items()):
        print(*key, times)
    print(f"wrong answers: {wrong} of {count}")


main()
