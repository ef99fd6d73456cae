# REQUIRES: numpy
# RUN: %python %s %tessera_src_root | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} tensors, 0 mismatches
"""Buffers of tensors, byte by byte, whatever made the tensor and carried it.

Each random array is made twice, by operations drawn from all that make tensors,
and one of the two comes through a call, a branch or a loop. A bitcast then reads
its memory by its layout, and every position is compared with a model that knows
nothing of axes (test/Inputs/tiling.py).
"""

import math
import os
import random
import sys

root = sys.argv[1]
sys.path.append(os.path.join(root, "test", "Inputs"))
from run_checks import Check, run_checks
from test_counts import test_count, test_seed
from tiling import PADDING, memory_of

FUNCTION = """
memref.global "private" constant @bytes{n} : memref<{count}xi64> = dense<{wanted}>
memref.global "private" constant @masks{n} : memref<{count}xi64> = dense<{masks}>
func.func private @identity{n}(%a: {type}) -> {type} {{
  return %a : {type}
}}
func.func private @check{n}(%one: index, %same: index) -> i64 {{
  %yes = arith.cmpi eq, %one, %same : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.constant {count} : index
  %zero = arith.constant 0 : i64
  {made}
  {carried}
  %v = tessera.bitcast %t : {type} to {bytes}
  %buffer = bufferization.to_buffer %v read_only : {bytes} to {memref}
  %physical = tessera.physical_view %buffer : {memref} to {shaped}
  {flatten}
  %wanted = memref.get_global @bytes{n} : memref<{count}xi64>
  %masks = memref.get_global @masks{n} : memref<{count}xi64>
  %sum = scf.for %p = %c0 to %count step %c1 iter_args(%acc = %zero) -> (i64) {{
    %stored = memref.load %flat[%p] : {flat}
    %got = arith.extui %stored : i{width} to i64
    %w = memref.load %wanted[%p] : memref<{count}xi64>
    %m = memref.load %masks[%p] : memref<{count}xi64>
    %seen = arith.andi %got, %m : i64
    %differs = arith.cmpi ne, %seen, %w : i64
    %number = arith.extui %differs : i1 to i64
    %next = arith.addi %acc, %number : i64
    scf.yield %next : i64
  }}
  return %sum : i64
}}
"""

CARRIERS = {
    "nothing": "%t = tensor.cast %x : {type} to {type}",
    "a call": "%t = func.call @identity{n}(%x) : ({type}) -> {type}",
    "a selection": "%t = arith.select %yes, %x, %y : {type}",
    "a condition": """%t = scf.if %yes -> ({type}) {{
    scf.yield %x : {type}
  }} else {{
    scf.yield %y : {type}
  }}""",
    "a switch": """%t = scf.index_switch %one -> {type}
  case 1 {{
    scf.yield %x : {type}
  }}
  default {{
    scf.yield %y : {type}
  }}""",
    "a loop": """%t = scf.for %k = %c0 to %one step %c1 iter_args(%z = %x) -> ({type}) {{
    scf.yield %y : {type}
  }}""",
    "an endless loop": """%t, %again = scf.while (%z = %x, %go = %yes) : ({type}, i1) -> ({type}, i1) {{
    scf.condition(%go) %z, %go : {type}, i1
  }} do {{
  ^bb0(%z: {type}, %go: i1):
    %no = arith.constant false
    scf.yield %y, %no : {type}, i1
  }}""",
    "a branch": """cf.cond_br %yes, ^next(%x : {type}), ^next(%y : {type})
^next(%t: {type}):""",
    "a loop of blocks": """cf.br ^head(%x, %c0 : {type}, index)
^head(%h: {type}, %k: index):
  %again = arith.cmpi ult, %k, %one : index
  cf.cond_br %again, ^body, ^end
^body:
  %l = arith.addi %k, %one : index
  cf.br ^head(%y, %l : {type}, index)
^end:
  %t = tensor.cast %h : {type} to {type}""",
}


class Array:
    """The layout and the elements of a small array."""

    def __init__(self, rng):
        self.dims = [rng.choice([1, 2, 3, 4, 5]) for _ in range(rng.randint(1, 3))]
        self.bits = rng.choice([8, 8, 8, 4])
        self.stored = {8: rng.choice([8, 8, 16]), 4: 4}[self.bits]
        limit = 1 << (self.bits - 1)
        count = math.prod(self.dims)
        is_splat = rng.random() < 0.2
        draw = lambda: rng.randint(-limit, limit - 1)
        self.elements = [draw()] * count if is_splat else [draw() for _ in range(count)]
        self.fill(rng, limit)
        self.space = rng.choice([0, 0, 1])

    def fill(self, rng, limit):
        """Draws the layout."""
        rank = len(self.dims)
        self.order = rng.sample(range(rank), rank)
        self.tiles = [
            [rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(1, rank))]
            for _ in range(rng.choice([0, 1, 1, 2]))
        ]
        self.widths = [d + rng.randint(0, 3) for d in self.dims] if rng.random() < 0.3 else []
        self.alignment = rng.choice([1, 1, 1, 16])
        values = {"zero": 0, "one": 1, "lowest": -limit, "highest": limit - 1}
        self.padding = rng.choice([None, *values])
        self.padding_value = values.get(self.padding)

    def element_type(self):
        return f"i{self.bits}"

    def layout(self, promises):
        text = "".join("(%s)" % ",".join(map(str, tile)) for tile in self.tiles)
        keys = f"T{text}" if text else ""
        keys += f"L({self.alignment})" if self.alignment > 1 else ""
        keys += f"E({self.stored})" if self.stored != 8 else ""
        space = f"S({self.space})" if self.space else ""
        more = "PD(%s)" % ",".join(map(str, self.widths)) if self.widths else ""
        more += f"PV({self.padding})" if self.padding and promises else ""
        return keys, space, more

    def type(self, is_memref=False, promises=True):
        keys, space, more = self.layout(promises)
        keys = keys + ("" if is_memref else space) + more
        order = ",".join(map(str, self.order))
        layout = f"#tessera.layout<{{{order}{':' + keys if keys else ''}}}>"
        if is_memref:
            return f"memref<{self.shape()}{self.element_type()}, {layout}{self.memory_space()}>"
        return f"tensor<{self.shape()}{self.element_type()}, {layout}>"

    def plain_type(self, dims=None):
        return f"tensor<{self.shape(dims)}{self.element_type()}>"

    def shape(self, dims=None):
        return "".join(f"{d}x" for d in (dims or self.dims))

    def memory_space(self):
        return ", #tessera.memory_space<1>" if self.space else ""

    def nested(self, elements=None, dims=None):
        """The elements as nested lists in MLIR's notation."""
        elements = self.elements if elements is None else elements
        dims = self.dims if dims is None else dims
        if not dims:
            return str(elements[0])
        step = len(elements) // dims[0]
        parts = [self.nested(elements[i * step : (i + 1) * step], dims[1:]) for i in range(dims[0])]
        return "[%s]" % ", ".join(parts)

    def memory(self):
        """The physical shape, and what is known of each stored integer: bits
        that hold something, and which these are."""
        shape, positions = memory_of(
            self.dims, self.order, self.tiles, self.widths, self.alignment
        )
        ones = (1 << self.bits) - 1
        wanted, masks = [], []
        for element in positions:
            value = self.padding_value if element == PADDING else self.elements[element]
            wanted.append((value or 0) & ones)
            masks.append(0 if value is None else (1 << self.stored) - 1)
        if self.stored < 8:
            wanted, masks = pack(wanted), pack(masks)
        if len(wanted) != math.prod(shape) or self.stored < 8:
            shape = [len(wanted)]
        return shape, wanted, masks


def pack(nibbles):
    nibbles = nibbles + [0] * (len(nibbles) % 2)
    return [low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2])]


class Producers:
    """Statements that make a tensor of the elements of an array."""

    def __init__(self, array, name, rng):
        self.array, self.name, self.rng = array, name, rng

    def constant(self):
        return f"{self.name} = arith.constant dense<{self.array.nested()}> : {self.array.type()}"

    def splat_constant(self):
        if len(set(self.array.elements)) != 1:
            return self.constant()
        element = self.array.elements[0]
        return f"{self.name} = arith.constant dense<{element}> : {self.array.type()}"

    def splat(self):
        if len(set(self.array.elements)) != 1:
            return self.generate()
        element = f"{self.array.elements[0]} : {self.array.element_type()}"
        return f"""{self.name}_e = arith.constant {element}
  {self.name} = tensor.splat {self.name}_e : {self.array.type()}"""

    def table(self):
        """The elements as a tensor without a layout."""
        return (
            f"{self.name}_p = arith.constant dense<{self.array.nested()}>"
            f" : {self.array.plain_type()}"
        )

    def generate(self):
        indices = [f"%i{k}" for k in range(len(self.array.dims))]
        arguments = ", ".join(f"{i}: index" for i in indices)
        element = self.array.element_type()
        return f"""{self.table()}
  {self.name} = tensor.generate {{
  ^bb0({arguments}):
    %e = tensor.extract {self.name}_p[{", ".join(indices)}] : {self.array.plain_type()}
    tensor.yield %e : {element}
  }} : {self.array.type()}"""

    def from_elements(self):
        element = self.array.element_type()
        lines = [
            f"{self.name}_{i} = arith.constant {e} : {element}"
            for i, e in enumerate(self.array.elements)
        ]
        operands = ", ".join(f"{self.name}_{i}" for i in range(len(lines)))
        return "\n  ".join(
            [*lines, f"{self.name} = tensor.from_elements {operands} : {self.array.type()}"]
        )

    def cast(self):
        """From another layout, with the same sizes or from fewer of them."""
        return f"""{self.table()}
  {self.name} = tensor.cast {self.name}_p : {self.array.plain_type()} to {self.array.type()}"""

    def dynamic_cast(self):
        dynamic = self.array.plain_type(["?"] * len(self.array.dims))
        return f"""{self.table()}
  {self.name}_d = tensor.cast {self.name}_p : {self.array.plain_type()} to {dynamic}
  {self.name} = tensor.cast {self.name}_d : {dynamic} to {self.array.type()}"""

    def relayout(self):
        return f"""{self.table()}
  {self.name} = tessera.relayout {self.name}_p : {self.array.plain_type()} to {self.array.type()}"""

    def padded(self):
        """A source without its last row, which is padded by one element."""
        array = self.array
        row = len(array.elements) // array.dims[0]
        if array.dims[0] == 1 or len(set(array.elements[-row:])) != 1:
            return self.concat()
        dims = [array.dims[0] - 1, *array.dims[1:]]
        zeros = ", ".join("0" for _ in dims)
        high = ", ".join(["1", *("0" for _ in dims[1:])])
        arguments = ", ".join(f"%i{k}: index" for k in range(len(dims)))
        return f"""{self.name}_e = arith.constant {array.elements[-1]} : {array.element_type()}
  {self.name}_s = arith.constant dense<{array.nested(array.elements[:-row], dims)}> : {array.plain_type(dims)}
  {self.name} = tensor.pad {self.name}_s low[{zeros}] high[{high}] {{
  ^bb0({arguments}):
    tensor.yield {self.name}_e : {array.element_type()}
  }} : {array.plain_type(dims)} to {array.type()}"""

    def concat(self):
        array = self.array
        row = len(array.elements) // array.dims[0]
        if array.dims[0] == 1:
            return self.constant()
        first, rest = [1, *array.dims[1:]], [array.dims[0] - 1, *array.dims[1:]]
        types = f"{array.plain_type(first)}, {array.plain_type(rest)}"
        return f"""{self.name}_a = arith.constant dense<{array.nested(array.elements[:row], first)}> : {array.plain_type(first)}
  {self.name}_b = arith.constant dense<{array.nested(array.elements[row:], rest)}> : {array.plain_type(rest)}
  {self.name} = tensor.concat dim(0) {self.name}_a, {self.name}_b : ({types}) -> {array.type()}"""

    def inserted(self):
        """A slice of all into a tensor of no contents."""
        return f"""{self.table()}
  {self.name}_0 = tensor.empty() : {self.array.type()}
  {self.name} = tensor.insert_slice {self.name}_p into {self.name}_0{self.whole()} : {self.array.plain_type()} into {self.array.type()}"""

    def whole(self):
        """Offsets, sizes and steps of a slice that is everything."""
        lists = (["0"] * len(self.array.dims), self.array.dims, ["1"] * len(self.array.dims))
        return " ".join("[%s]" % ", ".join(map(str, numbers)) for numbers in lists)

    def slice(self):
        return f"""{self.table()}
  {self.name} = tensor.extract_slice {self.name}_p{self.whole()} : {self.array.plain_type()} to {self.array.type()}"""

    def copy(self):
        return f"""{Producers(self.array, self.name + "_c", self.rng).constant()}
  {self.name} = bufferization.alloc_tensor() copy({self.name}_c) : {self.array.type()}"""

    def any(self):
        kinds = [name for name in vars(Producers) if name[0] != "_" and name not in ("any", "table", "whole")]
        return getattr(self, self.rng.choice(kinds))()


def make_check(n, rng):
    array = Array(rng)
    shape, wanted, masks = array.memory()
    width = max(8, array.stored)
    space = array.memory_space()
    shaped = "memref<%si%d%s>" % ("".join(f"{s}x" for s in shape), width, space)
    flat = f"memref<{len(wanted)}xi{width}{space}>"
    groups = "[[%s]]" % ", ".join(map(str, range(len(shape))))
    flatten = f"%flat = memref.collapse_shape %physical {groups} : {shaped} into {flat}"
    if len(shape) == 1:
        flatten = f"%flat = memref.cast %physical : {shaped} to {flat}"
    carrier = CARRIERS[rng.choice(list(CARRIERS))]
    text = FUNCTION.format(
        n=n,
        count=len(wanted),
        wanted=[w & m for w, m in zip(wanted, masks)],
        masks=masks,
        type=array.type(),
        bytes=array.type(promises=False),
        memref=array.type(is_memref=True, promises=False),
        shaped=shaped,
        flat=flat,
        flatten=flatten,
        width=width,
        made="\n  ".join(Producers(array, name, rng).any() for name in ("%x", "%y")),
        carried=carrier.format(n=n, type=array.type()),
    )
    return Check(text, (1, 1))


def main():
    rng = random.Random(test_seed())
    run_checks(lambda n: make_check(n, rng), test_count(1000), "tensors", per_module=50)


main()
