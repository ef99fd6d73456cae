# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: loops: {{[1-9][0-9]*}}, all right
"""Random loops over random layouts against numpy: what their state is written over, what
it exchanges, hands on, returns twice and keeps, in loops in loops, fusions and branches.

usage: run-loops.py [SEED [COUNT]] [-t]; -t prints their texts.
"""

import os
import random
import sys

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "../Inputs"))
from test_counts import test_count, test_seed

LAYOUTS = ["{1,0}", "{0,1}", "{1,0:T(8,128)}", "{0,1:T(2,3)S(1)}"]


class Program:
    """A loop whose state is a counter, a limit and arrays, as text and as a function."""

    def __init__(self, seed):
        self.numbers = random.Random(seed)
        self.shape = (self.numbers.randrange(1, 12), self.numbers.randrange(1, 12))
        self.arrays = [
            np.array(
                [[self.numbers.randrange(-9, 10) for _ in range(self.shape[1])] for _ in range(self.shape[0])], "f"
            )
            for _ in range(self.numbers.randrange(1, 5))
        ]
        self.layouts = [self.numbers.choice(LAYOUTS) for _ in self.arrays]
        if self.numbers.random() < 0.6:
            self.layouts = [self.layouts[0]] * len(self.arrays)
        self.types = [self.array(layout) for layout in self.layouts]
        self.state = f"(s32[], s32[], {', '.join(self.types)})"
        self.computations, self.steps, self.count = [], [], 0
        self.run = self.loop(depth=0)

    def array(self, layout, rows=None):
        return f"f32[{self.shape[0] if rows is None else rows},{self.shape[1]}]{layout}"

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def call(self, lines, type, inputs, body, how):
        """A computation of its own for what `body` makes of its parameters."""
        own, name = [], self.name()
        parameters = [self.name() for _ in inputs]
        for number, (parameter, (_, of)) in enumerate(zip(parameters, inputs)):
            own.append(f"  %{parameter} = {of} parameter({number})")
        result = body(own, parameters)
        own.append(f"  ROOT %{self.name()} = {type} {result}")
        self.computations.append(
            f"%{name} ({', '.join(f'{p}: {of}' for p, (_, of) in zip(parameters, inputs))}) -> {type} {{\n"
            + "\n".join(own)
            + "\n}"
        )
        called = self.name()
        arguments = ", ".join(f"%{value}" for value, _ in inputs)
        attributes = f"kind=kLoop, calls=%{name}" if how == "fusion" else f"to_apply=%{name}"
        lines.append(f"  %{called} = {type} {how}({arguments}), {attributes}")
        return called

    def nest(self, lines, values, counter, kind, depth):
        """Adds a loop of two steps, or of a branch for the first step and one for later ones."""
        inputs = [self.numbers.choice([v for v in values if self.types[v[1]] == type]) for type in self.types]
        zero, two, state, name = (self.name() for _ in range(4))
        lines += [f"  %{zero} = s32[] constant(0)", f"  %{two} = s32[] constant(2)"]
        arrays = ", ".join("%" + value[0] for value in inputs)
        lines.append(f"  %{state} = {self.state} tuple(%{zero}, %{two}, {arrays})")
        if kind == "loop":
            after = self.loop(depth + 1)
            attributes = f"condition=%{self.condition}, body=%{self.body}"
            lines.append(f"  %{name} = {self.state} while(%{state}), {attributes}")
        else:
            branches, steps = [], []
            for _ in range(2):
                self.loop(depth + 1)
                branches.append(self.body)
                steps.append(self.steps[-1])
            index = self.name()
            lines.append(f"  %{index} = s32[] minimum(%{counter}, %{two})")
            attributes = f"branch_computations={{%{branches[0]}, %{branches[1]}}}"
            lines.append(f"  %{name} = {self.state} conditional(%{index}, %{state}, %{state}), {attributes}")
            after = None
        memo = {}

        def results(s):
            # Of one state, which is kept so that its number is no other's.
            if id(s) not in memo:
                inner = [0, 2, *(value[2](s) for value in inputs)]
                memo[id(s)] = s, (after(inner) if after else steps[min(s[0], 1)](inner))
            return memo[id(s)][1]

        for layout, type in enumerate(self.types):
            element = self.name()
            lines.append(f"  %{element} = {type} get-tuple-element(%{name}), index={2 + layout}")
            values.append((element, layout, lambda s, i=2 + layout: results(s)[i]))

    def step(self, lines, values, counter, depth):
        """Adds an instruction; `values` are (name, number of the layout, function of the state)."""
        kinds = ["sum", "sum", "half", "copy", "update", "updates", "turn"]
        kind = self.numbers.choice(kinds + ["loop", "branch"] * (depth < 2))
        if kind in ("loop", "branch"):
            return self.nest(lines, values, counter, kind, depth)
        (x, layout, f), (y, other, g) = (self.numbers.choice(values) for _ in range(2))
        type = self.types[layout]
        if kind == "sum":
            how = self.numbers.choice(["", "fusion", "call"])
            function = lambda s: np.clip(f(s) - g(s), -99, 99)

            def emit(own, names):
                low, high, lows, highs, difference = (self.name() for _ in range(5))
                own += [f"  %{low} = f32[] constant(-99)", f"  %{high} = f32[] constant(99)"]
                own += [f"  %{difference} = {type} subtract(%{names[0]}, %{names[1]})"]
                return f"clamp(%{low}, %{difference}, %{high})"

            if how:
                name = self.call(lines, type, [(x, type), (y, self.types[other])], emit, how)
            else:
                name, result = self.name(), emit(lines, [x, y])
                lines.append(f"  %{name} = {type} {result}")
        elif kind in ("half", "copy", "turn"):
            name = self.name()
            layout = self.numbers.randrange(len(self.types)) if kind == "copy" else layout
            what = {
                "half": f"round-nearest-even(%{x})",
                "copy": f"copy(%{x})",
                "turn": f"reverse(%{x}), dimensions={{0}}",
            }
            lines.append(f"  %{name} = {self.types[layout]} {what[kind]}")
            function = {"half": lambda s: np.rint(f(s)), "copy": f, "turn": lambda s: f(s)[::-1]}[kind]
        else:
            rows = self.numbers.randrange(1, self.shape[0] + 1)
            part, name, zero = self.name(), self.name(), self.name()
            lines.append(
                f"  %{part} = {self.array('{1,0}', rows)} slice(%{y}), slice={{[0:{rows}], [0:{self.shape[1]}]}}"
            )
            lines.append(f"  %{zero} = s32[] constant(0)")

            def function(s, last=self.shape[0] - rows):
                result = f(s).copy()
                at = min(max(s[0], 0), last)
                result[at : at + rows] = g(s)[:rows]
                return result

            update = lambda own, names: f"dynamic-update-slice(%{', %'.join(names)})"
            if kind == "update":
                lines.append(f"  %{name} = {type} dynamic-update-slice(%{x}, %{part}, %{counter}, %{zero})")
            else:
                inputs = [(x, type), (part, self.array("{1,0}", rows)), (counter, "s32[]"), (zero, "s32[]")]
                name = self.call(lines, type, inputs, update, "fusion")
        values.append((name, layout, function))

    def loop(self, depth):
        """Adds the computations of a loop, self.body and self.condition; what it does to a state."""
        state, names = self.state, [self.name() for _ in range(2 + len(self.arrays))]
        lines = [f"  %p = {state} parameter(0)"]
        for number, (name, type) in enumerate(zip(names, ["s32[]", "s32[]", *self.types])):
            lines.append(f"  %{name} = {type} get-tuple-element(%p), index={number}")
        values = [(name, i, lambda s, i=i: s[2 + i]) for i, name in enumerate(names[2:])]
        for _ in range(self.numbers.randrange(6 - 2 * depth)):
            self.step(lines, values, names[0], depth)
        results = []
        for layout in range(len(self.arrays)):
            fitting = [value for value in values if self.types[value[1]] == self.types[layout]]
            results.append(self.numbers.choice([fitting[-1], fitting[-1], self.numbers.choice(fitting)]))
        one, next_one = self.name(), self.name()
        lines.append(f"  %{one} = s32[] constant(1)")
        lines.append(f"  %{next_one} = s32[] add(%{names[0]}, %{one})")
        operands = ", ".join("%" + value[0] for value in results)
        lines.append(f"  ROOT %{self.name()} = {state} tuple(%{next_one}, %{names[1]}, {operands})")
        body, condition = self.name(), self.name()
        self.computations.append(f"%{body} (p: {state}) -> {state} {{\n" + "\n".join(lines) + "\n}")
        self.computations.append(
            f"%{condition} (p: {state}) -> pred[] {{\n  %p = {state} parameter(0)\n"
            "  %i = s32[] get-tuple-element(%p), index=0\n  %n = s32[] get-tuple-element(%p), index=1\n"
            "  ROOT %c = pred[] compare(%i, %n), direction=LT\n}"
        )
        self.body, self.condition = body, condition

        def step(s):
            return [s[0] + 1, s[1], *(value[2](s) for value in results)]

        def run(s):
            while s[0] < s[1]:
                s = step(s)
            return s

        self.steps.append(step)

        return run

    def text(self):
        parameters = [f"  %a{i} = {type} parameter({i})" for i, type in enumerate(["s32[]", "s32[]", *self.types])]
        names = ", ".join(f"%a{i}" for i in range(len(parameters)))
        loop = f"while(%t), condition=%{self.condition}, body=%{self.body}"
        return "\n".join(
            ["HloModule loop", *self.computations, f"ENTRY %main () -> {self.state} {{", *parameters]
            + [f"  %t = {self.state} tuple({names})", f"  ROOT %l = {self.state} {loop}", "}"]
        )


def check(seed):
    program = Program(seed)
    text = program.text()
    if "-t" in sys.argv:
        print(text)
    compiled = ts.Program(text, poison_padding=seed % 2 == 0)
    wrong = []
    for trips in (0, 1, 2, 5):
        arrays = [array.copy() for array in program.arrays]
        expected = program.run([0, trips, *program.arrays])
        found = compiled(np.int32(0), np.int32(trips), *arrays)
        same = all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        kept = all(np.array_equal(a, b) for a, b in zip(arrays, program.arrays))
        if not same or not kept:
            wrong.append(f"seed {seed}, {trips} steps: {'values' if not same else 'arguments'} are others")
    return wrong


def main():
    numbers = [int(text) for text in sys.argv[1:] if text != "-t"]
    first, count = {0: (test_seed(), test_count(60)), 1: (*numbers, 1)}.get(len(numbers), numbers)
    wrong = [message for seed in range(first, first + count) for message in check(seed)]
    print("\n".join(wrong) if wrong else f"loops: {count}, all right")


main()
