"""Random modules of HLO whose arrays change layouts again and again: in fusions,
loops, calls, branches, transfers and tuples. All of it runs."""

import itertools

TILES = ["", "T(2,3)", "T(2,128)", "T(8,128)"]


def product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


class Array:
    """An array of f32 with sizes, minor-to-major order and tiles."""

    def __init__(self, name, sizes, order, tiles):
        self.name, self.sizes, self.order, self.tiles = name, tuple(sizes), tuple(order), tiles

    @property
    def shape(self):
        layout = ",".join(map(str, self.order))
        tiles = f":{self.tiles}" if self.tiles else ""
        return f"f32[{','.join(map(str, self.sizes))}]{{{layout}{tiles}}}"

    def like(self, sizes=None, order=None):
        return Array(None, sizes or self.sizes, order or self.order, self.tiles)


class Body:
    """The instructions of one computation."""

    def __init__(self, module, arrays, depth, is_fused=False):
        self.module, self.random, self.depth, self.is_fused = module, module.random, depth, is_fused
        self.lines, self.arrays = [], list(arrays)

    def name(self):
        return self.module.name()

    def add(self, result, source):
        """A new array, which a line gives."""
        result.name = self.name()
        self.lines.append(f"%{result.name} = {result.shape} {source}")
        self.arrays.append(result)
        return result

    def pick(self):
        return self.random.choice(self.arrays)

    def order(self, rank):
        return tuple(self.random.sample(range(rank), rank))

    def constant(self, value):
        name = self.name()
        self.lines.append(f"%{name} = s32[] constant({value})")
        return name

    def copy_to(self, x, order):
        return x if x.order == order else self.add(x.like(order=order), f"copy(%{x.name})")

    def alike(self, x):
        """An array of the sizes and order of another one."""
        others = [a for a in self.arrays if a.sizes == x.sizes and a.tiles == x.tiles]
        return self.copy_to(self.random.choice(others), x.order)

    # One statement each.

    def copy(self):
        x = self.pick()
        self.add(x.like(order=self.order(len(x.sizes))), f"copy(%{x.name})")

    def transpose(self):
        x = self.pick()
        dims = self.order(len(x.sizes))
        order = self.order(len(dims))
        result = x.like([x.sizes[d] for d in dims], order)
        self.add(result, f"transpose(%{x.name}), dimensions={{{','.join(map(str, dims))}}}")

    def bitcast(self):
        """The same bytes with dimensions in another order."""
        x = self.pick()
        dims = self.order(len(x.sizes))
        self.add(x.like([x.sizes[d] for d in dims], [dims.index(d) for d in x.order]), f"bitcast(%{x.name})")

    def reshape(self):
        x = self.pick()
        sizes = self.random.choice([s for s in self.module.shapes if product(s) == product(x.sizes)] or [x.sizes])
        self.add(x.like(sizes, self.order(len(sizes))), f"reshape(%{x.name})")

    def unary(self):
        x = self.pick()
        self.add(x.like(), f"{self.random.choice(['negate', 'abs'])}(%{x.name})")

    def binary(self):
        x = self.pick()
        y = self.alike(x)
        self.add(x.like(), f"{self.random.choice(['add', 'maximum'])}(%{x.name}, %{y.name})")

    def reverse(self):
        x = self.pick()
        self.add(x.like(), f"reverse(%{x.name}), dimensions={{{self.random.randrange(len(x.sizes))}}}")

    def slice_and_pad(self):
        x = self.pick()
        first = [self.random.randrange(size) for size in x.sizes]
        ranges = ", ".join(f"[{a}:{b}]" for a, b in zip(first, x.sizes))
        part = x.like([b - a for a, b in zip(first, x.sizes)])
        self.add(part, f"slice(%{x.name}), slice={{{ranges}}}")
        zero = self.name()
        self.lines.append(f"%{zero} = f32[] constant(0)")
        padding = "x".join(f"{a}_0" for a in first)
        self.add(x.like(), f"pad(%{part.name}, %{zero}), padding={padding}")

    def update(self):
        x = self.pick()
        sizes = [self.random.choice([1, size]) for size in x.sizes]
        indices = [self.constant(self.random.randrange(a - b + 1)) for a, b in zip(x.sizes, sizes)]
        ends = ", ".join(f"[0:{size}]" for size in sizes)
        part = self.add(x.like(sizes), f"slice(%{x.name}), slice={{{ends}}}")
        names = ", ".join(f"%{index}" for index in indices)
        self.add(x.like(), f"dynamic-update-slice(%{x.name}, %{part.name}, {names})")

    def reduce_and_broadcast(self):
        x = self.pick()
        dim = self.random.randrange(len(x.sizes))
        rest = [d for d in range(len(x.sizes)) if d != dim]
        less = x.like([x.sizes[d] for d in rest], self.order(len(rest)))
        less.tiles = ""
        zero = self.name()
        self.lines.append(f"%{zero} = f32[] constant(0)")
        call = f"reduce(%{x.name}, %{zero}), dimensions={{{dim}}}, to_apply=%max"
        name = self.name()
        self.lines.append(f"%{name} = {less.shape} {call}")
        back = x.like(order=self.order(len(x.sizes)))
        self.add(back, f"broadcast(%{name}), dimensions={{{','.join(map(str, rest))}}}")

    def dot(self):
        """What it takes and gives is not looked through."""
        x = self.pick()
        if len(x.sizes) != 2:
            return
        y = self.add(x.like(order=self.order(2)), f"copy(%{x.name})")
        result = Array(None, (x.sizes[0], x.sizes[0]), self.order(2), x.tiles)
        dims = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
        self.add(result, f"dot(%{x.name}, %{y.name}), {dims}")

    def barrier(self):
        x, y = self.pick(), self.pick()
        whole, after = self.name(), self.name()
        shape = f"({x.shape}, {y.shape})"
        self.lines.append(f"%{whole} = {shape} tuple(%{x.name}, %{y.name})")
        self.lines.append(f"%{after} = {shape} opt-barrier(%{whole})")
        for index, array in enumerate((x, y)):
            self.add(array.like(), f"get-tuple-element(%{after}), index={index}")

    def transfer(self):
        x = self.pick()
        start = self.name()
        self.lines.append(f"%{start} = ({x.shape}, {x.shape}, u32[]) copy-start(%{x.name})")
        self.add(x.like(), f"copy-done(%{start})")

    # Statements with computations.

    def take(self, source, arrays):
        """Parts of a tuple as arrays of their own."""
        return [self.add(a.like(), f"get-tuple-element(%{source}), index={i}") for i, a in enumerate(arrays)]

    def fusion(self):
        count = self.random.randint(1, 3)
        inputs = [self.pick() for _ in range(count)]
        name, results = self.module.computation(inputs, self.depth + 1, is_fused=True)
        self.call(inputs, results, "fusion", f"kind=kLoop, calls=%{name}")

    def call(self, inputs, results, opcode="call", attributes=None):
        operands = ", ".join(f"%{x.name}" for x in inputs)
        whole = self.name()
        shape = f"({', '.join(x.shape for x in results)})"
        self.lines.append(f"%{whole} = {shape} {opcode}({operands}), {attributes}")
        self.take(whole, results)

    def function(self):
        """Called once or twice."""
        inputs = [self.pick() for _ in range(self.random.randint(1, 2))]
        name, results = self.module.computation(inputs, self.depth + 1)
        for _ in range(self.random.randint(1, 2)):
            inputs = [self.alike(x) for x in inputs]
            self.call(inputs, results, attributes=f"to_apply=%{name}")

    def branch(self):
        x, y = self.pick(), self.pick()
        first, results = self.module.computation([x], self.depth + 1)
        second, _ = self.module.computation([y], self.depth + 1, wanted=results)
        which = self.name()
        self.lines.append(f"%{which} = s32[] constant({self.random.randint(0, 1)})")
        condition = Array(which, (), (), "")
        attributes = f"branch_computations={{%{first}, %{second}}}"
        self.call([condition, x, y], results, "conditional", attributes)

    def loop(self):
        """What goes around is handed on, exchanged or made anew."""
        state = [self.pick() for _ in range(self.random.randint(1, 3))]
        body, condition = self.module.loop(state, self.depth + 1, self.random.randint(1, 4))
        zero = self.constant(0)
        start, end = self.name(), self.name()
        shape = f"(s32[], {', '.join(x.shape for x in state)})"
        self.lines.append(f"%{start} = {shape} tuple(%{zero}, {', '.join(f'%{x.name}' for x in state)})")
        self.lines.append(f"%{end} = {shape} while(%{start}), condition=%{condition}, body=%{body}")
        for index, x in enumerate(state):
            self.add(x.like(), f"get-tuple-element(%{end}), index={index + 1}")

    MOVES = [copy, copy, transpose, bitcast, reshape, reduce_and_broadcast]
    OTHERS = [unary, binary, binary, reverse, slice_and_pad, update]
    IN_MEMORY = [dot, barrier, transfer, fusion, fusion]
    NESTED = [function, branch, loop, loop]

    def fill(self, count):
        for _ in range(count):
            kinds = self.MOVES + self.OTHERS
            if not self.is_fused:
                kinds = kinds + self.IN_MEMORY
            if not self.is_fused and self.depth < 2:
                kinds = kinds + self.NESTED
            self.random.choice(kinds)(self)

    def give(self, wanted):
        """Arrays of the sizes and orders of `wanted`, the last that there are."""
        found = []
        for x in wanted:
            same = [a for a in self.arrays if a.sizes == x.sizes and a.tiles == x.tiles]
            if same:
                found.append(self.copy_to(same[-1], x.order))
            else:
                found.append(self.fill_with(x))
        return found

    def fill_with(self, x):
        zero = self.name()
        self.lines.append(f"%{zero} = f32[] constant(3)")
        return self.add(x.like(), f"broadcast(%{zero}), dimensions={{}}")


class Module:
    def __init__(self, random):
        self.random, self.numbers = random, itertools.count()
        sizes = [random.choice([1, 2, 3, 5, 7]) for _ in range(3)]
        base = [sizes, [sizes[0] * sizes[1], sizes[2]]]
        self.shapes = [s for each in base for s in itertools.permutations(each)]
        self.computations = []
        tiles = random.choice(TILES)
        inputs = [self.array(tiles) for _ in range(random.randint(1, 3))]
        body = self.start(inputs, 0, False)
        body.fill(random.randint(4, 14))
        results = random.sample(body.arrays, min(len(body.arrays), random.randint(1, 4)))
        self.finish("main", inputs, body, results, "ENTRY ")
        self.inputs = inputs

    def name(self):
        return f"n{next(self.numbers)}"

    def array(self, tiles):
        sizes = self.random.choice(self.shapes)
        return Array(self.name(), sizes, self.random.sample(range(len(sizes)), len(sizes)), tiles)

    def start(self, inputs, depth, is_fused):
        body = Body(self, [], depth, is_fused)
        for number, x in enumerate(inputs):
            body.add(x.like(), f"parameter({number})")
        return body

    def finish(self, name, inputs, body, results, prefix=""):
        shape = f"({', '.join(x.shape for x in results)})"
        parameters = ", ".join(f"p{i}: {x.shape}" for i, x in enumerate(inputs))
        root = f"ROOT %{self.name()} = {shape} tuple({', '.join(f'%{x.name}' for x in results)})"
        lines = "\n  ".join([*body.lines, root])
        self.computations.append(f"{prefix}%{name} ({parameters}) -> {shape} {{\n  {lines}\n}}\n")

    def computation(self, inputs, depth, is_fused=False, wanted=None):
        """Its name, and what it gives."""
        body = self.start(inputs, depth, is_fused)
        body.fill(self.random.randint(1, 5))
        if wanted is None:
            wanted = self.random.sample(body.arrays, self.random.randint(1, min(3, len(body.arrays))))
        results = body.give(wanted)
        name = self.name()
        self.finish(name, inputs, body, results)
        return name, results

    def loop(self, state, depth, trips):
        """The names of its body and condition."""
        body = Body(self, [], depth)
        shape = f"(s32[], {', '.join(x.shape for x in state)})"
        whole, counter, one, more = (self.name() for _ in range(4))
        body.lines = [
            f"%{whole} = {shape} parameter(0)",
            f"%{counter} = s32[] get-tuple-element(%{whole}), index=0",
            f"%{one} = s32[] constant(1)",
            f"%{more} = s32[] add(%{counter}, %{one})",
        ]
        inputs = [body.add(x.like(), f"get-tuple-element(%{whole}), index={i + 1}") for i, x in enumerate(state)]
        body.fill(self.random.randint(1, 5))
        made = body.give(state)
        results = [self.random.choice([old, new]) for old, new in zip(inputs, made)]
        names = ", ".join(f"%{x.name}" for x in results)
        root = f"ROOT %{self.name()} = {shape} tuple(%{more}, {names})"
        lines = "\n  ".join([*body.lines, root])
        name, condition = self.name(), self.name()
        self.computations.append(f"%{name} (p: {shape}) -> {shape} {{\n  {lines}\n}}\n")
        self.computations.append(
            f"%{condition} (q: {shape}) -> pred[] {{\n  %{whole}.1 = {shape} parameter(0)\n"
            f"  %{counter}.1 = s32[] get-tuple-element(%{whole}.1), index=0\n"
            f"  %{one}.1 = s32[] constant({trips})\n"
            f"  ROOT %{more}.1 = pred[] compare(%{counter}.1, %{one}.1), direction=LT\n}}\n"
        )
        return name, condition

    def text(self):
        maximum = "%max (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
        maximum += "  ROOT %m = f32[] maximum(%a, %b)\n}\n"
        return "HloModule random, is_scheduled=true\n\n" + "\n".join([maximum, *self.computations])
