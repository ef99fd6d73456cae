"""Random programs of HLO: instructions of all kinds whose operands are results of
others, parts of them in fusions.

An operand is now and then a value that is there, made to have the type and the
dimensions that are asked for. What is computed exactly goes on to any instruction.
What is not, such as sums of floating-point numbers, goes on to moves alone: where a
comparison or a rounding depends on the last bit, two right programs differ.
"""

import re

import random_hlo
from random_hlo import FLOATS, TYPES

MOVES = [
    random_hlo.transpose, random_hlo.reverse, random_hlo.reshape, random_hlo.copy, random_hlo.slice_,
    random_hlo.pad, random_hlo.concatenate, random_hlo.dynamic_slice, random_hlo.dynamic_update_slice,
    random_hlo.broadcast, random_hlo.select,
]  # fmt: skip
# Of kinds that are exact for integers, each more than once; without reduce-window, over
# which XLA ends the process where it simplifies what surrounds it.
KINDS = 3 * [
    random_hlo.binary, random_hlo.unary, random_hlo.compare, random_hlo.clamp, random_hlo.convert,
    random_hlo.reduce, random_hlo.iota, *MOVES,
] + [
    random_hlo.function, random_hlo.integer_power, random_hlo.map_, random_hlo.gather,
    random_hlo.convolution, random_hlo.dot, random_hlo.scatter, random_hlo.sort, random_hlo.select_and_scatter,
    random_hlo.convert_tiny, random_hlo.complex_parts,
]  # fmt: skip
# Contracted to fused operations, or kept more precise, by XLA.
ARITHMETIC = ["add", "subtract", "multiply", "divide", "remainder", "reduce", "map", "dot", "convolution"]


def count(dims):
    product = 1
    for size in dims:
        product *= size
    return product


class Program(random_hlo.Module):
    def __init__(self, random, size):
        super().__init__(random)
        # By name: type, dimensions, and whether it is exact.
        self.known, self.kind = {}, None
        # Integers that were of another type: XLA takes numbers made of them for numbers
        # made of what they were, and so s64[] -3 as u64[] for -3.0.
        self.cast = set()
        while len(self.lines) - len(self.parameters) < size:
            self.kind, self.is_first = random.choice(KINDS), True
            self.kind(self)
        self.choose_results()

    def parameter(self, name, array):
        text = super().parameter(name, array)
        self.known[text] = (name, array.shape, True)
        return text

    def array(self, name, dims, edges=True, low=None, high=None):
        """A parameter, or a value made of one that is there."""
        # XLA reads what it has written where an update is made of the array itself.
        may_be_computed = self.is_first or self.kind is not random_hlo.dynamic_update_slice
        # Which of equal elements it selects is not defined.
        may_be_computed &= self.kind is not random_hlo.select_and_scatter
        self.is_first = False
        if may_be_computed and low is None and high is None and self.random.random() < 0.75:
            moves = self.kind in MOVES
            found = [
                text
                for text, (other, _, exact) in self.known.items()
                if (exact or moves) and other in TYPES and (other == name or (exact and other not in FLOATS))
            ]
            if name in FLOATS or self.kind is random_hlo.convert:
                found = [text for text in found if text not in self.cast or self.is_kept(text, name)]
            # Its four bits of s4 and u4 are not always four.
            if self.kind not in MOVES:
                found = [text for text in found if "4" not in (name[1:], self.known[text][0][1:])]
            same = [text for text in found if self.known[text][0] == name]
            found = same if same and self.random.random() < 0.7 else found
            if found:
                return self.adapt(self.random.choice(found), name, dims)
        edges = edges and name not in FLOATS
        return super().array(name, dims, edges=edges, low=low, high=high)

    def is_kept(self, text, name):
        """Whether the value is moved alone."""
        return self.known[text][0] == name and self.kind is not random_hlo.convert

    def op(self, name, dims, opcode, operands, attributes="", result=None):
        text = super().op(name, dims, opcode, operands, attributes, result)
        exact = all(self.known.get(operand, (0, 0, True))[2] for operand in operands)
        exact &= result is None and not (name in FLOATS and opcode in ARITHMETIC)
        # Which NaN an operation gives is not defined.
        exact &= opcode != "bitcast-convert"
        if not exact and result is None and name in FLOATS:
            self.results[-1] = (*self.results[-1][:3], "sum", self.results[-1][4])
        self.known[text] = (name, tuple(dims), exact)
        if opcode == "convert" or any(operand in self.cast for operand in operands):
            self.cast.add(text)
        return text

    # --- other dimensions and types -------------------------------------------

    def adapt(self, text, name, dims):
        """The value with other dimensions and another type."""
        if self.known[text][0] != name:
            text = self.op(name, self.known[text][1], "convert", [text])
        found = self.known[text][1]
        if found == dims:
            return text
        if self.random.random() < 0.3 and not found:
            return self.op(name, dims, "broadcast", [text], "dimensions={}")
        if len(found) != len(dims) or count(found) == count(dims):
            text = self.reshape(text, (count(found),))
            text = self.resize(text, (count(dims),))
            return self.reshape(text, dims)
        return self.resize(text, dims)

    def reshape(self, text, dims):
        name, found, _ = self.known[text]
        return text if found == dims else self.op(name, dims, "reshape", [text])

    def resize(self, text, dims):
        """Without the last elements of a dimension, or with others behind them."""
        name, found, _ = self.known[text]
        kept = tuple(min(a, b) for a, b in zip(found, dims))
        if kept != found:
            slices = ", ".join(f"[0:{size}]" for size in kept)
            text = self.op(name, kept, "slice", [text], f"slice={{{slices}}}")
        if kept == dims:
            return text
        value = super().array(name, (), edges=False)
        padding = "x".join(f"0_{size - old}" for size, old in zip(dims, kept))
        return self.op(name, dims, "pad", [text, value], f"padding={padding}")

    # --- results ----------------------------------------------------------------

    def choose_results(self):
        """What nothing uses, and one in ten of the others."""
        used = set()
        for line in self.lines:
            used |= set(re.findall(r"%[\w.]+", line.split(" = ", 1)[1]))
        self.results = [result for result in self.results if result[0] not in used or self.random.random() < 0.1]

    def fused_text(self):
        """The same program, where parts are fusions, and parts of those again."""
        lines, computations = list(self.lines), list(self.computations)
        for _ in range(self.random.randrange(4)):
            results = [name for name, *_ in self.results]
            lines = self.outline(lines, results, computations)
        kept = self.lines, self.computations
        self.lines, self.computations = lines, computations
        text = self.text()
        self.lines, self.computations = kept
        return text

    def outline(self, lines, results, computations, depth=0):
        """Puts some lines that follow each other into a computation."""
        parameters = [line for line in lines if " parameter(" in line]
        body = [line for line in lines if " parameter(" not in line]
        if len(body) < 2:
            return lines
        start = self.random.randrange(len(body) - 1)
        end = min(len(body), start + self.random.randrange(1, 12))
        inside = body[start:end]
        names = [line.split(" = ")[0] for line in inside]
        shapes = {line.split(" = ")[0]: get_shape(line) for line in lines}
        outside = parameters + body[:start] + body[end:]
        needed = {name for line in outside for name in uses(line)} | set(results)
        given = [name for name in names if name in needed]
        taken = []
        for name in dict.fromkeys(name for line in inside for name in uses(line)):
            if name in shapes and name not in names:
                taken.append(name)
        if not given:
            return lines
        # Names in the computation are others than outside.
        inner = {name: f"{name}.p" for name in taken}
        text = [f"{inner[name]} = {shapes[name]} parameter({i})" for i, name in enumerate(taken)]
        text += [re.sub(r"%[\w.]+", lambda match: inner.get(match[0], match[0]), line) for line in inside]
        if depth < 2 and self.random.random() < 0.4:
            text = self.outline(text, given, computations, depth + 1)
        name, tuple_type = self.name("fused"), "(" + ", ".join(shapes[name] for name in given) + ")"
        text.append(f"ROOT {self.name('root')} = {tuple_type} tuple({', '.join(given)})")
        header = ", ".join(f"{inner[name][1:]}: {shapes[name]}" for name in taken)
        joined = "\n  ".join(text)
        computations.append(f"{name} ({header}) -> {tuple_type} {{\n  {joined}\n}}\n")
        call = self.name("fusion")
        parts = [f"{call} = {tuple_type} fusion({', '.join(taken)}), kind=kLoop, calls={name}"]
        parts += [f"{value} = {shapes[value]} get-tuple-element({call}), index={i}" for i, value in enumerate(given)]
        return parameters + body[:start] + parts + body[end:]


def uses(line):
    return re.findall(r"%[\w.]+", line.split(" = ", 1)[1])


def get_shape(line):
    """The type in front of the opcode."""
    text = line.split(" = ", 1)[1]
    return text[: re.search(r" [a-z][a-z-]*\(", text).start()]
